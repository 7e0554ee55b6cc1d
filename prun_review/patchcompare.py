"""Patches of several executors for one case, compared so that a person can choose.  Pure.

All of them are made from the same base, so lines are told by their numbers there.  Git writes the full id of
what a file became: equal ids are equal files, also where there are no lines to compare.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from prun_review.publicnames import named
from prun_review.written import Check, Patch, Touched

SAME, OVERLAP, ALONE = "same", "overlap", "alone"

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_INDEX = re.compile(rb"index [0-9a-f]+\.\.([0-9a-f]+)")
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))


@dataclass(frozen=True, slots=True)
class Block:
    """A run of lines that were taken away, with what was put in their place."""

    start: int
    """First of the lines taken away, from 1; where none was, the line of the base that it follows."""
    gone: tuple[bytes, ...]
    come: tuple[bytes, ...]

    @property
    def span(self) -> tuple[int, int]:
        """What it covers in the base, in half lines: an insertion lies between two lines."""
        if not self.gone:
            return 2 * self.start + 1, 2 * self.start + 1
        return 2 * self.start, 2 * (self.start + len(self.gone) - 1)

    def meets(self, other: Block) -> bool:
        """Whether both change the same lines, or insert at the same place."""
        return self.span[0] <= other.span[1] and other.span[0] <= self.span[1]


@dataclass(frozen=True, slots=True)
class Changed:
    """What one patch does to one file."""

    blob: str
    """Full id of what it became; empty where only its mode or its name changed."""
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the patches that are compared."""

    name: str
    """Of its executor, with the repeat where there are several."""
    patch: Patch
    text: bytes
    """``change.patch``."""
    checks: tuple[Check, ...] = ()
    place: str = ""
    """Where the patch lies, relative to the trusted root; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Two patches in one file."""

    path: str
    left: str
    right: str
    outcome: str
    """``same``: it became the same file; ``overlap``: both change some lines, its mode or its name, and each
    in its way; ``alone``: neither touches what the other changed differently."""
    same: tuple[str, ...] = ()
    """Blocks that both change alike, as ``12-14`` of the base, or ``after 12``."""
    differ: tuple[str, ...] = ()
    """Places where both change the same lines in different ways, as the left one tells them."""


@dataclass(frozen=True, slots=True)
class Compared:
    """All of it: who touched what, and where they agree."""

    sides: tuple[Side, ...]
    files: Mapping[str, tuple[str, ...]]
    """Every path touched -> what each side did to it (a status of :class:`~prun_review.written.Touched`), in
    the order of ``sides``; empty where it did nothing."""
    meetings: tuple[Meeting, ...]
    """For every two sides each file that both touch."""
    note: str = ""
    """Why lines cannot be compared; else empty."""

    @property
    def shared(self) -> tuple[str, ...]:
        """Paths that every side touches."""
        return tuple(path for path, states in self.files.items() if all(states))


def compare(sides: Sequence[Side]) -> Compared:
    """The comparison of two or more patches; those of different bases are compared by their files only."""
    touched = [{f.path: f for f in side.patch.files} for side in sides]
    paths = sorted({path for files in touched for path in files})
    files = {path: tuple(mine[path].status if path in mine else "" for mine in touched) for path in paths}
    if len({side.patch.base for side in sides}) > 1:
        return Compared(tuple(sides), files, (), "they start from different commits")
    changed = [parse(side.text) for side in sides]
    meetings = [
        _meeting(
            (sides[a].name, sides[b].name),
            (touched[a][path], touched[b][path]),
            (changed[a].get(path), changed[b].get(path)),
        )
        for a, b in combinations(range(len(sides)), 2)
        for path in paths
        if files[path][a] and files[path][b]
    ]
    return Compared(tuple(sides), files, tuple(meetings))


def _meeting(
    names: tuple[str, str],
    files: tuple[Touched, Touched],
    found: tuple[Changed | None, Changed | None],
) -> Meeting:
    path, (left, right) = files[0].path, found
    alike = (files[0].mode, files[0].old_path) == (files[1].mode, files[1].old_path)
    if left is None or right is None:
        # Without lines nothing says that they agree.
        return Meeting(path, *names, OVERLAP, differ=("the whole file",))
    if alike and left.blob == right.blob and left.blocks == right.blocks:
        return Meeting(path, *names, SAME, same=tuple(map(_told, left.blocks)))
    same = [block for block in left.blocks if block in right.blocks]
    others = [block for block in right.blocks if block not in same]
    differ = [b for b in left.blocks if b not in same and any(b.meets(o) for o in others)]
    whole = not alike or not left.blocks or not right.blocks
    told = ("the whole file",) if whole else tuple(map(_told, differ))
    return Meeting(path, *names, OVERLAP if told else ALONE, tuple(map(_told, same)), told)


def _told(block: Block) -> str:
    if not block.gone:
        return f"after {block.start}"
    last = block.start + len(block.gone) - 1
    return str(block.start) if last == block.start else f"{block.start}-{last}"


# --- what git wrote ---------------------------------------------------------------------------


def parse(text: bytes) -> dict[str, Changed]:
    """What a patch of ``git diff --full-index`` does to each file, by the name that it has then."""
    found: dict[str, Changed] = {}
    lines = text.split(b"\n")
    at = 0
    while at < len(lines):
        if not lines[at].startswith(b"diff --git "):
            at += 1
            continue
        names, blob, at = _header(lines, at)
        blocks: list[Block] = []
        while at < len(lines) and (hunk := _HUNK.match(lines[at])):
            counts = (int(hunk[1]), int(hunk[2] or b"1"), int(hunk[3] or b"1"))
            at = _hunk(counts, lines, at + 1, blocks)
        found[names] = Changed(blob, tuple(blocks))
    return found


def _header(lines: Sequence[bytes], at: int) -> tuple[str, str, int]:
    """Name and blob of the file whose part begins at a line, and where its hunks begin or it ends."""
    name, blob = _same_name(lines[at].removeprefix(b"diff --git ")), ""
    at += 1
    while at < len(lines) and not lines[at].startswith((b"diff --git ", b"@@ ")):
        line = lines[at]
        at += 1
        if match := _INDEX.match(line):
            blob = match[1].decode()
        elif line.startswith((b"rename to ", b"copy to ")):
            name = _unquoted(line.split(b" to ", 1)[1])
        elif line == b"GIT binary patch":
            while at < len(lines) and not lines[at].startswith(b"diff --git "):
                at += 1
    return named(name), blob, at


def _same_name(both: bytes) -> bytes:
    """The name in ``a/NAME b/NAME``, which is the same twice wherever it is not told again below."""
    if both.startswith(b'"'):
        return _unquoted(both[: len(both) // 2]).removeprefix(b"a/")
    return both[: len(both) // 2].removeprefix(b"a/")


def _unquoted(name: bytes) -> bytes:
    if not (name.startswith(b'"') and name.endswith(b'"')):
        return name
    return _ESCAPE.sub(_unescape, name[1:-1])


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8) & 0xFF if len(code) == 3 else _ESCAPED[code[0]]])


def _hunk(counts: tuple[int, int, int], lines: Sequence[bytes], at: int, blocks: list[Block]) -> int:
    """Add the blocks of one hunk, told by the counts in its head: its lines may look like anything."""
    start, old, new = counts
    number = start if old else start + 1  # of the next line of the base
    gone: list[bytes] = []
    come: list[bytes] = []

    def close() -> None:
        if gone or come:
            blocks.append(Block(number - len(gone) - (not gone), tuple(gone), tuple(come)))
        gone.clear()
        come.clear()

    while at < len(lines) and (old > 0 or new > 0 or lines[at].startswith(b"\\")):
        mark, line = lines[at][:1], lines[at][1:]
        at += 1
        if mark == b"-":
            gone.append(line)
            old, number = old - 1, number + 1
        elif mark == b"+":
            come.append(line)
            new -= 1
        elif mark == b"\\":
            (come or gone or [b""])[-1] += b"\n\\"  # no line end: another line than one with it
        else:
            close()
            old, new, number = old - 1, new - 1, number + 1
    close()
    return at
