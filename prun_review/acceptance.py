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

    [[finding]]                      # written by: prun-review accept RUN FINDING --reason ... --by ...
    fingerprint = "f1-..."           # that of the case, title, file, side and quote below
    case = "panels/security/probe_shop.py::probe_injection[auth]"
    severity = "high"                # the highest that is accepted
    title = "SQL injection in find_user"
    detail = "..."                   # this and the next four only where there is such a thing
    file = "src/auth.py"
    line = 12
    quote = "..."
    side = "old"
    ungrounded = true                # only where the tree did not hold it: then it lets pass nothing grounded
    commit = "..."                   # where file and line are of
    by = "Ada Lovelace"
    reason = "an internal tool, gone by June"
    until = 2026-12-01               # optional

    [[finding.also]]                 # the same defect in the words of others: title, detail, file...
    title = "..."

Strict: whatever cannot be understood is an error, because half an acceptance would be a hole.
"""

from __future__ import annotations

import difflib
import re
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from prun_review.errors import ConfigError
from prun_review.fingerprints import core, fingerprint
from prun_review.model import SEVERITIES, Acceptance, Finding
from prun_review.sameness import UNPROVEN

MOST_DAYS = 30
"""Days that an outage may last at most from the beginning of the run, that day among them."""

_SUBJECTS = {"review-change": "digest", "outage": "executor", "finding": "fingerprint"}
"""Kind -> the key that says what is accepted."""
_FORMS = {
    "digest": (
        re.compile(r"sha256:[0-9a-f]{64}"),
        "the whole digest that the report prints: sha256:<64 hex>",
    ),
    "fingerprint": (re.compile(r"f1-[0-9a-f]{16}"), "let prun-review accept write it: f1-<16 hex>"),
    "executor": (re.compile(r"[A-Za-z0-9_-]{1,120}"), 'the name of an executor, as in executor = "codex"'),
}
_CORE = ("title", "detail", "file", "line", "quote", "side")
"""What is written down of a finding, in this order."""
_KEYS = {"finding": ("case", "severity", *_CORE, "ungrounded", "commit", "also")}
"""Kind -> its keys beside those that all have."""
_AGAIN = "prun-review accept RUN FINDING writes such an entry"
_SHA = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
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
    this_day = today(now)
    found = []
    for kind, entries in table.items():
        if not isinstance(entries, list):
            raise ConfigError(f"{kind} is not a list", place=place, remedy=f"write it as [[{kind}]]")
        for n, entry in enumerate(entries, start=1):
            found.append(_entry(kind, entry, f"{place}: [[{kind}]] {n}", this_day))
    return tuple(found)


def today(now: float) -> date:
    """The day in UTC; ``now`` in seconds since the epoch."""
    return datetime.fromtimestamp(now, UTC).date()


def _entry(kind: str, entry: Any, place: str, today: date) -> Acceptance:
    if not isinstance(entry, Mapping):
        raise ConfigError("not a table", place=place, remedy=f"write it as [[{kind}]]")
    key = _SUBJECTS[kind]
    _known(entry, (key, "by", "reason", "until", *_KEYS.get(kind, ())), place)
    form, remedy = _FORMS[key]
    subject = entry.get(key)
    if not isinstance(subject, str) or not form.fullmatch(subject):
        raise ConfigError(f"{key} is {_told(subject)}", place=place, remedy=remedy)
    by = _said("by", entry, place, "the name of the person who answers for it")
    reason = _said("reason", entry, place, "why, in words")
    until = _until(kind, entry.get("until"), place, today)
    expired = until is not None and until < today
    accepted = Acceptance(kind, subject, by, reason, until.isoformat() if until else "", expired)
    return _of_finding(accepted, entry, place) if kind == "finding" else accepted


def _of_finding(accepted: Acceptance, entry: Mapping[str, Any], place: str) -> Acceptance:
    """With what is written down of the finding, of which the fingerprint must be."""
    case = _said("case", entry, place, "the case that the finding is of")
    severity = entry.get("severity")
    if severity not in SEVERITIES:
        raise ConfigError(
            f"severity is {_told(severity)}",
            place=place,
            remedy=f"the highest accepted: {', '.join(SEVERITIES)}",
        )
    commit = entry.get("commit", "")
    if not isinstance(commit, str) or not (commit == "" or _SHA.fullmatch(commit)):
        raise ConfigError(f"commit is {_told(commit)}", place=place, remedy="the whole SHA, or nothing")
    lead = _finding(entry, severity, place)
    if accepted.subject != fingerprint(case, lead):
        raise ConfigError(
            f"the fingerprint {accepted.subject} is not that of the case and finding beside it",
            place=place,
            remedy=f"undo the edit; {_AGAIN}",
        )
    unproven = entry.get("ungrounded", False)
    if not isinstance(unproven, bool):
        raise ConfigError(f"ungrounded is {_told(unproven)}", place=place, remedy="true, or leave it out")
    if unproven:
        lead = replace(lead, note=UNPROVEN)
    others = entry.get("also", [])
    if not isinstance(others, list) or not all(isinstance(other, Mapping) for other in others):
        raise ConfigError("also is no list of tables", place=place, remedy="write it as [[finding.also]]")
    also = []
    for n, other in enumerate(others, start=1):
        _known(other, _CORE, f"{place}: also {n}")
        also.append(_finding(other, severity, f"{place}: also {n}"))
    return replace(accepted, case=case, finding=lead, also=tuple(also), commit=commit)


def _finding(entry: Mapping[str, Any], severity: str, place: str) -> Finding:
    line = entry.get("line")
    if line is not None and (not isinstance(line, int) or isinstance(line, bool) or line < 1):
        raise ConfigError(f"line is {_told(line)}", place=place, remedy="a number from 1")
    side = entry.get("side")
    if side not in (None, "new", "old"):
        raise ConfigError(f"side is {_told(side)}", place=place, remedy='"new" or "old"')
    for key in ("detail", "file", "quote"):
        if not isinstance(entry.get(key, ""), str):
            raise ConfigError(f"{key} is {_told(entry[key])}", place=place, remedy="a text")
    title = _said("title", entry, place, "the finding in one line")
    texts = (entry.get("detail", ""), entry.get("file"))
    return core(Finding(title, *texts, line=line, severity=severity, quote=entry.get("quote"), side=side))


# --- writing ----------------------------------------------------------------------------------


def table_of(accepted: Acceptance) -> str:
    """The lines that :func:`parse` reads back as this acceptance of a finding."""
    lead = accepted.finding or Finding("")
    values: dict[str, Any] = {
        "fingerprint": accepted.subject,
        "case": accepted.case,
        "severity": lead.severity,
    }
    values |= {
        **_written(lead),
        "ungrounded": lead.note == UNPROVEN,
        "commit": accepted.commit,
        "by": accepted.by,
        "reason": accepted.reason,
    }
    lines = ["[[finding]]", *_lines(values)]
    lines += [f"until = {accepted.until}"] if accepted.until else []
    for other in accepted.also:
        lines += ["", "[[finding.also]]", *_lines(_written(other))]
    return "\n".join([*lines, ""])


def _written(finding: Finding) -> dict[str, Any]:
    return {key: getattr(finding, key) for key in _CORE}


def _lines(values: Mapping[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        if value is True:
            yield f"{key} = true"
        elif value not in (None, "", False):
            yield f"{key} = {value if isinstance(value, int) else quoted(value)}"


def quoted(text: str) -> str:
    """A TOML string on one line; what an editor does not show, or turns around, is written as an escape."""
    return '"' + "".join(map(_escaped, text)) + '"'


_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def _escaped(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if char.isprintable():
        return char
    code = ord(char)
    if 0xD800 <= code < 0xE000:  # TOML has no way to write a half of a character
        return "\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


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
    found = day(value)
    if found is None:
        raise ConfigError(
            f"until is {_told(value)}", place=place, remedy="the last day on which it counts: 2026-12-01"
        )
    if kind == "outage" and found >= today + timedelta(days=MOST_DAYS):
        raise ConfigError(
            f"until is {found}, which is not within {MOST_DAYS} days: an outage is no permanent state",
            place=place,
            remedy="an earlier day; who is away for good is taken out of executors",
        )
    return found


def day(value: Any) -> date | None:
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
