"""What a wave run says while it goes on: the lines and blocks of ``cpo``, word for word."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

import pytest

from prun_review.renderers import progresslines
from prun_review.tasks import Course, Outcome
from prun_review.waves import finished, started
from prun_review.wavestatus import status
from tests.renderers.sample import HOSTILE
from tests.renderers.test_escape import is_active
from tests.waves.coursekit import Play, Script, begun, ended, manifest, some_run, task

OF = manifest(
    task("001-users", 1),
    task("002-shop", 1),
    task("003-orders", 2, "001-users"),
    validation={1: "make test"},
)


def transcript(script: Script, course: Course | None = None) -> list[str]:
    """All lines of a run in which one task runs at a time."""
    play = Play(course or begun(OF), script, Random(1), jobs=1)
    play.run()
    return [
        line
        for before, after in zip(play.seen, play.seen[1:], strict=False)
        for line in progresslines.progress(before, after)
    ]


def test_a_run_that_goes_well() -> None:
    assert transcript(Script()) == [
        "[PROGRESS] wave=1 task=task-001 status=started",
        "[PROGRESS] wave=1 task=task-001 status=completed commits=0",
        "[PROGRESS] wave=1 task=task-002 status=started",
        "[PROGRESS] wave=1 task=task-002 status=completed commits=0",
        "[PROGRESS] wave=1 status=completed tasks=2/2",
        "[PROGRESS] wave=2 status=started",
        "[PROGRESS] wave=2 task=task-003 status=started",
        "[PROGRESS] wave=2 task=task-003 status=completed commits=0",
        "[PROGRESS] wave=2 status=completed tasks=1/1",
        "[PROGRESS] execution status=completed",
    ]
    assert progresslines.progress(None, begun(OF)) == ["[PROGRESS] wave=1 status=started"]


def test_a_failure_and_who_needed_it() -> None:
    assert transcript(Script({"task-001-users": ["timeout"]})) == [
        "[PROGRESS] wave=1 task=task-001 status=started",
        "[PROGRESS] wave=1 task=task-001 status=failed error=timeout",
        "[PROGRESS] wave=2 task=task-003 status=failed error=dependency",
        "[PROGRESS] wave=1 task=task-002 status=started",
        "[PROGRESS] wave=1 task=task-002 status=completed commits=0",
        "[PROGRESS] wave=1 status=failed tasks=1/2 error=tasks",
        "[PROGRESS] wave=2 status=failed tasks=0/1 error=dependency",
        "[PROGRESS] execution status=failed",
    ]


def test_a_validation_that_fails_ends_it() -> None:
    assert transcript(Script(validations={1: False}))[-4:] == [
        "[PROGRESS] wave=1 status=failed tasks=2/2 error=validation",
        "[PROGRESS] wave=2 task=task-003 status=failed error=validation",
        "[PROGRESS] wave=2 status=failed tasks=0/1 error=validation",
        "[PROGRESS] execution status=failed",
    ]


def test_a_task_that_is_opened_again_is_started_again() -> None:
    lines = transcript(Script(clashes={"task-002-shop": 1}))
    assert [line for line in lines if "task-002" in line] == [
        "[PROGRESS] wave=1 task=task-002 status=started",
        "[PROGRESS] wave=1 task=task-002 status=completed commits=0",
    ] * 2
    assert "status=failed error=conflict" in " ".join(transcript(Script(clashes={"task-002-shop": 2})))


def test_what_is_not_selected_is_not_mentioned_and_is_no_success() -> None:
    assert transcript(Script(), begun(OF, only=["task-002"])) == [
        "[PROGRESS] wave=1 task=task-002 status=started",
        "[PROGRESS] wave=1 task=task-002 status=completed commits=0",
        "[PROGRESS] wave=1 status=completed tasks=1/2",
        "[PROGRESS] execution status=failed",
    ]


def test_commits_of_a_worker_are_counted() -> None:
    course = started(begun(OF), "task-001-users")
    outcome = ended("task-001-users")
    assert outcome.patch
    outcome = replace(outcome, patch=replace(outcome.patch, commits=5))
    assert progresslines.progress(course, finished(course, outcome)) == [
        "[PROGRESS] wave=1 task=task-001 status=completed commits=5"
    ]


SHAPE = re.compile(
    r"\[PROGRESS\] (wave=\d+ (task=\S+ status=(started|completed commits=\d+|failed error=\S+)"
    r"|status=started|status=(completed|failed) tasks=\d+/\d+( error=\S+)?)"
    r"|execution status=(completed|failed))"
)


@pytest.mark.parametrize("seed", range(60))
def test_every_task_and_wave_ends_once_in_words_that_scripts_know(seed: int) -> None:
    of, script = some_run(Random(seed))
    play = Play(begun(of, reopen=0), script, Random(seed))
    course = play.run(stop_after=seed if seed % 4 == 0 else None)
    pairs = zip(play.seen, play.seen[1:], strict=False)
    lines = [line for before, after in pairs for line in progresslines.progress(before, after)]
    assert [line for line in lines if not SHAPE.fullmatch(line)] == []
    for each in of.tasks:
        mine = [line for line in lines if f" task={each.short} " in line and "started" not in line]
        good = course.outcomes[each.id].status == "succeeded"
        assert ("completed" in mine[-1]) == good
        assert len(mine) == 1 or course.outcomes[each.id].reason == "conflict"
    for wave in of.waves:
        mine = [line for line in lines if line.startswith(f"[PROGRESS] wave={wave.number} status=")]
        assert len([line for line in mine if not line.endswith("started")]) == 1
        assert mine[:-1] in ([], [f"[PROGRESS] wave={wave.number} status=started"])
    whole = "completed" if status(course) == "completed" else "failed"
    assert lines[-1] == f"[PROGRESS] execution status={whole}"


def test_the_blocks() -> None:
    course = started(started(begun(OF), "task-001-users"), "task-002-shop")
    assert progresslines.started(course) == (
        "=== Parallel Execution Started ===\n\nWave 1:\n  task-001-users: RUNNING\n  task-002-shop: RUNNING\n"
    )
    done = Play(begun(OF), Script(), Random(1)).run()
    assert progresslines.complete(done) == (
        "=== Execution Complete ===\n\nResults:\n  Completed: 3/3 tasks\n  Failed: 0 tasks\n"
        f"\nNext step: prun-review integrate {OF.directory}\n"
    )


def test_the_block_at_the_end_counts_what_was_not_done() -> None:
    lost = Play(begun(OF), Script({"task-001-users": ["timeout"]}), Random(1)).run()
    assert progresslines.complete(lost).endswith(
        "  Completed: 1/3 tasks\n  Failed: 1 tasks\n  Skipped: 1 tasks\n"
    )
    left = Play(begun(OF), Script(validations={1: False}), Random(1)).run()
    assert progresslines.complete(left).endswith(
        "  Completed: 2/3 tasks\n  Failed: 0 tasks\n  Not run: 1 tasks\n"
    )
    assert "  task-003-orders: NOT RUN" not in progresslines.started(begun(OF))


def test_nothing_foreign_can_make_lines_or_fields() -> None:
    name = f"task-{HOSTILE}"
    course = begun(manifest(task(HOSTILE, 1)))
    after = finished(started(course, name), Outcome(name, "failed", f"a status=completed {HOSTILE}"))
    lines = progresslines.progress(started(course, name), after)
    assert len(lines) == 3
    assert all(SHAPE.fullmatch(line) for line in lines)
    assert "status=completed" not in "".join(lines)
    for text in (*lines, progresslines.started(course), progresslines.complete(after)):
        assert not is_active(text)
        assert "\x1b" not in text
    assert len(progresslines.started(course).splitlines()) == 4
