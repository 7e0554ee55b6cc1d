"""What a failing assertion shows of a record, and what does not depend on it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest

from prun_review.answers import lay
from prun_review.codec import decode, encode
from prun_review.model import Answer, Finding, Findings, Plan, Result
from tests.gatekit import HEADER, LEAK, SQL, STYLE, broken, choose, lost, result, unit

CODEX = unit("codex")


@pytest.mark.parametrize(
    ("finding", "shown"),
    [
        (SQL, "<Finding critical src/auth.py:12 'SQL injection in find_user'>"),
        (replace(SQL, line=None), "<Finding critical src/auth.py 'SQL injection in find_user'>"),
        (Finding("Odd"), "<Finding medium no place 'Odd'>"),
        (Finding("x" * 61, file="a"), f"<Finding medium a '{'x' * 60}...'>"),
        (
            Finding("\x1b[2J\nx", file="a\x1bb\u202e", severity="\x07"),
            r"<Finding \x07 a\x1bb\u202e '\x1b[2J\nx'>",
        ),
    ],
)
def test_a_finding_is_short_and_inert(finding: Finding, shown: str) -> None:
    assert repr(finding) == shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (result(CODEX, SQL), f"<Result valid {CODEX.id} 1 finding>"),
        (result(CODEX), f"<Result valid {CODEX.id} 0 findings>"),
        (choose(CODEX, "jsonl"), f"<Result valid {CODEX.id} chose 'jsonl'>"),
        (lost(CODEX), f"<Result failed {CODEX.id} (timeout)>"),
        (broken(CODEX), f"<Result broken {CODEX.id} (contract)>"),
        (broken(CODEX, SQL, LEAK), f"<Result broken {CODEX.id} 2 findings>"),
    ],
)
def test_a_result_is_short(given: Result, shown: str) -> None:
    assert repr(given) == shown


def test_several_findings_are_one_line() -> None:
    one = "critical src/auth.py:12 'SQL injection in find_user'"
    two = "high src/store.py:80 'File handle is never closed'"
    assert repr(Findings()) == "<0 findings>"
    assert repr(Findings([SQL])) == f"<1 finding: {one}>"
    assert repr(Findings([SQL, LEAK])) == f"<2 findings: {one}; {two}>"
    assert repr(Findings([SQL, LEAK, SQL])) == f"<3 findings: {one}; {two}; ...>"
    assert repr(Findings([SQL, LEAK, STYLE]).at_least("critical")) == f"<1 finding: {one}>"


def test_equality_and_the_stored_form_know_every_field() -> None:
    other = replace(SQL, detail="Something else.")
    assert (repr(SQL), other == SQL, len({SQL, other})) == (repr(other), False, 2)
    given = result(CODEX, SQL)
    assert decode(Result, json.loads(json.dumps(encode(given)))) == given


def test_of_two_results_of_a_unit_the_same_one_is_shown_whatever_their_order() -> None:
    details = [replace(SQL, detail=text) for text in ("one", "two", "three")]
    rivals = [result(CODEX, finding) for finding in details]
    rivals += [result(CODEX, answer=Answer(HEADER, body=body)) for body in ("\ud800", "")]
    assert len({repr(rival) for rival in rivals[:3]}) == 1
    shown = [lay(Plan((CODEX,)), order).by_unit[CODEX.id] for order in itertools.permutations(rivals)]
    assert all(one == shown[0] for one in shown)
