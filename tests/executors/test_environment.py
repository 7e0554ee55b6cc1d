"""Where programs are looked for, what children see, the table of executors, and reasons from text."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from prun_review.config import load
from prun_review.errors import ConfigError
from prun_review.executors import built_in, environment, reasons
from prun_review.executors.claude import Claude
from prun_review.executors.codex import Codex
from prun_review.executors.command import AnyCommand
from prun_review.model import Exit
from prun_review.ports import Located, Missing
from tests.executors.driving import FAKE, Bench


def program(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def find(env_path: str, forbidden: tuple[Path, ...] = (), **how: str) -> Located | Missing:
    return environment.find("tool", {"PATH": env_path}, forbidden, **how)


def test_path_is_searched_in_order_and_by_absolute_entries_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = program(tmp_path / "a/tool"), program(tmp_path / "b/tool")
    program(tmp_path / "c/tool", 0o644)
    (tmp_path / "d/tool").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert find(f"{tmp_path}/b:{tmp_path}/a") == Located((str(second),), "PATH")
    assert find(f"a::.:{tmp_path}/c:{tmp_path}/d:{tmp_path}/a") == Located((str(first),), "PATH")
    missing = find("a::.", remedy="do this")
    assert isinstance(missing, Missing)
    assert missing.remedy == "do this"


def test_nothing_below_a_forbidden_directory_is_taken(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    inside = program(tree / "bin/tool")
    (tmp_path / "links").mkdir()
    (tmp_path / "links/tool").symlink_to(inside)
    (tmp_path / "linked-tree").symlink_to(tree)
    outside = program(tmp_path / "ok/tool")
    entries = [
        f"{tree}/bin",
        f"{tmp_path}/ok/../tree/bin",
        f"{tmp_path}/links",
        f"{tmp_path}/linked-tree/bin",
    ]
    assert isinstance(find(":".join(entries)), Located)
    assert isinstance(find(":".join(entries), (tree,)), Missing)
    assert isinstance(find(":".join(entries), (tmp_path / "linked-tree",)), Missing)
    assert find(":".join([*entries, f"{tmp_path}/ok"]), (tree,)) == Located((str(outside),), "PATH")
    assert isinstance(find("", (tree,), configured=str(inside)), Missing)


def test_a_configured_path_is_taken_or_missing(tmp_path: Path) -> None:
    own, other = program(tmp_path / "a/own"), program(tmp_path / "b/tool")
    assert find(str(other.parent), configured=str(own)) == Located((str(own),), "configured")
    for configured in ("own", str(tmp_path / "nothing"), str(tmp_path)):
        missing = find(str(other.parent), configured=configured)
        assert isinstance(missing, Missing)
        assert configured in missing.why
        assert missing.remedy


def test_a_package_is_looked_up_without_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    carried = program(tmp_path / "site/carrier_x/bin/tool")
    (tmp_path / "site/carrier_x/__init__.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert find("", package="carrier_x/bin/tool") == Located((str(carried),), "carrier_x")
    assert "carrier_x" not in sys.modules
    missing = find("", package="carrier_y/bin/tool")
    assert isinstance(missing, Missing)
    assert "carrier_y" in missing.why
    assert isinstance(find("", (tmp_path / "site",), package="carrier_x/bin/tool"), Missing)


def test_the_interpreters_own_programs_are_not_forbidden() -> None:
    scripts = sysconfig.get_path("scripts")
    assert environment.path_entries(scripts, (Path(sys.prefix),)) == [scripts]
    assert environment.path_entries(f"{sys.prefix}/elsewhere", (Path(sys.prefix),)) == []


def test_a_childs_environment_is_complete_and_built_from_names(tmp_path: Path) -> None:
    surroundings = {
        "HOME": "/h",
        "LANG": "C",
        "SECRET": "s",
        "A": "1",
        "B": "2",
        "TERM": "xterm",
        "PATH": f".:{tmp_path}:/bin",
    }
    child = environment.child_env(surroundings, ["A", "ABSENT"], {"B": "3"}, [tmp_path])
    assert child == {"HOME": "/h", "LANG": "C", "A": "1", "B": "3", "TERM": "dumb", "PATH": "/bin"}
    printed = subprocess.run(["/usr/bin/env"], env=child, capture_output=True, check=True).stdout.decode()
    assert set(printed.split()) == {f"{k}={v}" for k, v in child.items()}


def test_no_vendors_names_overlap_and_none_is_a_base_name() -> None:
    openai, anthropic = (set(environment.VENDOR_NAMES[v]) for v in ("openai", "anthropic"))
    assert not openai & anthropic
    assert not (openai | anthropic) & {*environment.BASE_NAMES, *environment.NETWORK_NAMES}
    with pytest.raises(ConfigError, match="belongs to anthropic"):
        environment.vendor_names("openai", ["ANTHROPIC_AUTH_TOKEN"], "place")


def test_temporary_folder_is_private_and_below_the_attempt(tmp_path: Path) -> None:
    folder = Path(environment.temporary(tmp_path / "1"))
    assert folder.parent == tmp_path / "1"
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("name", ["codex", "sonnet", "third"])
def test_an_agents_git_finds_no_repository_around_the_snapshot(tmp_path: Path, name: str) -> None:
    bench = Bench(tmp_path)
    (bench.tree / "sub").mkdir()
    table = {"type": "command", "argv": ["third"], "vendor": "acme", "lineage": "x"}
    executor = built_in(load({"executor": {"third": table}}))[name]
    env = dict(executor.command(bench.request(executor, located=FAKE)).env)

    def toplevel() -> str:
        argv = ["git", "rev-parse", "--show-toplevel"]
        done = subprocess.run(argv, env=env, cwd=bench.tree / "sub", capture_output=True)
        return done.stdout.decode().strip()

    subprocess.run(["git", "init", "-q", str(tmp_path)], env=bench.env, check=True)
    assert toplevel() == ""
    del env["GIT_CEILING_DIRECTORIES"]
    assert toplevel() == str(tmp_path)


def test_every_reason_that_an_executor_gives_is_a_known_code() -> None:
    sources = Path(reasons.__file__).parent.glob("*.py")
    given = {code for path in sources for code in re.findall(r'failed\(\s*"([^"]+)"', path.read_text())}
    assert {"no-answer", "nothing-to-analyse", "not-examined"} <= given <= set(reasons.CODES)


def test_identity_shows_arguments_by_digest_only() -> None:
    one = environment.identity("m", "", ["--url", "http://secret"])
    assert one.startswith("m effort:default args:")
    assert "secret" not in one
    assert one != environment.identity("m", "", ["--url", "http://other"])
    assert environment.identity("m", "high", []) == "m effort:high"


def test_table_of_executors() -> None:
    tables = {
        "sonnet": {"limit": 3, "effort": "high"},
        "mini": {"type": "codex", "model": "gpt-mini", "lineage": "gpt-mini"},
        "third": {"type": "command", "argv": ["third"], "vendor": "acme", "lineage": "x"},
        "hooked": {"model": "somebody's own executor"},
    }
    found = built_in(load({"executor": tables}))
    assert {"codex", "sonnet", "mini", "third", "ruff", "pylint", "bandit"} <= set(found)
    assert "hooked" not in found
    assert [type(found[n]) for n in ("codex", "sonnet", "mini", "third")] == [
        Codex,
        Claude,
        Codex,
        AnyCommand,
    ]
    origins = {n: (found[n].vendor, found[n].lineage) for n in ("codex", "sonnet", "mini")}
    assert origins == {
        "codex": ("openai", "gpt"),
        "sonnet": ("anthropic", "claude"),
        "mini": ("openai", "gpt-mini"),
    }
    assert (found["sonnet"].limit, found["codex"].limit) == (3, None)
    assert found["codex"].identity == "default effort:default"
    assert found["sonnet"].identity == "sonnet effort:high"
    assert all(found[n].paid for n in ("codex", "sonnet", "mini", "third"))
    assert [found[n].native for n in ("codex", "sonnet", "third")] == [True, True, False]
    assert found["codex"].version_argv(Located(("/x",), "PATH")) == ("/x", "--version")
    assert found["codex"].login_argv(Located(("/x",), "PATH")) == ("/x", "login", "status")


@pytest.mark.parametrize(("executor", "package"), [(Codex, "codex_cli_bin"), (Claude, "claude_agent_sdk")])
def test_a_missing_program_carries_the_remedy(
    executor: type[Codex] | type[Claude], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "site-packages" not in entry])
    found = executor.configured(load({}).executor("mine")).locate({"PATH": "/nowhere"}, ())
    assert isinstance(found, Missing)
    assert package in found.why
    assert "pip install '.[vendors]' in a clone of prun_review" in found.remedy
    assert "path in [tool.prun_review.executor.mine]" in found.remedy


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("the refresh token was already used", "refresh-token-race"),
        ("ERROR 429 Too Many Requests", "rate-limited"),
        ("You've hit your limit", "quota-exhausted"),
        ("x" * 50_000 + " Not logged in", "not-logged-in"),
        ("Model metadata for `mock` not found", "model-not-found"),
        ("a sentence about nothing", "unknown"),
        ("port 14290, 5000 lines", "unknown"),
        ("", "unknown"),
    ],
)
def test_reason_from_text(text: str, code: str) -> None:
    assert reasons.classify(text) == code


def test_message_is_one_printable_line_of_bounded_length() -> None:
    said = reasons.line("\x1b[31ma\u2028b\n\0\ud800 " + "é" * 9000)
    assert said.startswith("[31ma b ? éé")
    assert said.isprintable()
    assert len(said) == 500


def test_an_exit_of_its_own_is_no_failure() -> None:
    assert reasons.ended(Exit(0), "") is None
    assert reasons.ended(Exit(1), "") is None
    for code in (-9, -15, 137, 143):
        reading = reasons.ended(Exit(code), "words")
        assert reading is not None
        assert (reading.reason, "words" in reading.message) == ("killed", True)


@pytest.mark.parametrize(
    ("ended_by", "reason"),
    [
        ("timeout", "timeout"),
        ("lost", "lost"),
        ("output", "output"),
        ("cancelled", "cancelled"),
        ("-x", "cancelled"),
    ],
)
def test_what_we_end_has_a_reason_and_keeps_the_note(ended_by: str, reason: str) -> None:
    reading = reasons.ended(Exit(0, ended_by, note="wrote more than 9 bytes"), "")
    assert reading is not None
    assert reading.reason == reason
    assert "wrote more than 9 bytes" in reading.message
