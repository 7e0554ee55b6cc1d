"""The tables of the run document that say who was asked what, and what came back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from prun_review.answers import Answers, sound, trouble
from prun_review.authors import authors_of
from prun_review.causes import cause
from prun_review.choices import ballots, table
from prun_review.codec import encode
from prun_review.independence import independent_among, known
from prun_review.model import ExecutorInfo, Plan, Result, RunFacts, Unit, Usage

Row = dict[str, Any]

_USAGE = tuple(f.name for f in fields(Usage))


def executors_of(facts: RunFacts, plan: Plan) -> dict[str, ExecutorInfo]:
    """Every executor recorded or planned, recorded ones first."""
    infos = {e.name: e for e in facts.executors}
    for name in sorted({u.executor for u in plan.units} - set(infos)):
        infos[name] = known(name, {})
    return infos


def authors(facts: RunFacts, executors: Iterable[str]) -> Row | None:
    """Who wrote what is reviewed, and which of the run's executors count as theirs; None: nobody says."""
    named = authors_of(facts)
    if not named.words:
        return None
    return {"named": list(named.words), "executors": [name for name in executors if named.wrote(name)]}


def usage_of(results: Iterable[Result]) -> Row:
    """The sum of what results say they used; None where none of them says."""
    sums: dict[str, float] = {}
    for result in results:
        for name in _USAGE:
            value = getattr(result.usage, name)
            if value is not None:
                sums[name] = sums.get(name, 0) + value
    return {name: round(sums[name], 6) if name in sums else None for name in _USAGE}


def panels(plan: Plan, answers: Answers, executors: Mapping[str, ExecutorInfo], *, ended: bool) -> list[Row]:
    """One row per executor; a unit without a result is a trouble only once the run has ended."""
    rows = []
    for name, e in executors.items():
        units = [u for u in plan.units if u.executor == name]
        results = [r for u in units if (r := answers.by_unit.get(u.id))]
        statuses = Counter(r.status for r in results)
        troubles = [trouble(u, answers.by_unit.get(u.id))[0] for u in units] if ended else []
        codes = Counter(code for code in troubles if code)
        rows.append(
            {
                "executor": name,
                "vendor": e.vendor,
                "lineage": e.lineage,
                "identity": e.identity,
                "version": e.version,
                "paid": e.paid,
                "asked": len(units),
                "valid": sum(sound(u, answers.by_unit.get(u.id)) for u in units),
                "broken": statuses["broken"],
                "failed": statuses["failed"],
                "not_run": statuses["not-run"],
                "findings": sum(len(r.findings) for r in results),
                "seconds": round(sum(r.seconds for r in results), 3),
                "usage": usage_of(results),
                "reasons": dict(sorted(codes.items())),
            }
        )
    return rows


def causes(plan: Plan, answers: Answers) -> list[Row]:
    """Why units have no answer to rely on: one row per executor and reason, the most units first.

    ``units`` counts all that it hit, those among them that answered when asked again (``retried``)
    too; ``message`` is what the first one said and ``others`` how many said something else.
    """
    failed: dict[_Key, list[str]] = {}
    not_run: dict[_Key, list[str]] = {}
    retried: Counter[_Key] = Counter()
    for unit in plan.units:
        result = answers.by_unit.get(unit.id)
        code, message = trouble(unit, result)
        if code:
            lost = not_run if code == "not-run" else failed
            lost.setdefault((unit.executor, _reason(code, result)), []).append(message)
        elif result:
            retried.update((unit.executor, reason) for reason in set(result.retried))
    keys = sorted({*failed, *not_run, *retried})
    return sorted(
        (_cause(key, failed.get(key, []), not_run.get(key, []), retried[key]) for key in keys),
        key=lambda row: -row["units"],
    )


_Key = tuple[str, str]
"""Executor and reason code."""


def _reason(code: str, result: Result | None) -> str:
    if result is None:
        return "missing"
    return result.reason if result.status in ("failed", "not-run") else code


def _cause(key: _Key, failed: Sequence[str], not_run: Sequence[str], retried: int) -> Row:
    executor, reason = key
    known = cause(reason)
    said = failed or not_run  # what kept a unit from being run is the message of the one that failed
    return {
        "executor": executor,
        "reason": reason,
        "title": known.title or reason,
        "remedy": known.remedy,
        "units": len(failed) + len(not_run) + retried,
        "failed": len(failed),
        "not_run": len(not_run),
        "retried": retried,
        "message": said[0] if said else "",
        "others": len(set(said)) - 1 if said else 0,
    }


def usage(plan: Plan, answers: Answers, executors: Mapping[str, ExecutorInfo]) -> Row:
    """What every executor used, and for how many units it did not say what they cost."""
    rows: Row = {}
    for name in executors:
        results = [r for u in plan.units if u.executor == name and (r := answers.by_unit.get(u.id))]
        rows[name] = {
            **usage_of(results),
            "units": len(results),
            "units_without_cost": sum(r.usage.cost_usd is None and _dispatched(r) for r in results),
        }
    return rows


def _dispatched(result: Result) -> bool:
    """Whether anything was spent on it: a unit that was never run has no cost to tell."""
    return result.status != "not-run" or result.attempts > 0


def cases(plan: Plan, answers: Answers, executors: Mapping[str, ExecutorInfo]) -> list[Row]:
    """One row per case in plan order; cases that nobody was asked come last."""
    asked: dict[str, list[Unit]] = {}
    for unit in plan.units:
        asked.setdefault(unit.case, []).append(unit)
    for left_out in plan.not_asked:
        asked.setdefault(left_out.case, [])
    return [_case(name, units, plan, answers, executors) for name, units in asked.items()]


def _case(
    name: str,
    units: Sequence[Unit],
    plan: Plan,
    answers: Answers,
    executors: Mapping[str, ExecutorInfo],
) -> Row:
    left_out = [n for n in plan.not_asked if n.case == name]
    good = [r for u in units if (r := answers.by_unit.get(u.id)) and sound(u, r)]
    answered = list(dict.fromkeys(r.executor for r in good))
    contract = units[0].brief.contract if units else None
    row: Row = {
        "case": name,
        "folder": units[0].folder if units else left_out[0].folder,
        "contract": contract.kind if contract else "",
        "place": units[0].place if units else "",
        "question": first_line(units[0].brief.prompt) if units else "",
        "asked": list(dict.fromkeys(u.executor for u in units)),
        "answered": answered,
        "independent": independent_among(answered, executors),
        "not_asked": [{"executor": n.executor, "reason": n.reason, "text": n.text} for n in left_out],
        "choice": None,
    }
    if contract and contract.kind == "choice":
        row["choice"] = table(contract.options, contract.criteria, good, ballots(good, executors))
    return row


def first_line(text: str) -> str:
    """The first line of a text that is not blank."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def units(plan: Plan, answers: Answers, absent: str) -> list[Row]:
    """One row per planned unit, in plan order; one without a result has the status ``absent``."""
    return [_unit(unit, answers.by_unit.get(unit.id), absent) for unit in plan.units]


def _unit(unit: Unit, result: Result | None, absent: str) -> Row:
    row: Row = {
        "id": unit.id,
        "slug": unit.slug,
        "case": unit.case,
        "folder": unit.folder,
        "executor": unit.executor,
        "repeat": unit.repeat,
    }
    r = result or Result(unit.id, unit.slug, unit.case, unit.folder, unit.executor, absent, absent)
    if r.answer and unit.brief.contract.kind == "prose":
        row["text"] = r.answer.body
    if unit.brief.mode == "write":
        row["patch"] = encode(r.patch)
        row["checks"] = encode(r.checks)
        row["claim"] = encode(r.answer.claim) if r.answer else None
        row["marker"] = r.marker
    return row | {
        "status": r.status,
        "reason": r.reason,
        "message": r.message,
        "violations": encode(r.violations),
        "salvage": encode(r.salvage),
        "attempts": r.attempts,
        "seconds": r.seconds,
        "usage": encode(r.usage),
        "examined": list(r.answer.examined) if r.answer else [],
        "sources": encode(r.answer.sources) if r.answer else [],
        "suppressed": encode(r.suppressed),
        "conclusion": r.answer.header.conclusion if r.answer else "",
    }
