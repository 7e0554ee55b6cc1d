"""Paths as reviewers write them, turned into paths of the reviewed tree.  Strings only.

Reviewers write ``./src/x.py``, ``a/src/x.py``, ``src\\x.py``, ``<clone>/src/x.py``, ``src/x.py:12``.
A path is never made to escape or stay inside by rewriting: ``../x`` keeps its dots and is then
simply not found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

DIFF_PREFIXES = ("a/", "b/", "c/", "i/", "o/", "w/")
"""What ``git diff`` puts before names, with and without ``diff.mnemonicPrefix``."""

_LINE_SUFFIX = re.compile(r"(?::(?:L)?(\d{1,9})(?:[-:]\d+)*|#L(\d{1,9})(?:-L?\d+)?)$")
_DRIVE = re.compile(r"[A-Za-z]:/")


def normalise_path(path: str, *, prefixes: Sequence[str] = ()) -> str:
    """``path`` relative to the root of the tree, with forward slashes.

    Takes away quotes and blanks around it, the longest of ``prefixes`` (snapshot or clone
    directories) that it starts with, ``./`` and doubled slashes.  ``..`` stays.
    """
    text = _slashes(path.strip().strip("`'\"").strip())
    for prefix in sorted((_slashes(p).rstrip("/") for p in prefixes), key=len, reverse=True):
        if prefix and text.startswith(prefix + "/"):
            text = text[len(prefix) :].lstrip("/")
            break
    root = "/" if text.startswith("/") else ""
    return root + "/".join(part for part in text.split("/") if part not in ("", "."))


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


def suspicious(path: str) -> str:
    """Why a normalised path cannot name a file of the tree, or empty."""
    if "\0" in path:
        return "the path holds a NUL"
    if path.startswith(("/", "~")) or _DRIVE.match(path):
        return "the path is absolute"
    if ".." in path.split("/"):
        return "the path leaves the tree"
    return ""


def line_suffix(path: str) -> tuple[str, int | None]:
    """``src/x.py:12-14`` and ``src/x.py#L12`` as path and first line; else the path and None."""
    found = _LINE_SUFFIX.search(path)
    if not found:
        return path, None
    return path[: found.start()], int(found[1] or found[2])


@dataclass(frozen=True)
class Names:
    """The regular files of a tree, indexed for look-ups that are nearly right."""

    names: Collection[str]

    @cached_property
    def exact(self) -> frozenset[str]:
        """All names."""
        return frozenset(self.names)

    @cached_property
    def _folded(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for name in self.names:
            index.setdefault(name.casefold(), []).append(name)
        return index

    @cached_property
    def _by_last(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for name in self.names:
            index.setdefault(name.rpartition("/")[2], []).append(name)
        return index

    def differing_in_case(self, path: str) -> str | None:
        """The only name that differs from ``path`` in case alone; None for none or several."""
        same = self._folded.get(path.casefold(), [])
        return same[0] if len(same) == 1 else None

    def guess(self, path: str) -> str | None:
        """The only name that is a tail of ``path`` (two parts or more), or that ``path`` is a tail of.

        A guess needs a proof, such as a quote that is found there.
        """
        last = path.rpartition("/")[2]
        near = [
            name
            for name in self._by_last.get(last, [])
            if name.endswith("/" + path) or ("/" in name and path.endswith("/" + name))
        ]
        return near[0] if len(near) == 1 else None


def candidates(path: str, *, prefixes: Sequence[str] = (), names: Names | None = None) -> Iterator[str]:
    """What ``path`` can mean, the most literal reading first; none of them twice.

    As written; normalised; without a diff prefix; the only name of the tree that differs in case.
    A real folder named ``a/`` is therefore found before ``a/`` is taken for a diff prefix.
    """
    seen: set[str] = set()
    plain = normalise_path(path, prefixes=prefixes)
    literal = [path, plain] + [plain[len(p) :] for p in DIFF_PREFIXES if plain.startswith(p)]
    in_case = [names.differing_in_case(p) for p in literal] if names else []
    for candidate in (*literal, *in_case):
        if candidate and candidate not in seen and not suspicious(candidate):
            seen.add(candidate)
            yield candidate


def among(path: str, known: Collection[str]) -> str:
    """What a normalised ``path`` of a finding means among the ``known`` ones of the same case.

    Without a tree only other findings can say: ``a/src/x.py`` is ``src/x.py``, and ``/clone/src/x.py`` is
    too, where one of them is known by that name; of an absolute path at least a folder must remain, and
    only one such name may be known.  ``path`` itself otherwise.
    """
    for prefix in DIFF_PREFIXES:
        if path.startswith(prefix) and path[len(prefix) :] in known:
            return path[len(prefix) :]
    if path.startswith("/") or _DRIVE.match(path):
        parts = path.split("/")
        tails = [tail for n in range(1, len(parts) - 1) if (tail := "/".join(parts[n:])) in known]
        return tails[0] if len(tails) == 1 else path
    return path
