"""Our statistics against independent implementations, where these are installed (the extra ``oracles``).

They are no dependency: two take seconds to import, one is under another licence, none takes missing answers
for all coefficients.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

from prun_review.coefficients import cohen, count, fleiss, krippendorff, linear, quadratic
from prun_review.intervals import bca, wilson

SEEDS = range(12)


def oracle(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


def ratings(seed: int, units: int = 40, raters: int = 2, words: int = 4) -> list[tuple[int, ...]]:
    """Raters that mostly agree."""
    rng = random.Random(seed)
    rows = []
    for _ in range(units):
        truth = rng.randrange(words)
        rows.append(tuple(truth if rng.random() < 0.7 else rng.randrange(words) for _ in range(raters)))
    return rows


@pytest.mark.parametrize("seed", SEEDS)
def test_cohen(seed: int) -> None:
    kappa = oracle("sklearn.metrics").cohen_kappa_score
    rows = ratings(seed)
    left, right = zip(*rows, strict=True)
    for distance, weights in ((None, None), (linear, "linear"), (quadratic, "quadratic")):
        mine = cohen(count(rows), range(4), distance) if distance else cohen(count(rows), range(4))
        assert mine.value == pytest.approx(kappa(left, right, labels=[0, 1, 2, 3], weights=weights))


@pytest.mark.parametrize("seed", SEEDS)
def test_fleiss(seed: int) -> None:
    theirs = oracle("statsmodels.stats.inter_rater")
    rows = ratings(seed, raters=6)
    table = [[row.count(word) for word in range(4)] for row in rows]
    assert fleiss(count(rows), range(4)).value == pytest.approx(theirs.fleiss_kappa(table))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval", "ratio"])
def test_krippendorff_with_missing_answers(seed: int, metric: str) -> None:
    alpha = oracle("krippendorff").alpha
    rng = random.Random(seed)
    rows = [
        tuple(None if rng.random() < 0.25 else word + 1 for word in row)
        for row in ratings(seed, raters=4, words=5)
    ]
    data = [[float("nan") if word is None else word for word in line] for line in zip(*rows, strict=True)]
    theirs = alpha(reliability_data=data, level_of_measurement=metric)
    assert krippendorff(count(rows), metric).value == pytest.approx(theirs)


@pytest.mark.parametrize(("k", "n"), [(0, 20), (1, 29), (9, 10), (15, 148), (81, 263), (40, 40)])
def test_wilson(k: int, n: int) -> None:
    stats = oracle("scipy.stats")
    theirs = stats.binomtest(k, n).proportion_ci(method="wilson")
    assert wilson(k, n) == pytest.approx((theirs.low, theirs.high), abs=2e-5)  # z is 1.96, not 1.95996


@pytest.mark.parametrize("seed", range(4))
def test_bca_of_a_skewed_ratio(seed: int) -> None:
    stats, np = oracle("scipy.stats"), oracle("numpy")
    rng = random.Random(seed)
    units = [(min(n, rng.randrange(4)), n) for n in (1 + rng.randrange(9) for _ in range(45))]

    def ours(counted: Any) -> float:
        return float(
            sum(a * t for (a, _), t in counted.items()) / sum(b * t for (_, b), t in counted.items())
        )

    def theirs(a: Any, b: Any, axis: int = -1) -> Any:
        return a.sum(axis=axis) / b.sum(axis=axis)

    top, bottom = (np.array(side, dtype=float) for side in zip(*units, strict=True))
    interval = stats.bootstrap(
        (top, bottom),
        theirs,
        paired=True,
        vectorized=True,
        method="BCa",
        n_resamples=20_000,
        random_state=seed,
    ).confidence_interval
    mine = bca(units, ours, draws=20_000)
    assert (mine.low, mine.high) == pytest.approx((interval.low, interval.high), abs=0.006)
