"""The model of severities, of who is independent of whom and of who wrote it, in the plainest way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from prun_review.model import ExecutorInfo, RunFacts

ORDER = ("info", "low", "medium", "high", "critical")


def rank(severity: str) -> int:
    """A word that nobody knows is worse than critical."""
    return ORDER.index(severity) if severity in ORDER else len(ORDER)


def worst_of(severities: Iterable[str]) -> str:
    """The most severe; of words that nobody knows the last in the alphabet."""
    return max(sorted(severities), key=rank)


def names_of(info: ExecutorInfo | None) -> set[str]:
    """Whose an executor is; empty where its vendor or its lineage is not known."""
    if info is None or not info.vendor.strip() or not info.lineage.strip():
        return set()
    return {info.vendor.strip().lower(), info.lineage.strip().lower()}


def independent(one: str, other: str, infos: Mapping[str, ExecutorInfo]) -> bool:
    """Different vendors and different lineages, all four of them known."""
    mine, theirs = names_of(infos.get(one)), names_of(infos.get(other))
    return one != other and bool(mine) and bool(theirs) and not mine & theirs


def writers(names: Iterable[str], facts: RunFacts) -> set[str]:
    """Those of these executors that an author's are, or may be.

    Where somebody is named: who has that name, vendor or lineage, who shares vendor or lineage with one
    that has, and everybody of whom nobody knows vendor or lineage.
    """
    if not facts.authors:
        return set()
    infos = {e.name: e for e in facts.executors}
    words = {word.strip().lower() for word in facts.authors}
    family = words | set(facts.authors_kin)
    for info in infos.values():
        if words & (names_of(info) | {info.name.lower(), *_halves(info)}):
            family |= _halves(info)
    return {
        name
        for name in names
        if not names_of(infos.get(name)) or name.lower() in words or names_of(infos.get(name)) & family
    }


def _halves(info: ExecutorInfo) -> set[str]:
    """Vendor and lineage, as far as they are known."""
    return {info.vendor.strip().lower(), info.lineage.strip().lower()} - {""}


def most_independent(names: Iterable[str], infos: Mapping[str, ExecutorInfo]) -> int:
    """How many of these are independent of each other, all of them: every subset is tried."""
    every = list(dict.fromkeys(names))
    best = min(len(every), 1)
    for bits in range(2 ** len(every)):
        some = [name for n, name in enumerate(every) if bits >> n & 1]
        if all(independent(a, b, infos) for a in some for b in some if a != b):
            best = max(best, len(some))
    return best
