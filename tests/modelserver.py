"""A model server of our own on 127.0.0.1: both vendors' wire protocols, scripted answers.

Speaks OpenAI's Responses over SSE (``POST /v1/responses``) and Anthropic's Messages over SSE
(``POST /v1/messages``), as far as the two CLIs need them.  It runs in threads of the process that
enters it and ends when that leaves the ``with``; nothing outlives the test.

    rules = [Rule("src/auth", Reply(payload={...}), vendor="openai"), Rule("", Reply(status=500))]
    with ModelServer(rules) as server:
        ... start a CLI with server.openai_url or server.anthropic_url ...
    server.calls[0].body      # what it was sent
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

MAX_BODY = 16 << 20
"""Bytes of a request body; a larger one is refused with 413."""

LONGEST = 120.0
"""Seconds after which a request that hangs is let go."""

MAX_CALLS = 2000
"""Requests answered in one life; further ones get 410, so that a retry storm ends."""


FREEFORM = "freeform"


@dataclass(frozen=True)
class Reply:
    """What the model answers: tool calls one after the other, then payload, text or an error."""

    payload: Any = None
    """The structured answer (a JSON value)."""
    text: str = ""
    """Prose instead of a payload."""
    tools: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """Tool calls to make first, one per request: name and input; ``{FREEFORM: text}`` for a tool of codex
    that takes plain text (``apply_patch``, and ``exec`` of models that write JavaScript)."""
    status: int = 200
    """HTTP status; anything but 200 answers with ``error``."""
    error: str = "scripted failure"
    code: str = ""
    """The error's ``code`` (OpenAI) or ``type`` (Anthropic)."""
    wire: str = ""
    """How the answer travels badly: ``hang`` (no header ever comes), ``silent`` (headers and no more),
    ``cut`` (half of the stream), ``malformed`` (a page in place of events), ``full`` (the model ran into
    its limit of output tokens)."""


@dataclass(frozen=True)
class Rule:
    """The first rule whose ``match`` is in the user's text (and whose vendor fits) answers."""

    match: str
    reply: Reply
    vendor: str = ""
    """``openai``, ``anthropic`` or empty for both."""
    also: str = ""
    """Further text that must be there."""


@dataclass(frozen=True)
class Call:
    """One request as it arrived."""

    vendor: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        """All text that stands in the user's messages."""
        return "\n".join(_user_texts(self.body.get("input") or self.body.get("messages") or []))

    @property
    def tool_names(self) -> list[str]:
        """Every tool offered to the model, by name or type, nested namespaces included."""
        extra = [i for i in self.body.get("input", []) if i.get("type") == "additional_tools"]
        groups = [self.body.get("tools") or [], *(i.get("tools") or [] for i in extra)]
        return [name for group in groups for name in _tool_names(group)]

    @property
    def tool_results(self) -> list[str]:
        """The results of the tool calls made so far, as JSON text."""
        found: list[str] = [
            json.dumps(i.get("output"))
            for i in self.body.get("input", [])
            if "_call_output" in i.get("type", "")
        ]
        for message in self.body.get("messages", []):
            content = message.get("content")
            blocks = content if isinstance(content, list) else []
            found += [json.dumps(b) for b in blocks if b.get("type") == "tool_result"]
        return found


@dataclass
class ModelServer:
    """The server; enter it to start, leave it to end."""

    rules: Sequence[Rule]
    calls: list[Call] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _ended: threading.Event = field(default_factory=threading.Event)
    _http: ThreadingHTTPServer | None = None
    _thread: threading.Thread | None = None

    def __enter__(self) -> ModelServer:
        outer = self

        class Handler(_Handler):
            server_state = outer

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        assert self._http is not None
        assert self._thread is not None
        self._ended.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``."""
        assert self._http is not None, "enter the server first"
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def anthropic_url(self) -> str:
        """For ``ANTHROPIC_BASE_URL``."""
        return self.url

    def codex_args(self) -> tuple[str, ...]:
        """Arguments that make codex use this server, without retries; key in ``MOCK_KEY``."""
        provider = {
            "name": "mock",
            "base_url": f"{self.url}/v1",
            "wire_api": "responses",
            "env_key": "MOCK_KEY",
            "request_max_retries": 0,
            "stream_max_retries": 0,
        }
        pairs = ["model_provider=mock"]
        pairs += [f"model_providers.mock.{key}={json.dumps(value)}" for key, value in provider.items()]
        return tuple(arg for pair in pairs for arg in ("-c", pair))

    def of(self, vendor: str) -> list[Call]:
        """The calls of one vendor's CLI, hidden ones included."""
        return [c for c in self.calls if c.vendor == vendor]

    def hang(self) -> None:
        """Wait for the server's end."""
        self._ended.wait(LONGEST)

    def take(self, call: Call) -> Reply:
        """Record a call and find its reply."""
        with self._lock:
            self.calls.append(call)
            if len(self.calls) > MAX_CALLS:
                return Reply(status=410, error="this server has answered its last call")
        if _is_title(call.body):
            return Reply(text='{"title":"mock"}')
        prompt = call.prompt
        for rule in self.rules:
            if rule.match in prompt and rule.also in prompt and rule.vendor in ("", call.vendor):
                return rule.reply
        return Reply(status=400, error="no rule matches this prompt", code="invalid_request_error")


class _Handler(BaseHTTPRequestHandler):
    server_state: ModelServer
    timeout = 30
    """Seconds a silent client is waited for."""

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the recorded calls are the log."""

    def do_HEAD(self) -> None:
        self._send(200, "text/plain", b"")

    def do_GET(self) -> None:
        self._send(404, "application/json", b'{"error":{"message":"not here"}}')

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        if length > MAX_BODY:
            self._send(413, "application/json", b'{"error":{"message":"too large"}}')
            return
        body = json.loads(self.rfile.read(length) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/responses"):
            self._answer(Call("openai", path, dict(self.headers), body), _openai_events)
        elif path.endswith("/messages"):
            self._answer(Call("anthropic", path, dict(self.headers), body), _anthropic_events)
        else:
            self.do_GET()

    def _answer(self, call: Call, stream: Any) -> None:
        reply = self.server_state.take(call)
        if reply.wire == "hang":
            self.server_state.hang()
            self.close_connection = True
        elif reply.wire == "malformed":
            self._send(200, "text/html", b"<html><body>Please log in to the guest network</body></html>")
        elif reply.status != 200:
            kind = reply.code or ("api_error" if call.vendor == "anthropic" else None)
            error = {"type": kind, "code": kind, "message": reply.error, "param": None}
            self._send(reply.status, "application/json", _dump({"type": "error", "error": error}))
        elif call.vendor == "anthropic" and not call.body.get("stream"):
            self._send(200, "application/json", _dump(_anthropic_message(call, reply)))
        else:
            events = stream(call, reply)
            self._stream(events if reply.wire != "full" else _FULL[call.vendor](events), reply.wire)

    def _stream(self, events: Sequence[tuple[str, dict[str, Any]]], wire: str) -> None:
        data = b"".join(
            b"event: %s\ndata: %s\n\n" % (kind.encode(), _dump({"type": kind, **fields}))
            for kind, fields in events
        )
        kept = {"silent": 0, "cut": len(data) // 2}.get(wire, len(data))
        self._send(200, "text/event-stream", data, kept)
        if wire == "silent":
            self.wfile.flush()
            self.server_state.hang()

    def _send(self, status: int, kind: str, data: bytes, kept: int | None = None) -> None:
        """An answer, of which only the first ``kept`` bytes go out."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[:kept])
        self.close_connection = True


def _dump(value: Any) -> bytes:
    return json.dumps(value).encode()


def _is_title(body: Mapping[str, Any]) -> bool:
    """Claude's hidden second call: it asks for a session title, without tools."""
    schema = (body.get("output_config") or {}).get("format") or {}
    return body.get("tools") == [] and "title" in json.dumps(schema)


def _user_texts(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    texts: list[str] = []
    for message in messages:
        if message.get("role") != "user":
            continue
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"text": content}]
        texts += [str(b["text"]) for b in blocks if "text" in b]
    return texts


def _tool_names(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    names: list[str] = []
    for tool in tools:
        names.append(str(tool.get("name") or tool.get("type")))
        names += _tool_names(tool.get("tools") or [])
    return names


def _openai_events(call: Call, reply: Reply) -> list[tuple[str, dict[str, Any]]]:
    usage = {
        "input_tokens": 120,
        "input_tokens_details": {"cached_tokens": 20},
        "output_tokens": 30,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 150,
    }
    done = len(call.tool_results)
    if done < len(reply.tools):
        name, given = reply.tools[done]
        item: dict[str, Any] = {"id": f"fc_{done}", "call_id": f"call_{done}", "name": name}
        if FREEFORM in given:
            item |= {"type": "custom_tool_call", "input": given[FREEFORM]}
        else:
            item |= {"type": "function_call", "arguments": json.dumps(given)}
    else:
        text = reply.text or json.dumps(reply.payload)
        content = [{"type": "output_text", "text": text, "annotations": []}]
        item = {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    response = {"id": "resp_1", "object": "response", "status": "completed", "output": [item], "usage": usage}
    return [
        ("response.created", {"response": {"id": "resp_1", "status": "in_progress", "output": []}}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": response}),
    ]


def _anthropic_block(call: Call, reply: Reply) -> dict[str, Any]:
    """The one content block of the answer: a tool call, the structured output, or text."""
    done = len(call.tool_results)
    if done < len(reply.tools):
        name, given = reply.tools[done]
        return {"type": "tool_use", "id": f"toolu_{done}", "name": name, "input": dict(given)}
    if not reply.text and "StructuredOutput" in call.tool_names:
        return {"type": "tool_use", "id": "toolu_out", "name": "StructuredOutput", "input": reply.payload}
    return {"type": "text", "text": reply.text or json.dumps(reply.payload)}


def _anthropic_message(call: Call, reply: Reply) -> dict[str, Any]:
    block = _anthropic_block(call, reply)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": call.body.get("model"),
        "content": [block],
        "stop_reason": "tool_use" if block["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 120,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 20,
            "output_tokens": 30,
        },
    }


def _anthropic_events(call: Call, reply: Reply) -> list[tuple[str, dict[str, Any]]]:
    message = _anthropic_message(call, reply)
    block = message["content"][0]
    if block["type"] == "text":
        start: dict[str, Any] = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    return [
        ("message_start", {"message": {**message, "content": [], "stop_reason": None}}),
        ("content_block_start", {"index": 0, "content_block": start}),
        ("content_block_delta", {"index": 0, "delta": delta}),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": stop, "usage": {"output_tokens": 30}}),
        ("message_stop", {}),
    ]


def _full_openai(events: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    _, fields = events[-1]
    details = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    return [*events[:-1], ("response.incomplete", {"response": {**fields["response"], **details}})]


def _full_anthropic(events: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """The block breaks off in its middle."""
    changed = []
    for kind, fields in events:
        if kind == "content_block_delta":
            delta = {k: v if k == "type" else v[: len(v) // 2] for k, v in fields["delta"].items()}
            fields = {**fields, "delta": delta}
        if kind == "message_delta":
            fields = {**fields, "delta": {"stop_reason": "max_tokens", "stop_sequence": None}}
        changed.append((kind, fields))
    return changed


_FULL = {"openai": _full_openai, "anthropic": _full_anthropic}
"""Vendor -> what its events look like where the model ran into its limit of output tokens."""
