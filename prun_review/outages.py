"""Executors that are away with the consent of a named person, and the cases that stand without them.

An outage excuses what an outage looks like and nothing else: no broken answer, no end that we made
ourselves, nothing that says the review was tampered with.  A case stands on who did answer only where
the executor that is away would have made it whole, and an analyser never stands in for a vendor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prun_review.answers import Answers, sound
from prun_review.authors import NOBODY, Authors
from prun_review.independence import independent_among, known
from prun_review.model import Acceptance, ExecutorInfo, Result, RunFacts, Unit

AWAY = frozenset(
    {
        "rate-limited",
        "quota-exhausted",
        "not-logged-in",
        "refresh-token-race",
        "model-not-found",
        "over-capacity",
        "network",
        "stalled",
        "unknown",
    }
)
"""Reason codes of a vendor, login, quota or connection that is not there; ``unknown`` is the exit without
a word with which some CLIs tell all of that.  A time limit is none: what is reviewed can bring it about."""


@dataclass(frozen=True, slots=True)
class Outages:
    """What outages excuse in one panels folder."""

    units: Mapping[str, tuple[Acceptance, str]] = field(default_factory=dict)
    """Unit id -> who answers for its missing answer, and the reason code of the failure."""
    cases: frozenset[str] = frozenset()
    """Cases that stand on fewer voices than they were put to."""
    whole: frozenset[str] = frozenset()
    """Those of them that need no quorum: one who is away would have been a voice, and wrote nothing."""


def outages(
    facts: RunFacts,
    units: Sequence[Unit],
    answers: Answers,
    executors: Mapping[str, ExecutorInfo],
    authors: Authors = NOBODY,
) -> Outages:
    """What the run's acceptances excuse among ``units``, which are those of one folder.

    Who wrote what is reviewed stands in for nobody, and makes no case whole by being away.
    """
    accepted = {a.subject: a for a in facts.acceptances if a.kind == "outage" and not a.expired}
    if not accepted:
        return Outages()
    by_case: dict[str, list[Unit]] = {}
    for unit in units:
        by_case.setdefault(unit.case, []).append(unit)
    excused: dict[str, tuple[Acceptance, str]] = {}
    standing, whole = set(), set()
    for case, those in by_case.items():
        away = {
            unit.id: (accepted[unit.executor], result.reason)
            for unit in those
            if unit.executor in accepted and (result := answers.by_unit.get(unit.id)) and _is_away(result)
        }
        answered = {u.executor for u in those if sound(u, answers.by_unit.get(u.id))}
        missing = {u.executor for u in those if u.id in away} - answered
        there, gone = authors.others(sorted(answered)), authors.others(sorted(missing))
        if away and _stands(there, missing, executors):
            excused |= away
            if missing and not independent_among(there, executors):
                standing.add(case)
                if gone and _stands(there, gone, executors):
                    whole.add(case)
    return Outages(excused, frozenset(standing), frozenset(whole))


def excuse(result: Result, acceptances: Iterable[Acceptance]) -> str:
    """Who answers for a missing answer, in words; empty where nobody does.

    It makes no case whole: whether that stands on the others is for :func:`outages`.
    """
    for a in acceptances:
        if a.kind == "outage" and a.subject == result.executor and not a.expired and _is_away(result):
            said = f"{a.subject} is away ({result.reason}); {a.by} answers for it until {a.until}: {a.reason}"
            return " ".join(said.split())
    return ""


def _is_away(result: Result) -> bool:
    return result.status in ("failed", "not-run") and result.reason in AWAY


def _stands(answered: Iterable[str], missing: Iterable[str], executors: Mapping[str, ExecutorInfo]) -> bool:
    """Whether those who answered are enough, given that the others would have made the case whole."""
    there, gone = sorted(answered), sorted(missing)
    if not there or not independent_among([*there, *gone], executors):
        return False
    vendors = any(known(name, executors).paid for name in there)
    return vendors or not any(known(name, executors).paid for name in gone)
