"""The verdict on a run of waves as pytest is told it."""

from __future__ import annotations

from random import Random

import pytest

from prun_review.tasks import Course
from prun_review.waveverdict import verdict_of
from tests.waves.coursekit import Play, Script, begun, manifest, task

OF = manifest(task("001", 1), task("002", 1), task("003", 2), validation={1: "make one", 2: "make two"})


def play(course: Course, script: Script, stop_after: int | None = None) -> Course:
    return Play(course, script, Random(1), jobs=1).run(stop_after)


@pytest.mark.parametrize(
    ("only", "script", "stop_after", "line"),
    [
        (None, Script(), None, "PASS"),
        (None, Script(ends={"task-002": ["verify"]}), None, "FAIL (2 of 3 tasks succeeded)"),
        (None, Script(validations={1: False}), None, "FAIL (2 of 3 tasks succeeded)"),
        (
            None,
            Script(),
            2,
            "INCOMPLETE (1 of 3 tasks succeeded, 1 of them not put together yet: interrupted)",
        ),
        (["task-001"], Script(), None, "INCOMPLETE (1 of 3 tasks succeeded, 2 not selected)"),
        # What lacks tasks that nobody selected says nothing of those that were done.
        (
            ["task-001", "task-003"],
            Script(validations={1: False}),
            None,
            "INCOMPLETE (1 of 3 tasks succeeded, 1 not selected)",
        ),
        (
            ["task-001", "task-003"],
            Script(validations={2: False}),
            None,
            "INCOMPLETE (2 of 3 tasks succeeded, 1 not selected)",
        ),
        (
            ["task-001", "task-002"],
            Script(validations={1: False}),
            None,
            "FAIL (2 of 3 tasks succeeded, 1 not selected)",
        ),
        (
            ["task-001", "task-003"],
            Script(ends={"task-003": ["verify"]}, validations={2: False}),
            None,
            "FAIL (1 of 3 tasks succeeded, 1 not selected)",
        ),
    ],
)
def test_it_counts_what_was_done_and_blames_nobody_for_what_was_left_out(
    only: list[str] | None, script: Script, stop_after: int | None, line: str
) -> None:
    course = play(begun(OF, only=only), script, stop_after)
    assert verdict_of(course, (), moved=False, failed=0).line == line
    assert verdict_of(course, ["x"], moved=False, failed=0).outcome != "PASS"
    assert verdict_of(course, (), moved=True, failed=0).outcome != "PASS"
    assert verdict_of(course, (), moved=False, failed=1).outcome == "FAIL"
