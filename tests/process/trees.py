"""Real process trees for the tests, and how to see what is left of them."""

from __future__ import annotations

import secrets
import sys
import time
from pathlib import Path
from typing import Any

from prun_review.ports import Launch
from prun_review.process import reap

PATIENCE = 20.0
PATH = {"PATH": "/usr/local/bin:/usr/bin:/bin"}

_CHAIN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    if os.fork():
        os._exit(0)
    time.sleep(0.002)
"""

TREES = {
    "plain": "sleep 600 & : > ready; $LAST",
    "ignores TERM": "trap '' TERM; sleep 600 & : > ready; $LAST",
    "setsid grandchild": "setsid sleep 600 & : > ready; $LAST",
    "double fork": "sh -c '(setsid sleep 600 &) & exit 0'; : > ready; $LAST",
    "leader exits first": "setsid sh -c ': > ready; sleep 600' & until [ -e ready ]; do sleep 0.01; done",
    "fork chain": '"$PYTHON" -I -S chain.py & : > ready; $LAST',
}
"""Each is a shell script that makes the file ``ready`` and goes on with ``$LAST``."""


def launch(directory: Path, *argv: str, tag: str = "", content: bytes = b"", **changes: Any) -> Launch:
    """A launch with its files in ``directory``."""
    directory.mkdir(exist_ok=True)
    (directory / "in").write_bytes(content)
    fields: dict[str, Any] = {
        "argv": argv,
        "env": PATH,
        "cwd": directory,
        "stdin": directory / "in",
        "stdout": directory / "out",
        "stderr": directory / "err",
        "timeout": 60.0,
        "tag": tag,
    }
    return Launch(**{**fields, **changes})


def tree(directory: Path, name: str, *, tag: str, last: str, timeout: float = 60.0) -> Launch:
    """The launch of one of :data:`TREES`."""
    directory.mkdir(exist_ok=True)
    (directory / "chain.py").write_text(_CHAIN)
    env = {**PATH, "LAST": last, "PYTHON": sys.executable}
    return launch(directory, "/bin/sh", "-c", TREES[name], tag=tag, env=env, timeout=timeout)


def new_tag() -> str:
    return "test-" + secrets.token_hex(8)


def until(condition: object, patience: float = PATIENCE) -> None:
    """Wait for something that must come to be; the wait is bounded, its length says nothing."""
    assert callable(condition)
    deadline = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.01)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def survivors(tag: str) -> list[int]:
    """Twice, because one look can fall between two links of a chain."""
    found = reap.tagged(tag)
    time.sleep(0.02)
    return sorted({*found, *reap.tagged(tag)})


def end_all(tag: str) -> None:
    """What a failing test leaves behind must not outlive it."""
    for pid in reap.tagged(tag):
        reap.send(pid, 9)


def alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def birth_of(pid: int) -> str:
    """When a process began, in the kernel's words: tells it from a later one with its number."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (FileNotFoundError, ProcessLookupError):
        return ""
