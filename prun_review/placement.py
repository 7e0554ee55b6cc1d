"""Where a finding stands in a change, and whether the change has anything to do with it.

The tree decides, never the reviewer: ``placement``, ``caused``, ``beside`` and ``mapped`` are made here
from the hunks and the texts of both sides, whatever a finding says of itself.

================  ===================================================================================
``added``         it touches a line that the change added (or any place of an added file, or of one
                  whose new content shows no lines, or no other ones: only masked text differs)
``deleted``       it stands on the old side and touches a line that is gone (or a file that is gone)
``outside``       its ``cause`` lies in a hunk of either side: ``caused``.  Also whatever else there is
``context``       it touches a hunk, but none of its changed lines
``pre-existing``  its quote stands in the base as well, at the line that the head's line comes from
================  ===================================================================================

A finding reaches over its lines and over all lines of its quote.  One on the old side whose lines are
still there is placed by where they are in the head; ``mapped`` says where.

``beside`` lets a blocker be reported only, so it needs a proof; in doubt a finding gates.  It is True
for a finding that is not added, deleted or caused, that the tree holds, and that none of these doubts
meets:

=================  ==================================================================================
in any file        its quote, its lines or its title (a title where nothing else tells, or a program's
                   with its message) hold a name that the change takes away: see :mod:`.gone`
..                 a symbolic link of the change leads to it, or to a folder above it
its cause ...      ... is no file of either tree, also by a guess; names a changed file without a line,
                   or with one that is not there; misses a hunk by no more than ten lines
in a changed file  no quote that is in the file; or the base does not hold it at the same place
..                 the same text stands on a changed line too: who counts badly may mean that one
..                 it is ``context``: what stands there and is called a defect of the change may be one
..                 it heads a block in which any line was added or deleted: see :mod:`.blocks`
..                 the mode of the file changed: what was only read may now be run
..                 a part of its lines is masked: what differs there shows in no hunk
=================  ==================================================================================

So these stay beside: a file that is merely renamed, code of an edited file that is far from the edits,
and files that the change leaves alone.  A cause in a changed file without hunks (renamed, another mode,
binary, only masked text), or in one that is gone, is in the change whatever its line.  One that repeats
the finding's own place says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from prun_review.change import Change
from prun_review.doubts import cause_of, doubt_of
from prun_review.model import Finding, Findings, Place
from prun_review.quotes import touches
from prun_review.spots import MIN_MOVED, Spot, Trees, spot_of, stood, whole

if TYPE_CHECKING:  # the ground stands below the ports: it knows their types, never their code
    from prun_review.ports import Reader


def place(findings: Iterable[Finding], change: Change, *, read: Reader, read_base: Reader) -> Findings:
    """The same findings, in the same order, each with what this module sets.

    They are grounded, so that ``file`` and ``line`` are the tree's and ``side`` says which tree.
    ``read`` is the head, ``read_base`` the merge base.  Raises nothing of its own.
    """
    trees = Trees(change, read, read_base)
    return Findings(_placed(finding, trees) for finding in findings)


def _placed(finding: Finding, trees: Trees) -> Finding:
    bare = replace(finding, placement="", caused=False, beside=False, mapped=None)
    if not finding.file:
        return bare
    spot = spot_of(bare, trees)
    caused, unsure = cause_of(spot, trees)
    placement = _placement(spot, trees, caused=caused)
    note, beside = "", False
    if placement == "added":
        note = _moved(spot, trees)
    elif placement != "deleted" and not caused and bare.grounding not in ("ungrounded", "unchecked"):
        note = unsure or doubt_of(spot, placement, trees)
        beside = not note
    return replace(
        bare,
        placement=placement,
        caused=caused,
        beside=beside,
        mapped=_mapped(bare, spot, trees),
        note="; ".join(dict.fromkeys(n for n in (bare.note, note) if n)),
    )


def _placement(spot: Spot, trees: Trees, *, caused: bool) -> str:
    file = spot.file
    if file is not None:
        if whole(file):
            return "deleted" if spot.side == "old" else "added"
        if spot.lines and spot.side == "old" and touches(file.deleted, spot.lines):
            return "deleted"
        if spot.head and touches(file.added, spot.head):
            return "added"
    if caused:
        return "outside"
    if file is not None and spot.head and file.in_hunk("new", *spot.head):
        return "context"
    return "pre-existing" if stood(spot, trees) else "outside"


def _mapped(finding: Finding, spot: Spot, trees: Trees) -> Place | None:
    """The place in the head of a finding on the old side; a file that is gone has none."""
    if spot.side == "new" or (spot.file and spot.file.file.status == "deleted"):
        return None
    line, last = finding.line, finding.end_line
    if spot.file is not None:
        instead = trees.instead(spot.file)
        line, last = (n and instead.get(n, spot.file.nearest_new(n)) for n in (line, last))
    return Place(trees.change.new_path(finding.file or ""), line, last)


def _moved(spot: Spot, trees: Trees) -> str:
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
