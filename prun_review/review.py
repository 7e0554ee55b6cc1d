"""One review, put together: the adapters, the pool, the dispatcher, the conclusion.

This is the only place that knows which implementation stands behind which port.  The pytest plugin
and the command line drive it; it knows neither.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prun_review import __version__, document, extensions, planning, rundir, workspace
from prun_review.codec import encode
from prun_review.config import Config
from prun_review.dispatch import Dispatcher
from prun_review.errors import ConfigError
from prun_review.model import ExecutorInfo, Plan, Reason, Result, RunFacts, Unit, Verdict
from prun_review.planning import Proposal
from prun_review.pool import Cancel, Pool, memory_jobs, unanswered
from prun_review.ports import Executor, Launcher
from prun_review.process.launch import ProcessLauncher
from prun_review.programs import Programs, available_mib, forbidden
from prun_review.replay import Replay
from prun_review.reporting import announcement, write_reports

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
        self._stored: set[str] = set()
        self._lock = threading.RLock()
        self._turn = threading.Lock()
        """Held from taking a result out of the pool until it is in ``results``."""
        self._facts = RunFacts("", 0.0)
        self._integrity: Callable[[], tuple[Reason, ...]] = tuple

    # --- before the first dispatch ----------------------------------------------------------

    @property
    def directory(self) -> Path | None:
        """The run directory, once there is one."""
        return self.store.path if self.store else None

    def check_names(self) -> None:
        """``ConfigError`` for an executor, report format or folder that does not exist."""
        chosen = self.config.offline_executors if self.config.offline else self.config.executors
        for name in (*chosen, *self.config.executor_tables):
            if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
                raise ConfigError(f"executor name {name!r}", remedy="letters, digits, _ and - only")
            if name not in self.executors:
                known = ", ".join(sorted(self.executors))
                raise ConfigError(f"unknown executor {name!r}", remedy=f"known executors: {known}")
        extensions.check_reports(self.extensions, self.config.report)
        for folder in self.config.folders:
            below = any(
                folder == p or folder.startswith(f"{p}/") for p in (n.strip("/") for n in self.config.panels)
            )
            if not below or not (self.root / folder).is_dir():
                raise ConfigError(
                    f"folders names {folder!r}, which is no panels folder",
                    place="[tool.prun_review.folders]",
                    remedy='its path from the project, as in [tool.prun_review.folders."panels/design"]',
                )

    def open_store(self) -> rundir.RunDir:
        """The run directory, made on the first call."""
        if self.store is None:
            self.store = rundir.create(self.root, now=time.time())
            self._stack.callback(self.store.close)
        return self.store

    @property
    def reviewed(self) -> Path:
        """The folder whose tree is reviewed."""
        return (self.root / self.config.reviewed).resolve()

    def tree(self) -> workspace.ReviewedTree:
        """The reviewed tree as it is now."""
        # Our own folders are left out wherever the trusted root lies in a larger reviewed tree.
        ours = [self.root / name for name in (*self.config.panels, "reports", ".prun")]
        return workspace.take(
            self.reviewed,
            include_untracked=self.config.include_untracked,
            exclude=self.config.exclude,
            panels=[str(path) for path in ours],
        )

    def start(
        self, proposals: Sequence[Proposal], *, workers: int, partial: str, say: Callable[[str], None]
    ) -> None:
        """Plan, look for the programs, take the snapshot, begin; ``PrunError`` before any dispatch."""
        store = self.open_store()
        dispatching = self.config.dispatch == "auto"
        replay = Replay(rundir.find(self.root, self.config.replay)) if self.config.replay else None
        # The zygote is forked before this process has a thread of its own.
        launcher: Launcher | None = (replay or ProcessLauncher()) if dispatching else None
        if launcher:
            self._stack.callback(launcher.close)
        tree = self._stack.enter_context(self.tree())
        programs = replay or Programs(self.executors, self.env, launcher)
        used = sorted(
            {p.executor for p in proposals if not p.not_asked and not p.error} & set(self.executors)
        )
        if dispatching:
            programs.locate(used, forbidden(self.reviewed, tree.names, self.root))
        plan, broken = planning.make(proposals, tree, self.executors, programs.version)
        self.plan = replace(plan, partial=f"{len(plan.units)} units, {partial}" if partial else "")
        refused = {unit: ("brief", why) for unit, why in broken.items()}
        if replay:
            refused = {**replay.refusals(self.plan), **refused}
        self._facts = self._begin(store, tree, [programs.info(n) for n in used], replay)
        store.write_plan(self.plan)
        store.write_document(document.start(self._facts, self.plan))
        self.started = True
        if launcher is None:
            self.stop("dispatch-off", "nothing was dispatched: dispatch is off")
            return
        snapshot = self._stack.enter_context(tree.materialise())
        noted = replace(self._facts.revision, notes=(*self._facts.revision.notes, *snapshot.notes))
        self._facts = replace(self._facts, revision=noted)
        self._integrity = lambda: (*tree.changed(snapshot), *tree.repository_changed())
        if self.plan.units and not replay:
            say(announcement(self.plan, self.executors, len(tree.names)))
        dispatcher = Dispatcher(
            store=store,
            launcher=launcher,
            executors=self.executors,
            located=programs.located,
            kinds=extensions.contracts(self.extensions),
            tree=snapshot.path,
            read=tree.read,
            names=tree.names,
            env=self.env,
            state=store.state,
            refused=refused,
            vouched=replay.vouched if replay else {},
        )
        self._pool = self._make_pool(dispatcher, workers)
        self._pool.start(self.plan.units)

    def _begin(
        self,
        store: rundir.RunDir,
        tree: workspace.ReviewedTree,
        infos: Sequence[ExecutorInfo],
        replay: Replay | None,
    ) -> RunFacts:
        folders = sorted({u.folder for u in self.plan.units} | {n.folder for n in self.plan.not_asked})
        nested = ("executor_tables", "sources", "gate", "folders")
        return RunFacts(
            run_id=store.path.name,
            started=time.time(),
            version=__version__,
            executors=tuple(infos),
            replay_of=replay.run_id if replay else "",
            gate=self.config.gate,
            folders={f: self.config.policy(f) for f in folders},
            config={k: str(v) for k, v in encode(self.config).items() if k not in nested},
            sources=dict(self.config.sources),
            revision=tree.revision,
        )

    def _make_pool(self, dispatcher: Dispatcher, workers: int) -> Pool:
        def run(unit: Unit, cancel: Cancel) -> Result:
            result = dispatcher.run(unit, cancel)
            with self._lock:
                self._stored.add(unit.id)
            return result

        names = [unit.executor for unit in self.plan.units]
        limits = {n: self.config.executor(n).limit for n in set(names) if self.config.executor(n).limit}
        known = rundir.durations(self.root)
        expected = {u.id: known[u.case, u.executor] for u in self.plan.units if (u.case, u.executor) in known}
        # A larger -n raises the number in flight, never lowers it; short memory lowers it.
        jobs = memory_jobs(max(self.config.jobs, workers), available_mib(), names)
        return Pool(run, jobs=jobs, limits=limits, expected=expected)

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
            if result.unit not in self._stored:  # it never ran: the pool made this result
                self._stored.add(result.unit)
                self.open_store().finish(result)
            self.results[result.unit] = result
        self.extensions.hook.prun_unit_finished(result=result)
        return result

    def in_flight(self) -> list[tuple[Unit, float]]:
        """The units that run, and for how many seconds."""
        return self._pool.in_flight() if self._pool else []

    def stop(self, code: str, text: str) -> None:
        """Start nothing more, end what runs, and leave a terminal result for every unit.

        The first call decides.  When it returns, every planned unit has its ``result.json``.
        """
        with self._lock:
            if self.stopped or (self.started and len(self.results) == len(self.plan.units)):
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
            for unit in self.plan.units:
                if unit.id not in self.results:
                    self._take(unanswered(unit, "not-run", code, text))

    def _drain(self) -> None:
        deadline = time.monotonic() + DRAIN
        while self.owed and time.monotonic() < deadline:
            self.next(0.2)

    # --- after it ---------------------------------------------------------------------------

    def finish(self, *, stopped: str, reported: Collection[str] | None, items_failed: int) -> Outcome:
        """Conclude, write document and reports.  ``reported`` None: not compared with the plan."""
        store = self.open_store()
        if len(self.results) < len(self.plan.units):
            self.stop("stopped", stopped or "the session ended before this unit did")
            self._settle("stopped", self.stopped)
        integrity = self._integrity()
        unreported = [] if reported is None else [u.id for u in self.plan.units if u.id not in reported]
        facts = replace(
            self._facts,
            finished=time.time(),
            integrity=integrity,
            stopped=stopped or self.stopped,
            items_failed=items_failed,
            unreported=tuple(unreported),
        )
        same = extensions.same_finding(self.extensions)
        built = document.build(facts, self.plan, list(self.results.values()), same=same)
        store.write_document(built)
        renderers = extensions.renderers(self.extensions)
        text = write_reports(self.root, store, built, renderers, self.config.report)
        self.close()
        return Outcome(document.verdict_of(built), built, text)

    def abort(self, why: str) -> None:
        """Record a session that ended before anything was planned."""
        if not self.started:
            _write_abort(self.open_store(), why)
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


def record_abort(root: Path, why: str) -> None:
    """Record a session that failed in its configuration, where there are older runs.

    Without this ``prun-review gate`` would answer for it with the verdict of an older run.
    """
    if not (root / ".prun" / "runs").is_dir():
        return
    store = rundir.create(root, now=time.time())
    _write_abort(store, why)
    store.close()


def _write_abort(store: rundir.RunDir, why: str) -> None:
    facts = RunFacts(store.path.name, time.time(), time.time(), __version__, stopped=why)
    store.write_plan(Plan(()))
    store.write_document(document.build(facts, Plan(()), []))
