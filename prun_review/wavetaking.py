"""What a former run of a directory left, as far as its records agree, for a run that goes on from it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from prun_review import files, rundir, wavedocument
from prun_review.codec import decode
from prun_review.copyplace import untaken
from prun_review.errors import PlanError, RunDirError, TreeError
from prun_review.ledger import LedgerReader
from prun_review.model import Result, Unit
from prun_review.rundir import RunDir, RunView
from prun_review.runview import LEDGER, STORED_CAP, WAVES, checked_slug
from prun_review.tasks import SUCCEEDED, Course, Outcome
from prun_review.vault import Vault

GIT = "git"
"""The vault of a run, in its run directory."""
UNIT_CAP = 16 << 20
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Former:
    """A former run."""

    view: RunView
    course: Course
    """What became of it; tasks whose records do not agree are as if they had not begun."""
    last: Mapping[str, tuple[Unit, Result]]
    """By task that wrote something: its last opening."""
    notes: tuple[str, ...] = ()
    """What is not taken over, and why."""

    @property
    def id(self) -> str:
        """Its run id."""
        return self.view.path.name


def newest(root: Path, directory: str) -> Path | None:
    """The newest run of waves of a directory (as :attr:`Manifest.directory` has it); None: there is none."""
    for path in rundir.stored(root):
        try:
            told = json.loads(files.read_regular(path / WAVES, STORED_CAP))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(told, dict) and told.get("directory") == directory:
            return path
    return None


def read(path: Path) -> Former:
    """The run at ``path``; ``RunDirError`` where it is still being written, or nothing of it can be relied
    on."""
    view = RunView(path)
    view.refuse_live()
    try:
        course = wavedocument.course_of(view.waves())
    except ValueError as error:
        raise RunDirError(
            str(error), place=str(path / WAVES), remedy="run without --resume, all of it anew"
        ) from None
    search = _Search(view)
    outcomes = {name: search.looked_at(outcome) for name, outcome in course.outcomes.items()}
    notes = (*search.notes, *(f"nobody took what was written in {tree}" for tree in untaken(path)))
    return Former(view, replace(course, outcomes=outcomes), search.last, notes)


@dataclass
class _Search:
    view: RunView
    last: dict[str, tuple[Unit, Result]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def looked_at(self, outcome: Outcome) -> Outcome:
        """The outcome, or that of a task that has not begun where its records do not agree."""
        wrote = outcome.status == SUCCEEDED or outcome.conflict is not None
        if not (wrote and outcome.unit and outcome.patch):
            return Outcome(outcome.task) if outcome.status == SUCCEEDED else outcome
        try:
            unit = unit_of(self.view.path, outcome.unit)
            result = self.view.result_of(unit)
            if result is None or not result.ok or result.patch != outcome.patch:
                raise RunDirError("its result is not what the document says")
            self.view.patch_of(result)
        except RunDirError as error:
            self.notes.append(f"{outcome.task} is not taken over: {error.message}")
            return Outcome(outcome.task)
        self.last[outcome.task] = (unit, result)
        return outcome


def unit_of(run: Path, slug: str) -> Unit:
    """The unit of a slug in a run directory, as it is stored there; ``RunDirError``."""
    place = run / "units" / checked_slug(slug) / "unit.json"
    with files.named(RunDirError, "a unit cannot be read", place):
        data = files.read_regular(place, UNIT_CAP)
    try:
        return decode(Unit, json.loads(data))
    except (ValueError, RecursionError) as error:
        raise RunDirError(f"its unit cannot be read: {error}", place=str(place)) from None


# --- taking over ------------------------------------------------------------------------------


def take_over(former: Former, course: Course, store: RunDir, vault: Vault) -> dict[str, tuple[Unit, Result]]:
    """Bring what ``course`` has of the former run into the new one: commits and trees into ``vault``, units
    with their attempts and patches into ``store``.  By task: its last opening.

    ``PlanError`` where the objects are gone, or a patch does not make the tree that it is said to make.
    """
    kept = {
        name: former.last[name]
        for name, outcome in course.outcomes.items()
        if name in former.last and outcome.unit and outcome.unit == former.last[name][0].slug
    }
    try:
        _objects(former, course, vault)
        for name, (_, result) in kept.items():
            patch = result.patch
            assert patch is not None
            if vault.store_patch(patch.base, former.view.patch_of(result)) != patch.tree:
                raise TreeError(f"the patch of {name} makes another tree than the run says")
    except TreeError as error:
        raise PlanError(
            f"run {former.id} cannot be gone on from: {error.message}",
            place=error.place or str(former.view.path),
            remedy="run without --resume, all of it anew",
        ) from error
    events = _events(former.view.path)
    store.append("resumed-from", runs=[former.id])
    for unit, result in kept.values():
        store.adopt(unit, result, former.view, events.get(unit.slug, []))
    return kept


def _events(run: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for event in LedgerReader(run / LEDGER).new():
        if "slug" in event and event["event"] not in ("result", "taken-over"):
            found.setdefault(str(event["slug"]), []).append(event)
    return found


def _objects(former: Former, course: Course, vault: Vault) -> None:
    wanted = {sha for sha in _named(course) if _SHA.fullmatch(sha)} - {course.base}
    if wanted:
        bring(former.view.path, wanted, course.base, vault)


def bring(run: Path, wanted: Iterable[str], base: str, vault: Vault) -> None:
    """Bring commits and trees of a run's own store, and what they hold beyond the commit ``base``, into
    ``vault``; ``TreeError`` where one is not there, or an object is not what its name says."""
    lines = "".join(f"{sha}\n" for sha in sorted(wanted)) + f"^{base}\n"
    Vault.open(run / GIT).pack(vault.path / "objects", lines.encode(), "--revs")
    _prove(vault)


def _prove(vault: Vault) -> None:
    """``TreeError`` where an object is not what its name says: git looks at that only when asked to, and
    whoever wrote into the former run's store would have put other files there than its patches make."""
    for index in sorted((vault.path / "objects/pack").glob("*.idx")):
        try:
            vault.run("verify-pack", str(index))
        except TreeError as error:
            told = f"what its object store holds is not what the names say ({error.message})"
            raise TreeError(told) from error


def _named(course: Course) -> Iterator[str]:
    for wave in course.waves.values():
        yield from (wave.base, wave.head)
    for outcome in course.outcomes.values():
        yield outcome.commit
        if outcome.patch:
            yield from (outcome.patch.base, outcome.patch.tree)
        if outcome.conflict:
            yield outcome.conflict.onto
