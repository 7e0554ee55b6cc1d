"""The shim: stands over one dispatch, starts its worker, and does not leave before the tree is gone.

It talks to the harness over its *lifeline*, a stream socket.  Down comes the launch (see
:func:`pack`), later perhaps one line with the reason to stop; up goes one JSON object per line,
``{"pid": n, "shim": n, "cell": path}`` once the worker runs and ``{"exit": {...}}`` last.  An end of
file on the lifeline means that the harness died, in whatever way, and ends the tree like a stop.

The worker has a process group of its own, so that no signal it sends to its group reaches the shim.
This runs in a fork of the zygote and is sparing with objects, because 64 of them wait at once and
each touched page is a copy.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import stat
import time
from collections.abc import Sequence

from prun_review.process import cgroup, disk, reap

CHECK = 0.25
"""Seconds between looks at the size of the output and at what room the disk has."""
SETTLING = 0.05
"""Seconds that the children of a worker which ended may take to end too."""
IGNORED = tuple(
    getattr(signal, name)
    for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGPIPE", "SIGXFSZ")
    if hasattr(signal, name)  # the harness imports this module on every platform
)
"""What zygote and shim ignore, and the worker gets back with its default."""
FAREWELL = b"."
"""What a harness that ends in order tells its zygote: nothing of it has to be looked for."""
_DIGITS = 8


class Launch:
    """A launch as the shim has it: bytes, as the kernel wants them."""

    __slots__ = ("argv", "cwd", "env", "max_output", "streams", "timeout")

    def __init__(self, packed: bytes) -> None:
        timeout, max_output, self.cwd, *rest = packed.split(b"\0")
        self.timeout = float(timeout)
        self.max_output = int(max_output)
        self.streams = rest[:3]
        words = int(rest[3])
        self.argv = rest[4 : 4 + words]
        self.env = rest[4 + words :]


def pack(
    timeout: float,
    max_output: int,
    cwd: bytes,
    streams: Sequence[bytes],
    argv: Sequence[bytes],
    env: Sequence[bytes],
) -> bytes:
    """A launch as it crosses the lifeline: its length in 8 digits, then fields that end with NUL,
    which none of them can hold; ``ValueError`` when one does."""
    fields = [repr(timeout).encode(), b"%d" % max_output, cwd, *streams, b"%d" % len(argv), *argv, *env]
    packed = b"\0".join(fields)
    if packed.count(b"\0") != len(fields) - 1:
        raise ValueError("a NUL byte in argv, environment or path")
    if len(packed) >= 10**_DIGITS:
        raise ValueError(f"argv and environment hold {len(packed)} bytes")
    return b"%0*d" % (_DIGITS, len(packed)) + packed


def _receive(lifeline: int) -> Launch | None:
    """The launch, or None when the harness is gone before it was whole."""
    data = b""
    while len(data) < _DIGITS or len(data) < _DIGITS + int(data[:_DIGITS]):
        more = _read(lifeline)
        if not more:
            return None
        data += more
    return Launch(data[_DIGITS:])


def _read(lifeline: int) -> bytes:
    try:
        return os.read(lifeline, 8192)
    except ConnectionError:
        return b""


def _tell(lifeline: int, message: bytes) -> None:
    """Send one line; a harness that is gone needs no answer."""
    try:
        os.write(lifeline, message)
    except ConnectionError:
        return


def report(lifeline: int, code: int | None, ended_by: str, seconds: float, note: str) -> None:
    """Send the exit, as :class:`prun_review.model.Exit` spells it."""
    fields = {"code": code, "ended_by": ended_by, "seconds": round(seconds, 3), "note": note}
    _tell(lifeline, json.dumps({"exit": fields}).encode() + b"\n")


def main(lifeline: int, nest: cgroup.Nest, cell: int) -> int:
    """Live one dispatch through.  Whatever goes wrong in here is reported, never a silent end.

    Returns the exit status of the shim: 0 when its tree is gone.
    """
    close_all_but(lifeline, nest.lock)
    os.setsid()
    return live(lifeline, nest, cell, contained=reap.become_subreaper() and reap.HAS_PROC)


def close_all_but(*kept: int) -> None:
    """Close what a fork of the zygote has and does not need; -1 stands for none."""
    low = 3
    for descriptor in sorted(kept):
        if descriptor >= low:  # the kernel takes a range that ends below 0 for one without an end
            os.closerange(low, descriptor)
            low = descriptor + 1
    os.closerange(low, low + 64)


def live(lifeline: int, nest: cgroup.Nest, cell: int, *, contained: bool) -> int:
    """What :func:`main` does once it is a process of its own; ``cell`` is the number of its cell."""
    started = time.monotonic()
    launch = _receive(lifeline)
    if launch is None:
        return 0
    try:
        code, ended_by, note = _dispatch(launch, lifeline, nest, cell, contained)
    except _SpawnError as error:
        code, ended_by, note = None, "spawn", str(error)
    except Exception as error:
        reap.Brood(os.getpid(), contained=True).end()  # by its children: the leader may be unknown
        code, ended_by, note = None, "lost", f"the shim failed: {error!r}"
    report(lifeline, code, ended_by, time.monotonic() - started, note)
    return 1 if reap.descendants([os.getpid()]) else 0


def _dispatch(
    launch: Launch, lifeline: int, nest: cgroup.Nest, cell: int, contained: bool
) -> tuple[int | None, str, str]:
    streams = _open_streams(launch)
    place = nest.enter(cell)
    try:
        leader = _spawn(launch, streams)
    except _SpawnError:
        cgroup.remove(cgroup.leave(place))
        raise
    place = cgroup.leave(place)
    cell_told = nest.told(cell) if place else b'""'
    _tell(lifeline, b'{"pid": %d, "shim": %d, "cell": %s}\n' % (leader, os.getpid(), cell_told))
    brood = reap.Brood(leader, contained=contained, cell=place)
    ended_by, note = _watch(launch, lifeline, brood, streams[1:])
    notes = [note] if note else []
    if not ended_by and _left_behind(brood):
        notes.append(f"ended {len(reap.descendants([os.getpid()]))} process(es) that were left behind")
    outlived = brood.end()
    if outlived:
        notes.append("could not be ended: " + ", ".join(map(str, outlived)))
    notes += _cut(streams[1:], launch.max_output)
    return brood.code, ended_by, "; ".join(notes)


def _left_behind(brood: reap.Brood) -> bool:
    """Whether children are left that do not go by themselves in a moment, as bubblewrap's inner process
    does, which ends just after the outer one."""
    deadline = time.monotonic() + SETTLING
    while left := brood.reap():
        if time.monotonic() >= deadline:
            break
        time.sleep(0.002)
    return left


def _watch(launch: Launch, lifeline: int, brood: reap.Brood, outputs: list[int]) -> tuple[str, str]:
    """Wait for whatever comes first; why the tree is to be ended (empty: the leader ended), a note."""
    deadline = time.monotonic() + launch.timeout
    poller = select.poll()
    poller.register(lifeline, select.POLLIN)
    check = 0.02
    if hasattr(os, "pidfd_open"):
        poller.register(os.pidfd_open(brood.leader), select.POLLIN)
        check = CHECK
    room = disk.Room((*outputs, launch.cwd), lambda: max(sum(_sizes(outputs)), brood.written()))
    while True:
        remaining = deadline - time.monotonic()
        ready = poller.poll(max(0.0, min(check, remaining)) * 1000)
        brood.reap()
        if brood.code is not None:
            return "", ""
        for descriptor, _ in ready:
            if descriptor == lifeline:
                why = _read(lifeline).partition(b"\n")[0].decode()
                return (why, "") if why else ("cancelled", "the harness is gone")
        if remaining <= 0:
            return "timeout", f"not finished after {launch.timeout:g} s"
        if any(size > launch.max_output for size in _sizes(outputs)):
            return "output", f"wrote more than {launch.max_output} bytes"
        if shortage := room.shortage():
            return "output", shortage
        brood.strays.look()


def _sizes(outputs: list[int]) -> list[int]:
    return [os.fstat(output).st_size for output in outputs]


def _cut(outputs: list[int], limit: int) -> list[str]:
    """Give the disk back what was written past the limit before the tree was gone."""
    notes = []
    for output in outputs:
        size = os.fstat(output).st_size
        if size > limit:
            os.ftruncate(output, limit)
            notes.append(f"kept the first {limit} of {size} bytes")
    return notes


class _SpawnError(Exception):
    """Why the worker could not be started."""


def _open_streams(launch: Launch) -> list[int]:
    """Standard input, output and error; a FIFO is refused, for it could block for ever."""
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    opened = []
    for path, flags in zip(launch.streams, (os.O_RDONLY, append, append), strict=True):
        try:
            stream = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
        except OSError as error:
            raise _SpawnError(f"cannot open {os.fsdecode(path)}: {error.strerror}") from error
        mode = os.fstat(stream).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode)):
            raise _SpawnError(f"{os.fsdecode(path)} is neither a file nor a device")
        if flags == append and stat.S_ISREG(mode):
            os.ftruncate(stream, 0)
        os.set_blocking(stream, True)
        opened.append(stream)
    return opened


def _spawn(launch: Launch, streams: list[int]) -> int:
    """Start the worker; its pid once the exec succeeded.  ``posix_spawn`` forks without copying a
    page and reports a failed exec; every descriptor but the three streams is close-on-exec."""
    step = b"cannot enter " + launch.cwd
    try:
        os.chdir(launch.cwd)
        step = b"cannot start " + b" ".join(launch.argv[:1])
        env = dict(entry.split(b"=", 1) for entry in launch.env)
        return os.posix_spawn(
            _program(launch.argv[0], env),
            launch.argv,
            env,
            file_actions=[(os.POSIX_SPAWN_DUP2, stream, target) for target, stream in enumerate(streams)],
            setpgroup=0,
            setsigdef=IGNORED,
        )
    except (OSError, ValueError, IndexError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise _SpawnError(f"{os.fsdecode(step)}: {why}") from error
    finally:
        os.chdir("/")


def _program(name: bytes, env: dict[bytes, bytes]) -> bytes:
    """A bare name is looked up in absolute PATH entries only: a relative one would be looked up in
    the working directory, which is the tree under review."""
    if b"/" in name:
        return name
    for folder in env.get(b"PATH", b"").split(b":"):
        candidate = folder + b"/" + name
        if folder.startswith(b"/") and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    raise OSError(errno.ENOENT, "not found in the absolute entries of its PATH")
