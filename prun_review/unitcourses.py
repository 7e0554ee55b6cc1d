"""What the ledger of a run tells of each unit, and how many of them stand where.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prun_review.causes import cause
from prun_review.model import Plan, Unit, Usage
from prun_review.standing import Hit, Retrying, Spent, Tally


@dataclass(slots=True)
class UnitCourse:
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


def courses_of(plan: Plan) -> dict[str, UnitCourse]:
    """The units of a plan before anything happened to them, by slug."""
    return {unit.slug: UnitCourse(unit) for unit in plan.units}


def apply(course: UnitCourse, what: str, event: Mapping[str, Any], at: float | None) -> None:
    """One ledger event of a unit."""
    if what == "attempt-started":
        course.attempt = int(finite(event.get("attempt")) or course.attempt + 1)
        course.began, course.due, course.why = at, None, ""
    elif what == "attempt-finished":
        course.began = None
    elif what == "retry":
        course.began = None
        course.why = str(event.get("reason", ""))
        course.due = (at or 0.0) + (finite(event.get("seconds")) or 0.0)
        course.retried.append(course.why)
    elif what == "taken-over":
        course.taken_over = True
    elif what == "result":
        course.began, course.due, course.result, course.usage = None, None, event, None


def between(course: UnitCourse) -> bool:
    """Whether an attempt has ended and another one is due."""
    return course.result is None and course.began is None and course.attempt > 0


def retrying_of(course: UnitCourse, now: float) -> Retrying:
    """A unit between two attempts, as it stands ``now`` (seconds since the epoch)."""
    seconds = max(0.0, course.due - now) if course.due is not None else 0.0
    return Retrying(course.unit.id, course.unit.executor, course.why, round(seconds, 1))


def tallies_of(courses: Iterable[UnitCourse], *, dead: bool) -> dict[str, Tally]:
    """:func:`tally_of` by executor."""
    return {name: tally_of(own, dead=dead) for name, own in _by_executor(courses).items()}


def _by_executor(courses: Iterable[UnitCourse]) -> dict[str, list[UnitCourse]]:
    by_name: dict[str, list[UnitCourse]] = {}
    for course in courses:
        by_name.setdefault(course.unit.executor, []).append(course)
    return dict(sorted(by_name.items()))


def tally_of(courses: Iterable[UnitCourse], *, dead: bool) -> Tally:
    """How many units stand where; ``dead``: nobody writes their run any more."""
    own = list(courses)
    where = Counter(_where(course, dead=dead) for course in own)
    return Tally(
        units=len(own),
        retried=sum(len(course.retried) for course in own),
        taken_over=sum(course.taken_over for course in own),
        **where,
    )


def _where(course: UnitCourse, *, dead: bool) -> str:
    if course.result is not None:
        status = str(course.result.get("status", "")).replace("-", "_")
        return status if status in ("valid", "broken", "not_run") else "failed"
    if dead:
        return "lost"
    if course.began is not None:
        return "running"
    return "retrying" if between(course) else "waiting"


def spent_of(courses: Iterable[UnitCourse]) -> dict[str, Spent]:
    """:func:`spent_by` by executor."""
    return {name: spent_by(own) for name, own in _by_executor(courses).items()}


def spent_by(courses: Iterable[UnitCourse]) -> Spent:
    """What the results say they used."""
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


def hits_of(courses: Iterable[UnitCourse]) -> list[Hit]:
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


def finite(value: object) -> float | None:
    """A finite number of a foreign ledger, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if -1e15 < value < 1e15 else None
