"""The zygote: one small interpreter that forks a shim for each descriptor it is handed.

Started before the harness has any thread, with ``-I -S`` and a handful of modules, so that a shim
costs one fork (0.74 MiB of its own) instead of one interpreter start (27 ms and 4.5 MiB).  It reads
nothing of a dispatch: the shim gets the launch over its own lifeline.  Every page that it touches
between two forks is a page more that each shim keeps for itself, so it does little.

When the harness is gone it waits for its shims and ends too.  It is a subreaper as well, so the
tree of a shim that was SIGKILLed falls to it and is ended here: TERM, grace, KILL.  Nests of earlier
zygotes that were SIGKILLed together with all their shims are ended at the start.

A worker can send SIGSTOP to its shim and to the zygote, which then do not see the harness die.  So the
system wakes the zygote, the zygote its shims, and one that does not end for all that is KILLed.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
import time

from prun_review.process import cgroup, disk, reap, shim

LOOK = 1.0
"""Seconds between looks at the shims; only the end of a killed one waits for it."""
TICK = 0.02
"""Seconds between looks while orphans are being ended."""
LIMIT = reap.GRACE + reap.KILL_LIMIT + 1.0
"""Seconds from the end of the harness in which every shim has ended its tree, or given up."""
REHEARSALS = 10
"""CPython 3.11 rewrites the code of a function at its eighth call."""
_ROOM = socket.CMSG_SPACE(4) if hasattr(socket, "CMSG_SPACE") else 0
"""For one descriptor."""


class Zygote:
    """The loop, and what it knows: its shims, and since when there may be orphans."""

    def __init__(self, control: socket.socket, nest: cgroup.Nest, harness: str) -> None:
        self.control = control
        self.harness = harness
        """What the harness marks its own commands with; empty once it said farewell."""
        self.nest = nest
        self.open = True
        self.limit = 0.0
        """When shims are KILLed; has a meaning once the harness is gone."""
        self.born = REHEARSALS
        """Numbers the cells; those below were used before."""
        self.shims: dict[int, str] = {}
        """Pid -> path of its cell, which is there or not."""
        self.lost: list[str] = []
        """The cells of shims that may have left their tree."""
        self.orphans_since: float | None = None
        self.told: set[int] = set()

    def serve(self) -> None:
        """Fork shims until the harness is gone, then stay until they are."""
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        while self.open or self.shims or self.orphans_since is not None:
            pause = TICK if self.orphans_since is not None or not self.open else LOOK
            if not self.open:
                time.sleep(pause)
                if time.monotonic() >= self.limit:
                    self.tell_shims(signal.SIGKILL)
            elif poller.poll(pause * 1000 if self.shims else None):
                self.answer()
            self.reap()
            if self.orphans_since is not None:
                self.end_orphans(time.monotonic() - self.orphans_since >= reap.GRACE)
        self.nest.give_up()

    def answer(self) -> None:
        """Take one lifeline and fork its shim; an end of file is the harness's end."""
        try:
            data, ancillary, _, _ = self.control.recvmsg(1, _ROOM)
        except ConnectionError:
            data, ancillary = b"", []
        if data == shim.FAREWELL:
            self.harness = ""
        if not data:
            self.control.close()
            self.end_helpers()
            self.open = False
            self.limit = time.monotonic() + LIMIT
            self.tell_shims(signal.SIGCONT)
        for _, _, descriptor in ancillary:
            lifeline = int.from_bytes(descriptor, sys.byteorder)
            os.set_inheritable(lifeline, False)  # a descriptor that was sent is not close-on-exec
            self.fork(lifeline)
            os.close(lifeline)

    def tell_shims(self, number: int) -> None:
        """Signal all of them; none is collected here, so the numbers are theirs."""
        for pid in self.shims:
            reap.send(pid, number)

    def fork(self, lifeline: int) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            shim.report(lifeline, None, "spawn", 0.0, f"cannot fork: {error.strerror}")
            return
        self.born += 1
        if pid:
            self.shims[pid] = self.nest.cell(self.born)
            return
        status = 1
        try:
            status = shim.main(lifeline, self.nest, self.born)
        finally:
            os._exit(status)

    def end_helpers(self) -> None:
        """End what a harness that was killed ran beside its dispatches: a git may be at it for minutes."""
        pid = os.fork() if self.harness else 0
        if pid:
            self.shims[pid] = ""
        elif self.harness:
            try:
                reap.sweep(lambda: reap.tagged(self.harness, reap.HELPER), [])
            finally:
                os._exit(0)

    def sweep(self, nests: list[cgroup.Nest]) -> None:
        """End what stands in deserted nests, in a fork: its grace must not hold up the start."""
        pid = os.fork() if nests else 0
        if pid:
            self.shims[pid] = ""
            for nest in nests:
                os.close(nest.lock)
        elif nests:
            try:
                shim.close_all_but(*(nest.lock for nest in nests))
                cells = [nest.path for nest in nests]
                reap.sweep(lambda: [pid for cell in cells for pid in cgroup.members(cell)], cells)
            finally:
                os._exit(0)

    def reap(self) -> None:
        """Collect the shims that have ended.  One that did not say 0 may have left its tree."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self.shims:
                cell = self.shims.pop(pid)
                if status:
                    self.lost.append(cell)
                    self.orphans_since = self.orphans_since or time.monotonic()

    def end_orphans(self, kill: bool) -> None:
        """One round over adopted children.  The grace counts from the first lost shim, because a
        chain of processes that ignore TERM would otherwise begin a new grace with each link."""
        orphans = [pid for pid in reap.children(os.getpid()) if pid not in self.shims]
        orphans += [pid for cell in self.lost for pid in cgroup.members(cell)]
        if not orphans:
            self.orphans_since = None
            self.told.clear()
            for cell in self.lost:
                cgroup.remove(cell)
            self.lost.clear()
            return
        for cell in self.lost if kill else ():
            cgroup.kill(cell)
        for pid in orphans + reap.descendants(orphans):
            if kill or pid not in self.told:
                self.told.add(pid)
                reap.send(pid, signal.SIGKILL if kill else signal.SIGTERM)


def rehearse(nest: cgroup.Nest, *, contained: bool) -> None:
    """Live dispatches of nothing through before the first fork.  The interpreter fills its caches
    here then and not in every shim, which would have pages of its own for them: measured with 64
    shims, each keeps 0.74 MiB to itself instead of 0.97."""
    nothing = shim.pack(LOOK, 0, b"/", [b"/dev/null"] * 3, [b"/bin/sh", b"-c", b":"], [])
    for number in range(REHEARSALS):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.sendall(nothing)
            shim.live(theirs.fileno(), nest, number, contained=contained)


def main(control: int, cgroups: int, libraries: str, harness: str) -> None:
    """Serve on the inherited socket ``control``; ``cgroups`` is 0 to do without them.

    ``libraries`` is the folder of psutil, or empty; ``harness`` is what the harness marks its own commands
    with.  The signals that people and terminals send are
    ignored here and thus in every shim: an end is asked for over the control socket or a lifeline,
    and nothing else may leave a tree behind.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN if number in shim.IGNORED else signal.SIG_DFL)
    if libraries:
        sys.path.append(libraries)
    disk.limit_files()
    reap.wake_at_death_of_parent()
    place = cgroup.home() if cgroups else ""
    zygote = Zygote(_endpoint(control), cgroup.make_nest(place), harness)
    rehearse(zygote.nest, contained=reap.become_subreaper() and reap.HAS_PROC)
    zygote.sweep(cgroup.deserted(place) if zygote.nest.path else [])
    gc.disable()
    gc.freeze()
    zygote.serve()


def _endpoint(control: int) -> socket.socket:
    endpoint = socket.socket(fileno=control)
    endpoint.set_inheritable(False)
    return endpoint
