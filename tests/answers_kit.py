"""Answers for the contract tests: one good payload of each kind, and ways to spoil it."""

from __future__ import annotations

import copy
import json
from typing import Any

from prun_review.contract import KINDS, Judged, judge_answer
from prun_review.model import Contract
from prun_review.rulings import CLAIM, SAME

FINDING: dict[str, Any] = {
    "title": "eval on file content",
    "detail": "Whoever writes the file runs code.",
    "file": "src/x.py",
    "line": 4,
    "end_line": 5,
    "severity": "high",
    "category": "security",
    "confidence": 0.9,
    "quote": "return eval(open(path).read())",
    "suggestion": "Use json.loads.",
}
FINDINGS: dict[str, Any] = {
    "conclusion": "One defect in the loader.",
    "files": "src/x.py",
    "open_items": "none",
    "verification": "read src/x.py from top to bottom",
    "verdict": "request-changes",
    "examined": ["src/x.py"],
    "findings": [FINDING],
}
CHOICE: dict[str, Any] = {
    "conclusion": "SQLite, for its crash safety.",
    "files": "none",
    "open_items": "none",
    "verification": "compared both by the criteria",
    "examined": [],
    "choice": "sqlite",
    "ranking": ["sqlite", "jsonl"],
    "scores": [
        {"option": o, "criterion": c, "score": n, "reason": "because"}
        for o, c, n in [
            ("sqlite", "safety", 5),
            ("sqlite", "grep", 1),
            ("jsonl", "safety", 3),
            ("jsonl", "grep", 5),
        ]
    ],
    "confidence": 0.6,
    "would_change_mind": "a benchmark of many writers",
}
CONFIRMED: dict[str, Any] = {
    "conclusion": "The text of a file reaches eval in load().",
    "files": "src/x.py",
    "open_items": "none",
    "verification": "read src/x.py from top to bottom",
    "examined": ["src/x.py"],
    "word": "confirm",
    "reason": "load() hands the text of the file to eval, and nothing checks it before.",
    "severity": "critical",
    "file": "src/x.py",
    "line": 4,
    "quote": "return eval(open(path).read())",
}
CANNOT_TELL: dict[str, Any] = CONFIRMED | {
    "conclusion": "It depends on callers that are not part of this tree.",
    "word": "cannot-tell",
    "reason": "Whether the path is a user's is decided by callers outside of this tree.",
    **dict.fromkeys(("severity", "file", "line", "quote")),
}
YES: dict[str, Any] = {key: value for key, value in CONFIRMED.items() if key != "severity"} | {
    "word": "yes",
    "conclusion": "Both are about the call of eval.",
    "reason": "Both are gone once eval is replaced by json.loads.",
}
CLAIMED = Contract("examination", CLAIM)
PAIRED = Contract("examination", SAME)
TWO = Contract("choice", ("jsonl", "sqlite"), ("safety", "grep"))
CONTRACTS = {"findings": Contract(), "choice": TWO, "prose": Contract("prose"), "examination": CLAIMED}
SLUG = "probe-injection-auth-codex-1a2b3c4d"


def with_(base: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A deep copy with top-level changes; ``...`` removes the key."""
    made = copy.deepcopy(base) | changes
    return {key: value for key, value in made.items() if value is not ...}


def finding(**changes: Any) -> dict[str, Any]:
    """The findings payload with one changed finding."""
    return with_(FINDINGS, findings=[with_(FINDING, **changes)])


def header(base: dict[str, Any] = FINDINGS, slug: str = SLUG) -> str:
    """The prun header of a payload."""
    return (
        f"# {slug} result\nConclusion: {base['conclusion']}\nFiles: {base['files']}\n"
        f"Open items: {base['open_items']}\nVerification: {base['verification']}\n"
    )


def fenced(payload: Any, tag: str = "json") -> str:
    """A payload in a fence."""
    return f"```{tag}\n{json.dumps(payload, indent=2)}\n```"


def judged(payload: Any = None, text: str = "", kind: str = "findings") -> Judged:
    """Judge by one of the built-in kinds."""
    return judge_answer(payload=payload, text=text, contract=CONTRACTS[kind], kind=KINDS[kind], slug=SLUG)


def codes(judgement: Judged) -> list[str]:
    """Codes of the violations, in order."""
    return [v.code for v in judgement.violations]


def salvaged(judgement: Judged) -> list[tuple[str, str]]:
    """Code and place of what salvage did, in order."""
    return [(v.code, v.where) for v in judgement.salvage]
