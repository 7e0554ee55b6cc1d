"""From a program's words and exit status to a stable reason code.

Neither vendor's exit status says why (0, 1, 2, 101 or a signal): the reason is only in the text, so
one table reads it, for every executor alike.  A wrong guess costs the wording of a failure; whether
something is a failure is never decided here by text alone.
"""

from __future__ import annotations

import re

from prun_review.model import Exit, Reading, Usage

CODES = (
    "ok",
    "rate-limited",
    "quota-exhausted",
    "not-logged-in",
    "refresh-token-race",
    "model-not-found",
    "prompt-too-long",
    "over-capacity",
    "network",
    "sandbox",
    "killed",
    "timeout",
    "cancelled",
    "lost",
    "spawn-failed",
    "no-answer",
    "turn-limit",
    "bad-request",
    "nothing-to-analyse",
    "not-examined",
    "unknown",
)
"""Every reason code of a :class:`~prun_review.model.Reading`.

``turn-limit``: a limit of the run itself was hit (turns, budget, output tokens).  ``lost``: the
program's supervisor died.  ``killed``: a signal that we did not send.  ``nothing-to-analyse`` and
``not-examined``: an analyser was given no file that it reads, or did not get through one.
"""

_WORDS: tuple[tuple[str, str], ...] = (
    ("refresh-token-race", r"refresh.?token.{0,80}(already|reused|revoked|invalidated)"),
    (
        "prompt-too-long",
        r"prompt is too long|ran out of room|exceeds the maximum length|context.?length|context window"
        r"|request.too.large|\b413\b",
    ),
    ("turn-limit", r"max(imum)?.?(number.of.)?(turns|budget)|max_output_tokens|output token maximum"),
    (
        "quota-exhausted",
        r"usage.limit|quota.exceeded|exceeded your (current )?quota|insufficient.quota|credit balance"
        r"|hit your .{0,20}limit|limit reached|billing",
    ),
    ("rate-limited", r"rate.?limit|too many requests|\b429\b"),
    (
        "not-logged-in",
        r"not logged in|/login\b|\b401\b|unauthorized|invalid.{0,3}(x-)?api.key|authentication_error"
        r"|missing environment variable|(oauth|access) token has expired|codex login",
    ),
    (
        "model-not-found",
        r"issue with the selected model|model_not_found|\b404\b"
        r"|model .{0,80}(not found|does not exist|not supported)",
    ),
    (
        "over-capacity",
        r"high demand|at capacity|overloaded|\b(500|502|503|529)\b|server_error|internal server error",
    ),
    (
        "network",
        r"stream disconnected|unable to connect|connection.?(refused|failed|reset|error)|waiting for network"
        r"|idle timeout|malformed response|error sending request|ENOTFOUND|ECONN|ETIMEDOUT|could not resolve",
    ),
    (
        "sandbox",
        r"(bwrap|bubblewrap|landlock|seccomp|sandbox).{0,80}(fail|denied|not permitted|error|unsupported)",
    ),
    (
        "bad-request",
        r"invalid_request|invalid_json_schema|invalid.{0,20}schema|\b40[03]\b|forbidden|unknown command",
    ),
)
_TABLE = tuple((code, re.compile(words, re.IGNORECASE | re.DOTALL)) for code, words in _WORDS)

_WINDOW = 4000
"""Characters of a text that are looked at, at its beginning and at its end."""

_ENDED = {
    "timeout": ("timeout", "ended at its time limit"),
    "lost": ("lost", "its supervisor died"),
    "output": ("no-answer", "ended because it wrote too much"),
}
"""``Exit.ended_by`` -> reason and words; every other word is a cancellation."""

_SIGNALLED = frozenset({128 + 1, 128 + 2, 128 + 9, 128 + 15})
"""Exit statuses by which a shell or a handler reports HUP, INT, KILL and TERM."""


def classify(text: str, default: str = "unknown") -> str:
    """The reason code that a failure's text names, or ``default``."""
    window = text if len(text) <= 2 * _WINDOW else f"{text[:_WINDOW]}\n{text[-_WINDOW:]}"
    for code, words in _TABLE:
        if words.search(window):
            return code
    return default


def decoded(data: bytes) -> str:
    """Foreign bytes as text: UTF-8 without its byte order mark, what is invalid replaced."""
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def line(text: str, limit: int = 500) -> str:
    """Foreign text as one line without control characters and lone surrogates, cut at ``limit``."""
    window = text[: 4 * limit].encode("utf-8", "replace").decode()
    flat = " ".join("".join(c if c.isprintable() else " " for c in window).split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def count(value: object) -> int | None:
    """A number of tokens, or None for what cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53 else None


def failed(reason: str, message: str, usage: Usage | None = None) -> Reading:
    """A reading without an answer."""
    return Reading("failed", reason, line(message), usage=usage or Usage())


def ended(exit: Exit, said: str, usage: Usage | None = None) -> Reading | None:
    """The failure of a program that did not end by itself, or None where it did.

    What it printed does not count: a signalled claude may still print a success and exit 0.
    """
    last = f"; it last said: {said}" if said.strip() else ""
    note = f" ({exit.note})" if exit.note else ""
    if exit.ended_by == "spawn" or (exit.code is None and not exit.ended_by):
        return failed("spawn-failed", f"it could not be started{note}", usage)
    if exit.ended_by:
        reason, why = _ENDED.get(exit.ended_by, ("cancelled", f"ended by us: {exit.ended_by}"))
        return failed(reason, f"{why} after {exit.seconds:.0f} s{note}{last}", usage)
    if exit.code is not None and (exit.code < 0 or exit.code in _SIGNALLED):
        return failed("killed", f"ended by a signal (exit status {exit.code}){note}{last}", usage)
    return None
