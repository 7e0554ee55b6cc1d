"""How far panels agree, and when that cannot be said: the rules that every table keeps.

For findings there is no count of "neither reported it", so no kappa: the statistic is the
proportion of specific agreement (Dice), as a range while pairs are uncertain.  For verdicts and choices
it is the raw proportion with a Wilson interval, a chance-corrected coefficient beside it.  Under 10
units only the counts are given, and why.  The formulae are in :mod:`prun_review.coefficients`,
:mod:`prun_review.intervals` and :mod:`prun_review.unseen`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from prun_review.coefficients import Coefficient, Row, Rows
from prun_review.intervals import LEAST, Estimate, bca, plural, wilson

__all__ = [
    "LEAST",
    "Estimate",
    "Raw",
    "Specific",
    "estimated",
    "mean_difference",
    "psa_interval",
    "raw_agreement",
    "specific_agreement",
    "wilson",
]

PREFIX = "not estimable: "
"""How a reason of :class:`Specific` and :class:`Raw` begins."""

Cluster = tuple[Row, ...]
"""The rows of ratings of one case: what is resampled."""


@dataclass(frozen=True, slots=True)
class Specific:
    """Agreement on findings: the counts, and the range that they allow."""

    both: int
    only_left: int
    only_right: int
    uncertain: int
    """Pairs that may be one defect or two."""
    low: float | None
    """With every uncertain pair taken as two defects; None where ``why_not`` says why."""
    high: float | None
    """With every uncertain pair taken as one defect."""
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Raw:
    """Agreement on choices: ``agree`` of the ``n`` units that both answered, of ``of`` asked."""

    agree: int
    n: int
    of: int
    low: float | None
    """95 % Wilson interval; None where ``why_not`` says why."""
    high: float | None
    why_not: str = ""


def specific_agreement(
    both: int,
    only_left: int,
    only_right: int,
    uncertain: int = 0,
    *,
    units: int | None = None,
    doubled: int = 0,
) -> Specific:
    """2 both / (2 both + only_left + only_right): 1 when each holds what the other holds.

    ``units`` is the number of cases that both answered, where the caller has it; under
    :data:`LEAST` of them, or of findings in all, only the counts are given.  ``doubled``: how many
    ends of uncertain pairs are findings that another pair holds already.
    """
    counts = (both, only_left, only_right, uncertain)
    if min(*counts, doubled) < 0:
        raise ValueError(f"counts below zero: {counts}")
    found = sum(counts)
    why_not = ""
    if found == 0:
        why_not = f"{PREFIX}neither reported a finding"
    elif found < LEAST:
        why_not = f"{PREFIX}{found} {plural('finding', found)} in all, fewer than {LEAST}"
    elif units is not None and units < LEAST:
        why_not = f"{PREFIX}{units} {plural('case', units)} answered by both, fewer than {LEAST}"
    if why_not:
        return Specific(*counts, None, None, why_not)
    alone = only_left + only_right
    held = 2 * both + alone + 2 * uncertain - doubled
    return Specific(*counts, 2 * both / held, (held - alone) / held)


def psa_interval(cases: Iterable[tuple[int, int, int]]) -> Estimate:
    """The 95 % interval of specific agreement, resampling cases.

    ``cases``: for each the findings that are matched, those that are matched or uncertain, and all.
    The interval runs from the low end with every uncertain pair distinct to the high end with all of
    them matched; the value is None, as it is a range itself.
    """
    return _psa_interval(tuple(sorted(cases)))


@lru_cache(maxsize=256)  # a run's document is built more than once, and the panel of two is their pair
def _psa_interval(counted: tuple[tuple[int, int, int], ...]) -> Estimate:
    n = len(counted)
    if n < LEAST:
        return Estimate(None, None, None, n, f"{n} {plural('case', n)} answered by both, fewer than {LEAST}")
    certain = all(low == high for low, high, _ in counted)
    ends = [bca(counted, _ratio(part)) for part in ((0,) if certain else (0, 1))]
    why_not = next((e.why_not for e in ends if e.why_not), "")
    if why_not:
        return Estimate(None, None, None, n, why_not)
    return Estimate(None, ends[0].low, ends[-1].high, n)


def _ratio(part: int) -> Callable[[Mapping[tuple[int, int, int], int]], float | None]:
    def share(cases: Mapping[tuple[int, int, int], int]) -> float | None:
        held = sum(case[2] * times for case, times in cases.items())
        return sum(case[part] * times for case, times in cases.items()) / held if held else None

    return share


def raw_agreement(agree: int, n: int, *, of: int | None = None, what: str = "question") -> Raw:
    """``agree`` of the ``n`` units that both answered, ``of`` being how many were asked (default n).

    ``ValueError`` unless 0 <= agree <= n <= of.
    """
    asked = n if of is None else of
    if not 0 <= agree <= n <= asked:
        raise ValueError(f"{agree} agreed of {n} answered of {asked} asked")
    if n == 0:
        return Raw(agree, n, asked, None, None, f"{PREFIX}no {what} was answered by both")
    if n < LEAST:
        why_not = f"{PREFIX}{n} {plural(what, n)} answered by both, fewer than {LEAST}"
        return Raw(agree, n, asked, None, None, why_not)
    return Raw(agree, n, asked, *wilson(agree, n))


def estimated(cases: Sequence[Cluster], of: Callable[[Rows], Coefficient], what: str = "case") -> Estimate:
    """A coefficient of the rows of all cases, with its interval over cases.

    No value under :data:`LEAST` rows (``what`` names one) or cases, nor where all agree: the interval
    of such a value has no width, which would claim a certainty that nobody has.  A resample of equal
    answers counts with its observed agreement where the coefficient tends to that (Gwet's does).
    """
    return _estimated(tuple(sorted((case for case in cases if case), key=repr)), of, what)


@lru_cache(maxsize=256)
def _estimated(cases: tuple[Cluster, ...], of: Callable[[Rows], Coefficient], what: str) -> Estimate:
    n = sum(map(len, cases))
    if min(n, len(cases)) < LEAST:
        return Estimate(None, None, None, n, _few(n, len(cases), what))

    def value(counted: Mapping[Cluster, int]) -> float | None:
        found = of(_rows(counted))
        return found.observed if found.value is None else found.value

    whole = of(_rows(Counter(cases)))
    if whole.value is None:
        return Estimate(None, None, None, n, whole.why_not)
    found = replace(bca(cases, value), n=n)
    if found.low is None and whole.value == 1:
        return replace(found, value=None, why_not=f"all {n} agree, so nothing says how sure that is")
    return found


def _few(n: int, cases: int, what: str) -> str:
    if n < LEAST:
        return f"{n} {plural(what, n)}, fewer than {LEAST}"
    return f"{n} {plural(what, n)} in {cases} {plural('case', cases)}, fewer than {LEAST}"


def _rows(counted: Mapping[Cluster, int]) -> Counter[Row]:
    rows: Counter[Row] = Counter()
    for cluster, times in counted.items():
        for row in cluster:
            rows[row] += times
    return rows


def mean_difference(cases: Sequence[tuple[int, ...]], what: str = "pair") -> Estimate:
    """The mean of all differences, with its interval over cases; nothing under :data:`LEAST` of them."""
    return _mean_difference(tuple(sorted(case for case in cases if case)), what)


@lru_cache(maxsize=256)
def _mean_difference(cases: tuple[tuple[int, ...], ...], what: str) -> Estimate:
    n = sum(map(len, cases))
    if min(n, len(cases)) < LEAST:
        return Estimate(None, None, None, n, _few(n, len(cases), what))

    def mean(counted: Mapping[tuple[int, ...], int]) -> float | None:
        total = sum(sum(case) * times for case, times in counted.items())
        return total / sum(len(case) * times for case, times in counted.items())

    return replace(bca(cases, mean), n=n)
