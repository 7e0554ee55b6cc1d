"""The run document as Markdown: the full report, with nothing foreign active in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prun_review.renderers import changes, evidence, view
from prun_review.renderers.defects import findings, place
from prun_review.renderers.escape import code, fence, guard, markdown
from prun_review.renderers.markup import table, title

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
            findings,
            _answers,
            _sources,
            _pairs,
            _choices,
            _agreement,
            _failures,
            _suppressed,
            _units,
            _usage,
            _surroundings,
        )
        lines: list[str] = []
        for part in parts:
            for line in part(document):
                if line or (lines and lines[-1]):  # never two empty lines
                    lines.append(line)
        return guard("\n".join(lines).strip("\n")) + "\n"


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
    if verdict.get("reasons"):
        yield ""
        for reason in verdict["reasons"]:
            folder = f" ({code(reason['folder'])})" if reason["folder"] else ""
            head = f"{markdown(view.weight(reason))} {code(reason['code'])}"
            yield f"- {head}: {markdown(reason['text'])}{folder}"


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
    cases = view.choices(document)
    if cases:
        yield from title("Choices")
    for case in cases:
        choice = case["choice"]
        yield from title(f"{code(case['case'])}: {markdown(view.winner(case))}", 3)
        for answer in choice["answers"]:
            sure = "" if answer["confidence"] is None else f", confidence {answer['confidence']:.2f}"
            yield f"- {markdown(view.voice(answer))}: {markdown(' > '.join(answer['ranking']))}{sure}"
            if answer["would_change_mind"]:
                yield f"  - would change its mind: {markdown(answer['would_change_mind'])}"
        if choice["scores"]:
            yield from _scores(choice)


def _scores(choice: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    header, body = view.score_table(choice)
    yield from table([markdown(cell) for cell in header], [[markdown(c) for c in row] for row in body])
    yield ""
    for score in choice["scores"]:
        told = f"{score['option']}, {score['criterion']}: {score['score']}"
        yield f"- {markdown(score['executor'])} on {markdown(told)}: {markdown(score['reason'])}"


def _agreement(document: Document) -> Iterator[str]:
    lines = view.agreement(document)
    if lines:
        yield from title("Agreement")
        yield from (f"- {markdown(line)}" for line in lines)


def _failures(document: Document) -> Iterator[str]:
    causes = view.rows(document, "causes")
    if causes:
        yield from title("Failures")
    for cause in causes:
        yield f"- {markdown(view.cause_line(cause))}"
        if cause["message"]:
            yield f"  - {markdown(view.cause_said(cause))}"
    mended = [u for u in view.rows(document, "units") if u["violations"] or u["salvage"]]
    if mended:
        yield from title("Broken and mended answers")
    for unit in mended:
        yield f"- {code(unit['id'])}"
        for word, entries in (("violation", unit["violations"]), ("salvage", unit["salvage"])):
            for entry in entries:
                where = f" at {code(entry['where'])}" if entry["where"] else ""
                yield f"  - {word} {code(entry['code'])}{where}: {markdown(entry['text'])}"


def _suppressed(document: Document) -> Iterator[str]:
    found = [(unit, item) for unit in view.rows(document, "units") for item in unit["suppressed"]]
    if found:
        yield from title("Hidden by comments in the reviewed code")
    for unit, item in found:
        rule = f" {code(item['rule'])}" if item["rule"] else ""
        told = f"{markdown(item['severity'])}{rule} {place(item)}: {markdown(item['title'], 300)}"
        yield f"- {markdown(unit['executor'])}: {told}"


def _units(document: Document) -> Iterator[str]:
    rows = [
        [
            code(unit["id"]),
            markdown(f"{unit['status']} ({unit['reason']})"),
            str(unit["attempts"]),
            f"{unit['seconds']:.1f}",
            str(len(unit["examined"])),
            markdown(unit["conclusion"] or "", 300),
        ]
        for unit in view.rows(document, "units")
    ]
    if rows:
        yield from title("Units")
        yield from table(["unit", "status", "attempts", "seconds", "files examined", "conclusion"], rows)


def _usage(document: Document) -> Iterator[str]:
    found = view.usage_rows(document)
    if found:
        yield from title("Usage")
        rows = [[markdown(cell) for cell in row] for row in found]
        yield from table(["pool", "units", "input tokens", "cached", "output", "cost"], rows)


def _surroundings(document: Document) -> Iterator[str]:
    facts = document.get("facts") or {}
    executors = facts.get("executors") or []
    if executors:
        yield from title("Executors")
        rows = [
            [
                *(markdown(e[key]) for key in ("name", "version", "identity", "where")),
                code(e["sha256"][:16]),
            ]
            for e in executors
        ]
        yield from table(["executor", "version", "identity", "found", "sha256"], rows)
    notes = (document.get("revision") or {}).get("notes") or []
    if notes:
        yield from title("Not taken into the reviewed tree")
        yield from (f"- {markdown(note)}" for note in notes)
