"""The change that this process collects probes of, and what a probe file asks of it: ``changed``.

Probe files are imported, so nothing can be handed in: the plugin says what changed before collection.
"""

from __future__ import annotations

from prun_review.change import Listed
from prun_review.slices import matching


class Changed(tuple[str, ...]):
    """Changed files; a type of its own so that an empty one in ``parametrize`` is known for what it is."""

    __slots__ = ()


_listing: tuple[Listed, ...] | None = None
"""The changed files; None where no change is reviewed."""


def set_change(listing: tuple[Listed, ...] | None) -> None:
    """Say which change is reviewed, before probe files are imported; None: none is."""
    global _listing
    _listing = listing


def current_change() -> tuple[Listed, ...] | None:
    """The changed files of this session; None where no change is reviewed."""
    return _listing


def changed(*patterns: str) -> Changed:
    """The changed files that patterns name, all of them without any: sorted, deleted ones too.

    For ``parametrize`` in a probe file.  Empty where nothing matches and where no change is reviewed:
    the case is then not asked.  ``BriefError`` for a malformed pattern.
    """
    return Changed(entry.path for entry in matching(_listing or (), patterns))
