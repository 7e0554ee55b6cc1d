"""Where nothing is adopted (not Linux): remember what was seen below a leader, with psutil.

A process that lost its parent cannot be found by looking down from the leader any more, so a look is
taken every few seconds while the leader runs.  One that left its parent *and* its process group
between two looks escapes; without psutil everything that left the group does.  The zygote loads this
module, psutil only where it is needed.
"""

from __future__ import annotations

import functools
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # the zygote has no other use for typing
    from typing import Any

NEEDED = not os.path.isdir("/proc/self")
"""The kernel does not show descendants itself."""
LOOK = 2.0
"""Seconds between looks; each is a scan of all processes."""


@functools.cache
def library() -> Any:
    """psutil, or None where it is not needed or not there."""
    if not NEEDED:
        return None
    try:
        import psutil
    except ImportError:
        return None
    return psutil


class Strays:
    """What was ever seen below one leader.  Empty and idle where :func:`library` is None."""

    def __init__(self, leader: int) -> None:
        self.leader = leader
        self.seen: dict[int, Any] = {}
        """By pid; psutil knows a number that was given away again."""
        self.looked = float("-inf")

    def look(self, *, now: bool = False) -> None:
        """Remember what stands below the leader and below everything seen before."""
        psutil = library()
        if psutil is None or not (now or time.monotonic() - self.looked >= LOOK):
            return
        self.looked = time.monotonic()
        for pid in (self.leader, *self.seen):
            try:
                process = self.seen.get(pid) or psutil.Process(pid)
                found = process.children(recursive=True)
            except psutil.Error:
                continue
            self.seen = {**{child.pid: child for child in found}, **self.seen}

    def living(self) -> list[int]:
        """Those that still run."""
        return [pid for pid, process in self.seen.items() if _runs(process)]

    def send(self, number: int) -> None:
        """Signal those that still run."""
        for process in self.seen.values():
            try:
                process.send_signal(number)
            except library().Error:
                continue


def _runs(process: Any) -> bool:
    psutil = library()
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def tagged(mark: str, value: str) -> list[int]:
    """The other processes of this user that carry ``mark=value`` in their environment."""
    psutil = library()
    found = []
    for process in psutil.process_iter() if psutil else ():
        try:
            if process.pid != os.getpid() and process.environ().get(mark) == value:
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue  # it ended, or is not ours to read
    return found
