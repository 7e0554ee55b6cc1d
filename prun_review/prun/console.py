"""What the commands share: settings from the environment, lines that are read by programs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

from prun_review.renderers.escape import plain

SHORTEST = 0.05
"""Seconds between two looks at the least, whatever the environment says: 0 would be a busy loop."""


def seconds(env: Mapping[str, str], name: str, default: int) -> int:
    """A whole number of seconds; ``default`` where the variable is empty or no such number."""
    text = env.get(name, "")
    return int(text) if re.fullmatch("[0-9]{1,15}", text) else default


def pause(env: Mapping[str, str], name: str, default: float) -> float:
    """Seconds to sleep between two looks; decimals are allowed, as ``sleep`` takes them."""
    text = env.get(name, "")
    return max(SHORTEST, float(text)) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{0,9})?", text) else default


def emit(line: str) -> None:
    """One line on standard output, at once; a path goes out with the very bytes that it has."""
    sys.stdout.buffer.write(os.fsencode(line) + b"\n")
    sys.stdout.buffer.flush()


def note(text: str) -> None:
    """For people, on standard error.  That nobody reads it must not end what the command does."""
    try:
        print(plain(text), file=sys.stderr, flush=True)
    except OSError:
        # What is still buffered would fail once more at exit and change the exit status to 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
