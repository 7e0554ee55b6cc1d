"""The watch over one running dispatch: who says nothing any more is ended, a finished answer is kept.

Neither vendor's CLI ends every hang by itself (codex without response headers was still waiting after
1846 s), so only our clock does.  What is decided stands in :func:`decide`, a pure function of what was
seen; :func:`watch` is the loop around it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from prun_review.model import Exit
from prun_review.ports import Process, Seen, Sign, Supervision

SLICE = 1.0
"""Seconds between two looks."""
QUICK = 0.2
"""The same until the first byte where other starts wait for it."""
STEP = 5.0
"""Most seconds of silence that one look can add: where the machine or the harness itself stood still,
the dispatch stood still too, or was not watched."""


@dataclass(frozen=True, slots=True)
class Vigil:
    """What was seen of a dispatch so far.  Seconds are those that were watched, not those of a clock."""

    age: float = 0.0
    """Since its start."""
    silent: float = 0.0
    """Since one of its files last grew."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Bytes by file name at the last look."""
    written: bool = False
    """Something was written at all."""

    def after(self, passed: float, sizes: Mapping[str, int]) -> Vigil:
        """The next look, ``passed`` seconds later.  Only a file that is longer than before has grown."""
        passed = min(max(passed, 0.0), STEP)
        grown = any(size > self.sizes.get(name, 0) for name, size in sizes.items())
        return Vigil(
            age=self.age + passed,
            silent=0.0 if grown else self.silent + passed,
            sizes=dict(sizes),
            written=self.written or grown,
        )


@dataclass(frozen=True, slots=True)
class Ended:
    """How a dispatch ended, and how much of what it wrote counts."""

    exit: Exit
    upto: Mapping[str, int] | None = None
    """Bytes by file name where it was ended with its answer complete; None: all of it."""


def decide(vigil: Vigil, supervision: Supervision, sign: Sign) -> str:
    """Why the dispatch is to be ended now, in a word; empty: it goes on.

    A reason code where its output says that no answer will come; ``finished``: the answer is there
    and it has been silent for ``grace`` seconds; ``startup``: nothing was written in ``startup``
    seconds; ``stall``: silent for ``stall`` seconds.  Until the first byte ``startup`` alone counts,
    where it is set: twenty claudes starting on two cores took 31 s each.
    """
    stall = supervision.stall or 0.0
    if sign.kind == "hopeless":
        return sign.reason or "unknown"
    if sign.kind == "finished":
        patience = min(supervision.grace, stall) if stall else supervision.grace
        return "finished" if vigil.silent >= patience else ""
    if supervision.startup and not vigil.written:
        return "startup" if vigil.age >= supervision.startup else ""
    return "stall" if stall and vigil.silent >= stall else ""


def watch(
    process: Process,
    look: Callable[[], Seen],
    sign: Callable[[Seen], Sign],
    supervision: Supervision,
    *,
    heard: Callable[[Vigil, str], None] = lambda vigil, word: None,
    every: float = SLICE,
    until: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
) -> Ended:
    """Wait for the end of ``process``, looking every ``every`` seconds, and bring it about if need be.

    ``until`` is the moment by ``clock`` before which its time limit cannot have struck: an answer that
    was complete by then is kept although the limit came before its grace was over.
    ``heard(vigil, word)`` is told of each look and of what was decided (empty: it goes on).
    ``supervision.stall`` None counts as 0, never.  Whatever ``look``, ``sign`` or ``heard`` raise is
    raised when the process is gone.
    """
    vigil, told, before = Vigil(), Sign(), clock()
    complete: Vigil | None = None
    try:
        while True:
            exit = process.wait(QUICK if supervision.stagger and not vigil.written else every)
            if exit is not None:
                return _kept(exit, complete) if exit.ended_by == "timeout" else Ended(exit)
            seen, now = look(), clock()
            vigil = vigil.after(now - before, seen.sizes)
            before = now
            if vigil.written and not vigil.silent:  # what did not grow says what it said before
                told = sign(seen)
            if now < until:
                complete = vigil if told.kind == "finished" else None
            word = decide(vigil, supervision, told)
            heard(vigil, word)
            if word:
                process.stop(word)
                exit = _end_of(process)
                # It may have ended by itself, or at its time limit, before that.
                return _kept(exit, {"finished": vigil, "timeout": complete}.get(exit.ended_by))
    except BaseException:
        process.stop("internal")
        process.wait()
        raise


def _end_of(process: Process) -> Exit:
    return process.wait() or Exit(None, "lost", note="its end was never reported")


def _kept(exit: Exit, complete: Vigil | None) -> Ended:
    """A complete answer counts as it was when that was seen; any other end stays what it is."""
    if complete is None:
        return Ended(exit)
    note = f"the answer was complete; ended after {complete.silent:.0f} s because it did not exit"
    notes = "; ".join(filter(None, (note, exit.note)))
    return Ended(replace(exit, code=0, ended_by="", note=notes), complete.sizes)
