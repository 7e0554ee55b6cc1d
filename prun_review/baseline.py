"""The file of known findings, as JSON.  Pure.

    {
     "schema_version": 1,
     "made_by": {"prun_review": "0.1.0", "run": "20261129T120000Z-ab12", "commit": "...", "tree": "..."},
     "findings": [
      {"fingerprint": "f1-...", "case": "panels/...", "folder": "panels/security", "severity": "high",
       "title": "...", "detail": "...", "file": "src/a.py", "line": 12, "quote": "...", "side": null,
       "also": [{"title": "...", "detail": "...", "file": "...", "line": 12, "quote": "...", "side": null}]}
     ]
    }

Sorted by case, file, fingerprint and line, so that the file of the next run differs where the findings
do.  ``also`` is the same defect in the words of others who held it.  The schema is ``schemas/baseline.json``.

Read strictly: a file that is not wholly understood is an error, because half a baseline would either
block what is known or let pass what is not.  A fingerprint must be that of what stands beside it, so
nobody is shown one finding and lets another pass.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prun_review.errors import ConfigError
from prun_review.fingerprints import DETAIL, QUOTE, TITLE, core, fingerprint
from prun_review.folding import level
from prun_review.model import SEVERITIES, Finding, Known
from prun_review.strictjson import MAX_ITEMS, parse_json, shown

SCHEMA_VERSION = 1
MOST_BYTES = 32 << 20
MOST = MAX_ITEMS
"""Findings of one file."""
MOST_ALSO = 50
"""Further wordings of one finding."""
MAKE = "make it again: prun-review baseline RUN -o FILE"

_MADE_BY = ("prun_review", "run", "commit", "tree")
_CORE = ("title", "detail", "file", "line", "quote", "side")
_ENTRY = ("fingerprint", "case", "folder", "severity", *_CORE, "also")


@dataclass(frozen=True, slots=True)
class Baseline:
    """A file of known findings."""

    entries: tuple[Known, ...]
    run: str = ""
    """Id of the run that it was made of."""
    commit: str = ""
    """SHA of the commit that was reviewed; empty where there was none."""
    tree: str = ""
    """SHA of the reviewed tree."""
    version: str = ""
    """Of prun_review."""


# --- writing ----------------------------------------------------------------------------------


def text_of(baseline: Baseline) -> str:
    """The file; ``ValueError`` for more than :data:`MOST` entries."""
    entries = distinct(baseline.entries)
    if len(entries) > MOST:
        raise ValueError(f"{len(entries)} findings, and a baseline holds at most {MOST}")
    made_by = (baseline.version, baseline.run, baseline.commit, baseline.tree)
    value = {
        "schema_version": SCHEMA_VERSION,
        "made_by": dict(zip(_MADE_BY, made_by, strict=True)),
        "findings": [_row(known) for known in entries],
    }
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def distinct(entries: Sequence[Known]) -> list[Known]:
    """The entries as a file holds them: sorted, and what has one name and line once, as its worst."""
    found: dict[tuple[str, int], Known] = {}
    for one in sorted(map(_kept, entries), key=_order):
        found.setdefault((one.fingerprint, one.finding.line or 0), one)
    return sorted(found.values(), key=_place)


def _order(known: Known) -> tuple[str, str, str, int, int, str]:
    """By place, the worst first; total, so that one run makes one file."""
    return *_place(known), -level(known.finding.severity), json.dumps(_row(known))


def _kept(known: Known) -> Known:
    """With the fingerprint that what is kept of it has."""
    lead = core(known.finding)
    return Known(
        fingerprint(known.case, lead),
        known.case,
        known.folder,
        lead,
        also=tuple(map(core, known.also[:MOST_ALSO])),
    )


def _place(known: Known) -> tuple[str, str, str, int]:
    return known.case, known.finding.file or "", known.fingerprint, known.finding.line or 0


def _row(known: Known) -> dict[str, Any]:
    head = {"fingerprint": known.fingerprint, "case": known.case, "folder": known.folder}
    also = [_told(finding) for finding in known.also]
    return {**head, "severity": known.finding.severity, **_told(known.finding), "also": also}


def _told(finding: Finding) -> dict[str, Any]:
    return {key: getattr(finding, key) for key in _CORE}


# --- reading ----------------------------------------------------------------------------------


def parse(text: str, place: str) -> Baseline:
    """What a file says; ``ConfigError`` names the entry and the remedy.  ``place`` names the file."""
    value, faults = parse_json(text)
    if faults:
        raise ConfigError(f"not a baseline: {faults[0]}", place=place, remedy=MAKE)
    version = value.get("schema_version") if isinstance(value, Mapping) else None
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise ConfigError(
            f"no baseline of this version (schema_version {shown(version)}, here {SCHEMA_VERSION})",
            place=place,
            remedy=f"use the version of prun_review that made it, or {MAKE}",
        )
    _keys(value, ("schema_version", "made_by", "findings"), place)
    made_by = _keys(value["made_by"], _MADE_BY, f"{place}: made_by")
    version, run, commit, tree = (_text(made_by, key, f"{place}: made_by") for key in _MADE_BY)
    rows = value["findings"]
    if not isinstance(rows, list):
        raise ConfigError("findings is no list", place=place, remedy=MAKE)
    entries = tuple(_entry(row, f"{place}: finding {n}") for n, row in enumerate(rows, 1))
    _refuse_twice(entries, place)
    return Baseline(entries, run, commit, tree, version)


def _refuse_twice(entries: Sequence[Known], place: str) -> None:
    first: dict[tuple[str, int | None], int] = {}
    for n, entry in enumerate(entries, 1):
        before = first.setdefault((entry.fingerprint, entry.finding.line), n)
        if before != n:
            raise ConfigError(
                f"the same finding as {before}: {entry.fingerprint}",
                place=f"{place}: finding {n}",
                remedy=MAKE,
            )


def _entry(row: Any, place: str) -> Known:
    _keys(row, _ENTRY, place)
    name, case, folder, severity = (_text(row, key, place) for key in _ENTRY[:4])
    if severity not in SEVERITIES:
        raise ConfigError(
            f"severity is {shown(severity)}", place=place, remedy=f"one of {', '.join(SEVERITIES)}; or {MAKE}"
        )
    lead = _finding(row, severity, place)
    if not isinstance(row["also"], list) or len(row["also"]) > MOST_ALSO:
        raise ConfigError(f"also is no list of at most {MOST_ALSO}", place=place, remedy=MAKE)
    also = tuple(
        _finding(_keys(other, _CORE, f"{place}: also {n}"), severity, f"{place}: also {n}")
        for n, other in enumerate(row["also"], 1)
    )
    if name != fingerprint(case, lead):
        raise ConfigError(
            f"the fingerprint {shown(name)} is not that of what stands beside it",
            place=place,
            remedy=f"undo the edit, or {MAKE}",
        )
    return Known(name, case, folder, lead, also=also)


def _finding(row: Mapping[str, Any], severity: str, place: str) -> Finding:
    line = row["line"]
    if line is not None and (isinstance(line, bool) or not isinstance(line, int) or line < 1):
        raise ConfigError(
            f"line is {shown(line)}", place=place, remedy=f"a number from 1, or null; or {MAKE}"
        )
    if row["side"] not in (None, "new", "old"):
        raise ConfigError(f"side is {shown(row['side'])}", place=place, remedy='"new", "old" or null')
    found = Finding(
        title=_text(row, "title", place, TITLE),
        detail=_text(row, "detail", place, DETAIL),
        file=_optional(row, "file", place),
        line=line,
        severity=severity,
        quote=_optional(row, "quote", place),
        side=row["side"],
    )
    if found != core(found):
        raise ConfigError(
            "title, detail, file or quote is not as a baseline keeps it: white space collapsed, quotes up to "
            f"{QUOTE} visible characters",
            place=place,
            remedy=MAKE,
        )
    return found


def _keys(value: Any, keys: Sequence[str], place: str) -> Mapping[str, Any]:
    """A table with these keys and no others."""
    if not isinstance(value, Mapping):
        raise ConfigError(f"expected an object, got {shown(value)}", place=place, remedy=MAKE)
    for key in value:
        if key not in keys:
            raise ConfigError(f"unknown key {shown(key)}", place=place, remedy=MAKE)
    for key in keys:
        if key not in value:
            raise ConfigError(f"{key} is missing", place=place, remedy=MAKE)
    return value


def _text(row: Mapping[str, Any], key: str, place: str, most: int = 0) -> str:
    value = row[key]
    if not isinstance(value, str) or (most and len(value) > most):
        told = f"longer than {most} characters" if isinstance(value, str) else shown(value)
        raise ConfigError(f"{key} is {told}", place=place, remedy=f"a text; or {MAKE}")
    return value


def _optional(row: Mapping[str, Any], key: str, place: str) -> str | None:
    return None if row[key] is None else _text(row, key, place)
