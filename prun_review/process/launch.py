"""``ProcessLauncher``: the ``Launcher`` port over a zygote and its shims.

Per launch the harness keeps one end of a socket pair, the *lifeline*; the zygote is handed the other
end and forks a shim that lives on it (see ``shim``).  The harness's end is close-on-exec and is
closed in every fork of the harness, so the moment the harness is gone, SIGKILL included, every shim
reads an end of file and ends its tree.

Other systems than Linux get the weaker guarantees named in ``reap``; without ``fork`` there is no
launcher at all, only a ``LaunchError``.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prun_review.codec import decode
from prun_review.errors import LaunchError
from prun_review.model import Exit
from prun_review.ports import Launch
from prun_review.process import reap, shim, strays
from prun_review.process.run import OWN

BIRTH_LIMIT = 60.0
"""Seconds for a shim to say that its worker runs; 64 at once on 2 busy cores take about one."""
BIRTHS = 2 * (os.cpu_count() or 1)
"""Most starts under way at once: with 64 competing for 2 cores the first worker ran after 1 s."""
END_LIMIT = reap.GRACE + reap.KILL_LIMIT + 5
"""Seconds within which a shim that was told to stop has reported."""

_BOOT = """\
import sys
for name, path in (("prun_review", sys.argv[1]), ("prun_review.process", sys.argv[2])):
    module = type(sys)(name)
    module.__path__ = [path]
    sys.modules[name] = module
from prun_review.process import zygote
zygote.main(int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
"""
"""Loads the zygote's few modules without running the package's own ``__init__`` files."""

SILENCE = 10.0
"""Seconds after its own deadline (TERM, two seconds, KILL) in which a shim must have reported."""

_ours: weakref.WeakSet[socket.socket] = weakref.WeakSet()
"""Every descriptor whose end of file tells a zygote or a shim that the harness is gone."""


def _close_in_fork() -> None:
    for endpoint in list(_ours):
        endpoint.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_fork)


class ShimProcess:
    """One process tree, seen over its lifeline.  Safe to use from several threads."""

    def __init__(
        self, lifeline: socket.socket, tag: str, timeout: float, forget: Callable[[ShimProcess], None]
    ) -> None:
        self.pid = 0
        """Of the worker; 0 when it could not be started."""
        self._lifeline = lifeline
        self._tag = tag
        self._forget = forget
        self._reading = threading.Lock()
        self._sending = threading.RLock()
        self._sent = False
        self._stopped = ""
        self._buffer = b""
        self._started = time.monotonic()
        self._shim = 0
        self._cell = ""
        self._timeout = timeout
        self._overdue = self._started + BIRTH_LIMIT + timeout + SILENCE
        """When a report that has not come will never come: somebody stopped the shim."""
        self._exit: Exit | None = None

    def begin(self, launch: bytes) -> bool:
        """Send the launch and wait for the worker to run (or to be impossible, which is an exit);
        False when the lifeline ended first."""
        with self._reading:
            with self._sending:
                if self._stopped:
                    self._finish(Exit(None, self._stopped, note="stopped before it was started"))
                    return True
                self._lifeline.settimeout(BIRTH_LIMIT)
                try:
                    self._lifeline.sendall(launch)
                except OSError:
                    return False
                self._sent = True
            message = self._receive(time.monotonic() + BIRTH_LIMIT)
            if message is None:
                raise LaunchError(f"no shim answered in {BIRTH_LIMIT:g} s", remedy="run fewer jobs at once")
            if "exit" in message:
                self._finish(decode(Exit, message["exit"]))
            self.pid = message.get("pid", 0)
            self._shim = message.get("shim", 0)
            self._cell = message.get("cell", "")
            self._overdue = min(self._overdue, time.monotonic() + self._timeout + SILENCE)
            return bool(message)

    def wait(self, timeout: float | None = None) -> Exit | None:
        """How it ended, once its tree is gone; None when ``timeout`` seconds passed first."""
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self._reading.acquire(timeout=-1 if timeout is None else max(0.0, timeout)):
            return None
        try:
            while self._exit is None:
                # In slices, since :meth:`stop` brings the moment nearer at which a shim is overdue.
                slice_end = time.monotonic() + 1.0
                message = self._receive(slice_end if deadline is None else min(deadline, slice_end))
                now = time.monotonic()
                if message is None and now >= self._overdue and self._shim:
                    reap.send(self._shim, signal.SIGKILL)  # the zygote ends what it leaves
                    message = {}
                if message is not None:
                    self._finish(decode(Exit, message["exit"]) if message else self._lost())
                elif deadline is not None and now >= deadline:
                    break
            return self._exit
        finally:
            self._reading.release()

    def stop(self, why: str = "cancelled") -> None:
        """Ask the shim to end the tree; a tree that is gone needs no asking."""
        with self._sending:
            self._stopped = self._stopped or why
            self._overdue = min(self._overdue, time.monotonic() + SILENCE)
            if self._sent:
                try:
                    self._lifeline.sendall(f"{why}\n".encode())
                except OSError:
                    return

    def abandon(self) -> None:
        """Close the lifeline, which ends the tree if there is one."""
        with self._sending:
            self._lifeline.close()

    def _receive(self, deadline: float | None) -> dict[str, Any] | None:
        """The next message; ``{}`` at the end of file, None at the deadline."""
        poller = select.poll()
        poller.register(self._lifeline, select.POLLIN)
        while b"\n" not in self._buffer:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not poller.poll(None if left is None else left * 1000):
                return None
            try:
                data = self._lifeline.recv(65536)
            except ConnectionError:
                data = b""
            if not data:
                return {}
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(text)
        return message

    def _lost(self) -> Exit:
        outlived = reap.sweep_tag(self._tag, self._cell)
        left = f"; still running: {', '.join(map(str, outlived))}" if outlived else ""
        seconds = round(time.monotonic() - self._started, 3)
        return Exit(None, "lost", seconds, f"its shim died without a report{left}")

    def _finish(self, exit: Exit) -> None:
        self._exit = exit
        self.abandon()
        self._forget(self)


class ProcessLauncher:
    """Starts process trees and guarantees their end.  Make it before the first thread is started.

    ``Launch.tag`` should differ for every launch: when a shim is lost, all that carries its tag is
    ended.  An empty tag is replaced by a random one.  ``cgroups`` is False to do without them.
    """

    def __init__(self, *, cgroups: bool = True) -> None:
        self._lock = threading.Lock()
        self._live: set[ShimProcess] = set()
        self._closed = False
        self._births = threading.BoundedSemaphore(BIRTHS)
        self._restarts_left = 1
        self._cgroups = cgroups
        self._zygote, self._control = _hatch(cgroups)

    def __enter__(self) -> ProcessLauncher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self, launch: Launch) -> ShimProcess:
        """Start it.  A program that cannot be executed is an ``Exit`` with ``ended_by="spawn"``;
        ``LaunchError`` means that nothing can be started any more."""
        tag = launch.tag or secrets.token_hex(8)
        try:
            packed = _pack(launch, tag)
        except ValueError as error:
            raise LaunchError(f"cannot start {launch.argv[:1]}: {error}") from error
        with self._births:
            for _ in range(2):
                process = self._bear(packed, tag, launch.timeout)
                if process:
                    return process
        raise LaunchError("the zygote died twice", remedy="look for memory shortage, then run again")

    def _bear(self, packed: bytes, tag: str, timeout: float) -> ShimProcess | None:
        """One attempt at a start; None when the zygote died with the request."""
        zygote, lifeline = self._hand_over()
        process = ShimProcess(lifeline, tag, timeout, self._discard)
        with self._lock:
            self._live.add(process)
        try:
            begun = process.begin(packed)
        except LaunchError:
            process.abandon()
            self._discard(process)
            reap.sweep_tag(tag)  # its shim may have been stopped after it started the worker
            raise
        if begun:
            return process
        if not _ended(zygote, 1.0):  # only the shim was killed at birth
            process.wait()
            return process
        process.abandon()
        self._discard(process)
        return None

    def close(self) -> None:
        """End whatever still runs, and the zygote; a second call does nothing."""
        with self._lock:
            self._closed = True
            live = list(self._live)
        for process in live:
            process.stop()
        deadline = time.monotonic() + END_LIMIT
        for process in live:
            process.wait(max(0.0, deadline - time.monotonic()))
        with contextlib.suppress(OSError):  # it is dead, or this is the second call
            self._control.send(shim.FAREWELL)
        self._control.close()
        self._zygote.send_signal(signal.SIGCONT)  # a worker may have stopped it
        if not _ended(self._zygote, END_LIMIT):
            self._zygote.kill()
            self._zygote.wait()

    def _discard(self, process: ShimProcess) -> None:
        with self._lock:
            self._live.discard(process)

    def _hand_over(self) -> tuple[subprocess.Popen[bytes], socket.socket]:
        """A fresh lifeline whose other end the zygote has; starts a new zygote once if it must."""
        ours, theirs = socket.socketpair()
        _ours.add(ours)
        with theirs, self._lock:
            while not self._closed:
                self._zygote.send_signal(signal.SIGCONT)  # a worker may have stopped it
                try:
                    socket.send_fds(self._control, [b"+"], [theirs.fileno()])
                    return self._zygote, ours
                except OSError as error:
                    if not self._restarts_left:
                        ours.close()
                        raise LaunchError(f"the zygote is dead: {error.strerror}") from error
                    self._restarts_left -= 1
                    self._control.close()
                    _ended(self._zygote, 1.0)
                    self._zygote, self._control = _hatch(self._cgroups)
        ours.close()
        raise LaunchError("the launcher is closed")


def _hatch(cgroups: bool) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A new zygote and its control socket.  It gets none of the harness's environment but what its
    interpreter needs, and the mark of a dispatch that the harness itself may be part of."""
    if not hasattr(os, "fork"):
        raise LaunchError("this platform has no fork()", remedy="run on Linux (or another POSIX system)")
    if not sys.executable:
        raise LaunchError("sys.executable is not known", remedy="run with an ordinary Python interpreter")
    env = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", reap.TAG) if name in os.environ}
    home = Path(__file__).parent
    ours, theirs = socket.socketpair()
    _ours.add(ours)
    with theirs:
        command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT]
        arguments = [str(home.parent), str(home), str(theirs.fileno()), str(int(cgroups)), _libraries(), OWN]
        try:
            zygote = subprocess.Popen(
                command + arguments,
                env=env,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # a Ctrl-C on the terminal is the harness's to handle
            )
        except OSError as error:
            ours.close()
            raise LaunchError(f"cannot start {sys.executable}: {error.strerror}") from error
    return zygote, ours


def _libraries() -> str:
    """The folder of psutil where a zygote needs it; it looks at no other folder by itself."""
    psutil = strays.library()
    return "" if psutil is None else str(Path(psutil.__file__).parent.parent)


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _pack(launch: Launch, tag: str) -> bytes:
    env = {**launch.env, reap.TAG: tag}
    streams = [os.fsencode(path) for path in (launch.stdin, launch.stdout, launch.stderr)]
    return shim.pack(
        launch.timeout,
        launch.max_output,
        os.fsencode(launch.cwd),
        streams,
        [os.fsencode(word) for word in launch.argv],
        [os.fsencode(f"{name}={value}") for name, value in env.items()],
    )
