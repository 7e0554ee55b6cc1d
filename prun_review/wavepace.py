"""What a wave run does beside its tasks, in a thread of its own: it puts together, validates, has reviewed.

Whoever waits for a run must never wait for one of these: a validation may take as long as a test suite, and
Ctrl-C in the middle of it has to end it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from prun_review import integrating, reopening, verifying, wavereview, waves
from prun_review.bench import Bench
from prun_review.integrating import Joined
from prun_review.tasks import Course, Review, Wave
from prun_review.wavereview import Ask
from prun_review.wavesteps import PutTogether, ReviewWave, Validate
from prun_review.written import Check

Stop = Callable[[], str]
"""Why to end early; empty as long as nobody asks for it."""
Due = PutTogether | Validate | ReviewWave
Move = Callable[[Course], Course]
"""What follows for a course, which may have been stopped meanwhile."""
T = TypeVar("T")


class Steps(Protocol):
    """How these things are done."""

    def put_together(self, course: Course, wave: int) -> Joined:
        """Put what a wave wrote onto its tip."""

    def validate(self, wave: Wave, head: str, stop: Stop) -> Check:
        """Run its validation on a commit."""

    def review(self, course: Course, wave: int, stop: Stop) -> tuple[Review, ...]:
        """Put what it wrote before its panel."""


@dataclass(frozen=True)
class OwnSteps:
    """As the house does them; implements :class:`Steps`."""

    bench: Bench
    branch: str
    """Name of the branch of the vault that stands for what is accepted."""
    ask: Callable[[Stop], Ask]
    """What runs panels, given how it is told to end."""
    prefix: str = ""
    """Where scopes start, relative to the root of the repository."""

    def put_together(self, course: Course, wave: int) -> Joined:
        """Put what a wave wrote onto its tip, and let the branch stand for it."""
        self.bench.vault.prove()
        joined = integrating.put_together(self.bench.vault, course, wave, prefix=self.prefix)
        self.bench.vault.branch(self.branch, joined.head)
        return joined

    def validate(self, wave: Wave, head: str, stop: Stop) -> Check:
        """Run the validation of a wave in a fresh copy of a commit."""
        [check] = self.bench.run(head, (verifying.as_shell(wave.validation),), stop)
        return Check(wave.validation, check.code, check.ended_by, check.seconds, check.said, check.contained)

    def review(self, course: Course, wave: int, stop: Stop) -> tuple[Review, ...]:
        """One review for each vendor that wrote something."""
        within = str(Path(self.prefix)) if self.prefix else ""
        return wavereview.review(self.bench.vault, course, wave, self.ask(stop), within=within, stop=stop)


def do(steps: Steps, step: Due, course: Course, stop: Stop) -> Move:
    """Do what is due; what follows from it."""
    number = step.wave.number
    if isinstance(step, PutTogether):
        joined = steps.put_together(course, number)
        return lambda now: reopening.put_together(now, number, joined.head, joined.commits, joined.conflicts)
    if isinstance(step, Validate):
        check = steps.validate(step.wave, step.head, stop)
        return lambda now: waves.validated(now, number, check)
    reviews = steps.review(course, number, stop)
    return lambda now: waves.reviewed(now, number, reviews)


class Errand(Generic[T]):
    """One thing that is done in a thread."""

    def __init__(self, what: str, do: Callable[[], T]) -> None:
        """``what`` says in words what is done."""
        self.what = what
        self._do = do
        self._done: list[T] = []
        self._error: BaseException | None = None
        self._over = threading.Event()
        """Said by the thread itself: one whose ``join`` Ctrl-C broke off counts as ended in CPython 3.11."""
        threading.Thread(target=self._run, name="prun_review-errand", daemon=True).start()

    def ended(self, timeout: float) -> bool:
        """Whether it is done, or has failed, after ``timeout`` seconds at most."""
        return self._over.wait(timeout)

    def result(self) -> T:
        """What came of it; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._done[0]

    def _run(self) -> None:
        try:
            self._done.append(self._do())
        except BaseException as error:
            self._error = error
        finally:
            self._over.set()


def told(step: Due) -> str:
    """What is due, in words."""
    what = {PutTogether: "putting together", Validate: "the validation of", ReviewWave: "the review of"}
    return f"{what[type(step)]} wave {step.wave.number}"
