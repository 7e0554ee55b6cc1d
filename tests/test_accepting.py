"""Entries of accepted findings: written so that TOML reads them back equal, whatever stands in them."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.acceptance import parse, quoted, table_of
from prun_review.consensus import Group
from prun_review.errors import ConfigError
from prun_review.fingerprints import core, fingerprint
from prun_review.folding import Member
from prun_review.keeping import acceptance, apiece
from prun_review.model import SEVERITIES, Acceptance, Finding
from tests.gatekit import CASE, LEAK, SQL, SQL_REWORDED

NOW = 1_796_040_000.0  # 2026-11-30 12:00 UTC
PLACE = "prun-accept.toml"
QUOTED = replace(SQL, quote='q = f"select {name}"', detail="One.\nTwo.")
TEXT = st.text(st.characters(), max_size=60)


def group(*findings: Finding, case: str = CASE) -> Group:
    members = tuple(Member(f"e{n}", "unit", f) for n, f in enumerate(findings))
    severity = max((f.severity for f in findings), key=SEVERITIES.index)
    return Group("u#1", case, "single", severity, "", members, "", "")


def entry(*findings: Finding, until: str = "2026-12-01") -> Acceptance:
    return acceptance(group(*findings), "Ada", "an internal tool", until, "c" * 40)


@pytest.mark.parametrize(
    "made",
    [
        entry(QUOTED),
        entry(SQL, SQL_REWORDED),
        entry(replace(SQL, file=None, line=None, detail="")),
        entry(replace(SQL, side="old"), until=""),
    ],
)
def test_what_is_written_is_read_back(made: Acceptance) -> None:
    text = f'[[outage]]\nexecutor = "codex"\nby = "A"\nreason = "r"\nuntil = 2026-12-01\n\n{table_of(made)}'
    _, *found = parse(text, PLACE, NOW)
    assert found == [made]
    assert parse(text + "\n" + table_of(made), PLACE, NOW)[1:] == (made, made)


def test_how_an_entry_looks() -> None:
    made = entry(QUOTED, SQL_REWORDED)
    assert table_of(made).splitlines() == [
        "[[finding]]",
        f'fingerprint = "{fingerprint(CASE, QUOTED)}"',
        'case = "panels/security/probe_shop.py::probe_injection[auth]"',
        'severity = "critical"',
        'title = "SQL injection in find_user"',
        'detail = "One.\\nTwo."',
        'file = "src/auth.py"',
        "line = 12",
        'quote = "q = f\\"select {name}\\""',
        f'commit = "{"c" * 40}"',
        'by = "Ada"',
        'reason = "an internal tool"',
        "until = 2026-12-01",
        "",
        "[[finding.also]]",
        'title = "User name reaches the SQL query unescaped"',
        'detail = "find_user builds the query by string formatting, so a name can inject SQL."',
        'file = "src/auth.py"',
        "line = 13",
    ]


def test_the_highest_severity_held_is_accepted() -> None:
    made = entry(replace(SQL, severity="low"), replace(SQL_REWORDED, severity="high"))
    assert made.finding is not None
    assert made.finding.severity == "high"
    assert [f.severity for f in made.also] == ["high"]


@given(TEXT)
def test_any_text_is_one_toml_string_on_one_line(text: str) -> None:
    written = quoted(text)
    assert written.isprintable()
    read = tomllib.loads(f"x = {written}\ny = 1\n")
    assert read == {"x": "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text), "y": 1}


@given(TEXT, TEXT, st.none() | TEXT, st.none() | TEXT, TEXT, TEXT)
def test_hostile_text_stays_inside_its_entry(
    title: str, detail: str, file: str | None, quote: str | None, by: str, reason: str
) -> None:
    finding = Finding(f"t{title}", detail, file, 3, severity="high", quote=quote, grounding="exact")
    made = acceptance(group(finding), f"A{by}".strip(), f"r{reason}".strip(), "", "")
    clean = table_of(made)
    [found] = tomllib.loads(clean)["finding"]
    assert set(found) <= {
        "fingerprint",
        "case",
        "severity",
        "title",
        "detail",
        "file",
        "line",
        "quote",
        "by",
        "reason",
    }
    [read] = parse(clean, PLACE, NOW)
    assert read.finding == made.finding
    assert read.subject == fingerprint(CASE, finding)


TABLE = table_of(entry(QUOTED, SQL_REWORDED))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('title = "SQL inj', 'title = "Nothing inj', "is not that of the case and finding beside it"),
        ('file = "src/auth.py"\nline = 12', 'file = "src/else.py"\nline = 12', "is not that of the case"),
        ("probe_injection[auth]", "probe_injection[billing]", "is not that of the case"),
        ('severity = "critical"', 'severity = "fatal"', "severity is 'fatal'"),
        ('severity = "critical"\n', "", "severity is missing"),
        ("f1-", "f2-", "fingerprint is 'f2-"),
        ("line = 12", "line = 0", "line is 0"),
        ("line = 12", "line = true", "line is True"),
        ("line = 12", 'line = "12"', "line is '12'"),
        ("line = 13", "line = -1", "also 1: line is -1"),
        ("line = 13", "lines = 13", "also 1: unknown key 'lines'; remedy: did you mean 'line'?"),
        ("line = 12", 'line = 12\nside = "left"', "side is 'left'"),
        ('commit = "', 'commit = "c', "commit is 'cc"),
        ('by = "Ada"', 'by = " "', "by is ' '"),
        ('reason = "an internal tool"\n', "", "reason is missing"),
        ("until = 2026-12-01", "until = 10:00:00", "until is datetime.time"),
        ("[[finding.also]]", "[finding.also]", "also is no list of tables"),
        ('quote = "', 'quotes = "', "unknown key 'quotes'; remedy: did you mean 'quote'?"),
        ('detail = "One', 'detail = 3 # "One', "detail is 3"),
    ],
)
def test_an_entry_that_cannot_be_understood_is_refused(old: str, new: str, says: str) -> None:
    assert old in TABLE
    with pytest.raises(ConfigError) as caught:
        parse(TABLE.replace(old, new, 1), PLACE, NOW)
    assert says in str(caught.value).replace("\n  remedy", "; remedy")
    assert "prun-accept.toml: [[finding]] 1" in str(caught.value)


def test_a_fingerprint_and_nothing_else_is_no_acceptance() -> None:
    text = f'[[finding]]\nfingerprint = "{fingerprint(CASE, SQL)}"\nby = "Ada"\nreason = "r"\n'
    with pytest.raises(ConfigError, match="case is missing"):
        parse(text, PLACE, NOW)


def test_an_acceptance_ends_with_its_day_and_lasts_where_none_is_given() -> None:
    [over] = parse(TABLE.replace("2026-12-01", "2026-11-29"), PLACE, NOW)
    assert over.expired
    [last] = parse(TABLE.replace("2026-12-01", "2026-11-30"), PLACE, NOW)
    assert not last.expired
    [without] = parse(TABLE.replace("until = 2026-12-01\n", ""), PLACE, NOW)
    assert (without.until, without.expired) == ("", False)
    [far] = parse(TABLE.replace("2026-12-01", "2099-01-01"), PLACE, NOW)
    assert not far.expired


def test_what_is_written_down_is_what_is_kept_of_a_finding() -> None:
    made = entry(replace(QUOTED, title="t  " * 400, quote="q \n\n" * 3000))
    assert made.finding == replace(core(made.finding or SQL), severity="critical")
    [read] = parse(table_of(made), PLACE, NOW)
    assert read == made


def test_of_what_may_be_two_each_is_kept_by_itself() -> None:
    two = replace(group(QUOTED, replace(LEAK, id="u#2")), kind="uncertain")
    every = apiece(two)
    assert [(g.lead.title, g.severity, len(g.members)) for g in every] == [
        (SQL.title, "critical", 1),
        (LEAK.title, "high", 1),
    ]
    torn = replace(two, members=(two.members[0], Member("x", "unit", replace(LEAK, grounding="ungrounded"))))
    assert [g.lead.title for g in apiece(torn)] == [SQL.title]
    assert apiece(group(QUOTED, LEAK)) == (group(QUOTED, LEAK),)
