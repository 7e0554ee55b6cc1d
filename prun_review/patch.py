"""What git prints of a change, read; and one file's change as a reviewer sees it.  Pure.

Git is asked twice.  The first answer pairs names (``git diff-tree -r -M -z --raw``); the second holds
the lines (``git diff-tree -p``) of two trees in which every pair has a number for a name, so nothing
that a file is called can look like a part of the patch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from prun_review.change import READABLE, FileChange, Hunk

_FILE = re.compile(rb"diff --git a/(\d+) b/\d+\n?")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", re.DOTALL)
_UNENDED = b"\\"
"""How git's line ``\\ No newline at end of file`` starts."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One record of ``--raw``: which name became which."""

    old: bytes
    """Empty where there is none, as ``new``."""
    new: bytes
    similarity: int = 0
    """Per cent, of a renamed file."""


@dataclass(frozen=True, slots=True)
class Section:
    """What a patch says of one pair."""

    hunks: tuple[Hunk, ...] = ()
    binary: bool = False
    note: str = ""
    """What the lines alone do not show: how they end."""


def pairs(raw: bytes) -> tuple[Pair, ...]:
    """The records of ``git diff-tree -r -M -z --raw`` (or ``-C``), in their order."""
    parts = iter(raw.split(b"\0")[:-1])
    found = []
    for meta in parts:
        status = meta.split(b" ")[-1]
        name = next(parts)
        if status[:1] in (b"R", b"C"):
            found.append(Pair(name, next(parts), int(status[1:])))
        else:
            found.append(Pair(b"" if status == b"A" else name, b"" if status == b"D" else name))
    return tuple(found)


def parse(patch: bytes) -> dict[int, Section]:
    """The sections of ``git diff-tree -p`` over numbered files, by number.

    Git prints a file that became a link in two sections, which are one here.
    """
    found: dict[int, Section] = {}
    lines = patch.split(b"\n")
    at = 0
    while at < len(lines):
        head = _FILE.fullmatch(lines[at])
        at += 1  # what is no head stands between it and the hunks: modes and ids, known already
        if head:
            section, at = _section(lines, at)
            number = int(head[1])
            found[number] = _joined(found[number], section) if number in found else section
    return found


def _section(lines: list[bytes], at: int) -> tuple[Section, int]:
    """The section whose header begins at a line, and where the next one begins."""
    hunks: list[Hunk] = []
    ends = _Ends()
    binary = False
    while at < len(lines) and not lines[at].startswith(b"diff --git "):
        head = _HUNK.fullmatch(lines[at])
        binary = binary or lines[at].startswith(b"Binary files ")
        at += 1
        if head:
            hunk, at = _hunk(head, lines, at, ends)
            hunks.append(hunk)
    return Section(tuple(hunks), binary, ends.note()), at


def _hunk(head: re.Match[bytes], lines: list[bytes], at: int, ends: _Ends) -> tuple[Hunk, int]:
    """One hunk, told by the counts in its head: its lines may look like anything."""
    old_start, old_count, new_start, new_count = (int(head[n] or b"1") for n in (1, 2, 3, 4))
    old = new = 0
    texts: list[str] = []
    while old < old_count or new < new_count or lines[at].startswith(_UNENDED):
        line = lines[at]
        at += 1
        mark = line[:1]
        if mark == _UNENDED:
            ends.unended += [side for side, other in (("base", "+"), ("head", "-")) if texts[-1][0] != other]
            continue
        old += mark != b"+"
        new += mark != b"-"
        ends.crlf[mark] = ends.crlf.get(mark, 0) + line.endswith(b"\r")
        ends.all[mark] = ends.all.get(mark, 0) + 1
        texts.append(line.removesuffix(b"\r").decode("utf-8", errors="replace"))
    section = head[5].removesuffix(b"\r").decode("utf-8", errors="replace")
    return Hunk(old_start, old_count, new_start, new_count, tuple(texts), section), at


@dataclass
class _Ends:
    """How the lines of a section end: the difference may be nothing else."""

    crlf: dict[bytes, int] = field(default_factory=dict)
    all: dict[bytes, int] = field(default_factory=dict)
    unended: list[str] = field(default_factory=list)

    def note(self) -> str:
        """Empty where all lines end alike."""
        told = []
        if 0 < sum(self.crlf.values()) < sum(self.all.values()) - len(set(self.unended)):
            named = ((b"-", "deleted"), (b"+", "added"), (b" ", "other"))
            parts = [f"{self.crlf[m]} of {self.all[m]} {what}" for m, what in named if m in self.all]
            told.append(f"CRLF ends {', '.join(parts)} lines")
        if len(set(self.unended)) == 1:
            told.append(f"only in the {self.unended[0]} no line end follows the last line")
        return "; ".join(told)


def _joined(gone: Section, come: Section) -> Section:
    """A whole file taken away and another put in its place, as one hunk."""
    lines = tuple(line for section in (gone, come) for hunk in section.hunks for line in hunk.lines)
    old = sum(line.startswith("-") for line in lines)
    new = len(lines) - old
    hunks = (Hunk(min(old, 1), old, min(new, 1), new, lines),) if lines else ()
    return Section(hunks, gone.binary or come.binary, "; ".join(filter(None, (gone.note, come.note))))


def text_of(file: FileChange) -> str:
    """One file's change as a reviewer sees it: a head with its name and what happened to it, then each
    line as ``old new |mark text`` with its numbers in the base and in the head; ends with a line end."""
    out = [_head(file)]
    ends = (n for h in file.hunks for n in (h.old_start + h.old_count, h.new_start + h.new_count))
    width = len(str(max(ends, default=0)))
    for hunk, lines in file.numbered():
        section = f" {hunk.section}" if hunk.section else ""
        out.append(f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@{section}")
        out += (f"{old or '':>{width}} {new or '':>{width}} |{line}" for old, new, line in lines)
    return "\n".join([*out, ""])


def _head(file: FileChange) -> str:
    record = file.file
    told = [record.status]
    if record.status == "renamed":
        told = [f"renamed from {record.old_path}"]
    if record.kind not in READABLE or not file.hunks:
        told.append(_WHY_EMPTY.get(record.kind, "no line differs"))
    else:
        told += [record.kind] * (record.kind != "text") + [f"+{record.added} -{record.deleted}"]
    if record.note:
        told.append(record.note)
    return f"=== {record.path} ({', '.join(told)})"


_WHY_EMPTY = {
    "binary": "binary: no lines to show",
    "lfs": "an LFS pointer: its content is not here",
    "submodule": "a submodule: its content is not here",
    "mode": "only its mode",
    "masked": "no line that is shown differs",
    "withheld": "withheld: sent to nobody",
    "excluded": "left out: its content is not shown",
}
