"""How alike two texts are: a number that means the same everywhere, and the words behind it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review import Finding, crosscheck
from prun_review.lexical import SHOWN, all_pairs, common, jaccard, likeness, score, some_pairs
from prun_review.tokens import Item, items, spelling, split, text_of

FEW = settings(max_examples=80, deadline=None)
WORDS = [
    "cache", "lock", "token", "`user_id`", "getUserName", "load()", "empty", "3", "12", "os.walk", "never",
    "ключ", "größer", "retries", "retry",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)


def read(*texts: str) -> list[Item]:
    return items([Finding(title=text) for text in texts], [])[0]


def alike(one: str, other: str) -> float:
    return score(*read(one, other))


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((0, 5, 5, 0, 3, 3), 0.0),
        ((5, 5, 5, 3, 3, 3), 1.0),
        ((2, 4, 9, 1, 1, 4), 0.4167),
        ((2, 4, 4, 0, 2, 2), 0.25),
        ((2, 4, 4, 0, 0, 2), 0.25),
        ((2, 4, 4, 0, 0, 0), 0.5),
        ((200, 200, 200, 200, 200, 200), 1.0),
    ],
)
def test_likeness_is_the_mean_of_two_cosines(
    numbers: tuple[int, int, int, int, int, int], expected: float
) -> None:
    assert likeness(*numbers) == expected
    shared, ours, theirs, plain, our_plain, their_plain = numbers
    assert likeness(shared, theirs, ours, plain, their_plain, our_plain) == expected


@FEW
@given(TEXTS, TEXTS)
def test_it_is_the_same_from_both_sides_and_one_for_equal_words_only(one: str, other: str) -> None:
    a, b = read(one, other)
    assert score(a, b) == score(b, a)
    assert 0 <= score(a, b) <= 1
    assert (score(a, b) == 0) == (not a.words & b.words)
    if a.words:
        assert score(a, a) == 1
    if a.words != b.words:
        assert score(a, b) < 1
    assert jaccard(a, b) <= 1


@FEW
@given(st.lists(TEXTS, max_size=6), st.lists(TEXTS, max_size=6))
def test_what_is_compared_by_bits_is_compared_by_sets(left: list[str], right: list[str]) -> None:
    lefts, rights = items([Finding(title=t) for t in left], [Finding(title=t) for t in right])
    every = list(range(len(lefts) * len(rights)))
    assert list(all_pairs(lefts, rights, every=True)) == list(some_pairs(lefts, rights, every))
    for a, b, found, said in all_pairs(lefts, rights, every=False):
        assert found == score(a, b)
        assert said == sum(not word.isdigit() for word in a.words & b.words)


def test_what_cannot_be_one_defect_is_not_compared() -> None:
    lefts, rights = items(
        [Finding("cache lock", file="a.py"), Finding("`load` fails", file="a.py"), Finding("cache")],
        [Finding("cache lock", file="b.py"), Finding("`load` again", file="b.py"), Finding("x", file="a.py")],
    )
    told = {(a.index, b.index) for a, b, _, _ in all_pairs(lefts, rights, every=False)}
    assert told == {(0, 2), (1, 1), (1, 2), (2, 0)}


@FEW
@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=4), st.lists(TEXTS, max_size=4))
def test_other_findings_of_the_case_do_not_move_a_score(
    one: str, other: str, left: list[str], right: list[str]
) -> None:
    def findings(texts: list[str]) -> list[Finding]:
        return [Finding(title=text) for text in texts]

    scores = {
        (p.left, p.right): p.score
        for p in crosscheck(findings([one, *left]), findings([other, *right]))
        if p.left is not None and p.right is not None
    }
    assert scores.get((0, 0), alike(one, other)) == alike(one, other)


def test_plain_words_tell_two_defects_of_one_name_apart() -> None:
    leak = "`load_config` leaks the file handle when the parser raises"
    again = "When the parser raises, `load_config` never closes the file handle"
    other = "`load_config` ignores the encoding argument of its caller"
    assert alike(leak, again) > 0.6
    assert alike(leak, other) < 0.26


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Deleting a tenant leaves its sessions valid, so removed users keep their access",
            "Sessions of a deleted tenant are not revoked and removed users keep access",
        ),
        (
            "`parse_range` accepts an end before the start and returns a negative size",
            "A range whose end lies before its start gives a negative size in `parse_range()`",
        ),
        (
            "The retry counter is shared by all requests, so one slow client exhausts it for everybody",
            "All requests share one retry counter: a slow client uses up the retries of the others",
        ),
        (
            "Timezone is dropped when the invoice date is stored",
            "Invoice dates are stored without a timezone and shift by a day for some customers, which makes"
            " the monthly totals wrong",
        ),
    ],
)
def test_one_defect_in_two_wordings_without_a_place_matches(one: str, other: str) -> None:
    assert [p.outcome for p in crosscheck([Finding(one)], [Finding(other)])] == ["match"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The retry counter is shared by all requests, so one slow client exhausts it for everybody",
            "Requests without a session are answered with the last customer's basket",
        ),
        (
            "`parse_range` accepts an end before the start and returns a negative size",
            "`parse_range` reads the whole file into memory for every call",
        ),
        (
            "Password reset tokens are written to the debug log",
            "Debug builds are uploaded with the release credentials",
        ),
        (
            "Missing index on orders.customer_id makes the monthly report scan the table",
            "Monthly report rounds each row before adding them up",
        ),
    ],
)
def test_two_defects_of_one_neighbourhood_do_not_match(one: str, other: str) -> None:
    assert "match" not in [p.outcome for p in crosscheck([Finding(one)], [Finding(other)])]


# --- the words behind it ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Caches are never locked", "the cache locks", "cache, locks"),
        ("getUserName leaks", "a leak in `getUserName`", "getUserName, leak"),
        ("user_name is wrong", "userName wrong", "userName, wrong"),
        ("reads set_user", "reads get_user", "reads, user"),
        ("a b", "c d", ""),
        ("!!!", "!!!", ""),
        ("x" * 90, "x" * 90, "x" * 30),
        ("größer als erlaubt", "GRÖSSER größer", "großer"),
    ],
)
def test_common_words_are_told_as_a_person_writes_them(one: str, other: str, expected: str) -> None:
    a, b = read(one, other)
    assert common(one, other, a.words & b.words) == expected
    assert common(other, one, a.words & b.words) == expected


def test_few_of_many_common_words_are_told() -> None:
    text = "alpha bravo charlie delta echo foxtrot golf hotel india"
    (a,) = read(text)
    told = common(text, text, a.words)
    assert told == "alpha, bravo, charlie, delta, foxtrot and others"
    assert told.count(",") + 1 == SHOWN


@FEW
@given(TEXTS, TEXTS)
def test_every_common_word_can_be_spelt(one: str, other: str) -> None:
    for text in (one, other):
        words = split(text)[0]
        assert words <= spelling(text).keys() or not spelling(text)
    a, b = read(one, other)
    told = common(one, other, a.words & b.words)
    assert bool(told) == bool(a.words & b.words)


@FEW
@given(st.text(max_size=80), st.text(max_size=80))
def test_no_text_breaks_a_reason(one: str, other: str) -> None:
    findings = Finding(title=one, detail=one), Finding(title=other, detail=other)
    a, b = items([findings[0]], [findings[1]])
    told = common(text_of(findings[0]), text_of(findings[1]), a[0].words & b[0].words)
    assert told.isprintable()
    assert len(told) <= SHOWN * 32 + 11
    assert not math.isnan(score(a[0], b[0]))
