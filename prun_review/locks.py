"""Locks that end with their process, however it ends.

``flock`` and not ``lockf``: a record lock is lost when any descriptor of the file is closed in the
process, so merely asking whether it is held would release it.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

_held: set[int] = set()


class Lock:
    """An exclusive lock on a file, held until :meth:`release` or the end of the process."""

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        """Take it; ``BlockingIOError`` when another holds it and ``wait`` is False."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o600)
        try:
            os.fchmod(self._fd, 0o600)  # a strict umask must not keep other processes from asking
            fcntl.flock(self._fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            with suppress(OSError):  # only for messages: a full disk must not keep anybody from locking
                os.ftruncate(self._fd, 0)
                os.pwrite(self._fd, b"%d\n" % os.getpid(), 0)
        except BaseException:
            os.close(self._fd)
            raise
        _held.add(self._fd)

    def release(self) -> None:
        """Give it up; a second call does nothing."""
        if self._fd in _held:
            _held.remove(self._fd)
            os.close(self._fd)


def is_held(path: Path) -> bool:
    """True while some process, this one included, holds the lock; False where there is no file."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def holder(path: Path) -> str:
    """Who took the lock last, in words, for messages."""
    try:
        return f"process {int(path.read_bytes()[:20])}"
    except (OSError, ValueError):
        return "another process"


def _close_in_child() -> None:
    """A forked child (multiprocessing, pytest-forked) must not keep a lock alive for us."""
    for fd in _held:
        with suppress(OSError):
            os.close(fd)
    _held.clear()


os.register_at_fork(after_in_child=_close_in_child)
