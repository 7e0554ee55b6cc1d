"""From a program's words and exit status to a stable reason code.

Neither vendor's exit status says why (0, 1, 2, 101 or a signal): the reason is only in the text, so
one table reads it, for every executor alike.  Whether something is a failure is never decided by
loose words; a wrong guess costs the wording, and for a reason that breaks (``causes.py``) the rest of
that executor's units, so a bare number or a word of everyday prose is not enough for one.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

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
    "disk-full",
    "killed",
    "stalled",
    "timeout",
    "output",
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


def _http(numbers: str, *names: str) -> str:
    """An HTTP status called one, or its name: ``line 404`` is no missing model."""
    told = rf"(?:status(?:.code)?|https?(?:/[\d.]+)?|error|code|returned|response)\W{{0,4}}(?:{numbers})\b"
    return "|".join((told, *names))


_WORDS: tuple[tuple[str, str], ...] = (
    (
        "refresh-token-race",
        r"refresh.?token.{0,80}(already|reused|revoked|invalidated)|refresh_token_(reused|already_used)",
    ),
    ("disk-full", r"no space left on device|\bENOSPC\b|disk quota exceeded"),
    (
        "prompt-too-long",
        r"prompt is too long|ran out of room|exceeds the maximum length|context.?length|context.?window"
        r"|exceeds? (the )?context.?limit|request.too.large|argument list too long|" + _http("413"),
    ),
    ("turn-limit", r"max(imum)?.?(number.of.)?(turns|budget)|max_output_tokens|output token maximum"),
    (
        "quota-exhausted",
        r"usage.limit|quota.exceeded|exceeded your (current )?quota|insufficient.quota|credit balance"
        r"|hit your (?!rate).{0,20}limit|(?<!rate )(?<!rate-)limit reached|billing|out of credits"
        r"|spend.?limit|" + _http("402", "payment required"),
    ),
    ("rate-limited", r"rate.?limit|" + _http("429", "too many requests")),
    (
        "not-logged-in",
        r"not logged in|please run /login|unauthorized|invalid.{0,3}(x-)?api.key|authentication_error"
        r"|authentication_failed|failed to authenticate|missing environment variable"
        r"|(oauth|access) token (has|is) (expired|revoked)|codex login|" + _http("401"),
    ),
    (
        "model-not-found",
        r"issue with the selected model|model_not_found|not_found_error"
        r"|model .{0,80}(not found|does not exist|not supported)|" + _http("404", "404 not found"),
    ),
    (
        "over-capacity",
        r"high demand|at capacity|overloaded|server_error|internal server error|service unavailable"
        r"|bad gateway|" + _http("500|502|503|504|529"),
    ),
    (
        "network",
        r"stream disconnected|unable to connect|connection.?(refused|failed|reset|error|closed)"
        r"|waiting for network|idle timeout|malformed response|error sending request|ENOTFOUND|ECONN"
        r"|ETIMEDOUT|EAI_AGAIN|could not resolve|socket hang up|fetch failed|certificate",
    ),
    (
        "sandbox",
        r"(bwrap|bubblewrap|landlock|seccomp|sandbox).{0,80}(fail|denied|not permitted|error|unsupported)",
    ),
    (
        "bad-request",
        r"invalid_request|invalid_json_schema|invalid.{0,20}schema|forbidden|unknown command"
        r"|unknown option|unexpected argument|" + _http("400|403|422"),
    ),
)
_TABLE = tuple((code, re.compile(words, re.IGNORECASE | re.DOTALL)) for code, words in _WORDS)

_WINDOW = 4000
"""Characters of a text that are looked at, at its beginning and at its end."""

_NOTICE = re.compile(
    r"\W*(api error\b|error:|you.?ve (hit|reached|exceeded)|you have (hit|reached|exceeded)"
    r"|([\w-]{1,12} ){0,4}(limit|quota) (reached|exceeded)"
    r"|rate.?limit|too many requests|429\b|not logged in|please run /login|invalid (x-)?api.key"
    r"|unknown command|prompt is too long|credit balance|failed to authenticate|insufficient.quota"
    r"|(your |oauth |access |refresh )*token )",
    re.IGNORECASE,
)
"""How the programs' own notices begin where one stands in place of an answer."""

NOTICE = 400
"""Characters; a longer text is an answer, whatever it speaks of."""

_ENDED = {
    "timeout": ("timeout", "ended at its time limit"),
    "lost": ("lost", "its supervisor died"),
    "output": ("output", "ended because it wrote too much"),
    "stall": ("stalled", "it fell silent and was ended, most likely for want of capacity or connection,"),
    "startup": ("stalled", "it never wrote anything and was ended, most likely too many started at once,"),
}
"""``Exit.ended_by`` -> reason and words; another word is a reason code, or else a cancellation."""

_GIVEN_UP = frozenset(CODES) - {"ok", "cancelled", "killed"}
"""What a dispatch can be ended for by its own executor's sign."""

_SIGNALLED = frozenset({128 + 1, 128 + 2, 128 + 9, 128 + 15})
"""Exit statuses by which a shell or a handler reports HUP, INT, KILL and TERM."""


def classify(text: str, default: str = "unknown") -> str:
    """The reason code that a failure's text names, or ``default``."""
    window = text if len(text) <= 2 * _WINDOW else f"{text[:_WINDOW]}\n{text[-_WINDOW:]}"
    for code, words in _TABLE:
        if words.search(window):
            return code
    return default


def notice(text: str) -> str:
    """The reason code of a text that is a program's notice and no answer; empty for anything else.

    A quota sentence can come with exit status 0 in the place of an answer; prose that merely speaks
    of limits, logins or statuses is a reviewer's work.
    """
    short = text.strip()
    if len(short) > NOTICE or short.count("\n") > 2 or not _NOTICE.match(short):
        return ""
    return classify(short, "")


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = (
    r"(\d{1,9}(?:\.\d{1,6})?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)\b"
)
_GLUED = r"(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h|d)(?=\d)"
_WAIT = re.compile(
    rf"(?:again|retry|wait|resets?|available|back)\s+(?:(?:in|after|for)\s+)?(?:about\s+)?"
    rf"((?:(?:{_GLUED}|{_PART})[\s,]*(?:and\s+)?)+)",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"retry[-_ ]after(?:[-_ ](ms))?[\"']?\s*[:=]?\s*[\"']?(\d{1,9}(?:\.\d{1,6})?)\s*(ms|s)?\b", re.IGNORECASE
)
_EPOCH = re.compile(r"\|\s*(1[6-9]\d{8}|[2-3]\d{9})\b")


def retry_after(text: str) -> float | None:
    """Seconds that a text says to wait: ``try again in 2 days 3 hours``, ``retry-after: 2``.

    None where it says none, or a time of day only: what the clock shows is nothing to know here, the
    message carries that to the reader.
    """
    header = _HEADER.search(text[-_WINDOW:])
    if header:
        return float(header[2]) * (0.001 if header[1] or header[3] == "ms" else 1.0)
    told = _WAIT.search(text[-_WINDOW:])
    if not told:
        return None
    parts = re.findall(rf"{_GLUED}|{_PART}", told[1], re.IGNORECASE)
    return sum(float(a or c) * _UNITS[_unit(b or d)] for a, b, c, d in parts)


def _unit(word: str) -> str:
    low = word.lower()
    return "ms" if low.startswith(("ms", "milli")) else low[0]


def _told(text: str) -> str:
    """A reset that is given in seconds since the epoch, as a time that a person can read."""
    return _EPOCH.sub(
        lambda m: f" (resets {datetime.fromtimestamp(int(m[1]), UTC):%Y-%m-%d %H:%M} UTC)", text
    )


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


_PASSING = frozenset({"rate-limited", "over-capacity", "quota-exhausted", "network"})
"""Where a vendor may say how long to wait."""


def failed(reason: str, message: str, usage: Usage | None = None) -> Reading:
    """A reading without an answer; it tells how long to wait where the message does."""
    wait = retry_after(message) if reason in _PASSING else None
    return Reading("failed", reason, line(_told(message)), wait, usage=usage or Usage())


def ended(exit: Exit, said: str, usage: Usage | None = None) -> Reading | None:
    """The failure of a program that did not end by itself, or None where it did.

    What it printed does not count: a signalled claude may still print a success and exit 0.
    """
    last = f"; it last said: {said}" if said.strip() else ""
    note = f" ({exit.note})" if exit.note else ""
    if exit.ended_by == "spawn" or (exit.code is None and not exit.ended_by):
        return failed("spawn-failed", f"it could not be started{note}", usage)
    if exit.ended_by:
        given_up = exit.ended_by in _GIVEN_UP
        other = (exit.ended_by, "given up") if given_up else ("cancelled", f"ended by us: {exit.ended_by}")
        reason, why = _ENDED.get(exit.ended_by, other)
        return failed(reason, f"{why} after {exit.seconds:.0f} s{note}{last}", usage)
    if exit.code is not None and (exit.code < 0 or exit.code in _SIGNALLED):
        memory = ", most likely the machine was out of memory" if exit.code in (-9, 128 + 9) else ""
        how = f"ended by a signal that we did not send (exit status {exit.code}){memory}"
        return failed("killed", f"{how}{note}{last}", usage)
    return None
