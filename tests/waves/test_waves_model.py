"""The waves engine against a naive model: thousands of random runs, in random orders of completion."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.tasks import (
    FAILED,
    NOT_RUN,
    PENDING,
    RUNNING,
    SKIPPED,
    SUCCEEDED,
    TERMINAL,
    Course,
    Manifest,
    Task,
)
from prun_review.wavestatus import exit_status, status
from prun_review.wavesteps import Dispatch, PutTogether, Reopen, ReviewWave, Validate
from tests.waves.coursekit import Play, Script, begun, some_run


def naive(manifest: Manifest, script: Script, reopen: int) -> tuple[dict[str, str], str]:
    """What becomes of every task and of the run, worked out from the script alone, wave after wave."""
    became: dict[str, str] = {}
    closed = False
    for wave in manifest.waves:
        for task in wave.tasks:
            became[task.id] = _one(task, became, closed, script, reopen)
        if closed:
            continue
        begun_at_all = any(became[t.id] != SKIPPED for t in wave.tasks)
        if wave.validation and begun_at_all and not script.validations[wave.number]:
            closed = True
            continue
        wrote = [t.id for t in wave.tasks if became[t.id] == SUCCEEDED and _last(t, script) == "ok"]
        if wave.panel and wrote and script.panels[wave.number] != "PASS":
            closed = True
    good = set(became.values()) == {SUCCEEDED} and not closed
    return became, "completed" if good else "failed"


def _one(task: Task, became: dict[str, str], closed: bool, script: Script, reopen: int) -> str:
    if any(became[dep] in (FAILED, SKIPPED) for dep in task.deps):
        return SKIPPED
    if closed:
        return NOT_RUN
    clashes = script.clashes[task.id]
    for attempt in range(3):
        if script.ends[task.id][attempt] == "timeout":
            return FAILED
        if attempt and script.ends[task.id][attempt] == "empty":
            return FAILED  # what it wrote before would be dropped
        if attempt >= clashes:
            return SUCCEEDED
        if attempt >= reopen:
            return FAILED
    raise AssertionError("more conflicts than dispatches")


def _last(task: Task, script: Script) -> str:
    return script.ends[task.id][script.clashes[task.id]]


def held_to(before: Course, after: Course) -> None:
    """What must be true of every single transition."""
    for task in after.manifest.tasks:
        was, now = before.outcomes[task.id].status, after.outcomes[task.id].status
        if (was, now) == (PENDING, RUNNING):
            assert not after.stopped
            assert all(_accepted(before, dep) for dep in task.deps)
            earlier = [w for w in after.manifest.waves if w.number < task.wave]
            assert all(_proven(before, w.number) for w in earlier)
        if was in TERMINAL and (was, now) != (SUCCEEDED, PENDING) and was != now:
            assert (was, now) == (SUCCEEDED, FAILED), "only a conflict unmakes an end"
            assert after.outcomes[task.id].reason == "conflict"
    for number, held in before.waves.items():
        if held.status in TERMINAL:
            assert after.waves[number] == held


def _accepted(course: Course, name: str) -> bool:
    return course.outcomes[name].status == SUCCEEDED and bool(course.outcomes[name].commit)


def _proven(course: Course, number: int) -> bool:
    wave = next(w for w in course.manifest.waves if w.number == number)
    held, outcomes = course.waves[number], [course.outcomes[t.id] for t in wave.tasks]
    wrote = {o.task for o in outcomes if o.status == SUCCEEDED and o.patch and o.patch.files}
    seen = {name for review in held.reviews for name in review.tasks}
    if {o.status for o in outcomes} == {SKIPPED}:  # nothing was done, so nothing is validated
        return held.validation is None and held.head == held.base
    return (
        all(o.status in TERMINAL for o in outcomes)
        and all(o.commit for o in outcomes if o.status == SUCCEEDED)
        and bool(held.head)
        and (not wave.validation or (held.validation is not None and held.validation.code == 0))
        and (not wave.panel or (wrote <= seen and all(r.outcome == "PASS" for r in held.reviews)))
    )


def ended_well(course: Course) -> bool:
    """By looking at everything, whatever the engine says of the whole."""
    states = [o.status for o in course.outcomes.values()]
    return set(states) == {SUCCEEDED} and all(_proven(course, w.number) for w in course.manifest.waves)


def judge(play: Play) -> None:
    course = play.course
    assert all(o.status in TERMINAL for o in course.outcomes.values())
    assert all(w.status in TERMINAL for w in course.waves.values())
    for before, after in zip(play.seen, play.seen[1:], strict=False):
        held_to(before, after)
    assert (status(course) == "completed") == (ended_well(course) and not course.stopped)
    assert (exit_status(course) == 0) == (status(course) == "completed")


RANDOMS = st.randoms(use_true_random=False)


@settings(max_examples=200, deadline=None)
@given(RANDOMS, st.integers(0, 2), st.integers(1, 5))
def test_every_run_ends_as_the_naive_model_says(random: Random, reopen: int, jobs: int) -> None:
    manifest, script = some_run(random)
    play = Play(begun(manifest, reopen=reopen), script, random, jobs)
    course = play.run()
    judge(play)
    became, whole = naive(manifest, script, reopen)
    assert {name: o.status for name, o in course.outcomes.items()} == became
    assert status(course) == whole


def test_thousands_of_them_from_plain_seeds() -> None:
    seen: set[str] = set()
    for seed in range(1500):
        random = Random(seed)
        manifest, script = some_run(random)
        reopen, jobs = random.randint(0, 2), random.randint(1, 5)
        play = Play(begun(manifest, reopen=reopen), script, random, jobs)
        course = play.run()
        judge(play)
        became, whole = naive(manifest, script, reopen)
        assert ({n: o.status for n, o in course.outcomes.items()}, status(course)) == (became, whole), seed
        seen |= {type(step).__name__ for step in play.steps}
        seen |= {f"{o.status} {o.reason}" for o in course.outcomes.values()} | {whole}
    steps = {kind.__name__ for kind in (Dispatch, Reopen, PutTogether, Validate, ReviewWave)}
    ends = {"succeeded ok", "failed timeout", "failed conflict", "skipped dependency"}
    assert seen >= steps | ends | {"not-run validation", "not-run panel", "completed", "failed"}


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_the_order_in_which_tasks_end_changes_nothing(which: int, one: int, other: int) -> None:
    manifest, script = some_run(Random(which))
    first = Play(begun(manifest), script, Random(one), jobs=1 + one % 5).run()
    assert Play(begun(manifest), script, Random(other), jobs=1 + other % 5).run() == first


@settings(max_examples=120, deadline=None)
@given(RANDOMS, st.integers(0, 30))
def test_nothing_starts_after_a_stop_and_everything_ends(random: Random, moves: int) -> None:
    manifest, script = some_run(random)
    play = Play(begun(manifest), script, random)
    course = play.run(stop_after=moves)
    judge(play)
    if course.stopped:
        assert status(course) == "stopped"
        assert exit_status(course) == 1


@settings(max_examples=120, deadline=None)
@given(RANDOMS, st.integers(0, 30), st.booleans())
def test_an_interrupted_run_goes_on_to_the_end_of_one_that_was_not(
    random: Random, moves: int, killed: bool
) -> None:
    manifest, script = some_run(random)
    first = Play(begun(manifest), script, random)
    if killed:  # no word of an end: what runs is found running
        for _ in range(moves):
            if not first.move():
                break
    else:
        first.run(stop_after=moves)
    kept = {n for n, o in first.course.outcomes.items() if o.status == SUCCEEDED}
    second = Play(begun(manifest, done=first.course), script, random)
    # The script tells what the n-th dispatch comes to: one that was cut short is made again.
    finished = (n for n, o in first.course.outcomes.items() if n in kept or o.reopened)
    second.dispatched = {n: first.course.outcomes[n].reopened + (n in kept) for n in finished}
    course = second.run()
    judge(second)
    again = {step.task.id for step in second.steps if isinstance(step, Dispatch | Reopen)}
    assert not {n for n in again & kept if script.clashes[n] == 0}, "what succeeded is not paid for twice"
    became, whole = naive(manifest, script, 1)
    if not any(script.clashes.values()):
        assert {n: o.status for n, o in course.outcomes.items()} == became
        assert status(course) == whole


@pytest.mark.parametrize("seed", range(40))
def test_a_completed_run_taken_up_again_has_nothing_to_do(seed: int) -> None:
    manifest, script = some_run(Random(seed))
    first = Play(begun(manifest), Script(), Random(seed)).run()
    assert status(first) == "completed"
    again = Play(begun(manifest, done=first), script, Random(seed))
    assert again.run() == first
    assert again.steps == []
