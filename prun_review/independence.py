"""Who may corroborate whom: different vendors **and** different lineages, nothing less.

Fails closed: an executor whose vendor or lineage nobody recorded is independent of nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from prun_review.model import ExecutorInfo, Finding


def _names(*words: str | None) -> set[str]:
    return {word.strip().casefold() for word in words if word and word.strip()}


def dependence(left: ExecutorInfo, right: ExecutorInfo) -> str:
    """Why two executors cannot corroborate each other; empty when they can."""
    if left.name == right.name:
        return f"{left.name} cannot corroborate itself"
    for one in (left, right):
        if not _names(one.vendor) or not _names(one.lineage):
            return f"vendor or lineage of {one.name} is not known, so it corroborates nobody"
    shared = _names(left.vendor, left.lineage) & _names(right.vendor, right.lineage)
    if shared:
        return f"{left.name} and {right.name} are not independent: both are {min(shared)}'s"
    return ""


def rule_dependence(left: Finding, right: Finding, a: ExecutorInfo, b: ExecutorInfo) -> str:
    """:func:`dependence` for a finding of ``a`` and one of ``b``: a rule may have its own lineage."""
    whole = dependence(a, b)
    if whole:
        return whole
    for mine, theirs, owner, other in ((left, right, a, b), (right, left, b, a)):
        if _names(mine.lineage) & _names(other.vendor, other.lineage, theirs.lineage):
            return f"not corroboration: {owner.name}'s {mine.rule or 'rule'} is {mine.lineage}'s rule"
    return ""


def independent_among(names: Iterable[str], executors: Mapping[str, ExecutorInfo]) -> bool:
    """Whether two of these executors are independent of each other."""
    infos = [known(name, executors) for name in dict.fromkeys(names)]
    return any(not dependence(a, b) for a, b in combinations(infos, 2))


def independents(names: Iterable[str], executors: Mapping[str, ExecutorInfo]) -> tuple[str, ...]:
    """The most of these executors that are pairwise independent, in the order given; one alone counts."""
    infos = [known(name, executors) for name in dict.fromkeys(names)]
    return tuple(info.name for info in _largest(infos))


def _largest(infos: Sequence[ExecutorInfo]) -> list[ExecutorInfo]:
    """With the executor that depends on most others, or without it: whichever leaves more."""
    free = {a.name: [b for b in infos if not dependence(a, b)] for a in infos}
    tied = min(infos, key=lambda info: len(free[info.name]), default=None)
    if tied is None or len(free[tied.name]) == len(infos) - 1:
        return list(infos)
    taken = {tied.name, *(info.name for info in _largest(free[tied.name]))}
    rest = _largest([info for info in infos if info is not tied])
    return [info for info in infos if info.name in taken] if len(taken) >= len(rest) else rest


def known(name: str, executors: Mapping[str, ExecutorInfo]) -> ExecutorInfo:
    """What is known of an executor; one that nobody recorded is independent of nobody."""
    return executors.get(name) or ExecutorInfo(name, vendor="", lineage="", paid=False)


def families(names: Sequence[str], executors: Mapping[str, ExecutorInfo]) -> list[list[str]]:
    """Executors grouped by whom they depend on: each group has one voice."""
    found: list[list[str]] = []
    for name in names:
        mine = [f for f in found if any(dependence(known(name, executors), known(o, executors)) for o in f)]
        found = [f for f in found if f not in mine] + [[*(n for f in mine for n in f), name]]
    return found
