"""JSON from a stranger: read strictly, every fault listed with its place, nothing raised.

Python's own reader takes the last of duplicate keys, accepts NaN, overflows the stack at depth
200,000 and raises on integers of more than 4,300 digits (measured on 3.11); each of these is a
violation here.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from prun_review.model import Violation

MAX_DEPTH = 64
MAX_ITEMS = 5_000
"""Longest array; the rest of a longer one is cut off, which is a violation."""
MAX_DIGITS = 18
"""Integers of more digits are violations; 18 digits fit every consumer's 64 bits."""
MENDED = frozenset({"lone-surrogate", "nul"})
"""Codes of faults that are mended in place and do not break a contract."""

# Strings whole, so that brackets in them do not count; possessive, so that it is linear.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Fault:
    """Stands in a parsed value for what must be reported with its place."""

    code: str
    text: str
    value: Any = None


def shown(value: Any, limit: int = 60) -> str:
    """A short printable form of a foreign value, on one line."""
    text = ascii(value) if isinstance(value, (str, int, float, bool, type(None))) else type(value).__name__
    return text if len(text) <= limit else text[:limit] + "..."


def pointer(where: str, key: str | int) -> str:
    """The JSON pointer of an item below ``where``; long keys are cut."""
    return f"{where}/{str(key)[:60].replace('~', '~0').replace('/', '~1')}"


def depth(text: str) -> int:
    """How deep the brackets of a JSON text nest, without recursion."""
    now = most = 0
    for token in _TOKEN.finditer(text):
        if text[token.start()] in "[{":
            now += 1
            most = max(most, now)
        elif text[token.start()] in "]}":
            now -= 1
    return most


def object_end(text: str, start: int) -> int:
    """The index after the object that opens at ``start``; -1 where it never closes."""
    now = 0
    for token in _TOKEN.finditer(text, start):
        if text[token.start()] in "[{":
            now += 1
        elif text[token.start()] in "]}":
            now -= 1
            if now == 0:
                return token.end()
    return -1


def parse_json(text: str) -> tuple[Any, list[Violation]]:
    """The value of a JSON text and all that is wrong with it; never raises.

    Where the text is no JSON at all the value is None.  Faults whose code is in :data:`MENDED`
    were mended; any other fault is a violation, the value then is only what could be kept.
    """
    faults: list[Violation] = []
    text = _clean_text(text.removeprefix("\ufeff"), "", faults)
    if depth(text) > MAX_DEPTH:
        return None, [*faults, Violation("too-deep", "", f"brackets nest more than {MAX_DEPTH} deep")]
    try:
        value = json.loads(
            text,
            object_pairs_hook=_pairs,
            parse_int=_integer,
            parse_float=_real,
            parse_constant=lambda name: _Fault("not-finite", f"{name} is not a JSON number"),
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        text = f"{error.msg} at {place} of {len(text)} characters"
        return None, [*faults, Violation("not-json", "", text)]
    return _clean(value, "", 0, faults), faults


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        first = made.get(key)
        if key not in made:
            made[key] = value
        elif not (isinstance(first, _Fault) and first.code == "duplicate-key"):
            made[key] = _Fault("duplicate-key", "the key stands more than once", first)
    return made


def _integer(digits: str) -> Any:
    if len(digits) > MAX_DIGITS:
        return _Fault("giant-integer", f"an integer of {len(digits)} digits")
    return int(digits)


def _real(digits: str) -> Any:
    value = float(digits)
    return value if math.isfinite(value) else _Fault("not-finite", "a number beyond all bounds")


def clean_value(value: Any) -> tuple[Any, list[Violation]]:
    """The same for a value that somebody else has parsed: a cleaned copy and its faults."""
    faults: list[Violation] = []
    return _clean(value, "", 0, faults), faults


def _clean(value: Any, where: str, level: int, faults: list[Violation]) -> Any:
    if isinstance(value, _Fault):
        faults.append(Violation(value.code, where, value.text))
        return _clean(value.value, where, level, faults)
    if level > MAX_DEPTH:
        faults.append(Violation("too-deep", where[:200], f"nests more than {MAX_DEPTH} deep"))
        return None
    if isinstance(value, str):
        return _clean_text(value, where, faults)
    if isinstance(value, dict):
        made = {}
        for raw, item in value.items():
            key = _clean_text(str(raw), where, faults)
            made[key] = _clean(item, pointer(where, key), level + 1, faults)
        return made
    if isinstance(value, (list, tuple)):
        if len(value) > MAX_ITEMS:
            faults.append(Violation("too-long", where, f"{len(value)} items, at most {MAX_ITEMS}"))
        return [_clean(v, pointer(where, i), level + 1, faults) for i, v in enumerate(value[:MAX_ITEMS])]
    return _clean_scalar(value, where, faults)


def _clean_text(text: str, where: str, faults: list[Violation]) -> str:
    if _SURROGATE.search(text):
        faults.append(Violation("lone-surrogate", where, "half a character replaced by U+FFFD"))
        text = _SURROGATE.sub("\ufffd", text)
    if "\0" in text:
        faults.append(Violation("nul", where, "NUL replaced by U+FFFD"))
        text = text.replace("\0", "\ufffd")
    return text


def _clean_scalar(value: Any, where: str, faults: list[Violation]) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        faults.append(Violation("not-finite", where, f"{value} is not a JSON number"))
        return None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**MAX_DIGITS:
        faults.append(Violation("giant-integer", where, f"an integer of more than {MAX_DIGITS} digits"))
        return None
    if value is None or isinstance(value, (bool, int, float)):
        return value
    faults.append(Violation("not-json", where, f"a {type(value).__name__} is not a JSON value"))
    return None
