"""Capture-recapture: published examples, bounds, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.unseen import chao, chapman, chapman_interval, jackknife, lincoln

SIZES = st.integers(0, 60).flatmap(lambda m: st.tuples(st.integers(m, 90), st.integers(m, 90), st.just(m)))


def test_example_11_polyas_and_lincolns_estimates() -> None:
    assert lincoln(20, 30, 1) == 600
    assert round(lincoln(20, 30, 18), 1) == 33.3
    assert lincoln(30, 25, 5) == 150  # 50 seen, so 100 unseen: (30 - 5)(25 - 5) / 5
    assert lincoln(30, 25, 5) - (30 + 25 - 5) == (30 - 5) * (25 - 5) / 5


def test_example_11_chapmans_estimate_and_its_interval() -> None:
    assert round(chapman(100, 100, 20), 2) == 484.76
    assert round(chapman(10, 15, 5), 1) == 28.3
    assert [round(end) for end in chapman_interval(10, 15, 5)] == [22, 65]


@pytest.mark.parametrize(
    ("sizes", "all_there_are", "low", "high"),
    [
        ((5, 4, 3), 6.5, 6.0, 26.2),  # the formula gives 5.6; 6 were seen
        ((5, 4, 0), 29.0, 10.8, 1055.5),
        ((3, 3, 3), 3.0, 3.0, 314.3),  # 2.5; 3 were seen
    ],
)
def test_small_overlaps_say_next_to_nothing(
    sizes: tuple[int, int, int], all_there_are: float, low: float, high: float
) -> None:
    assert round(chapman(*sizes), 1) == all_there_are
    assert [round(end, 1) for end in chapman_interval(*sizes)] == [low, high]


@pytest.mark.parametrize(("order", "all_there_are"), [(1, 116.6), (2, 141.4), (3, 158.5), (4, 170.3)])
def test_example_12_the_jackknife_of_the_rabbits(order: int, all_there_are: float) -> None:
    assert round(jackknife((43, 16, 8, 6, 0, 2, 1), 18, order), 1) == all_there_are


def test_example_12_chao_of_the_rabbits() -> None:
    assert round(chao((43, 16, 8, 6, 0, 2, 1)), 1) == 129.1


@given(SIZES)
def test_no_estimate_is_below_what_was_seen(sizes: tuple[int, int, int]) -> None:
    first, second, both = sizes
    seen = first + second - both
    low, high = chapman_interval(*sizes)
    assert seen <= low <= high
    assert chapman(*sizes) >= seen - 1e-9
    assert chapman(*sizes) == pytest.approx(chapman(second, first, both))
    assert chapman_interval(*sizes) == pytest.approx(chapman_interval(second, first, both))
    if both:
        assert lincoln(*sizes) >= seen - 1e-9


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_a_larger_overlap_leaves_less_unseen(first: int, second: int, data: st.DataObject) -> None:
    both = data.draw(st.integers(0, min(first, second) - 1))
    assert chapman(first, second, both + 1) < chapman(first, second, both)


@given(st.lists(st.integers(0, 50), max_size=9))
def test_chao_and_the_first_jackknife_add_to_what_was_seen(frequencies: list[int]) -> None:
    seen = sum(frequencies)
    assert chao(frequencies) >= seen
    assert jackknife(frequencies, 9) >= seen


def test_when_all_was_found_by_all_nothing_is_missing() -> None:
    assert chao((0, 0, 0, 12)) == 12
    assert [jackknife((0, 0, 0, 0, 12), 5, order) for order in (1, 2, 3, 4)] == [12] * 4


@pytest.mark.parametrize("sizes", [(3, 5, 4), (5, 3, 4), (5, 5, -1)])
def test_impossible_overlaps_are_refused(sizes: tuple[int, int, int]) -> None:
    for estimate in (lincoln, chapman, chapman_interval):
        with pytest.raises(ValueError, match="shared by"):
            estimate(*sizes)


def test_no_overlap_has_no_lincoln_and_no_order_beyond_the_reviewers() -> None:
    with pytest.raises(ValueError, match="without an overlap"):
        lincoln(5, 5, 0)
    for reviewers, order in ((4, 4), (9, 5), (9, 0)):
        with pytest.raises(ValueError, match=f"order {order}"):
            jackknife((3, 2), reviewers, order)
