"""Every renderer on whole documents: what a person reads, and nothing active whatever is in it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from prun_review.codec import encode
from prun_review.model import Finding
from prun_review.renderers import RENDERERS
from prun_review.renderers.escape import columns
from prun_review.renderers.json import dumps
from prun_review.renderers.terminal import Terminal
from tests.renderers import sample
from tests.renderers.test_escape import is_active

SUMMARY = """\
prun_review 20261129-120000-ab12: finished, 2 panels, 4 questions, 4 units
reviewed tree 99aabbccddee (commit 1a2b3c4d5e6f, uncommitted changes included),
  120 files

PANELS
  executor  vendor     lineage     valid  broken  failed  not run  found     s
  codex     openai     openai     3 of 3       0       0        0      1  12.5
  sonnet    anthropic  anthropic  2 of 3       0       1        0      0  12.5

QUESTIONS
  panels/security/probe_shop.py::probe_injection[auth]
    "Audit src/auth for injection defects."
    2 of 2 answered
  panels/security/probe_shop.py::probe_injection[billing]
    "Audit src/auth for injection defects."
    1 of 2 answered, without sonnet, no two independent voices
  panels/design/probe_ledger.py::probe_ledger_format
    "Audit src/auth for injection defects."
    2 of 2 answered
    not asked: ruff (contract): an analyser cannot answer a choice
  panels/design/probe_ledger.py::probe_essay
    "Audit src/auth for injection defects."
    1 of 1 answered
    codex: keep the ledger
      the whole text is in the report, under Answers

FINDINGS: 1 consensus, 1 single
  consensus: held by independent executors
    critical  src/auth/login.py:12 SQL injection in login
              BLOCKING, codex, sonnet: codex and sonnet name the same lines;
                text 0.71
  single: held by one voice only
    medium    no place Token never expires
              sonnet: codex does not have it

SOURCES: 2 of 3 pages blocked
  BLOCKED, codex: panels/security/probe_shop.py::probe_injection[auth]
    403: https://example.org/b (via WebFetch)
  BLOCKED, sonnet: panels/security/probe_shop.py::probe_injection[auth]
    no answer: https://example.net/
  codex: panels/security/probe_shop.py::probe_injection[auth]
    200: https://example.org/a (via WebFetch)

PAIRS
  codex / sonnet: 1 match
  alone (counted once for each other executor): sonnet 1

CHOICES
  panels/design/probe_ledger.py::probe_ledger_format: no common choice; dissent:
    codex
    codex: jsonl > sqlite (confidence 0.80)
      would change its mind: concurrent writers
    sonnet: sqlite > jsonl
    option  criterion     codex  sonnet
    jsonl   crash safety      4       2
    jsonl   greppability      5       -
    jsonl   mean           4.50    2.00
    sqlite  crash safety      -       5
    sqlite  greppability      -       -
    sqlite  mean              -    5.00

AGREEMENT
  findings codex / sonnet: both 1, only codex 0, only sonnet 1; 1 of 2 cases
    answered by both; PSA 0.50-0.67
  choices codex / sonnet: same 0 of 1 (1 of 1 answered by both); 95 % Wilson not
    estimable: fewer than 10 choices

FAILURES
  sonnet: rate limited: 1 failed; remedy: wait
    usage limit reached

USAGE
  pool    units  input tokens  cached  output  cost
  codex       3       120,000       -     900  not said
  sonnet      3             1       0       2  $0.4200 + 1 unit not said

reports: /home/ann/project/reports/20261129-120000-ab12/report.md and report.json

CONSENSUS: 1 (1 critical); CONTESTED: 0; UNCERTAIN: 0; SINGLE: 1; UNGROUNDED: 0
VERDICT: FAIL: 1 critical held by codex and sonnet
  PASS: panels/design
  FAIL: panels/security
  FAIL [consensus] critical: SQL injection in login (src/auth/login.py:12)
    (panels/security)
"""


def test_the_terminal_summary_word_for_word() -> None:
    where = "reports: /home/ann/project/reports/20261129-120000-ab12/report.md and report.json"
    assert Terminal(extra=(where,))(sample.document()) == SUMMARY


@pytest.mark.parametrize(
    "expected",
    [
        "# Review: FAIL: 1 critical held by codex and sonnet",
        "| `panels/security` | FAIL |",
        "| sonnet | anthropic | anthropic | 2 of 3 | 0 | 1 | 0 | 0 | 12.5 |",
        "- `panels/security/probe_shop.py::probe_injection[billing]`: 1 of 2 answered, without sonnet",
        "  - not asked: ruff (contract): an analyser cannot answer a choice",
        "### Consensus (1): held by independent executors",
        "#### critical: SQL injection in login\n\n`src/auth/login.py:12`, **blocking**, codex, sonnet",
        "**codex** at `src/auth/login.py:12` (severity critical, category other, unchecked):",
        "> d\n\n```text\nq = f'{u}'\n```",
        "Suggestion:\n\n> Set exp.",
        "| `codex-1#1` | `sonnet-1#1` | match | 0.71 | same lines |",
        "| jsonl | crash safety | 4 | 2 |",
        "- sonnet on sqlite, crash safety: 5: journal",
        "PSA 0.50-0.67",
        "95 % Wilson not estimable: fewer than 10 choices",
        "- sonnet: rate limited: 1 failed; remedy: wait\n  - usage limit reached",
        "\nCONSENSUS: 1 (1 critical); CONTESTED: 0; UNCERTAIN: 0; SINGLE: 1; UNGROUNDED: 0\n",
        "## Sources: 2 of 3 pages blocked\n\n| status |",
        f"| **blocked: 403** | `https://example.org/b` | WebFetch | codex | `{sample.AUTH}` |\n"
        f"| **blocked: no answer** | `https://example.net/` |  | sonnet | `{sample.AUTH}` |\n"
        f"| 200 | `https://example.org/a` | WebFetch | codex | `{sample.AUTH}` |",
        f"## Answers\n\n### `{sample.ESSAY}`: codex\n\nConclusion: keep the ledger\n\n"
        "```text\n# Why\n\n- it is *plain*\n```",
    ],
)
def test_the_markdown_report_says(expected: str) -> None:
    assert expected in RENDERERS["markdown"](sample.document())


def test_the_json_report_is_the_document_in_its_order() -> None:
    text = RENDERERS["json"](sample.document())
    assert json.loads(text) == sample.document()
    assert list(json.loads(text)) == list(sample.document())
    assert text.isascii()
    assert text.endswith("}\n")


@pytest.mark.parametrize("text", ["##[error]x", "###[x", "a##", "\\##vso[", "##", "# #"])
def test_json_keeps_hashes_but_not_their_command(text: str) -> None:
    out = dumps({text: [text]})
    assert json.loads(out) == {text: [text]}
    assert "##" not in out


def test_json_refuses_what_no_json_reader_takes() -> None:
    with pytest.raises(ValueError, match="JSON"):
        dumps({"score": float("nan")})


HOSTILE = [
    sample.HOSTILE,
    sample.HOSTILE * 30,
    "x" * 10_000,
    "日" * 3000,
    "\u0301" * 3000,
    "::" * 40,
    "\n" * 50,
]


@pytest.mark.parametrize("text", HOSTILE, ids=["all", "long", "word", "wide", "combining", "colons", "lines"])
@pytest.mark.parametrize("name", sorted(RENDERERS))
def test_nothing_foreign_is_active(name: str, text: str) -> None:
    out = RENDERERS[name](sample.hostile(sample.document(), text))
    assert not is_active(out)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", out)
    if name == "markdown":
        prose = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", out)
        outside = re.sub(r"`[^`\n]*`", "", prose.replace("\\`", ""))
        assert not re.search(r"<|[@]\w|!\[|(?<!\\)\[|://", outside)


@pytest.mark.parametrize("text", HOSTILE, ids=["all", "long", "word", "wide", "combining", "colons", "lines"])
@pytest.mark.parametrize("width", [40, 80, 132])
def test_the_summary_stays_within_the_width(width: int, text: str) -> None:
    out = Terminal(width=width)(sample.hostile(sample.document(), text))
    assert max(columns(line) for line in out.splitlines()) <= width


def test_a_hostile_quote_stays_in_its_fence() -> None:
    quote = "```\n</pre><script>alert(1)</script>\n````\n::error::x"
    member = sample.member("codex", "u", id="u#1", title="t", quote=quote)
    out = RENDERERS["markdown"](sample.document(findings=[sample.group("single", [member])]))
    assert "`````text\n```\n</pre><script>alert(1)</script>\n````\n: :error::x\n`````" in out


def started() -> dict[str, Any]:
    """What is there of a run that only began."""
    return {"schema_version": 1, "run_id": "r", "status": "started", "started": "2026", "finished": None}


@pytest.mark.parametrize("document", [{}, started(), {**started(), "verdict": None, "units": []}])
@pytest.mark.parametrize("name", ["terminal", "markdown"])
def test_a_run_without_an_end_is_shown_and_called_incomplete(name: str, document: dict[str, Any]) -> None:
    assert "INCOMPLETE: the run has no end" in RENDERERS[name](document)


def test_each_cause_of_failure_is_told_once_with_its_counts() -> None:
    causes = [
        sample.cause("codex", "not-logged-in", failed=2, not_run=10, message="Please log in", others=1),
        sample.cause("sonnet", "over-capacity", failed=0, retried=3, remedy="fewer at once"),
        sample.cause("sonnet", "refresh-token-race", title="used twice", others=2, message="401", remedy=""),
    ]
    out = Terminal()(sample.document(causes=causes))
    assert (
        "FAILURES\n"
        "  codex: not logged in: 2 failed, 10 not run; remedy: wait\n"
        "    Please log in (and 1 other message)\n"
        "  sonnet: over capacity: 3 answered when asked again; remedy: fewer at once\n"
        "  sonnet: used twice [refresh-token-race]: 1 failed\n"
        "    401 (and 2 other messages)\n" in out
    )
    lines = RENDERERS["markdown"](sample.document(causes=causes)).splitlines()
    assert "- codex: not logged in: 2 failed, 10 not run; remedy: wait" in lines
    assert "  - Please log in (and 1 other message)" in lines


@pytest.mark.parametrize("name", ["terminal", "markdown"])
def test_budget_and_what_was_taken_over_are_told(name: str) -> None:
    facts = {"resumed_from": ["r1", "r2"], "budget": "budget $5.00; $4.20 reported by sonnet"}
    out = RENDERERS[name](sample.document(facts=facts))
    assert "results taken over from r1, r2" in out
    assert "4.20 reported by sonnet" in out


def many(n: int) -> list[dict[str, Any]]:
    return [
        sample.group("single", [sample.member("codex", "u", id=f"u#{i}", title=f"defect {i}")])
        for i in range(n)
    ]


def test_a_long_list_is_cut_and_says_how_much_is_missing() -> None:
    document = sample.document(findings=many(55))
    out = Terminal(most=40)(document)
    assert "FINDINGS: 55 single" in out
    assert "defect 39\n" in out
    assert "defect 40" not in out
    assert "and 15 more single findings in the report" in out
    assert "defect 54" in RENDERERS["markdown"](document)


def test_the_end_of_a_long_path_is_kept() -> None:
    path = "src/" + "deep/" * 30 + "orders.py"
    member = sample.member("codex", "u", id="u#1", title="Total is wrong", file=path, line=7, end_line=9)
    out = Terminal()(sample.document(findings=[sample.group("single", [member])]))
    assert re.search(r"medium    \.\.\.[\w/]+/deep/orders.py:7-9\n              Total is wrong\n", out)


def test_what_comments_hide_is_listed() -> None:
    hidden = encode(Finding("assert used", file="a.py", line=3, rule="S101"))
    document = sample.document(units=[sample.unit("ruff", "c", suppressed=[hidden])])
    assert "1 more hidden by comments in the reviewed code" in Terminal()(document)
    assert "- ruff: medium `S101` `a.py:3`: assert used" in RENDERERS["markdown"](document)


def test_violations_and_salvage_are_all_in_the_report() -> None:
    found = [{"code": "schema", "where": "/findings/0/line", "text": "not a number"}]
    document = sample.document(units=[sample.unit("codex", "c", violations=found, salvage=found)])
    out = RENDERERS["markdown"](document)
    assert "  - violation `schema` at `/findings/0/line`: not a number" in out
    assert "  - salvage `schema` at `/findings/0/line`: not a number" in out


def test_a_case_put_to_nobody_is_listed_with_the_reason() -> None:
    entry = {"id": "c", "case": "c", "folder": "p", "executor": "", "reason": "skipped", "text": "no net"}
    document = sample.document(cases=[], not_asked=[entry])
    assert "QUESTIONS\n  c\n    not asked: nobody (skipped): no net\n" in Terminal()(document)
    assert "- `c`: put to nobody\n  - not asked: nobody (skipped): no net" in RENDERERS["markdown"](document)


def test_repeats_stand_side_by_side_in_the_score_table() -> None:
    choice = sample.choice()
    choice["scores"].append(sample.score("jsonl", "crash safety", "codex", 1))
    choice["answers"].append({**choice["answers"][0], "repeat": 2})
    out = Terminal()(sample.document(cases=[sample.case("c", choice=choice)]))
    assert "jsonl   crash safety    4/1       2" in out
    assert "codex, 2 of 2 answers: jsonl > sqlite (confidence 0.80)\n      would change its mind: conc" in out


def test_a_very_long_text_is_cut_and_says_so() -> None:
    member = sample.member("codex", "u", id="u#1", title="t", detail="word " * 10_000)
    out = RENDERERS["markdown"](sample.document(findings=[sample.group("single", [member])]))
    assert "> (cut: 30000 more characters in the JSON report)" in out


def classed(kind: str, *severities: str) -> list[dict[str, Any]]:
    return [
        sample.group(kind, [sample.member("codex", "u", id=f"{kind}#{n}", title="t", severity=severity)])
        for n, severity in enumerate(severities)
    ]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {
                "findings": [
                    *classed("consensus", "low", "high", "critical", "high"),
                    *classed("single", "info"),
                ]
            },
            "CONSENSUS: 4 (1 critical, 2 high); CONTESTED: 0; UNCERTAIN: 0; SINGLE: 1; UNGROUNDED: 0",
        ),
        (
            {"findings": []},
            "CONSENSUS: 0; CONTESTED: 0; UNCERTAIN: 0; SINGLE: 0; UNGROUNDED: 0",
        ),
        ({"findings": [], "cases": [sample.case("c", contract="prose")]}, ""),
        ({"findings": [], "cases": []}, ""),
        ({"verdict": None, "status": "started", "findings": []}, ""),
    ],
)
def test_what_reviewers_agree_on_stands_last_before_the_verdict(changes: dict[str, Any], line: str) -> None:
    out = Terminal(width=100)(sample.document(**changes))
    end = out[out.rindex("\n\n") :]
    assert end.startswith(f"\n\n{line}\nVERDICT: " if line else "\n\nVERDICT: ")
    assert ("CONSENSUS: " in RENDERERS["markdown"](sample.document(**changes))) is bool(line)


def test_blocked_pages_come_first_in_a_list_that_is_cut() -> None:
    came = [sample.page(f"https://example.org/{n}") for n in range(5)]
    units = [
        sample.unit("codex", "c", sources=came),
        sample.unit("codex", "c", repeat=2, sources=[sample.page("https://example.org/gone", 410)]),
    ]
    document = sample.document(units=units)
    out = Terminal(most=5)(document)
    assert "SOURCES: 1 of 6 pages blocked\n  BLOCKED, codex #2: c\n    410: https://example.org/gone " in out
    assert "/3 (via WebFetch)\n  and 1 more page in the report\n" in out
    assert "https://example.org/4" in RENDERERS["markdown"](document)
    open_ones = sample.document(units=units[:1])
    assert "SOURCES: none of 5 pages blocked\n  codex: c\n    200: " in Terminal()(open_ones)


@pytest.mark.parametrize("name", ["terminal", "markdown"])
def test_a_document_without_pages_and_texts_has_no_such_part(name: str) -> None:
    out = RENDERERS[name](sample.document(units=[sample.unit("codex", sample.AUTH)])).lower()
    assert "\nsources" not in out.replace("# ", "")
    assert "answers\n" not in out


def test_a_prose_answer_that_broke_its_contract_says_so() -> None:
    text = "word " * 10_000 + "```\n<b>end</b>"
    unit = sample.unit("codex", sample.ESSAY, status="broken", conclusion="", text=text)
    document = sample.document(units=[unit])
    assert "    codex (broken): none\n      the whole text is in the report" in Terminal()(document)
    out = RENDERERS["markdown"](document)
    assert f"`{sample.ESSAY}`: codex (broken)" in out
    assert f"````text\n{text}\n````" in out


@pytest.mark.parametrize(
    ("independent", "changes", "told"),
    [
        (True, {"winner": "sqlite", "dissent": []}, "c: sqlite"),
        (False, {"winner": "sqlite", "dissent": []}, "c: sqlite (one voice)"),
        (False, {"winner": None, "dissent": ["codex"]}, "c: no common choice; dissent: codex"),
        (False, {"winner": None, "dissent": [], "answers": [], "scores": []}, "c: not answered"),
    ],
)
def test_a_choice_says_whose_it_is(independent: bool, changes: dict[str, Any], told: str) -> None:
    case = sample.case("c", contract="choice", independent=independent, choice=sample.choice() | changes)
    document = sample.document(cases=[case])
    assert f"CHOICES\n  {told}\n" in Terminal()(document)
    assert f"### {told.replace('c:', '`c`:')}\n" in RENDERERS["markdown"](document)


def test_a_remark_is_called_a_note_in_both() -> None:
    reason = {"code": "single", "text": "1 high held by one vendor only", "outcome": "PASS", "folder": ""}
    document = sample.document()
    document["verdict"] |= {"outcome": "PASS", "line": "PASS", "reasons": [reason]}
    assert "  note [single] 1 high held by one vendor only\n" in Terminal()(document)
    assert "- note `single`: 1 high held by one vendor only\n" in RENDERERS["markdown"](document)


def test_one_is_one() -> None:
    document = sample.document(findings=many(3))
    document["revision"] |= {"files": 1, "dirty": False}
    document["agreement"]["findings"][0]["cases_asked"] = 1
    out = Terminal(width=132, most=2)(document)
    assert "reviewed tree 99aabbccddee (commit 1a2b3c4d5e6f), 1 file\n" in out
    assert "; 1 of 1 case answered by both; PSA" in out
    assert "and 1 more single finding in the report\n" in out
