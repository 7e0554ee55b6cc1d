"""The contract kind ``change``: what a worker says of the code that it wrote.

None of it is proof.  What was changed is taken from its copy, and what passes is found out by commands
that the harness runs; here is only what must hold within the answer, and between the answer and these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from prun_review.contractparts import header_of, load_schema
from prun_review.model import Answer, Contract, Violation
from prun_review.paths import Names, candidates
from prun_review.written import Check, Claim, Patch

MOST_TOLD = 50
"""Files told one by one."""

_COUNTS = ("tests_run", "tests_passed", "tests_failed")


class ChangeKind:
    """What was done, in the worker's words."""

    kind = "change"

    def schema(self, contract: Contract) -> dict[str, Any] | None:
        """``schemas/change.json``."""
        return load_schema("change")

    def instructions(self, contract: Contract) -> str:
        """What each key means, and that it is compared with what was found."""
        return """\
`conclusion`, `files`, `open_items` and `verification` are one line each: the result; the files it is
about; what stays open or could not be done; what you did to check. Write `none` where there is nothing.
`completed` is true only if all that was asked for is done. `changed_files` lists every file that you
changed, created or deleted, by its path relative to the working directory. `tests_run`, `tests_passed` and
`tests_failed` are the numbers of tests that you ran yourself, or null. `summary` says what you changed and
why. All of it is compared with what is found in your copy: an honest `false` is worth more than a claim."""

    def check(self, payload: Any, contract: Contract) -> list[Violation]:
        """It is said to be complete, and the numbers do not speak against that or each other."""
        found = []
        if payload["completed"] is False:
            found.append(
                Violation("says-incomplete", "/completed", "the worker says that the work is not done")
            )
        run, passed, failed = (payload[name] for name in _COUNTS)
        for name in _COUNTS:
            if payload[name] is not None and payload[name] < 0:
                found.append(Violation("tests", f"/{name}", f"{payload[name]} tests"))
        if payload["completed"] and failed:
            text = f"said to be complete, beside {failed} failed tests"
            found.append(Violation("contradicted", "/tests_failed", text))
        if run is not None and (passed or 0) + (failed or 0) > run:
            text = f"{passed or 0} passed and {failed or 0} failed of {run} that were run"
            found.append(Violation("tests", "/tests_run", text))
        return found

    def answer(self, payload: Any, contract: Contract) -> Answer:
        """The claim as a record."""
        run, passed, failed = (payload[name] for name in _COUNTS)
        claim = Claim(
            completed=payload["completed"],
            files=tuple(payload["changed_files"]),
            tests_run=run,
            tests_passed=passed,
            tests_failed=failed,
            summary=payload["summary"],
        )
        return Answer(header_of(payload), claim=claim)


def against_patch(
    claim: Claim, patch: Patch, prefixes: Sequence[str] = ()
) -> tuple[list[Violation], list[Violation]]:
    """What of a claim the patch contradicts, and (second) files of the patch that the claim leaves out.

    ``prefixes`` are the directories that a worker may put before a path.  A folder stands for what was
    changed below it.  Where nothing at all was changed that is the one violation ``nothing-written``.
    """
    said = [path for path in dict.fromkeys(claim.files) if path.strip()]
    if said and patch.empty:
        text = (
            f"{len(said)} {'file is' if len(said) == 1 else 'files are'} said to be changed, and nothing was"
        )
        return [Violation("nothing-written", "", text)], []
    names = Names(patch.paths)
    lacking: list[str] = []
    told: set[str] = set()
    for path in said:
        meant = _meant(path, names, prefixes)
        told |= meant
        lacking += [] if meant else [path]
    untold = [file.path for file in patch.files if told.isdisjoint(file.paths)]
    return (
        list(_each("claimed-not-touched", lacking, "is said to be changed, and is as it was")),
        list(_each("untold-file", untold, "was changed, and the answer does not say so")),
    )


def _meant(path: str, names: Names, prefixes: Sequence[str]) -> set[str]:
    """The names of a patch that a worker's path means."""
    for candidate in candidates(path, prefixes=prefixes, names=names):
        found = {n for n in names.exact if n == candidate or n.startswith(f"{candidate.rstrip('/')}/")}
        if found:
            return found
    return set()


def against_checks(claim: Claim, checks: Sequence[Check]) -> Iterator[Violation]:
    """``contradicted`` where the worker says that its tests passed, and what the harness ran failed."""
    failed = [check.command for check in checks if not check.ok]
    if failed and says_passed(claim):
        text = f"the worker says that its tests passed, and {failed[0]!r} failed"
        yield Violation("contradicted", "", text)


def says_passed(claim: Claim) -> bool:
    """Whether a worker says that something was tested, and nothing failed."""
    if claim.validation_passed is not None:
        return claim.validation_passed
    return bool(claim.tests_passed) and not claim.tests_failed


def _each(code: str, paths: Sequence[str], text: str) -> Iterator[Violation]:
    for path in paths[:MOST_TOLD]:
        yield Violation(code, "", f"{path[:300]} {text}")
    if len(paths) > MOST_TOLD:
        yield Violation(code, "", f"{len(paths) - MOST_TOLD} more files: each {text}")
