"""Two runs side by side: only what could have been found is called new or fixed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from prun_review import document
from prun_review.comparing import compare
from prun_review.model import (
    ChangedFile,
    Contract,
    Finding,
    Plan,
    Result,
    Revision,
    Score,
    Unit,
    Violation,
)
from prun_review.policy import Policy
from prun_review.renderers.comparison import render
from prun_review.renderers.comparisonpage import text as as_text
from prun_review.renderers.escape import columns
from tests import gatekit
from tests.gatekit import CASE, FOLDER, LEAK, PERHAPS, SQL, SQL_REWORDED, STYLE, choose, lost, result, unit

OTHER = f"{FOLDER}/probe_shop.py::probe_injection[billing]"
CODEX, SONNET = unit("codex"), unit("sonnet")
PAIR = CODEX, SONNET
SCHEMA = Draft202012Validator(
    json.loads(files("prun_review").joinpath("schemas/compare.json").read_text(encoding="utf-8"))
)


def doc(*results: Result, units: Sequence[Unit] = PAIR, **fields: Any) -> dict[str, Any]:
    return document.build(gatekit.facts(**fields), Plan(tuple(units)), results)


def held(*codex: Finding, sonnet: Sequence[Finding] = ()) -> tuple[Result, ...]:
    return result(CODEX, *codex), result(SONNET, *sonnet)


def compared(a: Mapping[str, Any], b: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    made = compare(a, b, **more)
    SCHEMA.validate(made)
    json.dumps(made, allow_nan=False)
    return made


def told(made: Mapping[str, Any]) -> dict[str, list[str]]:
    """Kind -> titles, without empty kinds; of pairs the later title."""
    found = {}
    for kind, rows in made["findings"].items():
        names = [(row.get("after") or row.get("finding") or row)["title"] for row in rows]
        if names:
            found[kind] = sorted(names)
    return found


def test_new_fixed_and_the_same() -> None:
    made = compared(doc(*held(SQL, LEAK)), doc(*held(replace(SQL, line=40, end_line=40), STYLE)))
    assert told(made) == {"new": [STYLE.title], "fixed": [LEAK.title], "same": [SQL.title]}
    assert made["findings"]["same"][0]["how"] == "same fingerprint"
    mirrored = compared(doc(*held(SQL, STYLE)), doc(*held(SQL, LEAK)))
    assert told(mirrored) == {"new": [LEAK.title], "fixed": [STYLE.title], "same": [SQL.title]}


def test_other_words_are_the_same_and_a_doubt_is_told() -> None:
    made = compared(doc(*held(SQL)), doc(*held(SQL_REWORDED)))
    assert told(made) == {"same": [SQL_REWORDED.title]}
    assert made["findings"]["same"][0]["how"].startswith("told in other words: same file, 1 line apart")
    made = compared(doc(*held(SQL)), doc(*held(PERHAPS)))
    assert told(made) == {"perhaps": [PERHAPS.title]}


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        (held(SQL), held(SQL, sonnet=[SQL_REWORDED]), ["class", "outcome"]),
        (held(SQL, sonnet=[SQL_REWORDED]), held(SQL), ["class", "outcome"]),
        (held(replace(SQL, severity="low")), held(replace(SQL, severity="medium")), ["severity"]),
        (held(replace(SQL, severity="low")), held(SQL), ["severity", "outcome"]),
    ],
)
def test_flipped(before: tuple[Result, ...], after: tuple[Result, ...], changes: list[str]) -> None:
    made = compared(doc(*before), doc(*after))
    [row] = made["findings"]["flipped"]
    assert row["changes"] == changes
    assert told(made) == {"flipped": [SQL.title]}


def test_a_class_that_flipped_for_want_of_an_answer_says_so() -> None:
    made = compared(doc(*held(SQL, sonnet=[SQL_REWORDED])), doc(result(CODEX, SQL), lost(SONNET)))
    [row] = made["findings"]["flipped"]
    assert row["how"] == "same fingerprint; sonnet gave no sound answer in the second run"


def test_two_that_became_one_are_neither_fixed_nor_new() -> None:
    apart = doc(*held(SQL, sonnet=[PERHAPS]))
    joined = doc(*held(replace(SQL_REWORDED, detail=f"{SQL.detail} {PERHAPS.title}. {PERHAPS.detail}")))
    assert "fixed" not in told(compared(apart, joined))
    both = doc(result(CODEX, SQL), result(SONNET, PERHAPS))
    assert told(compared(both, both)).keys() <= {"same"}


# --- what could not have been found -----------------------------------------------------------


@pytest.mark.parametrize(
    "second",
    [
        (result(CODEX), lost(SONNET)),
        (result(CODEX),),
        (result(CODEX), result(SONNET, salvage=(Violation("lost-finding", "/findings/0", "cut off"),))),
        (result(CODEX), result(SONNET, status="broken", violations=(Violation("x", "", "y"),))),
    ],
    ids=["failed", "missing", "a finding lost", "broken"],
)
def test_who_was_not_heard_fixed_nothing(second: tuple[Result, ...]) -> None:
    before, after = doc(*held(LEAK, sonnet=[SQL])), doc(*second)
    made = compared(before, after)
    assert told(made) == {"fixed": [LEAK.title], "unclear": [SQL.title]}
    [row] = made["findings"]["unclear"]
    assert (row["run"], row["why"]) == ("a", "sonnet, who held it, gave no sound answer in the second run")
    made = compared(after, before)
    assert told(made) == {"new": [LEAK.title], "unclear": [SQL.title]}
    assert made["findings"]["unclear"][0]["run"] == "b"


def test_a_repeat_that_was_not_heard_is_none() -> None:
    again = unit("codex", repeat=2)
    units = (CODEX, again, SONNET)
    before = doc(*held(SQL), result(again), units=units)
    for codex in ((result(CODEX), lost(again)), (lost(CODEX), result(again))):
        after = doc(*codex, result(SONNET), units=units)
        assert told(compared(before, after)) == {"unclear": [SQL.title]}


def test_a_case_that_nobody_answered_twice_is_not_comparable() -> None:
    other = unit("codex", OTHER), unit("sonnet", OTHER)
    choice = unit("codex", contract=Contract("choice", ("a", "b"), ("speed",)))
    first = doc(*held(SQL), result(other[0], LEAK), result(other[1]), units=(*PAIR, *other))
    for second, why in (
        (doc(*held(SQL)), "nobody was asked in the second run"),
        (
            doc(*held(SQL), lost(other[0]), units=(*PAIR, *other)),
            "nobody gave a sound answer in the second run",
        ),
    ):
        made = compared(first, second)
        assert told(made) == {"same": [SQL.title]}
        assert made["not_comparable"] == [
            {"case": OTHER, "folder": FOLDER, "why": why, "before": 1, "after": 0}
        ]
    made = compared(doc(*held(SQL)), first)
    assert [row["why"] for row in made["not_comparable"]] == ["nobody was asked in the first run"]
    made = compared(doc(result(CODEX, SQL), units=[CODEX]), doc(result(SONNET), units=[SONNET]))
    assert told(made) == {}
    assert made["not_comparable"][0]["why"] == "no executor gave sound answers in both runs"
    made = compared(doc(result(CODEX, SQL), units=[CODEX]), doc(choose(choice, "a"), units=[choice]))
    assert made["not_comparable"][0]["why"] == "it was another kind of question"


def test_what_the_tree_did_not_hold_was_not_fixed() -> None:
    torn = replace(SQL, grounding="ungrounded")
    made = compared(doc(*held(torn)), doc(*held()))
    assert told(made) == {"unclear": [SQL.title]}
    assert told(compared(doc(*held(torn)), doc(*held(torn)))) == {"same": [SQL.title]}
    assert told(compared(doc(*held(torn)), doc(*held(SQL)))) == {"flipped": [SQL.title]}


CHANGE: dict[str, Any] = {
    "revision": Revision("c" * 40, "7" * 40, base="b" * 40, merge_base="a" * 40),
    "change": (
        ChangedFile("src/auth.py", "src/auth.py"),
        ChangedFile("src/moved.py", "src/store.py", "renamed"),
    ),
}


def test_what_is_no_part_of_the_other_change_was_not_fixed() -> None:
    before = doc(*held(SQL, STYLE, LEAK))
    made = compared(before, doc(*held(), **CHANGE))
    assert told(made) == {"fixed": [LEAK.title, SQL.title], "unclear": [STYLE.title]}
    assert (
        made["findings"]["unclear"][0]["why"]
        == "its file is no part of the change that the second run reviewed"
    )
    assert made["notes"] == ["the first run reviewed a whole tree, the second a change"]
    assert (made["coverage"]["before"]["uncovered"], made["coverage"]["after"]["uncovered"]) == (None, 1)


def test_a_renamed_file_is_followed() -> None:
    moved = replace(SQL, file="src/login.py")
    before, after = doc(*held(SQL, LEAK)), doc(*held(moved, LEAK))
    assert told(compared(before, after)) == {"fixed": [SQL.title], "new": [SQL.title], "same": [LEAK.title]}
    renames = {"src/auth.py": "src/login.py"}
    assert told(compared(before, after, renames=renames)) == {"same": [LEAK.title, SQL.title]}
    reworded = doc(*held(replace(SQL_REWORDED, file="src/login.py"), LEAK))
    assert told(compared(before, reworded, renames=renames)) == {"same": [LEAK.title, SQL_REWORDED.title]}


# --- choices, policy, the whole ---------------------------------------------------------------

DESIGN = "panels/design/probe_ledger.py::probe_format"
OPTIONS = Contract("choice", ("jsonl", "sqlite"), ("speed", "safety"))
VOTERS = unit("codex", DESIGN, contract=OPTIONS), unit("sonnet", DESIGN, contract=OPTIONS)


def test_who_changed_their_mind_and_why() -> None:
    policy = {"panels/design": Policy()}
    before = doc(
        choose(
            VOTERS[0], "jsonl", Score("jsonl", "speed", 5, "it appends"), Score("sqlite", "safety", 4, "wal")
        ),
        choose(VOTERS[1], "sqlite"),
        units=VOTERS,
        folders=policy,
    )
    after = doc(
        choose(
            VOTERS[0],
            "sqlite",
            Score("jsonl", "speed", 2, "measured"),
            Score("sqlite", "safety", 4, "as before"),
        ),
        choose(VOTERS[1], "sqlite"),
        units=VOTERS,
        folders=policy,
    )
    [row] = compared(before, after)["choices"]
    assert row["winner"] == {"before": None, "after": "sqlite"}
    assert row["unchanged"] == ["sonnet"]
    assert row["changed"] == [
        {
            "executor": "codex",
            "before": ["jsonl"],
            "after": ["sqlite"],
            "confidence": {"before": 0.7, "after": 0.7},
            "would_change_mind": "a benchmark",
            "reasons": [
                {
                    "option": "jsonl",
                    "criterion": "speed",
                    "before": {"score": 5, "reason": "it appends"},
                    "after": {"score": 2, "reason": "measured"},
                }
            ],
        }
    ]
    page = render(compare(before, after))
    assert "**codex** went from jsonl to sqlite (confidence 0.70 to 0.70)." in page
    assert "Said before what would change its mind: a benchmark" in page
    assert "| jsonl | speed | 5: it appends | 2: measured |" in page
    page = as_text(compare(before, after))
    assert "  winner: none before, sqlite after\n  unchanged: sonnet\n" in page
    assert "  codex went from jsonl to sqlite (confidence 0.70 to 0.70)\n" in page
    assert re.search(r"^    jsonl +speed +5: it appends +2: measured$", page, re.M)
    [row] = compared(before, before)["choices"]
    assert (row["unchanged"], row["changed"]) == (["codex", "sonnet"], [])


def test_who_did_not_answer_did_not_change_their_mind() -> None:
    before = doc(choose(VOTERS[0], "jsonl"), choose(VOTERS[1], "sqlite"), units=VOTERS)
    after = doc(lost(VOTERS[0]), choose(VOTERS[1], "jsonl"), units=VOTERS)
    [row] = compared(before, after)["choices"]
    assert [change["executor"] for change in row["changed"]] == ["sonnet"]
    assert row["unchanged"] == []


def test_verdict_coverage_and_policy() -> None:
    before = doc(*held(SQL, sonnet=[SQL_REWORDED]))
    after = doc(result(CODEX), lost(SONNET), folders={FOLDER: Policy(block="medium", unresolved=2)})
    made = compared(before, after)
    assert [made["verdict"][side]["outcome"] for side in ("before", "after")] == ["FAIL", "INCOMPLETE"]
    assert [made["coverage"][side]["answered"] for side in ("before", "after")] == [2, 1]
    assert {(row["folder"], row["key"], row["before"], row["after"]) for row in made["policy"]} >= {
        (FOLDER, "block", "high", "medium"),
        (FOLDER, "unresolved", "0", "2"),
    }
    assert compared(before, before)["policy"] == []
    started = document.start(gatekit.facts(), Plan(PAIR))
    assert compared(before, started)["verdict"]["after"]["outcome"] == "INCOMPLETE"


def test_another_question_is_said() -> None:
    asked = replace(CODEX, brief=replace(CODEX.brief, prompt="Look for races."))
    made = compared(doc(*held(SQL)), doc(result(asked, SQL), result(SONNET), units=(asked, SONNET)))
    assert made["notes"] == [
        f"the question of {CASE} is another one: 'Audit src/auth.py for injection defects.' before, "
        "'Look for races.' after"
    ]


HOSTILE = replace(
    SQL,
    title="<img src=x onerror=alert(1)> @everyone | \x1b[2J\u202e [x](https://evil.example) `#1`",
    file="src/a`|<b>\u202e.py",
)


def test_foreign_text_is_inert() -> None:
    design = replace(OPTIONS, options=("jsonl", "<b>|x"))
    voter = unit("codex", DESIGN, contract=design)
    score = Score("<b>|x", "speed", 5, "see @all | ![x](https://evil.example/x.png)")
    policy = {FOLDER: Policy(), "panels/design": Policy()}
    a = doc(*held(HOSTILE), choose(voter, "jsonl"), units=(*PAIR, voter), folders=policy)
    b = doc(
        *held(replace(HOSTILE, severity="low"), LEAK),
        choose(voter, "<b>|x", score),
        units=(*PAIR, voter),
        folders=policy,
    )
    made = compared(a, b)
    assert told(made).keys() == {"flipped", "new"}
    page = render(made)
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert not [
        line
        for line in page.splitlines()
        if "<img" in line or "<b>|" in line or "@everyone" in line or "@all" in line
    ]
    assert not re.search(r"(?<!\\)\]\(", page)
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows} <= {4, 5}
    for width in (40, 80):
        page = as_text(made, width)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)
        assert max(columns(line) for line in page.splitlines()) <= width


def test_a_page_tells_all_of_it() -> None:
    other = unit("codex", OTHER)
    alone = replace(STYLE, title="A race of two writers", file="src/late.py")
    before = doc(*held(SQL, LEAK, sonnet=[alone]), result(other), units=(*PAIR, other))
    after = doc(
        result(CODEX, replace(SQL, severity="low"), STYLE),
        lost(SONNET),
        folders={FOLDER: Policy(block="low")},
    )
    page = render(compare(before, after))
    for text in (
        "# 20261129T120000Z-ab12 and 20261129T120000Z-ab12",
        "| verdict | INCOMPLETE",
        "## New (1)",
        "## Flipped (1)",
        "  - severity: critical before, low after",
        "## Fixed (1)",
        "held in the first run only: sonnet, who held it, gave no sound answer in the second run",
        "## Policy",
        "## Not comparable",
        "nobody was asked in the second run",
    ):
        assert text in page, page
    page = as_text(compare(before, after), 200)
    for pattern in (
        "20261129T120000Z-ab12 and 20261129T120000Z-ab12$",
        "  verdict +INCOMPLETE +INCOMPLETE$",
        "  before: INCOMPLETE \\(",
        "NEW: 1\n  severity +place +class +held by +title\n",
        "FLIPPED: 1\n.*\n  low +src/auth.py:12 +single +codex ",
        "    src/auth.py:12: severity: critical before, low after$",
        "FIXED: 1$",
        "    src/late.py:3: held in the first run only: sonnet, who held it, gave no sound answer",
        "POLICY\n",
        "NOT COMPARABLE: 1\n.*nobody was asked in the second run \\(findings: 0 before, 0 after\\)$",
    ):
        assert re.search(f"^{pattern}", page, re.M), f"{pattern}\n{page}"


SOME = st.lists(st.sampled_from([SQL, SQL_REWORDED, PERHAPS, LEAK, STYLE, HOSTILE]), max_size=4, unique=True)
STATES = st.sampled_from(["sound", "failed", "missing"])


@settings(max_examples=60, deadline=None)
@given(SOME, SOME, SOME, SOME, STATES, STATES)
def test_every_finding_is_told_once_and_fixed_only_by_who_was_heard(
    a1: list[Finding], a2: list[Finding], b1: list[Finding], b2: list[Finding], one: str, other: str
) -> None:
    def answers(first: list[Finding], second: list[Finding], state: str) -> list[Result]:
        late = {"sound": [result(SONNET, *second)], "failed": [lost(SONNET)], "missing": []}[state]
        return [result(CODEX, *first), *late]

    a, b = doc(*answers(a1, a2, one)), doc(*answers(b1, b2, other))
    made = compared(a, b)["findings"]
    pairs = [row for kind in ("flipped", "same", "perhaps") for row in made[kind]]
    unclear = {run: [r["finding"]["id"] for r in made["unclear"] if r["run"] == run] for run in "ab"}
    old = [*(r["before"]["id"] for r in pairs), *(r["id"] for r in made["fixed"]), *unclear["a"]]
    new = [*(r["after"]["id"] for r in pairs), *(r["id"] for r in made["new"]), *unclear["b"]]
    assert set(old) == {row["id"] for row in a["findings"]}
    assert set(new) == {row["id"] for row in b["findings"]}
    if other != "sound":
        assert not [row for row in made["fixed"] if "sonnet" in row["executors"]]
    if one != "sound":
        assert not [row for row in made["new"] if "sonnet" in row["executors"]]
    assert compared(a, a)["findings"].keys() >= {"same"}
    assert len(compared(a, a)["findings"]["same"]) >= len(a["findings"])
    render(compared(a, b))
    page = as_text(compared(a, b), 400)
    assert all(f" {row['title'][:20]}" in page for row in made["new"] if "<" not in row["title"])
