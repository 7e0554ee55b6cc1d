"""What is to be done next in a wave run, read from its course.  Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from prun_review.tasks import PENDING, RUNNING, SUCCEEDED, TERMINAL, Conflict, Course, Outcome, Task, Wave


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Start a task."""

    task: Task
    base: str
    """SHA of the commit that its copy is made of."""


@dataclass(frozen=True, slots=True)
class Reopen:
    """Start a task again whose change met a conflict."""

    task: Task
    conflict: Conflict
    """What it is told; its copy is made of ``conflict.onto``.  Its old patch is in its outcome."""


@dataclass(frozen=True, slots=True)
class PutTogether:
    """Put the changes of a wave one after the other onto ``onto``; tell
    :func:`prun_review.reopening.put_together`."""

    wave: Wave
    onto: str
    """SHA of the commit with what was accepted so far."""
    outcomes: tuple[Outcome, ...]
    """Those that are to be accepted, in manifest order; a patch may be empty."""


@dataclass(frozen=True, slots=True)
class Validate:
    """Run the wave's validation on ``head``; tell :func:`prun_review.waves.validated`."""

    wave: Wave
    head: str


@dataclass(frozen=True, slots=True)
class ReviewWave:
    """Put what the wave changed before its panel; tell :func:`prun_review.waves.reviewed`."""

    wave: Wave
    base: str
    head: str
    outcomes: tuple[Outcome, ...]
    """Those that wrote something, in manifest order."""


@dataclass(frozen=True, slots=True)
class Finish:
    """Nothing is left to do, and nothing runs."""


Step = Dispatch | Reopen | PutTogether | Validate | ReviewWave | Finish


# --- what is to be done -----------------------------------------------------------------------


def due(course: Course) -> Step | None:
    """The next thing to do; None while only what runs is to be waited for.

    As long as tasks are ready it is one of them, the first in manifest order: start it, tell
    :func:`prun_review.waves.started` and ask again, as often as there is room.
    """
    if over(course):
        return Finish()
    if tasks := ready(course):
        return _start(course, tasks[0])
    wave = current(course)
    if wave is None or running(course):
        return None
    held = course.waves[wave.number]
    if waiting := unaccepted(course, wave):
        return PutTogether(wave, held.head or held.base, waiting)
    if wave.validation and held.validation is None:
        return Validate(wave, held.head)
    return ReviewWave(wave, held.base, held.head, written(of(course, wave)))


def ready(course: Course) -> tuple[Task, ...]:
    """All tasks that may be started now, in manifest order."""
    wave = current(course)
    if wave is None:
        return ()
    return tuple(task for task in wave.tasks if course.outcomes[task.id].status == PENDING)


def running(course: Course) -> tuple[Task, ...]:
    """The tasks that were started and have not ended."""
    return tuple(t for t in course.manifest.tasks if course.outcomes[t.id].status == RUNNING)


def current(course: Course) -> Wave | None:
    """The wave that is under way; None where all are over."""
    under_way = (w for w in course.manifest.waves if course.waves[w.number].status == RUNNING)
    return next(under_way, None)


def over(course: Course) -> bool:
    """Whether everything is terminal: tasks and waves."""
    states = {o.status for o in course.outcomes.values()} | {w.status for w in course.waves.values()}
    return states <= TERMINAL


def _start(course: Course, task: Task) -> Dispatch | Reopen:
    conflict = course.outcomes[task.id].conflict
    return Reopen(task, conflict) if conflict else Dispatch(task, course.waves[task.wave].base)


def unaccepted(course: Course, wave: Wave) -> tuple[Outcome, ...]:
    """Those that succeeded and are not put together yet, in manifest order."""
    return tuple(o for o in of(course, wave) if o.status == SUCCEEDED and not o.commit)


def of(course: Course, wave: Wave) -> tuple[Outcome, ...]:
    """The outcomes of a wave's tasks, in manifest order."""
    return tuple(course.outcomes[task.id] for task in wave.tasks)


def written(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """Those that succeeded and changed something."""
    return tuple(o for o in outcomes if o.status == SUCCEEDED and o.patch and not o.patch.empty)
