"""Which findings of a run do not gate because somebody knew of them before: baseline, acceptances.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prun_review.consensus import Group
from prun_review.model import Acceptance, Known, RunFacts


@dataclass(frozen=True, slots=True)
class Settled:
    """What of the groups of a run is settled."""

    known: Mapping[str, Known] = field(default_factory=dict)
    """Group id -> its entry of the baseline."""
    accepted: Mapping[str, Acceptance] = field(default_factory=dict)
    """Group id -> who answers for it."""
    stale: tuple[Known, ...] = ()
    """Entries of the baseline that no group of this run is."""


def settle(facts: RunFacts, groups: Iterable[Group]) -> Settled:
    """Lay baseline and acceptances against the groups of the whole run."""
    groups = list(groups)
    entries = {k.fingerprint: k for k in facts.known}
    known = {g.id: entries[g.fingerprint] for g in groups if g.fingerprint in entries}
    held = {a.subject: a for a in facts.acceptances if a.kind == "finding" and not a.expired}
    accepted = {g.id: held[g.fingerprint] for g in groups if g.fingerprint in held}
    found = {k.fingerprint for k in known.values()}
    return Settled(known, accepted, tuple(k for k in facts.known if k.fingerprint not in found))
