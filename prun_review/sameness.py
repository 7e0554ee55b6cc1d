"""Whether two findings that sound alike may count as one defect over time.  Pure.

The matcher (:mod:`prun_review.matching`) tells what sounds alike.  That is enough to ask again, and not
enough to let something pass: two queries of one file that are injected into sound alike, and the one that
is known must not hide the new one.  So here code decides, in both findings: what they quote, where they
stand, what they name.  What is in doubt is not the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from prun_review.fingerprints import words
from prun_review.model import Finding
from prun_review.tokens import MIN_QUOTE, SPAN, first_sentence, place_of, split, text_of

NEAR = 3
"""Lines between two places that are one place still: reviewers count by hand."""
SHARE = 0.6
"""Of the visible characters of each of two quotes, in whole lines that both hold."""

STANDS, REPEATED, GONE = "exact", "moved", "ungrounded"
"""What became of the quote of an earlier finding in the later tree, in the words of grounding: it stands
there once, several times, or no more."""


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
        stands = standing and old.grounding in (STANDS, REPEATED)
        return share_code(old.quote, new.quote) and (between <= NEAR or not stands)
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


def share_code(a: str, b: str) -> bool:
    """Whether one quote holds the other, or a good part of both is the same whole lines."""
    mine, theirs = ("".join(text.split()) for text in (a, b))
    short, long = sorted((mine, theirs), key=len)
    if mine == theirs or (len(short) >= MIN_QUOTE and short in long):
        return True
    both = _lines(a) & _lines(b)
    return sum(map(len, both)) >= SHARE * len(long)


def apart(findings: Sequence[Finding]) -> bool:
    """Whether some of these quote code that none of the others shares: they may be more than one defect."""
    quotes = [f.quote for f in findings if f.quote]
    joined, left = quotes[:1], quotes[1:]
    while near := [q for q in left if any(share_code(q, other) for other in joined)]:
        joined += near
        left = [q for q in left if q not in near]
    return bool(left)


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
