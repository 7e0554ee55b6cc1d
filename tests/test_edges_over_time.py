"""Where telling findings of two times apart turns: each fails for a change that nobody noticed before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prun_review.answers import lay
from prun_review.model import Finding, Plan, RunFacts
from prun_review.sameness import apart, gap, one_defect, share_code
from prun_review.settling import asked_about
from prun_review.tokens import MIN_QUOTE, SPAN
from prun_review.tracking import Defect, track
from tests.gatekit import CASE, result, unit
from tests.test_sameness import AGAIN, ORDER, USER, entry
from tests.test_settling import accepted, group, known, laid

# --- what two quotes share ----------------------------------------------------------------------


@pytest.mark.parametrize(("size", "shared"), [(MIN_QUOTE, True), (MIN_QUOTE - 1, False)])
def test_the_shortest_quote_that_another_may_hold(size: int, shared: bool) -> None:
    assert share_code("x" * size, "a" * 50 + "x" * size) is shared


@pytest.mark.parametrize(("size", "shared"), [(60, True), (59, False)])
def test_the_least_part_that_both_must_hold(size: int, shared: bool) -> None:
    both, rest = "x" * size, 100 - size
    assert share_code(f"{both}\n{'a' * rest}", f"{both}\n{'b' * rest}") is shared


def test_quotes_that_one_in_between_joins_are_one_place() -> None:
    first, last = "total = price * count", "log.info(total, customer)"
    every = [replace(USER, quote=quote) for quote in (first, f"{first}\n{last}", last)]
    assert not share_code(first, last)
    assert not apart(every)
    assert apart([every[0], every[2]])


# --- where they stand ---------------------------------------------------------------------------


def at(line: int | None, end: int | None = None) -> Finding:
    return Finding("x", file="a.py", line=line, end_line=end)


@pytest.mark.parametrize(
    ("a", "b", "lines"),
    [
        (at(10, 12), at(20), 8),
        (at(10, 14), at(11, 13), 0),
        (at(10), at(10), 0),
        (at(10, 900), at(10 + SPAN + 5), 6),
        (at(10, 2), at(20), 10),
        (at(-4), at(1), None),
        (at(None), at(1), None),
    ],
)
def test_lines_between_two_places(a: Finding, b: Finding, lines: int | None) -> None:
    assert gap(a, b) == gap(b, a) == lines


def test_the_sides_of_a_change_are_two_places() -> None:
    new, old = replace(USER, side="new"), replace(USER, side="old")
    assert one_defect(USER, new, standing=False)
    assert not one_defect(old, new, standing=False)
    assert not one_defect(USER, old, standing=False)


# --- by name ------------------------------------------------------------------------------------


def test_a_stored_name_is_that_of_the_lead() -> None:
    new = Defect(CASE, (replace(AGAIN, line=90, end_line=90),), "high", names=("stored",), comparable=False)
    for old in ((USER,), (USER, ORDER)):
        earlier = Defect(CASE, old, "high", names=("stored",), comparable=False)
        assert set(track([earlier], [new]).found) == {0}


def test_no_line_is_no_first_line() -> None:
    nowhere, first = replace(USER, line=None, end_line=None), replace(USER, line=1, end_line=1)
    old, new = [Defect(CASE, (nowhere,), "high")], [Defect(CASE, (f,), "high") for f in (nowhere, first)]
    assert set(track(old, new).found) == {0}


def test_of_one_place_told_twice_the_first_is_where_the_earlier_one_was_seen() -> None:
    tracks = track([Defect(CASE, (USER,), "high")], [Defect(CASE, (USER,), "high")] * 2)
    assert (set(tracks.found), tracks.seen) == ({0, 1}, {0: 0})


ADDED = replace(USER, placement="added", line=30, end_line=30)


@pytest.mark.parametrize(
    ("stands", "found", "baseline", "person"),
    [
        ("exact", ADDED, True, True),  # it stands once, so it was moved
        ("moved", ADDED, False, False),  # it stands several times: this is a copy
        ("moved", replace(ADDED, line=10, end_line=10), False, True),
        ("moved", replace(USER, line=30, end_line=30), True, True),  # of what was there before
        ("ungrounded", ADDED, True, True),
    ],
)
def test_a_copy_that_a_change_adds_is_another(
    stands: str, found: Finding, baseline: bool, person: bool
) -> None:
    one = entry(USER, stands)
    done = laid(group(found), known=(one,), accepted=(replace(accepted(USER), finding=one.finding),))
    assert (bool(done.known), bool(done.accepted)) == (baseline, person)


# --- what was asked about -----------------------------------------------------------------------


def test_one_that_reads_the_whole_tree_is_asked_about_all_of_it() -> None:
    part, whole = replace(unit("codex"), files=("src/auth.py",)), unit("sonnet")
    plan = Plan((part, whole))
    facts = RunFacts("r", 0.0, known=(known(ORDER),))
    assert asked_about(facts, plan, lay(plan, [result(part), result(whole)])) == {CASE: None}
