"""How a run stands, from its files alone: live, after the fact, or after its dispatcher died.

Nothing here asks the process that writes the run; a second terminal sees what a later reader sees.
Damage of the ledger is told and read around; what cannot be read at all is a ``RunDirError``.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prun_review import rundir
from prun_review.causes import cause
from prun_review.errors import RunDirError
from prun_review.forecast import Forecast, forecast
from prun_review.ledger import LedgerReader
from prun_review.model import Plan, Unit, Usage
from prun_review.runview import DOCUMENT, LEDGER, RunView, checked_slug
from prun_review.runwriter import STREAMS
from prun_review.standing import ENDED, Hit, Retrying, Running, Spent, Status, Tally

JOBS = 12
"""Dispatches at once where neither ledger nor configuration of the run says it."""


@dataclass(slots=True)
class _Course:
    """What the ledger tells of one unit."""

    unit: Unit
    attempt: int = 0
    began: float | None = None
    """When the attempt that runs began; None: none runs."""
    due: float | None = None
    """When the next attempt is made; None: none is announced."""
    why: str = ""
    result: Mapping[str, Any] | None = None
    usage: Usage | None = None
    taken_over: bool = False
    retried: list[str] = field(default_factory=list)


class RunStatus:
    """A reader of one run, for one look or for many: it reads on where it stopped.

    ``root``: where earlier runs tell how long units take.  ``clock``: seconds since the epoch.
    """

    def __init__(self, path: Path, root: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self.clock = clock
        self._view = RunView(path)
        self._ledger = LedgerReader(path / LEDGER)
        self._courses: dict[str, _Course] | None = None
        """By slug; None before there is a plan."""
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
        self._take_in()
        now = self.clock()
        state = _state(document, alive)
        if self._courses is None:  # whoever plans may still do so
            courses: list[_Course] = []
        else:
            courses = list(self._courses.values())
            self._read_usage(courses)
        flying = [c for c in courses if c.result is None and c.began is not None]
        dead = state not in ("running", "beginning")
        running = [] if dead else [self._running(c, now) for c in flying]
        retrying = [] if dead else [_retrying(c, now) for c in courses if _between(c)]
        tallies = _tallies(courses, dead=dead)
        return Status(
            run_id=self.path.name,
            path=str(self.path),
            state=state,
            dispatcher_alive=alive,
            seconds=_seconds(document, now),
            verdict=_verdict(document),
            total=_tally(courses, dead=dead),
            executors=tallies,
            spent={name: _spent(c for c in courses if c.unit.executor == name) for name in tallies},
            running=tuple(sorted(running, key=lambda r: -r.seconds)),
            retrying=tuple(sorted(retrying, key=lambda r: r.seconds)),
            lost=tuple(c.unit.id for c in flying) if dead else (),
            causes=tuple(_causes(courses)),
            notes=tuple(self._notes),
            problems=tuple(self._problems),
            end=Forecast(why_not="it is over") if dead else self._forecast(courses, document, now),
        )

    # --- reading ----------------------------------------------------------------------------

    def _document(self, alive: bool) -> Mapping[str, Any]:
        if alive and not (self.path / DOCUMENT).exists():
            return {}
        return self._view.read_document()

    def _take_in(self) -> None:
        """What is new in plan and ledger."""
        if self._courses is None:
            plan = self._view.plan()
            self._courses = _courses(plan) if plan is not None else None
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
                self._fold(event, self._courses)

    def _fold(self, event: Mapping[str, Any], courses: Mapping[str, _Course]) -> None:
        what, at = event["event"], _number(event.get("at"))
        course = courses.get(str(event.get("slug")))
        if what == "jobs":
            self._jobs = int(_number(event.get("jobs")) or 0) or None
            limits = event.get("limits")
            for name, limit in limits.items() if isinstance(limits, dict) else ():
                if _number(limit):
                    self._limits[str(name)] = max(1, int(limit))
        elif what in ("breaker", "budget"):
            name = f"{event.get('executor')}: " if what == "breaker" else ""
            self._notes.append(f"{what}: {name}{event.get('text', '')}")
        elif course is not None:
            _apply(course, what, event, at)

    def _read_usage(self, courses: Iterable[_Course]) -> None:
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

    def _running(self, course: _Course, now: float) -> Running:
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
        folder = self.path / "units" / checked_slug(slug)
        with suppress(OSError):
            number = max(int(p.name) for p in folder.iterdir() if p.name.isdecimal())
            times = []
            for name in STREAMS:
                with suppress(FileNotFoundError):
                    times.append((folder / str(number) / name).lstat().st_mtime)
            # A time that lies ahead tells that a clock was set, and nothing else.
            return round(now - max(times), 1) if times and max(times) <= now else None
        return None

    def _forecast(self, courses: Iterable[_Course], document: Mapping[str, Any], now: float) -> Forecast:
        if self._courses is None:
            return Forecast(why_not="there is no plan yet")
        open_ = [c for c in courses if c.result is None]
        known = {**self._history}
        for course in courses:
            if course.result and course.result.get("status") in ("valid", "broken"):
                seconds = _number(course.result.get("seconds"))
                if seconds is not None:
                    known[course.unit.case, course.unit.executor] = seconds
        return forecast(
            [(c.unit, max(0.0, now - c.began)) for c in open_ if c.began is not None],
            [c.unit for c in open_ if c.began is None],
            known,
            jobs=self._jobs or _configured_jobs(document),
            limits=self._limits,
        )


def _courses(plan: Plan) -> dict[str, _Course]:
    return {unit.slug: _Course(unit) for unit in plan.units}


def _apply(course: _Course, what: str, event: Mapping[str, Any], at: float | None) -> None:
    """One ledger event of a unit."""
    if what == "attempt-started":
        course.attempt = int(_number(event.get("attempt")) or course.attempt + 1)
        course.began, course.due, course.why = at, None, ""
    elif what == "attempt-finished":
        course.began = None
    elif what == "retry":
        course.began = None
        course.why = str(event.get("reason", ""))
        course.due = (at or 0.0) + (_number(event.get("seconds")) or 0.0)
        course.retried.append(course.why)
    elif what == "taken-over":
        course.taken_over = True
    elif what == "result":
        course.began, course.due, course.result, course.usage = None, None, event, None


def _state(document: Mapping[str, Any], alive: bool) -> str:
    status = str(document.get("status", ""))
    if status in ENDED:
        return status
    if not alive:
        return "died"
    return "running" if document else "beginning"


def _between(course: _Course) -> bool:
    return course.result is None and course.began is None and course.attempt > 0


def _retrying(course: _Course, now: float) -> Retrying:
    seconds = max(0.0, course.due - now) if course.due is not None else 0.0
    return Retrying(course.unit.id, course.unit.executor, course.why, round(seconds, 1))


def _tallies(courses: Iterable[_Course], *, dead: bool) -> dict[str, Tally]:
    by_name: dict[str, list[_Course]] = {}
    for course in courses:
        by_name.setdefault(course.unit.executor, []).append(course)
    return {name: _tally(own, dead=dead) for name, own in sorted(by_name.items())}


def _tally(courses: Iterable[_Course], *, dead: bool) -> Tally:
    own = list(courses)
    where = Counter(_where(course, dead=dead) for course in own)
    return Tally(
        units=len(own),
        retried=sum(len(course.retried) for course in own),
        taken_over=sum(course.taken_over for course in own),
        **where,
    )


def _where(course: _Course, *, dead: bool) -> str:
    if course.result is not None:
        status = str(course.result.get("status", "")).replace("-", "_")
        return status if status in ("valid", "broken", "not_run") else "failed"
    if dead:
        return "lost"
    if course.began is not None:
        return "running"
    return "retrying" if _between(course) else "waiting"


def _spent(courses: Iterable[_Course]) -> Spent:
    ended = [course for course in courses if course.result is not None]
    used = [course.usage or Usage() for course in ended]
    costs = [u.cost_usd for u in used if u.cost_usd is not None]
    read = [u.input_tokens for u in used if u.input_tokens is not None]
    written = [u.output_tokens for u in used if u.output_tokens is not None]
    return Spent(
        cost_usd=round(sum(costs), 6) if costs else None,
        without_cost=len(ended) - len(costs),
        input_tokens=sum(read) if read else None,
        output_tokens=sum(written) if written else None,
    )


def _causes(courses: Iterable[_Course]) -> list[Hit]:
    """Each reason with the units that it hit, the most frequent first."""
    units: dict[str, Counter[str]] = {}
    again: Counter[str] = Counter()
    for course in courses:
        again.update(course.retried)
        if course.result is not None and course.result.get("status") != "valid":
            reason = str(course.result.get("reason", "unknown"))
            units.setdefault(reason, Counter())[course.unit.executor] += 1
    hits = []
    for reason in {*units, *again}:
        what = cause(reason)
        hit = dict(sorted(units.get(reason, Counter()).items()))
        hits.append(Hit(reason, what.title or reason, what.remedy, hit, again[reason]))
    return sorted(hits, key=lambda hit: (-sum(hit.units.values()), -hit.retried, hit.reason))


def _seconds(document: Mapping[str, Any], now: float) -> float | None:
    facts = document.get("facts")
    began = _number(facts.get("started")) if isinstance(facts, dict) else None
    ended = _number(facts.get("finished")) if isinstance(facts, dict) else None
    return None if began is None else max(0.0, (now if ended is None else ended) - began)


def _verdict(document: Mapping[str, Any]) -> str:
    verdict = document.get("verdict")
    return str(verdict.get("line") or verdict.get("outcome", "")) if isinstance(verdict, dict) else ""


def _configured_jobs(document: Mapping[str, Any]) -> int:
    with suppress(KeyError, TypeError, ValueError):
        return max(1, int(document["facts"]["config"]["jobs"]))
    return JOBS


def _number(value: object) -> float | None:
    """A finite number of a foreign ledger, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if -1e15 < value < 1e15 else None
