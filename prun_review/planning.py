"""From what was collected to what will be dispatched.

A :class:`Proposal` is one pytest item as data, so that it can cross from an xdist worker to the
controller in a file.  :func:`make` turns proposals into a :class:`~prun_review.model.Plan`: it looks
up the files that each brief reads and takes the fingerprint, after which a dispatch needs nothing
from the probe file any more.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from prun_review.codec import encode
from prun_review.errors import BriefError, PlanError
from prun_review.model import Brief, NotAsked, Plan, Unit
from prun_review.ports import Executor

UNMET = "unmet-needs"
"""Reason code of a proposal that no executor can be asked: such a plan is refused as a whole."""
MOST_TOLD = 5
"""Cases named in the error about such a plan."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One collected item: a unit to be, or the reason why it is not asked."""

    id: str
    case: str
    folder: str
    executor: str
    repeat: int = 1
    place: str = ""
    brief: Brief = field(default_factory=lambda: Brief(""))
    error: str = ""
    """Why the brief could not be built; the unit then fails alone."""
    not_asked: str = ""
    """Reason code where the item is not put to anybody."""
    text: str = ""
    """The reason in words."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What one process collected."""

    proposals: tuple[Proposal, ...]
    deselected: int = 0
    """Items that ``-k``, ``-m`` and the like took away."""


class Tree(Protocol):
    """What planning asks of the reviewed tree."""

    names: tuple[str, ...]
    """Its files."""

    def expand(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """The files that patterns name; ``BriefError`` for a pattern that names none."""

    def content_hash(self, names: Sequence[str]) -> str:
        """A digest of these files' content; of the whole tree when empty."""


def slug_of(unit_id: str) -> str:
    """A name made of ``[A-Za-z0-9_-]`` for a node id: readable, short, and unique by its hash."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", unit_id.rpartition("/")[2].replace(".py", "")).strip("-")
    return f"{readable[:60]}-{hashlib.sha256(unit_id.encode(errors='surrogatepass')).hexdigest()[:8]}"


def fingerprint(unit: Unit, executor: Executor, version: str, content: str) -> str:
    """sha256 over everything that an answer depends on, and over whose it is: a changed one is never
    reused.  An answer that one vendor gave is no second voice once its table names another.

    The time limit is no part of it: who raises it and resumes keeps what was answered in time.
    """
    whose = [unit.executor, executor.vendor, executor.lineage, executor.identity, version]
    parts = [encode(replace(unit.brief, timeout=0.0)), *whose, content, unit.repeat]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def make(
    proposals: Sequence[Proposal],
    tree: Tree,
    executors: Mapping[str, Executor],
    version: Callable[[str], str],
) -> tuple[Plan, dict[str, str]]:
    """The plan, and for units whose brief is broken the reason by unit id.

    ``PlanError`` where a probe needs what no executor declares: nothing is dispatched at all, since
    asking the others first would spend on a run that cannot become whole.  Two items of one id
    (``--count``) are two units of different repeats, never one result for two.
    """
    _refuse_unmet([p for p in proposals if p.not_asked == UNMET])
    units: list[Unit] = []
    broken: dict[str, str] = {}
    not_asked: list[NotAsked] = []
    for p in proposals:
        if p.not_asked:
            not_asked.append(NotAsked(p.id, p.case, p.folder, p.executor, p.not_asked, p.text))
            continue
        unit = Unit(p.id, slug_of(p.id), p.case, p.folder, p.executor, p.brief, p.place, p.repeat)
        executor = executors.get(p.executor)
        if p.error:
            broken[unit.id] = p.error
        else:
            try:
                unit = replace(unit, files=_files(unit, tree, executor))
            except BriefError as error:
                broken[unit.id] = str(error)
        if executor is None:
            broken.setdefault(unit.id, _unknown(p.executor, executors))
        else:
            content = tree.content_hash(unit.files if p.brief.reads else ())
            unit = replace(unit, fingerprint=fingerprint(unit, executor, version(p.executor), content))
        units.append(unit)
    return Plan(tuple(units), tuple(not_asked)), broken


def _unknown(name: str, executors: Collection[str]) -> str:
    near = difflib.get_close_matches(name, executors, 1)
    known = f"did you mean {near[0]!r}?" if near else f"known executors: {', '.join(sorted(executors))}"
    return f"unknown executor {name!r}: {known}"


def _refuse_unmet(unmet: Sequence[Proposal]) -> None:
    if unmet:
        told = "; ".join(f"{p.case} ({p.place}) {p.text}" for p in unmet[:MOST_TOLD])
        more = f"; and {len(unmet) - MOST_TOLD} more" if len(unmet) > MOST_TOLD else ""
        raise PlanError(
            f"{told}{more}",
            remedy="declare it in the table of an executor that has it:"
            ' [tool.prun_review.executor.NAME] provides = ["..."]',
        )


def _files(unit: Unit, tree: Tree, executor: Executor | None) -> tuple[str, ...]:
    """What ``reads`` names.  An analyser gets a file list always; an agent finds the files itself."""
    if unit.brief.reads or executor is None or executor.paid:
        return tree.expand(unit.brief.reads)
    return tree.names
