"""A change between two trees, as records: files, hunks, and how lines of one side map to the other.

Pure.  ``workspace`` takes a change with git and :mod:`prun_review.patch` reads git's output; this
module only answers questions about it.  Line numbers count from 1; *old* is the merge base at the old
path, *new* the head.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from prun_review.model import ChangedFile

READABLE = ("text", "link")
"""Kinds whose difference can be shown as lines."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """One hunk of a unified diff, context included."""

    old_start: int
    """First old line; where ``old_count`` is 0 the line after which the new ones were put, as in a diff."""
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[str, ...]
    """Lines without their ends, each after its mark: blank, ``+`` or ``-``."""
    section: str = ""
    """What git shows behind the second ``@@``."""

    def covers(self, side: str, first: int, last: int) -> bool:
        """Whether a stretch of one side (``old`` or ``new``) touches the hunk, context included."""
        start, count = (self.old_start, self.old_count) if side == "old" else (self.new_start, self.new_count)
        return first < start + max(count, 1) and last >= start


@dataclass(frozen=True)
class FileChange:
    """One changed file."""

    file: ChangedFile
    """What a run records of it: names, status, kind."""
    hunks: tuple[Hunk, ...] = ()
    """With three lines of context, in order; none where the kind is not readable."""
    identity: str = ""
    """Modes and blob ids of both sides in one string: no commit in it, so it survives a rebase."""

    @property
    def path(self) -> str:
        """Its name in the head; of a deleted file the name that it had."""
        return self.file.path

    @property
    def old_path(self) -> str:
        """Its name in the base; empty for an added file."""
        return self.file.old_path

    @cached_property
    def added(self) -> frozenset[int]:
        """The new lines that the change added."""
        return frozenset(new for mark, _, new in self._lines if mark == "+")

    @cached_property
    def deleted(self) -> frozenset[int]:
        """The old lines that the change took away."""
        return frozenset(old for mark, old, _ in self._lines if mark == "-")

    def numbered(self) -> Iterator[tuple[Hunk, tuple[tuple[int | None, int | None, str], ...]]]:
        """Every hunk with its lines: old number, new number (None on the side without it), marked text."""
        for hunk, walk in zip(self.hunks, self._walks, strict=True):
            lines = zip(walk, hunk.lines, strict=False)
            yield (
                hunk,
                tuple(
                    (None if mark == "+" else old, None if mark == "-" else new, text)
                    for (mark, old, new), text in lines
                ),
            )

    @cached_property
    def _lines(self) -> tuple[tuple[str, int, int], ...]:
        return tuple(step for walk in self._walks for step in walk[:-1])

    @cached_property
    def _walks(self) -> tuple[tuple[tuple[str, int, int], ...], ...]:
        """Of every hunk mark, old and new number of its lines (of the side without it the next one), and
        at last what follows it, without a mark."""
        return tuple(tuple(_walk(hunk)) for hunk in self.hunks)

    def to_new(self, old: int) -> int | None:
        """The new number of an old line; None for one that the change took away."""
        return None if old in self.deleted else _other(self._from_old, old)

    def to_old(self, new: int) -> int | None:
        """The old number of a new line; None for one that the change added."""
        return None if new in self.added else _other(self._from_new, new)

    def nearest_new(self, old: int) -> int:
        """Where an old line is, or would be, in the head; at least 1."""
        return max(1, _other(self._from_old, old))

    @cached_property
    def _from_old(self) -> tuple[tuple[int, int], ...]:
        """Old numbers with the new one of each, ascending, wherever their distance may change."""
        steps = ((old, new) for walk in self._walks for mark, old, new in walk if mark != "+")
        return ((1, 1), *steps)

    @cached_property
    def _from_new(self) -> tuple[tuple[int, int], ...]:
        steps = ((new, old) for walk in self._walks for mark, old, new in walk if mark != "-")
        return ((1, 1), *steps)

    def in_hunk(self, side: str, first: int, last: int) -> bool:
        """Whether a stretch of one side touches a hunk, context included."""
        return any(hunk.covers(side, first, last) for hunk in self.hunks)


def _walk(hunk: Hunk) -> Iterator[tuple[str, int, int]]:
    # A side without lines names the line before; counting goes on behind it.
    old = hunk.old_start + (hunk.old_count == 0)
    new = hunk.new_start + (hunk.new_count == 0)
    for line in hunk.lines:
        mark = line[:1]
        yield mark, old, new
        old += mark != "+"
        new += mark != "-"
    yield "", old, new


def _other(steps: tuple[tuple[int, int], ...], line: int) -> int:
    """The number on the other side, counted on from the last step at or before a line."""
    at, there = steps[max(0, bisect_right(steps, line, key=lambda step: step[0]) - 1)]
    return there + line - at


@dataclass(frozen=True)
class Change:
    """All files that differ between merge base and head, sorted by name."""

    files: tuple[FileChange, ...] = ()
    _by_path: Mapping[str, FileChange] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_path", {f.path: f for f in self.files})

    @cached_property
    def _by_old_path(self) -> dict[str, FileChange]:
        return {f.old_path: f for f in self.files if f.old_path}

    def at(self, path: str, side: str = "new") -> FileChange | None:
        """The changed file of that name on one side (``new`` or ``old``); None for an unchanged one."""
        if side == "old":
            return self._by_old_path.get(path)
        found = self._by_path.get(path)
        return found if found is None or found.file.status != "deleted" else None

    def named(self, path: str) -> FileChange | None:
        """The changed file of that :attr:`FileChange.path`, deleted ones too."""
        return self._by_path.get(path)

    def old_path(self, path: str) -> str:
        """The name in the base of a file of the head; empty for an added one."""
        found = self.at(path)
        return path if found is None else found.old_path

    def new_path(self, path: str) -> str:
        """The name in the head of a file of the base; of a deleted file the same name."""
        found = self.at(path, "old")
        return path if found is None else found.path

    def records(self) -> tuple[ChangedFile, ...]:
        """What a run records of it."""
        return tuple(f.file for f in self.files)


@dataclass(frozen=True, slots=True)
class Listed:
    """A changed file as collection needs it: enough to split a case, the same on every worker."""

    path: str
    kind: str
    size: int
    """Characters of its diff as a prompt would hold it."""


def listing(change: Change, sizes: Iterable[int]) -> tuple[Listed, ...]:
    """The listing of a change, given the size of each file's diff in its order."""
    return tuple(Listed(f.path, f.file.kind, size) for f, size in zip(change.files, sizes, strict=True))
