"""The model of which result answers which unit, and what is wrong with the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from prun_review.model import Result, Unit
from tests.campaign.oracle import Oracle
from tests.campaign.runs import Run


@dataclass
class Laid:
    """Results, laid against the plan."""

    of: dict[str, Result] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)

    def trouble(self, unit: Unit) -> str:
        """Why a unit has no answer to rely on; empty where it has one."""
        result = self.of.get(unit.id)
        if result is None:
            return "missing-result"
        if result.status == "failed":
            return f"failed:{result.reason}"
        if result.status == "not-run":
            return "not-run"
        if result.status == "broken":
            return "contract"
        if result.status != "valid":
            return "unknown-status"
        if result.violations or result.answer is None:
            return "contract"
        if unit.brief.contract.kind == "choice":
            choice = result.answer.choice
            if choice is None or choice.option not in unit.brief.contract.options:
                return "contract"
        return ""

    def sound(self, unit: Unit) -> bool:
        """Whether there is an answer to rely on."""
        return not self.trouble(unit)


def lay(run: Run, oracle: Oracle) -> Laid:
    """A result counts for the unit that it belongs to in everything; of two either may."""
    laid = Laid()
    planned: dict[str, Unit] = {}
    for unit in run.plan.units:
        if unit.id in planned:
            laid.refused.add("duplicate-unit")
        planned.setdefault(unit.id, unit)
    fitting: dict[str, list[Result]] = {}
    for result in run.results:
        unit_of = planned.get(result.unit)
        if unit_of is None:
            laid.refused.add("unplanned-result")
        elif not _fits(unit_of, result):
            laid.refused.add("mismatch")
        else:
            fitting.setdefault(result.unit, []).append(result)
    for id, results in fitting.items():
        if len(results) > 1:
            laid.refused.add("duplicate-result")
        different = [r for n, r in enumerate(results) if r not in results[:n]]
        laid.of[id] = oracle.either("two results of one unit", different)
    return laid


def _fits(unit: Unit, result: Result) -> bool:
    stale = unit.fingerprint and result.fingerprint and unit.fingerprint != result.fingerprint
    mine = unit.slug, unit.case, unit.folder, unit.executor, unit.repeat
    theirs = result.slug, result.case, result.folder, result.executor, result.repeat
    return mine == theirs and not stale
