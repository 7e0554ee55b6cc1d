"""How far a unit has come over its attempts, and what is to follow.  Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from prun_review.causes import cause
from prun_review.model import Result, Unit, Usage
from prun_review.pool import unanswered
from prun_review.ports import ContractKind, Executor

PATIENCE = 900.0
"""Seconds above which a vendor's own "try again in" is not waited for."""
ANSWERED = ("valid", "broken")
"""Statuses of a result that an answer stands behind."""


@dataclass(frozen=True, slots=True)
class Course:
    """A unit between two attempts."""

    unit: Unit
    executor: Executor
    kind: ContractKind
    prompt: str
    """Of the next attempt."""
    asked_again: bool = False
    """The next attempt, or an earlier one, asks again for an answer that broke its contract."""
    because: str = ""
    """Reason code of the failure after which the next attempt is made; else empty."""
    attempts: int = 0
    retried: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    best: Result | None = None
    """The outcome so far."""

    def after(self, attempt: Result) -> Course:
        """With one more attempt, whose result speaks of it alone.

        All are paid for; one without an answer does not replace one that has one.
        """
        worse = attempt.status not in ANSWERED and self.best is not None and self.best.status in ANSWERED
        return replace(
            self,
            because="",
            attempts=self.attempts + attempt.attempts,
            retried=(*self.retried, self.because) if self.because else self.retried,
            usage=add(self.usage, attempt.usage),
            seconds=self.seconds + attempt.seconds,
            best=self.best if worse else attempt,
        )

    def move(self, attempt: Result, retry_after: float | None, retries: int) -> str:
        """What follows the last attempt: ``retry``, ``ask-again``, or nothing more (empty)."""
        if not self.executor.paid:
            return ""
        if attempt.status == "broken" and not self.asked_again and self.unit.brief.mode != "write":
            return "ask-again"  # what writes would do all of its work anew
        can_pass = attempt.status == "failed" and cause(attempt.reason).retry
        patient = (retry_after or 0.0) <= PATIENCE
        return "retry" if can_pass and patient and len(self.retried) < retries else ""

    def result(self, remark: str = "") -> Result:
        """The result that it has, ``remark`` added to its message."""
        best = self.best or unanswered(self.unit, "not-run", "cancelled", "not started")
        return replace(
            best,
            message="; ".join(filter(None, (best.message, remark))),
            attempts=self.attempts,
            retried=self.retried,
            usage=self.usage,
            seconds=self.seconds,
        )


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one attempt came to."""

    result: Result
    """As if it were the only one."""
    retry_after: float | None = None
    """Seconds that the vendor says to wait."""
    told: Mapping[str, Any] = field(default_factory=dict)
    """Its end for the ledger; empty where it had none."""

    def judged(self, result: Result) -> Attempt:
        """The same with what was found out about its result later."""
        told = {"status": result.status, "reason": result.reason}
        return replace(self, result=result, told={**self.told, **told} if self.told else {})


def advice(retry_after: float | None) -> str:
    """What to say where the vendor asks for more patience than a run has."""
    if retry_after is None or retry_after <= PATIENCE:
        return ""
    return f"try again in {_long(retry_after)} (--prun-resume asks what is open)"


def _long(seconds: float) -> str:
    """A wait in its two greatest units, rounded up: ``2 d 3 h``, ``5 h 10 min``, ``16 min``."""
    minutes = math.ceil(seconds / 60)
    hours = math.ceil(minutes / 60)
    if minutes < 24 * 60:
        parts = ((minutes // 60, "h"), (minutes % 60, "min"))
    else:
        parts = ((hours // 24, "d"), (hours % 24, "h"))
    return " ".join(f"{n} {word}" for n, word in parts if n)


def add(a: Usage, b: Usage) -> Usage:
    """The sum of two usages; None only where neither says anything."""

    def both(x: float | None, y: float | None) -> float | None:
        return None if x is None and y is None else (x or 0) + (y or 0)

    def whole(x: int | None, y: int | None) -> int | None:
        total = both(x, y)
        return None if total is None else int(total)

    return Usage(
        whole(a.input_tokens, b.input_tokens),
        whole(a.cached_tokens, b.cached_tokens),
        whole(a.output_tokens, b.output_tokens),
        both(a.cost_usd, b.cost_usd),
    )
