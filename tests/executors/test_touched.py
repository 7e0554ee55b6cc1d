"""What the programs' events tell of the files that were looked at, and what never counts as one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from prun_review.config import load
from prun_review.executors.claude import Claude
from prun_review.executors.codex import Codex
from prun_review.executors.touched import LARGEST, MOST, capped
from prun_review.model import Exit, Reading
from prun_review.ports import Output
from tests.executors.driving import bare_request

RESULT = {
    **{"type": "result", "subtype": "success", "is_error": False, "num_turns": 1},
    "structured_output": {"verdict": "fine"},
}
DONE = [
    {"type": "item.completed", "item": {"type": "agent_message", "text": '{"verdict": "fine"}'}},
    {"type": "turn.completed", "usage": {}},
]


def output(events: list[dict[str, Any]]) -> Output:
    return Output(Exit(0), "".join(json.dumps(e) + "\n" for e in events).encode(), b"")


def codex(*items: dict[str, Any]) -> Reading:
    events = [{"type": "item.completed", "item": item} for item in items]
    return Codex.configured(load({}).executor("codex")).read(output([*events, *DONE]), bare_request())


def claude(*events: dict[str, Any]) -> Reading:
    reader = Claude.configured(load({}).executor("sonnet"))
    return reader.read(output([*events, RESULT]), bare_request())


def use(name: str, number: int = 0, **asked: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": asked}
    return {"type": "assistant", "message": {"content": [block]}}


def result(number: int = 0, *, error: bool = False, **told: Any) -> dict[str, Any]:
    block = {
        "type": "tool_result",
        "tool_use_id": f"t{number}",
        "content": "src/not_read.py",
        "is_error": error,
    }
    return {"type": "user", "message": {"content": [block]}, "tool_use_result": told}


def test_codex_tells_commands_what_they_printed_and_changed_paths() -> None:
    reading = codex(
        {"type": "command_execution", "command": "cat a.py", "aggregated_output": "x = 1\n", "exit_code": 0},
        {"type": "file_change", "changes": [{"path": "/tree/b.py", "kind": "add"}, "?", {"path": 7}]},
        {"type": "reasoning", "text": "I read src/c.py"},
        {"type": "error", "message": "src/d.py"},
        {"type": "mcp_tool_call", "tool": "read", "arguments": {"path": "e.py"}},
    )
    assert reading.touched == ("cat a.py", "x = 1\n", "/tree/b.py", "mcp_tool_call", "read")


def test_the_answer_of_codex_is_no_tool() -> None:
    reading = codex({"type": "agent_message", "text": "I read src/a.py"})
    assert (reading.status, reading.touched) == ("answered", ())


def test_codex_without_an_event_tells_nothing() -> None:
    request = bare_request()
    told = Output(Exit(0), b'{"type": "turn.completed"}\n', b"", {"last.json": b'{"verdict": "fine"}'})
    reading = Codex.configured(load({}).executor("codex")).read(told, request)
    assert (reading.status, reading.touched) == ("answered", None)


def test_claude_tells_what_its_calls_named_and_which_files_they_found() -> None:
    reading = claude(
        *(use("Read", 0, file_path="/tree/a.py"), result(0)),
        *(use("Glob", 1, pattern="src/*.py"), result(1, filenames=["src/b.py", 7])),
        *(
            use("Grep", 2, pattern="x", path="lib", glob="*.py"),
            result(2, mode="content", content="c.py:1:x"),
        ),
        *(use("Bash", 3, command="cat d.py", description="src/no.py"), result(3, stdout="src/no.py")),
    )
    assert reading.touched == ("/tree/a.py", "src/*.py", "src/b.py", "lib", "x", "*.py", "cat d.py")


def test_what_claude_was_refused_was_not_looked_at() -> None:
    reading = claude(
        use("Read", 0, file_path="/etc/passwd"), result(0, error=True), use("Read", 1, file_path="a")
    )
    assert reading.touched == ("a",)


def test_the_words_of_claude_are_no_tool() -> None:
    said = {"type": "assistant", "message": {"content": [{"type": "text", "text": "I read src/a.py"}]}}
    assert claude(said).touched == ()
    assert claude().touched is None


@pytest.mark.parametrize(
    "event",
    [
        {"type": "assistant"},
        {"type": "assistant", "message": {"content": [7, {"type": "tool_use", "id": [], "input": 3}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": {}}]}},
        {"type": "user", "message": [], "tool_use_result": {"filenames": {}}},
    ],
)
def test_events_of_another_form_are_passed_over(event: dict[str, Any]) -> None:
    assert claude(use("Read", 0, file_path="a.py"), event).touched == ("a.py",)


def test_no_more_is_kept_than_can_be_looked_through() -> None:
    assert len(capped(str(n) for n in range(MOST + 5))) == MOST
    assert sum(map(len, capped(["x" * LARGEST, "y"]))) == LARGEST
    assert capped(["", None, 3, "a"]) == ("a",)
