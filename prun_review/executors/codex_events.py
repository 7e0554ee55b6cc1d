"""The events that ``codex exec --json`` prints, one JSON object a line (measured with 0.163 and 0.171)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from prun_review.executors import reasons
from prun_review.executors.touched import capped
from prun_review.model import Usage


@dataclass(frozen=True, slots=True)
class Events:
    """What the event stream says; unknown events and items are passed over."""

    terminal: str
    """The last of ``turn.completed`` and ``turn.failed``, or empty."""
    message: str
    """The last agent message: earlier ones are progress reports, however well they parse."""
    error: str
    """Of ``turn.failed``, else the last top-level error.  An error *item* is only a warning."""
    usage: Usage
    touched: tuple[str, ...] | None
    """Commands and what they printed, changed paths, and what other tools' events say.  A command that the
    sandbox turned away has no event.  None where no event tells of any item at all."""

    @classmethod
    def of(cls, stdout: bytes) -> Events:
        terminal, message, error, failure, usage = "", "", "", "", Usage()
        items: list[dict[str, Any]] = []
        for event in objects(stdout):
            kind, item = event.get("type"), event.get("item")
            if kind in ("turn.completed", "turn.failed"):
                terminal = kind
                usage = _usage(event.get("usage"))
                failure = message_of(event.get("error"))
            elif kind == "error":
                error = message_of(event)
            elif kind == "item.completed" and isinstance(item, dict):
                items.append(item)
                text = item.get("text") if item.get("type") == "agent_message" else None
                message = text if isinstance(text, str) else message
        seen = capped(text for item in items for text in _told(item)) if items else None
        return cls(terminal, message, failure or error, usage, seen)


def _told(item: Mapping[str, Any]) -> Iterator[Any]:
    """What the event of one tool says that it looked at."""
    kind = item.get("type")
    if kind == "command_execution":
        yield from (item.get("command"), item.get("aggregated_output"))
    elif kind == "file_change":
        changes = item.get("changes")
        yield from (
            (c.get("path") for c in changes if isinstance(c, dict)) if isinstance(changes, list) else ()
        )
    elif kind not in ("agent_message", "reasoning", "error", "todo_list"):
        yield from item.values()


def objects(stdout: bytes) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines; whatever else stands there is not ours to judge."""
    for raw in stdout.split(b"\n"):
        if not raw.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
            continue
        try:
            value = json.loads(reasons.decoded(raw))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def message_of(holder: object) -> str:
    message = holder.get("message") if isinstance(holder, dict) else holder
    return message if isinstance(message, str) else ""


def inner(said: str) -> str:
    """The message inside a raw JSON error body, which a 400 leaves as it came."""
    body = next(objects(said.encode("utf-8", "replace")), {})
    return message_of(body.get("error")) or said


def _usage(value: object) -> Usage:
    given = value if isinstance(value, dict) else {}
    return Usage(
        input_tokens=reasons.count(given.get("input_tokens")),
        cached_tokens=reasons.count(given.get("cached_input_tokens")),
        output_tokens=reasons.count(given.get("output_tokens")),
    )
