"""Where intervals, likeness and their words turn: each fails for a change that nobody noticed before."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from prun_review import Finding, crosscheck, matching
from prun_review.agreement import estimated, psa_interval
from prun_review.coefficients import cohen
from prun_review.intervals import DRAWS, LEAST, bca
from prun_review.lexical import SHOWN, SPELT, common
from prun_review.tokens import spelling


def test_a_value_below_every_resample_is_not_bracketed_by_force() -> None:
    def least(units: Mapping[float, int]) -> float | None:
        return min(units) / 2 if len(units) == 20 else min(units)

    found = bca([float(i) for i in range(2, 22)], least)
    assert (found.value, found.low, found.high) == (1.0, None, None)
    assert "to one side" in found.why_not


def test_an_end_between_two_resamples_is_on_the_line_between_them() -> None:
    values = iter(
        [10.0, 30.0, 10.0, 0.0, *[10.0] * LEAST]
    )  # of all units, of the resamples, without one each
    found = bca([float(i) for i in range(LEAST)], lambda _: next(values), draws=3)
    assert (found.low, found.high) == pytest.approx((0.5, 29.0))


def test_resamples_without_a_value_are_counted() -> None:
    def rare(units: Mapping[int, int]) -> float | None:
        return units[1] / sum(units.values()) if units.get(1) else None

    words = bca([0] * 29 + [1], rare).why_not.split()
    assert (words[1:], DRAWS) == (["of", "2000", "resamples", "have", "no", "value"], 2000)


def test_specific_agreement_has_an_interval_from_ten_cases_on() -> None:
    cases = [(0, 1, 4), (2, 3, 4)] * 5
    assert psa_interval(cases[1:]).why_not == "9 cases answered by both, fewer than 10"
    assert psa_interval(cases).low is not None


def test_the_high_end_counts_every_uncertain_pair_as_matched() -> None:
    doubtful = [(0, 2, 4), (0, 4, 4), (2, 4, 8), (2, 4, 4)] * 4
    matched = [(high, high, held) for _, high, held in doubtful]
    assert psa_interval(doubtful).high == psa_interval(matched).high
    assert psa_interval(doubtful).low == psa_interval([(low, low, n) for low, _, n in doubtful]).low


@pytest.mark.parametrize("n", [SHOWN, SHOWN + 1])
def test_so_many_words_are_shown(n: int) -> None:
    text = " ".join(f"word{chr(97 + i) * 3}" for i in range(n))
    told = common(text, text, frozenset(spelling(text)))
    assert told.count(",") == SHOWN - 1
    assert told.endswith(" and others") == (n > SHOWN)


def test_a_long_word_is_cut() -> None:
    text = "q" * 80
    assert common(text, text, frozenset(spelling(text))) == "q" * 30
    assert SPELT == 30


def test_a_coefficient_needs_ten_cases_and_no_more() -> None:
    yes, no, split = (("yes", "yes"),), (("no", "no"),), (("yes", "no"),)
    cases = [*[yes] * 4, *[no] * 3, *[split] * 3]
    assert "fewer than 10" in estimated(cases[1:], cohen).why_not
    assert estimated(cases, cohen).value == pytest.approx(4 / 9)  # .7 observed, .46 by chance


@pytest.mark.parametrize(("most", "all_of_them"), [(4, True), (3, False)])
def test_a_case_at_the_cap_is_compared_whole(
    most: int, all_of_them: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matching, "ALL_PAIRS", most)
    ours = [Finding("alpha breaks", file="a.py", line=1), Finding("beta leaks", file="b.py", line=1)]
    theirs = [Finding("gamma stalls", file="c.py", line=1), Finding("delta hangs", file="d.py", line=1)]
    pairs = crosscheck(ours, theirs)
    assert [p.outcome for p in pairs] == ["alone"] * 4
    assert all("among those compared" in p.reason for p in pairs) is not all_of_them
    assert any("among those compared" in p.reason for p in pairs) is not all_of_them
