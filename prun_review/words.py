"""Counts in words, the same everywhere: one unit, two units."""

from __future__ import annotations


def number(n: int, word: str, many: str = "") -> str:
    """``1 unit``, ``2 units``; ``many`` where the plural is not the word with an s."""
    return f"{n:d} {word if n == 1 else many or word + 's'}"
