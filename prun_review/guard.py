"""Whether all is as it was, asked by many threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

from prun_review.model import Reason
from prun_review.snapshot import SNAPSHOT_CHANGED


class Guard:
    """Whether all is as it was, asked by many threads at once; what changed once stays changed.

    A check that began after a caller came answers for that caller: 64 units that end together need
    two.  (Measured with 20,000 files: 0.2 s of CPU a check, 3 to 6 ms of it for git.)
    """

    def __init__(self, check: Callable[[], tuple[Reason, ...]]) -> None:
        self.found: tuple[Reason, ...] = ()
        """What was found changed so far."""
        self._check = check
        self._turn = threading.Condition()
        self._begun = self._ended = 0
        """Checks so far; they are equal while none runs."""

    def __call__(self) -> tuple[Reason, ...]:
        """The reasons, none while nothing changed; raises what the check raises."""
        with self._turn:
            wanted = self._begun + 1
            while self._ended < wanted and self._begun != self._ended:
                self._turn.wait()
            if self._ended >= wanted or any(r.code == SNAPSHOT_CHANGED for r in self.found):
                return self.found
            self._begun += 1
        try:
            # What was put back stays told; a repository that changed first hides no changed snapshot.
            self.found = tuple(dict.fromkeys((*self.found, *self._check())))
        finally:
            with self._turn:
                self._ended = self._begun
                self._turn.notify_all()
        return self.found
