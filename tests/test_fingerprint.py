"""What makes an answer one to another question, and what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from prun_review.config import ExecutorConfig
from prun_review.executors.command import AnyCommand
from prun_review.model import Brief, Contract, Unit
from prun_review.planning import fingerprint

BRIEF = Brief("What is wrong?", reads=("src/*.py",))
UNIT = Unit("p::a[x]", "slug", "p::a", "panels", "x", BRIEF)


TABLE = ExecutorConfig("x", "command", model="m", argv=("cli",), vendor="acme", lineage="one")


def of(unit: Unit = UNIT, table: ExecutorConfig = TABLE, version: str = "1", content: str = "tree") -> str:
    return fingerprint(unit, AnyCommand.configured(table), version, content)


@pytest.mark.parametrize(
    "changes",
    [
        {"prompt": "What is right?"},
        {"contract": Contract("prose")},
        {"contract": Contract(sources=True)},
        {"reads": ()},
        {"access": "run"},
        {"needs": ("mcp:mail",)},
    ],
)
def test_another_question_has_another_fingerprint(changes: dict[str, Any]) -> None:
    assert of(replace(UNIT, brief=replace(BRIEF, **changes))) != of()


def test_another_answerer_or_content_has_another_fingerprint() -> None:
    others = [of(version="2"), of(content="other tree")]
    others += [of(table=replace(TABLE, model="other")), of(table=replace(TABLE, argv=("cli", "-v")))]
    # Who is said to answer makes two voices of one: an answer given as somebody else's does not count.
    others += [of(table=replace(TABLE, vendor="other")), of(table=replace(TABLE, lineage="two"))]
    others += [of(replace(UNIT, executor="y")), of(replace(UNIT, repeat=2)), of()]
    assert len(set(others)) == len(others)


def test_a_longer_time_limit_asks_the_same_question() -> None:
    assert of(replace(UNIT, brief=replace(BRIEF, timeout=5.0))) == of()
