"""How a process tree is ended: TERM to everyone, a short grace, then KILL until nobody is left.

Both vendor CLIs leak their tools' children when they are KILLed first, and even after a clean exit,
so TERM comes first and the same sweep follows every end.  The kernel's word that all is over is
``waitpid`` saying ECHILD in a process that is a *subreaper*: orphans of its tree become its own
children, whatever sessions or groups they made for themselves.

Where there is no ``prctl`` or no ``/proc`` (not Linux) the leader's process group is signalled, and
with psutil what was seen below the leader every few seconds: a process that has a session of its own
and lost its parent between two looks escapes.  That has not been tried on such a system, only on
Linux with its help refused.  Imports stay small because the zygote loads this module.
"""

from __future__ import annotations

import functools
import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence

from prun_review.process import cgroup, disk, strays

GRACE = 2.0
"""Seconds between TERM and KILL; claude needs up to 1.6 s to end its running tool."""
KILL_LIMIT = 10.0
"""Seconds of KILL rounds before giving up on processes that the kernel itself cannot end."""
TAG = "PRUN_DISPATCH"
"""Environment variable that marks every process of a dispatch."""
HELPER = "PRUN_HELPER"
"""The same for the short commands that a harness runs beside them, such as git: it tells whose they are."""

HAS_PROC = not strays.NEEDED
"""Descendants can be seen without help."""

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


@functools.cache
def _prctl() -> Callable[..., int] | None:
    """The C function, bound once: done anew in each shim it would cost 0.8 ms and 240 KiB."""
    import ctypes

    try:
        function: Callable[..., int] = ctypes.CDLL(None).prctl
    except (AttributeError, OSError, TypeError):
        return None
    return function


def prctl(option: int, value: int) -> bool:
    """Linux ``prctl``; False where the platform has none or refuses."""
    function = _prctl()
    return function is not None and function(option, value, 0, 0, 0) == 0


def become_subreaper() -> bool:
    """Adopt the orphans of the own tree from now on; False where that is impossible."""
    return prctl(_PR_SET_CHILD_SUBREAPER, 1)


def wake_at_death_of_parent() -> None:
    """Let the system send SIGCONT when the parent dies, to a process that was stopped meanwhile.  It
    does so as well when only the thread ends that started this one, where it does no harm."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)


def descendants(roots: Iterable[int]) -> list[int]:
    """The pids below ``roots`` (without them), parents before children, ended ones included."""
    children_of = _child_lookup()
    found: list[int] = []
    pending = list(roots)
    while pending:
        below = children_of(pending.pop())
        found += below
        pending += below
    return found


def _child_lookup() -> Callable[[int], list[int]]:
    """Reading a tree's own ``children`` files takes 0.1 ms where a scan of /proc takes 5 to 10 ms:
    fast enough to catch a chain of processes that each live for 2 ms."""
    return children if os.path.exists("/proc/thread-self/children") else _children_by_scan()


def _children_by_scan() -> Callable[[int], list[int]]:
    """The same for a kernel without CONFIG_PROC_CHILDREN, from one scan of /proc."""
    table: dict[int, list[int]] = {}
    for pid in _pids():
        text = _read(f"/proc/{pid}/stat")
        if text:  # pid (name, which may hold anything) state ppid ...
            table.setdefault(int(text.rpartition(b")")[2].split()[1]), []).append(pid)
    return lambda pid: table.get(pid, [])


def children(pid: int) -> list[int]:
    """The direct children of a process, ended ones included; empty when it is gone."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(word) for task in tasks for word in _read(f"/proc/{pid}/task/{task}/children").split()]


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _read(path: str) -> bytes:
    """The content of a /proc file; empty when the process is gone or not ours to read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def send(pid: int, number: int) -> None:
    """Signal one process; one that is already gone, or not ours to signal, is left alone."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def send_group(group: int, number: int) -> None:
    """Signal a process group, if it still has members that are ours."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return


class Brood:
    """The leader and everything below it, seen from the subreaper that forked the leader."""

    def __init__(self, leader: int, *, contained: bool, cell: str = "") -> None:
        self.leader = leader
        self.contained = contained
        """This process is a subreaper and /proc is there: nothing can escape."""
        self.cell = cell
        """Its cgroup, where it has one."""
        self.strays = strays.Strays(leader)
        self.code: int | None = None
        """Exit status of the leader, negative for a signal; None while it runs."""

    def reap(self) -> bool:
        """Collect the children that have ended; True while any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.leader:
                self.code = os.waitstatus_to_exitcode(status)

    def written(self) -> int:
        """Bytes that the tree has written so far, as :func:`disk.written` counts."""
        own = os.getpid()
        return disk.written([own, *descendants([own])]) if HAS_PROC else 0

    def end(self) -> list[int]:
        """End everyone; returns at once when nobody is left.  What even KILL could not end."""
        if not self._round(signal.SIGTERM, GRACE, 0.02):
            cgroup.kill(self.cell)
            self._round(signal.SIGKILL, KILL_LIMIT, 0.001)
        cgroup.remove(self.cell)
        return descendants([os.getpid()])

    def _round(self, number: int, seconds: float, longest_pause: float) -> bool:
        """Signal everyone until nobody is left (True) or ``seconds`` have passed (False)."""
        told: set[int] = set()
        pause = 0.0005
        deadline = time.monotonic() + seconds
        if not self.contained:
            self.strays.look(now=True)
            send_group(self.leader, number)
            self.strays.send(number)
        while self.reap() or self.strays.living():
            if time.monotonic() >= deadline:
                return False
            for pid in descendants([os.getpid()]):
                if pid not in told or number == signal.SIGKILL:
                    told.add(pid)
                    send(pid, number)
            time.sleep(pause)
            pause = min(pause * 2, longest_pause)
        return self.contained or number == signal.SIGKILL


def tagged(tag: str, name: str = TAG) -> list[int]:
    """The living processes of this user that carry the tag, without this one."""
    if not HAS_PROC:
        return strays.tagged(name, tag)
    mark = f"{name}={tag}".encode("utf-8", "surrogateescape")
    own = os.getpid()
    return [p for p in _pids() if p != own and mark in _read(f"/proc/{p}/environ").split(b"\0")]


def sweep_tag(tag: str, cell: str = "") -> list[int]:
    """End every process that carries the tag or stands in the cell, where its shim can no longer do
    it.  Without a cell, one that gave itself another environment is not seen.

    Returns the pids that could not be ended.
    """
    return sweep(lambda: [*tagged(tag), *cgroup.members(cell)], [cell])


def sweep(look: Callable[[], list[int]], cells: Sequence[str]) -> list[int]:
    """End what ``look`` finds until it finds nothing, and remove the cells; what could not be ended."""
    start = time.monotonic()
    told: set[int] = set()
    while left := look():
        passed = time.monotonic() - start
        if passed >= GRACE + KILL_LIMIT:
            break
        for cell in cells if passed >= GRACE else ():
            cgroup.kill(cell)
        for pid in left:
            if passed >= GRACE or pid not in told:
                told.add(pid)
                send(pid, signal.SIGKILL if passed >= GRACE else signal.SIGTERM)
        time.sleep(0.02 if passed < GRACE else 0.001)
    for cell in cells:
        cgroup.remove(cell)
    return left
