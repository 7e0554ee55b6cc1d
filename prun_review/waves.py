"""What follows from what was done in a wave run, decided over :class:`~prun_review.tasks.Course`.  Pure.

Whoever runs the waves asks :func:`prun_review.wavesteps.due`, does it, and tells here what came of it; every
transition takes a course and gives a new one.  A wave starts when the wave before it is over: all its tasks
are terminal, what they wrote is put together, its validation passed and so did its panel.  Nothing here
depends on the order in which tasks end.

- A task that does not succeed skips its dependents, with its name; all others go on, also in later waves.
- A wave's validation runs whenever the wave names one and is reached, even where its tasks failed and the
  tree is unchanged: what comes after relies on what it proves, and not on who wrote it.  Where no task was
  begun, for all were skipped, it is not run: it would only tell again that what they need is not there.
- A panel has nothing to look at where nothing was written; then the wave passes without it.
- A validation or a panel that does not pass ends the run: what comes after is ``not-run``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from prun_review.codec import encode
from prun_review.errors import InternalError
from prun_review.tasks import (
    FAILED,
    NOT_RUN,
    PENDING,
    RUNNING,
    SKIPPED,
    SUCCEEDED,
    TERMINAL,
    Course,
    Outcome,
    Review,
    Task,
    Wave,
    WaveOutcome,
)
from prun_review.wavesteps import ReviewWave, Validate, due, of, over, ready, unaccepted, written
from prun_review.written import Check

NOT_SELECTED = "not-selected"
"""Reason of a task that the run was told to leave out."""
ENDING = ("validation", "panel", "stopped")
"""Reasons of a wave after which no other one starts."""
DROPPED = "opened again it wrote nothing, and what it wrote before would be dropped"


# --- what was done ----------------------------------------------------------------------------


def asked(task: Task) -> str:
    """sha256 over all that decides what a task is asked; equal ones may be taken for one another."""
    return hashlib.sha256(json.dumps(encode(task), sort_keys=True).encode()).hexdigest()


def started(course: Course, task: str, *, executor: str = "", vendor: str = "") -> Course:
    """A task was started, or started again.  ``InternalError`` where it may not be."""
    found = next((t for t in ready(course) if t.id == task), None)
    if found is None:
        raise InternalError(f"task {task} was started before its time")
    held = replace(course.outcomes[task], status=RUNNING, reason="", message="")
    return _with(course, replace(held, asked=asked(found), executor=executor, vendor=vendor))


def finished(course: Course, outcome: Outcome) -> Course:
    """A task ended.  Attempts and seconds are added to those from before it was opened again; what the
    records themselves refute is no success.  ``InternalError`` where it does not run, or has not ended.
    """
    held = course.outcomes.get(outcome.task)
    if held is None or held.status != RUNNING or outcome.status not in TERMINAL:
        raise InternalError(f"task {outcome.task} cannot have ended as {outcome.status}")
    outcome = replace(
        trusted(replace(outcome, conflict=held.conflict)),
        executor=outcome.executor or held.executor,
        vendor=outcome.vendor or held.vendor,
        attempts=held.attempts + outcome.attempts,
        seconds=held.seconds + outcome.seconds,
        reopened=held.reopened,
        asked=held.asked,
        commit="",
    )
    return settle(_with(course, outcome))


def trusted(outcome: Outcome) -> Outcome:
    """The outcome, as failed where its own records refute that it succeeded."""
    if outcome.status != SUCCEEDED:
        return outcome
    if outcome.patch is None:
        return replace(outcome, status=FAILED, reason="no-patch", message="what it wrote was not taken")
    if breaches := outcome.patch.breaches:
        return replace(outcome, status=FAILED, reason="breach", message=breaches[0].text)
    if bad := [check.command for check in outcome.checks if not check.ok]:
        return replace(outcome, status=FAILED, reason="verify", message=f"did not pass: {bad[0]}")
    if outcome.conflict and not outcome.patch.files:
        return replace(outcome, status=FAILED, reason="nothing-written", message=DROPPED)
    return outcome


def validated(course: Course, wave: int, check: Check) -> Course:
    """A wave's validation was run.  A course that was stopped meanwhile stays as it is."""
    if course.stopped:
        return course
    step = due(course)
    if not isinstance(step, Validate) or step.wave.number != wave:
        raise InternalError(f"wave {wave} cannot be validated now")
    return settle(_with_wave(course, replace(course.waves[wave], validation=check)))


def reviewed(course: Course, wave: int, reviews: Sequence[Review]) -> Course:
    """A wave's panel was run, as often as its authors' vendors ask for.  It passed where every change
    of the wave is in some review and every one says PASS.  A stopped course stays as it is."""
    if course.stopped:
        return course
    step = due(course)
    if not isinstance(step, ReviewWave) or step.wave.number != wave:
        raise InternalError(f"wave {wave} cannot be reviewed now")
    held = replace(course.waves[wave], reviews=tuple(reviews))
    if not approves(held.reviews, step.outcomes):
        return _end(course, replace(held, status=FAILED, reason="panel"))
    return settle(_with_wave(course, held))


def approves(reviews: Sequence[Review], outcomes: Iterable[Outcome]) -> bool:
    """Whether every one of ``outcomes`` was reviewed, and every review says PASS."""
    seen = {task for review in reviews for task in review.tasks}
    return all(r.outcome == "PASS" for r in reviews) and {o.task for o in outcomes} <= seen


def stop(course: Course, why: str) -> Course:
    """The run ends early: nothing more is started, and :func:`due` says Finish once nothing runs.  What
    succeeded keeps its patch for a later run.  A course that is over, or stopped, stays as it is."""
    if over(course) or course.stopped:
        return course
    course = replace(course, stopped=why or "stopped")
    return settle(_give_up(course, "stopped", course.stopped))


# --- what follows from it ---------------------------------------------------------------------


def settle(course: Course) -> Course:
    """The course with all that follows from what became of tasks and waves."""
    course = _skip(course)
    for wave in course.manifest.waves:
        if course.waves[wave.number].status not in TERMINAL:
            course = _advance(course, wave)
            if course.waves[wave.number].status not in TERMINAL:
                break
    return course


def _skip(course: Course) -> Course:
    """Dependents of what did not succeed are skipped; one pass, for dependencies are in earlier waves.

    What is skipped already is told anew: which of two failures came first must not show.
    """
    roots = {n: {_why(o): None} for n, o in course.outcomes.items() if o.status in (FAILED, NOT_RUN)}
    if not roots:
        return course
    outcomes = dict(course.outcomes)
    for task in course.manifest.tasks:
        held = outcomes[task.id]
        found = {why: None for dep in task.deps for why in roots.get(dep, {})}
        if found and held.status in (PENDING, SKIPPED):
            roots[task.id] = found
            told = "; ".join(found)
            outcomes[task.id] = replace(held, status=SKIPPED, reason="dependency", message=told)
    return replace(course, outcomes=outcomes)


def _why(outcome: Outcome) -> str:
    verb = "failed" if outcome.status == FAILED else "was not run"
    return f"{outcome.task} {verb}{f' ({outcome.reason})' if outcome.reason else ''}"


def _advance(course: Course, wave: Wave) -> Course:
    """A wave taken as far as it goes without anything being done."""
    held = course.waves[wave.number]
    if held.status == PENDING:
        held = replace(held, status=RUNNING, base=held.base or _tip(course, wave))
    outcomes = of(course, wave)
    if any(o.status not in TERMINAL for o in outcomes):
        return _with_wave(course, held)
    if course.stopped:
        return _with_wave(course, replace(held, status=FAILED, reason="stopped"))
    if unaccepted(course, wave):
        return _with_wave(course, held)
    held = replace(held, head=held.head or held.base)
    if outcomes and all(o.reason == NOT_SELECTED for o in outcomes):
        return _with_wave(course, replace(held, status=NOT_RUN, reason=NOT_SELECTED))
    if idle(outcomes):
        return _with_wave(course, replace(held, status=SKIPPED, reason="dependency"))
    if wave.validation and held.validation is None:
        return _with_wave(course, held)
    if held.validation and not held.validation.ok:
        return _end(course, replace(held, status=FAILED, reason="validation"))
    if wave.panel and not held.reviews and written(of(course, wave)):
        return _with_wave(course, held)
    status, reason = _closing(outcomes)
    return _with_wave(course, replace(held, status=status, reason=reason))


def idle(outcomes: Sequence[Outcome]) -> bool:
    """Whether no task of a wave was begun, and some would have been had others not failed."""
    states = {o.status for o in outcomes}
    return SKIPPED in states and states <= {SKIPPED, NOT_RUN}


def _closing(outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """Status and reason of a wave that passed, by what became of its tasks."""
    states = {o.status for o in outcomes}
    if states <= {SUCCEEDED}:
        return SUCCEEDED, "ok"
    if all(o.status == SUCCEEDED or o.reason == NOT_SELECTED for o in outcomes):
        return NOT_RUN, NOT_SELECTED
    return FAILED, "tasks"


def _tip(course: Course, wave: Wave) -> str:
    """The commit that a wave starts from: what the one before it came to."""
    tip = course.base
    for earlier in course.manifest.waves:
        if earlier.number == wave.number:
            break
        tip = course.waves[earlier.number].head or tip
    return tip


def _end(course: Course, failed: WaveOutcome) -> Course:
    """A wave did not pass: nothing after it is run."""
    what = "its validation did not pass" if failed.reason == "validation" else "its panel did not pass it"
    course = _with_wave(course, failed)
    return _give_up(course, failed.reason, f"wave {failed.number}: {what}")


def _give_up(course: Course, reason: str, message: str) -> Course:
    """What has not begun is not run."""
    outcomes = {
        name: replace(o, status=NOT_RUN, reason=reason, message=message) if o.status == PENDING else o
        for name, o in course.outcomes.items()
    }
    waves = {
        number: replace(w, status=NOT_RUN, reason=reason) if w.status == PENDING else w
        for number, w in course.waves.items()
    }
    return replace(course, outcomes=outcomes, waves=waves)


def _with(course: Course, *outcomes: Outcome) -> Course:
    changed: Mapping[str, Outcome] = {o.task: o for o in outcomes}
    return replace(course, outcomes={**course.outcomes, **changed})


def _with_wave(course: Course, held: WaveOutcome) -> Course:
    return replace(course, waves={**course.waves, held.number: held})
