"""The pool: every unit out exactly once, limits kept, longest first, nothing swallowed."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.model import Brief, Result, Unit
from prun_review.pool import Cancel, Pool, memory_jobs

PATIENCE = 20.0


def unit(name: str, executor: str = "codex") -> Unit:
    return Unit(
        id=name, slug=f"s-{name}", case="case", folder="panels", executor=executor, brief=Brief(prompt="?")
    )


def result(of: Unit, status: str = "valid") -> Result:
    return Result(
        unit=of.id, slug=of.slug, case=of.case, folder=of.folder, executor=of.executor, status=status
    )


def drain(pool: Pool) -> list[Result]:
    out = []
    while pool.owed:
        got = pool.next(PATIENCE)
        assert got is not None, f"{pool.owed} units never came out"
        out.append(got)
    assert pool.next(0) is None
    return out


def run_order(units: list[Unit], expected: dict[str, float], jobs: int = 1) -> list[str]:
    ran: list[str] = []

    def run(of: Unit, cancel: Cancel) -> Result:
        ran.append(of.id)
        return result(of)

    pool = Pool(run, jobs=jobs, expected=expected)
    pool.start(units)
    drain(pool)
    pool.close()
    return ran


@pytest.mark.parametrize(
    ("expected", "order"),
    [
        ({}, "abcd"),
        ({"a": 1, "b": 2, "c": 3, "d": 4}, "dcba"),
        ({"a": 5, "b": 5, "c": 9, "d": 5}, "cabd"),
        # b and d are unknown: they count as the median of 1 and 9
        ({"a": 1, "c": 9}, "cbda"),
    ],
)
def test_longest_expected_first(expected: dict[str, float], order: str) -> None:
    assert run_order([unit(n) for n in "abcd"], expected) == list(order)


class Machine:
    """A run function that records how much runs at once, by executor, and obeys its cancel."""

    def __init__(self, bad: set[str], slow: float = 0.0) -> None:
        self.bad = bad
        self.slow = slow
        self.lock = threading.Lock()
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    def __call__(self, of: Unit, cancel: Cancel) -> Result:
        with self.lock:
            self.now[of.executor] += 1
            self.now["all"] += 1
            for name in (of.executor, "all"):
                self.most[name] = max(self.most[name], self.now[name])
        ended = threading.Event()
        cancel.on_request(lambda why: ended.set())
        ended.wait(self.slow)
        with self.lock:
            self.now[of.executor] -= 1
            self.now["all"] -= 1
        if of.id in self.bad:
            raise RuntimeError(f"bad {of.id}")
        return result(of)


@settings(max_examples=60, deadline=None)
@given(
    executors=st.lists(st.sampled_from(["codex", "sonnet", "ruff"]), max_size=24),
    jobs=st.integers(1, 6),
    limits=st.dictionaries(st.sampled_from(["codex", "sonnet", "ruff"]), st.integers(1, 3)),
    bad=st.sets(st.integers(0, 23)),
    waves=st.integers(1, 3),
    stop_after=st.none() | st.integers(0, 24),
)
def test_every_unit_comes_out_exactly_once(
    executors: list[str],
    jobs: int,
    limits: dict[str, int],
    bad: set[int],
    waves: int,
    stop_after: int | None,
) -> None:
    units = [unit(str(n), executor) for n, executor in enumerate(executors)]
    machine = Machine({str(n) for n in bad}, slow=0.0005)
    pool = Pool(machine, jobs=jobs, limits=limits)
    out: list[Result] = []
    for wave in range(waves):
        pool.start(units[wave::waves])
    while pool.owed:
        if stop_after is not None and len(out) >= stop_after:
            pool.stop("-x")
        got = pool.next(PATIENCE)
        assert got is not None
        out.append(got)
    pool.close()
    assert Counter(r.unit for r in out) == Counter(u.id for u in units)
    assert machine.most["all"] <= jobs
    assert all(machine.most[name] <= limit for name, limit in limits.items())
    for got in out:
        wanted = {("failed", "internal")} if int(got.unit) in bad else {("valid", "ok")}
        if stop_after is not None:
            wanted.add(("not-run", "-x"))
        assert (got.status, got.reason) in wanted


def test_a_full_executor_does_not_hold_up_the_others() -> None:
    gate = threading.Event()

    def run(of: Unit, cancel: Cancel) -> Result:
        if of.executor == "codex":
            assert gate.wait(PATIENCE)
        return result(of)

    pool = Pool(run, jobs=3, limits={"codex": 1})
    pool.start([unit("c1"), unit("c2"), unit("c3"), unit("r1", "ruff"), unit("r2", "ruff")])
    first = [pool.next(PATIENCE), pool.next(PATIENCE)]
    assert {r.unit for r in first if r} == {"r1", "r2"}
    assert [u.id for u, seconds in pool.in_flight() if seconds >= 0] == ["c1"]
    gate.set()
    assert {r.unit for r in drain(pool)} == {"c1", "c2", "c3"}
    pool.close()


def test_results_come_in_order_of_completion() -> None:
    gates = {name: threading.Event() for name in "abc"}

    def run(of: Unit, cancel: Cancel) -> Result:
        assert gates[of.id].wait(PATIENCE)
        return result(of)

    pool = Pool(run, jobs=3)
    pool.start([unit(n) for n in "abc"])
    assert pool.next(0.01) is None
    for name in "cab":
        gates[name].set()
        got = pool.next(PATIENCE)
        assert got
        assert got.unit == name
    pool.close()


def test_stop_cancels_what_runs_and_names_what_never_ran() -> None:
    running = threading.Barrier(3)
    heard: list[str] = []

    def run(of: Unit, cancel: Cancel) -> Result:
        ended = threading.Event()
        cancel.on_request(heard.append)
        cancel.on_request(lambda why: ended.set())
        running.wait(PATIENCE)
        assert ended.wait(PATIENCE)
        return result(of, "failed")

    pool = Pool(run, jobs=2)
    pool.start([unit(n) for n in "abcd"])
    running.wait(PATIENCE)
    pool.stop("interrupted", "Ctrl-C")
    pool.stop("later", "does not count")
    pool.start([unit("e")])
    out = {r.unit: (r.status, r.reason, r.message) for r in drain(pool)}
    assert out == {
        "a": ("failed", "ok", ""),
        "b": ("failed", "ok", ""),
        "c": ("not-run", "interrupted", "Ctrl-C"),
        "d": ("not-run", "interrupted", "Ctrl-C"),
        "e": ("not-run", "interrupted", "Ctrl-C"),
    }
    assert heard == ["interrupted", "interrupted"]
    pool.close()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda of: (_ for _ in ()).throw(SystemExit(3)), id="SystemExit"),
        pytest.param(lambda of: (_ for _ in ()).throw(KeyboardInterrupt), id="KeyboardInterrupt"),
        pytest.param(lambda of: None, id="None"),
        pytest.param(lambda of: result(unit("other")), id="other-unit"),
    ],
)
def test_whatever_run_does_the_unit_is_not_lost(wrong: object) -> None:
    assert callable(wrong)
    pool = Pool(lambda of, cancel: wrong(of), jobs=2)
    pool.start([unit("a"), unit("b")])
    out = drain(pool)
    assert [(r.status, r.reason) for r in out] == [("failed", "internal")] * 2
    assert all(r.message for r in out)
    pool.close()


@pytest.mark.parametrize("broken", ["started", "finished"])
def test_a_listener_that_raises_fails_its_unit_and_loses_nothing(broken: str) -> None:
    def listen(event: str, of: Unit) -> None:
        if event == broken and of.id == "a":
            raise OSError("disk full")

    pool = Pool(lambda of, cancel: result(of), jobs=1, on_event=listen)
    pool.start([unit("a"), unit("b")])
    out = {r.unit: (r.status, r.message) for r in drain(pool)}
    assert out == {"a": ("failed", "OSError: disk full"), "b": ("valid", "")}
    pool.close()


def test_events_of_a_unit_that_never_ran() -> None:
    heard: list[tuple[str, str]] = []
    pool = Pool(lambda of, cancel: result(of), jobs=1, on_event=lambda e, u: heard.append((e, u.id)))
    pool.stop("budget")
    pool.start([unit("a")])
    assert [(r.status, r.reason, r.message) for r in drain(pool)] == [
        ("not-run", "budget", "not started: budget")
    ]
    assert heard == [("finished", "a")]
    pool.close()


def test_close_cancels_and_keeps_the_results() -> None:
    started = threading.Event()

    def run(of: Unit, cancel: Cancel) -> Result:
        started.set()
        while not cancel.requested:
            time.sleep(0.001)
        return result(of, "failed")

    pool = Pool(run, jobs=1)
    pool.start([unit("a"), unit("b")])
    assert started.wait(PATIENCE)
    pool.close()
    assert pool.in_flight() == []
    assert {(r.unit, r.status, r.reason) for r in drain(pool)} == {
        ("a", "failed", "ok"),
        ("b", "not-run", "closed"),
    }


def test_a_callback_that_raises_does_not_spare_the_others() -> None:
    heard: list[str] = []

    def broken(why: str) -> None:
        raise OSError("gone")

    cancel = Cancel()
    cancel.on_request(broken)
    cancel.on_request(heard.append)
    with pytest.raises(ExceptionGroup, match="while cancelling"):
        cancel.request("first")
    cancel.request("second")
    cancel.on_request(heard.append)
    assert heard == ["first", "first"]
    assert cancel.requested == "first"


@pytest.mark.parametrize(("jobs", "limits"), [(0, {}), (1, {"codex": 0})])
def test_a_pool_that_could_never_run_is_refused(jobs: int, limits: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Pool(lambda of, cancel: result(of), jobs=jobs, limits=limits)


@pytest.mark.parametrize(
    ("jobs", "available", "executors", "expected"),
    [
        (12, None, ["codex"], 12),
        (12, 64000, ["codex", "sonnet"], 12),
        (12, 1000, ["codex", "sonnet"], 8),
        (12, 1000, ["codex"], 8),
        (12, 600, ["ruff"], 8),
        (12, 600, [], 8),
        (12, 10, ["sonnet"], 1),
    ],
)
def test_memory_jobs(jobs: int, available: float | None, executors: list[str], expected: int) -> None:
    assert memory_jobs(jobs, available, executors) == expected
