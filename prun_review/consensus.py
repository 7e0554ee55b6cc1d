"""What independent executors hold together: the findings of one case, folded, paired and grouped.

Only different vendors **and** different lineages corroborate, so agreement is counted between
executors that share neither, and a rule that one analyser took over from another never confirms it.
Groups are not chained (A like B, B like C, so A like C): a finding joins one only when it is like
every member, because chaining joined defects of different files in tools that did it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from prun_review.fingerprints import fingerprint
from prun_review.folding import Held, Member, Same, fold, highest, level
from prun_review.independence import dependence, known, rule_dependence
from prun_review.matching import crosscheck
from prun_review.model import SEVERITIES, ExecutorInfo, Finding, Result
from prun_review.rulings import Ruling, Rulings

CLASSES = ("consensus", "contested", "uncertain", "single", "ungrounded")
"""In the order in which they are shown."""

NONE = Rulings()
"""Nothing was examined."""

CONTEST = 2
"""Severities that lie this many steps apart are a disagreement, not a shade."""


@dataclass(frozen=True, slots=True)
class Came:
    """How often one executor reported a finding over its answers to one case."""

    executor: str
    times: int
    """Sound answers that hold it."""
    of: int
    """Sound answers to the case."""


@dataclass(frozen=True, slots=True)
class Group:
    """One defect as the executors of a case hold it."""

    id: str
    """Id of its first member."""
    case: str
    kind: str
    """One of :data:`CLASSES`."""
    severity: str
    """The highest held."""
    agreed: str
    """The highest severity on which two independent executors agree; empty without agreement."""
    members: tuple[Member, ...]
    reason: str
    """Why this class, in one line."""
    fingerprint: str = ""
    """Its stable name; see :mod:`prun_review.fingerprints`."""
    examined: str = ""
    """What the other vendor said of it: ``confirmed``, ``refuted``, ``unresolved``; empty: not asked."""
    rulings: tuple[Ruling, ...] = ()
    """All that was asked about it, claims and pairs."""
    came: tuple[Came, ...] = ()
    """How often it came back, by executor."""

    @property
    def executors(self) -> tuple[str, ...]:
        """Who holds it, each once."""
        return tuple(dict.fromkeys(m.executor for m in self.members))

    @property
    def beside(self) -> bool:
        """Proven to be none of the change's doing, by every member: it is reported and never blocks.

        What the tree does not hold proves nothing, so an ungrounded one is never beside.
        """
        return all(m.finding.beside and m.finding.grounded for m in self.members)

    @property
    def lead(self) -> Finding:
        """The finding that says where it is: one that the change brought about, with a line."""
        every = [m.finding for m in self.members]
        return min(every, key=lambda f: (f.beside, f.line is None))


@dataclass(frozen=True, slots=True)
class CrossPair:
    """A pair of the cross-check with names; ``(executor, finding id)`` or None for "alone"."""

    left: tuple[str, str] | None
    right: tuple[str, str] | None
    outcome: str
    score: float
    reason: str
    independent: bool
    between: tuple[str, str]
    """The two executors compared, whoever of them holds nothing."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """The cross-check of one case."""

    groups: tuple[Group, ...] = ()
    pairs: tuple[CrossPair, ...] = ()


@dataclass(frozen=True, slots=True)
class _Edge:
    """Two held findings by their place in the pool, and how alike they are."""

    left: int
    right: int
    outcome: str
    score: float
    reason: str
    dependence: str


# --- pairing ----------------------------------------------------------------------------------


def _compare(
    pool: Sequence[Held],
    left: Sequence[int],
    right: Sequence[int],
    infos: tuple[ExecutorInfo, ExecutorInfo],
    same: Same | None,
) -> list[_Edge]:
    """The edges between what two executors hold.

    Independent findings are paired first, dependent ones among what is left: a borrowed rule must
    not take the partner away from a finding that could corroborate.
    """

    def dependent(i: int, j: int) -> str:
        return rule_dependence(pool[i].first, pool[j].first, *infos)

    def run(lefts: Sequence[int], rights: Sequence[int], wanted: bool | None) -> list[_Edge]:
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
            _Edge(
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


# --- grouping ---------------------------------------------------------------------------------


def _gather(pool: Sequence[Held], edges: Sequence[_Edge]) -> list[list[int]]:
    """Groups of places in the pool: matches first, then what may be the same."""
    linked = {frozenset((e.left, e.right)) for e in edges}
    home = {i: [i] for i in range(len(pool))}
    agreed: set[int] = set()

    def order(edge: _Edge) -> tuple[int, float, str, str]:
        kind = 2 if edge.outcome != "match" else 1 if edge.dependence else 0
        return kind, -edge.score, pool[edge.left].first.id, pool[edge.right].first.id

    for edge in sorted(edges, key=order):
        one, other = home[edge.left], home[edge.right]
        if one is other or not all(frozenset((i, j)) in linked for i in one for j in other):
            continue
        if edge.outcome != "match" and (edge.dependence or agreed.intersection((*one, *other))):
            continue  # what may be the same never changes what is agreed
        one.extend(other)
        for i in other:
            home[i] = one
        if edge.outcome == "match" and not edge.dependence:
            agreed.update(one)
    unique = {id(members): sorted(members) for members in home.values()}
    return sorted(unique.values())


def _agreed(pool: Sequence[Held], edges: Iterable[_Edge]) -> str:
    """The highest severity that two ends of one of these edges agree on, within a step."""
    words = [
        highest((a, b))
        for a, b in ((pool[e.left].severity, pool[e.right].severity) for e in edges)
        if abs(level(a) - level(b)) < CONTEST and max(level(a), level(b)) < len(SEVERITIES)
    ]
    return highest(words) if words else ""


def _group(
    case: str, pool: Sequence[Held], at: Sequence[int], edges: Sequence[_Edge], answered: Sequence[str]
) -> Group:
    """The class of one group, and why."""
    held = [pool[i] for i in at]
    severity = highest(h.severity for h in held)
    touching = sorted(
        (e for e in edges if e.left in at or e.right in at), key=lambda e: (-e.score, e.left, e.right)
    )
    inside = [e for e in touching if e.left in at and e.right in at]
    matches = [e for e in inside if e.outcome == "match" and not e.dependence]
    agreed = _agreed(pool, matches)
    doubtful = [e for e in touching if not e.dependence]
    says = ", ".join(f"{h.executor} says {h.severity}" for h in held)
    names = " and ".join(h.executor for h in held)
    if matches and agreed == severity:
        kind, reason = "consensus", f"held by {names}: {matches[0].reason}"
    elif matches:
        kind, reason = "contested", f"held differently: {says}"
    elif doubtful:
        edge = doubtful[0]
        ends = [f"{pool[i].executor}'s {pool[i].first.id}" for i in (edge.left, edge.right)]
        kind, reason = "uncertain", f"{ends[0]} and {ends[1]} may be the same: {edge.reason}"
    else:
        kind, reason = "single", _why_single(names, [h.executor for h in held], inside, answered)
    members = tuple(m for h in held for m in h.members)
    return _named_group(Group(members[0].finding.id, case, kind, severity, agreed, members, reason))


def _why_single(names: str, holders: Sequence[str], inside: Sequence[_Edge], answered: Sequence[str]) -> str:
    dependences = [e.dependence for e in inside if e.dependence]
    if dependences:
        return dependences[0]
    others = [name for name in answered if name not in holders]
    if not others:
        return f"held by {names}; no other executor answered this case"
    return f"held by {names}; not reported by {', '.join(others)}"


def _lone(case: str, member: Member, kind: str, reason: str) -> Group:
    finding = member.finding
    return _named_group(Group(finding.id, case, kind, finding.severity, "", (member,), reason))


def _named_group(group: Group) -> Group:
    return replace(group, fingerprint=fingerprint(group.case, group.lead))


# --- one case ---------------------------------------------------------------------------------


def _members(result: Result) -> Iterator[Member]:
    for n, finding in enumerate(result.findings, start=1):
        named = finding if finding.id else replace(finding, id=f"{result.slug}#{n}")
        yield Member(result.executor, result.unit, named)


def _apart(result: Result, case: str) -> list[Group]:
    """What of a result is shown but never compared."""
    groups = []
    for member in _members(result):
        if not member.finding.grounded:
            why = member.finding.note or "the reviewed tree does not hold what it says"
            groups.append(_lone(case, member, "ungrounded", why))
        elif not result.ok:
            why = f"the answer of {result.executor} is {result.status}: it corroborates nothing"
            groups.append(_lone(case, member, "single", why))
    return groups


def cross(
    results: Sequence[Result],
    executors: Mapping[str, ExecutorInfo],
    *,
    same: Same | None = None,
    rulings: Rulings = NONE,
) -> Crossing:
    """Fold, pair and group the findings of the results of ONE case, under what was ruled about them.

    The order of ``results`` does not matter; that of ``executors`` decides who is left and right.
    Only grounded findings of valid answers are compared; all others stand alone.
    """
    if not results:
        return Crossing()
    rank = {name: n for n, name in enumerate(executors)}
    results = sorted(results, key=lambda r: (rank.get(r.executor, len(rank)), r.executor, r.repeat, r.slug))
    case = results[0].case
    apart = [group for result in results for group in _apart(result, case)]
    answered = list(dict.fromkeys(r.executor for r in results if r.ok))
    pool: list[Held] = []
    places: dict[str, list[int]] = {}
    for name in answered:
        answers = [
            [m for m in _members(r) if m.finding.grounded] for r in results if r.executor == name and r.ok
        ]
        held = fold(answers, same)
        places[name] = list(range(len(pool), len(pool) + len(held)))
        pool.extend(held)
    edges: list[_Edge] = []
    pairs: list[CrossPair] = []
    for left, right in combinations(answered, 2):
        infos = known(left, executors), known(right, executors)
        found = _compare(pool, places[left], places[right], infos, same)
        edges.extend(found)
        pairs.extend(_named(pool, places[left], places[right], infos, found))
    by_place: dict[int, list[_Edge]] = {}
    for edge in edges:
        by_place.setdefault(edge.left, []).append(edge)
        by_place.setdefault(edge.right, []).append(edge)
    groups = [
        _group(case, pool, at, list(dict.fromkeys(e for i in at for e in by_place.get(i, ()))), answered)
        for at in _gather(pool, edges)
    ]
    return Crossing(tuple(groups + apart), tuple(pairs))


def _named(
    pool: Sequence[Held],
    left: Sequence[int],
    right: Sequence[int],
    infos: tuple[ExecutorInfo, ExecutorInfo],
    edges: Sequence[_Edge],
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
            yield CrossPair(end(i), None, "alone", 0.0, f"not reported by {infos[1].name}", whole, between)
    for j in right:
        if j not in paired:
            yield CrossPair(None, end(j), "alone", 0.0, f"not reported by {infos[0].name}", whole, between)
