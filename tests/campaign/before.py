"""The model of what was known before a run: acceptances, baselines, and blockers of an earlier run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
    usable = [e for e in entries if e.finding and e.finding.severity in ORDER]
    doubtful = [d for d in found if d.kind == "uncertain"]
    settled_ones = {id(d) for d in doubtful if _both_known(d, usable, found, oracle)}
    for entry in usable:
        wordings = _wordings(entry)
        here = [d for d in found if d.case == entry.case and d.kind != "uncertain"]
        same = [d for d in here if rank(d.severity) <= rank(wordings[0].severity)]
        sure = [d for d in same if _is_entry(d, [d.lead], wordings)]
        perhaps = [d for d in same if d not in sure and _is_entry(d, d.findings, wordings)]
        rivals = [d for d in here if d not in same and _is_entry(d, d.findings, wordings)]
        rivals += [d for d in doubtful if d.case == entry.case and _is_entry(d, d.findings, wordings)]
        if sure and rivals:
            sure = oracle.either("one entry, and a defect that is worse or in doubt", [sure, []])
        several = _some_of(sure) if len(sure) > 1 else [sure]
        sure = oracle.either("one entry and several defects", several)
        sure += oracle.either("an entry in the words of another holder", [[], *_some_of(perhaps)])
        settled_ones |= {id(d) for d in sure}
    return settled_ones


def _wordings(entry: Acceptance | Known) -> tuple[Finding, ...]:
    return (entry.finding, *entry.also) if entry.finding else ()


def _both_known(
    defect: Defect, entries: Sequence[Acceptance | Known], found: Sequence[Defect], oracle: Oracle
) -> bool:
    """Of a defect that may be two, both must have been known, each as severe as it is now: what is new in it
    must not hide behind what is not."""
    stored = [
        (w, rank(_wordings(e)[0].severity)) for e in entries if e.case == defect.case for w in _wordings(e)
    ]
    if not all(any(_again(w, f) and most >= rank(f.severity) for w, most in stored) for f in defect.findings):
        return False
    worded = all(any(plain(w) == plain(f) for w, _ in stored) for f in defect.findings)
    topics = {said(f) for f in defect.findings}
    rivals = [
        d
        for d in found
        if d is not defect and d.case == defect.case and topics & {said(f) for f in d.findings}
    ]
    if worded and not rivals:
        return True
    return oracle.either("what may be two is known in other words, or is told apart too", (True, False))


def _some_of(defects_: Sequence[Defect]) -> list[list[Defect]]:
    """Every choice of at least one."""
    bits = range(1, 2 ** len(defects_))
    return [[d for n, d in enumerate(defects_) if some >> n & 1] for some in bits]


def _is_entry(defect: Defect, spoken: Sequence[Finding], wordings: Sequence[Finding]) -> bool:
    """Whether one of these findings of a defect is among the wordings that were stored.

    What the tree does not hold is known by its very words only.
    """
    if defect.kind == "ungrounded":
        return any(plain(f) == plain(w) for f in spoken for w in wordings)
    return any(_again(w, f) for f in spoken for w in wordings)


def _again(then: Finding, now: Finding) -> bool:
    """Whether a finding of another time is this one: by what it says of the same code; what names no code is
    known by its very words only."""
    return plain(then) == plain(now) or (said(then) == said(now) and now.file is not None)


def carried(
    run: Run, blocking: Sequence[tuple[Defect, str]], found: Sequence[Defect]
) -> list[tuple[str, str]]:
    """Blockers of an earlier run on the same head that nothing of this run takes the place of."""
    left = []
    for one in run.facts.carried:
        several = one.kind == "uncertain" or len({f.quote for f in one.members if f.quote}) > 1
        parts = [replace(one, members=(f,), severity=f.severity) for f in one.members] if several else [one]
        if not all(_over(part, run, blocking, found) for part in parts):
            left.append((one.outcome, one.folder))
    return left


def _over(one: Carried, run: Run, blocking: Sequence[tuple[Defect, str]], found: Sequence[Defect]) -> bool:
    """Whether something as hard takes its place, a person answers for it, or it was refuted as severe."""

    def is_it(defect: Defect) -> bool:
        return any(_again(then, now) for then in one.members for now in defect.findings)

    if any(
        is_it(d) and d.kind != "ungrounded" and (outcome == "FAIL" or one.outcome == "INCOMPLETE")
        for d, outcome in blocking
    ):
        return True
    if any(_answers_for(a, one) for a in run.facts.acceptances):
        return True
    nobody = one.outcome == "INCOMPLETE" and one.kind in ("single", "uncertain", "contested")
    if not nobody or one.examined not in ("", "unresolved") or one.severity not in ORDER[:-1]:
        return False
    return any(is_it(d) and d.examined == "refuted" and rank(d.severity) >= rank(one.severity) for d in found)


def _answers_for(a: Acceptance, one: Carried) -> bool:
    """Whether somebody still answers for a blocker of an earlier run, as severe as it was."""
    if a.kind != "finding" or a.expired or a.finding is None or a.case != one.case:
        return False
    if a.finding.severity not in ORDER or rank(a.finding.severity) < rank(one.severity):
        return False
    same = (lambda w, f: plain(w) == plain(f)) if one.kind == "ungrounded" else _again
    return any(same(w, f) for w in _wordings(a) for f in one.members)
