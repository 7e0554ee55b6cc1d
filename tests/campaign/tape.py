"""A row of bytes that a generator reads its decisions from: fast, and it shrinks to the simplest run.

Every decision reads one byte, and a zero always means the first, plainest way.  So hypothesis, which makes
bytes smaller while a check still fails, takes out of a failing run whatever has no part in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

LENGTH = 400
"""Bytes of a tape; a run reads 60 to 250 of them."""


class Tape:
    """Decisions, one after the other; beyond the end every one is the plainest."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def below(self, n: int) -> int:
        """0 to n - 1."""
        byte = self._content[self._at] if self._at < len(self._content) else 0
        self._at += 1
        return byte % n

    def pick(self, options: Sequence[T]) -> T:
        """One of the options; the first is the plainest, and a repeated one is more frequent."""
        return options[self.below(len(options))]

    def once_in(self, n: int) -> bool:
        """True once in ``n`` times."""
        return self.below(n) == n - 1
