"""The bootstrap: what it gives, when it gives nothing, and that it is the same every time."""

from __future__ import annotations

import random
from collections.abc import Mapping
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review import coefficients
from prun_review.intervals import LEAST, bca, wilson
from tests.test_coefficients import ABSTRACTORS


def mean(units: Mapping[float, int]) -> float | None:
    return sum(v * n for v, n in units.items()) / sum(units.values())


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_example_9_wilson(k: int, n: int, low: float, high: float) -> None:
    assert [round(end, 4) for end in wilson(k, n)] == [low, high]


def test_a_mean_has_the_interval_that_theory_gives_it() -> None:
    rng = random.Random(7)
    units = [rng.gauss(10, 2) for _ in range(200)]
    found = bca(units, mean)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    centre = sum(units) / 200
    error = sqrt(sum((u - centre) ** 2 for u in units) / 199 / 200)
    assert found.value == pytest.approx(centre)
    assert found.low == pytest.approx(centre - 1.96 * error, abs=0.05)
    assert found.high == pytest.approx(centre + 1.96 * error, abs=0.05)


def test_a_proportion_has_nearly_wilsons() -> None:
    found = bca([1.0] * 15 + [0.0] * 85, mean)
    assert (found.low, found.high) == pytest.approx(wilson(15, 100), abs=0.02)


def test_a_skewed_statistic_is_corrected() -> None:
    units = [1.0] * 40 + [50.0] * 4
    found = bca(units, mean)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.value > 1.5 * (found.value - found.low)  # 1.33 without the acceleration


def test_example_4_lies_near_the_intervals_by_formula() -> None:
    for of, low, high in (
        (coefficients.cohen, 0.680, 0.913),
        (coefficients.gwet, 0.764, 0.935),
    ):
        found = bca(ABSTRACTORS.elements(), lambda rows, of=of: of(rows, [0, 1, 2]).value)  # type: ignore[misc]
        assert (found.low, found.high) == pytest.approx((low, high), abs=0.035)


def test_an_interval_narrows_with_the_units() -> None:
    widths = []
    for times in (1, 4, 16):
        found = bca([0.0, 1.0, 2.0, 5.0] * 3 * times, mean)
        assert found.low is not None
        assert found.high is not None
        widths.append(found.high - found.low)
    assert widths[0] > 1.7 * widths[1] > 2.9 * widths[2]


def test_few_units_have_a_value_and_no_interval() -> None:
    for n in (1, LEAST - 1):
        found = bca([float(i) for i in range(n)], mean)
        assert found.value == pytest.approx((n - 1) / 2)
        assert (found.low, found.high, found.n) == (None, None, n)
        assert f"{n} unit" in found.why_not
        assert "fewer than 10" in found.why_not
    assert bca([float(i) for i in range(LEAST)], mean).low is not None


def test_equal_units_have_no_width_to_show() -> None:
    found = bca([3.0] * 40, mean)
    assert (found.value, found.low, found.why_not) == (3.0, None, "every resample gives the same")


def test_no_value_no_interval() -> None:
    assert bca([], mean).why_not == "it has no value"
    assert bca([1.0] * 30, lambda _: None).value is None


def test_too_many_resamples_without_a_value_are_said() -> None:
    def rare(units: Mapping[int, int]) -> float | None:
        return units[1] / sum(units.values()) if units.get(1) else None

    found = bca([0] * 29 + [1], rare)
    assert found.value == pytest.approx(1 / 30)
    assert found.low is None
    assert "resamples have no value" in found.why_not


def test_an_extreme_value_is_not_bracketed_by_force() -> None:
    def most(units: Mapping[float, int]) -> float | None:
        return max(units) * 2 if len(units) == 20 else max(units)

    found = bca([float(i) for i in range(20)], most)
    assert found.low is None
    assert "to one side" in found.why_not


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 5).map(float), min_size=LEAST, max_size=30), st.randoms(use_true_random=False))
def test_bounds_order_and_that_units_may_be_permuted(units: list[float], rng: random.Random) -> None:
    found = bca(units, mean, draws=200)
    if found.low is not None and found.high is not None:
        assert min(units) <= found.low <= found.high <= max(units)
    assert bca(rng.sample(units, len(units)), mean, draws=200) == found
