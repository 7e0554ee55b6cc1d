"""Runs of waves ended in every way at random instants, then resumed: nothing is lost or left running.

``PRUN_CRASH_KILLS`` is how many ends; one without it.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prun_review import rundir, wavedocument
from prun_review.rundir import RunView
from prun_review.runview import WAVES
from tests.crash.campaign import LIMIT, until
from tests.repokit import cache_home
from tests.waves.test_run_verb import running
from tests.waves.wavekit import DIR, DONE, Project, T, project

KILLS = int(os.environ.get("PRUN_CRASH_KILLS", "1"))
SEED = int(os.environ.get("PRUN_CRASH_SEED", "1"))
ENDS = (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGHUP)
PHASES = ("store", "template", "copy", "written", "accepted", "late", "any")


def made(tmp_path: Path, mark: Path) -> Project:
    """Three waves of tasks that each leave daemons, with validations that leave some too."""
    daemon = f"setsid env -i /bin/sh -c \"trap '' TERM HUP; while :; do sleep 0.2; done\" {mark} &"

    def script(number: int) -> str:
        wrote = f"echo x >> {tmp_path}/calls-{number}; echo {number} > task-{number:03}.txt"
        return f"{wrote}; {daemon} sleep 0.{number}; {DONE}"

    tasks = [T(1, 1), T(2, 1), T(3, 2, [1]), T(4, 2, [2]), T(5, 3, [3])]
    tasks = [T(t.number, t.wave, t.deps, script=script(t.number)) for t in tasks]
    return project(tmp_path, *tasks, validation={1: f"{daemon} sleep 0.3", 3: "test -f task-005.txt"})


def start(made: Project, *args: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-m", "prun_review", "run", DIR, *args]
    with (made.root.parent / "output.txt").open("wb") as output:
        return subprocess.Popen(argv, cwd=made.root, stdout=output, stderr=output, start_new_session=True)


def output(made: Project) -> str:
    return (made.root.parent / "output.txt").read_text(errors="replace")


def newest(made: Project) -> dict[str, Any]:
    """The newest document; of what it calls done another run must not do anything again."""
    found = (path for path in rundir.stored(made.root) if (path / WAVES).exists())
    path = next(found, None)
    return RunView(path).waves() if path else {"tasks": [], "status": "none"}


def calls(made: Project) -> dict[str, int]:
    """How often each task was begun."""
    files = {n: made.root.parent / f"calls-{n}" for n in range(1, 6)}
    return {f"task-{n:03}-part": len(f.read_text().split()) if f.exists() else 0 for n, f in files.items()}


def reached(made: Project, phase: str, before: set[Path], cache: Path, done: int) -> bool:
    fresh = set(rundir.stored(made.root)) - before
    if not fresh:
        return phase == "any"
    run = next(iter(fresh))
    copies = cache / "prun_review/copies"
    conditions: dict[str, Callable[[], object]] = {
        "store": lambda: True,
        "template": lambda: list(copies.glob(f"{run.name}-*/template-*/tree")),
        "copy": lambda: list(copies.glob(f"{run.name}-*/*-1/tree")),
        "written": lambda: sum(calls(made).values()) > done,
        "accepted": lambda: "putting together" in output(made),
        "late": lambda: "task=task-005 status=started" in output(made),
        "any": lambda: True,
    }
    return bool(conditions[phase]())


def ended(made: Project, cache: Path, mark: Path, draw: random.Random, turn: int) -> bool:
    """End a run at some instant; False where it was over before."""
    before, done = set(rundir.stored(made.root)), sum(calls(made).values())
    phase, number = PHASES[turn % len(PHASES)], ENDS[turn % len(ENDS)]
    child = start(made, "--resume")
    try:
        until(lambda: child.poll() is not None or reached(made, phase, before, cache, done), LIMIT)
        until(lambda: child.poll() is not None, draw.uniform(0.0, 0.3))
        over = child.poll() is not None
        child.send_signal(number)
        child.wait(LIMIT)
    finally:
        child.kill()
        child.wait()
    assert until(lambda: not running(mark) and not running(made.root.parent), 20), (phase, number)
    found = newest(made)
    assert found["status"] == "none" or wavedocument.validate(found) == []
    assert child.returncode != 0 or found["status"] == "completed", (phase, number, output(made))
    assert "Traceback" not in output(made), output(made)
    return not over


@pytest.mark.skipif(not KILLS, reason="no kills are wanted")
def test_after_every_end_a_resumed_run_of_waves_comes_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    draw, turn, ends, runs = random.Random(SEED), SEED, 0, 0
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    while ends < KILLS:
        with cache_home() as cache:
            monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
            place = tmp_path / str(runs)
            place.mkdir()
            mark = place / "mark"
            here = made(place, mark)
            for _ in range(min(KILLS - ends, draw.randint(1, 4))):
                former = {t["id"] for t in newest(here)["tasks"] if t["status"] == "succeeded"}
                counted = calls(here)
                ends += ended(here, cache, mark, draw, turn)
                turn += 1
                now = calls(here)
                assert all(now[name] == counted[name] for name in former), "done twice"
                assert former <= {t["id"] for t in newest(here)["tasks"] if t["status"] == "succeeded"}
            child = start(here, "--resume")
            assert child.wait(LIMIT) == 0, output(here)
            assert newest(here)["status"] == "completed"
            assert not running(mark)
            runs += 1
    with capsys.disabled():
        print(f"\nwave campaign: {ends} ends of {runs} runs of waves (seed {SEED})")
