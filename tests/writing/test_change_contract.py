"""The contract ``change``: what must hold within the answer, and between it, the patch and the checks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prun_review.changecontract import MOST_TOLD, against_checks, against_patch
from prun_review.contract import KINDS, judge_answer, render_result
from prun_review.model import Contract
from prun_review.written import Check, Claim, Patch, Touched

CHANGE: dict[str, Any] = {
    "conclusion": "twice() doubles.",
    "files": "src/a.py",
    "open_items": "none",
    "verification": "ran the tests",
    "completed": True,
    "changed_files": ["src/a.py"],
    "tests_run": 3,
    "tests_passed": 3,
    "tests_failed": 0,
    "summary": "It returned its argument.",
}


def codes(payload: dict[str, Any]) -> list[str]:
    judged = judge_answer(
        payload=payload, text="", contract=Contract("change"), kind=KINDS["change"], slug="u"
    )
    return [v.code for v in judged.violations]


@pytest.mark.parametrize(
    ("edit", "wanted"),
    [
        ({}, []),
        ({"tests_run": None, "tests_passed": None, "tests_failed": None}, []),
        ({"open_items": "I could not access the network", "summary": ""}, []),
        ({"changed_files": [], "conclusion": "nothing had to be changed"}, []),
        ({"completed": False}, ["says-incomplete"]),
        ({"completed": False, "tests_failed": 1, "tests_passed": 2}, ["says-incomplete"]),
        ({"tests_failed": 1, "tests_passed": 2}, ["contradicted"]),
        ({"tests_passed": 4}, ["tests"]),
        ({"tests_run": -3, "tests_passed": None}, ["tests", "tests"]),
        ({"completed": "yes"}, ["schema"]),
        ({"completed": None}, ["schema"]),
        ({"changed_files": "src/a.py"}, ["schema"]),
        ({"conclusion": "<one line>"}, ["placeholder"]),
    ],
)
def test_within_the_answer(edit: dict[str, Any], wanted: list[str]) -> None:
    assert codes({**CHANGE, **edit}) == wanted


@pytest.mark.parametrize("key", CHANGE)
def test_every_key_is_needed(key: str) -> None:
    judged = judge_answer(
        payload={k: v for k, v in CHANGE.items() if k != key},
        text="",
        contract=Contract("change"),
        kind=KINDS["change"],
        slug="u",
    )
    spared = key.startswith("tests_")  # may be null, and are mended to that
    assert bool(judged.violations) != spared
    assert bool(judged.salvage) == spared


def test_the_answer_can_be_written_and_read_back() -> None:
    kind, contract = KINDS["change"], Contract("change")
    first = judge_answer(payload=CHANGE, text="", contract=contract, kind=kind, slug="u")
    assert first.answer is not None
    again = judge_answer(
        payload=None, text=render_result("u", first.answer), contract=contract, kind=kind, slug="u"
    )
    assert (again.answer, again.violations) == (first.answer, ())
    assert json.loads(json.dumps(CHANGE)) == CHANGE


PATCH = Patch(
    "b",
    "t",
    "d",
    1,
    (
        Touched("src/a.py", "modified"),
        Touched("src/deep/b.py", "renamed", "src/old.py"),
        Touched("c.md", "added"),
    ),
)


@pytest.mark.parametrize(
    ("files", "lies", "untold"),
    [
        (["src/a.py", "src/deep/b.py", "c.md"], [], []),
        (["./src/a.py", "/copy/src/deep/b.py", "b/c.md"], [], []),
        (["SRC/A.py", "src/old.py", "c.md", "c.md", ""], [], []),
        (["src/", "c.md"], [], []),
        (["src/a.py"], [], ["src/deep/b.py", "c.md"]),
        ([], [], ["src/a.py", "src/deep/b.py", "c.md"]),
        (["src/a.py", "src/z.py", "../c.md"], ["src/z.py", "../c.md"], ["src/deep/b.py", "c.md"]),
    ],
)
def test_between_claim_and_patch(files: list[str], lies: list[str], untold: list[str]) -> None:
    found, left = against_patch(Claim(True, tuple(files)), PATCH, ("/copy",))
    assert [(v.code, v.text.split()[0]) for v in found] == [("claimed-not-touched", f) for f in lies]
    assert [(v.code, v.text.split()[0]) for v in left] == [("untold-file", f) for f in untold]


def test_between_claim_and_no_patch() -> None:
    empty = Patch("b", "t")
    found, left = against_patch(Claim(True, ("a", "b")), empty)
    assert [str(v) for v in found] == ["[nothing-written] 2 files are said to be changed, and nothing was"]
    assert left == []
    assert against_patch(Claim(True), empty) == ([], [])


def test_many_lies_are_counted() -> None:
    found, _ = against_patch(Claim(True, tuple(f"no{n}" for n in range(MOST_TOLD + 7))), PATCH)
    assert len(found) == MOST_TOLD + 1
    assert found[-1].text.startswith("7 more files")


@pytest.mark.parametrize(
    ("claim", "checks", "contradicted"),
    [
        (Claim(True, tests_passed=3, tests_failed=0), [Check("x", 0)], False),
        (Claim(True, tests_passed=3, tests_failed=0), [Check("x", 0), Check("y", 1)], True),
        (Claim(True, tests_passed=3), [Check("y", None, "spawn")], True),
        (Claim(True, validation_passed=True), [Check("y", 2)], True),
        (Claim(True), [Check("y", 2)], False),
        (Claim(True, tests_passed=2, tests_failed=1), [Check("y", 2)], False),
        (Claim(True, tests_passed=3), [], False),
    ],
)
def test_between_claim_and_checks(claim: Claim, checks: list[Check], contradicted: bool) -> None:
    assert [v.code for v in against_checks(claim, checks)] == ["contradicted"] * contradicted
