"""What a wave run came to, in one word and one exit status.  Pure."""

from __future__ import annotations

from prun_review.tasks import NOT_RUN, SUCCEEDED, Course, Integration
from prun_review.waves import NOT_SELECTED
from prun_review.wavesteps import over

COMPLETED, FAILED, PARTIAL, STOPPED, RUNNING = "completed", "failed", "partial", "stopped", "running"
STATUSES = (RUNNING, COMPLETED, FAILED, PARTIAL, STOPPED)


def status(course: Course) -> str:
    """One of :data:`STATUSES`.

    ``completed``: every task succeeded and is put together, every validation and every panel passed;
    ``partial``: nothing went wrong, but tasks were left out (``--only``); ``stopped``: it ended early.
    A run without a task has failed: nothing was done.
    """
    if not over(course):
        return RUNNING
    if course.stopped:
        return STOPPED
    ends = {(o.status, o.reason) for o in course.outcomes.values()}
    ends |= {(w.status, w.reason) for w in course.waves.values()}
    well = all(end[0] == SUCCEEDED or end == (NOT_RUN, NOT_SELECTED) for end in ends)
    if not course.outcomes or not well:
        return FAILED
    if (NOT_RUN, NOT_SELECTED) in ends:
        return PARTIAL
    whole = all(o.commit for o in course.outcomes.values()) and all(w.head for w in course.waves.values())
    return COMPLETED if whole else FAILED


def exit_status(course: Course, integration: Integration | None = None) -> int:
    """0 only where the run is ``completed`` and, once it was integrated, that is ``whole``; else 1."""
    whole = integration is None or integration.status == "whole"
    return 0 if whole and status(course) == COMPLETED else 1
