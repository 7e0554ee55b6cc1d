"""What a person sees while units are in flight: one line now and then, from the controller only.

Written to a descriptor that was duplicated before pytest captures anything, so a line is never
swallowed into some test's captured output.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from prun_review.dispatch import clock
from prun_review.renderers.escape import one_line

if TYPE_CHECKING:
    from prun_review.model import Result
    from prun_review.review import Review


QUIET = 30.0
"""Seconds of silence that are worth a word."""

TOLD = ("stalled", "not-stored")
"""Reasons that were told when they were seen, or that a replay has told for all at once."""


class Progress:
    """A heartbeat line every ``every`` seconds; losses at once."""

    def __init__(self, every: float, quiet: bool) -> None:
        self.every = every
        self.quiet = quiet
        self._descriptor: int | None = os.dup(1)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._review: Review | None = None
        self._lost = 0

    def start(self, review: Review) -> None:
        """Begin the heartbeat."""
        self._review = review
        if self.quiet or self.every <= 0:
            return
        self._thread = threading.Thread(target=self._beat, name="prun_review-progress", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No line after this one."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(5)
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def line(self, text: str) -> None:
        """One line, at once, on a line of its own."""
        if self._descriptor is None:
            return
        data = f"\n[prun {time.strftime('%H:%M:%S')}] {one_line(text, 400)}".encode(errors="replace")
        try:
            os.write(self._descriptor, data + b"\n")
        except OSError:  # the terminal is gone: the run goes on, its reports are files
            self._descriptor = None

    def tell(self, text: str) -> None:
        """One line, at once, unless nothing is to be said in between."""
        if not self.quiet:
            self.line(text)

    def finished(self, result: Result) -> None:
        """A unit has ended; one without an answer is told at once.

        Why units are not run or not stored was told where that was decided, and a stall when it was seen.
        """
        if result.ok:
            return
        self._lost += 1
        if self._lost <= 20 and result.status != "not-run" and result.reason not in TOLD:
            self.tell(f"{result.executor} {result.status}: {result.reason} {result.unit}")

    def _beat(self) -> None:
        while not self._ended.wait(self.every):
            review = self._review
            if review is not None:
                self.line(summary(review, self._lost))


def summary(review: Review, lost: int) -> str:
    """``37/64 done, 8 running (oldest codex 6m12s probe_x[codex]; longest silence sonnet 4m10s
    probe_y[sonnet]), 1 to be tried again, 2 without a valid answer``; in the second wave it begins with
    ``cross-examination: 2 of 3 answered``."""
    wave = review.examination
    running = review.in_flight()
    if wave.plan.units:
        answered = sum(result.ok for result in wave.results)
        text = f"cross-examination: {answered} of {len(wave.plan.units)} answered, {len(running)} running"
    else:
        text = f"{len(review.results)}/{len(review.plan.units)} done, {len(running)} running"
    if running:
        unit, seconds, _ = max(running, key=lambda flight: flight[1])
        text += f" (oldest {unit.executor} {clock(seconds)} {unit.id}"
        unit, _, silent = max(running, key=lambda flight: flight[2])
        text += f"; longest silence {unit.executor} {clock(silent)} {unit.id})" if silent >= QUIET else ")"
    pausing = review.pausing()
    text += f", {pausing} to be tried again" if pausing else ""
    return text + (f", {lost} without a valid answer" if lost else "")
