"""What the reports say of choice questions: who chose what, and how each option was scored.

Like :mod:`prun_review.renderers.view`, taken from the run document: order, grouping and wording, no
escaping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prun_review.renderers.estimates import share
from prun_review.renderers.points import Point, points
from prun_review.renderers.view import figure, rows, together, voice
from prun_review.verdict import some

Document = Mapping[str, Any]
Choice = Mapping[str, Any]

RANK_HEADER = ("place", "option", "votes", "points", "mean rank")


def choices(document: Document) -> list[dict[str, Any]]:
    """The cases that have a choice."""
    return [case for case in rows(document, "cases") if case["choice"]]


def winner(case: Mapping[str, Any]) -> str:
    """``sqlite; dissent: codex``, ``sqlite (one voice)`` where nobody independent chose it too."""
    choice = case["choice"]
    if not choice["answers"]:
        return "not answered"
    alone = " (one voice)" if choice["winner"] and not case["independent"] else ""
    dissent = f"; dissent: {', '.join(choice['dissent'])}" if choice["dissent"] else ""
    return f"{choice['winner'] or 'no common choice'}{alone}{dissent}"


def score_table(choice: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the score table: option, criterion, then one column per executor."""
    voices = list(dict.fromkeys(score["executor"] for score in choice["scores"]))
    cells: dict[tuple[str, str, str], list[str]] = {}
    for score in choice["scores"]:
        cells.setdefault((score["option"], score["criterion"], score["executor"]), []).append(
            str(score["score"])
        )
    table = []
    for option in choice["options"]:
        for criterion in choice["criteria"]:
            row = ["/".join(cells.get((option, criterion, name), ["-"])) for name in voices]
            table.append([option, criterion, *row])
        means = (choice["totals"].get(option) or {}).get
        table.append([option, "mean", *(figure(means(name), ".2f") for name in voices)])
    return ["option", "criterion", *voices], table


def rank_rows(choice: Choice) -> list[list[str]]:
    """The cells under :data:`RANK_HEADER`, the best option first; empty where nobody ranked."""
    return [
        [f"{r['place']:g}", r["option"], str(r["firsts"]), f"{r['points']:g}", figure(r["mean_rank"], ".2f")]
        for r in choice.get("ranks") or ()
        if r["votes"]
    ]


def criterion_table(choice: Choice) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the scores by criterion: each executor's, then mean over voices and spread."""
    names = list(dict.fromkeys(score["executor"] for score in choice["scores"]))
    given: dict[tuple[str, str, str], list[str]] = {}
    for s in choice["scores"]:
        given.setdefault((s["criterion"], s["option"], s["executor"]), []).append(str(s["score"]))
    together = {(row["criterion"], row["option"]): row for row in choice.get("criterion_scores") or ()}
    table = []
    for criterion in choice["criteria"]:
        for option in choice["options"]:
            row = together.get((criterion, option)) or {}
            low, high = row.get("low"), row.get("high")
            spread = "-" if low is None else f"{low}" if low == high else f"{low}-{high}"
            cells = ["/".join(given.get((criterion, option, name), ["-"])) for name in names]
            table.append([criterion, option, *cells, figure(row.get("mean"), ".2f"), spread])
    return ["criterion", "option", *names, "mean", "spread"], table


def answers(choice: Choice) -> tuple[Point, ...]:
    """``codex, 2 of 3 answers: jsonl > sqlite (confidence 0.60-0.80)``, and what would change that mind.

    Answers of one executor with the same ranking stand together.
    """
    alike: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for answer in choice["answers"]:
        alike.setdefault((answer["executor"], " > ".join(answer["ranking"])), []).append(answer)
    found = []
    for (name, ranking), those in alike.items():
        of = sum(answer["executor"] == name for answer in choice["answers"])
        who = f"{name}, {len(those)} of {of} answers" if of > 1 else name
        told = dict.fromkeys(a["would_change_mind"] for a in those if a["would_change_mind"])
        under = points(f"would change its mind: {text}" for text in told)
        found.append(Point(f"{who}: {ranking}{_sure(those)}", under))
    return tuple(found)


def _sure(those: Sequence[Mapping[str, Any]]) -> str:
    said = sorted(a["confidence"] for a in those if a["confidence"] is not None)
    if not said:
        return ""
    low, high = f"{said[0]:.2f}", f"{said[-1]:.2f}"
    return f" (confidence {low if low == high else f'{low}-{high}'})"


def minds(choice: Choice) -> list[str]:
    """``codex (jsonl): concurrent writers``: who would change their mind by what, each once."""
    told = {
        f"{a['executor']} ({a['option'] or 'no option'}): {a['would_change_mind']}": None
        for a in choice["answers"]
        if a["would_change_mind"]
    }
    return list(told)


def agreement(choice: Choice) -> list[str]:
    """How many independent pairs chose the same, how stable each was, and who has one vote together."""
    lines = []
    if (pairs := choice.get("agreement")) and pairs["n"]:
        lines.append(f"pairs of independent executors that chose the same: {share(pairs)}")
    for voices in choice.get("voices") or ():
        if len(voices["executors"]) > 1:
            vote = voices["option"] or "none, since they differ"
            lines.append(f"{', '.join(voices['executors'])} are not independent and have one vote: {vote}")
    return lines + stability(choice)


def stability(choice: Choice) -> list[str]:
    """``codex chose jsonl in 2 of 3 answers (sqlite 1)``, for those that were asked again."""
    lines = []
    for row in choice.get("stability") or ():
        vote = (choice.get("votes") or {}).get(row["executor"]) or ""
        others = ", ".join(f"{option} {n}" for option, n in row["options"].items() if option != vote)
        said = (
            f"chose {vote} in {row['times']} of {row['of']} answers"
            if vote
            else f"is divided over {row['of']} answers"
        )
        lines.append(f"{row['executor']} {said}{f' ({others})' if others else ''}")
    return lines


def dissent(choice: Choice) -> tuple[Point, ...]:
    """The answers that do not choose the winner, in their own words; the same words of one stand once."""
    alike: dict[str, list[str]] = {}
    of: dict[str, Point] = {}
    for d in choice.get("dissenting") or ():
        said = f"for {d['option'] or 'no option'}: {_quoted(d['conclusion'])}"
        reasons = [
            f"{r['option']}, {r['criterion']}: {r['score']}: {_quoted(r['text'])}" for r in d["reasons"]
        ]
        key = "\n".join([d["executor"], said, *reasons])
        alike.setdefault(key, []).append(d["executor"])
        of[key] = Point(said, points(reasons))
    found = []
    for key, (name, *again) in alike.items():
        who = f"{name} in {len(again) + 1} answers" if again else name
        found.append(Point(f"{who}, {of[key].text}", of[key].under))
    return tuple(found)


def _quoted(text: str) -> str:
    return f'"{text}"' if text else "without a reason"


def unanswered(document: Document, case: Mapping[str, Any]) -> list[str]:
    """Who gave no answer to rely on and why, who was not asked, and which scores nobody gave."""
    lines = [
        f"{voice(u)}: {u['status']} ({u['reason']}){': ' if u['message'] else ''}{u['message']}"
        for u in rows(document, "units")
        if u["case"] == case["case"] and (u["status"] != "valid" or u["executor"] not in case["answered"])
    ]
    lines += [f"not asked: {text}" for text in together(case["not_asked"])]
    choice = case["choice"]
    given = {(s["executor"], s["option"], s["criterion"]) for s in choice["scores"]}
    for name in dict.fromkeys(a["executor"] for a in choice["answers"]):
        cells = [(o, c) for o in choice["options"] for c in choice["criteria"] if (name, o, c) not in given]
        if cells and not any(who == name for who, _, _ in given):
            lines.append(f"{name} gave no scores")
        elif cells:
            lines.append(f"{name} gave no score for {some([f'{o} on {c}' for o, c in cells])}")
    return lines
