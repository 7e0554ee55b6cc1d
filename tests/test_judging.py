"""From a reading to a result: only a kept contract is valid."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.codec import decode, encode
from prun_review.contract import KINDS
from prun_review.judging import judge
from prun_review.model import (
    Answer,
    Brief,
    Contract,
    Finding,
    Findings,
    Header,
    Reading,
    Result,
    Unit,
    Usage,
    Violation,
)
from prun_review.ports import ContractKind, Missing

from .answers_kit import CHOICE, CONTRACTS, FINDING, FINDINGS, SLUG, fenced, finding, header, with_

TREE = {"src/x.py": ("import os", "", "def load(path):", "    " + FINDING["quote"], "")}
ASKED = Unit(
    "p.py::probe[codex-2]",
    SLUG,
    "p.py::probe",
    "panels",
    "codex",
    Brief("Audit it."),
    repeat=2,
    fingerprint="f1",
)


def read(path: str) -> tuple[str, ...] | Missing:
    return TREE.get(path) or Missing("no such file")


def result(reading: Reading, unit: Unit = ASKED, kind: str = "findings", named: bool = True) -> Result:
    return judge(
        reading, unit, KINDS[kind], read, names=list(TREE) if named else None, attempts=1, seconds=2.5
    )


def answered(payload: Any = None, text: str = "", **more: Any) -> Reading:
    return Reading("answered", payload=payload, text=text, **more)


def test_a_good_answer_is_valid_grounded_and_numbered() -> None:
    usage = Usage(10, 0, 20, 0.1)
    got = result(answered(with_(FINDINGS, findings=[FINDING, FINDING]), usage=usage))
    assert (got.status, got.reason, got.violations, got.message) == ("valid", "ok", (), "")
    assert [f.id for f in got.findings] == [f"{SLUG}#1", f"{SLUG}#2"]
    assert {f.grounding for f in got.findings} == {"exact"}
    assert (got.unit, got.slug, got.case, got.folder, got.executor) == (
        ASKED.id,
        SLUG,
        ASKED.case,
        "panels",
        "codex",
    )
    assert (got.repeat, got.fingerprint, got.attempts, got.seconds, got.usage) == (2, "f1", 1, 2.5, usage)
    assert decode(Result, json.loads(json.dumps(encode(got)))) == got


@pytest.mark.parametrize(
    ("reading", "reason"),
    [
        (Reading("failed", "rate-limited", "slow down", payload=FINDINGS), "rate-limited"),
        (Reading("failed", text=json.dumps(FINDINGS)), "no-answer"),
        (Reading("sort of", payload=FINDINGS), "no-answer"),
        (Reading("failed", "timeout", findings=Findings([Finding("t")]), examined=("src/x.py",)), "timeout"),
    ],
)
def test_a_failed_reading_has_no_answer_whatever_it_carries(reading: Reading, reason: str) -> None:  # C2
    got = result(reading)
    assert (got.status, got.reason, got.answer, got.message) == ("failed", reason, None, reading.message)


@pytest.mark.parametrize(
    "reading",
    [
        answered(),
        answered(text="null"),
        answered(text="looks good"),
        answered({}),
        answered(with_(FINDINGS, findings=None)),
        answered(with_(FINDINGS, findings=[FINDING, "lost"])),
        answered(text=f"# {SLUG} result (FALLBACK, x)\n\n{fenced(FINDINGS)}"),
    ],
)
def test_a_broken_contract_is_never_valid(reading: Reading) -> None:
    got = result(reading)
    assert (got.status, got.reason, got.ok) == ("broken", "contract", False)
    assert got.violations
    assert got.message


def test_a_broken_answer_keeps_what_is_good_of_it() -> None:
    got = result(answered(with_(FINDINGS, findings=[FINDING, "lost"])))
    assert [(f.id, f.grounding) for f in got.findings] == [(f"{SLUG}#1", "exact")]
    assert [(s.code, s.where) for s in got.salvage] == [("lost-finding", "/findings/1")]


def test_salvage_alone_leaves_the_answer_valid() -> None:
    got = result(answered(finding(confidence=7)))
    assert (got.status, [s.code for s in got.salvage]) == ("valid", ["bad-field"])


def test_ungrounded_findings_are_kept() -> None:
    got = result(answered(finding(quote="nothing like it")))
    assert (got.status, [f.grounding for f in got.findings]) == ("valid", ["ungrounded"])


@pytest.mark.parametrize(
    ("examined", "kept", "valid"),
    [
        (["./src/x.py", "src/x.py"], ("src/x.py",), True),
        (["a/src/X.py"], ("src/x.py",), True),
        (["SRC/x.py"], ("src/x.py",), True),
        (["src"], ("src",), True),
        (["src/"], ("src",), True),
        (["."], (".",), False),
        (["nowhere.py", " "], ("nowhere.py",), False),
        (["nowhere.py", "src/x.py"], ("nowhere.py", "src/x.py"), True),
    ],
)
def test_files_examined_are_spelled_as_the_tree_does(
    examined: list[str], kept: tuple[str, ...], valid: bool
) -> None:
    got = result(answered(with_(FINDINGS, examined=examined)))
    assert got.answer is not None
    assert got.answer.examined == kept
    assert [v.code for v in got.violations] == ([] if valid else ["nothing-examined"])


@pytest.mark.parametrize(
    ("examined", "valid"),
    [
        (["src/x.py"], True),
        (["a/SRC/x.py", "doc/y.md"], True),
        (["src/"], True),
        (["doc/y.md"], False),
        (["doc"], False),
        (["."], False),
        (["./", "/"], False),
    ],
)
def test_what_was_asked_about_must_have_been_read(examined: list[str], valid: bool) -> None:
    asked = replace(ASKED, files=("src/x.py",))
    reading = answered(with_(FINDINGS, examined=examined))
    names = [*TREE, "doc/y.md"]
    got = judge(reading, asked, KINDS["findings"], read, names=names, attempts=1, seconds=1.0)
    assert [v.code for v in got.violations] == ([] if valid else ["nothing-examined"])


def test_a_program_that_was_started_on_the_root_went_through_it() -> None:
    asked = replace(ASKED, files=("src/x.py",))
    assert result(answered(findings=Findings(), text="clean", examined=(".",)), asked).ok


def test_without_the_names_of_the_tree_examined_is_taken_at_its_word() -> None:
    assert result(answered(with_(FINDINGS, examined=["nowhere.py"])), named=False).ok


def test_an_empty_answer_that_was_paid_for_says_so() -> None:
    got = result(answered(usage=Usage(output_tokens=512)))
    assert [str(v) for v in got.violations] == [
        "[empty-answer] the answer is empty, though 512 output tokens were billed"
    ]


def test_an_analysers_own_findings_are_grounded_only() -> None:
    reading = answered(
        text="2 findings",
        findings=Findings(
            [Finding("F821", file="src/x.py", line=4, rule="F821"), Finding("b", file="y.py", line=1)]
        ),
        examined=("src/x.py",),
        suppressed=(Finding("hidden"),),
    )
    got = result(reading)
    assert got.ok
    assert [(f.id, f.grounding, f.rule) for f in got.findings] == [
        (f"{SLUG}#1", "line-only", "F821"),
        (f"{SLUG}#2", "ungrounded", None),
    ]
    assert got.answer is not None
    assert got.answer.header.conclusion == "2 findings"
    assert got.suppressed == (Finding("hidden"),)


@pytest.mark.parametrize(
    "reading",
    [
        answered(findings=Findings(), text="clean"),
        answered(findings=Findings(), text="clean", examined=("nowhere.py",)),
        answered(findings=Findings([Finding("t", severity="blocker")]), examined=("src/x.py",)),
    ],
)
def test_an_analyser_that_looked_at_nothing_is_broken(reading: Reading) -> None:
    assert result(reading).status == "broken"


def test_choices_and_prose() -> None:
    asked = Unit(ASKED.id, SLUG, "c", "panels", "codex", Brief("Which?", CONTRACTS["choice"]))
    got = result(answered(CHOICE), asked, "choice")
    assert got.ok
    assert got.choice is not None
    assert got.choice.option == "sqlite"
    asked = Unit(ASKED.id, SLUG, "c", "panels", "codex", Brief("Tell.", Contract("prose")))
    got = result(answered(text=header() + "\nIt runs what it reads."), asked, "prose")
    assert (got.status, got.text) == ("valid", "It runs what it reads.")


def test_a_contract_kind_without_an_answer_is_not_valid() -> None:
    class Silent:
        kind = "silent"

        def schema(self, contract: Contract) -> dict[str, Any]:
            return {"type": "object", "properties": {}}

        def instructions(self, contract: Contract) -> str:
            return ""

        def check(self, payload: Any, contract: Contract) -> list[Violation]:
            return []

        def answer(self, payload: Any, contract: Contract) -> Any:
            return None

    silent: ContractKind = Silent()
    got = judge(answered({}), ASKED, silent, read, attempts=1, seconds=0.0)
    assert (got.status, [v.code for v in got.violations]) == ("broken", ["contract-kind"])


def test_the_same_reading_gives_the_same_result() -> None:
    assert result(answered(text=fenced(FINDINGS))) == result(answered(text=fenced(FINDINGS)))


HOSTILE = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=6) | st.just(FINDING),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(FINDINGS)), inner, max_size=7)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(HOSTILE, st.text(max_size=80))
def test_valid_means_an_answer_without_a_violation(payload: Any, text: str) -> None:
    changed = with_(FINDINGS, **payload) if isinstance(payload, dict) else payload
    for reading in (answered(payload, text), answered(changed), answered(text=fenced(changed))):
        got = result(reading)
        assert got.status in ("valid", "broken")
        assert (got.status == "valid") == (not got.violations)
        if got.status == "valid":
            assert isinstance(got.answer, Answer)
            assert isinstance(got.answer.header, Header)
            assert got.answer.examined
            assert got.answer.verdict
        json.dumps(encode(got), allow_nan=False).encode("utf-8")
