"""Where the promise allows more than one reading, the model says so and follows each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")

MOST = 512
"""Readings of one run that are followed; more are an error of the model."""


class Oracle:
    """Answers ``either`` by a script, and notes where it had to choose."""

    def __init__(self, script: Sequence[int]) -> None:
        self._script = tuple(script)
        self.asked: list[tuple[int, int, str]] = []
        """Chosen, of how many, and why there was a choice."""

    def either(self, why: str, options: Sequence[T]) -> T:
        """One of the options, each in some reading; without a choice where there is only one."""
        if len(options) == 1:
            return options[0]
        n = len(self.asked)
        chosen = self._script[n] if n < len(self._script) else 0
        self.asked.append((chosen, len(options), why))
        return options[chosen]


def readings(judge: Callable[[Oracle], R]) -> list[tuple[R, tuple[str, ...]]]:
    """What ``judge`` says under every reading, with why there was a choice."""
    found: list[tuple[R, tuple[str, ...]]] = []
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        script = scripts.pop()
        oracle = Oracle(script)
        said = judge(oracle)
        found.append((said, tuple(why for _, _, why in oracle.asked)))
        taken = tuple(chosen for chosen, _, _ in oracle.asked)
        for n in range(len(script), len(oracle.asked)):
            scripts += [(*taken[:n], other) for other in range(1, oracle.asked[n][1])]
        if len(found) + len(scripts) > MOST:
            raise AssertionError(f"more than {MOST} readings: {[why for _, _, why in oracle.asked]}")
    return found
