"""Quotes as reviewers copy them, and where they stand in a text.  Strings only.

White space is compared loosely (runs as one blank, blank lines left out), since reviewers re-indent.
A quote of fewer than four visible characters or two letters and digits (``)``, ``x=``) is found
everywhere and counts as none.  Of what is to prove something more is asked, see :func:`telling`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MIN_VISIBLE = 4
MIN_WORD = 2
MIN_TELLING = 12
"""Visible characters of a part of a line that proves something."""
MIN_LINE = 6
"""Visible characters of a whole line that does."""
MOST = 100
"""Places of one quote that are looked at on each side of a line; what stands more often tells nothing."""

Span = tuple[int, int]
"""First and last line."""

_WORD = re.compile(r"\w")
_NAME = re.compile(r"_*[^\W\d_]\w*")
_RULER = re.compile(r"([\W_])\1{2,}")
"""One mark again and again, as in a line that is drawn."""
_GUTTER = re.compile(r"\s*\d+\s*[:|\t\u2192]\s?")
"""The line number that file viewers print before a line: ``  12\u2192text``, ``12: text``."""
_ROW = re.compile(r"\s*(?:\d+\s+)?\d*\s*\|([ +-]?)(.*)", re.DOTALL)
"""A line of a numbered diff: ``12 13 | text``, ``12    |-text``, ``   13 |+text``."""
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})")
"""How a prompt shows a character of a diff that nobody would see."""
_NO_LINE = ("@@ ", "diff --git ", "+++ ", "--- ", "\\ No newline", "```")
"""How lines of a diff begin that are no source text."""


class Source:
    """The lines of a file, without blank ones, white space collapsed, as one searchable text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.numbers: list[int] = []
        self.offsets: list[int] = []
        kept: list[str] = []
        at = 0
        for number, line in enumerate(lines, 1):
            text = " ".join(line.split())
            if text:
                self.numbers.append(number)
                self.offsets.append(at)
                kept.append(text)
                at += len(text) + 1
        self.text = "\n".join(kept)

    @property
    def count(self) -> int:
        """How many lines the file has."""
        return len(self.lines)

    def part(self, span: Span) -> str:
        """The text of some lines."""
        ends = *self.offsets, len(self.text) + 1
        first, last = bisect_left(self.numbers, span[0]), bisect_right(self.numbers, span[1])
        return self.text[ends[first] : ends[last] - 1] if first < last else ""

    def span(self, offset: int, needle: str) -> Span:
        """First and last line of ``needle`` at ``offset``."""
        return self._number(offset), self._number(offset + len(needle) - 1)

    def _number(self, offset: int) -> int:
        return self.numbers[bisect_right(self.offsets, offset) - 1]

    def nearest(self, needle: str, line: int) -> Span | None:
        """First and last line of the occurrence nearest to ``line``; the earlier of two."""
        return min(self.spans(needle, line, 1), key=lambda span: gap(span, line), default=None)

    def spans(self, needle: str, line: int, most: int = MOST) -> list[Span]:
        """Where ``needle`` stands, ascending: up to ``most`` places before ``line`` and from it on."""
        index = bisect_left(self.numbers, line)
        start = self.offsets[index] if index < len(self.offsets) else len(self.text)
        before: list[Span] = []
        after: list[Span] = []
        at = start
        while len(before) < most and (at := self.text.rfind(needle, 0, max(0, at - 1 + len(needle)))) >= 0:
            before.append(self.span(at, needle))
            at = self.offsets[bisect_right(self.offsets, at) - 1]  # one place a line is enough
        at = start
        while len(after) < most and (at := self.text.find(needle, at)) >= 0:
            after.append(self.span(at, needle))
            index = bisect_right(self.offsets, at)
            at = self.offsets[index] if index < len(self.offsets) else len(self.text)
        return [*reversed(before), *after]


def gap(span: Span, line: int) -> int:
    """Lines between a place and a line; 0 where it stands on it."""
    return max(span[0] - line, line - span[1], 0)


def touches(numbers: frozenset[int], span: Span) -> bool:
    """Whether one of the lines ``numbers`` is in a place."""
    first, last = span
    if last - first > len(numbers):
        return any(first <= number <= last for number in numbers)
    return any(number in numbers for number in range(first, last + 1))


@dataclass(frozen=True, slots=True)
class Needle:
    """One reading of a quote: what to search on each side of a change."""

    new: str
    """Empty: nothing of the quote belongs there."""
    old: str

    def on(self, side: str) -> str:
        """What to search on ``new`` or ``old``."""
        return self.old if side == "old" else self.new


def needles(quote: str | None, *, diff: bool = False) -> tuple[Needle, ...]:
    """What to search for, the most literal reading first; empty where nothing usable is quoted.

    ``diff``: the quote may also be copied from a diff, with its line numbers and marks.
    """
    made = _readings(quote or "", diff)
    if diff and _ESCAPED.search(quote or ""):
        made += _readings(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), quote or ""), diff)
    return tuple(dict.fromkeys(needle for needle in made if needle.new or needle.old))


def _readings(quote: str, diff: bool) -> list[Needle]:
    lines = [line for line in re.split(r"\r\n?|\n", quote) if line.strip()]
    gutters = [_GUTTER.match(line) for line in lines]
    bare = [line.strip().strip("`") for line in lines if not line.lstrip().startswith("```")]
    readings = [lines, bare]
    if lines and all(gutters):
        readings.append([line[g.end() :] for line, g in zip(lines, gutters, strict=True) if g])
    made = [Needle(text, text) for text in map(_needle, readings)]
    if diff:
        made += _of_diff([line for line in lines if not line.lstrip().startswith(_NO_LINE)])
    return made


def _of_diff(lines: Sequence[str]) -> Iterable[Needle]:
    """The readings of lines that come from a diff: numbered, or with nothing but their marks."""
    rows = [_ROW.fullmatch(line) for line in lines]
    if lines and all(rows):
        yield _sided([(row[1], row[2]) for row in rows if row])
    marked = [(line[0], line[1:]) if line[0] in "+-" else (" ", line) for line in lines]
    if any(mark != " " for mark, _ in marked):
        yield _sided(marked)


def _sided(rows: Sequence[tuple[str, str]]) -> Needle:
    """What marked lines say of each side.  Where they are only added, or only taken away, the quote
    belongs to that side alone: of the other it holds no more than context."""
    marks = {mark for mark, _ in rows}
    return Needle(
        "" if "-" in marks and "+" not in marks else _needle(text for mark, text in rows if mark != "-"),
        "" if "+" in marks and "-" not in marks else _needle(text for mark, text in rows if mark != "+"),
    )


def _needle(lines: Iterable[str]) -> str:
    """Lines as a :class:`Source` holds them; empty where they are too little to tell a place."""
    text = "\n".join(text for text in (" ".join(line.split()) for line in lines) if text)
    return text if _usable(text) else ""


def _usable(needle: str) -> bool:
    return len(re.sub(r"\s", "", needle)) >= MIN_VISIBLE and len(_WORD.findall(needle)) >= MIN_WORD


def telling(quote: str | None, source: Source, side: str = "new", *, diff: bool = False) -> bool:
    """Whether a quote that stands in a text can prove something: whole words of it, twelve visible
    characters or more (what only draws a line is one), or a whole line of two names (``import os``; no
    ``return``, no ``else:``)."""
    return any(_tells(needle.on(side), source.text) for needle in needles(quote, diff=diff))


def _tells(needle: str, text: str) -> bool:
    drawn = _RULER.sub(r"\1", needle)
    visible = sum(char.isprintable() and not char.isspace() for char in drawn)
    names = len(_NAME.findall(needle))
    at = text.find(needle) if needle else -1
    for _ in range(MOST):
        if at < 0:
            return False
        end = at + len(needle)
        before, after = text[max(0, at - 1) : at], text[end : end + 1]
        torn = _inside(before, needle[0]) or _inside(needle[-1], after)
        line = before in ("", "\n") and after in ("", "\n")
        if not torn and names and visible >= MIN_TELLING:
            return True
        if line and names > 1 and visible >= MIN_LINE:
            return True
        at = text.find(needle, at + 1)
    return False


def _inside(left: str, right: str) -> bool:
    """Whether a word goes on from one character to the next."""
    return bool(left and right and _WORD.match(left) and _WORD.match(right))


def within(quote: str, others: Iterable[str]) -> bool:
    """Whether one of others holds a quote, white space aside."""
    bare = "".join(quote.split())
    return any(bare in "".join(other.split()) for other in others)
