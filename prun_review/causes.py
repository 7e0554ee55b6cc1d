"""Why units are lost: one name, one remedy, and what the harness does about it, per reason code.

The single table behind retries, breakers, and what the reports say.  Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """What a reason code means."""

    title: str
    """A few words for a report."""
    remedy: str = ""
    """What to do about it."""
    retry: bool = False
    """It can pass when tried again a little later."""
    breaks: bool = False
    """It will hit every further unit of the executor: none is started any more."""


CAUSES: Mapping[str, Cause] = {
    "contract": Cause(
        "contract broken",
        "read the violations; a clearer question or another model helps; a program of your own must print "
        "what its prompt asks for",
    ),
    "rate-limited": Cause("rate limited", "wait, or fewer at once: --prun-jobs, limit", retry=True),
    "quota-exhausted": Cause(
        "quota exhausted",
        "wait for its reset or add credit; then --prun-resume asks what is open",
        breaks=True,
    ),
    "not-logged-in": Cause(
        "not logged in", "log in with the CLI itself (prun-review doctor), then --prun-resume", breaks=True
    ),
    "refresh-token-race": Cause(
        "refresh token used twice",
        "log in again; then fewer at once (limit = 1 for the executor): the token is refreshed once",
        breaks=True,
    ),
    "model-not-found": Cause("model not found", "set model in the executor's table", breaks=True),
    "prompt-too-long": Cause("prompt too long", "ask about fewer files: narrow reads"),
    "over-capacity": Cause(
        "over capacity", "the vendor is busy: fewer at once, or --prun-resume later", retry=True
    ),
    "network": Cause("network", "look at connection and proxy; then --prun-resume", retry=True),
    "sandbox": Cause(
        "sandbox could not start", "user namespaces must be allowed on this machine", breaks=True
    ),
    "killed": Cause(
        "killed from outside", "most likely the machine was out of memory: fewer at once (--prun-jobs)"
    ),
    "stalled": Cause(
        "stalled",
        "no output for a long time: most likely capacity; fewer at once (--prun-jobs), then --prun-resume",
    ),
    "timeout": Cause("timed out", "a longer timeout, or a smaller question"),
    "cancelled": Cause("cancelled", "--prun-resume asks what is open"),
    "interrupted": Cause("interrupted", "--prun-resume asks what is open"),
    "stopped": Cause("the session ended before", "--prun-resume asks what is open"),
    "missing": Cause("no result", "the run ended before it had one; --prun-resume asks what is open"),
    "dispatch-off": Cause("nothing was dispatched", 'set dispatch = "auto"'),
    "lost": Cause("lost", "its supervisor was killed; --prun-resume asks it again"),
    "spawn-failed": Cause("could not be started", "look at the program: prun-review doctor", breaks=True),
    "launch": Cause("could not be prepared", "read the message: a folder, or the limit of processes"),
    "run-directory": Cause("the run directory cannot be written", "read the message, then --prun-resume"),
    "no-answer": Cause("no answer", "read tail and stderr in the attempt's directory"),
    "turn-limit": Cause("a limit of the run itself", "more turns or a smaller question"),
    "bad-request": Cause("request refused", "read the message; an older CLI or another model may be why"),
    "nothing-to-analyse": Cause("nothing to analyse", "name files that the analyser reads"),
    "not-examined": Cause("not examined", "read the analyser's messages"),
    "disk-full": Cause("disk full", "free space where the run directory lies, then --prun-resume"),
    "output": Cause("wrote too much", "read the beginning of its output"),
    "budget": Cause("budget reached", "raise --prun-budget, then --prun-resume asks what is open"),
    "snapshot-changed": Cause(
        "the reviewed files were changed", "a reviewer wrote into the snapshot: do not trust its answers"
    ),
    "dispatcher-died": Cause("the dispatcher died", "--prun-resume asks what is open"),
    "brief": Cause("the brief cannot be built", "read the message; the probe stands in the plan"),
    "stale": Cause("changed since it was answered", "run without --prun-replay, or with --prun-resume"),
    "altered": Cause("the stored answer was altered", "do not trust that run; ask again"),
    "internal": Cause("our own error", "please report it, with the run directory's ledger"),
    "unknown": Cause("unknown", "read tail and stderr in the attempt's directory"),
}
"""By reason code."""

OTHER = Cause("", "")


def cause(reason: str) -> Cause:
    """What a reason code means; nothing for one that is not in the table."""
    return CAUSES.get(reason, OTHER)
