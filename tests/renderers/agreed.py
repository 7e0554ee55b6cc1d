"""What run documents say of second waves, baselines, policies and agreement, built by hand."""

from __future__ import annotations

from typing import Any

from prun_review.codec import encode
from prun_review.model import RunFacts
from tests.renderers import sample

F1 = "f1-0123456789abcdef"


def opinion(executor: str, word: str, **fields: Any) -> dict[str, Any]:
    """What an examiner says, with a quote from the tree."""
    return {
        "executor": executor,
        "word": word,
        "reason": "the input is checked before",
        "severity": None,
        "file": "src/auth/login.py",
        "line": 9,
        "quote": "if not name.isalnum():",
        "grounding": "exact",
        **fields,
    }


def ruling(outcome: str, *opinions: dict[str, Any], kind: str = "claim", **fields: Any) -> dict[str, Any]:
    """What an examination came to."""
    why = f"{' and '.join(o['executor'] for o in opinions) or 'nobody'} answered"
    base = {"question": "x-0123456789ab", "kind": kind, "outcome": outcome, "why": why, "severity": ""}
    return {**base, "opinions": list(opinions), **fields}


def finding(kind: str, title: str, **fields: Any) -> dict[str, Any]:
    """A finding of codex alone with every new column, empty unless given."""
    lead = {
        "title": title,
        "severity": fields.pop("severity", "high"),
        "file": "src/auth/login.py",
        "line": 12,
    }
    member = sample.member(
        "codex", "codex-1", id=f"codex-1#{title}", detail="the name reaches the query", **lead
    )
    outcome = fields.get("outcome", "")
    columns = {
        "decided": {"code": f"code-{outcome}" if outcome else "off", "why": "the rule for it"},
        "reason": "held by codex",
        "outcome": "",
        "fingerprint": F1,
        "known": False,
        "accepted": None,
        "examined": "",
        "rulings": [],
        "came": [],
    }
    return sample.group(kind, [member], **{**columns, **fields})


def question(outcome: str, left: str, **fields: Any) -> dict[str, Any]:
    """A question of the second wave."""
    base = {"id": "x-0123456789ab", "kind": "claim", "case": sample.AUTH, "folder": "panels/security"}
    words = {"severity": "high", "outcome": outcome, "why": "sonnet refutes it", "opinions": []}
    return {**base, "left": left, "right": "", **words, **fields}


def left_out(left: str, why: str) -> dict[str, Any]:
    """A question that nobody was asked."""
    return {
        "id": "x-1",
        "kind": "claim",
        "case": sample.AUTH,
        "left": left,
        "right": "",
        "severity": "high",
        "why": why,
    }


def usage(**fields: Any) -> dict[str, Any]:
    """What one quota pool used."""
    tokens = {"input_tokens": 1200, "cached_tokens": None, "output_tokens": 90, "cost_usd": 0.05}
    return {**tokens, "units": 2, "units_without_cost": 0, **fields}


def examination(**fields: Any) -> dict[str, Any]:
    """Three questions: one refuted, one pair matched, one without an answer; two more were left out."""
    return {
        "mode": "gate",
        "asked": 4,
        "answered": 3,
        "questions": [
            question("refuted", "codex-1#refuted"),
            question("match", "codex-1#accepted", kind="same", right="codex-1#known", why="both say yes"),
            question("unresolved", "gone#1", why="no answer"),
        ],
        "left_out": [
            left_out("codex-1#single", "over the limit of 3"),
            left_out("gone#2", "over the limit of 3"),
        ],
        "units": [
            sample.unit("sonnet", "x-0123456789ab", conclusion="refuted"),
            sample.unit("codex", "x-2", status="failed", reason="timeout", message="took too long"),
        ],
        "usage": {"sonnet": usage()},
        **fields,
    }


def share(k: int, n: int, wilson: list[float] | None = None, **fields: Any) -> dict[str, Any]:
    """A proportion with its interval, or why it has none."""
    return {
        "k": k,
        "n": n,
        "wilson": wilson,
        "why_not": "" if wilson else f"{n} in all, fewer than 10",
        **fields,
    }


def estimate(value: float | None, interval: list[float] | None = None, n: int = 12) -> dict[str, Any]:
    """A coefficient with its interval, or why it has none."""
    return {
        "value": value,
        "interval": interval,
        "n": n,
        "why_not": "" if interval else "not estimable: all agree",
    }


def words(left: str, right: str, **fields: Any) -> dict[str, Any]:
    """Agreement on one word per case."""
    return {
        "left": left,
        "right": right,
        "independent": True,
        "dependence": "",
        "agree": 18,
        "n": 20,
        "of": 22,
        "wilson": [0.7, 0.97],
        "why_not": "",
        "missing": [{"executor": "sonnet", "reason": "failed:timeout", "n": 2}],
        "ac1": estimate(0.85, [0.6, 0.97], 20),
        "specific": [
            {"word": "approve", "both": 17, "left": 18, "right": 19, "share": 0.9189},
            {"word": "request-changes", "both": 1, "left": 2, "right": 1, "share": 0.6667},
            {"word": "comment", "both": 0, "left": 0, "right": 0, "share": None},
        ],
        "table": {"words": ["approve", "request-changes"], "counts": [[17, 1], [1, 1]]},
        **fields,
    }


def findings_pair(left: str, right: str, **fields: Any) -> dict[str, Any]:
    """Two executors with enough findings to estimate everything."""
    return {
        "left": left,
        "right": right,
        "independent": True,
        "dependence": "",
        "cases_both": 12,
        "cases_asked": 14,
        "missing": [{"executor": right, "reason": "failed:timeout", "n": 2}],
        "both": 12,
        "only_left": 5,
        "only_right": 9,
        "uncertain": 2,
        "psa": [0.571, 0.667],
        "psa_interval": [0.4, 0.8],
        "psa_interval_why_not": "",
        "why_not": "",
        "confirmed": {"left": share(12, 19, [0.41, 0.81], k_most=14), "right": share(12, 23, [0.33, 0.71])},
        "severity": {
            "pairs": 12,
            "exact": share(7, 12, [0.32, 0.81]),
            "within_one": share(11, 12, [0.65, 0.99]),
            "alpha": estimate(0.52, [0.1, 0.8]),
            "bias": estimate(0.42, [0.1, 0.7]),
            "harsher": left,
        },
        "unseen": {
            "more": [2.1, 3.4],
            "interval": [0.5, 12.0],
            "seen": [26, 28],
            "text": "At least 2 more.",
            "why_not": "",
        },
        **fields,
    }


def panel(**fields: Any) -> dict[str, Any]:
    """Three executors of three vendors."""
    voices = {"executors": ["codex", "sonnet", "gemini"], "agree": 3, "n": 4, "of": 5, "wilson": None}
    total = {
        **voices,
        "why_not": "4 cases, fewer than 10",
        "missing": [],
        "alpha": estimate(None, n=4),
        "ac1": estimate(0.5, n=4),
    }
    return {
        "executors": ["codex", "sonnet", "gemini"],
        "findings": {
            "cases": 12,
            "of": 14,
            "missing": [],
            "classes": {"consensus": 12, "single": 14},
            "held_by": [{"voices": 1, "findings": 14}, {"voices": 2, "findings": 12}],
            "psa": [0.5, 0.6],
            "psa_interval": None,
            "psa_interval_why_not": "all cases agree",
            "why_not": "",
        },
        "severity": {"findings": 12, "alpha": estimate(0.5, [0.2, 0.7])},
        "verdicts": total,
        "choices": {**total, "of": 0},
        "unseen": {
            "voices": 3,
            "seen": 26,
            "jackknife": None,
            "chao": None,
            "why_not": "fewer than 4 voices",
        },
        **fields,
    }


def within(executor: str, **fields: Any) -> dict[str, Any]:
    """An executor that was asked three times."""
    counts = {"cases": 12, "pairs": 36, "both": 30, "only_left": 4, "only_right": 6, "uncertain": 0}
    range_ = {"psa": [0.857, 0.857], "psa_interval": [0.7, 0.95], "psa_interval_why_not": "", "why_not": ""}
    return {
        "executor": executor,
        "vendor": "openai",
        "lineage": "gpt",
        "of": 12,
        "answers": 35,
        "asked": 36,
        "limited": "",
        "came": [{"times": 3, "of": 3, "findings": 9}, {"times": 1, "of": 3, "findings": 4}],
        "independent": False,
        "dependence": "the same executor",
        **counts,
        **range_,
        "beside": [
            {
                "executor": "sonnet",
                "independent": True,
                "dependence": "",
                **counts,
                **range_,
                "psa": [0.5, 0.5],
            },
            {
                "executor": "codex-mini",
                "independent": False,
                "dependence": "both are of openai",
                **counts,
                **range_,
            },
        ],
        **fields,
    }


def agreement() -> dict[str, Any]:
    """Everything that can be said of agreement."""
    return {
        "findings": [
            findings_pair("codex", "sonnet"),
            findings_pair("codex", "codex-mini", independent=False, dependence="both are of openai"),
        ],
        "choices": [
            words(
                "codex",
                "sonnet",
                agree=2,
                n=3,
                of=3,
                wilson=None,
                why_not="3 questions answered by both, fewer than 10",
                missing=[],
                ac1=estimate(None, n=3),
            )
        ],
        "verdicts": [words("codex", "sonnet")],
        "panel": panel(),
        "within": [within("codex")],
    }


def choice(**fields: Any) -> dict[str, Any]:
    """Two of three choose sqlite, and the third, asked twice, says why not."""
    answers = [
        ("codex", 1, "jsonl", ["jsonl", "sqlite"], 0.8, "concurrent writers"),
        ("codex", 2, "jsonl", ["jsonl", "sqlite"], None, ""),
        ("sonnet", 1, "sqlite", ["sqlite", "jsonl"], 0.6, "a file of 10 GB"),
        ("gemini", 1, "sqlite", ["sqlite", "jsonl"], None, ""),
    ]
    keys = ("executor", "repeat", "option", "ranking", "confidence", "would_change_mind")
    return {
        **sample.choice(),
        "answers": [dict(zip(keys, answer, strict=True)) for answer in answers],
        "winner": "sqlite",
        "dissent": ["codex"],
        "votes": {"codex": "jsonl", "sonnet": "sqlite", "gemini": "sqlite"},
        "voices": [
            {"executors": ["codex"], "option": "jsonl"},
            {"executors": ["sonnet"], "option": "sqlite"},
            {"executors": ["gemini"], "option": "sqlite"},
        ],
        "ranks": [
            {"option": "sqlite", "place": 1, "mean_rank": 1.3333, "points": 2, "firsts": 2, "votes": 3},
            {"option": "jsonl", "place": 2, "mean_rank": 1.6667, "points": 1, "firsts": 1, "votes": 3},
        ],
        "criterion_scores": [
            {
                "criterion": "crash safety",
                "option": "jsonl",
                "mean": 3.0,
                "low": 2,
                "high": 4,
                "deviation": 1.4,
                "scores": 2,
                "voices": 2,
            },
            {
                "criterion": "crash safety",
                "option": "sqlite",
                "mean": 5.0,
                "low": 5,
                "high": 5,
                "deviation": None,
                "scores": 1,
                "voices": 1,
            },
            {
                "criterion": "greppability",
                "option": "sqlite",
                "mean": None,
                "low": None,
                "high": None,
                "deviation": None,
                "scores": 0,
                "voices": 0,
            },
        ],
        "minds": [{"executor": "codex", "repeats": [1, 2], "option": "jsonl", "text": "concurrent writers"}],
        "agreement": share(1, 3),
        "dissenting": [
            {
                "executor": "codex",
                "repeat": 1,
                "option": "jsonl",
                "conclusion": "lines are enough",
                "reasons": [
                    {
                        "option": "sqlite",
                        "criterion": "crash safety",
                        "score": 2,
                        "text": "a broken page loses all",
                    }
                ],
            }
        ],
        "stability": [{"executor": "codex", "times": 2, "of": 3, "options": {"jsonl": 2, "sqlite": 1}}],
        **fields,
    }


def acceptance(**fields: Any) -> dict[str, Any]:
    """A finding that a person answers for."""
    base = {
        "kind": "finding",
        "subject": F1,
        "by": "Ada",
        "reason": "only tests call it",
        "until": "",
        "expired": False,
    }
    return {**base, "case": sample.AUTH, "finding": None, **fields}


def findings() -> list[dict[str, Any]]:
    """One of each kind of settlement; the head id of each is ``codex-1#<title>``."""
    both = finding("contested", "contested", outcome="INCOMPLETE", blocking=True, severity="critical")
    both["members"].append(
        sample.member("sonnet", "sonnet-1", id="sonnet-1#1", title="Name in query", severity="medium")
    )
    both["executors"] = ["codex", "sonnet"]
    both["came"] = [{"executor": "codex", "times": 2, "of": 3}, {"executor": "sonnet", "times": 1, "of": 1}]
    return [
        finding(
            "consensus",
            "confirmed",
            examined="confirmed",
            outcome="FAIL",
            blocking=True,
            rulings=[
                ruling(
                    "confirmed",
                    opinion("sonnet", "confirm", severity="high", reason="nothing checks it"),
                    severity="high",
                )
            ],
        ),
        both,
        finding(
            "contested",
            "refuted",
            examined="refuted",
            rulings=[
                ruling(
                    "refuted",
                    opinion("sonnet", "refute"),
                    opinion(
                        "gemini",
                        "cannot-tell",
                        file=None,
                        line=None,
                        quote=None,
                        grounding="",
                        reason="the caller is not in the tree",
                    ),
                )
            ],
        ),
        finding(
            "single",
            "accepted",
            accepted={"by": "Ada", "reason": "only tests call it", "until": "2026-12-31"},
            rulings=[
                ruling("match", opinion("codex", "yes", quote=None), opinion("sonnet", "yes"), kind="same")
            ],
        ),
        finding("single", "known", known=True),
        finding("single", "single", examined="unresolved", outcome="INCOMPLETE", blocking=True),
    ]


def document(**fields: Any) -> dict[str, Any]:
    """A run with something in every part of issue and section that the reports know."""
    stale = {
        "fingerprint": "f1-ff",
        "case": sample.AUTH,
        "folder": "panels/security",
        "severity": "high",
        "title": "Old leak",
        "place": "src/old.py:3",
        "note": "renamed from src/older.py",
    }
    kept = {
        key: {"value": value, "source": source}
        for key, value, source in (
            ("block", "medium", "pyproject.toml"),
            ("rule", "consensus", "default"),
            ("uncovered", "", "default"),
            ("high", "consensus", "block and rule"),
        )
    }
    parts = {
        "findings": findings(),
        "agreement": agreement(),
        "examination": examination(),
        "baseline": {"file": "known.json", "entries": 5, "known": 1, "stale": [stale]},
        "policy": {"panels/security": kept, "panels/design": kept},
        "facts": encode(RunFacts("20261129-120000-ab12", 0.0, version="0.4")),
        "acceptances": [acceptance(), acceptance(expired=True, until="2026-11-01", by="Bob")],
        "cases": [
            sample.case(sample.AUTH),
            sample.case(
                sample.LEDGER,
                folder="panels/design",
                contract="choice",
                question="Which format?",
                asked=["codex", "sonnet", "gemini"],
                answered=["codex", "sonnet", "gemini"],
                choice=choice(),
            ),
        ],
    }
    return sample.document(**{**parts, **fields})
