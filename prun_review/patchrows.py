"""Patches of several executors for one case, compared, as rows of the run document.  Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from prun_review.codec import decode, encode
from prun_review.errors import PrunError
from prun_review.model import Plan, Result, Unit
from prun_review.patchcompare import Compared, Meeting, Side, compare
from prun_review.written import Check, Patch

KEY = "patches"
"""The key of the rows in the document; absent where no case has two patches."""
LARGEST = 32 << 20
"""Bytes of the patches of one case whose lines are compared."""

Row = dict[str, Any]


def told(plan: Plan, results: Sequence[Result], read: Callable[[Result], bytes]) -> dict[str, list[Row]]:
    """What the run document says beside the patches themselves: ``{}``, or the rows under :data:`KEY`.

    ``read`` gives a result's ``change.patch``; what it raises as a ``PrunError`` becomes a note.
    """
    by_unit = {result.unit: result for result in results}
    found: dict[str, list[tuple[Unit, Result]]] = {}
    for unit in plan.units:
        result = by_unit.get(unit.id)
        if unit.brief.mode == "write" and result is not None and result.patch is not None:
            found.setdefault(unit.case, []).append((unit, result))
    rows = [_row(case, pairs, read) for case, pairs in found.items() if len(pairs) > 1]
    return {KEY: rows} if rows else {}


def _row(case: str, pairs: Sequence[tuple[Unit, Result]], read: Callable[[Result], bytes]) -> Row:
    names = names_of([(unit.executor, unit.repeat) for unit, _ in pairs])
    sides, note = [], ""
    large = sum(result.patch.size for _, result in pairs if result.patch) > LARGEST
    for name, (_, result) in zip(names, pairs, strict=True):
        text = b""
        if not large and not note:
            try:
                text = read(result)
            except PrunError as error:
                note = f"the patch of {name} cannot be read: {error.message}"
        if result.patch is not None:
            sides.append(Side(name, result.patch, text, result.checks))
    compared = compare(sides)
    note = compared.note or note or ("they are too large" if large else "")
    return {
        "case": case,
        "units": [unit.id for unit, _ in pairs],
        "meetings": [] if note else encode(compared.meetings),
        "note": note,
    }


def names_of(asked: Sequence[tuple[str, int]]) -> list[str]:
    """The executors' names, with the repeat where one was asked more than once."""
    executors = [executor for executor, _ in asked]
    return [f"{e}~{repeat}" if executors.count(e) > 1 else e for e, repeat in asked]


def written(document: Mapping[str, Any]) -> list[tuple[str, Compared]]:
    """Every case that code was written for, with its patches: compared where there are several.

    From the document alone: the text of a patch is not in it.
    """
    rows = {row["case"]: row for row in document.get(KEY) or ()}
    cases: dict[str, list[Mapping[str, Any]]] = {}
    for unit in document.get("units") or ():
        if unit.get("patch"):
            cases.setdefault(unit["case"], []).append(unit)
    place = f".prun/runs/{document.get('run_id', '')}/units"
    return [(case, _again(units, rows.get(case), place)) for case, units in cases.items()]


def _again(units: Sequence[Mapping[str, Any]], row: Mapping[str, Any] | None, place: str) -> Compared:
    names = names_of([(unit["executor"], unit["repeat"]) for unit in units])
    sides = [
        Side(
            *(name, decode(Patch, unit["patch"]), b"", tuple(decode(Check, c) for c in unit["checks"])),
            f"{place}/{unit['slug']}/change.patch",
        )
        for name, unit in zip(names, units, strict=True)
    ]
    compared = compare(sides)
    if len(sides) == 1:
        return compared
    if row is None or row["units"] != [unit["id"] for unit in units]:
        return replace(compared, meetings=(), note=compared.note or "the document does not compare them")
    meetings = tuple(decode(Meeting, meeting) for meeting in row["meetings"])
    return replace(compared, meetings=meetings, note=row["note"])
