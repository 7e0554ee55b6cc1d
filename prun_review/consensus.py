"""What independent executors hold together: the findings of one case, folded, paired and grouped.

Only different vendors **and** different lineages corroborate, so agreement is counted between
executors that share neither, and a rule that one analyser took over from another never confirms it.
Groups are not chained (A like B, B like C, so A like C): a finding joins one only when it is like
every member, because chaining joined defects of different files in tools that did it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from prun_review import effects, pairing
from prun_review.fingerprints import fingerprint
from prun_review.folding import Held, Member, Same, fold, highest
from prun_review.groups import CLASSES, Came, Crossing, CrossPair, Group
from prun_review.independence import known
from prun_review.matching import crosscheck
from prun_review.model import ExecutorInfo, Finding, Result
from prun_review.pairing import Edge
from prun_review.rulings import Rulings

__all__ = ["CLASSES", "Came", "CrossPair", "Crossing", "Group", "cross"]

NONE = Rulings()
"""Nothing was examined."""

# --- grouping ---------------------------------------------------------------------------------


def _gather(pool: Sequence[Held], edges: Sequence[Edge]) -> list[list[int]]:
    """Groups of places in the pool: matches first, then what may be the same."""
    linked = {frozenset((e.left, e.right)) for e in edges}
    home = {i: [i] for i in range(len(pool))}
    agreed: set[int] = set()

    def alike(i: int, j: int, edge: Edge) -> bool:
        # Two findings of one executor are never compared: one fix for both and a third makes them one.
        return frozenset((i, j)) in linked or (edge.settled and pool[i].executor == pool[j].executor)

    def order(edge: Edge) -> tuple[int, float, list[str]]:
        kind = 2 if edge.outcome != "match" else 1 if edge.dependence else 0
        return kind, -edge.score, sorted(pool[i].first.id for i in (edge.left, edge.right))

    for edge in sorted(edges, key=order):
        one, other = home[edge.left], home[edge.right]
        if one is other or not all(alike(i, j, edge) for i in one for j in other):
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


def _agreed(pool: Sequence[Held], edges: Iterable[Edge]) -> str:
    """The highest severity that two ends of one of these edges agree on, within a step."""
    words = [effects.agreed_word(pool[e.left].severity, pool[e.right].severity) for e in edges]
    return highest(filter(None, words)) if any(words) else ""


def _group(
    case: str, pool: Sequence[Held], at: Sequence[int], edges: Sequence[Edge], answered: Sequence[str]
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


def _why_single(names: str, holders: Sequence[str], inside: Sequence[Edge], answered: Sequence[str]) -> str:
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
    edges: list[Edge] = []
    doubts: list[Edge] = []
    pairs: list[CrossPair] = []
    for left, right in combinations(answered, 2):
        infos = known(left, executors), known(right, executors)
        compared = pairing.compare(pool, places[left], places[right], infos, same)
        doubts += (edge for edge in compared if edge.outcome == "uncertain")
        found, apart_by = pairing.settle(pool, compared, rulings, executors)
        edges.extend(found)
        pairs.extend(pairing.named(pool, places[left], places[right], infos, found, apart_by))
    by_place: dict[int, list[Edge]] = {}
    for edge in edges:
        by_place.setdefault(edge.left, []).append(edge)
        by_place.setdefault(edge.right, []).append(edge)
    groups = [
        _group(case, pool, at, list(dict.fromkeys(e for i in at for e in by_place.get(i, ()))), answered)
        for at in _gather(pool, edges)
    ]
    counted, retold = _counted(results), _retold(results, same)
    doubted = _doubted(pool, doubts)
    every = (
        effects.examined(
            g, rulings, executors, _twins(g, doubted, apart, same) if _claimed(g, rulings) else ()
        )
        for g in (*groups, *apart)
    )
    return Crossing(tuple(replace(g, came=_came(g, counted, retold)) for g in every), tuple(pairs))


def _claimed(group: Group, rulings: Rulings) -> bool:
    return any(m.finding.id in rulings.claims for m in group.members)


def _doubted(pool: Sequence[Held], doubts: Iterable[Edge]) -> dict[str, set[str]]:
    """Finding id -> who holds what may be the same, or was in doubt until it was ruled on."""
    found: dict[str, set[str]] = {}
    for edge in doubts:
        one, other = pool[edge.left], pool[edge.right]
        found.setdefault(one.first.id, set()).add(other.executor)
        found.setdefault(other.first.id, set()).add(one.executor)
    return found


def _twins(
    group: Group, doubted: Mapping[str, set[str]], apart: Iterable[Group], same: Same | None
) -> set[str]:
    """Who holds what may be the group's finding, also where the tree does not hold its proof."""
    mine = [m.finding for m in group.members]
    found = set().union(*(doubted.get(finding.id, ()) for finding in mine))
    told: dict[str, list[Finding]] = {}
    for member in (m for other in apart if other.id != group.id for m in other.members):
        told.setdefault(member.executor, []).append(member.finding)
    for name, findings in told.items():
        if any(p.left is not None and p.right is not None for p in crosscheck(mine, findings, same=same)):
            found.add(name)
    return found


def _counted(results: Iterable[Result]) -> dict[str, set[str]]:
    """Executor -> the ids of the units that it answered soundly."""
    units: dict[str, set[str]] = {}
    for result in results:
        if result.ok:
            units.setdefault(result.executor, set()).add(result.unit)
    return units


def _retold(results: Iterable[Result], same: Same | None) -> dict[str, set[str]]:
    """Finding id -> the units whose sound answers by the same executor may tell it as well.

    What came back in other words is no less there: whatever may be the same counts, or a finding would
    pass as not reproduced because its reviewer never says it twice alike.
    """
    found: dict[str, set[str]] = {}
    for one, other in combinations([r for r in results if r.ok], 2):
        if one.executor != other.executor:
            continue
        mine, theirs = list(_members(one)), list(_members(other))
        for pair in crosscheck([m.finding for m in mine], [m.finding for m in theirs], same=same):
            if pair.left is not None and pair.right is not None:
                found.setdefault(mine[pair.left].finding.id, set()).add(other.unit)
                found.setdefault(theirs[pair.right].finding.id, set()).add(one.unit)
    return found


def _came(group: Group, counted: Mapping[str, set[str]], retold: Mapping[str, set[str]]) -> tuple[Came, ...]:
    """How often each holder's answers hold it, in whatever words; an answer that tells it twice counts
    once."""
    holding: dict[str, set[str]] = {}
    for member in group.members:
        holding.setdefault(member.executor, set()).update({member.unit}, retold.get(member.finding.id, ()))
    return tuple(
        Came(name, len(units & counted[name]), len(counted[name]))
        for name, units in holding.items()
        if name in counted
    )
