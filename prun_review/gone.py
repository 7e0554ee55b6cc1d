"""What a change takes away: lines that others replace, and names that nothing declares any more.  Pure.

A name that is gone breaks code that the change never touched: ``import os`` is gone and ``os.path.join``
stands where it stood.  Names are told without knowing the language, so that too many count rather than
too few: every word of a deleted line (of a deleted file all of them) that no added line of the change
holds.  Where the deleted line declares the name (an import, a definition, an assignment), only a line
that declares it again brings it back; a use or a comment does not.  A deleted or renamed file takes away
its stem and its module path.  Prose takes no names away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from prun_review.change import Change, FileChange

_NAME = re.compile(r"[^\W\d]\w+")
_ANY = re.compile(r"[^\W\d]\w*")
_HYPHENS = re.compile(r"\w+(?:-\w+)+")
_SHOWN = 200
"""Characters of a name; longer runs are data."""
_PROSE = (".md", ".rst", ".adoc")
_COMMENT = re.compile(
    r"\s*(?:/\*(?:(?!\*/).)*(?:\*/\s*)?|<!--(?:(?!-->).)*(?:-->\s*)?|//.*"
    r"|#(?!\s*(?:if|ifn?def|else|elif|endif|define|undef|include|import|pragma|error)\b|\[).*)\Z"
)
"""A line that is a comment from end to end: code may follow ``/* this */``, and ``# define`` is code."""
_LIKE_COMMENT = ("#", "//", "/*", "*", "--", "<!--", ";", "%")
"""How a line begins that may be one: it brings no name back."""
_DECLARES = frozenset(
    re.findall(
        r"\w+",
        "import from use using include require def class func function fn fun sub struct type typedef"
        " interface trait enum union namespace module package const let var val static define export",
    )
)
_NO_TARGET = re.compile(r"[(\[{.\"'!<>=]")
"""What stands before a ``=`` that assigns to no plain name."""
KEYWORDS = _DECLARES | frozenset(
    re.findall(
        r"\w+",
        "False None True and as assert async auto await bool boolean break bytes case catch char cls continue"
        " default del delete dict do double echo elif else end except extends extern false fi final finally"
        " float for foreach global goto if implements in inline instanceof int is isset lambda len list long"
        " match mut my new nil nonlocal not null object of or pass print private protected pub public raise"
        " range return self set short signed sizeof str string super switch template then this throw throws"
        " true try tuple typeof undef undefined unsigned virtual void volatile when where while with yield",
    )
)
"""Words that are names of nothing that one change could take away from all others."""


@dataclass(frozen=True)
class Lost:
    """The names that a change takes away."""

    names: frozenset[str] = frozenset()
    modules: frozenset[tuple[str, str]] = frozenset()
    """Folder and stem of files that are gone under that name."""

    def held(self, text: str) -> str:
        """The first of them that stands in a text; empty for none."""
        return next((name for line in text.splitlines() if (name := self._in(line))), "")

    def _in(self, line: str) -> str:
        before = ""
        word: str
        for word in _ANY.findall(line):
            if word in KEYWORDS:
                continue
            if (before, word) in self.modules:
                return f"{before}.{word}".lstrip(".")
            if word in self.names:
                return word
            before = word
        return next((found[0] for found in _HYPHENS.finditer(line) if found[0] in self.names), "")


def words(text: str) -> Iterator[str]:
    """The names in a text, in order: no keywords, no single letters."""
    return (w for w in _NAME.findall(text) if w not in KEYWORDS and len(w) <= _SHOWN)


@lru_cache(maxsize=2)  # every reviewer's findings ask this of the same change
def lost(change: Change) -> Lost:
    """The names that a change takes away; the work grows with its lines alone."""
    gone: set[str] = set()
    undeclared: set[str] = set()
    back: set[str] = set()
    redeclared: set[str] = set()
    for file in change.files:
        prose = file.old_path.lower().endswith(_PROSE)
        for line in (line for hunk in file.hunks for line in hunk.lines):
            text = line[1:]
            if line[:1] == "+" and not text.lstrip().startswith(_LIKE_COMMENT):
                back.update(words(text))
                redeclared.update(_declared(text))
            elif line[:1] == "-" and not prose and not _COMMENT.match(text):
                gone.update(words(text))
                undeclared.update(_declared(text))
    stems, modules = _modules(change)
    return Lost(frozenset((gone - back) | (undeclared - redeclared) | stems), frozenset(modules))


def _declared(text: str) -> Iterator[str]:
    """The names that a line may declare."""
    if not _DECLARES.isdisjoint(re.findall(r"\w+", text[:_SHOWN])[:3]):
        yield from words(text)
        return
    target, equals, value = text[:_SHOWN].partition("=")
    if equals and value[:1] not in ("=", ">") and not _NO_TARGET.search(target):
        yield from words(target)


def _modules(change: Change) -> tuple[set[str], set[tuple[str, str]]]:
    """Stems, and folders with stems, under which files can no more be found."""
    kept = {_module(f.path) for f in change.files if f.file.status != "deleted"}
    gone = {_module(f.old_path) for f in change.files if f.file.status in ("deleted", "renamed")} - kept
    stems = {stem for _, stem in gone} - {stem for _, stem in kept}
    return {stem for stem in stems if len(stem) > 1 and stem not in KEYWORDS}, gone


def _module(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    if stem in ("__init__", "index", "mod"):
        folder, _, stem = folder.rpartition("/")
    return folder.rpartition("/")[2], stem


# --- lines ------------------------------------------------------------------------------------


def replaced(file: FileChange) -> Iterator[tuple[int, int]]:
    """Every old line that is gone where others came, with the line of the head that stands in its place."""
    for gone, come in _runs(file):
        if come:
            yield from ((old, come[min(n, len(come) - 1)]) for n, old in enumerate(gone))


def _runs(file: FileChange) -> Iterator[tuple[list[int], list[int]]]:
    """Lines of a diff that follow each other, gone and come."""
    for _, rows in file.numbered():
        gone: list[int] = []
        come: list[int] = []
        for old, new, _ in rows:
            if new is None and old is not None:
                gone.append(old)
            elif old is None and new is not None:
                come.append(new)
            else:
                yield gone, come
                gone, come = [], []
        yield gone, come
