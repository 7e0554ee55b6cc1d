"""The brief marks of an item, in the order in which they count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from prun_review import probes
from prun_review.errors import BriefError


def of(item: pytest.Item) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """``(where, fields)`` of every brief mark, the closest first.

    ``iter_markers`` alone yields a function's marks before those of ``pytest.param(marks=...)``,
    although the parameter is closer (tried on pytest 9.2).
    """
    callspec = getattr(item, "callspec", None)
    of_param = [m for m in (callspec.marks if callspec else []) if m.name == probes.MARK]
    for mark in reversed(of_param):
        yield "param", _kwargs(mark)
    for node, mark in item.iter_markers_with_node(probes.MARK):
        if not any(mark is m for m in of_param):
            yield ("function" if node is item else type(node).__name__), _kwargs(mark)


def _kwargs(mark: pytest.Mark) -> Mapping[str, Any]:
    if mark.args:
        raise BriefError(f"brief() takes keywords only, got {mark.args!r}", remedy="brief(prompt=...)")
    return mark.kwargs


def fields(item: pytest.Item) -> dict[str, Any]:
    """The fields of an item's brief, merged; ``BriefError`` for a field that there is not."""
    return probes.merge(given for _, given in of(item))


def check_places(item: pytest.Item) -> None:
    """``BriefError`` where a field that shapes the items stands on a parameter."""
    for where, given in of(item):
        wrong = sorted(set(given) & set(probes.SHAPING))
        if where == "param" and wrong:
            raise BriefError(
                f"{wrong[0]} stands in pytest.param(marks=brief(...))",
                remedy=f"put {', '.join(probes.SHAPING)} on the probe function or in pytestmark",
            )
