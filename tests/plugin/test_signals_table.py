"""However a run ends, nothing that it started stays, nothing is asked twice, no end but its own is green.

One table: every ending is one real ``pytest panels/`` with one reviewer per kind of process tree.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from prun_review.process import cgroup
from tests.plugin.reviewing import HANGING, PROBE, TREES, Review

AT_ONCE = 3
"""Endings under way at once; most of their time is the grace of 2 s between TERM and KILL."""
N2 = ("-n", "2")
BIG = "from prun_review import brief\n\n\n@brief(prompt='x' * 300_000)\ndef probe_app():\n    pass\n"
"""A prompt that a reviewer does not read cannot hold anybody."""

Act = Callable[[Review], object]


@dataclass(frozen=True)
class Ending:
    """One way to end a run, and what becomes of it."""

    act: Act = lambda review: None
    """What happens once every tree stands."""
    args: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    """What may become of the units of hanging trees; empty where no document is finished."""
    extra: str = ""
    """Lines of configuration."""
    trees: tuple[str, ...] = TREES
    then: str = "hang"
    probe: str = PROBE
    waits: bool = True
    """The trees stand before anything happens."""


def signalled(number: int, *, all_of_it: bool = False, times: int = 1) -> Act:
    def act(review: Review) -> None:
        for turn in range(times):
            time.sleep(1.2 * bool(turn))  # while the first one waits for trees that ignore TERM
            (review.group if all_of_it else review.one)(number)

    return act


def killed(*parts: str, then: int = 0) -> Act:
    """SIGKILL of parts; where the dispatches go on without them, ``then`` ends pytest."""

    def act(review: Review) -> None:
        victims = [pid for part in parts for pid in getattr(review, part)()]
        assert len(victims) >= len(parts)
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        if then:
            review.one(then)

    return act


INT, TERM, HUP, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL
CANCELLED, BY_X = ("cancelled",), ("cancelled", "stopped")
LEAVING = tuple(tree for tree in TREES if tree not in ("closes its streams", "stops itself"))
"""Those that can also answer and leave their tree behind."""
FAILING = ("fails", *TREES)
"""First, because the workers of pytest-xdist judge in this order, each waiting for its unit."""


def _caught_by_the_harness_alone() -> tuple[str, ...]:
    """Without a cgroup it finds them by their environment only, and a chain of forks outruns it."""
    nest = cgroup.make_nest(cgroup.home())
    nest.give_up()
    hard = () if nest.path else ("other environment", "fork storm")
    return tuple(tree for tree in TREES if tree not in hard)


ENDINGS: dict[str, Ending] = {
    "normal end": Ending(trees=LEAVING, then="answer", probe=BIG, reasons=("ok",), waits=False),
    "normal end, n2": Ending(args=N2, trees=LEAVING, then="answer", probe=BIG, reasons=("ok",), waits=False),
    "hard timeout": Ending(args=("--prun-timeout=2", "-s"), reasons=("timeout",), waits=False),
    "hard timeout, n2": Ending(args=("--prun-timeout=2", *N2), reasons=("timeout",), waits=False),
    "idle stall": Ending(extra="stall = 2", reasons=("stalled",), waits=False),
    "idle stall, n2": Ending(extra="stall = 2", args=N2, reasons=("stalled",), waits=False),
    "-x": Ending(args=("-x",), trees=FAILING, reasons=BY_X, waits=False),
    "-x, n2": Ending(args=("-x", *N2), trees=FAILING, reasons=BY_X, waits=False),
    "Ctrl-C": Ending(signalled(INT, all_of_it=True), reasons=CANCELLED),
    "Ctrl-C, n2": Ending(signalled(INT, all_of_it=True), N2, CANCELLED),
    "SIGINT of pytest, n2": Ending(signalled(INT), N2, CANCELLED),
    "Ctrl-C twice": Ending(signalled(INT, all_of_it=True, times=2), (), CANCELLED),
    "Ctrl-C twice, n2": Ending(signalled(INT, all_of_it=True, times=2), N2, CANCELLED),
    "SIGTERM": Ending(signalled(TERM)),
    "SIGTERM, n2": Ending(signalled(TERM), N2),
    "SIGHUP": Ending(signalled(HUP, all_of_it=True)),
    "SIGHUP, n2": Ending(signalled(HUP), N2),
    "SIGKILL": Ending(signalled(KILL)),
    "SIGKILL of the controller, n2": Ending(signalled(KILL), N2),
    "SIGKILL of the xdist workers, n2": Ending(killed("judges", then=INT), N2, CANCELLED),
    "SIGKILL of the zygote": Ending(killed("zygotes", then=INT), (), CANCELLED),
    "SIGKILL of the zygote, then of pytest": Ending(killed("zygotes", then=KILL)),
    "SIGKILL of the shims": Ending(killed("shims"), (), ("lost",)),
    "SIGKILL of the shims, n2": Ending(killed("shims"), N2, ("lost",)),
    "SIGKILL of the zygote and the shims": Ending(
        killed("zygotes", "shims"), (), ("lost",), trees=_caught_by_the_harness_alone()
    ),
    "SIGKILL of the shims, then of pytest": Ending(killed("shims", then=KILL)),
}


@dataclass(frozen=True)
class Outcome:
    """What one ending left."""

    status: int
    review: Review
    left: list[str] = field(default_factory=list)


@dataclass
class Table:
    """Runs the endings, a few at a time, as soon as it is made."""

    folder: Path
    names: list[str]
    reviews: list[Review] = field(default_factory=list)
    outcomes: dict[str, Future[Outcome]] = field(default_factory=dict)
    held: int = 0
    """Cells found right: endings times trees."""

    def __post_init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE)
        for name in self.names:
            self.outcomes[name] = self._threads.submit(self._run, name)

    def _run(self, name: str) -> Outcome:
        ending = ENDINGS[name]
        review = Review(
            self.folder / f"ending-{self.names.index(name)}",
            ending.trees,
            probe=ending.probe,
            extra=ending.extra,
            then=ending.then,
        )
        self.reviews.append(review)
        review.start(*ending.args)
        if ending.waits:
            review.ready()
            ending.act(review)
        status = review.end()
        try:
            review.gone()
        except AssertionError:
            left = [f"{pid} {command!r}" for pid, command in review.pids().items()]
            return Outcome(status, review, [*left, *map(str, review.living())])
        return Outcome(status, review)

    def close(self) -> None:
        """Nothing outlives the tests, whatever they found."""
        self._threads.shutdown(cancel_futures=True)
        for review in self.reviews:
            review.sweep()


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """Over the endings that were selected."""
    calls = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    chosen = [str(params["ending"]) for params in calls if "ending" in params]
    made = Table(tmp_path_factory.mktemp("signals"), [name for name in ENDINGS if name in chosen])
    yield made
    made.close()


@pytest.mark.parametrize("ending", ENDINGS)
def test_nothing_survives(table: Table, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ENDINGS[ending]
    outcome = table.outcomes[ending].result()
    review = outcome.review
    assert outcome.left == [], review.output()
    assert review.said("called") == len(wanted.trees), "asked once, each"
    assert len(review.recorded()) >= len(wanted.trees), "each tree has said who it is"
    document = review.report()
    if ending.startswith("normal end"):
        assert (outcome.status, document["verdict"]["outcome"]) == (0, "PASS"), review.output()
    else:
        assert outcome.status != 0
        assert (document["verdict"] or {"outcome": "INCOMPLETE"})["outcome"] == "INCOMPLETE"
    if wanted.reasons:
        became = review.reasons()
        assert set(became) == set(wanted.trees)
        wrong = {
            tree: reason
            for tree, reason in became.items()
            if reason not in (wanted.reasons if tree in HANGING else ("ok", "unknown", *wanted.reasons))
        }
        assert not wrong, review.output()
        results = list(review.path.glob(".prun/runs/*/units/*/result.json"))
        assert len(results) == len(wanted.trees), "no result is lost"
    else:
        assert document["verdict"] is None, "a run that was cut off has no verdict"
    table.held += len(wanted.trees)
    if ending == table.names[-1]:
        with capsys.disabled():
            print(f"\nsignals table: {len(table.names)} endings, {table.held} cells, 0 survivors")


def test_the_trees_stand(tmp_path: Path) -> None:
    """A table of trees that nobody sees would hold by itself."""
    review = Review(tmp_path / "standing")
    childless = ("closes its streams", "stops itself", "fork storm")  # a chain's first link is gone
    try:
        review.start()
        review.ready()
        assert len(review.living()) >= 2 * len(HANGING) - len(childless)
        assert len(review.pids()) > len(review.living()), "pytest, zygote and shims, and the chain"
    finally:
        review.one(signal.SIGINT)
        review.end()
        review.sweep()
