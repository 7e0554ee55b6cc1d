"""Who wrote what is reviewed, and whose word on it counts.  Pure.

Whoever wrote a patch never corroborates itself on it.  What an author's executor says against the patch
counts in full, since that is against its interest; what it says for it counts for nothing: its answers make
no quorum and cover no file, its refutation settles no finding, it folds no two findings into one with its
like, and it stands in for nobody who is away.  A choice is about no patch, so there its vote is a vote.

Fails closed: once an author is named, an executor whose vendor or lineage nobody recorded may be that one.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from prun_review.errors import ConfigError
from prun_review.model import RunFacts


class Named(Protocol):
    """An executor, or what a run recorded of it."""

    @property
    def name(self) -> str: ...

    @property
    def vendor(self) -> str: ...

    @property
    def lineage(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Authors:
    """Who wrote what is reviewed; by itself: nobody says who did."""

    words: tuple[str, ...] = ()
    """As they were named: vendors, lineages or executors."""
    free: frozenset[str] = frozenset()
    """Executors of the run of which it is known that they are none of theirs."""

    def wrote(self, executor: str) -> bool:
        """Whether an executor is an author's, or may be."""
        return bool(self.words) and executor not in self.free

    def others(self, executors: Iterable[str]) -> tuple[str, ...]:
        """Those of these whose word on the patch counts, each once."""
        return tuple(name for name in dict.fromkeys(executors) if not self.wrote(name))

    @property
    def named(self) -> str:
        """``codex``, ``openai and mini``; empty where nobody is named."""
        return " and ".join(self.words)

    def disowned(self, executors: Iterable[str]) -> str:
        """``; openai wrote it, so codex is no voice``; empty where none of these executors is theirs."""
        wrote = [name for name in dict.fromkeys(executors) if self.wrote(name)]
        if not wrote:
            return ""
        none = "is no voice" if len(wrote) == 1 else "are no voices"
        return f"; {self.named} wrote it, so {' and '.join(wrote)} {none}"


NOBODY = Authors()
"""Nobody says who wrote it: everybody's word counts."""


def authors_of(facts: RunFacts) -> Authors:
    """Who wrote what a run reviews, among the executors that it recorded."""
    return among(facts.authors, facts.executors, facts.authors_kin)


def among(words: Sequence[str], executors: Collection[Named], more: Iterable[str] = ()) -> Authors:
    """Who of these executors is an author's: whoever is named, or shares vendor or lineage with one who is
    (``more``: vendors and lineages of executors that are not among these)."""
    if not words:
        return NOBODY
    theirs = {*map(_plain, words), *map(_plain, more), *kin(words, executors)}
    return Authors(tuple(words), frozenset(e.name for e in executors if _known(e) and not theirs & _words(e)))


def kin(words: Iterable[str], executors: Iterable[Named]) -> tuple[str, ...]:
    """The vendors and lineages of the executors that these words name."""
    named = {_plain(word) for word in words} - {""}
    found = {_plain(w) for e in executors if named & _words(e) for w in (e.vendor, e.lineage)}
    return tuple(sorted(found - {""}))


def check(words: Iterable[str], executors: Iterable[Named]) -> None:
    """``ConfigError`` for a word that names no executor, vendor or lineage; it tells the nearest first."""
    known = {_plain(w): w for e in executors for w in (e.lineage, e.vendor, e.name) if w.strip()}
    for word in words:
        if _plain(word) not in known:
            near = sorted(known, key=lambda k: (-difflib.SequenceMatcher(None, _plain(word), k).ratio(), k))
            told = ", ".join(known[k] for k in near)
            raise ConfigError(
                f"authors names {word!r}, which is no executor, vendor or lineage", remedy=f"known: {told}"
            )


def _words(executor: Named) -> set[str]:
    return {_plain(w) for w in (executor.name, executor.vendor, executor.lineage)} - {""}


def _known(executor: Named) -> bool:
    return bool(_plain(executor.vendor) and _plain(executor.lineage))


def _plain(word: str) -> str:
    return word.strip().casefold()
