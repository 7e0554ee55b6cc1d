"""Rules that say how alike the findings of two reviewers are: ours, and those it is compared with.

Each takes the texts of both sides of one case and gives all scores, ``[i][j]`` for ``left[i]`` and
``right[j]``.  ``lex4`` is a logistic model of four features that weighs what is shared by how rare it is in
the case; the others are the text parts of rules that other tools use.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from prun_review import Finding
from prun_review.lexical import score
from prun_review.matching import MATCH, UNCERTAIN
from prun_review.tokens import items, split

Texts = Sequence[str]
Scores = list[list[float]]


def ours(left: Texts, right: Texts) -> Scores:
    """What ``crosscheck`` takes a pair by."""
    lefts, rights = items([Finding(title=t) for t in left], [Finding(title=t) for t in right])
    return [[score(a, b) for b in rights] for a in lefts]


def jaccard(left: Texts, right: Texts) -> Scores:
    """The share of common stems in all stems."""
    return _pairwise(left, right, lambda text: split(text)[0], _share)


def words(left: Texts, right: Texts) -> Scores:
    """The share of common words, unstemmed."""
    return _pairwise(left, right, _lower, _share)


def idf_overlap(left: Texts, right: Texts) -> Scores:
    """Weight of the shared words over that of the smaller text; rare words of the case weigh more."""
    texts = [_lower(text) for text in (*left, *right)]
    held = Counter(word for text in texts for word in text)
    weight = {word: math.log(1 + len(texts) / n) for word, n in held.items()}

    def overlap(one: Set[str], other: Set[str]) -> float:
        smaller = min(_sum(weight, one), _sum(weight, other))
        return _sum(weight, one & other) / smaller if smaller else 0.0

    return _pairwise(left, right, _lower, overlap)


@dataclass(frozen=True)
class _Read:
    """A text as lex4 reads it: words, words that are no code, runs of four characters."""

    words: frozenset[str]
    prose: frozenset[str]
    grams: frozenset[str]


_WORD = re.compile(r"[^\W\d]\w*|\d+")
_PART = re.compile(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by can could for from has have if in into is it its may not of on or"
        " should so than that the their then there these this those to was were when where which while"
        " will with would",
    )
)


def _read(text: str) -> _Read:
    text = text.replace("n't", " not")
    words: set[str] = set()
    prose: set[str] = set()
    for found in _WORD.finditer(text):
        word, before, after = found[0], text[: found.start()], text[found.end() : found.end() + 2]
        parts = [part.lower() for part in _PART.findall(word)]
        kept = {p[:6] for p in parts if p not in _STOP and (len(p) > 1 or p.isdigit())}
        words |= kept | ({"=" + "".join(parts)} if len(parts) > 1 else set())
        called = after[:1] == "(" or (after[:1] == "." and after[1:].isalpha())
        reached = before[-1:] == "." and before[-2:-1].isalnum()
        if not (len(parts) > 1 or before.count("`") % 2 or called or reached):
            prose |= kept
    run = " ".join(re.findall(r"[a-z0-9]+", _HUMP.sub(" ", text).lower()))
    return _Read(frozenset(words), frozenset(prose), frozenset(run[i : i + 4] for i in range(len(run) - 3)))


def _weights(left: Sequence[Set[str]], right: Sequence[Set[str]], fall: float) -> dict[str, float]:
    """1 for what one finding of a side holds, less the more of them hold it."""
    sides = [(Counter(t for held in side for t in held), max(1, len(side) - 1)) for side in (left, right)]
    found = {}
    for t in {t for count, _ in sides for t in count}:
        common = sum(max(count[t] - 1, 0) / others for count, others in sides)
        found[t] = max(0.05, 1 - fall / 2 * common)
    return found


def lex4(left: Texts, right: Texts) -> Scores:
    """The logistic model, with the weights it was published with."""
    lefts, rights = [_read(t) for t in left], [_read(t) for t in right]
    of_words = _weights([x.words for x in lefts], [y.words for y in rights], 1.0)
    of_prose = _weights([x.prose for x in lefts], [y.prose for y in rights], 0.3)
    of_grams = _weights([x.grams for x in lefts], [y.grams for y in rights], 1.0)

    def chance(x: _Read, y: _Read) -> float:
        smaller = min(_sum(of_words, x.words), _sum(of_words, y.words))
        held = _sum(of_words, x.words & y.words) / max(5.0, smaller)
        z = 4 * _weighted(of_words, x.words, y.words) + 5.5 * held - 6
        z += 16 * _weighted(of_prose, x.prose, y.prose) + 12 * _weighted(of_grams, x.grams, y.grams)
        return 1 / (1 + math.exp(-z))

    return [[chance(x, y) for y in rights] for x in lefts]


def _weighted(weight: dict[str, float], one: Set[str], other: Set[str]) -> float:
    every = _sum(weight, one | other)
    return _sum(weight, one & other) / every if every else 0.0


def _sum(weight: dict[str, float], chosen: Set[str]) -> float:
    return math.fsum(weight[t] for t in chosen)


def _lower(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))


def _share(one: Set[str], other: Set[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def _pairwise(
    left: Texts,
    right: Texts,
    read: Callable[[str], Set[str]],
    like: Callable[[Set[str], Set[str]], float],
) -> Scores:
    others = [read(text) for text in right]
    return [[like(one, other) for other in others] for one in map(read, left)]


@dataclass(frozen=True)
class Rule:
    """A rule with the cuts that it is used with."""

    name: str
    score: Callable[[Texts, Texts], Scores]
    cut: float
    """The one cut."""
    sure: float | None = None
    """With two cuts, from where a pair is a match ..."""
    doubt: float = 0.0
    """... and from where it is uncertain."""


RULES = (
    Rule("ours", ours, 0.23, MATCH, UNCERTAIN),
    Rule("Jaccard of stems", jaccard, 0.16, 0.24, 0.12),
    Rule("lex4", lex4, 0.40, 0.75, 0.08),
    Rule("word Jaccard (within 3 lines)", words, 0.60),
    Rule("IDF overlap", idf_overlap, 0.24),
)
