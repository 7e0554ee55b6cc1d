"""What becomes of a wave when its changes are put together: accepted, opened again, or failed.  Pure.

A change that clashes with what was accepted before it is never settled by dropping a side.  Its task is
opened again on the new tip and told what clashed, at most :attr:`~prun_review.tasks.Course.reopen` times;
after that it has failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from prun_review.errors import InternalError
from prun_review.tasks import FAILED, PENDING, Conflict, Course, Outcome
from prun_review.waves import settle
from prun_review.wavesteps import PutTogether, due

SHOWN = 5
"""Files named in a message."""


def put_together(
    course: Course, wave: int, head: str, commits: Mapping[str, str], conflicts: Sequence[Conflict] = ()
) -> Course:
    """The changes of a wave were put onto its tip, as ``due`` asked.

    ``head`` is the new tip, ``commits`` the commit of every task that is in it (for an empty change the tip
    it met), ``conflicts`` one for every task that is not.  A course that was stopped meanwhile stays as it
    is.  ``InternalError`` where a change is in neither or both: none may be lost.
    """
    if course.stopped:
        return course
    step = due(course)
    if not isinstance(step, PutTogether) or step.wave.number != wave:
        raise InternalError(f"wave {wave} has nothing to be put together")
    clashes = {conflict.task: conflict for conflict in conflicts}
    told = sorted([*commits, *clashes])
    if told != sorted(o.task for o in step.outcomes) or len(clashes) != len(conflicts):
        raise InternalError(f"wave {wave} was put together without all its changes")
    if not head or not all(commits.values()):
        raise InternalError(f"wave {wave} was put together without a commit")
    outcomes = dict(course.outcomes)
    for held in step.outcomes:
        clash = clashes.get(held.task)
        if clash is None:
            outcomes[held.task] = replace(held, commit=commits[held.task])
        else:
            outcomes[held.task] = _clashed(held, replace(clash, onto=head), course.reopen)
    waves = {**course.waves, wave: replace(course.waves[wave], head=head)}
    return settle(replace(course, outcomes=outcomes, waves=waves))


def _clashed(held: Outcome, conflict: Conflict, most: int) -> Outcome:
    named = ", ".join(conflict.paths[:SHOWN])
    if len(conflict.paths) > SHOWN:
        named += f" and {len(conflict.paths) - SHOWN} more"
    beside = f" with {', '.join(conflict.others)}" if conflict.others else ""
    message = f"conflict in {named or 'its change'}{beside}"
    if held.reopened >= most:
        return replace(held, status=FAILED, reason="conflict", message=message, conflict=conflict)
    return replace(
        held,
        status=PENDING,
        reason="conflict",
        message=f"opened again: {message}",
        conflict=conflict,
        reopened=held.reopened + 1,
    )
