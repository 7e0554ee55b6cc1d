"""What a wave run leaves and hands out: its document, its logs and lines, the results of its tasks."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from prun_review import rundir, wavedocument, waves, wavesteps, waveunits
from prun_review.course import add
from prun_review.errors import PrunError
from prun_review.model import Result, Unit, Usage
from prun_review.renderers import progresslines
from prun_review.renderers.json import dumps
from prun_review.tasks import NOT_RUN, PENDING, RUNNING, SUCCEEDED, Course, Outcome, Task
from prun_review.wavelogs import Logs
from prun_review.wavesite import Site

REPORT = "report.json"
"""The document in the directory of the manifest."""


@dataclass
class Keeper:
    """Keeps one run; what cannot be kept is told once, and then nothing more is begun."""

    site: Site
    results: dict[str, Result]
    """Unit of the plan -> terminal result."""
    lines: Callable[[str], None]
    tell: Callable[[str], None]
    finished: Callable[[Result], object]
    """Called with every terminal result."""
    began: float
    """Seconds since the epoch."""
    ended: float | None = None
    out: deque[Result] = field(default_factory=deque)
    """Terminal results that nobody has taken yet."""
    last: dict[str, Result] = field(default_factory=dict)
    """By task: the result of its last opening."""
    unstored: str = ""
    """Why something could not be stored; empty as long as all could."""
    _usage: dict[str, Usage] = field(default_factory=dict)
    _stale: bool = False
    _written: float = 0.0
    _rows: wavedocument.Rows = field(default_factory=wavedocument.Rows)
    _storing: set[str] = field(default_factory=set)
    """Units whose result is on its way to the disk, or there."""

    def __post_init__(self) -> None:
        self.logs = Logs(self.site.reading.opened.place, self.site.secrets, self.tell)
        self.last |= {task: result for task, (_, result) in self.site.taken.items()}

    def opened(self, task: Task, result: Result) -> None:
        """An opening of a task ended."""
        if not self.site.crew.is_stored(result):  # it never ran, or could not be stored
            self._store(result)
        if self.last.get(task.id) is not result:  # Ctrl-C may have caught it on its way
            self._usage[result.executor] = add(self._usage.get(result.executor, Usage()), result.usage)
        self.last[task.id] = result
        self.logs.ended(task, result, self.site.store.path / "units" / result.slug)

    def keep(self, before: Course | None, course: Course) -> None:
        """The course is another one now: tell it, hand out what is final, and store it."""
        for line in progresslines.progress(before, course):
            self.lines(line)
        for task, held in course.outcomes.items() if before else ():
            was = before.outcomes[task] if before else held
            if (held.status, held.commit) != (was.status, was.commit) and held.status != RUNNING:
                self.logs.note(task, held)
            if held.status == PENDING and held.conflict != was.conflict:
                self.tell(f"{task} is {held.message}")
        self._deliver(course)
        self._stale = True
        if before is None or _ended(before) != _ended(course):
            self.write(course)

    def write(self, course: Course, every: float = 0.0) -> None:
        """Store the document if it is another one than is stored, and that is ``every`` seconds old."""
        now = time.monotonic()
        if self.unstored or not self._stale or now - self._written < every:
            return
        try:
            self.site.store.write_waves(self.document(course), durable=wavesteps.over(course))
            self._stale, self._written = False, now
        except PrunError as error:
            self._lost(error)

    def document(self, course: Course) -> dict[str, Any]:
        """The wave document of the run as it stands."""
        facts = wavedocument.Facts(
            run_id=self.site.store.id,
            started=self.began,
            finished=self.ended,
            version=self.site.version,
            usage=self._usage,
            logs=dict(self.logs.names),
            problems=self.site.reading.warnings,
            prefix=self.site.reading.prefix,
        )
        return wavedocument.build(course, facts, self._rows)

    def report(self, document: Mapping[str, Any]) -> None:
        """The document in the directory of the manifest; the run directory has it anyway."""
        try:
            rundir.write_file(self.site.reading.opened.place / REPORT, dumps(document))
        except PrunError as error:
            self.tell(f"{REPORT} cannot be written: {error}")

    def planned(self, course: Course) -> dict[str, Unit]:
        """The units of the plan by task: all but those that nobody selected."""
        return {
            task: unit
            for task, unit in self.site.units.items()
            if task in self.site.refusals or course.outcomes[task].reason != waves.NOT_SELECTED
        }

    def _deliver(self, course: Course) -> None:
        """Terminal results for the tasks of which nothing more becomes."""
        for task, unit in self.planned(course).items():
            held = course.outcomes[task]
            if task in self.site.refusals:
                held = _refused(held, self.site.refusals[task])
            if unit.id not in self.results and waveunits.is_final(held, stopped=bool(course.stopped)):
                result = waveunits.terminal(unit, held, self.last.get(task), course.stopped)
                if result.patch and held.unit:
                    with suppress(PrunError):  # whoever looks for the change is told that it is missing
                        self.site.store.share_patch(held.unit, unit.slug)
                self._store(result)
                self.results[unit.id] = result
                self.out.append(result)
                self.finished(result)

    def _store(self, result: Result) -> None:
        """Once: Ctrl-C may have caught it on its way, and then it is there."""
        try:
            if result.unit not in self._storing or self.site.store.kept(result) is None:
                self._storing.add(result.unit)
                self.site.store.finish(result)
        except PrunError as error:
            self._lost(error)

    def _lost(self, error: PrunError) -> None:
        """Something cannot be stored: nothing more is bought that cannot be kept."""
        if not self.unstored:
            self.unstored = str(error)
            self.site.crew.refuse(error.code, f"not run: {error}")
            self.tell(f"the run is stopped: {error}")


def _ended(course: Course) -> list[str]:
    """What must be on disk before anything goes on: how tasks ended, and what waves came to."""
    ends = [f"{o.status}{o.commit}" for o in course.outcomes.values() if o.status not in (PENDING, RUNNING)]
    return [*ends, *(f"{w.status}{w.head}{w.validation}" for w in course.waves.values()), course.stopped]


def _refused(held: Outcome, why: str) -> Outcome:
    return replace(held, status=NOT_RUN, reason="dependency", message=why)


def resumed(run: str, course: Course) -> str:
    """What is said of a run that goes on from another one."""
    kept = sum(outcome.status == SUCCEEDED for outcome in course.outcomes.values())
    return f"resumed from {run}: {kept} of {len(course.outcomes)} tasks taken over"
