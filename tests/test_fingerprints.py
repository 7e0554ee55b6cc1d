"""Stable names of findings: what they survive, and what they tell apart."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.fingerprints import DETAIL, QUOTE, TITLE, core, fingerprint, is_fingerprint
from prun_review.model import SEVERITIES, Finding, Place

CASE = "panels/security/probe_x.py::probe[a]"
FINDING = Finding(
    "SQL injection in get_user",
    "The name is put into the query as it is.",
    "src/users.py",
    12,
    13,
    severity="high",
    category="security",
    confidence=0.7,
    quote='query = f"select * from u where n = {name}"',
    grounding="exact",
)

TEXT = st.text(max_size=80)
FINDINGS = st.builds(
    Finding,
    title=TEXT,
    detail=TEXT,
    file=st.none() | TEXT,
    line=st.none() | st.integers(-3, 10**6),
    severity=st.sampled_from(SEVERITIES),
    quote=st.none() | TEXT,
    side=st.sampled_from([None, "new", "old"]),
)


def test_the_name_of_this_version_never_changes() -> None:
    """Names are kept in files of users: a change here needs another prefix."""
    assert fingerprint(CASE, FINDING) == "f1-81474e09950ef289"
    bare = Finding("Größe wird ver\u00adloren – Zeile ＮＦＫＣ", file=None)
    assert fingerprint("c", bare) == "f1-b36302256b7f5a09"
    old = Finding("a <= b", file="x.py", quote="a\n  b", side="old", mapped=Place("y.py", 3))
    assert fingerprint("c", old) == "f1-b685d9a32cd2221a"


@pytest.mark.parametrize(
    "change",
    [
        {"line": 512, "end_line": 520},
        {"severity": "critical"},
        {"detail": "Something else is said here."},
        {"confidence": None, "category": "correctness", "suggestion": "bind it", "rule": "S608"},
        {"id": "other#3", "grounding": "moved", "note": "moved from line 3"},
        {"quote": '  query  =   f"select * from u\n\n   where n = {name}"\r\n'},
        {"file": "./src/users.py"},
        {"file": "src\\users.py"},
        {"file": "src//./users.py"},
        {"file": "`src/users.py`"},
        {"title": "SQL injection in `get_user()`."},
        {"title": "sql  Injection\nin get_user"},
        {"title": "SQL injection in get_user (line 12)"},
        {"title": "SQL injection in get_user, lines 40-44"},
        {"side": "new"},
        {"placement": "added", "caused": True},
        {"file": "whatever.py", "mapped": Place("src/users.py", 9)},
    ],
    ids=str,
)
def test_what_a_name_survives(change: dict[str, object]) -> None:
    assert fingerprint(CASE, replace(FINDING, **change)) == fingerprint(CASE, FINDING)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"file": "src/groups.py"},
        {"file": "Src/users.py"},
        {"file": None},
        {"side": "old"},
        {"title": "Error of the query is swallowed in get_user"},
        {"title": "SQL injection in get_group"},
        {"quote": 'query = f"select * from g where n = {name}"'},
        {"quote": None},
    ],
    ids=str,
)
def test_what_a_name_tells_apart(change: dict[str, object]) -> None:
    assert fingerprint(CASE, replace(FINDING, **change)) != fingerprint(CASE, FINDING)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("uses < and not <=", "uses <= and not <"),
        ("L1 norm is wrong", "L2 norm is wrong"),
        ("status 404 is swallowed", "status 500 is swallowed"),
        ("a calls b", "b calls a"),
        ("?!", "?!!"),
    ],
)
def test_titles_that_differ_in_what_counts(one: str, other: str) -> None:
    names = {fingerprint("c", Finding(title, file="x.py")) for title in (one, other)}
    assert len(names) == 2


def test_a_case_is_part_of_the_name() -> None:
    assert fingerprint("a", FINDING) != fingerprint("b", FINDING)


def test_parts_do_not_run_into_each_other() -> None:
    one = fingerprint("c", Finding("t", file="ab", quote="c"))
    assert one != fingerprint("c", Finding("t", file="a", quote="bc"))
    assert fingerprint("c1:a", Finding("t")) != fingerprint("c", Finding("t", file="a"))


@given(st.text(), FINDINGS)
def test_the_core_of_a_core_is_itself_and_keeps_the_name(case: str, finding: Finding) -> None:
    kept = core(finding)
    assert core(kept) == kept
    assert fingerprint(case, kept) == fingerprint(case, finding)
    assert is_fingerprint(fingerprint(case, finding))


@given(FINDINGS, st.lists(st.sampled_from([" ", "\n", "\t", "\r\n", "  \n "]), min_size=1, max_size=40))
def test_white_space_in_a_quote_is_nothing(finding: Finding, blanks: list[str]) -> None:
    quote = finding.quote or ""
    spread = "".join(char + blanks[n % len(blanks)] for n, char in enumerate(quote))
    assert fingerprint("c", replace(finding, quote=spread)) == fingerprint("c", finding)


@given(FINDINGS)
def test_a_lone_surrogate_is_what_a_document_makes_of_it(finding: Finding) -> None:
    torn = replace(finding, title=f"\ud83d{finding.title}", quote=f"{finding.quote}\udfff")
    mended = replace(finding, title=f"\ufffd{finding.title}", quote=f"{finding.quote}\ufffd")
    assert fingerprint("c", torn) == fingerprint("c", mended)
    core(torn).title.encode()


def test_what_is_kept_is_capped() -> None:
    kept = core(Finding("t " * 9999, "d " * 9999, "x.py", quote="q \n" * 9999))
    assert len(kept.title) <= TITLE
    assert len(kept.detail) <= DETAIL
    assert len("".join((kept.quote or "").split())) == QUOTE
    longer = Finding("t " * 9999 + "u", "d", "x.py", quote="q" * 9999 + "r")
    assert fingerprint("c", longer) == fingerprint("c", kept)


@pytest.mark.parametrize(
    "text",
    ["", "f1-", "f1-0123456789abcde", "f1-0123456789ABCDEF", "f2-0123456789abcdef", "f1-0123456789abcdef\n"],
)
def test_what_is_no_name(text: str) -> None:
    assert not is_fingerprint(text)
