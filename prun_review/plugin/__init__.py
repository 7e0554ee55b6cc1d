"""The pytest plugin: options, and the decision whether this session is a review at all.

Loaded in every pytest run of every project, so this module imports the standard library and pytest
only; everything else is imported once a command-line argument lies in a panels folder.
"""

from __future__ import annotations

import pytest

from prun_review.plugin import scope


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; each has a twin in ``[tool.prun_review]``."""
    group = parser.getgroup("prun_review", "cross-vendor review (pytest panels/)")
    add = group.addoption
    add("--prun-executors", metavar="A,B", help="who is asked (default: codex,sonnet)")
    add("--prun-offline", action="store_true", help="ask the offline executors (static analysers)")
    add("--prun-jobs", type=int, metavar="K", help="most dispatches in flight (default: 12)")
    add("--prun-report", action="append", metavar="FORMAT[:PATH]", help="report to write (markdown, adr...)")
    add("--prun-dispatch", choices=("auto", "off"), help="off: dispatch nothing; never green")
    add("--prun-replay", metavar="RUN", help="judge the stored answers of a run again, dispatch nothing")
    add("--prun-resume", action="store_true", help="take over what stored runs have answered; ask the rest")
    add("--prun-resume-from", metavar="RUN", help="the same, from this run only")
    add("--prun-budget", metavar="LIMIT", help="what may be spent: 5usd, 400ktok, or 5usd,2Mtok")
    add("--prun-retries", type=int, metavar="N", help="retries of a failure that can pass (default: 2)")
    add(
        "--prun-stall", type=float, metavar="S", help="seconds of silence that end an attempt; 0: never (600)"
    )
    add("--prun-base", metavar="REV", help="review the change since this revision, not the whole tree")
    add("--prun-head", metavar="REV|DIR", help="what is reviewed (default: the work tree)")
    add("--prun-previous", metavar="RUN", help="carry over unresolved blockers of that run: id, path, latest")
    add("--prun-about", metavar="FILE", help="title and description of the change, sent with it as data")
    add(
        "--prun-profile",
        choices=("auto", "trusted", "untrusted"),
        help="how far the reviewed tree is trusted",
    )
    add(
        "--prun-cross-examine",
        choices=("off", "gate", "all"),
        help="what of the findings is put before the other vendor (default: gate)",
    )
    add("--prun-repeat", type=int, metavar="K", help="ask each executor K times")
    add("--prun-baseline", metavar="FILE", help="findings of that file are known and do not gate")
    add("--prun-authors", metavar="A,B", help="who wrote what is reviewed: vendors, lineages or executors")
    add("--prun-timeout", type=float, metavar="S", help="seconds for one attempt (default: 900)")
    add("--prun-heartbeat", type=float, metavar="S", help="seconds between progress lines (default: 60)")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the marker always, and the review only where a panels folder was named."""
    config.addinivalue_line("markers", "brief(...): what a probe asks; see prun_review.brief")
    where = scope.of(config)
    if where.active:
        from prun_review.plugin.activate import activate

        activate(config, where)
    elif where.hint:
        config.pluginmanager.register(_Hint(where.hint), "prun_review-hint")


class _Hint:
    """Says that there are probes which this command did not run."""

    def __init__(self, text: str) -> None:
        self.text = text

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(self.text)
