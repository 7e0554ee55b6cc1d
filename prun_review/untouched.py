"""What decides how panels review, kept as it is when a run of waves begins.

Panels are imported long after the first worker wrote something.  Who is not contained can write into the
user's checkout, so without this a worker could change the questions that its own work is asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from prun_review import files, guarded
from prun_review.errors import TreeError

CAP = 16 << 20
MOST = 5_000
"""Files below one panel that are looked at."""
_SHOWN = 3
_MADE = frozenset({"__pycache__", ".pytest_cache", ".git"})
"""Folders that come by themselves."""


class Deciding:
    """The files of the trusted root that decide how these panels review, as they are now."""

    def __init__(self, root: Path, panels: Sequence[str], patterns: Sequence[str]) -> None:
        """``panels``: arguments of pytest, relative to ``root``; ``patterns``: of further files.
        ``TreeError`` where one cannot be read."""
        inside = [os.path.relpath(root / panel.split("::")[0], root) for panel in panels]
        self._root, self._panels, self._patterns = root, tuple(inside), tuple(patterns)
        self._before = self._look()

    def changed(self) -> str:
        """Which of them are not what they were, in words; empty where none is.  ``TreeError``."""
        now, before = self._look(), self._before
        names = sorted(name for name in {*now, *before} if not _same(name, before.get(name), now.get(name)))
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return f"{', '.join(names[:_SHOWN])}{more}" if names else ""

    def _look(self) -> dict[str, bytes]:
        """Content by name."""
        found: dict[str, bytes] = {}
        for name in guarded.anchors(".", self._panels, self._patterns):
            for path in _files(self._root / name):
                with files.named(TreeError, "what decides how panels review cannot be read", path):
                    found[os.path.relpath(path, self._root)] = files.read_regular(path, CAP)
        return found


def _files(place: Path) -> Iterator[Path]:
    """The file itself, or those below a folder."""
    if not place.is_dir():
        yield from [place] * place.is_file()
        return
    seen = 0
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(set(folders) - _MADE)
        for path in (Path(folder, name) for name in sorted(names)):
            seen += 1
            if seen > MOST:
                raise TreeError(f"it holds more than {MOST:,} files", place=str(place))
            if path.is_file():
                yield path


def _same(name: str, old: bytes | None, new: bytes | None) -> bool:
    return old == new or (guarded.partly(name) and guarded.same(name, old or b"", new or b""))
