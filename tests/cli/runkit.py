"""Stored runs for the verbs, written through the run directory's own writer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from prun_review import document, rundir
from prun_review.model import Finding, Plan, Result, RunFacts
from prun_review.policy import Policy
from tests.gatekit import EXECUTORS, FOLDER, result, unit

CODEX, SONNET = unit("codex"), unit("sonnet")
CLEAN = (result(CODEX), result(SONNET))
FACTS = RunFacts(
    "",
    1.8e9,
    executors=(EXECUTORS["codex"], EXECUTORS["sonnet"]),
    folders={FOLDER: Policy()},
)


def both(finding: Finding) -> tuple[Result, ...]:
    """Results of both executors with the same finding."""
    return result(CODEX, finding), result(SONNET, finding)


def store(
    root: Path,
    results: Iterable[Result] = CLEAN,
    *,
    plan: Plan = Plan((CODEX, SONNET)),  # noqa: B008 (frozen)
    facts: RunFacts = FACTS,
    ended: bool = True,
    now: float = 1.8e9,
) -> Path:
    """A run below ``root``, with its end unless ``ended`` is false; its directory."""
    run = rundir.create(root, now=now)
    try:
        facts = replace(facts, run_id=run.path.name)
        run.write_plan(plan)
        run.write_document(document.start(facts, plan))
        kept = tuple(results)
        for one in kept:
            run.finish(one)
        if ended:
            run.write_document(document.build(replace(facts, finished=facts.started + 60), plan, kept))
    finally:
        run.close()
    return run.path
