"""Who chose what: the answers to one design question as votes, totals, winner and dissent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prun_review.choicerows import reading
from prun_review.independence import families
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
    voices: tuple[tuple[tuple[str, ...], str], ...] = ()
    """Executors that depend on each other, and the one vote that they have together; empty if they differ."""


def ballots(results: Sequence[Result], executors: Mapping[str, ExecutorInfo]) -> Ballots:
    """Count sound answers: an executor has one vote however often it was asked.

    Executors that are not independent of each other have one vote together, and none if they differ.
    """
    said: dict[str, list[str]] = {}
    rank = {name: n for n, name in enumerate(executors)}
    for result in sorted(results, key=lambda r: (rank.get(r.executor, len(rank)), r.executor)):
        if result.choice is not None:
            said.setdefault(result.executor, []).append(result.choice.option)
    votes = {name: most(options) for name, options in said.items()}
    voices = [(tuple(family), _together(votes, family)) for family in families(list(votes), executors)]
    winner = most([option for _, option in voices])
    dissent = tuple(name for name, vote in votes.items() if vote != winner or not vote)
    return Ballots(votes, winner or None, dissent, tuple(voices))


def _together(votes: Mapping[str, str], family: Sequence[str]) -> str:
    options = {votes[name] for name in family}
    return options.pop() if len(options) == 1 else ""


def most(words: Sequence[str]) -> str:
    """The word said strictly most often, or empty; empty words do not count."""
    ranked = Counter(word for word in words if word).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return ""
    return ranked[0][0]


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
        **reading(options, criteria, results, counted.votes, counted.voices, counted.winner),
    }
