"""The renderers on documents as :mod:`prun_review.document` builds them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from prun_review import document
from prun_review.model import Contract, NotAsked, Plan, RunFacts, Score
from prun_review.policy import Policy
from prun_review.renderers import RENDERERS
from tests.gatekit import EXECUTORS, FOLDER, LEAK, SQL, SQL_REWORDED, choose, lost, result, unit
from tests.renderers.sample import HOSTILE
from tests.renderers.test_escape import is_active

BILLING = f"{FOLDER}/probe_shop.py::probe_injection[billing]"
LEDGER = "panels/design/probe_ledger.py::probe_format"
QUESTION = Contract("choice", ("jsonl", "sqlite"), ("safety",))
PAIR = ("codex", "sonnet")
UNITS = (
    *(unit(name) for name in PAIR),
    *(unit(name, BILLING) for name in PAIR),
    *(unit(name, LEDGER, contract=QUESTION) for name in PAIR),
)
PLAN = Plan(UNITS, (NotAsked(LEDGER, LEDGER, "panels/design", "ruff", "contract", "cannot choose"),))
FACTS = RunFacts(
    "20261129-120000-ab12",
    1.8e9,
    1.8e9 + 60,
    executors=tuple(EXECUTORS[name] for name in PAIR),
    folders={FOLDER: Policy(), "panels/design": Policy()},
)


def built(text: str = "") -> dict[str, Any]:
    """A run with a consensus, a single finding, a loss and a dissent; ``text`` in every finding."""
    sql, reworded, leak = (
        replace(f, title=f.title + text, detail=f.detail + text, quote=text or None, suggestion=text)
        for f in (SQL, SQL_REWORDED, LEAK)
    )
    results = (
        result(UNITS[0], sql),
        result(UNITS[1], reworded),
        result(UNITS[2], leak),
        replace(lost(UNITS[3]), message=f"took too long{text}"),
        choose(UNITS[4], "jsonl", Score("jsonl", "safety", 4, "append only")),
        choose(UNITS[5], "sqlite", Score("sqlite", "safety", 5, f"journal{text}")),
    )
    return document.build(FACTS, PLAN, results)


@pytest.mark.parametrize(
    "told",
    [
        "  codex     openai     gpt      3 of 3       0       0        0      2  6.0",
        f'  {BILLING}\n    "Audit src/auth.py for injection defects."\n    1 of 2 answered, without sonnet',
        "    not asked: ruff (contract): cannot choose",
        "FINDINGS: 1 consensus, 1 single",
        "    critical  src/auth.py:12 SQL injection in find_user\n              BLOCKING, codex, sonnet: ",
        "    high      src/store.py:80-82 File handle is never closed\n              BLOCKING, codex: ",
        "  codex / sonnet: 1 match",
        f"  {LEDGER}: no common choice; dissent: codex,",
        "    codex: jsonl > sqlite (confidence 0.70)",
        "    jsonl   safety         4       -",
        "PSA not estimable: ",
        "FAILURES\n  sonnet: timed out [timeout]: 1 failed; remedy: a longer timeout, or a smaller",
        "\n    took too long",
        "\nVERDICT: FAIL (1 critical",
        "  FAIL [consensus] critical: SQL injection in find_user (src/auth.py:12)",
        "  INCOMPLETE [failed:timeout] ",
        "  note [dissent] ",
    ],
)
def test_the_summary_tells_of_a_real_run(told: str) -> None:
    assert told in RENDERERS["terminal"](built())


def test_the_document_fits_its_schema_and_survives_json() -> None:
    found = built()
    assert document.validate(found) == []
    assert json.loads(RENDERERS["json"](found)) == found


@pytest.mark.parametrize("name", sorted(RENDERERS))
def test_a_run_that_began_can_be_rendered(name: str) -> None:
    out = RENDERERS[name](document.start(FACTS, PLAN))
    assert FACTS.run_id in out
    assert "PASS" not in out


@pytest.mark.parametrize("name", sorted(RENDERERS))
def test_hostile_answers_stay_inert(name: str) -> None:
    out = RENDERERS[name](built(HOSTILE))
    assert "pwned" in out or name == "adr"  # which shows no findings
    assert not is_active(out)
    assert "\x1b" not in out
    out.encode("utf-8")
