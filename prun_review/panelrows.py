"""What all executors found together: how many voices hold it, how severe, and what all may have missed.

Executors that depend on each other are one voice here, as in a vote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from prun_review.agreement import Cluster, estimated
from prun_review.compared import Asked, estimate, missing
from prun_review.folding import highest
from prun_review.groups import CLASSES, Crossing, Group
from prun_review.independence import dependence, families, independent_among
from prun_review.model import SEVERITIES, ExecutorInfo
from prun_review.pairrows import Tally, ordinal, specific, tally
from prun_review.unseen import OVERLAP, chao, jackknife

Row = dict[str, Any]

ENOUGH = 4
"""Voices below which no capture-recapture model of more than two is accurate (Briand et al. 2000)."""


def findings(
    cases: Sequence[Asked], crossings: Mapping[str, Crossing], executors: Mapping[str, ExecutorInfo]
) -> dict[str, Row]:
    """The parts ``findings``, ``severity`` and ``unseen`` of the panel, over cases that ask for findings."""
    names = [name for name in executors if any(name in case.units for case in cases)]
    voices = families(names, executors)
    common = [case for case in cases if independent_among(case.results, executors)]
    groups = [g for case in common for g in crossings[case.case].groups]
    counts = specific([_tally(crossings[case.case], executors) for case in common])
    kept = ("psa", "psa_interval", "psa_interval_why_not", "why_not")
    held = Counter(len(_voices(g, voices)) for g in groups if g.kind not in ("ungrounded", "uncertain"))
    return {
        "findings": {
            "cases": len(common),
            "of": len(cases),
            "missing": missing(cases, names),
            "classes": {kind: sum(g.kind == kind for g in groups) for kind in CLASSES},
            "held_by": [{"voices": n, "findings": held[n]} for n in sorted(held, reverse=True)],
            **{key: counts[key] for key in kept},
        },
        "severity": _severity(common, crossings, voices),
        "unseen": _unseen(common, crossings, voices),
    }


def _tally(crossing: Crossing, executors: Mapping[str, ExecutorInfo]) -> Tally:
    """The pairs of all independent executors of one case."""
    found: dict[tuple[str, str], list[Any]] = {}
    for p in crossing.pairs:
        found.setdefault(p.between, []).append((p.left, p.right, p.outcome))
    free = [pairs for (a, b), pairs in found.items() if not dependence(executors[a], executors[b])]
    return sum(map(tally, free), Tally())


def _voices(group: Group, voices: Sequence[Sequence[str]]) -> list[int]:
    """Which voices hold it."""
    return [n for n, voice in enumerate(voices) if set(voice) & set(group.executors)]


def _severity(
    cases: Sequence[Asked], crossings: Mapping[str, Crossing], voices: Sequence[Sequence[str]]
) -> Row:
    """Alpha over what two voices or more hold; each voice with the highest severity that it gives."""
    clusters: list[Cluster] = []
    for case in cases:
        shared = [
            g
            for g in crossings[case.case].groups
            if g.kind in ("consensus", "contested") and len(_voices(g, voices)) > 1
        ]
        rows = [tuple(_word(g, voice) for voice in voices) for g in shared]
        clusters.append(tuple(sorted(rows, key=repr)))
    return {
        "findings": sum(map(len, clusters)),
        "alpha": estimate(estimated(clusters, ordinal, "shared finding")),
    }


def _word(group: Group, voice: Sequence[str]) -> str | None:
    said = [m.finding.severity for m in group.members if m.executor in voice]
    known = [word for word in said if word in SEVERITIES]
    return highest(known) if known else None


def _unseen(
    cases: Sequence[Asked], crossings: Mapping[str, Crossing], voices: Sequence[Sequence[str]]
) -> Row:
    """What all missed, at least, in the cases that every voice answered."""
    t = len(voices)
    whole = [case for case in cases if all(set(voice) & set(case.results) for voice in voices)]
    held = Counter(
        len(_voices(g, voices)) for c in whole for g in crossings[c.case].groups if g.kind != "ungrounded"
    )
    frequencies = [held[n] for n in range(1, t + 1)]
    seen, again = sum(frequencies), sum(frequencies[1:])
    row: Row = {"voices": t, "seen": seen, "jackknife": None, "chao": None}
    if t < ENOUGH:
        return row | {"why_not": f"{t} independent voices; under {ENOUGH} no estimate is accurate"}
    if again < OVERLAP:
        return row | {
            "why_not": f"overlap too small: {again} of {seen} findings came from two voices or more"
        }
    return row | {
        "jackknife": round(jackknife(frequencies, t) - seen, 4),
        "chao": round(chao(frequencies) - seen, 4),
        "why_not": "",
    }
