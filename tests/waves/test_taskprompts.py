"""Prompts that are built of task files, and prompts that are checked."""

from __future__ import annotations

import re

import pytest

from prun_review import taskfiles, taskprompts
from prun_review.manifestfields import Problems
from prun_review.model import Contract
from prun_review.taskblock import TaskKind
from prun_review.tasks import Scope, Target, Task
from tests.waves.manifestkit import BOOKS, CONTEXT, SECTIONS, codes, prompt, read, sound

TASK = Task(
    id="task-004-fines",
    wave=2,
    agent="money-expert",
    title="Fines",
    deps=("task-001-books", "task-003-loans"),
    scope=Scope(("fines/*.py",), (Target("urls.py", "routes"), Target("settings.py")), ("loans/*",)),
    skills=("typing",),
    verify=("pytest -q fines",),
)
FILE = """\
---
id: task-004
---
# task-004: Fines

Readers pay for what is late.

## Scope
CREATE: fines/*.py

## Requirements
- A fine is a sum.

```python
## not a heading
```

## Notes
Rounded to cents.

## Checklist
- [ ] it rounds
"""


def built(text: str = FILE, context: str = CONTEXT) -> str:
    file = taskfiles.parse("tasks/task-004-fines.md", text, Problems())
    return taskprompts.build(TASK, file, context, {"contracts/types.py": "class Fine: ..."})


def section(text: str, name: str) -> str:
    """What stands below a heading."""
    found = re.search(rf"^=== {re.escape(name)} ===\n(.*?)(?=\n\n=== |\Z)", text, re.M | re.S)
    assert found, name
    return found[1]


def test_all_sections_are_there_in_their_order() -> None:
    text = built()
    assert text.split("\n")[:4] == [
        "TASK-004: Fines",
        "Agent: money-expert",
        "Wave: 2",
        "Dependencies: task-001-books, task-003-loans",
    ]
    assert re.findall(r"^=== (.*) ===$", text, re.M) == [
        *("REQUIRED SKILLS", "CONTEXT", "OBJECTIVE", "CONTRACTS", "FILES TO CREATE", "FILES TO MODIFY"),
        *("DO NOT MODIFY", "IMPLEMENTATION REQUIREMENTS", "ACCEPTANCE CRITERIA", "EXECUTION INSTRUCTIONS"),
        *("IMPORTANT RULES", "OUTPUT FORMAT (REQUIRED)", "COMPLETION SIGNAL"),
    ]


def test_everything_that_was_written_down_is_in_it() -> None:
    text = built()
    assert section(text, "CONTEXT") == CONTEXT.strip()
    assert section(text, "OBJECTIVE") == "Fines\n\nReaders pay for what is late.\n\nNotes:\nRounded to cents."
    assert section(text, "CONTRACTS") == "--- contracts/types.py ---\nclass Fine: ..."
    assert section(text, "FILES TO MODIFY") == "- urls.py (only routes)\n- settings.py"
    assert section(text, "DO NOT MODIFY") == "- loans/*"
    assert "## not a heading" in section(text, "IMPLEMENTATION REQUIREMENTS")
    assert section(text, "ACCEPTANCE CRITERIA").startswith("- [ ] it rounds")
    assert "- pytest -q fines" in section(text, "ACCEPTANCE CRITERIA")
    assert ".claude-task-complete" in section(text, "COMPLETION SIGNAL")


def test_sections_without_content_are_left_out() -> None:
    text = taskprompts.build(Task("fix", 1, title="Fix it"), None, "", {})
    assert re.findall(r"^=== (.*) ===$", text, re.M) == [
        *("OBJECTIVE", "EXECUTION INSTRUCTIONS", "IMPORTANT RULES", "OUTPUT FORMAT (REQUIRED)"),
        "COMPLETION SIGNAL",
    ]
    assert text.startswith("FIX: Fix it\nAgent: any\nWave: 1\nDependencies: none\n")


def test_a_context_that_is_too_long_is_cut_and_says_so() -> None:
    text = built(context="x" * 70_000)
    assert text.count("x") < 61_000
    assert "[the context is cut here: 60000 of 70000 characters]" in text


def test_the_output_format_is_the_json_that_it_shows() -> None:
    import json

    shown = section(built(), "OUTPUT FORMAT (REQUIRED)")
    block = json.loads(shown[shown.index("{") : shown.rindex("}") + 1])
    assert list(block) == [
        *("task_completed", "validation_passed", "files_created", "files_modified", "tests_run"),
        *("tests_passed", "tests_failed", "summary", "error_message"),
    ]
    assert shown.strip() in TaskKind().instructions(Contract("task"))  # the prompt says it once more


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (prompt(*SECTIONS), ()),
        (prompt("CONTEXT", "OBJECTIVE", "FILES TO MODIFY", "COMPLETION SIGNAL"), ()),
        ("=== CONTEXT ===\n=== OBJECTIVE ===\n=== FILES TO CREATE ===\nCOMPLETION SIGNAL:\ntouch", ()),
        ("== CONTEXT ==\n=OBJECTIVE=\n=== FILES TO CREATE ===\n=== COMPLETION SIGNAL ===", ()),
        ("do it", ("CONTEXT", "OBJECTIVE", "FILES TO CREATE or FILES TO MODIFY", "COMPLETION SIGNAL")),
        (prompt("CONTEXT", "FILES TO CREATE", "COMPLETION SIGNAL"), ("OBJECTIVE",)),
        (
            "the CONTEXT is === OBJECTIVE === here",
            ("CONTEXT", "OBJECTIVE", "FILES TO CREATE or FILES TO MODIFY", "COMPLETION SIGNAL"),
        ),
    ],
)
def test_sections_that_a_prompt_lacks(text: str, missing: tuple[str, ...]) -> None:
    assert taskprompts.missing(text) == missing


def test_a_built_prompt_passes_the_check_for_those_of_people() -> None:
    assert taskprompts.missing(built()) == ()


def test_prompts_of_people_are_checked_and_never_refused_for_their_form() -> None:
    files = {
        **sound(),
        "prompts/task-001.txt": "do it",
        "prompts/task-002.txt": prompt(*SECTIONS, marker="x"),
    }
    files["prompts/task-003.txt"] = " \n"
    found, problems = read(files)
    assert found is not None
    assert found.tasks[0].prompt == "do it"
    assert [(p.level, p.code, p.file, p.line) for p in problems] == [
        ("warning", "prompt-marker", "prompts/task-001.txt", 1),
        ("warning", "prompt-section", "prompts/task-001.txt", 1),
        ("warning", "prompt-marker", "prompts/task-002.txt", 1),
        ("error", "empty-prompt", "prompts/task-003.txt", 1),
    ]


def test_without_a_context_there_is_one_warning() -> None:
    files = sound()
    del files["context.md"]
    found, problems = read(files)
    assert found is not None
    assert codes(problems) == ["no-context"]
    assert "=== CONTEXT ===" not in found.tasks[0].prompt


def test_headings_in_fenced_blocks_are_no_sections() -> None:
    text = BOOKS + "\n~~~~\n## Scope\nCREATE: evil.py\n~~~\n# x\n~~~~\n## Checklist two\n- y\n"
    file = taskfiles.parse("tasks/task-001-books.md", text, Problems())
    assert "evil.py" not in file.scope.create
    assert list(file.sections) == ["", "scope", "requirements", "checklist", "checklist two"]
