"""From words and exits to reason codes, and how long a vendor says to wait."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.causes import CAUSES
from prun_review.executors import reasons
from prun_review.model import Exit

BREAKING = {code for code, cause in CAUSES.items() if cause.breaks}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Rate limit reached for gpt-5 on tokens per min. Please try again in 6ms.", "rate-limited"),
        ("You've hit your rate limit", "rate-limited"),
        ("HTTP/1.1 429", "rate-limited"),
        ('{"error":{"code":429,"message":"slow"}}', "rate-limited"),
        ("5-hour limit reached ∙ resets 3pm", "quota-exhausted"),
        ("Claude AI usage limit reached|1767225600", "quota-exhausted"),
        ("You exceeded your current quota, please check your plan and billing details", "quota-exhausted"),
        ("Your credit balance is too low to access the API", "quota-exhausted"),
        ("status: 402 Payment Required", "quota-exhausted"),
        ("refresh token has already been used", "refresh-token-race"),
        ("Your refresh token was revoked", "refresh-token-race"),
        ("unexpected status 401 Unauthorized: , url: x", "not-logged-in"),
        ("Not logged in · Please run /login", "not-logged-in"),
        ("OAuth token has expired", "not-logged-in"),
        ("The model `gpt-9` does not exist or you do not have access to it.", "model-not-found"),
        ("API Error: 404 not_found_error", "model-not-found"),
        ("prompt is too long: 210000 tokens > 200000 maximum", "prompt-too-long"),
        ("This model's maximum context length is 128000 tokens", "prompt-too-long"),
        ("OSError: [Errno 7] Argument list too long", "prompt-too-long"),
        ("API Error: 529 Overloaded", "over-capacity"),
        ("Error: 502 Bad Gateway", "over-capacity"),
        ("getaddrinfo EAI_AGAIN api.anthropic.com", "network"),
        ("self-signed certificate in certificate chain", "network"),
        ("bwrap: setting up uid map: Permission denied", "sandbox"),
        ("write: No space left on device", "disk-full"),
        ("Reached maximum number of turns (2)", "turn-limit"),
        ("API Error: 400 invalid_request_error", "bad-request"),
        ("Traceback: line 404, in login", "unknown"),
        ("500 files were read, 401 of them twice", "unknown"),
        ("", "unknown"),
    ],
)
def test_words_name_the_reason(text: str, reason: str) -> None:
    assert reasons.classify(text) == reason
    assert reasons.classify(f"{'x' * 9000} {text} ") == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("You've hit your usage limit", "quota-exhausted"),
        ("Claude AI usage limit reached|1767225600", "quota-exhausted"),
        ("API Error: 529 Overloaded", "over-capacity"),
        ("Invalid API key · Please run /login", "not-logged-in"),
        ("Prompt is too long", "prompt-too-long"),
        ("Your refresh token was already used.", "refresh-token-race"),
        ("# u result\nConclusion: 401 unauthorized is answered too late", ""),
        ("The /login handler is unauthorized: 401, rate limit, quota exceeded", ""),
        ("You've hit your usage limit" + " and more" * 60, ""),
        ("Error: nothing that we know", ""),
        ("", ""),
    ],
)
def test_a_notice_is_told_from_prose_about_the_same_things(text: str, reason: str) -> None:
    assert reasons.notice(text) == reason


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 20s.", 20.0),
        ("Please try again in 1.5s", 1.5),
        ("try again in 350ms", 0.35),
        ("try again in 1h2m3s", 3723.0),
        ("Please try again in 6m0s.", 360.0),
        ("retry-after: 2", 2.0),
        ('{"Retry-After": "7"}', 7.0),
        ('"retry_after_ms": 500', 0.5),
        ("try again in 2 days 3 hours", 183_600.0),
        ("limit resets in 3 hours, 10 minutes and 5 seconds", 11_405.0),
        ("retry after 30 seconds", 30.0),
        ("wait about 1 minute", 60.0),
        ("resets at 3pm", None),
        ("resets 14:05 UTC", None),
        ("try again at Dec 3rd, 2026 4:00 PM", None),
        ("try again later", None),
        ("usage limit reached|1767225600", None),
        ("", None),
    ],
)
def test_how_long_to_wait(text: str, seconds: float | None) -> None:
    told = reasons.retry_after(text)
    assert told is seconds is None or told == pytest.approx(seconds)
    assert reasons.failed("rate-limited", text).retry_after == told
    assert reasons.failed("no-answer", text).retry_after is None


def test_a_reset_in_seconds_since_the_epoch_is_shown_as_a_time() -> None:
    reading = reasons.failed("quota-exhausted", "usage limit reached|1767225600")
    assert reading.message == "usage limit reached (resets 2026-01-01 00:00 UTC)"


@pytest.mark.parametrize(
    ("exit", "reason", "said"),
    [
        (Exit(-15, "timeout", 9), "timeout", "after 9 s"),
        (Exit(-15, "stall", 612), "stalled", "fell silent"),
        (Exit(-15, "startup", 120), "stalled", "never wrote anything"),
        (Exit(-15, "network", 26), "network", "given up after 26 s"),
        (Exit(-15, "disk-full", 3, "12 MiB left"), "disk-full", "12 MiB left"),
        (Exit(-15, "output", 3, "kept the first 9 of 99 bytes"), "output", "wrote too much"),
        (Exit(-15, "cancelled"), "cancelled", "ended by us"),
        (Exit(-15, "budget"), "cancelled", "ended by us: budget"),
        (Exit(0, "-x"), "cancelled", "ended by us: -x"),
        (Exit(None, "lost"), "lost", "supervisor"),
        (Exit(None, "spawn", note="no such file"), "spawn-failed", "no such file"),
        (Exit(None), "spawn-failed", "could not be started"),
        (Exit(-9), "killed", "out of memory"),
        (Exit(137), "killed", "out of memory"),
        (Exit(-11), "killed", "signal"),
        (Exit(143), "killed", "signal"),
    ],
)
def test_how_it_ended_names_the_reason(exit: Exit, reason: str, said: str) -> None:
    reading = reasons.ended(exit, "last words")
    assert reading is not None
    assert (reading.status, reading.reason) == ("failed", reason)
    assert said in reading.message
    assert ("last words" in reading.message) == (reason != "spawn-failed")
    assert ("memory" in reading.message) == (exit.code in (-9, 137))


@pytest.mark.parametrize("code", [0, 1, 2, 101, 3])
def test_what_ended_by_itself_is_read(code: int) -> None:
    assert reasons.ended(Exit(code, note="ended 2 process(es) that were left behind"), "x") is None


def test_every_reason_has_a_cause_to_tell() -> None:
    silent = [code for code in reasons.CODES if code != "ok" and not CAUSES[code].remedy]
    assert silent == []


PIECES = st.lists(
    st.sampled_from(
        [
            "try again in ",
            "5",
            "9" * 9,
            "s",
            "ms ",
            " and ",
            "resets ",
            "retry-after",
            "|",
            "1767225600",
            "\n",
        ]
    ),
    max_size=40,
)


@given(PIECES.map("".join) | st.text(max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    told = reasons.failed(reasons.classify(text), text)
    assert told.message.isprintable()
    assert told.retry_after is None or told.retry_after >= 0
    assert reasons.notice(text) in ("", *reasons.CODES)
