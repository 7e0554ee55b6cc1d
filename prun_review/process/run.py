"""A short command, run to its end: git, ``--version``, a login check.  Blocking, no shim.

Output goes to files without a name, so a grandchild that keeps them open cannot hold the caller.
"""

from __future__ import annotations

import os
import secrets
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from prun_review.errors import LaunchError
from prun_review.process import reap

OWN = secrets.token_hex(8)
"""What this process marks its commands with: the zygote ends them where it was SIGKILLed."""
CHECK = 0.1
"""Seconds between looks at the size of the output."""


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that ended by itself."""

    code: int
    """Exit status; negative for a signal."""
    stdout: bytes
    stderr: bytes


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    stdin: bytes = b"",
    timeout: float,
    max_output: int = 64 << 20,
    sweep: bool = False,
) -> Completed:
    """Run ``argv`` to its end with exactly ``env`` (and the tag that lets its tree be found).

    ``timeout`` is in seconds, ``max_output`` in bytes per stream.  With ``sweep`` what it leaves running in
    sessions of its own is ended too: a program of which we know nothing may do so.  ``LaunchError`` when it
    cannot be started, takes longer or writes more: its tree is ended, and half an output is never returned.
    """
    tag = secrets.token_hex(8)
    with _unnamed() as source, _unnamed() as out, _unnamed() as err:
        source.write(stdin)
        source.seek(0)
        try:
            process = subprocess.Popen(
                argv,
                env={**env, reap.TAG: tag, reap.HELPER: OWN},
                cwd=cwd,
                stdin=source,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise LaunchError(f"cannot start {argv[0]}: {error}") from error
        try:
            problem = _watch(process, time.monotonic() + timeout, (out, err), max_output)
        except BaseException:
            _end(process, tag)
            raise
        if problem:
            _end(process, tag)
            raise LaunchError(f"{' '.join(argv[:3])}: {problem.format(timeout=timeout, limit=max_output)}")
        if sweep:
            reap.sweep_tag(tag)
        return Completed(process.wait(), _content(out), _content(err))


def _unnamed() -> IO[bytes]:
    """A file for a moment: in memory where that is possible, since all of it is read into memory anyway (a
    file system that has just lost many files takes a millisecond for a new one)."""
    if not hasattr(os, "memfd_create"):
        return tempfile.TemporaryFile()
    return os.fdopen(os.memfd_create("prun_review"), "w+b")


def _watch(
    process: subprocess.Popen[bytes], deadline: float, outputs: Sequence[IO[bytes]], limit: int
) -> str:
    """Wait for the end; what went wrong, or nothing.  What is left of its group is ended while the
    leader is not yet reaped, so that the group's number cannot belong to anybody else."""
    handle = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
    try:
        while True:
            remaining = deadline - time.monotonic()
            ended = _ended(process, handle, max(0.0, min(CHECK, remaining)))
            if any(os.fstat(output.fileno()).st_size > limit for output in outputs):
                return "wrote more than {limit} bytes"
            if ended:
                reap.send_group(process.pid, signal.SIGKILL)
                return ""
            if remaining <= 0:
                return "not finished after {timeout:g} s"
    finally:
        if handle is not None:
            os.close(handle)


def _ended(process: subprocess.Popen[bytes], handle: int | None, seconds: float) -> bool:
    if handle is None:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True
    poller = select.poll()
    poller.register(handle, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


def _end(process: subprocess.Popen[bytes], tag: str) -> None:
    reap.send(process.pid, signal.SIGTERM)
    reap.sweep_tag(tag)
    reap.send_group(process.pid, signal.SIGKILL)
    process.wait()


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
