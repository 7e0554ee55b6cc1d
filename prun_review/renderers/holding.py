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
OPEN = "unresolved"
WORDS = {"confirmed": "CONFIRMED", "refuted": "REFUTED", OPEN: "NOT SETTLED"}
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

    kind: str
    """``claim``: does it hold; ``same``: is it one with another."""
    settled: bool
    text: str
    """``REFUTED: why``."""
    claim: str
    """The words that were examined, ``codex claims: The input reaches...``; empty where none were."""
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


def decided(finding: Finding) -> str:
    """``INCOMPLETE [unresolved]: the rule for high is consensus...``, ``passes [off]: ...``."""
    found = finding.get("decided")
    if not found:
        return ""
    return f"{finding.get('outcome') or 'passes'} [{found['code']}]: {found['why']}"


def notable(finding: Finding) -> bool:
    """Whether what decided over it is worth a line where room is short."""
    code = (finding.get("decided") or {"code": ""})["code"]
    return bool(finding["blocking"]) or code not in ("", "off", "beside", "accepted", "known")


def settled(finding: Finding) -> list[str]:
    """Who answers for it, and that the baseline holds it."""
    lines = []
    if accepted := finding.get("accepted"):
        until = f" until {accepted['until']}" if accepted["until"] else ""
        lines.append(f"ACCEPTED by {accepted['by']}{until}: {accepted['reason']}")
    if finding.get("known"):
        lines.append("KNOWN: the baseline holds it")
    return lines


def asked(finding: Finding) -> list[Asked]:
    """What the other vendor was asked about it, in the order asked."""
    rulings = finding.get("rulings") or ()
    found = [_asked(finding, ruling) for ruling in rulings]
    examined = finding.get("examined") or ""
    if examined and not any(r["outcome"] == examined for r in rulings):
        found.insert(0, Asked("claim", examined != OPEN, WORDS.get(examined, examined), "", ()))
    return found


def _asked(finding: Finding, ruling: Mapping[str, Any]) -> Asked:
    word, why = WORDS.get(ruling["outcome"], ruling["outcome"].upper()), ruling["why"]
    lead, claim = finding["members"][0], ""
    if ruling["kind"] == "same":
        word += ", asked whether two findings are one defect"
    elif lead["detail"]:
        claim = f"{lead['executor']} claims: {lead['detail']}"
    if ruling["outcome"] in ("confirmed", "refuted") and ruling["opinions"]:
        why = ""  # it says who said what, and so do the arguments
    return Asked(
        ruling["kind"],
        ruling["outcome"] != OPEN,
        f"{word}{': ' if why else ''}{why}",
        claim,
        arguments(ruling["opinions"]),
    )


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
