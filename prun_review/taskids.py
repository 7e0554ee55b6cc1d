"""Ids of tasks: ``task-001-users`` in the manifest, ``task-001`` for short nearly everywhere else.  Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from prun_review.tasks import Task


@lru_cache(4096)
def short(name: str) -> str:
    """``task-001`` of ``task-001-users``; the id itself where it has no number."""
    return Task(name, 0).short


def same(one: str, other: str) -> bool:
    """Whether two ids can mean one task: equal, or one is the other's short form."""
    return one == other or short(one) == other or short(other) == one


class Ids:
    """Names by the ids that may mean them."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        """``pairs``: id and name."""
        self._held: dict[str, list[tuple[str, str]]] = {}
        for one, name in pairs:
            self._held.setdefault(short(one), []).append((one, name))

    def equal(self, said: str) -> list[str]:
        """The names with that very id, none twice."""
        return list(dict.fromkeys(name for one, name in self._held.get(short(said), []) if one == said))

    def same(self, said: str) -> list[str]:
        """The names with an id that can mean the same, none twice, sorted."""
        return sorted({name for one, name in self._held.get(short(said), []) if same(one, said)})
