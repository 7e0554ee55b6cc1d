"""The run document for a terminal: plain text of 80 columns, no colour, no box drawing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prun_review.renderers import agreeing, changes, deciding, evidence, settled, view, wave
from prun_review.renderers.escape import plain
from prun_review.renderers.findingpage import put_finding
from prun_review.renderers.layout import Page
from prun_review.renderers.points import points, put

Document = Mapping[str, Any]


class Terminal:
    """The renderer ``terminal``.

    ``width`` is in columns, at least 40.  ``most`` findings per class, questions, web pages, reasons and
    causes are listed, the rest is counted.  ``extra`` are lines of the caller (where the reports are) that
    stand before the verdict uncut.
    """

    name = "terminal"
    suffix = ".txt"

    def __init__(self, width: int = 80, most: int = 20, extra: Sequence[str] = ()) -> None:
        self.width = max(width, 40)
        self.most = most
        self.extra = tuple(extra)

    def __call__(self, document: Document) -> str:
        page = Page(self.width)
        page.short(view.headline(document), 0)
        page.line(view.revision(document), 0)
        for line in view.circumstances(document):
            page.line(line, 0)
        _panels(document, page)
        self._questions(document, page)
        self._change(document, page)
        self._findings(document, page)
        self._wave(document, page)
        self._sources(document, page)
        _pairs(document, page)
        _choices(document, page, self.most)
        self._agreement(document, page)
        self._policy(document, page)
        self._failures(document, page)
        _usage(document, page)
        end = Page(page.width)
        self._verdict(document, end)
        extra = "".join(plain(line).rstrip("\n") + "\n" for line in self.extra)
        return page.text() + ("\n" + extra if extra else "") + "\n" + end.text()

    def _rest(self, items: int, page: Page, one: str, many: str = "") -> None:
        n = items - self.most
        if n > 0:
            page.line(f"and {n} more {one if n == 1 else many or one + 's'} in the report")

    def _questions(self, document: Document, page: Page) -> None:
        cases, nobody = view.rows(document, "cases"), view.unlisted(document)
        if not cases and not nobody:
            return
        page.section("QUESTIONS")
        texts = evidence.texts(document)
        for case in cases[: self.most]:
            page.line(case["case"])
            if case["question"]:
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
            every = changes.files(document)
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
            for entries in (wave.questions(document), wave.left_out(document), wave.failed(document)):
                put(page, entries, self.most)
            if used := wave.usage(document):
                page.table(view.USAGE_HEADER, used)

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
                page.line(f"{name}: {view.CLASSES.get(name, 'of an unknown class')}")
                for finding in sorted(findings, key=lambda f: not f["blocking"])[: self.most]:
                    put_finding(finding, page)
                self._rest(len(findings), page, f"{name} finding")
        if told := wave.to_settle(document):
            page.line(told)
        hidden = sum(len(unit["suppressed"]) for unit in view.rows(document, "units"))
        if hidden:
            page.line(f"{hidden} more hidden by comments in the reviewed code; the report lists them")

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

    def _agreement(self, document: Document, page: Page) -> None:
        if entries := agreeing.agreement(document, whole=False):
            page.section("AGREEMENT")
            put(page, entries, self.most)

    def _failures(self, document: Document, page: Page) -> None:
        causes = view.rows(document, "causes")
        if causes:
            page.section("FAILURES")
            for cause in causes[: self.most]:
                page.line(view.cause_line(cause), limit=400)
                if cause["message"]:
                    page.line(view.cause_said(cause), 4, limit=400)
            self._rest(len(causes), page, "cause")

    def _verdict(self, document: Document, page: Page) -> None:
        verdict = document.get("verdict") or {}
        folders = verdict.get("folders") or {}
        reasons = verdict.get("reasons") or []
        if held := view.held(document):
            page.line(held, 0)
        page.line(f"VERDICT: {view.outcome(document)}", 0)
        for folder, outcome in folders.items():
            page.line(f"{outcome}: {folder}")
        for reason in reasons[: self.most]:
            folder = f" ({reason['folder']})" if reason["folder"] and len(folders) > 1 else ""
            page.line(f"{view.weight(reason)} [{reason['code']}] {reason['text']}{folder}", limit=800)
        self._rest(len(reasons), page, "reason")


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


def _choices(document: Document, page: Page, most: int) -> None:
    cases = deciding.choices(document)
    if cases:
        page.section("CHOICES")
    for case in cases[:most]:
        choice = case["choice"]
        page.line(f"{case['case']}: {deciding.winner(case)}")
        put(page, deciding.answers(choice), most, 4)
        put(page, points(deciding.agreement(choice)), most, 4)
        said = [point.text for point in deciding.dissent(choice)]  # the reasons are in the report
        put(page, points(f"dissent, {text}" for text in said), most, 4)
        if choice["scores"]:
            page.table(*deciding.score_table(choice), indent=4)
    if len(cases) > most:
        page.line(f"and {len(cases) - most} more in the report")


def _usage(document: Document, page: Page) -> None:
    found = view.usage_rows(document)
    if found:
        page.section("USAGE")
        page.table(view.USAGE_HEADER, found)
