"""What a reader must see of examinations, baselines, acceptances, policies and agreement."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.document import validate
from prun_review.renderers import RENDERERS
from prun_review.renderers.escape import columns, markdown, one_line
from prun_review.renderers.terminal import Terminal
from tests.renderers import agreed, sample
from tests.renderers.test_escape import TEXTS, is_active

HOSTILE = [sample.HOSTILE, "x" * 2000, "日" * 600, "\u0301" * 600, "::" * 40, "\n" * 50]
"""Each stands in every field, so they are shorter than what one field alone can hold."""
IDS = ["all", "word", "wide", "combining", "colons", "lines"]
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def test_the_sample_is_a_run_document() -> None:
    assert validate(agreed.document()) == []


@pytest.mark.parametrize(
    "expected",
    [
        # findings: who holds it and how severely, how often it came, its name, what became of it
        "BLOCKING, codex (critical), sonnet (medium): held by codex\n"
        "              INCOMPLETE [code-INCOMPLETE]: the rule for it\n"
        "              came back: codex 2 of 3; f1-01234567\n",
        "              CONFIRMED\n"
        "                codex claims: the name reaches the query\n"
        "                sonnet says confirm at high (src/auth/login.py:9): nothing\n"
        "                  checks it\n"
        "                  > if not name.isalnum():\n",
        "              REFUTED\n"
        "                codex claims: the name reaches the query\n"
        "                sonnet says refute (src/auth/login.py:9): the input is checked\n",
        "                gemini says cannot-tell: the caller is not in the tree\n",
        "              ACCEPTED by Ada until 2026-12-31: only tests call it\n",
        "              KNOWN: the baseline holds it\n",
        "              NOT SETTLED\n",
        # the second wave
        "CROSS-EXAMINATION: 3 questions, 3 of 4 answered, 2 left out\n"
        "  REFUTED (does it hold, high): refuted (src/auth/login.py:12): sonnet refutes\n    it\n",
        "  MATCH (one defect or two, high): accepted (src/auth/login.py:12) / known\n",
        "  2 not asked: over the limit of 3\n    does it hold, high: single (src/auth/login.py:12)\n",
        "  no answer from codex: failed (timeout)\n    took too long\n",
        "  sonnet      2         1,200       -      90  $0.0500\n",
        # persons, baseline, policy
        "  EXPIRED, counts for nothing: finding f1-0123456789abcdef, accepted by Bob\n",
        "BASELINE\n  known.json: 5 entries, 1 finding known, 1 stale\n"
        "    stale: high: Old leak (src/old.py:3),\n",
        "POLICY: what differs from the defaults\n"
        "  panels/security, panels/design\n    block = medium (pyproject.toml)\n\n",
        # agreement: counts, then what follows from them
        "  findings codex / sonnet: both 12, only codex 5, only sonnet 9, uncertain 2; 12\n"
        "    of 14 cases answered by both; PSA 0.57-0.67\n"
        "    without an answer to compare: sonnet 2 cases (failed:timeout)\n",
        "    of the findings of codex, sonnet holds 12 to 14 of 19 (95 % Wilson\n      0.41-0.81)\n",
        "    codex is on average 0.4 levels harsher (95 % 0.10 to 0.70, n = 12)\n",
        "    At least 2 more.\n",
        "  findings codex / codex-mini (NOT INDEPENDENT, never consensus: both are of\n    openai): both 12,",
        "  panel of codex, sonnet, gemini: findings held by 1 voice 14, 2 voices 12; 12\n",
        "    AC1 0.50 (n = 4; no interval: all agree)\n",
        "  codex asked again: 35 of 36 answers to 12 cases; came back: 9 findings 3 of 3,\n"
        "    4 findings 1 of 3; 36 pairs of answers compared; PSA with itself 0.86\n",
        "    PSA with sonnet, by the same measure 0.50\n",
        "    PSA with codex-mini (NOT INDEPENDENT: both are of openai), by the same\n",
        # choices
        "    codex chose jsonl in 2 of 3 answers (sqlite 1)\n"
        "    dissent, codex, for jsonl: \"lines are enough\"\n",
    ],
)  # fmt: skip
def test_the_terminal_shows(expected: str) -> None:
    assert expected in Terminal()(agreed.document())


@pytest.mark.parametrize(
    "expected",
    [
        "`src/auth/login.py:12`, **blocking**, codex (critical), sonnet (medium)  \n"
        "INCOMPLETE \\[code-INCOMPLETE\\]: the rule for it  \ncame back: codex 2 of 3  \n",
        f"`{sample.AUTH}`, `{agreed.F1}`  \n",
        "**REFUTED**\n\n"
        "**sonnet** at `src/auth/login.py:9` (exact) says refute:\n\n"
        "> the input is checked before\n\n```text\nif not name.isalnum():\n```\n\n"
        "**gemini** says cannot-tell:\n\n> the caller is not in the tree\n",
        "**ACCEPTED by Ada until 2026-12-31: only tests call it**  \n",
        "**KNOWN: the baseline holds it**  \n",
        "## Cross-examination\n\n3 questions, 3 of 4 answered, 2 left out\n\n"
        "- REFUTED (does it hold, high): refuted",
        "Its cost, which is not part of the usage of the run below:\n\n| pool | units |",
        "## Baseline\n\nknown.json: 5 entries, 1 finding known, 1 stale\n\n- stale: high: Old leak",
        "  - block = medium (pyproject.toml)\n  - rule = consensus (default)\n"
        "  - uncovered = none (default)\n"
        "  - high = consensus (block and rule)\n",
        "  - alpha of the severities (ordinal) 0.52 (95 % 0.10 to 0.80, n = 12)\n",
        "  - AC1 not estimable: all agree (n = 3)\n",
        "  - request-changes: both 1, codex 2, sonnet 1; specific agreement 0.67\n",
        "  - where codex says request-changes, sonnet says approve 1, request-changes 1\n",
        "  - missed by all: not estimated: fewer than 4 voices\n",
        "| 1 | sqlite | 2 | 2 | 1.33 |\n",
        "Dissent:\n\n- codex, for jsonl: \"lines are enough\"\n"
        "  - sqlite, crash safety: 2: \"a broken page loses all\"\n",
        "| `x-0123456789ab-sonnet` | valid (ok) |",
    ],
)  # fmt: skip
def test_the_markdown_report_shows(expected: str) -> None:
    assert expected in RENDERERS["markdown"](agreed.document())


def test_a_pair_that_was_settled_is_told_once_on_the_page_and_one_that_was_not_with_its_findings() -> None:
    line = "asked whether two findings are one defect"
    said = agreed.opinion("sonnet", "yes")
    for outcome, told in (("match", ""), ("distinct", ""), ("unresolved", f"NOT SETTLED, {line}: sonnet")):
        ruling = agreed.ruling(outcome, said, kind="same")
        document = agreed.document(findings=[agreed.finding("single", "Leak", rulings=[ruling])])
        page = Terminal(width=200)(document)
        assert told in page
        assert (line in page) is bool(told)
        assert f"{line}: sonnet answered**\n\n**sonnet** at" in RENDERERS["markdown"](document)


def test_the_same_words_of_repeats_stand_once() -> None:
    found = agreed.finding("single", "Leak")
    first = found["members"][0]
    again = {"id": "codex-2#1", "unit": "codex-2"}
    found["members"] += [{**first, **again}, {**first, **again, "title": "Leaks", "line": 40}]
    out = RENDERERS["markdown"](agreed.document(findings=[found]))
    said = "(severity high, category other, unchecked)"
    assert f"**codex** at `src/auth/login.py:12` {said}, 2 times:\nLeak\n" in out
    assert f"**codex** at `src/auth/login.py:40` {said}:\nLeaks\n" in out
    assert out.count("> the name reaches the query") == 2


def severities(**fields: Any) -> dict[str, Any]:
    pair = agreed.findings_pair("codex", "sonnet")
    pair["severity"] |= fields
    return agreed.document(agreement={"findings": [pair], "choices": []})


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"harsher": "codex"}, "codex is on average 0.4 levels harsher (95 % 0.10 to 0.70, n = 12)"),
        (
            {"harsher": "sonnet", "bias": agreed.estimate(-1.25, [-2.0, 0.5], 11)},
            "sonnet is on average 1.2 levels harsher (95 % -0.50 to 2.00, n = 11)",
        ),
        (
            {"harsher": "", "bias": agreed.estimate(0.0, [-0.1, 0.1])},
            "mean difference of the severities 0.00 (95 % -0.10 to 0.10, n = 12)",
        ),
        (
            {"harsher": "", "bias": agreed.estimate(None, n=2)},
            "mean difference of the severities not estimable: all agree (n = 2)",
        ),
    ],
)
def test_who_is_harsher_is_said_in_words(fields: dict[str, Any], told: str) -> None:
    assert f"  - {told}\n" in RENDERERS["markdown"](severities(**fields))


def test_of_two_executors_a_page_says_how_often_they_said_the_same_and_of_three_the_panel_does() -> None:
    three = agreed.document()
    two = agreed.document(
        agreement={**agreed.agreement(), "panel": agreed.panel(executors=["codex", "sonnet"])}
    )
    assert "verdicts codex / sonnet" not in Terminal()(three)
    assert "panel of codex, sonnet, gemini: verdicts: all the same in 3 of 4" in Terminal()(three)
    assert "  verdicts codex / sonnet: same 18 of 20 (20 of 22 answered by both); 95 %\n" in Terminal()(two)
    assert "    request-changes: both 1, codex 2, sonnet 1; specific agreement 0.67\n" in Terminal()(two)
    assert "panel of" not in Terminal()(two)
    for document in (three, two):
        assert "- verdicts codex / sonnet: same 18 of 20" in RENDERERS["markdown"](document)


def test_a_page_leaves_out_what_could_not_be_estimated_and_the_report_says_why() -> None:
    few = agreed.share(1, 2)
    pair = agreed.findings_pair(
        "codex", "sonnet", psa=None, why_not="3 findings in all, fewer than 10", psa_interval=None,
        psa_interval_why_not="3 cases, fewer than 10", confirmed={"left": few, "right": few}, missing=[],
        unseen={"more": None, "interval": None, "seen": [3, 3], "text": "", "why_not": "overlap too small"},
    )  # fmt: skip
    pair["severity"] |= {"exact": few, "within_one": few, "alpha": agreed.estimate(None), "harsher": ""}
    pair["severity"]["bias"] = agreed.estimate(None)
    document = agreed.document(agreement={"findings": [pair], "choices": []})
    assert "PSA not estimable: 3 findings in all, fewer than 10\n\nPOLICY" in Terminal(width=200)(document)
    out = RENDERERS["markdown"](document)
    assert "  - 95 % interval of PSA (BCa over 12 cases) not estimable: 3 cases, fewer than 10\n" in out
    assert "  - of the findings of codex, sonnet holds 1 of 2 (2 in all, fewer than 10)\n" in out
    assert "  - missed by both: not estimated: overlap too small\n" in out


@pytest.mark.parametrize(
    ("fields", "terminal", "report"),
    [
        ({"mode": "off"}, "", "switched off"),
        ({}, "", "nothing to ask (mode gate)"),
        (
            {"left_out": [agreed.left_out("gone#1", "no independent executor to ask")]},
            "CROSS-EXAMINATION: 0 questions, 1 left out\n"
            "  1 not asked: no independent executor to ask\n    does it hold, high: gone#1\n",
            "0 questions, 1 left out",
        ),
    ],
)
def test_a_second_wave_that_asked_nothing(fields: dict[str, Any], terminal: str, report: str) -> None:
    nothing = {"asked": 0, "answered": 0, "questions": [], "left_out": [], "units": [], "usage": {}}
    document = agreed.document(examination=agreed.examination(**{**nothing, **fields}))
    out = Terminal()(document)
    assert terminal in out
    assert ("CROSS-EXAMINATION" in out) is bool(terminal)
    assert f"## Cross-examination\n\n{report}\n" in RENDERERS["markdown"](document)


def test_what_a_person_can_settle_says_how_once() -> None:
    opened = [agreed.finding("single", f"defect {n}", blocking=True, outcome="INCOMPLETE") for n in range(2)]
    opened[1]["fingerprint"] = "f1-00000000000000aa"
    failing = agreed.finding("consensus", "held by both", blocking=True, outcome="FAIL")
    document = agreed.document(findings=[failing, *opened])
    out = Terminal(width=300)(document)
    command = f"prun-review accept {document['run_id']} {agreed.F1} --by NAME --reason TEXT"
    how = f"to settle: mend it, or answer for it by name: {command}"
    assert out.endswith(f"\n  {how} (also f1-00000000000000aa)\n")
    strange = agreed.finding("nonsense", "of a class nobody knows", blocking=True, outcome="INCOMPLETE")
    for none in ([failing], [strange], [agreed.finding("single", "passes")]):
        assert "to settle" not in Terminal(width=300)(agreed.document(findings=none))
    report = {"outcome": "PASS", "folders": {opened[0]["folder"]: "report: INCOMPLETE"}, "reasons": []}
    assert "to settle" not in Terminal()(
        agreed.document(findings=opened, verdict={**document["verdict"], **report})
    )


def test_what_blocks_is_listed_before_what_is_cut() -> None:
    every = [agreed.finding("single", f"defect {n}") for n in range(30)]
    every.append(agreed.finding("single", "the one that blocks", blocking=True, severity="low"))
    out = Terminal(most=5)(agreed.document(findings=every))
    assert "low       src/auth/login.py:12 the one that blocks\n              BLOCKING, codex" in out
    assert "and 26 more single findings in the report" in out


def test_an_accepted_finding_is_named_in_the_list_of_what_persons_answer_for() -> None:
    kept = agreed.finding("single", "Leak")["members"][0]
    entry = agreed.acceptance(finding={k: v for k, v in kept.items() if k not in ("executor", "unit")})
    document = agreed.document(acceptances=[entry])
    assert validate(document) == []
    told = (
        "finding f1-0123456789abcdef (high: Leak, src/auth/login.py:12), accepted by Ada: only tests call it"
    )
    assert f"- {told}\n" in RENDERERS["markdown"](document)


def hostile_document(text: str) -> dict[str, Any]:
    """``text`` in every string, and as the key of everything that has foreign keys."""
    document: dict[str, Any] = sample.hostile(agreed.document(), text)
    value = {"value": text, "source": text}
    document["policy"][text] = {text: value}
    document["examination"]["usage"][text] = agreed.usage()
    for case in document["cases"]:
        if case["choice"]:
            case["choice"]["votes"][text] = text
            case["choice"]["stability"][0]["options"][text] = 1
    return document


@pytest.mark.parametrize("text", HOSTILE, ids=IDS)
@pytest.mark.parametrize("name", sorted(RENDERERS))
def test_nothing_foreign_is_active_in_the_new_parts(name: str, text: str) -> None:
    out = RENDERERS[name](hostile_document(text))
    assert not is_active(out)
    assert not CONTROL.search(out)
    if name in ("markdown", "adr"):
        prose = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", out)
        outside = re.sub(r"`[^`\n]*`", "", prose.replace("\\`", ""))
        assert not re.search(r"<|[@]\w|!\[|(?<!\\)\[|://", outside)


@pytest.mark.parametrize("text", HOSTILE, ids=IDS)
@pytest.mark.parametrize("width", [40, 80])
def test_the_page_stays_within_its_width(width: int, text: str) -> None:
    out = Terminal(width=width)(hostile_document(text))
    assert max(columns(line) for line in out.splitlines()) <= width


WORDS = TEXTS.map(lambda text: f"t{text}")
BY = st.fixed_dictionaries({"by": WORDS, "reason": WORDS, "until": st.sampled_from(["", "2026-12-31"])})
OPINIONS = st.lists(
    st.builds(
        agreed.opinion,
        st.sampled_from(["codex", "sonnet"]),
        st.sampled_from(["confirm", "refute", "cannot-tell", "yes", "no"]),
        reason=WORDS,
        quote=st.none() | TEXTS,
        file=st.none() | WORDS,
        severity=st.none() | st.sampled_from(["low", "critical"]),
    ),
    max_size=2,
)
OUTCOMES = [
    *((outcome, "claim") for outcome in ("confirmed", "refuted", "unresolved")),
    *((outcome, "same") for outcome in ("match", "distinct", "unresolved")),
]
RULINGS = st.lists(
    st.builds(
        lambda what, opinions, why: agreed.ruling(what[0], *opinions, kind=what[1], why=why),
        st.sampled_from(OUTCOMES),
        OPINIONS,
        TEXTS,
    ),
    max_size=3,
)
FINDINGS = st.lists(
    st.builds(
        agreed.finding,
        st.sampled_from(["consensus", "contested", "uncertain", "single", "ungrounded"]),
        WORDS,
        severity=st.sampled_from(["critical", "high", "medium", "low", "info"]),
        blocking=st.booleans(),
        known=st.booleans(),
        accepted=st.none() | BY,
        examined=st.sampled_from(["", "confirmed", "refuted", "unresolved"]),
        rulings=RULINGS,
        came=st.lists(
            st.fixed_dictionaries({"executor": WORDS, "times": st.integers(0, 3), "of": st.integers(1, 3)})
        ),
        fingerprint=TEXTS,
    ),
    max_size=6,
)


@settings(max_examples=40, deadline=None)
@given(FINDINGS, st.sampled_from(["examination", "baseline", "policy", "acceptances", "agreement", "facts"]))
def test_whatever_a_document_holds_its_findings_are_shown_as_what_they_are(
    findings: list[dict[str, Any]], without: str
) -> None:
    document = agreed.document(findings=findings)
    document.pop(without)
    pages = {name: RENDERERS[name](document) for name in RENDERERS}
    for out in pages.values():
        assert not CONTROL.search(out)
        assert not is_active(out)
    terminal, report = pages["terminal"], pages["markdown"]
    for finding in findings:
        assert one_line(finding["title"], 40).removesuffix("...").split(" ")[0][:30] in terminal
        assert f"{finding['severity']}: {markdown(finding['title'], 300)}\n" in report
    for word, of in {
        "BLOCKING, codex": [f["blocking"] for f in findings],
        "ACCEPTED by": [f["accepted"] for f in findings],
        "KNOWN: the baseline": [f["known"] for f in findings],
    }.items():
        assert terminal.count(word) == sum(map(bool, of))
        assert report.count(word.replace("BLOCKING, codex", "**blocking**")) == sum(map(bool, of))
    refuted = sum(
        f["examined"] == "refuted" or any(r["outcome"] == "refuted" for r in f["rulings"]) for f in findings
    )
    told = terminal[terminal.index("FINDINGS:") : terminal.index("PAIRS")].partition("\nCROSS-EXAM")[0]
    assert told.count("REFUTED") >= refuted
    assert report.count("**REFUTED") >= refuted
