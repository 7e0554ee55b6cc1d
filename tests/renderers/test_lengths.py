"""The three lengths of the terminal report, and the reasons that tell where a finding is."""

from __future__ import annotations

from typing import Any

import pytest

from prun_review.renderers import RENDERERS
from prun_review.renderers.escape import columns
from prun_review.renderers.terminal import ALL, BRIEF, USUAL, Terminal
from prun_review.renderers.verdictlines import failure, lines
from tests.renderers import agreed, sample
from tests.renderers.test_documents import HOSTILE
from tests.renderers.test_escape import is_active

LENGTHS = (BRIEF, USUAL, ALL)
SHOP = "panels/a/probe_x.py::probe_x[one]"
CART = "panels/b/probe_y.py::probe_y"


def blocking(outcome: str, code: str, case: str = SHOP, **fields: Any) -> dict[str, Any]:
    """A finding that blocks, with what decided over it."""
    kind = "consensus" if outcome == "FAIL" else "single"
    decided = {"code": code, "why": "the rule for it"}
    base = {"case": case, "folder": case.rpartition("/")[0], "blocking": True, "outcome": outcome}
    title = str(fields.pop("title", "defect"))
    return agreed.finding(kind, title, **{**base, "decided": decided, **fields})


def reason(finding: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The reason that the gate makes of a finding."""
    told = {"code": finding["decided"]["code"], "outcome": finding["outcome"], "folder": finding["folder"]}
    return {**told, "text": f"{finding['severity']}: {finding['title']}", **fields}


def judged(findings: list[dict[str, Any]], reasons: list[dict[str, Any]]) -> dict[str, Any]:
    """A document whose verdict has these reasons."""
    folders = dict.fromkeys([f["folder"] for f in findings], "FAIL")
    verdict = {"outcome": "FAIL", "reasons": reasons, "folders": folders, "counts": {}, "line": "FAIL (x)"}
    return agreed.document(findings=findings, verdict=verdict)


def test_a_reason_about_a_finding_names_its_probe_its_fingerprint_and_who_holds_it() -> None:
    failing = blocking("FAIL", "consensus")
    opened = blocking(
        "INCOMPLETE", "unresolved", fingerprint="", id="codex-1#7", reason="nobody else was asked"
    )
    document = judged([opened, failing], [reason(failing), reason(opened)])
    place = "high: defect (src/auth/login.py:12)"
    assert [(line.weight, line.code, line.text, line.folders) for line in lines(document)] == [
        ("FAIL", "consensus", f"{place}; held by codex; probe_x[one] f1-01234567", ("panels/a",)),
        (
            "INCOMPLETE",
            "unresolved",
            f"{place}; held by codex: nobody else was asked; probe_x[one] codex-1#7",
            ("panels/a",),
        ),
    ]


def test_one_defect_in_two_probes_is_one_line_that_says_so() -> None:
    two = [blocking("INCOMPLETE", "unresolved", case) for case in (SHOP, CART)]
    two[1]["fingerprint"] = "f1-ffffffffffffffff"
    other = blocking("INCOMPLETE", "unresolved", CART, title="another")
    found = [*two, other]
    said = lines(judged(found, [reason(f) for f in found]))
    assert [line.folders for line in said] == [("panels/a", "panels/b"), ("panels/b",)]
    assert said[0].text.endswith("; in 2 probes: probe_x[one] f1-01234567, probe_y f1-ffffffff")
    assert "another" in said[1].text
    assert Terminal(width=400)(judged(found, [reason(f) for f in found])).count("in 2 probes") == 1
    worse = {**two[1], "severity": "critical"}
    assert len(lines(judged([two[0], worse], [reason(f) for f in (two[0], worse)]))) == 2


def test_probes_of_the_same_name_are_told_with_their_files() -> None:
    twin = SHOP.replace("/a/", "/b/")
    found = [blocking("FAIL", "consensus", case) for case in (SHOP, twin)]
    [line] = lines(judged(found, [reason(f) for f in found]))
    assert f"in 2 probes: {SHOP} f1-01234567, {twin} f1-01234567" in line.text


@pytest.mark.parametrize("surplus", ["reason", "finding"])
def test_no_reason_is_lost_where_it_is_not_known_which_finding_it_is_about(surplus: str) -> None:
    found = [blocking("FAIL", "consensus", title=name) for name in ("one", "two")]
    reasons = [reason(f) for f in found]
    document = judged(found[: 2 - (surplus == "reason")], reasons[: 2 - (surplus == "finding")])
    assert [line.text for line in lines(document)] == [r["text"] for r in document["verdict"]["reasons"]]
    old = [{**f, "decided": None} for f in found]
    assert [line.text for line in lines(judged(old, reasons))] == ["high: one", "high: two"]


def test_reasons_keep_their_order_and_stand_once_each() -> None:
    found = [blocking("FAIL", "consensus", title=f"t{n}") for n in range(3)]
    other = {"code": "contract", "text": "codex: broke it", "outcome": "INCOMPLETE", "folder": "panels/a"}
    note = {"code": "partial", "text": "partial: -k", "outcome": "PASS", "folder": ""}
    document = judged(found, [*map(reason, found), other, note])
    said = lines(document)
    assert [line.code for line in said] == ["consensus"] * 3 + ["contract", "partial"]
    assert [line.folders for line in said[3:]] == [("panels/a",), ()]
    assert said[4].weight == "note"


def test_a_failure_says_verdict_reasons_and_the_next_command_but_no_remark() -> None:
    opened = blocking("INCOMPLETE", "unresolved")
    note = {"code": "partial", "text": "partial: -k", "outcome": "PASS", "folder": ""}
    told = failure(judged([opened], [reason(opened), note])).splitlines()
    assert told[0] == "FAIL (x)"
    assert told[1].startswith("[unresolved] high: defect (src/auth/login.py:12); held by codex; probe_x[one]")
    assert told[2].startswith("to settle: ")
    assert "prun-review accept 20261129-120000-ab12 f1-0123456789abcdef --by NAME" in told[2]
    assert len(told) == 3


# --- lengths ----------------------------------------------------------------------------------


@pytest.mark.parametrize("detail", LENGTHS)
def test_every_length_says_who_answered_what_was_lost_and_why_the_verdict_is_what_it_is(detail: int) -> None:
    out = Terminal(detail=detail, width=200)(sample.document())
    for told in (
        "  sonnet    anthropic  anthropic  2 of 3       0       1",
        "1 of 2 answered, without sonnet, no two independent voices",
        "sonnet: rate limited: 1 failed; remedy: wait",
        "$0.4200 + 1 unit not said",
        "VERDICT: FAIL: 1 critical held by codex and sonnet\n  PASS: panels/design\n",
        "  FAIL [consensus] critical: SQL injection in login (src/auth/login.py:12) (panels/security)\n",
        "CONSENSUS: 1 (1 critical); CONTESTED: 0; UNCERTAIN: 0; SINGLE: 1; UNGROUNDED: 0\n",
        "Token never expires",
        "keep the ledger",
        "no common choice; dissent: codex",
    ):
        assert told in out, told
    assert ("\nPAIRS\n" in out) is (detail == ALL)
    assert ("\nAGREEMENT\n" in out) is (detail > BRIEF)
    assert ("\nSOURCES" in out) is (detail > BRIEF)


def test_the_lengths_differ_in_what_they_say_of_findings() -> None:
    blocks = blocking("FAIL", "consensus", title="blocks")
    passes = agreed.finding("single", "passes", decided={"code": "known", "why": "the baseline"})
    quiet = agreed.finding("single", "quiet", severity="low")
    document = judged([blocks, passes, quiet], [reason(blocks)])
    brief, usual, whole = (Terminal(width=120, detail=detail)(document) for detail in LENGTHS)
    for out in (brief, usual):
        assert "\n    high      src/auth/login.py:12 passes (codex) [known]\n" in out
        assert "\n    low       src/auth/login.py:12 quiet (codex)\n" in out
    assert "\n    1 finding told with the verdict: what blocks stands there\n" in brief
    assert brief.count("blocks (src/auth") == 1
    assert "high      src/auth/login.py:12 blocks\n              BLOCKING, codex" in usual
    assert "high      src/auth/login.py:12 passes\n              codex: held by codex" in whole
    assert len(brief) < len(usual) < len(whole)


def test_why_a_finding_passes_is_said_however_many_hold_it() -> None:
    many = [f"executor-number-{n}" for n in range(9)]
    found = agreed.finding("consensus", "x" * 300, executors=many, file="deep/" * 40 + "a.py")
    found["decided"] = {"code": "not-reproduced", "why": "reproducibility"}
    for detail in (BRIEF, USUAL):
        [line] = [row for row in Terminal(detail=detail)(judged([found], [])).splitlines() if "deep/" in row]
        assert line.endswith(" [not-reproduced]")
        assert "a.py:12 " in line
        assert len(line) <= 80


def test_the_short_report_counts_what_was_answered_and_names_what_was_not() -> None:
    whole = [sample.case(f"c{n}") for n in range(3)]
    hole = sample.case("hole", answered=["codex"], independent=False)
    left = {
        "id": "n[codex]",
        "case": "n",
        "folder": "f",
        "executor": "",
        "reason": "skipped",
        "text": "no net",
    }
    document = sample.document(cases=[*whole, hole], units=[], not_asked=[left])
    out = Terminal(detail=BRIEF)(document)
    assert "\nQUESTIONS: 5, 7 of 8 answered\n" in out
    assert "  hole: 1 of 2 answered, without sonnet, no two independent voices\n" in out
    assert "  n: not asked: nobody (skipped): no net\n" in out
    assert "c1" not in out
    many = sample.document(cases=[{**hole, "case": f"h{n}"} for n in range(9)], units=[], not_asked=[])
    assert "and 4 more in the report" in Terminal(detail=BRIEF, most=5)(many)


def test_what_was_left_out_of_the_second_wave_is_told_by_why_at_every_length() -> None:
    for detail in LENGTHS:
        out = Terminal(detail=detail, width=200)(agreed.document())
        assert "  2 not asked: over the limit of 3\n" in out
        assert "no answer from codex: failed (timeout)" in out
        assert ("does it hold, high: single" in out) is (detail == ALL)


@pytest.mark.parametrize("text", HOSTILE, ids=["all", "long", "word", "wide", "combining", "colons", "lines"])
@pytest.mark.parametrize("detail", [BRIEF, USUAL])
@pytest.mark.parametrize("width", [40, 80])
def test_nothing_foreign_is_active_and_nothing_is_wider_at_any_length(
    width: int, detail: int, text: str
) -> None:
    found = [blocking("INCOMPLETE", "unresolved", case) for case in (SHOP, CART)]
    for document in (sample.document(), judged(found, [reason(f) for f in found])):
        out = Terminal(width=width, detail=detail)(sample.hostile(document, text))
        assert not is_active(out)
        assert max(columns(line) for line in out.splitlines()) <= width


def test_the_markdown_report_names_probes_and_the_next_command_too() -> None:
    opened = [blocking("INCOMPLETE", "unresolved", case) for case in (SHOP, CART)]
    out = RENDERERS["markdown"](judged(opened, [reason(f) for f in opened]))
    assert "in 2 probes: probe\\_x" in out or "in 2 probes: probe_x" in out
    assert "(`panels/a`, `panels/b`)\n- to settle: " in out


def test_findings_that_nobody_else_holds_are_counted_for_each_of_the_others_and_that_is_said() -> None:
    out = Terminal(width=200)(sample.document())
    assert "  alone (counted once for each other executor): sonnet 1\n" in out
