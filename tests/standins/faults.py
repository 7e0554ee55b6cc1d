"""What both stand-ins have in common: rules, records of calls, process trees, and bad ends."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

HERE = os.path.dirname(os.path.abspath(sys.argv[0]))
LIFE = 90
"""Seconds after which whatever a test left behind ends by itself."""


def rule(program: str, prompt: str) -> dict[str, Any]:
    """The first rule of PROGRAM.json beside the link whose `match` is in the prompt; records the call.

    A rule with `times` holds for that many calls, whatever the number of processes that count.
    """
    rules = [{"scenario": "ok"}]
    if os.path.exists(f"{HERE}/{program}.json"):
        with open(f"{HERE}/{program}.json", encoding="utf-8") as stream:
            rules = json.load(stream)
    call = {"program": program, "argv": sys.argv[1:], "cwd": os.getcwd(), "prompt": prompt}
    with open(f"{HERE}/calls.jsonl", "a", encoding="utf-8") as log:
        log.write(json.dumps({**call, "env": dict(os.environ)}) + "\n")
    for number, found in enumerate(rules):
        if found.get("match", "") in prompt and _left(f"{program}-{number}", found):
            return {"scenario": "ok", "payload": {"verdict": "ok"}, **found}
    return {"scenario": "http-400"}


def _left(name: str, found: dict[str, Any]) -> bool:
    for n in range(found.get("times", 0)):
        try:
            os.close(os.open(f"{HERE}/{name}.{n}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        return True
    return "times" not in found


def write(text: str) -> None:
    """Characters as bytes (latin-1): a rule's way to say bytes that are no UTF-8."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("latin-1"))
    sys.stdout.buffer.flush()


def linger() -> NoReturn:
    time.sleep(LIFE)
    os._exit(0)


def plant(tree: str) -> None:
    """Leave a process behind that holds standard output, in one of the ways that survive a naive kill."""
    if tree == "ignores-term":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif tree == "child" and not os.fork():
        linger()
    elif tree == "setsid" and not os.fork():
        os.setsid()
        linger()
    elif tree == "double-fork" and not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        linger()
    elif tree == "chain" and not os.fork():
        for _ in range(40):  # each hands over to the next one and is gone: a run from the reaper
            time.sleep(0.02)
            if os.fork():
                os._exit(0)
        linger()
    elif tree == "deaf-setsid" and not os.fork():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.setsid()
        linger()


def end(how: int | str, beat: Callable[[], object]) -> NoReturn:
    """End as a rule's `end` says: an exit status, a signal's name, or not at all."""
    sys.stdout.flush()
    if isinstance(how, int):
        os._exit(how)
    if how.startswith("SIG"):
        os.kill(os.getpid(), getattr(signal, how))
        linger()
    if how == "beat":
        for _ in range(LIFE * 5):
            beat()
            time.sleep(0.2)
    if how == "flood":
        for _ in range(4):
            write("x" * (10 << 20))
        os._exit(0)
    if how == "sleep":
        linger()
    raise SystemExit(f"unknown end {how!r}")
