"""What of a run becomes a baseline, or an acceptance.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from prun_review.consensus import Group
from prun_review.findingrows import group_of
from prun_review.fingerprints import core, fingerprint
from prun_review.model import SEVERITIES, Acceptance, Finding, Known, RunFacts
from prun_review.policy import rule_of
from prun_review.sameness import UNPROVEN, far

WHICH = ("gating", "blocking", "all")
"""What goes in: what could gate under the run's policy; what stood in the way of PASS (and what was known
already); everything that is grounded."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The entries of a baseline, and what did not become one."""

    entries: tuple[Known, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Why -> how many findings."""


def keep(rows: Iterable[Mapping[str, Any]], facts: RunFacts, which: str) -> Kept:
    """The entries that the findings of a run document make; ``which`` is one of :data:`WHICH`.

    What is not grounded proves nothing and never goes in.  What a person answers for stays with that
    person: in a baseline it would outlast the day until which it is accepted.
    """
    entries: list[Known] = []
    left_out: Counter[str] = Counter()
    for row in rows:
        group = group_of(row)
        why = _left_out(row, group, facts, which)
        if why:
            left_out[why] += 1
        else:
            entries += [_entry(one, row["folder"]) for one in apiece(group)]
    return Kept(tuple(entries), dict(sorted(left_out.items())))


def _left_out(row: Mapping[str, Any], group: Group, facts: RunFacts, which: str) -> str:
    policy = facts.folders.get(row["folder"], facts.gate)
    if group.kind == "ungrounded" or not group.lead.grounded:
        return "ungrounded"
    if group.severity not in SEVERITIES:
        return "of unknown severity"
    if row.get("accepted"):
        return "accepted by a person"
    if which == "all":
        return ""
    if which == "blocking":
        blocks = row["blocking"] and policy.mode != "report"
        return "" if blocks or row.get("known") else "not blocking"
    if group.beside:
        return "beside the change"
    gates = policy.mode != "report" and rule_of(policy, group.severity) != "off"
    return "" if gates else "that cannot gate"


def apiece(group: Group) -> tuple[Group, ...]:
    """What may be more than one defect as a group for each grounded member, as severe as that one holds it:
    who knows one of them does not know the others."""
    if group.kind != "uncertain":
        return (group,)
    members = [m for m in group.members if m.finding.grounded and m.finding.severity in SEVERITIES]
    return tuple(
        replace(group, id=m.finding.id, severity=m.finding.severity, members=(m,), fingerprint="")
        for m in members
    )


def _entry(group: Group, folder: str) -> Known:
    lead, *also = wordings(group)
    return Known(fingerprint(group.case, lead), group.case, folder, lead, also=tuple(also))


def wordings(group: Group) -> Sequence[Finding]:
    """The cores of a group's findings, each wording once for each place and the lead's first, with the
    group's severity.  What is not grounded is no wording of a group that is."""
    every = [group.lead, *(m.finding for m in group.members if m.finding.grounded)]
    kept: list[tuple[str, Finding]] = []
    for finding in every:
        name, told = fingerprint(group.case, finding), replace(core(finding), severity=group.severity)
        if not any(name == other and not far(told, one) for other, one in kept):
            kept.append((name, told))
    return tuple(told for _, told in kept)


def acceptance(group: Group, by: str, reason: str, until: str, commit: str) -> Acceptance:
    """What a person answers for who accepts a group; ``until`` is a day, ``YYYY-MM-DD``, or empty."""
    lead, *also = wordings(group)
    name = fingerprint(group.case, lead)
    if group.kind == "ungrounded":
        lead = replace(lead, note=UNPROVEN)
    return Acceptance(
        "finding", name, by, reason, until, case=group.case, finding=lead, also=tuple(also), commit=commit
    )
