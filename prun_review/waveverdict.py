"""A wave run told as a session of pytest tells things: a verdict with reasons, a page for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prun_review import wavedocument
from prun_review.model import Reason, Verdict
from prun_review.tasks import SUCCEEDED, Course
from prun_review.verdict import number
from prun_review.wavestatus import COMPLETED, FAILED, status

PASS, FAIL, INCOMPLETE = "PASS", "FAIL", "INCOMPLETE"


def verdict_of(course: Course, unreported: Sequence[str], *, moved: bool, failed: int) -> Verdict:
    """PASS only where the run is completed, nothing of the user's repository changed, and pytest spoke of
    every task and failed none; FAIL where something did not succeed, INCOMPLETE where it is missing."""
    word = status(course)
    reasons = []
    if word != COMPLETED:
        good = sum(o.status == SUCCEEDED and bool(o.commit) for o in course.outcomes.values())
        text = f"{good} of {number(len(course.outcomes), 'task')} succeeded"
        why = f": {course.stopped}" if course.stopped else ""
        reasons.append(Reason(f"waves-{word}", text + why, FAIL if word == FAILED else INCOMPLETE))
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


def text_of(document: Mapping[str, Any], width: int = 100) -> str:
    """The page for the terminal."""
    from prun_review.renderers import waveterminal

    return waveterminal.render(wavedocument.read(document)[0], width)
