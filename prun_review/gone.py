"""What a change takes away without putting anything in its place.  Pure.

Such code has no line in the head.  Who reviews the head can only point to what is left of it: the lines
around, or the heading of the block that it was taken from.  Lines that others replace are not gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from prun_review.change import FileChange
from prun_review.quotes import Span, touches

AROUND = 3
"""Lines around what is gone in which a finding may be about it: the context that a diff shows."""
_SURELY_NO_CODE = ("# ", "// ", "/* ", "<!-- ")
_HARDLY_CODE = ("#", "//", "/*", "*", "--", "<!--", ";", "%")
"""How comments begin: a line that is gone must be one, one that came in its place may be."""
_CLOSING = (")", "]", "}", "{")


@dataclass(frozen=True)
class Gone:
    """Where code of a file is gone without replacement, in lines of the head."""

    zones: tuple[Span, ...] = ()
    """The lines around each such place."""
    headings: frozenset[int] = frozenset()
    """Headings of the blocks that it was taken from."""

    def near(self, span: Span) -> str:
        """How a stretch of lines stands to it; empty for not at all."""
        if any(first <= span[1] and span[0] <= last for first, last in self.zones):
            return "beside it"
        return "in the block that it heads" if touches(self.headings, span) else ""


def missing(file: FileChange, lines: Sequence[str]) -> Gone:
    """What of a changed file is gone; ``lines`` are those of the head."""
    gaps = list(_gaps(file))
    return Gone(
        tuple((first - AROUND, last + AROUND) for first, last, _ in gaps),
        _headings(lines, {first: indent for first, _, indent in gaps}),
    )


@dataclass
class _Run:
    """Lines of a diff that follow each other, gone or come."""

    at: int
    """The line of the head that follows what stands before."""
    gone: list[tuple[int, str]] = field(default_factory=list)
    come: list[tuple[int, str]] = field(default_factory=list)


def _runs(file: FileChange) -> Iterator[_Run]:
    for hunk, rows in file.numbered():
        run = _Run(hunk.new_start + (hunk.new_count == 0))
        for old, new, text in rows:
            if new is None and old is not None:
                run.gone.append((old, text[1:]))
            elif old is None and new is not None:
                run.come.append((new, text[1:]))
            else:
                if run.gone or run.come:
                    yield run
                run = _Run((new or 0) + 1)
        if run.gone or run.come:
            yield run


def replaced(file: FileChange) -> Iterator[tuple[int, int]]:
    """Every old line that is gone where others came, with the line of the head that stands in its place."""
    for run in _runs(file):
        if run.come:
            yield from ((old, run.come[min(n, len(run.come) - 1)][0]) for n, (old, _) in enumerate(run.gone))


def _gaps(file: FileChange) -> Iterator[tuple[int, int, int]]:
    """First and last line of the head at each place where more code is gone than came, and its depth."""
    for run in _runs(file):
        gone = [t for _, t in run.gone if t.strip() and not t.lstrip().startswith(_SURELY_NO_CODE)]
        come = [t for _, t in run.come if t.strip() and not t.lstrip().startswith(_HARDLY_CODE)]
        if len(gone) > len(come):
            first, last = (run.come[0][0], run.come[-1][0]) if run.come else (run.at, run.at - 1)
            yield first, last, min(map(_indent, gone))


def _indent(text: str) -> int:
    wide = text.expandtabs(8)
    return len(wide) - len(wide.lstrip())


def _headings(lines: Sequence[str], gaps: dict[int, int]) -> frozenset[int]:
    """Lines that enclose the gaps, told by indentation: of each block the one that it hangs on.

    A heading of several lines (a signature, decorators) counts as a whole.
    """
    found: set[int] = set()
    open_blocks: list[tuple[int, tuple[int, ...]]] = []
    for number in range(1, len(lines) + 2):
        if number in gaps:
            found.update(n for indent, heads in open_blocks if indent < gaps[number] for n in heads)
        text = lines[number - 1] if number <= len(lines) else ""
        if not text.strip():
            continue
        indent = _indent(text)
        heads: tuple[int, ...] = (number,)
        while open_blocks and open_blocks[-1][0] >= indent:
            level, above = open_blocks.pop()
            closes = text.lstrip().startswith(_CLOSING)
            decorates = lines[above[0] - 1].lstrip().startswith("@") and above[-1] == number - 1
            if level == indent and (closes or decorates):
                heads = (*above, number)
        open_blocks.append((indent, heads))
    return frozenset(found)
