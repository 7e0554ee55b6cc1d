"""The page for a decision record: what it says of a choice, and what it never says."""

from __future__ import annotations

from typing import Any

import pytest

from prun_review import document as documents
from prun_review import extensions
from prun_review.config import Config
from prun_review.model import Plan
from prun_review.renderers.adr import CASES, Adr
from tests.renderers import agreed, sample
from tests.renderers.test_real_documents import FACTS, PLAN, built

PAGE = """\
# Which format?

- Status: proposed
- Date: 2026-11-29
- Question: `panels/design/probe_ledger.py::probe_ledger_format`
- Verdict of the run: FAIL: 1 critical held by codex and sonnet

## Context

> Which format?

Put to codex, sonnet, gemini in `panels/security/probe_shop.py:4`; 3 of 3 answered.

## Decision drivers

- crash safety
- greppability

## Options

- jsonl
- sqlite

## Outcome

**sqlite** has the most votes.
Votes: codex: jsonl, sonnet: sqlite, gemini: sqlite.

## Ranking

| place | option | votes | points | mean rank |
| --- | --- | --- | --- | --- |
| 1 | sqlite | 2 | 2 | 1.33 |
| 2 | jsonl | 1 | 1 | 1.67 |

- codex, 2 of 2 answers: jsonl &gt; sqlite (confidence 0.80)
- sonnet: sqlite &gt; jsonl (confidence 0.60)
- gemini: sqlite &gt; jsonl

## Scores

| criterion | option | codex | sonnet | mean | spread |
| --- | --- | --- | --- | --- | --- |
| crash safety | jsonl | 4 | 2 | 3.00 | 2-4 |
| crash safety | sqlite | \\- | 5 | 5.00 | 5 |
| greppability | jsonl | 5 | \\- | \\- | \\- |
| greppability | sqlite | \\- | \\- | \\- | \\- |

## Agreement

- pairs of independent executors that chose the same: 1 of 3 (3 in all, fewer than 10)
- codex chose jsonl in 2 of 3 answers (sqlite 1)

## Dissent

- codex, for jsonl: "lines are enough"
  - sqlite, crash safety: 2: "a broken page loses all"

## What would change a mind

- codex (jsonl): concurrent writers
- sonnet (sqlite): a file of 10 GB

## Not answered

- codex gave no score for sqlite on crash safety, sqlite on greppability
- sonnet gave no score for jsonl on greppability, sqlite on greppability
- gemini gave no scores

## How this page was made

- codex of openai: 1.0
- sonnet of anthropic: 1.0

prun\\_review 0.4, run `20261129-120000-ab12`, each asked once; reviewed tree 99aabbccddee (commit \
1a2b3c4d5e6f, uncommitted changes included), 120 files.
`prun-review report 20261129-120000-ab12 --format adr` makes this page again from the stored answers; \
asked anew, a model can answer otherwise.
"""


def test_the_page_word_for_word() -> None:
    assert Adr()(agreed.document()) == PAGE


def asked(case: dict[str, Any] | None = None, **verdict: Any) -> dict[str, Any]:
    """A run of one choice question, asked in ``panels/design``; its verdict is PASS unless given."""
    passed = {"outcome": "PASS", "line": "PASS", "reasons": [], "folders": {}, "counts": {}}
    fields = {"folder": "panels/design", "contract": "choice", "choice": agreed.choice(), **(case or {})}
    return agreed.document(cases=[sample.case(sample.LEDGER, **fields)], verdict={**passed, **verdict})


def against(outcome: str, folder: str) -> dict[str, Any]:
    return {"code": "stopped", "text": "ended early", "outcome": outcome, "folder": folder}


NOT_READY = "This page is not ready to decide on."
EMPTY = {**agreed.choice(), "answers": [], "winner": None, "dissent": [], "scores": [], "ranks": []}
DIVIDED = {**agreed.choice(), "winner": None}
LONE = {"independent": False, "answered": ["codex"]}


@pytest.mark.parametrize(
    ("document", "trouble", "status"),
    [
        (asked(), "", "proposed"),
        (asked({"choice": {**agreed.choice(), "winner": None}}), "", "proposed, without a winner"),
        (asked(outcome="INCOMPLETE", line="INCOMPLETE"), "INCOMPLETE: the run", "not ready"),
        (asked({"choice": EMPTY}), "INCOMPLETE: nobody answered this question.", "not ready"),
        (asked() | {"verdict": None, "status": "started"}, "INCOMPLETE: the run has no end.", "not ready"),
        (asked(outcome="FAIL", reasons=[against("FAIL", "panels/security")]), "", "proposed"),
        (asked(reasons=[against("INCOMPLETE", "panels/design")]), "INCOMPLETE where", "not ready"),
        (asked(outcome="FAIL", reasons=[against("INCOMPLETE", "")]), "INCOMPLETE where", "not ready"),
        (asked(outcome="FAIL", reasons=[against("FAIL", "panels/design")]), "", "proposed"),
        (asked(reasons=[against("PASS", "")]), "", "proposed"),
    ],
)  # fmt: skip
def test_what_cannot_be_decided_on_says_so_before_anything_else(
    document: dict[str, Any], trouble: str, status: str
) -> None:
    first, *rest = Adr()(document).splitlines()
    assert first.startswith("# ")
    told = next(line for line in rest if line)
    assert told.startswith(f"> **{trouble}" if trouble else "- Status: ")
    assert (NOT_READY in told) is bool(trouble)
    line = next(line for line in rest if line.startswith("- Status: "))
    assert line.startswith("- Status: proposed")
    assert line.endswith(status)
    assert not any("accepted" in line.lower() for line in rest)


@pytest.mark.parametrize(
    ("case", "told"),
    [
        ({"choice": EMPTY}, "None: nobody answered.\n"),
        ({"choice": DIVIDED}, "None: no option has more votes than every other.\n"),
        (LONE, "**sqlite**, by one voice only: an opinion that nobody independent shares.\n"),
        ({}, "**sqlite** has the most votes.\n"),
    ],
)  # fmt: skip
def test_the_outcome_says_what_it_is_worth(case: dict[str, Any], told: str) -> None:
    assert f"## Outcome\n\n{told}" in Adr()(asked(case))


def test_who_did_not_answer_stands_with_the_reason() -> None:
    lost = sample.unit("gemini", sample.LEDGER, status="failed", reason="timeout", message="took too long")
    skipped = {"executor": "ruff", "reason": "contract", "text": "cannot choose"}
    document = asked(
        {"asked": ["codex", "gemini"], "answered": ["codex"], "independent": False, "not_asked": [skipped]}
    )
    document["units"] = [sample.unit("codex", sample.LEDGER), lost, sample.unit("codex", "another case")]
    out = Adr()(document)
    assert (
        "## Not answered\n\n- gemini: failed (timeout): took too long\n- not asked: ruff (contract): cann"
        in out
    )
    assert "1 of 2 answered, without gemini" in out


def test_without_a_choice_question_one_sentence_says_so() -> None:
    made = documents.start(FACTS, Plan(()))
    assert Adr()(made) == (
        "# Choices of run `20261129-120000-ab12`\n\n"
        "This run asked no choice question, so there is nothing here to decide.\n"
    )


def test_each_of_several_choices_has_its_section_and_what_is_over_the_bound_is_counted() -> None:
    each = [
        sample.case(f"panels/design/probe_x.py::probe_{n}", question=f"Question {n}?", choice=agreed.choice())
        for n in range(CASES + 3)
    ]
    out = Adr()(agreed.document(cases=each))
    assert out.startswith("# Choices of run `20261129-120000-ab12`\n\n## Question 0?\n")
    assert out.count("### Outcome\n") == CASES
    assert out.endswith("3 more choices: see the Markdown report.\n")


def test_the_page_is_bounded_whatever_was_said() -> None:
    def many(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, "text": "word " * 5000} if "text" in row else row for row in rows for _ in range(500)]

    choice = agreed.choice()
    for key in ("answers", "scores", "ranks", "criterion_scores", "minds", "dissenting", "stability"):
        choice[key] = many(choice[key])
    choice["options"] = [f"option {n} " + "o" * 900 for n in range(60)]
    choice["criteria"] = [f"criterion {n} " + "c" * 900 for n in range(60)]
    out = Adr()(asked({"choice": choice, "question": "why " * 9000}))
    assert len(out) < 80_000
    assert "more rows are in the Markdown report." in out
    assert "- and 36 more in the JSON report\n" in out


def test_the_page_of_a_real_run() -> None:
    out = Adr()(built())
    assert out.startswith(
        "# Audit src/auth.py for injection defects.\n\n- Status: proposed, without a winner\n"
    )
    assert "## Decision drivers\n\n- safety\n\n## Options\n\n- jsonl\n- sqlite\n" in out
    assert "| safety | jsonl | 4 | \\- |" in out
    assert "- not asked: ruff (contract): cannot choose\n" in out
    assert NOT_READY in Adr()(documents.start(FACTS, PLAN))


def test_the_format_is_known_to_every_door() -> None:
    known = extensions.renderers(extensions.manager())
    assert known["adr"].suffix == ".adr.md"
    extensions.check_reports(extensions.manager(), [*Config().report, "adr", "adr:decision.md"])
