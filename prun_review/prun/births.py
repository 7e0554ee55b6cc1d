"""Which process a recorded pid means: pids are used again, births are not.

Without ``/proc`` (not Linux) a pid that answers is taken for the process that was recorded.
"""

from __future__ import annotations

import os
from pathlib import Path

SLACK = 60.0
"""Seconds by which the wall clock may have been set since a directory without a birth was made."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")


def birth(pid: int) -> str:
    """What no other process has: the boot, and the clock ticks since then; empty where unknown."""
    fields = _fields(pid)
    try:
        return f"{_BOOT.read_text().strip()} {fields[19]}" if fields else ""
    except OSError:
        return ""


def runs(pid: int, born: str, recorded: float | None) -> bool:
    """The process with this pid lives and is the one that was recorded.

    ``born`` is its :func:`birth` or empty; then a process that began after ``recorded`` (seconds
    since the epoch) is another one.
    """
    if not _answers(pid):
        return False
    fields = _fields(pid)
    if not fields:
        return True
    if fields[0] in "ZX":  # it ended, and only its parent has not looked yet
        return False
    now = birth(pid)
    if born and now:
        return born == now
    began = _began(int(fields[19]))
    return recorded is None or began is None or began <= recorded + SLACK


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:  # it is somebody else's
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _fields(pid: int) -> list[str]:
    """``/proc/<pid>/stat`` from the state on; the name before it may hold anything."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode("ascii").split()
    except (OSError, UnicodeDecodeError):
        return []


def _began(ticks: int) -> float | None:
    """When a process was born, by the wall clock of now."""
    try:
        for line in Path("/proc/stat").read_text().splitlines():
            if line.startswith("btime "):
                return int(line.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
    except OSError:
        return None
    return None
