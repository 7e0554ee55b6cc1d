"""Who changed their mind about a design question between two runs, and why.  Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

Row = Mapping[str, Any]


def choices(a: Mapping[str, Any], b: Mapping[str, Any], cases: Collection[str]) -> list[dict[str, Any]]:
    """One row for each choice question among ``cases`` of two run documents; see
    :mod:`prun_review.comparing`."""
    old, new = ({row["case"]: row for row in document["cases"]} for document in (a, b))
    rows = []
    for case in sorted(cases):
        before, after = old[case]["choice"], new[case]["choice"]
        if before and after:
            rows.append(_row(case, new[case]["question"], before, after))
    return rows


def _row(case: str, question: str, before: Row, after: Row) -> dict[str, Any]:
    was, now = _votes(before), _votes(after)
    both = [name for name in was if name in now]
    return {
        "case": case,
        "question": question,
        "winner": {"before": before["winner"], "after": after["winner"]},
        "unchanged": [name for name in both if was[name] == now[name]],
        "changed": [_change(name, before, after) for name in both if was[name] != now[name]],
    }


def _votes(choice: Row) -> dict[str, list[str]]:
    """Executor -> the options that its answers choose, by repeat."""
    found: dict[str, list[str]] = {}
    for answer in sorted(choice["answers"], key=lambda answer: answer["repeat"]):
        found.setdefault(answer["executor"], []).append(answer["option"])
    return found


def _change(name: str, before: Row, after: Row) -> dict[str, Any]:
    was, now = _first(name, before), _first(name, after)
    return {
        "executor": name,
        "before": _votes(before)[name],
        "after": _votes(after)[name],
        "confidence": {"before": was["confidence"], "after": now["confidence"]},
        "would_change_mind": was["would_change_mind"],
        "reasons": _reasons(name, before, after),
    }


def _first(name: str, choice: Row) -> Row:
    answers = [answer for answer in choice["answers"] if answer["executor"] == name]
    first: Row = min(answers, key=lambda answer: answer["repeat"])
    return first


def _reasons(name: str, before: Row, after: Row) -> list[dict[str, Any]]:
    """The cells of its score table that differ, with what it says of them."""
    was, now = _scores(name, before), _scores(name, after)
    return [
        {"option": option, "criterion": criterion, "before": was.get(cell), "after": now.get(cell)}
        for cell in dict.fromkeys((*was, *now))
        for option, criterion in [cell]
        if (was.get(cell) or {}).get("score") != (now.get(cell) or {}).get("score")
    ]


def _scores(name: str, choice: Row) -> dict[tuple[str, str], dict[str, Any]]:
    """Option and criterion -> what it gave; of several answers the first counts."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for score in choice["scores"]:
        if score["executor"] == name:
            told = {"score": score["score"], "reason": score["reason"]}
            found.setdefault((score["option"], score["criterion"]), told)
    return found
