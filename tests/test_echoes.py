"""An answer that only repeats what the change itself says."""

from __future__ import annotations

import json

import pytest

from prun_review.change import Change, FileChange, Hunk
from prun_review.contract import KINDS
from prun_review.echoes import echoes
from prun_review.model import Brief, ChangedFile, Contract, Reading, Unit
from tests.plugin.conftest import payload

ANSWER = payload(examined=["src/a.py"])
INDENTED = json.dumps(ANSWER, indent=2)
UNIT = Unit("p::q[x]", "q", "p::q", "panels", "x", Brief("?", Contract("findings", change=True)))


def change(text: str, mark: str = "+") -> Change:
    lines = tuple(mark + line for line in ["before = 1", *text.splitlines(), "after = 2"])
    count = len(lines)
    old, new = (0, count) if mark == "+" else (count, 0)
    hunk = Hunk(1, old, 1, new, lines)
    return Change((FileChange(ChangedFile("src/a.py", "src/a.py"), (hunk,)),))


@pytest.mark.parametrize(
    "reading",
    [
        Reading("answered", text=INDENTED),
        Reading("answered", text=json.dumps(ANSWER)),
        Reading("answered", text=f"```json\n{INDENTED}\n```"),
        Reading("answered", text=f"My own words.\n\n```json\n{INDENTED}\n```"),
        Reading("answered", payload=ANSWER),
    ],
)
@pytest.mark.parametrize("mark", ["+", "-", " "])
def test_it_is_no_answer(reading: Reading, mark: str) -> None:
    [violation] = echoes(reading, UNIT, KINDS["findings"], change(INDENTED, mark))
    assert violation.code == "echo"
    assert "src/a.py" in violation.text


@pytest.mark.parametrize(
    "reading",
    [
        Reading("answered", payload={**ANSWER, "conclusion": "Read it all, and it holds."}),
        Reading("answered", text=json.dumps({**ANSWER, "conclusion": "Read it all, and it holds."})),
        Reading("answered", text=""),
        Reading("answered", text="{}"),
    ],
)
def test_an_answer_of_its_own_is_one(reading: Reading) -> None:
    assert list(echoes(reading, UNIT, KINDS["findings"], change(INDENTED))) == []


def test_prose_can_be_an_echo_too() -> None:
    unit = Unit("p::q[x]", "q", "p::q", "panels", "x", Brief("?", Contract("prose")))
    text = (
        "# q result\nConclusion: fine\nFiles: all\nOpen items: none\nVerification: read\n\nAll is well here."
    )
    assert [v.code for v in echoes(Reading("answered", text=text), unit, KINDS["prose"], change(text))] == [
        "echo"
    ]
