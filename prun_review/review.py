"""One review, put together: the adapters, the pool, the dispatcher, the conclusion.

This is the only place that knows which implementation stands behind which port.  The pytest plugin
and the command line drive it; it knows neither.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prun_review import beginning, document, extensions, jsonvalues, pacing, patchrows, rundir
from prun_review.brakes import Brakes, backoff
from prun_review.change import Listed
from prun_review.config import Config
from prun_review.dispatch import Dispatcher
from prun_review.errors import InternalError, PrunError
from prun_review.head import Head, reviewed
from prun_review.model import Acceptance, Plan, Reason, Result, RunFacts, Unit, Verdict
from prun_review.planning import Proposal
from prun_review.pool import Pool, unanswered
from prun_review.ports import Executor, Launcher, Workbench
from prun_review.process.launch import ProcessLauncher
from prun_review.programs import Programs, forbidden
from prun_review.renderers.terminal import ALL
from prun_review.replay import Replay
from prun_review.reporting import announcement, sendable, write_reports
from prun_review.rulings import Examination
from prun_review.secondwave import Means, SecondWave
from prun_review.verdict import number

if TYPE_CHECKING:
    from prun_review.resume import TakenOver

DRAIN = 15.0
"""Seconds that cancelled units get to come out of the pool: TERM, two seconds, KILL."""


@dataclass(frozen=True)
class Outcome:
    """What a concluded run left."""

    verdict: Verdict
    document: Mapping[str, Any]
    text: str
    """The terminal report."""


class Review:
    """A run from its proposals to its document: ``start``, ``next`` until done, ``finish``."""

    def __init__(self, root: Path, config: Config, env: Mapping[str, str]) -> None:
        self.root = root
        self.config = config
        self.env = env
        self.extensions = extensions.manager()
        self.executors: Mapping[str, Executor] = extensions.executors(self.extensions, config)
        self.plan = Plan(())
        self.results: dict[str, Result] = {}
        """Unit id -> terminal result, as they come."""
        self.started = False
        """True once a plan was written: from then on there is a verdict."""
        self.stopped = ""
        """Why the run ended early, in words; empty as long as it did not."""
        self.store: rundir.RunDir | None = None
        self._pool: Pool | None = None
        self._stack = ExitStack()
        self._dispatcher: Dispatcher | None = None
        self._stored: set[str] = set()
        """Ids of the units whose terminal result is on disk."""
        self._unstored = ""
        """Why a result could not be stored; empty as long as all could."""
        self._lock = threading.RLock()
        self._turn = threading.Lock()
        """Held from taking a result out of the pool until it is in ``results``."""
        self._brakes: Brakes | None = None
        self._wave: SecondWave | None = None
        self._facts = RunFacts("", 0.0)
        self._head: Head | None = None
        self._record_egress: Callable[[], None] = lambda: None
        """Says on disk what goes to whom, or went."""
        self._integrity: Callable[[], tuple[Reason, ...]] = tuple

    # --- before the first dispatch ----------------------------------------------------------

    @property
    def directory(self) -> Path | None:
        """The run directory, once there is one."""
        return self.store.path if self.store else None

    @property
    def acceptances(self) -> tuple[Acceptance, ...]:
        """What named persons answer for in this run."""
        return self._facts.acceptances

    def check_names(self) -> None:
        """``ConfigError`` for an executor, contract, report format or folder that does not exist, and for
        options that exclude each other."""
        beginning.check(self.config, self.root, self.executors)
        extensions.check_reports(self.extensions, self.config.report)
        extensions.check_contracts(self.extensions, self.config.executor_tables)

    def open_store(self) -> rundir.RunDir:
        """The run directory, made on the first call."""
        if self.store is None:
            self.store = rundir.create(self.root, now=time.time())
            self._stack.callback(self.store.close)
        return self.store

    @property
    def head(self) -> Head:
        """What is reviewed, taken on the first call; ``PrunError`` where that is impossible."""
        if self._head is None:
            self._head = Head(self.root, self.config, self.env, self.executors)
            self._stack.enter_context(self._head.tree)
        return self._head

    def take(self) -> tuple[Listed, ...] | None:
        """Take a head that decides which items there are; the changed files, None without a base.

        ``PrunError`` where it cannot be taken.  Without base and named head nothing is done yet.
        """
        if self.config.base or self.config.head:
            tree = self.head.tree
            return tree.listing if tree.change is not None else None
        return None

    @property
    def of_a_change(self) -> bool:
        """Whether there is a verdict even where no probe was asked."""
        return bool(self.config.base)

    def start(
        self,
        proposals: Sequence[Proposal],
        *,
        workers: int,
        partial: str,
        say: Callable[[str], None],
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Plan, look for the programs, take the snapshot, begin; ``PrunError`` before any dispatch.

        ``say`` is for what must be said before the first dispatch, ``tell`` for what happens later.
        """
        store = self.open_store()
        dispatching = self.config.dispatch == "auto"
        replay = Replay(rundir.find(self.root, self.config.replay)) if self.config.replay else None
        # The zygote is forked before this process has a thread of its own.
        launcher: Launcher | None = (replay or ProcessLauncher()) if dispatching else None
        if launcher:
            self._stack.callback(launcher.close)
        head = self.head
        head.may_take_over()
        used = sorted(
            {p.executor for p in proposals if not p.not_asked and not p.error} & set(self.executors)
        )
        head.may_ask(used)
        programs = replay or Programs(self.executors, self.env, launcher)
        if dispatching:
            programs.locate(used, forbidden(reviewed(self.root, self.config), head.tree.names, self.root))
        plan, broken = head.plan(proposals, programs.version)
        self.plan = replace(plan, partial=f"{number(len(plan.units), 'unit')}, {partial}" if partial else "")
        refused = {unit: ("brief", why) for unit, why in broken.items()}
        if replay:
            refused = {**replay.refusals(self.plan), **refused}
        elif dispatching:
            head.may_begin(sendable(plan, broken).units)
        infos = [programs.info(name) for name in used]
        every = self.executors.values()
        facts = beginning.facts(store.id, self.config, self.plan, head.tree.revision, infos, every)
        self._record(facts, replay, say)
        if replay:
            self._settle_again(replay, refused, say)
        if launcher is None:
            self.stop("dispatch-off", "nothing was dispatched: dispatch is off")
            return
        self._dispatch(launcher, programs, refused, replay, workers, (say, tell))

    def _dispatch(
        self,
        launcher: Launcher,
        programs: Programs | Replay,
        refused: dict[str, tuple[str, str]],
        replay: Replay | None,
        workers: int,
        voices: tuple[Callable[[str], None], Callable[[str], None]],
    ) -> None:
        """Take the snapshot, say what goes to whom, and begin."""
        store, head, tree, (say, tell) = self.open_store(), self.head, self.head.tree, voices
        snapshot = self._stack.enter_context(tree.materialise())
        noted = replace(self._facts.revision, notes=(*self._facts.revision.notes, *snapshot.notes))
        self._facts = replace(self._facts, revision=noted)
        guard = tree.guard(snapshot)
        self._integrity = lambda: (*guard.found, *tree.changed(snapshot), *tree.repository_changed())
        left = tuple(unit for unit in self.plan.units if unit.id not in self.results)
        asked: list[Unit] = []

        def record(units: Iterable[Unit]) -> None:
            asked.extend(units)
            self._record_egress()

        if not replay:
            self._record_egress = lambda: head.record(store, asked, snapshot)
            record(unit for unit in left if unit.id not in refused)
        if left and not replay:
            say(announcement(replace(self.plan, units=left), self.executors, len(tree.names), refused))
        self._brakes = pacing.brakes_of(self.config, self.executors, store.append, tell)
        self._dispatcher = Dispatcher(
            store=store,
            launcher=launcher,
            executors=self.executors,
            located=programs.located,
            kinds=extensions.contracts(self.extensions),
            subject=head.subject(snapshot),
            env=self.env,
            state=store.state,
            refused=refused,
            brakes=self._brakes,
            starts=pacing.starts_of(self.config, self.executors, programs.located),
            backoff=backoff(0.0 if replay else self.config.retry_wait),
            retries=self.config.retries,
            stall=self.config.stall,
            contain=None if replay else head.contain,
            verify=guard,
            tell=tell,
            vouched=replay.vouched if replay else {},
            sites=replay.sites if replay else {},
            stored=self._stored,
            workbench=replay or self._workbench(launcher),
        )
        self._pool = pacing.pool_of(self.config, self._dispatcher, self.plan, self.root, workers)
        self._brakes.spent(self.results.values())
        self._wave = self._second_wave(programs, refused, replay, self._dispatcher, record)
        self._pool.start(left)

    def _workbench(self, launcher: Launcher) -> Workbench | None:
        """None where nobody writes code: then nothing of what that takes is made."""
        if all(unit.brief.mode != "write" for unit in self.plan.units):
            return None
        return self.head.workbench(self.open_store(), launcher, self._stack)

    def _second_wave(
        self,
        programs: Programs | Replay,
        refused: dict[str, tuple[str, str]],
        replay: Replay | None,
        dispatcher: Dispatcher,
        record: Callable[[Iterable[Unit]], None],
    ) -> SecondWave:
        """What will ask about the findings; it asks nothing before :meth:`examine`."""
        means = Means(
            root=self.root,
            config=self.config,
            executors={name: self.executors[name] for name in programs.located},
            head=self.head,
            store=self.open_store(),
            brakes=dispatcher.brakes,
            version=programs.version,
            same=extensions.same_finding(self.extensions),
            replay=replay,
            refused=refused,
            adopt=self._take_all,
            record=record,
            start=self._hand_in,
        )
        return SecondWave(means)

    def _hand_in(self, units: Sequence[Unit]) -> None:
        if self._pool:
            self._pool.start(units)

    def _record(self, facts: RunFacts, replay: Replay | None, say: Callable[[str], None]) -> None:
        """Put the beginning of the run, and what it takes over, on disk."""
        store = self.open_store()
        facts, notes = self.head.facts(facts, store, extensions.same_finding(self.extensions))
        for note in notes:
            say(note)
        taken = self._resume(store)
        self._facts = replace(
            facts, replay_of=replay.run_id if replay else "", resumed_from=taken.runs if taken else ()
        )
        store.again = bool(replay)
        store.write_plan(self.plan)
        store.write_document(document.start(self._facts, self.plan))
        self.started = True
        if taken:
            self._adopt(taken, say)

    def _resume(self, store: rundir.RunDir) -> TakenOver | None:
        if not self.config.resume:
            return None
        from prun_review.resume import take_over

        return take_over(self.root, self.plan, store, self.config.resume, self.head.again)

    def _adopt(self, taken: TakenOver, say: Callable[[str], None]) -> None:
        """Results of earlier runs, stored in this one already, are results of this one."""
        for note in taken.notes:
            say(f"resume: {note}")
        whence = ", ".join(taken.runs) or "nothing: no stored run has a valid result of these units"
        taken_over = f"{len(taken.results)} of {number(len(self.plan.units), 'unit')} taken over"
        say(f"resumed from {whence}: {taken_over}")
        self._take_all(taken.results, stored=True)

    def _settle_again(self, replay: Replay, refused: Collection[str], say: Callable[[str], None]) -> None:
        """What a replay has nothing to judge of is as the stored run says."""
        for note in replay.notes(self.plan, self.config):
            say(note)
        self._take_all([r for r in replay.settled(self.plan) if r.unit not in refused])

    def _take_all(self, results: Iterable[Result], stored: bool = False) -> None:
        """Results that nobody is asked for; ``stored``: in this run's store already."""
        for result in results:
            if stored:
                self._stored.add(result.unit)
            self._take(result)

    # --- while it runs ----------------------------------------------------------------------

    def next(self, timeout: float) -> Result | None:
        """The next finished unit; None after ``timeout`` seconds without one."""
        with self._turn:
            result = self._pool.next(timeout) if self._pool else None
            return self._take(result) if result is not None else None

    @property
    def owed(self) -> bool:
        """True while units that were handed to the pool have not come out."""
        return bool(self._pool and self._pool.owed)

    def _take(self, result: Result) -> Result:
        with self._lock:
            if result.unit not in self._stored:  # the pool made it, or the dispatcher could not store it
                result = self._store(result)
            if self._wave and self._wave.owns(result.unit):
                self._wave.take(result)
            else:
                self.results[result.unit] = result
        self.extensions.hook.prun_unit_finished(result=result)
        return result

    def _store(self, result: Result) -> Result:
        try:
            self.open_store().finish(result)
            self._stored.add(result.unit)
        except PrunError as error:  # nothing more is bought that cannot be kept
            self._unstored = str(error)
            if self._pool:
                self._pool.refuse(error.code, f"not run: {error}")
        return result

    def let_go(self) -> None:
        """Where results could not be stored, let those who wait for them know that none will come."""
        if self._unstored and self.store is not None:
            self.store.release()

    def in_flight(self) -> list[tuple[Unit, float, float]]:
        """The units that run, for how many seconds, and how many of these they have been silent."""
        if self._pool is None or self._dispatcher is None:
            return []
        vigils = self._dispatcher.vigils
        silent = ((unit, seconds, vigils.get(unit.id)) for unit, seconds in self._pool.in_flight())
        return [(unit, seconds, vigil.silent if vigil else 0.0) for unit, seconds, vigil in silent]

    def pausing(self) -> int:
        """How many units wait to be tried again."""
        return self._pool.pausing() if self._pool else 0

    def stop(self, code: str, text: str) -> None:
        """Start nothing more, end what runs, and leave a terminal result for every unit.

        The first call decides.  When it returns, every planned unit has its ``result.json``.
        """
        with self._lock:
            if self.stopped or (self.started and not self._open):
                return
            self.stopped = text
        if not self.started:
            if self.store is not None:  # an empty plan keeps workers from waiting
                self.store.write_plan(Plan(()))
            return
        self._settle(code, text)

    def _settle(self, code: str, text: str) -> None:
        """A terminal result for every unit.  May be called again where Ctrl-C cut it short."""
        if self._pool:
            self._pool.stop(code, text)
            self._drain()
        with self._turn:
            for unit in self._open:
                self._take(self._undelivered(unit) or unanswered(unit, "not-run", code, text))

    def _undelivered(self, unit: Unit) -> Result | None:
        """A result that is on disk and that Ctrl-C caught on its way here: what is stored counts."""
        if unit.id not in self._stored:
            return None
        try:
            return self.open_store().result_of(unit)
        except PrunError:
            return None

    @property
    def _open(self) -> list[Unit]:
        """The units of both waves without a terminal result."""
        first = [unit for unit in self.plan.units if unit.id not in self.results]
        return [*first, *(self._wave.open if self._wave else ())]

    def _drain(self) -> None:
        deadline = time.monotonic() + DRAIN
        while self.owed and time.monotonic() < deadline:
            self.next(0.2)

    # --- between the waves ------------------------------------------------------------------

    @property
    def examination(self) -> Examination:
        """The second wave: what was asked about the findings, and what came back so far."""
        return self._wave.examination if self._wave else Examination()

    def examine(
        self,
        say: Callable[[str], None],
        tell: Callable[[str], None],
        heard: Callable[[Result], None] = lambda result: None,
    ) -> None:
        """Ask about the findings of a finished first wave, round by round, until nothing is left to ask.

        Asks nothing where the run was stopped, dispatches nothing, or does not cross-examine.  What fails
        in it leaves questions open and keeps the run from being green; the first wave is kept.
        """
        wave = self._wave
        if wave is None or self.stopped or self._unstored or self._open:
            return
        try:
            while not self.stopped and wave.ask(self._facts, self.plan, self.results.values(), say):
                while wave.open and not self.stopped:
                    self._await(heard)
        except Exception as error:  # questions that stay open are INCOMPLETE; so is this
            self._give_up_wave(error, tell)
        resumed = sorted({*self._facts.resumed_from, *wave.runs}, reverse=True)
        self._facts = replace(self._facts, resumed_from=tuple(resumed))

    def _await(self, heard: Callable[[Result], None]) -> None:
        result = self.next(0.2)
        if result is not None:
            heard(result)
        elif not self.owed and self._open:
            raise InternalError("units are waited for that the pool does not have")

    def _give_up_wave(self, error: Exception, tell: Callable[[str], None]) -> None:
        told = str(error) if isinstance(error, PrunError) else f"{type(error).__name__}: {error}"
        reason = Reason("examination-failed", f"the cross-examination ended early: {told}")
        self._facts = replace(self._facts, doubts=(*self._facts.doubts, reason))
        tell(f"{reason.text}: the verdict will be INCOMPLETE")
        self._settle(reason.code, reason.text)

    # --- after it ---------------------------------------------------------------------------

    def finish(
        self, *, stopped: str, reported: Collection[str] | None, items_failed: int, detail: int = ALL
    ) -> Outcome:
        """Conclude, write document and reports.  ``reported`` None: not compared with the plan.

        ``detail``: how long the terminal report is, see :mod:`prun_review.renderers.terminal`.
        """
        store = self.open_store()
        if self._open:
            self.stop("stopped", stopped or "the session ended before this unit did")
            self._settle("stopped", self.stopped)
        integrity = tuple(dict.fromkeys(self._integrity()))  # also what was put back meanwhile
        self._record_egress()
        unreported = [] if reported is None else [u.id for u in self.plan.units if u.id not in reported]
        facts = replace(
            self._facts,
            finished=time.time(),
            integrity=integrity,
            stopped=stopped or self.stopped,
            items_failed=items_failed,
            unreported=tuple(unreported),
            budget=self._brakes.told() if self._brakes else "",
        )
        same = extensions.same_finding(self.extensions)
        built = document.build(
            facts, self.plan, list(self.results.values()), same=same, examination=self.examination
        )
        built |= jsonvalues.clean(patchrows.told(self.plan, list(self.results.values()), store.patch_of))
        store.write_document(built)
        renderers = extensions.renderers(self.extensions)
        text = write_reports(self.root, store, built, renderers, self.config.report, detail)
        self.close()
        return Outcome(document.verdict_of(built), built, text)

    def abort(self, why: str) -> None:
        """Record a session that ended before anything was planned."""
        if not self.started:
            beginning.write_abort(self.open_store(), why)
            self.close()

    def discard(self) -> None:
        """Remove the run directory of a session that only looked."""
        if self.store is not None and not self.started:
            self.store.discard()
            self.store = None
        self.close()

    def close(self) -> None:
        """End everything that this run started; harmless when called again."""
        self.stop("closed", "the session ended")
        if self._pool:
            self._pool.close()
        self._stack.close()
