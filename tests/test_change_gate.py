"""The gate of a change: every new way to green, tried by somebody who wants it for nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prun_review import document
from prun_review.gate import for_gate_command
from prun_review.model import Plan
from prun_review.policy import Policy
from tests.change_situations import ADVISORS, AUTH, BESIDE, BESIDE_REWORDED, BOTH, DIFF, ROWS, away, untouched
from tests.gate_situations import AGREED, BILLING, CLEAN, CODEX, PAIR, SONNET, Row
from tests.gatekit import FOLDER, SQL, carry, facts, lost, outage, result, verdict
from tests.test_gate import test_situation as check_situation


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_situation_of_a_change(row: Row) -> None:
    check_situation(row)
    said = verdict(row.units, row.results, plan=row.plan, **row.facts)
    assert "\n" not in said.line
    assert for_gate_command(said).outcome == said.outcome, "no row is partial"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_situation_of_a_change_is_a_valid_document(row: Row) -> None:
    made = document.build(facts(**row.facts), Plan(tuple(row.units), **row.plan), row.results)
    assert document.validate(made) == []
    assert document.facts_of(made) == facts(**row.facts)
    assert made["verdict"]["outcome"] == row.outcome
    blocking = {f["id"]: f["outcome"] for f in made["findings"] if f["blocking"]}
    codes = ("consensus", "single-finding", "uncertain", "contested", "unresolved", "refuted", "ungrounded")
    decided = [r for r in made["verdict"]["reasons"] if r["code"] in codes]
    assert len(blocking) == len(decided), "the rows say of each finding what the verdict says"


def test_a_case_without_its_vendor_blocks_in_the_document_too() -> None:
    results = (lost(CODEX, reason="network"), result(SONNET, SQL))
    (row,) = document.build(facts(**away()), Plan(PAIR), results)["findings"]
    assert (row["blocking"], row["outcome"], row["class"]) == (True, "FAIL", "single")


def test_each_person_is_named_once_however_many_units_are_away() -> None:
    units = (*PAIR, *BILLING)
    results = (
        lost(CODEX, reason="network"), CLEAN[1], lost(BILLING[0], "not-run", "quota-exhausted"),
        result(BILLING[1]),
    )  # fmt: skip
    said = verdict(units, results, **away(outage(by="Ada\n\x1b[31m" + "x" * 500)))
    (reason,) = (r for r in said.reasons if r.code == "outage")
    assert "codex away for 2 units (network, quota-exhausted)" in reason.text
    assert "\n" not in said.line
    assert len(said.line) < 300


def test_an_outage_in_a_folder_that_decides_nothing_is_not_said_of_the_rest() -> None:
    folders = {FOLDER: Policy(), "panels/advice": Policy(mode="report")}
    results = (*CLEAN, lost(ADVISORS[0], reason="network"), result(ADVISORS[1]))
    said = verdict((*PAIR, *ADVISORS), results, folders=folders, **away())
    assert said.line == "PASS"


def test_counts_tell_the_kinds_of_what_was_not_asked_apart() -> None:
    left_out = (untouched(), untouched("panels/security/probe_y.py::probe_y"))
    counts = verdict(DIFF, CLEAN, plan={"not_asked": left_out}, **AUTH).counts
    assert (counts["cases_untouched"], counts["cases_not_asked"], counts["cases_skipped"]) == (2, 0, 0)
    beside = verdict(PAIR, (result(CODEX, BESIDE), result(SONNET, BESIDE_REWORDED)), **AUTH).counts
    assert (beside["critical_beside"], beside["critical_open"], beside["blocking"]) == (1, 0, 0)


def test_long_lists_are_counted_and_not_shown_whole() -> None:
    many = tuple(replace(BOTH["change"][0], path=f"src/{n}.py") for n in range(500))
    said = verdict(DIFF, CLEAN, **{**BOTH, "change": many})
    (reason,) = (r for r in said.reasons if r.code == "uncovered")
    assert "500 of 500 changed files" in reason.text
    assert "and 492 more" in reason.text
    assert len(reason.text) < 1000


def test_a_blocker_is_carried_once_for_each_place_and_each_says_its_run() -> None:
    said = verdict(PAIR, AGREED, carried=(carry(SQL), carry(replace(SQL, file="src/x.py"), run="r2")))
    (reason,) = (r for r in said.reasons if r.code == "carried")
    assert "run r2" in reason.text
    assert "src/x.py:12" in reason.text
