"""What stands in a folder that a worker could write to: names, kinds and times; nothing is followed."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from prun_review import files

WALKED = 2_000_000
"""Names that are looked at; a folder with more is not listed to its end."""

Stamp = tuple[int, ...]


def stamp(info: os.stat_result) -> Stamp:
    """Device, inode, size, mode and times: a file that has them still was not written meanwhile.  Its
    change time only the system's clock can forge."""
    return (info.st_dev, info.st_ino, info.st_size, info.st_mode, info.st_mtime_ns, info.st_ctime_ns)


@dataclass
class Found:
    """The content of a folder, by names relative to it as the system has them."""

    files: dict[bytes, os.stat_result] = field(default_factory=dict)
    """Ordinary files and symbolic links."""
    odd: dict[bytes, str] = field(default_factory=dict)
    """What cannot be part of a tree, and why: a FIFO, a device, a folder that cannot be listed."""
    repositories: list[bytes] = field(default_factory=list)
    """Folders that hold something called ``.git``, the top aside."""
    cut: bool = False
    """There was more than is looked at."""

    @property
    def stamps(self) -> Mapping[bytes, Stamp]:
        """The stamp of each file."""
        return {name: stamp(info) for name, info in self.files.items()}

    def digest(self) -> str:
        """sha256 over names and stamps: the same again where nothing was written meanwhile."""
        told = hashlib.sha256()
        for name, seen in sorted(self.stamps.items()):
            told.update(name + b"\0" + repr(seen).encode() + b"\0")
        told.update(repr((sorted(self.odd), sorted(self.repositories), self.cut)).encode())
        return told.hexdigest()


def walk(top: str) -> Found:
    """Everything below ``top`` but its own ``.git``.  Folders and files that were locked are opened, so that
    what they hold can be seen; ``OSError`` where the top itself cannot be listed, or is no folder."""
    if not stat.S_ISDIR(os.lstat(top).st_mode):  # a link would lead to files of others
        raise OSError(errno.ENOTDIR, "no folder any more", top)
    found = Found()
    queue = [b""]
    left = WALKED
    while queue:
        folder = queue.pop()
        entries = _listed(os.fsencode(top), folder, found)
        left -= len(entries)
        if left < 0:
            found.cut = True
            break
        for entry in entries:
            name = folder + entry.name
            if entry.name == b".git":
                found.repositories += [folder.rstrip(b"/")] if folder else []
            elif entry.is_dir(follow_symlinks=False):
                queue.append(name + b"/")
            else:
                _take(entry, name, found)
    return found


def _take(entry: os.DirEntry[bytes], name: bytes, found: Found) -> None:
    with suppress(FileNotFoundError):  # somebody still writes there
        info = entry.stat(follow_symlinks=False)
        if stat.S_ISREG(info.st_mode) and not info.st_mode & 0o400 and info.st_nlink == 1:
            os.chmod(entry.path, files.PRIVATE)
            info = os.lstat(entry.path)
        if stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode):
            found.files[name] = info
        else:
            found.odd[name] = "neither a file nor a link"


def _listed(top: bytes, folder: bytes, found: Found) -> list[os.DirEntry[bytes]]:
    path = os.path.join(top, folder)
    try:
        if folder and os.lstat(path).st_mode & 0o700 != 0o700:
            os.chmod(path, files.PRIVATE_DIR)
        with os.scandir(path) as entries:
            return list(entries)
    except FileNotFoundError:
        if not folder:
            raise
    except OSError as error:
        if not folder:
            raise
        found.odd[folder.rstrip(b"/")] = f"a folder that cannot be listed: {error.strerror}"
    return []
