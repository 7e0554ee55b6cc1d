"""Where a finding stands in a change, and whether the change has anything to do with it.

The tree decides, never the reviewer: ``placement``, ``caused``, ``beside`` and ``mapped`` are made here
from the hunks and the texts of both sides, whatever a finding says of itself.

================  ===================================================================================
``added``         it touches a line that the change added (or any place of an added file, or of one
                  whose new content shows no lines)
``deleted``       it stands on the old side and touches a line that is gone (or a file that is gone)
``outside``       its ``cause`` lies in a hunk of either side: ``caused``.  Also whatever else there is
``context``       it touches a hunk, but none of its changed lines
``pre-existing``  its quote stands in the base as well, at the line that the head's line comes from
================  ===================================================================================

A finding reaches over its lines and over all lines of its quote.  One on the old side whose lines are
still there is placed by where they are in the head; ``mapped`` says where.

``beside`` lets a blocker be reported only, so it needs a proof; in doubt a finding gates.  It is True
for a finding in an unchanged file, and for one in a changed file (not added, deleted or caused) whose
quote stands in the tree.  These doubts keep it False:

* the same text stands on a changed line of the file too: who counts lines badly may mean that one;
* its cause names a changed file without a line, or a line that misses a hunk by no more than three;
* code is gone near it.  What a change takes away has no line in the head, so that a reviewer can only
  point to what is left: the lines around it, or the heading of a block (told by indentation) that it was
  taken from.  A finding there is about the change until somebody says otherwise.  Lines that others
  replace are not gone: who means these can point to the new ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from prun_review.change import READABLE, Change, FileChange
from prun_review.gone import Gone, missing, replaced
from prun_review.model import Finding, Findings, Place
from prun_review.quotes import MOST, Needle, Source, Span, needles, touches

if TYPE_CHECKING:  # the ground stands below the ports: it knows their types, never their code
    from prun_review.ports import Reader

MISSED = 3
"""Lines by which a cause may miss a hunk and still leave a doubt: reviewers count by hand."""
MIN_MOVED = 4
"""Characters that a line needs to be told again elsewhere in the change."""

PROVEN = ("exact", "moved")
"""Groundings of a quote that the tree holds."""


def place(findings: Iterable[Finding], change: Change, *, read: Reader, read_base: Reader) -> Findings:
    """The same findings, in the same order, each with what this module sets.

    They are grounded, so that ``file`` and ``line`` are the tree's and ``side`` says which tree.
    ``read`` is the head, ``read_base`` the merge base.  Raises nothing of its own.
    """
    trees = _Trees(change, read, read_base)
    return Findings(_placed(finding, trees) for finding in findings)


def _placed(finding: Finding, trees: _Trees) -> Finding:
    bare = replace(finding, placement="", caused=False, beside=False, mapped=None)
    if not finding.file:
        return bare
    spot = _spot(bare, trees)
    caused, unsure = _cause(bare, spot, trees.change)
    placement = _placement(spot, trees, caused=caused)
    note, beside = "", False
    if placement == "added":
        note = _moved(spot, trees)
    elif placement != "deleted" and not caused and bare.grounding not in ("ungrounded", "unchecked"):
        note = unsure or _doubt(spot, trees)
        beside = not note
    return replace(
        bare,
        placement=placement,
        caused=caused,
        beside=beside,
        mapped=_mapped(bare, spot, trees),
        note="; ".join(dict.fromkeys(n for n in (bare.note, note) if n)),
    )


# --- both trees -------------------------------------------------------------------------------


@dataclass
class _Trees:
    """Both sides of a change, each file read once."""

    change: Change
    read: Reader
    read_base: Reader
    _sources: dict[tuple[str, str], Source | None] = field(default_factory=dict)
    _gone: dict[str, Gone] = field(default_factory=dict)
    _instead: dict[str, dict[int, int]] = field(default_factory=dict)

    def source(self, side: str, path: str) -> Source | None:
        """The text of a file; None where it cannot be read."""
        if not path:
            return None
        key = (side, path)
        if key not in self._sources:
            lines = (self.read_base if side == "old" else self.read)(path)
            self._sources[key] = Source(lines) if isinstance(lines, tuple) else None
        return self._sources[key]

    def gone(self, file: FileChange) -> Gone:
        """What of a file is gone without replacement."""
        if file.path not in self._gone:
            source = self.source("new", file.path)
            self._gone[file.path] = missing(file, source.lines if source else ())
        return self._gone[file.path]

    def instead(self, file: FileChange) -> dict[int, int]:
        """Which line of the head stands in the place of each line that is gone, where others came."""
        if file.path not in self._instead:
            self._instead[file.path] = dict(replaced(file))
        return self._instead[file.path]

    @cached_property
    def taken(self) -> dict[str, tuple[str, int]]:
        """Where each line that the change takes away stood first."""
        found: dict[str, tuple[str, int]] = {}
        for file in self.change.files:
            for _, rows in file.numbered():
                for old, new, text in rows:
                    if new is None and old is not None and len(text[1:].strip()) >= MIN_MOVED:
                        found.setdefault(text[1:], (file.old_path, old))
        return found


@dataclass(frozen=True)
class _Spot:
    """Where a finding stands: its side, and what of it the rules ask for."""

    finding: Finding
    side: str
    file: FileChange | None
    """None: the change leaves the file alone."""
    lines: Span | None
    """All lines that it reaches over, on its side; None where it names none."""
    quoted: Span | None
    """The lines that prove it: those of its quote; of a program's finding those that it names."""
    needle: Needle | None
    """Its quote, as it stands in the tree."""

    @cached_property
    def head(self) -> Span | None:
        """Its lines in the head; None where they are not there, or not told."""
        if self.lines is None or self.file is None or self.side == "new":
            return self.lines
        return self.file.nearest_new(self.lines[0]), self.file.nearest_new(self.lines[1])


def _spot(finding: Finding, trees: _Trees) -> _Spot:
    path = finding.file or ""
    side = finding.side if finding.side in ("new", "old") else "new"
    file = trees.change.at(path, side)
    if file is None and (file := trees.change.at(path, "old" if side == "new" else "new")):
        side = "old" if side == "new" else "new"  # only there is a file of that name
    if finding.line is None:
        return _Spot(finding, side, file, None, None, None)
    lines = (finding.line, max(finding.line, finding.end_line or 0))
    source = trees.source(side, path)
    for needle in needles(finding.quote, diff=True) if source else ():
        text = needle.on(side)
        spans = source.spans(text, lines[0]) if source and text else []
        over = [span for span in spans if span[0] <= lines[1] and lines[0] <= span[1]]
        if over:
            quoted = over[0][0], max(span[1] for span in over)
            reach = min(lines[0], quoted[0]), max(lines[1], quoted[1])
            return _Spot(finding, side, file, reach, quoted, needle)
    counted = lines if finding.rule is not None and finding.grounding == "line-only" else None
    return _Spot(finding, side, file, lines, counted, None)


# --- placement --------------------------------------------------------------------------------


def _placement(spot: _Spot, trees: _Trees, *, caused: bool) -> str:
    file = spot.file
    if file is not None:
        if _whole(file):
            return "deleted" if spot.side == "old" else "added"
        if spot.lines and spot.side == "old" and touches(file.deleted, spot.lines):
            return "deleted"
        if spot.head and touches(file.added, spot.head):
            return "added"
    if caused:
        return "outside"
    if file is not None and spot.head and file.in_hunk("new", *spot.head):
        return "context"
    return "pre-existing" if _stood(spot, trees) else "outside"


def _whole(file: FileChange) -> bool:
    """Whether all of a file is the change: it is new, gone, or has no lines to tell apart."""
    unseen = file.file.kind not in READABLE and file.file.kind != "mode"
    return file.file.status in ("added", "deleted") or unseen


def _stood(spot: _Spot, trees: _Trees) -> bool:
    """Whether what it quotes stands in the base where the lines of the head come from."""
    path = spot.finding.file or ""
    if spot.quoted is None or spot.finding.grounding not in (*PROVEN, "line-only"):
        return False
    if spot.side == "old":  # it was found there, and its lines are still in the head
        return True
    file = spot.file
    here = trees.source("new", path)
    then = trees.source("old", file.old_path if file else path)
    first, last = (n if file is None else file.to_old(n) for n in spot.quoted)
    if here is None or then is None or first is None or last is None:
        return False
    return here.part(spot.quoted) == then.part((first, last))


def _mapped(finding: Finding, spot: _Spot, trees: _Trees) -> Place | None:
    """The place in the head of a finding on the old side; a file that is gone has none."""
    if spot.side == "new" or (spot.file and spot.file.file.status == "deleted"):
        return None
    line, last = finding.line, finding.end_line
    if spot.file is not None:
        instead = trees.instead(spot.file)
        line, last = (n and instead.get(n, spot.file.nearest_new(n)) for n in (line, last))
    return Place(trees.change.new_path(finding.file or ""), line, last)


def _moved(spot: _Spot, trees: _Trees) -> str:
    """A note where every added line that it touches was taken away elsewhere, unchanged."""
    file, source = spot.file, trees.source("new", spot.finding.file or "")
    if file is None or source is None or spot.head is None or spot.side == "old":
        return ""
    first, last = spot.head
    touched = [source.lines[n - 1] for n in sorted(file.added) if first <= n <= min(last, source.count)]
    told = [trees.taken.get(line) for line in touched if len(line.strip()) >= MIN_MOVED]
    if not told or None in told:
        return ""
    path, line = told[0] or ("", 0)
    return f"moved: the change takes the same away at {path}:{line}"


# --- cause ------------------------------------------------------------------------------------


def _cause(finding: Finding, spot: _Spot, change: Change) -> tuple[bool, str]:
    """Whether its cause is in the change; else why that stays in doubt, or an empty text."""
    cause = finding.cause
    if cause is None or not cause.file:
        return False, ""
    where = cause.file if cause.line is None else f"{cause.file}:{cause.line}"
    doubt = ""
    for file in filter(None, (change.at(cause.file, side) for side in ("new", "old"))):
        name_is_gone = file.file.status == "renamed" and cause.file == file.old_path
        if _whole(file) or not file.hunks or name_is_gone:
            return True, ""
        if cause.line is None:
            doubt = f"its cause {where} is a changed file, without a line"
        elif cause.line in file.added or cause.line in file.deleted:
            return True, ""
        elif not _own(cause.line, file, spot):
            if _in_hunk(file, cause.line, 0):
                return True, ""
            doubt = doubt or f"its cause {where} is beside a hunk" * _in_hunk(file, cause.line, MISSED)
    return False, doubt


def _in_hunk(file: FileChange, line: int, more: int) -> bool:
    """Whether a line is in a hunk of either side, or misses one by so many ``more``."""
    return any(file.in_hunk(side, line - more, line + more) for side in ("new", "old"))


def _own(line: int, file: FileChange, spot: _Spot) -> bool:
    """A cause that only says again where the finding stands says nothing."""
    return file is spot.file and spot.lines is not None and spot.lines[0] <= line <= spot.lines[1]


# --- doubt ------------------------------------------------------------------------------------


def _doubt(spot: _Spot, trees: _Trees) -> str:
    """Why it may be the change's doing after all; empty where it is proven to be none of it."""
    if spot.file is None:
        return ""
    if spot.quoted is None or spot.head is None:
        return "without a quote that is in the file it cannot be told from the change"
    if not _stood(spot, trees):
        return "the base does not hold its quote at the same place"
    again = _again(spot, trees)
    if again:
        return again
    gone = trees.gone(spot.file)
    near = gone.near(spot.head)
    return f"the change takes code away {near}" if near else ""


def _again(spot: _Spot, trees: _Trees) -> str:
    """Whether its quote stands on a changed line as well."""
    file, needle, lines = spot.file, spot.needle, spot.lines
    if file is None or needle is None or lines is None:
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
