"""How far two panels agree, and when that cannot be said.

For findings there is no count of "neither reported it", so no kappa: the statistic is the
proportion of specific agreement (Dice), as a range while pairs are uncertain.  For choices it is
the raw proportion with a Wilson interval.  Under 10 units only the counts are given, and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

LEAST = 10
"""Units below which an interval says nothing: 9 of 10 is .60 to .98 already."""


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


def wilson(k: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson score interval of the proportion ``k`` of ``n``, within 0 to 1.

    Without a trial nothing is known: (0, 1).  ``ValueError`` unless 0 <= k <= n.
    """
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a proportion")
    if n == 0:
        return 0.0, 1.0
    p = k / n
    spread = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    centre = p + z * z / (2 * n)
    scale = 1 + z * z / n
    low = 0.0 if k == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if k == n else min(1.0, (centre + spread) / scale)
    return low, high


def specific_agreement(
    both: int, only_left: int, only_right: int, uncertain: int = 0, *, units: int | None = None
) -> Specific:
    """2 both / (2 both + only_left + only_right): 1 when each holds what the other holds.

    ``units`` is the number of cases that both answered, where the caller has it; under
    :data:`LEAST` of them, or of findings in all, only the counts are given.
    """
    counts = (both, only_left, only_right, uncertain)
    if min(counts) < 0:
        raise ValueError(f"counts below zero: {counts}")
    found = sum(counts)
    why_not = ""
    if found == 0:
        why_not = "not estimable: neither reported a finding"
    elif found < LEAST:
        why_not = f"not estimable: {found} {_plural('finding', found)} in all, fewer than {LEAST}"
    elif units is not None and units < LEAST:
        why_not = f"not estimable: {units} {_plural('case', units)} answered by both, fewer than {LEAST}"
    if why_not:
        return Specific(*counts, None, None, why_not)
    alone = only_left + only_right
    low = 2 * both / (2 * both + alone + 2 * uncertain)
    high = 2 * (both + uncertain) / (2 * (both + uncertain) + alone)
    return Specific(*counts, low, high)


def raw_agreement(agree: int, n: int, *, of: int | None = None) -> Raw:
    """``agree`` of the ``n`` units that both answered, ``of`` being how many were asked (default n).

    ``ValueError`` unless 0 <= agree <= n <= of.
    """
    asked = n if of is None else of
    if not 0 <= agree <= n <= asked:
        raise ValueError(f"{agree} agreed of {n} answered of {asked} asked")
    if n == 0:
        return Raw(agree, n, asked, None, None, "not estimable: no question was answered by both")
    if n < LEAST:
        why_not = f"not estimable: {n} {_plural('question', n)} answered by both, fewer than {LEAST}"
        return Raw(agree, n, asked, None, None, why_not)
    return Raw(agree, n, asked, *wilson(agree, n))


def _plural(word: str, n: int) -> str:
    return word if n == 1 else f"{word}s"
