"""How a verdict is put together and said: outcome, counts and the one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from prun_review.answers import sound
from prun_review.consensus import CLASSES
from prun_review.folders import Folder, tallies, unasked
from prun_review.folding import level
from prun_review.independence import independent_among
from prun_review.model import SEVERITIES, Plan, Reason, RunFacts, Verdict
from prun_review.words import number as number  # part of what this module offers

_ORDER = ("PASS", "INCOMPLETE", "FAIL")


def worst(outcomes: Iterable[str]) -> str:
    """FAIL before INCOMPLETE before PASS; PASS for none; an unknown word is INCOMPLETE."""
    ranks = [_ORDER.index(o) if o in _ORDER else 1 for o in outcomes]
    return _ORDER[max(ranks, default=0)]


def count(facts: RunFacts, plan: Plan, folders: Sequence[Folder]) -> dict[str, int]:
    """Whole numbers for people and scripts; folders in report mode are in, but for what the line tells.

    ``cases_*`` and ``not_asked`` differ: three executors that cannot take one case are three not asked.
    """
    units = [(f, u, f.result(u)) for f in folders for u in f.units]
    cases: dict[str, set[str]] = {u.case: set() for _, u, _ in units}
    for _, u, r in units:
        if sound(u, r):
            cases[u.case].add(u.executor)
    executors = {e.name: e for e in facts.executors}
    counts = {
        "units": len(units),
        "answered": sum(sound(u, r) for _, u, r in units),
        "broken": sum(r is not None and r.status == "broken" for _, _, r in units),
        "failed": sum(r is not None and r.status == "failed" for _, _, r in units),
        "not_run": sum(r is not None and r.status == "not-run" for _, _, r in units),
        "missing": sum(r is None for _, _, r in units),
        "cases": len(cases),
        "cases_independent": sum(independent_among(sorted(names), executors) for names in cases.values()),
        "skipped": sum(n.reason == "skipped" for n in plan.not_asked),
        "not_asked": sum(n.reason != "skipped" for n in plan.not_asked),
        "items_failed": facts.items_failed,
    }
    counts |= {kind: sum(g.kind == kind for f in folders for g in f.groups) for kind in CLASSES}
    counts["blocking"] = sum(bool(one.outcome) for f in folders for one in f.decisions())
    counts["dissent"] = sum(bool(b.dissent) for f in folders for b in f.votes().values())
    deciding = [f for f in folders if f.decides]
    counts |= {f"cases_{why}": n for why, n in unasked(deciding).items()}
    for what, severities in tallies(deciding).items():
        name = what.replace("-", "_")
        counts |= {f"{severity}_{name}": severities.count(severity) for severity in SEVERITIES}
    return counts


def conclude(reasons: Sequence[Reason], folders: Mapping[str, str], counts: Mapping[str, int]) -> Verdict:
    """Reasons in the order of their weight; a folder in report mode decides nothing."""
    reported = {name for name, outcome in folders.items() if outcome.startswith("report: ")}
    outcome = worst(r.outcome for r in reasons if r.folder not in reported)
    ordered = sorted(reasons, key=lambda r: (r.folder in reported, -_ORDER.index(worst([r.outcome]))))
    line = _line(outcome, [r for r in ordered if r.folder not in reported], folders, counts)
    return Verdict(outcome, tuple(ordered), dict(folders), dict(counts), line)


def _line(
    outcome: str, reasons: Sequence[Reason], folders: Mapping[str, str], counts: Mapping[str, int]
) -> str:
    """The verdict as one line: what a remark lets pass is said here, or it would pass unseen."""
    codes = list(dict.fromkeys(r.code for r in reasons if worst([r.outcome]) == "INCOMPLETE"))
    parts = []
    if outcome == "FAIL":
        failing = _severities(counts, "failing")
        parts += [tally(failing)] if failing else []
        parts += [f"also incomplete: {', '.join(codes)}"] if codes else []
    elif outcome == "INCOMPLETE":
        parts.append(f"{counts.get('answered', 0)} of {number(counts.get('units', 0), 'unit')} answered")
        parts.append(", ".join(codes))
    carried = [r for r in reasons if r.code == "carried"]
    parts += [f"{number(len(carried), 'blocker')} carried over from an earlier run"] if carried else []
    parts += [r.text for r in reasons if r.code in _SAID]
    parts += [r.text for r in reasons if r.code == "changes-review" and r.outcome == "PASS"]
    for key, what in _TALLIED.items():
        severities = _severities(counts, key)
        parts += [f"{tally(severities)} {what}"] if severities else []
    for key, what in _UNASKED.items():
        n = counts.get(key, 0)
        parts += [f"{number(n, 'case')} {what}"] if n else []
    dissent = counts.get("dissent", 0)
    parts += [f"{number(dissent, 'choice')} without agreement"] if dissent else []
    shown = [
        f"{name} {o}" for name, o in folders.items() if o.startswith("report: ") and not o.endswith("PASS")
    ]
    parts += shown
    return f"{outcome} ({'; '.join(parts)})" if parts else outcome


_SAID = (
    "partial",
    "replay",
    "probe-failed",
    "report-only",
    "ignored",
    "masked",
    "outage",
    "accepted",
    "carried-settled",
    "authored",
)
"""Codes whose remark stands in the line as it is."""
_TALLIED = {
    "open": "to be settled",
    "tolerated": "not settled, tolerated by policy",
    "refuted": "refuted by another vendor",
    "not_reproduced": "not reproduced",
    "known": "known in the baseline",
    "off": "not gated by policy",
    "beside": "beside the change",
}
_UNASKED = {
    "cases_not_asked": "not asked",
    "cases_untouched": "untouched by the change",
    "cases_skipped": "skipped",
}


def _severities(counts: Mapping[str, int], what: str) -> list[str]:
    return [s for s in SEVERITIES for _ in range(counts.get(f"{s}_{what}", 0))]


def tally(severities: Sequence[str]) -> str:
    """``2 critical, 1 high``."""
    known_words = sorted(set(severities), key=lambda s: (-level(s), s))
    return ", ".join(f"{severities.count(s)} {s}" for s in known_words)


def some(names: Iterable[str], most: int = 4) -> str:
    every = list(names)
    rest = len(every) - most
    return ", ".join(every[:most]) + (f" and {rest} more" if rest > 0 else "")


def short(text: str, most: int = 200) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."
