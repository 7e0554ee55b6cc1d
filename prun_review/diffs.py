"""What the prompts of a run say of its change: which diffs they hold, and where the others stand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from prun_review.model import Unit
from prun_review.prompts import Diff

WHOLE = "CHANGE.diff"
"""The file beside the snapshot with the whole change."""
HEAD = "=== "
"""What the head of a file's diff begins with, and no other line of a diff."""


class Sliced(Protocol):
    """What is asked of the reviewed tree."""

    def slice_text(self, names: Sequence[str]) -> str:
        """The numbered diffs of changed files, each below a head of one line."""


class Diffs:
    """Makes the :class:`~prun_review.prompts.Diff` of a unit; called from many threads."""

    def __init__(self, tree: Sliced, beside: Path, about: str) -> None:
        """``beside`` is the directory with ``CHANGE.diff``, ``about`` what the change's author says."""
        self._tree = tree
        self._beside = beside
        self._about = about

    def __call__(self, unit: Unit) -> Diff | None:
        """None for a unit that is not about the change."""
        if unit.brief.scope != "diff":
            return None
        shown = set(unit.inlined)
        rest = tuple((name, self._where(name)) for name in unit.files if name not in shown)
        text = self._tree.slice_text(unit.inlined).removesuffix("\n") if unit.inlined else ""
        return Diff(text, str(self._beside), rest, self._about)

    def _where(self, name: str) -> str:
        """``lines 12 to 4000``: where its diff stands in ``CHANGE.diff``."""
        first, last = self._places[self._tree.slice_text([name]).split("\n", 1)[0]]
        return f"lines {first} to {last}"

    @cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """First and last line of each file's diff, by its head."""
        lines = (self._beside / WHOLE).read_text(encoding="utf-8").removesuffix("\n").split("\n")
        heads = [n for n, line in enumerate(lines, start=1) if line.startswith(HEAD)]
        ends = [*(n - 1 for n in heads[1:]), len(lines)]
        return {lines[first - 1]: (first, last) for first, last in zip(heads, ends, strict=True)}
