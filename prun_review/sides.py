"""Findings about a change against both of its trees: which side holds the quote, and where.

:mod:`prun_review.grounding` is the door and says what the words mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from prun_review.change import Change
from prun_review.guessing import module, modules, spellings
from prun_review.located import Tree, clamped, joined, nowhere, readings, shifted, told, too_short
from prun_review.model import Finding, Place
from prun_review.paths import Names, candidates, line_suffix, normalise_path, suspicious
from prun_review.quotes import Needle, Source, Span, gap, needles, touches

_OTHER = {"new": "old", "old": "new"}
_PRE_IMAGES = "/base/"


@dataclass(frozen=True)
class _Spot:
    """A file on one side in which a quote may stand."""

    side: str
    path: str
    source: Source
    changed: frozenset[int]
    """Its lines that are no line of the other side."""


@dataclass(frozen=True)
class _Hit:
    """One place of a quote; the least :attr:`key` is the one that is meant."""

    key: tuple[bool, bool, int, int, int]
    spot: _Spot
    span: Span
    fits: bool
    """The finding's lines stand on it."""


@dataclass(frozen=True)
class Sides:
    """Both trees of a change."""

    new: Tree
    old: Tree
    change: Change
    beside: str
    """The directory that holds the pre-images below ``base/``; empty: unknown."""

    def tree(self, side: str) -> Tree:
        """The tree of a side."""
        return self.old if side == "old" else self.new

    def spots(self, path: str, side: str) -> list[_Spot]:
        """The files that ``path`` means, on the named ``side`` first; the most literal name decides."""
        for name in candidates(path, prefixes=self.new.prefixes, names=self.every_name):
            found: dict[tuple[str, str], _Spot] = {}
            for at in (side, _OTHER[side]):
                here = self.tree(at).source(name)
                if isinstance(here, str):
                    continue
                self._add(found, at, name, here)
                changed = self.change.at(name, at)
                if changed is None:  # the same on both sides, so that one look is enough
                    break
                partner = changed.path if at == "old" else changed.old_path
                there = self.tree(_OTHER[at]).source(partner) if partner else ""
                if isinstance(there, Source):
                    self._add(found, _OTHER[at], partner, there)
            if found:
                return sorted(found.values(), key=lambda spot: spot.side != side)
        return []

    def _add(self, found: dict[tuple[str, str], _Spot], side: str, path: str, source: Source) -> None:
        file = self.change.at(path, side)
        if file is None:
            changed = frozenset[int]()
        elif file.file.status in ("added", "deleted"):
            changed = frozenset(range(1, source.count + 1))
        else:
            changed = file.deleted if side == "old" else file.added
        found.setdefault((side, path), _Spot(side, path, source, changed))

    def pre_image(self, path: str) -> str:
        """The name in the base of a path below the pre-images; empty for any other."""
        plain = normalise_path(path)
        below = normalise_path(self.beside).rstrip("/") + _PRE_IMAGES
        return plain.removeprefix(below) if self.beside and plain.startswith(below) else ""

    def pre_image_guesses(self, path: str) -> Iterator[str]:
        """What a path may mean that leads to the pre-images by another way."""
        plain = "/" + normalise_path(path)
        at = plain.find(_PRE_IMAGES)
        while at >= 0:
            yield plain[at + len(_PRE_IMAGES) :]
            at = plain.find(_PRE_IMAGES, at + 1)

    @cached_property
    def every_name(self) -> Names | None:
        """The names of both trees; None where one is not told."""
        if self.new.names is None or self.old.names is None:
            return None
        return Names(self.new.names.exact | self.old.names.exact)

    @cached_property
    def guessable(self) -> Names | None:
        """The same, a renamed file under its new name only."""
        renamed = {f.old_path for f in self.change.files if f.file.status == "renamed"}
        return Names(self.every_name.exact - renamed) if self.every_name else None

    @cached_property
    def changed_names(self) -> Names:
        """The names of all changed files on both sides, also those that nobody can read."""
        return Names({name for f in self.change.files for name in (f.path, f.old_path) if name})

    def unread(self, path: str, side: str) -> tuple[str, str] | None:
        """Side (the named one, if it can be) and name of a changed file that is no readable text."""
        for candidate in candidates(path, prefixes=self.new.prefixes, names=self.changed_names):
            for at in (side, _OTHER[side]):
                if self.change.at(candidate, at):
                    return at, candidate
        return None

    def spelled(self, cause: Place) -> Place:
        """A cause with its file as one of the trees spells it, by a guess where no other way tells."""
        for path, line, _ in readings(cause.file):
            path = self.pre_image(path) or path
            for candidate in candidates(path, prefixes=self.new.prefixes, names=self.every_name):
                known = candidate in self.changed_names.exact or any(
                    isinstance(tree.source(candidate), Source) for tree in (self.new, self.old)
                )
                if known:
                    return replace(cause, file=candidate, line=cause.line or line)
        guesses = list(spellings(cause.file))
        for guess in (self._changed_guess, self._any_guess):  # the change first: in doubt a finding gates
            for path, line in guesses:
                if near := guess(path):
                    return replace(cause, file=near, line=cause.line or line)
        return replace(cause, file=normalise_path(cause.file, prefixes=self.new.prefixes))

    def _changed_guess(self, path: str) -> str | None:
        exact = path if path in self.changed_names.exact else self.changed_names.guess(path)
        return exact or module(path, self._modules)

    def _any_guess(self, path: str) -> str | None:
        names = self.every_name
        return None if names is None else path if path in names.exact else names.guess(path)

    @cached_property
    def _modules(self) -> Mapping[str, Sequence[str]]:
        return modules(self.changed_names.exact)


def ground_in_change(finding: Finding, sides: Sides) -> Finding:
    """One finding with ``grounding``, ``note``, ``side``, a corrected place and its cause as spelled."""
    if finding.cause is not None:
        finding = replace(finding, cause=sides.spelled(finding.cause))
    written = finding.file or ""
    if not written.strip():
        return nowhere(finding)
    wanted = needles(finding.quote, diff=True)
    for path, line, note in readings(written):
        below = sides.pre_image(path)
        claimed = "old" if below else finding.side
        spots = sides.spots(below or path, claimed or "new")
        if spots:
            known = replace(finding, side=claimed, line=finding.line or line, note=joined(finding.note, note))
            return _settled(known, spots, wanted)
    return _guessed(finding, sides, wanted) or _unknown(finding, sides)


def _guessed(finding: Finding, sides: Sides, wanted: Sequence[Needle]) -> Finding | None:
    """A finding whose path is nearly one of a tree: only its quote can prove it."""
    written = finding.file or ""
    path, line = line_suffix(written)
    plain = normalise_path(path, prefixes=sides.new.prefixes)
    near = sides.guessable.guess(plain) if sides.guessable and not suspicious(plain) else None
    guesses = [(near, finding.side or "new")] if near else []
    guesses += [(guess, "old") for guess in sides.pre_image_guesses(path)]
    for name, side in guesses:
        spots = sides.spots(name, side)
        known = replace(finding, side=side, line=finding.line or line)
        if _hits(known, spots, wanted):
            return _settled(replace(known, note=joined(finding.note, f"file was {written!r}")), spots, wanted)
    return None


def _unknown(finding: Finding, sides: Sides) -> Finding:
    """A finding in a file that no side can show."""
    written = finding.file or ""
    side = finding.side or "new"
    why = sides.tree(side).resolve(written)
    for path, line, _ in readings(written):
        below = sides.pre_image(path)
        found = sides.unread(below or path, "old" if below else side)
        if found:
            at, name = found
            known = replace(finding, side=at, file=name, line=finding.line or line)
            return told(known, "ungrounded", f"cannot look into {name!r}: {sides.tree(at).resolve(name)}")
    plain = normalise_path(written, prefixes=sides.new.prefixes) or written
    return told(replace(finding, file=plain), "ungrounded", f"cannot look into {plain!r}: {why}")


def _settled(finding: Finding, spots: Sequence[_Spot], wanted: Sequence[Needle]) -> Finding:
    """Ground a finding whose file is there; ``finding.side`` is what was said of it."""
    if not wanted:
        return _by_line(finding, spots)
    hits = _hits(finding, spots, wanted)
    if not hits:
        at = _on(finding, spots[0])
        return told(at, "ungrounded", f"the quote is not in {at.file}, on neither side of the change")
    hit = min(hits, key=lambda hit: hit.key)
    known = _on(finding, hit.spot)
    notes = [joined(known.note, _side_note(finding, hit.spot))]
    line = finding.line
    known = replace(known, note=notes[0])
    if line is None:
        many = len({(h.spot.side, h.span) for h in hits if h.spot is hit.spot})
        note = f"no line was given; one of {many} places" if many > 1 else ""
        return told(shifted(known, hit.span, hit.spot.source), "moved" if many > 1 else "exact", note)
    if hit.fits:
        return told(clamped(known, hit.spot.source), "exact")
    moved = f"moved from line {line} to where the quote stands"
    return told(shifted(known, hit.span, hit.spot.source), "moved", moved)


def _hits(finding: Finding, spots: Sequence[_Spot], wanted: Sequence[Needle]) -> list[_Hit]:
    """Where the most literal reading of the quote that stands anywhere stands."""
    line = finding.line if finding.line is not None else 1
    last = max(line, finding.end_line or line)
    for needle in wanted:
        hits = []
        for order, spot in enumerate(spots):
            text = needle.on(spot.side)
            for span in spot.source.spans(text, line) if text else ():
                fits = finding.line is not None and span[0] <= last and line <= span[1]
                key = (
                    not (fits and order == 0),
                    not touches(spot.changed, span),
                    order,
                    gap(span, line),
                    span[0],
                )
                hits.append(_Hit(key, spot, span, fits))
        if hits:
            return hits
    return []


def _by_line(finding: Finding, spots: Sequence[_Spot]) -> Finding:
    """Ground a finding that quotes nothing: on the first side that has such a line."""
    short = too_short(finding)
    line = finding.line
    if line is None:
        return told(replace(_on(finding, spots[0]), end_line=None), "unlocated", short)
    for spot in spots:
        if 1 <= line <= spot.source.count:
            at = clamped(_on(finding, spot), spot.source)
            return told(at, "line-only", short, _side_note(finding, spot))
    counts = " and ".join(f"{spot.source.count} on the {spot.side} side" for spot in spots)
    beyond = f"line {line} is beyond the end of the file (lines: {counts})"
    return told(_on(finding, spots[0]), "ungrounded", short, beyond)


def _on(finding: Finding, spot: _Spot) -> Finding:
    return replace(finding, side=spot.side, file=spot.path)


def _side_note(finding: Finding, spot: _Spot) -> str:
    """Says where the side is not the one that the finding named."""
    if spot.side == (finding.side or "new"):
        return ""
    return f"it stands on the {spot.side} side of the change"
