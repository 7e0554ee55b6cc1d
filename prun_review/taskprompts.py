"""The prompt of a task: made of task file, context and contracts, or checked where a person made it.  Pure.

It has the ``=== SECTION ===`` headings that the prompts of ``cpo`` have, so that whatever reads these
finds its way in ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from prun_review.taskfiles import TaskFile
from prun_review.tasks import Task

MARKER = ".claude-task-complete"
"""What a worker creates in the root of its copy when it is done."""
MAX_EXHIBIT = 60_000
"""Characters of the context, and of each contract, that a prompt holds."""

_HEADING = re.compile(r"^\s*=+\s*([A-Z][A-Z ()]+?)\s*=+\s*$|^\s*([A-Z][A-Z ]+):\s*$", re.MULTILINE)
_MANDATORY = (("CONTEXT",), ("OBJECTIVE",), ("FILES TO CREATE", "FILES TO MODIFY"), ("COMPLETION SIGNAL",))
_OBJECTIVE = ("objective", "description", "overview", "")
_REQUIRED = ("requirements", "implementation requirements")
_ACCEPTED = ("checklist", "acceptance criteria")
_TAKEN = frozenset({*_OBJECTIVE, *_REQUIRED, *_ACCEPTED, "scope"})

_EXECUTION = """\
1. Read the context and the contracts above, then the files that you are going to change.
2. Change what the sections on files name, and nothing else.
3. Run the checks of the acceptance criteria and mend what fails.
4. Write the report and the signal that the last sections ask for."""
_RULES = """\
- The working directory is a copy made for this task alone; others work on their own tasks in other copies.
- Where a contract and the code that is there disagree, keep to the contract and say so in the report.
- Do not push, tag, switch branches or rewrite history.  Committing is not needed.
- Do not weaken or remove a test so that it passes."""
REPORT = """\
Say in your last message in prose what you did, and end it with one JSON object in a block marked `json`:
{"task_completed": true, "validation_passed": true, "files_created": [], "files_modified": [],
 "tests_run": 0, "tests_passed": 0, "tests_failed": 0, "summary": "", "error_message": null}
Where the task could not be finished, task_completed is false and error_message says why. What you do not
know you leave out. All of it is compared with what is found in your copy."""
"""What is asked for of a worker's last message; the contract ``task`` asks for the same."""
_SIGNAL = f"""\
When everything is done and the report is ready, create the file {MARKER} in the working directory:
    touch {MARKER}
Without it the task counts as not finished.  Do not create it where something of the task is missing."""


def build(task: Task, file: TaskFile | None, context: str, contracts: Mapping[str, str]) -> str:
    """The whole prompt.  ``contracts``: name -> text; long texts are cut, and the prompt says so."""
    head = [
        f"{task.short.upper()}: {task.title or task.component or task.id}",
        f"Agent: {task.agent or 'any'}",
        f"Wave: {task.wave}",
        f"Dependencies: {', '.join(task.deps) or 'none'}",
    ]
    parts = [("REQUIRED SKILLS", _listed(task.skills)), ("CONTEXT", _cut(context, "the context"))]
    parts += [("OBJECTIVE", _objective(task, file)), ("CONTRACTS", _contracts(contracts))]
    parts += _scope(task)
    parts += [
        ("IMPLEMENTATION REQUIREMENTS", file.section(*_REQUIRED) if file else ""),
        ("ACCEPTANCE CRITERIA", _criteria(task, file)),
        ("EXECUTION INSTRUCTIONS", _EXECUTION),
        ("IMPORTANT RULES", _RULES),
        ("OUTPUT FORMAT (REQUIRED)", REPORT),
        ("COMPLETION SIGNAL", _SIGNAL),
    ]
    return "\n".join([*head, *(f"\n=== {name} ===\n{text}" for name, text in parts if text), ""])


def missing(prompt: str) -> tuple[str, ...]:
    """The sections that a prompt should have and has not; of alternatives all, parted by ``or``."""
    found = {(marked or bare).strip() for marked, bare in _HEADING.findall(prompt)}
    return tuple(" or ".join(names) for names in _MANDATORY if found.isdisjoint(names))


def _objective(task: Task, file: TaskFile | None) -> str:
    said = [task.title or task.component or task.id]
    if file:
        said += [file.section(*_OBJECTIVE)]
        others = (s for key, s in file.sections.items() if key not in _TAKEN and s.text)
        said += [f"{section.heading}:\n{section.text}" for section in others]
    return "\n\n".join(filter(None, said))


def _criteria(task: Task, file: TaskFile | None) -> str:
    said = [file.section(*_ACCEPTED) if file else ""]
    if task.verify:
        said.append(f"These commands are run on the result, and must succeed:\n{_listed(task.verify)}")
    return "\n\n".join(filter(None, said))


def _scope(task: Task) -> list[tuple[str, str]]:
    modify = [
        f"{target.pattern} (only {target.symbol})" if target.symbol else target.pattern
        for target in task.scope.modify
    ]
    return [
        ("FILES TO CREATE", _listed(task.scope.create)),
        ("FILES TO MODIFY", _listed(modify)),
        ("DO NOT MODIFY", _listed(task.scope.boundary)),
    ]


def _listed(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _contracts(contracts: Mapping[str, str]) -> str:
    return "\n\n".join(f"--- {name} ---\n{_cut(text, name)}" for name, text in contracts.items())


def _cut(text: str, what: str) -> str:
    text = text.strip("\n").rstrip()
    if len(text) <= MAX_EXHIBIT:
        return text
    return f"{text[:MAX_EXHIBIT]}\n[{what} is cut here: {MAX_EXHIBIT} of {len(text)} characters]"
