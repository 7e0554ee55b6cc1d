"""Answers and trees made to deceive the gate, which it sees through."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prun_review import document, judging, workspace
from prun_review.contract import KINDS
from prun_review.model import Brief, Contract, ExecutorInfo, Plan, Reading, RunFacts, Unit
from prun_review.planning import slug_of
from prun_review.policy import Policy
from prun_review.ports import Missing
from tests.plugin.conftest import SOURCE, finding, payload

FILES = {"src/app.py": SOURCE}
CRITICAL = finding(severity="critical")
NOWHERE = {"file": None, "line": None, "end_line": None, "quote": None}
CASE = "panels/probe_app.py::probe_app"


def read(path: str) -> tuple[str, ...] | Missing:
    """The tree of these tests."""
    return tuple(FILES[path].splitlines()) if path in FILES else Missing("not in the reviewed tree")


def verdict(left: Any, right: Any, right_is: tuple[str, str] = ("vendor-right", "lineage-right")) -> str:
    """The outcome of two answers (objects, or texts as they came) to one question."""
    units, results = [], []
    for name, answer in (("left", left), ("right", right)):
        id = f"{CASE}[{name}]"
        unit = Unit(
            id, slug_of(id), CASE, "panels", name, Brief("Audit.", Contract()), "p:1", fingerprint="f"
        )
        reading = Reading("answered", text=answer if isinstance(answer, str) else json.dumps(answer))
        kind = KINDS["findings"]
        results.append(judging.judge(reading, unit, kind, read, names=tuple(FILES), attempts=1, seconds=1.0))
        units.append(unit)
    executors = (
        ExecutorInfo("left", "vendor-left", "lineage-left", paid=True),
        ExecutorInfo("right", *right_is, paid=True),
    )
    facts = RunFacts("20261129T120000Z-ab12", 1.0, 2.0, "0", executors, folders={"panels": Policy()})
    made: str = document.build(facts, Plan(tuple(units)), results)["verdict"]["outcome"]
    return made


def both(**changes: Any) -> tuple[Any, Any]:
    """One finding, changed alike in both answers."""
    answer = payload({**CRITICAL, **changes}, verdict="comment")
    return answer, answer


def alike(**changes: Any) -> tuple[Any, Any]:
    """Two answers without findings, changed alike."""
    return payload(**changes), payload(**changes)


TWICE = json.dumps(payload())[:-1] + ', "findings": ' + json.dumps([CRITICAL]) + "}"
COMMENT = f"<!-- {json.dumps(payload(CRITICAL))} -->\n```json\n{json.dumps(payload())}\n```"
WRAPPED = f"```json\n{json.dumps({'result': payload(CRITICAL)})}\n```\n```json\n{json.dumps(payload())}\n```"
DECOY = payload(finding(severity="info"), CRITICAL)
FAIL, INCOMPLETE = "FAIL", "INCOMPLETE"
ANSWERS: dict[str, tuple[Any, Any, str]] = {
    "upper case": (*both(severity="CRITICAL"), FAIL),
    "blanks around": (*both(severity=" Critical "), FAIL),
    "no place": (*both(**NOWHERE), FAIL),
    "a place on one side only": (payload({**CRITICAL, **NOWHERE}), payload(CRITICAL), FAIL),
    "line 0": (*both(line=0), FAIL),
    "line -1, nothing quoted": (*both(line=-1, quote=None), FAIL),
    "no confidence": (*both(confidence=0), FAIL),
    "no word in it": (*both(title="!!!", detail="???"), FAIL),
    "other script": (*both(title="命令注入漏洞", detail="用户输入直接传入"), FAIL),
    "400 times": (payload(*[CRITICAL] * 400), payload(CRITICAL), FAIL),
    "hidden behind a harmless twin": (payload(CRITICAL), DECOY, FAIL),
    "told harmless": (payload(CRITICAL), payload(finding(severity="info")), INCOMPLETE),
    "look-alike letters": (payload(CRITICAL), payload({**CRITICAL, "title": "Cоmmand injеction"}), FAIL),
    "invisible title": (*both(title="\u200b", detail="\u200b"), FAIL),
    "absolute path": (*both(file="/etc/passwd"), INCOMPLETE),
    "full width severity": (*both(severity="ｃritical"), INCOMPLETE),
    "blank title": (*both(title=" "), INCOMPLETE),
    "5,001 findings": (payload(*[CRITICAL] * 5001), payload(CRITICAL), INCOMPLETE),
    "APPROVE beside CRITICAL": (
        payload(finding(severity="CRITICAL"), verdict="APPROVE"), payload(), INCOMPLETE,
    ),
    "findings null": ({**payload(), "findings": None}, payload(), INCOMPLETE),
    "findings in an object": ({**payload(), "findings": {"0": CRITICAL}}, payload(), INCOMPLETE),
    "findings none": ({**payload(), "findings": "none"}, payload(), INCOMPLETE),
    "duplicate key": (TWICE, payload(), INCOMPLETE),
    "in a comment": (COMMENT, payload(), INCOMPLETE),
    "wrapped": (WRAPPED, payload(), INCOMPLETE),
    "nothing said": (*alike(conclusion="ok", files="none", verification="none"), INCOMPLETE),
    "pattern for a file": (*alike(examined=["**"]), INCOMPLETE),
    "outside": (*alike(examined=["../src/app.py", "/"]), INCOMPLETE),
}  # fmt: skip


@pytest.mark.parametrize(("left", "right", "outcome"), ANSWERS.values(), ids=ANSWERS)
def test_no_answer_makes_the_gate_green(left: Any, right: Any, outcome: str) -> None:
    assert verdict(left, right) == outcome


@pytest.mark.parametrize(
    "right_is",
    [
        (" VENDOR-left ", "lineage-right"),
        ("vendor-right", "Lineage-LEFT"),
        ("vendor-right", "vendor-left"),
        ("", "lineage-right"),
        ("vendor-right", " "),
    ],
)
def test_the_same_voice_under_another_name_is_one_voice(right_is: tuple[str, str]) -> None:
    assert verdict(payload(), payload(), right_is) == INCOMPLETE


@pytest.mark.parametrize("bit", ["--assume-unchanged", "--fsmonitor-valid"])
def test_a_bit_of_the_index_hides_no_edit(tmp_path: Path, bit: str) -> None:
    def git(*args: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *args], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "e.py").write_text("a = 1\n")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "state")
    git("update-index", bit, "e.py")
    (tmp_path / "e.py").write_text("eval(x)\n")
    with workspace.take(tmp_path) as tree:
        assert tree.read("e.py") == ("eval(x)",)
        assert tree.revision.dirty
