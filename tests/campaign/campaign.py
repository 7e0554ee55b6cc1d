"""The campaign: hypothesis draws tapes, each becomes a run, each run is judged and compared with the promise.

In one process, or split over several, each with its own seed.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.campaign.checks import (
    Gate,
    Tally,
    check,
    gate,
    no_greener_when_worse,
    same_in_another_order,
    told_in_the_line,
    valid_document,
)
from tests.campaign.generate import TAPES, made

ORDER, WORSE, DOCUMENT = 4, 2, 10
"""Every so many runs are judged in another order too, made worse, and built as a whole document."""


def verify(content: bytes, tally: Tally, judge: Gate = gate) -> None:
    """All that is checked of the run of a tape; ``AssertionError`` says what is wrong, and of which run."""
    run = made(content)
    verdict = check(run, tally, judge)
    told_in_the_line(run, verdict)
    at = content[-1]  # no generator reads so far: which further checks are made is drawn, too
    if at % ORDER == 0:
        same_in_another_order(run, verdict, judge)
    if at % WORSE == 0:
        no_greener_when_worse(run, verdict, content[-2], judge)
    if at % DOCUMENT == 1:
        valid_document(run, verdict)


def part(runs: int, number: int) -> Tally:
    """So many runs from a seed; one that breaks the promise is made as small as it can be, and raised."""
    tally = Tally()

    @seed(number)
    @settings(
        max_examples=runs,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(TAPES)
    def judged(content: bytes) -> None:
        verify(content, tally)

    judged()
    return tally


def whole(runs: int, number: int, jobs: int) -> Tally:
    """The campaign over ``jobs`` processes; their seeds are ``number``, ``number + 1``, ..."""
    if jobs <= 1:
        return part(runs, number)
    shares = [runs // jobs + (n < runs % jobs) for n in range(jobs)]
    tally = Tally()
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for seen in pool.map(part, shares, range(number, number + jobs)):
            tally.add(seen)
    return tally
