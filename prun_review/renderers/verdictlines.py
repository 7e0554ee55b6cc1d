"""The reasons of a verdict, each finding among them with what it takes to look it up and to act on it.

Like :mod:`prun_review.renderers.view`, taken from the run document: order, grouping and wording, no
escaping.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prun_review.renderers import holding, view, wave
from prun_review.verdict import number, short, some

Document = Mapping[str, Any]
Row = Mapping[str, Any]
_Key = tuple[str, str, str]
"""Code, outcome and folder: what a reason and the decision over a finding have in common."""
MOST = 6
"""Probes that a line names."""


@dataclass(frozen=True, slots=True)
class Line:
    """One reason as it is shown; several where findings of several probes read alike."""

    outcome: str
    """``FAIL``, ``INCOMPLETE``, or ``PASS`` for a remark."""
    code: str
    text: str
    folders: tuple[str, ...]
    """Where it holds; empty for the whole run."""

    @property
    def weight(self) -> str:
        """What it leads to, as :func:`prun_review.renderers.view.weight` says it."""
        return view.weight({"outcome": self.outcome})


def lines(document: Document) -> list[Line]:
    """Every reason of the verdict, in its order.

    One that is about a finding names who holds it, its probe and its fingerprint, and findings that read
    alike in several probes share a line, which says in how many.  No reason is left out: where the
    document does not say for each of them which finding it is about, they stand as they are.
    """
    given = (document.get("verdict") or {}).get("reasons") or ()
    findings = _told(document, given)
    alike: dict[tuple[str, str, str], list[Row]] = {}
    for (code, outcome, _), those in findings.items():
        for finding in those:
            alike.setdefault((code, outcome, _words(finding)), []).append(finding)
    names, made = _names(document), []
    for reason in given:
        key = reason["code"], reason["outcome"], reason["folder"]
        if key not in findings:
            where = (reason["folder"],) if reason["folder"] else ()
            made.append(Line(reason["outcome"], reason["code"], reason["text"], where))
        for finding in findings.get(key, ()):  # all of a kind stand where its first reason stands
            told = alike.pop((*key[:2], _words(finding)), None)
            made += [_line(told, names)] if told else []
    return made


def failure(document: Document) -> str:
    """Why a review is not green, for whoever reads nothing else: verdict, reasons, and what to do next."""
    told = [f"[{line.code}] {line.text}" for line in lines(document) if line.outcome != "PASS"]
    return "\n".join(filter(None, [view.outcome(document), *told, wave.to_settle(document)]))


def _told(document: Document, reasons: Sequence[Row]) -> dict[_Key, list[Row]]:
    """The findings that the reasons are about, as far as there are as many of the one as of the other."""
    counts = Counter((r["code"], r["outcome"], r["folder"]) for r in reasons)
    found: dict[_Key, list[Row]] = {}
    for finding in view.rows(document, "findings"):
        if finding.get("outcome") and finding.get("decided"):
            key = finding["decided"]["code"], finding["outcome"], finding["folder"]
            found.setdefault(key, []).append(finding)
    return {key: those for key, those in found.items() if len(those) == counts[key]}


def _line(those: Sequence[Row], names: Mapping[str, str]) -> Line:
    first = those[0]
    told = [f"{names[f['case']]} {holding.fingerprint(f) or f['id']}" for f in those]
    cases = len({f["case"] for f in those})
    where = f"in {number(cases, 'probe')}: {some(told, MOST)}" if cases > 1 else some(told, MOST)
    folders = tuple(dict.fromkeys(f["folder"] for f in those if f["folder"]))
    return Line(first["outcome"], first["decided"]["code"], f"{_words(first)}; {where}", folders)


def _words(finding: Row) -> str:
    """What it is, where, and who holds it; where that does not settle it, why not."""
    what = f"{finding['severity']}: {short(finding['title'])} ({view.place(finding)})"
    held, why = f"held by {holding.holders(finding)}", finding["reason"]
    if finding["class"] == "consensus" or not why:
        return f"{what}; {held}"
    return f"{what}; {why if why.startswith('held by ') else f'{held}: {why}'}"


def _names(document: Document) -> dict[str, str]:
    """Case -> how it is called here: without its file, where no other case is called the same."""
    cases = {f["case"] for f in view.rows(document, "findings")}
    cases |= {c["case"] for c in view.rows(document, "cases")}
    bare = {case: case.partition("::")[2] or case for case in cases}
    times = Counter(bare.values())
    return {case: name if times[name] == 1 else case for case, name in bare.items()}
