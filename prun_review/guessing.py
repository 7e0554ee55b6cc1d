"""Which file a loosely written name may mean: a tail of its path, a module, a path with words around it.

For the causes of findings.  Strings only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prun_review.paths import line_suffix, normalise_path, suspicious

_AROUND = re.compile(r"[\s()\[\]<>,;`'\"|]+|#(?!L\d)")
"""Between a path and what is said with it: ``src/a.py (handle)``, ``src/a.py#handle``."""
_SCOPE = re.compile(r"::")
_MOST = 20
"""Words of a name that are looked at."""
_DEEPEST = 10
_PACKAGES = ("__init__", "index", "mod")
"""Stems of the files that stand for their folder."""


def spellings(written: str) -> Iterator[tuple[str, int | None]]:
    """The paths that a text may hold, each with the line that it names, the longest first."""
    words = [word for word in _AROUND.split(written) if word][:_MOST]
    for word in dict.fromkeys((written.strip(), *sorted(words, key=len, reverse=True))):
        scoped = _SCOPE.split(word)[:_DEEPEST]
        for path in dict.fromkeys((word, scoped[0], "/".join(scoped))):
            plain, line = line_suffix(path.rstrip(".:"))
            plain = normalise_path(plain)
            if plain and not suspicious(plain):
                yield plain, line


def modules(names: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Files by each tail of their path without its ending: ``src/auth``, ``auth`` for ``src/auth.py``."""
    found: dict[str, list[str]] = {}
    for name in names:
        folder, _, last = name.rpartition("/")
        stem = last.partition(".")[0]
        parts = [*folder.split("/"), stem] if folder else [stem]
        parts = parts[:-1] if stem in _PACKAGES and folder else parts
        for depth in range(1, min(len(parts), _DEEPEST) + 1):
            found.setdefault("/".join(parts[-depth:]), []).append(name)
    return found


def module(path: str, known: Mapping[str, Sequence[str]]) -> str | None:
    """The only file whose module a dotted or slashed name is; its last parts may be something within."""
    parts = [part for part in re.split(r"[./]", path) if part][:_DEEPEST]
    for count in range(len(parts), 0, -1):
        found = known.get("/".join(parts[:count]), ())
        if found:
            return found[0] if len(found) == 1 else None
    return None
