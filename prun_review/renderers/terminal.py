"""The run document for a terminal: plain text of 80 columns, no colour, no box drawing.

It comes in three lengths.  Whatever the length, it says who answered how much, which findings block and
what was lost, and the verdict with every reason for it; the Markdown report holds all the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prun_review import patchrows
from prun_review.renderers import (
    agreeing,
    changes,
    deciding,
    evidence,
    gist,
    patches,
    settled,
    verdictlines,
    view,
    wave,
)
from prun_review.renderers.escape import plain
from prun_review.renderers.findingpage import put_finding
from prun_review.renderers.layout import Page
from prun_review.renderers.points import points, put
from prun_review.verdict import number

Document = Mapping[str, Any]

BRIEF, USUAL, ALL = range(3)
"""What blocks, and a line for each other finding; that with all that is worth knowing; everything."""


class Terminal:
    """The renderer ``terminal``.

    ``width`` is in columns, at least 40.  ``most`` findings per class, questions, web pages, reasons and
    causes are listed, the rest is counted.  ``extra`` are lines of the caller (where the reports are) that
    stand before the verdict uncut.  ``detail`` is the length: :data:`BRIEF`, :data:`USUAL` or :data:`ALL`.
    """

    name = "terminal"
    suffix = ".txt"

    def __init__(self, width: int = 80, most: int = 20, extra: Sequence[str] = (), detail: int = ALL) -> None:
        self.width = max(width, 40)
        self.most = most
        self.extra = tuple(extra)
        self.detail = detail

    def __call__(self, document: Document) -> str:
        page = Page(self.width)
        page.short(view.headline(document), 0)
        page.line(view.revision(document), 0)
        for line in view.circumstances(document):
            page.line(line, 0)
        for part, least in (
            (_panels, BRIEF),
            (self._questions, BRIEF),
            (self._change, BRIEF),
            (self._findings, BRIEF),
            (self._wave, BRIEF),
            (self._sources, USUAL),
            (_pairs, ALL),
            (self._choices, BRIEF),
            (self._patches, USUAL),
            (self._agreement, USUAL),
            (self._policy, USUAL),
            (self._failures, BRIEF),
            (self._usage, BRIEF),
        ):
            if self.detail >= least:
                part(document, page)
        end = Page(page.width)
        self._verdict(document, end)
        extra = "".join(plain(line).rstrip("\n") + "\n" for line in self.extra)
        return page.text() + ("\n" + extra if extra else "") + "\n" + end.text()

    def _rest(self, items: int, page: Page, one: str, many: str = "") -> None:
        n = items - self.most
        if n > 0:
            many = many or f"{one}s"
            page.line(f"and {number(n, f'more {one}', f'more {many}')} in the report")

    def _questions(self, document: Document, page: Page) -> None:
        if self.detail == BRIEF:
            gist.questions(document, page, self.most)
            return
        cases, nobody = view.rows(document, "cases"), view.unlisted(document)
        if not cases and not nobody:
            return
        page.section("QUESTIONS")
        texts = evidence.texts(document)
        for case in cases[: self.most]:
            page.line(case["case"])
            if case["question"] and self.detail == ALL:
                page.short(f'"{case["question"]}"', 4)
            page.line(view.answered(case), 4)
            self._answers([unit for unit in texts if unit["case"] == case["case"]], page)
            for text in view.together(case["not_asked"]):
                page.line(f"not asked: {text}", 4)
        self._rest(len(cases), page, "question")
        for case_id, entries in list(nobody.items())[: self.most]:
            page.line(case_id)
            for text in view.together(entries):
                page.line(f"not asked: {text}", 4)
        self._rest(len(nobody), page, "question put to nobody", "questions put to nobody")

    def _answers(self, units: Sequence[Mapping[str, Any]], page: Page) -> None:
        for unit in units[: self.most]:
            page.short(f"{evidence.speaker(unit)}: {unit['conclusion'] or view.NOTHING}", 4)
        self._rest(len(units), page, "answer")
        if units:
            page.line("the whole text is in the report, under Answers", 6)

    def _change(self, document: Document, page: Page) -> None:
        if changes.change(document):
            page.section(f"CHANGE: {changes.heading(document)}")
            page.line(changes.commits(document))
            every = changes.files(document) if self.detail > BRIEF else ()
            for file in every[: self.most]:
                kind = "" if file.kind == "text" else f", {file.kind}"
                page.line(f"{file.name} ({file.status}{kind}, {file.lines})")
                page.line(f"looked at by {file.looked}", 4, limit=400)
            self._rest(len(every), page, "file")
            if told := changes.altered(document):
                page.line(told)
        for name, lines in (
            ("ACCEPTED BY PERSONS", changes.answered_for(document)),
            ("CARRIED OVER FROM EARLIER RUNS ON THIS HEAD", changes.carried(document)),
        ):
            if lines:
                page.section(name)
                for line in lines[: self.most]:
                    page.line(line, limit=800)
                self._rest(len(lines), page, "entry", "entries")
        if told := settled.baseline(document):
            page.section("BASELINE")
            page.line(told)
            put(page, settled.stale(document), self.most, 4)

    def _wave(self, document: Document, page: Page) -> None:
        if told := wave.heading(document):
            page.section(f"CROSS-EXAMINATION: {told}")
            asked = wave.questions(document) if self.detail > BRIEF else ()
            left = wave.left_out(document)
            left = left if self.detail == ALL else tuple(points(entry.text for entry in left))
            for entries in (asked, left, wave.failed(document)):
                put(page, entries, self.most)
            self._costs(wave.usage(document), page)

    def _policy(self, document: Document, page: Page) -> None:
        if entries := settled.policy(document, whole=False):
            page.section("POLICY: what differs from the defaults")
            put(page, entries, self.most)

    def _findings(self, document: Document, page: Page) -> None:
        counts = view.by_class(view.rows(document, "findings"))
        told = ", ".join(f"{len(items)} {name}" for name, items in counts.items())
        page.section(f"FINDINGS: {told or view.NOTHING}")
        for heading, items in changes.by_origin(document).items():
            if heading:
                page.line(f"{heading.upper()}: {len(items)}")
            for name, findings in view.by_class(items).items():
                self._class(name, findings, page)
        hidden = sum(len(unit["suppressed"]) for unit in view.rows(document, "units"))
        if hidden:
            page.line(f"{hidden} more hidden by comments in the reviewed code; the report lists them")

    def _class(self, name: str, findings: Sequence[Mapping[str, Any]], page: Page) -> None:
        page.line(f"{name}: {view.CLASSES.get(name, 'of an unknown class')}")
        blocking = [f for f in findings if f["blocking"]]
        rest = [f for f in findings if not f["blocking"]]
        if self.detail == BRIEF and blocking:
            page.line(
                f"{number(len(blocking), 'finding')} told with the verdict: what blocks stands there", 4
            )
        shown = rest if self.detail == BRIEF else [*blocking, *rest]
        for finding in shown[: self.most]:
            whole = self.detail == ALL or finding["blocking"]
            (put_finding if whole else gist.put_line)(finding, page)
        self._rest(len(shown), page, f"{name} finding")

    def _sources(self, document: Document, page: Page) -> None:
        found = evidence.pages(document)
        if found:
            page.section(f"SOURCES: {evidence.pages_line(found)}")
        last = None
        for source in found[: self.most]:
            if last != (last := (source.blocked, source.case, source.voice)):
                page.line(f"{'BLOCKED, ' if source.blocked else ''}{source.voice}: {source.case}")
            via = f" (via {source.via})" if source.via else ""
            page.line(f"{source.status}: {source.url}{via}", 4, limit=400)
        self._rest(len(found), page, "page")

    def _choices(self, document: Document, page: Page) -> None:
        cases = deciding.choices(document)
        if cases:
            page.section("CHOICES")
        for case in cases[: self.most]:
            choice = case["choice"]
            page.line(f"{case['case']}: {deciding.winner(case)}")
            if self.detail == BRIEF:
                continue
            put(page, deciding.answers(choice), self.most, 4)
            put(page, points(deciding.agreement(choice)), self.most, 4)
            said = [point.text for point in deciding.dissent(choice)]  # the reasons are in the report
            put(page, points(f"dissent, {text}" for text in said), self.most, 4)
            if choice["scores"]:
                page.table(*deciding.score_table(choice), indent=4)
        self._rest(len(cases), page, "choice")

    def _patches(self, document: Document, page: Page) -> None:
        found = patchrows.written(document)
        for case, compared in found[: self.most]:
            page.section("CODE WRITTEN")
            patches.put(compared, case, page)
        self._rest(len(found), page, "case with patches", "cases with patches")

    def _agreement(self, document: Document, page: Page) -> None:
        if entries := agreeing.agreement(document, whole=False):
            page.section("AGREEMENT")
            put(page, entries if self.detail == ALL else points(e.text for e in entries), self.most)

    def _failures(self, document: Document, page: Page) -> None:
        causes = view.rows(document, "causes")
        if causes:
            page.section("FAILURES")
            for cause in causes[: self.most]:
                page.line(view.cause_line(cause), limit=400)
                if cause["message"]:
                    page.line(view.cause_said(cause), 4, limit=400)
            self._rest(len(causes), page, "cause")

    def _usage(self, document: Document, page: Page) -> None:
        found = view.usage_rows(document)
        if found and (self.detail == ALL or _spent(found)):
            page.section("USAGE")
            self._costs(found, page)

    def _costs(self, found: Sequence[Sequence[str]], page: Page) -> None:
        if found and (self.detail == ALL or _spent(found)):
            page.table(view.USAGE_HEADER, found)

    def _verdict(self, document: Document, page: Page) -> None:
        verdict = document.get("verdict") or {}
        folders = verdict.get("folders") or {}
        reasons = verdictlines.lines(document)
        if held := view.held(document):
            page.line(held, 0)
        page.line(f"VERDICT: {view.outcome(document)}", 0)
        for folder, outcome in folders.items():
            page.line(f"{outcome}: {folder}")
        for line in reasons[: self.most]:
            where = f" ({', '.join(line.folders)})" if line.folders and len(folders) > 1 else ""
            page.line(f"{line.weight} [{line.code}] {line.text}{where}", limit=800)
        self._rest(len(reasons), page, "reason")
        if told := wave.to_settle(document):
            page.line(told)


def _spent(found: Sequence[Sequence[str]]) -> bool:
    """Whether anything was said of what was used: local analysers use nothing that anybody counts."""
    return any(cell != "-" for row in found for cell in row[2:-1]) or any("$" in row[-1] for row in found)


def _panels(document: Document, page: Page) -> None:
    found = view.panel_rows(document)
    if found:
        page.section("PANELS")
        page.table(view.PANEL_HEADER, found)


def _pairs(document: Document, page: Page) -> None:
    lines = view.pair_lines(document)
    if lines:
        page.section("PAIRS")
        for line in lines:
            page.line(line)
