"""Which executors can be compared on which case, and why the others cannot: n of m answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prun_review.agreement import PREFIX
from prun_review.answers import Answers, sound, trouble
from prun_review.independence import dependence
from prun_review.intervals import LEAST, Estimate, plural, wilson
from prun_review.model import Contract, ExecutorInfo, Plan, Result, Unit

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One case: who was asked, and what came back."""

    case: str
    contract: Contract
    units: Mapping[str, Sequence[Unit]]
    """Executor -> its units, one for each repeat."""
    results: Mapping[str, Sequence[Result]]
    """Executor -> its sound answers; those without one are absent."""
    troubles: Mapping[str, str]
    """Executor without a sound answer -> reason code of the first thing that kept it from one."""


def asked(plan: Plan, answers: Answers) -> list[Asked]:
    """The cases of a plan, in its order."""
    cases: dict[str, dict[str, list[Unit]]] = {}
    for unit in plan.units:
        cases.setdefault(unit.case, {}).setdefault(unit.executor, []).append(unit)
    return [_asked(case, units, answers) for case, units in cases.items()]


def _asked(case: str, units: Mapping[str, Sequence[Unit]], answers: Answers) -> Asked:
    results, troubles = {}, {}
    for executor, mine in units.items():
        good = [r for u in mine if (r := answers.by_unit.get(u.id)) and sound(u, r)]
        if good:
            results[executor] = good
        else:
            troubles[executor] = trouble(mine[0], answers.by_unit.get(mine[0].id))[0]
    return Asked(case, next(iter(units.values()))[0].brief.contract, units, results, troubles)


def missing(cases: Iterable[Asked], executors: Sequence[str]) -> list[Row]:
    """Why these executors have no answer: one row for each of them and reason, the most cases first."""
    return told(Counter((e, c.troubles[e]) for c in cases for e in executors if e in c.troubles), executors)


def told(lacking: Counter[tuple[str, str]], executors: Sequence[str]) -> list[Row]:
    """The rows of cases counted by executor and reason."""
    keys = sorted(lacking, key=lambda key: (executors.index(key[0]), -lacking[key], key[1]))
    return [{"executor": e, "reason": reason, "n": lacking[e, reason]} for e, reason in keys]


def marked(pair: tuple[str, str], executors: Mapping[str, ExecutorInfo]) -> Row:
    """Who is compared, and whether what they share corroborates anything."""
    why = dependence(executors[pair[0]], executors[pair[1]])
    return {"left": pair[0], "right": pair[1], "independent": not why, "dependence": why}


def interval(low: float | None, high: float | None) -> list[float] | None:
    """Two bounds as the document holds them."""
    return None if low is None or high is None else [round(low, 4), round(high, 4)]


def bare(why_not: str) -> str:
    """The reason without its heading, which every renderer writes itself."""
    return why_not.removeprefix(PREFIX)


def estimate(found: Estimate) -> Row:
    """A coefficient as the document holds it."""
    value = None if found.value is None else round(found.value, 4)
    return {
        "value": value,
        "interval": interval(found.low, found.high),
        "n": found.n,
        "why_not": found.why_not,
    }


def share(k: int, n: int, what: str, most: int | None = None) -> Row:
    """``k`` (up to ``most``) of ``n`` as the document holds it; ``what`` names one of the n."""
    row: Row = {"k": k} | ({} if most is None else {"k_most": most}) | {"n": n}
    if n < LEAST:
        return row | {"wilson": None, "why_not": f"{n} {plural(what, n)}, fewer than {LEAST}"}
    bounds = wilson(k, n)[0], wilson(k if most is None else most, n)[1]
    return row | {"wilson": interval(*bounds), "why_not": ""}
