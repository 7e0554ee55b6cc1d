"""What the reports say of a reviewed change, of what persons answer for and of what earlier runs held.

Like :mod:`prun_review.renderers.view`, taken from the run document: order, grouping and wording, no
escaping.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prun_review.renderers.view import place, rows
from prun_review.verdict import number, some

Document = Mapping[str, Any]

ORIGINS = {
    "introduced": "Introduced by the change",
    "caused": "Caused by the change, elsewhere",
    "pre-existing": "Beside the change (reported only)",
}
"""Origin of a finding -> its heading, in the order shown."""
SHA = 12
"""Characters of a commit that are shown."""


@dataclass(frozen=True, slots=True)
class Touched:
    """One file of the change."""

    name: str
    """Its path, with the one that it had where it was renamed."""
    status: str
    kind: str
    lines: str
    """``+3 -1``."""
    looked: str
    """Who looked at it, or why nobody did."""
    missing: bool
    """Nobody did, and that is why the verdict is not green."""


def change(document: Document) -> Mapping[str, Any] | None:
    """The change of a document; None where none was reviewed."""
    found = document.get("change")
    return found if isinstance(found, Mapping) else None


def heading(document: Document) -> str:
    """``3 files, +12 -4``; empty without a change."""
    found = change(document)
    if found is None:
        return ""
    files = found["files"]
    return (
        f"{number(len(files), 'file')}, +{sum(f['added'] for f in files)} -{sum(f['deleted'] for f in files)}"
    )


def commits(document: Document) -> str:
    """``base 1a2b3c4d5e6f, merge base ..., head ...``."""
    revision = document.get("revision") or {}
    dirty = " with uncommitted changes" if revision.get("dirty") else ""
    told = [f"{word} {(revision.get(key) or 'not recorded')[:SHA]}" for word, key in _COMMITS.items()]
    return ", ".join(told) + dirty


_COMMITS = {"base": "base", "merge base": "merge_base", "head": "head"}


def files(document: Document) -> list[Touched]:
    """The files of the change; those that nobody looked at come first, so that no list hides them."""
    found = change(document)
    if found is None:
        return []
    uncovered, alters = set(found["uncovered"]), set(_facts(document, "alters_paths"))
    touched = [_touched(f, f["path"] in uncovered, f["path"] in alters) for f in found["files"]]
    return sorted(touched, key=lambda f: not f.missing)


def _touched(file: Mapping[str, Any], missing: bool, altering: bool) -> Touched:
    renamed = file["old_path"] and file["old_path"] != file["path"]
    looked = some(file["covered_by"])
    if not looked:
        words = [
            "NOBODY" if missing else "nobody",
            *(["ignored by gate.uncovered"] if file["ignored"] else []),
        ]
        words += ["changes the review itself"] if altering else [file["why"]] if file["why"] else []
        looked = ": ".join([words[0], ", ".join(words[1:])]) if words[1:] else words[0]
    return Touched(
        f"{file['path']} (was {file['old_path']})" if renamed else file["path"],
        file["status"],
        file["kind"],
        f"+{file['added']} -{file['deleted']}",
        looked,
        missing,
    )


def altered(document: Document) -> str:
    """Which files change the review itself, and the digest to accept; empty where none does."""
    found = change(document)
    if found is None or not found["alters"]:
        return ""
    names = some(found["alters"], 8)
    return f"changes the review itself: {names}; digest {found['alters_digest'] or 'not recorded'}"


def answered_for(document: Document) -> list[str]:
    """What persons answer for, expired acceptances too."""
    lines = []
    for a in document.get("acceptances") or _facts(document, "acceptances"):
        until = f" until {a['until']}" if a["until"] else ""
        gone = "EXPIRED, counts for nothing: " if a["expired"] else ""
        note = f" ({a['note']})" if a.get("note") else ""
        lines.append(f"{gone}{_accepted(a)}, accepted by {a['by']}{until}: {a['reason']}{note}")
    return lines


def _accepted(entry: Mapping[str, Any]) -> str:
    if entry["kind"] == "outage":
        return f"outage of {entry['subject']}"
    finding = entry.get("finding")
    told = f" ({finding['severity']}: {finding['title']}, {place(finding)})" if finding else ""
    return f"{entry['kind']} {entry['subject']}{told}"


def carried(document: Document) -> list[str]:
    """The blockers of earlier runs on this head; of a change those that this run does not hold itself."""
    found = change(document)
    lines = []
    for c in _facts(document, "carried") if found is None else found["carried"]:
        place = f" ({c['place']})" if c["place"] else ""
        lines.append(f"{c['outcome']}: {c['severity']}: {c['title']}{place}, from run {c['run']}")
    return lines


def _facts(document: Document, key: str) -> list[Any]:
    return list((document.get("facts") or {}).get(key) or [])


def by_origin(document: Document) -> dict[str, list[dict[str, Any]]]:
    """The findings under their headings; all under an empty one where no change was reviewed."""
    every = rows(document, "findings")
    if change(document) is None:
        return {"": every}
    found: dict[str, list[dict[str, Any]]] = {origin: [] for origin in ORIGINS}
    for finding in every:
        found.setdefault(finding.get("origin") or "introduced", []).append(finding)
    return {ORIGINS.get(origin, origin): items for origin, items in found.items() if items}


def stance(finding: Mapping[str, Any]) -> str:
    """``added``, or ``outside, caused by src/a.py:3``: where it stands in the change; else empty."""
    words = [finding["placement"]] if finding.get("placement") else []
    if cause := finding.get("cause"):
        line = f":{cause['line']}" if cause["line"] else ""
        proven = (
            "caused by"
            if finding.get("caused", finding.get("origin") == "caused")
            else "said to be caused by"
        )
        words.append(f"{proven} {cause['file']}{line}")
    return ", ".join(words)
