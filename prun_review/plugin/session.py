"""The review behind a pytest session: started once, concluded once, in the controller only."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prun_review import planning
from prun_review.errors import InternalError, PrunError
from prun_review.model import Result
from prun_review.planning import Proposal
from prun_review.plugin.scope import PATTERN
from prun_review.renderers.escape import plain
from prun_review.renderers.terminal import ALL, BRIEF
from prun_review.renderers.verdictlines import failure
from prun_review.reporting import trouble
from prun_review.verdict import number

if TYPE_CHECKING:
    from prun_review.plugin.progress import Progress
    from prun_review.review import Outcome, Review

GATE = "prun_review::gate"
"""Node id of the report that carries the verdict."""
EXTENDED_INCOMPLETE = 10


@contextmanager
def _undisturbed() -> Iterator[None]:
    """A further Ctrl-C is ignored while results are brought in: that takes seconds and is bounded."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        # None: whoever embeds Python set a handler of its own, which cannot be put back from here.
        signal.signal(signal.SIGINT, signal.default_int_handler if before is None else before)


class ReviewSession:
    """Hooks and state of an active session, with or without ``-n``."""

    nothing = "no probe was asked"
    """Why nothing was planned where nobody says otherwise."""

    def __init__(
        self, config: pytest.Config, review: Review, progress: Progress, panels: Sequence[Path]
    ) -> None:
        self.config = config
        self.panels = panels
        self.review = review
        self.progress = progress
        self.reported: set[str] = set()
        """Node ids with a terminal report."""
        self.failed: set[str] = set()
        """Units whose answer keeps its contract while the probe's own assertions fail."""
        self.outcome: Outcome | None = None
        self.trouble = ""
        """Why there is no verdict although units were planned: our own failure."""
        self.internal_error = False
        self.interrupted = False
        self.deselected = 0
        """Probes that were collected and taken away again."""

    # --- dispatching ------------------------------------------------------------------------

    @property
    def unit_ids(self) -> set[str]:
        """The ids of the planned units; empty before :meth:`start`."""
        return {unit.id for unit in self.review.plan.units}

    def unit_of(self, nodeid: str) -> str:
        """The id of the unit that an item with this node id is; any other text where it is none."""
        return nodeid

    def failure(self, outcome: Outcome) -> str:
        """What the report of a session that is not green says."""
        return failure(outcome.document)

    def further(self, outcome: Outcome) -> Sequence[str]:
        """Lines below what the review came to."""
        return ()

    @property
    def not_asked(self) -> dict[str, str]:
        """The ids of the items that are not asked because of what changed, with the reason in words."""
        return planning.skipped(self.review.plan)

    def start(self, proposals: Sequence[Proposal], workers: int = 0) -> None:
        """Plan and begin to dispatch; ``pytest.UsageError`` for what the user can mend."""
        self.config.get_terminal_writer().flush()  # pytest's header stands above our first line
        try:
            self.review.start(
                proposals,
                workers=workers,
                partial=self._partial(proposals),
                say=self.progress.line,
                tell=self.progress.tell,
            )
        except InternalError:
            raise
        except PrunError as error:
            raise pytest.UsageError(f"prun_review: {trouble(error)}") from None
        self.progress.start(self.review)

    def take(self, timeout: float) -> Result | None:
        """The next finished unit; None after ``timeout`` seconds without one."""
        result = self.review.next(timeout)
        if result is not None:
            self.progress.finished(result)
        return result

    def examine(self) -> None:
        """Ask about the findings once every unit has its result; called in the run loop, so that Ctrl-C in
        it means what it means in pytest."""
        self.review.examine(self.progress.line, self.progress.tell, self.progress.finished)

    def _partial(self, proposals: Sequence[Proposal]) -> str:
        option = self.config.option
        silent = self._silent_files(proposals)
        first = f"{'the first ' * (len(silent) > 1)}{silent[0]}" if silent else ""
        files = f"not selected: {number(len(silent), 'probe file')}, {first}" if silent else ""
        flags = {"-k": option.keyword, "-m": option.markexpr, "--deselect": option.deselect}
        flags |= {"--lf": getattr(option, "lf", False), "node ids": any("::" in a for a in self.config.args)}
        used = " ".join(name for name, value in flags.items() if value)
        if self.deselected or flags["node ids"]:
            return ", ".join(filter(None, (f"{self.deselected} deselected", used, files)))
        return files

    def _silent_files(self, proposals: Sequence[Proposal]) -> list[str]:
        """Probe files of the project that no item comes from, whatever kept them away."""
        root = self.config.rootpath
        heard = {os.path.realpath(root / p.id.split("::", 1)[0]) for p in proposals}
        found = {os.path.realpath(f) for panels in self.panels for f in panels.rglob(PATTERN)}
        return sorted(os.path.relpath(f, root) for f in found - heard)

    # --- listening --------------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember which units pytest spoke of, and which probes failed."""
        if report.nodeid == GATE:
            return
        unit = self.unit_of(report.nodeid)
        if report.when in ("call", "???") or report.outcome != "passed":
            self.reported.add(unit)
        result = self.review.results.get(unit)
        # A broken contract fails its item too, and has its own reason; this counts own assertions.
        if report.outcome == "failed" and result is not None and result.ok:
            self.failed.add(unit)

    def pytest_internalerror(self) -> None:
        """An internal error, here or on a worker, is never a green run."""
        self.internal_error = True
        self.review.stop("internal-error", "pytest reported an internal error")

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Ctrl-C: end what is in flight now, not when the summary is written."""
        self.interrupted = excinfo.type is KeyboardInterrupt  # xdist has a subclass of its own for -x
        with _undisturbed():
            self.review.stop("interrupted", "interrupted")

    # --- concluding -------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> object:
        """Conclude before the terminal writes its summary; set the exit status last."""
        try:
            with _undisturbed():
                self._conclude(session, exitstatus)
        except Exception as error:  # a verdict that cannot be reached is told, and never green
            self.trouble = f"{type(error).__name__}: {error}"
            self._report_gate("INCOMPLETE: " + self.trouble)
        finally:
            self.progress.stop()
        try:
            return (yield)
        finally:
            self._set_status(session)

    def _conclude(self, session: pytest.Session, exitstatus: int) -> None:
        if not self.review.started:
            self._nothing_planned(exitstatus)
            return
        stopped = self._stopped(session, exitstatus)
        self.outcome = self.review.finish(
            stopped=stopped,
            reported=None if stopped else self.reported,
            items_failed=len(self.failed),
            detail=min(max(self.config.option.verbose + 1, BRIEF), ALL),  # -q, nothing, -v
        )
        if self.outcome.verdict.outcome != "PASS":
            self._report_gate(self.failure(self.outcome))

    def _nothing_planned(self, exitstatus: int) -> None:
        """Units were asked for and there was none: only commands that just look may be green."""
        option = self.config.option
        if option.collectonly or option.setuponly or option.setupplan:
            self.review.discard()
            return
        self.trouble = self.review.stopped or self.nothing
        if exitstatus == pytest.ExitCode.OK:
            self._report_gate("INCOMPLETE: " + self.trouble)
        self.review.abort(self.trouble)

    def _stopped(self, session: pytest.Session, exitstatus: int) -> str:
        text = str(self.review.stopped or session.shouldfail or session.shouldstop or "")
        if self.interrupted or "keyboard-interrupt" in text:
            return "interrupted" if text in ("", "interrupted") else f"interrupted: {text}"
        ended = exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR)
        return text or ("interrupted" if ended else "")

    def _report_gate(self, text: str) -> None:
        from prun_review.plugin.items import clean_text

        now = time.time()
        report = pytest.TestReport(
            nodeid=GATE,
            location=(GATE, None, "gate"),
            keywords={},
            outcome="failed",
            longrepr=clean_text(text),
            when="call",
            duration=0.0,
            start=now,
            stop=now,
        )
        manager = self.config.pluginmanager
        # lastfailed would re-dispatch everything for the gate's sake, the session would count it for
        # --maxfail, and the terminal would print 133 %: only the others (JUnit) are told.
        names = ("lfplugin", "nfplugin", "stepwiseplugin", "session", "terminalreporter", "dsession")
        silent = [p for p in map(manager.get_plugin, names) if p is not None]
        manager.subset_hook_caller("pytest_runtest_logreport", [*silent, self])(report=report)
        terminal = manager.get_plugin("terminalreporter")
        if terminal is not None:
            terminal.stats.setdefault("failed", []).append(report)

    def _set_status(self, session: pytest.Session) -> None:
        if self.internal_error and session.exitstatus in (0, 1):
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        verdict = "" if self.outcome is None else self.outcome.verdict.outcome
        if not self.trouble and (verdict == "PASS" or not self.review.started):
            return
        if session.exitstatus in (0, 1):
            extended = self.review.config.exit_codes == "extended" and verdict == "INCOMPLETE"
            session.exitstatus = EXTENDED_INCOMPLETE if extended else 1

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The review, below pytest's own failures."""
        if self.trouble:
            terminalreporter.section("prun_review", "=", red=True)
            terminalreporter.write_line(f"INCOMPLETE: no verdict could be reached: {plain(self.trouble)}")
            if self.review.directory:
                terminalreporter.write_line(f"run directory: {self.review.directory}")
        elif self.outcome is not None:
            terminalreporter.section("prun_review", "=")
            further = map(plain, self.further(self.outcome))
            for line in (*self.outcome.text.splitlines(), *further):
                terminalreporter.write_line(line)
