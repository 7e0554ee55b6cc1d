"""Chance-corrected agreement: Cohen, Scott, Fleiss, Brennan-Prediger, Gwet, Krippendorff.

Every function takes ``Rows``: how often each row of ratings occurs, a row being what the raters said of
one unit, None where one said nothing.  Constant or empty answers have no coefficient: there is nothing
to tell agreement from chance by, so the value is None with the reason, never 1 and never NaN.

Sources: Cohen 1960 and 1968, Scott 1955, Fleiss 1971, Brennan and Prediger 1981, Gwet 2008 and 2014 (his
extension to missing ratings for all of these), Krippendorff 2011.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

Word = str | float
Row = tuple[Word | None, ...]
Rows = Mapping[Row, int]

Distance = Callable[[int, int], float]
"""How far two places on a scale lie apart; 0 for the same one."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A chance-corrected agreement, 1 at best and 0 where it is no more than chance."""

    value: float | None
    """None where ``why_not`` says why."""
    observed: float | None = None
    """The agreement before chance is taken off; Krippendorff's alpha has none."""
    why_not: str = ""


def nominal(a: int, b: int) -> float:
    """Same or different."""
    return float(a != b)


def linear(a: int, b: int) -> float:
    """Steps between them."""
    return float(abs(a - b))


def quadratic(a: int, b: int) -> float:
    """Steps squared."""
    return float((a - b) ** 2)


def count(rows: Iterable[Sequence[Word | None]]) -> Counter[Row]:
    """Rows as the functions here take them."""
    return Counter(tuple(row) for row in rows)


# --- two raters -------------------------------------------------------------------------------


def cohen(
    rows: Rows,
    scale: Sequence[Word] | None = None,
    distance: Distance | Mapping[tuple[int, int], float] = nominal,
) -> Coefficient:
    """Cohen's kappa; weighted by ``distance``, which may be a table of disagreements by place on the scale.

    Units that one of the two did not rate are left out.  ``ValueError`` for rows that are not pairs.
    """
    both = _pairs(rows)
    words = _scale(both, scale)
    apart = _from_table(distance) if isinstance(distance, Mapping) else distance
    at: dict[Word | None, int] = {word: i for i, word in enumerate(words)}
    table = Counter[tuple[int, int]]()
    for (a, b), times in both.items():
        table[at[a], at[b]] += times
    n = sum(table.values())
    left, right = Counter[int](), Counter[int]()
    for (i, j), times in table.items():
        left[i] += times
        right[j] += times
    observed = sum(times * apart(i, j) for (i, j), times in table.items())
    expected = sum(left[i] * right[j] * apart(i, j) for i in left for j in right)
    if expected == 0:
        return Coefficient(None, None, _nothing(n))
    most = max(apart(i, j) for i in range(len(words)) for j in range(len(words)))
    return Coefficient(1 - observed * n / expected, 1 - observed / n / most)


def scott(rows: Rows, scale: Sequence[Word] | None = None) -> Coefficient:
    """Scott's pi: both raters share one distribution.  Units that one did not rate are left out."""
    return fleiss(_pairs(rows), scale)


def _pairs(rows: Rows) -> dict[Row, int]:
    """The rows in which both rated."""
    for row in rows:
        if len(row) != 2:
            raise ValueError(f"a row of {len(row)} ratings is not of two raters")
    return {row: times for row, times in rows.items() if None not in row}


def _from_table(table: Mapping[tuple[int, int], float]) -> Distance:
    return lambda a, b: table[a, b]


# --- any number of raters, missing ratings allowed --------------------------------------------


def fleiss(rows: Rows, scale: Sequence[Word] | None = None, distance: Distance = nominal) -> Coefficient:
    """Fleiss' kappa with Gwet's extension to missing ratings."""
    return _corrected(rows, scale, distance, _by_shares)


def brennan_prediger(
    rows: Rows, scale: Sequence[Word] | None = None, distance: Distance = nominal
) -> Coefficient:
    """Brennan and Prediger's coefficient: chance is every word equally often."""
    return _corrected(rows, scale, distance, lambda p, w: sum(map(sum, w)) / len(p) ** 2)


def gwet(rows: Rows, scale: Sequence[Word] | None = None, distance: Distance = nominal) -> Coefficient:
    """Gwet's AC1; AC2 with another ``distance``.

    ``scale``: all words that could have been said, in order; by default those that were.  The value
    depends on how many there are, so give the whole scale where some may not occur.
    """

    def chance(shares: Sequence[float], weights: Sequence[Sequence[float]]) -> float:
        q = len(shares)
        return sum(map(sum, weights)) / (q * (q - 1)) * sum(p * (1 - p) for p in shares)

    return _corrected(rows, scale, distance, chance)


def _by_shares(shares: Sequence[float], weights: Sequence[Sequence[float]]) -> float:
    return sum(
        w * p * q for line, p in zip(weights, shares, strict=True) for w, q in zip(line, shares, strict=True)
    )


_Chance = Callable[[Sequence[float], Sequence[Sequence[float]]], float]


def _corrected(rows: Rows, scale: Sequence[Word] | None, distance: Distance, chance: _Chance) -> Coefficient:
    """(observed - chance) / (1 - chance) over units with two ratings; chance over all that have one."""
    words = _scale(rows, scale)
    at = {word: i for i, word in enumerate(words)}
    q = len(words)
    most = max((distance(i, j) for i in range(q) for j in range(q)), default=0.0) or 1.0
    weights = [[1 - distance(i, j) / most for j in range(q)] for i in range(q)]
    shares, agreed, rated, compared = [0.0] * q, 0.0, 0, 0
    seen: set[int] = set()
    for row, times in rows.items():
        said = Counter(at[word] for word in row if word is not None)
        r = said.total()
        if not r:
            continue
        rated += times
        for i, k in said.items():
            shares[i] += times * k / r
        if r > 1:
            compared += times
            seen.update(said)
            same = sum(k * (sum(weights[i][j] * m for j, m in said.items()) - 1) for i, k in said.items())
            agreed += times * same / (r * (r - 1))
    if len(seen) < 2:
        return Coefficient(None, 1.0 if compared else None, _nothing(compared))
    observed = agreed / compared
    expected = chance([share / rated for share in shares], weights)
    return Coefficient((observed - expected) / (1 - expected), observed)


def krippendorff(rows: Rows, metric: str = "nominal", scale: Sequence[Word] | None = None) -> Coefficient:
    """Krippendorff's alpha over the units with two ratings or more.

    ``metric``: ``nominal``, ``ordinal`` (needs the order of the words: ``scale``, or numbers),
    ``interval`` or ``ratio`` (of numbers).  ``ValueError`` for another word.
    """
    words = _scale(rows, scale)
    weights: dict[tuple[Word, Word], float] = {}
    for row, times in rows.items():
        for pair, weight in _coincidences(row):
            weights[pair] = weights.get(pair, 0.0) + times * weight
    totals = dict.fromkeys(words, 0.0)
    for (word, _), weight in weights.items():
        totals[word] += weight
    n = sum(totals.values())
    apart = _metric(metric, totals)
    held = [word for word in words if totals[word]]
    expected = sum(totals[a] * totals[b] * apart(a, b) for a in held for b in held)
    if expected == 0:
        return Coefficient(None, None, _nothing(int(n)))
    observed = sum(weight * apart(a, b) for (a, b), weight in weights.items())
    return Coefficient(1 - (n - 1) * observed / expected)


@lru_cache(maxsize=4096)
def _coincidences(row: Row) -> tuple[tuple[tuple[Word, Word], float], ...]:
    """What one unit adds to the table of coincidences; a bootstrap asks thousands of times."""
    said = Counter(word for word in row if word is not None)
    r = said.total()
    return tuple(
        ((a, b), k * (m - (a == b)) / (r - 1)) for a, k in said.items() for b, m in said.items() if r > 1
    )


def _metric(metric: str, totals: Mapping[Word, float]) -> Callable[[Word, Word], float]:
    """The squared difference of two words; ``totals`` are in the order of the scale."""
    if metric == "nominal":
        return lambda a, b: float(a != b)
    if metric == "ordinal":
        below, middle = 0.0, {}
        for word, n in totals.items():
            middle[word] = below + n / 2  # what lies between two words, half of each end taken off
            below += n
        return lambda a, b: (middle[a] - middle[b]) ** 2
    if metric == "interval":
        return lambda a, b: (float(a) - float(b)) ** 2
    if metric == "ratio":
        return lambda a, b: ((float(a) - float(b)) / (float(a) + float(b))) ** 2 if a != b else 0.0
    raise ValueError(f"metric {metric!r}: one of nominal, ordinal, interval, ratio")


# --- one word at a time -----------------------------------------------------------------------


def specific(rows: Rows, scale: Sequence[Word] | None = None) -> dict[Word, float | None]:
    """For each word: of the pairs of ratings that hold it, the share in which the other says it too.

    Of two raters it is 2 both / (left + right).  None for a word that no pair holds.
    """
    agreed: dict[Word, float] = {}
    held: dict[Word, float] = {}
    for row, times in rows.items():
        said = Counter(word for word in row if word is not None)
        for word, k in said.items():
            agreed[word] = agreed.get(word, 0) + times * k * (k - 1)
            held[word] = held.get(word, 0) + times * k * (said.total() - 1)
    return {word: agreed[word] / held[word] if held.get(word) else None for word in _scale(rows, scale)}


def _scale(rows: Rows, scale: Sequence[Word] | None) -> list[Word]:
    """The words in order.  ``ValueError`` for one that the scale does not hold."""
    said = {word for row in rows for word in row if word is not None}
    if scale is None:
        return sorted(said, key=lambda word: (isinstance(word, str), word))
    strange = said.difference(scale)
    if strange:
        raise ValueError(f"not on the scale: {', '.join(sorted(map(str, strange)))}")
    return list(scale)


def _nothing(n: int) -> str:
    if n == 0:
        return "no unit has two ratings"
    return "all ratings are the same, so agreement cannot be told from chance"
