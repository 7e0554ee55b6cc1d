"""Foreign text made harmless: for terminals, for CI logs, for Markdown.

Whatever a model, an analyser or the reviewed tree says is data.  Three kinds of reader would take it
as more: a terminal (escape sequences, bidirectional overrides), a CI runner that reads the job log
line by line (workflow commands) and a Markdown viewer (HTML, links, images, mentions).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

ELLIPSIS = "..."

_SEQUENCES = re.compile(
    # OSC, DCS, SOS, PM, APC with their text; the text stops at the next ESC so that this stays linear
    "(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\r\n]*(?:\x07|\x1b\\\\|\x9c)"
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    "|\x1b[ -/]*[0-~]"  # every other escape sequence
)
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f"  # C0 but tab and line feed, DEL, C1
    "\xad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"  # bidi, zero width, tags, non-characters
)
_SURROGATES = re.compile("[\ud800-\udfff]")

# GitHub's runner trims a line before it looks for "::" and finds "##[" anywhere in it; Azure finds
# "##vso[" and TeamCity "##teamcity[" anywhere.
_LEADING_COLONS = re.compile(r"^([^\S\n]*):(?=:)", re.MULTILINE)
_HASHES = re.compile(r"#(?=#(?:\[|vso\[|teamcity\[))", re.IGNORECASE)

_MARKDOWN = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        "|": "&#124;",
        "$": "&#36;",
        **{c: "\\" + c for c in "\\`*_[]~"},
    }
)
_LEADING_MARK = re.compile(r"^(|\d{1,9}(?=[.)](?:\s|$)))([#+\-=.)])")
_ZERO_WIDTH = "\u200b"
_REFERENCES = (
    # Mentions and references are found in the text after entities and backslashes are resolved, so
    # only a character in between stops them.
    (re.compile(r"([@#])(?=\w)"), rf"\1{_ZERO_WIDTH}"),
    (re.compile(r"\b(GH-)(?=\d)", re.IGNORECASE), rf"\1{_ZERO_WIDTH}"),
    (re.compile(r":(?=//)"), f":{_ZERO_WIDTH}"),
    (re.compile(r"\b(www)(?=\.)", re.IGNORECASE), rf"\1{_ZERO_WIDTH}"),
)


def plain(text: str) -> str:
    """``text`` without anything that a terminal or a CI runner would act upon.

    Escape sequences, control characters (but tab and line feed), invisible and bidirectional
    characters are dropped, every line end becomes a line feed, lone surrogates become U+FFFD, and
    workflow commands get a space in their mark.
    """
    text = _SEQUENCES.sub("", text)
    text = _LINE_ENDS.sub("\n", text)
    text = _UNSEEN.sub("", text)
    return guard(_SURROGATES.sub("\ufffd", text))


def guard(text: str) -> str:
    """``text`` with the marks of workflow commands broken: for whole pages, after wrapping."""
    return _HASHES.sub("# ", _LEADING_COLONS.sub(r"\1: ", text))


def one_line(text: str, limit: int = 200) -> str:
    """:func:`plain` on one line, of at most ``limit`` columns."""
    # Cut first: collapsing megabytes for 80 columns is waste.
    short = plain(text[: 8 * limit + 64])
    line = " ".join(short.split())
    return clip(line + (" " + ELLIPSIS if len(text) > 8 * limit + 64 else ""), limit)


def columns(text: str) -> int:
    """How many terminal columns a line of :func:`plain` text takes."""
    if text.isascii():
        return len(text)
    return sum(_column(c) for c in text)


@lru_cache(4096)
def _column(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def clip(text: str, limit: int) -> str:
    """``text`` cut to ``limit`` columns, with ``...`` at the end where something is missing."""
    if columns(text) <= limit and len(text) <= 4 * limit:
        return text
    kept, room = [], limit - len(ELLIPSIS)
    for char in text[: 4 * limit]:
        room -= _column(char)
        if room < 0:
            break
        kept.append(char)
    return "".join(kept).rstrip() + ELLIPSIS[:limit]


def markdown(text: str, limit: int = 2000) -> str:
    """One line of inert inline Markdown that shows ``text``, cut to ``limit`` columns before."""
    line = one_line(text, limit)
    for pattern, replacement in _REFERENCES:
        line = pattern.sub(replacement, line)
    return _LEADING_MARK.sub(r"\1\\\2", line.translate(_MARKDOWN))


def code(text: str, limit: int = 300) -> str:
    """``text`` as a code span, also inside a table; as escaped text where a span cannot hold it."""
    line = one_line(text, limit)
    if not line or set(line) & set("`|\\"):
        return markdown(line, limit)
    return f"`{line}`"


def fence(text: str) -> str:
    """``text`` as a fenced block whose fence is longer than any run of backticks in it."""
    body = plain(text).strip("\n")
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}text\n{body}\n{marks}"
