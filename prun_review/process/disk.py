"""How much room a file system has left, and whether a dispatch is what fills it.

The zygote loads this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

FLOOR = 200 << 20
"""Bytes free below which a file system is nearly full; 1/20 of one that is smaller than 4 GB."""
NEAR = 4
"""Times the floor: from there on it is counted what a dispatch writes.  600 MiB are two looks of the
shim at the fastest writer."""
ALLOWANCE = 25
"""The part of the floor (8 MiB) that a dispatch may write meanwhile: an answer has 1 % of that, so who
merely works beside somebody who fills the disk is left alone."""
FILE_LIMIT = 16 << 30
"""Bytes per file that a worker may write; a sparse file counts with its length."""


def limit_files() -> None:
    """Lower the limit on the length of a file for this process and all that it starts."""
    try:
        import resource
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    if hard == resource.RLIM_INFINITY or hard > FILE_LIMIT:
        soft = FILE_LIMIT if soft == resource.RLIM_INFINITY else min(soft, FILE_LIMIT)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, FILE_LIMIT))


class Room:
    """The file systems of a dispatch, and what its processes have written since one came near its floor."""

    __slots__ = ("base", "places", "written")

    def __init__(self, places: Iterable[int | bytes], written: Callable[[], int]) -> None:
        self.places = tuple(places)
        """Descriptors or paths; the same file system twice does no harm."""
        self.written = written
        """Counts what all processes of the dispatch have written so far, in bytes."""
        self.base = -1
        """What it said when a file system was first seen to be near its floor; -1 before."""

    def shortage(self) -> str:
        """Why the dispatch is to be ended, or nothing."""
        near = [left for place in self.places if (left := _left(place))]
        if not near:
            self.base = -1
            return ""
        written = self.written()
        if self.base < 0:
            self.base = written
        for free, floor in near:
            if free < floor and written - self.base > floor // ALLOWANCE:
                return f"the disk is nearly full: {free >> 20} MiB left"
        return ""


def _left(place: int | bytes) -> tuple[int, int] | None:
    """The bytes free in a file system, and its floor; None where that is far."""
    try:
        seen = os.statvfs(place)
    except OSError:
        return None
    free, size = seen.f_bavail * seen.f_frsize, seen.f_blocks * seen.f_frsize
    floor = min(FLOOR, size // 20)
    return (free, floor) if free < NEAR * floor else None


def written(pids: Iterable[int]) -> int:
    """Bytes that these processes, their threads and the children they have collected have written,
    to files or elsewhere; 0 for those of which the system does not tell."""
    total = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/io", "rb") as file:
                told = dict(line.split(b": ") for line in file.read().splitlines())
        except OSError:
            continue
        total += max(int(told.get(b"wchar", 0)), int(told.get(b"write_bytes", 0)))
    return total
