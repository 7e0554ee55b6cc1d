"""A wave run told as a session of pytest tells things: a verdict with reasons, a page for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prun_review import wavedocument
from prun_review.model import Reason, Verdict
from prun_review.tasks import FAILED as BAD
from prun_review.tasks import SUCCEEDED, Course
from prun_review.verdict import number
from prun_review.waves import NOT_SELECTED
from prun_review.wavestatus import COMPLETED, FAILED, status

PASS, FAIL, INCOMPLETE = "PASS", "FAIL", "INCOMPLETE"


def verdict_of(course: Course, unreported: Sequence[str], *, moved: bool, failed: int) -> Verdict:
    """PASS only where the run is completed, nothing of the user's repository changed, and pytest spoke of
    every task and failed none; FAIL where something did not succeed, INCOMPLETE where it is missing."""
    word = status(course)
    reasons = []
    if word != COMPLETED:
        bad = word == FAILED and not _for_want_of_tasks(course)
        reasons.append(Reason(f"waves-{word}", _counted(course), FAIL if bad else INCOMPLETE))
    if moved:
        reasons.append(Reason("repository-changed", "the repository changed during the run"))
    if failed:
        reasons.append(Reason("items-failed", f"{number(failed, 'item')} failed", FAIL))
    if unreported:
        reasons.append(Reason("unreported", f"no report spoke of {unreported[0]}"))
    outcomes = {reason.outcome for reason in reasons}
    outcome = FAIL if FAIL in outcomes else INCOMPLETE if outcomes else PASS
    told = "; ".join(reason.text for reason in reasons)
    return Verdict(outcome, tuple(reasons), line=f"{outcome} ({told})" if told else outcome)


def _counted(course: Course) -> str:
    held = course.outcomes.values()
    good = [o for o in held if o.status == SUCCEEDED]
    loose = sum(not o.commit for o in good)
    left = sum(o.reason == NOT_SELECTED for o in held)
    return "".join(
        (
            f"{len(good)} of {number(len(held), 'task')} succeeded",
            f", {loose} of them not put together yet" if loose else "",
            f", {left} not selected" if left else "",
            f": {course.stopped}" if course.stopped else "",
        )
    )


def _for_want_of_tasks(course: Course) -> bool:
    """Whether all that failed is the validation of what lacks tasks that nobody selected: that says nothing
    of those that were done."""
    left = [t.wave for t in course.manifest.tasks if course.outcomes[t.id].reason == NOT_SELECTED]
    failed = [wave for wave in course.waves.values() if wave.status == BAD]
    if not left or not failed or any(o.status == BAD for o in course.outcomes.values()):
        return False
    return all(wave.reason == "validation" and min(left) <= wave.number for wave in failed)


def text_of(document: Mapping[str, Any], width: int = 100) -> str:
    """The page for the terminal."""
    from prun_review.renderers import waveterminal

    return waveterminal.render(wavedocument.read(document)[0], width)
