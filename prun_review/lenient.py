"""A JSON value brought into the shape that a schema of ours asks for, whatever it is.  Pure.

A document may come from another version of prun_review, or from somebody's editor.  What is missing or of
another kind becomes what says least: the schema's ``default``, else null, empty or 0.  Every such place is
told, so that nothing is relied on that was not there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}
_LEAST: Mapping[str, Any] = {
    "object": {},
    "array": [],
    "string": "",
    "boolean": False,
    "integer": 0,
    "number": 0,
}


class Fitting:
    """One value being fitted; knows the words that our schemas use, and no others."""

    def __init__(self, schema: Schema) -> None:
        self._defs: Mapping[str, Schema] = schema.get("$defs", {})
        self.notes: list[str] = []
        """``tasks/0/status: unexpected 'green'``, in the order found; unknown keys are dropped in silence."""

    def __call__(self, schema: Schema, value: Any, where: str = "") -> Any:
        """``value`` as ``schema`` asks for it; a new value, nothing of the old one is shared."""
        if "$ref" in schema:
            return self(self._defs[schema["$ref"].rsplit("/", 1)[-1]], value, where)
        if "anyOf" in schema:  # null or something: our only use of it
            return None if value is None else self(schema["anyOf"][1], value, where)
        if "const" in schema or "enum" in schema:
            allowed = schema["enum"] if "enum" in schema else [schema["const"]]
            good = any(type(word) is type(value) and word == value for word in allowed)
            return value if good else self._instead(schema, value, where)
        if not _fits(schema, value):
            value = self._instead(schema, value, where)
        if isinstance(value, dict):
            return self._object(schema, value, where)
        if isinstance(value, list):
            return self._items(schema, value, where)
        return value

    def _instead(self, schema: Schema, value: Any, where: str) -> Any:
        self.notes.append(f"{where or 'document'}: unexpected {_shown(value)}")
        return _least(schema)

    def _object(self, schema: Schema, value: Mapping[str, Any], where: str) -> dict[str, Any]:
        if "properties" not in schema:
            item = schema["additionalProperties"]
            return {str(k): self(item, v, _at(where, k)) for k, v in value.items()}
        found = {}
        for key, item in schema["properties"].items():
            if key in value:
                found[key] = self(item, value[key], _at(where, key))
            else:
                if key in schema.get("required", schema["properties"]):  # else it came later
                    self.notes.append(f"{_at(where, key)}: missing")
                found[key] = Fitting({"$defs": self._defs})(item, self._empty(item))
        return found

    def _empty(self, schema: Schema) -> Any:
        while "$ref" in schema:
            schema = self._defs[schema["$ref"].rsplit("/", 1)[-1]]
        return _least(schema)

    def _items(self, schema: Schema, value: list[Any], where: str) -> list[Any]:
        kept, item = [], schema["items"]
        while "$ref" in item:
            item = self._defs[item["$ref"].rsplit("/", 1)[-1]]
        for n, entry in enumerate(value):
            if _fits(item, entry):
                kept.append(self(item, entry, _at(where, n)))
            else:
                self.notes.append(f"{_at(where, n)}: unexpected {_shown(entry)}")
        return kept


def _at(where: str, key: object) -> str:
    return f"{where}/{key}" if where else str(key)


def _names(schema: Schema) -> list[str]:
    names = schema["type"]
    return [names] if isinstance(names, str) else list(names)


def _fits(schema: Schema, value: Any) -> bool:
    """Whether a value is of the type that a schema names, and in its bounds."""
    names = _names(schema)
    if isinstance(value, bool):
        return "boolean" in names
    if not any(isinstance(value, _TYPES[name]) for name in names):
        return False
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return not (isinstance(value, int | float) and value < schema.get("minimum", value))


def _least(schema: Schema) -> Any:
    if "default" in schema:
        return schema["default"]
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema or "null" in _names(schema):
        return None
    return _LEAST[_names(schema)[0]]


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return repr(value[:40])
    return {dict: "object", list: "array", type(None): "null"}.get(type(value), type(value).__name__)
