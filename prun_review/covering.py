"""Which files of a change somebody looked at, whose answer can be relied on.

Moving code to where no probe looks must not pass, and neither must a reviewer who skips a file among
many: a file is covered only where a valid answer names it, itself and no folder above it, among those
examined.  One that nobody covers makes the verdict INCOMPLETE, unless the policy ignores it or it is
accepted by a person already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from prun_review.answers import Answers, sound
from prun_review.authors import NOBODY, Authors
from prun_review.errors import BriefError
from prun_review.model import ChangedFile, Result, RunFacts, Unit
from prun_review.paths import normalise_path
from prun_review.patterns import matcher
from prun_review.verdict import some

_HIDDEN = {
    "binary": "nobody has seen its content",
    "lfs": "nobody has seen its content",
    "submodule": "nobody has seen its content",
    "withheld": "nobody has seen its content",
    "excluded": "left out of what is reviewed, so nobody has seen it",
    "masked": "only what is masked as a secret differs, so nobody has seen how",
}
UNREADABLE = tuple(_HIDDEN)
"""Kinds of which no reviewer has seen what changed, whoever was asked."""


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
    facts: RunFacts, units: Sequence[Unit], answers: Answers, authors: Authors = NOBODY
) -> tuple[Cover, ...]:
    """Every file of the change in its order; ``units`` are those whose answers count.

    What only who wrote it looked at, nobody looked at.
    """
    changed = {file.path for file in facts.change}
    if not changed:
        return ()
    ignored = ignores(facts.gate.uncovered)
    altering = frozenset(facts.alters_paths)
    findings = [u for u in units if u.brief.contract.kind == "findings"]
    holders: dict[str, list[Unit]] = {}
    whole: list[Unit] = []
    for unit in findings:
        for name in changed.intersection(unit.files):
            holders.setdefault(name, []).append(unit)
        if not unit.files and not unit.brief.reads and unit.brief.scope == "tree":
            whole.append(unit)
    named = {unit.id: _named(unit, answers.by_unit.get(unit.id)) for unit in findings}
    covers = []
    for file in facts.change:
        every = [u for u in (*holders.get(file.path, ()), *whole) if not _blind(u, file)]
        asked = [u for u in every if not authors.wrote(u.executor)]
        hidden = file.kind in UNREADABLE
        cases = [u.case for u in asked if file.path in (named[u.id] or ()) and not hidden]
        covers.append(
            Cover(
                file,
                tuple(dict.fromkeys(cases)),
                ignored(file),
                file.path in altering,
                "" if cases else _why(file, every, asked, [u for u in asked if named[u.id] is not None]),
            )
        )
    return tuple(covers)


def _named(unit: Unit, result: Result | None) -> frozenset[str] | None:
    """What an answer says was examined; None where there is none to rely on."""
    if result is None or result.answer is None or not sound(unit, result):
        return None
    said = result.answer.examined
    return frozenset((*said, *map(normalise_path, said)))


def _blind(unit: Unit, file: ChangedFile) -> bool:
    """Who reviews the head as it is cannot see what is no longer there."""
    return file.status == "deleted" and unit.brief.scope != "diff"


def _why(file: ChangedFile, every: Sequence[Unit], asked: Sequence[Unit], answered: Sequence[Unit]) -> str:
    """``asked`` are those of ``every`` unit about it that somebody else than its author was asked."""
    if file.kind in UNREADABLE:
        return f"{file.kind}: {_HIDDEN[file.kind]}" + (f" ({file.note})" if file.note else "")
    if answered:
        return f"no answer names it as examined; it was put to {some((u.id for u in answered), 1)}"
    if asked:
        return f"no answer to rely on; it was put to {some((u.id for u in asked), 1)}"
    if every:
        return f"only who wrote it was asked; it was put to {some((u.id for u in every), 1)}"
    return "no probe asked about it"


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
