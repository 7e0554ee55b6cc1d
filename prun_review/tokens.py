"""What of a finding's text is compared: stemmed word parts, and the names of code in it.

Foreign text is capped before anything is done with it, so a hostile finding costs no more than a
long one.  A change here moves every score: it needs a new :data:`prun_review.matching.VERSION`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

MAX_TEXT = 2000
"""Characters of title and of detail that are looked at; real first sentences end before 400."""
MAX_WORDS = 200
"""Word parts per finding, and names; real ones have 8 to 40."""
MAX_NAME = 60
"""Characters of a code name; longer runs are data, not names."""

_WORD = re.compile(r"[^\W\d]\w*|\d+")
_PART = re.compile(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])|[\r\n]")
_QUOTED = re.compile(r"[`'\"]([^\W\d][\w.]{0,60}+)(?:\(\))?[`'\"]")
_CALLED = re.compile(r"\b[^\W\d]\w*+(?=\(|\.[^\W\d_])")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by can could for from has have if in into is it its may of on or"
        " should so than that the their then there these this those to was were when where which while"
        " will with would",
    )
)
_SUFFIX = re.compile(r"(?<=...)(?:ations|ation|ingly|edly|ings|ments|ment|ing|ies|ed|es|ly|s|e)$")
_STEM = 6


def first_sentence(text: str) -> str:
    """``text`` up to the end of its first sentence or line, at most :data:`MAX_TEXT` characters."""
    return _SENTENCE_END.split(text[:MAX_TEXT].strip(), maxsplit=1)[0]


def split(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words and the names of code in ``text``, each at most :data:`MAX_WORDS`.

    Words are stemmed parts without stop words.  ``getUserName`` gives ``get``, ``user``, ``name`` and,
    as one more word, ``=getusername``: two reviewers who name the same thing in full agree more than
    two who both say "user".  A text without any word counts as one word.

    Names are compound words, words in quotes, and words before ``(`` or ``.x``, as written.
    """
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    found: set[str] = set()
    names: set[str] = set()
    for word in _WORD.findall(text.replace("n't", " not")):
        stems, compound = _stems(word)
        found |= stems
        if compound:
            names.add(word)
        if len(found) >= MAX_WORDS:
            break
    if not found and text.strip():
        found.add(text.strip()[:MAX_NAME])
    if "(" in text or "." in text:
        names.update(_CALLED.findall(text))
    for quoted in _QUOTED.findall(text):
        names.update(filter(None, quoted.split(".")))
    short = sorted(name for name in names if len(name) <= MAX_NAME)
    return frozenset(found), frozenset(short[:MAX_WORDS])


@lru_cache(maxsize=20_000)  # reviewers use the same few thousand words again and again
def _stems(word: str) -> tuple[frozenset[str], bool]:
    """The stems of one word, and whether it is a compound."""
    parts = [part.lower() for part in _PART.findall(word)]
    stems = {_stem(part) for part in parts if part not in _STOP and (len(part) > 1 or part.isdigit())}
    if len(parts) > 1:
        stems.add("=" + "".join(parts)[:MAX_NAME])
    return frozenset(stems), len(parts) > 1


def _stem(word: str) -> str:
    return _SUFFIX.sub("", word)[:_STEM]
