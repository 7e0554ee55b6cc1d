"""What keeps dispatches from starting: waits, pace, broken executors, a spent budget."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.brakes import ASK_AGAIN, FIRST_ALONE, WAIT_CAP, Brakes, Starts, backoff
from prun_review.budget import Budget
from prun_review.causes import CAUSES
from prun_review.errors import RunDirError
from prun_review.model import Result, Usage


@given(n=st.integers(1, 2000), part=st.floats(0, 1), base=st.floats(0, 100))
def test_the_wait_before_a_retry_grows_to_its_cap_and_never_beyond(n: int, part: float, base: float) -> None:
    wait = backoff(base, lambda: part)(n, None)
    assert 0 <= wait <= WAIT_CAP
    assert wait <= backoff(base, lambda: part)(n + 1, None)


@pytest.mark.parametrize(
    ("n", "part", "retry_after", "seconds"),
    [
        (1, 1.0, None, 5.0),
        (2, 1.0, None, 10.0),
        (3, 0.5, None, 10.0),
        (9, 1.0, None, WAIT_CAP),
        (1, 0.0, None, 0.0),
        (1, 0.0, 60.0, 60.0),
        (5, 1.0, 60.0, 65.0),  # never less than was asked for, and not all at the same instant
        (1, 1.0, 0.0, 5.0),
    ],
)
def test_waits(n: int, part: float, retry_after: float | None, seconds: float) -> None:
    assert backoff(5.0, lambda: part)(n, retry_after) == seconds


class Time:
    """A clock that is set by hand."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_first_start_stands_alone_until_it_was_seen_alive() -> None:
    time = Time()
    starts = Starts({"codex": 0.5, "ruff": 0.0}, time)
    assert starts.admit("codex") == 0.0
    assert [starts.admit(name) for name in ("ruff", "ruff", "other")] == [0.0, 0.0, 0.0]
    time.now += 5
    assert starts.admit("codex") == ASK_AGAIN
    starts.seen("codex")
    assert starts.admit("codex") == 0.0
    assert starts.admit("codex") == 0.5
    time.now += 0.25
    assert starts.admit("codex") == 0.25
    time.now += 0.25
    assert starts.admit("codex") == 0.0


def test_a_first_start_that_says_nothing_is_not_waited_for_for_ever() -> None:
    time = Time()
    starts = Starts({"codex": 0.5}, time)
    assert starts.admit("codex") == 0.0
    time.now += FIRST_ALONE - 0.01
    assert starts.admit("codex") == ASK_AGAIN
    time.now += 0.01
    assert starts.admit("codex") == 0.0


def test_a_start_that_came_to_nothing_is_not_the_first() -> None:
    starts = Starts({"codex": 0.5}, Time())
    assert starts.admit("codex") == 0.0
    starts.unused("codex")
    assert starts.admit("codex") == 0.0  # this one is
    assert starts.admit("codex") == ASK_AGAIN
    starts.seen("codex")
    starts.unused("codex")
    assert starts.admit("codex") == 0.5  # the pace stays, whatever became of the others


def attempt(executor: str = "sonnet", reason: str = "ok", **usage: Any) -> Result:
    return Result(
        unit="u",
        slug="u",
        case="c",
        folder="panels",
        executor=executor,
        status="valid" if reason == "ok" else "failed",
        reason=reason,
        message="" if reason == "ok" else "it said so",
        usage=Usage(**usage),
        attempts=1,
    )


class Desk:
    """Takes down what brakes do."""

    def __init__(self, budget: str = "") -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.said: list[str] = []
        self.refused: list[tuple[str, str, str | None]] = []
        self.brakes = Brakes(Budget.parse(budget), ["sonnet", "codex"], note=self.note, tell=self.said.append)
        self.brakes.connect(self.refuse)

    def note(self, event: str, **fields: Any) -> None:
        self.events.append((event, fields))

    def refuse(self, why: str, message: str, executor: str | None) -> int:
        self.refused.append((why, message, executor))
        return 31


@pytest.mark.parametrize("reason", ["ok", "unknown-word", *CAUSES])
def test_an_executor_breaks_by_what_will_hit_all_its_units(reason: str) -> None:
    desk = Desk()
    desk.brakes.after(attempt("codex", reason))
    desk.brakes.after(attempt("codex", reason))
    if not (reason in CAUSES and CAUSES[reason].breaks):
        assert (desk.refused, desk.events, desk.said, desk.brakes.held("codex")) == ([], [], [], "")
        return
    title = CAUSES[reason].title
    assert desk.refused == [(reason, f"not run: codex {title} (it said so)", "codex")]
    assert desk.events == [
        ("breaker", {"executor": "codex", "reason": reason, "text": "it said so"}),
    ]
    assert desk.said == [f"codex {title}: 31 further units of it not run -- {CAUSES[reason].remedy}"]
    assert (desk.brakes.held("codex"), desk.brakes.held("sonnet")) == (f"codex {title}", "")


@pytest.mark.parametrize(
    ("budget", "attempts", "reached", "told"),
    [
        ("", [attempt(cost_usd=500.0)], False, ""),
        ("5usd", [], False, "budget $5.00"),
        ("5usd", [attempt(cost_usd=4.99)], False, "budget $5.00; $4.99 reported by sonnet"),
        (
            "5usd",
            [attempt(cost_usd=2.5), attempt(cost_usd=2.62), attempt("codex", input_tokens=9)],
            True,
            "budget $5.00; codex reports no cost; $5.12 reported by sonnet",
        ),
        (
            "5usd",
            [attempt(cost_usd=6.0), attempt(reason="timeout")],
            True,
            "budget $5.00; $6.00 reported by sonnet (1 of its 2 attempts without)",
        ),
        (
            "400ktok",
            [attempt("codex", input_tokens=300_000, output_tokens=100_000)],
            True,
            "budget 400,000 tokens; 400,000 tokens reported by codex",
        ),
        ("1tok", [attempt("codex", cost_usd=9.0)], False, "budget 1 tokens; codex reports no tokens"),
        (
            "1usd,10tok",
            [attempt("codex", input_tokens=11)],
            True,
            "budget $1.00 and 10 tokens; codex reports no cost; 11 tokens reported by codex",
        ),
        ("1usd", [attempt("ruff")], False, "budget $1.00"),  # an analyser spends nothing
    ],
)
def test_a_budget_over_all_executors(budget: str, attempts: list[Result], reached: bool, told: str) -> None:
    desk = Desk(budget)
    for one in attempts:
        desk.brakes.after(one)
    assert desk.brakes.told() == told
    assert [(why, executor) for why, _, executor in desk.refused] == [("budget", None)] * reached
    assert [event for event, _ in desk.events] == ["budget"] * reached
    assert len(desk.said) == reached
    assert bool(desk.brakes.held("anybody")) is reached


def test_what_was_taken_over_counts_too() -> None:
    desk = Desk("5usd")
    desk.brakes.spent([attempt(cost_usd=3.0), attempt(cost_usd=3.0)])
    assert desk.refused == [
        (
            "budget",
            "not run: $6.00 of $5.00 are spent (budget $5.00; $6.00 reported by sonnet)",
            None,
        )
    ]


@pytest.mark.parametrize(
    ("budget", "last", "refused"),
    [
        ("", attempt("codex", "quota-exhausted"), ("quota-exhausted", "codex")),
        ("1usd", attempt("codex", cost_usd=1.0), ("budget", None)),
    ],
)
def test_what_cannot_be_written_down_still_brakes(
    budget: str, last: Result, refused: tuple[str, str | None]
) -> None:
    """A full disk must not be a way past a budget or a spent quota."""

    def note(event: str, **fields: Any) -> None:
        raise RunDirError(f"{event} cannot be written")

    told: list[tuple[str, str | None]] = []

    def refuse(why: str, message: str, executor: str | None) -> int:
        told.append((why, executor))
        return 1

    brakes = Brakes(Budget.parse(budget), ["codex"], note=note, tell=lambda text: None)
    brakes.connect(refuse)
    with pytest.raises(RunDirError, match="cannot be written"):
        brakes.after(last)
    assert told == [refused]


def test_brakes_without_a_pool_hold_nothing_up() -> None:
    desk = Desk()
    desk.brakes = Brakes(Budget(), [], note=desk.note, tell=desk.said.append)
    desk.brakes.after(attempt("codex", "quota-exhausted"))
    assert desk.refused == []
