"""What one executor holds over its answers to one case, each defect once.

Repetitions inside one executor never count as agreement, so they are folded before executors are
compared; what was folded stays listed under the finding that speaks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from prun_review.matching import FOLD, crosscheck, two_defects
from prun_review.model import SEVERITIES, Finding, Pair, Place
from prun_review.tokens import first_sentence, place_of, split

Same = Callable[[Finding, Finding], "bool | None"]
"""The hook ``prun_same_finding`` as a callable: True, False, or None for no opinion."""


@dataclass(frozen=True, slots=True)
class Member:
    """A finding as an executor reported it."""

    executor: str
    unit: str
    """Id of the unit whose result holds it."""
    finding: Finding


@dataclass(frozen=True, slots=True)
class Held:
    """What one executor holds: a finding and its own repetitions of it."""

    members: tuple[Member, ...]
    """The one reported first stands first."""

    @property
    def first(self) -> Finding:
        """The finding that speaks for all of them."""
        return self.members[0].finding

    @property
    def executor(self) -> str:
        """Who holds it."""
        return self.members[0].executor

    @property
    def severity(self) -> str:
        """The highest that the executor gave it."""
        return highest(m.finding.severity for m in self.members)


def level(severity: str) -> int:
    """0 for ``info`` up to 4 for ``critical``; 5 for an unknown word, which must not look harmless."""
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def highest(severities: Iterable[str]) -> str:
    """The most severe of them; ``ValueError`` when there is none."""
    return max(sorted(severities), key=level)


def _lines(place: Place | Finding) -> range | None:
    if place.line is None:
        return None
    return range(place.line, max(place.end_line or place.line, place.line) + 1)


def _repeats(one: Finding, other: Finding) -> bool:
    """Whether two findings of one file and rule are one defect told twice: same lines and words.

    Two undefined names on one line differ in nothing but the name, so one must not name more code
    than the other in another direction.
    """
    old = one.mapped is not None and other.mapped is not None  # code that is gone has one place in the head
    a, b = (_lines(f if old else place_of(f)) for f in (one, other))
    if (a is None) != (b is None):
        return False
    if a and b and (a.start >= b.stop or b.start >= a.stop):
        return False
    (first, mine), (second, theirs) = (
        split(f"{f.title}\n{first_sentence(f.detail)}") for f in (one, other)
    )  # words and names of code
    if not (mine <= theirs or theirs <= mine):
        return False
    return first == second or len(first & second) >= FOLD * len(first | second)


def _told_again(held: Held, finding: Finding) -> bool:
    """Whether a finding repeats what is held, and no member of it speaks against that."""
    return _repeats(held.first, finding) and not any(two_defects(m.finding, finding) for m in held.members)


def _between(pool: Sequence[Held], fresh: Sequence[Held], same: Same | None) -> list[Pair]:
    """What an earlier and a new answer to one question hold, paired; the hook has the first word."""
    sides = [h.first for h in pool], [h.first for h in fresh]
    known, new = ({id(h.first): h for h in side} for side in (pool, fresh))

    def two(one: Held, other: Held) -> bool:
        return any(two_defects(a.finding, b.finding) for a, b in product(one.members, other.members))

    def judge(one: Finding, other: Finding) -> bool | None:
        told = same(one, other) if same else None
        return False if told is None and two(known[id(one)], new[id(other)]) else told

    if same is None:  # a hook has every pair compared, which takes ten times as long
        pairs = crosscheck(*sides)
        matched = [(pool[p.left or 0], fresh[p.right or 0]) for p in pairs if p.outcome == "match"]
        if not any(two(*ends) for ends in matched):
            return pairs
    return crosscheck(*sides, same=judge)


def fold(answers: Sequence[Sequence[Member]], same: Same | None = None) -> list[Held]:
    """One executor's findings over its answers, each defect once.

    Within an answer only what is plainly a repetition is folded; between the answers to the same
    question (repeats) the ordinary one-to-one match decides.  Neither folds two findings that quote
    different code, or of which the change is to blame for one only.
    """
    pool: list[Held] = []
    for answer in answers:
        fresh: list[Held] = []
        near: dict[tuple[str, str | None], list[int]] = {}
        for member in answer:
            earlier = near.setdefault((place_of(member.finding).file, member.finding.rule), [])
            at = next((i for i in earlier if _told_again(fresh[i], member.finding)), None)
            if at is None:
                earlier.append(len(fresh))
                fresh.append(Held((member,)))
            else:
                fresh[at] = Held((*fresh[at].members, member))
        pairs = _between(pool, fresh, same) if pool else []
        matched = {p.right: p.left for p in pairs if p.outcome == "match"}
        for i, held in enumerate(fresh):
            home = matched.get(i)
            if home is None:
                pool.append(held)
            else:
                pool[home] = Held((*pool[home].members, *held.members))
    return pool
