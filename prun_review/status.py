"""How a run stands, from its files alone: live, after the fact, or after its dispatcher died.

Nothing here asks the process that writes the run; a second terminal sees what a later reader sees.
Damage of the ledger is told and read around; what cannot be read at all is a ``RunDirError``.
"""

from __future__ import annotations

import ast
import os
import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from prun_review import rundir
from prun_review.brakes import FIRST_ALONE
from prun_review.errors import RunDirError
from prun_review.forecast import Forecast, forecast, held_back
from prun_review.ledger import LedgerReader
from prun_review.model import Usage
from prun_review.runview import DOCUMENT, LEDGER, RunView, checked_slug
from prun_review.runwriter import STREAMS
from prun_review.standing import ENDED, Running, Status
from prun_review.unitcourses import (
    UnitCourse,
    apply,
    between,
    courses_of,
    finite,
    hits_of,
    retrying_of,
    spent_of,
    tallies_of,
    tally_of,
)

OPTION = "command line"
"""Where a value came from that an option said."""
JOBS = 12
"""Dispatches at once where neither ledger nor configuration of the run says it."""


class RunStatus:
    """A reader of one run, for one look or for many: it reads on where it stopped.

    ``root``: where earlier runs tell how long units take.  ``clock``: seconds since the epoch.
    """

    def __init__(self, path: Path, root: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self.clock = clock
        self._view = RunView(path)
        self._ledger = LedgerReader(path / LEDGER)
        self._courses: dict[str, UnitCourse] | None = None
        """By slug; None before there is a plan."""
        self._examined: dict[str, UnitCourse] = {}
        """The same of the second wave."""
        self._questions = 0
        self._announced: tuple[Any, ...] = ()
        """Sizes of the second wave that the ledger tells and that is not read yet: it writes first."""
        self._early: list[Mapping[str, Any]] = []
        """Events before the plan was read."""
        self._notes: list[str] = []
        self._problems: dict[str, None] = {}
        self._jobs: int | None = None
        self._limits: dict[str, int] = {}
        self._history = rundir.durations(root)

    def look(self) -> Status:
        """How it stands now; ``RunDirError`` for what is no run, or one of another version."""
        alive = self._view.dispatcher_alive()  # before the rest: an end at the last moment is not missed
        document = self._document(alive)
        self._take_in(alive)
        now = self.clock()
        state = _state(document, alive)
        # Without a plan whoever plans may still do so.
        courses = list((self._courses or {}).values())
        examined = list(self._examined.values())
        both = [*courses, *examined]
        self._read_usage(both)
        flying = [c for c in both if c.result is None and c.began is not None]
        dead = state not in ("running", "beginning")
        running = [] if dead else [self._running(c, now) for c in flying]
        retrying = [] if dead else [retrying_of(c, now) for c in both if between(c)]
        tallies = tallies_of(courses, dead=dead)
        return Status(
            run_id=self.path.name,
            path=str(self.path),
            state=state,
            dispatcher_alive=alive,
            seconds=_seconds(document, now),
            verdict=_verdict(document),
            total=tally_of(courses, dead=dead),
            executors=tallies,
            spent=spent_of(courses),
            running=tuple(sorted(running, key=lambda r: -r.seconds)),
            retrying=tuple(sorted(retrying, key=lambda r: r.seconds)),
            lost=tuple(c.unit.id for c in flying) if dead else (),
            causes=tuple(hits_of(both)),
            notes=tuple(self._notes),
            problems=tuple(self._problems),
            end=Forecast(why_not="it is over") if dead else self._forecast(both, document, now),
            waits=() if dead else tuple(self._waits(both, document, now)),
            questions=self._questions,
            examined=tally_of(examined, dead=dead),
            examination_spent=spent_of(examined),
            resume=_resume(document) if state == "died" else "",
        )

    # --- reading ----------------------------------------------------------------------------

    def _document(self, alive: bool) -> Mapping[str, Any]:
        if alive and not (self.path / DOCUMENT).exists():
            return {}
        return self._view.read_document()

    def _take_in(self, alive: bool) -> None:
        """What is new in plan, second wave and ledger."""
        self._take_in_wave(alive)
        if self._courses is None:
            plan = self._view.plan()
            self._courses = courses_of(plan) if plan is not None else None
        try:
            new = list(self._ledger.new())
        except OSError as error:
            self._problem(f"the ledger cannot be read: {error.strerror}")
            return
        for number in self._ledger.damaged:
            self._problem(f"line {number} of the ledger is damaged")
        self._early += new
        if self._courses is not None:
            events, self._early = self._early, []
            for event in events:
                self._fold(event, self._courses, alive)

    def _fold(self, event: Mapping[str, Any], courses: Mapping[str, UnitCourse], alive: bool) -> None:
        what, at, slug = event["event"], finite(event.get("at")), str(event.get("slug"))
        course = courses.get(slug) or self._examined.get(slug)
        if what == "examination":
            self._announced = tuple(event.get(size) for size in ("questions", "units", "left_out"))
            self._take_in_wave(alive)  # what the ledger tells of its units comes behind
        elif what == "jobs":
            self._jobs = int(finite(event.get("jobs")) or 0) or None
            limits = event.get("limits")
            for name, limit in limits.items() if isinstance(limits, dict) else ():
                if finite(limit):
                    self._limits[str(name)] = max(1, int(limit))
        elif what in ("breaker", "budget"):
            name = f"{event.get('executor')}: " if what == "breaker" else ""
            self._notes.append(f"{what}: {name}{event.get('text', '')}")
        elif course is not None:
            apply(course, what, event, at)

    def _take_in_wave(self, alive: bool) -> None:
        """What the second wave asks, as its newest round has it."""
        if not self._announced:
            return
        try:
            wave = self._view.examination()
        except RunDirError as error:
            if not alive:  # else it may be a moment away
                self._problem(error.message)
            return
        self._questions = len(wave.questions)
        self._examined = {**courses_of(wave.plan), **self._examined}
        if (len(wave.questions), len(wave.plan.units), len(wave.left_out)) == self._announced:
            self._announced = ()

    def _read_usage(self, courses: Iterable[UnitCourse]) -> None:
        """What units used stands in their results only; each is read once."""
        for course in courses:
            if course.result is None or course.usage is not None:
                continue
            try:
                result = self._view.result_of(course.unit)
            except RunDirError as error:
                self._problem(f"{course.unit.id}: {error.message}")
                course.usage = Usage()
            else:  # the ledger is written before the result: it may be a moment away
                course.usage = result.usage if result else None

    def _problem(self, text: str) -> None:
        self._problems.setdefault(text)

    # --- telling ----------------------------------------------------------------------------

    def _running(self, course: UnitCourse, now: float) -> Running:
        began = course.began or now
        return Running(
            unit=course.unit.id,
            executor=course.unit.executor,
            attempt=course.attempt,
            seconds=round(max(0.0, now - began), 1),
            silence=self._silence(course.unit.slug, now),
        )

    def _silence(self, slug: str, now: float) -> float | None:
        """Since the last growth of what the newest attempt prints, by the times of its files."""
        times = [info.st_mtime for info in self._printed(slug)]
        # A time that lies ahead tells that a clock was set, and nothing else.
        return round(now - max(times), 1) if times and max(times) <= now else None

    def _printed(self, slug: str) -> list[os.stat_result]:
        """The files that the newest attempt prints into, as far as they can be looked at."""
        folder = self.path / "units" / checked_slug(slug)
        found: list[os.stat_result] = []
        with suppress(OSError, ValueError):
            newest = max(int(p.name) for p in folder.iterdir() if p.name.isdecimal())
            for name in STREAMS:
                with suppress(FileNotFoundError):
                    found.append((folder / str(newest) / name).lstat())
        return found

    def _waits(
        self,
        courses: Sequence[UnitCourse],
        document: Mapping[str, Any],
        now: float,
    ) -> list[str]:
        """Why units that never ran wait, as far as that can be known from outside."""
        tallies = tallies_of(courses, dead=False)
        begun = Counter[str]()
        silent = set()
        for course in courses:
            name = course.unit.executor
            begun[name] += course.attempt
            young = course.began is not None and now - course.began < FIRST_ALONE
            if young and not any(info.st_size for info in self._printed(course.unit.slug)):
                silent.add(name)
        configured = _configured_jobs(document)
        return held_back(
            {name: tally.waiting for name, tally in tallies.items()},
            {name: tally.running for name, tally in tallies.items()},
            jobs=self._jobs or configured,
            configured=configured,
            limits=self._limits,
            alone={name for name in silent if begun[name] == 1},
        )

    def _forecast(self, courses: Iterable[UnitCourse], document: Mapping[str, Any], now: float) -> Forecast:
        if self._courses is None:
            return Forecast(why_not="there is no plan yet")
        open_ = [c for c in courses if c.result is None]
        known = {**self._history}
        for course in courses:
            if course.result and course.result.get("status") in ("valid", "broken"):
                seconds = finite(course.result.get("seconds"))
                if seconds is not None:
                    known[course.unit.case, course.unit.executor] = seconds
        return forecast(
            [(c.unit, max(0.0, now - c.began)) for c in open_ if c.began is not None],
            [c.unit for c in open_ if c.began is None],
            known,
            jobs=self._jobs or _configured_jobs(document),
            limits=self._limits,
        )


def _state(document: Mapping[str, Any], alive: bool) -> str:
    status = str(document.get("status", ""))
    if status in ENDED:
        return status
    if not alive:
        return "died"
    return "running" if document else "beginning"


def _seconds(document: Mapping[str, Any], now: float) -> float | None:
    facts = document.get("facts")
    began = finite(facts.get("started")) if isinstance(facts, dict) else None
    ended = finite(facts.get("finished")) if isinstance(facts, dict) else None
    return None if began is None else max(0.0, (now if ended is None else ended) - began)


def _verdict(document: Mapping[str, Any]) -> str:
    verdict = document.get("verdict")
    return str(verdict.get("line") or verdict.get("outcome", "")) if isinstance(verdict, dict) else ""


def _configured_jobs(document: Mapping[str, Any]) -> int:
    with suppress(KeyError, TypeError, ValueError):
        return max(1, int(document["facts"]["config"]["jobs"]))
    return JOBS


def _resume(document: Mapping[str, Any]) -> str:
    """The command that asks what a run left open, of the same reviewers: its options are said again."""
    facts = document.get("facts")
    parts = [facts.get(key) if isinstance(facts, dict) else None for key in ("config", "sources")]
    config, sources = (part if isinstance(part, dict) else {} for part in parts)
    folders = [f"{name.rstrip('/')}/" for name in _names(config.get("panels"))] or ["panels/"]
    if sources.get("offline") == OPTION and config.get("offline") == "True":
        folders.append("--prun-offline")
    elif sources.get("executors") == OPTION and (names := _names(config.get("executors"))):
        folders += ["--prun-executors", ",".join(names)]
    return shlex.join(["pytest", *folders, "--prun-resume"])


def _names(text: object) -> list[str]:
    """A list of names that was recorded as text, perhaps by somebody else."""
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        found = ast.literal_eval(text) if isinstance(text, str) else None
        return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
    return []
