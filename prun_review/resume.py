"""Taking over what earlier runs have answered already: the valid results of the same fingerprints.

Whatever an earlier run left is looked at as a reader does: a result counts only where that run's own
ledger vouches for it.  A run that was killed has no end and is good to take from, because a result is
stored only after the snapshot was found unchanged; a run that ended and says that its snapshot or the
repository was changed is good for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prun_review import __version__, document, rundir
from prun_review.errors import RunDirError
from prun_review.ledger import LedgerReader
from prun_review.model import Plan, Result, Unit
from prun_review.rundir import RunDir, RunView
from prun_review.runview import DOCUMENT, LEDGER, WAVES

LATEST = "latest"
"""The word for all stored runs, the newest first; any other names one run."""


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What a run does not need to ask again."""

    results: tuple[Result, ...] = ()
    """Valid ones, in plan order, stored in the new run already."""
    runs: tuple[str, ...] = ()
    """Ids of the runs that they come from, the newest first."""
    notes: tuple[str, ...] = ()
    """Runs, and numbers of results, that were passed over, and why; for people."""


Again = Callable[[Result, Unit], Result]
"""Looks a result's findings up in what is reviewed now: files that no fingerprint speaks of may differ."""


@dataclass
class _Search:
    """What is looked for and what was found so far."""

    missing: dict[str, Unit]
    """By slug."""
    again: Again
    found: dict[str, tuple[Result, _Source]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def look(self, source: _Source) -> None:
        """Take what this run has of what is still missing."""
        refused: list[str] = []
        for slug in self.missing.keys() & source.events.keys():
            try:
                result = source.view.result_of(self.missing[slug])
                if result is not None and result.ok:
                    source.view.patch_of(result)
            except RunDirError as error:
                refused.append(f"{slug}: {error.message}")
                continue
            if result is not None and result.ok:
                result = self.again(result, self.missing[slug])
            if result is not None and result.ok:
                self.found[slug] = (result, source)
                del self.missing[slug]
        if refused:
            more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
            self.notes.append(f"run {source.id}: not taken over: {min(refused)}{more}")


class _Source:
    """A stored run that may be taken from; ``RunDirError`` where it may not."""

    def __init__(self, path: Path) -> None:
        self.id = path.name
        self.view = RunView(path)
        self.view.refuse_live()
        stored = self.view.vouched_document()
        self.events: dict[str, list[dict[str, Any]]] = {}
        """Ledger events by the slug of their unit."""
        self.older: tuple[str, ...] = ()
        """The runs that it was itself resumed from."""
        changed = _integrity(stored, path)
        for event in LedgerReader(path / LEDGER).new():
            if event["event"] == "document":
                changed += event.get("integrity") or []
            elif event["event"] == "integrity":
                changed.append(str(event.get("code")))
            elif event["event"] == "resumed-from":
                self.older += tuple(map(str, event.get("runs") or ()))
            elif "slug" in event:
                self.events.setdefault(str(event["slug"]), []).append(event)
        if changed:
            raise RunDirError(
                f"run {self.id} says that what it reviewed was changed meanwhile ({changed[0]}): nothing "
                "of it can be relied on",
                place=str(path / DOCUMENT),
                remedy="name another run, or ask everything again",
            )


def _integrity(stored: Mapping[str, Any], path: Path) -> list[str]:
    """Codes of what happened to the snapshot and the repository; ``RunDirError`` for another version's
    document: its answers were judged by other rules."""
    try:
        facts = document.facts_of(stored)
    except ValueError as error:
        raise RunDirError(
            f"its facts cannot be read: {error}", place=str(path / DOCUMENT), remedy="ask everything again"
        ) from None
    if facts.version != __version__:
        raise RunDirError(
            f"made by prun_review {facts.version or 'of unknown version'}, and this is {__version__}",
            place=str(path / DOCUMENT),
            remedy="resume with the version that made it, or ask everything again",
        )
    return [reason.code for reason in facts.integrity if reason.outcome != "PASS"]


def _as_it_is(result: Result, unit: Unit) -> Result:
    return result


def take_over(root: Path, plan: Plan, store: RunDir, wanted: str, again: Again = _as_it_is) -> TakenOver:
    """Store in ``store`` the valid results that earlier runs have of the units of ``plan``.

    For each unit the newest one counts, of the same id, slug, executor, repeat and fingerprint.
    ``wanted``: :data:`LATEST`, or a run (id, path or report folder), which stands for itself and the
    runs that it was resumed from.  ``again`` judges each once more: what it makes invalid is not taken.
    ``RunDirError``: a named run cannot be taken from, the run to resume
    is still being written, or the new one cannot be.
    """
    search = _Search({unit.slug: unit for unit in plan.units if unit.fingerprint}, again)
    sources = _stored(root, store, search) if wanted == LATEST else _named(root, wanted, search)
    for source in sources:
        search.look(source)
        if not search.missing:
            break
    taken = [(unit, *search.found[unit.slug]) for unit in plan.units if unit.slug in search.found]
    runs = tuple(sorted({source.id for _, _, source in taken}, reverse=True))
    if runs:
        store.append("resumed-from", runs=list(runs))
    for unit, result, source in taken:
        store.adopt(unit, result, source.view, _attempts(source.events[unit.slug]))
    return TakenOver(tuple(result for _, result, _ in taken), runs, tuple(search.notes))


def _stored(root: Path, store: RunDir, search: _Search) -> Iterator[_Source]:
    """The runs with results, at most ``HISTORY`` of them: many kills in a row leave many without."""
    newer, newest, count = True, True, 0
    for path in rundir.stored(root):
        if path == store.path:
            newer = False
            continue
        view = RunView(path)
        if view.dispatcher_alive():
            if newest and not newer:  # what began after us does not wait for us to wait for it
                view.refuse_live()
            search.notes.append(f"run {path.name} is still being written: passed over")
            continue
        newest = False
        if (path / WAVES).exists() or not next(path.glob("units/*/result.json"), None):
            continue
        try:
            source = _Source(path)
        except RunDirError as error:
            search.notes.append(f"run {path.name} is passed over: {error.message}")
            continue
        yield source
        count += 1
        if count == rundir.HISTORY:
            return


def _named(root: Path, wanted: str, search: _Search) -> Iterator[_Source]:
    """That run, and what it was itself resumed from, as far as that is still there."""
    first = _Source(rundir.find(root, wanted))
    yield first
    seen, queue = {first.id}, list(first.older)
    while queue and len(seen) < rundir.HISTORY:
        name = queue.pop(0)
        if name in seen:
            continue
        seen.add(name)
        try:
            source = _Source(rundir.find(root, name))
        except RunDirError as error:
            search.notes.append(f"run {name} is passed over: {error.message}")
            continue
        yield source
        queue += source.older


def _attempts(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What the ledger says of a unit's attempts; a replay needs their ends and digests."""
    return [event for event in events if event["event"] not in ("result", "taken-over")]
