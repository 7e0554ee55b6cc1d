"""Which files of a change somebody looked at, whose answer can be relied on.

Moving code to where no probe looks must not pass, so a changed file that nobody covers is named and
makes the verdict INCOMPLETE, unless the policy ignores it or it is accepted by a person already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from prun_review.answers import Answers, sound
from prun_review.errors import BriefError
from prun_review.independence import known
from prun_review.model import ChangedFile, ExecutorInfo, Result, RunFacts, Unit
from prun_review.paths import normalise_path
from prun_review.patterns import matcher

UNREADABLE = ("binary", "lfs", "submodule", "withheld")
"""Kinds whose content no reviewer has seen, whoever was asked."""


@dataclass(frozen=True, slots=True)
class Cover:
    """One changed file, and who looked at it."""

    file: ChangedFile
    cases: tuple[str, ...] = ()
    """Cases with an answer to rely on that covers it."""
    ignored: bool = False
    """The policy says that no probe needs to look at it."""
    altering: bool = False
    """It changes the review itself, which a person accepts or not."""
    why: str = ""
    """Why nobody covers it; empty where somebody does."""

    @property
    def missing(self) -> bool:
        """Nobody covers it, and nobody said that this is well."""
        return not (self.cases or self.ignored or self.altering)


def cover(
    facts: RunFacts, units: Sequence[Unit], answers: Answers, executors: Mapping[str, ExecutorInfo]
) -> tuple[Cover, ...]:
    """Every file of the change in its order; ``units`` are those whose answers count."""
    changed = {file.path for file in facts.change}
    if not changed:
        return ()
    ignored = ignores(facts.gate.uncovered)
    altering = frozenset(facts.alters)
    findings = [u for u in units if u.brief.contract.kind == "findings"]
    holders: dict[str, list[Unit]] = {}
    whole: list[Unit] = []
    for unit in findings:
        for name in changed.intersection(unit.files):
            holders.setdefault(name, []).append(unit)
        if not unit.files and not unit.brief.reads and unit.brief.scope == "tree":
            whole.append(unit)
    looked = {
        unit.id: _looked(unit, answers.by_unit.get(unit.id), known(unit.executor, executors).paid)
        for unit in findings
    }
    covers = []
    for file in facts.change:
        asked = [u for u in (*holders.get(file.path, ()), *whole) if not _blind(u, file)]
        cases = [u.case for u in asked if (seen := looked[u.id]) is None or file.path in seen]
        covers.append(
            Cover(
                file,
                () if file.kind in UNREADABLE else tuple(dict.fromkeys(cases)),
                ignored(file),
                file.path in altering,
                _why(file, bool(asked), bool(cases)),
            )
        )
    return tuple(covers)


def _looked(unit: Unit, result: Result | None, paid: bool) -> frozenset[str] | None:
    """The files that an answer accounts for; None for all that its unit holds.

    Coverage of an agent's own unit was judged with its answer; an analyser says what it went through.
    """
    if result is None or result.answer is None or not sound(unit, result):
        return frozenset()
    return None if paid else frozenset(map(normalise_path, result.answer.examined))


def _blind(unit: Unit, file: ChangedFile) -> bool:
    """Who reviews the head as it is cannot see what is no longer there."""
    return file.status == "deleted" and unit.brief.scope != "diff"


def _why(file: ChangedFile, asked: bool, covered: bool) -> str:
    if file.kind in UNREADABLE:
        return f"{file.kind}: nobody has seen its content"
    if covered:
        return ""
    return "no answer to rely on" if asked else "no probe asked about it"


def ignores(patterns: Iterable[str]) -> Callable[[ChangedFile], bool]:
    """Whether the policy names a file, under both its names: what was moved to where nobody looks was
    looked at before.  A pattern that cannot be understood ignores nothing."""
    tests = []
    for pattern in patterns:
        with suppress(BriefError):
            tests.append(matcher([pattern]))

    def ignored(file: ChangedFile) -> bool:
        names = {file.path, file.old_path} - {""}
        return all(any(test(name) for test in tests) for name in names)

    return ignored
