"""What a page says where few lines are wanted: a line for what is as it should be, more for what is not.

Everything that it leaves out stands in the Markdown report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prun_review.renderers import evidence, view
from prun_review.renderers.escape import columns, one_line
from prun_review.renderers.findingpage import INDENT, MARGIN
from prun_review.renderers.layout import Page

Document = Mapping[str, Any]

PLACE = 30
"""Columns of a place on a finding's only line."""
HELD = 26
"""The same of who holds it."""
LEAST = 8
"""The least that is worth showing of either."""
QUIET = ("", "off")
"""What decides over a finding and is not worth a word: nothing, and that no rule is for it."""


def questions(document: Document, page: Page, most: int) -> None:
    """How many questions were answered by how many; by name those that two voices did not answer."""
    cases, nobody = view.rows(document, "cases"), view.unlisted(document)
    if not cases and not nobody:
        return
    came = sum(len(case["answered"]) for case in cases)
    asked = sum(len(case["asked"]) for case in cases)
    page.section(f"QUESTIONS: {len(cases) + len(nobody)}, {came} of {asked} answered")
    told = [(c, view.answered(c), view.together(c["not_asked"])) for c in cases if not _sound(c)]
    lines = [f"{case['case']}: {'; '.join([said, *_unasked(left)])}" for case, said, left in told]
    lines += [f"{case}: {'; '.join(_unasked(view.together(rows)))}" for case, rows in nobody.items()]
    texts = evidence.texts(document)
    lines += [f"{u['case']}: {evidence.speaker(u)}: {u['conclusion'] or view.NOTHING}" for u in texts]
    for line in lines[:most]:
        page.line(line, limit=400)
    if len(lines) > most:
        page.line(f"and {len(lines) - most} more in the report")


def _sound(case: Mapping[str, Any]) -> bool:
    return bool(case["independent"]) and len(case["answered"]) == len(case["asked"])


def _unasked(lines: Sequence[str]) -> list[str]:
    return [f"not asked: {line}" for line in lines]


def put_line(finding: Mapping[str, Any], page: Page) -> None:
    """A finding that does not block, on one line: severity, place, title, who holds it, why it passes."""
    code = (finding.get("decided") or {"code": ""})["code"]
    mark = "" if code in QUIET else one_line(f"[{code}]")
    place = one_line(view.place(finding), 4000)
    place = place if len(place) <= PLACE else "..." + place[3 - PLACE :]
    room = page.width - INDENT - MARGIN - columns(place) - columns(mark) - 3
    held = one_line(f"({', '.join(finding['executors'])})", min(max(room, LEAST), HELD))
    room -= columns(held)
    title = one_line(finding["title"], room) if room > LEAST else ""
    severity = one_line(finding["severity"], MARGIN - 1).ljust(MARGIN)
    page.short(" ".join(filter(None, [place, title, held, mark])), INDENT, severity)
