"""The faults of the campaign: what a stand-in does, and what has to become of its unit.

A rule is what ``tests/standins`` understands.  Most faults show themselves in both programs, each in
its own words; where one ends differently the other has an expectation of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from prun_review.causes import cause

RETRIES = 1
VENDORS = ("codex", "sonnet")
Rule = Mapping[str, Any]


@dataclass(frozen=True)
class Fate:
    """What becomes of the unit."""

    status: str
    reason: str
    attempts: int
    retried: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Its answer counts, whatever went wrong around it."""
        return self.status == "valid"


@dataclass(frozen=True)
class Fault:
    """One kind of fault."""

    name: str
    rules: Mapping[str, Rule]
    """Vendor -> what its stand-in does."""
    fates: Mapping[str, Fate]
    timeout: float = 60.0
    """Seconds of the unit's own time limit."""
    alone: bool = False
    """Its executor is its own, whatever the reason."""
    program: str = ""
    """A script that is started in place of the stand-in."""
    raw: bytes = b""
    """Bytes that must stand in the stored output as they were written."""


def lost(reason: str) -> Fate:
    """Failed of that reason, after as many attempts as it is worth."""
    again = RETRIES if cause(reason).retry else 0
    return Fate("failed", reason, 1 + again, (reason,) * again)


BROKEN = Fate("broken", "contract", 2)
"""An answer that breaks its contract, also when asked again."""
KEPT = Fate("valid", "ok", 1)


def fault(name: str, rule: Rule, fate: Fate, sonnet: Fate | None = None, **more: Any) -> Fault:
    """A fault that both stand-ins know under one rule."""
    return Fault(name, dict.fromkeys(VENDORS, rule), {"codex": fate, "sonnet": sonnet or fate}, **more)


def named(name: str, reason: str, sonnet: str = "", **rule: Any) -> Fault:
    """A scenario that both stand-ins know by name."""
    return fault(name, {"scenario": name, **rule}, lost(reason), lost(sonnet or reason))


def answer(**changes: Any) -> dict[str, Any]:
    """An answer that keeps the contract unless ``changes`` break it; ``...`` leaves a key out."""
    whole = {
        "conclusion": "Looked at the module and its callers.",
        "files": "src/app.py",
        "open_items": "none",
        "verification": "read line by line",
        "verdict": "approve",
        "examined": ["src/app.py"],
        "findings": [],
        **changes,
    }
    return {key: value for key, value in whole.items() if value is not ...}


def defect(**changes: Any) -> dict[str, Any]:
    """A finding that is grounded unless ``changes`` say otherwise."""
    return {
        "title": "The first price is left out",
        "detail": "The slice begins at 1.",
        "file": "src/app.py",
        "line": 3,
        "end_line": 3,
        "severity": "low",
        "category": "correctness",
        "confidence": 0.9,
        "quote": "for price in prices[1:]:",
        "suggestion": None,
        **changes,
    }


def payload(name: str, **changes: Any) -> Fault:
    """An answer of the wrong content, given natively: broken for both."""
    return fault(name, {"payload": answer(**changes)}, BROKEN)


def text(name: str, words: str, sonnet: str = "no-answer") -> Fault:
    """A last message that is not the answer.  codex hands it over as it is; claude, which checks the
    schema itself, ends without structured output."""
    return fault(name, {"text": words}, BROKEN, lost(sonnet))


def noise(name: str, before: str = "", after: str = "", **rule: Any) -> Fault:
    """Bytes around an answer that is there."""
    written = {"before": before, "after": after, "payload": answer(), **rule}
    return fault(name, written, KEPT, raw=(before or after).encode("latin-1"))


WHOLE = json.dumps(answer())
HEADER = "# {} result\nConclusion: fine\nFiles: src/app.py\nOpen items: none\nVerification: read\n"
BLOCK = f"```json\n{WHOLE}\n```\n"

SERVICE = [
    named("http-400", "bad-request"),
    named("http-401", "not-logged-in"),
    named("http-403", "bad-request"),
    named("http-404", "model-not-found"),
    named("http-413", "prompt-too-long"),
    named("http-429", "rate-limited"),
    named("http-500", "over-capacity"),
    named("http-503", "over-capacity"),
    named("at-capacity", "over-capacity"),
    named("context-length", "prompt-too-long"),
    named("prompt-too-long", "prompt-too-long"),
    named("quota", "quota-exhausted"),
    named("usage-limit", "quota-exhausted"),
    named("usage-reset", "quota-exhausted"),
    named("usage-epoch", "quota-exhausted"),
    named("quota-stderr", "quota-exhausted"),
    named("quota-stdout", "quota-exhausted"),
    fault("quota-as-answer", {"text": "You've hit your usage limit"}, lost("quota-exhausted")),
    named("rate-limit", "rate-limited"),
    named("rate-limit-told", "rate-limited"),
    fault("error-exit-0", {"scenario": "http-429", "end": 0}, lost("rate-limited")),
    named("refresh-race", "refresh-token-race"),
    named("no-key", "not-logged-in"),
    named("expired", "not-logged-in"),
    named("cut", "network"),
    named("idle", "network"),
    named("refused", "network"),
    named("malformed", "network"),
    named("server-error", "network", "over-capacity"),
    named("invalid-prompt", "bad-request"),
    named("output-limit", "turn-limit"),
    Fault(
        "limit-of-the-run",
        {"codex": {"scenario": "output-limit", "payload": answer()}, "sonnet": {"scenario": "max-turns"}},
        dict.fromkeys(VENDORS, lost("turn-limit")),
    ),
    Fault(
        "schema-refused",
        {"codex": {"scenario": "http-400"}, "sonnet": {"scenario": "schema-retries"}},
        {"codex": lost("bad-request"), "sonnet": lost("no-answer")},
    ),
    named("sandbox", "sandbox"),
    named("disk-full", "disk-full"),
    named("bad-flag", "bad-request"),
    named("no-input", "unknown"),
    named("panic", "unknown"),
    named("silent-exit", "unknown"),
]
"""The rows of both programs' failure tables."""

STREAMS = [
    named("empty", "no-answer"),
    named("no-end", "no-answer", payload=answer()),
    named("no-message", "no-answer"),
    named("null-message", "no-answer"),
    named("cut-at-64k", "no-answer"),
    named("failed-after-all", "network", payload=answer()),
    named("exit-1", "unknown", payload=answer()),
    fault("exit-1-without-end", {"scenario": "no-end", "end": 1}, lost("unknown")),
    fault("deep", {"scenario": "no-end", "before": '{"type":' * 3_000 + "\n"}, lost("no-answer")),
    fault("only-nul", {"scenario": "empty", "before": "\0" * 9_999}, lost("no-answer"), raw=b"\0" * 9_999),
    fault("only-cp936", {"scenario": "empty", "before": "\xd6\xd0"}, lost("no-answer"), raw=b"\xd6\xd0"),
    fault("flood", {"scenario": "hang", "end": "flood"}, lost("no-answer")),
]
"""What the streams lack."""

ANSWERS = [
    text("prose", "I looked at it and it is fine."),
    text("not-approved", "This is NOT approved. APPROVED would need a test."),
    text("could-not-read", "Unable to read the diff. No issues found."),
    text("fallback", "# FALLBACK: no result\n\n" + HEADER.format("u") + "\nNothing."),
    text("prompt-echo", "<prompt>"),
    text("template", HEADER.format("u").replace("fine", "<one line>") + "\n<text>\n"),
    text("two-blocks", HEADER.format("u") + "\n" + BLOCK + BLOCK),
    text("wrong-unit", HEADER.format("another-unit") + "\n" + BLOCK),
    text("half-of-json", WHOLE[:-40]),
    text("duplicate-keys", WHOLE[:-1] + ', "findings": []}'),
    text("not-a-number", WHOLE.replace('"findings": []', '"findings": [], "n": NaN')),
    text("giant-number", WHOLE.replace('"findings": []', '"findings": [' + "9" * 5_000 + "]")),
    text("deep-answer", '{"findings": ' * 3_000),
    text("null", "null"),
    payload("findings-a-sentence", findings="4 findings kept"),
    payload("findings-null", findings=None),
    payload("findings-strings", findings=["line 3 is wrong"]),
    payload("key-missing", examined=...),
    payload("nothing-examined", examined=[]),
    payload("unknown-file-examined", examined=["no/such/file.py"]),
    payload("approve-beside-critical", findings=[defect(severity="critical")]),
    payload("no-defect-to-change", verdict="request-changes"),
    payload("no-access", conclusion="I could not read the files.", open_items="I could not read the files"),
    payload("placeholder", conclusion="<one line>"),
    payload("unknown-severity", findings=[defect(severity="awful")]),
    payload("no-words", conclusion="", files="", open_items="", verification=""),
]
"""What is wrong with the answer."""

PROCESSES = [
    fault("mute", {"scenario": "mute"}, lost("stalled")),
    named("hang", "stalled"),
    fault("deaf", {"scenario": "hang", "tree": "ignores-term"}, lost("stalled")),
    fault("hang-setsid", {"scenario": "hang", "tree": "setsid"}, lost("stalled")),
    fault("hang-double-fork", {"scenario": "hang", "tree": "double-fork"}, lost("stalled")),
    fault("hang-chain", {"scenario": "hang", "tree": "chain"}, lost("stalled")),
    fault("half-then-silence", {"scenario": "cut-at-64k", "end": "sleep"}, lost("stalled")),
    named("signalled-success", "stalled"),
    fault("beats-for-ever", {"scenario": "hang", "end": "beat"}, lost("timeout"), timeout=4.0),
    fault("network-for-ever", {"scenario": "network"}, lost("network"), lost("timeout"), timeout=5.0),
    fault("vanishes", {}, lost("spawn-failed"), program='#!/bin/sh\nrm "$0"\necho 1.0\n'),
    fault("no-interpreter", {}, lost("spawn-failed"), program="#!/no/such/interpreter\n"),
    fault("killed", {"scenario": "hang", "end": "SIGKILL"}, lost("killed")),
    fault("killed-with-answer", {"payload": answer(), "end": "SIGKILL"}, lost("killed")),
    fault("killed-at-64k", {"scenario": "cut-at-64k", "end": "SIGKILL"}, lost("killed")),
    fault("exit-137", {"scenario": "hang", "end": 137}, lost("killed")),
    fault("terminated", {"payload": answer(), "end": 143}, lost("killed")),
    fault("segfault", {"scenario": "hang", "end": "SIGSEGV"}, lost("killed")),
    fault("leader-leaves", {"scenario": "no-end", "tree": "deaf-setsid"}, lost("no-answer")),
]
"""How the processes behave."""

FAULTS: list[Fault] = [*SERVICE, *STREAMS, *ANSWERS, *PROCESSES]

KEPT_FAULTS: list[Fault] = [
    noise("bytes-before", before="\x9d\xff\xfe not UTF-8\n"),
    noise("cp936-before", before="\xd6\xd0\xce\xc4\n"),
    noise("mark-before", before="\xef\xbb\xbf"),
    noise("nul-before", before="\0\0\0\n"),
    noise("escapes-before", before="\x1b[2J\x1b]0;owned\x07\n::error::owned\n"),
    noise("half-an-event-after", after='{"type":"system","subty'),
    fault("lone-surrogate", {"payload": answer(conclusion="half of a \ud83d pair")}, KEPT),
    fault("progress-first", {"scenario": "progress", "payload": answer()}, KEPT),
    fault("does-not-exit", {"scenario": "result-then-sleep", "payload": answer()}, KEPT),
    fault("deaf-after-all", {"payload": answer(), "end": "sleep", "tree": "ignores-term"}, KEPT),
    fault("child-holds-stdout", {"payload": answer(), "tree": "child"}, KEPT),
    fault("setsid-holds-stdout", {"payload": answer(), "tree": "setsid"}, KEPT),
    fault("daemon-holds-stdout", {"payload": answer(), "tree": "double-fork"}, KEPT),
    fault("deaf-child-stays", {"payload": answer(), "tree": "deaf-setsid"}, KEPT),
    fault("chain-stays", {"payload": answer(), "tree": "chain"}, KEPT),
    fault(
        "busy-once",
        {"scenario": "at-capacity", "times": 1},
        Fate("valid", "ok", 2, ("over-capacity",)),
    ),
    fault(
        "limited-once",
        {"scenario": "rate-limit-told", "times": 1},
        Fate("valid", "ok", 2, ("rate-limited",)),
    ),
    fault("broken-once", {"payload": answer(findings=None), "times": 1}, Fate("valid", "ok", 2)),
]
"""Faults that an answer survives: it is kept, and nothing of them stays."""
