"""Files of a reviewed tree on disk, read as data: never through a link, never without a bound."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import replace
from pathlib import Path

from prun_review.model import Finding

MAX_FILE = 16 << 20
"""Bytes of a file that are looked at; what is longer is not source that a person wrote."""
MAX_LINE = 400
"""Characters of a source line that go into a quote: a prefix is still found by grounding."""
MAX_QUOTE = 3
"""Lines of a range that are quoted."""

_LINE_END = re.compile(r"\r\n|\r|\n")  # not splitlines(): form feeds and U+2028 end no source line


def read_bytes(tree: Path, name: str) -> bytes | None:
    """The content of the ordinary file ``name`` below ``tree``; None for anything else.

    Every part is opened relative to the one before without following links, so that neither a
    link nor ``..`` leads out, whatever is swapped in between.
    """
    parts = name.split("/")
    if not name or any(part in ("", ".", "..") or "\0" in part for part in parts):
        return None
    at = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for n, part in enumerate(parts, 1):
            kind = os.O_NONBLOCK if n == len(parts) else os.O_DIRECTORY
            below = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | kind, dir_fd=at)
            os.close(at)
            at = below
        info = os.fstat(at)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_FILE:
            return None
        with os.fdopen(os.dup(at), "rb") as stream:
            return stream.read(MAX_FILE)
    except OSError:
        return None
    finally:
        os.close(at)


class Sources:
    """The lines of the files of one tree, each file read once."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._lines: dict[str, tuple[str, ...]] = {}

    def lines(self, name: str | None) -> tuple[str, ...]:
        """The lines without their ends; empty for a file that is not there or not ordinary."""
        if name is None:
            return ()
        if name not in self._lines:
            data = read_bytes(self._tree, name)
            text = "" if data is None else data.decode("utf-8-sig", "replace")
            lines = _LINE_END.split(text)
            self._lines[name] = tuple(lines[:-1] if lines[-1] == "" else lines)
        return self._lines[name]

    def quoted(self, finding: Finding) -> Finding:
        """The finding with its source lines as quote, as the tree has them.

        A line beyond the end is what parsers report for an unexpected end of file: it becomes the
        last line that holds something.
        """
        lines = self.lines(finding.file)
        if finding.line is None or not lines:
            return finding
        last = max((n for n, text in enumerate(lines, 1) if text.strip()), default=0)
        if not last:
            return finding
        line = min(finding.line, last)
        end = min(max(finding.end_line or line, line), last)
        quote = "\n".join(text[:MAX_LINE] for text in lines[line - 1 : min(end, line + MAX_QUOTE - 1)])
        return replace(finding, line=line, end_line=end, quote=quote if quote.strip() else finding.quote)
