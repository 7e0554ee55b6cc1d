"""One finding on the terminal's page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prun_review.renderers import changes, holding, view
from prun_review.renderers.escape import one_line
from prun_review.renderers.layout import Page

MARGIN = 10
"""Columns of a severity, the longest of which is ``critical``."""
INDENT = 4
SAID = 400
"""Columns of what one side argues."""


def put_finding(finding: Mapping[str, Any], page: Page) -> None:
    """Severity, place and title; who holds it and why that counts; then what became of it, if anything."""
    severity = one_line(finding["severity"], MARGIN - 1).ljust(MARGIN)
    room = page.width - INDENT - MARGIN
    place = one_line(view.place(finding), 4000)
    title = one_line(finding["title"], 4000)
    if len(place) + 1 + len(title) <= room:
        page.short(f"{place} {title}", INDENT, severity)
    else:
        # The end of a path and its line number say more than its start.
        page.short(place if len(place) <= room else "..." + place[3 - room :], INDENT, severity)
        page.short(title, INDENT + MARGIN)
    mark = "BLOCKING, " if finding["blocking"] else ""
    stance = f" [{told}]" if (told := changes.stance(finding)) else ""
    why = f"{mark}{holding.holders(finding)}{stance}: {finding['reason']}"
    page.line(why, INDENT + MARGIN, limit=3 * room - MARGIN)
    decided = holding.decided(finding) if holding.notable(finding) else ""
    for told in filter(None, [decided, *holding.settled(finding)]):
        page.line(told, INDENT + MARGIN, SAID)
    beside = [holding.came(finding), holding.fingerprint(finding)]
    if any(beside):
        page.short("; ".join(filter(None, beside)), INDENT + MARGIN)
    _examined(finding, page)


def _examined(finding: Mapping[str, Any], page: Page) -> None:
    for asked in holding.asked(finding):
        if asked.kind == "same" and asked.settled:
            continue  # it stands below once for both findings, and the reasons are in the report
        page.line(asked.text, INDENT + MARGIN, SAID)
        if asked.kind == "same":
            continue
        if asked.arguments and asked.claim:
            page.line(asked.claim, INDENT + MARGIN + 2, SAID)
        for argument in asked.arguments:
            at = f" ({view.place(argument.place)})" if argument.place["file"] else ""
            told = f"{argument.speaker} says {argument.word}{at}: {argument.reason}"
            page.line(told, INDENT + MARGIN + 2, SAID)
            if argument.quote:
                page.short(f"> {argument.quote}", INDENT + MARGIN + 4)
