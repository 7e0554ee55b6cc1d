"""The files of a ``parallel/`` directory as text, each read once, with what is wrong with it told.  Pure.

The disk is reached through the port :class:`Directory`; ``parallel.py`` has the one implementation.
"""

from __future__ import annotations

import codecs
import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from prun_review.manifestfields import Problems
from prun_review.paths import normalise_path

MANIFEST = "manifest.json"
CONTEXT = "context.md"
TASKS, PROMPTS = "tasks", "prompts"

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that is there and cannot be had."""

    code: str
    """``too-large``, ``leaves-directory`` or ``unreadable``."""
    text: str


class Directory(Protocol):
    """A ``parallel/`` directory; nothing of it is executed or imported."""

    @property
    def path(self) -> str:
        """Relative to the trusted root, with forward slashes; ``.`` for the root itself."""

    @property
    def names(self) -> Collection[str]:
        """All files below it that a manifest can name, relative, with forward slashes; those that cannot be
        read too."""

    @property
    def cut(self) -> str:
        """Why ``names`` is not all of it; empty where it is."""

    def data(self, name: str) -> bytes | Unread:
        """The content of one of ``names``."""


def below(name: str, directory: str) -> str:
    """A path as a manifest has it, relative to the directory; it may also be relative to the project."""
    return normalise_path(name).removeprefix(f"{directory}/")


class Files:
    """Texts of a directory."""

    def __init__(self, directory: Directory, problems: Problems) -> None:
        self.names = frozenset(directory.names)
        self._directory = directory
        self._problems = problems
        self._read: dict[str, tuple[str, str] | None] = {}
        if directory.cut:
            problems.error("too-many-files", ".", None, directory.cut, "keep other files elsewhere")

    def text(self, name: str) -> str | None:
        """The text of a file, with ``\\n`` as line ends and without a byte order mark; None where it is not
        there or cannot be read, which is told once."""
        if name not in self._read:
            self._read[name] = self._take(name) if name in self.names else None
        held = self._read[name]
        return held[0] if held else None

    def _take(self, name: str) -> tuple[str, str] | None:
        data = self._directory.data(name)
        if isinstance(data, Unread):
            self._problems.error(data.code, name, None, data.text)
            return None
        digest = hashlib.sha256(data).hexdigest()
        if data.startswith(_WIDE):
            self._problems.error("not-utf8", name, 1, "it is UTF-16, not UTF-8", "save it as UTF-8")
            return None
        data = data.removeprefix(codecs.BOM_UTF8)
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            told = f"it is not UTF-8: byte 0x{data[error.start]:02x}"
            self._problems.error("not-utf8", name, line, told, "save it as UTF-8")
            text = data.decode("utf-8", "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n"), digest

    def below(self, folder: str, suffixes: tuple[str, ...] = ("",)) -> tuple[str, ...]:
        """The names directly in a folder that end with one of these, sorted."""
        start = f"{folder}/"
        inner = (n for n in self.names if n.startswith(start) and "/" not in n[len(start) :])
        return tuple(sorted(n for n in inner if n.endswith(suffixes)))

    def digest(self) -> str:
        """sha256 over name and content of all that was read so far."""
        sha = hashlib.sha256()
        for name, held in sorted(self._read.items()):
            if held:
                sha.update(f"{name}\0{held[1]}\n".encode("utf-8", "surrogateescape"))
        return sha.hexdigest()
