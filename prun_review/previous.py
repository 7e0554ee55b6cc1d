"""Blockers of earlier runs on the same head: to run again until the reviewers say nothing is no way out.

A head is the same when reviewed tree and merge base are.  What a run was itself carrying is carried
on, so a chain of re-runs loses nothing; with ``latest`` every stored run on this head counts, so a run
in between that carried nothing loses nothing either.  What cannot be known of them, because one is
still written or there are more than are looked at, forbids green.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from prun_review import document, rundir
from prun_review.changegate import again, parts
from prun_review.errors import RunDirError
from prun_review.findingrows import group_of
from prun_review.folding import Same, level
from prun_review.model import Carried, Reason, RunFacts
from prun_review.runview import DOCUMENT, RunView
from prun_review.verdict import worst

LATEST = "latest"
"""The word for all stored runs on this head; any other names one run."""
LOOK = 100
"""Stored runs that are looked at, the newest first; folders in which no run began are not counted."""


class Earlier(NamedTuple):
    """What is known of earlier runs on this head."""

    carried: tuple[Carried, ...] = ()
    notes: tuple[str, ...] = ()
    """For people."""
    doubts: tuple[Reason, ...] = ()
    """What could not be looked at, and may hold a blocker."""


def carried(
    root: Path,
    which: str,
    *,
    tree: str,
    merge_base: str = "",
    here: Path | None = None,
    same: Same | None = None,
) -> Earlier:
    """What of earlier runs speaks against this head still.

    ``which`` is a run (id, path or report folder) or :data:`LATEST`; ``tree`` and ``merge_base`` are
    the SHAs of the reviewed tree and of what it is compared with (empty: with nothing).  ``here`` is
    this run's own directory, which is not looked at.  Whether this run's own findings say the same is
    for the gate to judge.  ``RunDirError`` for a run that cannot be read, or a named one that is still
    written.
    """
    notes: list[str] = []
    doubts: list[Reason] = []
    found: list[Carried] = []
    runs = 0
    for path, view in _runs(root, which, here, doubts, (tree, merge_base)):
        stored = view.vouched_document()
        facts = _facts(stored, path)
        if tree and (facts.revision.tree, facts.revision.merge_base) == (tree, merge_base):
            runs += 1
            _add(found, _blockers(path, view, stored, facts, same))
        elif which != LATEST:
            notes.append(f"run {path.name} reviewed another head: none of its blockers is carried over")
    if which == LATEST and not runs and not doubts:
        notes.append("no stored run is on this head: no blocker is carried over")
    return Earlier(tuple(found), tuple(notes), tuple(doubts))


def _runs(
    root: Path, which: str, here: Path | None, doubts: list[Reason], head: tuple[str, str]
) -> Iterator[tuple[Path, RunView]]:
    if which != LATEST:
        path = rundir.find(root, which)
        view = RunView(path)
        view.refuse_live()
        yield path, view
        return
    looked = 0
    for path in rundir.stored(root):
        if path == here:
            continue
        view = RunView(path)
        if view.dispatcher_alive():
            doubts += _running(path, view, head)
        elif (path / DOCUMENT).exists():  # without a document it never began
            if looked == LOOK:
                text = f"there are more than {LOOK} stored runs, and a blocker may stand in one that was not"
                remedy = "remove old ones from .prun/runs"
                doubts.append(Reason("previous-unknown", f"{text} looked at: {remedy}"))
                return
            looked += 1
            yield path, view


def _running(path: Path, view: RunView, head: tuple[str, str]) -> Iterator[Reason]:
    """A doubt, unless the run that is still written says that it reviews another head."""
    if (path / DOCUMENT).exists():
        with suppress(RunDirError):  # it may be in the middle of writing it
            revision = _facts(view.vouched_document(), path).revision
            if (revision.tree, revision.merge_base) != head:
                return
    text = f"run {path.name} is still being written, and what it will find is not known"
    yield Reason("previous-running", f"{text}: run again when it has ended")


def _blockers(
    path: Path, view: RunView, stored: Mapping[str, Any], facts: RunFacts, same: Same | None
) -> Iterator[Carried]:
    """What blocked there, and what that run was carrying itself."""
    if stored.get("status") == "started":  # it was killed: what it had been answered counts all the same
        plan = view.plan()
        units = plan.units if plan else ()
        results = [result for unit in units if (result := view.result_of(unit))]
        examination = view.load().examination
        stored = document.build(facts, plan, results, same=same, examination=examination) if plan else {}
    for row in stored.get("findings") or ():
        policy = facts.folders.get(row["folder"], facts.gate)
        if row["blocking"] and policy.mode != "report":
            yield _carried(path, row)
    yield from facts.carried


def _carried(path: Path, row: Mapping[str, Any]) -> Carried:
    try:
        group = group_of(row)
    except ValueError as error:
        raise _unreadable(path, error) from error
    line = f":{row['line']}" if row["line"] else ""
    return Carried(
        path.name,
        row["id"],
        row["severity"],
        row["title"],
        f"{row['file']}{line}" if row["file"] else "",
        row.get("outcome") or "INCOMPLETE",
        row["folder"],
        tuple(member.finding for member in group.members),
        group.case,
        group.kind,
        group.examined,
    )


def _add(found: list[Carried], more: Iterable[Carried]) -> None:
    """Each defect once: what a newer run holds at least as hard, and for as severe, is not told again."""
    for one in more:
        newer = [c for c in found if worst((c.outcome, one.outcome)) == c.outcome]
        newer = [c for c in newer if level(c.severity) >= level(one.severity)]
        if not all(any(again(part, c.members) for c in newer) for part in parts(one)):
            found.append(one)


def _facts(stored: Mapping[str, Any], path: Path) -> RunFacts:
    try:
        return document.facts_of(stored)
    except ValueError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: ValueError) -> RunDirError:
    return RunDirError(
        f"run {path.name} cannot be read: {error}",
        place=str(path / DOCUMENT),
        remedy="name another run with --prun-previous, or remove this one",
    )
