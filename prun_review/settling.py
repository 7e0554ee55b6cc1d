"""Which findings of a run do not gate because somebody knew of them before: baseline, acceptances.  Pure.

A group is an entry when one of its members has the entry's fingerprint, else when the matcher says that
it is told in other words and both show the same code (:mod:`prun_review.tracking`).  Fails closed: an
entry settles nothing that is more severe than itself or stands in another case; of two groups that might
be one entry the nearer one is, and the other gates; what may be the same gates, and what may be two
defects, or quotes two places, must be known as both; what a change added is no entry of the baseline in
other words; an ungrounded finding is found by its name only, because its words prove nothing; names of
another version of :mod:`prun_review.fingerprints`, and unknown severities, match nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prun_review.answers import Answers, doubts, sound
from prun_review.consensus import Group
from prun_review.fingerprints import is_fingerprint
from prun_review.model import SEVERITIES, Acceptance, Carried, Finding, Known, Plan, RunFacts, Unit
from prun_review.sameness import UNPROVEN, apart
from prun_review.tracking import Defect, track

GONE = "its file is gone"
"""The note of a known finding whose file is no part of this run's tree."""

Asked = Mapping[str, Collection[str] | None]
"""Case -> the files that it was soundly asked about; None: any."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What of the groups of a run is settled."""

    known: Mapping[str, Known] = field(default_factory=dict)
    """Group id -> its entry of the baseline."""
    accepted: Mapping[str, Acceptance] = field(default_factory=dict)
    """Group id -> who answers for it."""
    stale: tuple[Known, ...] = ()
    """Entries of the baseline that no group of this run is or may be, where their case was soundly asked
    about their file; in the order of the baseline."""
    unasked: tuple[Known, ...] = ()
    """Entries of the baseline that are neither there nor gone: nobody was soundly asked, or a group may be
    one."""
    worse: Mapping[str, Known] = field(default_factory=dict)
    """Group id -> the entry of the baseline that it is, but it is more severe than that: it gates."""
    expired: Mapping[str, Acceptance] = field(default_factory=dict)
    """Group id -> who answered for it once, where nobody does now."""
    how: Mapping[str, str] = field(default_factory=dict)
    """Group id -> how it was found, in one line; of an acceptance where both hold."""


def settle(facts: RunFacts, groups: Iterable[Group], *, asked: Asked | None = None) -> Settled:
    """Lay baseline and acceptances against the groups of the whole run.

    ``asked`` (:func:`asked_about`) says which entries could have been found: without it none is stale.
    """
    every = sorted(groups, key=lambda g: (g.case, g.id))
    times = Counter(g.id for g in every)
    # What is settled is told by id: one that a stored run holds twice settles nothing.
    here = [g for g in every if times[g.id] == 1]
    new = [_group(g) for g in here]
    entries = sorted(filter(_usable, facts.known), key=lambda k: (k.case, k.fingerprint, k.finding.line or 0))
    known = track([_known(k) for k in entries], new)
    held = [a for a in facts.acceptances if _stands(a)]
    valid = sorted((a for a in held if not a.expired), key=_by_name)
    accepted = track(list(map(_acceptance, valid)), new)
    over = sorted((a for a in held if a.expired), key=_by_name)
    expired = track(list(map(_acceptance, over)), [n for j, n in enumerate(new) if j not in accepted.found])
    rest = [g.id for j, g in enumerate(here) if j not in accepted.found]
    seen = {entries[i] for i in known.seen}
    doubtful = {entries[t.old] for t in known.perhaps.values()}
    absent = [k for k in facts.known if k not in seen]
    stale = {k for k in absent if k not in doubtful and _could_be_found(k, asked or {})}
    return Settled(
        {here[j].id: entries[t.old] for j, t in known.found.items()},
        {here[j].id: valid[t.old] for j, t in accepted.found.items()},
        tuple(k for k in absent if k in stale),
        tuple(k for k in absent if k not in stale),
        {here[j].id: entries[t.old] for j, t in known.above.items()},
        {rest[j]: over[t.old] for j, t in expired.found.items()},
        {here[j].id: t.how for tracks in (known, accepted) for j, t in tracks.found.items()},
    )


def answered_for(facts: RunFacts) -> Mapping[tuple[str, str], Acceptance]:
    """Who answers for carried blockers: run and finding id, as in :class:`Carried`, -> the acceptance."""
    valid = sorted((a for a in facts.acceptances if _stands(a) and not a.expired), key=_by_name)
    found = track(list(map(_acceptance, valid)), list(map(_carried, facts.carried))).found
    carried = facts.carried
    return {(carried[j].run, carried[j].finding): valid[t.old] for j, t in found.items()}


def asked_about(facts: RunFacts, plan: Plan, answers: Answers) -> Asked:
    """The cases of which every unit has a sound answer without a lost finding, and the files of each.

    Where a single answer is missing, whoever held a finding before may be the one who was not heard.
    """
    cases: dict[str, list[Unit]] = {}
    for unit in plan.units:
        cases.setdefault(unit.case, []).append(unit)
    whole = {case: units for case, units in cases.items() if all(_heard(u, answers) for u in units)}
    return {case: _files(units, facts) for case, units in whole.items()}


def _heard(unit: Unit, answers: Answers) -> bool:
    result = answers.by_unit.get(unit.id)
    return result is not None and sound(unit, result) and not doubts(result)


def _files(units: Sequence[Unit], facts: RunFacts) -> frozenset[str] | None:
    """What the units of a case were asked about; of a renamed file both names."""
    if any(not u.files and u.brief.scope != "diff" for u in units):
        return None
    names = {name for u in units for name in u.files}
    return frozenset(names | {c.old_path for c in facts.change if c.path in names and c.old_path})


def _could_be_found(known: Known, asked: Asked) -> bool:
    if known.case not in asked:
        return False
    files = asked[known.case]
    return files is None or known.note == GONE or known.finding.file is None or known.finding.file in files


def _usable(known: Known) -> bool:
    return is_fingerprint(known.fingerprint) and known.finding.severity in SEVERITIES


def _by_name(acceptance: Acceptance) -> tuple[str, str, str]:
    return acceptance.case, acceptance.subject, acceptance.until


def _known(known: Known) -> Defect:
    words = (known.finding, *known.also)
    names = (known.fingerprint,)
    return Defect(known.case, words, known.finding.severity, names, standing=True, before=True)


def _stands(acceptance: Acceptance) -> bool:
    """Whether it is one of a finding that could settle something."""
    lead = acceptance.finding
    of_finding = acceptance.kind == "finding" and is_fingerprint(acceptance.subject)
    return of_finding and lead is not None and lead.severity in SEVERITIES


def _acceptance(acceptance: Acceptance) -> Defect:
    lead = acceptance.finding or Finding("")  # there is one: see _stands
    words = (lead, *acceptance.also)
    unproven = lead.note == UNPROVEN
    return Defect(
        acceptance.case,
        words,
        lead.severity,
        (acceptance.subject,),
        comparable=not unproven,
        standing=True,
        unproven=unproven,
    )


def _group(group: Group) -> Defect:
    members = tuple(m.finding for m in group.members)
    return _defect(group.case, members, group.severity, group.kind)


def _carried(one: Carried) -> Defect:
    return _defect(one.case, one.members, one.severity, one.kind)


def _defect(case: str, members: tuple[Finding, ...], severity: str, kind: str) -> Defect:
    """What is only perhaps one defect, or partly what a change adds, must be known in all its members; of
    one defect, who quotes no code does not stand for who does."""
    several = kind == "uncertain" or apart(members) or len({f.placement == "added" for f in members}) > 1
    told = members if several else tuple(f for f in members if f.quote) or members
    return Defect(case, told, severity, comparable=kind != "ungrounded", several=several)
