"""The second wave in the status of a run: told beside the first, never in its counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from prun_review.model import Plan, Unit
from prun_review.rulings import Examination, Question
from prun_review.status import RunStatus
from prun_review.statuslines import summary
from tests.gatekit import FOLDER
from tests.test_status import A_CODEX, A_SONNET, Kit, answered

QUESTIONS = tuple(Question(f"x-{c * 12}", "claim", A_CODEX.case, FOLDER, "f#1") for c in "ab")


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[Kit]:
    made = Kit(tmp_path)
    yield made
    made.run.close()


def units(*questions: Question) -> tuple[Unit, ...]:
    return tuple(
        replace(A_SONNET, id=f"prun_review::examine[{q.id}-sonnet]", slug=f"examine-{q.id}", case=q.id)
        for q in questions
    )


def ask(kit: Kit, *questions: Question) -> None:
    kit.run.write_examination(Examination(questions, Plan(units(*questions))))


def test_it_is_told_apart(kit: Kit) -> None:
    kit.plan(A_CODEX, A_SONNET)
    found = RunStatus(kit.run.path, kit.root)
    for one in (A_CODEX, A_SONNET):
        kit.run.finish(answered(one))
    assert "cross" not in summary(found.look())
    ask(kit, *QUESTIONS[:1])
    first, second = units(*QUESTIONS)
    kit.attempt(first)
    status = found.look()
    assert [r.unit for r in status.running] == [first.id]
    assert (status.questions, status.examined.units, status.total.units) == (1, 1, 2)
    kit.run.finish(answered(first, cost_usd=0.25))
    ask(kit, *QUESTIONS)
    kit.run.finish(answered(second, "failed", "timeout"))
    status = found.look()
    assert (status.total.done, status.examined.done, status.examined.valid) == (2, 2, 1)
    assert {name: spent.cost_usd for name, spent in status.examination_spent.items()} == {"sonnet": 0.25}
    assert status.spent["sonnet"].cost_usd is None, "its cost is counted separately"
    told = "cross-examination: 1 of 2 answered, 1 without a valid answer ($0.25)"
    assert summary(status).endswith(f"; {told}")
    assert [hit.reason for hit in status.causes] == ["timeout"]


def test_what_the_ledger_announces_may_be_a_moment_away(kit: Kit) -> None:
    kit.plan(A_CODEX)
    kit.run.finish(answered(A_CODEX))
    ask(kit, *QUESTIONS)
    place = kit.run.path / "examination.json"
    data = place.read_bytes()
    place.unlink()
    found = RunStatus(kit.run.path, kit.root)
    assert (found.look().questions, found.look().problems) == (0, ())
    place.write_bytes(data)
    assert (found.look().questions, found.look().problems) == (2, ())
    place.unlink()
    kit.run.release()
    assert RunStatus(kit.run.path, kit.root).look().problems == ("it is missing, and the ledger knows of it",)
