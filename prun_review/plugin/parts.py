"""Items of probes that ask about a change: one for each slice of what changed.

Which files changed is known before collection (:mod:`prun_review.whatchanged`), on a worker as in
the controller, so every process makes the same items.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from prun_review import planning, probes, whatchanged
from prun_review.slices import Slice, cut

SLICE: pytest.StashKey[Slice] = pytest.StashKey()
"""What of the change an item is about; items with scope ``tree`` have none."""


def slices(fields: Mapping[str, Any], params: Mapping[str, Any]) -> Sequence[Slice]:
    """What of the change a case is about, from its merged brief fields; nothing for scope ``tree``.

    ``BriefError`` for a malformed brief; what ``str`` of a parameter raises comes out as it is.
    """
    wanted = probes.shape(fields)
    if wanted.scope != "diff":
        return ()
    reads = probes.reads_of(fields, params)
    return cut(whatchanged.current_change() or (), reads, wanted.max_diff) or (Slice((), ()),)


def spread(item: pytest.Function, own: str, found: Sequence[Slice]) -> Sequence[pytest.Function]:
    """The items that one becomes: itself, or one for each of several slices.

    ``own`` is the id of the executor in the item's name: the slice stands before it, so it belongs to
    the case.
    """
    items = [_part(item, own, part.name) if part.name else item for part in found]
    for made, part in zip(items, found, strict=True):
        made.stash[SLICE] = part
    return items or [item]


def _part(item: pytest.Function, own: str, name: str) -> pytest.Function:
    """The same item about one slice, which its id names by the slice's first file."""
    ids = list(item.callspec._idlist)
    at = len(ids) - 1 - ids[::-1].index(own)
    ids.insert(at, name.encode("unicode_escape").decode("ascii"))
    callspec = dataclasses.replace(item.callspec, _idlist=ids)
    made: pytest.Function = type(item).from_parent(
        item.parent,
        name=f"{item.originalname}[{callspec.id}]",
        callspec=callspec,
        fixtureinfo=item._fixtureinfo,
        keywords={callspec.id: True},
        originalname=item.originalname,
    )
    return made


def left_out(item: pytest.Item, reads: Sequence[str]) -> tuple[str, str]:
    """Reason code and words where nothing that an item is about changed; empty where something did."""
    part = item.stash.get(SLICE, None)
    if part is None or part.files:
        return "", ""
    listing = whatchanged.current_change()
    if listing is None:
        return planning.NO_BASE, _NO_BASE
    what = f" that matches {', '.join(reads)}" if reads else ""
    return planning.UNTOUCHED, f"no file{what} changed, or none that can be read"


_NO_BASE = "it asks about a change, and none is reviewed: --prun-base REV"


def emptied(item: pytest.Item) -> tuple[str, str]:
    """The same for an item without parameters, because :func:`prun_review.changed` gave it none."""
    for mark in item.iter_markers("parametrize"):
        values = mark.args[1] if len(mark.args) > 1 else mark.kwargs.get("argvalues")
        if isinstance(values, whatchanged.Changed) and not values:
            if whatchanged.current_change() is None:
                return planning.NO_BASE, _NO_BASE
            return planning.UNTOUCHED, "no file that its parameters are made of changed"
    return "", ""
