"""Reads the files of one tree as lines, and says why where it cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache

from prun_review import patterns
from prun_review.errors import BriefError
from prun_review.git import LINK, Entry
from prun_review.ports import Missing, Reader
from prun_review.publicnames import around, folders_of, nearest

READ_CAP = 4 << 20
"""Bytes above which a file is not read for grounding: no reviewer quotes from such a file."""
READ_CACHE = 128
"""Files kept as lines."""
SNIFF = 8000
"""Bytes searched for NUL to tell binary files, as git does."""


class Contents:
    """The files of a tree by name.  Its methods may be called from many threads."""

    names: tuple[str, ...]
    """Ordinary files, sorted."""
    read: Reader

    def __init__(
        self,
        entries: Mapping[str, Entry],
        left_out: Mapping[str, str],
        blobs: Callable[[Sequence[Entry]], list[bytes]],
        tree: str,
    ) -> None:
        """``left_out`` says why a name is not there, and ``tree`` what the tree is called."""
        self.names = tuple(sorted(name for name, e in entries.items() if e.mode != LINK))
        self._entries = entries
        self._left_out = left_out
        self._blobs = blobs
        self._tree = tree
        self.read = lru_cache(READ_CACHE)(self._read)

    def _read(self, path: str) -> tuple[str, ...] | Missing:
        entry = self._entries.get(path)
        if entry is None:
            near = self._nearest(path, self.names, 0.6)
            why = self._left_out.get(path)
            return Missing(
                f"left out of {self._tree} ({why})" if why else f"not in {self._tree}",
                f"nearest: {near}" if near else "",
            )
        if entry.mode == LINK:
            return Missing("a symbolic link, and links are not followed")
        if (entry.size or 0) > READ_CAP:
            return Missing(f"too large: {entry.size} bytes, at most {READ_CAP} are read")
        [content] = self._blobs([entry])
        if b"\0" in content[:SNIFF]:
            return Missing("a binary file")
        lines = content.decode("utf-8-sig", errors="replace").split("\n")
        if not lines[-1]:
            lines.pop()
        return tuple(line.removesuffix("\r") for line in lines)

    def expand(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """The files that patterns name, sorted; nothing for no pattern.

        ``BriefError`` for a pattern that leaves the tree or names no file.
        """
        found: set[str] = set()
        for pattern in wanted:
            hits = list(filter(patterns.matcher([pattern]), self.names))
            if not hits:
                raise BriefError(
                    f"reads: {pattern!r} matches no file of {self._tree}", remedy=self._near(pattern)
                )
            found.update(hits)
        return tuple(sorted(found))

    def _near(self, pattern: str) -> str:
        out = sorted(filter(patterns.matcher([pattern]), self._left_out))
        if out:
            return f"{out[0]} exists but is left out of {self._tree}: {self._left_out[out[0]]}"
        files = around(pattern, self.names)
        folders = (folder for name in files for folder in folders_of(name))
        near = self._nearest(pattern, sorted({*files, *folders}), 0.3)
        return f"did you mean {near!r}?" if near else "patterns are relative to the folder under review"

    def _nearest(self, wanted: str, names: Sequence[str], least: float) -> str:
        """The name that was meant: one in another folder, or one that is spelled alike."""
        namesakes = self._namesakes.get(wanted.rpartition("/")[2], [])
        return nearest(wanted, namesakes, 0) or nearest(wanted, names, least)

    @cached_property
    def _namesakes(self) -> dict[str, list[str]]:
        """Files by the last part of their names."""
        found: dict[str, list[str]] = {}
        for name in self.names:
            found.setdefault(name.rpartition("/")[2], []).append(name)
        return found
