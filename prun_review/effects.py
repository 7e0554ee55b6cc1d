"""What a ruling does to a finding: who examined it counts as one who holds it, or as one who does not.  Pure.

Independence is looked at here again, whatever was asked: an examiner that shares vendor or lineage with a
holder adds nothing to what it holds.  And nobody takes back alone what it holds itself: who has the finding
in the group, or one that may be or was said not to be the same, needs somebody else who refutes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from prun_review.folding import highest, level
from prun_review.groups import Group
from prun_review.independence import independent_among, known, rule_dependence
from prun_review.model import SEVERITIES, ExecutorInfo, Finding
from prun_review.payload import one_line
from prun_review.ruled import proven
from prun_review.rulings import Ruling, Rulings

CONTEST = 2
"""Severities that lie this many steps apart are a disagreement, not a shade."""

_ANY = Finding("")
"""What an examiner holds by itself: no rule of anybody."""
_SAID = 160
"""Characters of an argument in the reason of a group; the whole stands with the ruling."""


def agreed_word(one: str, other: str) -> str:
    """The severity on which two that hold one thing agree, the higher; empty where they do not."""
    near = abs(level(one) - level(other)) < CONTEST and max(level(one), level(other)) < len(SEVERITIES)
    return highest((one, other)) if near else ""


def of_pair(ruling: Ruling, executors: Mapping[str, ExecutorInfo]) -> str:
    """``match`` or ``distinct`` where two independent examiners prove it; else ``unresolved``."""
    for outcome, word in (("match", "yes"), ("distinct", "no")):
        names = [name for name, said in ruling.opinions if said.word == word and proven(said)]
        if ruling.outcome == outcome and independent_among(names, executors):
            return outcome
    return "unresolved"


def examined(
    group: Group,
    rulings: Rulings,
    executors: Mapping[str, ExecutorInfo],
    twins: Collection[str] = (),
) -> Group:
    """The group with all that was ruled about it, and in the class that follows from that.

    ``twins`` are the executors with a finding that was ever in doubt to be the group's.  Nothing is ruled
    about what stands alone because the tree does not hold it.
    """
    ids = [m.finding.id for m in group.members]
    about = [*_pairs(ids, rulings), *(rulings.claims[i] for i in dict.fromkeys(ids) if i in rulings.claims)]
    if not about or group.kind == "ungrounded":
        return group
    claims = [r for r in about if r.question.kind == "claim"]
    group = replace(group, rulings=tuple(about))
    for ruling in claims:
        if ruling.outcome == "confirmed":
            group = _confirmed(group, ruling, executors)
    if group.examined:
        return group
    refuting = [r for r in claims if r.outcome == "refuted" and _against(group, r, executors, twins)]
    if refuting and group.kind in ("single", "contested"):
        return _refuted(group, refuting[0])
    if claims or (group.kind == "uncertain" and any(of_pair(r, executors) == "unresolved" for r in about)):
        return replace(group, examined="unresolved")
    return group


def _pairs(ids: Sequence[str], rulings: Rulings) -> Iterator[Ruling]:
    held = set(ids)
    return (ruling for ends, ruling in rulings.same.items() if ends & held)


def _confirmed(group: Group, ruling: Ruling, executors: Mapping[str, ExecutorInfo]) -> Group:
    """As if those who confirm it held it, each with its own severity."""
    given: list[tuple[str, str]] = []
    agreed = [group.agreed] if group.agreed else []
    for name, said in ruling.opinions:
        if said.word != "confirm" or not proven(said):
            continue
        mine = said.severity or ruling.question.severity
        held = [m for m in group.members if _free(name, m.executor, m.finding, executors)]
        if held:
            given.append((name, mine))
            # what an executor holds is as severe as the most severe of what it said
            words = (_held(group, m.executor) for m in held)
            agreed += filter(None, (agreed_word(word, mine) for word in words))
    if not given:
        return group
    severity = highest((group.severity, *(word for _, word in given)))
    best = highest(agreed) if agreed else ""
    holders = " and ".join(f"{name} as {_held(group, name)}" for name in group.executors)
    told = f"held by {holders}, confirmed by {' and '.join(f'{name} as {word}' for name, word in given)}"
    kind = "consensus" if best == severity else "contested"
    reason = told if kind == "consensus" else f"held differently: {told}"
    return replace(group, kind=kind, severity=severity, agreed=best, examined="confirmed", reason=reason)


def _held(group: Group, executor: str) -> str:
    return highest(m.finding.severity for m in group.members if m.executor == executor)


def _against(
    group: Group, ruling: Ruling, executors: Mapping[str, ExecutorInfo], twins: Collection[str]
) -> bool:
    """Whether somebody independent of all who hold it most severely refutes it, without a part in it or in
    what is reviewed, having been told all that the group holds."""
    own = {*group.executors, *twins, *ruling.authors}
    names = [n for n, said in ruling.opinions if said.word == "refute" and proven(said) and n not in own]
    heads = [m for m in group.members if m.finding.severity == group.severity]
    return _all_told(group, ruling) and any(
        all(_free(n, m.executor, m.finding, executors) for m in heads) for n in names
    )


def _all_told(group: Group, ruling: Ruling) -> bool:
    """Whether the question told every finding of the group: two that were taken for one, in an answer, in
    its repeats or of two executors, are refuted together or not at all."""
    return {m.finding.id for m in group.members} <= {ruling.question.left, *ruling.told}


def _refuted(group: Group, ruling: Ruling) -> Group:
    said = [(n, o) for n, o in ruling.opinions if o.word == "refute" and proven(o)]
    told = "; ".join(f"{name} refutes it: {_cut(opinion.reason)}" for name, opinion in said)
    reason = f"held by {' and '.join(group.executors)}; {told}"
    return replace(group, kind="contested", examined="refuted", reason=reason)


def _free(examiner: str, holder: str, finding: Finding, executors: Mapping[str, ExecutorInfo]) -> bool:
    return not rule_dependence(finding, _ANY, known(holder, executors), known(examiner, executors))


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _SAID else f"{line[:_SAID]}..."
