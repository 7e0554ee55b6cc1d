"""A state directory: what one dispatch leaves for those who wait for it.

Made here as the old scripts make it (``pre-mtime``, ``timestamp``, ``result-file``,
``dispatch-pid``, ``tail``, ``work/``), with three files more that they do not know: ``prompt.md``
(what was sent), ``pre-result`` (what stood at the result's place before) and ``dispatch-start``
(which process the recorded pid means).  Read here whoever made it, and whatever became of it: an
entry may be absent, a FIFO, a megabyte long or no UTF-8.  The attempts of our own runs are such
directories too.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from prun_review import fallback, files
from prun_review.errors import RunDirError
from prun_review.prun import births

NAME = re.compile("[A-Za-z0-9_-]+")
"""A unit id: it becomes part of a directory's name."""
ENTRY_CAP = 64 << 10
"""Bytes of an entry; a longer one is none."""
RESULT_CAP = 32 << 20
"""Bytes of a ``result.json`` of our own runs."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a file was when it was looked at."""

    size: int
    mtime_ns: int
    sha256: str = ""
    """Empty where the file could not be read."""

    def met(self, info: os.stat_result) -> bool:
        """The file with this ``stat`` is still the same, as far as that can tell."""
        return (info.st_size, info.st_mtime_ns) == (self.size, self.mtime_ns)


def mark(path: Path) -> Mark | None:
    """The mark of a non-empty ordinary file, or None."""
    info = ordinary(path)
    if info is None or not info.st_size:
        return None
    digest = ""
    with suppress(OSError), open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Mark(info.st_size, info.st_mtime_ns, digest)


def ordinary(path: Path) -> os.stat_result | None:
    """``stat`` of an ordinary file (links are followed), or None for anything else."""
    try:
        info = path.stat()
    except (OSError, ValueError):
        return None
    return info if stat.S_ISREG(info.st_mode) else None


def here(env: Mapping[str, str]) -> str:
    """The working directory as a shell tells it: ``$PWD`` where that is true.  Empty: vanished."""
    told = env.get("PWD", "")
    with suppress(OSError):
        if os.path.isabs(told) and os.path.samefile(told, "."):
            return told
    with suppress(OSError):
        return os.getcwd()
    return ""


def base(env: Mapping[str, str]) -> Path:
    """The directory below which state directories are made, absolute."""
    return Path(os.path.join(here(env) or "/", (env.get("TMPDIR") or "/tmp").removesuffix("/") or "/"))


@dataclass(frozen=True, slots=True)
class Fresh:
    """A state directory of this process."""

    path: Path
    nonce: str
    before: Mark | None
    """What stood at the result's place before the dispatch."""


def create(unit: str, result: Path, prompt: bytes, env: Mapping[str, str]) -> Fresh:
    """Make the directory with all that is known before the worker starts, but for the ``tail``.

    ``RunDirError`` when that is impossible.
    """
    place, nonce = here(env), secrets.token_hex(8)
    # As ``pwd | sha256sum`` has it, so the line end belongs to it.
    origin = hashlib.sha256(os.fsencode(place) + b"\n").hexdigest()[:8] if place else "nohash"
    path = base(env) / f"prun-task-{origin}-{unit}-{os.getpid()}-{nonce}"
    before, info = mark(result), ordinary(result)
    entries = {
        "pre-mtime": b"%d\n" % (info.st_mtime if info else 0),
        "pre-result": json.dumps([before.size, before.mtime_ns, before.sha256] if before else []).encode()
        + b"\n",
        "timestamp": b"%d\n" % time.time(),
        "result-file": os.fsencode(result) + b"\n",
        "dispatch-start": births.birth(os.getpid()).encode() + b"\n",
        "dispatch-pid": b"%d\n" % os.getpid(),
        "prompt.md": prompt,
    }
    with files.named(RunDirError, "failed to create state-dir", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.make_private(path)
        for name, data in entries.items():
            files.create(path / name, data)
    return Fresh(path, nonce, before)


class StateDir:
    """A state directory as a reader finds it.  Nothing here raises, follows a link or waits."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def entry(self, name: str) -> bytes | None:
        """Line 1 of an entry; None where it is absent, empty, too long or no ordinary file."""
        taken = files.take_regular(self.path, name, ENTRY_CAP)
        line = taken.data.partition(b"\n")[0].rstrip(b"\r")
        return None if taken.refused or taken.note or not line else line

    def number(self, name: str) -> int | None:
        """An entry that is a number of at most 18 digits."""
        line = self.entry(name)
        return int(line) if line and re.fullmatch(rb"[0-9]{1,18}", line) else None

    def result(self) -> Path | None:
        """Where the result goes; None where the entry does not say it.

        A relative path counts from the working directory, as the old scripts have it, else from the
        state directory if it stays below it.
        """
        line = self.entry("result-file")
        if line is None or b"\0" in line:
            return None
        path = Path(os.fsdecode(line))
        below = self.path / path
        if path.is_absolute() or ".." in path.parts or os.path.exists(path) or not os.path.exists(below):
            return path
        return below

    def landed(self, result: Path) -> os.stat_result | None:
        """``stat`` of the result of this dispatch: a non-empty ordinary file that did not stand
        there before; else None."""
        info = ordinary(result)
        return info if info and info.st_size and not self.old(info) else None

    def old(self, info: os.stat_result) -> bool:
        """A file with this ``stat`` stood at the result's place before the dispatch."""
        line = self.entry("pre-result")
        if line is not None:
            with suppress(ValueError, TypeError):
                size, mtime_ns, _ = json.loads(line) or (-1, -1, "")
                return Mark(size, mtime_ns).met(info)
        before, made = self.number("pre-mtime"), self.number("timestamp")
        # Within one second nothing can be told apart, so the file counts as the dispatch's own.
        return bool(before and made and before < made and int(info.st_mtime) == before)

    def alive(self) -> bool | None:
        """The dispatcher lives; None where the directory does not say who it is."""
        pid = self.number("dispatch-pid")
        if not pid:
            return None
        born = self.entry("dispatch-start")
        return births.runs(pid, born.decode("ascii", "replace") if born else "", self.number("timestamp"))

    def output(self) -> tuple[tuple[int, int], ...]:
        """Size and time of change of what the worker prints; empty as long as there is nothing.

        Our own runs keep standard error apart from the ``tail``.
        """
        found = []
        for name in ("tail", "stderr"):
            with suppress(OSError):
                info = (self.path / name).lstat()
                found.append((info.st_size, info.st_mtime_ns))
        return tuple(found)

    def failure(self, result: Path) -> str:
        """Why a result that has landed is none: ``fallback``, or the status of a unit of our own
        runs that has no valid answer; empty for a result."""
        if fallback.recognised(head(result)):
            return "fallback"
        ours = os.path.realpath(result) == os.path.join(os.path.realpath(self.path.parent), "result.json")
        if not ours:
            return ""
        taken = files.take_regular(result.parent, result.name, RESULT_CAP)
        try:
            status = json.loads(taken.data)["status"]
        except (ValueError, TypeError, KeyError, RecursionError):
            return "unreadable"
        return "" if status == "valid" else str(status)[:40].split("\n")[0]


def head(path: Path) -> str:
    """The beginning of an ordinary file, decoded leniently; empty where it cannot be read."""
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                return os.read(fd, ENTRY_CAP).decode("utf-8", "replace")
        finally:
            os.close(fd)
    return ""


def waiting(env: Mapping[str, str], result: Path) -> Iterator[StateDir]:
    """The user's dispatches below the temporary directory that run and have this result to write."""
    wanted = os.path.realpath(result)
    place = base(env)
    names: list[str] = []
    with suppress(OSError):  # no such directory, or one that may not be listed
        names = os.listdir(place)
    for name in names:
        if name.startswith("prun-task-") and _own(place / name):
            found = StateDir(place / name)
            told = found.result()
            if told is not None and os.path.realpath(told) == wanted and found.alive():
                yield found


def _own(path: Path) -> bool:
    """Made by this user: anybody may make a directory in /tmp, and keep others waiting with it."""
    try:
        return path.lstat().st_uid == os.geteuid()
    except OSError:  # removed since it was listed
        return False
