"""Which pairs of a huge case are compared at all: bounded time and memory, the same from both sides.

Two lists, each of at most ``limit`` pairs: findings near each other in one file (only those can
match where both have a line), and findings that share a word or name, the rarest ones first.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence

from prun_review.tokens import Item


def shortlist(lefts: Sequence[Item], rights: Sequence[Item], reach: int, limit: int) -> list[int]:
    """The pairs worth comparing, as ``left place * len(rights) + right place``, ascending.

    ``reach`` is the most lines between two starts for a pair to be near.
    """
    return sorted(_near(lefts, rights, reach, limit) | _alike(lefts, rights, limit))


def _near(lefts: Sequence[Item], rights: Sequence[Item], reach: int, limit: int) -> set[int]:
    """Pairs of one file whose starts lie within ``reach`` lines, or within less where too many do."""
    at_left, at_right = _by_file(lefts), _by_file(rights)
    files = []
    for file in at_left.keys() & at_right.keys():
        files.append((_count(at_left[file], at_right[file], reach), file))
    found: set[int] = set()
    room = limit
    for _, file in sorted(files):
        for within in (reach, reach // 4, 0):
            count = _count(at_left[file], at_right[file], within)
            if count <= room:
                room -= count
                found.update(a * len(rights) + b for a, b in _within(at_left[file], at_right[file], within))
                break
    return found


def _by_file(items: Sequence[Item]) -> dict[tuple[str, bool], list[tuple[int, int]]]:
    """Start line and place of what has both file and line, ascending; of the old side of a change also by
    the old line, as two of that side are compared."""
    files: dict[tuple[str, bool], list[tuple[int, int]]] = {}
    for place, item in enumerate(items):
        if item.file and item.start is not None:
            files.setdefault((item.file, False), []).append((item.start, place))
        if item.file and item.was is not None:
            files.setdefault((item.file, True), []).append((item.was[0], place))
    return {file: sorted(starts) for file, starts in files.items()}


def _count(lefts: Sequence[tuple[int, int]], rights: Sequence[tuple[int, int]], within: int) -> int:
    starts = [start for start, _ in rights]
    return sum(bisect_right(starts, a + within) - bisect_left(starts, a - within) for a, _ in lefts)


def _within(
    lefts: Sequence[tuple[int, int]], rights: Sequence[tuple[int, int]], within: int
) -> Iterator[tuple[int, int]]:
    starts = [start for start, _ in rights]
    for start, a in lefts:
        for n in range(bisect_left(starts, start - within), bisect_right(starts, start + within)):
            yield a, rights[n][1]


_Key = tuple[str, str, str]
"""What two findings may share: kind, file (or which of them has one), word or name."""


def _alike(lefts: Sequence[Item], rights: Sequence[Item], limit: int) -> set[int]:
    """Pairs that share a word in one file, a word where one has no file, or a name across files.

    What is shared by fewer pairs comes first.  All that as many pairs share is taken or left
    together: a tie broken by spelling would make the two sides differ.
    """
    at_left, at_right = _postings(lefts, right=False), _postings(rights, right=True)
    cost = {key: len(at_left[key]) * len(at_right[key]) for key in at_left.keys() & at_right.keys()}
    most, used = 0, 0
    for pairs, times in sorted(Counter(cost.values()).items()):
        used += pairs * times
        if used > limit:
            break
        most = pairs
    return {
        a * len(rights) + b
        for key, pairs in cost.items()
        if pairs <= most
        for a in at_left[key]
        for b in at_right[key]
    }


def _postings(items: Sequence[Item], *, right: bool) -> dict[_Key, list[int]]:
    found: dict[_Key, list[int]] = {}
    for place, item in enumerate(items):
        for key in _keys(item, right):
            found.setdefault(key, []).append(place)
    return found


def _keys(item: Item, right: bool) -> Iterator[_Key]:
    """One finding's keys; ``right`` only turns "I have no file" into "the left one has"."""
    mine, theirs = ("right", "left") if right else ("left", "right")
    for word in item.words:
        if item.file:
            yield "word", item.file, word
            yield f"only {mine} has a file", "", word
        else:
            yield f"only {theirs} has a file", "", word
            yield "no file", "", word
    if item.file:
        for name in item.names:
            yield "name", "", name
