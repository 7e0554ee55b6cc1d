"""How a wave run begins: from nothing, from a later wave, for some tasks only, or where one ended.  Pure.

A run that goes on takes over what is still true of the former one.  A task that succeeded is taken over with
its patch where it is asked the same question as then and everything it depends on is taken over too.  A wave
is taken over whole where all of that holds for all its tasks and it passed what the manifest names today;
from the first wave on that is not, changes are put together again on the new tip.  All else is asked anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from prun_review.tasks import (
    ERROR,
    NOT_RUN,
    PENDING,
    RUNNING,
    SUCCEEDED,
    TERMINAL,
    Course,
    Manifest,
    Outcome,
    Problem,
    Task,
    Wave,
    WaveOutcome,
)
from prun_review.verdict import some
from prun_review.waves import ENDING, NOT_SELECTED, approves, asked, idle, settle, trusted
from prun_review.wavesteps import written

FILE = "manifest.json"
"""What a problem with the request names as its place."""


def begin(
    manifest: Manifest,
    base: str,
    *,
    only: Collection[str] | None = None,
    from_wave: int | None = None,
    done: Course | None = None,
    reopen: int = 1,
) -> tuple[Course | None, tuple[Problem, ...]]:
    """The course of a new run from the commit ``base``, or None and everything that forbids it.

    ``done``: a former run of the same directory, to go on from.  ``from_wave``: what the waves before it
    left in ``done`` is taken as it is, failures too, and everything from this wave on is done anew.
    ``only``: ids, long or short; a task that was not taken over and is not among them is not run.
    """
    problems = [*_unfit(manifest), *_other_base(base, done)]
    chosen, unknown = _chosen(manifest, only)
    problems += unknown
    if problems:
        return None, tuple(problems)
    if from_wave is None:
        course = _go_on(Course(manifest, {}, {}, base, reopen=reopen), done)
    else:
        course, problems = _from(Course(manifest, {}, {}, base, reopen=reopen), from_wave, done)
    if problems := problems or _unmet(course, chosen, from_wave):
        return None, tuple(problems)
    return settle(_leave_out(course, chosen)), ()


@dataclass(frozen=True, slots=True)
class _Former:
    """What a former run left of one wave."""

    held: WaveOutcome
    outcomes: Mapping[str, Outcome]
    """By task id, at least those of the wave that were known then."""
    ids: frozenset[str]
    """The tasks that the wave held then."""


def _ids(done: Course | None, wave: Wave) -> Iterator[str]:
    waves = done.manifest.waves if done else ()
    return (task.id for w in waves if w.number == wave.number for task in w.tasks)


# --- what forbids it --------------------------------------------------------------------------


def _problem(code: str, text: str, remedy: str = "") -> Problem:
    return Problem(ERROR, code, FILE, None, text, remedy)


def _unfit(manifest: Manifest) -> Iterator[Problem]:
    """What the engine cannot do with: everything else about a manifest is told where it is read."""
    if not manifest.tasks:
        yield _problem("no-tasks", "there is no task to run")
    seen: set[str] = set()
    numbers: set[int] = set()
    for wave in manifest.waves:
        if wave.number in numbers:
            yield _problem("duplicate-wave", f"wave {wave.number} stands there twice")
        numbers.add(wave.number)
        for task in wave.tasks:
            for dep in task.deps:
                if dep not in seen:
                    yield _problem("dependency-order", f"{task.id} needs {dep}, which no earlier wave holds")
            if task.wave != wave.number:
                yield _problem("wrong-wave", f"{task.id} says wave {task.wave} and stands in {wave.number}")
        names = [task.id for task in wave.tasks]
        for name in sorted({n for n in names if n in seen or names.count(n) > 1}):
            yield _problem("duplicate-id", f"there are two tasks {name}")
        seen.update(names)


def _other_base(base: str, done: Course | None) -> list[Problem]:
    if done is None or done.base == base:
        return []
    text = f"the former run started from {done.base[:12] or 'an unknown commit'}, which is not here any more"
    return [_problem("other-base", text, "run all of it anew, without --resume and --from-wave")]


def _chosen(manifest: Manifest, only: Collection[str] | None) -> tuple[set[str], list[Problem]]:
    if only is None:
        return {task.id for task in manifest.tasks}, []
    chosen: set[str] = set()
    problems = [] if only else [_problem("nothing-selected", "no task is selected")]
    for name in sorted(set(only)):
        found = {t.id for t in manifest.tasks if t.id == name} or {
            t.id for t in manifest.tasks if t.short == name
        }
        chosen |= found
        if len(found) != 1:
            what = "is no task" if not found else f"may be any of {', '.join(sorted(found))}"
            remedy = f"there are: {some([task.id for task in manifest.tasks], most=20)}"
            problems.append(_problem("unknown-task", f"{name} {what}", remedy))
    return chosen, problems


def _unmet(course: Course, chosen: set[str], from_wave: int | None) -> list[Problem]:
    """Selected tasks whose dependencies are neither selected nor done, or that are over already."""
    problems = []
    for task in course.manifest.tasks:
        if task.id not in chosen or course.outcomes[task.id].status != PENDING:
            continue
        missing = [d for d in task.deps if d not in chosen and course.outcomes[d].status == PENDING]
        if missing:
            text = f"{task.id} needs {', '.join(missing)}, which is neither selected nor done"
            problems.append(_problem("missing-dependency", text, f"select {', '.join(missing)} too"))
    if not any(course.outcomes[name].status == PENDING for name in chosen) and from_wave is not None:
        text = f"every task that is selected stands before wave {from_wave}"
        problems.append(_problem("nothing-selected", text))
    return problems


def _leave_out(course: Course, chosen: set[str]) -> Course:
    outcomes = {
        name: replace(o, status=NOT_RUN, reason=NOT_SELECTED, message="it was not selected")
        if o.status == PENDING and name not in chosen
        else o
        for name, o in course.outcomes.items()
    }
    return replace(course, outcomes=outcomes)


# --- from a wave on ---------------------------------------------------------------------------


def _from(course: Course, number: int, done: Course | None) -> tuple[Course, list[Problem]]:
    """The course with the earlier waves as the former run left them."""
    outcomes: dict[str, Outcome] = {}
    waves: dict[int, WaveOutcome] = {}
    problems: list[Problem] = []
    if number not in {wave.number for wave in course.manifest.waves}:
        there = some([str(wave.number) for wave in course.manifest.waves], most=20)
        problems.append(_problem("unknown-wave", f"there is no wave {number}", f"there are: {there}"))
    tip = course.base
    for wave in course.manifest.waves:
        fresh = wave.number >= number or bool(problems)
        held = None if fresh or done is None else done.waves.get(wave.number)
        waves[wave.number] = held or WaveOutcome(wave.number)
        for task in wave.tasks:
            former = done.outcomes.get(task.id) if done and not fresh else None
            outcomes[task.id] = former or Outcome(task.id)
        if not fresh:
            problems += _unusable(
                wave, _Former(waves[wave.number], outcomes, frozenset(_ids(done, wave))), tip
            )
            tip = waves[wave.number].head
    return replace(course, outcomes=outcomes, waves=waves), problems


def _unusable(wave: Wave, former: _Former, tip: str) -> Iterator[Problem]:
    """Why nothing can be started on what the wave left."""
    held, remedy = former.held, "run it first, or go on with the former run"
    outcomes = [former.outcomes[task.id] for task in wave.tasks]
    if held.status not in TERMINAL or not held.head:
        yield _problem("earlier-wave", f"what wave {wave.number} left is not known", remedy)
    elif held.base != tip:
        yield _problem("earlier-wave", f"wave {wave.number} was run on something else", remedy)
    elif held.reason in ENDING or not (
        _proven(wave, held, written(outcomes)) or (idle(outcomes) and held.head == held.base)
    ):
        text = f"wave {wave.number} did not pass the validation and the panel that it names"
        yield _problem("earlier-wave", text, remedy)
    for gone in sorted(former.ids - {task.id for task in wave.tasks}):
        yield _problem(
            "changed-task", f"{gone} was run in wave {wave.number} and is not there any more", remedy
        )
    for task, outcome in zip(wave.tasks, outcomes, strict=True):
        if outcome.status not in TERMINAL or (outcome.status == SUCCEEDED and not outcome.commit):
            yield _problem("earlier-wave", f"what became of {task.id} is not known", remedy)
        elif outcome.status == SUCCEEDED and outcome.asked != asked(task):
            yield _problem("changed-task", f"{task.id} was changed since it was run", remedy)


# --- where one ended --------------------------------------------------------------------------


def _go_on(course: Course, done: Course | None) -> Course:
    """The course with all that is still true of the former run."""
    outcomes: dict[str, Outcome] = {}
    waves: dict[int, WaveOutcome] = {}
    kept: set[str] = set()
    whole = True
    tip = course.base
    for wave in course.manifest.waves:
        known = done.outcomes if done else {}
        kept |= {t.id for t in wave.tasks if _holds(t, known.get(t.id), kept)}
        held = done.waves.get(wave.number) if done else None
        former = _Former(held or WaveOutcome(wave.number), known, frozenset(_ids(done, wave)))
        intact = whole and _intact(wave, former, kept, tip)
        mine = {t.id: _taken(t, known.get(t.id), kept, intact) for t in wave.tasks}
        whole = intact and _passed(wave, former.held, list(mine.values()))
        outcomes |= mine
        waves[wave.number] = former.held if whole else _opened(former.held, intact)
        tip = former.held.head
    return replace(course, outcomes=outcomes, waves=waves)


def _holds(task: Task, former: Outcome | None, kept: Collection[str]) -> bool:
    """Whether what the task wrote then may be taken for what it would write now."""
    return (
        former is not None
        and trusted(former).status == SUCCEEDED
        and former.asked == asked(task)
        and all(dep in kept for dep in task.deps)
    )


def _intact(wave: Wave, former: _Former, kept: Collection[str], tip: str) -> bool:
    """Whether the commits that the former run made of a wave hold nothing but what is taken over."""
    now = {task.id for task in wave.tasks}
    accepted = {n for n in former.ids | now if n in former.outcomes and former.outcomes[n].commit}
    return bool(tip) and former.held.base == tip and accepted <= now & set(kept)


def _taken(task: Task, former: Outcome | None, kept: Collection[str], intact: bool) -> Outcome:
    """A task as the new run begins with it: one that was open again is so still, one that failed is anew."""
    if former and task.id in kept:
        return former if intact else replace(former, commit="")
    open_still = former and former.conflict and former.status in (PENDING, RUNNING, NOT_RUN)
    if former and open_still and intact and former.asked == asked(task):
        return replace(former, status=PENDING, reason="conflict", message="", commit="")
    return Outcome(task.id)


def _passed(wave: Wave, held: WaveOutcome, outcomes: Sequence[Outcome]) -> bool:
    """Whether a wave is over, all of it is taken over, and it passed all that the manifest names today."""
    accepted = all(o.status == SUCCEEDED and o.commit for o in outcomes)
    return (
        accepted and held.status == SUCCEEDED and bool(held.head) and _proven(wave, held, written(outcomes))
    )


def _proven(wave: Wave, held: WaveOutcome, changes: Sequence[Outcome]) -> bool:
    """Whether a wave passed the very validation and panel that the manifest names today."""
    check = held.validation
    if wave.validation and not (check and check.ok and check.command == wave.validation):
        return False
    asked_all = all(set(wave.panel) <= set(review.panels) for review in held.reviews)
    return not wave.panel or not changes or (asked_all and approves(held.reviews, changes))


def _opened(held: WaveOutcome, intact: bool) -> WaveOutcome:
    """A wave that is not over: what was accepted stays, what was said of the whole does not."""
    if not intact:
        return WaveOutcome(held.number)
    return WaveOutcome(held.number, RUNNING, base=held.base, head=held.head)
