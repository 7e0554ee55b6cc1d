"""Which items are units: their outcome is one that the run has, and pytest only judges it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from prun_review.plugin.collect import is_probe

UNIT: pytest.StashKey[str] = pytest.StashKey()
"""The id of the unit on an item that is no probe; a probe's is its node id."""


def unit_of(item: pytest.Item) -> str:
    """The id of the unit whose outcome the item is; empty for any other item."""
    return item.nodeid if is_probe(item) else item.stash.get(UNIT, "")


def leave_out(items: Sequence[pytest.Item], reasons: Mapping[str, str]) -> None:
    """Have pytest skip the items (by the id of the unit, with the reason) that the plan does not ask."""
    for item in items:
        unit = unit_of(item)
        if unit in reasons:
            item.add_marker(pytest.mark.skip(f"not asked: {reasons[unit]}"))
