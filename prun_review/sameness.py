"""Whether two findings that sound alike may count as one defect over time.  Pure.

The matcher (:mod:`prun_review.matching`) tells what sounds alike.  That is enough to ask again, and not
enough to let something pass: two queries of one file that are injected into sound alike, and the one that
is known must not hide the new one.  So here code decides, in both findings: what they quote, where they
stand, what they name.  What is in doubt is not the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from prun_review.fingerprints import words
from prun_review.model import Finding
from prun_review.tokens import MIN_QUOTE, SPAN, first_sentence, place_of, split, text_of

NEAR = 3
"""Lines between two places that are one place still: reviewers count by hand."""
SHARE = 0.6
"""Of the visible characters of each of two quotes, in whole lines that both hold."""

STANDS, REPEATED, HERE, GONE = "exact", "moved", "line-only", "ungrounded"
"""What became of the quote of an earlier finding in the later tree, in the words of grounding: it stands
there once; several times; several times, and still where it was, so only the line tells; or no more."""

UNPROVEN = "not grounded when it was accepted"
"""The note of an accepted finding that the tree did not hold: once it does, that is another matter."""


def one_defect(old: Finding, new: Finding, *, standing: bool) -> bool:
    """Whether two findings of one file that the matcher matched are one defect.

    ``standing``: the grounding of ``old`` is that of the later tree.  Code that still stands there is no
    other code than that at its place; where it is gone, only a quote can show what became of it.
    """
    if _side(old) != _side(new) or _strangers(old, new):
        return False
    between = gap(old, new)
    if between is None:
        return False
    if old.quote and new.quote:
        stands = standing and (old.grounding in (STANDS, REPEATED, HERE) or _side(old) == "old")
        moved = not stands and _most(old.quote, new.quote)
        return share_code(old.quote, new.quote) and (between <= NEAR or moved)
    gone = standing and bool(old.quote) and old.grounding == GONE
    return between <= NEAR and not gone


def one_place(old: Finding, new: Finding) -> bool:
    """Whether two findings of one name are one: without a quote that may be no more than "SQL injection"."""
    if old.quote or new.quote:
        return True
    between = gap(old, new)
    said = words(first_sentence(old.detail))
    return (between is not None and between <= NEAR) or bool(
        said and said == words(first_sentence(new.detail))
    )


def stays(old: Finding, *, standing: bool) -> bool:
    """Whether a later finding of the same name is another one where it stands elsewhere.

    Code that stands several times, and still where it was, is a copy at any other place; and a line that a
    change takes away says nothing of a like line that another one takes.
    """
    return _side(old) == "old" or (standing and bool(old.quote) and old.grounding == HERE)


def far(a: Finding, b: Finding) -> bool:
    """Whether two findings of one file are known to stand at two places."""
    between = gap(a, b)
    return between is not None and between > NEAR


def share_code(a: str, b: str) -> bool:
    """Whether one quote holds the other with little around it, or a good part of both is the same whole
    lines."""
    mine, theirs = ("".join(text.split()) for text in (a, b))
    if mine == theirs:
        return True
    (short, _), (long, text) = sorted(((mine, a), (theirs, b)), key=lambda pair: len(pair[0]))
    if len(short) >= MIN_QUOTE and short in long and _around(short, text) <= NEAR:
        return True
    both = _lines(a) & _lines(b)
    return sum(map(len, both)) >= SHARE * len(long)


def _around(short: str, text: str) -> int:
    """Lines of a quote before what it holds of another one, or after it, whichever are more: what stands
    farther away may be another defect."""
    lines = [line for line in ("".join(line.split()) for line in text.splitlines()) if line]
    ends = list(accumulate(map(len, lines)))
    start = "".join(lines).index(short)
    before = sum(end <= start for end in ends)
    after = sum(end - len(line) >= start + len(short) for end, line in zip(ends, lines, strict=True))
    return max(before, after)


def _most(a: str, b: str) -> bool:
    """Whether one quote is a good part of the other, by what is seen of it."""
    short, long = sorted(len("".join(text.split())) for text in (a, b))
    return short >= SHARE * long


def apart(findings: Sequence[Finding]) -> bool:
    """Whether some of these stand where none of the others does, or quote code that none of them shares:
    they may be more than one defect.  What quotes nothing joins nothing."""
    quoted = [f for f in findings if f.quote] or list(findings)
    joined, left = quoted[:1], quoted[1:]
    while near := [f for f in left if any(_together(f, other) for other in joined)]:
        joined += near
        left = [f for f in left if f not in near]
    return bool(left) or not all(any(_together(f, other) for other in quoted) for f in findings)


def _together(a: Finding, b: Finding) -> bool:
    """Whether two findings of one group are at one place."""
    between = gap(a, b)
    one_file = place_of(a).file == place_of(b).file
    if a.quote and b.quote:
        near = between is None or between <= NEAR
        return one_file and near and _side(a) == _side(b) and share_code(a.quote, b.quote)
    nowhere = a.line is None and b.line is None
    return one_file and (nowhere if between is None else between <= NEAR)


def gap(a: Finding, b: Finding) -> int | None:
    """Lines between two findings, 0 where they overlap; None where a line is missing."""
    (start, end), (other, last) = _range(a), _range(b)
    return max(0, start - last, other - end) if start and other else None


def _range(finding: Finding) -> tuple[int, int]:
    """First and last line that count; 0 where none is known."""
    place = place_of(finding)
    line = place.line if place.line and place.line > 0 else 0
    told = min(max(place.end_line or line, line) - line, SPAN - 1)
    return line, line + max(told, (finding.quote or "").strip().count("\n"))


def _lines(text: str) -> set[str]:
    return {line for line in ("".join(line.split()) for line in text.splitlines()) if len(line) >= MIN_QUOTE}


def _strangers(a: Finding, b: Finding) -> bool:
    """Whether both name code, and none that the other names."""
    mine, theirs = (split(text_of(f))[1] for f in (a, b))
    return bool(mine and theirs) and not mine & theirs


def _side(finding: Finding) -> str:
    return finding.side or "new"
