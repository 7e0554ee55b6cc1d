"""Who chose what: the answers to one design question as votes, totals, winner and dissent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prun_review.independence import dependence, known
from prun_review.model import ExecutorInfo, Result


@dataclass(frozen=True, slots=True)
class Ballots:
    """The votes on one choice case."""

    votes: Mapping[str, str]
    """Executor -> the option it chose most often; empty where its own answers are divided."""
    winner: str | None
    """The option with strictly the most votes; None without one."""
    dissent: tuple[str, ...]
    """Executors whose vote is not the winner; all of them where there is none."""


def ballots(results: Sequence[Result], executors: Mapping[str, ExecutorInfo]) -> Ballots:
    """Count sound answers: an executor has one vote however often it was asked.

    Executors that are not independent of each other have one vote together, and none if they differ.
    """
    said: dict[str, list[str]] = {}
    rank = {name: n for n, name in enumerate(executors)}
    for result in sorted(results, key=lambda r: (rank.get(r.executor, len(rank)), r.executor)):
        if result.choice is not None:
            said.setdefault(result.executor, []).append(result.choice.option)
    votes = {name: _most(options) for name, options in said.items()}
    blocs = [{votes[name] for name in family} for family in _families(list(votes), executors)]
    winner = _most([options.pop() for options in blocs if len(options) == 1])
    return Ballots(
        votes, winner or None, tuple(name for name, vote in votes.items() if vote != winner or not vote)
    )


def _most(options: Sequence[str]) -> str:
    """The option named strictly most often, or empty."""
    ranked = Counter(option for option in options if option).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return ""
    return ranked[0][0]


def _families(names: Sequence[str], executors: Mapping[str, ExecutorInfo]) -> list[list[str]]:
    """Executors grouped by whom they depend on."""
    families: list[list[str]] = []
    for name in names:
        mine = [
            f for f in families if any(dependence(known(name, executors), known(o, executors)) for o in f)
        ]
        families = [f for f in families if f not in mine] + [[*(n for f in mine for n in f), name]]
    return families


def table(
    options: Sequence[str], criteria: Sequence[str], results: Sequence[Result], counted: Ballots
) -> dict[str, Any]:
    """The ``choice`` part of a case in the run document."""
    answers, scores = [], []
    marks: dict[str, dict[str, list[int]]] = {option: {} for option in options}
    for result in results:
        choice = result.choice
        if choice is None:
            continue
        answers.append(
            {
                "executor": result.executor,
                "repeat": result.repeat,
                "option": choice.option,
                "ranking": list(choice.ranking),
                "confidence": choice.confidence,
                "would_change_mind": choice.would_change_mind,
            }
        )
        for s in choice.scores:
            scores.append(
                {
                    "option": s.option,
                    "criterion": s.criterion,
                    "executor": result.executor,
                    "score": s.score,
                    "reason": s.reason,
                }
            )
            marks.setdefault(s.option, {}).setdefault(result.executor, []).append(s.score)
    return {
        "options": list(options),
        "criteria": list(criteria),
        "answers": answers,
        "scores": scores,
        "totals": {
            option: {name: round(sum(given) / len(given), 4) for name, given in by_executor.items()}
            for option, by_executor in marks.items()
        },
        "winner": counted.winner,
        "dissent": list(counted.dissent),
    }
