"""How sure a number is: Wilson's interval of a proportion, BCa bootstrap of everything else.

What is resampled are units (cases), never single findings: findings of one case hang together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose, isfinite, sqrt
from random import Random
from typing import TypeVar

LEAST = 10
"""Units below which an interval says nothing: 9 of 10 is .60 to .98 already."""

DRAWS = 2000
"""Resamples of a bootstrap."""
SEED = 20_240_229
"""Fixed: the same answers make the same report."""
UNDEFINED = 0.05
"""The share of resamples that may have no value (constant answers) before there is no interval."""

T = TypeVar("T")
Statistic = Callable[[Mapping[T, int]], "float | None"]
"""A number of units, given as different units with how often each occurs; None where it has no value."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval, or why there is none."""

    value: float | None
    low: float | None
    """None where ``why_not`` says why."""
    high: float | None
    n: int
    """Units that it stands on."""
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


def bca(units: Iterable[T], statistic: Statistic[T], *, draws: int = DRAWS, seed: int = SEED) -> Estimate:
    """``statistic`` of the units with its bias-corrected, accelerated 95 % interval (Efron 1987).

    The order of ``units`` does not matter; equal ones are counted together, so they must be hashable.
    A value without an interval comes back where there are fewer than :data:`LEAST` units, where every
    resample gives the same, or where too many of them give none.
    """
    given = Counter(units)
    counted = {kind: given[kind] for kind in sorted(given, key=repr)}  # sums do not depend on the order
    n = sum(counted.values())
    value = statistic(counted) if n else None
    if value is None:
        return Estimate(None, None, None, n, "it has no value")
    if n < LEAST:
        return Estimate(value, None, None, n, f"{n} {plural('unit', n)}, fewer than {LEAST}")
    drawn = _resampled(counted, n, statistic, draws, seed)
    nothing = Estimate(value, None, None, n)
    if len(drawn) < (1 - UNDEFINED) * draws:
        return replace(nothing, why_not=f"{draws - len(drawn)} of {draws} resamples have no value")
    if isclose(drawn[0], drawn[-1], abs_tol=1e-12):
        return replace(nothing, why_not="every resample gives the same")
    ends = _adjusted(value, drawn, _left_out(counted, statistic))
    if ends is None:
        return replace(nothing, why_not="the resamples lie to one side of the value")
    return Estimate(value, _quantile(drawn, ends[0]), _quantile(drawn, ends[1]), n)


def _resampled(
    counted: Mapping[T, int], n: int, statistic: Statistic[T], draws: int, seed: int
) -> list[float]:
    """The values of the resamples that have one, sorted."""
    kinds = list(counted)
    codes = [code for code, kind in enumerate(kinds) for _ in range(counted[kind])]
    rng = Random(seed)
    values = []
    for _ in range(draws):
        sample = Counter(rng.choices(codes, k=n))
        value = statistic({kinds[code]: times for code, times in sample.items()})
        if value is not None and isfinite(value):
            values.append(value)
    return sorted(values)


def _left_out(counted: Mapping[T, int], statistic: Statistic[T]) -> list[tuple[float, int]]:
    """The values without one unit each, with how many units give the same."""
    values = []
    for kind, times in counted.items():
        value = statistic({k: t - (k == kind) for k, t in counted.items() if t > (k == kind)})
        if value is not None:
            values.append((value, times))
    return values


def _adjusted(
    value: float, drawn: Sequence[float], left_out: Sequence[tuple[float, int]]
) -> tuple[float, float] | None:
    """Which shares of the resamples bound the interval; None where the value lies beyond all of them."""
    from statistics import NormalDist  # 8 ms that a session without a report does not spend

    normal = NormalDist()
    below = sum((d < value) + (d <= value) for d in drawn) / (2 * len(drawn))
    if not 0 < below < 1:
        return None
    bias = normal.inv_cdf(below)
    total = sum(times for _, times in left_out)
    mean = sum(v * times for v, times in left_out) / total
    cubes = sum((mean - v) ** 3 * times for v, times in left_out)
    squares = sum((mean - v) ** 2 * times for v, times in left_out)
    skew = 0.0 if squares < 1e-24 else cubes / (6 * squares**1.5)
    ends = []
    for z in (normal.inv_cdf(0.025), normal.inv_cdf(0.975)):
        moved = bias + z
        ends.append(normal.cdf(bias + moved / (1 - skew * moved)))
    return min(ends), max(ends)


def _quantile(values: Sequence[float], share: float) -> float:
    """Linear between the neighbours."""
    at = share * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def plural(word: str, n: int) -> str:
    """``case`` or ``cases``."""
    return word if n == 1 else f"{word}s"
