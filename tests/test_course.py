"""What follows an attempt: a retry, a second question, or nothing more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prun_review.causes import CAUSES
from prun_review.config import ExecutorConfig
from prun_review.contract import KINDS
from prun_review.course import PATIENCE, Course, add, advice
from prun_review.executors.command import AnyCommand
from prun_review.model import Brief, Result, Unit, Usage

UNIT = Unit("u", "u", "c", "panels", "left", Brief("?"))
LEFT = AnyCommand.configured(ExecutorConfig("left", vendor="v", lineage="l", argv=("x",)))


def course(**changes: object) -> Course:
    return Course(UNIT, LEFT, KINDS["findings"], "?", **changes)  # type: ignore[arg-type]


def attempt(status: str, reason: str, cost: float | None = None) -> Result:
    return Result(
        *("u", "u", "c", "panels", "left", status, reason),
        attempts=1,
        seconds=2.0,
        usage=Usage(10, None, 1, cost),
    )


@pytest.mark.parametrize(
    ("last", "retry_after", "retries", "changes", "move"),
    [
        (attempt("valid", "ok"), None, 2, {}, ""),
        (attempt("broken", "contract"), None, 2, {}, "ask-again"),
        (attempt("broken", "contract"), None, 2, {"asked_again": True}, ""),
        (attempt("failed", "rate-limited"), None, 2, {}, "retry"),
        (attempt("failed", "rate-limited"), None, 0, {}, ""),
        (attempt("failed", "rate-limited"), None, 2, {"retried": ("network", "rate-limited")}, ""),
        (attempt("failed", "rate-limited"), PATIENCE, 2, {}, "retry"),
        (attempt("failed", "rate-limited"), PATIENCE + 1, 2, {}, ""),
        # the second question may be tried again too
        (attempt("failed", "over-capacity"), None, 2, {"asked_again": True}, "retry"),
        (attempt("not-run", "rate-limited"), None, 2, {}, ""),
    ],
)
def test_moves(
    last: Result, retry_after: float | None, retries: int, changes: dict[str, object], move: str
) -> None:
    assert course(**changes).move(last, retry_after, retries) == move


@pytest.mark.parametrize("reason", ["unknown-word", *CAUSES])
def test_only_what_can_pass_is_tried_again(reason: str) -> None:
    again = reason in CAUSES and CAUSES[reason].retry
    assert (course().move(attempt("failed", reason), None, 2) == "retry") is again


def test_an_analyser_is_not_tried_again() -> None:
    free = AnyCommand.configured(ExecutorConfig("left", vendor="v", lineage="l", argv=("x",)))
    free.paid = False
    local = Course(UNIT, free, KINDS["findings"], "?")
    assert local.move(attempt("failed", "network"), None, 2) == ""
    assert local.move(attempt("broken", "contract"), None, 2) == ""


def test_all_attempts_are_paid_for_and_the_best_outcome_stays() -> None:
    first = course().after(attempt("failed", "network", 0.5))
    second = replace(first, because="network").after(attempt("broken", "contract", 0.25))
    third = replace(second, asked_again=True).after(attempt("failed", "timeout"))
    result = third.result("and that is all")
    assert (result.status, result.reason, result.message) == ("broken", "contract", "and that is all")
    assert (result.attempts, result.seconds, result.retried) == (3, 6.0, ("network",))
    assert result.usage == Usage(30, None, 3, 0.75)
    better = third.after(attempt("valid", "ok"))
    assert better.result().status == "valid"


def test_a_unit_without_an_attempt_was_not_run() -> None:
    result = course().result("not tried again: stopped")
    assert (result.status, result.reason, result.attempts) == ("not-run", "cancelled", 0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (60.0, ""),
        (PATIENCE, ""),
        (PATIENCE + 1, "try again in 16 min "),
        (7200.0, "try again in 2 h "),
        (7201.0, "try again in 2 h 1 min "),
        (86_340.0, "try again in 23 h 59 min "),
        (86_341.0, "try again in 1 d "),
        (86_401.0, "try again in 1 d 1 h "),
        (3060 * 60.0, "try again in 2 d 3 h "),
    ],
)
def test_patience_that_a_run_has_not_is_told(seconds: float | None, words: str) -> None:
    assert words in advice(seconds)
    assert bool(words) is bool(advice(seconds))


@pytest.mark.parametrize(
    ("a", "b", "total"),
    [
        (Usage(), Usage(), Usage()),
        (Usage(1, 2, 3, 0.5), Usage(), Usage(1, 2, 3, 0.5)),
        (Usage(), Usage(0, 0, 0, 0.0), Usage(0, 0, 0, 0.0)),
        (Usage(1, None, 3, None), Usage(1, 1, None, 0.5), Usage(2, 1, 3, 0.5)),
    ],
)
def test_usages_add_up(a: Usage, b: Usage, total: Usage) -> None:
    assert add(a, b) == total
