"""What may leave the machine, what is masked, and the record of it."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review import egress, extensions, patterns, rundir, secretrules, workspace
from prun_review.config import Config, Egress, load
from prun_review.errors import ConfigError
from prun_review.model import Brief, Unit
from prun_review.ports import Command, Executor
from prun_review.redaction import Masks, Spot
from prun_review.rundir import RunDir
from prun_review.workspace import ReviewedTree
from tests import repokit, storekit

AWS = "AKIA" + "IOSFODNN7EXAMPLE"
CI = {"CI": "true"}
OURS = {"type": "command", "vendor": "acme", "lineage": "acme-1", "argv": ["/bin/true"]}


def asked(
    table: Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> tuple[Config, dict[str, Executor]]:
    config = load({"executor": {"ours": OURS}, **table}, options)
    return config, extensions.executors(extensions.manager(), config)


def refused(table: Mapping[str, Any], planned: set[str], env: Mapping[str, str], **options: Any) -> str:
    """The message; empty where it may be sent."""
    try:
        config, executors = asked(table, options)
        egress.check(config, planned, executors, env)
    except ConfigError as error:
        return str(error)
    return ""


BOTH = {"codex", "sonnet"}
SEND_OPENAI = {"egress": {"send_to": ["openai"]}}


@pytest.mark.parametrize(
    ("table", "planned", "env", "culprits"),
    [
        ({}, BOTH, {}, ()),
        ({}, BOTH, CI, ("codex (openai)", "sonnet (anthropic)", "executors (default)")),
        ({}, {"ruff", "bandit"}, CI, ()),
        ({"executors": ["codex", "sonnet"]}, BOTH, CI, ()),
        ({"executors": ["codex"]}, BOTH, CI, ("sonnet (anthropic)", "pyproject.toml")),
        ({"executors": ["codex"]}, {"codex", "ours"}, CI, ("ours (acme)",)),
        ({"egress": {"send_to": ["openai", "anthropic"]}}, BOTH, CI, ()),
        ({"egress": {"send_to": ["codex", "acme"]}}, {"codex", "ours", "ruff"}, CI, ()),
        (SEND_OPENAI, BOTH, {}, ("sonnet (anthropic)", "send_to")),
        ({**SEND_OPENAI, "executors": ["codex", "sonnet"]}, BOTH, CI, ("sonnet (anthropic)",)),
        ({"egress": {"send_to": ["opneai"]}}, {"ruff"}, {}, ("'opneai'", "openai", "codex")),
        ({"dispatch": "off"}, BOTH, CI, ()),
        ({"replay": "20260101T000000Z-0000"}, BOTH, CI, ()),
    ],
)
def test_who_may_be_sent_something(
    table: Mapping[str, Any], planned: set[str], env: Mapping[str, str], culprits: tuple[str, ...]
) -> None:
    told = refused(table, planned, env)
    assert bool(told) == bool(culprits)
    assert not [culprit for culprit in culprits if culprit not in told]
    assert not culprits or "remedy:" in told


def test_the_command_line_names_who_is_asked() -> None:
    assert not refused({}, BOTH, CI, executors=["codex", "sonnet"])
    assert "sonnet" in refused({}, BOTH, CI, executors=["codex"])
    assert not refused({}, {"ruff"}, CI, offline=True)
    assert "codex" in refused({}, {"ruff", "codex"}, CI, offline=True)


@pytest.mark.parametrize(
    ("value", "is_ci"),
    [
        ("true", True),
        ("1", True),
        ("yes", True),
        ("", False),
        ("0", False),
        ("false", False),
        ("False", False),
    ],
)
def test_what_counts_as_ci(value: str, is_ci: bool) -> None:
    assert egress.under_ci({"CI": value}) is is_ci
    assert not egress.under_ci({})


@pytest.mark.parametrize(
    ("name", "never"),
    [
        (".env", True),
        ("deploy/.env", True),
        (".env.production", True),
        (".env/lib/site.py", True),
        ("server.pem", True),
        ("a/b/c.pem", True),
        ("tls/server.key", True),
        ("id_rsa", True),
        ("home/.ssh/id_ed25519", True),
        ("id_rsa.pub", True),
        (".netrc", True),
        ("cert.p12", True),
        (".envrc", False),
        ("src/env.py", False),
        ("src/valid_id.py", False),
        ("src/keys.py", False),
        ("docs/pem.md", False),
    ],
)
def test_what_is_never_sent_unless_configured(name: str, never: bool) -> None:
    assert patterns.matcher(Egress().never)(name) is never


def test_refused_secrets_are_named_by_their_place_alone() -> None:
    config = Config(egress=Egress(secrets="refuse"))
    spots = [Spot(f"src/{n:02}.py", n, "AWS Access Key") for n in range(1, 31)]
    with pytest.raises(ConfigError) as caught:
        egress.refuse(config, spots)
    told = str(caught.value)
    assert "30 places" in told
    assert "src/01.py:1: AWS Access Key" in told
    assert "and 10 more" in told
    assert "src/21.py" not in told
    egress.refuse(config, [])
    egress.refuse(Config(), spots)


# --- the cache ------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the key lies that seals caches."""
    place = tmp_path / "keyring"
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    return place / "prun_review"


def cached(root: Path) -> Path:
    return root / ".prun" / "cache" / egress.CACHE


def redactor(root: Path) -> Masks:
    found = egress.masks(root, Config())
    assert isinstance(found, Masks)
    return found


def test_clean_blobs_are_remembered_for_the_next_run(tmp_path: Path) -> None:
    first = redactor(tmp_path)
    first("a.py", "a" * 40, b"x = 1\n")
    first("b.py", "b" * 40, f'k = "{AWS}"\n'.encode())
    egress.keep(tmp_path, first)
    assert "AKIA" not in cached(tmp_path).read_text()
    assert stat.S_IMODE(cached(tmp_path).stat().st_mode) == 0o600
    assert stat.S_IMODE(cached(tmp_path).parent.stat().st_mode) == 0o700
    second = redactor(tmp_path)
    assert second.clean("a" * 40)
    assert not second.clean("b" * 40)
    egress.keep(tmp_path, second)
    assert redactor(tmp_path).clean("a" * 40)
    egress.keep(tmp_path, redactor(tmp_path))  # it asked about none
    assert not redactor(tmp_path).clean("a" * 40)


def remembers(root: Path) -> bool:
    """Whether the blob of :func:`remembering` is known to be clean there."""
    return redactor(root).clean("a" * 40)


def remembering(root: Path) -> Path:
    """A project with a cache that holds one blob."""
    first = redactor(root)
    first("a.py", "a" * 40, b"x = 1\n")
    egress.keep(root, first)
    assert remembers(root)
    return root


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: b"\xff\x00garbage",
        lambda data: data[:-1],  # cut short
        lambda data: data.replace(b"a" * 40, b"b" * 40),
        lambda data: data.partition(b"\n")[2],  # without its seal
        lambda data: data + b"b" * 40 + b"\n",
        lambda data: b"0" * 64 + b"\n" + data.partition(b"\n")[2],
    ],
)
def test_a_damaged_or_foreign_cache_is_no_cache(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    place = cached(remembering(tmp_path))
    place.write_bytes(damage(place.read_bytes()))
    assert not remembers(tmp_path)


def test_what_was_searched_for_something_else_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembering(tmp_path)
    monkeypatch.setattr(secretrules, "digest", lambda: "0" * 64)
    assert not remembers(tmp_path)


def test_a_cache_of_another_project_is_no_cache(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    cached(other).parent.mkdir(parents=True)
    cached(other).write_bytes(cached(remembering(one)).read_bytes())
    assert not remembers(other)


def test_a_cache_that_was_committed_does_not_switch_masking_off(tmp_path: Path, home: Path) -> None:
    body = f'k = "{AWS}"\n'
    repo = repokit.repository(tmp_path / "repo", {"src/a.py": body})
    blob = repokit.git(repo, "rev-parse", "HEAD:src/a.py")
    rules = secretrules.digest()
    for lines in ([rules, blob, ""], ["0" * 64, rules, blob, ""]):
        repokit.write(repo, {f".prun/cache/{egress.CACHE}": "\n".join(lines)})
        repokit.git(repo, "add", "-f", "-A")
        repokit.git(repo, "commit", "-q", "-m", "cache")
        with workspace.take(repo, redact=redactor(repo)) as tree:
            assert AWS not in str(tree.read("src/a.py"))
            assert tree.redacted


def test_the_key_is_private_and_lies_in_no_checkout(
    tmp_path: Path, keyring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembering(tmp_path)
    assert stat.S_IMODE((keyring / egress.KEY).stat().st_mode) == 0o600
    (keyring / egress.KEY).chmod(0o644)
    assert not remembers(tmp_path)  # somebody else may have read it
    (keyring / egress.KEY).unlink()
    (keyring / egress.KEY).symlink_to("/etc/hostname")
    assert not remembers(tmp_path)
    repo = repokit.repository(tmp_path / "repo")
    for values in (
        {"XDG_CACHE_HOME": str(repo / "x")},
        {"XDG_CACHE_HOME": "x"},
        {"HOME": ""},
        {"HOME": str(repo)},
    ):
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(repo)
        found = redactor(repo)
        found("a.py", "a" * 40, b"x = 1\n")
        egress.keep(repo, found)
        assert not remembers(repo)
        assert not list(repo.rglob(egress.KEY))


def test_a_cache_that_is_a_link_or_cannot_be_written_costs_time_only(tmp_path: Path) -> None:
    cached(tmp_path).parent.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(f"{secretrules.digest()}\n{'a' * 40}\n")
    cached(tmp_path).symlink_to(elsewhere)
    assert not redactor(tmp_path).clean("a" * 40)
    blocked = tmp_path / "blocked"
    (blocked / ".prun").mkdir(parents=True)
    (blocked / ".prun" / "cache").write_text("a file")
    egress.keep(blocked, redactor(blocked))
    assert (blocked / ".prun" / "cache").read_text() == "a file"


def test_nothing_is_masked_where_secrets_are_sent(tmp_path: Path) -> None:
    assert egress.masks(tmp_path, Config(egress=Egress(secrets="send"))) is None


# --- the record -----------------------------------------------------------------------------


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with repokit.cache_home() as path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(path))
        yield path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunDir]:
    opened = rundir.create(tmp_path, now=storekit.NOW)
    yield opened
    opened.close()


def unit(executor: str, *inlined: str) -> Unit:
    slug = f"probe-a-{executor}"
    brief = Brief("find defects", scope="diff" if inlined else "tree")
    return Unit(f"p::a[{executor}]", slug, "p::a", "panels", executor, brief, inlined=inlined)


def recorded(store: RunDir) -> dict[str, Any]:
    data = (store.path / egress.FILE).read_bytes()
    events = [json.loads(line) for line in (store.path / "ledger.jsonl").read_text().splitlines()]
    told = [event["sha256"] for event in events if event["event"] == "egress"]
    assert told[-1] == hashlib.sha256(data).hexdigest()
    document: dict[str, Any] = json.loads(data)
    return document


def diff_of(names: object) -> str:
    return f"the diff of {names}"


def test_the_record_says_which_bytes_of_which_files_went_to_whom(
    tmp_path: Path, store: RunDir, home: Path
) -> None:
    content = {"src/a.py": f'k = "{AWS}"\n', "src/b.py": "b\n", ".env": "X=1\n"}
    repo = repokit.repository(tmp_path / "repo", content)
    config, executors = asked({"egress": {"send_to": ["openai", "acme"]}})
    beside = tmp_path / "beside"
    repokit.write(beside, {"CHANGE.diff": "diff\n", "base/src/b.py": "old\n"})
    redact = redactor(tmp_path)
    with tree_of(repo, config, redact) as tree, tree.materialise() as shot:
        reach = egress.Reach(shot.entries, diff_of, beside, {".env": "never sent"}, redact.spots)
        units = [unit("codex", "src/a.py", "src/b.py"), unit("ours"), unit("ruff")]
        egress.record(store, config, units, executors, reach)
        before = recorded(store)
        for _ in range(2):
            attempt(store, units[0], "a question of 25 bytes..\n")
        egress.record(store, config, units, executors, reach)
        after = recorded(store)
        assert [f["path"] for f in after["files"]] == ["src/a.py", "src/b.py"]
        for file in after["files"]:
            data = (shot.path / file["path"]).read_bytes()
            assert b"AKIA" not in data
            assert file["bytes"] == len(data)
            assert file["blob"] == hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
    assert after["beside"] == [
        {"path": name, "bytes": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
        for name, text in (("CHANGE.diff", "diff\n"), ("base/src/b.py", "old\n"))
    ]
    assert after["withheld"] == [{"path": ".env", "why": "never sent"}]
    assert after["masked"] == [{"file": "src/a.py", "line": 1, "kind": "AWS Access Key"}]
    assert after["send_to"] == ["openai", "acme"]
    codex, ours, ruff = after["executors"]
    assert (codex["executor"], codex["vendor"], codex["paid"], codex["local"]) == (
        "codex",
        "openai",
        True,
        False,
    )
    assert (codex["units"], codex["attempts"], codex["prompt_bytes"], codex["within_reach"]) == (1, 2, 50, 4)
    assert codex["inlined"] == [
        {"path": name, "bytes": len(diff_of([name])), "units": 1} for name in ("src/a.py", "src/b.py")
    ]
    assert (ours["vendor"], ours["attempts"], ours["prompt_bytes"], ours["inlined"]) == ("acme", 0, 0, [])
    assert (ruff["paid"], ruff["local"]) == (False, True)
    assert before["executors"][0]["attempts"] == 0
    assert {**before, "executors": None} == {**after, "executors": None}
    assert "AKIA" not in json.dumps(after)
    assert stat.S_IMODE(os.stat(store.path / egress.FILE).st_mode) == 0o600


def tree_of(repo: Path, config: Config, redact: Masks) -> ReviewedTree:
    return workspace.take(repo, never=config.egress.never, redact=redact)


def attempt(store: RunDir, of: Unit, prompt: str) -> None:
    out = store.new_attempt(of)
    store.record(out, prompt, Command(("/bin/true",), {}, out, prompt.encode()))


def test_units_that_were_taken_over_are_not_said_to_be_sent(store: RunDir) -> None:
    config, executors = asked({})
    attempt(store, replace(unit("sonnet"), slug="other"), "a question\n")
    egress.record(store, config, [unit("codex")], executors, egress.Reach({}, diff_of))
    assert [(e["executor"], e["attempts"]) for e in recorded(store)["executors"]] == [("codex", 0)]


class Counted(str):
    """A name that counts how often one is compared with another."""

    compared = 0

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Counted.compared += 1
        return str.__eq__(self, other)


def test_the_work_does_not_grow_with_the_square_of_the_files(store: RunDir) -> None:
    config, executors = asked({})
    names = [Counted(f"src/{n:03}.py") for n in range(300)]
    units = [unit("codex", *names), unit("codex", *map(Counted, names[:9]))]
    Counted.compared = 0
    egress.record(store, config, units, executors, egress.Reach({}, diff_of))
    [codex] = recorded(store)["executors"]
    assert [file["units"] for file in codex["inlined"]] == [2] * 9 + [1] * 291
    assert Counted.compared < 20 * len(names)
