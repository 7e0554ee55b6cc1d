"""Watching dispatches until something is to be done, as ``monitor`` of the prun scripts does.

It never ends a process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prun_review.prun import console
from prun_review.prun.quiet import Quiet
from prun_review.prun.statedir import StateDir

LAG = 5.0
"""Seconds by which a look may be late on a busy machine."""
ALL_DONE, TIMED_OUT, ATTENTION = 0, 2, 3


@dataclass
class _Unit:
    name: str
    place: StateDir
    output: tuple[tuple[int, int], ...] = ()
    """How what it prints looked when it last changed."""
    silent: float = 0.0
    """Seconds without growth, as far as they were watched."""
    status: str = "pending"


@dataclass
class Monitor:
    """One call."""

    paths: Sequence[str]
    env: Mapping[str, str]
    quiet: Quiet = field(default_factory=Quiet)

    def __post_init__(self) -> None:
        self.units = [_Unit(_base(path), StateDir(Path(path))) for path in self.paths]
        self.threshold = console.seconds(self.env, "PRUN_STALL_THRESHOLD", 600)
        self.timeout = console.seconds(self.env, "PRUN_MONITOR_TIMEOUT", 3600)
        self.poll = console.pause(self.env, "PRUN_MONITOR_POLL", 15)
        self.window = console.seconds(self.env, "PRUN_MONITOR_STABLE_WINDOW", 10)

    def run(self) -> int:
        """Watch until the first event; print it and every unit's status.

        0: all done, 3: something failed or stalled, 2: time is over or nothing was named.
        """
        if not self.units:
            console.emit("MONITOR-EVENT usage-error")
            return TIMED_OUT
        console.emit(
            f"MONITOR-START units={len(self.units)} stall-threshold={self.threshold}s timeout={self.timeout}s"
        )
        began = time.monotonic()
        passed = 0.0
        while True:
            for unit in self.units:
                unit.status = self.look(unit, passed)
            event = self.event(time.monotonic() - began >= self.timeout)
            if event:
                return self.report(*event)
            before = time.monotonic()
            time.sleep(min(self.poll, max(0.0, began + self.timeout - before)))
            # A monitor that was itself stopped for an hour has not watched an hour of silence.
            passed = min(time.monotonic() - before, self.poll + LAG)

    def event(self, late: bool) -> tuple[str, int] | None:
        """What is to be told, the most urgent first; None: watch on."""
        states = [unit.status for unit in self.units]
        if any(state.startswith("failed") for state in states):
            return "fail", ATTENTION
        if any(state.startswith("stalled") for state in states):
            return "stall", ATTENTION
        if all(state == "done" for state in states):
            return "all-done", ALL_DONE
        return ("timeout", TIMED_OUT) if late else None

    def report(self, event: str, code: int) -> int:
        """Print the event and one line per unit, in the order in which they were named."""
        console.emit(f"MONITOR-EVENT {event}")
        for unit in self.units:
            console.emit(f"UNIT {unit.name} {unit.status}")
        return code

    def look(self, unit: _Unit, passed: float) -> str:
        """The status of a unit now, ``passed`` seconds after the last look."""
        result = unit.place.result()
        if result is not None:
            info = unit.place.landed(result)
            if info is None:
                self.quiet.absent(result)
            elif self.quiet.quiet(result, info, self.window):
                failure = unit.place.failure(result)
                return f"failed({failure})" if failure else "done"
            else:
                return "finishing"
        return self.silence(unit, passed)

    def silence(self, unit: _Unit, passed: float) -> str:
        """The status of a unit that has no result."""
        output = unit.place.output()
        unit.silent = 0.0 if output != unit.output else unit.silent + passed
        unit.output = output
        if unit.silent < self.threshold or not passed:
            return "growing" if output else "pending"
        if unit.place.alive() is False:
            return "failed(dispatch-dead)"
        return f"stalled({int(unit.silent)}s)"


def _base(path: str) -> str:
    """``basename`` of the shell."""
    return path.rstrip("/").rpartition("/")[2] or "/"
