"""What sounds alike and is another defect: code decides, and what is in doubt gates."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prun_review.matching import crosscheck
from prun_review.model import Finding, Known
from prun_review.sameness import apart, one_defect, share_code
from tests.test_settling import accepted, group, known, laid

USER = Finding(
    "SQL injection in find_user",
    "The name parameter is concatenated into the SQL query, so a caller can read any row.",
    "src/auth.py",
    10,
    10,
    "high",
    "security",
    quote='db.execute("select * from users where name=" + name)',
    grounding="exact",
)
AGAIN = replace(
    USER,
    title="The name reaches the SQL query of find_user",
    detail="The name parameter is concatenated into the query, so a caller can read any row of users.",
    quote='  cur = db.execute("select * from users where name=" + name)\n',
)
ORDER = replace(
    USER,
    title="SQL injection in find_order",
    detail="The order parameter is concatenated into the SQL query, so a caller can read any row.",
    line=22,
    end_line=22,
    quote='db.execute("select * from orders where id=" + order)',
)
NAMELESS = replace(ORDER, title="SQL injection", line=12, end_line=12)
"""It names no code, and stands near."""


def unquoted(finding: Finding, line: int | None = 12) -> Finding:
    return replace(finding, quote=None, line=line, end_line=line, grounding="line-only")


def entry(finding: Finding, grounding: str = "unchecked", *also: Finding) -> Known:
    """As a run places it in its tree."""
    made = known(finding, also=also)
    return replace(made, finding=replace(made.finding, grounding=grounding))


@pytest.mark.parametrize(
    ("found", "stands", "same"),
    [
        (AGAIN, "unchecked", True),
        (AGAIN, "exact", True),
        (AGAIN, "ungrounded", True),
        (replace(AGAIN, line=25, end_line=25), "unchecked", True),
        (replace(AGAIN, line=25, end_line=25), "exact", False),
        (replace(AGAIN, line=25, end_line=25), "moved", False),
        (unquoted(AGAIN), "unchecked", True),
        (unquoted(AGAIN), "exact", True),
        (unquoted(AGAIN), "ungrounded", False),
        (unquoted(AGAIN, 14), "unchecked", False),
        (unquoted(AGAIN, None), "unchecked", False),
        (replace(AGAIN, line=None, end_line=None), "unchecked", False),
        (ORDER, "unchecked", False),
        (replace(ORDER, line=10, end_line=10), "ungrounded", False),
        (NAMELESS, "unchecked", False),
        (unquoted(ORDER), "unchecked", False),
        (unquoted(NAMELESS), "unchecked", True),
        (replace(AGAIN, side="old"), "unchecked", False),
        (replace(AGAIN, title="The name reaches a query of find_order"), "unchecked", False),
        (replace(AGAIN, placement="added"), "unchecked", False),
    ],
)
def test_what_is_known_in_other_words_shows_the_same_code(found: Finding, stands: str, same: bool) -> None:
    [pair] = [p for p in crosscheck([USER], [found]) if p.left == 0]
    assert pair.outcome == "match"  # all of them sound alike
    done = laid(group(found), known=(entry(USER, stands),))
    assert set(done.known) == ({"u#1"} if same else set())
    assert done.stale == ()
    by = replace(accepted(USER), finding=entry(USER, stands).finding)
    same = same or found.placement == "added"  # a person may answer for what the change adds
    assert set(laid(group(found), accepted=(by,)).accepted) == ({"u#1"} if same else set())


def test_the_known_one_is_found_beside_a_new_one_that_sounds_more_like_it() -> None:
    rival = replace(USER, line=14, end_line=14, quote=ORDER.quote)
    done = laid(group(AGAIN, id="u#1"), group(rival, id="u#2"), known=(entry(USER),))
    assert set(done.known) == {"u#1"}


def test_an_entry_that_was_found_by_name_takes_nothing_in_other_words() -> None:
    other = replace(AGAIN, title="find_user builds its SQL query from the name parameter")
    both = entry(USER, "unchecked", AGAIN)
    assert set(laid(group(other), known=(both,)).known) == {"u#1"}
    assert set(laid(group(USER, id="u#1"), group(other, id="u#2"), known=(both,)).known) == {"u#1"}
    third = replace(other, line=11, end_line=11)
    assert len(laid(group(other, id="u#1"), group(third, id="u#2"), known=(both,)).known) == 1


def test_of_a_group_that_quotes_two_places_both_must_be_known() -> None:
    mixed = group(USER, ORDER, kind="consensus")
    assert laid(mixed, known=(entry(USER),), accepted=(accepted(USER),)).known == {}
    assert laid(mixed, accepted=(accepted(USER),)).accepted == {}
    assert set(laid(mixed, known=(entry(USER), entry(ORDER))).known) == {"u#1"}
    assert set(laid(group(USER, AGAIN, kind="consensus"), known=(entry(USER),)).known) == {"u#1"}


@pytest.mark.parametrize(
    ("found", "same"),
    [
        (replace(USER, title="SQL injection", line=400, detail="The export is reachable. It is old."), False),
        (replace(USER, title="SQL injection", line=13, detail="The export is reachable."), True),
        (replace(USER, title="SQL injection", line=400), True),
        (replace(USER, title="SQL injection", line=400, detail=""), False),
        (replace(USER, title="SQL injection", line=None, detail="The export is reachable."), False),
    ],
)
def test_a_name_without_a_quote_needs_the_place_or_the_detail(found: Finding, same: bool) -> None:
    stored = replace(USER, title="SQL injection", quote=None, line=10)
    done = laid(group(replace(found, quote=None)), known=(known(stored),), accepted=(accepted(stored),))
    assert set(done.known) == set(done.accepted) == ({"u#1"} if same else set())
    nothing = replace(stored, detail="", line=None), replace(stored, detail="", line=None, severity="low")
    assert laid(group(nothing[1]), known=(known(nothing[0]),)).known == {}


@pytest.mark.parametrize(
    ("a", "b", "shared"),
    [
        ("call(argument)", "x = call( argument )", True),
        ("do(x)", "do( x )", True),
        ("do(x)", "if do(x) and more:", False),
        ("first = line(1)\nsecond = line(2)\nthird = 3", "second = line(2)\nfirst = line(1)\nlast = 4", True),
        ("first = line(1)\nsecond = line(2)", "second = line(2)\nthird = line(3)", False),
        (str(USER.quote), str(ORDER.quote), False),
    ],
)
def test_quotes_share_code(a: str, b: str, shared: bool) -> None:
    assert share_code(a, b) is share_code(b, a) is shared
    assert apart([replace(USER, quote=a), replace(USER, quote=b), unquoted(USER)]) is not shared


def test_sameness_is_that_of_both_directions_where_nothing_is_known_of_the_tree() -> None:
    every = (USER, AGAIN, ORDER, NAMELESS, unquoted(AGAIN), unquoted(ORDER))
    for a in every:
        for b in every:
            assert one_defect(a, b, standing=False) is one_defect(b, a, standing=False)
