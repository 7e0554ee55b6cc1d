"""Findings against the reviewed tree: the quote decides, the line number only helps.

Reviewers count lines by hand and are off by a few; what they quote is in the file or it is not.

=============  ==================================================================================
``exact``      the quote stands at the line (or stands only once, where no line was given)
``moved``      the quote stands elsewhere in the file; the line was corrected, the note says so
``line-only``  the file has such a line, but nothing was quoted: weaker than a quote
``unlocated``  no file, or a file without line and quote: nothing to check
``ungrounded`` the tree was looked at and does not hold it: shown, never agreed with
=============  ==================================================================================

White space is compared loosely (runs as one blank, blank lines left out), since reviewers re-indent.
A quote of fewer than four visible characters or two letters and digits (``)``, ``x=``) is found
everywhere and counts as none.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from prun_review.model import Finding, Findings
from prun_review.paths import Names, candidates, line_suffix, normalise_path, suspicious

if TYPE_CHECKING:  # the ground stands below the ports: it knows their types, never their code
    from prun_review.ports import Reader

MIN_VISIBLE = 4
MIN_WORD = 2

_WORD = re.compile(r"\w")
_GUTTER = re.compile(r"\s*\d+\s*[:|\t\u2192]\s?")
"""The line number that file viewers print before a line: ``  12\u2192text``, ``12: text``."""
_SEVERAL = re.compile(r"[,;]\s|\sand\s")
"""Between the paths of a finding that names several."""


def ground(
    findings: Iterable[Finding],
    read: Reader,
    *,
    names: Collection[str] | None = None,
    prefixes: Sequence[str] = (),
) -> Findings:
    """The same findings, in the same order, each with ``grounding``, ``note`` and a corrected place.

    ``names`` are the tree's regular files: with them a path is trusted only if it is one of them,
    and case differences and shortened paths are resolved.  ``prefixes`` are directories that
    reviewers may put before a path (snapshot, clone).
    """
    tree = _Tree(read, Names(names) if names is not None else None, tuple(prefixes))
    return Findings(_ground(finding, tree) for finding in findings)


class _Source:
    """The lines of a file, without blank ones, white space collapsed, as one searchable text."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.count = len(lines)
        self.numbers: list[int] = []
        self.offsets: list[int] = []
        kept: list[str] = []
        at = 0
        for number, line in enumerate(lines, 1):
            text = " ".join(line.split())
            if text:
                self.numbers.append(number)
                self.offsets.append(at)
                kept.append(text)
                at += len(text) + 1
        self.text = "\n".join(kept)

    def number(self, offset: int) -> int:
        """The line that the character at ``offset`` stands on."""
        return self.numbers[bisect_right(self.offsets, offset) - 1]

    def span(self, offset: int, needle: str) -> tuple[int, int]:
        """First and last line of ``needle`` at ``offset``."""
        return self.number(offset), self.number(offset + len(needle) - 1)

    def nearest(self, needle: str, line: int) -> tuple[int, int] | None:
        """First and last line of the occurrence nearest to ``line``; the earlier of two."""
        index = bisect_left(self.numbers, line)
        start = self.offsets[index] if index < len(self.offsets) else len(self.text)
        before = self.text.rfind(needle, 0, max(0, start - 1 + len(needle)))
        after = self.text.find(needle, start)
        spans = [self.span(at, needle) for at in (before, after) if at >= 0]
        return min(spans, key=lambda span: _gap(span, line), default=None)


def _gap(span: tuple[int, int], line: int) -> int:
    return max(span[0] - line, line - span[1], 0)


@dataclass
class _Tree:
    """The reviewed tree, each file read once."""

    read: Reader
    names: Names | None
    prefixes: tuple[str, ...]
    _sources: dict[str, _Source | str] = field(default_factory=dict)

    def source(self, path: str) -> _Source | str:
        """The file, or why it cannot be read."""
        if path not in self._sources:
            if self.names is not None and path not in self.names.exact:
                self._sources[path] = "it is not in the reviewed tree"
            else:
                lines = self.read(path)
                self._sources[path] = _Source(lines) if isinstance(lines, tuple) else lines.why
        return self._sources[path]

    def resolve(self, path: str) -> tuple[str, _Source] | str:
        """The file that ``path`` means and its lines, or why there is none."""
        why = ""
        for candidate in candidates(path, prefixes=self.prefixes, names=self.names):
            source = self.source(candidate)
            if isinstance(source, _Source):
                return candidate, source
            why = why or source
        return suspicious(normalise_path(path, prefixes=self.prefixes)) or why or "the path is empty"

    def guess(self, path: str) -> tuple[str, _Source] | None:
        """The file that ``path`` may be a shorter or longer name of."""
        plain = normalise_path(path, prefixes=self.prefixes)
        near = self.names.guess(plain) if self.names and not suspicious(plain) else None
        source = self.source(near) if near else ""
        return (near, source) if near and isinstance(source, _Source) else None


def _ground(finding: Finding, tree: _Tree) -> Finding:
    written = finding.file or ""
    if not written.strip():
        note = f"line {finding.line} without a file dropped" if finding.line is not None else ""
        return _as(replace(finding, file=None, line=None, end_line=None), "unlocated", note)
    needles = _needles(finding.quote)
    why = tree.resolve(written)
    for path, line, note in _readings(written):
        found = tree.resolve(path)
        if not isinstance(found, str):
            known = replace(
                finding, file=found[0], line=finding.line or line, note=_joined(finding.note, note)
            )
            return _place(known, found[1], needles)
    guess = tree.guess(line_suffix(written)[0])
    if guess and any(needle in guess[1].text for needle in needles):
        known = replace(finding, file=guess[0], note=_joined(finding.note, f"file was {written!r}"))
        return _place(known, guess[1], needles)
    plain = normalise_path(written, prefixes=tree.prefixes) or written
    return _as(replace(finding, file=plain), "ungrounded", f"cannot look into {plain!r}: {why}")


def _readings(written: str) -> Iterator[tuple[str, int | None, str]]:
    """What a file field can mean: a path, a path with a line, the first of several paths."""
    yield written, None, ""
    yield *line_suffix(written), ""
    parts = _SEVERAL.split(written)
    for part in parts if len(parts) > 1 else ():
        yield *line_suffix(part), f"file was {written!r}"


def _place(finding: Finding, source: _Source, needles: Sequence[str]) -> Finding:
    """Ground a finding whose file is there."""
    line = finding.line
    if not needles:
        short = f"the quote {finding.quote.strip()!r} is too short to tell" if finding.quote else ""
        if line is None:
            return _as(replace(finding, end_line=None), "unlocated", short)
        if not 1 <= line <= source.count:
            beyond = f"line {line} is beyond the end of the file ({source.count} lines)"
            return _as(finding, "ungrounded", _joined(short, beyond))
        return _as(_clamped(finding, source), "line-only", short)
    needle = next((n for n in needles if n in source.text), "")
    span = source.nearest(needle, line if line is not None else 1) if needle else None
    if span is None:
        return _as(finding, "ungrounded", f"the quote is not in {finding.file}")
    if line is None:
        many = source.text.count(needle)
        note = f"no line was given; the first of {many} places" if many > 1 else ""
        return _as(_at(finding, span, source), "moved" if many > 1 else "exact", note)
    if span[0] <= max(line, finding.end_line or line) and line <= span[1]:
        return _as(_clamped(finding, source), "exact", "")
    return _as(_at(finding, span, source), "moved", f"moved from line {line} to where the quote stands")


def _at(finding: Finding, span: tuple[int, int], source: _Source) -> Finding:
    """The finding at the place of its quote, as long as it was before, at least as long as the quote."""
    length = (finding.end_line or 0) - (finding.line or 0) if finding.line and finding.end_line else 0
    last = max(span[1], span[0] + length)
    several = last > span[0] or finding.end_line is not None
    return _clamped(replace(finding, line=span[0], end_line=last if several else None), source)


def _clamped(finding: Finding, source: _Source) -> Finding:
    if finding.end_line is None or finding.line is None:
        return finding
    return replace(finding, end_line=max(finding.line, min(finding.end_line, source.count)))


def _as(finding: Finding, grounding: str, note: str) -> Finding:
    return replace(finding, grounding=grounding, note=_joined(finding.note, note))


def _joined(*notes: str) -> str:
    return "; ".join(dict.fromkeys(n for n in notes if n))


def _needles(quote: str | None) -> tuple[str, ...]:
    """What to search for, the most literal reading first; empty where nothing usable is quoted."""
    lines = [line for line in re.split(r"\r\n?|\n", quote or "") if line.strip()]
    gutters = [_GUTTER.match(line) for line in lines]
    bare = [line.strip().strip("`") for line in lines if not line.lstrip().startswith("```")]
    readings = [lines, bare]
    if lines and all(gutters):
        readings.append([line[g.end() :] for line, g in zip(lines, gutters, strict=True) if g])
    made = ["\n".join(text for text in (" ".join(x.split()) for x in r) if text) for r in readings]
    return tuple(dict.fromkeys(text for text in made if _usable(text)))


def _usable(needle: str) -> bool:
    return len(re.sub(r"\s", "", needle)) >= MIN_VISIBLE and len(_WORD.findall(needle)) >= MIN_WORD
