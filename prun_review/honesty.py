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
_BEFORE = 120
"""Characters of a sentence around words that say whom they are about."""
_VERBATIM = frozenset({"quote", "suggestion"})
"""Fields that hold source text, where ``<div>`` is no placeholder."""

# All repetitions are bounded, so that no text makes a search slow.
_SEE = "(?:read|access|open|view|inspect|examine|review|audit|load|retrieve|fetch|receive|obtain)"
_LOOK = "(?:see|find|locate)"
"""Whoever could not find something may have looked: only the thing itself counts then."""
_THING = (
    "(?:files?|diff|patch|code|sources?|contents?|repositor(?:y|ies)|repo|tree|director(?:y|ies)|folder"
    "|module|workspace|snapshot|changes|it|them|any(?:thing)?)"
)
_FAILED = (
    r"(?:could\ not|couldn't|cannot|can\ not|can't|did\ not|didn't|failed\ to|wasn't\ able\ to"
    r"|(?:(?:was|were|am|are|is)\ )?(?:not\ able|unable)\ to)"
)
_WHO = r"(?: \b(?:i|we|reviewer)\b[^.\n]{0,30}? | (?:^|[.;:!?\n(-])\s{0,4}(?:but\ |and\ |sorry,\ )? )"
_GIVEN = (
    "(?:diff|patch|change\\ ?sets?|changes?|commits?|pull\\ requests?|merge\\ requests?|hunks?|pre-images?"
    "|code\\ ?base)"
)
"""What a review of a change is given; unlike a file it is also what the review talks about."""
_ITSELF = (
    r"(?!\ (?:that|which|whose|where|with|to|of|needed|required|handling|calling|using|path)\b"
    r"|\ (?:\w{1,20}\ )?(?:issue|defect|problem|bug|flaw|vulnerab|error|regression|smell|concern|risk)\w*)"
)
"""Behind a thing: it is not but a part of what was looked for ("any code smells", "changes that ...")."""
_ACTIVE = re.compile(
    rf"""{_WHO} {_FAILED}\ (?:\w{{1,20}}\ )?
         (?: {_SEE}\b[^\n]{{0,60}}?\b{_THING}\b
         | {_SEE}\ (?:[\w.]{{1,20}}\ ){{0,3}}{_GIVEN}\b
         | {_LOOK}\ (?:[\w.]{{1,20}}\ ){{0,2}}(?:(?!any(?:thing)?\b){_THING}|{_GIVEN})\b{_ITSELF} )
    | {_WHO}(?:do\ not|don't)\ {_LOOK}\ (?:a|any|the)\ (?:diff|patch|code\ ?base|files)\b{_ITSELF}
    | {_WHO}(?:was|were|am|are)(?:\ not|n't)\ (?:given|shown|sent|handed|provided\ with)
         \ (?:\w{{1,20}}\ ){{0,2}}(?:{_THING}|{_GIVEN})\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""The reviewer is the subject ("I could not read the file") or the sentence begins with the verb."""
_TO_OTHERS = (
    r"(?!\ (?:to|for)\ (?:the\ |an?\ )?(?:users?|callers?|clients?|customers?|others|anyone|everyone)\b)"
)
_ABSENT = re.compile(
    rf"""\bno\ (?:\w{{1,20}}\ )?(?:{_THING}|{_GIVEN})
         \ (?:\w{{1,20}}\ )?(?:(?:was|were|is|are|has\ been|have\ been)\ )?
         (?:provided|given|supplied|visible|available|attached|included|shared|accessible|shown|received)\b
         {_TO_OTHERS}
    | \bthere\ (?:is|was|are|were)\ no\ (?:diff|patch|changes?|code\ ?base|files?)
         (?: \ to\ (?:review|read|look\ at|inspect|examine|audit)\b
         | \ in\ (?:the|my|this)\ (?:prompt|request|message|input|workspace)\b | \ here\b
         | \s*[.,;!)] | \s*$ )
    | \b(?:i|we)\ (?:have|had)\ no\ access\ to\b
    | (?:^|[.;,(]\s{{0,4}})(?:without|with\ no|no)\ access\ to\ (?:the\ |any\ )?{_GIVEN}\b
    | \b(?:do|did)(?:\ not|n't)\ have\ (?:\w{{1,20}}\ )?access\ to\b
    | \bnothing\ to\ review\b
    | \bplease\ (?:provide|share|paste|attach)\ (?:the\ |your\ )?{_THING}\b""",
    re.IGNORECASE | re.VERBOSE,
)
_PASSIVE = re.compile(
    rf"""\b(?:{_THING}|{_GIVEN})\ (?:could\ not|couldn't|cannot|can\ not|can't)\ be
         \ (?:read|accessed|opened|seen|viewed|found|located|inspected|examined|loaded|retrieved|displayed
            |shown|checked\ out)\b{_TO_OTHERS}
    | \b(?:{_THING}|{_GIVEN})\ (?:(?:was|were|is|are|has\ been|have\ been)|(?:appears?|seems?)(?:\ to\ be)?)
         \ (?:not\ (?:readable|accessible|available|provided|visible|included|attached|shown|displayed|given
              |received|shared|supplied)\b
            | (?:inaccessible|unreadable|unavailable)\b
            | (?:missing|empty)(?=\s*(?:[.,;:!)]|$)|\ (?:here|from|in\ (?:the|my|this))\b) ){_TO_OTHERS}
    | \bCHANGE\.diff\ (?:(?:was|is)\ not\ (?:there|found|present)|does\ not\ exist|is\ not\ there)\b
    | \b(?:{_THING}|{_GIVEN})\ (?:was|were|is|are)\ (?:truncated|cut\ off)\ before\ i\b""",
    re.IGNORECASE | re.VERBOSE,
)
_ABOUT = re.compile(
    r"\b(?:if|when|whenever|where|whether|unless|case|handles?|raises?)\b[^.;:!?\n]*+$", re.IGNORECASE
)
"""Before words about a thing: they tell what a program does when it is not there."""
_OF_MINE = re.compile(r"\b(?:i|me|my|we|us|our|reviewer|prompt)\b", re.IGNORECASE)
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
_UNREAD = re.compile(
    rf"""{_WHO} {_FAILED}\ (?:\w{{1,20}}\ )?{_SEE}\ (?:the\ )?(?:file\ )?[`'"]?[\w./-]{{0,80}}[./]\w""",
    re.IGNORECASE | re.VERBOSE,
)
"""The reviewer names the file that it did not see ("I could not read src/app.py")."""
_DEFECT = "(?:defect|bug|issue|vulnerability|flaw|problem|finding|claim)"
_KEPT = rf"""\b(?:the|this|that)\ (?:\w{{1,20}}\ )?{_DEFECT}\ (?:is|does)
         \ (?:indeed\ |really\ |actually\ |a\ )?
         (?:real|there|exists?|present|genuine|right|correct|true|valid|accurate|confirmed)\b
    | \b(?:the|this)\ claim\ holds\b
    | \bi\ (?:\w{{1,20}}\ )?(?<!not\ )(?<!cannot\ )confirm(?:ed)?
         (?:\ (?:it|this)\b | \ (?:the|this)\ {_DEFECT}\b | \s*[.:;!] | \s*$)
    | (?:^|[.;!?]\s)\s*confirmed\s*
         (?:[.!] | $ | [:,](?![^.\n]*\b(?:no|not|never|cannot|false|safe|wrong|refut\w*)\b))"""
_DENIED = rf"""\b(?:is|are|was)(?:\ not|n't)\ (?:an?\ )?(?:real\ |actual\ |genuine\ )?{_DEFECT}\b
    | \b{_DEFECT}\ (?:is|does)(?:\ not|n't)\ (?:real|there|exist|present|genuine|right|correct|true|valid)\b
    | \bnot\ an?\ (?:real\ |actual\ |genuine\ )?{_DEFECT}\b
    | \bthere\ is\ no\ (?:such\ |real\ |actual\ )?{_DEFECT}\b
    | (?<!no\ )(?<!not\ a\ )\bfalse\ (?:positive|alarm)\b
    | \b(?:the|this)\ (?:\w{{1,20}}\ )?(?:claim|finding)\ is\ (?:wrong|false|incorrect|unfounded|mistaken)\b
    | \b{_DEFECT}\ is\ refuted\b | \bi\ (?:\w{{1,20}}\ )?(?<!not\ )(?<!cannot\ )refute\b"""
_TWO = (
    rf"\bare\ (?:two|different|separate|distinct)\ (?:(?:different|separate|distinct)\ )?{_DEFECT[:-1]})s\b"
)
_ONE = rf"\bare\ (?:one|the\ same)\ (?:and\ the\ same\ )?{_DEFECT}\b"
_CONTRARY = {
    word: re.compile(text, re.IGNORECASE | re.VERBOSE)
    for word, text in {"refute": _KEPT, "confirm": _DENIED, "yes": _TWO, "no": _ONE}.items()
}
"""Plain words that say the contrary of the word of an opinion."""
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


def against_opinion(word: str, reason: str, header: Header) -> Iterator[Violation]:
    """Why a word about the findings of others is not to be believed: the words beside it say that the
    code was not seen, or plainly the contrary.  A contradiction settles nothing, so in doubt it is one."""
    blind = list(saw_nothing(header, reason))
    yield from blind
    for where, text in (
        ("", reason),
        ("/conclusion", header.conclusion),
        ("/open_items", header.open_items),
        ("/verification", header.verification),
    ):
        unread = _search(text, _UNREAD)
        if unread and all(v.where != where for v in blind):
            yield Violation("did-not-read", where, f"the reviewer says {shown(unread)}")
    contrary = _CONTRARY.get(word)
    for where, text in (("/reason", reason), ("/conclusion", header.conclusion)):
        plain = text[:_SEARCHED].replace("\u2019", "'")
        for found in contrary.finditer(plain) if contrary else ():
            if not _ABOUT.search(plain[max(0, found.start() - _BEFORE) : found.start()]):
                told = shown(found[0].strip(" .;:!?"))
                yield Violation("word-contradicted", where, f"{word!r}, and the words say {told}")
                break


def _search(text: str, *patterns: re.Pattern[str]) -> str:
    plain = text[:_SEARCHED].replace("\u2019", "'")
    for pattern in patterns:
        for found in pattern.finditer(plain):
            if pattern not in (_ABSENT, _PASSIVE) or not _of_a_program(plain, found):
                return found[0].strip()
    return ""


def _of_a_program(text: str, found: re.Match[str]) -> bool:
    """Whether words about something absent tell of the reviewed program: a condition, or a message of it."""
    before = text[max(0, found.start() - _BEFORE) : found.start()]
    clause = _ABOUT.search(before)
    quoted = before[-1:] in ("'", '"', "`") and before[-1:] in text[found.end() : found.end() + _BEFORE]
    return quoted or (clause is not None and not _OF_MINE.search(clause[0]))


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
