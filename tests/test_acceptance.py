"""The file of what persons answer for: understood whole, or refused with the entry and the remedy."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.acceptance import parse
from prun_review.errors import ConfigError
from prun_review.model import Acceptance

NOW = 1_796_040_000.0  # 2026-11-30 12:00 UTC
PLACE = "prun-accept.toml"
DIGEST = "sha256:" + "ab" * 32
WHO = 'by = "Ada"\nreason = "status page"\n'
REVIEW = f'[[review-change]]\ndigest = "{DIGEST}"\n'
OUTAGE = '[[outage]]\nexecutor = "codex"\n'


def test_a_whole_file() -> None:
    text = (
        f'{OUTAGE}{WHO}until = 2026-12-01\n{OUTAGE.replace("codex", "sonnet")}{WHO}until = "2026-11-29"\n'
        f"{REVIEW}{WHO}{REVIEW}{WHO}until = 2029-01-01\n"
    )
    assert parse(text, PLACE, NOW) == (
        Acceptance("outage", "codex", "Ada", "status page", "2026-12-01"),
        Acceptance("outage", "sonnet", "Ada", "status page", "2026-11-29", expired=True),
        Acceptance("review-change", DIGEST, "Ada", "status page"),
        Acceptance("review-change", DIGEST, "Ada", "status page", "2029-01-01"),
    )


@pytest.mark.parametrize("text", ["", "# nobody answers for anything\n", "\n\n"])
def test_an_empty_file(text: str) -> None:
    assert parse(text, PLACE, NOW) == ()


@pytest.mark.parametrize(
    ("until", "expired"),
    [("2026-11-29", True), ("2026-11-30", False), ("2026-12-01", False), ("2026-12-29", False)],
)
def test_the_last_day_counts(until: str, expired: bool) -> None:
    (found,) = parse(f"{OUTAGE}{WHO}until = {until}\n", PLACE, NOW)
    assert found.expired is expired


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{OUTAGE}{WHO}", "[[outage]] 1: until is missing"),
        (f"{OUTAGE}{WHO}until = 2026-12-30\n", "not within 30 days: an outage is no permanent state"),
        (f"{OUTAGE}{WHO}until = 2026-12-01T10:00:00Z\n", "until is datetime"),
        (f"{OUTAGE}{WHO}until = 10:00:00\n", "until is datetime.time"),
        (f'{OUTAGE}{WHO}until = "2026-02-30"\n', "until is '2026-02-30'"),
        (f'{OUTAGE}{WHO}until = "20261201"\n', "until is '20261201'"),
        (f'{OUTAGE}{WHO}until = "٢٠٢٦-12-01"\n', "until is"),
        (f'{OUTAGE}{WHO}until = ""\n', "until is ''"),
        (f"{OUTAGE}{WHO}until = true\n", "until is True"),
        (f'{REVIEW}{WHO}until = "never"\n', "until is 'never'"),
        ('[[outage]]\nby = "Ada"\n', "executor is missing"),
        ("[[outage]]\nexecutor = 3\n", "executor is 3"),
        ('[[outage]]\nexecutor = "*"\n', "executor is '*'"),
        ('[[outage]]\nexecutor = ""\n', "executor is ''"),
        (OUTAGE, "by is missing; remedy: by is the name"),
        (f'{OUTAGE}by = ""\n', "by is ''"),
        (f'{OUTAGE}by = " \\t\\n"\n', "by is"),
        (f'{OUTAGE}by = "\\u200b\\u3164\\u2800\\ufeff"\n', "by is"),
        (f'{OUTAGE}by = ["Ada"]\n', "by is ['Ada']"),
        (f'{OUTAGE}by = "Ada"\n', "reason is missing"),
        (f'{OUTAGE}by = "Ada"\nreason = "  "\n', "reason is '  '"),
        (f"[[review-change]]\n{WHO}", "digest is missing"),
        (f'[[review-change]]\ndigest = "{DIGEST[:-1]}"\n', "the whole digest"),
        (f'[[review-change]]\ndigest = "{DIGEST}0"\n', "the whole digest"),
        (f'[[review-change]]\ndigest = "{DIGEST}\\n"\n', "the whole digest"),
        (f'[[review-change]]\ndigest = "{DIGEST.upper()}"\n', "the whole digest"),
        (f'[[review-change]]\ndigest = "{DIGEST[7:]}"\n', "the whole digest"),
        (f'{REVIEW}{WHO}executor = "codex"\n', "unknown key 'executor'"),
        (f'{OUTAGE}{WHO}untill = 2026-12-01\n', "unknown key 'untill'; remedy: did you mean 'until'?"),
        ("[[outages]]\n", "unknown key 'outages'; remedy: did you mean 'outage'?"),
        ("[outage]\n", "outage is not a list; remedy: write it as [[outage]]"),
        ('outage = ["codex"]\n', "[[outage]] 1: not a table"),
        ("outage = true\n", "outage is not a list"),
        (f"{OUTAGE}{WHO}until = 2026-12-01\n{OUTAGE}", "[[outage]] 2: by is missing"),
        ("[[outage]\n", "not TOML: "),
        ("a = 1\na = 2\n", "not TOML: "),
    ],
)  # fmt: skip
def test_nothing_is_half_accepted(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, PLACE, NOW)
    said = str(caught.value).replace("\n  remedy", "; remedy")
    assert said.startswith(PLACE)
    assert says in said
    assert caught.value.remedy


@given(st.text(max_size=200))
def test_any_text_is_understood_or_refused(text: str) -> None:
    with suppress(ConfigError):
        assert isinstance(parse(text, PLACE, NOW), tuple)


@given(st.text(max_size=20), st.text(max_size=20))
def test_who_is_accepted_can_be_read(by: str, reason: str) -> None:
    def quoted(value: str) -> str:
        return '"' + "".join(f"\\U{ord(c):08X}" for c in value) + '"'

    text = f"{OUTAGE}by = {quoted(by)}\nreason = {quoted(reason)}\nuntil = 2026-12-01\n"
    with suppress(ConfigError):
        (found,) = parse(text, PLACE, NOW)
        for said in (found.by, found.reason):
            assert any(c.isprintable() and not c.isspace() for c in said)
