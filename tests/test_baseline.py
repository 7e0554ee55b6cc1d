"""The file of known findings: written stable, read whole or not at all."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from prun_review import document
from prun_review.baseline import MOST, MOST_ALSO, Baseline, distinct, parse, text_of
from prun_review.errors import ConfigError
from prun_review.fingerprints import core, fingerprint
from prun_review.keeping import Kept, keep
from prun_review.model import SEVERITIES, Acceptance, Finding, Known, Plan, Result, RunFacts
from prun_review.policy import Policy
from tests import gatekit
from tests.gatekit import CASE, FOLDER, LEAK, PERHAPS, SQL, SQL_REWORDED, STYLE, result, unit

PLACE = "baseline.json"
QUOTED = replace(SQL, quote="q = 'select ' + name")
SCHEMA = Draft202012Validator(
    json.loads(files("prun_review").joinpath("schemas/baseline.json").read_text(encoding="utf-8"))
)


def known(finding: Finding, case: str = CASE, *also: Finding) -> Known:
    return Known(fingerprint(case, finding), case, FOLDER, core(finding), also=tuple(map(core, also)))


MADE = Baseline((known(QUOTED, CASE, SQL_REWORDED), known(LEAK)), "run-1", "c" * 40, "7" * 40, "0.1.0")

FINDINGS = st.builds(
    Finding,
    title=st.text(max_size=40),
    detail=st.text(max_size=40),
    file=st.none() | st.text(max_size=20),
    line=st.none() | st.integers(-2, 10**6),
    severity=st.sampled_from(SEVERITIES),
    quote=st.none() | st.text(max_size=40),
    side=st.sampled_from([None, "new", "old"]),
)


# --- the file ---------------------------------------------------------------------------------


def test_what_is_written_is_read_back() -> None:
    read = parse(text_of(MADE), PLACE)
    assert set(read.entries) == {
        replace(k, also=tuple(replace(f, severity=k.finding.severity) for f in k.also)) for k in MADE.entries
    }
    assert replace(read, entries=()) == replace(MADE, entries=())
    assert text_of(read) == text_of(MADE)
    SCHEMA.validate(json.loads(text_of(MADE)))


@given(st.lists(st.tuples(FINDINGS, st.text(max_size=9)), max_size=8), st.randoms(use_true_random=False))
def test_any_finding_is_kept_whatever_stands_in_it(
    rows: list[tuple[Finding, str]], rng: random.Random
) -> None:
    entries = [known(f, "".join(c if c.isprintable() else "?" for c in case), f) for f, case in rows]
    text = text_of(Baseline(tuple(entries)))
    SCHEMA.validate(json.loads(text))
    text.encode()
    read = parse(text, PLACE)
    assert {(k.fingerprint, k.case) for k in read.entries} == {(k.fingerprint, k.case) for k in entries}
    rng.shuffle(entries)
    assert text_of(Baseline(tuple(entries))) == text


def test_one_more_finding_changes_the_file_where_it_stands_only() -> None:
    more = replace(MADE, entries=(*MADE.entries, known(STYLE)))
    before, after = text_of(MADE).splitlines(), text_of(more).splitlines()
    start = next(n for n, (x, y) in enumerate(zip(before, after, strict=False)) if x != y)
    grown = len(after) - len(before)
    assert before[start:] == after[start + grown :]


def test_a_line_that_drifts_changes_nothing_but_itself() -> None:
    drifted = replace(MADE, entries=(known(replace(QUOTED, line=99), CASE, SQL_REWORDED), known(LEAK)))
    lines = zip(text_of(MADE).splitlines(), text_of(drifted).splitlines(), strict=True)
    assert [(x.strip(), y.strip()) for x, y in lines if x != y] == [('"line": 12,', '"line": 99,')]


def test_one_name_on_one_line_is_one_entry_with_the_worst_severity() -> None:
    low = known(replace(SQL, severity="low"))
    [one] = distinct([low, known(SQL), low])
    assert one.finding.severity == "critical"
    assert len(distinct([known(SQL), known(replace(SQL, line=90))])) == 2


def test_a_baseline_has_an_end() -> None:
    many = tuple(known(replace(SQL, line=n)) for n in range(1, MOST + 2))
    with pytest.raises(ValueError, match="at most 5000"):
        text_of(Baseline(many))
    most = text_of(Baseline(many[:-1]))
    assert len(parse(most, PLACE).entries) == MOST
    row = json.loads(most)["findings"][0]
    value = {**json.loads(most), "findings": [{**row, "line": n} for n in range(1, MOST + 2)]}
    with pytest.raises(ConfigError, match="not a baseline"):
        parse(json.dumps(value), PLACE)
    assert len(distinct([known(SQL, CASE, *[LEAK] * 99)])[0].also) == MOST_ALSO


Edit = Callable[[dict[str, Any]], Any]


def first(**changes: Any) -> Edit:
    return lambda value: value["findings"][0].update(changes)


def drop(key: str) -> Edit:
    return lambda value: value["findings"][0].pop(key)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda v: v.update(schema_version=2), "no baseline of this version (schema_version 2, here 1)"),
        (lambda v: v.update(schema_version=True), "schema_version True"),
        (lambda v: v.pop("schema_version"), "schema_version None"),
        (lambda v: v.update(more=1), "unknown key 'more'"),
        (lambda v: v.pop("findings"), "findings is missing"),
        (lambda v: v.update(findings={}), "findings is no list"),
        (lambda v: v.pop("made_by"), "made_by is missing"),
        (lambda v: v.update(made_by=3), "made_by: expected an object, got 3"),
        (lambda v: v["made_by"].pop("commit"), "made_by: commit is missing"),
        (lambda v: v["made_by"].update(run=3), "made_by: run is 3"),
        (lambda v: v["findings"].insert(0, None), "finding 1: expected an object, got None"),
        (lambda v: v["findings"].append(v["findings"][0]), "finding 3: the same finding as 1"),
        (drop("title"), "finding 1: title is missing"),
        (drop("also"), "finding 1: also is missing"),
        (first(note="x"), "finding 1: unknown key 'note'"),
        (first(severity="fatal"), "severity is 'fatal'"),
        (first(severity=None), "severity is None"),
        (first(title="Nothing to see"), "is not that of what stands beside it"),
        (first(file="src/else.py"), "is not that of what stands beside it"),
        (first(case="panels/x"), "is not that of what stands beside it"),
        (first(quote=None), "is not that of what stands beside it"),
        (first(fingerprint="f2-0123456789abcdef"), "the fingerprint 'f2-0123456789abcdef' is not that"),
        (first(fingerprint=3), "fingerprint is 3"),
        (first(title=3), "title is 3"),
        (first(title="t" * 501), "title is longer than 500 characters"),
        (first(title="two  blanks"), "is not as a baseline keeps it"),
        (first(quote="q" * 2001), "is not as a baseline keeps it"),
        (first(file="./src/auth.py"), "is not as a baseline keeps it"),
        (first(line=0), "line is 0"),
        (first(line=True), "line is True"),
        (first(line="12"), "line is '12'"),
        (first(side="left"), "side is 'left'"),
        (first(also=[3]), "also 1: expected an object, got 3"),
        (first(also={}), "also is no list of at most 50"),
        (first(also=[{"title": "x"}]), "also 1: detail is missing"),
    ],
)  # fmt: skip
def test_a_file_that_is_not_wholly_understood_is_refused(edit: Edit, says: str) -> None:
    value = json.loads(text_of(MADE))
    edit(value)
    with pytest.raises(ConfigError) as caught:
        parse(json.dumps(value), PLACE)
    assert says in caught.value.message or f": {says}" in f"{caught.value.place}: {caught.value.message}"
    assert caught.value.place.startswith(PLACE)
    assert caught.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{",
        text_of(MADE)[:-9],
        text_of(MADE).replace('"title":', '"title": "x", "title":', 1),
        text_of(MADE).replace('"line": 12', '"line": NaN', 1),
        text_of(MADE).replace("SQL", "\\ud800SQL", 1),
        "[" * 100_000,
    ],
    ids=["empty", "null", "list", "open", "cut", "a key twice", "NaN", "surrogate", "deep"],
)
def test_what_is_no_json_of_ours_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, PLACE)
    assert caught.value.place == PLACE


# --- what goes in -----------------------------------------------------------------------------

CODEX, SONNET = unit("codex"), unit("sonnet")


def kept(which: str, *results: Result, **fields: Any) -> Kept:
    facts: RunFacts = gatekit.facts(**fields)
    built = document.build(facts, Plan((CODEX, SONNET)), results)
    return keep(built["findings"], facts, which)


def titles(made: Kept) -> list[str]:
    return sorted(known.finding.title for known in made.entries)


TORN = replace(LEAK, title="Torn", grounding="ungrounded", severity="critical")
BESIDE = replace(LEAK, title="Beside", file="src/far.py", beside=True)
FOUND = (
    result(CODEX, SQL, STYLE, TORN, replace(BESIDE)),
    result(SONNET, SQL_REWORDED, LEAK),
)


def test_what_could_gate_goes_in_and_the_rest_is_counted() -> None:
    made = kept("gating", *FOUND)
    assert titles(made) == [LEAK.title, SQL.title]
    assert made.left_out == {"beside the change": 1, "that cannot gate": 1, "ungrounded": 1}
    [entry] = [k for k in made.entries if k.finding.title == SQL.title]
    assert (entry.fingerprint, entry.case, entry.folder) == (fingerprint(CASE, SQL), CASE, FOLDER)
    assert [f.title for f in entry.also] == [SQL_REWORDED.title]


def test_all_is_what_is_grounded() -> None:
    made = kept("all", *FOUND)
    assert titles(made) == sorted([LEAK.title, SQL.title, STYLE.title, BESIDE.title])
    assert made.left_out == {"ungrounded": 1}


def test_a_folder_in_report_mode_cannot_gate() -> None:
    folders = {FOLDER: Policy(mode="report")}
    assert kept("gating", *FOUND, folders=folders).entries == ()
    assert kept("blocking", *FOUND, folders=folders).entries == ()


def test_the_policy_says_what_can_gate() -> None:
    made = kept("gating", *FOUND, folders={FOLDER: Policy(low="any", high="off")})
    assert titles(made) == sorted([SQL.title, STYLE.title])


def test_blocking_is_what_stood_in_the_way_and_what_was_known() -> None:
    entry = known(SQL)
    assert titles(kept("blocking", *FOUND)) == [LEAK.title, SQL.title]
    policy = {FOLDER: Policy(unresolved=-1)}
    assert titles(kept("blocking", *FOUND, folders=policy)) == [SQL.title]
    assert titles(kept("blocking", *FOUND, known=(entry,), folders=policy)) == [SQL.title]
    assert kept("blocking", *FOUND, known=(entry,), folders=policy).left_out["not blocking"] == 3


def test_what_a_person_answers_for_stays_with_that_person() -> None:
    """In a baseline it would outlast the day until which it is accepted."""
    by = Acceptance("finding", fingerprint(CASE, SQL), "Ada", "r", "2099-01-01", case=CASE, finding=core(SQL))
    for which in ("gating", "blocking", "all"):
        made = kept(which, *FOUND, acceptances=(by,))
        assert SQL.title not in titles(made)
        assert made.left_out["accepted by a person"] == 1


def test_an_unknown_severity_is_never_known() -> None:
    made = kept("all", result(CODEX, replace(SQL, severity="fatal")), result(SONNET))
    assert (made.entries, made.left_out) == ((), {"of unknown severity": 1})


def test_two_that_may_be_the_same_are_both_kept() -> None:
    made = kept("gating", result(CODEX, SQL), result(SONNET, PERHAPS))
    wordings = {f.title for k in made.entries for f in (k.finding, *k.also)}
    assert wordings == {SQL.title, PERHAPS.title}
