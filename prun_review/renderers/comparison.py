"""The comparison of two runs as Markdown, with nothing foreign active in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prun_review.renderers.escape import code, markdown
from prun_review.renderers.markup import page, table, title

Row = Mapping[str, Any]
HEADINGS = {
    "new": "New",
    "flipped": "Flipped",
    "fixed": "Fixed",
    "perhaps": "Perhaps the same",
    "unclear": "Not known whether new or fixed",
    "same": "Same",
}
"""Key of ``comparison["findings"]`` -> heading, in the order shown."""


def render(comparison: Mapping[str, Any]) -> str:
    """A page; ``comparison`` is what :func:`prun_review.comparing.compare` returns."""
    parts = (_heads, _notes, _findings, _choices, _policy, _apart)
    return page(line for part in parts for line in part(comparison))


def _heads(comparison: Row) -> Iterator[str]:
    a, b = comparison["a"], comparison["b"]
    yield f"# {markdown(a['run_id'])} and {markdown(b['run_id'])}"
    yield ""
    told = ", ".join(
        f"{len(comparison['findings'][key])} {heading.lower()}" for key, heading in HEADINGS.items()
    )
    yield f"Findings: {told}."
    yield ""
    verdict, coverage = comparison["verdict"], comparison["coverage"]
    rows = [["started", markdown(a["started"]), markdown(b["started"])]]
    rows += [["commit", code(a["commit"][:12] or "-"), code(b["commit"][:12] or "-")]]
    rows += [["verdict", *(markdown(verdict[side]["line"]) for side in ("before", "after"))]]
    for key in coverage["before"]:
        values = [coverage[side][key] for side in ("before", "after")]
        if values != [None, None]:
            rows.append([key.replace("_", " "), *("-" if v is None else f"{v:d}" for v in values)])
    yield from table(["", "before", "after"], rows)


def _notes(comparison: Row) -> Iterator[str]:
    if comparison["notes"]:
        yield from title("Mind")
        yield from (f"- {markdown(note)}" for note in comparison["notes"])


def _findings(comparison: Row) -> Iterator[str]:
    for key, heading in HEADINGS.items():
        rows = comparison["findings"][key]
        if rows:
            yield from title(f"{heading} ({len(rows)})")
            yield from (line for row in rows for line in _finding(key, row))


def _finding(key: str, row: Row) -> Iterator[str]:
    if key in ("new", "fixed"):
        yield f"- {_named(row)}"
    elif key == "unclear":
        yield f"- {_named(row['finding'])}"
        where = "the first" if row["run"] == "a" else "the second"
        yield f"  - held in {where} run only: {markdown(row['why'])}"
    else:
        yield f"- {_named(row['after'])}"
        for what in row.get("changes", ()):
            before, after = (markdown(row[side][what] or "nothing") for side in ("before", "after"))
            yield f"  - {what}: {before} before, {after} after"
        told = row.get("why") or row["how"]
        if told != "same fingerprint":
            yield f"  - {markdown(told)}; before: {_named(row['before'])}"


def _named(row: Row) -> str:
    place = f"{row['file']}:{row['line']}" if row["file"] and row["line"] else row["file"] or "no place"
    held = ", ".join(row["executors"])
    said = f"**{markdown(row['severity'])}** {markdown(row['title'])}"
    return f"{said} ({code(place)}; {markdown(row['class'])}, {markdown(held)})"


def _choices(comparison: Row) -> Iterator[str]:
    for choice in comparison["choices"]:
        yield from title(f"Choice: {code(choice['case'])}")
        yield markdown(choice["question"])
        yield ""
        before, after = (markdown(choice["winner"][side] or "none") for side in ("before", "after"))
        yield f"Winner: {before} before, {after} after."
        if choice["unchanged"]:
            yield from ("", f"Unchanged: {markdown(', '.join(choice['unchanged']))}.")
        for change in choice["changed"]:
            yield from _changed(change)


def _changed(change: Row) -> Iterator[str]:
    before, after = (markdown(", ".join(change[side])) for side in ("before", "after"))
    confidence = [change["confidence"][side] for side in ("before", "after")]
    sure = " to ".join("-" if c is None else f"{c:.2f}" for c in confidence)
    yield from ("", f"**{markdown(change['executor'])}** went from {before} to {after} (confidence {sure}).")
    if change["would_change_mind"]:
        yield from ("", f"Said before what would change its mind: {markdown(change['would_change_mind'])}")
    if change["reasons"]:
        yield ""
        yield from table(
            ["option", "criterion", "before", "after"], [_cells(row) for row in change["reasons"]]
        )


def _cells(row: Row) -> list[str]:
    cells = [markdown(row["option"]), markdown(row["criterion"])]
    for side in ("before", "after"):
        said = row[side]
        cells.append(f"{said['score']}: {markdown(said['reason'])}" if said else "-")
    return cells


def _policy(comparison: Row) -> Iterator[str]:
    if comparison["policy"]:
        yield from title("Policy")
        rows = [
            [code(row["folder"]), code(row["key"]), *(_value(row[side]) for side in ("before", "after"))]
            for row in comparison["policy"]
        ]
        yield from table(["folder", "key", "before", "after"], rows)


def _value(value: str | None) -> str:
    return "not asked" if value is None else code(value) if value else "-"


def _apart(comparison: Row) -> Iterator[str]:
    if comparison["not_comparable"]:
        yield from title("Not comparable")
        for row in comparison["not_comparable"]:
            held = f"findings: {row['before']} before, {row['after']} after"
            yield f"- {code(row['case'])}: {markdown(row['why'])} ({held})"
