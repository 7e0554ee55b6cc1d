"""Run documents for the renderers, built by hand in the shape of ``run.json``."""

from __future__ import annotations

from typing import Any

from prun_review.codec import encode
from prun_review.model import Finding

ESC = "\x1b"
HOSTILE = (
    f"{ESC}[2J{ESC}]0;pwned\x07{ESC}]8;;http://evil.example/\x07click{ESC}]8;;\x07"
    "<img src=x onerror=alert(1)>"
    "\n::error file=x::pwned\n  ::stop-commands::zz\r::set-output name=a::b ##[error]x ##vso[task.x]y"
    " ##teamcity[z] ]]> \x00\x9b31m \u202eevil\u2066 \ud800 \u2028::warning::q @everyone #123 GH-7"
    " ![p](http://evil.example/p.png) [a](javascript:alert(1)) https://evil.example www.evil.example"
    " `code` ``` | a | b |\n\n# heading\n- item\n===\n1. one\n```\n<script>alert(2)</script>\n"
    "$x$ :\u200b:error::w"
)
"""Everything at once that a reader of a report could act upon."""


USED = ("input_tokens", "cached_tokens", "output_tokens", "cost_usd")


def member(executor: str, unit: str, **fields: Any) -> dict[str, Any]:
    """A member of a finding group."""
    return {"executor": executor, "unit": unit, **encode(Finding(**fields))}


def group(kind: str, members: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """A finding group whose head is the first member."""
    first = members[0]
    return {
        "id": first["id"],
        "case": "panels/security/probe_shop.py::probe_injection[auth]",
        "folder": "panels/security",
        "class": kind,
        **{key: first[key] for key in ("title", "severity", "file", "line", "end_line", "category")},
        "executors": sorted({m["executor"] for m in members}),
        "members": members,
        "reason": "",
        "blocking": False,
        **fields,
    }


def panel(executor: str, vendor: str, **fields: Any) -> dict[str, Any]:
    """A panel with three units asked and answered."""
    return {
        "executor": executor,
        "vendor": vendor,
        "lineage": vendor,
        "identity": "",
        "version": "1.0",
        "paid": True,
        "asked": 3,
        "valid": 3,
        "broken": 0,
        "failed": 0,
        "not_run": 0,
        "findings": 0,
        "seconds": 12.5,
        "usage": dict.fromkeys(USED),
        "reasons": {},
        **fields,
    }


def unit(executor: str, case: str, **fields: Any) -> dict[str, Any]:
    """A unit with a valid result."""
    return {
        "id": f"{case}-{executor}",
        "slug": f"{executor}-1",
        "case": case,
        "folder": "panels/security",
        "executor": executor,
        "repeat": 1,
        "status": "valid",
        "reason": "ok",
        "message": "",
        "violations": [],
        "salvage": [],
        "attempts": 1,
        "seconds": 4.0,
        "usage": dict.fromkeys(USED),
        "examined": ["src/auth/login.py"],
        "suppressed": [],
        "conclusion": "two defects",
        **fields,
    }


def case(name: str, **fields: Any) -> dict[str, Any]:
    """A case that codex and sonnet answered."""
    return {
        "case": name,
        "folder": "panels/security",
        "contract": "findings",
        "place": "panels/security/probe_shop.py:4",
        "question": "Audit src/auth for injection defects.",
        "asked": ["codex", "sonnet"],
        "answered": ["codex", "sonnet"],
        "independent": True,
        "not_asked": [],
        "choice": None,
        **fields,
    }


def score(option: str, criterion: str, executor: str, value: int, reason: str = "because") -> dict[str, Any]:
    """One cell of a score table."""
    return {"option": option, "criterion": criterion, "executor": executor, "score": value, "reason": reason}


def choice() -> dict[str, Any]:
    """Two executors that choose differently."""
    return {
        "options": ["jsonl", "sqlite"],
        "criteria": ["crash safety", "greppability"],
        "answers": [
            {
                "executor": "codex",
                "repeat": 1,
                "option": "jsonl",
                "ranking": ["jsonl", "sqlite"],
                "confidence": 0.8,
                "would_change_mind": "concurrent writers",
            },
            {
                "executor": "sonnet",
                "repeat": 1,
                "option": "sqlite",
                "ranking": ["sqlite", "jsonl"],
                "confidence": None,
                "would_change_mind": "",
            },
        ],
        "scores": [
            score("jsonl", "crash safety", "codex", 4),
            score("jsonl", "greppability", "codex", 5),
            score("jsonl", "crash safety", "sonnet", 2),
            score("sqlite", "crash safety", "sonnet", 5, "journal"),
        ],
        "totals": {"jsonl": {"codex": 4.5, "sonnet": 2.0}, "sqlite": {"sonnet": 5.0}},
        "winner": None,
        "dissent": ["codex"],
    }


def page(url: str, status: int | None = 200, via: str = "WebFetch") -> dict[str, Any]:
    """A web page as a source."""
    return {"url": url, "status": status, "via": via}


def cause(executor: str, reason: str, **fields: Any) -> dict[str, Any]:
    """A cause that one unit failed of."""
    counts = {"units": 1, "failed": 1, "not_run": 0, "retried": 0, "others": 0}
    words = {"title": reason.replace("-", " "), "remedy": "wait", "message": ""}
    return {"executor": executor, "reason": reason, **words, **counts, **fields}


AUTH = "panels/security/probe_shop.py::probe_injection[auth]"
BILLING = "panels/security/probe_shop.py::probe_injection[billing]"
LEDGER = "panels/design/probe_ledger.py::probe_ledger_format"
ESSAY = "panels/design/probe_ledger.py::probe_essay"


def document(**fields: Any) -> dict[str, Any]:
    """A finished run of two vendors with a bit of everything."""
    injected = {"title": "SQL injection in login", "severity": "critical", "file": "src/auth/login.py"}
    findings = [
        group(
            "consensus",
            [
                member(
                    "codex", "codex-1", id="codex-1#1", line=12, quote="q = f'{u}'", detail="d", **injected
                ),
                member("sonnet", "sonnet-1", id="sonnet-1#1", line=13, **injected),
            ],
            reason="codex and sonnet name the same lines; text 0.71",
            blocking=True,
        ),
        group(
            "single",
            [
                member(
                    "sonnet", "sonnet-1", id="sonnet-1#2", title="Token never expires", suggestion="Set exp."
                )
            ],
            reason="codex does not have it",
        ),
    ]
    pairs = [
        {
            "case": AUTH,
            "left": {"executor": "codex", "id": "codex-1#1"},
            "right": {"executor": "sonnet", "id": "sonnet-1#1"},
            "outcome": "match",
            "score": 0.71,
            "reason": "same lines",
            "independent": True,
        },
        {
            "case": AUTH,
            "left": None,
            "right": {"executor": "sonnet", "id": "sonnet-1#2"},
            "outcome": "alone",
            "score": 0.1,
            "reason": "nothing near",
            "independent": True,
        },
    ]
    skipped = {"executor": "ruff", "reason": "contract", "text": "an analyser cannot answer a choice"}
    base = {
        "schema_version": 1,
        "run_id": "20261129-120000-ab12",
        "status": "finished",
        "started": "2026-11-29T12:00:00Z",
        "finished": "2026-11-29T12:01:00Z",
        "verdict": {
            "outcome": "FAIL",
            "line": "FAIL: 1 critical held by codex and sonnet",
            "reasons": [
                {
                    "code": "consensus",
                    "text": "critical: SQL injection in login (src/auth/login.py:12)",
                    "outcome": "FAIL",
                    "folder": "panels/security",
                }
            ],
            "folders": {"panels/design": "PASS", "panels/security": "FAIL"},
            "counts": {"consensus": 1},
        },
        "panels": [panel("codex", "openai", findings=1), panel("sonnet", "anthropic", valid=2, failed=1)],
        "cases": [
            case(AUTH),
            case(BILLING, answered=["codex"], independent=False),
            case(LEDGER, folder="panels/design", contract="choice", choice=choice(), not_asked=[skipped]),
            case(ESSAY, folder="panels/design", contract="prose", asked=["codex"], answered=["codex"]),
        ],
        "units": [
            unit("codex", AUTH, sources=[page("https://example.org/a"), page("https://example.org/b", 403)]),
            unit("sonnet", AUTH, sources=[page("https://example.net/", None, "")]),
            unit("sonnet", BILLING, status="failed", reason="rate-limited", message="usage limit reached"),
            unit("codex", ESSAY, conclusion="keep the ledger", text="# Why\n\n- it is *plain*\n"),
        ],
        "findings": findings,
        "pairs": pairs,
        "agreement": {
            "findings": [
                {
                    "left": "codex",
                    "right": "sonnet",
                    "independent": True,
                    "cases_both": 1,
                    "cases_asked": 2,
                    "both": 1,
                    "only_left": 0,
                    "only_right": 1,
                    "uncertain": 0,
                    "psa": [0.5, 0.667],
                    "why_not": "",
                }
            ],
            "choices": [
                {
                    "left": "codex",
                    "right": "sonnet",
                    "agree": 0,
                    "n": 1,
                    "of": 1,
                    "wilson": None,
                    "why_not": "fewer than 10 choices",
                }
            ],
        },
        "causes": [cause("sonnet", "rate-limited", message="usage limit reached")],
        "usage": {
            "codex": {
                "input_tokens": 120000,
                "cached_tokens": None,
                "output_tokens": 900,
                "cost_usd": None,
                "units": 3,
                "units_without_cost": 3,
            },
            "sonnet": {
                "input_tokens": 1,
                "cached_tokens": 0,
                "output_tokens": 2,
                "cost_usd": 0.42,
                "units": 3,
                "units_without_cost": 1,
            },
        },
        "not_asked": [{"id": LEDGER, "case": LEDGER, "folder": "panels/design", **skipped}],
        "revision": {
            "commit": "1a2b3c4d5e6f7a8b",
            "tree": "99aabbccddeeff00",
            "dirty": True,
            "files": 120,
            "excluded": [],
            "notes": [],
        },
        "facts": {},
    }
    return {**base, **fields}


def hostile(value: Any, text: str = HOSTILE) -> Any:
    """``value`` with ``text`` appended to every string in it (keys, statuses and classes stay)."""
    if isinstance(value, str):
        return value + text
    if isinstance(value, list):
        return [hostile(item, text) for item in value]
    if isinstance(value, dict):
        return {k: v if k in ("status", "class") else hostile(v, text) for k, v in value.items()}
    return value
