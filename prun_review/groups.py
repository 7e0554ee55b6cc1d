"""What independent executors hold together: the records.  ``consensus.py`` makes them."""

from __future__ import annotations

from dataclasses import dataclass

from prun_review.folding import Member
from prun_review.model import Finding
from prun_review.rulings import Ruling

CLASSES = ("consensus", "contested", "uncertain", "single", "ungrounded")
"""In the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Came:
    """How often one executor reported a finding over its answers to one case."""

    executor: str
    times: int
    """Sound answers that hold it, or something that may be it in other words."""
    of: int
    """Sound answers to the case."""


@dataclass(frozen=True, slots=True)
class Group:
    """One defect as the executors of a case hold it."""

    id: str
    """Id of its first member."""
    case: str
    kind: str
    """One of :data:`CLASSES`."""
    severity: str
    """The highest held."""
    agreed: str
    """The highest severity on which two independent executors agree; empty without agreement."""
    members: tuple[Member, ...]
    reason: str
    """Why this class, in one line."""
    fingerprint: str = ""
    """Its stable name; see :mod:`prun_review.fingerprints`."""
    examined: str = ""
    """What the other vendor said of it: ``confirmed``, ``refuted``, ``unresolved``; empty: not asked."""
    rulings: tuple[Ruling, ...] = ()
    """All that was asked about it, claims and pairs."""
    came: tuple[Came, ...] = ()
    """How often it came back, by executor."""

    @property
    def executors(self) -> tuple[str, ...]:
        """Who holds it, each once."""
        return tuple(dict.fromkeys(m.executor for m in self.members))

    @property
    def beside(self) -> bool:
        """Proven to be none of the change's doing, by every member: it is reported and never blocks.

        What the tree does not hold proves nothing, so an ungrounded one is never beside.
        """
        return all(m.finding.beside and m.finding.grounded for m in self.members)

    @property
    def lead(self) -> Finding:
        """The finding that says where it is: one that the change brought about, with a line."""
        every = [m.finding for m in self.members]
        return min(every, key=lambda f: (f.beside, f.line is None))


@dataclass(frozen=True, slots=True)
class CrossPair:
    """A pair of the cross-check with names; ``(executor, finding id)`` or None for "alone"."""

    left: tuple[str, str] | None
    right: tuple[str, str] | None
    outcome: str
    score: float
    reason: str
    independent: bool
    between: tuple[str, str]
    """The two executors compared, whoever of them holds nothing."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """The cross-check of one case."""

    groups: tuple[Group, ...] = ()
    pairs: tuple[CrossPair, ...] = ()
