"""The append-only event log of a run: one JSON object a line, one writer, any number of readers."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from prun_review import files


class Ledger:
    """The writer; safe in threads."""

    def __init__(self, path: Path) -> None:
        """Open or create it; ``OSError``."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd: int | None = os.open(path, flags, files.PRIVATE)
        os.fchmod(self._fd, files.PRIVATE)
        self._torn = False
        self._lock = threading.Lock()
        self._syncing = threading.Lock()
        self._written = self._synced = 0
        """Lines so far, and how many of them are on the disk for good."""

    def append(self, event: str, fields: Mapping[str, Any], *, durable: bool = False) -> None:
        """Write one line, and wait for the disk when ``durable``; ``OSError`` when that fails."""
        line = json.dumps({"at": round(time.time(), 3), "event": event, **fields}, allow_nan=False)
        with self._lock:
            if self._fd is None:
                raise OSError(f"the ledger is closed, and {event!r} came after that")
            self._write(self._fd, b"\n" * self._torn + line.encode() + b"\n")
            self._written += 1
            mine = self._written
        if durable:
            self._sync(mine)

    def _sync(self, line: int) -> None:
        """Wait until so many lines are on the disk: one sync serves all who wrote before it began, and
        nobody who only writes waits for it."""
        with self._syncing:
            if self._synced >= line:
                return
            with self._lock:
                if self._fd is None:
                    raise OSError("the ledger was closed before its last lines were on the disk")
                written, fd = self._written, os.dup(self._fd)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
            self._synced = written

    def _write(self, fd: int, data: bytes) -> None:
        """All of it or nothing.  A line that a full disk cut short is taken back; where even that is
        refused, the next one at least begins on a line of its own."""
        size, torn = os.fstat(fd).st_size, self._torn
        self._torn = True
        try:
            files.write_all(fd, data)
        except OSError:
            with suppress(OSError):
                os.ftruncate(fd, size)
                self._torn = torn
            raise
        self._torn = False

    def close(self) -> None:
        """A second call does nothing."""
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None


class LedgerReader:
    """Reads on from where it stopped, so that a waiting reader does not parse the whole again."""

    def __init__(self, path: Path) -> None:
        self.damaged: list[int] = []
        """Numbers of the lines that are not what a ledger holds, from 1."""
        self._path = path
        self._offset = 0
        self._lines = 0

    def new(self) -> Iterator[dict[str, Any]]:
        """The events since the last call; none where there is no ledger yet.

        A last line without its end is left for the next call: it may be in the writing.
        """
        try:
            with self._path.open("rb") as stream:
                stream.seek(self._offset)
                data = stream.read()
        except FileNotFoundError:
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.split(b"\n")[:-1]:
            self._lines += 1
            event = parse(line)
            if event is None:
                self.damaged.append(self._lines)
            else:
                yield event

    @property
    def torn(self) -> bool:
        """Whether a last line without its end follows what was read."""
        return self._path.exists() and self._path.stat().st_size > self._offset


def parse(line: bytes) -> dict[str, Any] | None:
    """The event of a line, or None for what is not one."""
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("event"), str) else None
