"""Manifests, outcomes and whole runs for the tests of the waves engine; nothing is started."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from prun_review import wavesteps
from prun_review.reopening import put_together
from prun_review.tasks import (
    FAILED,
    SUCCEEDED,
    Conflict,
    Course,
    Manifest,
    Outcome,
    Problem,
    Review,
    Task,
    Wave,
)
from prun_review.wavebegin import begin
from prun_review.waves import finished, reviewed, started, stop, validated
from prun_review.wavesteps import Dispatch, Finish, PutTogether, Reopen, ReviewWave, Step, Validate
from prun_review.written import Check, Patch, Touched

BASE = "b" * 40


def sha(*parts: object) -> str:
    return hashlib.sha1(repr(parts).encode()).hexdigest()


def task(name: str, wave: int, *deps: str, **more: object) -> Task:
    return replace(Task(f"task-{name}", wave, deps=tuple(sorted(f"task-{d}" for d in deps))), **more)  # type: ignore[arg-type]


def manifest(
    *tasks: Task, validation: Mapping[int, str] | None = None, panel: Sequence[int] = ()
) -> Manifest:
    numbers = sorted({t.wave for t in tasks})
    waves = tuple(
        Wave(
            n,
            tuple(t for t in tasks if t.wave == n),
            validation=(validation or {}).get(n, ""),
            panel=("panels/",) if n in panel else (),
        )
        for n in numbers
    )
    return Manifest("parallel/TS-0001-shop", waves, spec="TS-0001", digest="d" * 64)


def patch(*names: str, base: str = BASE) -> Patch:
    files = tuple(Touched(name, "modified", added=1) for name in sorted(names))
    return Patch(base, sha("tree", base, files), digest=sha(files) if files else "", files=files)


def ended(name: str, reason: str = "ok", *files: str) -> Outcome:
    """What is told of a task; ``ok`` writes a file unless others are named, ``empty`` nothing."""
    if reason in ("ok", "empty"):
        wrote = patch(*(files or (f"src/{name}.py",))) if reason == "ok" else patch()
        return Outcome(name, SUCCEEDED, "ok", attempts=1, seconds=2.0, patch=wrote)
    return Outcome(name, FAILED, reason, attempts=1, seconds=2.0)


def check(command: str = "make test", code: int | None = 0) -> Check:
    return Check(command, code, seconds=1.0)


def review(outcome: str, *tasks: str) -> Review:
    return Review("run-1", ("panels/",), ("openai",), tasks, outcome, f"{outcome} (told)")


def begun(of: Manifest, **options: object) -> Course:
    course, problems = begin(of, BASE, **options)  # type: ignore[arg-type]
    assert course is not None, problems
    return course


def refused(of: Manifest, **options: object) -> list[str]:
    """The codes of what forbids to begin."""
    course, problems = begin(of, BASE, **options)  # type: ignore[arg-type]
    assert course is None
    assert all(isinstance(p, Problem) and p.level == "error" and p.text for p in problems)
    return [p.code for p in problems]


@dataclass(frozen=True)
class Script:
    """What will become of everything in a run, whatever the order."""

    ends: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By task: how each of its dispatches ends, ``ok`` where nothing is said."""
    clashes: Mapping[str, int] = field(default_factory=dict)
    """By task: how often its change meets a conflict."""
    validations: Mapping[int, bool] = field(default_factory=dict)
    """By wave: whether its validation passes, True where nothing is said."""
    panels: Mapping[int, str] = field(default_factory=dict)
    """By wave: PASS where nothing is said, FAIL, INCOMPLETE, ``nobody`` (no review came back) or ``part``
    (not every change was looked at)."""


class Play:
    """A run by a script: ``jobs`` tasks at once at most, which of them ends first is for ``random``."""

    def __init__(self, course: Course, script: Script, random: Random, jobs: int = 3) -> None:
        self.course, self.script, self.random, self.jobs = course, script, random, jobs
        self.dispatched: dict[str, int] = {}
        self.steps: list[Step] = []
        self.seen: list[Course] = [course]

    def run(self, stop_after: int | None = None) -> Course:
        """Play to the end, or stop the run after so many moves and let what runs end."""
        for move in range(10_000):
            if move == stop_after:
                self._now(stop(self.course, "interrupted"))
            if not self.move():
                return self.course
        raise AssertionError("the run does not end")

    def move(self) -> bool:
        """One thing that happens next; False where the run is over."""
        step, busy = wavesteps.due(self.course), wavesteps.running(self.course)
        if isinstance(step, Finish):
            assert not busy
            return False
        start = isinstance(step, Dispatch | Reopen)
        if busy and (not start or len(busy) >= self.jobs or self.random.random() < 0.5):
            self._now(self.end(self.random.choice(busy).id))
            return True
        assert step is not None, "nothing runs and nothing is due"
        self.steps.append(step)
        self._now(self.do(step))
        return True

    def _now(self, course: Course) -> None:
        self.course = course
        self.seen.append(course)

    def end(self, name: str) -> Course:
        told = [*self.script.ends.get(name, ()), *["ok"] * 9][self.dispatched[name] - 1]
        return finished(self.course, ended(name, told))

    def do(self, step: Step) -> Course:
        course = self.course
        match step:
            case Dispatch(task, _) | Reopen(task, _):
                self.dispatched[task.id] = self.dispatched.get(task.id, 0) + 1
                return started(course, task.id, executor="codex", vendor="openai")
            case PutTogether(wave, onto, outcomes):
                return put_together(course, wave.number, *self._put(onto, outcomes))
            case Validate(wave, _):
                good = self.script.validations.get(wave.number, True)
                return validated(course, wave.number, check(wave.validation, 0 if good else 1))
            case ReviewWave(wave, _, _, outcomes):
                return reviewed(course, wave.number, self._reviews(wave.number, outcomes))
        raise AssertionError(step)

    def _put(
        self, onto: str, outcomes: Sequence[Outcome]
    ) -> tuple[str, dict[str, str], tuple[Conflict, ...]]:
        commits, conflicts = {}, []
        for outcome in outcomes:
            if outcome.reopened < self.script.clashes.get(outcome.task, 0):
                conflicts.append(Conflict(outcome.task, ("src/shared.py",), "<<<<<<<"))
            else:
                onto = commits[outcome.task] = sha(onto, outcome.task, outcome.patch)
        return onto, commits, tuple(conflicts)

    def _reviews(self, wave: int, outcomes: Sequence[Outcome]) -> list[Review]:
        told, tasks = self.script.panels.get(wave, "PASS"), [o.task for o in outcomes]
        if told == "nobody":
            return []
        if told == "part":
            return [review("PASS", *tasks[1:])]
        return [review("PASS", *tasks[:1]), review(told, *tasks)]


def some_run(random: Random) -> tuple[Manifest, Script]:
    """A manifest of up to four waves, and what becomes of it."""
    tasks: list[Task] = []
    for wave in range(1, random.randint(1, 4) + 1):
        earlier = [t.id.removeprefix("task-") for t in tasks]
        for n in range(random.randint(1, 4)):
            deps = [d for d in earlier if random.random() < 0.3]
            tasks.append(task(f"{wave}{n}0", wave, *deps))
    waves = sorted({t.wave for t in tasks})
    said = {w: f"make check-{w}" for w in waves if random.random() < 0.6}
    script = Script(
        {t.id: [random.choice(["ok", "ok", "ok", "empty", "timeout"]) for _ in range(3)] for t in tasks},
        {t.id: random.choice([0, 0, 0, 1, 2]) for t in tasks},
        {w: random.random() < 0.85 for w in waves},
        {w: random.choice(["PASS"] * 6 + ["FAIL", "INCOMPLETE", "nobody", "part"]) for w in waves},
    )
    return manifest(*tasks, validation=said, panel=[w for w in waves if random.random() < 0.4]), script
