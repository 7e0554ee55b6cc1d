"""Lines and tables of a given width, in terminal columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prun_review.renderers.escape import clip, columns, guard, one_line

GAP = 2
NARROWEST = 4


def wrap(text: str, width: int, indent: str = "", hanging: str = "  ") -> list[str]:
    """``text`` (one line, already plain) as lines of at most ``width`` columns.

    Lines after the first are indented by ``hanging`` more; a word that is too long is split.
    """
    lines, current, empty = [], indent, True
    for word in text.split():
        while True:
            joined = current + word if empty else f"{current} {word}"
            if columns(joined) <= width:
                current, empty = joined, False
                break
            if empty:
                head = _fitting(word, width - columns(current))
                lines.append(current + head)
                word = word[len(head) :]
            else:
                lines.append(current)
            current, empty = indent + hanging, True
            if not word:
                break
    return lines if empty and lines else [*lines, current]


def _fitting(word: str, room: int) -> str:
    """The longest head of ``word`` that takes at most ``room`` columns; never empty."""
    for end, char in enumerate(word):
        room -= columns(char)
        if room < 0 and end:
            return word[:end]
    return word


def table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """A table without lines; the widest columns are cut until it fits into ``width``."""
    from tabulate import tabulate  # 56 ms to import: only where a table is drawn

    cells = [[one_line(cell, width) for cell in row] for row in (header, *rows)]
    widths = [max(columns(row[n]) for row in cells) for n in range(len(header))]
    while sum(widths) + GAP * (len(widths) - 1) > width and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    fitted = [[clip(cell, widths[n]) for n, cell in enumerate(row)] for row in cells]
    align = ["right" if _numbers(row[n] for row in cells[1:]) else "left" for n in range(len(header))]
    # The header goes in as a row: as a header tabulate would widen every column by two.
    text = tabulate(fitted, tablefmt="plain", disable_numparse=True, colalign=align)
    return [line.rstrip() for line in text.splitlines()]


def _numbers(cells: Iterable[str]) -> bool:
    return all(cell[:1].isdigit() or cell[:1] in "-$" for cell in cells)


class Page:
    """Lines collected from foreign and own text, all of them plain and within ``width``."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._lines: list[str] = []
        self._whole: set[int] = set()

    def section(self, title: str) -> None:
        """An empty line and a title."""
        self._lines += ["", one_line(title, self.width)]

    def line(self, text: str, indent: int = 2, limit: int = 4000) -> None:
        """``text`` wrapped over as many lines as it needs, of at most ``limit`` columns in all."""
        self._lines += wrap(one_line(text, limit), self.width, " " * indent)

    def short(self, text: str, indent: int = 2, label: str = "") -> None:
        """``text`` on one line, cut at the width; ``label`` (plain) before it keeps its spaces."""
        head = " " * indent + label
        self._lines.append(head + one_line(text, self.width - len(head)))

    def whole(self, text: str, indent: int = 2, limit: int = 4000) -> None:
        """``text`` on one line of any length: a path or a command, which is of use only in one piece."""
        self._whole.add(len(self._lines))
        self._lines.append(" " * indent + one_line(text, limit))

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], indent: int = 2) -> None:
        """A table; see :func:`table`."""
        self._lines += [" " * indent + line for line in table(header, rows, self.width - indent)]

    def text(self) -> str:
        """The page, with a line feed at the end."""
        # guard again: wrapping and joining can put a mark at the start of a line
        lines = (
            guard(line) if n in self._whole else clip(guard(line), self.width)
            for n, line in enumerate(self._lines)
        )
        return "\n".join(lines).strip("\n") + "\n"
