"""The terminal's table of a wave run."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from prun_review.renderers import integration
from prun_review.renderers.escape import columns
from prun_review.renderers.waveactions import must_fix, should_fix
from prun_review.renderers.waveterminal import render
from prun_review.wavedocument import build, read
from tests.renderers import sample
from tests.renderers.test_escape import is_active
from tests.renderers.wavesample import FACTS, OF, broken, document
from tests.waves.coursekit import begun


def test_a_run_with_everything_that_can_go_wrong_word_for_word() -> None:
    assert render(broken()) == PAGE


PAGE = """\
WAVES  parallel/TS-0001-shop (20261130-080000-ab12)
TS-0001 shop; base bbbbbbbbbbbb; head 583a671b32c7; began
  2026-11-30T00:53:20.000Z; ended 2026-11-30T00:54:20.500Z

TASKS
  wave  task             status     time        changed  checks  why
     1  task-001-users   succeeded  0:04  2 files +2 -0
     1  task-002-shop    failed     0:02  2 files +2 -0     0/2  verify
     2  task-003-orders  succeeded  0:02   1 file +1 -0

WAVES
  1: failed (tasks)
    validation passed: pytest -q tests
  2: failed (panel)
    panel PASS by run run-1: PASS (told)
    panel FAIL by run run-1: FAIL (told)

NOT DONE
  task-002-shop: verify: its check failed
    breach [outside-scope] etc/x: etc/x is not in its scope
    failed (exit 1): pytest -q
      | E assert 1 == 2
      | 1 failed
    failed (timeout): slow
    its copy is kept: /home/ann/.cache/copies/2

INTEGRATION
  conflicts: branch prun/1, head aaaaaaaaaaaa
    conflict of task-003-orders in src/a.py, src/b.py
    failed (exit 2): mypy src

USAGE
  executor  tasks  attempts  time  input tokens  output     cost
  codex         3         4  0:08       120,000     900  $0.5000

PROBLEMS
  manifest.json:3: warning: [wrong-count] 4 tasks are promised
  tasks/task-002.md: error: [scope-overlap] two tasks create src/a.py

NEXT
  Run what is left, and keep what succeeded: prun-review run parallel/TS-0001-shop --resume
  Put it together again: prun-review integrate parallel/TS-0001-shop

3 tasks: 2 succeeded, 1 failed
STATUS: FAILED
"""


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "STATUS: COMPLETED"),
        ({"status": "partial"}, "STATUS: PARTIAL"),
        ({"status": "stopped", "stopped": "Ctrl-C"}, "STATUS: STOPPED (Ctrl-C)"),
        ({"status": "running", "finished": None}, "STATUS: RUNNING"),
        ({"status": "running"}, "STATUS: FAILED (it has an end and is not over)"),
    ],
)
def test_the_last_line_is_the_word_for_it_all(changes: dict[str, Any], line: str) -> None:
    assert render({**document(), **changes}).splitlines()[-1] == line


def test_a_run_that_begins_shows_what_waits() -> None:
    out = render(build(begun(OF), FACTS))
    assert "  1: running\n    validation not run: pytest -q tests\n" in out
    assert "    panel not asked: panels/\n" in out
    assert "3 tasks: 3 pending\n" in out


def test_executors_are_a_column_where_they_differ() -> None:
    made = document()
    assert "executor  time" not in render(made)
    made["tasks"][0]["executor"] = "sonnet"
    assert re.search("^  wave  task .* executor  time", render(made), re.MULTILINE)


def test_anything_can_be_shown() -> None:
    out = render(read({"tasks": [{"id": "task-001"}], "waves": [{}]})[0])
    assert out.splitlines()[-2:] == ["1 task: 1 failed", "STATUS: FAILED"]


@pytest.mark.parametrize("width", [10, 40, 80, 132])
@pytest.mark.parametrize("text", [sample.HOSTILE, sample.HOSTILE * 20, "日" * 300, "::" * 40])
def test_nothing_foreign_is_active_and_everything_fits(text: str, width: int) -> None:
    made = read(sample.hostile(json.loads(json.dumps(broken())), text))[0]
    out = render(made, width)
    assert not is_active(out)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", out)
    wrapped = [line for line in out.splitlines() if not ONE_PIECE.match(line)]
    assert max(columns(line) for line in wrapped) <= max(width, 40)


ONE_PIECE = re.compile(r" +(its copy is kept|its report|log|Run what is left, .*|Put it together again): ")
"""What is copied, and of no use in two pieces."""


def test_what_a_person_needs_to_go_on_is_all_there_and_in_one_piece() -> None:
    made = json.loads(json.dumps(broken()))
    made["directory"] = "parallel/" + "long/" * 20 + "its own"
    kept = "/home/ann/.cache/" + "copies/" * 20 + "2"
    made["tasks"][1]["patch"]["kept"] = kept
    made["tasks"][1]["message"] = f"its check failed; what it wrote is kept in {kept}"
    made["tasks"][0]["notes"] = ["app/q.py is said to be changed, and is as it was"]
    said = "".join(f"line {n}\n" for n in range(30))
    made["waves"][0]["validation"] |= {"code": 1, "said": said}
    report = "reports/" + "deep/" * 20 + "report.md"
    findings = ["high: src/a.py:3: it loses money", "and 2 more"]
    made["waves"][1]["reviews"][1] |= {"findings": findings, "report": report}
    made["waves"].append({**made["waves"][0], "number": 3, "status": "not-run", "reason": "panel"})
    made["waves"][2] |= {"validation": None, "reviews": []}
    out = render(made)
    assert out.count(kept) == 1
    for line in (
        "    validation failed (exit 1): pytest -q tests\n",
        "      | (18 lines before these are in report.json)\n      | line 18\n",
        "      | line 29\n  2: failed (panel)\n",
        f"      high: src/a.py:3: it loses money\n      and 2 more\n      its report: {report}\n",
        f"    its copy is kept: {kept}\n",
        "NOTES\n  task-001-users: app/q.py is said to be changed, and is as it was\n",
        f"prun-review run '{made['directory']}' --resume\n",
    ):
        assert line in out
    written = integration.render(read(made)[0])
    assert written.count(kept) == 1
    must = (
        "wave 2: its panel did not pass it: FAIL (told); high: src/a.py:3: it loses money; and 2 more; see "
    )
    assert [line for line in must_fix(made) if must in line]
    assert not [line for line in must_fix(made) if "wave 3" in line and "panel" in line]
    assert "task-001: app/q.py is said to be changed, and is as it was" in should_fix(made)
