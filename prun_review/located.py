"""What grounding in one tree and in a change share: files by the names that reviewers write, and places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from prun_review.model import Finding
from prun_review.paths import Names, candidates, line_suffix, normalise_path, suspicious
from prun_review.quotes import Source, Span

if TYPE_CHECKING:  # the ground stands below the ports: it knows their types, never their code
    from prun_review.ports import Reader

_SEVERAL = re.compile(r"[,;]\s|\sand\s")
"""Between the paths of a finding that names several."""


@dataclass
class Tree:
    """One tree, each file read once."""

    read: Reader
    names: Names | None
    """Its regular files; None: whatever can be read is one."""
    prefixes: tuple[str, ...]
    """Directories that reviewers may put before a path."""
    _sources: dict[str, Source | str] = field(default_factory=dict)

    def source(self, path: str) -> Source | str:
        """The file, or why it cannot be read."""
        if path not in self._sources:
            if self.names is not None and path not in self.names.exact:
                self._sources[path] = "it is not in the reviewed tree"
            else:
                lines = self.read(path)
                self._sources[path] = Source(lines) if isinstance(lines, tuple) else lines.why
        return self._sources[path]

    def resolve(self, path: str) -> tuple[str, Source] | str:
        """The file that ``path`` means and its lines, or why there is none."""
        why = ""
        for candidate in candidates(path, prefixes=self.prefixes, names=self.names):
            source = self.source(candidate)
            if isinstance(source, Source):
                return candidate, source
            why = why or source
        return suspicious(normalise_path(path, prefixes=self.prefixes)) or why or "the path is empty"

    def guess(self, path: str) -> tuple[str, Source] | None:
        """The file that ``path`` may be a shorter or longer name of."""
        plain = normalise_path(path, prefixes=self.prefixes)
        near = self.names.guess(plain) if self.names and not suspicious(plain) else None
        source = self.source(near) if near else ""
        return (near, source) if near and isinstance(source, Source) else None


def readings(written: str) -> Iterator[tuple[str, int | None, str]]:
    """What a file field can mean: a path, a path with a line, the first of several paths."""
    yield written, None, ""
    yield *line_suffix(written), ""
    parts = _SEVERAL.split(written)
    for part in parts if len(parts) > 1 else ():
        yield *line_suffix(part), f"file was {written!r}"


def nowhere(finding: Finding) -> Finding:
    """A finding that names no file."""
    note = f"line {finding.line} without a file dropped" if finding.line is not None else ""
    return told(replace(finding, file=None, line=None, end_line=None), "unlocated", note)


def shifted(finding: Finding, span: Span, source: Source) -> Finding:
    """The finding at the place of its quote, as long as it was before, at least as long as the quote."""
    length = (finding.end_line or 0) - (finding.line or 0) if finding.line and finding.end_line else 0
    last = max(span[1], span[0] + length)
    several = last > span[0] or finding.end_line is not None
    return clamped(replace(finding, line=span[0], end_line=last if several else None), source)


def clamped(finding: Finding, source: Source) -> Finding:
    """The finding with an end inside its file and not before its line."""
    if finding.end_line is None or finding.line is None:
        return finding
    return replace(finding, end_line=max(finding.line, min(finding.end_line, source.count)))


def told(finding: Finding, grounding: str, *notes: str) -> Finding:
    """The finding with how it stands to the tree, and why."""
    return replace(finding, grounding=grounding, note=joined(finding.note, *notes))


def joined(*notes: str) -> str:
    """Notes as one, each once."""
    return "; ".join(dict.fromkeys(n for n in notes if n))


def too_short(finding: Finding) -> str:
    """A note for a quote that is none."""
    return f"the quote {finding.quote.strip()!r} is too short to tell" if finding.quote else ""
