"""One decision of the waves engine at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from prun_review.errors import InternalError
from prun_review.reopening import put_together
from prun_review.tasks import Conflict, Course, Integration, Manifest, Outcome, Wave
from prun_review.wavebegin import begin
from prun_review.waves import finished, reviewed, started, stop, validated
from prun_review.wavestatus import exit_status, status
from prun_review.wavesteps import Dispatch, Finish, PutTogether, Reopen, ReviewWave, Validate, due, ready
from prun_review.written import Breach, Patch
from tests.waves.coursekit import (
    BASE,
    Play,
    Script,
    begun,
    check,
    ended,
    manifest,
    patch,
    review,
    task,
)

TWO = manifest(task("001", 1), task("002", 1), task("003", 2, "001"), task("004", 2, "002"), task("005", 2))


def played(of: Manifest, script: Script, **options: object) -> Course:
    return Play(begun(of, **options), script, Random(1)).run()


def told(course: Course) -> dict[str, str]:
    return {n.removeprefix("task-"): f"{o.status} {o.reason}" for n, o in course.outcomes.items()}


def after(course: Course, *ends: tuple[str, str]) -> Course:
    """Those tasks started and ended, in this order."""
    for name, how in ends:
        course = finished(started(course, name), ended(name, how))
    return course


def test_a_wave_is_started_together_and_the_next_waits_for_all_of_it() -> None:
    course = begun(TWO)
    assert [t.id for t in ready(course)] == ["task-001", "task-002"]
    assert due(course) == Dispatch(TWO.tasks[0], BASE)
    course = started(course, "task-001")
    assert due(course) == Dispatch(TWO.tasks[1], BASE)
    course = started(course, "task-002")
    assert due(course) is None
    course = finished(course, ended("task-002"))
    assert due(course) is None
    course = finished(course, ended("task-001"))
    step = due(course)
    assert isinstance(step, PutTogether)
    assert (step.onto, [o.task for o in step.outcomes]) == (BASE, ["task-001", "task-002"])
    course = put_together(course, 1, "h2", {"task-001": "h1", "task-002": "h2"})
    assert due(course) == Dispatch(TWO.tasks[2], "h2")
    assert course.waves[1].status == "succeeded"
    assert (course.outcomes["task-001"].commit, course.waves[2].base) == ("h1", "h2")


def test_a_failed_task_skips_its_dependents_by_name_and_the_others_go_on() -> None:
    course = after(begun(TWO), ("task-001", "timeout"))
    skipped = course.outcomes["task-003"]
    assert (skipped.status, skipped.reason, skipped.message) == (
        *("skipped", "dependency"),
        "task-001 failed (timeout)",
    )
    course = played(TWO, Script({"task-001": ["timeout"]}))
    assert told(course) == {
        "001": "failed timeout",
        "002": "succeeded ok",
        "003": "skipped dependency",
        "004": "succeeded ok",
        "005": "succeeded ok",
    }
    assert (course.waves[1].status, course.waves[1].reason) == ("failed", "tasks")
    assert status(course) == "failed"


def test_what_is_skipped_names_the_task_that_failed_however_far_away_it_is() -> None:
    long = manifest(task("001", 1), task("002", 1), task("003", 2, "001"), task("004", 3, "003", "002"))
    course = played(long, Script({"task-001": ["no-marker"], "task-002": ["verify"]}))
    assert course.outcomes["task-004"].message == "task-002 failed (verify); task-001 failed (no-marker)"
    assert (course.waves[2].status, course.waves[2].reason) == ("skipped", "dependency")


def test_a_wave_of_which_nothing_was_begun_is_not_validated_and_what_needs_nothing_goes_on() -> None:
    validation = {1: "make one", 2: "make two"}
    of = manifest(task("001", 1), task("002", 2, "001"), task("003", 3), validation=validation)
    play = Play(begun(of), Script({"task-001": ["timeout"]}, validations={2: False}), Random(1))
    course = play.run()
    assert [s.wave.number for s in play.steps if isinstance(s, Validate)] == [1]
    assert (course.waves[2].status, course.waves[2].reason) == ("skipped", "dependency")
    assert course.waves[2].validation is None
    assert (told(course)["003"], status(course)) == ("succeeded ok", "failed")
    again, problems = begin(of, BASE, from_wave=3, done=course)
    assert not problems
    assert again is not None
    assert (again.waves[2], ready(again)) == (course.waves[2], of.waves[2].tasks)


@pytest.mark.parametrize(("passes", "third"), [(True, "succeeded ok"), (False, "not-run validation")])
def test_a_wave_without_any_success_is_validated_on_the_unchanged_tree(passes: bool, third: str) -> None:
    of = manifest(task("001", 1), task("002", 1), task("003", 2), validation={1: "make test"})
    fails = {"task-001": ["timeout"], "task-002": ["breach"]}
    play = Play(begun(of), Script(fails, validations={1: passes}), Random(1))
    course = play.run()
    assert Validate(of.waves[0], BASE) in play.steps
    assert not [s for s in play.steps if isinstance(s, PutTogether) and s.wave.number == 1]
    assert told(course)["003"] == third
    assert course.waves[1].reason == ("tasks" if passes else "validation")
    assert course.waves[1].head == BASE


def test_a_validation_that_fails_ends_the_run_and_says_so() -> None:
    of = manifest(task("001", 1), task("002", 2), task("003", 3), validation={1: "make test"}, panel=[1])
    play = Play(begun(of), Script(validations={1: False}), Random(1))
    course = play.run()
    assert told(course) == {"001": "succeeded ok", "002": "not-run validation", "003": "not-run validation"}
    assert course.outcomes["task-003"].message == "wave 1: its validation did not pass"
    assert [w.reason for w in course.waves.values()] == ["validation", "validation", "validation"]
    assert not [s for s in play.steps if isinstance(s, ReviewWave)]


@pytest.mark.parametrize("panel", ["FAIL", "INCOMPLETE", "nobody", "part"])
def test_only_a_pass_over_every_change_lets_the_next_wave_start(panel: str) -> None:
    of = manifest(task("001", 1), task("002", 1), task("003", 2), panel=[1])
    course = played(of, Script(panels={1: panel}))
    assert told(course)["003"] == "not-run panel"
    assert (course.waves[1].status, course.waves[1].reason) == ("failed", "panel")
    assert status(course) == "failed"
    assert status(played(of, Script())) == "completed"


def test_a_panel_sees_what_was_written_and_is_not_asked_about_nothing() -> None:
    of = manifest(task("001", 1), task("002", 1), task("003", 1), panel=[1])
    play = Play(begun(of), Script({"task-001": ["empty"], "task-003": ["timeout"]}), Random(1))
    play.run()
    step = play.steps[-1]
    assert isinstance(step, ReviewWave)
    assert ([o.task for o in step.outcomes], step.base) == (["task-002"], BASE)
    nothing = Play(begun(of), Script({t.id: ["empty"] for t in of.tasks}), Random(1))
    assert status(nothing.run()) == "completed"
    assert not [s for s in nothing.steps if isinstance(s, ReviewWave)]


def test_a_conflict_opens_its_task_again_on_the_new_tip_with_its_old_patch() -> None:
    course = after(begun(TWO), ("task-001", "ok"), ("task-002", "ok"))
    clash = Conflict("task-002", ("src/a.py", "src/b.py"), "<<<<<<<", others=("task-001",))
    course = put_together(course, 1, "tip", {"task-001": "tip"}, [clash])
    step = due(course)
    assert step == Reopen(TWO.tasks[1], replace(clash, onto="tip"))
    held = course.outcomes["task-002"]
    assert held.patch == patch("src/task-002.py")
    assert (held.status, held.reopened) == ("pending", 1)
    assert held.message == "opened again: conflict in src/a.py, src/b.py with task-001"
    assert told(course)["004"] == "pending "
    course = after(course, ("task-002", "ok"))
    step = due(course)
    assert isinstance(step, PutTogether)
    assert (step.onto, [o.task for o in step.outcomes]) == ("tip", ["task-002"])
    held = course.outcomes["task-002"]
    assert (held.attempts, held.seconds, held.reopened) == (2, 4.0, 1)


def test_who_writes_nothing_when_opened_again_fails_since_one_side_would_be_dropped() -> None:
    course = played(TWO, Script({"task-002": ["ok", "empty"]}, clashes={"task-002": 1}))
    assert told(course)["002"] == "failed nothing-written"
    assert "what it wrote before would be dropped" in course.outcomes["task-002"].message
    assert told(course)["004"] == "skipped dependency"


def test_a_second_conflict_fails_the_task_and_skips_who_needs_it() -> None:
    course = played(TWO, Script(clashes={"task-002": 2}))
    assert told(course)["002"] == "failed conflict"
    assert told(course)["004"] == "skipped dependency"
    assert course.outcomes["task-004"].message == "task-002 failed (conflict)"
    assert told(played(TWO, Script(clashes={"task-002": 2}), reopen=2))["002"] == "succeeded ok"
    assert told(played(TWO, Script(clashes={"task-002": 1}), reopen=0))["002"] == "failed conflict"


@pytest.mark.parametrize(
    ("paths", "others", "told"),
    [
        ((), (), "conflict in its change"),
        (tuple("abcde"), (), "conflict in a, b, c, d, e"),
        (tuple("abcdefg"), ("task-001",), "conflict in a, b, c, d, e and 2 more with task-001"),
    ],
)
def test_a_conflict_names_its_files_as_far_as_they_can_be_read(
    paths: tuple[str, ...], others: tuple[str, ...], told: str
) -> None:
    course = after(begun(TWO, reopen=0), ("task-001", "ok"), ("task-002", "ok"))
    clash = Conflict("task-002", paths, others=others)
    course = put_together(course, 1, "tip", {"task-001": "tip"}, [clash])
    assert course.outcomes["task-002"].message == told


@pytest.mark.parametrize(
    ("commits", "conflicts", "head"),
    [
        ({"task-001": "a"}, [], "a"),
        ({"task-001": "a", "task-002": "b"}, ["task-002"], "b"),
        ({"task-001": "a", "task-002": "b", "task-003": "c"}, [], "c"),
        ({"task-001": "a"}, ["task-002", "task-002"], "a"),
        ({"task-001": "a", "task-002": ""}, [], "a"),
        ({"task-001": "a", "task-002": "b"}, [], ""),
    ],
)
def test_no_change_is_lost_when_a_wave_is_put_together(
    commits: dict[str, str], conflicts: list[str], head: str
) -> None:
    course = after(begun(TWO), ("task-001", "ok"), ("task-002", "ok"))
    with pytest.raises(InternalError, match="put together without"):
        put_together(course, 1, head, commits, [Conflict(name, ("a",)) for name in conflicts])


def success(of: Outcome, **more: object) -> Outcome:
    return replace(of, **more)  # type: ignore[arg-type]


GOOD = ended("task-001")
BREACHES = (Breach("outside-scope", "x", "x is not its"), Breach("odd-name", "y", "y is odd"))
BREACHED = Patch(BASE, "t", files=patch("a").files, breaches=BREACHES)


@pytest.mark.parametrize(
    ("outcome", "reason", "message"),
    [
        (success(GOOD, patch=None), "no-patch", "what it wrote was not taken"),
        (success(GOOD, patch=BREACHED), "breach", "x is not its"),
        (success(GOOD, checks=(check("a"), check("b", 1))), "verify", "did not pass: b"),
        (success(GOOD, checks=(check("a", None),)), "verify", "did not pass: a"),
        (success(GOOD, checks=(check("a"),)), "ok", ""),
    ],
)
def test_what_the_records_refute_is_no_success(outcome: Outcome, reason: str, message: str) -> None:
    course = finished(started(begun(TWO), "task-001"), outcome)
    held = course.outcomes["task-001"]
    assert (held.status == "succeeded", held.reason, held.message) == (reason == "ok", reason, message)


def test_a_stop_lets_what_runs_end_and_starts_nothing() -> None:
    course = stop(started(begun(TWO), "task-001"), "Ctrl-C")
    assert told(course)["001"] == "running "
    assert {told(course)[n] for n in ("002", "003", "004", "005")} == {"not-run stopped"}
    assert due(course) is None
    with pytest.raises(InternalError, match="before its time"):
        started(course, "task-002")
    course = finished(course, ended("task-001"))
    assert isinstance(due(course), Finish)
    assert course.outcomes["task-001"].patch
    assert (course.waves[1].status, course.waves[1].reason) == ("failed", "stopped")
    assert (status(course), exit_status(course)) == ("stopped", 1)


def test_what_is_told_after_a_stop_unmakes_nothing() -> None:
    of = manifest(task("001", 1), validation={1: "make test"}, panel=[1])
    course = after(begun(of), ("task-001", "ok"))
    halted = stop(course, "Ctrl-C")
    assert put_together(halted, 1, "h", {"task-001": "h"}) == halted
    course = put_together(course, 1, "h", {"task-001": "h"})
    halted = stop(course, "Ctrl-C")
    assert validated(halted, 1, check()) == halted
    halted = stop(validated(course, 1, check()), "Ctrl-C")
    assert reviewed(halted, 1, [review("PASS", "task-001")]) == halted
    assert status(halted) == "stopped"


def test_a_run_that_is_over_cannot_be_stopped() -> None:
    course = played(TWO, Script())
    assert stop(course, "Ctrl-C") == course
    assert (status(course), exit_status(course)) == ("completed", 0)


FRESH = begun(manifest(task("001", 1), task("002", 1), validation={1: "make test"}, panel=[1]))
ON = started(FRESH, "task-001")


@pytest.mark.parametrize(
    "move",
    [
        partial(started, FRESH, "task-003"),
        partial(started, ON, "task-001"),
        partial(finished, FRESH, ended("task-001")),
        partial(finished, FRESH, Outcome("task-009", "failed")),
        partial(finished, ON, Outcome("task-001", "running")),
        partial(put_together, FRESH, 1, "h", {}),
        partial(validated, FRESH, 1, check()),
        partial(reviewed, FRESH, 1, []),
        partial(reviewed, FRESH, 2, []),
    ],
)
def test_nothing_is_taken_out_of_its_turn(move: Callable[[], Course]) -> None:
    with pytest.raises(InternalError):
        move()


def test_a_partial_head_is_not_validated() -> None:
    of = manifest(task("001", 1), task("002", 1), validation={1: "make test"})
    course = after(begun(of), ("task-001", "ok"), ("task-002", "ok"))
    course = put_together(course, 1, "tip", {"task-001": "tip"}, [Conflict("task-002", ("a",))])
    assert course.waves[1].head == "tip"
    with pytest.raises(InternalError, match="cannot be validated"):
        validated(course, 1, check())


@pytest.mark.parametrize(
    ("integration", "code"), [(None, 0), ("whole", 0), ("conflicts", 1), ("failed", 1), ("", 1)]
)
def test_only_a_whole_integration_is_a_success(integration: str | None, code: int) -> None:
    course = played(TWO, Script())
    assert exit_status(course, None if integration is None else Integration(integration)) == code


def test_a_run_without_a_task_is_no_success() -> None:
    empty = Course(Manifest("parallel/x", ()), {}, {}, BASE)
    assert isinstance(due(empty), Finish)
    assert (status(empty), exit_status(empty)) == ("failed", 1)


def test_an_end_that_is_not_asked_for_is_no_partial_run() -> None:
    of = manifest(task("001", 1))
    course = finished(started(begun(of), "task-001"), Outcome("task-001", "not-run", "cancelled"))
    assert course.waves[1].reason == "tasks"
    assert status(course) == "failed"


def test_a_wave_without_a_task_is_passed_with_its_validation() -> None:
    of = manifest(task("001", 1), task("002", 3))
    of = replace(of, waves=(of.waves[0], Wave(2, (), validation="make test"), of.waves[1]))
    play = Play(begun(of), Script(), Random(1))
    assert status(play.run()) == "completed"
    assert [s.wave.number for s in play.steps if isinstance(s, Validate)] == [2]
    assert told(played(of, Script(validations={2: False})))["002"] == "not-run validation"


def test_what_is_not_put_together_is_not_complete() -> None:
    course = played(TWO, Script())
    held = replace(course.outcomes["task-002"], commit="")
    assert status(replace(course, outcomes={**course.outcomes, held.task: held})) == "failed"
    wave = replace(course.waves[2], head="")
    assert status(replace(course, waves={**course.waves, 2: wave})) == "failed"
    assert status(begun(TWO)) == "running"
    assert exit_status(begun(TWO)) == 1


@pytest.mark.parametrize(("told", "kept"), [("", "codex"), ("sonnet", "sonnet")])
def test_who_did_it_is_known_from_the_start(told: str, kept: str) -> None:
    course = started(begun(TWO), "task-001", executor="codex", vendor="codex")
    course = finished(course, success(GOOD, executor=told, vendor=told))
    held = course.outcomes["task-001"]
    assert (held.executor, held.vendor) == (kept, kept)


def test_a_stop_without_a_reason_is_a_stop() -> None:
    assert status(stop(begun(TWO), "")) == "stopped"
    again = stop(started(begun(TWO), "task-001"), "first")
    assert stop(again, "second") == again
