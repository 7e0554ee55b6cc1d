"""The parts of a run of waves: configuration, units, what copies are made of, what is hidden in them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from prun_review import bench, waveunits
from prun_review.bench import Bench, Veil
from prun_review.config import Waves, load, waves_of
from prun_review.copies import Copies
from prun_review.errors import ConfigError, InternalError, TreeError
from prun_review.git import find
from prun_review.model import Brief, Result, Unit
from prun_review.process.launch import ProcessLauncher
from prun_review.redaction import Masks
from prun_review.tasks import Conflict, Manifest, Outcome, Scope, Target, Task, Wave
from prun_review.vault import Vault
from prun_review.verifying import Room
from prun_review.wavebeginning import Selection
from prun_review.wavepace import Errand
from prun_review.workspace import take
from prun_review.written import Patch, Touched
from tests.repokit import cache_home, git, repository, write
from tests.waves.wavekit import T, drain, project

TASK = Task(
    "task-001-users",
    1,
    agent="shop:hand-expert",
    scope=Scope(("new/*.py",), (Target("urls.py", "main"),), ("old/*",)),
    verify=("make",),
    prompt="Do it.",
)
MANIFEST = Manifest("parallel/TS-1", (Wave(1, (TASK,)),))


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with cache_home() as place:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        yield place


# --- configuration ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"jobs": 0}, "jobs is 0"),
        ({"jobs": "3"}, "jobs must be a whole number"),
        ({"timeout": 0}, "timeout is 0"),
        ({"reopen": -1}, "reopen is -1"),
        ({"isolation": "none"}, "isolation is 'none'"),
        ({"agents": ["a"]}, "agents must be a table of strings"),
        ({"job": 3}, "unknown key 'job'"),
    ],
)
def test_what_is_wrong_with_the_table(table: Mapping[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load({"waves": table})


def test_options_stand_over_the_table_key_by_key() -> None:
    config = load({"waves": {"jobs": 5, "agents": {"a": "codex"}}}, {"waves": {"jobs": 7}})
    assert config.waves == Waves(jobs=7, agents={"a": "codex"})
    assert config.sources["waves"] == "command line"
    assert waves_of({"reopen": 2}, "x", config.waves) == Waves(jobs=7, reopen=2, agents={"a": "codex"})


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("shop:hand", "exact"),
        ("other:hand", "short"),
        ("hand", "short"),
        ("shop:else", "plugin"),
        ("else", "fallback"),
        ("", "fallback"),
        ("shop", "fallback"),
    ],
)
def test_who_does_the_tasks_of_an_agent(agent: str, name: str) -> None:
    agents = {"shop:hand": "exact", "hand": "short", "shop:": "plugin"}
    waves = Waves(executor="fallback", agents=agents)
    assert waves.executor_for(agent) == name
    assert waveunits.executor_of(Task("t", 1, agent=agent), waves, "chosen") == "chosen"
    assert waveunits.executor_of(Task("t", 1, agent=agent, executor="own"), waves, "chosen") == "own"


# --- units ------------------------------------------------------------------------------------


def test_a_unit_says_what_its_task_may_touch_from_the_root_of_the_copy() -> None:
    unit = waveunits.planned(MANIFEST, TASK, "hand", Waves(), "web/")
    assert (unit.id, unit.folder, unit.executor) == ("parallel/TS-1::task-001-users", "parallel/TS-1", "hand")
    brief = unit.brief
    assert (brief.writes, brief.spares, brief.creates) == (
        ("web/new/*.py", "web/urls.py"),
        ("web/old/*",),
        ("web/new/*.py",),
    )
    assert (brief.mode, brief.access, brief.timeout, brief.verify) == ("write", "write", 7200.0, ("make",))
    assert brief.prompt.startswith("Do it.\n\n")
    assert "`web/`" in brief.prompt
    assert waveunits.planned(MANIFEST, TASK, "hand", Waves()).brief.prompt == "Do it."


def test_openings_of_a_task_are_different_units_of_one_case() -> None:
    unit = waveunits.planned(MANIFEST, TASK, "hand", Waves())
    first, second = waveunits.opening(unit, 1, "a" * 40), waveunits.opening(unit, 2, "b" * 40, "again")
    assert (first.id, second.id) == (f"{unit.id}[hand~1]", f"{unit.id}[hand~2]")
    assert len({unit.slug, first.slug, second.slug}) == 3
    assert first.case == second.case == unit.case
    assert len({unit.fingerprint, first.fingerprint, second.fingerprint}) == 3
    assert second.brief.prompt == "Do it.\n\nagain"


def test_what_others_wrote_is_data_in_what_a_task_is_told_again() -> None:
    conflict = Conflict("t", ("a.py",), "<<<<<<< ours\n\x1b[2J\tx\n", others=("task-002",))
    text = waveunits.again(conflict, "+new\n" * 20_000, "f" * 16)
    assert text.count("f" * 16) == 9  # named, opened and closed, three times
    assert "\x1b" not in text
    assert "\\u001b[2J\tx" in text
    assert "(cut here)" in text
    assert len(text) < waveunits.MOST_SHOWN + 5_000
    assert "PATCH" not in waveunits.again(conflict, "", "f" * 16)


UNIT = waveunits.planned(MANIFEST, TASK, "hand", Waves())
VALID = Result(
    "x",
    "y",
    UNIT.case,
    UNIT.folder,
    "hand",
    "valid",
    patch=Patch("b", "t", "d", files=(Touched("a", "added"),)),
)


@pytest.mark.parametrize(
    ("held", "last", "stopped", "expected"),
    [
        (Outcome("t", "succeeded", "ok", commit="c"), VALID, "", ("valid", "ok")),
        (Outcome("t", "succeeded", "ok"), VALID, "why", ("failed", "stopped")),
        (Outcome("t", "failed", "conflict"), VALID, "", ("broken", "conflict")),
        (Outcome("t", "failed", "timeout"), None, "", ("failed", "timeout")),
        (Outcome("t", "skipped", "dependency"), None, "", ("not-run", "dependency")),
        (Outcome("t", "not-run", "panel"), None, "", ("not-run", "panel")),
    ],
)
def test_the_result_of_a_task_by_what_became_of_it(
    held: Outcome, last: Result | None, stopped: str, expected: tuple[str, str]
) -> None:
    assert waveunits.is_final(held, stopped=bool(stopped))
    result = waveunits.terminal(UNIT, held, last, stopped)
    assert (result.status, result.reason) == expected
    assert (result.unit, result.slug, result.fingerprint) == (UNIT.id, UNIT.slug, UNIT.fingerprint)


@pytest.mark.parametrize(
    "held", [Outcome("t", "succeeded"), Outcome("t", "pending"), Outcome("t", "running")]
)
def test_what_is_not_final_yet(held: Outcome) -> None:
    assert not waveunits.is_final(held, stopped=False)


# --- what copies are made of ------------------------------------------------------------------


def names(vault: Vault, commit: str) -> dict[str, bytes]:
    entries = vault.entries(commit)
    return {e.name.decode(): c for e, c in zip(entries, vault.contents(entries), strict=True)}


def test_code_is_written_on_what_is_reviewed(tmp_path: Path) -> None:
    content = {"src/a.py": "one\n", "src/gone.py": "x\n", "panels/p.py": "p\n", "docs/d": "d\n"}
    repo = repository(tmp_path / "repo", content)
    vault = Vault.create(tmp_path / "git", find(repo))
    with take(repo, panels=["panels"]) as tree:
        assert bench.commit_of(vault, tree.written_on()) == git(repo, "rev-parse", "HEAD")
    write(repo, {"src/a.py": "two\n", "panels/p.py": "edited\n", "new.py": "n\n"})
    (repo / "src/gone.py").unlink()
    with take(repo, panels=["panels"], include_untracked=True) as tree:
        commit = bench.commit_of(vault, tree.written_on())
    assert names(vault, commit) == {
        "src/a.py": b"two\n",
        "panels/p.py": b"p\n",  # no part of what is reviewed, so as it was committed
        "docs/d": b"d\n",
        "new.py": b"n\n",
    }
    assert git(repo, "status", "--porcelain").splitlines()[0] == "M panels/p.py"
    with take(repo / "src") as tree:
        assert names(vault, bench.commit_of(vault, tree.written_on())) == {"a.py": b"two\n"}
    with take(repo, head="HEAD") as tree:
        assert bench.commit_of(vault, tree.written_on()) == git(repo, "rev-parse", "HEAD")


def test_what_workers_must_not_see_is_looked_up_once(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    files = {"a.py": f'K = "{token}"\n', "b.py": "x = 1\n", "deep/.ENV": "P=1\n", "k.pem": "k\n"}
    repo = repository(tmp_path / "repo", files)
    vault = Vault.create(tmp_path / "git", find(repo))
    commit = vault.commit_of("HEAD")
    veil = Veil(vault, ("**/.env", "**/*.pem"), Masks((), lambda: 0.0))
    found = veil(commit)
    assert found.keys() == {"a.py", "deep/.ENV", "k.pem"}
    assert (found["deep/.ENV"], found["k.pem"]) == (None, None)
    masked = found["a.py"]
    assert masked is not None
    assert len(masked) == len(files["a.py"])
    assert token.encode() not in masked
    assert veil(commit) is found
    assert Veil(vault, (), None)(commit) == {}


def test_commands_run_in_the_folder_of_the_project(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"web site/a": "one\n"})
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    vault = Vault.create(run_dir / "git", find(repo))
    commit = vault.commit_of("HEAD")
    launcher = ProcessLauncher()
    try:
        with Copies(vault, run_dir) as copies:
            room = Room(launcher, {"PATH": "/usr/bin:/bin"})
            made = Bench(vault, copies, room, lambda unit: commit, within="web site/")
            commands = ("cat a", "echo $HOME; touch x; exit 3", "cd x")
            checks = made.run(commit, commands, lambda: "")
            assert tuple(check.command for check in checks) == commands
            assert [(c.code, c.ok) for c in checks] == [(0, True), (3, False), (checks[2].code, False)]
            assert checks[0].said == "one"
            [late] = made.run(commit, ("true",), lambda: "enough")
            assert (late.ok, late.ended_by) == (False, "enough")
            unit = Unit("u", "u", "u", "", "hand", Brief("x", mode="write"))
            with pytest.raises(TreeError, match="known by its number"):
                made.open(unit, run_dir / "units")
    finally:
        launcher.close()
    assert git(repo, "status", "--porcelain") == ""


# --- errands ----------------------------------------------------------------------------------


def test_an_errand_does_not_keep_its_caller_waiting() -> None:
    go = threading.Event()

    def wait() -> int:
        assert go.wait(60)
        return 7

    errand = Errand("waiting", wait)
    assert not errand.ended(0.01)
    go.set()
    assert errand.ended(60)
    assert errand.result() == 7


def test_an_errand_raises_what_it_raised() -> None:
    def fail() -> int:
        raise InternalError("so it is")

    errand = Errand("failing", fail)
    assert errand.ended(60)
    with pytest.raises(InternalError, match="so it is"):
        errand.result()


# --- to whom anything is sent under CI --------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "chosen", "front", "goes"),
    [
        ('executor = "hand"', "", "", True),
        ("", "hand", "", True),
        ('agents = {"shop:" = "hand"}', "", "", True),
        ("", "", "executor: hand\n", False),
        ("jobs = 2", "", "executor: hand\n", False),
    ],
)
def test_a_task_alone_names_nobody_to_whom_anything_is_sent(
    tmp_path: Path, table: str, chosen: str, front: str, goes: bool
) -> None:
    made = project(tmp_path, T(1, 1, front=front))
    text = (made.root / "pyproject.toml").read_text()
    (made.root / "pyproject.toml").write_text(text.replace('executor = "hand"', table))
    run = made.run(Selection(executor=chosen))
    run.env = {**run.env, "CI": "true"}
    try:
        if not goes:
            with pytest.raises(ConfigError, match=r"under CI nothing is sent to .*: hand"):
                run.start(say=made.told.append)
            return
        run.start(say=made.told.append)
        drain(run)
        assert run.finish().document["status"] == "completed"
    finally:
        run.close()
