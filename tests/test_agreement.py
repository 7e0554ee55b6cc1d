"""Agreement statistics against published and hand-worked numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.agreement import LEAST, raw_agreement, specific_agreement, wilson


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # Newcombe 1998
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (9, 10, 0.60, 0.98),
        (18, 20, 0.70, 0.97),
        (36, 40, 0.77, 0.96),
    ],
)
def test_wilson_gives_the_published_intervals(k: int, n: int, low: float, high: float) -> None:
    digits = 4 if n not in (10, 20, 40) or k == 0 else 2
    got = wilson(k, n)
    assert (round(got[0], digits), round(got[1], digits)) == (low, high)


@given(st.integers(0, 500), st.integers(0, 500))
def test_wilson_holds_the_proportion_and_mirrors(k: int, rest: int) -> None:
    n = k + rest
    low, high = wilson(k, n)
    assert 0 <= low <= high <= 1
    if n:
        assert low <= k / n <= high
    mirrored = wilson(rest, n)
    assert (1 - high, 1 - low) == pytest.approx(mirrored)


def test_wilson_widens_with_z() -> None:
    narrow, wide = wilson(30, 40, 1.0), wilson(30, 40, 2.58)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, -1)])
def test_wilson_refuses_what_is_no_proportion(k: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{k} of {n}"):
        wilson(k, n)


def test_specific_agreement_is_dice() -> None:
    got = specific_agreement(20, 5, 10, 0)
    assert got.low == got.high
    assert round(got.low or 0, 4) == 0.7273
    assert got.why_not == ""


def test_specific_agreement_is_the_limit_of_kappa_in_the_uncounted_cell() -> None:
    def kappa(a: int, b: int, c: int, d: int) -> float:
        n = a + b + c + d
        chance = ((a + b) * (a + c) + (c + d) * (b + d)) / n**2
        return ((a + d) / n - chance) / (1 - chance)

    seen = [kappa(20, 5, 10, d) for d in (10, 100, 1000, 100_000)]
    assert [round(k, 4) for k in seen] == [0.3077, 0.6582, 0.7199, 0.7272]
    assert seen[-1] == pytest.approx(specific_agreement(20, 5, 10, 0).low, abs=1e-4)


def test_uncertain_pairs_make_a_range() -> None:
    got = specific_agreement(6, 2, 4, 3)
    assert got.low == pytest.approx(12 / 24)
    assert got.high == pytest.approx(18 / 24)


@given(*[st.integers(0, 60)] * 4)
def test_the_range_is_ordered_and_mirrors(both: int, left: int, right: int, unsure: int) -> None:
    got = specific_agreement(both, left, right, unsure)
    mirrored = specific_agreement(both, right, left, unsure)
    assert (got.low, got.high) == (mirrored.low, mirrored.high)
    if both + left + right + unsure < LEAST:
        assert (got.low, got.high) == (None, None)
        assert got.why_not
    else:
        assert got.low is not None
        assert got.high is not None
        assert 0 <= got.low <= got.high <= 1
        assert got.why_not == ""


@pytest.mark.parametrize(
    ("counts", "units", "why"),
    [
        ((0, 0, 0, 0), None, "neither reported a finding"),
        ((1, 0, 0, 0), None, "1 finding in all, fewer than 10"),
        ((3, 3, 2, 1), None, "9 findings in all, fewer than 10"),
        ((30, 3, 2, 1), 9, "9 cases answered by both, fewer than 10"),
        ((30, 3, 2, 1), 1, "1 case answered by both"),
    ],
)
def test_too_little_is_counts_and_a_reason(
    counts: tuple[int, int, int, int], units: int | None, why: str
) -> None:
    got = specific_agreement(*counts, units=units)
    assert (got.both, got.only_left, got.only_right, got.uncertain) == counts
    assert (got.low, got.high) == (None, None)
    assert got.why_not.startswith("not estimable: ")
    assert why in got.why_not


def test_ten_are_enough() -> None:
    assert specific_agreement(4, 3, 2, 1, units=10).low is not None
    assert raw_agreement(10, 10).low is not None


def test_raw_agreement_counts_what_was_asked() -> None:
    got = raw_agreement(36, 40, of=45)
    assert (got.agree, got.n, got.of, got.why_not) == (36, 40, 45, "")
    assert (got.low, got.high) == wilson(36, 40)
    assert raw_agreement(36, 40).of == 40


@pytest.mark.parametrize(
    ("agree", "n", "why"), [(0, 0, "no question"), (1, 1, "1 question "), (9, 9, "9 questions ")]
)
def test_few_choices_have_no_interval(agree: int, n: int, why: str) -> None:
    got = raw_agreement(agree, n, of=12)
    assert (got.agree, got.n, got.of) == (agree, n, 12)
    assert (got.low, got.high) == (None, None)
    assert why in got.why_not


@pytest.mark.parametrize(("agree", "n", "of"), [(3, 2, 5), (1, 6, 5), (-1, 2, 5)])
def test_raw_agreement_refuses_impossible_counts(agree: int, n: int, of: int) -> None:
    with pytest.raises(ValueError, match="agreed of"):
        raw_agreement(agree, n, of=of)


def test_specific_agreement_refuses_counts_below_zero() -> None:
    with pytest.raises(ValueError, match="below zero"):
        specific_agreement(3, -1, 0, 0)
