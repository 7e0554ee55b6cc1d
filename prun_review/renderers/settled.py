"""What the reports say of the baseline, and of the policy that the gate went by.

Like :mod:`prun_review.renderers.view`, taken from the run document: order, grouping and wording, no
escaping.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prun_review.policy import UNTOLD
from prun_review.renderers import view
from prun_review.renderers.points import Point
from prun_review.verdict import number

Document = Mapping[str, Any]

UNSET = ("default", UNTOLD, "block and rule")
"""Sources of a value that nobody set, as far as is known, or that follows from those that were."""


def baseline(document: Document) -> str:
    """``known.json: 12 entries, 9 findings known, 3 entries stale``; empty without a baseline."""
    found = document.get("baseline")
    if not found:
        return ""
    known, stale = number(found["known"], "finding"), len(found["stale"])
    entries = f"{number(found['entries'], 'entry', 'entries')}"
    return f"{found['file']}: {entries}, {known} known, {stale} stale"


def stale(document: Document) -> tuple[Point, ...]:
    """The entries that no finding of this run is."""
    found = []
    for entry in (document.get("baseline") or {}).get("stale") or ():
        note = f"; {entry['note']}" if entry.get("note") else ""
        at = f" ({entry['place']})" if entry["place"] else ""
        found.append(Point(f"stale: {entry['severity']}: {entry['title']}{at}, {entry['case']}{note}"))
    return tuple(found)


def policy(document: Document, *, whole: bool) -> tuple[Point, ...]:
    """For each panels folder the values and where each came from; unless ``whole`` those that were set.

    Folders with the same values stand together.
    """
    alike: dict[tuple[str, ...], list[str]] = {}
    for folder, values in (document.get("policy") or {}).items():
        told = tuple(
            f"{key} = {held['value'] or view.NOTHING} ({held['source']})"
            for key, held in values.items()
            if whole or held["source"] not in UNSET
        )
        if told:
            alike.setdefault(told, []).append(folder)
    return tuple(
        Point(", ".join(folders), tuple(Point(line) for line in told)) for told, folders in alike.items()
    )
