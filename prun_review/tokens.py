"""What of a finding is compared: its place, stemmed word parts, and the names of code in it.

Foreign text is capped before anything is done with it, so a hostile finding costs no more than a
long one.  A change here moves every score: it needs a new :data:`prun_review.matching.VERSION`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from prun_review.model import SEVERITIES, Finding, Place
from prun_review.paths import among, normalise_path

MAX_TEXT = 2000
"""Characters of title and of detail that are looked at; real first sentences end before 400."""
MAX_WORDS = 200
"""Word parts per finding, and names; real ones have 8 to 40."""
MAX_NAME = 60
"""Characters of a code name; longer runs are data, not names."""

MIN_QUOTE = 10
"""Characters, white space aside, that a quote needs to tell one place from another."""
SPAN = 4
"""Lines of a range that count: who marks a whole function would be near everything in it."""

_WORD = re.compile(r"[^\W\d]\w*|\d+")
_PART = re.compile(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LETTERS = re.compile(r"\d+|[^\W\d_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(])|[\r\n]")
_QUOTED = re.compile(r"[`'\"]([^\W\d][\w.]{0,60}+)(?:\(\))?[`'\"]")
_CALLED = re.compile(r"\b[^\W\d]\w*+(?=\(|\.[^\W\d_])")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by can could few for from has have if in into is it its many may much not"
        " of on or should so than that the their then there these this those to too very was were when"
        " where which while will with would",
    )
)
_SUFFIX = re.compile(r"(?<=...)(?:ations|ation|ingly|edly|ings|ments|ment|ing|ies|ed|es|ly|s|e)$")
_STEM = 6
_SEVERE = SEVERITIES.index("high")


@dataclass(frozen=True, slots=True)
class Item:
    """A finding as the matcher compares it."""

    index: int
    """Place among the findings of its side."""
    rank: int
    """Place by content among those of both sides; equal for equal findings."""
    file: str
    """Normalised path, or empty; in a change, as with the lines, in the head."""
    start: int | None
    end: int | None
    """Last line that counts, inclusive."""
    words: frozenset[str]
    names: frozenset[str]
    plain: frozenset[str]
    """Words that are no part of a name."""
    category: str
    weight: tuple[bool, int]
    """The least speaks for its repetitions: grounded before not, then the most severe."""
    rule: str | None
    quote: str
    """Source text without white space; empty for a short one, and for a finding below ``high``."""
    was: tuple[int, int] | None = None
    """Of a finding on the old side of a change its own lines: where code is gone, many old lines have
    one place in the head."""


def items(left: Sequence[Finding], right: Sequence[Finding]) -> tuple[list[Item], list[Item]]:
    """Both sides prepared, with ranks by content so that ties do not hang on the order of arguments."""
    rank = {key: n for n, key in enumerate(sorted({_content(f) for f in (*left, *right)}))}
    files = {place_of(f).file for f in (*left, *right)}
    paths = {file: normalise_path(file) for file in files if file}
    known = set(paths.values())

    def item(index: int, finding: Finding) -> Item:
        words, names = split(text_of(finding))
        place = place_of(finding)
        line, end = _lines(place)
        was = _lines(finding) if finding.mapped else (None, None)
        file = among(paths[place.file], known) if place.file else ""
        severity = SEVERITIES.index(finding.severity) if finding.severity in SEVERITIES else len(SEVERITIES)
        return Item(
            index,
            rank[_content(finding)],
            file,
            line,
            end,
            words,
            names,
            plain=words.difference(*(_stems(name)[0] for name in names)),
            category=finding.category,
            weight=(not finding.grounded, -severity),
            rule=finding.rule,
            quote=_quote(finding.quote or "") if severity >= _SEVERE else "",
            was=None if was[0] is None or was[1] is None else (was[0], was[1]),
        )

    return [item(i, f) for i, f in enumerate(left)], [item(i, f) for i, f in enumerate(right)]


def text_of(finding: Finding) -> str:
    """What of a finding's words is compared: the title and the first sentence of the detail."""
    return f"{finding.title[:MAX_TEXT]}\n{first_sentence(finding.detail)}"


def place_of(finding: Finding) -> Place:
    """Where a finding stands, in the one coordinate system of all findings of a review: the head's."""
    return finding.mapped or Place(finding.file or "", finding.line, finding.end_line)


def _lines(place: Place | Finding) -> tuple[int | None, int | None]:
    """First and last line that count."""
    line = place.line if place.line is not None and place.line > 0 else None
    return line, None if line is None else min(max(place.end_line or line, line), line + SPAN - 1)


def _quote(text: str) -> str:
    """Source text by which two findings can be told to be about the same code, or empty."""
    text = "".join(text[:MAX_TEXT].split())
    return text if len(text) >= MIN_QUOTE else ""


def _content(finding: Finding) -> tuple[str | int, ...]:
    f, place = finding, place_of(finding)
    return (
        f.file or "", f.line or 0, f.end_line or 0, f.title, f.detail, f.category, f.severity,
        f.grounding, f.rule or "", f.quote or "", f.suggestion or "",
        place.file, place.line or 0, place.end_line or 0, f.placement, f.beside,
    )  # fmt: skip


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
    text = _plain_letters(text)
    found: set[str] = set()
    names: set[str] = set()
    for word in _WORD.findall(text.replace("n't", "")):
        stems, compound = _stems(word[:MAX_NAME])
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
    return frozenset(sorted(found)[:MAX_WORDS]), frozenset(short[:MAX_WORDS])


def spelling(text: str) -> dict[str, str]:
    """The stems that :func:`split` finds in ``text``, each with the shortest word that has it: names of
    code as they are written, other words and parts of names in lower case."""
    spelt: dict[str, str] = {}
    for word in _WORD.findall(_plain_letters(text).replace("n't", "")):
        for stem, part in _parts(word[:MAX_NAME]):
            spelt[stem] = min(spelt.get(stem, part), part, key=lambda text: (len(text), text))
    return spelt


def _plain_letters(text: str) -> str:
    """``text`` without accents."""
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _parts(word: str) -> list[tuple[str, str]]:
    """The stems of one word, each with what it is the stem of."""
    pattern = _PART if word.isascii() else _LETTERS
    parts = [part.lower() for part in pattern.findall(word)]
    stems = [(_stem(part), part) for part in parts if part not in _STOP and (len(part) > 1 or part.isdigit())]
    return [*stems, ("=" + "".join(parts), word)] if len(parts) > 1 else stems


@lru_cache(maxsize=20_000)  # reviewers use the same few thousand words again and again
def _stems(word: str) -> tuple[frozenset[str], bool]:
    """The stems of one word, and whether it is a compound."""
    stems = frozenset(stem for stem, _ in _parts(word))
    return stems, any(stem.startswith("=") for stem in stems)


def _stem(word: str) -> str:
    return _SUFFIX.sub("", word)[:_STEM]
