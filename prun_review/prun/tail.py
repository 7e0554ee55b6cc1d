"""The ``tail``: everything a worker prints, seen through one descriptor.

The descriptor is opened before the worker starts and kept, so a worker that puts a link or a FIFO
in the place of the file changes nothing for the dispatcher.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from prun_review import files

LINES = 80
"""Shown at the end of a dispatch."""
SHOWN = 48 << 10
"""Bytes shown at the most: a pipe that nobody reads holds 64 KiB, and writing more would hang."""
BLOCK = 1 << 20


class Tail:
    """The output of one worker; closed by :meth:`close`."""

    def __init__(self, path: Path) -> None:
        """Make the file; ``FileExistsError`` when the name is taken."""
        self.path = path
        files.create(path, b"")
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._fd)

    def size(self) -> int:
        """Bytes written so far."""
        return os.fstat(self._fd).st_size

    def append(self, text: str) -> None:
        """Add a line of the dispatcher's own; ``OSError`` where the disk is full."""
        files.write_all(self._fd, text.encode("utf-8", "surrogateescape"))

    def end(self) -> str:
        """The last lines, for people."""
        first = max(0, self.size() - SHOWN)
        lines = os.pread(self._fd, SHOWN, first).decode("utf-8", "replace").rstrip("\n").split("\n")
        return "\n".join(lines[-LINES:])

    def copy(self, target: BinaryIO) -> None:
        """Write all of it to ``target``."""
        at = 0
        while block := os.pread(self._fd, BLOCK, at):
            target.write(block)
            at += len(block)
