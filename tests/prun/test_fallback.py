"""The FALLBACK: the exact text, and that line 1 alone decides."""

from __future__ import annotations

import pytest

from prun_review import fallback
from tests.prun.kit import FALLBACK, REAPED


def test_the_text_of_a_worker_that_ended_by_itself() -> None:
    assert fallback.header("unit-7") == FALLBACK.format(unit="unit-7")


@pytest.mark.parametrize("why", ["idle-stall", "hard-timeout", "SIGTERM"])
def test_the_text_of_a_worker_that_was_ended(why: str) -> None:
    assert fallback.header("unit-7", why) == REAPED.format(unit="unit-7", why=why)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (fallback.header("a"), True),
        (fallback.header("a", "idle-stall") + "anything", True),
        ("\ufeff" + fallback.header("a"), True),
        (fallback.header("a").replace("\n", "\r\n"), True),
        (
            "## a result (FALLBACK, worker wrote no result file)\n",
            True,
        ),  # the mark is what the old one looks for
        ("# a result (FALLBACK, backend said no)\n", True),  # another dispatcher of the family
        ("# a result\nConclusion: see the result (FALLBACK, worker wrote no result file)\n", False),
        ("\n" + fallback.header("a"), False),
        ("# a result\nConclusion: the FALLBACK works\n", False),
        ("# a fallback result\n", False),
        ("", False),
    ],
)
def test_line_1_decides(result: str, told: bool) -> None:
    assert fallback.recognised(result) is told
