"""Reads the files of one tree as lines, and says why where it cannot."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from prun_review.git import LINK, Entry
from prun_review.ports import Missing, Reader

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
            near = difflib.get_close_matches(path, self.names, 1)
            why = self._left_out.get(path)
            return Missing(
                f"left out of {self._tree} ({why})" if why else f"not in {self._tree}",
                f"nearest: {near[0]}" if near else "",
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
