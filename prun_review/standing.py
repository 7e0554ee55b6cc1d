"""How a run stands, as records: what :mod:`prun_review.status` reads and the doors show.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prun_review.forecast import Forecast

ENDED = ("finished", "interrupted")
"""Words of ``run.json`` for a run that has concluded."""


@dataclass(frozen=True, slots=True)
class Running:
    """A unit in flight."""

    unit: str
    executor: str
    attempt: int
    seconds: float
    """Since this attempt began."""
    silence: float | None
    """Seconds since what it prints last grew; None where the clocks do not tell."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """A unit between a failed attempt and the next one."""

    unit: str
    executor: str
    reason: str
    seconds: float
    """Until the next attempt; 0 where it is due."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many units of one executor, or of all, stand where."""

    units: int = 0
    valid: int = 0
    broken: int = 0
    failed: int = 0
    not_run: int = 0
    """With a terminal result that says so."""
    running: int = 0
    retrying: int = 0
    waiting: int = 0
    lost: int = 0
    """Without a result in a run that nobody writes any more."""
    retried: int = 0
    """Failed attempts after which another one was due."""
    taken_over: int = 0
    """Of the results, those of an earlier run."""

    @property
    def done(self) -> int:
        """With a terminal result."""
        return self.valid + self.broken + self.failed + self.not_run


@dataclass(frozen=True, slots=True)
class Spent:
    """What the results of one executor say they used, so far."""

    cost_usd: float | None
    """None where no unit says."""
    without_cost: int
    """Units that ended and do not say what they cost."""
    input_tokens: int | None
    output_tokens: int | None


@dataclass(frozen=True, slots=True)
class Hit:
    """One cause, and whom it hit."""

    reason: str
    title: str
    remedy: str
    units: Mapping[str, int]
    """Executor -> units that ended with it."""
    retried: int
    """Attempts that it hit and after which another one was due."""


@dataclass(frozen=True, slots=True)
class Status:
    """A run, as its files tell it."""

    run_id: str
    path: str
    state: str
    """``beginning`` (no plan yet), ``running``, ``finished``, ``interrupted``, or ``died``: it has no
    end, and nobody writes it."""
    dispatcher_alive: bool
    seconds: float | None
    """Since it began, or as long as it took; None where that is not known."""
    verdict: str
    """The verdict's line, once there is one."""
    total: Tally
    executors: Mapping[str, Tally]
    spent: Mapping[str, Spent]
    running: tuple[Running, ...]
    """The longest first."""
    retrying: tuple[Retrying, ...]
    lost: tuple[str, ...]
    """Units in flight when the dispatcher died."""
    causes: tuple[Hit, ...]
    notes: tuple[str, ...]
    """What the run itself told: a spent budget, an executor that is asked nothing more."""
    problems: tuple[str, ...]
    """What does not fit together in the directory."""
    end: Forecast
    waits: tuple[str, ...] = ()
    """Why units wait although they need not, as far as that is known."""
    questions: int = 0
    """What the second wave asked so far; 0 as long as it asked nothing."""
    examined: Tally = field(default_factory=Tally)
    """The units of the second wave, which are in no other count; ``running``, ``retrying``, ``lost`` and
    ``causes`` hold them too."""
    examination_spent: Mapping[str, Spent] = field(default_factory=dict)
    """What the second wave used, by executor."""
    resume: str = ""
    """Of a run that died: the command that asks the rest."""

    @property
    def over(self) -> bool:
        """Nothing more will come."""
        return self.state in (*ENDED, "died")
