"""A run of a ``parallel/`` directory: its tasks dispatched, its waves put together, validated and reviewed.

It is driven as a :class:`~prun_review.review.Review` is, by pytest or by a verb: ``start``, ``next`` until
nothing is owed, ``finish``.  All decisions are those of :mod:`prun_review.waves`; here they are carried out.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from prun_review import extensions, rundir, waves, wavesteps, waveunits
from prun_review.change import Listed
from prun_review.config import Config
from prun_review.course import ANSWERED
from prun_review.errors import InternalError, PrunError, RunDirError
from prun_review.locks import Lock
from prun_review.model import Acceptance, NotAsked, Plan, Result, Unit
from prun_review.planning import Proposal
from prun_review.ports import Executor
from prun_review.review import DRAIN, Outcome
from prun_review.rulings import Examination
from prun_review.rundir import RunDir
from prun_review.tasks import FAILED, Course, Task
from prun_review.tasks import Outcome as TaskOutcome
from prun_review.wavebeginning import (
    ALL,
    Reading,
    Selection,
    Wanted,
    course_of,
    former_of,
    going_on,
    jobs_of,
    moved,
    reading_of,
)
from prun_review.wavekeeping import Keeper, resumed
from prun_review.wavepace import Due, Errand, Move, do, told
from prun_review.wavesite import Site, alone, site_of
from prun_review.waveverdict import text_of, verdict_of

IDLE = 0.05
"""Seconds to wait where nothing runs and something is owed all the same."""
STALE = 1.0
"""Seconds for which a stored document may say of a task that it waits when it runs already: one of 200 tasks
costs 0.15 s of CPU.  How a task ended is stored at once."""
WHOSE = (
    "was that you? a commit, git add or fetch of your own stops a run too; if not, a worker did it:"
    " look at git log and git status, then go on with --resume"
)
"""What is told where the user's repository is not what it was."""
LOOK = 0.5
"""Seconds between two looks at what may begin."""


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
        self._lines = lines
        self._tell: Callable[[str], None] = lambda text: None
        self._keeper: Keeper | None = None
        self._alone: Lock | None = None
        self._lock = threading.RLock()
        self._turn = threading.RLock()
        """Of whoever waits; it is taken before the other one, never behind it."""
        self._come: Result | None = None
        """What came and is not taken yet."""
        self._errand: Errand[Move] | None = None
        self._openings: dict[str, str] = {}
        """Id of an opening that runs -> task."""

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

    def look(self) -> tuple[Reading, Course]:
        """What would be run, with nothing made; ``PrunError``."""
        wanted = self._wanted()
        reading = reading_of(wanted)
        former = former_of(wanted, reading)
        reading = going_on(reading, former)
        return reading, course_of(wanted, reading, former, ())[0]

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
        them whose dependency is neither among them nor done is not run; without pytest it is refused.
        """
        began, self._tell = time.time(), tell
        wanted = self._wanted()
        reading = reading_of(wanted)
        left_out = [p for p in proposals if p.not_asked or p.error]
        asked = [p.id.rpartition("::")[2] for p in proposals if p not in left_out]
        self._alone = self._alone or alone(self.open_store(), reading.manifest.directory)
        former = former_of(wanted, reading)
        reading = going_on(reading, former)
        begun = *course_of(wanted, reading, former, asked), former
        jobs = max(jobs_of(self.config, reading.manifest), workers)
        site = site_of(wanted, reading, self.open_store(), begun, jobs, (say, tell))
        finished = self.extensions.hook.prun_unit_finished
        self._keeper = Keeper(
            site, self.results, self._lines, tell, lambda result: finished(result=result), began
        )
        not_asked = tuple(NotAsked(p.id, p.case, p.folder, p.executor, p.not_asked, p.text) for p in left_out)
        self.plan = Plan(tuple(self._keeper.planned(site.course).values()), not_asked, partial)
        site.store.write_plan(self.plan)
        self.started = True
        for text in (*former.notes, resumed(former.id, site.course), moved(reading)) if former else ():
            if text:
                say(f"resume: {text}")
        self._set(site.course)

    def _wanted(self) -> Wanted:
        return Wanted(self.root, self.config, self.env, self.place, self.selection, self.executors)

    # --- while it runs ----------------------------------------------------------------------

    @property
    def owed(self) -> bool:
        """True while something of the run is still to come."""
        with self._lock:
            return self.started and bool(self._kept().out or not self._over)

    @property
    def _over(self) -> bool:
        return self.course is None or (wavesteps.over(self.course) and self._errand is None)

    def next(self, timeout: float) -> Result | None:
        """The terminal result of the next task; None after ``timeout`` seconds without one."""
        until = time.monotonic() + timeout
        while self.started:
            with self._lock:
                kept = self._kept()
                if kept.unstored and not self.stopped:
                    self.stop("not-stored", kept.unstored)
                self._drive()
                kept.write(self._now(), STALE)
                if kept.out:
                    return kept.out.popleft()
            left = until - time.monotonic()
            if left <= 0 or not self.owed:
                break
            self._wait(min(left, LOOK))
        return None

    def _wait(self, seconds: float) -> None:
        """Let something happen, and take what happened; one thread at a time, or what one holds would be
        lost to the other, which ends the run."""
        with self._turn:
            site, errand = self._site, self._errand
            if errand is not None:
                if errand.ended(seconds):
                    with self._lock:
                        if self._errand is errand:
                            self._take_errand(errand)
            elif site.crew.owed or self._come is not None:
                self._come = self._come or site.crew.next(seconds)
                if self._come is not None:
                    with self._lock:
                        self._take(self._come)
                    self._come = None
            else:
                time.sleep(min(seconds, IDLE))

    def _drive(self) -> None:
        """Begin whatever may begin now."""
        while self.course is not None and self._errand is None and not self.stopped:
            step = wavesteps.due(self.course)
            if isinstance(step, wavesteps.Dispatch | wavesteps.Reopen):
                if len(wavesteps.running(self.course)) >= self._site.crew.jobs:
                    return
                self._dispatch(self._site.longest(wavesteps.ready(self.course)))
            elif step is None or isinstance(step, wavesteps.Finish):
                return
            elif not self._moved(()):
                self._errand = self._begin(step, self.course)

    def _begin(self, step: Due, course: Course) -> Errand[Move]:
        self._tell(f"{told(step)} begins")
        return Errand(told(step), lambda: do(self._site.steps, step, course, lambda: self.stopped))

    def _dispatch(self, task: Task) -> None:
        course, site = self._now(), self._site
        held = course.outcomes[task.id]
        base = held.conflict.onto if held.conflict else course.waves[task.wave].base
        again = ""
        if held.conflict and held.patch:
            patch = site.vault.diff(held.patch.base, held.patch.tree).decode(errors="replace")
            again = waveunits.again(held.conflict, patch, secrets.token_hex(8))
        unit = waveunits.opening(site.units[task.id], held.reopened + 1, base, again)
        self._openings[unit.id] = task.id
        site.bases[unit.id] = base
        self._kept().logs.started(task, unit, base)
        vendor = self.executors[unit.executor].vendor
        self._set(waves.started(course, task.id, executor=unit.executor, vendor=vendor))
        site.crew.hand_in([unit])

    def _take(self, result: Result) -> None:
        """An opening of a task ended.  Ctrl-C may come in here; then this is called once more."""
        name, course = self._openings.get(result.unit, ""), self._now()
        task = next((task for task in wavesteps.running(course) if task.id == name), None)
        if task is None:
            return
        self._kept().opened(task, result)
        vendor = self.executors[result.executor].vendor
        self._set(waves.finished(course, waveunits.outcome(name, result, vendor)))
        self._openings.pop(result.unit, None)
        seen = result.status in ANSWERED  # then the dispatcher has just looked
        self._moved((name, *self._openings.values()), fresh=not seen)

    def _take_errand(self, errand: Errand[Move]) -> None:
        self._errand = None
        if self._moved(()):  # a validation runs what workers wrote
            return
        try:
            self._set(errand.result()(self._now()))
        except PrunError as error:
            self._halt(error.code, f"{errand.what} did not work: {error}")

    def _moved(self, flying: Collection[str], *, fresh: bool = True) -> bool:
        """Whether the user's repository is not what it was; then the run ends.  ``fresh``: look anew."""
        found = self._site.guard() if fresh else self._site.guard.found
        if found and not self.stopped:
            named = f"; in flight: {', '.join(sorted(flying))}" if flying else ""
            self._halt(found[0].code, "; ".join(reason.text for reason in found) + named)
            self._tell(WHOSE)
        return bool(found)

    def _halt(self, code: str, text: str) -> None:
        """End the run because of something that happened in it."""
        self._tell(f"the run is stopped: {text}")
        self.stop(code, text)

    def _set(self, course: Course) -> None:
        before, self.course = self.course, course
        self._kept().keep(before, course)

    def let_go(self) -> None:
        """Where results could not be stored, let those who wait for them know that none will come."""
        if self._keeper and self._keeper.unstored and self.store is not None:
            self.store.release()

    def in_flight(self) -> list[tuple[Unit, float, float]]:
        """The openings that run, for how many seconds, and how many of these they have been silent."""
        return self._site.crew.in_flight() if self._keeper else []

    def pausing(self) -> int:
        """How many tasks wait to be tried again."""
        return self._site.crew.pausing() if self._keeper else 0

    def examine(
        self,
        say: Callable[[str], None],
        tell: Callable[[str], None],
        heard: Callable[[Result], None] = lambda result: None,
    ) -> None:
        """Wait for what may still be to come when every task has its result: the validation of a wave whose
        tasks failed.  Findings are a wave's panel's affair."""
        while self.owed:
            if result := self.next(LOOK):
                heard(result)

    # --- its end ----------------------------------------------------------------------------

    def stop(self, code: str, text: str) -> None:
        """Start nothing more, end what runs, and leave a terminal result for every unit of the plan.

        The first call decides.  What succeeded and is not put together keeps its patch for ``--resume``.
        """
        with self._lock:
            if self.stopped or (self.started and self._over):
                return
            self.stopped = text or code
            if self.started:
                self._set(waves.stop(self._now(), self.stopped))
                self._site.crew.stop(code, self.stopped)
            elif self.store is not None:  # an empty plan keeps workers from waiting
                self.store.write_plan(Plan(()))
        if self.started:
            self._settle()

    def _settle(self) -> None:
        """Take what comes out, for a while; what does not was cancelled too."""
        until = time.monotonic() + DRAIN
        while self._awaited and time.monotonic() < until:
            self._wait(0.2)
        with self._lock:
            self._errand = None
            self._openings.clear()
            for task in wavesteps.running(self._now()):
                lost = TaskOutcome(task.id, FAILED, "cancelled", f"ended by us: {self.stopped}")
                self._set(waves.finished(self._now(), lost))
            self._set(self._now())  # also what Ctrl-C kept from being told

    @property
    def _awaited(self) -> bool:
        return bool(self._site.crew.owed or self._errand or self._come)

    def finish(
        self,
        *,
        stopped: str = "",
        reported: Collection[str] | None = None,
        items_failed: int = 0,
        detail: int = 0,
    ) -> Outcome:
        """Conclude: the document in the run directory and in DIR; ``RunDirError`` where it cannot be kept.

        ``reported``: the units that pytest spoke of; None: not compared.  ``detail`` means nothing here.
        """
        if not self._over:
            self.stop("stopped", stopped or "the session ended before this run did")
        kept, site = self._kept(), self._site
        kept.ended = time.time()
        document = kept.document(self._now())
        kept.report(document)
        if edited := site.edited():
            self._tell(edited)
        try:
            if kept.unstored:
                raise RunDirError(f"the run could not be kept: {kept.unstored}")
            site.store.write_waves(document, durable=True)
        finally:
            self.close()
        unreported = () if reported is None else [u.id for u in self.plan.units if u.id not in reported]
        verdict = verdict_of(self._now(), unreported, moved=bool(site.guard.found), failed=items_failed)
        return Outcome(verdict, document, text_of(document))

    def abort(self, why: str) -> None:
        """A session ended before anything was planned: nothing is recorded, since no older run could be taken
        for it."""
        self.discard()

    def discard(self) -> None:
        """Remove the run directory of a session that only looked."""
        self.close()

    def close(self) -> None:
        """End everything that this run started; harmless when called again.  Of a run that never began
        nothing is left: it would be taken for a review that was killed."""
        if self.started:
            self.stop("closed", "the session ended")
        if self._keeper is not None:
            self._site.close()
        if self.store is not None:
            self.store.close() if self.started else self.store.discard()
        self.store = self.store if self.started else None
        if self._alone is not None:
            self._alone.release()

    # --- small things -----------------------------------------------------------------------

    def _now(self) -> Course:
        if self.course is None:
            raise InternalError("the run of waves has not begun")
        return self.course

    def _kept(self) -> Keeper:
        if self._keeper is None:
            raise InternalError("the run of waves has not begun")
        return self._keeper

    @property
    def _site(self) -> Site:
        return self._kept().site
