"""Which files an answer examined: what it says, and whether its program's own events bear that out.  Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from prun_review.change import Change
from prun_review.model import Unit, Violation
from prun_review.paths import DIFF_PREFIXES, Names, candidates, normalise_path
from prun_review.words import number

NAMED = 10
"""Files that a violation names; the rest is counted."""
WHOLE_CHANGE = "CHANGE.diff"
"""The file beside the snapshot that holds the diff of every changed file."""

_BETWEEN = re.compile(r"[\s'\"`:;,()<>|=\[\]{}&]+")
"""What stands between the words of a command, and between the names in what it printed."""
_GLOB = re.compile(r"[*?\[]")


def spelled(paths: Iterable[str], names: Names | None, prefixes: Sequence[str]) -> tuple[str, ...]:
    """Paths as the tree spells them, where it knows them; each once, in the order given."""
    known = names.exact if names else frozenset()
    made = [
        next((c for c in candidates(path, prefixes=prefixes, names=names) if c in known), None)
        or normalise_path(path, prefixes=prefixes)
        or "."
        for path in paths
        if path.strip()
    ]
    return tuple(dict.fromkeys(made))


def any_known(examined: Iterable[str], names: Names, *, root: bool) -> bool:
    """Whether one of them is one of ``names`` or a folder above one; ``root``: "." is such a folder.

    Only a program that was started on the root has gone through all of it: a reviewer who names it
    has named nothing.
    """
    said = set(examined)
    if said & names.exact or (root and "." in said):
        return True
    return any(folder in said for name in names.exact for folder in _folders(name))


def coverage(
    unit: Unit, examined: Iterable[str], touched: Sequence[str] | None, change: Change | None = None
) -> Violation | None:
    """What is wrong where less than ``unit.coverage`` of ``unit.files`` was examined; else None.

    A file counts if ``examined`` (as the tree spells it) names it or a folder above it, and the prompt
    showed its diff, or nothing is known of the program's tools (``touched`` is None), or what they
    ``touched`` speaks of it: by its path, its name, a pattern or a folder that a command was given, or
    the whole diff of the change.  A renamed file counts under both names.
    """
    if not unit.coverage or not unit.files:
        return None
    said = set(examined)
    traces = None if touched is None else _Traces.of(touched)
    claimed, missing = 0, []
    for file in unit.files:
        changed = change.named(file) if change else None
        names = {file, changed.old_path if changed else ""} - {""}
        claims = any(name in said or not said.isdisjoint(_folders(name)) for name in names)
        claimed += claims
        proven = file in unit.inlined or traces is None or any(map(traces.speak_of, names))
        if not (claims and proven):
            missing.append(file)
    done = len(unit.files) - len(missing)
    if done >= unit.coverage * len(unit.files):
        return None
    more = f" and {len(missing) - NAMED} more" if len(missing) > NAMED else ""
    unborne = (
        f" ({claimed} are said to be, but no tool of its program touched them)" if claimed > done else ""
    )
    of = number(len(unit.files), "file")
    text = (
        f"{done} of {of} examined{unborne}, at least {unit.coverage:.0%} must be;"
        f" missing: {', '.join(missing[:NAMED])}{more}"
    )
    return Violation("coverage", "/examined", text)


def _folders(name: str) -> Iterator[str]:
    """The folders above a file, the root left out."""
    parts = name.split("/")
    return ("/".join(parts[:n]) for n in range(1, len(parts)))


@dataclass(frozen=True)
class _Traces:
    """What tool events speak of."""

    text: str
    """All of it, for names that do not look like names."""
    names: dict[str, set[str]]
    """Every word of all events by its last part."""
    patterns: frozenset[str]
    """Patterns among the words of first lines: of a command, not of what it printed."""
    folders: frozenset[str]
    """Other words of first lines."""
    whole: bool
    """A first line names the diff of the whole change."""

    @classmethod
    def of(cls, touched: Sequence[str]) -> _Traces:
        names: dict[str, set[str]] = {}
        asked: set[str] = set()
        for event in touched:
            asked.update(_plain(word) for word in _BETWEEN.split(event.split("\n", 1)[0]))
            for word in map(_plain, _BETWEEN.split(event)):
                names.setdefault(word.rpartition("/")[2], set()).add(word)
        patterns = frozenset(word for word in asked if _GLOB.search(word) and word.strip("*/."))
        whole = any(word.rpartition("/")[2] == WHOLE_CHANGE for word in asked)
        text = "\n".join(touched).replace("\\ ", " ")
        return cls(text, names, patterns, frozenset(asked) - patterns - {"", "."}, whole)

    def speak_of(self, name: str) -> bool:
        """Whether they bear out that a file was looked at."""
        last = name.rpartition("/")[2]
        if self.whole or any(_same(word, name) for word in self.names.get(last, ())):
            return True
        if _BETWEEN.search(name) and (name if _BETWEEN.search(last) is None else last) in self.text:
            return True
        return any(_matches(word, name) for word in self.patterns) or any(
            word == folder or word.endswith("/" + folder)
            for folder in _folders(name)
            for word in self.folders
        )


def _plain(word: str) -> str:
    word = word.replace("\\", "/")
    while word.startswith("./"):
        word = word[2:]
    return word.rstrip("/.")


def _same(word: str, name: str) -> bool:
    """Whether a word that ends like a file means it: by its name alone, or by a path that agrees."""
    plain = next((word[len(p) :] for p in DIFF_PREFIXES if word.startswith(p)), word)
    ends = name.endswith("/" + word) or word.endswith("/" + name)
    return "/" not in word or ends or name in (word, plain)


def _matches(pattern: str, name: str) -> bool:
    """Whether a shell's or a tool's pattern means a file; ``*`` goes over folders as well."""
    flat = pattern.replace("**/", "*")
    return any(
        fnmatchcase(part, flat) for part in (name, name.rpartition("/")[2], f"/{name}")
    ) or fnmatchcase(name, f"*/{flat}")


def known_names(
    names: Collection[str] | None, base_names: Collection[str] | None, unit: Unit
) -> Names | None:
    """The names under which files may be said to have been read: those of the base as well."""
    return Names({*names, *(base_names or ()), *unit.files}) if names is not None else None
