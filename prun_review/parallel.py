"""``parallel/`` directories on disk: the one reader of manifests, task files and prompts.

Reads ordinary files of limited size and number, and follows no link out of the directory.  Nothing that
is found is executed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prun_review import files, manifest
from prun_review.errors import ConfigError
from prun_review.manifestfiles import MANIFEST, TASKS, Unread
from prun_review.projectrules import Project
from prun_review.tasks import Manifest, Problem

MAX_FILE = 1 << 20
"""Bytes of one file."""
MAX_FILES = 2_000
MAX_DEPTH = 8
"""Levels of folders that are looked into."""
_AFTERWARDS = ("logs", "scripts", "workspaces", "__pycache__", "node_modules")
"""Folders of what runs left behind; a manifest names nothing in them.  So are hidden ones and backups."""
_OUTSIDE = "it is a link that leads out of the directory"


@dataclass(frozen=True)
class ParallelDirectory:
    """A directory that was listed once; :class:`prun_review.manifestfiles.Directory`."""

    path: str
    """Relative to the trusted root, with forward slashes; ``.`` for the root itself."""
    place: Path
    """Absolute."""
    names: frozenset[str]
    cut: str = ""

    def data(self, name: str) -> bytes | Unread:
        """The content of one of ``names``."""
        real = os.path.realpath(self.place / name)
        if not Path(real).is_relative_to(os.path.realpath(self.place)):
            return Unread("leaves-directory", _OUTSIDE)
        try:
            return files.read_regular(Path(real), MAX_FILE)
        except OSError as error:
            code = "too-large" if "larger than" in str(error) else "unreadable"
            return Unread(code, f"it cannot be read: {error.strerror}")


def open_directory(root: Path, path: Path) -> ParallelDirectory:
    """The directory at ``path`` (absolute, or relative to the working directory), which lies below ``root``.

    Its folder ``tasks`` and its ``manifest.json`` mean the directory too.  ``ConfigError`` where there is
    none, or it lies elsewhere.
    """
    place = Path(os.path.abspath(path))
    if (place.name == MANIFEST and place.is_file()) or _is_tasks(place):
        place = place.parent
    if not place.is_dir():
        raise ConfigError(
            "there is no such directory",
            place=str(path),
            remedy="name a directory with manifest.json or tasks/",
        )
    top = Path(os.path.realpath(root))
    real = Path(os.path.realpath(place))
    if not real.is_relative_to(top):
        raise ConfigError(
            "the directory lies outside the trusted root", place=str(path), remedy=f"name one below {root}"
        )
    names: list[str] = []
    cut = ""
    for name in _walk(real, "", 0):
        if len(names) == MAX_FILES:
            cut = f"it holds more than {MAX_FILES} files, the rest is not looked at"
            break
        names.append(name)
    return ParallelDirectory(real.relative_to(top).as_posix(), real, frozenset(names), cut)


def read(
    root: Path, path: Path, project: Project | None = None
) -> tuple[Manifest | None, tuple[Problem, ...]]:
    """The manifest at ``path`` and all its problems; see :func:`open_directory` and
    :func:`prun_review.manifest.read`."""
    return manifest.read(open_directory(root, path), project)


def _is_tasks(place: Path) -> bool:
    """Whether it is the folder ``tasks`` of a directory, and none itself."""
    own = (place / MANIFEST).exists() or (place / TASKS).is_dir()
    return place.name == TASKS and place.is_dir() and not own


def _walk(top: Path, below: str, depth: int) -> Iterator[str]:
    """Names of everything that is no folder, folder by folder, sorted; linked folders are not entered."""
    try:
        entries = sorted(os.scandir(top / below), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        name = f"{below}{entry.name}"
        if not entry.is_dir(follow_symlinks=False):
            if not (entry.is_symlink() and os.path.isdir(entry.path)):  # a link may lead to itself
                yield name
        elif depth < MAX_DEPTH and not _left_behind(entry.name):
            yield from _walk(top, f"{name}/", depth + 1)


def _left_behind(folder: str) -> bool:
    return folder in _AFTERWARDS or folder.startswith(".") or ".backup" in folder
