"""Headings, tables and quotes in Markdown, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from prun_review.renderers.escape import guard, markdown, plain

LONGEST = 20_000
"""Characters of one text of an answer; what is more stands in the JSON report."""


def page(lines: Iterable[str]) -> str:
    """The lines as a whole page, without two empty lines in a row, with a line feed at the end."""
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return guard("\n".join(kept).strip("\n")) + "\n"


def title(text: str, level: int = 2) -> Iterator[str]:
    """A heading, with an empty line before and after it; ``text`` is already escaped."""
    yield from ("", f"{'#' * level} {text}", "")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table; the cells are already escaped."""
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def quoted(text: str) -> Iterator[str]:
    """Prose of an answer as a block quote, line by line."""
    kept = text[:LONGEST]
    for line in plain(kept).strip("\n").split("\n"):
        yield f"> {markdown(line, LONGEST)}".rstrip()
    if len(text) > LONGEST:
        yield f"> (cut: {len(text) - LONGEST} more characters in the JSON report)"
    yield ""
