"""What was known before a run began: the baseline file and acceptances, placed in the reviewed tree.

Both are the trusted root's word.  Where its own work tree is the head, what the change makes of them does
not count: the base has the word, and a baseline that only the change brings waits until it is merged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from prun_review import baseline, files
from prun_review.baseline import MAKE, MOST_BYTES, Baseline
from prun_review.config import PLACE, Config
from prun_review.errors import ConfigError
from prun_review.grounding import ground
from prun_review.model import Acceptance, Finding, Known
from prun_review.ports import Reader
from prun_review.sameness import HERE, NEAR, REPEATED
from prun_review.settling import GONE


class Tree(Protocol):
    """What is asked of the reviewed tree."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its ordinary files."""

    @property
    def left_out(self) -> Mapping[str, str]:
        """What is no part of it, and why."""

    @property
    def read(self) -> Reader:
        """Reads them."""

    def trusted_text(self, name: str) -> str | None:
        """A file of the trusted root as the tip of the base has it; None where it has none."""

    def brings(self, name: str) -> bool:
        """Whether a file of the trusted root is what the change makes of it."""

    def renamed_since(self, commit: str) -> Mapping[str, str] | None:
        """Old name -> new name since a commit; None where it is not at hand."""


class Remembered(NamedTuple):
    """What was known before."""

    known: tuple[Known, ...] = ()
    acceptances: tuple[Acceptance, ...] = ()
    notes: tuple[str, ...] = ()
    """For people."""


def remembered(config: Config, root: Path, tree: Tree, acceptances: Sequence[Acceptance]) -> Remembered:
    """The entries of the run's baseline, and the acceptances, with their places in this tree.

    ``ConfigError`` where the baseline cannot be read, or not be understood as a whole.
    """
    found, notes = _baseline(config, root, tree)
    places = _Places(tree)
    for known in found.entries:
        places.want(found.commit, known.finding, *known.also)
    for accepted in acceptances:
        if accepted.finding:
            places.want(accepted.commit, accepted.finding, *accepted.also)
    places.look()
    entries = []
    for known in found.entries:
        lead, note = places.of(found.commit, known.finding)
        also = tuple(places.of(found.commit, f)[0] for f in known.also)
        entries.append(replace(known, finding=lead, also=also, note=note))
    placed = []
    for one in acceptances:
        if one.finding:
            lead, note = places.of(one.commit, one.finding)
            also = tuple(places.of(one.commit, f)[0] for f in one.also)
            one = replace(one, finding=lead, also=also, note=note)
        placed.append(one)
    return Remembered(tuple(entries), tuple(placed), (*notes, *places.notes))


# --- reading ----------------------------------------------------------------------------------


def name_of(config: Config, root: Path) -> str:
    """The baseline relative to the trusted root; empty where there is none."""
    if not config.baseline:
        return ""
    path = os.path.normpath(root / config.baseline)
    name = os.path.relpath(path, root)
    if name.startswith("..") and not os.path.islink(path):  # the same folder may have two names
        name = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
    return name


def guarded(config: Config, root: Path) -> tuple[str, ...]:
    """The baseline as a pattern of files that change the review; nothing where there is none."""
    name = name_of(config, root)
    return (name,) if name else ()


def check(config: Config, root: Path) -> None:
    """``ConfigError`` where the baseline would not be a file of the trusted root."""
    name = name_of(config, root)
    why = ""
    if name == "." or name.split("/")[0] == "..":
        why = "outside of the trusted root"
    elif name and config.head and (root / config.head).is_dir():
        head = (root / config.head).resolve()
        why = "in the reviewed head" if (root / name).resolve().is_relative_to(head) else ""
    if why:
        raise ConfigError(
            f"the baseline {config.baseline!r} lies {why}, where its author is not trusted",
            place=f"baseline in {PLACE}, or --prun-baseline",
            remedy=f"a file of the project, below {root}",
        )


def _baseline(config: Config, root: Path, tree: Tree) -> tuple[Baseline, list[str]]:
    name = name_of(config, root)
    if not name:
        return Baseline(()), []
    if config.base and not config.head:
        text = tree.trusted_text(name)
        if text is not None:
            if len(text) > MOST_BYTES:
                raise _unreadable(f"larger than {MOST_BYTES >> 20} MiB", f"{name} of {config.base}")
            return baseline.parse(text, f"{name} of {config.base}"), []
        if tree.brings(name):
            return Baseline(()), [f"the baseline {name} is new in this change: it counts once it is merged"]
    found = files.take_regular(root, name, MOST_BYTES)
    if found.refused and not found.note:
        raise ConfigError(
            "there is no such baseline",
            place=str(root / name),
            remedy="prun-review baseline RUN -o FILE makes one",
        )
    try:
        text, why = found.data.decode(), found.note
    except UnicodeDecodeError:
        text, why = "", "not UTF-8"
    if why:
        raise _unreadable(why, str(root / name))
    return baseline.parse(text, name), []


def _unreadable(why: str, place: str) -> ConfigError:
    remedy = f"an ordinary file that no link leads to; {MAKE}"
    return ConfigError(f"the baseline cannot be read: {why}", place=place, remedy=remedy)


# --- places -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Moved:
    finding: Finding
    note: str


class _Places:
    """Where stored findings stand now: their files under the names that these have now, their lines where
    the quote is, and as grounding whether it stands there once, several times (and still where it was) or
    no more.  All are looked
    up together, because each file is read through git."""

    def __init__(self, tree: Tree) -> None:
        self.notes: list[str] = []
        self._tree = tree
        self._names = frozenset(tree.names)
        self._renames: dict[str, Mapping[str, str]] = {}
        self._wanted: dict[tuple[str, Finding], _Moved] = {}

    def want(self, commit: str, *findings: Finding) -> None:
        for finding in findings:
            if (commit, finding) not in self._wanted:
                self._wanted[commit, finding] = self._moved(commit, finding)

    def of(self, commit: str, finding: Finding) -> tuple[Finding, str]:
        found = self._wanted[commit, finding]
        return found.finding, found.note

    def look(self) -> None:
        """Correct the lines of what is wanted, and see what became of the quotes."""
        quoted = {
            key: moved
            for key, moved in self._wanted.items()
            if moved.finding.quote and moved.finding.side != "old" and moved.finding.file in self._names
        }
        here = [m.finding for m in quoted.values()]
        # Without a line a quote is grounded by how often it stands there: once, several times, not at all.
        counted = [replace(f, line=None, end_line=None) for f in here]
        found = ground([*here, *counted], self._tree.read, names=self._names)
        for n, (key, moved) in enumerate(quoted.items()):
            grounding, line = found[len(here) + n].grounding, found[n].line
            if grounding == REPEATED and line and abs(line - (moved.finding.line or line)) <= NEAR:
                grounding = HERE
            placed = replace(moved.finding, line=line, grounding=grounding)
            self._wanted[key] = _Moved(placed, moved.note)

    def _moved(self, commit: str, finding: Finding) -> _Moved:
        name = finding.file
        if name is None or name in self._names or name in self._tree.left_out:
            return _Moved(finding, "")
        now = self._since(commit).get(name) if commit else None
        if now:
            return _Moved(replace(finding, file=now), f"renamed from {name}")
        return _Moved(finding, GONE)

    def _since(self, commit: str) -> Mapping[str, str]:
        if commit not in self._renames:
            found = self._tree.renamed_since(commit)
            if found is None:
                self.notes.append(
                    f"commit {commit[:12]}, which known findings are of, is not in the repository: files "
                    "that were renamed since are not followed"
                )
            self._renames[commit] = found or {}
        return self._renames[commit]
