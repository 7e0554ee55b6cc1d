"""What a wave run says on standard output while it goes on: the lines and blocks of ``cpo``, word for word.

Scripts read them, so they know no more words than they always did: ``started``, ``completed``, ``failed``.
What was skipped or not run is ``failed`` with its reason; what was not selected is not mentioned.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from prun_review.renderers.escape import one_line
from prun_review.tasks import FAILED, PENDING, RUNNING, SUCCEEDED, TERMINAL, Course, Outcome, Task, Wave
from prun_review.waves import NOT_SELECTED
from prun_review.wavestatus import COMPLETED, status
from prun_review.wavesteps import of, over


def progress(before: Course | None, after: Course) -> list[str]:
    """The ``[PROGRESS]`` lines that a transition from one course to the next is worth, in wave order.

    ``before`` is None at the beginning: what was taken over from a former run is not told again.
    """
    lines: list[str] = []
    if before is None:
        return [line for wave in after.manifest.waves for line in _begun(wave, after)]
    for wave in after.manifest.waves:
        for task in wave.tasks:
            was, now = before.outcomes[task.id], after.outcomes[task.id]
            if (was.status, was.reason) != (now.status, now.reason) and now.reason != NOT_SELECTED:
                lines += (f"[PROGRESS] wave={wave.number} task={_word(task.short)} {s}" for s in _task(now))
        if before.waves[wave.number].status != after.waves[wave.number].status:
            lines += (*_begun(wave, after), *_wave(wave, after))
    if over(after) and not over(before):
        lines.append(f"[PROGRESS] execution status={_ended(status(after) == COMPLETED)}")
    return lines


def _task(now: Outcome) -> Iterator[str]:
    if now.status == RUNNING:
        yield "status=started"
    elif now.status == SUCCEEDED:
        yield f"status=completed commits={now.patch.commits if now.patch else 0}"
    elif now.status in TERMINAL:
        yield f"status=failed error={_word(now.reason or now.status)}"


def _begun(wave: Wave, course: Course) -> Iterator[str]:
    if course.waves[wave.number].status == RUNNING:
        yield f"[PROGRESS] wave={wave.number} status=started"


def _wave(wave: Wave, course: Course) -> Iterator[str]:
    held, outcomes = course.waves[wave.number], of(course, wave)
    good = sum(o.status == SUCCEEDED for o in outcomes)
    if held.status not in TERMINAL or (held.reason == NOT_SELECTED and not good):
        return
    well = held.status == SUCCEEDED or held.reason == NOT_SELECTED
    why = "" if well else f" error={_word(held.reason or held.status)}"
    yield f"[PROGRESS] wave={wave.number} status={_ended(well)} tasks={good}/{len(outcomes)}{why}"


def _ended(well: bool) -> str:
    return "completed" if well else "failed"


def started(course: Course) -> str:
    """The block that stands at the beginning: every wave that has begun, and where its tasks are."""
    lines = ["=== Parallel Execution Started ===", ""]
    for wave in course.manifest.waves:
        if course.waves[wave.number].status != PENDING:
            lines.append(f"Wave {wave.number}:")
            lines += (_state(task, course) for task in wave.tasks)
    return "\n".join(lines) + "\n"


def _state(task: Task, course: Course) -> str:
    return f"  {one_line(task.id)}: {course.outcomes[task.id].status.upper().replace('-', ' ')}"


def complete(course: Course) -> str:
    """The block that stands at the end.  Where all is done or failed it counts no more than ever."""
    states = [outcome.status for outcome in course.outcomes.values()]
    lines = ["=== Execution Complete ===", "", "Results:"]
    lines.append(f"  Completed: {states.count(SUCCEEDED)}/{len(states)} tasks")
    lines.append(f"  Failed: {states.count(FAILED)} tasks")
    for state, label in (("skipped", "Skipped"), ("not-run", "Not run")):
        if n := states.count(state):
            lines.append(f"  {label}: {n} tasks")
    if status(course) == COMPLETED:
        where = shlex.quote(one_line(course.manifest.directory, 1000))
        lines += ["", f"Next step: prun-review integrate {where}"]
    return "\n".join(lines) + "\n"


def _word(text: str) -> str:
    """Foreign text as one word, so that it cannot add fields to a line."""
    return "_".join(one_line(text).split()).replace("=", "_")
