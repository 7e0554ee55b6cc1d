"""``prun-review run DIR`` and ``status DIR`` as programs: lines, exit statuses, signals, going on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prun_review import rundir, wavedocument
from tests.cli.driver import call
from tests.repokit import cache_home
from tests.waves.wavekit import DIR, DONE, Project, T, project, states


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with cache_home() as place:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
        yield place


def started(made: Project, *args: str, verb: str = "run") -> subprocess.Popen[str]:
    argv = [sys.executable, "-m", "prun_review", verb, *args]
    return subprocess.Popen(
        argv, cwd=made.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def ended(made: Project, *args: str, verb: str = "run") -> tuple[int, str, str]:
    with started(made, *args, verb=verb) as process:
        out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def document(made: Project) -> dict[str, object]:
    return json.loads((next(rundir.stored(made.root)) / "waves.json").read_text())  # type: ignore[no-any-return]


def wait_for(what: Callable[[], object]) -> None:
    until = time.monotonic() + 60
    while not what():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.05)


def running(mark: Path) -> set[int]:
    """Processes whose command line names the mark."""
    found = set()
    for place in Path("/proc").iterdir():
        if place.name.isdecimal() and int(place.name) != os.getpid():
            try:
                line = (place / "cmdline").read_bytes()
            except OSError:
                continue
            if os.fsencode(mark) in line:
                found.add(int(place.name))
    return found


def test_the_lines_of_old_and_exit_status_0(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 2, [1]), validation={1: "true"})
    code, out, err = ended(made, DIR)
    assert (code, document(made)["status"]) == (0, "completed"), err
    assert out.splitlines() == [
        "=== Parallel Execution Started ===",
        "",
        "Wave 1:",
        "  task-001-part: RUNNING",
        "[PROGRESS] wave=1 status=started",
        "[PROGRESS] wave=1 task=task-001 status=started",
        "[PROGRESS] wave=1 task=task-001 status=completed commits=0",
        "[PROGRESS] wave=1 status=completed tasks=1/1",
        "[PROGRESS] wave=2 status=started",
        "[PROGRESS] wave=2 task=task-002 status=started",
        "[PROGRESS] wave=2 task=task-002 status=completed commits=0",
        "[PROGRESS] wave=2 status=completed tasks=1/1",
        "[PROGRESS] execution status=completed",
        "=== Execution Complete ===",
        "",
        "Results:",
        "  Completed: 2/2 tasks",
        "  Failed: 0 tasks",
        "",
        f"Next step: prun-review integrate {DIR}",
    ]
    assert "STATUS: COMPLETED" in err
    code, out, _ = ended(made, DIR, verb="status")
    assert code == 0
    assert "STATUS: COMPLETED" in out
    code, out, _ = ended(made, f"{DIR}/tasks", "--json", verb="status")
    assert (code, json.loads(out)) == (0, document(made))
    [path] = rundir.stored(made.root)
    code, out, _ = ended(made, path.name, verb="status")
    assert (code, "STATUS: COMPLETED" in out) == (0, True)
    for verb in ("gate", "report", "watch"):
        code, out, err = call(verb, path.name, cwd=made.root)
        assert (code, out, f"remedy: prun-review status {path.name} tells" in err) == (2, "", True), err


def test_exit_status_1_where_something_failed_and_2_where_nothing_can_be_run(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1, script="exit 1"), T(2, 2))
    code, out, err = ended(made, f"{DIR}/manifest.json", "--only", "task-001")
    assert code == 1
    assert "task-001-part: exit status 1" in err  # and not: unknown
    assert "unknown" not in err
    assert "[PROGRESS] execution status=failed" in out
    code, out, err = ended(made, DIR, "--only", "task-007")
    assert (code, out) == (2, "")
    assert "task-007 is no task\n  remedy: there are: task-001-part, task-002-part" in err
    code, _, err = ended(made, DIR, "--base", "HEAD")
    assert (code, "--prun-base=HEAD is for reviews" in err) == (2, True), err
    code, _, err = ended(made, "--resume")
    assert (code, "--resume is for waves" in err) == (2, True), err
    (made.directory / "manifest.json").write_text("{}")
    for file in (made.directory / "tasks").iterdir():
        file.unlink()
    code, out, err = ended(made, str(made.directory))
    assert (code, out) == (2, "")
    assert len(list(rundir.stored(made.root))) == 1


def test_a_name_that_means_no_waves_or_a_verb_for_reviews_leads_to_what_is_meant(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1))
    for words, told in (
        (["run", "parallel"], f"remedy: prun-review run {DIR};"),
        (["run", "parallel/TS-0009-shpo"], f"remedy: prun-review run {DIR};"),
        (["run", "parallel", "--resume"], f"holds them: prun-review run {DIR}\n"),
        (["run", DIR, "--from-wave", "5", "--dry-run"], "there is no earlier run"),
        (["watch", DIR], f"remedy: prun-review status {DIR} tells"),
        (["gate", DIR], f"remedy: prun-review status {DIR} tells"),
        (["report", f"{DIR}/tasks"], f"remedy: prun-review status {DIR}/tasks tells"),
        (["gate", "nothing"], "'nothing' is no run"),
    ):
        code, out, err = call(*words, cwd=made.root)
        assert (code, out, told in err) == (2, "", True), err


def test_a_dry_run_starts_nothing(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 2, [1]), validation={1: "make check"})
    code, out, _ = ended(made, DIR, "--dry-run")
    assert code == 0
    assert out.splitlines()[1:] == [
        "Wave 1:",
        "  task-001-part: to hand",
        "  then runs: make check",
        "Wave 2:",
        "  task-002-part: to hand, after task-001-part",
    ]
    assert not (made.root / ".prun").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_all_that_runs_and_the_rest_is_done_later(
    tmp_path: Path, number: signal.Signals
) -> None:
    mark = tmp_path / "sleeps"
    sleeps = f"exec {sys.executable} -c 'import time; time.sleep(100)' {mark}"
    made = project(tmp_path, T(1, 1), T(2, 2, [1], script=sleeps), T(3, 3, [2]))
    with started(made, DIR) as process:
        wait_for(lambda: running(mark))
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert running(mark) == set()
    told = document(made)
    assert (told["status"], told["stopped"]) == ("stopped", f"interrupted by {number.name}")
    assert states(told)["001"] == "succeeded:ok"
    assert states(told)["003"].split(":")[0] in ("not-run", "skipped")
    assert wavedocument.validate(told) == []
    assert "[PROGRESS] execution status=failed" in out
    made.script(2, DONE)
    code, out, err = ended(made, DIR, "--resume")
    assert (code, document(made)["status"]) == (0, "completed"), err
    assert "resumed from" in err
    assert "task=task-001 status=started" not in out


def test_a_run_that_was_killed_leaves_nothing_running_and_is_gone_on_from(tmp_path: Path) -> None:
    mark = tmp_path / "sleeps"
    sleeps = f"exec {sys.executable} -c 'import time; time.sleep(100)' {mark}"
    made = project(tmp_path, T(1, 1), T(2, 2, [1]), T(3, 2, script=sleeps), T(4, 3, [3]))
    with started(made, DIR) as process:
        wait_for(lambda: running(mark) and states(document(made))["002"] == "succeeded:ok")
        process.kill()
        process.communicate(timeout=60)
    wait_for(lambda: not running(mark))
    code, out, err = ended(made, DIR, verb="status")
    again = f"prun-review run {DIR} --resume"
    assert (code, "STATUS: STOPPED (it was killed)" in out, "was killed" in err) == (*(0, True, True),), (
        out + err
    )
    assert f"NEXT\n  Run what is left, and keep what succeeded: {again}\n" in out
    code, out, _ = ended(made, DIR, "--json", verb="status")
    told = json.loads(out)
    assert (code, told["status"], wavedocument.validate(told)) == (0, "stopped", [])
    assert states(told) == {
        **{"001": "succeeded:ok", "002": "succeeded:ok"},
        **{"003": "failed:killed", "004": "not-run:stopped"},
    }
    made.script(3, DONE)
    code, out, err = ended(made, DIR, "--resume")
    assert (code, states(document(made))) == (0, {f"00{n}": "succeeded:ok" for n in range(1, 5)}), err
    assert "2 of 4 tasks taken over" in err
    assert "task=task-002 status=started" not in out


def test_a_signal_ends_a_validation_that_runs(tmp_path: Path) -> None:
    mark = tmp_path / "validates"
    command = f"{sys.executable} -c 'import time; time.sleep(100)' {mark}"
    made = project(tmp_path, T(1, 1), T(2, 2), validation={1: command})
    with started(made, DIR) as process:
        wait_for(lambda: running(mark))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert running(mark) == set()
    told = document(made)
    assert told["status"] == "stopped"
    assert states(told) == {"001": "succeeded:ok", "002": "not-run:stopped"}
    # What was put together already is taken over; its validation is run again.
    (made.directory / "manifest.json").write_text(
        (made.directory / "manifest.json").read_text().replace(json.dumps(command)[1:-1], "true")
    )
    code, _, err = ended(made, DIR, "--resume")
    assert (code, "1 of 2 tasks taken over" in err) == (0, True), err


def test_status_of_what_was_never_run(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1))
    code, _, err = ended(made, DIR, verb="status")
    assert (code, "it was never run here" in err) == (2, True), err
