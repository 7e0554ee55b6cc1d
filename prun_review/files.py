"""Files that are never seen half-written, and files that somebody else may have prepared.

What is written here is written aside, synced and renamed, so that a reader (or a run after a
SIGKILL) finds the old content or the new one.  What is read here was left by a worker: it may be a
FIFO, a link to a secret, or 50 MB long.
"""

from __future__ import annotations

import errno
import mmap
import os
import secrets
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from prun_review.errors import DiskFullError, PrunError

PRIVATE = 0o600
PRIVATE_DIR = 0o700
DEPTH = 8
"""Levels of folders that are copied: a path of so many names of 255 bytes can still be opened."""

_REMEDIES = {
    errno.ENOSPC: "free space on this file system",
    errno.EDQUOT: "free space: the quota of this file system is used up",
    errno.EROFS: "the file system is read-only: choose a writable project folder",
    errno.EACCES: "make it readable and writable for this user",
    errno.EPERM: "make it readable and writable for this user",
    errno.ENOENT: "it vanished while it was in use: do not remove it during a run, and start again",
    errno.EEXIST: "something stands where a directory is needed: move it away",
    errno.ENOTDIR: "a file stands where a directory is needed: move it away",
    errno.EISDIR: "a directory stands where a file is needed: move it away",
    errno.EFBIG: "no honest file of that kind is so large: look where it comes from",
    errno.EINVAL: "look what stands there, and where it comes from",
    errno.ENAMETOOLONG: "choose a project folder with a shorter path",
}


@contextmanager
def named(error: type[PrunError], doing: str, path: Path) -> Iterator[None]:
    """Turn an ``OSError`` inside into ``error`` with place and remedy; where that is a
    ``RunDirError`` and no space is left, into ``DiskFullError``."""
    try:
        yield
    except OSError as e:
        full = e.errno in (errno.ENOSPC, errno.EDQUOT) and issubclass(DiskFullError, error)
        raise (DiskFullError if full else error)(
            f"{doing}: {e.strerror or e}",
            place=os.fsdecode(e.filename) if isinstance(e.filename, (str, bytes)) else str(path),
            remedy=_REMEDIES.get(e.errno or 0, "see the message of the system above"),
        ) from e


def make_private(path: Path) -> Path:
    """Create a directory 0700 whatever the umask; ``FileExistsError`` when it is there."""
    path.mkdir(mode=PRIVATE_DIR)
    path.chmod(PRIVATE_DIR)  # mkdir subtracts the umask; 0277 would lock ourselves out
    return path


def write(path: Path, data: bytes, mode: int = PRIVATE, *, sync: bool = True) -> None:
    """Replace ``path`` by ``data`` at once and for good: aside, fsync, rename, fsync the directory.

    Without ``sync`` only at once: a power failure may undo it.
    """
    aside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        create(aside, data, mode, sync=sync)
        os.replace(aside, path)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise
    if sync:
        sync_directory(path.parent)


def create(path: Path, data: bytes, mode: int = PRIVATE, *, sync: bool = False, offset: int = 0) -> None:
    """Write a new file, behind a hole of ``offset`` bytes; ``FileExistsError`` (also for a link) when
    the name is taken."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        os.fchmod(fd, mode)
        os.lseek(fd, offset, os.SEEK_SET)
        write_all(fd, data)
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """``os.write`` until nothing is left: it may take less than it was given."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def sync_directory(path: Path) -> None:
    """Make renames below ``path`` durable, where the file system can."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as e:
        if e.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot
            raise
    finally:
        os.close(fd)


@dataclass(frozen=True, slots=True)
class Taken:
    """What :func:`take_regular` could read."""

    data: bytes = b""
    note: str = ""
    """Which bytes were kept, or why nothing was read; empty when all is here."""
    refused: bool = False
    """Nothing was read: absent, or not an ordinary file."""


def take_regular(base: Path, name: str, cap: int) -> Taken:
    """The last ``cap`` bytes of the ordinary file ``base/name``; never follows, waits or raises.

    The end is kept, because event streams put their terminal event last.
    """
    try:
        with os.fdopen(_open_regular(base, name, os.O_RDONLY), "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            first = max(0, size - cap)
            stream.seek(first)
            data = stream.read(cap)
    except FileNotFoundError:
        return Taken(refused=True)
    except OSError as e:
        return Taken(note=f"{name}: {e.strerror}, not read", refused=True)
    if not first:
        return Taken(data)
    kept = f"{name}: bytes {first} to {first + len(data) - 1} of {size} kept (the end)"
    return Taken(data, kept)


def _open_regular(base: Path, name: str, flags: int) -> int:
    """A descriptor of an ordinary file that no link leads to; ``OSError`` for anything else."""
    path = base / name
    if os.path.realpath(path.parent) != os.path.normpath(os.path.join(os.path.realpath(base), name, "..")):
        raise OSError(errno.ELOOP, "behind a link")
    try:
        fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as e:
        if e.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "a link") from e
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not an ordinary file")
    return fd


def read_regular(path: Path, cap: int) -> bytes:
    """An ordinary file of at most ``cap`` bytes, whole; ``OSError`` for any other, without waiting."""
    with open_regular(path, cap) as stream:
        return stream.read(cap)


def open_regular(path: Path, cap: int) -> BinaryIO:
    """An ordinary file of at most ``cap`` bytes, for reading; ``OSError`` for any other."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO would wait for ever
    info = os.fstat(fd)
    if stat.S_ISREG(info.st_mode) and info.st_size <= cap:
        return os.fdopen(fd, "rb")
    os.close(fd)
    if stat.S_ISREG(info.st_mode):
        raise OSError(errno.EFBIG, f"larger than {cap} bytes", str(path))
    raise OSError(errno.EINVAL, "no ordinary file", str(path))


def folders(path: Path) -> list[str]:
    """The names of the real directories in ``path``, sorted; none where it cannot be listed."""
    return [entry.name for entry in _listing(path) if entry.is_dir(follow_symlinks=False)]


def copy_tree(source: Path, target: Path, *, each: int, size: int, count: int) -> None:
    """Copy the ordinary files below ``source`` into a new private directory; ``OSError`` if that fails.

    Links, hard links too, and whatever else a worker may have put there are left out, and so is what
    cannot be read or lies deeper than :data:`DEPTH`.  At most ``count`` files and folders and ``size``
    bytes, the upper ones first; of a file longer than ``each`` bytes the end is copied, behind a hole.
    """
    queue = [(source, target, 0)]
    while queue and count > 0:
        here, there, depth = queue.pop(0)
        make_private(there)
        count -= 1
        entries = _listing(here)
        for entry in entries:
            taken = _end_of(source, os.path.relpath(entry.path, source), each) if count > 0 else None
            if taken and len(taken[1]) <= size:
                create(there / entry.name, taken[1], offset=taken[0])
                size -= len(taken[1])
                count -= 1
        below = [e.name for e in entries if depth < DEPTH and e.is_dir(follow_symlinks=False)]
        queue += [(here / name, there / name, depth + 1) for name in below]


def _listing(path: Path) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(path) as found:
        return sorted(found, key=lambda entry: entry.name)
    return []


def _end_of(base: Path, name: str, cap: int) -> tuple[int, bytes] | None:
    """Where the last ``cap`` bytes of an ordinary file begin, and these; None for anything else."""
    with suppress(OSError), os.fdopen(_open_regular(base, name, os.O_RDONLY), "rb") as stream:
        info = os.fstat(stream.fileno())
        if info.st_nlink == 1:
            stream.seek(first := max(0, info.st_size - cap))
            return first, stream.read(cap)
    return None


def blot(base: Path, name: str, values: Collection[bytes]) -> None:
    """Overwrite every occurrence of ``values`` in an ordinary file with asterisks, in place.

    In place and of equal length, so that a stream of a gigabyte needs no copy and byte counts hold.
    What cannot be opened for writing is left: whoever reads it masks what it read.
    """
    try:
        fd = _open_regular(base, name, os.O_RDWR) if values else -1
    except OSError:
        return
    if fd < 0:
        return
    try:
        if os.fstat(fd).st_size:
            with mmap.mmap(fd, 0) as content:
                for value in values:
                    at = content.find(value)
                    while at >= 0:
                        content[at : at + len(value)] = b"*" * len(value)
                        at = content.find(value, at + len(value))
    finally:
        os.close(fd)


def shorten(base: Path, name: str, size: int) -> None:
    """Cut an ordinary file down to ``size`` bytes; one that is shorter, or none, is left alone."""
    with suppress(OSError):
        fd = _open_regular(base, name, os.O_RDWR)
        try:
            if os.fstat(fd).st_size > size:
                os.ftruncate(fd, size)
        finally:
            os.close(fd)


def remove_tree(path: Path) -> None:
    """Remove a directory whose folders may be read-only; what is already gone is no error."""
    with suppress(FileNotFoundError):
        os.chmod(path, PRIVATE_DIR)
        for folder, below, _ in os.walk(path):  # top-down: a folder is opened before it is listed
            for name in below:
                if not os.path.islink(os.path.join(folder, name)):
                    os.chmod(os.path.join(folder, name), PRIVATE_DIR)
        shutil.rmtree(path)
