"""The contract kind ``task``: work as ``cpo`` asks for it, and the agent output block of its answers.

The form is the worker's own: prose, in it perhaps one JSON object whose keys are those of :data:`KEYS`,
fenced or bare.  Nothing of it is needed and nothing of it is proof, so what cannot be read is noted and
breaks nothing; whether a task is done is decided in :mod:`prun_review.completion`.
"""

from __future__ import annotations

import re
from typing import Any

from prun_review.checking import Judged
from prun_review.honesty import is_filler
from prun_review.model import Answer, Contract, Header, Violation
from prun_review.payload import HEADER_NAMES, find_payload, is_fallback, split_header, without
from prun_review.strictjson import clean_value, pointer, shown
from prun_review.taskprompts import REPORT
from prun_review.written import Claim

MARKER = ".claude-task-complete"
"""The file in the root of its copy by which a worker says that a task is done; it may hold anything."""

KEYS = (
    *("task_completed", "validation_passed", "files_created", "files_modified", "tests_run"),
    *("tests_passed", "tests_failed", "summary", "full_log", "error_message"),
)
"""Of an agent output block, none of them needed; ``full_log`` is not looked at."""

LIKE_A_SCHEMA: dict[str, Any] = {"properties": {key: {} for key in KEYS}}
"""What a block is known by."""

_YES = ("true", "yes", "done", "complete", "completed", "success", "succeeded", "passed", "pass", "ok", "1")
_NO = ("false", "no", "failed", "fail", "incomplete", "0")
_SAID = {**dict.fromkeys(_YES, True), **dict.fromkeys(_NO, False)}
_LEADING = re.compile(r"\s*(\d{1,9})(?![\d.,])")
_MOST_COUNT = 10**9


class TaskKind:
    """Work that is done when the marker is there; the answer is prose."""

    kind = "task"

    def schema(self, contract: Contract) -> dict[str, Any] | None:
        """None: there is no payload that must be there."""
        return None

    def instructions(self, contract: Contract) -> str:
        """The marker, and the block at the end of the last message."""
        return f"""\
When all of it is done and not before, create the file `{MARKER}` in the working directory; it may be empty.
If you cannot finish, do not create it.
{REPORT}"""

    def check(self, payload: Any, contract: Contract) -> list[Violation]:
        """Nothing: there is no payload."""
        return []

    def answer(self, payload: Any, contract: Contract) -> Answer:
        """``payload`` is the text of the answer."""
        judged = self.judge(payload)
        return judged.answer or Answer(Header("", "", "", ""))

    def judge(self, text: str) -> Judged:
        """An answer with its claim, where it makes one; what could not be read is in ``salvage``."""
        text, faults = clean_value(text)
        if is_fallback(text):
            why = "a dispatcher wrote it in place of a missing result"
            return Judged(None, (Violation("fallback", "", why),), ())
        found = find_payload(text, LIKE_A_SCHEMA) if text.strip() else None
        claim = None
        if found and isinstance(found.payload, dict) and found.payload.keys() & set(KEYS):
            claim, notes = read_block(found.payload)
            faults += [*found.violations, *notes]
        elif found and any(f'"{key}"' in text for key in KEYS):
            why = "; ".join(v.text for v in found.violations) or "it is no object"
            faults.append(Violation("block", "", f"the agent output block cannot be read: {why}"))
        split = split_header(without(text, found.source if claim and found else ""))
        header = Header(**{key: split.header.get(key, "") for key in HEADER_NAMES})
        return Judged(Answer(header, body=split.body, claim=claim), (), tuple(dict.fromkeys(faults)))


def read_block(block: dict[str, Any]) -> tuple[Claim, list[Violation]]:
    """The claim that an agent output block makes; values of a wrong type are noted, and count as not said
    unless they say that something is not done or failed."""
    notes: list[Violation] = []

    def note(key: str, wanted: str, taken: str = "not said") -> None:
        text = f"expected {wanted}, got {shown(block[key])}; taken as {taken}"
        notes.append(Violation("block", pointer("", key), text))

    def word(key: str) -> bool | None:
        value = block.get(key)
        if isinstance(value, str):
            value = _SAID.get(value.strip().lower(), value)
        if value is None or isinstance(value, bool):
            return value
        # "partially" and "not yet" are no yes, and neither are 0, [] and {}.
        text = isinstance(value, str)
        no = key == "task_completed" and not is_filler(value) if text else not value
        note(key, "true or false", "false" if no else "not said")
        return False if no else None

    def count(key: str) -> int | None:
        value = block.get(key)
        if isinstance(value, str) and (found := _LEADING.match(value)):  # "3 failed", "3/10"
            value = int(found[1])
        if key == "tests_failed" and value and isinstance(value, list):  # their names
            note(key, "a number", str(len(value)))
            value = len(value)
        if (made := _whole(value)) is not None:
            return made
        if value is not None:
            note(key, "a number")
        return None

    def paths(key: str) -> list[str]:
        value = block.get(key)
        if value is None:
            return []
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return [item for item in items if not is_filler(item)]
        note(key, "a list of paths")
        return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []

    def text(key: str) -> str:
        value = block.get(key)
        if value is None or value is False or isinstance(value, str):
            return value or ""
        note(key, "a text")
        return shown(value) if key == "error_message" else ""

    error = text("error_message")
    return Claim(
        completed=word("task_completed"),
        files=tuple(dict.fromkeys([*paths("files_created"), *paths("files_modified")])),
        tests_run=count("tests_run"),
        tests_passed=count("tests_passed"),
        tests_failed=count("tests_failed"),
        validation_passed=word("validation_passed"),
        summary=text("summary"),
        error="" if is_filler(error) else error,
    ), notes


def _whole(value: Any) -> int | None:
    """A number of things, or None for what cannot be one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value <= _MOST_COUNT and value == int(value) else None
