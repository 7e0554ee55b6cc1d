"""What the prompts of a run say of its change: which diffs they hold, and where the others stand.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from prun_review.change import Listed
from prun_review.model import Unit
from prun_review.prompts import Diff


class Sliced(Protocol):
    """What is asked of the reviewed tree."""

    @property
    def listing(self) -> tuple[Listed, ...]:
        """The changed files in the order of ``CHANGE.diff``."""

    def slice_text(self, names: Sequence[str]) -> str:
        """The numbered diffs of changed files, one after the other."""


class Diffs:
    """Makes the :class:`~prun_review.prompts.Diff` of a unit; called from many threads."""

    def __init__(self, tree: Sliced, beside: str, about: str) -> None:
        """``beside`` is the directory with ``CHANGE.diff``, ``about`` what the change's author says."""
        self._tree = tree
        self._beside = beside
        self._about = about

    def __call__(self, unit: Unit) -> Diff | None:
        """None for a unit that is not about the change."""
        if unit.brief.scope != "diff":
            return None
        shown = set(unit.inlined)
        rest = tuple((name, self._places[name]) for name in unit.files if name not in shown)
        text = self._tree.slice_text(unit.inlined).removesuffix("\n")
        return Diff(text, self._beside, rest, self._about)

    @cached_property
    def _places(self) -> dict[str, str]:
        """``lines 12 to 4000``: where each file's diff stands in ``CHANGE.diff``."""
        places, first = {}, 1
        for entry in self._tree.listing:
            count = self._tree.slice_text([entry.path]).count("\n")
            places[entry.path] = f"lines {first} to {first + count - 1}"
            first += count
        return places
