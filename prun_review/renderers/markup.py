"""Headings, tables and quotes in Markdown, line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prun_review.renderers.escape import markdown, plain

LONGEST = 20_000
"""Characters of one text of an answer; what is more stands in the JSON report."""


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
