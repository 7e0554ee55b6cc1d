"""JSON with the line of everything in it: for messages about files that people write.  Pure.

The value is read by :mod:`prun_review.strictjson`; only the places are found here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prun_review.strictjson import MENDED, parse_json, pointer

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}:,]|[^\s\[\]{}:,"]+|\n', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with the text."""

    code: str
    """As :class:`~prun_review.model.Violation` has it: ``not-json``, ``duplicate-key``, ``not-finite``..."""
    line: int
    text: str
    mended: bool = False
    """The value is usable all the same."""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Located:
    """A JSON text that was read."""

    value: Any
    """None where the text is no JSON."""
    faults: tuple[Fault, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)
    """JSON pointer -> line, from 1, of the key or of the array's item; ``""`` is the whole."""


def read(text: str) -> Located:
    """The value of a JSON text, all its faults and all its lines; never raises."""
    value, violations = parse_json(text)
    text = text.replace("\0", "\ufffd")  # as the value has them
    broken = {v.code for v in violations} & {"not-json", "too-deep"}
    first, last = ({}, {}) if broken and value is None else _lines(text)
    faults = []
    for violation in violations:
        # Of a key that stands twice the second one is the slip.
        places = last if violation.code == "duplicate-key" else first
        if violation.code == "not-json":
            faults.append(_broken(text, violation.text))
            continue
        told = f"{violation.where}: {violation.text}" if violation.where else violation.text
        line = _nearest(places, violation.where)
        faults.append(Fault(violation.code, line, told, violation.code in MENDED))
    return Located(value, tuple(faults), first)


def _nearest(places: Mapping[str, int], where: str) -> int:
    while where and where not in places:
        where = where.rpartition("/")[0]
    return places.get(where, 1)


def _broken(text: str, told: str) -> Fault:
    """Where a text stops being JSON; ``told`` where that cannot be said better."""
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        said = f"{error.msg[:1].lower()}{error.msg[1:]}"
        told = (
            f"it is no JSON: {said} (column {error.colno})" if text.strip() else "it is no JSON: it is empty"
        )
        remedy = "look there and just before it for a comma, a quote or a bracket: one too many, or missing"
        return Fault("not-json", error.lineno, told, remedy=remedy if text.strip() else "")
    return Fault("not-json", 1, told)


def _lines(text: str) -> tuple[dict[str, int], dict[str, int]]:
    """First and last line of every pointer of a text that is JSON, without recursion."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    line = 1
    where: list[tuple[str, int | None]] = []  # pointer of each open bracket, and the index in an array
    key: str | None = None
    fresh = True  # a value is due here
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word == "\n":
            line += 1
        elif word in "]}":
            where.pop()
            fresh = False
        elif word == ",":
            if where[-1][1] is not None:
                where[-1] = (where[-1][0], where[-1][1] + 1)
            key, fresh = None, True
        elif word == ":":
            continue
        elif fresh and where and where[-1][1] is None and key is None:
            key = json.loads(word)
            place = pointer(where[-1][0], str(key))
            first.setdefault(place, line)
            last[place] = line
        elif fresh:
            here = _here(where, key)
            first.setdefault(here, line)
            last.setdefault(here, line)
            key, fresh = None, word in "[{"
            if fresh:
                where.append((here, 0 if word == "[" else None))
    return first, last


def _here(where: list[tuple[str, int | None]], key: str | None) -> str:
    if not where:
        return ""
    above, index = where[-1]
    return pointer(above, str(key) if index is None else index)
