"""What the reports say of how far executors agree: counts first, then what can be estimated from them.

Like :mod:`prun_review.renderers.view`, taken from the run document: order, grouping and wording, no
escaping.  ``whole`` is for reports with room: without it what could not be estimated stays unsaid below
the first line, whose counts say it too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prun_review.renderers.estimates import chance, estimate, interval, share
from prun_review.renderers.points import Point, points
from prun_review.verdict import number

Document = Mapping[str, Any]
Row = Mapping[str, Any]

WORDS = ("verdicts", "choices")
"""What is one word per case."""


def agreement(document: Document, *, whole: bool) -> tuple[Point, ...]:
    """A point for every two executors, for the panel, and for each executor against itself."""
    found = document.get("agreement") or {}
    panel = found.get("panel") or {"executors": ()}
    wide = len(panel["executors"]) > (1 if whole else 2)  # of two the pair says it all
    return (
        *(_findings(pair, whole) for pair in found.get("findings") or []),
        # Of three and more executors each pair's words are many lines that say what the panel's says.
        *(_words(what, pair, whole) for what in WORDS if whole or not wide for pair in found.get(what) or []),
        *(_panel(panel, whole) if wide else ()),
        *(_within(row, whole) for row in found.get("within") or []),
    )


def _between(what: str, pair: Row) -> str:
    """``findings codex / sonnet``, with why the two count as one voice where they do."""
    why = "" if pair.get("independent", True) else pair.get("dependence") or "not independent"
    return f"{what} {pair['left']} / {pair['right']}" + (
        f" (NOT INDEPENDENT, never consensus: {why})" if why else ""
    )


def _missing(row: Row) -> Iterator[Point]:
    told = [f"{m['executor']} {number(m['n'], 'case')} ({m['reason']})" for m in row.get("missing") or ()]
    if told:
        yield Point(f"without an answer to compare: {', '.join(told)}")


# --- two executors ----------------------------------------------------------------------------


def _findings(pair: Row, whole: bool) -> Point:
    left, right = pair["left"], pair["right"]
    answered = f"{pair['cases_both']} of {number(pair['cases_asked'], 'case')} answered by both"
    psa = interval("PSA", pair["psa"], pair["why_not"])
    text = f"{_between('findings', pair)}: {_counts(pair, left, right)}; {answered}; {psa}"
    # How far one vendor agrees with itself is no reason to read on a page.
    beside = _beside_psa(pair, whole) if whole or pair["independent"] else ()
    return Point(text, (*_missing(pair), *beside))


def _counts(row: Row, left: str, right: str) -> str:
    unsure = f", uncertain {row['uncertain']}" if row["uncertain"] else ""
    return f"both {row['both']}, only {left} {row['only_left']}, only {right} {row['only_right']}{unsure}"


def _beside_psa(pair: Row, whole: bool) -> Iterator[Point]:
    if "psa_interval" in pair and (whole or pair["psa_interval"]):
        name = f"95 % interval of PSA (BCa over {number(pair['cases_both'], 'case')})"
        yield Point(interval(name, pair["psa_interval"], pair["psa_interval_why_not"]))
    for mine, other in (("left", "right"), ("right", "left")):
        held = (pair.get("confirmed") or {}).get(mine)
        if held and (whole or held["wilson"]):
            yield Point(f"of the findings of {pair[mine]}, {pair[other]} holds {share(held)}")
    if severity := pair.get("severity"):
        yield from _severity(severity, pair, whole)
    if unseen := pair.get("unseen"):
        if unseen["text"]:
            yield Point(unseen["text"])
        elif whole:
            yield Point(f"missed by both: not estimated: {unseen['why_not'] or 'no reason recorded'}")


def _severity(severity: Row, pair: Row, whole: bool) -> Iterator[Point]:
    if severity["pairs"] and (whole or severity["exact"]["wilson"]):
        same, near = share(severity["exact"]), share(severity["within_one"])
        yield Point(f"severity of what both hold: the same {same}; at most one level apart {near}")
    if whole or severity["bias"]["value"] is not None:
        yield Point(_bias(severity, pair))
    if whole or severity["alpha"]["value"] is not None:
        yield Point(estimate("alpha of the severities (ordinal)", severity["alpha"]))


def _bias(severity: Row, pair: Row) -> str:
    """``codex is on average 0.4 levels harsher (95 % 0.1 to 0.7, n = 12)``."""
    bias, harsher = severity["bias"], severity["harsher"]
    if bias["value"] is None or not harsher:
        return estimate("mean difference of the severities", bias)
    value, ends = bias["value"], bias["interval"]
    if harsher == pair["right"]:
        value, ends = -value, ends and [-ends[1], -ends[0]]
    return f"{harsher} is on average {value:.1f} levels harsher{chance({**bias, 'interval': ends})}"


def _words(what: str, pair: Row, whole: bool) -> Point:
    """Agreement on one word per case: the verdict of an answer, or the option chosen."""
    wilson = interval("95 % Wilson", pair["wilson"], pair["why_not"])
    asked = f" ({pair['n']} of {pair['of']} answered by both)"
    text = f"{_between(what, pair)}: same {pair['agree']} of {pair['n']}{asked}; {wilson}"
    under = [*_missing(pair)]
    if "ac1" in pair and (whole or pair["ac1"]["value"] is not None):
        under.append(Point(estimate("AC1", pair["ac1"])))
    if whole or pair["wilson"]:
        under += _specific(pair)
    if whole:
        under += _crossed(pair)
    return Point(text, tuple(under))


def _specific(pair: Row) -> list[Point]:
    """The agreement on each word that was said: the rare one is where a high total hides disagreement."""
    return points(
        f"{w['word']}: both {w['both']}, {pair['left']} {w['left']}, {pair['right']} {w['right']}; "
        f"specific agreement {w['share']:.2f}"
        for w in pair.get("specific") or ()
        if w["share"] is not None
    )


def _crossed(pair: Row) -> list[Point]:
    """The whole table, row by row, without its zeros."""
    table = pair.get("table") or {"words": (), "counts": ()}
    words = table["words"]
    rows = {
        word: [f"{other} {n}" for other, n in zip(words, counts, strict=False) if n]
        for word, counts in zip(words, table["counts"], strict=False)
    }
    return points(
        f"where {pair['left']} says {word}, {pair['right']} says {', '.join(told)}"
        for word, told in rows.items()
        if told
    )


# --- the panel, and each executor against itself ----------------------------------------------


def _panel(panel: Row, whole: bool) -> Iterator[Point]:
    found, names = panel["findings"], ", ".join(panel["executors"])
    if found["of"]:
        held = ", ".join(f"{number(h['voices'], 'voice')} {h['findings']}" for h in found["held_by"])
        answered = f"{found['cases']} of {number(found['of'], 'case')} answered by two independent executors"
        psa = interval("PSA over all independent pairs", found["psa"], found["why_not"])
        under = [*_missing(found)]
        if whole or found["psa_interval"]:
            under.append(
                Point(
                    interval(
                        "95 % interval of PSA (BCa)", found["psa_interval"], found["psa_interval_why_not"]
                    )
                )
            )
        if whole or panel["severity"]["alpha"]["value"] is not None:
            under.append(Point(estimate("alpha of the severities (ordinal)", panel["severity"]["alpha"])))
        under += _unseen(panel["unseen"], whole)
        yield Point(f"panel of {names}: findings held by {held or 'nobody'}; {answered}; {psa}", tuple(under))
    for what in WORDS:
        if panel[what]["of"]:
            yield _panel_words(what, panel[what], whole)


def _panel_words(what: str, row: Row, whole: bool) -> Point:
    wilson = interval("95 % Wilson", row["wilson"], row["why_not"])
    text = (
        f"panel of {', '.join(row['executors'])}: {what}: all the same in {row['agree']} of {row['n']} "
        f"({row['n']} of {row['of']} answered by two or more); {wilson}"
    )
    under = [*_missing(row)]
    for name, key in (("Krippendorff's alpha (nominal)", "alpha"), ("AC1", "ac1")):
        if whole or row[key]["value"] is not None:
            under.append(Point(estimate(name, row[key])))
    return Point(text, tuple(under))


def _unseen(row: Row, whole: bool) -> list[Point]:
    if row["jackknife"] is None and row["chao"] is None:
        return points([f"missed by all: not estimated: {row['why_not']}"]) if whole and row["why_not"] else []
    told = [
        f"{row[k]:.1f} ({name})"
        for k, name in (("jackknife", "jackknife"), ("chao", "Chao"))
        if row[k] is not None
    ]
    return points(
        [f"missed by all, at least: {', '.join(told)}; {number(row['voices'], 'voice')} saw {row['seen']}"]
    )


def _within(row: Row, whole: bool) -> Point:
    """What came back when the same was asked again, beside what another executor says."""
    answers = f"{row['answers']} of {number(row['asked'], 'answer')} to {number(row['of'], 'case')}"
    came = ", ".join(f"{number(c['findings'], 'finding')} {c['times']} of {c['of']}" for c in row["came"])
    text = f"{row['executor']} asked again: {answers}" + (f"; came back: {came}" if came else "")
    if whole or row["psa"]:
        compared = f"{number(row['pairs'], 'pair')} of answers compared"
        text += f"; {compared}; {interval('PSA with itself', row['psa'], row['why_not'])}"
    under = []
    if whole or row["psa_interval"]:
        told = interval("95 % interval of PSA with itself", row["psa_interval"], row["psa_interval_why_not"])
        under.append(Point(told))
    under += points([row["limited"]] if row["limited"] else [])
    for other in row["beside"]:
        if whole or other["psa"]:
            kin = "" if other["independent"] else f" (NOT INDEPENDENT: {other['dependence']})"
            said = f"PSA with {other['executor']}{kin}, by the same measure"
            under.append(Point(interval(said, other["psa"], other["why_not"])))
    return Point(text, tuple(under))
