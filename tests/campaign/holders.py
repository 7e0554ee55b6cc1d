"""The model of who holds what, in the plainest way: who is independent, which findings are one, what an
examination made of them.  It knows the words of the campaign (:mod:`tests.campaign.phrases`), not a matcher.

Nothing of the tool's own cross-check, independence or rulings is imported here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from prun_review.model import ExecutorInfo, Finding, Result
from tests.campaign.oracle import Oracle
from tests.campaign.phrases import said
from tests.campaign.spoken import Heard
from tests.campaign.whose import ORDER, independent, names_of, rank, worst_of


def corroborates(a: Held, b: Held, infos: Mapping[str, ExecutorInfo]) -> bool:
    """Independent executors, and neither's rule is taken over from the other."""
    if not independent(a.executor, b.executor, infos):
        return False
    mine, theirs = a.findings[0].lineage, b.findings[0].lineage
    if mine and mine in names_of(infos.get(b.executor)) | {theirs}:
        return False
    return not (theirs and theirs in names_of(infos.get(a.executor)) | {mine})


# --- what is held -----------------------------------------------------------------------------


@dataclass
class Held:
    """What one executor holds of one topic, over all its answers to a case."""

    executor: str
    topic: str
    telling: str
    findings: list[Finding] = field(default_factory=list)
    """In the order reported."""
    answers: set[int] = field(default_factory=set)
    """Which of its answers tell of the topic."""

    @property
    def severity(self) -> str:
        """The highest it gave."""
        return worst_of([f.severity for f in self.findings])


@dataclass
class Defect:
    """A group as the promise has it."""

    case: str
    kind: str
    severity: str
    agreed: str
    holders: list[Held]
    shares: list[float]
    """Of its holders: in which share of its answers each held it; empty without counts."""
    examined: str = ""
    counted: bool = True
    """False for what stands in an answer that is not to be relied on."""

    @property
    def findings(self) -> list[Finding]:
        """All of them; the first stands for the rest, but see ``lead``."""
        return [f for holder in self.holders for f in holder.findings]

    @property
    def beside(self) -> bool:
        """By every one of its findings, all of which the tree holds."""
        return all(f.beside and f.grounding != "ungrounded" for f in self.findings)

    @property
    def lead(self) -> Finding:
        """What speaks for it: the first that the change brought about."""
        return next((f for f in self.findings if not f.beside), self.findings[0])


@dataclass(frozen=True)
class Edge:
    """Two holders of one topic."""

    sure: bool
    independent: bool


def defects(
    case: str, results: Sequence[Result], infos: Mapping[str, ExecutorInfo], heard: Heard, oracle: Oracle
) -> list[Defect]:
    """All that the results of one case hold."""
    found: list[Defect] = []
    relied: list[Result] = []
    order = [*infos, *sorted({r.executor for r in results} - set(infos))]
    for result in sorted(results, key=lambda r: (order.index(r.executor), r.repeat)):
        counts = result.status == "valid"
        if counts and result.violations and result.findings:
            counts = oracle.either("valid, and with violations", (True, False))
        for finding in result.findings:
            if finding.grounding == "ungrounded" or not counts:
                kind = "ungrounded" if finding.grounding == "ungrounded" else "single"
                alone = Held(result.executor, *said(finding), [finding])
                found.append(Defect(case, kind, finding.severity, "", [alone], [], counted=False))
        if counts:
            relied.append(result)
    apart = [h for d in found for h in d.holders]
    for topic in dict.fromkeys(said(f)[0] for r in relied for f in r.findings):
        held = _held(topic, relied)
        if held:
            found += _of_topic(case, held, apart, relied, infos, heard, oracle)
    return found


def _held(topic: str, results: Sequence[Result]) -> list[Held]:
    held: dict[tuple[str, str], Held] = {}
    for result in results:
        for finding in result.findings:
            if finding.grounding == "ungrounded" or said(finding)[0] != topic:
                continue
            key = result.executor, said(finding)[1]
            mine = held.setdefault(key, Held(result.executor, *said(finding)))
            mine.findings.append(finding)
    for mine in held.values():  # in whatever words, and found in the tree or not
        mine.answers = {
            n
            for n, r in enumerate(results)
            if r.executor == mine.executor and any(said(f)[0] == topic for f in r.findings)
        }
    return list(held.values())


def _of_topic(
    case: str,
    held: Sequence[Held],
    apart: Sequence[Held],
    results: Sequence[Result],
    infos: Mapping[str, ExecutorInfo],
    heard: Heard,
    oracle: Oracle,
) -> list[Defect]:
    edges = _edges(held, infos, heard)
    found = [_defect(case, held, at, edges, results) for at in _joined(held, edges, oracle)]
    for defect in found:
        _examined(defect, _twins(defect, held, apart), heard, infos, oracle)
    return found


def _twins(defect: Defect, held: Sequence[Held], apart: Sequence[Held]) -> set[str]:
    """Who tells of the topic in other words: it may be the same, or was until it was ruled on.  So does
    who tells of it in whatever words, and is not to be relied on."""
    return {
        other.executor
        for mine in defect.holders
        for other in (*held, *apart)
        if other.executor != mine.executor
        and other.topic == mine.topic
        and (other.telling != mine.telling or other in apart)
    }


def _edges(
    held: Sequence[Held], infos: Mapping[str, ExecutorInfo], heard: Heard
) -> dict[frozenset[int], Edge]:
    """Same telling: surely the same.  Other telling: perhaps, unless two examiners settled it."""
    edges = {}
    for i, a in enumerate(held):
        for j, b in enumerate(held):
            if i >= j or a.executor == b.executor:
                continue
            free = corroborates(a, b, infos)
            ruling = heard.pair(a.findings[0].id, b.findings[0].id) if free and a.telling != b.telling else ""
            if ruling != "distinct":
                sure = a.telling == b.telling or ruling == "match"
                edges[frozenset((i, j))] = Edge(sure, free)
    return edges


def _joined(
    held: Sequence[Held], edges: Mapping[frozenset[int], Edge], oracle: Oracle
) -> list[frozenset[int]]:
    """Who is one defect: sure pairs of independent executors first, then of dependent ones, then doubtful
    ones.  Nobody joins who is not like every member; a doubt never changes what is agreed."""
    homes = [frozenset([i]) for i in range(len(held))]
    agreed: set[int] = set()
    ranks = [
        [e for e, edge in edges.items() if edge.sure and edge.independent],
        [e for e, edge in edges.items() if edge.sure and not edge.independent],
        [e for e, edge in edges.items() if not edge.sure and edge.independent],
    ]
    whole = len(edges) == len(held) * (len(held) - 1) // 2
    for n, pairs in enumerate(ranks):
        orders = [pairs] if whole or len(pairs) < 2 else [list(order) for order in permutations(pairs)]
        for pair in oracle.either("which of several is the nearest", orders[:24]):
            i, j = sorted(pair)
            one, other = (next(h for h in homes if k in h) for k in (i, j))
            if one == other or any(frozenset((a, b)) not in edges for a in one for b in other):
                continue
            if n == 2 and agreed & (one | other):
                continue
            homes = [h for h in homes if h not in (one, other)] + [one | other]
            if n == 0:
                agreed |= one | other
    return homes


def _agreed(severities: Sequence[tuple[str, str]]) -> str:
    """The highest on which two agree, within one step; a word that nobody knows is no agreement."""
    near = [
        worst_of(two) for two in severities if abs(rank(two[0]) - rank(two[1])) <= 1 and set(two) <= {*ORDER}
    ]
    return worst_of(near) if near else ""


def _defect(
    case: str,
    held: Sequence[Held],
    at: frozenset[int],
    edges: Mapping[frozenset[int], Edge],
    results: Sequence[Result],
) -> Defect:
    mine = [held[i] for i in sorted(at)]
    severity = worst_of([h.severity for h in mine])
    sure = [p for p, e in edges.items() if p <= at and e.sure and e.independent]
    agreed = _agreed([(held[min(p)].severity, held[max(p)].severity) for p in sure])
    doubtful = [e for p, e in edges.items() if p & at and e.independent]
    kind = "single"
    if sure:
        kind = "consensus" if agreed == severity else "contested"
    elif doubtful:
        kind = "uncertain"
    shares = [len(h.answers) / sum(r.executor == h.executor for r in results) for h in mine]
    return Defect(case, kind, severity, agreed, mine, shares)


def _examined(
    defect: Defect, twins: set[str], heard: Heard, infos: Mapping[str, ExecutorInfo], oracle: Oracle
) -> None:
    """One who confirms it counts as one who holds it.  Whoever depends on one who holds the highest
    severity has no say; where it depends on that one only, and confirms, both readings are no pass.
    Refuted is what nobody leaves open, and not by those alone who hold it or its twin; of several twins
    the nearest is one, whichever that is.  What who wrote it refutes is neither said nor left open."""
    said_of_it = heard.claims(defect.findings)
    if said_of_it is None:
        return
    defect.examined = "unresolved"
    heads = [h.executor for h in defect.holders if h.severity == defect.severity]
    free = [s for s in said_of_it if all(independent(s[0], head, infos) for head in heads)]
    confirms = [s for s in free if s[1] == "confirm"]
    tied = [
        s
        for s in said_of_it
        if s not in free
        and s[1] == "confirm"
        and any(independent(s[0], h.executor, infos) for h in defect.holders)
    ]
    if tied:
        confirms += oracle.either("confirmed by one who depends on the most severe holder", [[], tied])
    if confirms:
        defect.examined = "confirmed"
        near = [
            (h.severity, s)
            for n, _, s in confirms
            for h in defect.holders
            if independent(n, h.executor, infos)
        ]
        words = [word for word in (defect.agreed, _agreed(near)) if word]
        defect.severity = worst_of([defect.severity, *(s for _, _, s in confirms)])
        defect.agreed = worst_of(words) if words else ""
        defect.kind = "consensus" if defect.agreed == defect.severity else "contested"
        return
    own = {h.executor for h in defect.holders}
    refuting = {n for n, word, _ in free if word == "refute"} - own - heard.authors
    if refuting and refuting <= twins:
        refuting = oracle.either("which of several is the twin", [set(), refuting])
    if refuting and not heard.left_open(defect.findings):
        defect.examined = "refuted"
        defect.kind = "contested"
