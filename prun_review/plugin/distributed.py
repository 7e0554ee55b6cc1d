"""With ``-n``: the pool runs in the controller, workers only judge, the run directory is the channel.

A worker writes what it collected, waits for ``plan.json``, and then, for each of its items, for that
unit's ``result.json``.  It waits inside ``pytest_runtest_protocol``, outside the reach of
pytest-timeout.  When the controller's lock is free, nobody dispatches any more and it stops waiting.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prun_review import document, planning, whatchanged
from prun_review.errors import RunDirError
from prun_review.model import Acceptance, Plan, Result, Unit
from prun_review.planning import Collected
from prun_review.plugin.collect import Collector, is_probe
from prun_review.plugin.items import RESULT, give
from prun_review.plugin.scope import Scope
from prun_review.plugin.session import ReviewSession
from prun_review.plugin.units import leave_out, unit_of
from prun_review.pool import unanswered
from prun_review.reporting import trouble
from prun_review.rundir import RunView

if TYPE_CHECKING:
    from prun_review.plugin.tasks import TaskCollector

POLL = 0.05
"""Seconds between two looks of a worker at the run directory."""


class Controller:
    """Starts the pool when every initial worker has collected the same items."""

    def __init__(self, review: ReviewSession, where: Scope) -> None:
        self.session = review
        self.review = review.review
        self.where = where
        self.nodes: list[str] = []
        self.collected: dict[str, list[str]] = {}
        self.decided = False
        """True once the pool was started, or it was decided that it never will."""
        self.rerun: set[str] = set()
        self._pump: threading.Thread | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker that the session is active, and where the run directory is."""
        try:
            run = self.review.open_store().path
        except RunDirError as error:
            raise pytest.UsageError(f"prun_review: {trouble(error)}") from None
        self.nodes.append(node.gateway.id)
        node.workerinput["prun_review"] = {
            "root": str(self.where.root),
            "panels": [str(p) for p in self.where.panels],
            "run": str(run),
            "change": self._change(),
            "waves": self.where.waves and self.where.waves.sent(),
        }

    def _change(self) -> list[list[str | int]] | None:
        """The changed files as execnet carries them; None where no change is reviewed."""
        listing = whatchanged.current_change()
        return None if listing is None else [[entry.path, entry.kind, entry.size] for entry in listing]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that does not import stops the run before any dispatch."""
        if report.failed and not self.session.config.option.continue_on_collection_errors:
            self._refuse(
                "collection-error", f"{report.nodeid} could not be collected; nothing was dispatched"
            )

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Start when the last of the initial workers is ready."""
        self.collected[node.gateway.id] = list(ids)
        self._start_when_ready()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker that died before it had collected is not waited for; xdist replaces it."""
        if node.gateway.id not in self.collected and node.gateway.id in self.nodes:
            self.nodes.remove(node.gateway.id)
            self._start_when_ready()

    def _start_when_ready(self) -> None:
        if self.decided or not self.nodes or any(n not in self.collected for n in self.nodes):
            return
        first = self.collected[self.nodes[0]]
        for other in self.nodes[1:]:
            if self.collected[other] != first:
                self._refuse("collection-differs", _difference(first, self.collected[other]))
                return
        self.decided = True
        collected = self.review.open_store().collected(self.nodes[0])
        if not collected.proposals and not self.review.of_a_change:
            self.review.open_store().write_plan(Plan(()))
            return
        self.session.deselected = collected.deselected
        self.session.start(collected.proposals, workers=len(self.nodes))
        self._pump = threading.Thread(target=self._drain, name="prun_review-drain", daemon=True)
        self._pump.start()

    def _drain(self) -> None:
        while self.review.owed:
            self.session.take(0.2)
        self.review.let_go()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """Ask about the findings when the workers have judged every unit and are gone."""
        done = yield
        if self._pump is not None:
            self._pump.join()
        self.session.examine()
        return done

    def _refuse(self, code: str, text: str) -> None:
        if not self.decided:
            self.decided = True
            self.review.stop(code, text)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self) -> None:
        """``-x`` and ``--maxfail``: end what is in flight, or the workers go on waiting (9 s when tried)."""
        dsession = self.session.config.pluginmanager.get_plugin("dsession")
        if dsession is not None and dsession.shouldstop:
            self.review.stop("stopped", str(dsession.shouldstop))

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport, sched: Any) -> None:
        """Judge the item of a killed worker once more: its dispatch is not lost, only its judge."""
        if self.session.unit_of(crashitem) not in self.session.unit_ids or crashitem in self.rerun:
            return
        self.rerun.add(crashitem)
        try:
            sched.mark_test_pending(crashitem)
        except NotImplementedError:  # loadscope and loadfile run it again by themselves
            return
        report.outcome = "rerun"  # type: ignore[assignment]

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """A judge that was replaced is no failure of the unit."""
        if report.outcome == "rerun" and report.nodeid in self.rerun:  # type: ignore[comparison-overlap]
            return "rerun", "R", "RERUN"
        return None


class Worker:
    """Judges the units that the controller dispatches."""

    def __init__(self, config: pytest.Config, collector: Collector | TaskCollector) -> None:
        sent = config.workerinput["prun_review"]  # type: ignore[attr-defined]
        self.id = config.workerinput["workerid"]  # type: ignore[attr-defined]
        self.collector = collector
        self.run = RunView(Path(sent["run"]))
        self.units: dict[str, Unit] | None = None
        self.not_asked: dict[str, str] = {}
        """The ids of the items that are not asked because of what changed, with the reason in words."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write what was collected, before xdist tells the controller that it is there."""
        proposals = tuple(self.collector.proposals(session.items))
        self.run.write_collected(self.id, Collected(proposals, self.collector.left(session.items)))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Wait for the unit's result, then let pytest run the item."""
        if unit_of(item) and RESULT not in item.stash:
            result = self._wait(item)
            if result is not None:
                give(item, result, self._acceptances() if is_probe(item) and not result.ok else ())
            leave_out([item], self.not_asked)
        return (yield)

    def _acceptances(self) -> tuple[Acceptance, ...]:
        """What named persons answer for, as the run began; nothing where that cannot be read."""
        try:
            return document.facts_of(self.run.read_document()).acceptances
        except (RunDirError, ValueError):
            return ()

    def _wait(self, item: pytest.Item) -> Result | None:
        unit = self._unit(unit_of(item))
        if unit is None:
            return None
        while True:
            try:
                alive = self.run.dispatcher_alive()
                result = self.run.result_of(unit)
            except RunDirError as error:  # damaged or gone: the unit's failure, not ours
                return unanswered(unit, "failed", error.code, str(error))
            if result is not None:
                return result
            if not alive:  # looked at before the result, so a last-moment result is not missed
                text = "the dispatcher died before this unit ended, or could not store its result"
                return unanswered(unit, "not-run", "dispatcher-died", text)
            time.sleep(POLL)

    def _unit(self, unit_id: str) -> Unit | None:
        while self.units is None:
            alive = self.run.dispatcher_alive()
            plan = self.run.plan()
            if plan is not None:
                self.units = {unit.id: unit for unit in plan.units}
                self.not_asked = planning.skipped(plan)
            elif not alive:
                self.units = {}
            else:
                time.sleep(POLL)
        return self.units.get(unit_id)


def _difference(left: Sequence[str], right: Sequence[str]) -> str:
    missing = sorted(set(left) ^ set(right)) or [a for a, b in zip(left, right, strict=False) if a != b]
    probe = missing[0].split("[", 1)[0] if missing else "the probes"
    return (
        f"the workers collected different items, first at {probe}: its parameters differ between processes"
        " (a set, a generator, a random value or the time in parametrize?); sort them into a list"
    )
