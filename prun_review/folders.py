"""One panels folder as the gate sees it, and what a single finding leads to there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from prun_review.answers import Answers, sound
from prun_review.choices import Ballots, ballots
from prun_review.consensus import CLASSES, Group
from prun_review.folding import level
from prun_review.model import SEVERITIES, ExecutorInfo, NotAsked, Result, Unit
from prun_review.outages import Outages
from prun_review.policy import Policy


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

    def blocks(self, group: Group) -> str:
        """What a finding of this folder leads to; see :func:`blocks`."""
        return blocks(group, self.policy_of(group.case))

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


def blocks(group: Group, policy: Policy) -> str:
    """What a finding leads to by itself: ``FAIL``, ``INCOMPLETE``, or empty where it blocks nothing.

    Under the rule ``single`` one executor's word is enough to answer, so it is enough to fail.  What
    is beside a change blocks nothing.
    """
    if group.beside:
        return ""
    least = level(policy.block) if policy.block in SEVERITIES else 0
    if group.kind not in CLASSES:
        return "INCOMPLETE"
    if group.kind == "ungrounded":
        return "INCOMPLETE" if level(group.severity) >= min(least, level("high")) else ""
    if group.agreed and level(group.agreed) >= least:
        return "FAIL"
    if level(group.severity) < least:
        return ""
    if policy.rule == "single" and group.severity in SEVERITIES:
        return "FAIL"
    return "INCOMPLETE" if group.kind in ("uncertain", "contested") else ""


def tolerated_severities(folders: Iterable[Folder]) -> list[str]:
    """Severities of what two vendors hold, or may hold, and the policy lets pass: ``high`` or worse."""
    return [
        g.severity
        for f in folders
        for g in f.groups
        if g.kind not in ("single", "ungrounded")
        and not g.beside
        and not f.blocks(g)
        and level(g.severity) >= level("high")
    ]


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


def beside_severities(folders: Iterable[Folder]) -> list[str]:
    """Severities of what stands beside the change and would be worth a remark, or block, within it."""
    return [
        g.severity
        for f in folders
        for g in f.groups
        if g.beside and level(g.severity) >= min(level(f.policy.block), level("high"))
    ]


def single_severities(folders: Iterable[Folder]) -> list[str]:
    """Severities of what one vendor alone holds and nothing blocks, where they are worth a remark."""
    return [
        g.severity
        for f in folders
        for g in f.groups
        if g.kind == "single"
        and not g.beside
        and not f.blocks(g)
        and level(g.severity) >= min(level(f.policy.block), level("high"))
    ]
