"""Lists of lines that every report shows alike, as a page and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from prun_review.renderers.escape import markdown
from prun_review.renderers.layout import Page

LIMIT = 800
"""Columns of one entry on a page."""


@dataclass(frozen=True, slots=True)
class Point:
    """One entry of a list, in our words and in foreign ones; nothing in it is escaped."""

    text: str
    under: Sequence[Point] = ()
    """What belongs to it."""


def points(texts: Iterable[str]) -> list[Point]:
    """A point for each line."""
    return [Point(text) for text in texts]


def put(page: Page, entries: Sequence[Point], most: int, indent: int = 2) -> None:
    """The first ``most`` entries as lines of a page, the same for what belongs to each; the rest counted."""
    for entry in entries[:most]:
        page.line(entry.text, indent, LIMIT)
        put(page, entry.under, most, indent + 2)
    if len(entries) > most:
        page.line(f"and {len(entries) - most} more in the report", indent)


def bullets(entries: Sequence[Point], most: int = 1000, indent: int = 0, limit: int = 2000) -> Iterator[str]:
    """The same as a Markdown list, each entry cut to ``limit`` columns."""
    pad = "  " * indent
    for entry in entries[:most]:
        yield f"{pad}- {markdown(entry.text, limit)}"
        yield from bullets(entry.under, most, indent + 1, limit)
    if len(entries) > most:
        yield f"{pad}- and {len(entries) - most} more in the JSON report"
