"""Which part of a change a unit is asked about, and how a part that is too large is split; pure.

Nothing is ever cut: over the limit a case becomes several, each about whole files.  Where it is split
depends on the paths around the place and not on a running sum, so a push that adds a file leaves most
parts as they were, and what was answered about those can be taken over.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from prun_review.change import READABLE, Listed
from prun_review.patterns import matcher

ASKABLE = (*READABLE, "mode")
"""Kinds of changed files that a reviewer can be asked about; of the others there is nothing to read."""


@dataclass(frozen=True, slots=True)
class Slice:
    """The changed files that one case, or one part of it, is about."""

    files: tuple[str, ...]
    """Sorted; a deleted one under the name that it had."""
    inlined: tuple[str, ...]
    """Those whose diff a prompt holds: all, or none where a single file is larger than the limit."""
    name: str = ""
    """The first of ``files`` where the case was split; empty where this is all of it."""


def matching(listing: Sequence[Listed], patterns: Sequence[str]) -> tuple[Listed, ...]:
    """The changed files that patterns name, all of them for no pattern; ``BriefError`` as of ``reads``."""
    matches = matcher(patterns)
    return tuple(entry for entry in listing if not patterns or matches(entry.path))


def cut(listing: Sequence[Listed], patterns: Sequence[str], limit: int) -> tuple[Slice, ...]:
    """The slices of a case, in the order of their first files; none where nothing that matches changed.

    ``limit``: characters of the diffs in one slice.  ``BriefError`` for a malformed pattern.
    """
    asked = [entry for entry in matching(listing, patterns) if entry.kind in ASKABLE]
    groups = [[entry] for entry in asked if entry.size > limit]
    groups += _split([entry for entry in asked if entry.size <= limit], limit)
    groups.sort(key=lambda group: group[0].path)
    made = []
    for group in groups:
        files = tuple(entry.path for entry in group)
        inlined = () if group[0].size > limit else files
        made.append(Slice(files, inlined, files[0] if len(groups) > 1 else ""))
    return tuple(made)


def _split(entries: list[Listed], limit: int) -> list[list[Listed]]:
    total = sum(entry.size for entry in entries)
    if total <= limit:
        return [entries] if entries else []
    at = _boundary(entries, total)
    return [*_split(entries[:at], limit), *_split(entries[at:], limit)]


def _boundary(entries: Sequence[Listed], total: int) -> int:
    """Before which entry to split: between folders rather than inside one, else by the path's hash.

    Only the middle half (by size) is looked at, which keeps the parts about three quarters full; where
    no file begins there, the place nearest to the middle is taken.
    """
    before, places = 0, []
    for i in range(1, len(entries)):
        before += entries[i - 1].size
        places.append((i, abs(2 * before - total)))
    middle = [i for i, off in places if 2 * off <= total]
    if not middle:
        return min(places, key=lambda place: place[1])[0]
    return min(middle, key=lambda i: _rank(entries[i - 1].path, entries[i].path))


def _rank(left: str, right: str) -> tuple[int, bytes]:
    """The folders that two neighbours share, then what is as good as random and always the same."""
    shared = 0
    for a, b in zip(left.split("/")[:-1], right.split("/")[:-1], strict=False):
        if a != b:
            break
        shared += 1
    return shared, hashlib.sha256(right.encode("utf-8", "surrogateescape")).digest()
