"""How far executors agree, pair by pair, as the run document says it.  Missing answers are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from prun_review.agreement import raw_agreement, specific_agreement
from prun_review.answers import Answers, sound
from prun_review.choices import ballots
from prun_review.consensus import Crossing, CrossPair
from prun_review.independence import dependence
from prun_review.model import ExecutorInfo, Plan, Result, Unit

Row = dict[str, Any]

WITHOUT_FINDINGS = ("choice", "prose")
"""Contract kinds whose answers hold no findings to pair."""


def agreement(
    plan: Plan,
    answers: Answers,
    crossings: Mapping[str, Crossing],
    executors: Mapping[str, ExecutorInfo],
) -> dict[str, list[Row]]:
    """The rows of every two executors that were asked about the same case."""
    asked: dict[str, dict[str, list[Unit]]] = {}
    for unit in plan.units:
        asked.setdefault(unit.case, {}).setdefault(unit.executor, []).append(unit)
    found: list[Row] = []
    chosen: list[Row] = []
    for left, right in combinations(executors, 2):
        both = {case: by[left] + by[right] for case, by in asked.items() if left in by and right in by}
        choices = {c: units for c, units in both.items() if units[0].brief.contract.kind == "choice"}
        others = {c: u for c, u in both.items() if u[0].brief.contract.kind not in WITHOUT_FINDINGS}
        if others:
            independent = not dependence(executors[left], executors[right])
            found.append(_findings(left, right, independent, others, answers, crossings))
        if choices:
            chosen.append(_choices(left, right, choices, answers, executors))
    return {"findings": found, "choices": chosen}


def _answered(
    left: str, right: str, cases: Mapping[str, Sequence[Unit]], answers: Answers
) -> Iterator[tuple[str, list[Result]]]:
    """The cases that both answered, with their sound results."""
    for case, units in cases.items():
        good = [r for u in units if (r := answers.by_unit.get(u.id)) and sound(u, r)]
        if {left, right} <= {r.executor for r in good}:
            yield case, good


def _findings(
    left: str,
    right: str,
    independent: bool,
    cases: Mapping[str, Sequence[Unit]],
    answers: Answers,
    crossings: Mapping[str, Crossing],
) -> Row:
    common = [case for case, _ in _answered(left, right, cases, answers)]
    pairs = [p for case in common for p in crossings[case].pairs if p.between == (left, right)]
    outcomes = Counter(p.outcome for p in pairs)
    only_left, only_right = (sum(_alone(p, name) for p in pairs) for name in (left, right))
    said = specific_agreement(
        outcomes["match"], only_left, only_right, outcomes["uncertain"], units=len(common)
    )
    return {
        "left": left,
        "right": right,
        "independent": independent,
        "cases_both": len(common),
        "cases_asked": len(cases),
        "both": said.both,
        "only_left": said.only_left,
        "only_right": said.only_right,
        "uncertain": said.uncertain,
        "psa": _interval(said.low, said.high),
        "why_not": _bare(said.why_not),
    }


def _alone(pair: CrossPair, name: str) -> bool:
    end = pair.left or pair.right
    return pair.outcome == "alone" and end is not None and end[0] == name


def _choices(
    left: str,
    right: str,
    cases: Mapping[str, Sequence[Unit]],
    answers: Answers,
    executors: Mapping[str, ExecutorInfo],
) -> Row:
    votes = [ballots(good, executors).votes for _, good in _answered(left, right, cases, answers)]
    agree = sum(bool(v[left]) and v[left] == v[right] for v in votes)
    said = raw_agreement(agree, len(votes), of=len(cases))
    return {
        "left": left,
        "right": right,
        "agree": said.agree,
        "n": said.n,
        "of": said.of,
        "wilson": _interval(said.low, said.high),
        "why_not": _bare(said.why_not),
    }


def _interval(low: float | None, high: float | None) -> list[float] | None:
    return None if low is None or high is None else [round(low, 4), round(high, 4)]


def _bare(why_not: str) -> str:
    """The reason without its heading, which every renderer writes itself."""
    return why_not.removeprefix("not estimable: ")
