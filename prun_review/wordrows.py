"""Answers that are one word of a few: the overall verdicts of reviews, and choices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from prun_review import coefficients
from prun_review.agreement import Cluster, estimated, raw_agreement
from prun_review.choices import ballots, most
from prun_review.coefficients import Coefficient, Rows
from prun_review.compared import Asked, bare, estimate, interval, marked, missing, share, told
from prun_review.independence import families
from prun_review.intervals import Estimate
from prun_review.model import ExecutorInfo

Row = dict[str, Any]

VERDICTS = ("approve", "comment", "request-changes")
"""The overall verdicts of a review."""

_Words = Mapping[str, str]
"""Executor -> its word on one case; empty where it has none."""


def speak(names: Sequence[str], executors: Mapping[str, ExecutorInfo]) -> bool:
    """Whether these give verdicts of their own: what is written for an analyser is no opinion."""
    return all(executors[name].paid for name in names)


def _verdicts(case: Asked) -> dict[str, str]:
    """What each executor said of a case, by most of its answers; empty where these are divided or silent."""
    return {
        executor: most([r.answer.verdict or "" for r in results if r.answer])
        for executor, results in case.results.items()
    }


def _votes(case: Asked, executors: Mapping[str, ExecutorInfo]) -> _Words:
    return ballots([r for results in case.results.values() for r in results], executors).votes


# --- two executors ----------------------------------------------------------------------------


def said(pair: tuple[str, str], cases: Sequence[Asked], executors: Mapping[str, ExecutorInfo]) -> Row:
    """The verdicts of two executors over the cases that both were asked."""
    words = [_verdicts(case) for case in cases]
    both = [(w[pair[0]], w[pair[1]]) for w in words if all(w.get(name) for name in pair)]
    agree = sum(a == b for a, b in both)
    return {
        **marked(pair, executors),
        **_raw(agree, len(both), len(cases), "case"),
        "missing": _lacking(cases, words, pair),
        **_table(both, _scale(both)),
    }


def _lacking(cases: Sequence[Asked], words: Sequence[_Words], names: Sequence[str]) -> list[Row]:
    return told(
        Counter(
            (name, case.troubles.get(name) or _silent(case, name))
            for case, said in zip(cases, words, strict=True)
            for name in names
            if name in case.units and not said.get(name)
        ),
        names,
    )


def _silent(case: Asked, name: str) -> str:
    return "divided" if any(r.answer and r.answer.verdict for r in case.results[name]) else "no-verdict"


def chosen(pair: tuple[str, str], cases: Sequence[Asked], executors: Mapping[str, ExecutorInfo]) -> Row:
    """The choices of two executors over the cases that both were asked.

    Coefficient and table need one set of options; where the questions differ in theirs there is none.
    """
    common = [case for case in cases if set(pair) <= set(case.results)]
    votes = [_votes(case, executors) for case in common]
    both = [(v[pair[0]], v[pair[1]]) for v in votes]
    agree = sum(bool(a) and a == b for a, b in both)
    options = {case.contract.options for case in common}
    plain = [(a, b) for a, b in both if a and b]
    return {
        **marked(pair, executors),
        **_raw(agree, len(common), len(cases), "question"),
        "missing": missing(cases, pair),
        **(_table(plain, options.pop()) if len(options) == 1 else _no_table(len(plain))),
    }


def _raw(agree: int, n: int, of: int, what: str) -> Row:
    found = raw_agreement(agree, n, of=of, what=what)
    return {
        "agree": found.agree,
        "n": found.n,
        "of": found.of,
        "wilson": interval(found.low, found.high),
        "why_not": bare(found.why_not),
    }


def _scale(rows: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The words there are: those of the contract, and then what else was said."""
    return (*VERDICTS, *sorted({word for row in rows for word in row}.difference(VERDICTS)))


def _table(rows: Sequence[tuple[str, str]], scale: Sequence[str]) -> Row:
    counted = Counter(rows)
    shares = coefficients.specific(coefficients.count(rows), scale)
    specific = []
    for word in scale:
        held = shares[word]
        specific.append(
            {
                "word": word,
                "both": counted[word, word],
                "left": sum(a == word for a, _ in rows),
                "right": sum(b == word for _, b in rows),
                "share": None if held is None else round(held, 4),
            }
        )

    clusters: list[Cluster] = [(row,) for row in rows]
    counts = [[counted[a, b] for b in scale] for a in scale]
    return {
        "ac1": estimate(estimated(clusters, _ac1(tuple(scale)))),
        "specific": specific,
        "table": {"words": list(scale), "counts": counts},
    }


@lru_cache  # one function for one scale: what it gave is remembered
def _ac1(scale: tuple[str, ...]) -> Callable[[Rows], Coefficient]:
    return lambda rows: coefficients.gwet(rows, scale)


@lru_cache
def _alpha(scale: tuple[str, ...]) -> Callable[[Rows], Coefficient]:
    return lambda rows: coefficients.krippendorff(rows, "nominal", scale)


def _no_table(n: int) -> Row:
    why = "the questions differ in their options" if n else "no question was answered by both"
    return {"ac1": estimate(Estimate(None, None, None, n, why)), "specific": [], "table": None}


# --- the panel as a whole ---------------------------------------------------------------------


def panel_said(cases: Sequence[Asked], executors: Mapping[str, ExecutorInfo]) -> Row:
    """The verdicts of all executors that give one."""
    names = _names(cases, [name for name in executors if speak([name], executors)])
    words = [_verdicts(case) for case in cases]
    scale = _scale([(word, word) for row in words for name, word in row.items() if word and name in names])
    return _panel(names, cases, words, _lacking(cases, words, names), scale, executors)


def panel_chosen(cases: Sequence[Asked], executors: Mapping[str, ExecutorInfo]) -> Row:
    """The choices of all executors; coefficients only where all questions have the same options."""
    names = _names(cases, list(executors))
    options = {case.contract.options for case in cases}
    scale = options.pop() if len(options) == 1 else ()
    words = [_votes(case, executors) for case in cases]
    return _panel(names, cases, words, missing(cases, names), scale, executors)


def _names(cases: Sequence[Asked], names: Sequence[str]) -> list[str]:
    return [name for name in names if any(name in case.units for case in cases)]


def _panel(
    names: Sequence[str],
    cases: Sequence[Asked],
    words: Sequence[_Words],
    lacking: Sequence[Row],
    scale: Sequence[str],
    executors: Mapping[str, ExecutorInfo],
) -> Row:
    """One word for each voice: executors that depend on each other have one together, or none."""
    voices = families(names, executors)
    asked = sum(sum(any(name in case.units for name in voice) for voice in voices) > 1 for case in cases)
    heard = [tuple(_together(row, voice) for voice in voices) for row in words]
    compared = [row for row in heard if len(row) - row.count(None) > 1]
    agree = sum(len(set(row) - {None}) == 1 for row in compared)
    raw = share(agree, len(compared), "case")
    clusters: list[Cluster] = [(row,) for row in compared]
    return {
        "executors": list(names),
        "agree": agree,
        "n": len(compared),
        "of": asked,
        "wilson": raw["wilson"],
        "why_not": raw["why_not"],
        "missing": list(lacking),
        "alpha": _coefficient(clusters, _alpha, scale),
        "ac1": _coefficient(clusters, _ac1, scale),
    }


def _together(words: _Words, voice: Sequence[str]) -> str | None:
    said = {words[name] for name in voice if name in words}
    return (said.pop() or None) if len(said) == 1 else None


def _coefficient(
    clusters: Sequence[Cluster],
    of: Callable[[tuple[str, ...]], Callable[[Rows], Coefficient]],
    scale: Sequence[str],
) -> Row:
    if scale or not clusters:
        return estimate(estimated(clusters, of(tuple(scale))))
    why = "the questions differ in their options"
    return estimate(Estimate(None, None, None, len(clusters), why))
