"""What named persons answer for: the ``accept`` file of the trusted root.  Pure.

    [[review-change]]
    digest = "sha256:..."            # as the report printed it
    by = "Ada Lovelace"
    reason = "the new probe asks about the parser too"

    [[outage]]
    executor = "codex"
    by = "Ada Lovelace"
    reason = "the vendor's status page says until tomorrow"
    until = 2026-12-01               # the last day, UTC

Strict: whatever cannot be understood is an error, because half an acceptance would be a hole.
"""

from __future__ import annotations

import difflib
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from prun_review.errors import ConfigError
from prun_review.model import Acceptance

MOST_DAYS = 30
"""Days that an outage may last at most from the beginning of the run, that day among them."""

_SUBJECTS = {"review-change": "digest", "outage": "executor"}
"""Kind -> the key that says what is accepted."""
_FORMS = {
    "digest": (
        re.compile(r"sha256:[0-9a-f]{64}"),
        "the whole digest that the report prints: sha256:<64 hex>",
    ),
    "executor": (re.compile(r"[A-Za-z0-9_-]{1,120}"), 'the name of an executor, as in executor = "codex"'),
}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that show nothing."""


def parse(text: str, place: str, now: float) -> tuple[Acceptance, ...]:
    """The acceptances of a file's ``text``, expired ones too, in its order by kind.

    ``place`` names the file in errors; ``now`` is when the run began, in seconds since the epoch.
    ``ConfigError`` names the entry and the remedy.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not TOML: {error}", place=place, remedy="mend that line") from error
    _known(table, _SUBJECTS, place)
    today = datetime.fromtimestamp(now, UTC).date()
    found = []
    for kind, entries in table.items():
        if not isinstance(entries, list):
            raise ConfigError(f"{kind} is not a list", place=place, remedy=f"write it as [[{kind}]]")
        for n, entry in enumerate(entries, start=1):
            found.append(_entry(kind, entry, f"{place}: [[{kind}]] {n}", today))
    return tuple(found)


def _entry(kind: str, entry: Any, place: str, today: date) -> Acceptance:
    if not isinstance(entry, Mapping):
        raise ConfigError("not a table", place=place, remedy=f"write it as [[{kind}]]")
    key = _SUBJECTS[kind]
    _known(entry, (key, "by", "reason", "until"), place)
    form, remedy = _FORMS[key]
    subject = entry.get(key)
    if not isinstance(subject, str) or not form.fullmatch(subject):
        raise ConfigError(f"{key} is {_told(subject)}", place=place, remedy=remedy)
    by = _said("by", entry, place, "the name of the person who answers for it")
    reason = _said("reason", entry, place, "why, in words")
    until = _until(kind, entry.get("until"), place, today)
    expired = until is not None and until < today
    return Acceptance(kind, subject, by, reason, until.isoformat() if until else "", expired)


def _said(key: str, entry: Mapping[str, Any], place: str, remedy: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not any(map(_visible, value)):
        raise ConfigError(f"{key} is {_told(value)}", place=place, remedy=f"{key} is {remedy}")
    return value.strip()


def _visible(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNPS" and char not in _BLANK


def _until(kind: str, value: Any, place: str, today: date) -> date | None:
    if value is None and kind != "outage":
        return None
    day = _day(value)
    if day is None:
        raise ConfigError(
            f"until is {_told(value)}", place=place, remedy="the last day on which it counts: 2026-12-01"
        )
    if kind == "outage" and day >= today + timedelta(days=MOST_DAYS):
        raise ConfigError(
            f"until is {day}, which is not within {MOST_DAYS} days: an outage is no permanent state",
            place=place,
            remedy="an earlier day; who is away for good is taken out of executors",
        )
    return day


def _day(value: Any) -> date | None:
    """A date as TOML has it, or as text; None for anything else, a time of day included."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if isinstance(value, str) and _DAY.fullmatch(value) and value.isascii():
        try:
            return date.fromisoformat(value)
        except ValueError:
            return None
    return None


def _told(value: Any) -> str:
    return "missing" if value is None else f"{value!r}"[:120]


def _known(table: Mapping[str, Any], known: Any, place: str) -> None:
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, sorted(known), 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(sorted(known))}"
            raise ConfigError(f"unknown key {key[:80]!r}", place=place, remedy=hint)
