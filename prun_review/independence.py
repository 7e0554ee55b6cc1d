"""Who may corroborate whom: different vendors **and** different lineages, nothing less.

Fails closed: an executor whose vendor or lineage nobody recorded is independent of nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


def known(name: str, executors: Mapping[str, ExecutorInfo]) -> ExecutorInfo:
    """What is known of an executor; one that nobody recorded is independent of nobody."""
    return executors.get(name) or ExecutorInfo(name, vendor="", lineage="", paid=False)
