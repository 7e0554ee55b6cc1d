"""A sound ``parallel/`` directory in memory, to be spoiled one line at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prun_review import manifest
from prun_review.manifestfiles import Unread
from prun_review.tasks import Manifest, Problem

DIRECTORY = "parallel/TS-0007-library"

CONTEXT = "# Library\n\nA small lending library, kept in one process.\n"
CONTRACT = "class BookDTO:\n    isbn: str\n"

BOOKS = """\
---
id: task-001
component: books
wave: 1
deps: []
blocks: [task-003]
agent: python-experts:api-expert
skills: [python-experts:typing]
tech_spec: TS-0007
contracts: [contracts/types.py]
---
# task-001: Books

## Scope
CREATE: library/books/{models,views}.py, library/books/tests/*.py
MODIFY: config/urls.py::books # one route
BOUNDARY: library/loans/*, library/*/migrations/*

## Requirements
- A book has an ISBN.

## Checklist
- [ ] pytest library/books passes
"""
READERS = """\
---
id: task-002
component: readers
wave: 1
deps: []
agent: python-experts:api-expert
---
# task-002: Readers

## Scope
**CREATE**:
- `library/readers/models.py` - the model
- library/readers/views.py (two views)

**MODIFY**:
- config/readers.py::readers

**BOUNDARY**:
- library/books/*

## Requirements
- A reader has a name.
"""
LOANS = """\
---
id: task-003
component: loans
wave: 2
deps: [task-001, task-002-readers]
agent: api-expert
verify: [pytest -q]
executor: sonnet
timeout: 1200
access: full
---
# task-003: Loans

## Scope
CREATE: library/loans/models.py
MODIFY: none

## Requirements
- A loan joins a book and a reader.
"""
MANIFEST: dict[str, Any] = {
    "tech_spec_id": "TS-0007",
    "waves": [
        {
            "number": 1,
            "tasks": [
                {"id": "task-001-books", "agent": "python-experts:api-expert"},
                {"id": "task-002-readers", "agent": "python-experts:api-expert"},
            ],
            "validation": "python -c 'import library.books'",
        },
        {"number": 2, "tasks": [{"id": "task-003-loans", "agent": "api-expert"}], "validation": "pytest -q"},
    ],
}


def sound() -> dict[str, str]:
    """All files of a directory without a fault; no prompts, so they are built."""
    return {
        "manifest.json": json.dumps(MANIFEST, indent=1),
        "context.md": CONTEXT,
        "contracts/types.py": CONTRACT,
        "tasks/task-001-books.md": BOOKS,
        "tasks/task-002-readers.md": READERS,
        "tasks/task-003-loans.md": LOANS,
    }


def prompt(*sections: str, marker: str = ".claude-task-complete") -> str:
    """A prompt as a person has it, with these sections."""
    return "".join(f"=== {name} ===\ntext\n\n" for name in sections) + f"touch {marker}\n"


SECTIONS = ("CONTEXT", "OBJECTIVE", "FILES TO CREATE", "COMPLETION SIGNAL")


@dataclass
class Held:
    """A directory in memory."""

    files: Mapping[str, bytes | Unread]
    path: str = DIRECTORY
    cut: str = ""
    asked: list[str] = field(default_factory=list)

    @property
    def names(self) -> frozenset[str]:
        """All of them."""
        return frozenset(self.files)

    def data(self, name: str) -> bytes | Unread:
        """The content of one."""
        self.asked.append(name)
        return self.files[name]


def read(files: Mapping[str, str | bytes | Unread]) -> tuple[Manifest | None, tuple[Problem, ...]]:
    """The manifest of these files."""
    raw = {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
    return manifest.read(Held(raw))


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """The directory on disk."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def line_of(text: str, needle: str, nth: int = 1) -> int:
    """The line, from 1, of the nth occurrence of ``needle``, which must be there."""
    at = -1
    for _ in range(nth):
        at = text.index(needle, at + 1)
    return text.count("\n", 0, at) + 1


def codes(problems: tuple[Problem, ...], level: str = "") -> list[str]:
    """The codes of all problems of a level, or of any."""
    return [problem.code for problem in problems if not level or problem.level == level]
