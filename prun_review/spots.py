"""Both sides of a change, and where a finding stands in them.  Pure."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from prun_review.blocks import headings
from prun_review.change import READABLE, Change, FileChange
from prun_review.gone import replaced
from prun_review.model import Finding
from prun_review.quotes import Needle, Source, Span, needles

if TYPE_CHECKING:  # the ground stands below the ports: it knows their types, never their code
    from prun_review.ports import Reader

MIN_MOVED = 4
"""Characters that a line needs to be told again elsewhere in the change."""
PROVEN = ("exact", "moved")
"""Groundings of a quote that the tree holds."""


@dataclass
class Trees:
    """Both sides of a change, each file read once."""

    change: Change
    read: Reader
    read_base: Reader
    _sources: dict[tuple[str, str], Source | None] = field(default_factory=dict)
    _headings: dict[str, frozenset[int]] = field(default_factory=dict)
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

    def headings(self, file: FileChange) -> frozenset[int]:
        """The lines of the head that head a block in which the change added or deleted a line."""
        if file.path not in self._headings:
            new, old = self.source("new", file.path), self.source("old", file.old_path)
            found = set(headings(new.lines, file.added)) if new else set()
            for number in headings(old.lines, file.deleted) if old else ():
                found.add(file.nearest_new(number))
            self._headings[file.path] = frozenset(found)
        return self._headings[file.path]

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

    @cached_property
    def leads(self) -> dict[str, str]:
        """Where each symbolic link newly leads, with the name of the link."""
        found: dict[str, str] = {}
        for file in self.change.files:
            if file.file.kind == "link":
                folder = posixpath.dirname(file.path)
                for target in (line[1:] for hunk in file.hunks for line in hunk.lines if line[:1] == "+"):
                    found[posixpath.normpath(posixpath.join(folder, target))] = file.path
        return found


@dataclass(frozen=True)
class Spot:
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


def spot_of(finding: Finding, trees: Trees) -> Spot:
    path = finding.file or ""
    side = finding.side if finding.side in ("new", "old") else "new"
    file = trees.change.at(path, side)
    if file is None and (file := trees.change.at(path, "old" if side == "new" else "new")):
        side = "old" if side == "new" else "new"  # only there is a file of that name
    if finding.line is None:
        return Spot(finding, side, file, None, None, None)
    lines = (finding.line, max(finding.line, finding.end_line or 0))
    source = trees.source(side, path)
    for needle in needles(finding.quote, diff=True) if source else ():
        text = needle.on(side)
        spans = source.spans(text, lines[0]) if source and text else []
        over = [span for span in spans if span[0] <= lines[1] and lines[0] <= span[1]]
        if over:
            quoted = over[0][0], max(span[1] for span in over)
            reach = min(lines[0], quoted[0]), max(lines[1], quoted[1])
            return Spot(finding, side, file, reach, quoted, needle)
    counted = lines if finding.rule is not None and finding.grounding == "line-only" else None
    return Spot(finding, side, file, lines, counted, None)


def whole(file: FileChange) -> bool:
    """Whether all of a file is the change: it is new, gone, or has no lines to tell apart.

    A text without a hunk is one of which only masked lines differ, unless it is merely renamed.
    """
    if file.file.kind == "mode":
        return False
    if file.file.status in ("added", "deleted") or file.file.kind not in READABLE:
        return True
    ids = file.identity.split()[1::2]
    same = len(set(ids)) == 1 if ids else file.file.status == "renamed"
    return not file.hunks and not same


def mode_changed(file: FileChange) -> bool:
    """Whether it may be run, or is a link, on one side only."""
    modes = file.identity.split()[::2]
    return file.file.kind == "mode" or (len(modes) == 2 and modes[0] != modes[1])


def stood(spot: Spot, trees: Trees) -> bool:
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
