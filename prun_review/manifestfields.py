"""What a wave manifest and its task files say, key by key, with every fault told at its line.  Pure.

A reader never stops at the first fault: :class:`Problems` collects them all, and :class:`Fields` gives a
usable value beside each.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from prun_review.strictjson import shown
from prun_review.tasks import ERROR, WARNING, Problem

_NEAR = 0.7
"""Likeness from which a word counts as a slip of another one."""
CHECKING = ("validation", "panel", "verify")
"""Keys without which what was done is looked at less closely: misspelled, they must not pass for absent."""


class Problems:
    """All that was found wrong so far, each thing once."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}

    def error(self, code: str, file: str, line: int | None, text: str, remedy: str = "") -> None:
        """Tell of something that keeps the manifest from being run."""
        self._found[Problem(ERROR, code, file, line, text, remedy)] = None

    def warning(self, code: str, file: str, line: int | None, text: str, remedy: str = "") -> None:
        """Tell of something that does not keep it from being run."""
        self._found[Problem(WARNING, code, file, line, text, remedy)] = None

    def take_over(self, others: Problems) -> None:
        """Hold what ``others`` holds too, from now on together: what is told to one is told to both."""
        self._found.update(others._found)
        others._found = self._found

    def sorted(self) -> tuple[Problem, ...]:
        """All of it by file and line, errors first where these are equal."""
        order = sorted(self._found, key=lambda p: (p.file, p.line or 0, p.level, p.code, p.text))
        return tuple(order)


def near(word: str, known: Collection[str]) -> str:
    """``did you mean 'x'?`` for the most similar known word; empty where none is similar."""
    found = difflib.get_close_matches(word, sorted(known), 1, _NEAR)
    return f"did you mean {found[0]!r}?" if found else ""


@dataclass(frozen=True)
class Fields:
    """The keys of one JSON object or of a frontmatter, read with their faults told."""

    values: Mapping[str, Any]
    file: str
    lines: Callable[[str], int | None]
    """The line of ``key`` or of ``key/<index>``."""
    problems: Problems
    what: str
    """Who has them, for messages: ``task 'task-001'``."""

    def has(self, key: str) -> bool:
        """Whether the key says anything; null counts as nothing."""
        return self.values.get(key) is not None

    def known(self, keys: Collection[str]) -> None:
        """A warning for every other key; an error for one that is nearly a key that checks what was done."""
        for key in self.values:
            if key in keys:
                continue
            text = f"{self.what}: unknown key {shown(key)}, which decides nothing"
            meant = difflib.get_close_matches(key, [k for k in CHECKING if k in keys], 1, _NEAR)
            tell = self.problems.error if meant else self.problems.warning
            tell("unknown-key", self.file, self.lines(key), text, near(key, meant or keys))

    def text(self, key: str) -> str:
        """A string without blanks around it; empty where it is absent, or no string."""
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return (value or "").strip()
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            self.wrong(key, "a string", value)
            return str(value)
        self.wrong(key, "a string", value)
        return ""

    def texts(self, key: str, *, split: str = "") -> tuple[str, ...]:
        """A list of strings; a single string is one of them, or several parted by ``split``."""
        value = self.values.get(key)
        if value is None:
            return ()
        if isinstance(value, str) and not split and not value.strip():
            self.wrong(key, "a list of strings, or one that is not blank", value)
            return ()
        if isinstance(value, str):
            return tuple(filter(None, (part.strip() for part in (value.split(split) if split else [value]))))
        if not isinstance(value, list):
            self.wrong(key, "a list of strings", value)
            return ()
        found = []
        for index, item in enumerate(value):
            if isinstance(item, str) and item.strip():
                found.append(item.strip())
            else:
                self.wrong(f"{key}/{index}", "a string", item)
        return tuple(found)

    def number(self, key: str, least: int = 1) -> int | None:
        """A whole number; None where it is absent or unusable.  ``"1"`` is told and counts as 1."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            if value >= least:
                return value
            self.problems.error(
                "bad-value", self.file, self.lines(key), f"{self.what}: {key} is {value}, at least {least}"
            )
            return None
        self.wrong(key, "a whole number", value)
        digits = value.strip() if isinstance(value, str) else ""
        usable = digits.isascii() and digits.isdecimal() and len(digits) < 10 and int(digits) >= least
        return int(digits) if usable else None

    def seconds(self, key: str) -> float:
        """A positive number; 0 where it is absent or unusable."""
        value = self.values.get(key)
        if value is None:
            return 0.0
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if number and math.isfinite(value) and value > 0:
            return float(value)
        self.wrong(key, "a number of seconds above 0", value)
        return 0.0

    def table(self, key: str) -> Fields:
        """The object at ``key``; one without keys where it is absent, or no object."""
        value = self.values.get(key)
        if value is not None and not isinstance(value, dict):
            self.wrong(key, "an object", value)
        held = value if isinstance(value, dict) else {}
        return Fields(held, self.file, lambda k: self.lines(f"{key}/{k}"), self.problems, key)

    def wrong(self, key: str, want: str, value: Any) -> None:
        """Tell that a value is of another type."""
        found = f"the string {shown(value)}" if isinstance(value, str) else shown(value)
        text = f"{self.what}: {key} must be {want}, and is {found}"
        self.problems.error("wrong-type", self.file, self.lines(key), text)
