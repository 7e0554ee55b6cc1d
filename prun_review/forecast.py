"""When a run will end, as far as earlier units tell, and why what waits is held back.  Pure.

An estimate and no promise: units take as long as their like took before, the longest expected start
first, ``jobs`` at once, and nothing is tried again.
"""

from __future__ import annotations

import heapq
import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from prun_review.model import Unit


@dataclass(frozen=True, slots=True)
class Forecast:
    """The expected end of a run, or why there is none."""

    seconds: float | None = None
    """From now on; None: not estimable."""
    why_not: str = ""
    basis: int = 0
    """How many units with a known time it rests on."""
    late: int = 0
    """How many of the running units take longer than expected."""
    overdue: float = 0.0
    """Seconds since everything should have ended; 0 as long as it should not."""


def expected(unit: Unit, known: Mapping[tuple[str, str], float]) -> float | None:
    """Seconds that a unit takes: as its like by (case, executor), else as its executor's median."""
    own = known.get((unit.case, unit.executor))
    if own is not None:
        return own
    others = [seconds for (_, executor), seconds in known.items() if executor == unit.executor]
    return statistics.median(others) if others else None


def forecast(
    running: Iterable[tuple[Unit, float]],
    waiting: Sequence[Unit],
    known: Mapping[tuple[str, str], float],
    *,
    jobs: int,
    limits: Mapping[str, int],
) -> Forecast:
    """When everything will be done.  ``running``: units and for how many seconds they run.

    ``limits``: the most at once by executor, where it has a limit of its own.
    """
    flights = [(unit, passed, expected(unit, known)) for unit, passed in running]
    queue = [(unit, expected(unit, known)) for unit in waiting]
    units = [*((unit, seconds) for unit, _, seconds in flights), *queue]
    unknown = sorted({unit.executor for unit, seconds in units if seconds is None})
    if unknown:
        return Forecast(why_not=f"no unit of {', '.join(unknown)} has answered yet, here or in earlier runs")
    left = [(unit.executor, max(0.0, (seconds or 0.0) - passed)) for unit, passed, seconds in flights]
    whole = [(unit.executor, seconds or 0.0) for unit, seconds in queue]
    ends = [_end([s for _, s in left], [s for _, s in whole], jobs)]
    for name, limit in limits.items():  # an executor's own limit can be what takes longest
        ends.append(_end([s for n, s in left if n == name], [s for n, s in whole if n == name], limit))
    over = [passed - (seconds or 0.0) for _, passed, seconds in flights]
    overdue = min(over) if over and not queue else 0.0
    return Forecast(
        max(ends), basis=len(known), late=sum(s > 0 for s in over), overdue=round(max(0.0, overdue), 1)
    )


def held_back(
    waiting: Mapping[str, int],
    running: Mapping[str, int],
    *,
    jobs: int,
    configured: int,
    limits: Mapping[str, int],
    alone: Collection[str],
) -> list[str]:
    """Why units wait, a line for each reason that is known; none where simply all jobs are taken.

    ``waiting`` and ``running``: units by executor.  ``configured``: the jobs that were asked for.
    ``alone``: executors whose first dispatch has not written anything yet.
    """
    if not any(waiting.values()):
        return []
    if sum(running.values()) >= jobs:
        return [f"{jobs} at once and not {configured}: memory is short"] if jobs < configured else []
    told = []
    for name, count in sorted(waiting.items()):
        limit = limits.get(name)
        if count and limit is not None and running.get(name, 0) >= limit:
            told.append(f"{name} {count}: its limit is {limit} at once")
        elif count and name in alone:
            told.append(f"{name} {count}: its first dispatch starts alone until it has written something")
    return told


def _end(left: Sequence[float], whole: Iterable[float], jobs: int) -> float:
    """Seconds until all is done on ``jobs`` slots, the longest first."""
    free = [*left, *[0.0] * max(0, jobs - len(left))] or [0.0]
    heapq.heapify(free)
    for seconds in sorted(whole, reverse=True):
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)
