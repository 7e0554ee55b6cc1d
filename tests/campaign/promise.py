"""The promise, as a model: what a verdict may be, told in loops by somebody who has not seen the gate.

It is written from what the gate is meant to do and imports nothing that decides: no gate, folders, verdict,
answers, consensus, independence, settling or cross-examination.  For a run it gives every verdict that is
allowed, each with the codes that lead to it; where there is more than one, it says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from prun_review.model import ExecutorInfo, Unit
from prun_review.policy import Policy
from tests.campaign import outside
from tests.campaign.before import carried, settled
from tests.campaign.holders import Defect, defects
from tests.campaign.laid import Laid, lay
from tests.campaign.oracle import Oracle, readings
from tests.campaign.runs import Run
from tests.campaign.spoken import hear
from tests.campaign.whose import ORDER, most_independent, rank, writers

QUORUM = "one-vendor"
"""The code of a case that too few answered."""


@dataclass
class Said:
    """What one reading of the promise comes to."""

    outcome: str = "PASS"
    codes: set[tuple[str, str, str]] = field(default_factory=set)
    """Outcome, code and folder (empty: the run's) of everything that is not green and decides."""
    remarks: set[str] = field(default_factory=set)
    """Codes of what was let pass and must be said."""


def promised(run: Run) -> list[tuple[Said, tuple[str, ...]]]:
    """Every verdict that is allowed, with the reasons why there is more than one."""
    return readings(lambda oracle: _say(run, oracle))


def _say(run: Run, oracle: Oracle) -> Said:
    infos = {e.name: e for e in run.facts.executors}
    laid = lay(run, oracle)
    folders = [
        Judged.of(name, run, laid, infos, oracle)
        for name in sorted(
            {*run.facts.folders, *(u.folder for u in run.plan.units), *(n.folder for n in run.plan.not_asked)}
        )
    ]
    judged = [f for f in folders if f.policy.mode != "report"]
    for folder in folders:
        folder.judge(oracle)
    said = Said()
    for code in laid.refused:
        said.codes.add(("INCOMPLETE", code, ""))
    for outcome, code in outside.of_run(
        run, [(f.policy.mode != "report", f.units) for f in folders], laid.sound
    ):
        said.codes.add((outcome, code, ""))
    for folder in judged:
        said.codes |= {(outcome, code, folder.name) for outcome, code in folder.codes}
        said.remarks |= folder.remarks
    if run.facts.authors:
        said.remarks.add("authored")
    blocking = [(d, o) for f in judged for d, o in f.blocking]
    reported = {f.name for f in folders if f.policy.mode == "report"}
    for outcome, folder_name in carried(run, blocking, [d for f in judged for d in f.defects]):
        if folder_name not in reported:
            said.codes.add((outcome, "carried", folder_name))
    outcomes = {outcome for outcome, _, _ in said.codes}
    said.outcome = "FAIL" if "FAIL" in outcomes else "INCOMPLETE" if "INCOMPLETE" in outcomes else "PASS"
    return said


# --- one folder -------------------------------------------------------------------------------


def rule_for(policy: Policy, severity: str) -> str:
    """``consensus``, ``any`` or ``off``."""
    if severity in ORDER:
        own = {
            "critical": policy.critical,
            "high": policy.high,
            "medium": policy.medium,
            "low": policy.low,
            "info": policy.info,
        }[severity]
        if own:
            return own
    if rank(severity) >= least(policy):
        return "any" if policy.rule == "single" else "consensus"
    return "off"


def least(policy: Policy) -> int:
    """A threshold that nobody knows blocks on everything."""
    return ORDER.index(policy.block) if policy.block in ORDER else 0


@dataclass
class Judged:
    """One folder, and what it comes to."""

    name: str
    policy: Policy
    units: list[Unit]
    laid: Laid
    run: Run
    infos: Mapping[str, ExecutorInfo]
    defects: list[Defect]
    excused: set[str]
    """Units whose missing answer a person answers for."""
    alone: set[str]
    """Cases that stand on fewer voices because of that."""
    whole: set[str]
    """Those of them that need no quorum."""
    codes: set[tuple[str, str]] = field(default_factory=set)
    remarks: set[str] = field(default_factory=set)
    blocking: list[tuple[Defect, str]] = field(default_factory=list)

    @classmethod
    def of(cls, name: str, run: Run, laid: Laid, infos: Mapping[str, ExecutorInfo], oracle: Oracle) -> Judged:
        """With all that its results hold."""
        units = [u for u in run.plan.units if u.folder == name]
        policy = run.facts.folders.get(name, run.facts.gate)
        heard = hear(run.examination, run.facts)
        found: list[Defect] = []
        for case in dict.fromkeys(u.case for u in units):
            ids = list(dict.fromkeys(u.id for u in units if u.case == case))
            found += defects(case, [laid.of[i] for i in ids if i in laid.of], infos, heard, oracle)
        excused, alone, whole = outside.away(run.facts, units, laid.of, laid.sound, infos)
        return cls(name, policy, units, laid, run, infos, found, excused, alone, whole)

    def judge(self, oracle: Oracle) -> None:
        """Everything that a folder is judged by."""
        if self.name not in self.run.facts.folders:
            self.codes.add(("INCOMPLETE", "unknown-folder"))
        self._answers()
        self._quorum(oracle)
        self._findings(oracle)
        self._choices(oracle)
        self._not_asked()

    def _answers(self) -> None:
        for unit in self.units:
            if unit.id in self.excused:
                continue
            trouble = self.laid.trouble(unit)
            if trouble:
                self.codes.add(("INCOMPLETE", trouble))
                continue
            result = self.laid.of[unit.id]
            if any(v.code == "lost-finding" for v in result.salvage):
                self.codes.add(("INCOMPLETE", "lost-finding"))
            if any(f.severity not in ORDER for f in result.findings):
                self.codes.add(("INCOMPLETE", "unknown-severity"))

    def _quorum(self, oracle: Oracle) -> None:
        named = bool(self.run.facts.authors)
        for case in {u.case for u in self.units}:
            asked = {u.executor for u in self.units if u.case == case}
            voices = asked - writers(asked, self.run.facts)
            answered = [
                u.executor
                for u in self.units
                if u.case == case and self.laid.sound(u) and u.executor in voices
            ]
            if case in self.whole:
                continue
            if named and not answered:
                self.codes.add(("INCOMPLETE", "author-only"))
                continue
            needed = self.policy.quorum or (1 if self.policy.rule == "single" else 2)
            if named and not self.policy.quorum and most_independent(voices, self.infos) < 2:
                needed = 1
            there = most_independent(answered, self.infos)
            if there < needed:
                missing = any(self.laid.trouble(u) and u.id not in self.excused for u in self.units)
                if not answered and missing and needed == 1:
                    continue  # that nobody answered is said of the units themselves
                self.codes.add(("INCOMPLETE", QUORUM))

    # --- findings

    def _findings(self, oracle: Oracle) -> None:
        accepted, known = settled(self.run.facts, self.defects, oracle)
        contested: list[Defect] = []
        unresolved: list[Defect] = []
        both = others = 0
        for defect in self.defects:
            policy = self.policy
            if defect.case in self.alone:
                policy = _single(policy)
            counts = not (defect.beside or defect.kind == "ungrounded")
            answered_for = id(defect) in accepted or (id(defect) in known and policy.known == "pass")
            if counts and not (id(defect) in accepted or id(defect) in known):
                held_by_two = defect.kind == "consensus" or (
                    defect.kind == "contested" and defect.examined != "refuted"
                )
                if held_by_two:
                    both += 1
                else:
                    others += 2 if defect.kind == "uncertain" else 1
            if defect.beside:
                self._let("beside", defect)
                continue
            if answered_for:
                self._let("accepted" if id(defect) in accepted else "known", defect)
            elif defect.kind == "ungrounded":
                if rank(defect.severity) >= min(least(policy), rank("high")) or _gated(
                    policy, defect.severity
                ):
                    self._block(defect, "INCOMPLETE", "ungrounded")
            elif self._share(defect, oracle) < policy.reproducibility:
                self._let("not-reproduced", defect)
            elif defect.agreed and _gated(policy, defect.agreed):
                self._block(defect, "FAIL", "consensus")
            elif not _gated(policy, defect.severity):
                if defect.severity in ("high", "critical"):
                    self.remarks.add("off")
            elif rule_for(policy, defect.severity) == "any" and self._known_word(defect, oracle):
                self._block(defect, "FAIL", "single-finding")
            elif defect.kind == "contested" and defect.examined == "refuted":
                if defect.severity == "critical" or defect.severity not in ORDER:
                    self._block(defect, "INCOMPLETE", "refuted")
                else:
                    self._let("refuted", defect)
            elif defect.kind in ("contested", "consensus"):
                contested.append(defect)
            else:
                unresolved.append(defect)
        self._limit(contested, self.policy.contested)
        self._limit(unresolved, self.policy.unresolved)
        if both + others and 2 * both / (2 * both + others) < self.policy.min_agreement:
            self.codes.add(("INCOMPLETE", "low-agreement"))

    def _share(self, defect: Defect, oracle: Oracle) -> float:
        """Of what stands in an answer that is not to be relied on, nothing was counted."""
        if not defect.counted and self.policy.reproducibility:
            return oracle.either("the share of what no sound answer holds", (1.0, 0.0))
        return max(defect.shares, default=1.0)

    def _known_word(self, defect: Defect, oracle: Oracle) -> bool:
        """Whether one word is enough; of a severity that nobody knows the unit itself is INCOMPLETE."""
        return defect.severity in ORDER or oracle.either("one holds an unknown severity", (False, True))

    def _limit(self, open_ones: Sequence[Defect], most: int) -> None:
        for defect in open_ones:
            if most < 0 or len(open_ones) <= most:
                self._let("tolerated", defect)
            else:
                code = "unresolved" if defect.kind == "single" else defect.kind
                self._block(defect, "INCOMPLETE", "contested" if code == "consensus" else code)

    def _block(self, defect: Defect, outcome: str, code: str) -> None:
        self.codes.add((outcome, code))
        self.blocking.append((defect, outcome))

    def _let(self, code: str, defect: Defect) -> None:
        """What is worth a word; how many of a severity that nobody knows is not counted."""
        if defect.severity in ORDER and (
            _gated(self.policy, defect.severity) or rank(defect.severity) >= rank("high")
        ):
            self.remarks.add(code)

    # --- the rest

    def _choices(self, oracle: Oracle) -> None:
        agreeing = asked = 0
        for case in {u.case for u in self.units if u.brief.contract.kind == "choice"}:
            votes: dict[str, list[str]] = {}
            for unit in self.units:
                if unit.case == case and self.laid.sound(unit):
                    choice = self.laid.of[unit.id].choice
                    votes.setdefault(unit.executor, []).append(choice.option if choice else "")
            asked += 1
            one, most = outside.voted(votes, self.infos)
            agreeing += one if votes else oracle.either("a choice that nobody made", (True, False))
            if self.policy.choices == "unanimous" and not one:
                self.codes.add(("INCOMPLETE", "choice-open"))
            if self.policy.choices == "majority" and not most:
                self.codes.add(("INCOMPLETE", "choice-open"))
        if asked and agreeing / asked < self.policy.min_agreement:
            self.codes.add(("INCOMPLETE", "low-agreement"))

    def _not_asked(self) -> None:
        changed = outside.is_change(self.run.facts)
        asked = {u.case for u in self.units}
        for left_out in self.run.plan.not_asked:
            if left_out.folder != self.name:
                continue
            reason = left_out.reason
            decided = reason in ("skipped", "contract") or (reason == "untouched" and changed)
            if decided or (reason == "needs" and left_out.case in asked):
                continue
            self.codes.add(("INCOMPLETE", "brief" if reason == "brief" else f"not-asked:{reason}"))


def _gated(policy: Policy, severity: str) -> bool:
    return rule_for(policy, severity) != "off"


def _single(policy: Policy) -> Policy:
    """Where a vendor is away with somebody's consent, the word of the other is enough."""
    return replace(policy, rule="single")
