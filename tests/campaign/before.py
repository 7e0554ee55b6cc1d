"""The model of what was known before a run: acceptances, baselines, and blockers of an earlier run."""

from __future__ import annotations

from collections.abc import Sequence

from prun_review.model import Acceptance, Carried, Finding, Known, RunFacts
from tests.campaign.holders import Defect
from tests.campaign.oracle import Oracle
from tests.campaign.phrases import plain, said
from tests.campaign.runs import Run
from tests.campaign.whose import ORDER, rank


def settled(facts: RunFacts, found: Sequence[Defect], oracle: Oracle) -> tuple[set[int], set[int]]:
    """Which defects somebody answers for, and which the baseline holds."""
    held = [a for a in facts.acceptances if a.kind == "finding" and not a.expired and a.finding]
    return _matched(held, found, oracle), _matched(facts.known, found, oracle)


def _matched(entries: Sequence[Acceptance | Known], found: Sequence[Defect], oracle: Oracle) -> set[int]:
    """An entry is for a defect of its case in the same words, and never for a more severe one."""
    settled_ones: set[int] = set()
    for entry in entries:
        assert entry.finding is not None
        if entry.finding.severity not in ORDER:
            continue
        wordings = (entry.finding, *entry.also)
        same = [d for d in found if d.case == entry.case and rank(d.severity) <= rank(entry.finding.severity)]
        sure = [d for d in same if _is_entry(d, [d.lead], wordings)]
        perhaps = [d for d in same if d not in sure and _is_entry(d, d.findings, wordings)]
        worse = [
            d for d in found if d.case == entry.case and d not in same and _is_entry(d, d.findings, wordings)
        ]
        if sure and worse:
            sure = oracle.either("one entry, and a defect that is worse than it", [sure, []])
        several = _some_of(sure) if len(sure) > 1 else [sure]
        sure = oracle.either("one entry and several defects", several)
        sure += oracle.either("an entry in the words of another holder", [[], *_some_of(perhaps)])
        settled_ones |= {id(d) for d in sure}
    return settled_ones


def _some_of(defects_: Sequence[Defect]) -> list[list[Defect]]:
    """Every choice of at least one."""
    bits = range(1, 2 ** len(defects_))
    return [[d for n, d in enumerate(defects_) if some >> n & 1] for some in bits]


def _is_entry(defect: Defect, spoken: Sequence[Finding], wordings: Sequence[Finding]) -> bool:
    """Whether these findings of a defect are among the wordings that were stored.

    What the tree does not hold is known by its very words only.  Of a defect that may be two, both must have
    been known: what is new in it must not hide behind what is not.
    """
    stored = [said(f) for f in wordings]
    if defect.kind == "ungrounded":
        return any(plain(f) == plain(w) for f in spoken for w in wordings)
    if defect.kind == "uncertain":
        return all(said(f) in stored for f in defect.findings)
    return any(said(f) in stored for f in spoken)


def carried(
    run: Run, blocking: Sequence[tuple[Defect, str]], found: Sequence[Defect]
) -> list[tuple[str, str]]:
    """Blockers of an earlier run on the same head that nothing of this run takes the place of."""
    left = []
    for one in run.facts.carried:
        again = [said(f) for f in one.members]

        def is_it(defect: Defect, again: list[tuple[str, str]] = again) -> bool:
            return any(said(f) in again for f in defect.findings)

        if any(
            is_it(d) and d.kind != "ungrounded" and (outcome == "FAIL" or one.outcome == "INCOMPLETE")
            for d, outcome in blocking
        ):
            continue
        if any(_answers_for(a, one) for a in run.facts.acceptances):
            continue
        nobody = one.outcome == "INCOMPLETE" and one.kind in ("single", "uncertain", "contested")
        ruled = any(is_it(d) and d.examined in ("confirmed", "refuted") for d in found)
        if ruled and nobody and one.examined in ("", "unresolved"):
            continue
        left.append((one.outcome, one.folder))
    return left


def _answers_for(a: Acceptance, one: Carried) -> bool:
    """Whether somebody still answers for a blocker of an earlier run, as severe as it was."""
    if a.kind != "finding" or a.expired or a.finding is None or a.case != one.case:
        return False
    if a.finding.severity not in ORDER or rank(a.finding.severity) < rank(one.severity):
        return False
    same = plain if one.kind == "ungrounded" else said
    return any(same(a.finding) == same(f) for f in one.members)
