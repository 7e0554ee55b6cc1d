"""The verdict, situation by situation: never green for a review that did not happen."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.answers import sound
from prun_review.folders import blocks
from prun_review.gate import for_gate_command
from prun_review.model import Plan, Result, RunFacts, Unit, Verdict
from prun_review.policy import Policy
from prun_review.verdict import worst
from tests import gatekit
from tests.gate_situations import (
    AGREED,
    ASKS,
    BILLING,
    CLEAN,
    PAIR,
    PANELS,
    ROWS,
    TWO_OF_EACH,
    Row,
    skipped,
)
from tests.gate_strategies import FACTS, quiet_results, some_results
from tests.gatekit import (
    FOLDER,
    LEAK,
    choose,
    groups_of,
    lost,
    result,
    unit,
    verdict,
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_situation(row: Row) -> None:
    said = verdict(row.units, row.results, plan=row.plan, **row.facts)
    assert said.outcome == row.outcome, said.line
    reported = {name for name, outcome in said.folders.items() if outcome.startswith("report: ")}
    deciding = [r for r in said.reasons if r.folder not in reported]
    leading = [r.code for r in deciding if worst([r.outcome]) == row.outcome != "PASS"]
    assert sorted(leading) == sorted(row.codes)
    assert said.line.startswith(row.outcome)
    if row.line is not None:
        assert said.line == row.line
    assert row.says in "\n".join(r.text for r in said.reasons)


def test_folders_are_judged_one_by_one() -> None:
    results = (*AGREED, choose(ASKS[0], "jsonl"), choose(ASKS[1], "jsonl"))
    folders = {**PANELS, "panels/empty": Policy(), "panels/style": Policy(mode="report")}
    said = verdict((*PAIR, *ASKS), results, folders=folders)
    assert said.folders == {
        "panels/design": "PASS",
        "panels/empty": "NOT ASKED",
        "panels/security": "FAIL",
        "panels/style": "report: NOT ASKED",
    }
    assert {r.folder for r in said.reasons if r.outcome == "FAIL"} == {FOLDER}


def test_one_cause_is_said_once() -> None:
    units = [unit("codex", f"{FOLDER}/probe_x.py::probe_x[{n}]") for n in range(12)]
    said = verdict(units, [lost(u, reason="rate-limited") for u in units])
    (reason,) = (r for r in said.reasons if r.code == "failed:rate-limited")
    assert "codex: 12 of 12 units failed (rate-limited)" in reason.text
    assert "and 8 more" in reason.text


def test_counts() -> None:
    results = (*AGREED, result(BILLING[0], LEAK), lost(BILLING[1]))
    counts = verdict(TWO_OF_EACH, results, plan={"not_asked": (skipped("skipped"),)}, items_failed=2).counts
    expected = {
        "units": 4, "answered": 3, "failed": 1, "broken": 0, "missing": 0, "cases": 2, "cases_independent": 1,
        "skipped": 1, "not_asked": 0, "consensus": 1, "single": 1, "blocking": 2, "items_failed": 2,
        "critical_failing": 1, "high_open": 1, "high_failing": 0, "dissent": 0,
    }  # fmt: skip
    assert {name: counts[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("build", "outcome", "line"),
    [
        (lambda: verdict(PAIR, CLEAN), "PASS", "PASS"),
        (
            lambda: verdict(PAIR, CLEAN, plan={"partial": "2 of 9 units, --lf"}),
            "INCOMPLETE",
            "INCOMPLETE (2 of 2 units answered; partial; partial: 2 of 9 units, --lf)",
        ),
        (
            lambda: verdict(PAIR, CLEAN, items_failed=3),
            "FAIL",
            "FAIL (3 probes failed by their own checks)",
        ),
        (lambda: verdict(PAIR, AGREED, plan={"partial": "x"}), "FAIL", None),
        (lambda: verdict(PAIR, AGREED, folders={FOLDER: Policy(mode="report")}), "PASS", None),
    ],
)
def test_the_gate_command_is_harder(build: Callable[[], Verdict], outcome: str, line: str | None) -> None:
    said = for_gate_command(build())
    assert said.outcome == outcome
    assert line is None or said.line == line
    assert for_gate_command(said) == said


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([], "PASS"),
        (["PASS", "INCOMPLETE"], "INCOMPLETE"),
        (["INCOMPLETE", "FAIL", "PASS"], "FAIL"),
        (["GREEN"], "INCOMPLETE"),
    ],
)
def test_worst(outcomes: list[str], expected: str) -> None:
    assert worst(outcomes) == expected


# --- for any results ----------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(st.one_of(some_results(), quiet_results()), FACTS, st.randoms(use_true_random=False))
def test_pass_means_what_it_says(
    made: tuple[tuple[Unit, ...], list[Result]], changed: dict[str, Any], rng: random.Random
) -> None:
    units, results = made
    said = verdict(units, results, **changed)
    shuffled = list(results)
    rng.shuffle(shuffled)
    assert verdict(units, shuffled, **changed) == said
    assert "\n" not in said.line
    run: RunFacts = gatekit.facts(**changed)
    if said.outcome != "PASS":
        assert any(worst([r.outcome]) == said.outcome for r in said.reasons)
        return
    assert units
    assert not run.stopped
    assert len({r.unit for r in results}) == len(results), "two results for a unit"
    by_unit = {r.unit: r for r in results}
    assert set(by_unit) <= {u.id for u in units}
    groups = groups_of(results)
    for u in Plan(units).units:
        policy = run.folders[u.folder]
        if policy.mode == "report":
            continue
        good = {v.executor for v in units if v.case == u.case and sound(v, by_unit.get(v.id))}
        vendors = {gatekit.EXECUTORS[name].vendor for name in good}
        if not sound(u, by_unit.get(u.id)):
            assert excused(run, by_unit[u.id]), "a missing answer that nobody answers for"
            assert vendors, "a case that nobody answered"
            assert u.executor in said.line, "nobody says who was away"
        if vendors != {"openai", "anthropic"}:
            if policy.rule == "consensus":
                assert any(
                    excused(run, by_unit[v.id]) for v in units if v.case == u.case and v.executor not in good
                )
            policy = replace(policy, rule="single")
        assert not any(blocks(g, policy) for g in groups.get(u.case, ()))
    decide = [u for u in units if run.folders[u.folder].mode != "report"] or units
    check_the_change(run, decide, by_unit, said)


def excused(run: RunFacts, result: Result) -> bool:
    """A person answers for it, and it looks like what that person answers for."""
    people = {a.subject for a in run.acceptances if a.kind == "outage" and not a.expired}
    return result.executor in people and result.reason in ("network", "quota-exhausted")


def check_the_change(
    run: RunFacts, units: Sequence[Unit], results: Mapping[str, Result], said: Verdict
) -> None:
    """Of a green run: what was changed was looked at, ignored by policy or accepted by a person."""
    assert all(run.folders.get(c.folder, Policy()).mode == "report" for c in run.carried)
    if not (run.change or run.revision.base):
        return
    assert not run.doubts
    assert run.change, "an empty change"
    if run.alters:
        digest = run.alters_digest.removeprefix("sha256:")
        assert digest
        assert any(a.subject == f"sha256:{digest}" and not a.expired for a in run.acceptances)
        assert "accepted by Ada" in said.line
    for file in run.change:
        held = [u for u in units if u.brief.contract.kind == "findings" and sound(u, results.get(u.id))]
        seen = [u for u in held if file.path in u.files or (u.brief.scope == "tree" and not u.files)]
        seen = [u for u in seen if (a := results[u.id].answer) and file.path in a.examined]
        if seen and file.kind != "binary":
            continue
        if file.path not in run.alters_paths:
            assert run.gate.uncovered
            assert run.gate.uncovered == ("**",) or file.path.startswith("docs/")
            assert "ignored by gate.uncovered" in said.line
