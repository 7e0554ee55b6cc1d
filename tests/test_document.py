"""The run document: its shape, its order, and that it can be read back."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review import document
from prun_review.model import Answer, Contract, NotAsked, Plan, Reason, Result, Score, Unit, Usage
from prun_review.policy import Policy
from tests.gate_situations import AGREED, ASKS, BILLING, CLEAN, DESIGN, PAIR, PANELS, ROWS, Row
from tests.gate_strategies import FACTS, some_results
from tests.gatekit import CASE, FOLDER, HEADER, LEAK, SQL, STYLE, broken, choose, facts, lost, result, unit


def build(units: tuple[Unit, ...], results: tuple[Result, ...], **changed: Any) -> dict[str, Any]:
    made = document.build(facts(**changed), Plan(units), results)
    assert document.validate(made) == []
    return made


# --- its life -----------------------------------------------------------------------------------


def test_a_run_that_begins_has_no_verdict() -> None:
    left_out = NotAsked("x", DESIGN, "panels/design", "ruff", "contract", "no analyser chooses")
    begun = document.start(replace(facts(), finished=None), Plan(PAIR, (left_out,)))
    assert document.validate(begun) == []
    assert (begun["status"], begun["verdict"], begun["finished"]) == ("started", None, None)
    assert {u["status"] for u in begun["units"]} == {"planned"}
    assert [p["reasons"] for p in begun["panels"]] == [{}] * len(begun["panels"])
    assert [c["case"] for c in begun["cases"]] == [CASE, DESIGN]
    assert document.verdict_of(begun).outcome == "INCOMPLETE"


@pytest.mark.parametrize(
    ("stopped", "status"), [("", "finished"), ("-x", "finished"), ("interrupted", "interrupted")]
)
def test_status_at_the_end(stopped: str, status: str) -> None:
    assert build(PAIR, CLEAN, stopped=stopped)["status"] == status


def test_times_are_utc() -> None:
    made = build(PAIR, CLEAN)
    assert (made["started"], made["finished"]) == ("2026-11-30T00:53:20.000Z", "2026-11-30T00:54:20.500Z")


def test_each_cause_stands_once_with_all_the_units_that_it_hit() -> None:
    units = tuple(unit(name, repeat=n) for name in ("codex", "sonnet") for n in range(1, 5))
    codex, sonnet = units[:4], units[4:]
    results = (
        lost(codex[0], reason="quota-exhausted"),
        replace(lost(codex[1], "not-run", "quota-exhausted"), message="not run: codex quota exhausted"),
        replace(lost(codex[2], "not-run", "quota-exhausted"), message="not run: codex quota exhausted"),
        result(codex[3], retried=("network", "network")),
        broken(sonnet[0]),
        replace(lost(sonnet[1]), retried=("network",)),
        replace(lost(sonnet[2]), message="another time"),
    )
    rows = build(units, results)["causes"]
    keys = ("executor", "reason", "units", "failed", "not_run", "retried", "message", "others")
    assert [tuple(row[key] for key in keys) for row in rows] == [
        ("codex", "quota-exhausted", 3, 1, 2, 0, "codex: quota-exhausted", 0),
        ("sonnet", "timeout", 2, 2, 0, 0, "sonnet: timeout", 1),
        ("codex", "network", 1, 0, 0, 1, "", 0),
        ("sonnet", "contract", 1, 1, 0, 0, "[not-json] a comma is missing at line 3", 0),
        ("sonnet", "missing", 1, 1, 0, 0, "", 0),
    ]
    assert all(row["title"] and row["remedy"] for row in rows)
    assert build(PAIR, CLEAN)["causes"] == []
    assert document.start(facts(), Plan(units))["causes"] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_situation_is_a_valid_document_and_reads_back(row: Row) -> None:
    run = facts(**row.facts)
    made = document.build(run, Plan(row.units, **row.plan), row.results)
    assert document.validate(made) == []
    stored = json.loads(json.dumps(made, allow_nan=False))
    assert stored == made
    assert document.facts_of(stored) == run
    assert document.verdict_of(stored).outcome == row.outcome
    assert made["verdict"]["outcome"] == row.outcome


# --- what stands in it --------------------------------------------------------------------------


def test_findings_are_sorted_by_class_and_weight() -> None:
    ungrounded = replace(STYLE, grounding="ungrounded", title="No such thing")
    made = build(PAIR, (result(PAIR[0], STYLE, ungrounded, LEAK, SQL), AGREED[1]))
    shown = [(f["class"], f["severity"], f["blocking"]) for f in made["findings"]]
    assert shown == [
        ("consensus", "critical", True),
        ("single", "high", True),
        ("single", "low", False),
        ("ungrounded", "low", False),
    ]
    assert [f["decided"]["code"] for f in made["findings"]] == ["consensus", "unresolved", "off", "off"]
    first = made["findings"][0]
    assert first["executors"] == ["codex", "sonnet"]
    assert first["id"] == first["members"][0]["id"] == f"{PAIR[0].slug}#4"
    assert (first["file"], first["line"], first["folder"]) == ("src/auth.py", 12, FOLDER)
    assert [m["unit"] for m in first["members"]] == [u.id for u in PAIR]


def test_pairs_name_both_ends() -> None:
    made = build(PAIR, (result(PAIR[0], SQL, LEAK), AGREED[1]))
    ends = [[p["left"], p["right"], p["outcome"]] for p in made["pairs"]]
    first, second = ({"executor": "codex", "id": f"{PAIR[0].slug}#{n}"} for n in (1, 2))
    assert ends == [
        [first, {"executor": "sonnet", "id": f"{PAIR[1].slug}#1"}, "match"],
        [second, None, "alone"],
    ]
    assert all(p["independent"] and p["case"] == CASE for p in made["pairs"])


def test_panels_and_usage_add_up() -> None:
    results = (*AGREED, lost(BILLING[0], reason="rate-limited"), broken(BILLING[1], SQL))
    results = (*results[:3], replace(results[3], usage=Usage()))
    made = build((*PAIR, *BILLING), results)
    panels = {p["executor"]: p for p in made["panels"]}
    codex, sonnet = panels["codex"], panels["sonnet"]
    assert (codex["asked"], codex["valid"], codex["failed"], codex["broken"]) == (2, 1, 1, 0)
    assert codex["reasons"] == {"failed:rate-limited": 1}
    assert (sonnet["broken"], sonnet["findings"], sonnet["reasons"]) == (1, 2, {"contract": 1})
    assert codex["usage"] == {"input_tokens": 200, "cached_tokens": 0, "output_tokens": 20, "cost_usd": 1.0}
    assert made["usage"]["sonnet"] == {
        "input_tokens": 100, "cached_tokens": 0, "output_tokens": 10, "cost_usd": 0.5, "units": 2,
        "units_without_cost": 1,
    }  # fmt: skip
    assert panels["ruff"]["usage"]["cost_usd"] is None


def test_a_unit_that_was_never_run_has_no_cost_to_tell() -> None:
    never = replace(lost(PAIR[0], "not-run", "budget"), attempts=0, usage=Usage())
    cut_short = replace(lost(PAIR[1], "not-run", "cancelled"), attempts=1, usage=Usage())
    used = build(PAIR, (never, cut_short))["usage"]
    assert (used["codex"]["units"], used["codex"]["units_without_cost"]) == (1, 0)
    assert (used["sonnet"]["units"], used["sonnet"]["units_without_cost"]) == (1, 1)


def test_the_text_of_a_prose_answer_is_kept_and_of_no_other() -> None:
    prose = unit("codex", DESIGN, contract=Contract("prose"))
    silent = unit("sonnet", DESIGN, contract=Contract("prose"))
    told = result(prose, answer=Answer(HEADER, body="First.\n\nSecond."))
    beside = result(PAIR[0], answer=Answer(HEADER, "comment", ("a.py",), body="beside the payload"))
    made = build((prose, silent, *PAIR), (told, lost(silent), beside), folders=PANELS)
    assert [u.get("text") for u in made["units"]] == ["First.\n\nSecond.", None, None, None]
    assert "text" not in made["units"][2]
    del made["units"][0]["text"], made["units"][0]["sources"]
    assert document.validate(made) == []  # as documents were before


def test_cases_say_who_was_asked_and_who_answered() -> None:
    made = build((*PAIR, *BILLING), (*CLEAN, result(BILLING[0]), lost(BILLING[1])))
    whole, half = made["cases"]
    assert (whole["answered"], whole["independent"]) == (["codex", "sonnet"], True)
    assert (half["asked"], half["answered"], half["independent"]) == (["codex", "sonnet"], ["codex"], False)
    assert whole["question"] == "Audit src/auth.py for injection defects."
    assert (whole["contract"], whole["choice"]) == ("findings", None)


def test_units_stand_in_plan_order_with_what_was_given_up() -> None:
    made = build((*PAIR, unit("mini")), (broken(PAIR[1]), replace(CLEAN[0], suppressed=(STYLE,))))
    assert [u["status"] for u in made["units"]] == ["valid", "broken", "missing"]
    assert made["units"][0]["suppressed"][0]["title"] == STYLE.title
    assert made["units"][0]["examined"] == ["src/auth.py"]
    assert made["units"][1]["violations"][0]["code"] == "not-json"


def test_a_choice_has_scores_totals_and_dissent() -> None:
    def scored(u: Unit, option: str, jsonl: int, sqlite: int) -> Result:
        return choose(
            u, option, Score("jsonl", "safety", jsonl, "why"), Score("sqlite", "safety", sqlite, "so")
        )

    made = build(ASKS, (scored(ASKS[0], "jsonl", 5, 2), scored(ASKS[1], "sqlite", 3, 4)), folders=PANELS)
    (case,) = made["cases"]
    choice = case["choice"]
    assert choice["totals"] == {
        "jsonl": {"codex": 5.0, "sonnet": 3.0},
        "sqlite": {"codex": 2.0, "sonnet": 4.0},
    }
    assert (choice["winner"], choice["dissent"]) == (None, ["codex", "sonnet"])
    assert [a["option"] for a in choice["answers"]] == ["jsonl", "sqlite"]
    assert made["agreement"]["choices"][0]["agree"] == 0


def test_repeats_are_one_vote_and_dependent_executors_one_together() -> None:
    question = ASKS[0].brief.contract
    again = unit("codex", DESIGN, repeat=2, contract=question)
    mini = unit("mini", DESIGN, contract=question)
    units = (*ASKS, again, mini)
    said = ("jsonl", "sqlite", "jsonl", "jsonl")
    made = build(units, tuple(map(choose, units, said)), folders=PANELS)
    choice = made["cases"][0]["choice"]
    assert (choice["winner"], choice["dissent"]) == (None, ["codex", "sonnet", "mini"])


def test_agreement_counts_pairs_and_cases() -> None:
    results = (result(PAIR[0], SQL, LEAK), AGREED[1], result(BILLING[0], STYLE), lost(BILLING[1]))
    (row,) = build((*PAIR, *BILLING), results)["agreement"]["findings"]
    wanted = {
        "left": "codex", "right": "sonnet", "independent": True, "cases_both": 1, "cases_asked": 2,
        "both": 1, "only_left": 1, "only_right": 0, "uncertain": 0,
    }  # fmt: skip
    assert {key: row[key] for key in wanted} == wanted
    assert (row["psa"] is None) == bool(row["why_not"])


# --- hostile and odd input ----------------------------------------------------------------------


def test_lone_surrogates_and_nan_do_not_reach_the_document() -> None:
    nasty = replace(SQL, title="broken \ud83d emoji", confidence=float("nan"), quote="\udfff")
    made = build(PAIR, (result(PAIR[0], nasty), result(PAIR[1], replace(nasty, title="ok"))))
    text = json.dumps(made, ensure_ascii=False, allow_nan=False)
    assert text.encode("utf-8")
    assert "broken \ufffd emoji" in text


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"verdict": None}, "verdict"),
        ({"status": "fine"}, "status"),
        ({"extra": 1}, "document"),
        ({"panels": [{}]}, "panels/0"),
        ({"schema_version": 2}, "schema_version"),
    ],
)
def test_validate_names_the_place(change: dict[str, Any], place: str) -> None:
    errors = document.validate(build(PAIR, CLEAN) | change)
    assert errors
    assert any(e.startswith(f"{place}:") for e in errors)


def test_facts_of_a_foreign_document_are_refused() -> None:
    with pytest.raises(ValueError, match="facts"):
        document.facts_of({"run_id": "x"})


@settings(max_examples=50, deadline=None)
@given(some_results(), FACTS, st.randoms(use_true_random=False))
def test_any_results_make_one_valid_document(
    made: tuple[tuple[Unit, ...], list[Result]], changed: dict[str, Any], rng: random.Random
) -> None:
    units, results = made
    run = facts(**changed)
    first = document.build(run, Plan(units), results)
    assert document.validate(first) == []
    assert json.loads(json.dumps(first, allow_nan=False)) == first
    assert document.facts_of(first) == run
    rng.shuffle(results)
    assert document.build(run, Plan(units), results) == first


def test_the_integrity_reasons_are_kept() -> None:
    moved = Reason("refs-changed", "main moved while codex was at work")
    made = build(PAIR, CLEAN, integrity=(moved,), folders={FOLDER: Policy()})
    assert made["verdict"]["reasons"][0]["code"] == "refs-changed"
    assert document.facts_of(made).integrity == (moved,)
