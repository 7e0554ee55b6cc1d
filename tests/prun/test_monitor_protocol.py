"""``monitor``, line by line: events, statuses, their order and exit statuses, on directories of any kind."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from prun_review import fallback
from prun_review.prun import births
from prun_review.prun.monitor import Monitor
from tests.prun.kit import PRUN, RESULT, command, dead_pid, laid_out, landed, until

SHORT = {"PRUN_MONITOR_POLL": "0.05", "PRUN_MONITOR_TIMEOUT": "0", "PRUN_STALL_THRESHOLD": "100"}
"""One look at every directory."""
FALLBACK = fallback.header("u1") + "raw\n"


def monitor(*paths: Path, **env: str) -> int:
    return Monitor([str(p) for p in paths], {**SHORT, **env}).run()


def lines(capfd: pytest.CaptureFixture[str]) -> list[str]:
    return capfd.readouterr().out.splitlines()[1:]


@pytest.fixture
def four(tmp_path: Path) -> dict[str, Path]:
    """A directory per state, as the old scripts leave them."""
    r = tmp_path / "results"
    landed(r / "done.md", RESULT + FALLBACK)
    landed(r / "fallback.md", FALLBACK)
    landed(r / "finishing.md", age=0)
    return {
        "done": laid_out(tmp_path, "done", result=str(r / "done.md"), pid=dead_pid()),
        "fallback": laid_out(tmp_path, "fallback", result=str(r / "fallback.md"), pid=dead_pid()),
        "finishing": laid_out(tmp_path, "finishing", result=str(r / "finishing.md"), pid=os.getpid()),
        "growing": laid_out(tmp_path, "growing", result=str(r / "growing.md"), pid=os.getpid()),
        "silent": laid_out(tmp_path, "silent", result=str(r / "silent.md"), pid=None, tail=b""),
        "dead": laid_out(tmp_path, "dead", result=str(r / "dead.md"), pid=dead_pid()),
        "pending": laid_out(tmp_path, "pending", result=str(r / "pending.md"), pid=os.getpid(), tail=None),
    }


def test_a_transcript_of_all_done(four: dict[str, Path], tmp_path: Path) -> None:
    paths = (str(four["done"]), f"{four['done']}/")
    done = command("monitor", *paths, env={}, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "MONITOR-START units=2 stall-threshold=600s timeout=3600s",
        "MONITOR-EVENT all-done",
        f"UNIT {four['done'].name} done",
        f"UNIT {four['done'].name} done",
    ]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_transcript_of_no_arguments(tmp_path: Path) -> None:
    done = command("monitor", env={}, cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("MONITOR-EVENT usage-error\n", 2)
    assert done.stderr


def test_a_transcript_of_a_directory_that_does_not_exist(four: dict[str, Path], tmp_path: Path) -> None:
    done = command("monitor", str(four["done"]), "prun-task-0-x", env=SHORT, cwd=tmp_path)
    assert done.stdout.splitlines()[1:] == [
        "MONITOR-EVENT timeout",
        f"UNIT {four['done'].name} done",
        "UNIT prun-task-0-x pending",
    ]
    assert (done.returncode, done.stderr) == (2, "monitor: prun-task-0-x: there is no such state directory\n")


def test_a_transcript_of_time_that_is_over(four: dict[str, Path], tmp_path: Path) -> None:
    names = ("pending", "growing", "finishing", "done")
    done = command("monitor", *(str(four[n]) for n in names), env=SHORT, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "MONITOR-START units=4 stall-threshold=100s timeout=0s",
        "MONITOR-EVENT timeout",
        *(f"UNIT {four[n].name} {n}" for n in names),
    ]
    assert done.returncode == 2


def test_a_transcript_of_a_failure(four: dict[str, Path], tmp_path: Path) -> None:
    names = ("growing", "fallback", "done")
    done = command("monitor", *(str(four[n]) for n in names), env=SHORT, cwd=tmp_path)
    assert done.stdout.splitlines()[1:] == [
        "MONITOR-EVENT fail",
        f"UNIT {four['growing'].name} growing",
        f"UNIT {four['fallback'].name} failed(fallback)",
        f"UNIT {four['done'].name} done",
    ]
    assert done.returncode == 3


def test_silence_is_a_stall_and_a_dead_dispatcher_a_failure_but_only_after_the_threshold(
    four: dict[str, Path], capfd: pytest.CaptureFixture[str]
) -> None:
    env = {"PRUN_STALL_THRESHOLD": "1", "PRUN_MONITOR_TIMEOUT": "30"}
    assert monitor(four["dead"]) == 2
    assert lines(capfd) == ["MONITOR-EVENT timeout", f"UNIT {four['dead'].name} growing"]
    # Without a pid, as 0.7.6 left it, nobody can be known to be dead.
    assert monitor(four["silent"], four["done"], **env) == 3
    stalled = [f"UNIT {four['silent'].name} stalled(1s)", f"UNIT {four['done'].name} done"]
    assert lines(capfd) == ["MONITOR-EVENT stall", *stalled]
    assert monitor(four["silent"], four["dead"], **env) == 3
    dead = f"UNIT {four['dead'].name} failed(dispatch-dead)"
    assert lines(capfd) == ["MONITOR-EVENT fail", stalled[0], dead]


def test_growth_puts_a_stall_off(tmp_path: Path) -> None:
    state = laid_out(tmp_path, result="/nowhere/r.md", pid=os.getpid())
    watching = Monitor([str(state)], {"PRUN_STALL_THRESHOLD": "10"})
    (unit,) = watching.units
    for seconds, grows, status in (
        (0.0, False, "growing"),
        (9.0, False, "growing"),
        (9.0, True, "growing"),
        (9.0, False, "growing"),
        (1.0, False, "stalled(10s)"),
        (5.0, False, "stalled(15s)"),
        (5.0, True, "growing"),
    ):
        if grows:
            with open(state / "tail", "a") as tail:
                tail.write("more\n")
        assert watching.look(unit, seconds) == status


def test_standard_error_of_our_own_runs_is_growth_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    state = laid_out(tmp_path, result="/nowhere/r.md", pid=os.getpid(), tail=None)
    (state / "stderr").write_text("x")
    assert monitor(state) == 2
    assert lines(capfd)[1].endswith(" growing")


def test_a_result_that_comes_while_it_is_watched(tmp_path: Path) -> None:
    state = laid_out(tmp_path, result=str(tmp_path / "r.md"), pid=os.getpid())
    env = SHORT | {"PRUN_MONITOR_TIMEOUT": "60", "PRUN_MONITOR_STABLE_WINDOW": "1"}
    with subprocess.Popen(
        [*PRUN, "monitor", str(state)], env=env, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        landed(tmp_path / "r.md", age=0)
        assert process.stdout.read() == f"MONITOR-EVENT all-done\nUNIT {state.name} done\n"
        assert process.wait() == 0


def test_a_result_from_the_future_is_done_once_it_was_left_alone(tmp_path: Path) -> None:
    landed(tmp_path / "r.md", age=-86_400)
    state = laid_out(tmp_path, result=str(tmp_path / "r.md"), pid=dead_pid())
    assert monitor(state, PRUN_MONITOR_TIMEOUT="30", PRUN_MONITOR_STABLE_WINDOW="1") == 0


def test_settings_that_are_no_numbers_are_the_defaults() -> None:
    names = ("STALL_THRESHOLD", "MONITOR_TIMEOUT", "MONITOR_POLL", "MONITOR_STABLE_WINDOW")
    watching = Monitor(["x"], {f"PRUN_{name}": "soon" for name in names})
    assert (watching.threshold, watching.timeout, watching.poll, watching.window) == (600, 3600, 15, 10)
    watching = Monitor(["x"], {f"PRUN_{name}": "7" for name in names})
    assert (watching.threshold, watching.timeout, watching.poll, watching.window) == (7, 7, 7, 7)


# --- which process a pid means ------------------------------------------------------------------


def test_a_pid_that_belongs_to_another_process_by_now_is_nobody(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The pid is that of a living process: this one."""
    own, long_ago = os.getpid(), int(time.time()) - 30 * 86_400
    cases = {
        "same": (None, None, "stalled(1s)"),
        "older": (None, long_ago, "failed(dispatch-dead)"),
        "born": (births.birth(own), long_ago, "stalled(1s)"),
        "other": (births.birth(os.getppid()), None, "failed(dispatch-dead)"),
        "boot": ("0" + births.birth(own)[1:-1] + "0", None, "failed(dispatch-dead)"),
    }
    paths = []
    for unit, (born, timestamp, _) in cases.items():
        paths.append(laid_out(tmp_path, unit, result="/nowhere", pid=own, timestamp=timestamp))
        if born is not None:
            (paths[-1] / "dispatch-start").write_text(f"{born}\n")
    assert monitor(*paths, PRUN_STALL_THRESHOLD="1", PRUN_MONITOR_TIMEOUT="30") == 3
    assert lines(capfd)[1:] == [f"UNIT {p.name} {cases[u][2]}" for u, p in zip(cases, paths, strict=True)]


def test_a_dispatcher_that_nobody_waited_for_is_dead(tmp_path: Path) -> None:
    process = subprocess.Popen(["/bin/true"])
    until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    born = births.birth(process.pid)
    assert births.runs(process.pid, born, time.time()) is False
    process.wait()
    assert births.runs(os.getpid(), births.birth(os.getpid()), None) is True
    assert births.runs(10**17, "", None) is False


# --- what stood there before --------------------------------------------------------------------


def test_a_result_of_an_earlier_run_is_none(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    old = landed(tmp_path / "r.md")
    mtime = int(old.stat().st_mtime)
    state = laid_out(tmp_path, result=str(old), pid=os.getpid(), pre_mtime=mtime)
    assert monitor(state) == 2
    assert lines(capfd)[1] == f"UNIT {state.name} growing"
    (state / "timestamp").write_text(f"{mtime}\n")  # the same second: it may be new
    assert monitor(state) == 0
    info = old.stat()
    (state / "pre-result").write_text(json.dumps([info.st_size, info.st_mtime_ns, ""]))
    assert monitor(state) == 2
    (state / "pre-result").write_text("[]\n")
    assert monitor(state) == 0


# --- directories in any condition ---------------------------------------------------------------


def test_entries_that_are_no_paths(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    r = landed(tmp_path / "r.md")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    results: dict[str, str | bytes] = {
        "long": str(r) + "x" * 70_000,
        "nul": os.fsencode(r) + b"\0",
        "folder": str(tmp_path / "folder"),
        "fifo": str(tmp_path / "fifo"),
        "device": "/dev/zero",
        "empty": "",
        "up": "../r.md",
    }
    states = {u: laid_out(tmp_path, u, result=path, pid=os.getpid()) for u, path in results.items()}
    states["absent"] = laid_out(tmp_path, "absent", result="x", pid=os.getpid())
    (states["absent"] / "result-file").unlink()
    states["pipe"] = laid_out(tmp_path, "pipe", result="x", pid=os.getpid())
    (states["pipe"] / "result-file").unlink()
    os.mkfifo(states["pipe"] / "result-file")
    states["linked"] = laid_out(tmp_path, "linked", result="x", pid=os.getpid())
    (states["linked"] / "result-file").unlink()
    (tmp_path / "entry").write_text(f"{r}\n")
    (states["linked"] / "result-file").symlink_to(tmp_path / "entry")
    assert monitor(*states.values()) == 2
    assert {line.split()[2] for line in lines(capfd)[1:]} == {"growing"}


def test_paths_that_are_paths(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    landed(tmp_path / "r.md")
    landed(tmp_path / os.fsdecode(b"r\xff.md"))
    name = os.fsencode(tmp_path) + b"/r\xff.md"
    states = [
        laid_out(tmp_path, "bytes", result=name, pid=None),
        laid_out(tmp_path, "relative", result="r.md", pid=None),
        laid_out(tmp_path, "below", result="work/own.md", pid=None),
        laid_out(tmp_path, "crlf", result=f"{tmp_path}/r.md\r", pid=None),
    ]
    landed(states[2] / "work" / "own.md")
    assert monitor(*states) == 0
    assert {line.split()[2] for line in lines(capfd)[1:]} == {"done"}


@pytest.mark.parametrize("text", ["", "0", "-1", "x", "9" * 17, "9" * 30, "12 34"])
def test_pids_that_are_none_or_nobodys(tmp_path: Path, text: str) -> None:
    state = laid_out(tmp_path, result="/nowhere", pid=None)
    (state / "dispatch-pid").write_text(text)
    watching = Monitor([str(state)], {**SHORT, "PRUN_STALL_THRESHOLD": "0"})
    assert watching.look(watching.units[0], 0.0) == "growing"
    dead = "failed(dispatch-dead)" if text == "9" * 17 else "stalled(1s)"
    assert watching.look(watching.units[0], 1.0) == dead


def test_a_directory_that_is_not_there_is_pending_and_stalls(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert monitor(tmp_path / "gone") == 2
    assert lines(capfd) == ["MONITOR-EVENT timeout", "UNIT gone pending"]
    assert monitor(tmp_path / "gone", PRUN_STALL_THRESHOLD="1", PRUN_MONITOR_TIMEOUT="9") == 3
    assert lines(capfd) == ["MONITOR-EVENT stall", "UNIT gone stalled(1s)"]


# --- our own runs -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "status", "code"),
    [
        ('{"status": "valid"}', "done", 0),
        ('{"status": "failed"}', "failed(failed)", 3),
        ('{"status": "broken"}', "failed(broken)", 3),
        ('{"status": "not-run"}', "failed(not-run)", 3),
        ('{"status": ', "failed(unreadable)", 3),
        ("[1]", "failed(unreadable)", 3),
    ],
)
def test_an_attempt_of_our_own_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], result: str, status: str, code: int
) -> None:
    unit = tmp_path / "units" / "slug"
    made = laid_out(unit, result=str(unit / "result.json"), pid=os.getpid())
    attempt = made.rename(unit / "1")
    landed(unit / "result.json", result)
    assert monitor(attempt) == code
    assert lines(capfd)[1:] == [f"UNIT 1 {status}"]


def test_a_result_json_of_somebody_else_is_any_result(tmp_path: Path) -> None:
    landed(tmp_path / "x" / "result.json", '{"status": "failed"}')
    assert monitor(laid_out(tmp_path, result=str(tmp_path / "x" / "result.json"), pid=None)) == 0
