"""The comparison of two runs as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from prun_review.renderers.comparison import HEADINGS
from prun_review.renderers.layout import Page

Row = Mapping[str, Any]
SIDES = ("before", "after")


def text(comparison: Mapping[str, Any], width: int = 80) -> str:
    """Lines of at most ``width`` columns; ``comparison`` is what :func:`prun_review.comparing.compare`
    returns."""
    page = Page(width)
    for part in (_heads, _notes, _findings, _choices, _policy, _apart):
        part(comparison, page)
    return page.text()


def _heads(comparison: Row, page: Page) -> None:
    a, b = comparison["a"], comparison["b"]
    page.line(f"{a['run_id']} and {b['run_id']}", 0)
    found = comparison["findings"]
    page.line(f"findings: {', '.join(f'{len(found[k])} {h.lower()}' for k, h in HEADINGS.items())}", 0)
    page.section("RUNS")
    verdict, coverage = comparison["verdict"], comparison["coverage"]
    rows = [["started", a["started"], b["started"]]]
    rows += [["commit", a["commit"][:12] or "-", b["commit"][:12] or "-"]]
    rows += [["verdict", *(verdict[side]["outcome"] for side in SIDES)]]
    for key in coverage["before"]:
        values = [coverage[side][key] for side in SIDES]
        if values != [None, None]:
            rows.append([key.replace("_", " "), *("-" if v is None else f"{v:d}" for v in values)])
    page.table(["", *SIDES], rows)
    for side in SIDES:  # the whole line is too long for a cell
        page.line(f"{side}: {verdict[side]['line']}")


def _notes(comparison: Row, page: Page) -> None:
    if comparison["notes"]:
        page.section("MIND")
    for note in comparison["notes"]:
        page.line(note)


def _findings(comparison: Row, page: Page) -> None:
    for key, heading in HEADINGS.items():
        rows = comparison["findings"][key]
        if rows:
            page.section(f"{heading.upper()}: {len(rows)}")
            page.table(["severity", "place", "class", "held by", "title"], [_cells(_now(r)) for r in rows])
            for row in rows:
                _changes(key, row, page)


def _now(row: Row) -> Row:
    """The finding itself, as the later run holds it where both do."""
    found: Row = row.get("after") or row.get("finding") or row
    return found


def _cells(row: Row) -> list[str]:
    return [row["severity"], _place(row), row["class"], ", ".join(row["executors"]), row["title"]]


def _place(row: Row) -> str:
    return f"{row['file']}:{row['line']}" if row["file"] and row["line"] else row["file"] or "no place"


def _changes(key: str, row: Row, page: Page) -> None:
    """What is to be said of a finding beside its row in the table."""
    if key in ("new", "fixed"):
        return
    told = []
    if key == "unclear":
        told.append(f"held in the {'first' if row['run'] == 'a' else 'second'} run only: {row['why']}")
    for what in row.get("changes", ()):
        told.append(
            f"{what}: {row['before'][what] or 'nothing'} before, {row['after'][what] or 'nothing'} after"
        )
    why = row.get("why") or row.get("how") or ""
    if key != "unclear" and why not in ("", "same fingerprint"):
        before = row["before"]
        told.append(f"{why}; before: {before['severity']}: {before['title']} ({_place(before)})")
    for line in told:
        page.line(f"{_place(_now(row))}: {line}", 4)


def _choices(comparison: Row, page: Page) -> None:
    for choice in comparison["choices"]:
        page.section(f"CHOICE: {choice['case']}")
        page.line(choice["question"])
        before, after = (choice["winner"][side] or "none" for side in SIDES)
        page.line(f"winner: {before} before, {after} after")
        if choice["unchanged"]:
            page.line(f"unchanged: {', '.join(choice['unchanged'])}")
        for change in choice["changed"]:
            _changed(change, page)


def _changed(change: Row, page: Page) -> None:
    before, after = (", ".join(change[side]) for side in SIDES)
    sure = " to ".join("-" if c is None else f"{c:.2f}" for c in (change["confidence"][s] for s in SIDES))
    page.line(f"{change['executor']} went from {before} to {after} (confidence {sure})")
    if change["would_change_mind"]:
        page.line(f"said before what would change its mind: {change['would_change_mind']}", 4)
    if change["reasons"]:
        rows = [
            [r["option"], r["criterion"], *(_score(r[side]) for side in SIDES)] for r in change["reasons"]
        ]
        page.table(["option", "criterion", *SIDES], rows, indent=4)


def _score(said: Row | None) -> str:
    return f"{said['score']}: {said['reason']}" if said else "-"


def _policy(comparison: Row, page: Page) -> None:
    if comparison["policy"]:
        page.section("POLICY")
        rows = [[r["folder"], r["key"], *(_value(r[side]) for side in SIDES)] for r in comparison["policy"]]
        page.table(["folder", "key", *SIDES], rows)


def _value(value: str | None) -> str:
    return "not asked" if value is None else value or "-"


def _apart(comparison: Row, page: Page) -> None:
    rows: Sequence[Row] = comparison["not_comparable"]
    if rows:
        page.section(f"NOT COMPARABLE: {len(rows)}")
    for row in rows:
        page.line(f"{row['case']}: {row['why']} (findings: {row['before']} before, {row['after']} after)")
