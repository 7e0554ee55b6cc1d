"""The run loop without ``-n``: every item runs as soon as its result is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from prun_review.errors import InternalError
from prun_review.plugin.collect import Collector
from prun_review.plugin.items import give
from prun_review.plugin.session import ReviewSession
from prun_review.plugin.units import leave_out, unit_of

if TYPE_CHECKING:
    from prun_review.plugin.tasks import TaskCollector


class Boundary(pytest.Item):
    """Stands for "whatever comes next": an item that is never run.

    pytest tears down what the next item does not need.  Which item is next is not known until its
    result is there, so the collector that all remaining items share is named instead; waiting for
    the next result first would keep ``-x`` from stopping (8 s instead of 0.13 s when tried).
    """

    def runtest(self) -> None:
        """Never called."""


class LocalLoop:
    """Owns ``pytest_runtestloop`` of an active session in one process."""

    def __init__(self, review: ReviewSession, collector: Collector | TaskCollector) -> None:
        self.review = review
        self.collector = collector

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Dispatch the units of the session and run all items; None where pytest's loop shall run."""
        option = session.config.option
        if option.collectonly or option.setuponly or option.setupplan:
            return None
        if session.testsfailed and not option.continue_on_collection_errors:
            return None
        if not any(map(unit_of, session.items)) and not self.review.review.of_a_change:
            return None
        self.review.deselected = self.collector.left(session.items)
        self.review.start(self.collector.proposals(session.items))
        self._run(session)
        self.review.examine()
        return True

    def _run(self, session: pytest.Session) -> None:
        units = self.review.unit_ids
        leave_out(session.items, self.review.not_asked)
        waiting = {unit_of(item): item for item in session.items if unit_of(item) in units}
        first = [item for item in session.items if unit_of(item) not in units]
        for i, item in enumerate(first):
            following = first[i + 1] if i + 1 < len(first) else self._boundary(item, list(waiting.values()))
            _run_item(session, item, following)
        while waiting:
            results = self.review.review.results
            done = next((unit for unit in waiting if unit in results), None)
            if done is None:
                self._wait()
                continue
            item = waiting.pop(done)
            give(item, results[done], self.review.review.acceptances)
            _run_item(session, item, self._boundary(item, list(waiting.values())))

    def _wait(self) -> None:
        if self.review.take(0.2) is None and not self.review.review.owed:
            raise InternalError("units are waited for that the pool does not have")

    def _boundary(self, item: pytest.Item, remaining: Sequence[pytest.Item]) -> pytest.Item | None:
        if not remaining:
            return None
        shared: pytest.Session | pytest.Collector | pytest.Package = item.session
        chains = [other.listchain() for other in (item, *remaining)]
        for level in zip(*chains, strict=False):
            if isinstance(level[0], pytest.Collector) and all(node is level[0] for node in level):
                shared = level[0]
        boundary: Boundary = Boundary.from_parent(shared, name="prun_review-boundary")
        return boundary


def _run_item(session: pytest.Session, item: pytest.Item, following: pytest.Item | None) -> None:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
