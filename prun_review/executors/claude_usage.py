"""What a claude dispatch used: as billed in its result, or as far as its events had told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prun_review.executors import reasons
from prun_review.model import Usage

MOST_DOLLARS = 1e6
"""A cost at or above this is a damaged number, not a bill."""
_MARKS = (b"message_start", b"message_delta")
"""What stands in the events that tell tokens; all others are passed over unread."""


def so_far(stdout: bytes) -> Usage:
    """Tokens of the requests that the stream speaks of; never a cost, which only a result tells.

    A request tells its input when it starts and its output, as a sum, in its deltas.  Those of a
    subagent run beside the main ones and are told apart by their parent.
    """
    requests: list[dict[str, Any]] = []
    current: dict[object, dict[str, Any]] = {}
    for parent, event in _events(stdout):
        if event.get("type") == "message_start":
            message = event.get("message")
            told = message.get("usage") if isinstance(message, dict) else None
            current[parent] = dict(told) if isinstance(told, dict) else {}
            requests.append(current[parent])
        elif parent in current and isinstance(told := event.get("usage"), dict):
            current[parent]["output_tokens"] = told.get("output_tokens")
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    known = [n for name in names if (n := _total(requests, name)) is not None]
    return Usage(
        input_tokens=sum(known) if known else None,
        cached_tokens=_total(requests, "cache_read_input_tokens"),
        output_tokens=_total(requests, "output_tokens"),
    )


def _events(stdout: bytes) -> Iterable[tuple[str, dict[str, Any]]]:
    """Parent and event of each partial message that tells tokens."""
    for line in stdout.split(b"\n"):
        if not line.startswith(b"{") or not any(mark in line for mark in _MARKS):
            continue
        try:
            value = json.loads(reasons.decoded(line))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value.get("type") == "stream_event":
            event = value.get("event")
            if isinstance(event, dict):
                yield str(value.get("parent_tool_use_id")), event


def billed(result: Mapping[str, Any]) -> Usage:
    """Summed over ``modelUsage``: ``usage`` leaves calls out and is 0 after a fallback request."""
    models = result.get("modelUsage")
    rows = [m for m in models.values() if isinstance(m, dict)] if isinstance(models, dict) else []
    new, fresh = _total(rows, "inputTokens"), _total(rows, "cacheCreationInputTokens")
    cached = _total(rows, "cacheReadInputTokens")
    known = [n for n in (new, fresh, cached) if n is not None]
    return Usage(
        input_tokens=sum(known) if known else None,
        cached_tokens=cached,
        output_tokens=_total(rows, "outputTokens"),
        cost_usd=_dollars(result.get("total_cost_usd")),
    )


def _dollars(value: object) -> float | None:
    """A sum of money, or None for what cannot be one; a number too large for a float is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value < MOST_DOLLARS else None


def _total(rows: Sequence[Mapping[str, Any]], key: str) -> int | None:
    numbers = [n for row in rows if (n := reasons.count(row.get(key))) is not None]
    return sum(numbers) if numbers else None
