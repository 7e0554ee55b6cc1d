"""A run of a ``parallel/`` directory: its tasks dispatched, its waves put together, validated and reviewed.

It is driven as a :class:`~prun_review.review.Review` is, by pytest or by a verb: ``start``, ``next`` until
nothing is owed, ``finish``.  All decisions are those of :mod:`prun_review.waves`; here they are carried out,
and told.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from prun_review import extensions, rundir, wavedocument, waves, wavesteps, waveunits
from prun_review.change import Listed
from prun_review.config import Config
from prun_review.course import add
from prun_review.errors import InternalError, PrunError, RunDirError
from prun_review.model import Acceptance, NotAsked, Plan, Result, Unit, Usage
from prun_review.planning import Proposal
from prun_review.ports import Executor
from prun_review.review import DRAIN, Outcome
from prun_review.rulings import Examination
from prun_review.rundir import RunDir
from prun_review.tasks import FAILED, NOT_RUN, RUNNING, SUCCEEDED, Course, Problem, Task
from prun_review.tasks import Outcome as Tasked
from prun_review.verdict import number
from prun_review.wavebeginning import (
    ALL,
    Reading,
    Selection,
    Site,
    Wanted,
    course_of,
    former_of,
    reading_of,
    site_of,
)
from prun_review.wavelogs import Logs
from prun_review.wavepace import Due, Errand, Move, do, told
from prun_review.waveverdict import text_of, verdict_of

IDLE = 0.05
"""Seconds to wait where nothing runs and something is owed all the same."""


class WaveRun:
    """One run of a directory of waves.  ``next`` belongs to one thread, all else may be called from any."""

    of_a_change = False
    acceptances: tuple[Acceptance, ...] = ()
    examination = Examination()
    """Findings are not cross-examined here."""

    def __init__(
        self,
        root: Path,
        config: Config,
        env: Mapping[str, str],
        directory: Path,
        selection: Selection = ALL,
        lines: Callable[[str], None] = lambda line: None,
    ) -> None:
        """``lines`` takes the progress lines that scripts read; people are told otherwise."""
        self.root = root
        self.config = config
        self.env = env
        self.place = directory
        self.selection = selection
        self.extensions = extensions.manager()
        self.executors: Mapping[str, Executor] = extensions.executors(self.extensions, config)
        self.plan = Plan(())
        self.results: dict[str, Result] = {}
        """Unit of the plan -> terminal result, as they come."""
        self.started = False
        self.stopped = ""
        """Why the run ended early, in words; empty as long as it did not."""
        self.store: RunDir | None = None
        self.course: Course | None = None
        """As it stands; None before the start."""
        self.problems: tuple[Problem, ...] = ()
        """Warnings about the manifest."""
        self._lines = lines
        self._tell: Callable[[str], None] = lambda text: None
        self._site: Site | None = None
        self._logs: Logs | None = None
        self._lock = threading.RLock()
        self._errand: Errand[Move] | None = None
        self._why = ""
        """What ends an errand."""
        self._out: deque[Result] = deque()
        self._openings: dict[str, str] = {}
        """Id of an opening that runs -> task."""
        self._last: dict[str, Result] = {}
        """By task: the result of its last opening."""
        self._finishing: set[str] = set()
        """Units whose result is on its way to the disk, or there."""
        self._usage: dict[str, Usage] = {}
        self._began = self._ended = 0.0
        self._unstored = ""
        """Why something could not be stored; empty as long as all could."""

    # --- before the first dispatch ----------------------------------------------------------

    @property
    def directory(self) -> Path | None:
        """The run directory, once there is one."""
        return self.store.path if self.store else None

    def check_names(self) -> None:
        """``ConfigError`` for a contract of an executor table that does not exist."""
        extensions.check_contracts(self.extensions, self.config.executor_tables)

    def open_store(self) -> RunDir:
        """The run directory, made on the first call."""
        if self.store is None:
            self.store = rundir.create(self.root, now=time.time())
        return self.store

    def take(self) -> tuple[Listed, ...] | None:
        """Nothing: no change decides which tasks there are."""
        return None

    def start(
        self,
        proposals: Sequence[Proposal] = (),
        *,
        workers: int = 0,
        partial: str = "",
        say: Callable[[str], None],
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Read and check everything, take the base, begin; ``PrunError`` before any dispatch.

        ``proposals``: the tasks that pytest selected; where there are none the selection decides.  One of
        them whose dependency is neither among them nor done is not run; without, it is refused.
        """
        self._began, self._tell = time.time(), tell
        wanted = self._wanted()
        reading = reading_of(wanted)
        left_out = [p for p in proposals if p.not_asked or p.error]
        asked = [p.id.rpartition("::")[2] for p in proposals if p not in left_out]
        former = former_of(wanted, reading)
        for note in former.notes if former else ():
            say(f"resume: {note}")
        course, refusals = course_of(wanted, reading, former, asked)
        jobs = max(self.config.waves.jobs, workers)
        site = site_of(wanted, reading, self.open_store(), (course, refusals, former), jobs, (say, tell))
        self._site, self.problems = site, reading.warnings
        self._last = {task: result for task, (_, result) in site.taken.items()}
        self._logs = Logs(reading.opened.place, site.secrets, tell)
        not_asked = tuple(NotAsked(p.id, p.case, p.folder, p.executor, p.not_asked, p.text) for p in left_out)
        planned = tuple(unit for task, unit in site.units.items() if self._is_planned(course, task))
        self.plan = Plan(planned, not_asked, partial)
        site.store.write_plan(self.plan)
        self.started = True
        if former:
            say(_resumed(former.id, course))
        self._set(course, fresh=True)

    def look(self) -> tuple[Reading, Course]:
        """What would be run, with nothing made; ``PrunError``."""
        wanted = self._wanted()
        reading = reading_of(wanted)
        return reading, course_of(wanted, reading, former_of(wanted, reading), ())[0]

    def _wanted(self) -> Wanted:
        return Wanted(self.root, self.config, self.env, self.place, self.selection, self.executors)

    def _is_planned(self, course: Course, task: str) -> bool:
        refused = self._at().refusals
        return task in refused or course.outcomes[task].reason != waves.NOT_SELECTED

    # --- while it runs ----------------------------------------------------------------------

    @property
    def owed(self) -> bool:
        """True while something of the run is still to come."""
        with self._lock:
            open_units = any(unit.id not in self.results for unit in self.plan.units)
            return self.started and bool(self._out or open_units or not self._over)

    @property
    def _over(self) -> bool:
        return self.course is None or (wavesteps.over(self.course) and self._errand is None)

    def next(self, timeout: float) -> Result | None:
        """The terminal result of the next task; None after ``timeout`` seconds without one."""
        until = time.monotonic() + timeout
        while True:
            with self._lock:
                if self._unstored and not self.stopped:
                    self.stop("not-stored", self._unstored)
                self._drive()
                if self._out:
                    return self._out.popleft()
                left = until - time.monotonic()
                if left <= 0 or not self.owed:
                    return None
            self._wait(min(left, 0.5))

    def _wait(self, seconds: float) -> None:
        """Let something happen, and take what happened."""
        site, errand = self._at(), self._errand
        if errand is not None:
            if errand.ended(seconds):
                with self._lock:
                    self._take_errand(errand)
        elif site.crew.owed:
            result = site.crew.next(seconds)
            if result is not None:
                with self._lock:
                    self._take(result)
        else:
            time.sleep(min(seconds, IDLE))

    def _drive(self) -> None:
        """Begin whatever may begin now."""
        while self.course is not None and self._errand is None and not self.stopped:
            step = wavesteps.due(self.course)
            if isinstance(step, wavesteps.Dispatch | wavesteps.Reopen):
                if len(wavesteps.running(self.course)) >= self._at().crew.jobs:
                    return
                self._dispatch(self._at().longest(wavesteps.ready(self.course)))
            elif step is None or isinstance(step, wavesteps.Finish):
                return
            elif not self._moved(()):
                self._errand = self._begin(step, self.course)

    def _begin(self, step: Due, course: Course) -> Errand[Move]:
        self._tell(f"{told(step)} begins")
        return Errand(told(step), lambda: do(self._at().steps, step, course, lambda: self._why))

    def _dispatch(self, task: Task) -> None:
        course, site = self._now(), self._at()
        held = course.outcomes[task.id]
        base = held.conflict.onto if held.conflict else course.waves[task.wave].base
        again = ""
        if held.conflict and held.patch:
            patch = site.vault.diff(held.patch.base, held.patch.tree).decode(errors="replace")
            again = waveunits.again(held.conflict, patch, secrets.token_hex(8))
        unit = waveunits.opening(self._at().units[task.id], held.reopened + 1, base, again)
        self._openings[unit.id] = task.id
        site.bases[unit.id] = base
        self._log().started(task, unit, base)
        vendor = self.executors[unit.executor].vendor
        self._set(waves.started(course, task.id, executor=unit.executor, vendor=vendor))
        site.crew.hand_in([unit])

    def _take(self, result: Result) -> None:
        """An opening of a task ended."""
        site, task = self._at(), self._openings.pop(result.unit, "")
        if task not in {t.id for t in wavesteps.running(self._now())}:
            return
        if not site.crew.is_stored(result):  # it never ran, or could not be stored
            result = self._stored(result)
        self._last[task] = result
        self._usage[result.executor] = add(self._usage.get(result.executor, Usage()), result.usage)
        self._log().ended(self._task(task), result, site.store.path / "units" / result.slug)
        flying = [task, *self._openings.values()]
        vendor = self.executors[result.executor].vendor
        self._set(waves.finished(self._now(), waveunits.outcome(task, result, vendor)))
        self._moved(flying)

    def _take_errand(self, errand: Errand[Move]) -> None:
        self._errand = None
        if self._moved(()):  # a validation runs what workers wrote
            return
        try:
            self._set(errand.result()(self._now()))
        except PrunError as error:
            self._halt(error.code, f"{errand.what} did not work: {error}")

    def _moved(self, flying: Collection[str]) -> bool:
        """Whether the user's repository is not what it was; then the run ends."""
        found = self._at().guard()
        if found and not self.stopped:
            named = f"; in flight: {', '.join(sorted(flying))}" if flying else ""
            self._halt(found[0].code, "; ".join(reason.text for reason in found) + named)
        return bool(found)

    def _halt(self, code: str, text: str) -> None:
        """End the run because of something that happened in it."""
        self._tell(f"the run is stopped: {text}")
        self.stop(code, text)

    # --- what became of it ------------------------------------------------------------------

    def _set(self, course: Course, *, fresh: bool = False) -> None:
        """The course is another one now: tell it, store it, and hand out what is final."""
        from prun_review.renderers import progresslines

        before, self.course = self.course, course
        if before is not None:
            for line in progresslines.progress(before, course):
                self._lines(line)
            for task, held in course.outcomes.items():
                was = before.outcomes[task]
                if (held.status, held.commit) != (was.status, was.commit) and held.status != RUNNING:
                    self._log().note(task, held)
        self._deliver()
        self._write(durable=fresh or self._over)

    def _write(self, *, durable: bool) -> None:
        if self._unstored:
            return
        try:
            self.open_store().write_waves(self.document(), durable=durable)
        except PrunError as error:
            self._lost(error)

    def document(self) -> dict[str, Any]:
        """The wave document of the run as it stands."""
        facts = wavedocument.Facts(
            run_id=self.open_store().id,
            started=self._began,
            finished=self._ended or None,
            version=self._at().version,
            usage=self._usage,
            logs=dict(self._log().names),
            problems=self.problems,
        )
        return wavedocument.build(self._now(), facts)

    def _deliver(self) -> None:
        """Terminal results for the tasks of which nothing more becomes."""
        course, refusals = self._now(), self._at().refusals
        for task, unit in self._at().units.items():
            if unit.id in self.results or not self._is_planned(course, task):
                continue
            held = course.outcomes[task]
            if task in refusals:
                held = replace(held, status=NOT_RUN, reason="dependency", message=refusals[task])
            if waveunits.is_final(held, stopped=bool(course.stopped)):
                result = waveunits.terminal(unit, held, self._last.get(task), course.stopped)
                self.results[unit.id] = self._shared(result, held.unit)
                self._out.append(self.results[unit.id])
                self.extensions.hook.prun_unit_finished(result=self.results[unit.id])

    def _shared(self, result: Result, slug: str) -> Result:
        if result.patch and slug:
            with suppress(PrunError):  # whoever looks for the change is told that it is missing
                self.open_store().share_patch(slug, result.slug)
        return self._stored(result)

    def _stored(self, result: Result) -> Result:
        try:
            if result.unit in self._finishing:  # Ctrl-C caught it on its way: what is stored counts
                return self._at().store.kept(result) or result
            self._finishing.add(result.unit)
            self.open_store().finish(result)
        except PrunError as error:
            self._lost(error)
        return result

    def _lost(self, error: PrunError) -> None:
        """Something cannot be stored: nothing more is bought that cannot be kept."""
        if not self._unstored:
            self._unstored = str(error)
            self._at().crew.refuse(error.code, f"not run: {error}")
            self._tell(f"the run is stopped: {error}")

    def let_go(self) -> None:
        """Where results could not be stored, let those who wait for them know that none will come."""
        if self._unstored and self.store is not None:
            self.store.release()

    def in_flight(self) -> list[tuple[Unit, float, float]]:
        """The openings that run, for how many seconds, and how many of these they have been silent."""
        return self._site.crew.in_flight() if self._site else []

    def pausing(self) -> int:
        """How many tasks wait to be tried again."""
        return self._site.crew.pausing() if self._site else 0

    # --- its end ----------------------------------------------------------------------------

    def stop(self, code: str, text: str) -> None:
        """Start nothing more, end what runs, and leave a terminal result for every unit of the plan.

        The first call decides.  What succeeded and is not put together keeps its patch for ``--resume``.
        """
        with self._lock:
            if self.stopped or (self.started and self._over and not self._openings):
                return
            self.stopped = self._why = text
            if not self.started:
                if self.store is not None:  # an empty plan keeps workers from waiting
                    self.store.write_plan(Plan(()))
                return
            self._set(waves.stop(self._now(), text))
            self._at().crew.stop(code, text)
            self._settle(text)

    def _settle(self, text: str) -> None:
        """Take what comes out, for a while; what does not is as if it had not been run."""
        site, until = self._at(), time.monotonic() + DRAIN
        while (site.crew.owed or self._errand) and time.monotonic() < until:
            self._wait(0.2)
        self._errand = None
        self._openings.clear()
        for task in wavesteps.running(self._now()):
            lost = Tasked(task.id, FAILED, "cancelled", text)
            self._set(waves.finished(self._now(), lost))
        self._set(self._now())

    def examine(
        self,
        say: Callable[[str], None],
        tell: Callable[[str], None],
        heard: Callable[[Result], None] = lambda result: None,
    ) -> None:
        """Nothing: a wave's panel does that where it is named."""

    def finish(
        self,
        *,
        stopped: str = "",
        reported: Collection[str] | None = None,
        items_failed: int = 0,
        detail: int = 0,
    ) -> Outcome:
        """Conclude: the document in the run directory and in DIR; ``RunDirError`` where it cannot be kept."""
        if not self._over:
            self.stop("stopped", stopped or "the session ended before this run did")
        self._ended = time.time()
        document = self.document()
        store = self.open_store()
        try:
            if self._unstored:
                raise RunDirError(f"the run could not be kept: {self._unstored}")
            store.write_waves(document, durable=True)
        finally:
            self._report(document)
            if self._unstored:
                self.close()
        unreported = () if reported is None else [u.id for u in self.plan.units if u.id not in reported]
        verdict = verdict_of(self._now(), unreported, moved=bool(self._at().guard.found), failed=items_failed)
        self.close()
        return Outcome(verdict, document, text_of(document))

    def _report(self, document: Mapping[str, Any]) -> None:
        from prun_review.renderers.json import dumps

        try:
            rundir.write_file(self._at().reading.opened.place / "report.json", dumps(document))
        except PrunError as error:  # the run directory has it
            self._tell(f"report.json cannot be written: {error}")

    def abort(self, why: str) -> None:
        """Nothing is recorded of a session that ended before anything was planned: no older run could be
        taken for it."""
        self.discard()

    def discard(self) -> None:
        """Remove the run directory of a session that only looked."""
        if self.store is not None and not self.started:
            self.store.discard()
            self.store = None
        self.close()

    def close(self) -> None:
        """End everything that this run started; harmless when called again."""
        self.stop("closed", "the session ended")
        if self._site is not None:
            self._site.close()
        if self.store is not None:
            self.store.close()

    # --- small things -----------------------------------------------------------------------

    def _now(self) -> Course:
        if self.course is None:
            raise InternalError("the run of waves has not begun")
        return self.course

    def _at(self) -> Site:
        if self._site is None:
            raise InternalError("the run of waves has not begun")
        return self._site

    def _log(self) -> Logs:
        if self._logs is None:
            raise InternalError("the run of waves has not begun")
        return self._logs

    def _task(self, name: str) -> Task:
        return next(task for task in self._now().manifest.tasks if task.id == name)


def _resumed(run: str, course: Course) -> str:
    kept = sum(o.status == SUCCEEDED for o in course.outcomes.values())
    return f"resumed from {run}: {kept} of {number(len(course.outcomes), 'task')} taken over"
