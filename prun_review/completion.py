"""Whether a task is done: exit, marker, the worker's own block, its change, and what we ran on it.  Pure.

No single one of these is believed.  An exit without the marker is half a task, a marker before a crash
is a lie or a race, and a block is only words; what speaks against a task wins, in the order of
:data:`RULES`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prun_review.changecontract import says_passed
from prun_review.model import Result
from prun_review.patterns import matcher
from prun_review.taskblock import MARKER
from prun_review.tasks import FAILED, SUCCEEDED
from prun_review.written import Claim, Patch

RULES = (
    *("breach", "no-marker", "says-incomplete", "contradicted"),
    *("nothing-written", "nothing-created", "verify"),
)
"""Reasons for which a task that ended by itself is not done, the first that holds before the others."""

MOST_TOLD = 3
"""Breaches and commands named in a message."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What became of a task."""

    status: str
    """``succeeded`` or ``failed``."""
    reason: str
    """``ok``, one of :data:`RULES`, or the reason of a worker that did not end well (``timeout``...)."""
    message: str = ""


def complete(result: Result, marker: str | None, creates: Sequence[str] = ()) -> Completion:
    """Whether the task is done whose worker ended with ``result``.

    ``marker`` is what :data:`~prun_review.taskblock.MARKER` held, None where there was none; ``creates`` are
    the patterns of files that the task must make.  A message names all that speaks against it.
    """
    if result.status not in ("valid", "broken"):
        late = "" if marker is None else f"exit-after-marker: {MARKER} was there, and it did not end well"
        reason = result.reason if result.reason != "ok" else "no-answer"
        return Completion(FAILED, reason, "; ".join(filter(None, (result.message, late))))
    if result.answer is None:
        return Completion(FAILED, result.reason, result.message)
    against = list(_against(result, marker, creates))
    if not against:
        return Completion(SUCCEEDED, "ok", result.message)
    reason = min((code for code, _ in against), key=RULES.index)
    first = [text for code, text in against if code == reason]
    others = [f"{code}: {text}" for code, text in against if code != reason]
    return Completion(FAILED, reason, "; ".join([*first, *others]))


def _against(result: Result, marker: str | None, creates: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Reason and words of all that speaks against a task whose worker ended by itself."""
    claim = (result.answer and result.answer.claim) or None
    patch = result.patch or Patch("", "")
    if patch.breaches:
        told = ", ".join(f"{b.code} {b.path}".strip() for b in patch.breaches[:MOST_TOLD])
        more = len(patch.breaches) - MOST_TOLD
        yield "breach", told + (f" and {more} more" if more > 0 else "")
    if marker is None:
        yield "no-marker", f"it ended without {MARKER}"
    if claim and (claim.completed is False or claim.error):
        why = claim.error[:300] or "task_completed is false"
        yield "says-incomplete", f"its own block says that it is not done: {why}"
    elif claim and (claim.tests_failed or claim.validation_passed is False):
        what = (
            f"{claim.tests_failed} failed tests" if claim.tests_failed else "a validation that did not pass"
        )
        yield "contradicted", f"its own block says that it is done, beside {what}"
    yield from _unwritten(patch, claim, creates)
    failed = [check.command for check in result.checks if not check.ok]
    if failed:
        text = f"{', '.join(map(repr, failed[:MOST_TOLD]))} failed"
        lie = "; contradicted: its own block says that its tests passed"
        yield "verify", text + (lie if claim and says_passed(claim) else "")


def _unwritten(patch: Patch, claim: Claim | None, creates: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What should be there and is not."""
    wanted = ", ".join(creates[:MOST_TOLD])
    if patch.empty:
        if creates:
            yield "nothing-written", f"nothing was changed, and {wanted} was to be created"
        elif claim and claim.files:
            yield "nothing-written", f"nothing was changed, and {claim.files[0]} is said to be"
        return
    matches = matcher(creates)
    if creates and not any(matches(file.path) for file in patch.files if file.status != "deleted"):
        yield "nothing-created", f"no file that matches {wanted} was written"
