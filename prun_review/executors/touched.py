"""What a program's own events say of the files that its model looked at, for ``Reading.touched``.

Only the program's account counts, never the model's words: a model that was talked into "I read them
all" has no such events.  They tell where it looked, not whether it thought.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MOST = 2000
"""Entries that are kept."""
LARGEST = 200_000
"""Characters that are kept, all entries together."""


def capped(entries: Iterable[Any]) -> tuple[str, ...]:
    """The entries that are text and not empty, in the order seen, up to the limits."""
    kept: list[str] = []
    room = LARGEST
    for entry in entries:
        if len(kept) == MOST or room <= 0:
            break
        if isinstance(entry, str) and entry:
            kept.append(entry[:room])
            room -= len(entry)
    return tuple(kept)
