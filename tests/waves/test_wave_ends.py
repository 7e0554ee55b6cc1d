"""Runs of waves that end before their time: nothing is left running or lost, and the next command goes on."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from prun_review import rundir, wavedocument
from prun_review.errors import PlanError
from prun_review.wavepace import Errand
from tests.repokit import cache_home
from tests.waves.test_run_verb import document, ended, running, started, wait_for
from tests.waves.wavekit import DIR, DONE, Project, T, project, states


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with cache_home() as place:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
        yield place


def writing(tmp_path: Path, *numbers: int) -> tuple[Project, Path]:
    """A project whose first wave is tasks that write something, start what is hard to end, and go on; the
    mark stands in the command line of all of it."""
    mark = tmp_path / "mark"
    hard = "trap '' TERM HUP INT; while :; do sleep 0.2; done"
    script = (
        f'echo half > half.txt; setsid env -i /bin/sh -c "{hard}" {mark} & exec /bin/sh -c "{hard}" {mark}-'
    )
    tasks = [T(n, 1, script=f"{script}{n}") for n in numbers]
    return project(tmp_path, *tasks, T(9, 2, numbers[:1])), mark


def all_write(mark: Path, *numbers: int) -> Callable[[], bool]:
    return lambda: (
        all(running(Path(f"{mark}-{n}")) for n in numbers) and len(running(mark)) >= 2 * len(numbers)
    )


def goes_on(made: Project, *numbers: int) -> str:
    """Let the tasks come to their end, and resume the run; what it said."""
    for number in numbers:
        made.script(number, f"echo whole > task-{number:03}.txt; {DONE}")
    code, out, err = ended(made, DIR, "--resume")
    assert (code, document(made)["status"]) == (0, "completed"), out + err
    return err


def test_of_a_killed_run_it_is_told_where_its_work_lies(tmp_path: Path, cache: Path) -> None:
    made, mark = writing(tmp_path, 1)
    with started(made, DIR) as process:
        wait_for(all_write(mark, 1))
        process.kill()
        process.communicate(timeout=60)
    wait_for(lambda: not running(mark))
    [tree] = cache.glob("prun_review/copies/*/*-1/tree")
    assert (tree / "half.txt").read_text() == "half\n"
    [template] = cache.glob("prun_review/copies/*/template-*")
    code, _, err = ended(made, DIR, verb="status")
    assert (code, f"nobody took what was written in {tree}" in err) == (0, True), err
    assert f"nobody took what was written in {tree}" in goes_on(made, 1)
    assert (tree / "half.txt").exists()
    assert not template.exists(), "nobody works in it, and it is as large as the checkout"


def hung_up(made: Project) -> tuple[int, int]:
    """A run with a terminal of its own: its pid, and the terminal's other end."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(made.root)
        os.execv(sys.executable, [sys.executable, "-m", "prun_review", "run", DIR])
    return pid, terminal


def test_a_terminal_that_is_closed_ends_the_run_in_order(tmp_path: Path, cache: Path) -> None:
    made, mark = writing(tmp_path, 1)
    pid, terminal = hung_up(made)
    try:
        wait_for(all_write(mark, 1))
    finally:
        os.close(terminal)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 128 + signal.SIGHUP
    assert not running(mark)
    told: dict[str, Any] = dict(document(made))
    assert (told["status"], told["stopped"]) == ("stopped", "interrupted by SIGHUP")
    assert wavedocument.validate(told) == []
    assert json.loads((made.directory / "report.json").read_text()) == told
    [tree] = cache.glob("prun_review/copies/*/*-1/tree")
    assert str(tree) in told["tasks"][0]["message"]


def test_lines_that_nobody_reads_end_the_run_in_order(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), T(2, 2))
    read, write = os.pipe()
    argv = [sys.executable, "-m", "prun_review", "run", DIR]
    with subprocess.Popen(argv, cwd=made.root, stdout=write, stderr=subprocess.PIPE, text=True) as process:
        os.close(write)
        os.close(read)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in err) == (141, False), err
    assert (document(made)["status"], document(made)["stopped"]) == (
        "stopped",
        "nobody reads its lines any more",
    )


def test_lines_that_cannot_be_written_are_no_success(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1))
    argv = [sys.executable, "-m", "prun_review", "run", DIR]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            argv, cwd=made.root, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, document(made)["status"]) == (1, "completed")
    assert "what was printed is not whole" in done.stderr


def test_a_git_that_takes_its_time_outlives_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a run is about to begin, and SIGKILL while it makes what copies are copied from."""
    mark = tmp_path / "slow"
    real = shutil.which("git")
    (tmp_path / "bin").mkdir()
    waits = f"exec /bin/sh -c 'sleep 100; :' {mark}"
    chosen = f'case " $* " in *" $(cat {tmp_path}/word) "*) {waits};; esac'
    (tmp_path / "bin/git").write_text(f'#!/bin/sh\n{chosen}\nexec {real} "$@"\n')
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    made = project(tmp_path, T(1, 1))
    for word, number in (("cat-file", signal.SIGINT), ("checkout-index", signal.SIGKILL)):
        (tmp_path / "word").write_text(word)
        with started(made, DIR) as process:
            wait_for(lambda: running(mark))
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
        wait_for(lambda: not running(mark))
        if number == signal.SIGINT:
            assert process.returncode == 128 + number
            assert "before anything was begun" in err
            assert list(rundir.stored(made.root)) == []
    (tmp_path / "word").write_text("nothing")
    goes_on(made, 1)


def test_a_directory_is_run_by_one_at_a_time(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1))
    first = made.run()
    first.start(say=made.told.append)
    try:
        second = made.run()
        with pytest.raises(PlanError, match="is being run already, by process"):
            second.start(say=made.told.append)
        second.close()
        assert len(list(rundir.stored(made.root))) == 1
    finally:
        first.close()
    assert states(made.done())["001"] == "succeeded:ok"


def test_who_ends_a_run_beside_the_one_that_drives_it_loses_nothing(tmp_path: Path) -> None:
    """As Ctrl-C does with -n: one thread waits for what comes while another stops the run."""
    made, mark = writing(tmp_path, 1, 2, 3)
    run = made.run()
    try:
        run.start(say=made.told.append)

        def drive() -> None:
            while run.owed:
                run.next(5.0)

        driver = threading.Thread(target=drive)
        driver.start()
        wait_for(all_write(mark, 1, 2, 3))
        run.stop("interrupted", "enough")
        driver.join()
        told = run.finish().document
    finally:
        run.close()
    for task in told["tasks"][:3]:
        assert "what it wrote is kept in" in task["message"], task
    assert not running(mark)


def test_what_goes_on_in_the_background_has_not_ended_because_ctrl_c_came() -> None:
    gate = threading.Event()
    errand = Errand("waiting", lambda: gate.wait(30))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sender = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    try:
        sender.start()
        with pytest.raises(KeyboardInterrupt):
            errand.ended(30)
        assert not errand.ended(0)
        gate.set()
        assert errand.ended(30)
        assert errand.result() is True
    finally:
        signal.signal(signal.SIGINT, before)
        gate.set()
