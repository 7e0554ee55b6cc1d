"""What a decision record says of one question: ranking, score table, who would change their mind, dissent.

Executors that depend on each other have one voice: its rank of an option, and its score, is the mean of
its members', and a member's the mean of its answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, product
from math import sqrt
from typing import Any

from prun_review.compared import share
from prun_review.model import Choice, Result, Score

Row = dict[str, Any]

Voices = Sequence[tuple[Sequence[str], str]]
"""Executors that have one vote together, and the vote; empty where they differ."""


def reading(
    options: Sequence[str],
    criteria: Sequence[str],
    results: Sequence[Result],
    votes: Mapping[str, str],
    voices: Voices,
    winner: str | None,
) -> Row:
    """The columns of a choice that go beyond its answers, scores and winner."""
    given: dict[str, list[Choice]] = {}
    for result in results:
        if result.choice is not None:
            given.setdefault(result.executor, []).append(result.choice)
    pairs = [a == b != "" for one, other in _apart(voices, votes) for a, b in product(one, other)]
    return {
        "votes": dict(votes),
        "voices": [{"executors": list(names), "option": option} for names, option in voices],
        "ranks": _ranks(options, given, voices),
        "criterion_scores": [
            _scores(criterion, option, given, voices) for criterion in criteria for option in options
        ],
        "minds": _minds(results),
        "agreement": share(sum(pairs), len(pairs), "executor pair"),
        "dissenting": [_dissenting(r, c, winner) for r in results if (c := r.choice) and c.option != winner],
        "stability": [
            _stability(name, choices, votes[name]) for name, choices in given.items() if choices[1:]
        ],
    }


def _apart(voices: Voices, votes: Mapping[str, str]) -> list[tuple[list[str], list[str]]]:
    """The votes of every two voices."""
    cast = [[votes[name] for name in names] for names, _ in voices]
    return list(combinations(cast, 2))


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


# --- ranking ----------------------------------------------------------------------------------


def _ranks(options: Sequence[str], given: Mapping[str, Sequence[Choice]], voices: Voices) -> list[Row]:
    """Mean rank and Borda points of every option, the best first; equal points share their places."""
    heard = [_ranked(options, given, names) for names, _ in voices]
    heard = [ranks for ranks in heard if ranks]
    points = {o: sum(_points(ranks, o) for ranks in heard) for o in options}
    rows = []
    for option in options:
        better = sum(p > points[option] + 1e-9 for p in points.values())
        equal = sum(abs(p - points[option]) <= 1e-9 for p in points.values())
        rows.append(
            {
                "option": option,
                "place": better + (equal + 1) / 2,
                "mean_rank": _rounded(_mean(ranks[option] for ranks in heard)),
                "points": round(points[option], 4),
                "firsts": sum(vote == option for _, vote in voices),
                "votes": len(heard),
            }
        )
    return sorted(rows, key=lambda row: (row["place"], options.index(row["option"])))


def _ranked(
    options: Sequence[str], given: Mapping[str, Sequence[Choice]], names: Sequence[str]
) -> dict[str, float]:
    """The mean rank that a voice gives each option; empty where it ranked nothing."""
    means: dict[str, float] = {}
    for option in options:
        mine = [_mean(_rank(options, choice, option) for choice in given[name]) for name in names]
        rank = _mean(mine)
        if rank is not None:
            means[option] = rank
    return means


def _rank(options: Sequence[str], choice: Choice, option: str) -> float:
    """1 for the best; options that are left out share the places behind the others."""
    ranked = [o for o in dict.fromkeys(choice.ranking or (choice.option,)) if o in options]
    if option in ranked:
        return ranked.index(option) + 1
    return (len(ranked) + 1 + len(options)) / 2


def _points(ranks: Mapping[str, float], option: str) -> float:
    """One for each option ranked below, half for an equal one."""
    others = [rank for other, rank in ranks.items() if other != option]
    return sum(1.0 if rank > ranks[option] + 1e-9 else 0.5 for rank in others if rank >= ranks[option] - 1e-9)


# --- scores -----------------------------------------------------------------------------------


def _scores(criterion: str, option: str, given: Mapping[str, Sequence[Choice]], voices: Voices) -> Row:
    every: list[int] = []
    means = []
    for names, _ in voices:
        mine = [[s.score for s in _cell(given[name], criterion, option)] for name in names]
        every.extend(score for scores in mine for score in scores)
        mean = _mean(_mean(scores) for scores in mine)
        means.extend([] if mean is None else [mean])
    centre = _mean(means)
    spread = None
    if centre is not None and len(means) > 1:
        spread = sqrt(sum((mean - centre) ** 2 for mean in means) / (len(means) - 1))
    return {
        "criterion": criterion,
        "option": option,
        "mean": _rounded(centre),
        "low": min(every, default=None),
        "high": max(every, default=None),
        "deviation": _rounded(spread),
        "scores": len(every),
        "voices": len(means),
    }


def _cell(choices: Sequence[Choice], criterion: str, option: str) -> list[Score]:
    return [s for choice in choices for s in choice.scores if (s.criterion, s.option) == (criterion, option)]


# --- in their own words -----------------------------------------------------------------------


def _minds(results: Sequence[Result]) -> list[Row]:
    """Who would change their mind by what; the same words of one executor for one option stand once."""
    told: dict[tuple[str, str, str], list[int]] = {}
    for result in results:
        if result.choice and (text := result.choice.would_change_mind.strip()):
            told.setdefault((result.executor, result.choice.option, text), []).append(result.repeat)
    return [
        {"executor": executor, "repeats": repeats, "option": option, "text": text}
        for (executor, option, text), repeats in told.items()
    ]


def _dissenting(result: Result, choice: Choice, winner: str | None) -> Row:
    return {
        "executor": result.executor,
        "repeat": result.repeat,
        "option": choice.option,
        "conclusion": result.answer.header.conclusion if result.answer else "",
        "reasons": [
            {"option": s.option, "criterion": s.criterion, "score": s.score, "text": s.reason}
            for s in choice.scores
            if s.option in (choice.option, winner)
        ],
    }


def _stability(name: str, choices: Sequence[Choice], vote: str) -> Row:
    options = Counter(choice.option for choice in choices)
    return {"executor": name, "times": options[vote], "of": len(choices), "options": dict(options)}
