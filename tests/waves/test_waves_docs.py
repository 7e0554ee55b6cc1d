"""``docs/waves.md`` is true: its manifest and task file are sound, its answers are read, its tables whole."""

from __future__ import annotations

import json
import re
from pathlib import Path

from prun_review import taskfiles
from prun_review.completion import RULES
from prun_review.contract import KINDS, judge_answer
from prun_review.model import Contract
from prun_review.taskblock import TaskKind
from prun_review.written import Claim
from tests.waves.manifestkit import read, sound

DOCS = (Path(__file__).parents[2] / "docs/waves.md").read_text(encoding="utf-8")


def block(after: str, language: str) -> str:
    """The first fenced block of a language behind some text."""
    found = re.search(rf"^```{language}\n(.*?)^```", DOCS.split(after, 1)[1], re.M | re.S)
    assert found is not None
    return found[1]


def test_the_manifest_and_the_task_file_are_sound() -> None:
    files = sound() | {
        "manifest.json": block("<!-- example: manifest -->", "json"),
        "tasks/task-003-loans.md": block("<!-- example: task -->", "markdown"),
    }
    found, problems = read(files)
    assert problems == ()
    assert found is not None
    assert [(wave.number, wave.panel, bool(wave.validation)) for wave in found.waves] == [
        (1, ("panels/written",), True),
        (2, (), True),
    ]
    task = found.waves[1].tasks[0]
    assert (task.executor, task.timeout, task.verify) == ("sonnet", 1200, ("pytest -q library/loans",))
    assert task.scope.boundary == ("library/books/*", "library/readers/*")


def test_every_key_of_a_task_file_is_told() -> None:
    table = DOCS.split("| key | meaning |")[1].split("\n\n")[0]
    told = {key for row in table.splitlines() for key in re.findall(r"`(\w+)`", row.split(" | ")[0])}
    assert told == set(taskfiles.KEYS) - {"title"}


def test_every_reason_for_which_a_task_is_not_done_is_told() -> None:
    table = DOCS.split("| exit | marker |")[1].split("\n\n")[0]
    assert set(re.findall(r"failed `([a-z-]+)`", table)) == set(RULES)


def test_the_answers_are_read() -> None:
    judged = TaskKind().judge(block("**For a task**", "json"))
    assert (judged.violations, judged.salvage) == ((), ())
    assert judged.answer is not None
    files = ("library/loans/models.py",)
    assert judged.answer.claim == Claim(True, files, 4, 4, 0, validation_passed=True, summary="Loans.")
    payload = json.loads(block("**For a probe", "json"))
    judged = judge_answer(
        payload=payload, text="", contract=Contract("change"), kind=KINDS["change"], slug="u"
    )
    assert judged.violations == ()
    assert judged.answer is not None
