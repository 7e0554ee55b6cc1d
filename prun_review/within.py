"""An executor against itself: how far its repeated answers agree, beside how far another's do.

Every comparison here is of single answers, so that the two measures differ in nothing but who answered:
what another vendor adds is the difference between them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

from prun_review.compared import Asked
from prun_review.folding import Member, Same, fold
from prun_review.independence import dependence
from prun_review.matching import crosscheck
from prun_review.model import ExecutorInfo, Finding, Result
from prun_review.pairrows import Tally, specific, tally

Row = dict[str, Any]

MOST = 10
"""Answers to one case that are compared with each other: 45 pairs."""


def rows(
    cases: Sequence[Asked], executors: Mapping[str, ExecutorInfo], same: Same | None = None
) -> list[Row]:
    """One row for each executor that was asked some case more than once."""
    found = []
    for name in executors:
        repeated = [case for case in cases if len(case.units.get(name, ())) > 1]
        if repeated:
            found.append(_row(name, repeated, executors, same))
    return found


def _row(name: str, cases: Sequence[Asked], executors: Mapping[str, ExecutorInfo], same: Same | None) -> Row:
    info = executors[name]
    answers = [case.results.get(name, ()) for case in cases]
    most = max(map(len, answers))
    others = [n for n in executors if n != name and any(n in case.results for case in cases)]
    return {
        "executor": name,
        "vendor": info.vendor,
        "lineage": info.lineage,
        "of": len(cases),
        "answers": sum(map(len, answers)),
        "asked": sum(len(case.units[name]) for case in cases),
        "limited": f"only the first {MOST} of {most} answers to a case were compared" if most > MOST else "",
        "came": _came(answers, same),
        "independent": False,
        "dependence": dependence(info, info),
        **_measured([list(combinations(_held(results, same), 2)) for results in answers], same),
        "beside": [_beside(name, other, cases, executors, same) for other in others],
    }


def _beside(
    name: str,
    other: str,
    cases: Sequence[Asked],
    executors: Mapping[str, ExecutorInfo],
    same: Same | None,
) -> Row:
    why = dependence(executors[name], executors[other])
    pairs = []
    for case in cases:
        mine, theirs = (_held(case.results.get(n, ()), same) for n in (name, other))
        pairs.append(list(product(mine, theirs))[: MOST * (MOST - 1) // 2])
    return {"executor": other, "independent": not why, "dependence": why, **_measured(pairs, same)}


_Answer = Sequence[Finding]


def _held(results: Sequence[Result], same: Same | None) -> list[_Answer]:
    """What each of the first answers holds, each defect once."""
    return [[h.first for h in fold([_members(r)], same)] for r in results[:MOST]]


def _members(result: Result) -> list[Member]:
    return [Member(result.executor, result.unit, f) for f in result.findings if f.grounded]


def _measured(cases: Sequence[Sequence[tuple[_Answer, _Answer]]], same: Same | None) -> Row:
    """The columns of specific agreement over pairs of answers; cases without a pair do not count."""
    tallies = [sum(_compared(pairs, same), Tally()) for pairs in cases if pairs]
    return {"cases": len(tallies), "pairs": sum(map(len, cases)), **specific(tallies)}


def _compared(pairs: Sequence[tuple[_Answer, _Answer]], same: Same | None) -> Iterator[Tally]:
    for left, right in pairs:
        yield tally((p.left, p.right, p.outcome) for p in crosscheck(left, right, same=same))


def _came(answers: Sequence[Sequence[Result]], same: Same | None) -> list[Row]:
    """How many findings came back in how many of the answers to their case."""
    counted = Counter(
        (len({m.unit for m in held.members}), len(results))
        for results in answers
        for held in fold([_members(r) for r in results], same)
    )
    return [
        {"times": times, "of": of, "findings": counted[times, of]}
        for times, of in sorted(counted, key=lambda key: (-key[1], -key[0]))
    ]
