"""Salvage: keep what is good of a nearly valid payload, record all that it cost.

One walk along a schema of the strict subset (``type``, ``enum``, ``properties``, ``items``).  A bad
field that may be null becomes null, a bad category ``other``, an unknown key is dropped: recorded,
and the answer stays valid.  An item of a list that cannot be kept, or a bad field of the answer
itself, is a violation as well: the rest is kept to be shown, but the unit is broken.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prun_review.model import Violation
from prun_review.strictjson import pointer, shown

LIMITS: Mapping[str, tuple[float, float]] = {
    "line": (1, 10_000_000),
    "end_line": (1, 10_000_000),
    "confidence": (0, 1),
}
"""Bounds of numbers by field name; kept here because strict schemas take no ``minimum``."""
NOT_BLANK = frozenset({"title", "conclusion"})
"""Strings that must say something; strict schemas take no ``minLength``."""

_TELLING = frozenset({"severity", "title", "detail", "description", "message", "issue", "level", "priority"})
_PLACING = frozenset({"file", "path", "line", "quote", "category", "rule"})
"""Keys by which findings are told, also those that reviewers make up; a place alone is none."""
_DEFECTS = re.compile(r"finding|issue|defect|problem|bug|vulnerab|critical|blocker|severe", re.IGNORECASE)
_NO_DEFECTS = frozenset({"", "-", "0", "no", "none", "n/a", "nothing", "null"})

_EMPTY: dict[str, Any] = {"string": "", "array": [], "object": {}}


@dataclass(slots=True)
class Mended:
    """What a walk gave up on the way."""

    violations: list[Violation] = field(default_factory=list)
    salvage: list[Violation] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Lost:
    """A value that could not be kept, and why."""

    where: str
    text: str


_MISSING = object()


def mend(payload: Any, schema: Mapping[str, Any]) -> tuple[dict[str, Any], Mended]:
    """A payload that has every key of ``schema``, as good as ``payload`` allows.

    Top-level fields that could not be kept are empty (None for an enum) and have a violation.
    """
    book = Mended()
    if not isinstance(payload, dict):
        book.violations.append(Violation("schema", "", f"expected an object, got {shown(payload)}"))
        return {key: _empty(part) for key, part in schema.get("properties", {}).items()}, book
    made: dict[str, Any] = {}
    for key, part in schema.get("properties", {}).items():
        value = _mend(payload.get(key, _MISSING), part, pointer("", key), key, book, top=True)
        if isinstance(value, _Lost):
            book.violations.append(Violation("schema", value.where, value.text))
            value = _empty(part)
        made[key] = value
    _drop_unknown(payload, made, "", book)
    if "findings" in made:
        for key, item in payload.items():
            if key not in made and _may_hold_findings(key, item):
                _lose(pointer("", key), "findings under an unknown key", book)
    return made, book


def _lose(where: str, text: str, book: Mended) -> None:
    gone = Violation("lost-finding", where, text)
    book.salvage.append(gone)
    book.violations.append(gone)


def _may_hold_findings(key: str, value: Any) -> bool:
    """Whether an unknown top-level value is more than a remark: a list, or an object of objects."""
    if isinstance(value, str):
        return bool(_DEFECTS.search(key)) and value.strip(" .").casefold() not in _NO_DEFECTS
    if isinstance(value, dict):
        return _like_finding(value) or any(v and isinstance(v, (dict, list)) for v in value.values())
    return bool(value) and isinstance(value, list)


def _like_finding(value: Any) -> bool:
    """Whether a value is, or holds on any level, an object with two keys of a finding."""
    if isinstance(value, list):
        return any(map(_like_finding, value))
    if not isinstance(value, dict):
        return False
    named = {str(key).strip().casefold() for key in value}
    told = "severity" in named or (named & _TELLING and len(named & (_TELLING | _PLACING)) > 1)
    return bool(told) or any(map(_like_finding, value.values()))


def _empty(schema: Mapping[str, Any]) -> Any:
    types = _types(schema)
    return None if "enum" in schema or not types else copy.copy(_EMPTY.get(types[0]))


def _types(schema: Mapping[str, Any]) -> tuple[str, ...]:
    types = schema.get("type", ())
    return (types,) if isinstance(types, str) else tuple(types)


def _mend(value: Any, schema: Mapping[str, Any], where: str, name: str, book: Mended, *, top: bool) -> Any:
    types = _types(schema)
    if not types:
        return value
    if value is None and "null" in types:
        return None
    if isinstance(value, dict) and "object" in types:
        return _mend_object(value, schema, where, book)
    if isinstance(value, list) and "array" in types:
        return _mend_list(value, schema, where, name, book)
    return _mend_scalar(value, schema, where, name, book, top=top)


def _mend_object(value: dict[str, Any], schema: Mapping[str, Any], where: str, book: Mended) -> Any:
    made: dict[str, Any] = {}
    inner = Mended()
    lost: list[_Lost] = []
    for key, part in schema.get("properties", {}).items():
        item = _mend(value.get(key, _MISSING), part, pointer(where, key), key, inner, top=False)
        if isinstance(item, _Lost):
            lost.append(item)
        made[key] = item
    if lost:
        return _Lost(where, "; ".join(f"{x.where.rpartition('/')[2]}: {x.text}" for x in lost))
    _drop_unknown(value, made, where, inner)
    if "severity" not in made and {"severity", "title"} & (value.keys() - made.keys()):
        _lose(where, "a finding where none belongs", inner)
    book.violations += inner.violations
    book.salvage += inner.salvage
    return made


def _drop_unknown(value: dict[str, Any], made: dict[str, Any], where: str, book: Mended) -> None:
    for key, item in value.items():
        if key in made:
            continue
        book.salvage.append(Violation("unknown-key", pointer(where, key), "the key was dropped"))
        if where and _like_finding(item):
            _lose(pointer(where, key), "a finding under an unknown key", book)


def _mend_list(value: list[Any], schema: Mapping[str, Any], where: str, name: str, book: Mended) -> Any:
    part = schema.get("items", {})
    code = "lost-finding" if name == "findings" else "lost-item"
    made: list[Any] = []
    for i, item in enumerate(value):
        kept = _mend(item, part, pointer(where, i), name, book, top=False)
        if not isinstance(kept, _Lost):
            made.append(kept)
            continue
        gone = Violation(code, kept.where, f"could not be kept: {kept.text}")
        book.salvage.append(gone)
        if "object" in _types(part):
            book.violations.append(gone)
    return made


def _mend_scalar(
    value: Any, schema: Mapping[str, Any], where: str, name: str, book: Mended, *, top: bool
) -> Any:
    types = _types(schema)
    wrong = _wrong(value, schema, types, name)
    if not wrong:
        return int(value) if "integer" in types and not isinstance(value, str) else value
    if ("object" not in types or "null" in types) and _like_finding(value):
        _lose(where, "a finding where none belongs", book)
    code = "missing-key" if value is _MISSING else "bad-field"
    same = _same_word(value, schema)
    if same is not None:
        book.salvage.append(Violation(code, where, f"{shown(value)} read as {same!r}"))
        return same
    if "null" in types:
        book.salvage.append(Violation(code, where, f"{wrong}; set to null"))
        return None
    if "other" in schema.get("enum", ()):
        book.salvage.append(Violation(code, where, f"{wrong}; set to 'other'"))
        return "other"
    plain = types == ("string",) and "enum" not in schema and name not in NOT_BLANK
    if plain and not top and not where.rpartition("/")[2].isdigit():
        book.salvage.append(Violation(code, where, f"{wrong}; left empty"))
        return ""
    return _Lost(where, wrong)


def _wrong(value: Any, schema: Mapping[str, Any], types: tuple[str, ...], name: str) -> str:
    """What is wrong with a scalar, or empty."""
    if value is _MISSING:
        return "the key is missing"
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = {
        "string": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "integer": number and float(value).is_integer(),
        "number": number,
    }
    if not any(fits.get(t, False) for t in types):
        return f"expected {' or '.join(types)}, got {shown(value)}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{shown(value)} is not one of {', '.join(map(str, schema['enum']))}"
    low, high = LIMITS.get(name, (0, 0))
    if name in LIMITS and number and not low <= value <= high:
        return f"{shown(value)} is not between {low} and {high}"
    if name in NOT_BLANK and isinstance(value, str) and not value.strip():
        return "it is blank"
    return ""


def _same_word(value: Any, schema: Mapping[str, Any]) -> Any:
    """The enum member that ``value`` is but for case and blanks around it."""
    if not isinstance(value, str):
        return None
    word = value.strip().casefold()
    near = [e for e in schema.get("enum", ()) if isinstance(e, str) and e.casefold() == word]
    return near[0] if len(near) == 1 else None
