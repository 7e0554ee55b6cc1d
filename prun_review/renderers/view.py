"""What the renderers show, taken from the run document: order, grouping and wording, no escaping."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prun_review.verdict import number, tally

Document = Mapping[str, Any]

CLASSES = {
    "consensus": "held by independent executors",
    "contested": "held differently by independent executors",
    "uncertain": "perhaps the same defect, not settled",
    "single": "held by one voice only",
    "ungrounded": "not found in the reviewed tree",
}
"""Class of a finding -> what it means, in the order shown."""

NO_VERDICT = "INCOMPLETE: the run has no end"
NOTHING = "none"


def rows(document: Document, key: str) -> list[dict[str, Any]]:
    """The list under ``key``; empty where the document does not have it (yet)."""
    return list(document.get(key) or [])


def headline(document: Document) -> str:
    """One line: which run, how far it came, how much of it there is."""
    counts = (len(rows(document, key)) for key in ("panels", "cases", "units"))
    sizes = ", ".join(number(n, word) for n, word in zip(counts, _UNITS, strict=True))
    return f"prun_review {document.get('run_id', '?')}: {document.get('status', '?')}, {sizes}"


_UNITS = ("panel", "question", "unit")


def revision(document: Document) -> str:
    """One line: which tree was reviewed."""
    found = document.get("revision") or {}
    if not found.get("tree"):
        return "reviewed tree: not recorded"
    commit = f"commit {found['commit'][:12]}" if found.get("commit") else "no commit"
    dirty = ", uncommitted changes included" if found.get("dirty") else ""
    return f"reviewed tree {found['tree'][:12]} ({commit}{dirty}), {number(found.get('files', 0), 'file')}"


def outcome(document: Document) -> str:
    """The verdict line, or why there is none."""
    verdict = document.get("verdict")
    return (verdict.get("line") or verdict["outcome"]) if verdict else NO_VERDICT


def weight(reason: Mapping[str, Any]) -> str:
    """What a reason leads to: ``FAIL``, ``INCOMPLETE``, or ``note`` for a remark."""
    return "note" if reason["outcome"] == "PASS" else str(reason["outcome"])


def held(document: Document) -> str:
    """How much the reviewers agree on: ``CONSENSUS: 12 (5 high); CONTESTED: 0; ...; SINGLE: 8``.

    Critical and high ones are told apart.  Empty without a verdict, and where nobody was asked for
    findings.
    """
    asked = any(case["contract"] == "findings" for case in rows(document, "cases"))
    if not document.get("verdict") or not (asked or rows(document, "findings")):
        return ""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in CLASSES}
    found |= by_class(rows(document, "findings"))
    return "; ".join(f"{name.upper()}: {_held(items)}" for name, items in found.items())


def _held(findings: Sequence[Mapping[str, Any]]) -> str:
    grave = tally([f["severity"] for f in findings if f["severity"] in ("critical", "high")])
    return f"{len(findings)} ({grave})" if grave else str(len(findings))


def answered(case: Mapping[str, Any]) -> str:
    """``2 of 2 answered``, and whether that is worth two voices."""
    text = f"{len(case['answered'])} of {len(case['asked'])} answered"
    if case["independent"]:
        return text
    missing = [name for name in case["asked"] if name not in case["answered"]]
    without = f", without {', '.join(missing)}" if missing else ""
    return f"{text}{without}, no two independent voices"


def together(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """What was not asked, one line for each reason: ``ruff, pylint (contract): why``."""
    found: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        names = found.setdefault((entry["reason"], entry["text"]), [])
        if entry["executor"] and entry["executor"] not in names:
            names.append(entry["executor"])
    return [
        f"{', '.join(names) or 'nobody'} ({reason}){': ' if text else ''}{text}"
        for (reason, text), names in found.items()
    ]


def unlisted(document: Document) -> dict[str, list[dict[str, Any]]]:
    """Cases that were put to nobody: case -> its entries."""
    listed = {case["case"] for case in rows(document, "cases")}
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in rows(document, "not_asked"):
        if entry["case"] not in listed:
            found.setdefault(entry["case"], []).append(entry)
    return found


def by_class(findings: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The findings by class, in the order of :data:`CLASSES`; an unknown class comes last."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in CLASSES}
    for finding in findings:
        found.setdefault(finding["class"], []).append(finding)
    return {name: items for name, items in found.items() if items}


def place(finding: Mapping[str, Any]) -> str:
    """``file:line-end``, as much of it as is known; ``(old side)`` where it is a place of the base."""
    if not finding["file"]:
        return "no place"
    side = " (old side)" if finding.get("side") == "old" else ""
    if finding["line"] is None:
        return f"{finding['file']}{side}"
    end = finding["end_line"]
    last = f"-{end}" if end is not None and end != finding["line"] else ""
    return f"{finding['file']}:{finding['line']}{last}{side}"


def cause_line(cause: Mapping[str, Any]) -> str:
    """``codex: quota exhausted: 1 failed, 11 not run; remedy: wait for its reset``."""
    counts = [f"{cause[key]} {word}" for key, word in _COUNTED.items() if cause[key]]
    title, reason = cause["title"], cause["reason"]
    code = "" if title.replace(" ", "-") == reason else f" [{reason}]"
    remedy = f"; remedy: {cause['remedy']}" if cause["remedy"] else ""
    return f"{cause['executor']}: {title}{code}: {', '.join(counts)}{remedy}"


_COUNTED = {"failed": "failed", "not_run": "not run", "retried": "answered when asked again"}


def cause_said(cause: Mapping[str, Any]) -> str:
    """What the first unit that a cause hit said, and how many others said something else."""
    n = cause["others"]
    more = f" (and {number(n, 'other message')})" if n else ""
    return f"{cause['message']}{more}" if cause["message"] else ""


def circumstances(document: Document) -> list[str]:
    """Who wrote what is reviewed, where results were taken over from, and what of a budget was spent."""
    facts = document.get("facts") or {}
    runs = ", ".join(facts.get("resumed_from") or [])
    told = [written(document), f"results taken over from {runs}" if runs else "", facts.get("budget")]
    return [line for line in told if line]


def written(document: Document) -> str:
    """``written by openai: the answers of codex and mini count against it only``; empty: nobody says."""
    found = document.get("authors")
    if not found:
        return ""
    text = f"written by {' and '.join(found['named'])}"
    names = " and ".join(found["executors"])
    return f"{text}: the answers of {names} count against it only" if names else text


def voice(answer: Mapping[str, Any]) -> str:
    """Who answered, with the number of a repeat."""
    return answer["executor"] if answer["repeat"] == 1 else f"{answer['executor']} #{answer['repeat']}"


PANEL_HEADER = ("executor", "vendor", "lineage", "valid", "broken", "failed", "not run", "found", "s")
"""77 columns with the names of the default pair: fits a terminal."""


def panel_rows(document: Document) -> list[list[str]]:
    """The cells under :data:`PANEL_HEADER`; ``valid`` says of how many asked."""
    return [
        [
            *(panel[key] for key in ("executor", "vendor", "lineage")),
            f"{panel['valid']} of {panel['asked']}",
            *(str(panel[key]) for key in ("broken", "failed", "not_run", "findings")),
            f"{panel['seconds']:.1f}",
        ]
        for panel in rows(document, "panels")
    ]


USAGE_HEADER = ("pool", "units", "input tokens", "cached", "output", "cost")


def usage_rows(document: Document) -> list[list[str]]:
    """The cells under :data:`USAGE_HEADER`: one row per quota pool."""
    return [
        [
            name,
            str(used["units"]),
            *(figure(used[key], ",") for key in ("input_tokens", "cached_tokens", "output_tokens")),
            _cost(used),
        ]
        for name, used in (document.get("usage") or {}).items()
    ]


def figure(value: float | None, form: str) -> str:
    """A number in the given format; ``-`` where there is none."""
    return "-" if value is None else format(value, form)


def _cost(used: Mapping[str, Any]) -> str:
    silent = used["units_without_cost"]
    if used["cost_usd"] is None:
        return "not said" if silent else "-"
    more = f" + {number(silent, 'unit')} not said" if silent else ""
    return f"${used['cost_usd']:.4f}{more}"


def pair_lines(document: Document) -> list[str]:
    """How many findings of which executors were paired: one line per pair of executors.

    Findings are compared between every two executors, so one that nobody else holds is alone once for
    each of the others; the line says so.
    """
    joined: dict[str, dict[str, int]] = {}
    alone: dict[str, int] = {}
    for pair in rows(document, "pairs"):
        sides = [side["executor"] for side in (pair["left"], pair["right"]) if side]
        if len(sides) == 2:
            kin = "" if pair["independent"] else " (not independent)"
            counts = joined.setdefault(f"{' / '.join(sides)}{kin}", {})
            counts[pair["outcome"]] = counts.get(pair["outcome"], 0) + 1
        else:
            alone[sides[0]] = alone.get(sides[0], 0) + 1
    lines = [f"{who}: {', '.join(f'{n} {what}' for what, n in c.items())}" for who, c in joined.items()]
    told = ", ".join(f"{who} {n}" for who, n in alone.items())
    return lines + ([f"alone (counted once for each other executor): {told}"] if alone else [])
