"""Cross-check: which findings of two panels are one defect.

The rule, with what it was chosen by (labelled public reviews, leave-one-project-out;
``benchmarks/crosscheck.py`` prints the table for a development file):

* text is compared by the share of stemmed word parts that two findings have in common (Jaccard over
  title and first sentence of detail); a model of four features was measured and was no better;
* the same file, at most 20 lines apart or a line missing, and a score of .24: **match**;
* the same file and a score of .12, or within 3 lines and of one category: **uncertain**.  Near
  lines alone never match: of 66 pairs of findings on overlapping lines 65 were different defects;
* two findings of ``high`` or worse within 3 lines that quote the same code (or one quotes part of what
  the other does): **uncertain**, whatever their words, language and categories.  Lesser ones are
  not, or every line that breaks two rules of style would be in doubt;
* another file: at most **uncertain**, for a score of .35 and a shared name of code;
* a finding without a file is compared by its text alone;
* in a change, files and lines are those of the head (``Finding.mapped``); two findings on the old side
  are compared by their old lines, since code that is gone has one place in the head;
* severity and category never veto.

Matches are one-to-one, the best score first.  What is left over and looks like a finding that has
a partner already is shown beside it as uncertain: that halves the true pairs that are lost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from prun_review.model import CATEGORIES, Finding, Pair
from prun_review.shortlist import shortlist
from prun_review.tokens import SPAN, Item, items

if TYPE_CHECKING:
    from prun_review.ports import SameFinding

VERSION = "words-1 match=.24 uncertain=.12 other-file=.35 far=20 near=3 quote=10 fold=.80"
"""Tokenizer and thresholds, versioned together: scores of two versions do not compare."""

MATCH = 0.24
UNCERTAIN = 0.12
OTHER_FILE = 0.35
FOLD = 0.80
FAR = 20
"""Lines between two ranges beyond which text is uncertain; 43 of 47 true pairs lay within."""
NEAR = 3
ALL_PAIRS = 1_000_000
"""Up to so many pairs of a case all are compared; beyond, those near in place or in rarer words."""
FOLD_LOOK = 50
"""Earlier findings of one place that a finding is compared with, to see whether it repeats one."""

_SAID, _MATCH, _TEXT, _QUOTE, _NEAR, _OTHER_FILE = range(6)
_DOUBTFUL = (_TEXT, _QUOTE, _NEAR, _OTHER_FILE)

_Edges = dict[tuple[int, float, float], list[int]]
"""Possible pairs by kind and closeness (the least key is the closest), each as its :func:`_code`."""

_Compared = tuple[Item, Item, int]
"""Two findings and the number of words they share."""


def crosscheck(
    left: Sequence[Finding], right: Sequence[Finding], *, same: SameFinding | None = None
) -> list[Pair]:
    """Pair the findings of two panels on one case; indices in a pair are those of the arguments.

    Every finding occurs: ``alone``, or in one ``match``, or in one ``uncertain`` pair.  A finding that
    has a partner may occur in further ``uncertain`` pairs, each with a finding of the other side that
    occurs nowhere else.  A finding that repeats one of its own panel is ``alone`` and says so.

    ``same(left, right)`` overrides the text: True matches, False keeps apart, None has no opinion.
    It is asked about every pair that is compared.

    Sorted by left, then right index.  ``crosscheck(b, a)`` gives the mirrored pairs, and the order of
    the arguments decides only between equal findings.  Raises nothing but what ``same`` raises.
    """
    lefts, rights = items(left, right)
    lefts, pairs = _fold(lefts, "left")
    rights, repeated = _fold(rights, "right")
    pairs += repeated
    total = len(lefts) * len(rights)
    unseen = ""
    if total <= ALL_PAIRS:
        compared = _all_pairs(lefts, rights)
    else:
        some = shortlist(lefts, rights, FAR + SPAN - 1, ALL_PAIRS)
        compared = _some_pairs(lefts, rights, some)
        unseen = f" among those compared ({len(some)} of {total} pairs: the nearest places, the rarer words)"
    edges = _edges(compared, left, right, same)
    pairs += _settle(edges, lefts, rights)
    pairs += _alone(pairs, (left, right), unseen)
    return sorted(pairs, key=lambda p: (p.left is None, p.left or 0, p.right is None, p.right or 0))


# --- repetitions inside one panel -------------------------------------------------------------


def _fold(panel: Sequence[Item], side: str) -> tuple[list[Item], list[Pair]]:
    """What a panel holds, each defect once, and a lone pair for each repetition.

    The grounded and the most severe speak for the rest: what is folded away must never be worse
    than what stays.
    """
    kept: list[Item] = []
    repeats: list[Pair] = []
    exact: dict[tuple[object, ...], Item] = {}
    places: dict[tuple[str, int | None], list[Item]] = {}
    for item in sorted(panel, key=lambda i: (i.weight, i.rank, i.index)):
        key = (item.file, item.start, item.end, item.was, item.words, item.names, item.rule)
        lines = [None] if item.start is None or item.end is None else range(item.start, item.end + 1)
        around = (earlier for line in lines for earlier in places.get((item.file, line), ()))
        first = exact.get(key) or next((e for e in around if _repeats(e, item)), None)
        if first is not None:
            reason = f"repeats {side} {first.index}, counted once"
            score = _score(first, item)[0]
            left, right = (item.index, None) if side == "left" else (None, item.index)
            repeats.append(Pair(left, right, "alone", score, reason))
            continue
        exact[key] = item
        kept.append(item)
        for line in lines:
            place = places.setdefault((item.file, line), [])
            if len(place) < FOLD_LOOK:
                place.append(item)
    return sorted(kept, key=lambda i: i.index), repeats


def _repeats(first: Item, item: Item) -> bool:
    """Whether two findings of one panel at one place are one defect told twice, and nothing less."""
    named = first.names <= item.names or item.names <= first.names
    apart = first.was is not None and item.was is not None and bool(_gap(first, item))
    return first.rule == item.rule and named and not apart and _score(first, item)[0] >= FOLD


# --- the rule ---------------------------------------------------------------------------------


def _score(a: Item, b: Item) -> tuple[float, int, int]:
    """Jaccard, and what it is made of: words shared, words in all."""
    shared = len(a.words & b.words)
    union = len(a.words) + len(b.words) - shared
    return (shared / union if union else 0.0), shared, union


def _gap(a: Item, b: Item) -> int | None:
    """Lines between two ranges, 0 where they overlap; None where a line is missing.

    In the head; of two findings on the old side of a change in the base.
    """
    if a.was is not None and b.was is not None:
        return max(0, a.was[0] - b.was[1], b.was[0] - a.was[1])
    if a.start is None or a.end is None or b.start is None or b.end is None:
        return None
    return max(0, a.start - b.end, b.start - a.end)


def _same_root(a: Item, b: Item) -> str:
    """A name of code that both texts hold, or empty; one or two letters are any loop's variable."""
    return min((name for name in a.names & b.names if len(name) > 2), default="")


def _all_pairs(lefts: Sequence[Item], rights: Sequence[Item]) -> Iterator[_Compared]:
    """Every pair with the number of words shared; as bits, which intersect faster than sets.

    Only words of both sides get a bit, so the bits of a case stay below 25 MB whatever it holds.
    """
    both = frozenset().union(*(a.words for a in lefts)) & frozenset().union(*(b.words for b in rights))
    bit_of = {word: n for n, word in enumerate(both)}

    def bits(item: Item) -> int:
        return sum(1 << bit_of[word] for word in item.words if word in bit_of)

    with_bits = [(b, bits(b)) for b in rights]
    for a in lefts:
        mine = bits(a)
        for b, theirs in with_bits:
            yield a, b, (mine & theirs).bit_count()


def _some_pairs(lefts: Sequence[Item], rights: Sequence[Item], some: Iterable[int]) -> Iterator[_Compared]:
    for n in some:
        a, b = lefts[n // len(rights)], rights[n % len(rights)]
        yield a, b, len(a.words & b.words)


def _kind(a: Item, b: Item, shared: int) -> tuple[int, float, float] | None:
    """How two findings may be paired, and how close they are; None when they are distinct."""
    union = len(a.words) + len(b.words) - shared
    score = shared / union if union else 0.0
    if a.file != b.file and a.file and b.file:
        return (_OTHER_FILE, -score, 0) if score >= OTHER_FILE and _same_root(a, b) else None
    gap = _gap(a, b) if a.file and b.file else None
    away = FAR if gap is None else min(gap, FAR + 1)  # far is far: ten times as many keys otherwise
    if score >= MATCH and away <= FAR:
        return _MATCH, -score, away
    if score >= UNCERTAIN:
        return _TEXT, -score, away
    if gap is not None and gap <= NEAR:
        if _same_quote(a, b):
            return _QUOTE, gap, -score
        if a.category == b.category:
            return _NEAR, gap, -score
    return None


def _same_quote(a: Item, b: Item) -> bool:
    return bool(a.quote and b.quote) and (a.quote in b.quote or b.quote in a.quote)


def _edges(
    compared: Iterable[_Compared],
    left: Sequence[Finding],
    right: Sequence[Finding],
    same: SameFinding | None,
) -> _Edges:
    """All possible pairs; ``same`` has the first word about each."""
    edges: _Edges = defaultdict(list)
    for a, b, shared in compared:
        told = None if same is None else same(left[a.index], right[b.index])
        if told is True:
            kind: tuple[int, float, float] | None = (_SAID, -_score(a, b)[0], 0)
        else:
            kind = None if told is False else _kind(a, b, shared)
        if kind is not None:
            edges[kind].append(_code(a.rank, b.rank))
    return edges


def _code(left: int, right: int) -> int:
    """Two ranks as one number that sorts the same from both sides: lower, higher, which is left.

    A case of 1,000 x 1,000 can have a million possible pairs; as numbers they sort in a second.
    """
    low, high = (left, right) if left <= right else (right, left)
    return (low << 33) | (high << 1) | (left > right)


def _ranks(code: int) -> tuple[int, int]:
    low, high = code >> 33, (code >> 1) & 0xFFFFFFFF
    return (high, low) if code & 1 else (low, high)


# --- one-to-one -------------------------------------------------------------------------------


def _settle(edges: _Edges, lefts: Sequence[Item], rights: Sequence[Item]) -> list[Pair]:
    """Matches one-to-one; then uncertain ones among the rest; then what is like a taken finding."""
    left_of = {item.rank: item for item in lefts}  # no rank twice on a side: equal ones were folded
    right_of = {item.rank: item for item in rights}
    free_left, free_right = set(left_of), set(right_of)
    pairs: list[Pair] = []

    def pair(kind: int, i: int, j: int, outcome: str, beside: str = "") -> None:
        a, b = left_of[i], right_of[j]
        free_left.discard(i)
        free_right.discard(j)
        pairs.append(Pair(a.index, b.index, outcome, _score(a, b)[0], _reason(kind, a, b) + beside))

    for outcome, kinds in (("match", (_SAID, _MATCH)), ("uncertain", _DOUBTFUL)):
        for kind, i, j in _closest_first(edges, kinds):
            if not (free_left and free_right):
                break
            if i in free_left and j in free_right:
                pair(kind, i, j, outcome)
    # A place says nothing about a finding whose partner is found: near ones and quotes have no part here.
    for kind, i, j in _closest_first(edges, (_SAID, _MATCH, _TEXT, _OTHER_FILE)):
        if not (free_left or free_right):
            break
        if i in free_left:
            pair(kind, i, j, "uncertain", "; the right one has a nearer partner")
        elif j in free_right:
            pair(kind, i, j, "uncertain", "; the left one has a nearer partner")
    return pairs


def _closest_first(edges: _Edges, kinds: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Kind, left rank and right rank of every edge of these kinds."""
    for key in sorted(key for key in edges if key[0] in kinds):
        for code in sorted(edges[key]):
            yield (key[0], *_ranks(code))


def _reason(kind: int, a: Item, b: Item) -> str:
    _, shared, union = _score(a, b)
    gap = _gap(a, b)
    if not (a.file and b.file):
        place = "no file to compare"
    elif a.file != b.file:
        place = "different files"
    elif gap is None:
        place = "same file, no line to compare"
    else:
        place = (
            f"same file, {gap} {'line' if gap == 1 else 'lines'} apart" if gap else "same file, same lines"
        )
    if gap is not None and (a.was is None) != (b.was is None):
        place += " (old lines counted where they would stand after the change)"
    if kind == _QUOTE:
        place += ", both high or worse and quoting the same code"
    if kind == _NEAR:
        place += f", same category {a.category}" if a.category in CATEGORIES else ", same category"
    text = f"{place}, {shared} of {union} words shared"
    if kind == _OTHER_FILE:
        text += f" and the name {_same_root(a, b)}: perhaps one root cause"
    return f"said to be the same; {text}" if kind == _SAID else text


def _alone(
    pairs: Sequence[Pair], sides: tuple[Sequence[Finding], Sequence[Finding]], unseen: str
) -> list[Pair]:
    left, right = sides
    lone_left = sorted(set(range(len(left))) - {p.left for p in pairs})
    lone_right = sorted(set(range(len(right))) - {p.right for p in pairs})
    why_left = f"nothing like it on the right{unseen}" if right else "the right side holds no finding"
    why_right = f"nothing like it on the left{unseen}" if left else "the left side holds no finding"
    return [
        *(Pair(i, None, "alone", 0.0, why_left) for i in lone_left),
        *(Pair(None, j, "alone", 0.0, why_right) for j in lone_right),
    ]
