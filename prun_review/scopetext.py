"""The section ``## Scope`` of a task file: ``CREATE:``, ``MODIFY:`` and ``BOUNDARY:``.  Pure.

Two styles are known: patterns behind the word, parted by commas, and of old the word in bold with a list
below it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prun_review.errors import BriefError
from prun_review.paths import suspicious
from prun_review.patterns import matcher
from prun_review.scopes import expand, head, normal
from prun_review.tasks import Scope, Target

CREATE, MODIFY, BOUNDARY = "CREATE", "MODIFY", "BOUNDARY"
_WORD = re.compile(
    r"\s*(?:[-*+]\s+)?\**\s*(create|modify|boundary|boundaries)\b\s*\**\s*:(?:\*+(?=\s|$))?(.*)", re.I
)
_OTHER = re.compile(r"\s*(?:[-*+]\s+)?\**[A-Za-z][A-Za-z ]*\**:\**\s")
_HEAD = re.compile(
    r"\s*(?:[-*+]\s+)?\**([A-Za-z]+)\**:\**\s+(?:`?([\w.{}*-]+/\S*|[\w*-]+\.\w+)`?\s*(?:,.*)?)?$"
)
"""A word as :data:`CREATE` is one, and either nothing or paths behind it: no prose."""
_SUBHEADING = re.compile(r"#{3,}\s+\**(create|modify|boundary|boundaries)\b.*", re.I)
_BULLET = re.compile(r"\s*[-*+]\s+")
_COMMENT = re.compile(r"(?:^|\s)#.*$|<!--.*?-->")
_CODE = re.compile(r"`([^`]+)`")
_ASIDE = re.compile(r"\s+(?:[-(]|--|\u2013|\u2014|->|=>|\u2192).*$")
_NEAR = 0.7
"""Likeness from which a word counts as a slip of another one."""
_NOTHING = frozenset({"none", "n/a", "na", "-", "nothing", "(none)", "[]", "\u2014"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One pattern of a scope."""

    kind: str
    """:data:`CREATE`, :data:`MODIFY` or :data:`BOUNDARY`."""
    target: Target
    line: int


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a scope."""

    level: str
    code: str
    line: int
    text: str
    remedy: str = ""


def read(lines: Sequence[tuple[int, str]]) -> tuple[tuple[Entry, ...], tuple[Fault, ...]]:
    """The patterns of a section, given its lines with their numbers, and what is wrong with it."""
    entries: list[Entry] = []
    faults: list[Fault] = []
    for kind, line, item in _items(lines):
        try:
            entries += _entries(kind, line, item, faults)
        except (BriefError, ValueError) as error:
            said = error.message if isinstance(error, BriefError) else str(error)
            remedy = "write it relative to the root of the project, with forward slashes and without '..'"
            faults.append(Fault("error", "bad-scope", line, f"{kind}: {said}", remedy))
    for line, text in lines:
        if word := _unknown(text):
            said = f"{word}: is no word of a scope, so nothing of it counts"
            faults.append(
                Fault("warning", "scope-word", line, said, f"write {CREATE}, {MODIFY} or {BOUNDARY}")
            )
    first = {(entry.kind, entry.target): entry for entry in reversed(entries)}
    return tuple(entry for entry in entries if first[entry.kind, entry.target] is entry), tuple(faults)


def scope_of(entries: Sequence[Entry]) -> Scope:
    """The record that they make."""
    patterns = {
        kind: tuple(e.target.pattern for e in entries if e.kind == kind) for kind in (CREATE, BOUNDARY)
    }
    return Scope(patterns[CREATE], tuple(e.target for e in entries if e.kind == MODIFY), patterns[BOUNDARY])


def _unknown(line: str) -> str:
    """The word of a line that looks as if it stood for a kind of scope, and is none; empty for others."""
    found = None if _WORD.match(line) else _HEAD.match(f"{_COMMENT.sub('', line)} ")
    if not found:
        return ""
    near = difflib.get_close_matches(found[1].upper(), (CREATE, MODIFY, BOUNDARY), 1, _NEAR)
    return found[1] if found[2] or near or found[1].isupper() else ""


def _items(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[str, int, str]]:
    """Kind, line and text of everything between commas."""
    kind, after_blank = "", False
    for number, line in lines:
        word, bullet, rest = _WORD.match(line) or _SUBHEADING.match(line), _BULLET.match(line), line
        if word:
            kind = BOUNDARY if word[1].upper().startswith("BOUNDAR") else word[1].upper()
            rest = word[2] if word.re is _WORD else ""
        elif bullet:
            rest = line[bullet.end() :]
        elif line.strip() and (after_blank or _OTHER.match(f"{line} ")):
            kind = ""  # prose after the list
        after_blank = not line.strip()
        if kind:
            for item in _parted(_COMMENT.sub("", rest)):
                yield kind, number, item


def _parted(text: str) -> Iterator[str]:
    """What stands between commas, but for those in braces."""
    depth, begin = 0, 0
    for at, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth <= 0:
            yield text[begin:at]
            begin = at + 1
    yield text[begin:]


def _entries(kind: str, line: int, item: str, faults: list[Fault]) -> list[Entry]:
    code = _CODE.search(item)
    text = code[1].strip() if code else _ASIDE.sub("", item.strip())
    if not text or text.lower().rstrip(".") in _NOTHING:
        return []
    if not code and re.search(r"\s", re.sub(r"\{[^{}]*\}", "", text)):
        level = "warning" if kind == BOUNDARY else "error"
        said = f"{kind}: {text[:80]!r} is no path"
        remedy = "part patterns by commas; put a name with blanks between backticks"
        faults.append(Fault(level, "scope-prose", line, said, remedy))
        return []
    if "\\" in text:
        raise ValueError(f"{text[:80]!r} has backslashes")
    targets = [_target(pattern) for pattern in expand(text)]
    if kind != MODIFY and any(target.symbol for target in targets):
        said = f"{kind}: {text[:80]!r} names a part of a file, which only MODIFY can"
        faults.append(Fault("warning", "scope-symbol", line, said))
        # A boundary around one class would keep the task from the whole file.
        targets = [] if kind == BOUNDARY else [Target(target.pattern) for target in targets]
    return [Entry(kind, target, line) for target in targets]


def _target(text: str) -> Target:
    pattern, _, symbol = text.partition("::")
    pattern = pattern.strip()
    if head(pattern) != pattern or suspicious(pattern) or not normal(pattern):
        matcher((pattern,))  # refuses what leaves the tree or is malformed
    symbol = symbol.strip().removesuffix("()").replace("::", ".").strip(".")
    return Target(normal(pattern), "" if symbol == "*" else symbol)
