"""What two executors found, laid side by side: shared, alone, how severe, and what both may have missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prun_review import coefficients
from prun_review.agreement import Cluster, estimated, mean_difference, psa_interval, specific_agreement
from prun_review.compared import Asked, bare, estimate, interval, marked, missing, share
from prun_review.folding import level
from prun_review.groups import Crossing, CrossPair
from prun_review.model import SEVERITIES, ExecutorInfo
from prun_review.unseen import EACH, OVERLAP, chapman, chapman_interval

Row = dict[str, Any]

_End = tuple[str, str] | int | None


@dataclass(frozen=True, slots=True)
class Tally:
    """The pairs of one comparison, counted."""

    both: int = 0
    only_left: int = 0
    only_right: int = 0
    uncertain: int = 0
    doubled_left: int = 0
    """Ends of uncertain pairs on the left that another pair holds already."""
    doubled_right: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.both + other.both,
            self.only_left + other.only_left,
            self.only_right + other.only_right,
            self.uncertain + other.uncertain,
            self.doubled_left + other.doubled_left,
            self.doubled_right + other.doubled_right,
        )

    @property
    def left(self) -> int:
        """Findings of the left one."""
        return self.both + self.only_left + self.uncertain - self.doubled_left

    @property
    def right(self) -> int:
        """Findings of the right one."""
        return self.both + self.only_right + self.uncertain - self.doubled_right

    @property
    def matched(self) -> tuple[int, int, int]:
        """Findings of both that are matched, that are matched or uncertain, and all."""
        held = self.left + self.right
        return 2 * self.both, held - self.only_left - self.only_right, held


def tally(pairs: Iterable[tuple[_End, _End, str]]) -> Tally:
    """Count pairs, each as ``(left end, right end, outcome)``."""
    pairs = list(pairs)
    outcomes = Counter(outcome for _, _, outcome in pairs)
    lefts = [left for left, _, _ in pairs if left is not None]
    rights = [right for _, right, _ in pairs if right is not None]
    return Tally(
        outcomes["match"],
        sum(right is None for _, right, _ in pairs),
        sum(left is None for left, _, _ in pairs),
        outcomes["uncertain"],
        len(lefts) - len(set(lefts)),
        len(rights) - len(set(rights)),
    )


def specific(tallies: Sequence[Tally]) -> Row:
    """The columns of specific agreement over cases: counts, the range, its interval."""
    total = sum(tallies, Tally())
    said = specific_agreement(
        total.both,
        total.only_left,
        total.only_right,
        total.uncertain,
        units=len(tallies),
        doubled=total.doubled_left + total.doubled_right,
    )
    columns = {
        "both": total.both,
        "only_left": total.only_left,
        "only_right": total.only_right,
        "uncertain": total.uncertain,
        "psa": interval(said.low, said.high),
        "why_not": bare(said.why_not),
    }
    if said.why_not:
        return columns | {"psa_interval": None, "psa_interval_why_not": bare(said.why_not)}
    spread = psa_interval(one.matched for one in tallies)
    return columns | {
        "psa_interval": interval(spread.low, spread.high),
        "psa_interval_why_not": spread.why_not,
    }


def row(
    pair: tuple[str, str],
    cases: Sequence[Asked],
    crossings: Mapping[str, Crossing],
    executors: Mapping[str, ExecutorInfo],
) -> Row:
    """The row of two executors over the cases that both were asked and that ask for findings."""
    common = [case.case for case in cases if set(pair) <= set(case.results)]
    pairs = {case: [p for p in crossings[case].pairs if p.between == pair] for case in common}
    tallies = [tally((p.left, p.right, p.outcome) for p in pairs[case]) for case in common]
    total = sum(tallies, Tally())
    names = marked(pair, executors)
    return {
        **names,
        "cases_both": len(common),
        "cases_asked": len(cases),
        "missing": missing(cases, pair),
        **specific(tallies),
        "confirmed": {
            "left": share(total.both, total.left, "finding", total.left - total.only_left),
            "right": share(total.both, total.right, "finding", total.right - total.only_right),
        },
        "severity": _severity(pair, pairs, crossings),
        "unseen": _unseen(total, str(names["dependence"])),
    }


# --- how severe -------------------------------------------------------------------------------


def _severity(
    pair: tuple[str, str], pairs: Mapping[str, Sequence[CrossPair]], crossings: Mapping[str, Crossing]
) -> Row:
    clusters: list[Cluster] = []
    for case, found in pairs.items():
        words = severities(crossings[case])
        both = [(words[p.left], words[p.right]) for p in found if p.outcome == "match" and p.left and p.right]
        clusters.append(tuple(sorted(b for b in both if set(b) <= set(SEVERITIES))))
    apart = [tuple(level(str(a)) - level(str(b)) for a, b in cluster) for cluster in clusters]
    steps = [abs(step) for case in apart for step in case]
    alpha = estimated(clusters, ordinal, "matched pair")
    bias = mean_difference(apart, "matched pair")
    return {
        "pairs": len(steps),
        "exact": share(steps.count(0), len(steps), "matched pair"),
        "within_one": share(sum(step <= 1 for step in steps), len(steps), "matched pair"),
        "alpha": estimate(alpha),
        "bias": estimate(bias),
        "harsher": "" if not bias.value else pair[0] if bias.value > 0 else pair[1],
    }


def severities(crossing: Crossing) -> dict[tuple[str, str], str]:
    """``(executor, finding id)`` -> the highest severity that the executor gives the defect."""
    found = {}
    for group in crossing.groups:
        highest: dict[str, str] = {}
        for m in group.members:
            before = highest.setdefault(m.executor, m.finding.severity)
            highest[m.executor] = max(before, m.finding.severity, key=level)
        found.update({(m.executor, m.finding.id): highest[m.executor] for m in group.members})
    return found


def ordinal(rows: coefficients.Rows) -> coefficients.Coefficient:
    """Krippendorff's alpha of severities."""
    return coefficients.krippendorff(rows, "ordinal", SEVERITIES)


# --- what both missed -------------------------------------------------------------------------

MISSED_MORE = 4
"""On a public benchmark (50 changes, 12 tools) 45 pairs of language-model reviewers had missed about
this many times what the estimate said."""


def _unseen(total: Tally, dependent: str) -> Row:
    """Chapman's lower bound, with every uncertain pair matched and with all of them distinct."""
    doubled = total.doubled_left + total.doubled_right
    merged = total.left - total.doubled_right, total.right - total.doubled_left
    matched = (*merged, total.both + total.uncertain - doubled)
    distinct = total.left, total.right, total.both
    seen = [left + right - both for left, right, both in (matched, distinct)]
    nothing = {"more": None, "interval": None, "seen": seen, "text": ""}
    if dependent:
        return nothing | {"why_not": dependent}
    if total.both < OVERLAP or min(*merged, total.left, total.right) < EACH:
        return nothing | {"why_not": _overlap(total)}
    more = [chapman(*counts) - n for counts, n in zip((matched, distinct), seen, strict=True)]
    low = chapman_interval(*matched)[0] - seen[0]
    high = chapman_interval(*distinct)[1] - seen[1]
    least, most = (f"{number:.0f}" for number in more)
    text = (
        f"At least {least if least == most else f'{least} to {most}'} more (lower bound, Chapman 95 % "
        f"{low:.0f}-{high:.0f}; assumes independent panels. On a public benchmark pairs of LLM reviewers "
        f"missed about {MISSED_MORE}x this estimate)"
    )
    return nothing | {
        "more": interval(*more),
        "interval": interval(low, high),
        "text": text,
        "why_not": "",
    }


def _overlap(total: Tally) -> str:
    return (
        f"overlap too small: {total.both} of {total.left} and {total.right} findings are shared, "
        f"and it takes {OVERLAP} of {EACH} each"
    )
