"""Stands for one question in an inbox: publishes it, waits for the answer's file, prints that.

    python -I inbox_relay.py ROOT INBOX BASE ABOUT SECONDS   < prompt

A program of its own, standard library only, started like every other dispatch; the protocol stands
in :mod:`prun_review.executors.inbox`.  ROOT is the trusted root, INBOX the folder below it, BASE the
beginning of all names of this question, ABOUT a JSON file that describes the unit, SECONDS its time
limit.  Exit status 0: the answer is on standard output; 2: the inbox cannot be used; 3: an answer that
is too long; 4: time is over; 5: the inbox vanished.  Nothing in the inbox is executed or followed: every
file is opened below one descriptor of the folder, and only an ordinary one is read.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import time
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

POLL = 0.25
"""Seconds between two looks."""
WINDOW = 10.0
"""Seconds for which a file that was not written aside must not have changed to be whole, as for ``gather``:
a session that writes with tool calls pauses between them, and its draft may look complete."""
MOST = 8 << 20
"""Bytes of an answer."""
LATE = 30.0
"""Seconds beyond the limit, at which whoever started this should have ended it."""
REFUSED, TOO_LONG, TOO_LATE, VANISHED = 2, 3, 4, 5

_OPEN = os.O_NOFOLLOW | os.O_CLOEXEC
Form = tuple[int, int, int]
"""Inode, size and time of change of a file."""


class NoAnswerError(Exception):
    """Why the question ends without an answer."""

    def __init__(self, status: int, why: str) -> None:
        self.status = status
        super().__init__(why)


def main(root: str, inbox: str, base: str, about: str, seconds: str) -> int:
    """Publish, wait, print; the exit status.  Without an answer the prompt is withdrawn."""
    prompt = sys.stdin.buffer.read()
    with open(about, "rb") as file:
        told = json.load(file)
    try:
        question = Question(_folder(root, inbox), base)
    except OSError as error:
        print(f"the inbox {os.path.join(root, inbox)} cannot be used: {error.strerror}", file=sys.stderr)
        return REFUSED
    ending = "withdrawn"
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _ended)
        question.publish(prompt, told | _deadline(float(seconds)))
        data = question.answer(float(seconds) + LATE)
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        ending = "answered"
    except NoAnswerError as error:
        _say(str(error))
        return error.status
    except OSError as error:
        _say(f"the inbox cannot be used: {error}")
        return REFUSED
    finally:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        question.retire(ending)
    return 0


def _ended(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _say(text: str) -> None:
    """A line on standard error: it is shown, and it counts as a sign of life."""
    print(ascii(text)[1:-1], file=sys.stderr, flush=True)


def _deadline(seconds: float) -> dict[str, Any]:
    when = time.time() + seconds
    return {"deadline": round(when), "deadline_utc": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))}


def _folder(root: str, inbox: str) -> int:
    """A descriptor of the folder, made where it is missing; ``OSError`` where a link leads to it."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    made = False
    for part in inbox.split("/"):
        made = False
        with suppress(FileExistsError):
            os.mkdir(part, 0o700, dir_fd=fd)
            made = True
        inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _OPEN, dir_fd=fd)
        os.close(fd)
        fd = inner
    if made:  # ours alone: private, and no commit or review picks it up
        os.fchmod(fd, 0o700)
        with suppress(FileExistsError):
            _write(fd, ".gitignore", b"*\n")
    return fd


def _write(folder: int, name: str, data: bytes) -> None:
    fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, 0o600, dir_fd=folder)
    with os.fdopen(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


class Question:
    """The files of one question, all below one descriptor."""

    def __init__(self, folder: int, base: str) -> None:
        self.folder = folder
        self.prompt = f"{base}.prompt.md"
        self.about = f"{base}.json"
        self.result = f"{base}.result.md"
        self.part = f"{self.result}.part"
        self.progress = f"{base}.progress"
        self.seen: dict[str, Form | None] = {}
        """What each file was when it last changed."""
        self.since = time.monotonic()
        """When the result last changed."""
        self.refused: set[str] = set()

    def publish(self, prompt: bytes, told: dict[str, Any]) -> None:
        """Whoever sees the prompt finds its description too, and both whole."""
        if self._stat(self.result) is not None:
            raise NoAnswerError(REFUSED, f"{self.result} is there before its question: not an answer to it")
        for name, data in ((self.about, json.dumps(told, indent=1).encode() + b"\n"), (self.prompt, prompt)):
            _write(self.folder, f".{name}.part", data)
            os.rename(f".{name}.part", name, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        _say(f"asked: {self.prompt}")

    def retire(self, ending: str) -> None:
        """An open question is a ``*.prompt.md``; this one is not open any more."""
        with suppress(OSError):
            os.rename(self.prompt, f"{self.prompt}.{ending}", src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def answer(self, seconds: float) -> bytes:
        """The answer, once it is there and whole; :class:`NoAnswerError`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not os.fstat(self.folder).st_nlink:
                raise NoAnswerError(VANISHED, "the inbox was removed while the question was open")
            data = self._look()
            if data is not None:
                return data
            time.sleep(POLL)
        raise NoAnswerError(TOO_LATE, "nobody answered in time")

    def _look(self) -> bytes | None:
        written_aside = self.seen.get(self.part)
        for name in (self.progress, self.part):
            self._changed(name)
        changed = self._changed(self.result)
        form = self.seen[self.result]
        if form is None or not form[1]:
            return None
        if changed:
            self.since = time.monotonic()
        # The file that grew aside is whole when it has got its name; any other must have been left alone.
        renamed = written_aside is not None and written_aside[0] == form[0] and self.seen[self.part] is None
        quiet = time.monotonic() - self.since >= WINDOW
        return self._take(form) if renamed or quiet else None

    def _changed(self, name: str) -> bool:
        """Look at a file; a change is told, so that whoever watches us sees life."""
        form = self._stat(name)
        if form == self.seen.get(name):
            self.seen[name] = form
            return False
        self.seen[name] = form
        _say(f"{name}: {form[1]} bytes" if form else f"{name}: gone")
        return True

    def _stat(self, name: str) -> Form | None:
        try:
            info = os.stat(name, dir_fd=self.folder, follow_symlinks=False)
        except OSError:
            return None
        if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
            if name not in self.refused:
                self.refused.add(name)
                _say(f"{name} is a link or no ordinary file: not read")
            return None
        return info.st_ino, info.st_size, info.st_mtime_ns

    def _take(self, form: Form) -> bytes | None:
        """The content of the result, or None where it changed meanwhile."""
        if form[1] > MOST:
            raise NoAnswerError(TOO_LONG, f"the answer has {form[1]} bytes, more than {MOST}")
        try:
            fd = os.open(self.result, os.O_RDONLY | os.O_NONBLOCK | _OPEN, dir_fd=self.folder)
        except OSError as error:
            _say(f"{self.result} cannot be read: {error.strerror}")
            self.since = time.monotonic()
            return None
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            data = file.read(MOST + 1)
            info = os.fstat(fd)
        same = (info.st_ino, info.st_size, info.st_mtime_ns) == form and len(data) == form[1]
        return data if same else None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
