"""Records to plain JSON values and back, by their type hints.

``encode`` gives dicts, lists and primitives; ``decode(cls, value)`` is strict: an unknown key, a
missing key or a wrong type is a ``ValueError`` that names the place, because a record that was not
written by us must not be half-understood.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


def encode(value: Any) -> Any:
    """A JSON-able copy of ``value``: dataclasses become dicts, tuples lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): encode(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [encode(v) for v in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise TypeError(f"cannot encode {type(value).__name__}")


def decode(cls: type[T], value: Any, where: str = "") -> T:
    """The record of type ``cls`` that ``value`` encodes; ``ValueError`` names what does not fit."""
    return typing.cast(T, _decode(cls, value, where or cls.__name__))


@cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _decode(hint: Any, value: Any, where: str) -> Any:
    origin = typing.get_origin(hint)
    if hint is Any:
        return value
    if origin in (typing.Union, types.UnionType):
        return _decode_union(typing.get_args(hint), value, where)
    if origin is tuple or (isinstance(hint, type) and issubclass(hint, tuple)):
        return _decode_tuple(hint, value, where)
    if origin is not None and issubclass(origin, Mapping):
        item = typing.get_args(hint)[1]
        if not isinstance(value, dict):
            raise ValueError(f"{where}: expected an object")
        return {k: _decode(item, v, f"{where}.{k}") for k, v in value.items()}
    if dataclasses.is_dataclass(hint):
        return _decode_record(typing.cast(type, hint), value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ValueError(f"{where}: expected {hint.__name__}, got {type(value).__name__}")
    return value


def _decode_union(options: tuple[Any, ...], value: Any, where: str) -> Any:
    if value is None and type(None) in options:
        return None
    for option in options:
        if option is not type(None):
            return _decode(option, value, where)
    raise ValueError(f"{where}: expected null")


def _decode_tuple(hint: Any, value: Any, where: str) -> Any:
    if not isinstance(value, list):
        raise ValueError(f"{where}: expected a list")
    if typing.get_origin(hint) is tuple:
        make, item = tuple, typing.get_args(hint)[0]
    else:  # a tuple subclass with one item type, such as Findings
        make, item = hint, typing.get_args(hint.__orig_bases__[0])[0]
    if isinstance(item, (typing.ForwardRef, str)):
        raise TypeError(f"{where}: unresolved item type")
    return make(_decode(item, v, f"{where}[{i}]") for i, v in enumerate(value))


def _decode_record(cls: type, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{where}: expected an object, got {type(value).__name__}")
    fields = {f.name: f for f in dataclasses.fields(cls)}
    unknown = sorted(set(value) - set(fields))
    if unknown:
        raise ValueError(f"{where}: unknown key {unknown[0]!r}")
    missing = [
        n
        for n, f in fields.items()
        if n not in value and f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    if missing:
        raise ValueError(f"{where}: missing key {missing[0]!r}")
    hints = _hints(cls)
    return cls(**{k: _decode(hints[k], v, f"{where}.{k}") for k, v in value.items()})
