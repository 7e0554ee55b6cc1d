"""How many defects nobody reported: capture-recapture estimates, all of them lower bounds here.

They assume that reviewers miss things independently and that all defects are equally easy to find.
Language models do neither, and both faults push the estimate down, so nothing may be gated on it.

Sources: Chapman 1951; Sadinle 2009 (interval); Burnham and Overton 1978 (jackknife); Chao 1987.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, sqrt

OVERLAP, EACH = 3, 5
"""What both and what each must have reported before an estimate is worth printing."""


def lincoln(first: int, second: int, both: int) -> float:
    """Lincoln's and Polya's estimate of all there are; ``ValueError`` without an overlap."""
    _check(first, second, both)
    if both == 0:
        raise ValueError("without an overlap there is no estimate")
    return first * second / both


def chapman(first: int, second: int, both: int) -> float:
    """Chapman's estimate of all there are: less biased in small samples, and defined without an overlap.

    ``ValueError`` where more are shared than either has.
    """
    _check(first, second, both)
    return (first + 1) * (second + 1) / (both + 1) - 1


def chapman_interval(first: int, second: int, both: int, z: float = 1.96) -> tuple[float, float]:
    """Transformed-logit interval of all there are; never below the number seen."""
    _check(first, second, both)
    m, a, b = both + 0.5, first - both + 0.5, second - both + 0.5
    spread = sqrt(1 / m + 1 / a + 1 / b + m / (a * b))
    seen = first + second - both
    low, high = (seen - 0.5 + a * b / m * exp(sign * z * spread) for sign in (-1, 1))
    return max(low, float(seen)), max(high, float(seen))


def jackknife(frequencies: Sequence[int], reviewers: int, order: int = 1) -> float:
    """The jackknife of the model Mh (defects differ in how easy they are to find), orders 1 to 4.

    ``frequencies[j - 1]``: defects that exactly j of the reviewers reported.  ``ValueError`` for another
    order, or for one that is not below the number of reviewers.
    """
    t = reviewers
    if not 1 <= order <= 4 or order >= t:
        raise ValueError(f"order {order} with {t} reviewers: 1 to 4, and below their number")
    f1, f2, f3, f4 = (*frequencies, 0, 0, 0, 0)[:4]
    terms: tuple[float, ...]
    if order == 1:
        terms = ((t - 1) / t * f1,)
    elif order == 2:
        terms = ((2 * t - 3) / t * f1, -((t - 2) ** 2) / (t * (t - 1)) * f2)
    elif order == 3:
        terms = (
            (3 * t - 6) / t * f1,
            -(3 * t**2 - 15 * t + 19) / (t * (t - 1)) * f2,
            (t - 3) ** 3 / (t * (t - 1) * (t - 2)) * f3,
        )
    else:
        terms = (
            (4 * t - 10) / t * f1,
            -(6 * t**2 - 36 * t + 55) / (t * (t - 1)) * f2,
            (4 * t**3 - 42 * t**2 + 148 * t - 175) / (t * (t - 1) * (t - 2)) * f3,
            -((t - 4) ** 4) / (t * (t - 1) * (t - 2) * (t - 3)) * f4,
        )
    return sum(frequencies) + sum(terms)


def chao(frequencies: Sequence[int]) -> float:
    """Chao's lower bound, in the form that is defined when nothing was reported twice."""
    f1, f2 = (*frequencies, 0, 0)[:2]
    return sum(frequencies) + f1 * (f1 - 1) / (2 * (f2 + 1))


def _check(first: int, second: int, both: int) -> None:
    if not 0 <= both <= min(first, second):
        raise ValueError(f"{both} shared by {first} and {second}")
