"""How tasks end, through whole runs: exit, marker, report, checks, and what lies in the user's repository."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review import waveunits
from prun_review.cli import cpo
from prun_review.config import Waves, load, over_waves
from prun_review.tasks import Manifest, Task, Wave
from prun_review.wavebeginning import jobs_of
from tests.cli.driver import inside
from tests.repokit import cache_home
from tests.waves.wavekit import DIR, DONE, T, project, states

STANDINS = Path(__file__).parents[1] / "standins"
POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n"
REPORT: dict[str, Any] = {
    **{"task_completed": True, "validation_passed": True, "files_created": [], "files_modified": []},
    **{"tests_run": 12, "tests_passed": 12, "tests_failed": 0, "summary": "", "full_log": ""},
    "error_message": None,
}


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with cache_home() as place:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        yield


def says(**changes: Any) -> str:
    """A shell command that prints the report of an agent."""
    return f"echo '{json.dumps({**REPORT, **changes})}'"


def test_every_end_of_a_task_is_what_the_table_says(tmp_path: Path) -> None:
    commit = "git add -A; git -c user.name=x -c user.email=x@example.org commit -qm x"
    made = project(
        tmp_path,
        T(1, 1, script=f"echo 1 > one; {commit}; echo 'all of it' > .claude-task-complete; {says()}"),
        T(2, 1, script=f"echo 2 > two; {says()}"),
        T(3, 1, script=f"echo 3 > three; {DONE}; sleep 600", front="timeout: 4\n"),
        T(4, 1, script=f"echo 4 > four; {DONE}; {says(tests_failed=2, tests_passed=10)}"),
        T(5, 1, script=f"echo 5 > five; {DONE}; {says(task_completed=False)}"),
        T(6, 1, script=f"echo 6 > six; {DONE}; {says()}", front="verify: ['exit 3']\n"),
        files={"big.bin": POINTER, ".gitattributes": "*.bin filter=lfs\n"},
    )
    document = made.done()
    assert states(document) == {
        **{"001": "succeeded:ok", "002": "failed:no-marker", "003": "failed:timeout"},
        **{"004": "failed:contradicted", "005": "failed:says-incomplete", "006": "failed:verify"},
    }
    tasks = document["tasks"]
    assert (tasks[0]["patch"]["commits"], tasks[0]["claim"]["tests_run"]) == (1, 12)
    assert [task["marker"] for task in tasks] == [True, False, True, True, True, True]
    assert "exit-after-marker" in tasks[2]["message"]
    assert "contradicted" in tasks[5]["message"]
    for task, name in zip(tasks[1:], ("two", "three", "four", "five", "six"), strict=True):
        kept = Path(task["patch"]["kept"])
        assert (kept / name).is_file()
        assert str(kept) in task["message"]
    # What is only a pointer in the copies is told to everybody who works in one.
    assert all("Git LFS pointers" in path.read_text() for path in made.scripts.glob("*.prompt"))


def test_a_program_that_did_it_all_and_does_not_exit_is_done(tmp_path: Path) -> None:
    folder = tmp_path / "claude-folder"
    folder.mkdir()
    (folder / "real").symlink_to(STANDINS / "claude")
    (folder / "real.json").write_text("[]")
    (folder / "claude").symlink_to(STANDINS / "claude")
    rule = {"match": "", "scenario": "result-then-sleep", "text": "It is done."}
    (folder / "claude.json").write_text(json.dumps([rule]))
    program = folder / "worker"
    program.write_text(
        '#!/bin/sh\ncase "$*" in *--version*) ;; *) echo 1 > one; touch .claude-task-complete ;; esac\n'
        f'exec {folder / "claude"} "$@"\n'
    )
    program.chmod(0o755)
    config = f'[tool.prun_review.executor.sonnet]\npath = "{program}"\ngrace = 1.0\n'
    made = project(tmp_path, T(1, 1, front="executor: claude\n"), config=config)
    document = made.done()
    [task] = document["tasks"]
    assert states(document) == {"001": "succeeded:ok"}, task["message"]
    assert (task["executor"], task["vendor"]) == ("sonnet", "anthropic")
    assert [file["path"] for file in task["patch"]["files"]] == ["one"]
    assert task["seconds"] < 60


def test_a_lock_that_git_left_in_the_users_repository_keeps_nothing_from_being_done(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 2, [1]), validation={2: "test -f task-001.txt"})
    locks = [made.root / ".git" / name for name in ("index.lock", "HEAD.lock", "config.lock")]
    for lock in locks:
        lock.touch()
    assert made.done()["status"] == "completed"
    out, errors = io.StringIO(), io.StringIO()
    with inside(made.root), redirect_stdout(out), redirect_stderr(errors):
        status = cpo.main(["integrate", DIR, "--apply", "--test", "test -f task-002.txt"])
    assert status == 0, errors.getvalue()
    [branch] = made.git("for-each-ref", "--format=%(refname:short)", "refs/heads/prun").split()
    assert made.git("show", f"{branch}:task-002.txt") == "task-002"
    assert all(lock.exists() for lock in locks)


def test_what_a_task_may_do_and_how_long_is_its_own_affair() -> None:
    task = Task("task-001", 1, prompt="Do it.", access="full", timeout=60.0)
    manifest = Manifest("parallel/TS-1", (Wave(1, (task,)),))
    brief = waveunits.planned(manifest, task, "hand", Waves()).brief
    assert (brief.access, brief.timeout) == ("full", 60.0)
    brief = waveunits.planned(manifest, replace(task, access="", timeout=0.0), "hand", Waves()).brief
    assert (brief.access, brief.timeout, Waves().jobs) == ("write", 7200.0, 3)


@pytest.mark.parametrize(
    ("variant", "wish", "table", "options", "jobs"),
    [
        ("D", 5, {}, {}, 5),
        ("D", 0, {}, {}, 3),
        ("D", 5, {"jobs": 3}, {}, 3),
        ("D", 5, {"executor": "codex"}, {}, 5),
        ("D", 5, {}, {"jobs": 2}, 2),
        ("B", 5, {}, {}, 3),
        ("none", 0, {"jobs": 4}, {"timeout": 9}, 4),
    ],
)
def test_how_many_run_at_once(
    variant: str, wish: int, table: dict[str, Any], options: dict[str, Any], jobs: int
) -> None:
    config = over_waves(load({"waves": table} if table else {}), options)
    assert jobs_of(config, Manifest("parallel/TS-1", (), variant=variant, jobs=wish)) == jobs
