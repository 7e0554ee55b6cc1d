"""The stable name of a finding: the same from run to run, whatever moves around it.  Pure.

It is made of what a defect keeps: the case, the file, the side of a change, the words of its title and
what it quotes.  Lines, severity, category, detail, and who reported it are no part of it.

Where nothing is quoted a name alone may be no more than "SQL injection": then place or detail must agree
too (:mod:`prun_review.sameness`).

The words are in it even where a quote is proven: two defects of one line share the quote (a query that
is injected into, and whose error is swallowed), and a name that both have would let one of them hide
behind the other.  A defect told in other words is found by the matcher instead (:mod:`prun_review.tracking`).

The spelling here is of its own and never changes under one prefix, because names are kept in files of
users: what the matcher calls a word may get better, and every stored name would be lost.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache

from prun_review.model import Finding
from prun_review.paths import normalise_path
from prun_review.tokens import place_of

PREFIX = "f1-"
"""The version of what a fingerprint is made of: those of another one never match."""

TITLE, DETAIL, QUOTE = 500, 500, 2000
"""Characters that are kept of a title and of a detail, and visible ones of a quote."""

_FORM = re.compile(r"f1-[0-9a-f]{16}")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_LINE = re.compile(r"\blines?\s*#?\d+(?:\s*(?:-|to|and)\s*\d+)?|(?<=\w):\d+(?:[:-]\d+)*\b", re.IGNORECASE)
"""Where a text counts lines (``line 3``, ``x.py:3``): these numbers move while a defect stays."""
_WORD = re.compile(r"\w+|[<>=+*/%&|^~$@#\\]+")
"""Words, and signs that tell one line of code from another; the rest is how a text is set."""


def fingerprint(case: str, finding: Finding) -> str:
    """``f1-<16 hex>``."""
    return name(case, core(finding))


def name(case: str, kept: Finding) -> str:
    """The fingerprint of a finding of which the :func:`core` is known."""
    parts = (
        case,
        kept.file or "",
        kept.side or "new",
        words(kept.title),
        "".join((kept.quote or "").split()),
    )
    text = "".join(f"{len(part)}:{part}" for part in map(_clean, parts))
    return f"{PREFIX}{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def is_fingerprint(text: str) -> bool:
    """Whether a text is a fingerprint of this version."""
    return bool(_FORM.fullmatch(text))


def core(finding: Finding) -> Finding:
    """What is kept of a finding to know it again: its place in the head, its words, capped, and its quote.

    The core of a core is itself, and it has the fingerprint of the finding.
    """
    place = place_of(finding)
    return Finding(
        title=_clean(" ".join(finding.title.split()))[:TITLE].rstrip(),
        detail=_lines(_clean(finding.detail))[:DETAIL].rstrip(),
        file=_path(_clean(place.file)) or None,
        line=place.line if place.line is not None and place.line > 0 else None,
        severity=finding.severity,
        quote=_quote(finding.quote or "") or None,
        side=finding.side,
    )


@lru_cache(maxsize=10_000)  # of thousands of findings in hundreds of files
def _path(text: str) -> str:
    """Normalised until nothing is left to do: each step makes it shorter."""
    while (shorter := normalise_path(text)) != text:
        text = shorter
    return text


def _lines(text: str) -> str:
    """Without blank lines, white space collapsed; where lines end counts for what its first sentence is."""
    return "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))


def _quote(text: str) -> str:
    """Its lines without blank ones, white space collapsed, up to :data:`QUOTE` visible characters."""
    kept: list[str] = []
    left = QUOTE
    for line in _lines(_clean(text)).split("\n"):
        parts: list[str] = []
        for word in line.split():
            parts.append(word[:left])
            left -= len(parts[-1])
            if not left:
                break
        kept += [" ".join(parts)] if parts else []
        if not left:
            break
    return "\n".join(kept)


def words(title: str) -> str:
    """What of a text counts for a name: its words, however they are set, and no numbers of lines."""
    text = unicodedata.normalize("NFKC", _LINE.sub(" ", title)).casefold()
    return " ".join(_WORD.findall(text)) or "".join(title.split())


def _clean(text: str) -> str:
    """What UTF-8 or a reader of JSON cannot carry, replaced: a lone surrogate, a NUL."""
    return _NO_TEXT.sub("\ufffd", text) if "\0" in text or not text.isascii() else text
