"""The tables of the run document that say what was found, and what of the change was looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prun_review.changegate import covers, full, open_carried, reviewed
from prun_review.codec import encode
from prun_review.consensus import CLASSES, Crossing, Group
from prun_review.folders import Decision, Folder
from prun_review.folding import level
from prun_review.model import Known, Opinion, RunFacts
from prun_review.policy import settings
from prun_review.rulings import Ruling
from prun_review.settling import Settled
from prun_review.views import Row


def findings(folders: Iterable[Folder], *, change: bool) -> list[Row]:
    """One row per group, the classes in their order, the most severe first."""
    rows = [_finding(one, folder, change) for folder in folders for one in folder.decisions()]
    return sorted(rows, key=_weight)


def _finding(decision: Decision, folder: Folder, change: bool) -> Row:
    group = decision.group
    lead = group.lead
    by = folder.settled.accepted.get(group.id)
    return {
        "id": group.id,
        "case": group.case,
        "folder": folder.name,
        "class": group.kind,
        "title": lead.title,
        "severity": group.severity,
        "file": lead.file,
        "line": lead.line,
        "end_line": lead.end_line,
        "side": lead.side,
        "cause": encode(lead.cause),
        "placement": lead.placement,
        "origin": _origin(group) if change else "",
        "category": lead.category,
        "executors": list(group.executors),
        "members": [{"executor": m.executor, "unit": m.unit, **encode(m.finding)} for m in group.members],
        "reason": group.reason,
        "blocking": bool(decision.outcome),
        "outcome": decision.outcome,
        "decided": {"code": decision.code, "why": decision.why},
        "fingerprint": group.fingerprint,
        "known": group.id in folder.settled.known,
        "accepted": {"by": by.by, "reason": by.reason, "until": by.until} if by else None,
        "examined": group.examined,
        "rulings": [_ruling(ruling) for ruling in group.rulings],
        "came": [{"executor": c.executor, "times": c.times, "of": c.of} for c in group.came],
    }


def _ruling(ruling: Ruling) -> Row:
    return {
        "question": ruling.question.id,
        "kind": ruling.question.kind,
        "outcome": ruling.outcome,
        "why": ruling.why,
        "severity": ruling.severity,
        "opinions": [opinion(name, said) for name, said in ruling.opinions],
    }


def opinion(executor: str, said: Opinion) -> Row:
    """What an examiner said, and the place and the quote that it stands on."""
    proof = said.evidence
    return {
        "executor": executor,
        "word": said.word,
        "reason": said.reason,
        "severity": said.severity,
        "file": proof.file,
        "line": proof.line,
        "quote": proof.quote,
        "grounding": proof.grounding,
    }


def _origin(group: Group) -> str:
    """What the change has to do with it; in doubt it is the change's own."""
    if group.beside:
        return "pre-existing"
    every = [m.finding for m in group.members if not m.finding.beside]
    direct = any(f.placement in ("added", "deleted") for f in every)
    return "caused" if not direct and any(f.caused for f in every) else "introduced"


def change(facts: RunFacts, folders: Sequence[Folder]) -> Row | None:
    """The reviewed change: its files and who covered them, and what else decided over it."""
    if not reviewed(facts):
        return None
    looked = covers(facts, folders)
    return {
        "files": [
            {**encode(c.file), "covered_by": list(c.cases), "ignored": c.ignored, "why": c.why}
            for c in looked
        ],
        "alters": list(facts.alters),
        "alters_digest": full(facts.alters_digest),
        "uncovered": [c.file.path for c in looked if c.missing],
        "acceptances": encode(facts.acceptances),
        # What they are made of stands in the facts, with those that this run holds itself.
        "carried": [
            {k: v for k, v in encode(c).items() if k != "members"} for c in open_carried(facts, folders)
        ],
    }


def baseline(facts: RunFacts, settled: Settled) -> Row | None:
    """The baseline: how much of it this run holds, and what is not found any more; None without one."""
    if not facts.baseline and not facts.known:
        return None
    return {
        "file": facts.baseline,
        "entries": len(facts.known),
        "known": len(settled.known),
        "stale": [_stale(entry) for entry in settled.stale],
    }


def _stale(entry: Known) -> Row:
    found = entry.finding
    line = f":{found.line}" if found.line else ""
    return {
        "fingerprint": entry.fingerprint,
        "case": entry.case,
        "folder": entry.folder,
        "severity": found.severity,
        "title": found.title,
        "place": f"{found.file}{line}" if found.file else "",
        "note": entry.note,
    }


def policy(facts: RunFacts, folders: Iterable[Folder]) -> Row:
    """Every panels folder's policy, key by key, with where each value came from."""
    return {
        f.name: {
            key: {"value": held.value, "source": held.source}
            for key, held in settings(f.policy, f.name, facts.sources).items()
        }
        for f in folders
    }


def _weight(row: Row) -> tuple[Any, ...]:
    return (
        CLASSES.index(row["class"]),
        -level(row["severity"]),
        row["file"] or "",
        row["line"] or 0,
        row["case"],
        row["id"],
    )


def pairs(crossings: Mapping[str, Crossing]) -> list[Row]:
    """Every pair of the cross-check, case by case."""

    def end(named: tuple[str, str] | None) -> Row | None:
        return {"executor": named[0], "id": named[1]} if named else None

    return [
        {
            "case": case,
            "left": end(p.left),
            "right": end(p.right),
            "outcome": p.outcome,
            "score": round(p.score, 4),
            "reason": p.reason,
            "independent": p.independent,
        }
        for case, crossing in crossings.items()
        for p in crossing.pairs
    ]
