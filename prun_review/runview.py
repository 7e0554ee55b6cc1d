"""Reading a run directory, finished or in progress; what its ledger does not vouch for is refused."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from prun_review import files
from prun_review.codec import decode, encode
from prun_review.errors import RunDirError
from prun_review.ledger import LedgerReader
from prun_review.locks import holder, is_held
from prun_review.model import Plan, Reason, Result, Unit
from prun_review.planning import Collected
from prun_review.rulings import Examination

SCHEMA_VERSION = 1
SLUG = re.compile(r"[A-Za-z0-9_-]{1,120}")
LOCK, LEDGER, PLAN, DOCUMENT, RESULT = "lock", "ledger.jsonl", "plan.json", "run.json", "result.json"
EXAMINATION = "examination.json"
WAVES = "waves.json"
"""The wave document of a wave run; see :mod:`prun_review.wavedocument`."""
PATCH = "change.patch"
STORED_CAP = 1 << 30
"""Bytes of one stored document."""
PATCH_CAP = 2 << 30
"""Bytes of a patch: one of 512 MiB of changed files is text of some 700 MiB."""

NOTHING = Examination()
"""No second wave."""

_RESULT_OF = "result "
"""Before the slug: what the ledger vouches for."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """All that a run left, as far as it can be relied on."""

    document: Mapping[str, Any]
    """``run.json``."""
    plan: Plan
    results: tuple[Result, ...]
    """In plan order; a unit without a result, or with a refused one, has none."""
    problems: tuple[Reason, ...]
    """What does not fit together; each forbids PASS."""
    examination: Examination = NOTHING
    """Its second wave with the results that can be relied on; empty where it had none."""


class RunView:
    """A run directory as a reader sees it, perhaps while another process writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ledger = LedgerReader(path / LEDGER)
        self._vouched: dict[str, set[str]] = {}

    def dispatcher_alive(self) -> bool:
        """Whether the process that writes this run still lives."""
        with files.named(RunDirError, "the lock of the run cannot be looked at", self.path):
            return is_held(self.path / LOCK)

    def refuse_live(self) -> None:
        """``RunDirError`` while another process still writes this run."""
        if self.dispatcher_alive():
            raise RunDirError(
                f"run {self.path.name} is still being written by {holder(self.path / LOCK)}",
                place=str(self.path),
                remedy="wait for it to end, or name another run",
            )

    def write_collected(self, worker: str, collected: Collected) -> None:
        """Hand in what an xdist worker collected, for the writer to plan from."""
        place = self.path / _collected(worker)
        with files.named(RunDirError, "the collection cannot be written", place):
            with suppress(FileExistsError):
                files.make_private(place.parent)
            files.write(place, json.dumps(encode(collected)).encode())

    def collected(self, worker: str) -> Collected:
        """What a worker handed in; ``RunDirError`` when there is nothing."""
        place = self.path / _collected(worker)
        data = self._read(_collected(worker))
        if data is None:
            raise RunDirError(f"worker {worker} handed in no collection", place=str(place))
        return _record(Collected, data, place)

    def plan(self) -> Plan | None:
        """The plan, or None as long as it is not written; ``RunDirError`` when it is not ours."""
        data = self._read(PLAN)
        if data is None:
            return None
        self._check(data, "plan", PLAN)
        return _record(Plan, data, self.path / PLAN)

    def examination(self) -> Examination:
        """What the second wave asked, without its results; empty as long as it asked nothing, and in runs
        of versions that had none.

        ``RunDirError`` when it is not ours, or when the ledger knows of one that is not there.
        """
        data = self._read(EXAMINATION)
        if data is None:
            self._take_in()
            if "examination" in self._vouched:
                raise RunDirError(
                    "it is missing, and the ledger knows of it",
                    place=str(self.path / EXAMINATION),
                    remedy="run again; nothing else writes below .prun/",
                )
            return NOTHING
        self._check(data, "examination", EXAMINATION)
        return _record(Examination, data, self.path / EXAMINATION)

    def result_of(self, unit: Unit) -> Result | None:
        """The terminal result of a unit, or None as long as there is none.

        ``RunDirError`` when it is not in the ledger, was altered, or is that of another unit.
        """
        name = f"units/{checked_slug(unit.slug)}/{RESULT}"
        data = self._read(name)
        if data is None:
            return None
        self._check(data, f"{_RESULT_OF}{unit.slug}", name)
        result = _record(Result, data, self.path / name)
        for field in ("case", "folder", "executor", "repeat", "fingerprint", "slug"):
            if getattr(result, field) != getattr(unit, field):
                raise RunDirError(f"a result of another {field} than its unit", place=str(self.path / name))
        if result.unit != unit.id:
            raise RunDirError(f"a result of another unit, {result.unit}", place=str(self.path / name))
        return result

    def patch_of(self, result: Result) -> bytes:
        """What a unit that writes code changed, as ``git apply`` takes it; empty where that is nothing.

        ``RunDirError`` where it is not there, or is not what the result says.
        """
        if result.patch is None or not result.patch.digest:
            return b""
        path = self.path / "units" / checked_slug(result.slug) / PATCH
        with files.named(RunDirError, "the patch of a unit cannot be read", path):
            data = files.read_regular(path, PATCH_CAP)
        if hashlib.sha256(data).hexdigest() != result.patch.digest:
            raise RunDirError(
                "it is not the change that its result speaks of",
                place=str(path),
                remedy="run again; nothing else writes below .prun/",
            )
        return data

    def read_document(self) -> dict[str, Any]:
        """``run.json``; ``RunDirError`` when it is missing, unreadable or of another version."""
        place = self.path / DOCUMENT
        data = self._read(DOCUMENT)
        if data is None:
            raise RunDirError(
                "there is no run.json: not a run directory, or its run never began",
                place=str(place),
                remedy="name another run, or run pytest on the panels again",
            )
        document = _json(data, place)
        found = document.get("schema_version") if isinstance(document, dict) else None
        if found != SCHEMA_VERSION:
            raise RunDirError(
                f"made by another version of prun_review (schema {found!r}, here {SCHEMA_VERSION})",
                place=str(place),
                remedy="use the version that made it, or run again",
            )
        return dict(document)

    def vouched_document(self) -> dict[str, Any]:
        """``run.json`` as the ledger knows it; ``RunDirError`` where either is damaged or missing.

        A last ledger line without its end is no damage: a SIGKILL leaves it.
        """
        document = self.read_document()
        self._check(self._read(DOCUMENT) or b"", "document", DOCUMENT)
        if self._ledger.damaged:
            raise RunDirError(
                f"line {self._ledger.damaged[0]} of its ledger is damaged",
                place=str(self.path / LEDGER),
                remedy="name another run, or ask everything again",
            )
        return document

    def waves(self) -> dict[str, Any]:
        """The wave document as the ledger knows it; ``RunDirError`` where there is none that is ours."""
        data = self._read(WAVES)
        if data is None:
            raise RunDirError(
                "there is no waves.json: it is no run of waves",
                place=str(self.path / WAVES),
                remedy="name another run",
            )
        self._check(data, "waves", WAVES)
        document = _json(data, self.path / WAVES)
        if not isinstance(document, dict):
            raise RunDirError("it is no document", place=str(self.path / WAVES), remedy="run again")
        return document

    def load(self) -> RunRecord:
        """All of it; ``RunDirError`` only where there is no document to start from."""
        document = self.read_document()
        problems: list[Reason] = []
        plan = Plan(())
        try:
            self._check(self._read(DOCUMENT) or b"", "document", DOCUMENT)
        except RunDirError as error:
            problems.append(Reason("document-refused", str(error)))
        try:
            plan = self.plan() or plan
        except RunDirError as error:
            problems.append(Reason("plan-refused", str(error)))
        else:
            if not (self.path / PLAN).exists():
                problems.append(Reason("plan-refused", f"{self.path / PLAN}: there is no plan"))
        results, refused = self._results(plan)
        examination, wrong = self._examined()
        problems += [*refused.values(), *wrong]
        problems += self._strays(plan, examination.plan)
        problems += self._damage()
        return RunRecord(document, plan, tuple(results), tuple(problems), examination)

    def _results(self, plan: Plan) -> tuple[list[Result], dict[str, Reason]]:
        """The results of a plan that can be relied on, and by unit id what is wrong with others."""
        results: list[Result] = []
        refused: dict[str, Reason] = {}
        for unit in plan.units:
            try:
                result = self.result_of(unit)
            except RunDirError as error:
                refused[unit.id] = Reason("result-refused", f"{unit.id}: {error}", folder=unit.folder)
            else:
                results += [result] if result else []
        return results, refused

    def _examined(self) -> tuple[Examination, list[Reason]]:
        """The second wave with its results, and what is wrong with it: also a result that is missing,
        because no item of pytest and no unit of the plan misses it."""
        try:
            examination = self.examination()
        except RunDirError as error:
            return NOTHING, [Reason("examination-refused", str(error))]
        results, refused = self._results(examination.plan)
        there = {result.unit for result in results}
        lost = [
            Reason("examination-refused", f"{unit.id}: it was asked, and has no result", folder=unit.folder)
            for unit in examination.plan.units
            if unit.id not in there and unit.id not in refused
        ]
        return replace(examination, results=tuple(results)), [*refused.values(), *lost]

    def _strays(self, *plans: Plan) -> list[Reason]:
        """Results of units that nothing planned, there or only told of: somebody put another plan there."""
        self._take_in()
        planned = {unit.slug for plan in plans for unit in plan.units}
        there = {found.parent.name for found in self.path.glob(f"units/*/{RESULT}")}
        told = {what.removeprefix(_RESULT_OF) for what in self._vouched if what.startswith(_RESULT_OF)}
        return [
            Reason(
                "result-refused", f"{self.path / 'units' / slug / RESULT}: a result of no unit of the plan"
            )
            for slug in sorted((there | told) - planned)
        ]

    def _damage(self) -> list[Reason]:
        self._take_in()
        place = self.path / LEDGER
        found = [f"line {n} is damaged" for n in self._ledger.damaged[:5]]
        found += ["its last line is cut off"] if self._ledger.torn else []
        found += [] if place.exists() else ["there is no ledger"]
        return [Reason("ledger-damaged", f"{place}: {text}") for text in found]

    def _read(self, name: str) -> bytes | None:
        with files.named(RunDirError, "the run cannot be read", self.path / name):
            if not self.path.is_dir():
                raise RunDirError(
                    "no such run directory",
                    place=str(self.path),
                    remedy="if it vanished during the run: do not clean .prun/ while a review runs",
                )
            try:
                return files.read_regular(self.path / name, STORED_CAP)  # never waits at a FIFO
            except FileNotFoundError:
                return None

    def _check(self, data: bytes, what: str, name: str) -> None:
        """The ledger is written first, so whatever is there must be in it."""
        self._take_in()
        if hashlib.sha256(data).hexdigest() not in self._vouched.get(what, ()):
            raise RunDirError(
                "its sha256 is not in the ledger: it was altered, or not written by this run",
                place=str(self.path / name),
                remedy="run again; nothing else writes below .prun/",
            )

    def _take_in(self) -> None:
        with files.named(RunDirError, "the ledger cannot be read", self.path / LEDGER):
            for event in self._ledger.new():
                what, sha = event["event"], event.get("sha256")
                if what == "result":
                    self._vouched[f"{_RESULT_OF}{event.get('slug')}"] = {str(sha)}
                elif what == "examination":  # the last one counts, or a round could be undone
                    self._vouched[what] = {str(sha)}
                elif what in ("plan", "document", "waves"):  # if it was not written, the one before is there
                    self._vouched.setdefault(what, set()).add(str(sha))


def checked_slug(slug: str) -> str:
    """A slug that is safe as the name of a directory; ``RunDirError`` for any other."""
    if not SLUG.fullmatch(slug):
        raise RunDirError(f"{slug!r} cannot name a directory", remedy="letters, digits, _ and - only")
    return slug


def _collected(worker: str) -> str:
    return f"workers/{checked_slug(worker)}.json"


def _json(data: bytes, place: Path) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RunDirError(f"not JSON: {error}", place=str(place), remedy="run again") from error


def _record(cls: type[T], data: bytes, place: Path) -> T:
    return _decoded(cls, _json(data, place), place)


def _decoded(cls: type[T], value: Any, place: Path) -> T:
    try:
        return decode(cls, value)
    except ValueError as error:
        raise RunDirError(
            f"not what this version writes: {error}",
            place=str(place),
            remedy="use the version of prun_review that made it, or run again",
        ) from error
