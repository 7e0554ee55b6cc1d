"""Answers as Markdown: the prun header, the JSON payload in it, and both written back.

Finding the payload is liberal about wrapping (bare, fenced, fenced in prose, prose with stray
brackets first, a byte order mark, CRLF) and strict about meaning: two different payloads are a
violation, never a choice made in silence, and a payload that does not parse is never "no findings".
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prun_review.model import Answer, Finding, Violation
from prun_review.strictjson import MAX_DEPTH, clean_value, object_end, parse_json

HEADER_NAMES = {
    "conclusion": "Conclusion",
    "files": "Files",
    "open_items": "Open items",
    "verification": "Verification",
}
"""Payload key -> name of the header line, in the order of the header."""

FINDING_KEYS = (
    "title",
    "detail",
    "file",
    "line",
    "end_line",
    "severity",
    "category",
    "confidence",
    "quote",
    "suggestion",
)
"""Keys of one finding in every payload, all of them fields of ``model.Finding``."""

CHANGE_KEYS = ("side", "cause")
"""Keys that a finding has besides, where the contract is about a change."""

CLAIM_KEYS = ("completed", "tests_run", "tests_passed", "tests_failed", "summary")
"""Keys of what a worker says of its change, all of them fields of ``written.Claim``."""

_FALLBACK = re.compile(r"#\s.*\bresult\s*\(\s*FALLBACK\b")
_TITLE = re.compile(r"#\s+(\S+)\s+result\b")
# Possessive repetitions throughout: linear on a line of a million blanks.
_LINE = re.compile(
    r"[>\s*_#-]*+(conclusion|files|open items|verification)\s*+[*_]*+\s*+:\s*+[*_]*+\s*+(.*)", re.IGNORECASE
)
_FENCE = re.compile(r"\s*+(`{3,}+|~{3,}+)\s*+([\w+-]*+)[^`]*+$")
_DATA = re.compile(
    r"""^[\ \t>]*+ (?: \{\s*+ (?://[^\n]*+\s*+)? ["']?[\w-]{1,60}+["']?\s*+: | \[\s*+(?:["']|\{\s*+["']) )""",
    re.MULTILINE | re.VERBOSE,
)
"""A line that begins like an object or a list of data, also where no JSON reader would take it."""
_EMPTY_FENCE = re.compile(r"^[ \t>]*+(`{3,}+|~{3,}+)[\w+-]*+[ \t]*+\n\s*+\1[ \t]*+$", re.MULTILINE)
_DIFF_MARK = re.compile(r"[ \t>]*+(?:(?:\d++[ \t]++)?\d*+[ \t]*+\|[ +-]?|\+|-(?![ \t]))[ \t]*+")
"""What stands before the text on a line of a diff, numbered or not; ``- `` begins an item of a list."""
_DIFF_TAGS = ("diff", "patch", "udiff")
_COPIES = 50
"""Differently written copies of one payload that are taken for copies; more are other answers."""
_SCANS = 8
"""How many times a text may be scanned for objects; bounds the work on a hostile one."""


def tidy_text(text: str) -> str:
    """Without byte order mark, with ``\\n`` line ends only."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def is_fallback(text: str) -> bool:
    """True for what a dispatcher wrote in place of a missing result: told by line 1 alone."""
    return bool(_FALLBACK.match(tidy_text(text).lstrip().split("\n", 1)[0]))


@dataclass(frozen=True, slots=True)
class Split:
    """A Markdown answer, its header taken apart."""

    titles: tuple[str, ...]
    """Unit ids of all ``# <id> result`` lines outside fences."""
    header: Mapping[str, str]
    """Header lines that are there, by payload key."""
    body: str


def split_header(text: str) -> Split:
    """Title, header lines and body; what stands before the header belongs to the body."""
    titles: list[str] = []
    header: dict[str, str] = {}
    body: list[str] = []
    last, fence, done = "", "", False
    for line in tidy_text(text).split("\n"):
        fence = _fence_after(line, fence)
        title = None if fence else _TITLE.match(line)
        if title:
            titles.append(title[1])
            if len(titles) == 1:
                continue
        found = None if done or fence else _LINE.match(line)
        key = found[1].lower().replace(" ", "_") if found else ""
        if found and key not in header:
            header[key] = found[2].strip()
            last = key if len(header) < len(HEADER_NAMES) else ""
        elif last and line.strip() and not fence:  # a value that goes on in the next line
            header[last] = f"{header[last]} {line.strip()}".strip()
        elif header and not line.strip() and len(header) < len(HEADER_NAMES):
            last = ""
        else:
            done = done or bool(header)
            body.append(line)
    return Split(tuple(titles), header, "\n".join(body).strip())


def _fence_after(line: str, fence: str) -> str:
    """The fence that is open after ``line`` when ``fence`` (or none) was open before it."""
    found = _FENCE.match(line)
    if not found:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and not found[2]
    return "" if closes else fence


def _tagged_json(text: str) -> list[str]:
    """Blocks fenced as ``json``; one that is never closed reaches to the end."""
    blocks: list[str] = []
    fence, tag, lines = "", "", list[str]()
    for line in text.split("\n"):
        after = _fence_after(line, fence)
        if after and not fence:
            opening = _FENCE.match(line)
            tag, lines = (opening[2].lower() if opening else ""), []
        elif after:
            lines.append(line)
        elif fence and tag.startswith("json"):
            blocks.append("\n".join(lines))
        fence = after
    if fence and tag.startswith("json"):
        blocks.append("\n".join(lines))
    return blocks


@dataclass(frozen=True, slots=True)
class Found:
    """The payload of a text, if there is one."""

    payload: Any
    violations: tuple[Violation, ...]
    """Faults of the payload, or why there is none."""
    source: str = ""
    """The stretch of the text that it was read from; empty where there is none."""
    beside: str = ""
    """What else the text says, without any copy of the payload; empty where that is all."""
    echoed: bool = False
    """Every copy of it is a line of a quoted diff."""


def find_payload(text: str, schema: Mapping[str, Any]) -> Found:
    """The one JSON payload of an answer under ``schema``.

    The whole text, where it is one (bare, in one fence, in an envelope); else every object in it
    that begins like the payload, fenced, wrapped or not; else what is fenced as ``json`` or is JSON,
    for the schema to refuse.  Several different ones, or another block beside it that speaks in the
    words of the schema, are the violation ``several-answers``, and the last is given: a block quoted
    from the reviewed tree must not stand in for the reviewer's own, whichever of the two is broken.
    """
    text = tidy_text(text).strip()
    if not text:
        return Found(None, (Violation("empty-answer", "", "the answer is empty"),))
    keys = schema.get("properties", {}).keys()
    whole = _unfenced(text)
    bare = whole[:1] in ("{", "[", '"') or whole == "null"
    value, faults = parse_json(whole) if bare else (None, [])
    inner = _unwrapped(value, keys)
    if inner is not None:
        return Found(inner, tuple(faults), text)
    found = _objects(text, keys) or _tagged_json(text)
    if not found and bare:
        return Found(value, tuple(faults), "" if _unreadable(faults) else text)
    if not found:
        return Found(None, (Violation("no-payload", "", "no JSON answer in the text"),))
    parsed = [parse_json(piece) for piece in found]
    value, faults = parsed[-1]
    if any(_unreadable(f) != _unreadable(faults) or other != value for other, f in parsed[:-1]):
        faults = [*faults, Violation("several-answers", "", f"{len(parsed)} JSON answers in the text")]
        return Found(value, tuple(faults), found[-1])
    beside = _beside(text, found, keys)
    if any(map(str.strip, _tagged_json(beside))) or _speaks(beside, _words(schema)):
        faults = [*faults, Violation("several-answers", "", "another block of data beside the JSON answer")]
    return Found(value, tuple(faults), found[-1], beside, all(_echoed(text, piece) for piece in set(found)))


def _echoed(text: str, piece: str) -> bool:
    """Whether every place of ``piece`` in ``text`` is a line of a diff."""
    at = text.find(piece)
    for _ in range(_COPIES):
        if at < 0:
            return True
        start = text.rfind("\n", 0, at) + 1
        if not _DIFF_MARK.fullmatch(text[start:at]) and _tag_at(text[:start]) not in _DIFF_TAGS:
            return False
        at = text.find(piece, at + len(piece))
    return True


def _tag_at(text: str) -> str:
    """The word of the fence that is open at the end of ``text``; empty where none is."""
    fence, tag = "", ""
    for line in text.split("\n"):
        after = _fence_after(line, fence)
        opening = _FENCE.match(line) if after and not fence else None
        tag = opening[2].lower() if opening else tag
        fence = after
    return tag if fence else ""


def holds_data(text: str) -> bool:
    """True where a line of ``text`` begins like JSON, well formed or not."""
    return bool(_DATA.search(text))


def _unfenced(text: str) -> str:
    """The inside of a text that is one fenced block as a whole; else the text."""
    first, _, rest = text.partition("\n")
    fence = _fence_after(first, "")
    if not fence or _tag_at(first) in _DIFF_TAGS:
        return text
    lines = rest.split("\n")
    closing = next((i for i, line in enumerate(lines) if not _fence_after(line, fence)), len(lines))
    return text if closing < len(lines) - 1 else "\n".join(lines[:closing]).strip()


def _unwrapped(value: Any, keys: Collection[str]) -> Any:
    """The object with one of ``keys`` that envelopes hold and nothing of weight beside it; else None."""
    for _ in range(MAX_DEPTH):
        if isinstance(value, dict) and value.keys() & set(keys):
            return value
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        heavy = [item for item in inner if item and isinstance(item, (dict, list))]
        if len(heavy) != 1:
            return None
        value = heavy[0]
    return None


def _beside(text: str, pieces: Sequence[str], keys: Collection[str]) -> str:
    """``text`` without the ``pieces``, their fences and the envelopes in these."""
    pieces = list(dict.fromkeys(pieces))[:_COPIES]
    blocks = [block for block in _tagged_json(text) if any(piece in block for piece in pieces)]
    for block in list(dict.fromkeys(blocks))[:_COPIES]:
        if _unwrapped(parse_json(block)[0], keys) is not None:
            text = text.replace(block, "")
    for piece in pieces:
        text = text.replace(piece, "")
    return _EMPTY_FENCE.sub("", text).strip()


def _words(schema: Any) -> set[str]:
    """The keys of a schema on all levels."""
    words: set[str] = set()
    if isinstance(schema, Mapping):
        for key, part in schema.get("properties", {}).items():
            words |= {key, *_words(part)}
        words |= _words(schema.get("items"))
    return words


def _speaks(text: str, words: Collection[str]) -> bool:
    """True where two of ``words`` stand in ``text`` as the keys of JSON, of something like it, or YAML."""
    split = split_header(text)
    text = "\n".join([split.body, *(f"= {line}" for line in split.header.values())])
    named = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    key = re.compile(
        rf"""["'](?:{named})["']\s*+: | \{{\s*+(?:{named})\s*+: | ,\s*+(?:{named})\s*+:\s*+["'\d\[{{]
           | ^[\ \t-]*+ (?-i:{named}) [\ \t]*+:""",
        re.IGNORECASE | re.MULTILINE | re.VERBOSE,
    )
    return len({re.sub(r"\W", "", found[0]).lower() for found in key.finditer(text)}) > 1


def _unreadable(faults: list[Violation]) -> bool:
    return any(f.code in ("not-json", "too-deep") and not f.where for f in faults)


def _objects(text: str, keys: Collection[str]) -> list[str]:
    """Objects that begin with one of ``keys`` and hold two; an unclosed one reaches to the end."""
    opening = re.compile(r'\{\s*"(?:' + "|".join(map(re.escape, sorted(keys))) + r')"\s*:')
    found: list[str] = []
    at, budget = 0, _SCANS * len(text)
    while budget > 0 and (start := opening.search(text, at)):
        end = object_end(text, start.start())
        piece = text[start.start() : end if end > 0 else len(text)]
        budget -= len(piece)
        if sum(f'"{key}"' in piece for key in keys) >= min(2, len(keys)):
            found.append(piece)
            at = start.start() + len(piece)
        else:
            at = start.end()
    return found


def without(text: str, source: str) -> str:
    """``text`` without the payload read from it and without the fence around that."""
    text = tidy_text(text)
    before, _, after = text.partition(source) if source else (text, "", "")
    head, _, opening = before.rstrip().rpartition("\n")
    closing, _, rest = after.lstrip().partition("\n")
    if source and _FENCE.match(opening):
        before, after = head, rest if _FENCE.match(closing) else after
    return f"{before.rstrip()}\n\n{after.lstrip()}".strip()


def one_line(text: str) -> str:
    """``text`` on one line, runs of white space as one blank."""
    return " ".join(text.split())


def fence_for(text: str) -> str:
    """A fence of backticks longer than any run of them in ``text``; at least three."""
    return "`" * max(3, max((len(run) for run in re.findall(r"`+", text)), default=0) + 1)


def render_result(slug: str, answer: Answer, payload: Any = None, *, change: bool = False) -> str:
    """The prun result of a unit: title, header lines, blank line, body, payload as fenced JSON.

    Without ``payload`` it is made from the answer; an answer without structure has none.  ``change``
    is that of the contract.
    """
    head = answer.header
    values = (head.conclusion, head.files, head.open_items, head.verification)
    lines = [f"# {slug} result"]
    lines += [f"{n}: {one_line(v) or 'none'}" for n, v in zip(HEADER_NAMES.values(), values, strict=True)]
    parts = ["\n".join(lines)]
    if answer.body:
        parts.append(answer.body)
    shape = payload if payload is not None else payload_of(answer, change=change)
    if shape is not None:
        text = json.dumps(clean_value(shape)[0], indent=2, ensure_ascii=False)
        fence = fence_for(text)
        parts.append(f"{fence}json\n{text}\n{fence}")
    return "\n\n".join(parts) + "\n"


def payload_of(answer: Answer, *, change: bool = False) -> dict[str, Any] | None:
    """The payload that says the same as ``answer``, under a contract about a ``change`` or not; None for
    prose."""
    shape: dict[str, Any] = {key: getattr(answer.header, key) for key in HEADER_NAMES}
    if answer.claim:
        shape |= {key: getattr(answer.claim, key) for key in CLAIM_KEYS}
        return shape | {"changed_files": list(answer.claim.files)}
    shape["examined"] = list(answer.examined)
    if answer.sources:
        shape["sources"] = [{"url": s.url, "status": s.status, "via": s.via} for s in answer.sources]
    if answer.choice:
        cells = ("option", "criterion", "score", "reason")
        return shape | {
            "choice": answer.choice.option,
            "ranking": list(answer.choice.ranking),
            "scores": [{key: getattr(cell, key) for key in cells} for cell in answer.choice.scores],
            "confidence": answer.choice.confidence,
            "would_change_mind": answer.choice.would_change_mind,
        }
    if answer.opinion:
        said, proof = answer.opinion, answer.opinion.evidence
        shape |= {"word": said.word, "reason": said.reason, "severity": said.severity}
        shape |= {key: getattr(proof, key) for key in ("file", "line", "quote")}
        return shape | ({"side": proof.side} if change else {})
    if answer.verdict is None:
        return None
    shape["verdict"] = answer.verdict
    shape["findings"] = [
        {key: getattr(f, key) for key in FINDING_KEYS} | (_in_change(f) if change else {})
        for f in answer.findings
    ]
    return shape


def _in_change(finding: Finding) -> dict[str, Any]:
    """The values of ``CHANGE_KEYS``."""
    cause = finding.cause
    return {"side": finding.side, "cause": cause and {"file": cause.file, "line": cause.line}}
