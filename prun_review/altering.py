"""Looks for the files of a change that change the review itself; :mod:`prun_review.guarded` says which."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from prun_review import guarded, links
from prun_review.git import GITLINK, LINK, Entry
from prun_review.links import Area, Links
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
    """sha256 over what they were and became, and where a link is among them over all that links of the
    review stand for; empty where there is none."""
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
    """Whether a name of the base counts by itself."""
    area: Area = field(default_factory=Area)
    """What links of the review lead to, as the base would name it."""

    def old(self, raw: bytes) -> bool:
        """Whether a path of the base counts."""
        return self._counts(public_name(raw))

    def _counts(self, name: str) -> bool:
        return self.watched(name) or self.area.holds(name)

    def new(self, raw: bytes) -> bool:
        """Whether a path of the head counts."""
        name = self.aligned(public_name(raw))
        return name is not None and self._counts(name)

    def aligned(self, name: str) -> str | None:
        """A name of the head as the base would have it; None for one that the base would not reach."""
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
        after = {name: e for n, e in _every(new) if self.new(n) and (name := self.aligned(public_name(n)))}
        differ = [
            name
            for name in sorted({*before, *after})
            if _same_id(before.get(name)) != _same_id(after.get(name))
        ]
        names = tuple(
            n for n in differ if self.area.holds(n) or not _equivalent(shadow, n, before.get(n), after.get(n))
        )
        told = "".join(f"{n}\0{_same_id(before.get(n))}\0{_same_id(after.get(n))}\0" for n in names)
        sides = (before, after)
        if any(n in side and side[n].mode == LINK for side in sides for n in names):
            told += "".join(links.told(self.area, {n: _same_id(e) for n, e in s.items()}) for s in sides)
        return Altered(
            names,
            hashlib.sha256(told.encode()).hexdigest() if names else "",
            frozenset(before[n].name for n in names if n in before and n not in after),
            frozenset(after[n].name for n in names if n in after),
        )


def watch(
    old_root: str,
    new_root: str,
    panels: Sequence[str],
    patterns: Sequence[str],
    old: Sequence[Links],
    new: Sequence[Links],
) -> Watch:
    """What to look for; ``panels`` and ``patterns`` as :func:`prun_review.guarded.watch` has them, ``old``
    and ``new`` the links as the base and the head name them."""
    plain = Watch(old_root, new_root, guarded.watch(old_root, panels, patterns))
    names: set[str | None] = set()
    for root, trees in ((old_root, old), (new_root, new)):
        starts, watched = guarded.anchors(root, panels, patterns), guarded.watch(root, panels, patterns)
        found = links.reached(starts, watched, trees).names
        names |= found if trees is old else {plain.aligned(name) for name in found}
    return replace(plain, area=Area(frozenset(name for name in names if name)))


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
