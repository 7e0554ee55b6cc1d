"""One panels folder as the gate sees it, and what each finding leads to there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prun_review.answers import Answers, sound
from prun_review.authors import NOBODY, Authors
from prun_review.choices import Ballots, ballots
from prun_review.consensus import CLASSES, Group
from prun_review.independence import independents
from prun_review.model import SEVERITIES, ExecutorInfo, NotAsked, Result, Unit
from prun_review.outages import Outages
from prun_review.policy import Policy, grave, quorum_of, rule_of, within
from prun_review.settling import Settled

NOTHING = Settled()
"""Nobody knew of anything before."""

OPEN = {"contested": "contested", "uncertain": "uncertain", "single": "unresolved"}
"""Class -> the code where the rule ``consensus`` leaves it open.  Any other class that is not agreed
upon is open as ``contested``."""

REMARKS = ("accepted", "known", "not-reproduced", "refuted", "tolerated", "off", "beside")
"""Codes of what lets a finding pass."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What one finding leads to, and by which rule."""

    group: Group
    code: str
    """Of the reason that it is, or one of :data:`REMARKS`."""
    outcome: str
    """``FAIL``, ``INCOMPLETE``, or empty where it blocks nothing."""
    why: str
    """The rule that applied, in one line."""
    grave: bool = True
    """Whether letting it pass is worth a word in the verdict."""
    keys: tuple[str, ...] = ()
    """The policy's keys whose values decided: a severity for its rule, then a limit that let it pass."""


@dataclass(frozen=True, slots=True)
class Folder:
    """One panels folder, with everything that its verdict depends on."""

    name: str
    policy: Policy
    units: tuple[Unit, ...]
    not_asked: tuple[NotAsked, ...]
    answers: Answers
    groups: tuple[Group, ...]
    executors: Mapping[str, ExecutorInfo]
    outages: Outages = field(default_factory=Outages)
    """Whose missing answers a person answers for, and which cases stand without them."""
    settled: Settled = NOTHING
    """What of the run's findings is known or accepted."""
    authors: Authors = NOBODY
    """Who wrote what is reviewed: their answers are no voices."""

    @property
    def decides(self) -> bool:
        """Whether its outcome is part of the verdict."""
        return self.policy.mode != "report"

    def result(self, unit: Unit) -> Result | None:
        """The one result of a unit, or None."""
        return self.answers.by_unit.get(unit.id)

    def policy_of(self, case: str) -> Policy:
        """The policy of one case: where a vendor is away the word of the other is enough to fail."""
        return replace(self.policy, rule="single") if case in self.outages.cases else self.policy

    def decisions(self) -> tuple[Decision, ...]:
        """What every finding leads to, in the order of ``groups``; open ones under the folder's limits."""
        found = [judge(g, self.policy_of(g.case), self.settled) for g in self.groups]
        return tuple(_limited(found, self.policy))

    def answered(self) -> dict[str, tuple[str, ...]]:
        """Case -> the executors with an answer to rely on, each once."""
        cases: dict[str, dict[str, None]] = {}
        for unit in self.units:
            names = cases.setdefault(unit.case, {})
            if sound(unit, self.result(unit)):
                names[unit.executor] = None
        return {case: tuple(names) for case, names in cases.items()}

    def asked(self) -> dict[str, tuple[str, ...]]:
        """Case -> the executors that it was put to, each once."""
        cases: dict[str, dict[str, None]] = {}
        for unit in self.units:
            cases.setdefault(unit.case, {})[unit.executor] = None
        return {case: tuple(names) for case, names in cases.items()}

    def voices(self, names: Iterable[str]) -> tuple[str, ...]:
        """The most of these executors that are independent of each other, without who wrote it."""
        return independents(self.authors.others(names), self.executors)

    def quorum(self, asked: Iterable[str]) -> int:
        """How many voices a case needs that was put to these: beside an author, no more than were asked,
        unless the policy says a number."""
        need = quorum_of(self.policy)
        if self.policy.quorum > 0 or not self.authors.words:
            return need
        return max(1, min(need, len(self.voices(asked))))

    def votes(self) -> dict[str, Ballots]:
        """The ballots of every case that asks for a choice."""
        cases: dict[str, list[Result]] = {}
        for unit in self.units:
            if unit.brief.contract.kind == "choice":
                sound_ones = cases.setdefault(unit.case, [])
                result = self.result(unit)
                if result and sound(unit, result):
                    sound_ones.append(result)
        return {case: ballots(results, self.executors) for case, results in cases.items()}


# --- one finding ------------------------------------------------------------------------------


def judge(group: Group, policy: Policy, settled: Settled = NOTHING) -> Decision:
    """What a finding leads to by itself, before the limits of its folder: the first rule that applies."""
    found = _aside(group, policy, settled) or _gated(group, policy)
    quiet = found.code in ("off", "beside") and not grave(policy, group.severity)
    return replace(found, grave=False) if quiet else found


def blocks(group: Group, policy: Policy, settled: Settled = NOTHING) -> str:
    """What a finding leads to by itself: ``FAIL``, ``INCOMPLETE``, or empty where it blocks nothing."""
    return judge(group, policy, settled).outcome


def share(group: Group) -> float:
    """In which share of its answers the executor that came back to it most often did; 1 without counts."""
    return max((c.times / c.of for c in group.came if c.of), default=1.0)


def _aside(group: Group, policy: Policy, settled: Settled) -> Decision | None:
    """What takes a finding out of the rules; None for one that they are for."""
    if group.kind not in CLASSES:
        return Decision(group, "unknown-class", "INCOMPLETE", f"nobody knows the class {group.kind!r}")
    if group.beside:
        return Decision(group, "beside", "", "proven to be none of the change's doing")
    by = settled.accepted.get(group.id)
    if by:
        return Decision(group, "accepted", "", f"{by.by} answers for it: {by.reason}")
    if group.id in settled.known and policy.known == "pass":
        return Decision(group, "known", "", "the baseline holds it, and known = pass", keys=("known",))
    if group.kind == "ungrounded":
        keys = (group.severity,)
        if grave(policy, group.severity):
            told = "the reviewed tree does not hold what it says"
            return Decision(group, "ungrounded", "INCOMPLETE", told, keys=keys)
        told = f"the rule for {group.severity} is off, and it is not grounded"
        return Decision(group, "off", "", told, keys=keys)
    if share(group) < policy.reproducibility:
        told = f"it came back in {share(group):.2f} of the answers, and reproducibility = "
        told += f"{policy.reproducibility:g}"
        return Decision(group, "not-reproduced", "", told, keys=("reproducibility",))
    return None


def _gated(group: Group, policy: Policy) -> Decision:
    """What the rule of its severity makes of a grounded finding."""
    if group.agreed and rule_of(policy, group.agreed) != "off":
        return Decision(group, "consensus", "FAIL", _agreed(group), keys=(group.agreed,))
    rule, keys = rule_of(policy, group.severity), (group.severity,)
    told = f"the rule for {group.severity} is {rule}"
    if rule == "off":
        return Decision(group, "off", "", told, keys=keys)
    if rule == "any":
        return Decision(group, "single-finding", "FAIL", f"{told}: one executor is enough", keys=keys)
    if group.kind == "contested" and group.examined == "refuted":
        if group.severity == "critical" or group.severity not in SEVERITIES:
            told += ", and a person must answer for a refuted one"
            return Decision(group, "refuted", "INCOMPLETE", told, keys=keys)
        return Decision(group, "refuted", "", f"{told}, and another vendor refuted it", keys=keys)
    code = OPEN.get(group.kind, "contested")
    return Decision(group, code, "INCOMPLETE", f"{told}, and nobody settled it", keys=keys)


def _agreed(group: Group) -> str:
    """Who holds it together, and as how severe; the words of examiners are not among the members."""
    if group.examined == "confirmed":
        return f"one holds it and another vendor confirms it; the higher severity counts: {group.agreed}"
    if {m.finding.severity for m in group.members} == {group.agreed}:
        return f"independent executors hold it as {group.agreed}"
    return f"independent executors hold it; the higher severity counts: {group.agreed}"


def _limited(decisions: Sequence[Decision], policy: Policy) -> Iterable[Decision]:
    """Open findings are tolerated as long as the folder holds no more of them than its policy lets pass."""
    limits = {"contested": ("contested", policy.contested)}
    limits |= dict.fromkeys(("uncertain", "unresolved"), ("unresolved", policy.unresolved))
    counts = {key: 0 for key, _ in limits.values()}
    for one in decisions:
        if one.code in limits:
            counts[limits[one.code][0]] += 1
    for one in decisions:
        key, limit = limits.get(one.code, ("", 0))
        if key and within(counts[key], limit):
            why = f"{one.why}; {key} = {limit} lets it pass"
            yield replace(one, code="tolerated", outcome="", why=why, keys=(*one.keys, key))
        else:
            yield one


# --- several folders --------------------------------------------------------------------------


def tallies(folders: Iterable[Folder]) -> dict[str, list[str]]:
    """The severities of what the line of the verdict tells, by what happened to it: ``failing``, ``open``,
    or one of :data:`REMARKS`."""
    found: dict[str, list[str]] = {what: [] for what in ("failing", "open", *REMARKS)}
    for one in (one for folder in folders for one in folder.decisions()):
        if one.outcome:
            found["failing" if one.outcome == "FAIL" else "open"].append(one.group.severity)
        elif one.grave:
            found[one.code].append(one.group.severity)
    return found


def unasked(folders: Iterable[Folder]) -> dict[str, int]:
    """How many cases nobody was asked: ``skipped`` by a mark, ``untouched`` by the change, or
    ``not_asked`` for another reason."""
    folders = list(folders)
    asked = {u.case for f in folders for u in f.units}
    whole: dict[str, set[str]] = {}
    for left_out in (n for f in folders for n in f.not_asked if n.case not in asked):
        whole.setdefault(left_out.case, set()).add(left_out.reason)
    words = ("skipped", "untouched")
    told = [next((w for w in words if w in reasons), "not_asked") for reasons in whole.values()]
    return {word: told.count(word) for word in (*words, "not_asked")}
