"""The end of the Markdown report: what failed, what was hidden, every unit, what it cost, who answered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prun_review.renderers import view, wave
from prun_review.renderers.defects import place
from prun_review.renderers.escape import code, markdown
from prun_review.renderers.markup import table, title

Document = Mapping[str, Any]


def failures(document: Document) -> Iterator[str]:
    """Each cause of failure once, and every broken or mended answer."""
    causes = view.rows(document, "causes")
    if causes:
        yield from title("Failures")
    for cause in causes:
        yield f"- {markdown(view.cause_line(cause))}"
        if cause["message"]:
            yield f"  - {markdown(view.cause_said(cause))}"
    every = (*view.rows(document, "units"), *wave.units(document))
    mended = [u for u in every if u["violations"] or u["salvage"]]
    if mended:
        yield from title("Broken and mended answers")
    for unit in mended:
        yield f"- {code(unit['id'])}"
        for word, entries in (("violation", unit["violations"]), ("salvage", unit["salvage"])):
            for entry in entries:
                where = f" at {code(entry['where'])}" if entry["where"] else ""
                yield f"  - {word} {code(entry['code'])}{where}: {markdown(entry['text'])}"


def suppressed(document: Document) -> Iterator[str]:
    """Findings that comments in the reviewed code hide."""
    found = [(unit, item) for unit in view.rows(document, "units") for item in unit["suppressed"]]
    if found:
        yield from title("Hidden by comments in the reviewed code")
    for unit, item in found:
        rule = f" {code(item['rule'])}" if item["rule"] else ""
        told = f"{markdown(item['severity'])}{rule} {place(item)}: {markdown(item['title'], 300)}"
        yield f"- {markdown(unit['executor'])}: {told}"


def units(document: Document) -> Iterator[str]:
    """One row per unit, those of the second wave too."""
    rows = [
        [
            code(unit["id"]),
            markdown(f"{unit['status']} ({unit['reason']})"),
            str(unit["attempts"]),
            f"{unit['seconds']:.1f}",
            str(len(unit["examined"])),
            markdown(unit["conclusion"] or "", 300),
        ]
        for unit in (*view.rows(document, "units"), *wave.units(document))
    ]
    if rows:
        yield from title("Units")
        yield from table(["unit", "status", "attempts", "seconds", "files examined", "conclusion"], rows)


def usage(document: Document) -> Iterator[str]:
    """What each quota pool used."""
    found = view.usage_rows(document)
    if found:
        yield from title("Usage")
        rows = [[markdown(cell) for cell in row] for row in found]
        yield from table(view.USAGE_HEADER, rows)


def surroundings(document: Document) -> Iterator[str]:
    """The programs that answered, and what the reviewed tree leaves out."""
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
