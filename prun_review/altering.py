"""Looks for the files of a change that change the review itself; :mod:`prun_review.guarded` says which."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prun_review import guarded
from prun_review.git import GITLINK, LINK, Entry
from prun_review.publicnames import public_name
from prun_review.shadow import Shadow
from prun_review.taken import Listing

PARSED_CAP = 4 << 20
"""Bytes above which a file is not parsed, and any change of it counts."""


@dataclass(frozen=True, slots=True)
class Altered:
    """The files of a change that change the review."""

    names: tuple[str, ...]
    """Sorted, relative to the root of the trusted root's repository."""
    digest: str
    """sha256 over what they became; empty where there is none."""
    gone: frozenset[bytes]
    """Those that only the base has, as its listing names them."""
    there: frozenset[bytes]
    """The others, as the head's listing names them."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Looks for what changes the review, in both listings."""

    old_root: str
    """Where the trusted root lies in the base, as :func:`position` says."""
    new_root: str
    watched: Callable[[str], bool]
    """Whether a name of the base counts."""

    def old(self, raw: bytes) -> bool:
        """Whether a path of the base counts."""
        return self.watched(public_name(raw))

    def new(self, raw: bytes) -> bool:
        """Whether a path of the head counts."""
        name = self._aligned(raw)
        return name is not None and self.watched(name)

    def _aligned(self, raw: bytes) -> str | None:
        """A path of the head as the base would name it."""
        name = public_name(raw)
        if self.new_root == self.old_root:
            return name
        below = "" if self.new_root == "." else f"{self.new_root}/"
        return (
            posixpath.normpath(posixpath.join(self.old_root, name[len(below) :]))
            if name.startswith(below)
            else None
        )

    def altered(self, shadow: Shadow, old: Listing, new: Listing) -> Altered:
        """The files of the change that change the review."""
        before = {public_name(n): e for n, e in _every(old) if self.old(n)}
        after = {name: e for n, e in _every(new) if self.new(n) and (name := self._aligned(n))}
        differ = [
            name
            for name in sorted({*before, *after})
            if _same_id(before.get(name)) != _same_id(after.get(name))
        ]
        names = tuple(n for n in differ if not _equivalent(shadow, n, before.get(n), after.get(n)))
        told = "".join(f"{name}\0{_same_id(after.get(name))}\0" for name in names)
        return Altered(
            names,
            hashlib.sha256(told.encode()).hexdigest() if names else "",
            frozenset(before[n].name for n in names if n in before and n not in after),
            frozenset(after[n].name for n in names if n in after),
        )


BLIND = Watch(".", ".", lambda name: False)
"""Where nothing can change the review."""


def _every(listing: Listing) -> Iterator[tuple[bytes, Entry]]:
    for part in (listing.wanted, listing.submodules, listing.watched):
        yield from part.items()


def _same_id(entry: Entry | None) -> str:
    return f"{entry.mode} {entry.sha}" if entry else "-"


def _equivalent(shadow: Shadow, name: str, old: Entry | None, new: Entry | None) -> bool:
    """Whether nothing that counts of a file differs."""
    if not guarded.partly(name):
        return False
    there = shadow.sized([e for e in (old, new) if e])
    if any(e.mode in (LINK, GITLINK) or e.size is None or e.size > PARSED_CAP for e in there):
        return False
    contents = iter(shadow.blobs(there))
    return guarded.same(name, *(next(contents) if e else b"" for e in (old, new)))
