"""The agent output block of a task's answer: what is taken of it, and what is only noted."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from prun_review.contract import KINDS
from prun_review.judging import judge
from prun_review.model import Brief, Contract, Reading, Unit, Violation
from prun_review.ports import Missing
from prun_review.taskblock import KEYS, TaskKind, read_block
from prun_review.written import Claim
from tests.executors.driving import JSON, TEXT

BLOCK: dict[str, Any] = {
    "task_completed": True,
    "validation_passed": True,
    "files_created": ["app/models.py"],
    "files_modified": ["config/urls.py"],
    "tests_run": 12,
    "tests_passed": 11,
    "tests_failed": 1,
    "summary": "The models are there.",
    "full_log": "long",
    "error_message": None,
}
CLAIM = Claim(
    completed=True,
    files=("app/models.py", "config/urls.py"),
    tests_run=12,
    tests_passed=11,
    tests_failed=1,
    validation_passed=True,
    summary="The models are there.",
)
TEXTS = {
    "bare": json.dumps(BLOCK),
    "fenced": f"All done.\n\n```json\n{json.dumps(BLOCK, indent=2)}\n```\n",
    "in prose": f"All done. Here it is: {json.dumps(BLOCK)} That is all.",
    "in an envelope": json.dumps({"result": BLOCK}),
    "after another one": f"```json\n{json.dumps({**BLOCK, 'task_completed': False})}\n```\n"
    f"and then\n```json\n{json.dumps(BLOCK)}\n```",
    "beside the header": "# u result\nConclusion: done\nFiles: two\n\nIt is.\n\n"
    f"```json\n{json.dumps(BLOCK)}\n```",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_where_it_may_stand(text: str) -> None:
    judged = TaskKind().judge(text)
    assert judged.violations == ()
    assert judged.answer is not None
    assert judged.answer.claim == CLAIM


@pytest.mark.parametrize(
    "text",
    [
        "",
        "All done, nothing to add.",
        '```json\n{"openapi": "3.1"}\n```',
        "{x} [y]",
        "# u result\nFiles: a\n\nb",
    ],
)
def test_none_is_fine(text: str) -> None:
    judged = TaskKind().judge(text)
    assert (judged.violations, judged.salvage) == ((), ())
    assert judged.answer is not None
    assert judged.answer.claim is None


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"task_completed": true, "summary": "x\n```',
        '{"task_completed": true, tests_run: 3}',
        '```json\n["task_completed"]\n```',
    ],
)
def test_one_that_is_no_json_is_noted(text: str) -> None:
    judged = TaskKind().judge(text)
    assert judged.violations == ()
    assert judged.answer is not None
    assert judged.answer.claim is None
    assert [v.code for v in judged.salvage] == ["block"]


@pytest.mark.parametrize(
    ("block", "claim"),
    [
        ({"task_completed": "True", "validation_passed": "no"}, Claim(True, validation_passed=False)),
        ({"tests_run": "12", "tests_passed": 12.0, "tests_failed": 0}, Claim(None, (), 12, 12, 0)),
        ({"files_created": "a.py", "files_modified": ["a.py", "", "none"]}, Claim(files=("a.py",))),
        ({"error_message": ""}, Claim()),
        ({"error_message": "none"}, Claim()),
        ({"error_message": False}, Claim()),
        ({"error_message": "no disk"}, Claim(error="no disk")),
        ({"summary": None, "full_log": ["x"], "of_theirs": 1}, Claim()),
    ],
)
def test_values_are_taken_liberally(block: dict[str, Any], claim: Claim) -> None:
    assert read_block(block) == (claim, [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("task_completed", 1),
        ("validation_passed", "perhaps"),
        ("tests_run", True),
        ("tests_run", -1),
        ("tests_run", 1.5),
        ("tests_passed", ["test_x"]),
        ("tests_failed", 10**12),
        ("files_created", {"a.py": 1}),
        ("files_modified", ["a.py", 3]),
        ("summary", 7),
    ],
)
def test_wrong_types_are_notes(key: str, value: Any) -> None:
    claim, notes = read_block({key: value})
    assert [(v.code, v.where) for v in notes] == [("block", f"/{key}")]
    assert claim == (Claim(files=("a.py",)) if key == "files_modified" else Claim())


@pytest.mark.parametrize(
    ("key", "value", "claim"),
    [
        ("task_completed", 0, Claim(completed=False)),
        ("task_completed", [], Claim(completed=False)),
        ("task_completed", "partially", Claim(completed=False)),
        ("task_completed", "not yet: two tests are left", Claim(completed=False)),
        ("task_completed", "done", Claim(completed=True)),
        ("task_completed", "n/a", Claim()),
        ("validation_passed", "failed", Claim(validation_passed=False)),
        ("validation_passed", 0, Claim(validation_passed=False)),
        ("validation_passed", "passed", Claim(validation_passed=True)),
        ("validation_passed", "skipped", Claim()),
        ("tests_failed", "3 failed", Claim(tests_failed=3)),
        ("tests_failed", "2/10", Claim(tests_failed=2)),
        ("tests_failed", ["test_a", "test_b"], Claim(tests_failed=2)),
        ("tests_failed", [], Claim()),
        ("tests_failed", "1.5", Claim()),
    ],
)
def test_what_speaks_against_a_task_counts_in_whatever_form(key: str, value: Any, claim: Claim) -> None:
    assert read_block({key: value})[0] == claim


def test_an_error_of_a_wrong_type_is_an_error_all_the_same() -> None:
    claim, notes = read_block({"error_message": {"code": 3}})
    assert claim.error
    assert notes


@given(JSON)
@settings(max_examples=60)
def test_any_value_is_read(value: Any) -> None:
    block = dict.fromkeys(KEYS, value)
    claim, _ = read_block(block)
    assert isinstance(claim, Claim)
    judged = TaskKind().judge(json.dumps(block))
    assert judged.violations == ()


@given(TEXT)
@settings(max_examples=60)
def test_any_text_is_read(text: str) -> None:
    assert TaskKind().judge(text).answer is not None


def test_what_a_dispatcher_wrote_is_no_answer() -> None:
    judged = TaskKind().judge("# u result (FALLBACK)\n\nnothing came\n")
    assert judged.answer is None
    assert [v.code for v in judged.violations] == ["fallback"]


def test_an_answer_in_prose_keeps_the_contract() -> None:
    unit = Unit("u", "u", "c", "f", "e", Brief("p", Contract("task"), mode="write"))
    reading = Reading("answered", text="I made it so.\n\nUnable to read the file list, but fine.")
    result = judge(reading, unit, KINDS["task"], lambda path: Missing("x"), attempts=1, seconds=1.0)
    assert (result.status, result.violations, result.salvage) == ("valid", (), ())
    noted = judge(
        replace(reading, text='{"tests_run": []}'),
        unit,
        KINDS["task"],
        lambda path: Missing("x"),
        attempts=1,
        seconds=1.0,
    )
    assert noted.status == "valid"
    assert noted.salvage == (
        Violation("block", "/tests_run", "expected a number, got list; taken as not said"),
    )
