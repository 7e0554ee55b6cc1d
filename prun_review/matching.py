"""Cross-check: which findings of two panels are one defect.

The rule, with what it was chosen by (labelled public reviews, leave-one-project-out;
``benchmarks/crosscheck.py`` prints the table for a development file):

* text is compared by the likeness of :mod:`prun_review.lexical`, a number from 0 to 1, over title and
  first sentence of detail.  Who wants one cut and no doubt takes .23 on the score: of the best pairs
  one-to-one it has the highest F1;
* the same file, at most 20 lines apart or a line missing, and a score of .26: **match**; farther apart
  **uncertain**;
* as near and a score of .14, or within 3 lines and of one category: **uncertain**.  Near lines alone
  never match: of 66 pairs of findings on overlapping lines 65 were different defects;
* one common word says little, and numbers nothing: a match needs three, or two that are a quarter of all
  words, or equal texts; doubt needs two, or one for the score of a match;
* two findings of ``high`` or worse within 3 lines that quote the same code (or one quotes part of what
  the other does): **uncertain**, whatever their words, language and categories.  Lesser ones are
  not, or every line that breaks two rules of style would be in doubt;
* another file: at most **uncertain**, for a score of .46 and a shared name of code;
* a finding without a file is compared by its text alone;
* in a change, files and lines are those of the head (``Finding.mapped``); two findings on the old side
  are compared by their old lines, since code that is gone has one place in the head;
* severity and category never veto.

Matches are one-to-one, the best score first.  A finding without one is uncertain beside the one that it is
most like, whoever else has that one: of 100 true pairs 3 are lost so, and 4 where doubt is one-to-one too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from prun_review.lexical import Compared, all_pairs, common, jaccard, score, some_pairs
from prun_review.model import CATEGORIES, Finding, Pair
from prun_review.shortlist import shortlist
from prun_review.tokens import SPAN, Item, items, text_of

if TYPE_CHECKING:
    from prun_review.ports import SameFinding

VERSION = "words-2 match=.26 uncertain=.14 one=.23 other-file=.46 few=2/.25 far=20 near=3 quote=10 fold=.80"
"""Tokenizer and thresholds, versioned together: scores of two versions do not compare."""

MATCH = 0.26
UNCERTAIN = 0.14
OTHER_FILE = 0.46
FEW, FEW_SHARE = 2, 0.25
"""Up to so many common words, numbers aside, a score means little unless they are such a share of all."""
FOLD = 0.80
"""Share of common words from which one panel repeats itself."""
FAR = 20
"""Lines between two ranges beyond which text is uncertain; 43 of 47 true pairs lay within."""
NEAR = 3
ALL_PAIRS = 1_000_000
"""Up to so many pairs of a case all are compared; beyond, those near in place or in rarer words."""
STOOD = "pre-existing"
"""Placement of what a change found there."""
FOLD_LOOK = 50
"""Earlier findings of one place that a finding is compared with, to see whether it repeats one."""

_SAID, _MATCH, _TEXT, _QUOTE, _NEAR, _OTHER_FILE = range(6)
_WORDS = (_SAID, _MATCH, _TEXT)
_PLACES = (_QUOTE, _NEAR)

_Edges = dict[tuple[int, float, float], list[int]]
"""Possible pairs by kind and closeness (the least key is the closest), each as its :func:`_code`."""


def crosscheck(
    left: Sequence[Finding], right: Sequence[Finding], *, same: SameFinding | None = None
) -> list[Pair]:
    """Pair the findings of two panels on one case; indices in a pair are those of the arguments.

    Every finding occurs: ``alone``, or in at most one ``match``, or without one in an ``uncertain`` pair
    with the finding that it is most like.  That one may have a match or other such findings beside it; no
    pair is uncertain whose two findings both have a match.  A finding that repeats one of its own panel is
    ``alone`` and says so.

    ``same(left, right)`` overrides the text: True matches, False keeps apart, None has no opinion.
    It is asked about every pair that is compared.

    Sorted by left, then right index.  ``crosscheck(b, a)`` gives the mirrored pairs, and the order of
    the arguments decides only between equal findings.  Raises nothing but what ``same`` raises.
    """
    lefts, rights = items(left, right)
    lefts, pairs = _fold(lefts, left, "left")
    rights, repeated = _fold(rights, right, "right")
    pairs += repeated
    total = len(lefts) * len(rights)
    unseen = ""
    if total <= ALL_PAIRS:
        compared = all_pairs(lefts, rights, every=same is not None)
    else:
        some = shortlist(lefts, rights, FAR + SPAN - 1, ALL_PAIRS)
        compared = some_pairs(lefts, rights, some)
        unseen = f" among those compared ({len(some)} of {total} pairs: the nearest places, the rarer words)"
    edges = _edges(compared, left, right, same)
    pairs += _settle(edges, (lefts, rights), (left, right))
    pairs += _alone(pairs, (left, right), unseen)
    return sorted(pairs, key=lambda p: (p.left is None, p.left or 0, p.right is None, p.right or 0))


# --- repetitions inside one panel -------------------------------------------------------------


def two_defects(one: Finding, other: Finding) -> bool:
    """Whether two findings of one panel are two defects though their words are the same.

    Both quote code and neither quote holds the other, or the change is to blame for one of them only.
    Folding those would hide a defect behind one that somebody refutes or accepts.
    """
    if one.beside != other.beside or (one.placement == STOOD) != (other.placement == STOOD):
        return True
    mine, theirs = ("".join((f.quote or "").split()) for f in (one, other))
    return bool(mine and theirs) and mine not in theirs and theirs not in mine


def _fold(panel: Sequence[Item], findings: Sequence[Finding], side: str) -> tuple[list[Item], list[Pair]]:
    """What a panel holds, each defect once, and a lone pair for each repetition.

    The grounded and the most severe speak for the rest: what is folded away must never be worse
    than what stays.
    """
    kept: list[Item] = []
    repeats: list[Pair] = []
    told: dict[int, list[Finding]] = {}
    exact: dict[tuple[object, ...], Item] = {}
    places: dict[tuple[str, int | None], list[Item]] = {}
    for item in sorted(panel, key=lambda i: (i.weight, i.rank, i.index)):
        finding = findings[item.index]
        key = (
            item.file, item.start, item.end, item.was, item.words, item.names, item.rule,
            finding.quote, finding.placement, finding.beside,
        )  # fmt: skip
        lines = [None] if item.start is None or item.end is None else range(item.start, item.end + 1)
        around = (earlier for line in lines for earlier in places.get((item.file, line), ()))
        first = exact.get(key) or next(
            (
                e
                for e in around
                if _repeats(e, item) and not any(two_defects(f, finding) for f in told[e.index])
            ),
            None,
        )
        if first is not None:
            told[first.index].append(finding)
            reason = f"repeats {side} {first.index}, counted once"
            left, right = (item.index, None) if side == "left" else (None, item.index)
            repeats.append(Pair(left, right, "alone", score(first, item), reason))
            continue
        exact[key] = item
        told[item.index] = [finding]
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
    return first.rule == item.rule and named and not apart and jaccard(first, item) >= FOLD


# --- the rule ---------------------------------------------------------------------------------


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


def _kind(a: Item, b: Item, alike: float, said: int) -> tuple[int, float, float] | None:
    """How two findings may be paired, and how close they are; None when they are distinct."""
    if a.file != b.file and a.file and b.file:
        one = alike >= OTHER_FILE and said >= FEW and _same_root(a, b)
        return (_OTHER_FILE, -alike, 0) if one else None
    gap = _gap(a, b) if a.file and b.file else None
    if alike >= UNCERTAIN:
        away = FAR if gap is None else min(gap, FAR + 1)  # far is far: ten times as many keys otherwise
        sure = alike >= MATCH and _says_enough(a, b, said)
        if sure or (away <= FAR and (said >= FEW or (said and alike >= MATCH))):
            return (_MATCH if sure and away <= FAR else _TEXT), -alike, away
    if gap is not None and gap <= NEAR:
        if _same_quote(a, b):
            return _QUOTE, gap, -alike
        if a.category == b.category:
            return _NEAR, gap, -alike
    return None


def _says_enough(a: Item, b: Item, said: int) -> bool:
    """Whether common words are so many, or so much of both texts, that a score means something."""
    if said > FEW or a.words == b.words:
        return True
    return said == FEW and len(a.words & b.words) >= FEW_SHARE * len(a.words | b.words)


def _same_quote(a: Item, b: Item) -> bool:
    return bool(a.quote and b.quote) and (a.quote in b.quote or b.quote in a.quote)


def _edges(
    compared: Iterable[Compared],
    left: Sequence[Finding],
    right: Sequence[Finding],
    same: SameFinding | None,
) -> _Edges:
    """All possible pairs; ``same`` has the first word about each."""
    edges: _Edges = defaultdict(list)
    for a, b, alike, said in compared:
        told = None if same is None else same(left[a.index], right[b.index])
        if told is True:
            kind: tuple[int, float, float] | None = (_SAID, -alike, 0)
        else:
            kind = None if told is False else _kind(a, b, alike, said)
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


def _settle(
    edges: _Edges,
    sides: tuple[Sequence[Item], Sequence[Item]],
    findings: tuple[Sequence[Finding], Sequence[Finding]],
) -> list[Pair]:
    """Matches one-to-one; then each of the rest beside the one that it is most like."""
    lefts, rights = ({item.rank: item for item in side} for side in sides)  # equal ones were folded
    free = set(lefts), set(rights)
    found = [*_matches(edges, *free), *_doubts(edges, *free)]
    pairs = []
    for outcome, kind, i, j, beside in found:
        a, b = lefts[i], rights[j]
        texts = text_of(findings[0][a.index]), text_of(findings[1][b.index])
        pairs.append(Pair(a.index, b.index, outcome, score(a, b), _reason(kind, a, b, texts) + beside))
    return pairs


_Found = tuple[str, int, int, int, str]
"""Outcome, kind, left rank, right rank, and what else is to be said."""


def _matches(edges: _Edges, lefts: set[int], rights: set[int]) -> Iterator[_Found]:
    """The closest first, one-to-one; what is matched is taken out of ``lefts`` and ``rights``."""
    for kind, i, j in _closest_first(edges, (_SAID, _MATCH)):
        if not (lefts and rights):
            return
        if i in lefts and j in rights:
            lefts.remove(i)
            rights.remove(j)
            yield "match", kind, i, j, ""


def _doubts(edges: _Edges, lefts: set[int], rights: set[int]) -> Iterator[_Found]:
    """For each finding without a match the closest one, whether that has one or not.

    By words where any are shared.  Else by place, and then one-to-one among those without a match: a
    place says nothing about a finding whose partner is found.
    """
    seeking = set(lefts), set(rights)
    for kinds in (_WORDS, _PLACES, (_OTHER_FILE,)):
        apart = set(lefts), set(rights)
        for kind, i, j in _closest_first(edges, kinds):
            mine, theirs = i in seeking[0], j in seeking[1]
            if kinds is _PLACES and not (i in apart[0] and j in apart[1]):
                continue
            if mine or theirs:
                for ranks, rank in ((seeking[0], i), (seeking[1], j), (apart[0], i), (apart[1], j)):
                    ranks.discard(rank)
                nearer = (
                    "" if mine and theirs else f"; the {'right' if mine else 'left'} one has a nearer partner"
                )
                yield "uncertain", kind, i, j, nearer
            elif not (seeking[0] or seeking[1]):
                return


def _closest_first(edges: _Edges, kinds: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Kind, left rank and right rank of every edge of these kinds."""
    for key in sorted(key for key in edges if key[0] in kinds):
        for code in sorted(edges[key]):
            yield (key[0], *_ranks(code))


def _reason(kind: int, a: Item, b: Item, texts: tuple[str, str]) -> str:
    words = a.words & b.words
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
    text = f"{place}, {len(words)} of {len(a.words | b.words)} words shared"
    if told := common(*texts, words):
        text += f": {told}"
    if kind == _OTHER_FILE:
        text += f"; both name {_same_root(a, b)}: perhaps one root cause"
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
