"""Signs that an answer is none: copied placeholders, and reviewers who say that they saw nothing.

Words are only ever searched for signs of *no* review.  Approval is never read from prose: it is the
value of ``verdict`` or it is not there, so "this is NOT approved" cannot become an approval.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from prun_review.model import Header, Violation
from prun_review.strictjson import pointer, shown

_PLACEHOLDER = re.compile(
    r"""[\s`'"]*+ (?: <[^<>\n]{1,80}> | \[one\ line\] | \.{3} | \u2026 | tbd | todo ) [\s`'".]*+""",
    re.IGNORECASE | re.VERBOSE,
)
_SEARCHED = 20_000
"""Characters of a text that are searched for words."""
_VERBATIM = frozenset({"quote", "suggestion"})
"""Fields that hold source text, where ``<div>`` is no placeholder."""

# All repetitions are bounded, so that no text makes a search slow.
_SEE = "(?:read|access|open|see|view|find|locate|inspect|examine|review|audit|load|retrieve|fetch)"
_THING = (
    "(?:files?|diff|patch|code|sources?|contents?|repositor(?:y|ies)|repo|tree|director(?:y|ies)|folder"
    "|module|workspace|snapshot|changes|it|them|any(?:thing)?)"
)
_FAILED = (
    r"(?:could\ not|couldn't|cannot|can\ not|can't|did\ not|didn't|failed\ to|wasn't\ able\ to"
    r"|(?:(?:was|were|am|are|is)\ )?(?:not\ able|unable)\ to)"
)
_WHO = r"(?: \b(?:i|we|reviewer)\b[^.\n]{0,30}? | (?:^|[.;:!?\n(-])\s{0,4}(?:but\ |and\ |sorry,\ )? )"
_ACTIVE = re.compile(
    rf"{_WHO} {_FAILED}\ (?:\w{{1,20}}\ )?{_SEE}\b[^\n]{{0,60}}?\b{_THING}\b",
    re.IGNORECASE | re.VERBOSE,
)
"""The reviewer is the subject ("I could not read the file") or the sentence begins with the verb."""
_ABSENT = re.compile(
    rf"""\bno\ (?:\w{{1,20}}\ )?{_THING}\ (?:\w{{1,20}}\ )?(?:(?:was|were|is|are|has\ been|have\ been)\ )?
         (?:provided|given|supplied|visible|available|attached|included|shared|accessible|shown|received)
    | \b(?:do|did)(?:\ not|n't)\ have\ (?:\w{{1,20}}\ )?access\ to\b
    | \bnothing\ to\ review\b
    | \bplease\ (?:provide|share|paste|attach)\ (?:the\ |your\ )?{_THING}\b""",
    re.IGNORECASE | re.VERBOSE,
)
_PASSIVE = re.compile(
    rf"""\b{_THING}\ (?:could\ not|couldn't|cannot|can\ not|can't)\ be
         \ (?:read|accessed|opened|seen|viewed|found|located|inspected|examined|loaded|retrieved)
    | \b{_THING}\ (?:was|were|is|are)\ (?:not\ (?:readable|accessible|available|provided|visible)
         |inaccessible|unreadable|unavailable|missing|empty)""",
    re.IGNORECASE | re.VERBOSE,
)
_JOB = r"(?:code\ )?(?:review|audit|assessment|analysis|inspection|examination)"
_DONE = (
    "(?:performed|done|carried\\ out|conducted|completed|finished|started|made|attempted|undertaken|possible)"
)
_NO_REVIEW = re.compile(
    rf"""\b(?:{_JOB}|nothing)\ (?:(?:was|is|were|has|have|had|could)(?:\ not|n't|\ never)|not|never)
         \ (?:yet\ )?(?:be(?:en)?\ )?(?:yet\ |actually\ )?{_DONE}\b
    | \bno\ (?:actual\ |real\ )?{_JOB}\ (?:was|has\ been|took\ place|could\ be|happened|is\ possible)\b
    | \b(?:nothing|none\ of\ (?:it|them|the\ \w{{1,20}})|no\ (?:\w{{1,20}}\ )?{_THING})
         \ (?:was|were|has\ been|have\ been)\ (?:actually\ )?
         (?:read|reviewed|examined|inspected|audited|opened)\b
    | {_WHO}(?:not|never)\ (?:yet\ )?(?:reviewed|audited|examined|inspected|performed|read)\b
    | {_WHO}(?:have|has|had)(?:\ not|n't|\ never)\ (?:yet\ |actually\ )?
         (?:reviewed|audited|examined|inspected|read|opened|seen|looked\ at)\b[^\n]{{0,60}}?\b{_THING}\b
    | {_WHO}(?:skip(?:ped|ping)?|omitted|bypassed|abort(?:ed|ing)?|abandoned|declin(?:ed?|ing)
         |refus(?:ed?|ing))
         \ (?:to\ )?(?:(?:do|perform|conduct|continue|carry\ out)\ )?(?:the\ |this\ |my\ |any\ |a\ )?{_JOB}\b
    | {_WHO}(?:{_FAILED}|will\ not|won't)\ (?:be\ able\ to\ )?(?:\w{{1,20}}\ )?(?:assist|help|comply)\b
    | {_WHO}(?:{_FAILED}|will\ not|won't)\ (?:be\ able\ to\ )?(?:\w{{1,20}}\ )?
         (?:do|fulfil|fulfill|complete|continue|proceed|perform|conduct|finish|start|carry\ out)
         \ (?:with\ )?(?:the\ |this\ |that\ |your\ |any\ |a\ )?(?:{_JOB}|request|task)\b
    | \b(?:context|token|turn|time|usage|quota|message)\ (?:window\ )?(?:limit|budget|window)
         \ (?:(?:was|is|has\ been)\ )?(?:reached|exceeded|exhausted|hit|full)
         \ (?:before|while|during|so|without|by\ the\ time)\b
    | {_WHO}(?:ran|running|run|was|am)\ out\ of\ (?:context|tokens|time|turns|budget|quota|space)\b
    | {_WHO}(?:reached|hit|exceeded)\ (?:the|my|a)\ (?:context|token|turn|time|usage)\b
    | \bbefore\ (?:reading|reviewing|opening|examining|inspecting|looking\ at|seeing)\ any\b
    | \bwithout\ (?:reading|reviewing|opening|examining|inspecting|looking\ at|seeing)\ any\b
    | \b(?:approv\w{{1,4}}|passed)\ without\ (?:an?\ |any\ |actual\ )?
         (?:{_JOB}|reading|looking|reviewing)\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""The review did not take place, whatever the reason."""
_NOT_APPROVED = re.compile(
    r"""\b(?:not|cannot|can't|never|don't|won't)\ (?:be\ )?(?:yet\ )?approv
    | (?<!no\ )(?<!not\ )(?<!to\ )(?<!n't\ )(?<!without\ )\b
      (?:request(?:ing)?\ changes|changes\ (?:are\ )?requested)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_FILLER = re.compile(
    r"\b(?:none|n/a|nothing|null|ok|okay|done|lgtm|(?:looks?|all) good|approved?|pass(?:ed)?|yes|no)\b|\W+",
    re.IGNORECASE,
)
_FEWEST = 8
"""Letters and digits below which a header without findings says nothing."""


def placeholders(value: Any, keep: Collection[str] = (), where: str = "") -> Iterator[Violation]:
    """A violation for every string of a payload that was copied from a template.

    ``keep`` holds values that are allowed (the options of a choice).  ``where`` is a JSON pointer.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _VERBATIM:
                yield from placeholders(item, keep, pointer(where, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from placeholders(item, keep, pointer(where, i))
    elif isinstance(value, str) and value not in keep and is_placeholder(value):
        yield Violation("placeholder", where, f"{shown(value)} is copied from the template")


def is_placeholder(text: str) -> bool:
    """True for a text that is nothing but ``<one line>``, ``...`` or ``TODO``."""
    return bool(_PLACEHOLDER.fullmatch(text))


def saw_nothing(header: Header, body: str = "") -> Iterator[Violation]:
    """A violation for every part that says that files could not be seen or that there was no review."""
    parts = {
        "conclusion": header.conclusion,
        "open_items": header.open_items,
        "verification": header.verification,
    }
    for name, text in parts.items():
        found = _search(text, _ACTIVE, _ABSENT, _PASSIVE, _NO_REVIEW)
        if found:
            yield Violation("did-not-read", f"/{name}", f"the reviewer says {shown(found)}")
    found = _search(body, _ACTIVE, _ABSENT, _NO_REVIEW)
    if found:
        yield Violation("did-not-read", "", f"the reviewer says {shown(found)}")


def _search(text: str, *patterns: re.Pattern[str]) -> str:
    plain = text[:_SEARCHED].replace("\u2019", "'")
    for pattern in patterns:
        found = pattern.search(plain)
        if found:
            return found[0].strip()
    return ""


def takes_back_approval(text: str) -> bool:
    """True where prose says "not approved" or asks for changes."""
    return bool(_NOT_APPROVED.search(text[:_SEARCHED].replace("\u2019", "'")))


def is_filler(text: str) -> bool:
    """True for a text of nothing but "ok", "none" and the like."""
    return not _FILLER.sub("", text[:_SEARCHED])


def says_nothing(header: Header, body: str = "") -> bool:
    """True for a header of fillers ("ok", "none") with no more than a few characters besides."""
    text = " ".join((header.conclusion, header.files, header.open_items, header.verification, body))
    return len(_FILLER.sub("", text)) < _FEWEST
