"""The events that ``claude -p`` prints, one JSON object a line (measured with 2.1.332)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from prun_review.executors import reasons
from prun_review.executors.touched import capped


def parsed(line: bytes) -> dict[str, Any]:
    """The JSON object that the line is; empty where it is none."""
    text = reasons.decoded(line).strip()
    if not text.startswith("{"):
        return {}
    try:
        value = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def envelope(stdout: bytes) -> dict[str, Any]:
    """The last result event, or all of stdout where that is one object; empty where there is none.

    Messages of the assistant are never looked at: what it said on its way is no answer.
    """
    for line in reversed(stdout.strip().split(b"\n")):
        if b'"result"' in line:
            value = parsed(line)
            if value.get("type") == "result":
                return value
    whole = parsed(stdout)
    return whole if whole.get("type") == "result" else {}


def touched(stdout: bytes) -> tuple[str, ...] | None:
    """What its tool calls named and was not refused to them; None where it printed no events at all.

    Of results only lists of file names count, not contents: those are the reviewed author's words.
    """
    calls: dict[str, list[Any]] = {}
    events = [parsed(line) for line in stdout.split(b"\n") if b'"assistant"' in line or b'"user"' in line]
    for event in events:
        for block in _blocks(event):
            asked = block.get("input")
            if block.get("type") == "tool_use" and isinstance(asked, dict):
                names = ("file_path", "path", "pattern", "glob", "command", "notebook_path")
                calls[str(block.get("id"))] = [asked[name] for name in names if name in asked]
            elif block.get("type") == "tool_result":
                call = calls.get(str(block.get("tool_use_id")), [])
                result = event.get("tool_use_result")
                if block.get("is_error"):
                    call.clear()
                elif isinstance(result, dict) and isinstance(result.get("filenames"), list):
                    call += result["filenames"]
    if not any(event.get("type") == "assistant" for event in events):
        return None
    return capped(text for call in calls.values() for text in call)


def _blocks(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The content of the message that an event of the assistant or of a tool carries."""
    message = event.get("message") if event.get("type") in ("assistant", "user") else None
    content = message.get("content") if isinstance(message, dict) else None
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
