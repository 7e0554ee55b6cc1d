"""Patches of several executors for one case side by side, as text and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from prun_review.patchcompare import ALONE, SAME, Compared, Meeting, Side
from prun_review.renderers.escape import code, markdown
from prun_review.renderers.layout import Page
from prun_review.renderers.markup import page, table, title
from prun_review.written import Check

MOST = 50
"""Places listed of one file."""


def text(compared: Compared, case: str, width: int = 80) -> str:
    """A page of ``width`` columns, at least 40."""
    out = Page(max(width, 40))
    put(compared, case, out)
    return out.text()


def put(compared: Compared, case: str, out: Page) -> None:
    """The same on a page that holds more."""
    out.short(case, 0, "PATCHES  ")
    out.table(["executor", "files", "added", "deleted", "verified", "breaches"], _overview(compared))
    out.section(f"FILES: {_shared(compared)}")
    if compared.files:
        names = [side.name for side in compared.sides]
        out.table(["file", *names], [[p, *(s or "-" for s in row)] for p, row in compared.files.items()])
    if rows := _checks(compared):
        out.section("VERIFY")
        out.table(["command", *(side.name for side in compared.sides)], rows)
    if compared.meetings or compared.note:
        out.section("WHERE THEY AGREE")
    for meeting in compared.meetings:
        out.line(f"{meeting.path}: {meeting.left} and {meeting.right}: {_agreement(meeting)}")
    if compared.note:
        out.line(f"lines are not compared: {compared.note}")
    if taking := _taking(compared):
        out.section("TO TAKE ONE: git apply")
        for name, place in taking:
            out.line(f"{name}: {place}", limit=1000)
    if found := _breaches(compared):
        out.section("NOT ALLOWED")
        for told in found:
            out.line(told, limit=800)


def render(compared: Compared, case: str) -> str:
    """The same as Markdown."""
    return page(lines(compared, case))


def lines(compared: Compared, case: str, level: int = 1) -> Iterator[str]:
    """The same as lines of a page that holds more, its heading of this level."""
    names = [markdown(side.name) for side in compared.sides]
    yield from title(f"Patches for {code(case)}", level)
    header = ["Executor", "Files", "Added", "Deleted", "Verified", "Breaches"]
    yield from table(header, [[markdown(cell) for cell in row] for row in _overview(compared)])
    yield from title("Files", level + 1)
    yield f"{_shared(compared)}."
    if compared.files:
        yield ""
        rows = [[code(path), *(state or "-" for state in row)] for path, row in compared.files.items()]
        yield from table(["File", *names], rows)
    if checks := _checks(compared):
        yield from title("Verify commands", level + 1)
        yield from table(["Command", *names], [[code(row[0]), *map(markdown, row[1:])] for row in checks])
    if found := _breaches(compared):
        yield from title("Not allowed", level + 1)
        yield from (f"- {markdown(told)}" for told in found)
    if taking := _taking(compared):
        yield from title("To take one", level + 1)
        yield from (f"- {markdown(name)}: {code(f'git apply {place}')}" for name, place in taking)
    if len(compared.sides) == 1:
        return
    yield from title("Where they agree", level + 1)
    if compared.note:
        yield f"Lines are not compared: {compared.note}."
    elif not compared.meetings:
        yield "No file is touched by two of them."
    else:
        header = ["File", "Between", "Agreement"]
        rows = [[code(m.path), markdown(f"{m.left} and {m.right}"), _agreement(m)] for m in compared.meetings]
        yield from table(header, rows)


def _taking(compared: Compared) -> list[tuple[str, str]]:
    """Who wrote each patch against which nothing speaks, and where it lies."""
    good = [
        s for s in compared.sides if s.patch.files and not s.patch.breaches and all(c.ok for c in s.checks)
    ]
    return [(side.name, side.place) for side in good if side.place]


def _breaches(compared: Compared) -> list[str]:
    return [
        f"{side.name}: [{breach.code}] {breach.path}: {breach.text}"
        for side in compared.sides
        for breach in side.patch.breaches
    ][:MOST]


def _overview(compared: Compared) -> list[list[str]]:
    return [
        [
            side.name,
            str(len(side.patch.files)),
            str(sum(file.added for file in side.patch.files)),
            str(sum(file.deleted for file in side.patch.files)),
            _verified(side),
            str(len(side.patch.breaches)),
        ]
        for side in compared.sides
    ]


def _verified(side: Side) -> str:
    good = sum(check.ok for check in side.checks)
    return f"{good} of {len(side.checks)}" if side.checks else "nothing was run"


def _shared(compared: Compared) -> str:
    n, of = len(compared.shared), len(compared.files)
    if len(compared.sides) == 1:
        return f"{of} touched"
    return f"{n} of {of} touched by all {len(compared.sides)}"


def _checks(compared: Compared) -> list[list[str]]:
    commands = dict.fromkeys(check.command for side in compared.sides for check in side.checks)
    return [[command, *(_result(side, command) for side in compared.sides)] for command in commands]


def _result(side: Side, command: str) -> str:
    mine = [check for check in side.checks if check.command == command]
    return _said(mine[-1]) if mine else "not run"


def _said(check: Check) -> str:
    if check.ok:
        return "passed"
    if check.ended_by:
        return f"failed ({check.ended_by})"
    return "did not start" if check.code is None else f"failed (exit {check.code})"


def _agreement(meeting: Meeting) -> str:
    if meeting.outcome == SAME:
        return "the same change"
    told = []
    if meeting.same:
        told.append(f"same at {_places(meeting.same)}")
    if meeting.differ:
        told.append(f"differ at {_places(meeting.differ)}")
    elif meeting.outcome == ALONE:
        told.append("other lines" if not meeting.same else "other lines beside")
    return "; ".join(told)


def _places(places: tuple[str, ...]) -> str:
    more = f" and {len(places) - MOST} more" if len(places) > MOST else ""
    return ", ".join(places[:MOST]) + more
