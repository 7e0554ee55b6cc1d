"""The pool: every unit out exactly once, limits kept, longest first, nothing swallowed."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.errors import RunDirError
from prun_review.model import Brief, Result, Unit
from prun_review.pool import Cancel, Later, Pool, memory_jobs

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


def test_an_error_with_a_code_is_the_reason_of_its_unit() -> None:
    def run(of: Unit, cancel: Cancel) -> Result:
        raise RunDirError("no space", place="there", remedy="make some")

    pool = Pool(run, jobs=1)
    pool.start([unit("a")])
    (got,) = drain(pool)
    assert (got.status, got.reason) == ("failed", "run-directory")
    assert got.message == "there: no space\n  remedy: make some"
    pool.close()


class Attempts:
    """Each unit takes several attempts, with a pause before the second and each further one."""

    def __init__(self, needed: int, pause: float) -> None:
        self.needed = needed
        self.pause = pause
        self.made: Counter[str] = Counter()
        self.made_enough = threading.Event()

    def __call__(self, of: Unit, cancel: Cancel) -> Result | Later:
        if cancel.requested:
            return result(of, "failed")
        self.made[of.id] += 1
        if self.made[of.id] == self.needed:
            return result(of)
        if sum(self.made.values()) >= 4:
            self.made_enough.set()
        return Later(self.pause, lambda cancel: self(of, cancel))


def test_a_unit_between_two_attempts_holds_no_slot() -> None:
    attempts = Attempts(2, 0.3)

    def run(of: Unit, cancel: Cancel) -> Result | Later:
        return result(of) if of.executor == "ruff" else attempts(of, cancel)

    pool = Pool(run, jobs=1, expected={"c": 9.0})
    pool.start([unit("c"), unit("r1", "ruff"), unit("r2", "ruff")])
    assert [r.unit for r in drain(pool)] == ["r1", "r2", "c"]
    assert attempts.made == {"c": 2}
    pool.close()


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(0, 12),
    jobs=st.integers(1, 4),
    needed=st.integers(1, 4),
    pause=st.sampled_from([0.0, 0.001]),
    refuse_after=st.none() | st.integers(0, 12),
    stop=st.booleans(),
)
def test_units_of_several_attempts_come_out_exactly_once(
    count: int, jobs: int, needed: int, pause: float, refuse_after: int | None, stop: bool
) -> None:
    units = [unit(str(n), ("codex", "sonnet")[n % 2]) for n in range(count)]
    pool = Pool(Attempts(needed, pause), jobs=jobs, limits={"codex": 2})
    pool.start(units)
    out: list[Result] = []
    while pool.owed:
        if refuse_after is not None and len(out) >= refuse_after:
            pool.stop("-x") if stop else pool.refuse("quota", "none left", "codex")
        got = pool.next(PATIENCE)
        assert got is not None
        out.append(got)
    pool.close()
    assert Counter(r.unit for r in out) == Counter(u.id for u in units)
    for got in out:
        free = not stop and got.executor == "sonnet"
        assert got.status == "valid" or (refuse_after is not None and not free)


@pytest.mark.parametrize("whole", [True, False], ids=["stop", "refuse"])
def test_pauses_end_at_once_when_nothing_more_may_start(whole: bool) -> None:
    attempts = Attempts(9, 600.0)
    pool = Pool(attempts, jobs=4)
    pool.start([unit(n) for n in "abcd"])
    assert attempts.made_enough.wait(PATIENCE)
    while pool.pausing() < 4:
        time.sleep(0.001)
    assert pool.in_flight() == []
    pool.stop("interrupted") if whole else pool.refuse("quota", executor="codex")
    assert {(r.unit, r.status) for r in drain(pool)} == {(n, "failed") for n in "abcd"}
    assert pool.pausing() == 0
    pool.close()


def test_a_refused_executor_starts_nothing_more_and_the_rest_goes_on() -> None:
    gates = {name: threading.Event() for name in ("c1", "s1", "s2", "s3")}
    running = threading.Barrier(3)
    went_on: Counter[str] = Counter()

    def run(of: Unit, cancel: Cancel) -> Result | Later:
        if of.id in ("c1", "s1"):
            running.wait(PATIENCE)
        assert gates[of.id].wait(PATIENCE)
        assert not cancel.requested  # what runs goes on
        return Later(0.0, lambda cancel: go_on(of, cancel))

    def go_on(of: Unit, cancel: Cancel) -> Result:
        went_on[of.id] += 1
        return result(of, "failed" if cancel.requested else "valid")

    pool = Pool(run, jobs=2)
    pool.start([unit("c1"), unit("s1", "sonnet"), unit("c2"), unit("c3"), unit("s2", "sonnet")])
    running.wait(PATIENCE)
    assert pool.refuse("quota-exhausted", "not run: no quota", "codex") == 2
    assert pool.refuse("later", "does not count", "codex") == 0
    pool.start([unit("c4"), unit("s3", "sonnet")])
    for gate in gates.values():
        gate.set()
    out = {r.unit: (r.status, r.reason, r.message) for r in drain(pool)}
    quota = ("not-run", "quota-exhausted", "not run: no quota")
    kept = {"c1": ("failed", "ok", ""), "c2": quota, "c3": quota, "c4": quota}
    assert out == kept | dict.fromkeys(("s1", "s2", "s3"), ("valid", "ok", ""))
    pool.close()
    assert went_on == dict.fromkeys(gates, 1)


def test_a_refusal_of_all_does_not_keep_a_stop_from_cancelling() -> None:
    started, ended = threading.Event(), threading.Event()

    def run(of: Unit, cancel: Cancel) -> Result:
        cancel.on_request(lambda why: ended.set())
        started.set()
        assert ended.wait(PATIENCE)
        return result(of, cancel.requested)

    pool = Pool(run, jobs=1)
    pool.start([unit("a"), unit("b")])
    assert started.wait(PATIENCE)
    pool.refuse("budget", "spent")
    assert not ended.is_set()
    pool.stop("interrupted")
    assert {(r.unit, r.status, r.reason) for r in drain(pool)} == {
        ("a", "interrupted", "ok"),
        ("b", "not-run", "budget"),
    }
    pool.close()


def test_what_goes_on_although_it_was_cancelled_is_not_lost() -> None:
    def run(of: Unit, cancel: Cancel) -> Later:
        return Later(600.0, lambda cancel: run(of, cancel))

    pool = Pool(run, jobs=1)
    pool.start([unit("a")])
    while not pool.pausing():
        time.sleep(0.001)
    pool.stop("interrupted")
    assert [(r.status, r.reason) for r in drain(pool)] == [("failed", "internal")]
    pool.close()


def test_an_executor_that_may_not_start_yet_does_not_hold_up_the_others() -> None:
    ran: list[str] = []
    asked: Counter[str] = Counter()

    def admit(executor: str) -> float:
        asked[executor] += 1
        return 0.05 if executor == "codex" and asked["codex"] < 4 else 0.0

    def run(of: Unit, cancel: Cancel) -> Result:
        ran.append(of.id)
        return result(of)

    pool = Pool(run, jobs=1, admit=admit)
    pool.start([unit("c1"), unit("c2"), unit("r1", "ruff"), unit("r2", "ruff")])
    drain(pool)
    pool.close()
    assert ran == ["r1", "r2", "c1", "c2"]
    assert asked["ruff"] == 2  # one grant for each start, and nothing is asked in vain


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
