"""The workbench of a run: copies out of its vault, and commands on what was written in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prun_review import files, verifying
from prun_review.copies import Copies, Masked, ThrowawayCopy
from prun_review.errors import TreeError
from prun_review.model import Unit
from prun_review.vault import Vault
from prun_review.verifying import Room
from prun_review.written import Check, Patch

WORK = "work"
"""Beside the tree that commands run in: their home, temporary files and output."""


@dataclass(frozen=True)
class Bench:
    """Implements :class:`prun_review.ports.Workbench`; safe in threads."""

    vault: Vault
    copies: Copies
    room: Room
    base_of: Callable[[Unit], str]
    """Unit -> SHA of the commit that its copies are made of."""
    masked: Masked = field(default_factory=dict)
    """Files of which workers see something else; commands see what is there."""

    def open(self, unit: Unit, out: Path) -> ThrowawayCopy:
        """A fresh copy for the attempt ``out`` of a unit; ``TreeError`` where there is none to be had."""
        if not out.name.isdecimal():
            raise TreeError("an attempt is known by its number", place=str(out))
        return self.copies.open(self.base_of(unit), unit.slug, int(out.name), out, self.masked)

    def check(self, patch: Patch, commands: Sequence[str], stop: Callable[[], str]) -> tuple[Check, ...]:
        """Run commands one after the other on a fresh copy of base and patch."""
        return self.run(patch.tree, commands, stop)

    def run(self, tree: str, commands: Sequence[str], stop: Callable[[], str]) -> tuple[Check, ...]:
        """The same on the files of any tree or commit of the vault."""
        with self.copies.plain(tree) as place:
            work = place.parent / WORK
            with files.named(TreeError, "no place for commands can be made", work):
                files.make_private(work)
            return verifying.run(commands, place, work, self.room, stop)
