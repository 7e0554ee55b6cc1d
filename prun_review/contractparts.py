"""What the contract kinds have in common: their schemas, the header of every payload, its words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from prun_review.model import Header
from prun_review.payload import HEADER_NAMES

COMMON = """\
`conclusion`, `files`, `open_items` and `verification` are one line each: the result; the files it is
about; what stays open or could not be done; what you did to check. Write `none` where there is nothing.
`examined` lists the path of every file that you really read, relative to the root of the tree."""

SIDE: Mapping[str, Any] = {
    "type": ["string", "null"],
    "enum": ["new", "old", None],
    "description": "Where file, line and quote belong: new after the change, old before it.",
}


@cache
def _schema_text(name: str) -> str:
    return (resources.files("prun_review") / "schemas" / f"{name}.json").read_text("utf-8")


def load_schema(name: str) -> dict[str, Any]:
    """A fresh copy of ``schemas/<name>.json``, for the caller to change."""
    schema: dict[str, Any] = json.loads(_schema_text(name))
    return schema


def header_of(payload: Mapping[str, Any]) -> Header:
    """The header lines of a payload."""
    return Header(**{key: payload[key] for key in HEADER_NAMES})
