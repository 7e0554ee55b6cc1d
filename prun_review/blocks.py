"""Which lines head the blocks of a text.  Strings only, for any language.

A reviewer who means a line of a block often points to its heading: the signature, the key, the call.
A block is told by indentation (the items of a list count as deeper than the key that they stand under)
and by brackets and ``#if`` .. ``#endif``, where nothing is indented.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

_CLOSING = (")", "]", "}", "{")
_BRACKET = re.compile(r"[()\[\]{}]")
_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|endif)\b")
_WORD = re.compile(r"\w")


class _Block(NamedTuple):
    """A block that is open while lines are read."""

    level: int
    heads: tuple[int, ...]
    """A heading of several lines (a signature, decorators) counts as a whole."""
    holds: bool
    """Something stands below it; other lines only wait for their opening bracket."""


class _Line(NamedTuple):
    """A line that says something."""

    number: int
    text: str
    """Without the blanks around it."""
    level: int
    passed: bool
    """A comment, a directive or the end of a text may stand anywhere: it ends no block."""


def headings(lines: Sequence[str], numbers: Collection[int]) -> frozenset[int]:
    """The lines that head a block with one of the lines ``numbers`` in it, however deep."""
    said = [_line(n, text) for n, text in enumerate(lines, 1) if numbers and text.strip()]
    return frozenset(_by_indent(said, numbers) | _by_bracket(said, numbers))


def _line(number: int, text: str) -> _Line:
    bare = text.strip()
    passed = bare.startswith("#") or not (_WORD.search(bare) or bare.startswith(_CLOSING))
    return _Line(number, bare, _level(text), passed)


def _level(text: str) -> int:
    wide = text.expandtabs(8)
    bare = wide.lstrip()
    return len(wide) - len(bare) + bare.startswith("- ")


def _by_indent(said: Sequence[_Line], numbers: Collection[int]) -> set[int]:
    found: set[int] = set()
    blocks: list[_Block] = []
    plain = [line for line in said if not line.text.startswith("#")]
    below = {a.number for a, b in pairwise(plain) if b.level > a.level}
    texts = {line.number: line.text for line in said}
    before = 0
    for line in said:
        if line.number in numbers:
            for block in reversed(blocks):
                if block.heads[-1] in found:  # and so is what stands around it
                    break
                if block.holds and block.level < line.level:
                    found.update(block.heads)
        if line.passed:
            continue
        heads: tuple[int, ...] = (line.number,)
        holds = line.number in below
        closes = line.text.startswith(_CLOSING)
        # A lone line that is less deep (of a text of several lines) ends no block: nothing hangs on it.
        while blocks and blocks[-1].level >= line.level and (holds or closes or not blocks[-1].holds):
            above = blocks.pop()
            decorates = texts[above.heads[0]].startswith("@") and above.heads[-1] == before
            if above.level == line.level and (closes or decorates):
                heads = (*above.heads, line.number)
        blocks.append(_Block(line.level, heads, holds))
        before = line.number
    return found


def _by_bracket(said: Sequence[_Line], numbers: Collection[int]) -> set[int]:
    found: set[int] = set()
    open_ones: list[int] = []
    known = 0  # of them: they are found already
    before = 0
    for line in said:
        if line.number in numbers:
            found.update(open_ones[known:])
            known = len(open_ones)
        opened, closed = _brackets(line.text)
        del open_ones[max(0, len(open_ones) - closed) :]
        known = min(known, len(open_ones))
        head = line.number if _WORD.search(line.text) else before
        open_ones += [head] * opened
        before = before if line.text.startswith("#") else line.number
    return found


def _brackets(text: str) -> tuple[int, int]:
    """How many blocks a line opens for the lines below, and how many of those above it closes."""
    directive = _DIRECTIVE.match(text)
    if directive or text.startswith("#"):
        ends = directive is not None and directive[1] == "endif"
        return int(directive is not None and not ends), int(ends)
    opened = closed = 0
    for mark in _BRACKET.findall(text):
        if mark in "([{":
            opened += 1
        elif opened:
            opened -= 1
        else:
            closed += 1
    return opened, closed
