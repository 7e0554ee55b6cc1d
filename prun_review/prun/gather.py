"""Waiting for result files, as ``gather`` of the prun scripts does."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from prun_review import fallback
from prun_review.prun import console, statedir
from prun_review.prun.quiet import Quiet

TIMED_OUT = 2


class Gather:
    """One call; a path that is named twice counts twice."""

    def __init__(self, names: Sequence[str], env: Mapping[str, str], *, strict: bool) -> None:
        self.waiting = list(names)
        self.env = env
        self.strict = strict
        self.timeout = console.seconds(env, "AGENT_CONFIG_GATHER_TIMEOUT", 3600)
        self.poll = console.pause(env, "PRUN_GATHER_POLL", 5)
        self.window = console.seconds(env, "PRUN_GATHER_STABLE_WINDOW", 10)
        self.quiet = Quiet()
        self.told: set[tuple[str, str]] = set()

    def run(self) -> int:
        """Tell every file that lands; 0 once all have, 2 when time is over before.

        The files are looked at once more when time is over: what landed in time counts.
        """
        console.emit(f"GATHER-START count={len(self.waiting)} timeout={self.timeout}s")
        deadline = time.monotonic() + self.timeout
        while True:
            self.look()
            left = deadline - time.monotonic()
            if not self.waiting:
                return 0
            if left <= 0:
                console.emit(f"TIMEOUT remaining={len(self.waiting)}")
                return TIMED_OUT
            time.sleep(min(self.poll, left))

    def look(self) -> None:
        """Look at every file that has not landed."""
        landed = {name: self.landed(name) for name in dict.fromkeys(self.waiting)}
        for name in self.waiting:
            if landed[name]:
                folder, base = os.path.split(name)
                console.emit(f"DONE {os.path.realpath(folder)}/{base}")
        self.waiting = [name for name in self.waiting if not landed[name]]

    def landed(self, name: str) -> bool:
        """It is there, not empty, quiet, and not what a dispatch that runs found in its place."""
        path = Path(name)
        info = statedir.ordinary(path) if name else None
        if info is None or not info.st_size:
            self.quiet.absent(path)
            return False
        if not self.quiet.quiet(path, info, self.window):
            return False
        if any(running.old(info) for running in statedir.waiting(self.env, path)):
            self.tell(name, "older than the dispatch that is to write it, not counted")
            return False
        if self.strict and fallback.recognised(statedir.head(path)):
            self.tell(name, "a FALLBACK and no result, not counted (--strict)")
            return False
        return True

    def tell(self, name: str, why: str) -> None:
        """Say it once."""
        if (name, why) not in self.told:
            self.told.add((name, why))
            console.note(f"gather: {name}: {why}")
