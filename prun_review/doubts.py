"""What keeps a finding from being beside a change: its cause, and every doubt that is left.  Pure.

:mod:`prun_review.placement` says what the rules are.
"""

from __future__ import annotations

from prun_review.change import FileChange
from prun_review.gone import lost
from prun_review.quotes import MOST, touches
from prun_review.spots import Spot, Trees, mode_changed, stood, whole

MISSED = 10
"""Lines by which a cause may miss a hunk and still leave a doubt: reviewers count by hand."""
_LOOKED = 50
"""Lines of a finding that are searched for names that are gone."""
_MASK = "****"


def cause_of(spot: Spot, trees: Trees) -> tuple[bool, str]:
    """Whether a finding's cause is in the change; else why that stays in doubt, or an empty text."""
    cause, change = spot.finding.cause, trees.change
    if cause is None or not cause.file.strip():
        return False, ""
    where = cause.file if cause.line is None else f"{cause.file}:{cause.line}"
    files = [file for side in ("new", "old") if (file := change.at(cause.file, side))]
    if not files and not any(trees.source(side, cause.file) for side in ("new", "old")):
        return False, f"its cause {where} is no file that can be looked into"
    doubt = ""
    for file in files:
        name_is_gone = file.file.status == "renamed" and cause.file == file.old_path
        if whole(file) or not file.hunks or mode_changed(file) or name_is_gone:
            return True, ""
        if cause.line is None:
            doubt = f"its cause {where} is a changed file, without a line"
        elif cause.line in file.added or cause.line in file.deleted:
            return True, ""
        elif not _own(cause.line, file, spot):
            if _in_hunk(file, cause.line, 0):
                return True, ""
            doubt = doubt or _missed(cause.line, file, trees, where)
    return False, doubt


def _missed(line: int, file: FileChange, trees: Trees, where: str) -> str:
    """Why a line of a changed file that is in no hunk may mean one."""
    if _in_hunk(file, line, MISSED):
        return f"its cause {where} is beside a hunk"
    sources = trees.source("new", file.path), trees.source("old", file.old_path)
    there = any(source and 1 <= line <= source.count for source in sources)
    return "" if there else f"its cause {where} is no line of that file"


def _in_hunk(file: FileChange, line: int, more: int) -> bool:
    """Whether a line is in a hunk of either side, or misses one by so many ``more``."""
    return any(file.in_hunk(side, line - more, line + more) for side in ("new", "old"))


def _own(line: int, file: FileChange, spot: Spot) -> bool:
    """A cause that only says again where the finding stands says nothing."""
    return file is spot.file and spot.lines is not None and spot.lines[0] <= line <= spot.lines[1]


def doubt_of(spot: Spot, placement: str, trees: Trees) -> str:
    """Why it may be the change's doing after all; empty where it is proven to be none of it."""
    in_file = _in_file(spot, spot.file, placement, trees) if spot.file else ""
    return in_file or _linked(spot, trees) or _nameless(spot, trees)


def _in_file(spot: Spot, file: FileChange, placement: str, trees: Trees) -> str:
    """The doubts about a finding in a changed file."""
    if mode_changed(file):
        return "the change alters the mode of the file"
    if spot.quoted is None or spot.head is None:
        return "without a quote that is in the file it cannot be told from the change"
    if not stood(spot, trees):
        return "the base does not hold its quote at the same place"
    again = _again(spot, file, trees)
    if again:
        return again
    if touches(trees.headings(file), spot.head):
        return "it heads a block that the change edits"
    if placement == "context":
        return "it stands beside what the change edits"
    here = trees.source(spot.side, spot.finding.file or "")
    if here and _MASK in here.part(spot.quoted):
        return "what differs in a masked line cannot be told"
    return ""


def _again(spot: Spot, file: FileChange, trees: Trees) -> str:
    """Whether its quote stands on a changed line as well."""
    needle, lines = spot.needle, spot.lines
    if needle is None or lines is None:
        return ""
    for side, path, numbers, what in (
        ("new", file.path, file.added, "added"),
        ("old", file.old_path, file.deleted, "took away"),
    ):
        source = trees.source(side, path)
        spans = source.spans(needle.on(side), lines[0]) if source and needle.on(side) else []
        held = next((span for span in spans if touches(numbers, span)), None)
        if held:
            return f"its quote also stands on line {held[0]}, which the change {what}"
        if len(spans) >= MOST:
            return "its quote stands in too many places to tell which is meant"
    return ""


def _linked(spot: Spot, trees: Trees) -> str:
    """Whether a changed link leads to the file, or to a folder above it."""
    path = spot.finding.file or ""
    while path and path not in trees.leads:
        path = path.rpartition("/")[0]
    return f"the change makes {trees.leads[path]} lead to it" if path else ""


def _nameless(spot: Spot, trees: Trees) -> str:
    """Whether it speaks of a name that the change took away."""
    finding = spot.finding
    said = [finding.quote or ""]
    source = trees.source(spot.side, finding.file or "")
    if spot.lines and source:
        first, last = max(1, spot.lines[0]), min(spot.lines[1], spot.lines[0] + _LOOKED)
        said += source.lines[first - 1 : last]
    else:
        said.append(finding.title)
    if finding.rule is not None:  # a program names what it misses
        said += finding.title, finding.detail
    name = lost(trees.change).held("\n".join(said))
    return f"the change takes {name!r} away" if name else ""
