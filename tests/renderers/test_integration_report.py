"""``integration-report.md``: its sections, its marks, and that a mark never says more than is known."""

# ruff: noqa: W291

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from prun_review.codec import encode
from prun_review.renderers import integration
from prun_review.renderers.integration import BAD, GOOD, UNKNOWN
from prun_review.tasks import Conflict, Integration, Redone
from prun_review.wavedocument import build, read, validate
from prun_review.written import Check
from tests.renderers import sample
from tests.renderers.test_escape import is_active
from tests.renderers.wavesample import FACTS, OF, USERS, WHOLE, broken, document, played
from tests.waves.coursekit import Script, begun, manifest, patch, task

SECTIONS = [
    "# Integration Report",
    "## Summary",
    "## Contract Compliance",
    "### API Endpoints",
    "### Type Definitions",
    "## Boundary Violations",
    "## Tech Spec Compliance",
    "## Test Results",
    "## Action Items",
    "### Must Fix",
    "### Should Fix",
    "## Next Steps",
]


def headings(text: str) -> list[str]:
    prose = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", text)
    return [line for line in prose.splitlines() if line.startswith("#")]


def marks(made: dict[str, Any]) -> dict[str, str]:
    """The summary: row -> mark."""
    rows = re.findall(r"^\| ([A-Z][\w ]+) \| (\S+) \| (.*) \|$", integration.render(made), re.MULTILINE)
    return {row: mark for row, mark, _ in rows if mark in (GOOD, BAD, UNKNOWN)}


def test_the_report_of_a_run_that_went_well_word_for_word() -> None:
    assert integration.render(document()) == REPORT


REPORT = """\
# Integration Report

**Generated**: 2026-11-30T00:54:20.500Z  
**Parallel Dir**: `parallel/TS-0001-shop`  
**Source PRD**: `docs/prd.md`  
**Tech Spec**: TS-0001 (`docs/TS-0001.md`)  
**Tasks Integrated**: 3 of 3  
**Run**: `20261130-080000-ab12`, completed  
**Branch**: `prun/1` at `aaaaaaaaaaaa`, whole

## Summary

| Check | Status | Details |
| --- | --- | --- |
| Branch Merge | ✅ | 3 of 3 tasks put together |
| Contract Compliance | ⚠️ | none was changed; that the code keeps to them was not checked |
| Tech Spec Compliance | ⚠️ | 2 reviews passed; no panel looked at wave 1 |
| Boundary Violations | ✅ | none |
| Tests | ⚠️ | 2 of 2 passed; none of it was run on the whole |
| Type Check | ✅ | 1 of 1 passed |
| Lint | ✅ | 1 of 1 passed |

## Contract Compliance

### API Endpoints

- ⚠️ `contracts/api-schema.yaml`: not changed; task-001 was told to keep to it

### Type Definitions

- ⚠️ `contracts/types.py`: not changed; task-001 was told to keep to it

## Boundary Violations

✅ none.

## Tech Spec Compliance

⚠️ 2 reviews passed; no panel looked at wave 1.

| Wave | Status | Verdict | Written by | Run |
| --- | --- | --- | --- | --- |
| 2 | ✅ | PASS (told) | openai | `run-1` |
| 2 | ✅ | PASS (told) | openai | `run-1` |

## Test Results

| Status | On | Kind | Command | Result | Time | Contained |
| --- | --- | --- | --- | --- | --- | --- |
| ✅ | task-001 | Tests | `pytest -q` | passed | 0:03 | yes |
| ✅ | wave 1 | Tests | `pytest -q tests` | passed | 0:01 | no |
| ✅ | the whole | Lint | `ruff check .` | passed | 0:00 | no |
| ✅ | the whole | Type Check | `mypy src` | passed | 0:00 | no |

What the workers say of their own tests, beside what was run here:

| Task | Run | Passed | Failed | Here |
| --- | --- | --- | --- | --- |
| `task-001` | 3 | 3 | 0 | 1 of 1 commands passed |

## Action Items

### Must Fix

None.

### Should Fix

None.

## Next Steps

1. Fetch the branch, and nothing else: `prun-review integrate parallel/TS-0001-shop --apply`
"""


@pytest.mark.parametrize("made", [document(), broken(), build(begun(OF), FACTS), read(None)[0]])
def test_the_sections_are_always_the_same(made: dict[str, Any]) -> None:
    assert headings(integration.render(made)) == SECTIONS


@pytest.mark.parametrize(
    "line",
    [
        "**Tasks Integrated**: 1 of 3  ",
        f"| Branch Merge | {BAD} | 1 of 3 tasks put together; conflicts: task-003-orders |",
        f"| Contract Compliance | {BAD} | 1 changed by a task that was to keep to them |",
        f"| Tech Spec Compliance | {BAD} | 1 of 2 reviews did not pass |",
        f"| Boundary Violations | {BAD} | 1 found |",
        f"| Tests | {BAD} | 1 of 2 passed |",
        f"| Type Check | {BAD} | 0 of 1 passed |",
        f"| Lint | {UNKNOWN} | no such command was run |",
        f"- {BAD} `contracts/types.py`: changed by task-001",
        "| `task-002` | `outside-scope` | `etc/x` | etc/x is not in its scope |",
        f"| {BAD} | task-002 | Tests | `pytest -q` | failed (exit 1) | 1:05 | no |",
        f"| {BAD} | task-002 | Other | `slow` | failed (timeout) | 0:00 | no |",
        "E   assert 1 == 2",
        "| `task-002` | 3 | 3 | 0 | 0 of 2 commands passed |",
        "- [ ] task-002 failed: verify: its check failed; its copy is kept: /home/ann/.cache/copies/2",
        "- [ ] wave 2: its panel did not pass it: FAIL (told)",
        "- [ ] task-001 changed the contract contracts/types.py",
        "- [ ] conflict of task-003-orders in src/a.py, src/b.py",
        "- [ ] failed (exit 2) on the whole: mypy src",
        "- [ ] tasks/task-002.md: two tasks create src/a.py",
        "- [ ] look at task-001: a conflict in src/shared.py opened it again",
        "- [ ] manifest.json: 4 tasks are promised",
        "2. Run what is left, and keep what succeeded: `prun-review run parallel/TS-0001-shop --resume`",
    ],
)
def test_everything_that_went_wrong_is_told(line: str) -> None:
    assert line in integration.render(broken()).splitlines()


def test_what_nobody_looked_at_is_never_good() -> None:
    bare = build(played(Script(), manifest(task("001", 1))), FACTS)
    assert marks(bare) == {
        "Branch Merge": GOOD,
        "Contract Compliance": UNKNOWN,
        "Tech Spec Compliance": UNKNOWN,
        "Boundary Violations": GOOD,
        "Tests": UNKNOWN,
        "Type Check": UNKNOWN,
        "Lint": UNKNOWN,
    }
    assert set(marks(build(begun(OF), FACTS)).values()) == {BAD, UNKNOWN}
    assert set(marks(read(None)[0]).values()) == {BAD, UNKNOWN}


@pytest.mark.parametrize(
    ("script", "mark", "told"),
    [
        (Script(), UNKNOWN, "2 reviews passed; no panel looked at wave 1"),
        (Script(panels={2: "nobody"}), BAD, "not reviewed: wave 2"),
        (Script(panels={2: "INCOMPLETE"}), BAD, "1 of 2 reviews did not pass"),
        (Script(validations={1: False}), UNKNOWN, "no panel looked at anything"),
    ],
)
def test_only_what_a_panel_passed_is_called_so(script: Script, mark: str, told: str) -> None:
    made = build(played(script), FACTS)
    assert f"| Tech Spec Compliance | {mark} | {told} |" in integration.render(made)


@pytest.mark.parametrize(
    ("whole", "mark"),
    [(None, GOOD), (WHOLE, GOOD), (Integration("failed", message="m"), BAD), (Integration("conflicts"), BAD)],
)
def test_branches_are_merged_only_where_the_whole_is(whole: Integration | None, mark: str) -> None:
    assert marks(document(whole))["Branch Merge"] == mark


@pytest.mark.parametrize(
    ("command", "row"),
    [
        ("pytest -q apps/orders", "Tests"),
        ("python -m unittest", "Tests"),
        ("npm test", "Tests"),
        ("python -m mypy src tests", "Type Check"),
        ("npx tsc --noEmit", "Type Check"),
        ("ruff check src", "Lint"),
        ("npm run lint", "Lint"),
        ("python -c 'from apps.users.models import User'", "Other Checks"),
        ("./latest.sh", "Other Checks"),
    ],
)
def test_a_command_counts_for_the_row_that_it_looks_like(command: str, row: str) -> None:
    made = document(Integration("failed", checks=(Check(command, 1),)))
    assert marks(made)[row] == BAD


def test_what_was_not_run_on_the_whole_stands_beside_what_was() -> None:
    """Green tests of the tasks are no green tests of the whole."""
    bare = document(Integration("whole", "prun/1", "a" * 40, unrun=("the project's own tests: none",)))
    assert {row: mark for row, mark in marks(bare).items() if row in ("Tests", "Lint")} == {
        "Tests": UNKNOWN,
        "Lint": UNKNOWN,
    }
    text = integration.render(bare)
    assert f"**Not run on the whole:**\n\n- {UNKNOWN} the project's own tests: none\n" in text
    assert "- [ ] not run on the whole: the project's own tests: none" in text


def test_what_speaks_against_the_whole_is_a_violation() -> None:
    made = document(
        Integration("failed", "prun/1", "a" * 40, message="x was changed", wrong=("x was changed",))
    )
    assert marks(made)["Boundary Violations"] == BAD
    assert f"## Boundary Violations\n\n- {BAD} x was changed\n" in integration.render(made)


def test_a_contract_of_a_project_below_its_repository_is_found_where_patches_name_it() -> None:
    name = "contracts/types.py"
    course = played(Script())
    users = replace(course.outcomes[USERS], patch=patch(f"apps/shop/parallel/TS-0001-shop/{name}"))
    course = replace(course, outcomes={**course.outcomes, USERS: users})
    made = build(course, replace(FACTS, integration=WHOLE, prefix="apps/shop/"))
    assert marks(made)["Contract Compliance"] == BAD
    assert f"- {BAD} `{name}`: changed by task-001" in integration.render(made)
    assert marks(build(course, FACTS))["Contract Compliance"] == UNKNOWN


def test_a_task_that_was_done_again_is_told_with_its_end() -> None:
    made = document()
    row = Redone("task-001-users", "b" * 40, "c" * 40, "", "u-1", "failed", "timeout", executor="codex")
    made["again"] = encode([row, replace(row, status="succeeded", unit="u-2")])
    assert validate(made) == []
    text = integration.render(made)
    for told in ("timeout (units/u-1)", "succeeded (units/u-2)"):
        assert f"task-001-users was done again by codex on cccccccccccc: {told}; look at it" in text


def test_what_clashes_is_not_counted_as_put_together_and_neither_is_what_builds_on_it() -> None:
    made = document(Integration("conflicts", "prun/1", "a" * 40, (Conflict(USERS, ("src/a.py",)),)))
    assert "**Tasks Integrated**: 1 of 3" in integration.render(made)


def test_a_stopped_run_says_so_first() -> None:
    made = document()
    made["status"], made["stopped"] = "stopped", "Ctrl-C"
    text = integration.render(made)
    assert "### Must Fix\n\n- [ ] the run was stopped: Ctrl-C\n" in text


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"status": "running"}, "1. Wait for the run; it is here: `prun-review status 'a b'`"),
        ({"integration": None}, "1. Put it together and test the whole: `prun-review integrate 'a b'`"),
        ({}, "1. Fetch the branch, and nothing else: `prun-review integrate 'a b' --apply`"),
        (
            {"status": "failed"},
            "2. Run what is left, and keep what succeeded: `prun-review run 'a b' --resume`",
        ),
    ],
)
def test_what_to_do_next(changes: dict[str, Any], line: str) -> None:
    made = {**document(), "directory": "a b", **changes}
    assert line in integration.render(made).splitlines()


def test_what_was_applied_is_for_the_user_to_merge() -> None:
    made = document(Integration("whole", "prun/1", applied="prun/1"))
    assert integration.render(made).endswith(
        "1. Look at it: `git diff HEAD...prun/1`\n2. Take it: `git merge prun/1`\n"
    )


@pytest.mark.parametrize("text", [sample.HOSTILE, sample.HOSTILE * 20, "::" * 40, "\n" * 9, "| x |"])
def test_nothing_foreign_is_active(text: str) -> None:
    made = read(sample.hostile(json.loads(json.dumps(broken())), text))[0]
    out = integration.render(made)
    assert not is_active(out)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", out)
    prose = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", out)
    outside = re.sub(r"`[^`\n]*`", "", prose.replace("\\`", "")).replace("- [ ] ", "- ")
    assert not re.search(r"<|[@]\w|!\[|(?<!\\)\[|://", outside)
    assert headings(out) == SECTIONS
