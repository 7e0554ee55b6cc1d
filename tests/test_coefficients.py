"""Coefficients of agreement against published examples, and what holds of all of them."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from prun_review.agreement import specific_agreement
from prun_review.coefficients import (
    Coefficient,
    Row,
    Rows,
    Word,
    brennan_prediger,
    cohen,
    count,
    fleiss,
    gwet,
    krippendorff,
    linear,
    quadratic,
    scott,
    specific,
)


def table(counts: Sequence[Sequence[int]]) -> Counter[Row]:
    """Two raters as their table: rows are the first one's words."""
    return Counter({(i, j): n for i, row in enumerate(counts) for j, n in enumerate(row) if n})


def raters(*lines: str) -> Counter[Row]:
    """One line a rater, one letter or digit a unit, a dot where nothing was said."""

    def word(text: str) -> Word | None:
        return None if text == "." else float(text) if text.isdigit() else text

    return count(zip(*(map(word, line.replace(" ", "")) for line in lines), strict=True))


OBSERVERS = raters("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
"""Krippendorff 2011: four observers, twelve units, some missing."""
ABSTRACTORS = table([[13, 0, 0], [0, 20, 7], [0, 4, 56]])
"""Gwet's cont3x3abstractors, of the vignette of irrCAC."""
DIAGNOSES = table([[88, 14, 18], [10, 40, 10], [2, 6, 12]])
"""Cohen 1960 and 1968."""


def of(found: Coefficient, digits: int) -> float | None:
    return None if found.value is None else round(found.value, digits)


# --- worked examples ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_example_1_krippendorff_with_missing_answers(metric: str, alpha: float) -> None:
    assert of(krippendorff(OBSERVERS, metric), 3) == alpha


def test_example_1_gwets_coefficients_of_the_same_data() -> None:
    assert round(gwet(OBSERVERS).observed or 0, 5) == 0.81818
    assert of(gwet(OBSERVERS), 5) == 0.77544
    assert of(fleiss(OBSERVERS), 5) == 0.76117
    assert of(brennan_prediger(OBSERVERS), 5) == 0.77273


def test_example_2_krippendorff_of_two_words() -> None:
    assert of(krippendorff(raters("0100000010", "1110010000")), 3) == 0.095


def test_example_3_krippendorff_of_five_words() -> None:
    assert of(krippendorff(raters("aabbdcccedda", "babbbccceddd")), 3) == 0.692


def test_example_4_two_abstractors() -> None:
    assert of(cohen(ABSTRACTORS), 7) == 0.7964094
    assert of(scott(ABSTRACTORS), 7) == 0.7962397
    assert of(gwet(ABSTRACTORS), 7) == 0.8493305
    assert of(brennan_prediger(ABSTRACTORS), 3) == 0.835
    assert of(krippendorff(ABSTRACTORS), 7) == 0.7972585
    assert round(cohen(ABSTRACTORS).observed or 0, 7) == 0.89


def test_example_5_kappa_and_weighted_kappa() -> None:
    disagreement = [[0, 1, 3], [1, 0, 6], [3, 6, 0]]
    weights = {(i, j): float(disagreement[i][j]) for i in range(3) for j in range(3)}
    assert of(cohen(DIAGNOSES), 5) == 0.49153
    assert of(cohen(DIAGNOSES, distance=weights), 5) == 0.34783


def test_example_6_the_paradox() -> None:
    rare = table([[118, 5], [2, 0]])
    assert [of(f(rare), 4) for f in (cohen, scott, gwet)] == [-0.0234, -0.0288, 0.9408]
    assert specific(rare)[1] == 0  # what AC1 hides: they never agree on the rare word
    assert round(specific(rare)[0] or 0, 3) == 0.971


@pytest.mark.parametrize(
    ("counts", "kappa", "observed"),
    [
        ([[40, 9], [6, 45]], 0.70, 0.85),
        ([[80, 10], [5, 5]], 0.32, 0.85),
        ([[45, 15], [25, 15]], 0.13, 0.60),
        ([[25, 35], [5, 35]], 0.26, 0.60),
    ],
)
def test_example_7_the_same_agreement_has_many_kappas(
    counts: list[list[int]], kappa: float, observed: float
) -> None:
    found = cohen(table(counts))
    assert (of(found, 2), round(found.observed or 0, 2)) == (kappa, observed)


def test_example_8_fourteen_raters() -> None:
    subjects = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    rows = count([word for word, n in enumerate(line) for _ in range(n)] for line in subjects)
    assert of(fleiss(rows), 3) == 0.210
    assert of(fleiss(rows), 5) == 0.20993


def test_example_10_kappa_of_findings_is_a_choice_of_the_cell_nobody_can_count() -> None:
    seen = [of(cohen(table([[20, 5], [10, d]])), 4) for d in (10, 100, 1000, 100_000)]
    assert seen == [0.3077, 0.6582, 0.7199, 0.7272]
    psa = specific_agreement(20, 5, 10).low
    assert round(psa or 0, 4) == 0.7273
    assert cohen(table([[20, 5], [10, 10**9]])).value == pytest.approx(psa, abs=1e-7)


# --- what cannot be estimated -------------------------------------------------------------------

EVERY = [cohen, scott, fleiss, gwet, brennan_prediger, krippendorff]


@pytest.mark.parametrize("coefficient", EVERY)
def test_constant_and_empty_answers_have_a_reason_and_no_value(coefficient: object) -> None:
    assert callable(coefficient)
    for rows, why in [
        (count([("a", "a")] * 30), "all ratings are the same"),
        (Counter[Row](), "no unit has two ratings"),
        (count([("a", None), (None, "b")]), "no unit has two ratings"),
        (count([("a", "a"), ("b", None)]), "all ratings are the same"),
    ]:
        found = coefficient(rows)
        assert found.value is None
        assert why in found.why_not


def test_a_scale_of_words_that_nobody_used_changes_nothing_about_constant_answers() -> None:
    assert gwet(count([("a", "a")] * 30), ["a", "b", "c"]).value is None


def test_gwet_needs_the_whole_scale() -> None:
    rows = count([("a", "a")] * 8 + [("a", "b")] * 2)
    assert (gwet(rows, ["a", "b", "c"]).value or 0) > (gwet(rows).value or 0)


def test_words_off_the_scale_and_rows_that_are_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="not on the scale: c"):
        gwet(count([("a", "c")]), ["a", "b"])
    with pytest.raises(ValueError, match="3 ratings"):
        cohen(count([("a", "b", "a")]))
    with pytest.raises(ValueError, match="metric 'other'"):
        krippendorff(count([("a", "b")]), "other")


# --- what holds of all --------------------------------------------------------------------------

WORDS = st.sampled_from(["a", "b", "c", None])
PAIRS = st.lists(st.tuples(WORDS, WORDS), max_size=30)
TRIPLES = st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), max_size=25)


@given(PAIRS, st.sampled_from(EVERY))
def test_bounds_and_symmetry_of_two_raters(pairs: list[tuple[str | None, ...]], coefficient: object) -> None:
    assert callable(coefficient)
    found = coefficient(count(pairs))
    mirrored = coefficient(count([pair[::-1] for pair in pairs]))
    if found.value is None:
        assert mirrored.value is None
        assert found.why_not
        return
    assert found.why_not == ""
    assert found.value <= 1 + 1e-9
    if all(None not in pair for pair in pairs):  # chance is of all ratings, agreement of pairs only
        assert found.value >= -1 - 1e-9
    assert found.value == pytest.approx(mirrored.value)


@given(TRIPLES, st.randoms(use_true_random=False), st.sampled_from(["nominal", "ordinal"]))
def test_units_and_raters_may_be_permuted(
    rows: list[tuple[str | None, ...]], rng: random.Random, metric: str
) -> None:
    shuffled = [tuple(rng.sample(row, len(row))) for row in rng.sample(rows, len(rows))]

    def every(given: list[tuple[str | None, ...]]) -> list[float | None]:
        rows = count(given)
        return [krippendorff(rows, metric).value, *(f(rows).value for f in (gwet, fleiss, brennan_prediger))]

    for before, after in zip(every(rows), every(shuffled), strict=True):
        assert (before is None) == (after is None)
        assert before is None or before == pytest.approx(after)


@given(TRIPLES)
def test_nobody_said_more_by_being_silent(rows: list[tuple[str | None, ...]]) -> None:
    compared: Rows = count(row for row in rows if len(row) - row.count(None) > 1)
    assert krippendorff(count(rows)).value == krippendorff(compared).value
    assert specific(count(rows), ["a", "b", "c"]) == specific(compared, ["a", "b", "c"])


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=30))
def test_full_agreement_on_more_than_one_word_is_one(words: list[str]) -> None:
    assume(len(set(words)) > 1)
    rows = count((word, word, None) for word in words)
    pairs = count((word, word) for word in words)
    values = [f(rows).value for f in (krippendorff, gwet, fleiss, brennan_prediger)]
    assert [*values, cohen(pairs).value, scott(pairs).value] == pytest.approx([1.0] * 6)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=30))
def test_the_distance_of_two_words_is_only_a_choice_with_two_of_them(pairs: list[tuple[int, int]]) -> None:
    rows = count((a > 3, b > 3) for a, b in pairs)
    for coefficient in (cohen, gwet, fleiss):
        values = [coefficient(rows, distance=d).value for d in (linear, quadratic)]
        plain = coefficient(rows).value
        assert values == ([None, None] if plain is None else pytest.approx([plain, plain]))


def test_near_misses_weigh_less_where_the_words_have_an_order() -> None:
    near = count([(1, 1), (2, 2), (3, 3), (4, 4), (1, 2), (3, 4)] * 3)
    far = count([(1, 1), (2, 2), (3, 3), (4, 4), (1, 4), (4, 1)] * 3)
    for coefficient in (cohen, gwet, fleiss):
        one, other = coefficient(near, distance=linear).value, coefficient(far, distance=linear).value
        assert one is not None
        assert other is not None
        assert one > other
    assert (krippendorff(near, "ordinal").value or 0) > (krippendorff(far, "ordinal").value or 1)


@given(PAIRS)
def test_specific_agreement_of_a_word_is_the_dice_of_its_units(pairs: list[tuple[str | None, ...]]) -> None:
    told = [(a, b) for a, b in pairs if a and b]
    shares = specific(count(pairs), ["a", "b", "c"])
    for word in "abc":
        both = sum(a == b == word for a, b in told)
        held = sum((a == word) + (b == word) for a, b in told)
        assert shares[word] == (pytest.approx(2 * both / held) if held else None)
    assert not any(math.isnan(share) for share in shares.values() if share is not None)
