"""A review that is SIGKILLed again and again, and what must hold after every kill and at the end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from prun_review import files, rundir
from prun_review.cli.runs import judge
from prun_review.errors import RunDirError
from prun_review.rundir import RunView
from tests.plugin.conftest import SOURCE
from tests.repokit import repository

STANDIN = Path(__file__).with_name("standin.py")
JOBS = 8
UNITS = 40
ASKED_AGAIN = ("right", "07")
"""The unit whose first answer breaks its contract: it takes two dispatches."""
LIMIT = 120.0
"""Seconds for one run: an undisturbed one takes three to ten."""
MARK = "PRUN_CRASH_CAMPAIGN"
"""In the environment of every process of the harness."""

PROBE = '''
import pytest
from prun_review import brief

@brief(reads=["src/*.py"])
@pytest.mark.parametrize("number", [f"{n:02}" for n in range(20)])
def probe_case(result, number):
    """This is case {number} of the campaign: audit the application."""
'''
VOLATILE = ("run_id", "started", "finished", "seconds", "resumed_from", "resume")
"""Keys of a document that tell when and how it came about, and not what was answered."""


@dataclass
class Tally:
    """What a campaign did."""

    kills: int = 0
    runs: int = 0
    ended: int = 0
    """Reviews brought to their end, however many runs that took."""
    early: int = 0
    """Kills before the first unit was answered."""
    late: int = 0
    """Kills after the last one was."""
    amid: int = 0
    """Kills with attempts in flight."""
    lost: int = 0
    """Attempts that were in flight at a kill."""
    kept: int = 0
    """Answers that were there at a kill, each counted at each kill."""
    starts: int = 0

    def __str__(self) -> str:
        return (
            f"crash campaign: {self.kills} kills ({self.early} before the first answer, {self.amid} with "
            f"attempts in flight, {self.late} after the last answer) in {self.runs} runs, {self.ended} "
            f"reviews of {UNITS} units ended; "
            f"{self.kept} answers kept, {self.lost} attempts lost in flight, {self.starts} dispatches"
        )


@dataclass
class Project:
    """The project under review, outside of which lie the log of calls and the cache."""

    path: Path
    cache: Path
    workers: int
    answered: set[tuple[str, str]] = field(default_factory=set)
    """(executor, case) with a stored result at the last kill."""
    child: subprocess.Popen[bytes] | None = None
    """The run of pytest that was started last."""
    lost: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each was in flight at a kill."""

    @classmethod
    def make(cls, base: Path, cache: Path, workers: int) -> Project:
        """A repository with one module, one probe of 20 cases, two stand-ins of different vendors."""
        project = cls(base / "project", cache, workers)
        lines = ["[tool.prun_review]", 'executors = ["left", "right"]', f"jobs = {JOBS}", 'report = ["json"]']
        for name in ("left", "right"):
            argv = [sys.executable, "-I", "-S", str(STANDIN), str(project.log), name]
            lines += [f"[tool.prun_review.executor.{name}]", 'type = "command"', f'vendor = "v-{name}"']
            lines += [f'lineage = "l-{name}"', f"argv = {json.dumps(argv)}"]
        content = {"pyproject.toml": "\n".join(lines), "panels/probe_case.py": PROBE, "src/app.py": SOURCE}
        repository(project.path, content)
        return project

    @property
    def log(self) -> Path:
        """Of the stand-ins' calls."""
        return self.path.with_name("calls.log")

    def reset(self) -> None:
        """As if nobody had ever reviewed it."""
        for name in (".prun", "reports"):
            files.remove_tree(self.path / name)
        self.log.unlink(missing_ok=True)
        self.answered, self.lost = set(), Counter()

    def calls(self) -> list[tuple[str, tuple[str, str]]]:
        """("start" or "end", (executor, case)), in order."""
        text = self.log.read_text() if self.log.exists() else ""
        return [(word, (name, case)) for word, name, case, _ in map(str.split, text.splitlines())]

    def start(self, *args: str) -> subprocess.Popen[bytes]:
        """``pytest panels/ ARGS`` in a session of its own; what it prints goes to a file."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "PRUN_"))}
        env |= {"XDG_CACHE_HOME": str(self.cache), MARK: str(self.path)}
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
        argv += ["panels/", *args, *(["-n", str(self.workers)] if self.workers else [])]
        with self.path.with_name("output.txt").open("wb") as output:
            self.child = subprocess.Popen(
                argv, cwd=self.path, env=env, stdout=output, stderr=output, start_new_session=True
            )
        return self.child

    def end(self) -> None:
        """Leave nothing running, also where an assertion failed."""
        if self.child is not None and self.child.poll() is None:
            self.child.kill()
            self.child.wait()

    def output(self) -> str:
        """What the last run printed."""
        return self.path.with_name("output.txt").read_text(errors="replace")

    def stored(self) -> set[tuple[str, str]]:
        """(executor, case) of every result that a run has and its ledger vouches for."""
        found = set()
        for path in rundir.stored(self.path):
            view = RunView(path)
            plan = view.plan()
            for unit in plan.units if plan else ():
                result = view.result_of(unit)
                if result is not None:
                    assert result.ok, result
                    found.add((unit.executor, unit.id.rpartition("[")[2][:2]))
        return found

    def newest(self) -> int:
        """How many results the newest run has by now."""
        with suppress(RunDirError, OSError):
            return len(list(rundir.latest(self.path).glob("units/*/result.json")))
        return 0

    def survivors(self) -> list[str]:
        """Processes of the harness or of its workers that still live."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                told = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                if os.fsencode(self.path.parent) in told and state != "Z":
                    found.append(f"{folder.name} {(folder / 'cmdline').read_bytes()!r}")
        return found


def normal(value: Any) -> Any:
    """A document without what differs between two runs that found the same."""
    if isinstance(value, Mapping):
        return {k: normal(v) for k, v in value.items() if k not in VOLATILE}
    return [normal(v) for v in value] if isinstance(value, list) else value


def differences(found: Any, expected: Any, place: str = "") -> list[str]:
    """Where two documents differ, for a message that can be read."""
    if isinstance(found, dict) and isinstance(expected, dict):
        keys = sorted({*found, *expected})
        return [d for k in keys for d in differences(found.get(k), expected.get(k), f"{place}/{k}")]
    if isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        pairs = enumerate(zip(found, expected, strict=True))
        return [d for n, (a, b) in pairs for d in differences(a, b, f"{place}/{n}")]
    return [] if found == expected else [f"{place}: {found!r}, expected {expected!r}"]


def until(condition: Callable[[], object], seconds: float) -> bool:
    """Whether it became true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def undisturbed(project: Project) -> Any:
    """The document of a run that nobody kills."""
    project.reset()
    child = project.start()
    assert child.wait(LIMIT) == 1, project.output()  # two of the findings are high, and agreed
    assert len(project.calls()) == 2 * (UNITS + 1), "one answer is asked for again"
    return normal(report(project))


def report(project: Project) -> dict[str, Any]:
    """The document of the latest run, as its reports have it."""
    found: dict[str, Any] = json.loads((project.path / "reports/latest/report.json").read_text())
    return found


def run(project: Project, kills: int, seed: int, expected: Any) -> Tally:
    """Reviews, each killed a few times and resumed to its end, until there were so many kills."""
    draw = random.Random(seed)
    tally = Tally()
    phases = cycle(("flight", "flight", "start", "flight", "take-over", "end"))
    while tally.kills < kills:
        project.reset()
        args: tuple[str, ...] = ()
        for phase in islice(phases, min(kills - tally.kills, draw.randint(1, 5))):
            if not _killed(project, args, _moment(draw, phase, len(project.answered)), tally):
                break  # it had ended before
            args = ("--prun-resume",)
        else:
            child = project.start(*args)
            child.wait(LIMIT)
            tally.runs += 1
        _check_end(project, expected, tally)
    return tally


def _moment(draw: random.Random, phase: str, answered: int) -> tuple[int, float]:
    """When to kill: so many seconds after so many results, those taken over too, are there."""
    if phase == "start":
        return 0, draw.uniform(0.0, 2.5)
    if phase == "take-over" and answered:
        return draw.randint(1, answered), draw.uniform(0.0, 0.05)
    if phase == "end" or answered == UNITS:
        return UNITS, draw.uniform(0.0, 0.5)
    return draw.randint(answered, answered + (UNITS - answered) // 2), draw.uniform(0.0, 0.3)


def _killed(project: Project, args: tuple[str, ...], moment: tuple[int, float], tally: Tally) -> bool:
    """Start a run and SIGKILL it at that moment; False when it had ended before."""
    count, delay = moment
    before, runs = len(project.calls()), len(list(rundir.stored(project.path)))
    child = project.start(*args)
    tally.runs += 1
    ready = until(
        lambda: (
            child.poll() is not None
            or not count
            or (len(list(rundir.stored(project.path))) > runs and project.newest() >= count)
        ),
        LIMIT,
    )
    assert ready, f"no {count} results came: {project.output()}"
    until(lambda: child.poll() is not None, delay)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert until(lambda: not project.survivors(), 20), f"survivors: {project.survivors()}"
    if child.returncode != -signal.SIGKILL:
        _check_fresh(project, before)
        return False
    tally.kills += 1
    _check_kill(project, before, tally)
    return True


def _check_fresh(project: Project, before: int) -> list[tuple[str, str]]:
    """What was answered already was not asked again; what was, in order."""
    started = [unit for word, unit in project.calls()[before:] if word == "start"]
    assert not set(started) & project.answered, "dispatched although it was answered"
    return started


def _check_kill(project: Project, before: int, tally: Tally) -> None:
    """At most the attempts in flight are lost, and what was there before is there still."""
    started = set(_check_fresh(project, before))
    answered = project.stored()
    assert project.answered <= answered, "an answer was lost"
    lost = started - answered
    assert len(lost) <= JOBS + 1, f"more than was in flight: {lost}"  # one may be between two attempts
    project.lost.update(lost)
    tally.lost += len(lost)
    tally.amid += bool(lost)
    tally.kept += len(answered)
    tally.early += not answered
    tally.late += len(answered) == UNITS
    project.answered = answered


def _check_end(project: Project, expected: Any, tally: Tally) -> None:
    """The document is that of an undisturbed run, and nothing was completed twice without need."""
    found = report(project)
    assert differences(normal(found), expected) == [], project.output()
    latest = rundir.latest(project.path)
    assert found["run_id"] == latest.name
    again = judge(latest)
    assert differences(normal(again.document), expected) == [], "judged again from this run's directory alone"
    assert rundir.open_run(latest).problems == ()
    starts = Counter(unit for word, unit in project.calls() if word == "start")
    ends = Counter(unit for word, unit in project.calls() if word == "end")
    assert len(starts) == UNITS
    for unit, count in starts.items():
        if unit != ASKED_AGAIN:
            assert count == 1 + project.lost[unit], f"{unit} was dispatched although it was not in flight"
            assert 1 <= ends[unit] <= count
    tally.ended += 1
    tally.starts += sum(starts.values())
    assert until(lambda: not project.survivors(), 20), f"survivors: {project.survivors()}"
    left = [p.name for p in (project.cache / "prun_review/trees").iterdir()]
    assert left == ["lock"], f"snapshots of dead runs are left: {left}"
