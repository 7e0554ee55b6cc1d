"""Which findings the comments in the code ask an analyser to hide.

The built-in analysers run with these comments switched off; who asked for what is told here, so
that a suppression is listed whether it is obeyed or not.  A comment that is not surely meant for a
finding does not count: the finding then stays.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from prun_review.model import Finding

_NOQA = re.compile(r"#\s*noqa(?P<codes>:\s*[A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*)?", re.IGNORECASE)
_NOQA_FILE = re.compile(
    r"#\s*(?:ruff|flake8)\s*:\s*noqa(?P<codes>:\s*[A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*)?", re.IGNORECASE
)
_NOSEC = re.compile(r"#\s*nosec\b:?(?P<rest>[^#]*)")
_PYLINT = re.compile(r"#.*?\bpylint:\s*(?P<what>[a-z-]+)(?:\s*=\s*(?P<names>[\w\s,-]+))?")
_FAMILIES = {"F": "fatal", "E": "error", "W": "warning", "R": "refactor", "C": "convention", "I": "info"}


@dataclass(frozen=True, slots=True)
class _Comment:
    line: int
    text: str
    indent: int
    """Columns before the first character of its line."""
    alone: bool
    """Nothing but blanks stands before it."""
    opens: bool
    """It ends a line that opens a block."""


class Suppressions:
    """The suppression comments of one file, for the tool of this name."""

    def __init__(self, tool: str, lines: Sequence[str]) -> None:
        self._lines = lines
        self._hides = _TOOLS.get(tool, _nothing)
        marks = ("noqa", "nosec", "pylint:")
        wanted = any(mark in line.lower() for line in lines for mark in marks)
        self._comments = tuple(_comments(lines)) if wanted else ()

    def hide(self, finding: Finding) -> bool:
        """Whether a comment asks to hide this finding; one that cannot be parsed is never hidden."""
        if finding.line is None or finding.detail.startswith("Syntax error"):
            return False
        return bool(self._comments) and self._hides(finding, self._comments, self._lines)


def _comments(lines: Sequence[str]) -> Iterator[_Comment]:
    reader = io.StringIO("\n".join(lines) + "\n").readline
    try:
        for token in tokenize.generate_tokens(reader):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                before = token.line[:column]
                indent = len(token.line) - len(token.line.lstrip())
                opens = before.rstrip().endswith(":")
                yield _Comment(row, token.string, indent, not before.strip(), opens)
    except (tokenize.TokenError, SyntaxError):
        return  # what stands after the place that cannot be read hides nothing


def _nothing(finding: Finding, comments: Sequence[_Comment], lines: Sequence[str]) -> bool:
    """Another tool's comments are that tool's affair: it marks them in its report."""
    return False


def _name(finding: Finding) -> str:
    """The rule's name, which the readers put at the end of the title."""
    return finding.title.rpartition("(")[2].rstrip(")")


def _noqa(finding: Finding, comments: Sequence[_Comment], lines: Sequence[str]) -> bool:
    rows = (finding.line, finding.end_line)
    for comment in comments:
        match = _NOQA_FILE.match(comment.text) if comment.alone else None
        if not match and comment.line in rows:
            match = _NOQA.search(comment.text)
        if match:
            codes = re.findall(r"[A-Z]+\d+", (match["codes"] or "").upper())
            if not codes or finding.rule in codes:
                return True
    return False


def _nosec(finding: Finding, comments: Sequence[_Comment], lines: Sequence[str]) -> bool:
    first, last = finding.line or 0, finding.end_line or 0
    for comment in comments:
        match = _NOSEC.search(comment.text) if first <= comment.line <= last else None
        if match:
            named = re.findall(r"\bB\d{3}\b|\b[a-z]+(?:_[a-z]+)+\b", match["rest"])
            if not named or finding.rule in named or _name(finding) in named:
                return True
    return False


def _pylint(finding: Finding, comments: Sequence[_Comment], lines: Sequence[str]) -> bool:
    hidden = False
    words = {finding.rule, _name(finding), "all", (finding.rule or "?")[0]}
    words.add(_FAMILIES.get((finding.rule or "?")[0], "?"))
    for comment in comments:
        for match in _PYLINT.finditer(comment.text):
            what = match["what"]
            if what in ("skip-file", "disable-all"):
                return True
            named = {name.strip() for name in (match["names"] or "").split(",")}
            if named & words and finding.line in _reach(comment, what, lines):
                hidden = what != "enable"
    return hidden


def _reach(comment: _Comment, what: str, lines: Sequence[str]) -> range:
    """The lines that a pylint comment is about."""
    if what == "disable-next":
        return range(comment.line + 1, comment.line + 2)
    if what not in ("disable", "enable"):
        return range(0)
    if not comment.alone and not comment.opens:
        return range(comment.line, comment.line + 1)
    inside = comment.indent + (0 if comment.alone else 1)
    end = comment.line
    for row in range(comment.line + 1, len(lines) + 1):
        text = lines[row - 1]
        if text.strip() and not text.lstrip().startswith("#"):
            if len(text) - len(text.lstrip()) < inside:
                break
            end = row
    return range(comment.line, end + 1)


_TOOLS: dict[str, Callable[[Finding, Sequence[_Comment], Sequence[str]], bool]] = {
    "ruff": _noqa,
    "pylint": _pylint,
    "bandit": _nosec,
}
