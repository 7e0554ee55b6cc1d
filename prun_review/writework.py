"""The course of one attempt at a unit that writes code, around the dispatch itself.

A copy is opened before, and whatever became of the worker, what it left is taken afterwards and judged
against its answer; then the harness runs the commands of the brief on base and patch.  What was written is
kept for a person wherever it is not accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from prun_review.changecontract import against_checks, against_patch
from prun_review.completion import complete
from prun_review.course import ANSWERED
from prun_review.errors import PrunError
from prun_review.model import Result, Unit, Violation
from prun_review.ports import Copy, Workbench
from prun_review.tasks import SUCCEEDED
from prun_review.written import Breach, Patch

NO_COPIES = "this run makes no copies of the tree, so no code can be written in it"
"""Why a unit is refused where there is no workbench."""


def attempt(
    workbench: Workbench, unit: Unit, out: Path, ask: Callable[[Copy], Result], stop: Callable[[], str]
) -> Result:
    """The result of the attempt ``out``: ``ask`` dispatches it in the copy, and judges its answer alone.

    ``stop()`` says why to end early, or nothing.  ``PrunError`` where there is no copy to be had, and
    whatever ``ask`` raises.
    """
    copy = workbench.open(unit, out)
    try:
        result = _done(workbench, unit, copy, ask, stop)
        return result if result.status == "valid" else _with_kept(result, copy)
    except BaseException:
        with suppress(PrunError):  # the first error is the one to tell
            _keep_changed(copy, unit)
        raise
    finally:
        copy.close()


def _done(
    workbench: Workbench, unit: Unit, copy: Copy, ask: Callable[[Copy], Result], stop: Callable[[], str]
) -> Result:
    result = ask(copy)
    try:
        patch = copy.harvest(unit)
    except PrunError as error:
        return _unread(result, copy, error)
    prefixes = (str(copy.path),)
    result = replace(result, patch=patch, marker=copy.marker is not None)
    judged = judge(result, unit, copy.marker, prefixes)
    if judged.status != "valid" or not unit.brief.verify:
        return judged  # commands that nobody ran would pass: they run on an empty change too
    checks = workbench.check(patch, unit.brief.verify, stop)
    why = stop()
    if why and not all(check.ok for check in checks):  # nobody knows what they would have come to
        return replace(
            judged, status="failed", reason="cancelled", message=f"ended by us: {why}", checks=checks
        )
    return judge(replace(result, checks=checks), unit, copy.marker, prefixes)


def _unread(result: Result, copy: Copy, error: PrunError) -> Result:
    """The result where nobody can say what was written: no answer counts, the copy is all there is."""
    lost = f"what it wrote cannot be read: {error}"
    patch = Patch(copy.base, "", breaches=(Breach("unreadable", "", lost),))
    result = replace(result, patch=patch, message=_joined(result.message, lost))
    return replace(result, status="failed", reason=error.code) if result.status in ANSWERED else result


def judge(result: Result, unit: Unit, marker: str | None, prefixes: tuple[str, ...] = ()) -> Result:
    """The result with what its patch and its checks say of it; pure.

    ``prefixes`` are directories that a worker may put before a path.  A failed result stays failed.
    """
    if unit.brief.contract.kind == "task":
        return _task(result, unit, marker, prefixes)
    if result.status not in ANSWERED:
        return result
    patch = result.patch or Patch("", "")
    found = [*_breaches(patch)]
    claim = result.answer.claim if result.answer else None
    untold: list[Violation] = []
    if claim:
        lies, untold = against_patch(claim, patch, prefixes)
        found += [*lies, *against_checks(claim, result.checks)]
    failed = [check.command for check in result.checks if not check.ok]
    found += [Violation("verify", "", f"{command!r} failed") for command in failed]
    violations = (*result.violations, *found)
    reason = "breach" if patch.breaches else "verify" if failed else "contract"
    return replace(
        result,
        status="broken" if violations else "valid",
        reason=reason if violations else "ok",
        message=_told(violations),
        violations=violations,
        salvage=(*result.salvage, *untold),
    )


def _task(result: Result, unit: Unit, marker: str | None, prefixes: tuple[str, ...]) -> Result:
    """The same for a task: its contract is kept where it is done."""
    done = complete(result, marker, unit.brief.creates)
    if result.status not in ANSWERED:
        return replace(result, reason=done.reason, message=done.message)
    patch = result.patch or Patch("", "")
    claim = result.answer.claim if result.answer else None
    notes = [v for found in against_patch(claim, patch, prefixes) for v in found] if claim else []
    ok = done.status == SUCCEEDED
    against = () if ok else (*_breaches(patch), Violation(done.reason, "", done.message))
    return replace(
        result,
        status="valid" if ok else "broken",
        reason=done.reason,
        message=done.message,
        violations=(*result.violations, *against),
        salvage=(*result.salvage, *notes),
    )


def _breaches(patch: Patch) -> Iterator[Violation]:
    for breach in patch.breaches:
        yield Violation(breach.code, breach.path, breach.text)


def _told(violations: tuple[Violation, ...]) -> str:
    return "; ".join(map(str, violations[:3])) + (" ..." if len(violations) > 3 else "")


def _with_kept(result: Result, copy: Copy) -> Result:
    """The result of what is not accepted, with where its copy was left; an unchanged one is not left."""
    patch = result.patch
    if patch is None or (patch.empty and not patch.breaches and not patch.commits):
        return result
    place = copy.keep()
    return replace(
        result,
        patch=replace(patch, kept=place),
        message=_joined(result.message, f"what it wrote is kept in {place}"),
    )


def _keep_changed(copy: Copy, unit: Unit) -> None:
    """Leave a copy that holds work, or of which nobody can say."""
    holds = True
    try:
        patch = copy.harvest(unit)
        holds = not patch.empty or bool(patch.breaches or patch.commits)
    finally:
        if holds:
            copy.keep()


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))
