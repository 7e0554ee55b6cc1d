"""The run document as Markdown: the full report, with nothing foreign active in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prun_review import patchrows
from prun_review.renderers import (
    agreeing,
    changes,
    deciding,
    evidence,
    particulars,
    patches,
    settled,
    verdictlines,
    view,
    wave,
)
from prun_review.renderers.defects import findings
from prun_review.renderers.escape import code, fence, markdown
from prun_review.renderers.markup import page, table, title
from prun_review.renderers.points import bullets, points

Document = Mapping[str, Any]
MOST = 200
"""Files of a change in the table; the JSON report has them all."""


class Markdown:
    """The renderer ``markdown``."""

    name = "markdown"
    suffix = ".md"

    def __call__(self, document: Document) -> str:
        parts = (
            _verdict,
            _panels,
            _questions,
            _change,
            _persons,
            _baseline,
            findings,
            _wave,
            _answers,
            _sources,
            _pairs,
            _choices,
            _patches,
            _agreement,
            _policy,
            particulars.failures,
            particulars.suppressed,
            particulars.units,
            particulars.usage,
            particulars.surroundings,
        )
        return page(line for part in parts for line in part(document))


def _verdict(document: Document) -> Iterator[str]:
    verdict = document.get("verdict") or {}
    yield f"# Review: {markdown(view.outcome(document))}"
    yield from ("", f"{markdown(view.headline(document))}  ", markdown(view.revision(document)))
    for line in view.circumstances(document):
        yield from ("", markdown(line))
    if held := view.held(document):
        yield from ("", markdown(held))
    yield from ("", f"Started {markdown(str(document.get('started')))}, finished {_finished(document)}.")
    if verdict.get("folders"):
        yield ""
        rows = [[code(folder), markdown(outcome)] for folder, outcome in verdict["folders"].items()]
        yield from table(["folder", "verdict"], rows)
    if reasons := verdictlines.lines(document):
        yield ""
        for reason in reasons:
            folders = f" ({', '.join(map(code, reason.folders))})" if reason.folders else ""
            yield f"- {markdown(reason.weight)} {code(reason.code)}: {markdown(reason.text)}{folders}"
        if told := wave.to_settle(document):
            yield f"- {markdown(told)}"


def _finished(document: Document) -> str:
    return markdown(str(document.get("finished") or "never"))


def _panels(document: Document) -> Iterator[str]:
    found = view.panel_rows(document)
    if found:
        yield from title("Panels")
        rows = [[markdown(cell) for cell in row] for row in found]
        yield from table(view.PANEL_HEADER, rows)


def _questions(document: Document) -> Iterator[str]:
    cases, nobody = view.rows(document, "cases"), view.unlisted(document)
    if cases or nobody:
        yield from title("Questions")
    for case in cases:
        yield f"- {code(case['case'])}: {markdown(view.answered(case))}"
        if case["question"]:
            yield f"  - asked: {markdown(case['question'])}"
        for text in view.together(case["not_asked"]):
            yield f"  - not asked: {markdown(text)}"
    for case_id, entries in nobody.items():
        yield f"- {code(case_id)}: put to nobody"
        for text in view.together(entries):
            yield f"  - not asked: {markdown(text)}"


def _change(document: Document) -> Iterator[str]:
    if not changes.change(document):
        return
    yield from title(f"Change: {changes.heading(document)}")
    yield markdown(changes.commits(document))
    if told := changes.altered(document):
        yield from ("", markdown(told))
    every = changes.files(document)
    body = [
        [
            markdown(file.status),
            markdown(file.kind),
            file.lines,
            code(file.name),
            f"**{markdown(file.looked)}**" if file.missing else markdown(file.looked),
        ]
        for file in every[:MOST]
    ]
    if body:
        yield ""
        yield from table(["status", "kind", "lines", "file", "looked at by"], body)
    if len(every) > MOST:
        yield from ("", f"and {len(every) - MOST} more in the JSON report")


def _persons(document: Document) -> Iterator[str]:
    """What a named person answers for, and what earlier runs held against this head."""
    for name, lines in (
        ("Accepted by persons", changes.answered_for(document)),
        ("Carried over from earlier runs on this head", changes.carried(document)),
    ):
        if lines:
            yield from title(name)
            yield from (f"- {markdown(line)}" for line in lines)


def _baseline(document: Document) -> Iterator[str]:
    if told := settled.baseline(document):
        yield from title("Baseline")
        yield from (markdown(told), "")
        yield from bullets(settled.stale(document))


def _wave(document: Document) -> Iterator[str]:
    """What was asked in the second wave; the arguments stand with the findings."""
    told = wave.heading(document)
    if told or wave.nothing(document):
        yield from title("Cross-examination")
        yield from (markdown(told or wave.nothing(document)), "")
        yield from bullets((*wave.questions(document), *wave.left_out(document), *wave.failed(document)))
    if used := wave.usage(document):
        yield from ("", "Its cost, which is not part of the usage of the run below:", "")
        yield from table(view.USAGE_HEADER, [[markdown(cell) for cell in row] for row in used])


def _policy(document: Document) -> Iterator[str]:
    entries = settled.policy(document, whole=True)
    if entries:
        yield from title("Policy of the gate")
        yield from bullets(entries)


def _answers(document: Document) -> Iterator[str]:
    """The whole text of every prose answer: fenced, so that it stays the text it is."""
    written = evidence.texts(document)
    if written:
        yield from title("Answers")
    for unit in written:
        yield from title(f"{code(unit['case'])}: {markdown(evidence.speaker(unit))}", 3)
        yield from (f"Conclusion: {markdown(unit['conclusion'] or view.NOTHING)}", "")
        yield from (fence(unit["text"]), "")


def _sources(document: Document) -> Iterator[str]:
    found = evidence.pages(document)
    if found:
        yield from title(f"Sources: {evidence.pages_line(found)}")
        rows = [
            [
                f"**blocked: {page.status}**" if page.blocked else page.status,
                code(page.url, 2000),
                markdown(page.via),
                markdown(page.voice),
                code(page.case),
            ]
            for page in found
        ]
        yield from table(["status", "page", "via", "by", "question"], rows)


def _pairs(document: Document) -> Iterator[str]:
    rows = [
        [
            code(pair["left"]["id"]),
            code(pair["right"]["id"]),
            markdown(pair["outcome"]) + ("" if pair["independent"] else " (not independent)"),
            f"{pair['score']:.2f}",
            markdown(pair["reason"]),
        ]
        for pair in view.rows(document, "pairs")
        if pair["left"] and pair["right"]
    ]
    lines = view.pair_lines(document)
    if lines:
        yield from title("Pairs")
        yield from (f"- {markdown(line)}" for line in lines)
    if rows:
        yield ""
        yield from table(["left", "right", "outcome", "score", "why"], rows)


def _choices(document: Document) -> Iterator[str]:
    cases = deciding.choices(document)
    if cases:
        yield from title("Choices")
    for case in cases:
        choice = case["choice"]
        yield from title(f"{code(case['case'])}: {markdown(deciding.winner(case))}", 3)
        yield from bullets(deciding.answers(choice))
        yield from bullets(points(deciding.agreement(choice)))
        if ranked := deciding.rank_rows(choice):
            yield ""
            yield from table(deciding.RANK_HEADER, [[markdown(cell) for cell in row] for row in ranked])
        if dissent := deciding.dissent(choice):
            yield from ("", "Dissent:", "")
            yield from bullets(dissent)
        if choice["scores"]:
            yield from _scores(choice)


def _patches(document: Document) -> Iterator[str]:
    for case, compared in patchrows.written(document):
        yield from patches.lines(compared, case, 2)


def _scores(choice: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    header, body = deciding.score_table(choice)
    yield from table([markdown(cell) for cell in header], [[markdown(c) for c in row] for row in body])
    yield ""
    for score in choice["scores"]:
        told = f"{score['option']}, {score['criterion']}: {score['score']}"
        yield f"- {markdown(score['executor'])} on {markdown(told)}: {markdown(score['reason'])}"


def _agreement(document: Document) -> Iterator[str]:
    entries = agreeing.agreement(document, whole=True)
    if entries:
        yield from title("Agreement")
        yield from bullets(entries)
