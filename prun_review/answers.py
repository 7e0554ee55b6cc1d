"""Which result answers which planned unit, and what is wrong with the rest.

The gate and the document look at the same table, so that a result which does not count is nowhere
compared, and one that counts is nowhere forgotten.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from prun_review.codec import encode
from prun_review.model import SEVERITIES, Plan, Reason, Result, Unit

STATUSES = ("valid", "broken", "failed", "not-run")


@dataclass(frozen=True, slots=True)
class Answers:
    """The results of a run, laid against its plan."""

    by_unit: Mapping[str, Result] = field(default_factory=dict)
    """Unit id -> its one result; a unit without a usable one is absent."""
    refused: tuple[Reason, ...] = ()
    """Results and units that contradict the plan."""


def lay(plan: Plan, results: Sequence[Result]) -> Answers:
    """Lay ``results`` against ``plan``; their order does not matter.

    Of two results for one unit the one that sorts first is shown, and the contradiction is a reason.
    Such reasons are the run's, not a folder's: no folder in report mode may hide them.
    """
    units: dict[str, Unit] = {}
    refused: list[Reason] = []
    for unit in plan.units:
        if unit.id in units:
            text = f"the plan holds the unit {unit.id} twice"
            refused.append(Reason("duplicate-unit", text))
        units.setdefault(unit.id, unit)
    found: dict[str, Result] = {}
    for result in sorted(results, key=lambda r: (r.unit, json.dumps(encode(r)))):
        planned = units.get(result.unit)
        if planned is None:
            refused.append(Reason("unplanned-result", f"a result of {result.unit}, which is not in the plan"))
            continue
        odd = _contradiction(planned, result)
        if odd:
            text = f"the result of {planned.id} belongs to something else: {odd}"
            refused.append(Reason("mismatch", text))
        elif planned.id in found:
            text = f"two results for the unit {planned.id}"
            refused.append(Reason("duplicate-result", text))
        else:
            found[planned.id] = result
    return Answers({u: found[u] for u in units if u in found}, tuple(refused))


def _contradiction(unit: Unit, result: Result) -> str:
    for name in ("slug", "case", "folder", "executor", "repeat"):
        mine, theirs = getattr(unit, name), getattr(result, name)
        if mine != theirs:
            return f"its {name} is {theirs!r}, planned was {mine!r}"
    if unit.fingerprint and result.fingerprint and unit.fingerprint != result.fingerprint:
        return "its fingerprint is of another question, executor or tree"
    return ""


def trouble(unit: Unit, result: Result | None) -> tuple[str, str]:
    """Why there is no answer to rely on, as ``(code, message)``; the code is empty for a sound one."""
    if result is None:
        return "missing-result", ""
    if result.status == "failed":
        return f"failed:{result.reason}", result.message
    if result.status == "broken":
        return "contract", result.message or "; ".join(map(str, result.violations))
    if result.status == "not-run":
        return "not-run", result.message or result.reason
    if result.status not in STATUSES:
        return "unknown-status", f"status {result.status!r}"
    if result.violations:
        return "contract", "; ".join(map(str, result.violations))
    if result.answer is None:
        return "contract", "called valid, without an answer"
    contract = unit.brief.contract
    if contract.kind == "choice" and (result.choice is None or result.choice.option not in contract.options):
        return "contract", "called valid, without a choice of the options"
    return "", ""


def sound(unit: Unit, result: Result | None) -> bool:
    """Whether the unit has an answer to rely on."""
    return not trouble(unit, result)[0]


def doubts(result: Result) -> list[tuple[str, str]]:
    """What forbids PASS in an answer that is otherwise sound, as ``(code, message)``."""
    found = [("lost-finding", v.text) for v in result.salvage if v.code == "lost-finding"]
    words = sorted({f.severity for f in result.findings} - set(SEVERITIES))
    return found + [("unknown-severity", f"severity {word!r}") for word in words]
