"""The run document: one versioned JSON value that every report and every later command reads.

A document with the status ``started`` and no verdict is a run that has not ended; whoever finds one
that nobody works on has found a run that died.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from prun_review import examviews, findingviews, gate, views
from prun_review.answers import lay
from prun_review.authors import authors_of
from prun_review.changegate import reviewed
from prun_review.codec import decode, encode
from prun_review.consensus import Crossing, cross
from prun_review.folding import Same
from prun_review.jsonvalues import clean, iso
from prun_review.model import ExecutorInfo, Plan, Reason, Result, RunFacts, Verdict
from prun_review.ruled import rulings_of
from prun_review.rulings import Examination
from prun_review.tables import agreement

SCHEMA_VERSION = 1

NOTHING = Examination()
"""Nothing was examined."""


def start(facts: RunFacts, plan: Plan) -> dict[str, Any]:
    """The document of a run that begins: everything planned, nothing answered, no verdict."""
    return _assemble("started", None, Gathered(gate.gather(facts, plan, (), {}), {}))


def build(
    facts: RunFacts,
    plan: Plan,
    results: Sequence[Result],
    *,
    same: Same | None = None,
    examination: Examination = NOTHING,
) -> dict[str, Any]:
    """The document of a run that ended; ``examination`` is its second wave.

    Deterministic: the order of ``results`` does not matter.  Only JSON values, no lone surrogates, no
    NaN.  Raises what ``same`` raises; a caller that cannot build the document has no verdict.
    """
    return complete(gather(facts, plan, results, same=same, examination=examination))


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the document of a run is made of."""

    evidence: gate.Evidence
    crossings: Mapping[str, Crossing]
    """The cross-check of every case."""
    examination: Examination = NOTHING
    same: Same | None = None


def gather(
    facts: RunFacts,
    plan: Plan,
    results: Sequence[Result],
    *,
    same: Same | None = None,
    examination: Examination = NOTHING,
) -> Gathered:
    """Cross-check the cases, and lay out what the verdict is made of."""
    answers = lay(plan, results)
    executors = views.executors_of(facts, plan)
    by_case: dict[str, list[Result]] = {}
    for unit in plan.units:
        result = answers.by_unit.get(unit.id)
        if result is not None and result not in by_case.setdefault(unit.case, []):
            by_case[unit.case].append(result)
    rulings = rulings_of(examination, authors_of(facts))
    crossings = {case: cross(found, executors, same=same, rulings=rulings) for case, found in by_case.items()}
    groups = {case: crossing.groups for case, crossing in crossings.items()}
    return Gathered(gate.gather(facts, plan, results, groups), crossings, examination, same)


def complete(gathered: Gathered) -> dict[str, Any]:
    """The document of a run that ended, as :func:`build` gives it."""
    status = "interrupted" if "interrupted" in gathered.evidence.facts.stopped else "finished"
    return _assemble(status, gate.judge(gathered.evidence), gathered)


def _assemble(status: str, verdict: Verdict | None, gathered: Gathered) -> dict[str, Any]:
    evidence, crossings = gathered.evidence, gathered.crossings
    facts, plan, answers, folders = evidence.facts, evidence.plan, evidence.answers, evidence.folders
    executors: dict[str, ExecutorInfo] = views.executors_of(facts, plan)
    document = {
        "schema_version": SCHEMA_VERSION,
        "run_id": facts.run_id,
        "status": status,
        "started": iso(facts.started),
        "finished": None if facts.finished is None else iso(facts.finished),
        "verdict": None if verdict is None else encode(verdict),
        "panels": views.panels(plan, answers, executors, ended=verdict is not None),
        "cases": views.cases(plan, answers, executors),
        "units": views.units(plan, answers, "planned" if verdict is None else "missing"),
        "findings": findingviews.findings(folders, change=reviewed(facts)),
        "pairs": findingviews.pairs(crossings),
        "examination": examviews.examination(facts, gathered.examination),
        "agreement": agreement(plan, answers, crossings, executors, same=gathered.same),
        "causes": [] if verdict is None else views.causes(plan, answers),
        "usage": views.usage(plan, answers, executors),
        "not_asked": [encode(n) for n in plan.not_asked],
        "revision": encode(facts.revision),
        "change": findingviews.change(facts, folders),
        "authors": views.authors(facts, executors),
        "baseline": findingviews.baseline(facts, evidence.settled),
        "policy": findingviews.policy(facts, folders),
        "acceptances": encode(facts.acceptances),
        "facts": encode(facts),
    }
    cleaned: dict[str, Any] = clean(document)
    return cleaned


def facts_of(document: Mapping[str, Any]) -> RunFacts:
    """The facts that a document was built from; ``ValueError`` names what does not fit."""
    return decode(RunFacts, document.get("facts"), "facts")


def verdict_of(document: Mapping[str, Any]) -> Verdict:
    """The verdict that a document holds; INCOMPLETE (``unfinished``) for a run that did not end."""
    held = document.get("verdict")
    if held is None:
        reason = Reason("unfinished", "the run has no end: it still runs, or it died")
        return Verdict("INCOMPLETE", (reason,), line="INCOMPLETE (unfinished)")
    return decode(Verdict, held, "verdict")


def validate(document: Any) -> list[str]:
    """What is wrong with a document under ``schemas/run.json``, as ``place: text``; empty if nothing."""
    errors = _validator().iter_errors(document)
    return sorted(f"{'/'.join(map(str, e.absolute_path)) or 'document'}: {e.message[:300]}" for e in errors)


@cache
def _validator() -> Any:
    from importlib.resources import files

    from jsonschema import Draft202012Validator

    text = files("prun_review").joinpath("schemas/run.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))
