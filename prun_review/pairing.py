"""Which findings of two executors are alike, and what examiners said of those in doubt.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from prun_review import effects
from prun_review.folding import Held, Same
from prun_review.groups import CrossPair
from prun_review.independence import dependence, rule_dependence
from prun_review.matching import crosscheck
from prun_review.model import ExecutorInfo, Finding
from prun_review.rulings import Rulings


@dataclass(frozen=True, slots=True)
class Edge:
    """Two held findings by their place in the pool, and how alike they are."""

    left: int
    right: int
    outcome: str
    score: float
    reason: str
    dependence: str
    settled: bool = False
    """Both examiners said that it is one defect."""


def compare(
    pool: Sequence[Held],
    left: Sequence[int],
    right: Sequence[int],
    infos: tuple[ExecutorInfo, ExecutorInfo],
    same: Same | None,
) -> list[Edge]:
    """The edges between what two executors hold.

    Independent findings are paired first, dependent ones among what is left: a borrowed rule must
    not take the partner away from a finding that could corroborate.
    """

    def dependent(i: int, j: int) -> str:
        return rule_dependence(pool[i].first, pool[j].first, *infos)

    def run(lefts: Sequence[int], rights: Sequence[int], wanted: bool | None) -> list[Edge]:
        def judge(a: Finding, b: Finding) -> bool | None:
            if bool(rule_dependence(a, b, *infos)) is not wanted:
                return False
            return same(a, b) if same else None

        pairs = crosscheck(
            [replace(pool[i].first, severity=pool[i].severity) for i in lefts],
            [replace(pool[j].first, severity=pool[j].severity) for j in rights],
            same=same if wanted is None else judge,
        )
        return [
            Edge(
                lefts[p.left],
                rights[p.right],
                p.outcome,
                p.score,
                p.reason,
                dependent(lefts[p.left], rights[p.right]),
            )
            for p in pairs
            if p.outcome != "alone" and p.left is not None and p.right is not None
        ]

    if dependence(*infos) or not any(pool[i].first.lineage for i in (*left, *right)):
        return run(left, right, None)
    edges = run(left, right, False)
    taken = {n for e in edges if e.outcome == "match" for n in (e.left, e.right)}
    rest = run([i for i in left if i not in taken], [j for j in right if j not in taken], True)
    return edges + rest


def settle(
    pool: Sequence[Held],
    edges: Sequence[Edge],
    rulings: Rulings,
    executors: Mapping[str, ExecutorInfo],
) -> tuple[list[Edge], dict[int, str]]:
    """The edges as the rulings leave them, and of the places that lost one why.

    Only what may be the same was ever in question: a match of words stays one.
    """
    kept: list[Edge] = []
    lost: dict[int, str] = {}
    for edge in edges:
        ids = pool[edge.left].first.id, pool[edge.right].first.id
        ruling = rulings.same.get(frozenset(ids)) if edge.outcome == "uncertain" else None
        if ruling is None or edge.dependence:
            kept.append(edge)
            continue
        outcome = effects.of_pair(ruling, executors)
        if outcome == "match":
            reason = f"settled: {ruling.why}; {edge.reason}"
            kept.append(replace(edge, outcome="match", reason=reason, settled=True))
        elif outcome == "distinct":
            lost[edge.left] = f"settled: it is not {ids[1]}: {ruling.why}"
            lost[edge.right] = f"settled: it is not {ids[0]}: {ruling.why}"
        else:
            kept.append(replace(edge, reason=f"{edge.reason}; asked, and not settled: {ruling.why}"))
    return kept, lost


def named(
    pool: Sequence[Held],
    left: Sequence[int],
    right: Sequence[int],
    infos: tuple[ExecutorInfo, ExecutorInfo],
    edges: Sequence[Edge],
    lost: Mapping[int, str],
) -> Iterator[CrossPair]:
    """The pairs of two executors with names: what is alike first, then what stands alone."""
    between = infos[0].name, infos[1].name

    def end(i: int) -> tuple[str, str]:
        return pool[i].executor, pool[i].first.id

    for e in sorted(edges, key=lambda e: (e.left, e.right)):
        reason = f"{e.reason}; {e.dependence}" if e.dependence else e.reason
        yield CrossPair(end(e.left), end(e.right), e.outcome, e.score, reason, not e.dependence, between)
    paired = {n for e in edges for n in (e.left, e.right)}
    whole = not dependence(*infos)
    for i in left:
        if i not in paired:
            why = lost.get(i, f"not reported by {infos[1].name}")
            yield CrossPair(end(i), None, "alone", 0.0, why, whole, between)
    for j in right:
        if j not in paired:
            why = lost.get(j, f"not reported by {infos[0].name}")
            yield CrossPair(None, end(j), "alone", 0.0, why, whole, between)
