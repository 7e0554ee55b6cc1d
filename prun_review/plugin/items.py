"""What happens to a single item that is a unit: its result, its contract, its report.

The same hooks run where items run: in the one process without ``-n``, on the workers with it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import pytest

from prun_review.model import Acceptance, Result
from prun_review.plugin.units import UNIT, unit_of

RESULT: pytest.StashKey[Result] = pytest.StashKey()
"""The unit's result, put on the item before it runs."""
EXCUSE: pytest.StashKey[str] = pytest.StashKey()
"""Who answers for a missing answer, in words: the item is skipped, and the gate decides."""
UNDISPATCHED = Result(
    "", "", "", "", "", "not-run", "not-dispatched", "nothing is dispatched by this command"
)


def give(item: pytest.Item, result: Result, acceptances: Sequence[Acceptance] = ()) -> None:
    """Put the unit's result on its item; ``acceptances`` are those of the run."""
    from prun_review.outages import excuse

    item.stash[RESULT] = result
    item.stash[EXCUSE] = excuse(result, acceptances)
    item.user_properties += [("prun_executor", result.executor), ("prun_status", result.status)]


class ItemHooks:
    """The contract is asserted around the probe, whether or not the probe asks for ``result``."""

    @pytest.fixture
    def result(self, request: pytest.FixtureRequest) -> Result:
        """The judged outcome of this unit: findings, choice, text, status."""
        found: Result = request.node.stash.get(RESULT, UNDISPATCHED)
        return found

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Fail with every violation before the probe's own assertions."""
        if unit_of(item):
            result = item.stash.get(RESULT, UNDISPATCHED)
            if item.stash.get(EXCUSE, ""):
                pytest.skip(clean_text(item.stash[EXCUSE]))
            if not result.ok and UNIT in item.stash:
                from prun_review.plugin.tasks import judge

                judge(result)
            if not result.ok:
                pytest.fail(broken_contract(result), pytrace=False)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """An xfail mark cannot hide a broken contract; the unit's time is the dispatch's."""
        report = yield
        result = item.stash.get(RESULT, None)
        if result is not None and call.when == "call":
            report.duration = max(report.duration, result.seconds)
            if not result.ok and hasattr(report, "wasxfail"):
                del report.wasxfail
                report.outcome = "failed"
                report.longrepr = broken_contract(result)
        return _inert(report, item.config) if unit_of(item) else report


def _inert(report: pytest.TestReport, config: pytest.Config) -> pytest.TestReport:
    """The report as it would come from a worker: cleaned, so that nothing foreign reaches the terminal."""
    data = config.hook.pytest_report_to_serializable(config=config, report=report)
    made: pytest.TestReport = config.hook.pytest_report_from_serializable(config=config, data=data)
    return made


def broken_contract(result: Result) -> str:
    """Why a result does not satisfy its contract, every violation on a line of its own."""
    from prun_review.verdict import number

    head = {
        "broken": f"{result.executor} broke the contract ({number(len(result.violations), 'violation')})",
        "failed": f"{result.executor} gave no answer: {result.reason}",
        "not-run": f"{result.executor} was not asked to the end: {result.reason}",
    }.get(result.status, f"{result.executor}: {result.status} {result.reason}")
    lines = [head, *([result.message] if result.message else [])]
    lines += [f"  {violation}" for violation in result.violations]
    lines += [f"  salvaged: {change}" for change in result.salvage]
    return clean_text("\n".join(lines))


def clean(value: Any) -> Any:
    """``value`` as execnet and XML can carry it: primitives only, no lone surrogate, no control character.

    Without this a report that execnet cannot encode is lost and pytest exits 0 (pytest-xdist 843).
    """
    if isinstance(value, str):
        return clean_text(value)
    if value is None or type(value) in (bool, int, float):
        return value
    if isinstance(value, dict):
        return {clean_text(str(k)): clean(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [clean(v) for v in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, (int, float)):  # an IntEnum, a numpy scalar
        return clean(float(value) if isinstance(value, float) else int(value))
    try:
        return clean_text(str(value))
    except Exception:  # a __str__ of the user's that raises must not cost the report
        return f"<{type(value).__name__} that cannot be shown>"


def clean_text(text: str) -> str:
    """Without control characters, lone surrogates, and what a CI runner takes for a command."""
    from prun_review.renderers.escape import plain

    return plain(text)


class WarningCleaner:
    """Makes the text of every warning inert; the summary would print it as it is."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: Any) -> None:
        """Before it is sent to the controller or kept for the summary."""
        warning_message.message = clean_text(str(warning_message.message))


class ReportCleaner:
    """Makes every report transportable, whoever built it."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_to_serializable(self) -> Generator[None, object, object]:
        """Clean what the other implementations made."""
        return clean((yield))
