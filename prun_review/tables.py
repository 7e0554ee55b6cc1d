"""How far executors agree, as the run document says it: pair by pair, and the panel as a whole.

Missing answers are counted with their reasons and never taken for disagreement or for "no findings".
Nothing here decides a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from prun_review import pairrows, panelrows, within, wordrows
from prun_review.answers import Answers
from prun_review.compared import Asked, asked
from prun_review.folding import Same
from prun_review.groups import Crossing
from prun_review.model import ExecutorInfo, Plan

Row = dict[str, Any]

WITHOUT_FINDINGS = ("choice", "prose")
"""Contract kinds whose answers hold no findings to pair."""


def agreement(
    plan: Plan,
    answers: Answers,
    crossings: Mapping[str, Crossing],
    executors: Mapping[str, ExecutorInfo],
    *,
    same: Same | None = None,
) -> dict[str, Any]:
    """The ``agreement`` part of the run document: rows of every two executors that were asked about the
    same case, the panel as a whole, and every executor that was asked repeatedly against itself."""
    cases = asked(plan, answers)
    choices = [c for c in cases if c.contract.kind == "choice"]
    findings = [c for c in cases if c.contract.kind not in WITHOUT_FINDINGS]
    verdicts = [c for c in cases if c.contract.kind == "findings"]
    found: list[Row] = []
    chosen: list[Row] = []
    said: list[Row] = []
    for pair in combinations(executors, 2):
        if both := _of(findings, pair):
            found.append(pairrows.row(pair, both, crossings, executors))
        if both := _of(choices, pair):
            chosen.append(wordrows.chosen(pair, both, executors))
        if (both := _of(verdicts, pair)) and wordrows.speak(pair, executors):
            said.append(wordrows.said(pair, both, executors))
    return {
        "findings": found,
        "choices": chosen,
        "verdicts": said,
        "panel": {
            "executors": [name for name in executors if any(name in c.units for c in cases)],
            **panelrows.findings(findings, crossings, executors),
            "verdicts": wordrows.panel_said(verdicts, executors),
            "choices": wordrows.panel_chosen(choices, executors),
        },
        "within": within.rows(findings, executors, same),
    }


def _of(cases: Sequence[Asked], pair: tuple[str, str]) -> list[Asked]:
    return [case for case in cases if set(pair) <= set(case.units)]
