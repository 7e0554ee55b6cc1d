"""What a second wave asked about the findings of the first, and what became of it: the records.

``crossexam.py`` says what is asked, ``ruled.py`` what the answers come to, ``consensus.py`` what follows
for pairs and groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prun_review.model import Opinion, Plan, Result

SAME = ("yes", "no", "cannot-tell")
"""The words of an answer to "would one fix resolve both?"."""
CLAIM = ("confirm", "refute", "cannot-tell")
"""The words of an answer to a claim."""
CANNOT = "cannot-tell"
"""The word that says nothing, and needs no proof."""
PROVEN = ("exact", "moved")
"""How evidence must stand to the reviewed tree: quoted, and found there."""


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to be settled by asking."""

    id: str
    """``x-<12 hex>``: the same question of the same run has the same id."""
    kind: str
    """``same``: are two findings one defect; ``claim``: does a finding hold."""
    case: str
    folder: str
    left: str
    """Id of the finding; of an uncertain pair the left one's."""
    right: str = ""
    """Of an uncertain pair: the right one's."""
    severity: str = "high"
    """The highest that is claimed."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A question that nobody was asked, and why."""

    question: Question
    why: str
    """``over the limit of 20``, or who would have to be told to examine..."""


@dataclass(frozen=True, slots=True)
class Examination:
    """The second wave of a run: what was asked of whom, and what came back."""

    questions: tuple[Question, ...] = ()
    """In the order asked."""
    plan: Plan = field(default_factory=lambda: Plan(()))
    """One unit per question and executor asked; ``unit.case`` is the question's id.  The first unit of a
    pair shows its left finding as A and its right one as B, the second the other way round."""
    results: tuple[Result, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True)
class Ruling:
    """What an examination came to."""

    question: Question
    outcome: str
    """Of a pair: ``match``, ``distinct``; of a claim: ``confirmed``, ``refuted``; else ``unresolved``."""
    why: str
    """One line: who said what."""
    severity: str = ""
    """Of a confirmed claim: the highest severity that an examiner gave it."""
    opinions: tuple[tuple[str, Opinion], ...] = ()
    """Executor and what it said, as far as it answered."""
    told: tuple[str, ...] = ()
    """Ids of the findings that everybody who was asked was told of."""
    authors: tuple[str, ...] = ()
    """Who of those that were asked wrote what is reviewed: what they refute stays open."""


@dataclass(frozen=True, slots=True)
class Rulings:
    """The rulings of a run, by what they are about."""

    same: Mapping[frozenset[str], Ruling] = field(default_factory=dict)
    """Two finding ids -> the ruling on the pair."""
    claims: Mapping[str, Ruling] = field(default_factory=dict)
    """Finding id -> the ruling on the claim."""
