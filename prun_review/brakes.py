"""What keeps dispatches from starting: a wait before a retry, the pace of starts, a broken executor, a
spent budget.

Nothing in here stops what runs.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from prun_review.budget import Budget, dollars, spent
from prun_review.causes import cause
from prun_review.model import Result, Usage
from prun_review.words import number

WAIT_CAP = 120.0
"""Most seconds that backoff alone waits."""
FIRST_ALONE = 10.0
"""Most seconds that the first dispatch of a staggered executor is alone."""
ASK_AGAIN = 0.2
"""Seconds after which the pool looks again whether the first dispatch has written something."""


def backoff(base: float, rng: Callable[[], float] = random.random) -> Callable[[int, float | None], float]:
    """``wait(n, retry_after)`` in seconds before the ``n``-th retry (from 1).

    A random part of ``base`` doubled with each retry, at most :data:`WAIT_CAP`; on top of what the
    vendor said where it said something, since all others were told the same.
    """

    def wait(n: int, retry_after: float | None) -> float:
        if retry_after is not None:
            return retry_after + rng() * base
        return rng() * min(WAIT_CAP, base * 2.0 ** min(n - 1, 30))

    return wait


class Starts:
    """The pace of each executor's starts.  Safe in threads.

    The first start of an executor with a stagger stands alone until it was :meth:`seen` alive, or
    :data:`FIRST_ALONE` seconds: it refreshes the login and warms the home.  Later ones are at least
    the stagger apart.
    """

    def __init__(self, staggers: Mapping[str, float], clock: Callable[[], float] = time.monotonic) -> None:
        self._staggers = {name: seconds for name, seconds in staggers.items() if seconds > 0}
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[str, float] = {}
        self._warm: set[str] = set()

    def admit(self, executor: str) -> float:
        """Grant a start (0.0), or say in how many seconds to ask again."""
        stagger = self._staggers.get(executor)
        if stagger is None:
            return 0.0
        with self._lock:
            now = self._clock()
            if executor in self._last:
                passed = now - self._last[executor]
                if executor not in self._warm and passed < FIRST_ALONE:
                    return ASK_AGAIN
                if passed < stagger:
                    return stagger - passed
            self._last[executor] = now
            return 0.0

    def seen(self, executor: str) -> None:
        """A dispatch of it has written something, or has ended."""
        if executor in self._staggers:
            with self._lock:
                self._warm.add(executor)

    def unused(self, executor: str) -> None:
        """A start that was granted did not lead to a dispatch: where it was the first, the next is."""
        with self._lock:
            if executor not in self._warm:
                self._last.pop(executor, None)


class Brakes:
    """Looks at every attempt and decides what may still start.  Safe in threads.

    ``paid`` are the executors that count for the budget.  ``note`` writes a ledger event, ``tell``
    tells a person; :meth:`connect` gives it the pool.
    """

    def __init__(
        self,
        budget: Budget,
        paid: Collection[str],
        *,
        note: Callable[..., None],
        tell: Callable[[str], None],
    ) -> None:
        self.budget = budget
        self._paid = frozenset(paid)
        self._note = note
        self._tell = tell
        self._refuse: Callable[[str, str, str | None], int] | None = None
        self._lock = threading.Lock()
        self._used: dict[str, list[Usage]] = {}
        self._held: dict[str | None, str] = {}

    def connect(self, refuse: Callable[[str, str, str | None], int]) -> None:
        """``refuse(why, message, executor or None for all)`` keeps units from starting."""
        self._refuse = refuse

    def spent(self, results: Iterable[Result]) -> None:
        """Count what was used elsewhere: by results that were taken over."""
        for result in results:
            self._count(result)
        self._check_budget()

    def after(self, attempt: Result) -> None:
        """One attempt has ended: ``attempt`` holds what it alone used, and its outcome."""
        self._count(attempt)
        if attempt.status == "failed" and cause(attempt.reason).breaks:
            self._break(attempt)
        self._check_budget()

    def held(self, executor: str) -> str:
        """Why nothing more of an executor starts, in words; empty while it may."""
        with self._lock:
            return self._held.get(None) or self._held.get(executor, "")

    def told(self) -> str:
        """The budget and what of it was spent, as far as the CLIs say; empty where there is none."""
        if not self.budget.limited:
            return ""
        with self._lock:
            used = {name: list(usages) for name, usages in sorted(self._used.items())}
        parts = [f"budget {self.budget}"]
        if self.budget.usd is not None:
            parts += [_told(name, usages, "cost") for name, usages in used.items()]
        if self.budget.tokens is not None:
            parts += [_told(name, usages, "tokens") for name, usages in used.items()]
        return "; ".join(parts)

    def _count(self, result: Result) -> None:
        if result.attempts and result.executor in self._paid:
            with self._lock:
                self._used.setdefault(result.executor, []).append(result.usage)

    def _break(self, attempt: Result) -> None:
        what, name = cause(attempt.reason), attempt.executor
        text = f"{name} {what.title}"
        if self._hold(name, text):
            lost = self._keep_back(attempt.reason, f"not run: {text} ({attempt.message})", name)
            self._note("breaker", executor=name, reason=attempt.reason, text=attempt.message)
            self._tell(f"{text}: {number(lost, 'further unit')} of it not run -- {what.remedy}")

    def _check_budget(self) -> None:
        with self._lock:
            reached = self.budget.reached([u for usages in self._used.values() for u in usages])
        if reached and self._hold(None, f"budget reached, {reached}"):
            text = self.told()
            lost = self._keep_back("budget", f"not run: {reached} ({text})", None)
            self._note("budget", text=text)
            self._tell(
                f"budget reached, {reached}: {number(lost, 'unit')} not run -- {cause('budget').remedy}"
            )

    def _hold(self, executor: str | None, why: str) -> bool:
        """Note it; False where it was noted before."""
        with self._lock:
            fresh = executor not in self._held
            self._held.setdefault(executor, why)
            return fresh

    def _keep_back(self, why: str, message: str, executor: str | None) -> int:
        return self._refuse(why, message, executor) if self._refuse else 0


def _told(name: str, usages: list[Usage], what: str) -> str:
    """``$5.12 reported by sonnet``, or that nothing was."""
    silent = sum(_silent(usage, what) for usage in usages)
    if silent == len(usages):
        return f"{name} reports no {what}"
    usd, tokens = spent(usages)
    amount = dollars(usd) if what == "cost" else f"{tokens:,} tokens"
    part = f" ({silent} of its {len(usages)} attempts without)" if silent else ""
    return f"{amount} reported by {name}{part}"


def _silent(usage: Usage, what: str) -> bool:
    if what == "cost":
        return usage.cost_usd is None
    return usage.input_tokens is None and usage.output_tokens is None
