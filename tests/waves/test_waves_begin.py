"""How a wave run begins: for some tasks, from a later wave, and where one ended."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from prun_review.tasks import Conflict, Course, Manifest, Outcome, Task, Wave, WaveOutcome
from prun_review.wavebegin import begin
from prun_review.waves import asked
from prun_review.wavestatus import exit_status, status
from prun_review.wavesteps import Dispatch, PutTogether, Reopen, ReviewWave, Validate
from prun_review.written import Breach
from tests.waves.coursekit import (
    BASE,
    Play,
    Script,
    begun,
    check,
    manifest,
    patch,
    refused,
    review,
    sha,
    task,
)

OF = manifest(
    task("001-users", 1),
    task("002-shop", 1),
    task("003", 2, "001-users"),
    task("004", 2, "002-shop"),
    task("005", 3, "003", "004"),
    validation={1: "make one", 2: "make two"},
    panel=[1],
)
"""Two, two and one task."""


def changed(of: Manifest, name: str, **more: object) -> Manifest:
    waves = tuple(
        replace(w, tasks=tuple(replace(t, **more) if t.id == name else t for t in w.tasks))  # type: ignore[arg-type]
        for w in of.waves
    )
    return replace(of, waves=waves)


def rewave(of: Manifest, number: int, **more: object) -> Manifest:
    waves = tuple(replace(w, **more) if w.number == number else w for w in of.waves)  # type: ignore[arg-type]
    return replace(of, waves=waves)


def play(course: Course, script: Script | None = None) -> Play:
    played = Play(course, script or Script(), Random(3))
    played.run()
    return played


def started_in(of: Play) -> list[str]:
    return [s.task.id.removeprefix("task-") for s in of.steps if isinstance(s, Dispatch | Reopen)]


def done(script: Script | None = None, of: Manifest = OF) -> Course:
    return play(begun(of), script).course


def test_only_the_selected_tasks_run_and_the_run_is_no_success() -> None:
    of = play(begun(OF, only=["task-001", "task-003"]))
    assert started_in(of) == ["001-users", "003"]
    left = of.course.outcomes["task-004"]
    assert (left.status, left.reason, left.message) == ("not-run", "not-selected", "it was not selected")
    assert [(w.status, w.reason) for w in of.course.waves.values()] == [("not-run", "not-selected")] * 3
    assert (status(of.course), exit_status(of.course)) == ("partial", 1)
    assert [s.wave.number for s in of.steps if isinstance(s, Validate)] == [1, 2]


def test_a_failure_in_a_partial_run_is_a_failure() -> None:
    course = play(begun(OF, only=["task-001"]), Script({"task-001-users": ["timeout"]})).course
    assert status(course) == "failed"


def test_a_wave_of_which_nothing_is_selected_is_passed_over() -> None:
    of = manifest(task("001", 1), task("002", 2), task("003", 3), validation={1: "a", 2: "b", 3: "c"})
    course = play(begun(of, only=["task-001", "task-003"]))
    assert [s.wave.number for s in course.steps if isinstance(s, Validate)] == [1, 3]
    assert course.course.waves[3].base == course.course.waves[1].head != BASE


@pytest.mark.parametrize(
    ("only", "codes"),
    [
        ([], ["nothing-selected"]),
        (["task-009", "users"], ["unknown-task", "unknown-task"]),
        (["task-003"], ["missing-dependency"]),
        (["task-003", "task-001"], None),
        (["task-001-users"], None),
    ],
)
def test_what_is_selected_must_be_there_with_all_it_needs(only: list[str], codes: list[str] | None) -> None:
    if codes is None:
        begun(OF, only=only)
    else:
        assert refused(OF, only=only) == codes


def test_a_short_id_of_two_tasks_says_nothing() -> None:
    of = manifest(task("001-a", 1), task("001-b", 1))
    assert refused(of, only=["task-001"]) == ["unknown-task"]
    _, problems = begin(of, BASE, only=["task-001"])
    assert problems[0].text == "task-001 may be any of task-001-a, task-001-b"
    assert problems[0].remedy == "there are: task-001-a, task-001-b"
    _, problems = begin(of, BASE, from_wave=4)
    assert problems[0].remedy == "there are: 1"
    begun(of, only=["task-001-a"])


def odd(*waves: Wave) -> Manifest:
    return Manifest("parallel/x", waves)


@pytest.mark.parametrize(
    ("of", "codes"),
    [
        (odd(), ["no-tasks"]),
        (odd(Wave(1, ())), ["no-tasks"]),
        (odd(Wave(1, (task("1", 1), task("2", 1, "1")))), ["dependency-order"]),
        (odd(Wave(1, (task("1", 1, "2"),)), Wave(2, (task("2", 2),))), ["dependency-order"]),
        (odd(Wave(1, (task("1", 1, "9"),))), ["dependency-order"]),
        (odd(Wave(1, (task("1", 1, "1"),))), ["dependency-order"]),
        (odd(Wave(1, (task("1", 1), task("1", 1)))), ["duplicate-id"]),
        (odd(Wave(1, (task("1", 1),)), Wave(2, (task("1", 2),))), ["duplicate-id"]),
        (odd(Wave(1, (task("1", 1),)), Wave(1, (task("2", 1),))), ["duplicate-wave"]),
        (odd(Wave(1, (task("1", 2),))), ["wrong-wave"]),
    ],
)
def test_what_would_never_end_is_not_begun(of: Manifest, codes: list[str]) -> None:
    assert refused(of) == codes


def test_from_a_wave_on_takes_what_the_earlier_ones_left_and_does_the_rest_anew() -> None:
    former = done()
    again = play(begun(OF, from_wave=2, done=former))
    assert started_in(again) == ["003", "004", "005"]
    assert again.course.waves[1] == former.waves[1]
    assert again.course.outcomes["task-001-users"] == former.outcomes["task-001-users"]
    assert again.course == former
    assert status(again.course) == "completed"


def test_from_a_wave_on_keeps_the_failures_of_the_earlier_ones() -> None:
    former = done(Script({"task-001-users": ["timeout"]}))
    again = play(begun(OF, from_wave=2, done=former))
    assert started_in(again) == ["004"]
    assert again.course.outcomes["task-003"].message == "task-001-users failed (timeout)"
    assert (status(again.course), exit_status(again.course)) == ("failed", 1)


LOST = replace(done(), waves={1: WaveOutcome(1)})


@pytest.mark.parametrize(
    ("of", "former", "options", "code"),
    [
        (OF, None, {"from_wave": 2}, "earlier-wave"),
        (OF, LOST, {"from_wave": 2}, "earlier-wave"),
        (OF, done(Script(validations={1: False})), {"from_wave": 2}, "earlier-wave"),
        (OF, done(Script(panels={1: "FAIL"})), {"from_wave": 2}, "earlier-wave"),
        (rewave(OF, 1, validation="make more"), done(), {"from_wave": 2}, "earlier-wave"),
        (rewave(OF, 1, panel=("panels/", "more/")), done(), {"from_wave": 2}, "earlier-wave"),
        (changed(OF, "task-002-shop", prompt="more"), done(), {"from_wave": 2}, "changed-task"),
        (rewave(OF, 2, tasks=OF.waves[1].tasks[:1]), done(), {"from_wave": 3}, "changed-task"),
        (OF, done(), {"from_wave": 4}, "unknown-wave"),
        (OF, replace(done(), base="f" * 40), {"from_wave": 2}, "other-base"),
        (OF, replace(done(), base="f" * 40), {}, "other-base"),
        (OF, done(), {"from_wave": 2, "only": ["task-001"]}, "nothing-selected"),
    ],
)
def test_what_the_earlier_waves_left_must_be_known_and_still_true(
    of: Manifest, former: Course | None, options: dict[str, object], code: str
) -> None:
    if code == "changed-task" and options["from_wave"] == 3:
        of = replace(of, waves=(*of.waves[:2], replace(of.waves[2], tasks=(task("005", 3, "003"),))))
    assert code in refused(of, done=former, **options)


def test_the_first_wave_needs_nothing_before_it() -> None:
    assert status(play(begun(OF, from_wave=1)).course) == "completed"


def test_an_accepted_change_without_its_commit_is_not_known() -> None:
    former = done()
    outcome = replace(former.outcomes["task-001-users"], commit="")
    former = replace(former, outcomes={**former.outcomes, outcome.task: outcome})
    assert refused(OF, from_wave=2, done=former) == ["earlier-wave"]


# --- where one ended --------------------------------------------------------------------------


def killed(moves: int, script: Script | None = None, of: Manifest = OF) -> Course:
    halted = Play(begun(of), script or Script(), Random(3), jobs=1)
    for _ in range(moves):
        assert halted.move()
    return halted.course


def test_what_was_running_is_run_again_and_what_succeeded_stays() -> None:
    former = killed(3)
    assert [o.status for o in former.outcomes.values()][:2] == ["succeeded", "running"]
    again = play(begun(OF, done=former))
    assert started_in(again) == ["002-shop", "003", "004", "005"]
    assert again.course == done()


@pytest.mark.parametrize(
    ("former", "kinds"),
    [
        (killed(4), [PutTogether, Validate, ReviewWave]),
        (killed(5), [Validate, ReviewWave]),
        (killed(6), [Validate, ReviewWave]),
        (killed(7), []),
    ],
)
def test_a_wave_that_ended_half_way_is_proven_anew(former: Course, kinds: list[type]) -> None:
    again = play(begun(OF, done=former))
    first = [type(s) for s in again.steps if not isinstance(s, Dispatch) and s.wave.number == 1]  # type: ignore[union-attr]
    assert first == kinds
    assert again.course == done()


def test_what_failed_is_done_again_with_all_that_needed_it_and_nothing_else() -> None:
    former = done(Script({"task-001-users": ["timeout"]}))
    again = play(begun(OF, done=former))
    assert started_in(again) == ["001-users", "003", "005"]
    assert status(again.course) == "completed"
    put = [s for s in again.steps if isinstance(s, PutTogether)]
    assert [(s.wave.number, [o.task for o in s.outcomes]) for s in put] == [
        (1, ["task-001-users"]),
        (2, ["task-003", "task-004"]),
        (3, ["task-005"]),
    ]
    assert put[0].onto == former.outcomes["task-002-shop"].commit
    assert [s.wave.number for s in again.steps if isinstance(s, Validate)] == [1, 2]


def test_a_task_that_asks_something_else_now_is_asked_with_all_that_needs_it() -> None:
    of = changed(OF, "task-002-shop", prompt="Sell more.")
    again = play(begun(of, done=done()))
    assert started_in(again) == ["002-shop", "004", "005"]
    put = [s for s in again.steps if isinstance(s, PutTogether)]
    assert (put[0].onto, [o.task for o in put[0].outcomes]) == (BASE, ["task-001-users", "task-002-shop"])


def test_a_task_that_is_gone_takes_its_change_with_it() -> None:
    of = rewave(OF, 1, tasks=(*OF.waves[0].tasks, task("009", 1)))
    again = play(begun(OF, done=done(of=of)))
    assert started_in(again) == []
    first = next(s for s in again.steps if isinstance(s, PutTogether))
    assert (first.onto, [o.task for o in first.outcomes]) == (BASE, ["task-001-users", "task-002-shop"])
    assert status(again.course) == "completed"


def test_a_task_that_is_new_is_done_in_its_wave() -> None:
    of = rewave(OF, 1, tasks=(*OF.waves[0].tasks, task("009", 1)))
    again = play(begun(of, done=done()))
    assert started_in(again) == ["009"]
    assert status(again.course) == "completed"


def test_a_success_that_lost_its_commit_is_put_together_again() -> None:
    former = done()
    held = replace(former.outcomes["task-002-shop"], commit="")
    again = play(begun(OF, done=replace(former, outcomes={**former.outcomes, held.task: held})))
    assert started_in(again) == []
    first = again.steps[0]
    assert isinstance(first, PutTogether)
    assert [o.task for o in first.outcomes] == ["task-002-shop"]
    assert status(again.course) == "completed"


@pytest.mark.parametrize("more", [{"validation": "make more"}, {"panel": ("panels/", "more/")}])
def test_a_wave_that_names_more_today_is_proven_anew(more: dict[str, object]) -> None:
    of = rewave(OF, 1, **more)
    again = Play(begun(of, done=done()), Script(), Random(1))
    assert isinstance(again.seen[0].waves[1], WaveOutcome)
    assert again.seen[0].waves[1].status == "running"
    assert again.move()
    assert isinstance(again.steps[0], Validate)


@pytest.mark.parametrize(
    ("script", "steps"),
    [
        (Script(validations={1: False}), [Validate, ReviewWave]),
        (Script(panels={1: "INCOMPLETE"}), [Validate, ReviewWave]),
    ],
)
def test_a_validation_or_a_panel_that_did_not_pass_is_asked_again(script: Script, steps: list[type]) -> None:
    again = play(begun(OF, done=done(script)))
    assert [type(s) for s in again.steps[:2]] == steps
    assert status(again.course) == "completed"


@pytest.mark.parametrize("was", ["pending", "running", "not-run"])
def test_what_was_open_again_is_so_still(was: str) -> None:
    former = killed(5, Script(clashes={"task-002-shop": 1}))
    held = former.outcomes["task-002-shop"]
    assert (held.status, held.reopened) == ("pending", 1)
    held = replace(held, status=was)
    former = replace(former, outcomes={**former.outcomes, held.task: held})
    again = play(begun(OF, done=former), Script(clashes={"task-002-shop": 1}))
    assert isinstance(again.steps[0], Reopen)
    assert again.steps[0].conflict.onto == former.waves[1].head
    assert again.course.outcomes[held.task].reopened == 1
    assert started_in(again) == ["002-shop", "003", "004", "005"]


def test_one_that_failed_after_a_conflict_starts_afresh() -> None:
    former = done(Script(clashes={"task-002-shop": 2}))
    again = begun(OF, done=former)
    held = again.outcomes["task-002-shop"]
    assert (held.status, held.reopened, held.conflict, held.patch) == ("pending", 0, None, None)


@pytest.mark.parametrize(
    "more",
    [
        {"patch": None},
        {"patch": replace(patch("a"), breaches=(Breach("odd-name", "x", "x"),))},
        {"asked": ""},
        {"checks": (check("x", 1),)},
    ],
)
def test_a_success_that_cannot_be_relied_on_is_not_taken_over(more: dict[str, object]) -> None:
    former = done()
    outcome = replace(former.outcomes["task-005"], **more)  # type: ignore[arg-type]
    former = replace(former, outcomes={**former.outcomes, outcome.task: outcome})
    assert started_in(play(begun(OF, done=former))) == ["005"]


REVIEWS = (review("PASS", "task-001-users", "task-002-shop"),)


def test_a_completed_wave_is_believed_only_with_its_proofs() -> None:
    former = done()
    for held in (
        replace(former.waves[1], validation=None),
        replace(former.waves[1], validation=check("make one", 1)),
        replace(former.waves[1], reviews=()),
        replace(former.waves[1], reviews=(review("FAIL", "task-001-users", "task-002-shop"),)),
        replace(former.waves[1], reviews=(*REVIEWS, replace(REVIEWS[0], panels=("other/",)))),
        replace(former.waves[1], head=""),
        replace(former.waves[1], base=sha("else")),
    ):
        course = begun(OF, done=replace(former, waves={**former.waves, 1: held}))
        assert course.waves[1].status == "running"
        assert course.waves[2].status == "pending"


def test_what_is_asked_is_told_apart_by_everything_that_is_asked() -> None:
    one = Task("task-001", 1, prompt="a")
    assert asked(one) == asked(replace(one))
    others = {asked(replace(one, **m)) for m in ({"prompt": "b"}, {"verify": ("x",)}, {"deps": ("y",)})}
    assert len({asked(one), *others}) == 4


def test_selected_tasks_may_need_what_a_former_run_did() -> None:
    former = done(Script({"task-004": ["timeout"], "task-003": ["timeout"]}))
    again = play(begun(OF, only=["task-003"], done=former))
    assert started_in(again) == ["003"]
    states = {n: (o.status, o.reason) for n, o in again.course.outcomes.items()}
    assert states["task-001-users"] == ("succeeded", "ok")
    assert states["task-004"] == ("not-run", "not-selected")
    assert status(again.course) == "partial"


def test_a_conflict_remembers_whose_it_was() -> None:
    former = killed(5, Script(clashes={"task-002-shop": 1}))
    conflict = former.outcomes["task-002-shop"].conflict
    assert conflict == Conflict("task-002-shop", ("src/shared.py",), "<<<<<<<", former.waves[1].head)
    assert isinstance(former.outcomes["task-001-users"], Outcome)
