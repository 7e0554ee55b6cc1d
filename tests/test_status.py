"""How a run stands, told from run directories that the real writer made, and from damaged ones."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review import document, rundir
from prun_review.errors import RunDirError
from prun_review.forecast import forecast
from prun_review.model import Plan, RunFacts, Unit, Usage
from prun_review.policy import Policy
from prun_review.runwriter import RunDir
from prun_review.standing import Status
from prun_review.status import RunStatus
from prun_review.statuslines import clock, lines, summary
from tests.gatekit import EXECUTORS, FOLDER, result
from tests.gatekit import unit as planned

NOW = 1.8e9


def unit(executor: str, case: str) -> Unit:
    """A unit of a case of its own."""
    base = planned(executor)
    return replace(
        base,
        id=f"panels/probe_{case}.py::probe[{executor}]",
        case=f"panels/probe_{case}.py::probe",
        slug=f"{case}-{executor}",
        fingerprint="f" * 64,
    )


UNITS = tuple(unit(executor, case) for case in "abcd" for executor in ("codex", "sonnet"))
A_CODEX, A_SONNET, B_CODEX, B_SONNET, C_CODEX = UNITS[:5]


class Kit:
    """A run in the making, and the clock of whoever looks at it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.run: RunDir = rundir.create(root, now=NOW)

    def plan(self, *units: Unit, **fields: Any) -> None:
        """Write plan and document; ``fields`` change the facts."""
        asked = (EXECUTORS["codex"], EXECUTORS["sonnet"])
        facts = RunFacts(self.run.id, NOW, executors=asked, folders={FOLDER: Policy()})
        facts = replace(facts, **fields)
        self.facts, self.units = facts, Plan(units)
        self.run.write_plan(self.units)
        self.run.write_document(document.start(facts, self.units))

    def attempt(self, unit: Unit, number: int = 1, silent: float = 0.0) -> Path:
        """An attempt that began now and has printed something ``silent`` seconds ago."""
        out = self.run.new_attempt(unit)
        (out / "tail").write_bytes(b"thinking")
        self.run.append("attempt-started", unit=unit.id, slug=unit.slug, attempt=number)
        self.age(out, silent)
        return out

    def age(self, out: Path, silent: float) -> None:
        """Its output last grew ``silent`` seconds before :meth:`look` looks."""
        stamp = self.last() + 1000 - silent
        os.utime(out / "tail", (stamp, stamp))

    def last(self) -> float:
        """When the ledger was last written."""
        events = (self.run.path / "ledger.jsonl").read_bytes().splitlines()
        return float(json.loads(events[-1])["at"])

    def look(self, later: float = 1000.0) -> Status:
        """How it stands, ``later`` seconds after the last ledger line."""
        stamp = self.last() + later
        return RunStatus(self.run.path, self.root, clock=lambda: stamp).look()


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    made = Kit(tmp_path)
    yield made
    made.run.close()


def answered(unit: Unit, status: str = "valid", reason: str = "ok", **usage: Any) -> Any:
    """A terminal result."""
    base = result(unit)
    kept = base.answer if status in ("valid", "broken") else None
    return replace(
        base,
        status=status,
        reason=reason,
        answer=kept,
        seconds=60.0,
        attempts=1,
        usage=Usage(**usage),
        fingerprint=unit.fingerprint,
    )


# --- states ---------------------------------------------------------------------------------


def test_before_there_is_a_plan(kit: Kit) -> None:
    status = RunStatus(kit.run.path, kit.root).look()
    assert (status.state, status.dispatcher_alive, status.total.units) == ("beginning", True, 0)
    assert status.end.why_not == "there is no plan yet"
    assert "beginning" in lines(status)[0]


def test_running_with_silence_waiting_and_retried(kit: Kit) -> None:
    kit.plan(*UNITS)
    kit.run.finish(answered(A_CODEX, input_tokens=100, output_tokens=20, cost_usd=0.5))
    kit.run.finish(answered(A_SONNET, "failed", "timeout"))
    kit.run.append("attempt-started", unit=B_SONNET.id, slug=B_SONNET.slug, attempt=1)
    kit.run.append("attempt-finished", unit=B_SONNET.id, slug=B_SONNET.slug, attempt=1, status="failed")
    kit.run.append(
        "retry", unit=B_SONNET.id, slug=B_SONNET.slug, attempt=1, reason="rate-limited", seconds=1030
    )
    out = kit.attempt(B_CODEX, silent=372)
    status = kit.look()
    assert (status.state, status.dispatcher_alive, status.over) == ("running", True, False)
    total = status.total
    assert (total.units, total.done, total.valid, total.failed) == (8, 2, 1, 1)
    assert (total.running, total.retrying, total.waiting, total.lost, total.retried) == (1, 1, 4, 0, 1)
    [running] = status.running
    assert (running.unit, running.executor, running.attempt) == (B_CODEX.id, "codex", 1)
    assert running.silence == pytest.approx(372, abs=1)
    assert running.seconds == pytest.approx(1000, abs=1)
    [retrying] = status.retrying
    assert (retrying.unit, retrying.reason) == (B_SONNET.id, "rate-limited")
    assert retrying.seconds == pytest.approx(30, abs=1)
    assert status.executors["codex"].running == status.executors["sonnet"].retrying == 1
    spent = status.spent["codex"]
    assert (spent.cost_usd, spent.without_cost, spent.input_tokens, spent.output_tokens) == (0.5, 0, 100, 20)
    assert (status.spent["sonnet"].cost_usd, status.spent["sonnet"].without_cost) == (None, 1)
    assert summary(status) == (
        "2 of 8 done: 1 valid, 1 failed; 1 running; 1 to be tried again; 4 waiting; 1 retry"
    )
    told = "\n".join(lines(status))
    assert f"codex 16m40s, silent 6m12s: {B_CODEX.id}" in told
    assert f"sonnet in 0m30s, after rate-limited: {B_SONNET.id}" in told
    assert "timed out [timeout]: 1 unit (sonnet 1) -- a longer timeout" in told
    assert "rate limited [rate-limited]: 1 retry -- wait" in told
    assert "expected end: not estimable: no unit of sonnet has answered yet" in told
    assert out.name == "1"


def test_the_newest_attempt_tells_the_silence(kit: Kit) -> None:
    kit.plan(B_CODEX)
    kit.attempt(B_CODEX, silent=900)
    kit.run.append("attempt-finished", unit=B_CODEX.id, slug=B_CODEX.slug, attempt=1, status="broken")
    [between] = kit.look().retrying  # it will be asked again; no wait was announced
    assert (between.reason, between.seconds) == ("", 0.0)
    second = kit.attempt(B_CODEX, 2)
    kit.age(second, 5)
    [running] = kit.look().running
    assert running.attempt == 2
    assert running.silence == pytest.approx(5, abs=1)
    (second / "stderr").touch()
    os.utime(second / "stderr", (kit.last() + 998,) * 2)
    assert kit.look().running[0].silence == pytest.approx(2, abs=1)


def test_a_time_of_change_that_lies_ahead_is_not_believed(kit: Kit) -> None:
    kit.plan(B_CODEX)
    kit.age(kit.attempt(B_CODEX), -3600)
    [running] = kit.look().running
    assert running.silence is None
    assert "silence unknown" in "\n".join(lines(kit.look()))
    assert kit.look(later=-500).running[0].seconds == 0.0  # the clock was set back


def test_lost_units_of_a_dispatcher_that_died(kit: Kit) -> None:
    kit.plan(*UNITS[:4])
    kit.run.finish(answered(A_CODEX))
    kit.attempt(B_CODEX)
    kit.run.close()
    status = kit.look()
    assert (status.state, status.dispatcher_alive, status.over) == ("died", False, True)
    assert (status.total.done, status.total.lost, status.total.running, status.total.waiting) == (1, 3, 0, 0)
    assert status.lost == (B_CODEX.id,)
    told = lines(status)
    assert "the dispatcher died" in told[0]
    assert "IN FLIGHT WHEN IT DIED" in told
    assert not any("expected end" in line for line in told)
    assert "pytest panels/ --prun-resume asks the rest" in told


@pytest.mark.parametrize(
    ("config", "sources", "command"),
    [
        ({"panels": "['pan', 'more/']"}, {}, "pytest pan/ more/ --prun-resume"),
        ({"panels": "['my panels']"}, {}, "pytest 'my panels/' --prun-resume"),
        (
            {"panels": "['panels']", "offline": "True"},
            {"offline": "command line"},
            "pytest panels/ --prun-offline --prun-resume",
        ),
        ({"offline": "True"}, {"offline": "pyproject.toml"}, "pytest panels/ --prun-resume"),
        (
            {"executors": "['codex', 'mini']"},
            {"executors": "command line"},
            "pytest panels/ --prun-executors codex,mini --prun-resume",
        ),
        ({"panels": "[", "executors": "7"}, {"executors": "command line"}, "pytest panels/ --prun-resume"),
    ],
)
def test_a_run_that_died_is_resumed_with_the_options_that_it_had(
    kit: Kit, config: dict[str, str], sources: dict[str, str], command: str
) -> None:
    kit.plan(A_CODEX, config=config, sources=sources)
    assert kit.look(later=0).resume == ""
    kit.run.close()
    assert kit.look(later=0).resume == command
    assert f"{command} asks the rest" in lines(kit.look(later=0))


def test_after_the_fact(kit: Kit) -> None:
    kit.plan(A_CODEX, A_SONNET)
    results = [answered(A_CODEX), answered(A_SONNET)]
    for one in results:
        kit.run.finish(one)
    done = replace(kit.facts, finished=NOW + 75)
    kit.run.write_document(document.build(done, kit.units, results))
    kit.run.close()
    status = kit.look()
    assert (status.state, status.seconds, status.total.done) == ("finished", 75.0, 2)
    assert status.verdict.startswith("PASS")
    assert lines(status)[0].endswith("finished after 1m15s")
    assert not any("dispatcher" in line or "resume" in line for line in lines(status))
    assert status.problems == ()


def test_one_reader_follows_a_run_to_its_end(kit: Kit) -> None:
    reader = RunStatus(kit.run.path, kit.root)
    assert reader.look().state == "beginning"
    kit.run.append("jobs", jobs=2, limits={"codex": 1})
    kit.plan(A_CODEX, A_SONNET)
    assert reader.look().total.waiting == 2
    kit.attempt(A_CODEX)
    assert reader.look().total.running == 1
    kit.run.append("breaker", executor="sonnet", reason="quota-exhausted", text="no credit\x1b[2J ::error::x")
    kit.run.finish(answered(A_CODEX, cost_usd=0.25))
    kit.run.finish(answered(A_SONNET, "not-run", "quota-exhausted"))
    status = reader.look()
    assert (status.total.valid, status.total.not_run, status.spent["codex"].cost_usd) == (1, 1, 0.25)
    assert [hit.reason for hit in status.causes] == ["quota-exhausted"]
    told = "\n".join(lines(status))
    assert "breaker: sonnet: no credit" in told
    assert "\x1b" not in told


def test_units_that_were_taken_over(kit: Kit) -> None:
    kit.plan(A_CODEX)
    kit.run.append("taken-over", unit=A_CODEX.id, slug=A_CODEX.slug, run="r")
    kit.run.finish(answered(A_CODEX))
    assert kit.look().total.taken_over == 1
    assert "1 taken over from earlier runs" in summary(kit.look())


# --- damage ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        b"{not json}",
        b"[1]",
        b'{"event": 3}',
        b"\xff\xfe",
        b"{" * 5000,
    ],
)
def test_a_damaged_line_is_told_and_read_around(kit: Kit, line: bytes) -> None:
    kit.plan(A_CODEX, A_SONNET)
    with (kit.run.path / "ledger.jsonl").open("ab") as ledger:
        ledger.write(line + b"\n")
    kit.run.finish(answered(A_CODEX))
    status = kit.look()
    assert status.total.valid == 1
    assert [p.startswith("line ") and p.endswith("is damaged") for p in status.problems] == [True]
    assert "PROBLEMS" in lines(status)


@pytest.mark.parametrize(
    "event",
    [
        {"event": "attempt-started", "slug": A_CODEX.slug, "attempt": "x", "at": "y"},
        {"event": "attempt-started", "slug": "../../etc", "attempt": 1},
        {"event": "attempt-started"},
        {"event": "retry", "slug": A_CODEX.slug, "seconds": 1e300, "reason": {"a": 1}, "at": None},
        {"event": "jobs", "jobs": -3, "limits": {"codex": "many", "sonnet": -1}},
        {"event": "jobs", "jobs": True, "limits": []},
        {"event": "result", "slug": A_CODEX.slug, "status": ["valid"], "reason": 7},
        {"event": "result", "slug": A_CODEX.slug},
        {"event": "breaker"},
        {"event": "budget", "text": None},
        {"event": "what is this"},
    ],
)
def test_no_event_makes_it_fall(kit: Kit, event: dict[str, Any]) -> None:
    kit.plan(A_CODEX, A_SONNET)
    with (kit.run.path / "ledger.jsonl").open("a") as ledger:
        ledger.write(json.dumps({"at": NOW, **event}) + "\n")
    reader = RunStatus(kit.run.path, kit.root)
    for _ in range(2):
        status = reader.look()
        assert status.total.units == 2
        assert len(lines(status)) > 3
        assert status.total.valid == 0


def test_a_result_that_was_altered_is_a_problem(kit: Kit) -> None:
    kit.plan(A_CODEX)
    kit.run.finish(answered(A_CODEX, cost_usd=1.0))
    place = kit.run.path / "units" / A_CODEX.slug / "result.json"
    place.write_text(place.read_text().replace("1.0", "0.1"))
    status = kit.look()
    assert status.spent["codex"].cost_usd is None
    assert len(status.problems) == 1
    assert "sha256" in status.problems[0]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda run: (run / "run.json").unlink(), "there is no run.json"),
        (lambda run: (run / "run.json").write_text("{"), "not JSON"),
        (lambda run: (run / "run.json").write_text('{"schema_version": 99}'), "another version"),
        (lambda run: (run / "plan.json").write_text("{}"), "not in the ledger"),
    ],
)
def test_what_cannot_be_read_is_a_named_error(kit: Kit, spoil: Any, message: str) -> None:
    kit.plan(A_CODEX)
    kit.run.close()
    spoil(kit.run.path)
    with pytest.raises(RunDirError, match=message):
        RunStatus(kit.run.path, kit.root).look()


def test_foreign_text_is_inert(kit: Kit) -> None:
    evil = replace(A_CODEX, id="panels/x.py::probe[\x1b[2J\n::error::y\u202e-codex]")
    kit.plan(evil)
    kit.attempt(evil)
    told = lines(kit.look())
    assert not any("\x1b" in line or "\u202e" in line for line in told)
    assert not any(line.lstrip().startswith("::") for line in told)


def test_many_units_are_counted_and_not_all_listed(kit: Kit) -> None:
    many = [unit("codex", f"m{n}") for n in range(25)]
    kit.plan(*many)
    for one in many:
        kit.attempt(one)
    told = lines(kit.look(), 80)
    assert "  and 5 more" in told
    assert max(map(len, told)) <= 80
    assert sum("silent" in line for line in told) == 20


# --- the expected end -----------------------------------------------------------------------


KNOWN = {(A_CODEX.case, "codex"): 60.0, (B_CODEX.case, "codex"): 100.0, (A_CODEX.case, "sonnet"): 30.0}


@pytest.mark.parametrize(
    ("running", "waiting", "jobs", "limits", "seconds"),
    [
        ([], [], 4, {}, 0.0),
        ([(A_CODEX, 20.0)], [], 4, {}, 40.0),
        ([(A_CODEX, 90.0)], [], 4, {}, 0.0),  # longer than before: nothing more is known of it
        ([], [A_CODEX, B_CODEX], 1, {}, 160.0),
        ([], [A_CODEX, B_CODEX], 2, {}, 100.0),
        ([], [A_CODEX, B_CODEX, A_SONNET], 2, {}, 100.0),
        ([(B_CODEX, 10.0)], [A_CODEX], 1, {}, 150.0),
        ([], [A_CODEX, B_CODEX], 8, {"codex": 1}, 160.0),
        ([], [C_CODEX], 1, {}, 80.0),  # the median of its executor
        ([(A_CODEX, 0.0), (A_SONNET, 0.0)], [], 1, {}, 60.0),  # more run than jobs say
    ],
)
def test_expected_end(
    running: list[tuple[Unit, float]], waiting: list[Unit], jobs: int, limits: dict[str, int], seconds: float
) -> None:
    found = forecast(running, waiting, KNOWN, jobs=jobs, limits=limits)
    assert found.seconds == pytest.approx(seconds)
    assert found.why_not == ""


@pytest.mark.parametrize(
    ("running", "waiting", "late", "overdue"),
    [
        ([(A_CODEX, 20.0)], [], 0, 0.0),
        ([(A_CODEX, 90.0)], [], 1, 30.0),
        ([(A_CODEX, 90.0), (B_CODEX, 104.0)], [], 2, 4.0),  # the last should have ended 4 s ago
        ([(A_CODEX, 90.0), (B_CODEX, 10.0)], [], 1, 0.0),
        ([(A_CODEX, 90.0)], [B_CODEX], 1, 0.0),
    ],
)
def test_what_takes_longer_than_expected_is_overdue(
    running: list[tuple[Unit, float]], waiting: list[Unit], late: int, overdue: float
) -> None:
    found = forecast(running, waiting, KNOWN, jobs=4, limits={})
    assert found.late == late
    assert found.overdue == pytest.approx(overdue)


def test_no_end_without_a_basis() -> None:
    found = forecast([], [A_CODEX], {}, jobs=1, limits={})
    assert found.seconds is None
    assert "no unit of codex has answered yet" in found.why_not


@given(
    st.lists(st.tuples(st.sampled_from(UNITS), st.floats(0, 500)), max_size=5),
    st.lists(st.sampled_from(UNITS), max_size=8),
    st.integers(1, 6),
)
def test_an_end_is_within_its_bounds(
    running: list[tuple[Unit, float]], waiting: list[Unit], jobs: int
) -> None:
    found = forecast(running, waiting, KNOWN, jobs=jobs, limits={})
    assert found.seconds is not None
    whole = 100.0 * (len(running) + len(waiting))
    assert 0.0 <= found.seconds <= whole
    if waiting:
        assert found.seconds >= 30.0


def test_history_and_this_run_are_the_basis(kit: Kit, tmp_path: Path) -> None:
    earlier = rundir.create(tmp_path, now=NOW - 100)
    earlier.write_plan(Plan((A_SONNET,)))
    earlier.finish(replace(answered(A_SONNET), seconds=500.0))
    earlier.close()
    kit.plan(A_CODEX, B_CODEX, A_SONNET)
    kit.run.append("jobs", jobs=1, limits={})
    kit.run.finish(answered(A_CODEX))
    status = kit.look()
    assert (status.end.seconds, status.end.basis) == (560.0, 2)
    assert any("expected end: in about 9m20s (an estimate" in line for line in lines(status))


@pytest.mark.parametrize(
    ("later", "told"),
    [
        (40, "expected end: in about 0m20s (an estimate from the times of 1 unit)"),
        (60, "expected end: now (an estimate from the times of 1 unit)"),
        (162, "expected end: overdue by 1m42s (an estimate from the times of 1 unit)"),
    ],
)
def test_an_end_that_is_past_is_overdue_and_not_in_0m00s(kit: Kit, later: float, told: str) -> None:
    kit.plan(A_CODEX, B_CODEX)
    kit.run.finish(answered(A_CODEX))
    kit.attempt(B_CODEX)
    assert told in lines(kit.look(later))


def test_an_estimate_says_that_units_run_longer(kit: Kit) -> None:
    kit.plan(A_CODEX, B_CODEX, C_CODEX)
    kit.run.append("jobs", jobs=1, limits={})
    kit.run.finish(answered(A_CODEX))
    kit.attempt(B_CODEX)
    told = "\n".join(lines(kit.look(100)))
    assert "in about 1m00s (an estimate from the times of 1 unit; 1 running longer than expected)" in told


# --- why units wait -------------------------------------------------------------------------


def test_waiting_behind_a_first_dispatch_that_starts_alone(kit: Kit) -> None:
    kit.plan(A_CODEX, B_CODEX, A_SONNET)
    kit.run.append("jobs", jobs=12, limits={})
    out = kit.run.new_attempt(A_CODEX)
    (out / "tail").touch()
    kit.run.append("attempt-started", unit=A_CODEX.id, slug=A_CODEX.slug, attempt=1)
    why = "codex 1: its first dispatch starts alone until it has written something"
    assert kit.look(1).waits == (why,)
    assert f"waiting: {why}" in lines(kit.look(1))
    assert kit.look(11).waits == ()  # it is not alone for longer than that
    (out / "stderr").write_bytes(b"x")
    assert kit.look(1).waits == ()


def test_a_second_dispatch_is_not_alone(kit: Kit) -> None:
    kit.plan(A_CODEX, B_CODEX, C_CODEX)
    for one in (A_CODEX, B_CODEX):
        (kit.run.new_attempt(one) / "tail").touch()
        kit.run.append("attempt-started", unit=one.id, slug=one.slug, attempt=1)
    assert kit.look(1).waits == ()


def test_waiting_for_an_executors_own_limit(kit: Kit) -> None:
    kit.plan(A_CODEX, B_CODEX, A_SONNET)
    kit.run.append("jobs", jobs=12, limits={"codex": 1, "sonnet": 1})
    kit.attempt(A_CODEX)
    assert kit.look().waits == ("codex 1: its limit is 1 at once",)


@pytest.mark.parametrize(("jobs", "waits"), [(1, ("1 at once and not 12: memory is short",)), (12, ())])
def test_waiting_because_memory_is_short(kit: Kit, jobs: int, waits: tuple[str, ...]) -> None:
    kit.plan(A_CODEX, B_CODEX, config={"jobs": "12"})
    kit.run.append("jobs", jobs=jobs, limits={})
    kit.attempt(A_CODEX)
    assert kit.look().waits == waits
    kit.run.close()
    assert kit.look().waits == ()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0m00s"), (59.9, "0m59s"), (3599, "59m59s"), (3600, "1h00m"), (90_061, "25h01m")],
)
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text
