"""The trees that the proof of an opinion stands in, one side at a time.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prun_review.grounding import ground
from prun_review.model import Finding
from prun_review.quotes import Source, telling

if TYPE_CHECKING:  # the ground stands below the ports: it knows their types, never their code
    from prun_review.ports import Reader

AGAINST = ("refute", "no")
"""Words that take something back: only what is there now can prove them."""


@dataclass(frozen=True, slots=True)
class Trees:
    """The head and, where a change is reviewed, its merge base."""

    read: Reader
    names: Collection[str] | None
    prefixes: Sequence[str]
    """Directories that reviewers may put before a path."""
    read_base: Reader | None = None
    base_names: Collection[str] | None = None

    def ground(self, proof: Finding) -> Finding:
        """The proof as it stands to the tree of its own side, whatever the other holds."""
        read, names = self._side(proof.side)
        return ground([proof], read, names=names, prefixes=self.prefixes)[0]

    def tells(self, proof: Finding) -> bool:
        """Whether the quote of a grounded proof is more than what stands in any file."""
        read, _ = self._side(proof.side)
        lines = read(proof.file or "")
        side, diff = proof.side or "new", self.read_base is not None
        return isinstance(lines, tuple) and telling(proof.quote, Source(lines), side, diff=diff)

    def _side(self, side: str | None) -> tuple[Reader, Collection[str] | None]:
        if side == "old" and self.read_base is not None:
            return self.read_base, self.base_names
        return self.read, self.names
