"""Has a file been left alone for a while?  Told from its time of change, as far as clocks can be believed.

The old scripts subtract the time of change from the clock: after a jump, or on a file server with
another clock, a file is then quiet at once or never.  Here the time of change counts only as long
as it fits what was seen; what always counts is that nothing changed for that long under our eyes.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

JUMP = 2.0
"""Seconds by which clocks may differ before the time of change is not believed."""


@dataclass(frozen=True, slots=True)
class _Look:
    form: tuple[int, int, int]
    since: float
    """Monotonic: since when the file was seen like this."""
    believed: bool


class Quiet:
    """Looks at files again and again."""

    def __init__(self) -> None:
        self._looks: dict[Path, _Look] = {}
        self._looked: dict[Path, float] = {}
        """When each file was last looked at, there or not, by the wall clock."""
        self._wall, self._began = time.time(), time.monotonic()

    def absent(self, path: Path) -> None:
        """The file is not there: one that comes is new."""
        self._looks.pop(path, None)
        self._looked[path] = time.time()

    def quiet(self, path: Path, info: os.stat_result, window: float) -> bool:
        """It is unchanged for ``window`` seconds."""
        wall, now = time.time(), time.monotonic()
        form = (info.st_ino, info.st_size, info.st_mtime_ns)
        look = self._looks.get(path)
        if look is None or look.form != form:
            # It changed after the last look: a time of change from before that look is no such time.
            earliest = self._looked.get(path, 0.0) - JUMP
            look = self._looks[path] = _Look(form, now, info.st_mtime >= earliest)
        self._looked[path] = wall
        if now - look.since >= window:
            return True
        jumped = abs((wall - self._wall) - (now - self._began)) > JUMP
        return look.believed and not jumped and wall - info.st_mtime >= window
