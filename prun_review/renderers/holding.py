"""What the reports say of one finding beside its place: who holds it, how often, and what became of it.

Like :mod:`prun_review.renderers.view`, taken from the run document: order, grouping and wording, no
escaping.  Findings of documents that know nothing of a column are shown without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prun_review.model import SEVERITIES

Finding = Mapping[str, Any]

SHORT = 11
"""Characters of a fingerprint that are shown where room is short: its version and 8 hex digits."""
WORDS = {"confirmed": "CONFIRMED", "refuted": "REFUTED", "unresolved": "NOT SETTLED"}
"""What the examination of a finding came to -> how it is said."""


@dataclass(frozen=True, slots=True)
class Argument:
    """What one examiner said."""

    speaker: str
    word: str
    """``refute``, ``confirm at high``..."""
    place: Mapping[str, Any]
    """``file``, ``line`` and ``end_line``, as :func:`prun_review.renderers.view.place` takes them."""
    grounding: str
    reason: str
    quote: str


@dataclass(frozen=True, slots=True)
class Asked:
    """One question about a finding, and what it came to."""

    text: str
    """``REFUTED (claim): why``."""
    arguments: tuple[Argument, ...]


def holders(finding: Finding) -> str:
    """``codex, sonnet``; with each one's severity where not all say the same."""
    said: dict[str, set[str]] = {name: set() for name in finding["executors"]}
    for member in finding["members"]:
        said.setdefault(member["executor"], set()).add(member["severity"])
    differ = len({severity for severities in said.values() for severity in severities}) > 1
    told = {name: f" ({'/'.join(sorted(s, key=_rank))})" if differ and s else "" for name, s in said.items()}
    return ", ".join(f"{name}{severities}" for name, severities in told.items())


def _rank(severity: str) -> int:
    return -SEVERITIES.index(severity) if severity in SEVERITIES else -len(SEVERITIES)


def fingerprint(finding: Finding, *, whole: bool = False) -> str:
    """Its stable name, cut to :data:`SHORT` unless ``whole``; empty where it has none."""
    name: str = finding.get("fingerprint") or ""
    return name if whole else name[:SHORT]


def came(finding: Finding) -> str:
    """``came back: codex 2 of 3, sonnet 3 of 3``; empty where each was asked once."""
    counts = [c for c in finding.get("came") or () if c["of"] > 1]
    told = ", ".join(f"{c['executor']} {c['times']} of {c['of']}" for c in counts)
    return f"came back: {told}" if told else ""


def settled(finding: Finding) -> list[str]:
    """Who answers for it, and that the baseline holds it."""
    lines = []
    if accepted := finding.get("accepted"):
        until = f" until {accepted['until']}" if accepted["until"] else ""
        lines.append(f"ACCEPTED by {accepted['by']}{until}: {accepted['reason']}")
    if finding.get("known"):
        lines.append("KNOWN: the baseline holds it")
    return lines


def claim(finding: Finding) -> str:
    """The words that were examined: ``codex claims: The input reaches...``; empty without detail."""
    lead = finding["members"][0]
    return f"{lead['executor']} claims: {lead['detail']}" if lead["detail"] else ""


def asked(finding: Finding) -> list[Asked]:
    """What the other vendor was asked about it, in the order asked."""
    found = [_asked(ruling) for ruling in finding.get("rulings") or ()]
    examined = finding.get("examined") or ""
    if examined and not any(r["kind"] == "claim" for r in finding.get("rulings") or ()):
        found.insert(0, Asked(WORDS.get(examined, examined), ()))
    return found


def _asked(ruling: Mapping[str, Any]) -> Asked:
    word, why = WORDS.get(ruling["outcome"], ruling["outcome"].upper()), ruling["why"]
    if ruling["kind"] == "same":
        word += ", asked whether two findings are one defect"
    return Asked(f"{word}{': ' if why else ''}{why}", arguments(ruling["opinions"]))


def arguments(opinions: list[Mapping[str, Any]]) -> tuple[Argument, ...]:
    """What examiners said, one by one."""
    return tuple(
        Argument(
            o["executor"],
            f"{o['word']} at {o['severity']}" if o.get("severity") else o["word"],
            {"file": o.get("file"), "line": o.get("line"), "end_line": None},
            o.get("grounding") or "",
            o["reason"],
            o.get("quote") or "",
        )
        for o in opinions
    )
