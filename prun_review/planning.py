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

from prun_review.change import Listed
from prun_review.codec import encode
from prun_review.errors import BriefError, PlanError
from prun_review.model import Brief, NotAsked, Plan, Unit
from prun_review.patterns import matcher
from prun_review.policy import Policy
from prun_review.ports import Executor
from prun_review.slices import ASKABLE

UNMET = "unmet-needs"
"""Reason code of a proposal that no executor can be asked: such a plan is refused as a whole."""
UNTOUCHED = "untouched"
"""Reason code of a case that is about a change, and no file that it is about changed."""
NO_BASE = "no-base"
"""Reason code of a case that is about a change where no change is reviewed."""
OF_THE_CHANGE = (UNTOUCHED, NO_BASE)
"""Those that no mark of the item tells: pytest has to be told to skip it."""
DIFF_COVERAGE = 0.5
"""The least share of the files of a change that an answer must have examined, where nothing is configured."""
EXAMINED = 1.0
"""The share of the files that a question of the second wave names which an examiner must have read."""
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
    files: tuple[str, ...] = ()
    """With scope ``diff``: the changed files that it is about."""
    inlined: tuple[str, ...] = ()
    """Those of them whose diff the prompt holds."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What one process collected."""

    proposals: tuple[Proposal, ...]
    deselected: int = 0
    """Items that ``-k``, ``-m`` and the like took away."""


class Tree(Protocol):
    """What planning asks of the reviewed tree."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its files."""

    @property
    def base_names(self) -> tuple[str, ...]:
        """The files that a change starts from; none where no change is reviewed."""

    @property
    def listing(self) -> tuple[Listed, ...]:
        """The changed files."""

    def expand(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """The files that patterns name; ``BriefError`` for a pattern that names none."""

    def content_hash(self, names: Sequence[str]) -> str:
        """A digest of these files' content; of the whole tree when empty."""

    def slice_hash(self, names: Sequence[str]) -> str:
        """A digest of what the change does to these changed files, without any commit in it."""


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
    parts = [encode(replace(unit.brief, timeout=0.0)), *whose, content, unit.repeat, unit.coverage]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def make(
    proposals: Sequence[Proposal],
    tree: Tree,
    executors: Mapping[str, Executor],
    version: Callable[[str], str],
    *,
    policy: Callable[[str], Policy] = lambda folder: Policy(),
    about: str = "",
) -> tuple[Plan, dict[str, str]]:
    """The plan, and for units whose brief is broken the reason by unit id.

    ``policy`` gives that of a panels folder; ``about`` is what is told of a change beside its diff.
    ``PlanError`` where a probe needs what no executor declares: nothing is dispatched at all, since
    asking the others first would spend on a run that cannot become whole.  Two items of one id
    (``--count``) are two units of different repeats, never one result for two.
    """
    _refuse_unmet([p for p in proposals if p.not_asked == UNMET])
    planner = _Planner(tree, executors, version, policy, about)
    units: list[Unit] = []
    broken: dict[str, str] = {}
    not_asked: list[NotAsked] = []
    for p in proposals:
        made, error = planner.take(p)
        if isinstance(made, NotAsked):
            not_asked.append(made)
            continue
        units.append(made)
        if error:
            broken[made.id] = error
    return Plan(tuple(units), tuple(not_asked)), broken


def complete(
    units: Sequence[Unit],
    tree: Tree,
    executors: Mapping[str, Executor],
    version: Callable[[str], str],
    *,
    timeout: float,
    about: str = "",
) -> tuple[Unit, ...]:
    """The units of a second wave as they will be dispatched, with what those of a plan have.

    Their ``reads`` are names of files and no patterns.  An examiner follows a claim wherever it leads,
    so the content that its answer depends on is the whole tree; about a change both whole trees, which are
    the head and what the change does to every file.  It must have read all that it is asked about.
    """
    planner = _Planner(tree, executors, version, lambda folder: Policy(), about)
    both = f"{tree.content_hash(())} {tree.slice_hash([e.path for e in tree.listing])}"
    there, changed = set(tree.names), {e.path: e.size for e in tree.listing if e.kind in ASKABLE}

    def completed(unit: Unit) -> Unit:
        brief = replace(unit.brief, timeout=timeout)
        diff = brief.scope == "diff"
        files = tuple(sorted(name for name in brief.reads if name in (changed if diff else there)))
        inlined = _fitting(files, changed, brief.max_diff) if diff else ()
        whole = replace(unit, brief=brief, files=files, inlined=inlined, coverage=EXAMINED)
        content = planner.content(replace(whole, brief=replace(brief, reads=())))
        if diff:
            content = f"{content} {both}"
        mark = fingerprint(whole, executors[unit.executor], version(unit.executor), content)
        return replace(whole, fingerprint=mark)

    return tuple(map(completed, units))


def _fitting(names: Sequence[str], sizes: Mapping[str, int], room: int) -> tuple[str, ...]:
    """Those whose diffs fit into so many characters together, taken in their order."""
    taken = []
    for name in names:
        if sizes[name] <= room:
            taken.append(name)
            room -= sizes[name]
    return tuple(taken)


def skipped(plan: Plan) -> dict[str, str]:
    """The ids of the items that pytest has to be told to skip, with the reason in words."""
    return {left.id: left.text for left in plan.not_asked if left.reason in OF_THE_CHANGE}


@dataclass(frozen=True)
class _Planner:
    """What all proposals of a run are planned with."""

    tree: Tree
    executors: Mapping[str, Executor]
    version: Callable[[str], str]
    policy: Callable[[str], Policy]
    about: str

    def take(self, p: Proposal) -> tuple[Unit | NotAsked, str]:
        """What a proposal becomes, and why its brief is broken."""
        executor = self.executors.get(p.executor)
        unit = Unit(p.id, slug_of(p.id), p.case, p.folder, p.executor, p.brief, p.place, p.repeat)
        error = p.error
        try:
            # A pattern with a typo in it touches nothing either, and must not pass for that reason.
            if p.brief.scope == "diff" and p.not_asked in ("", UNTOUCHED) and not error:
                _check_reads(p.brief.reads, self.tree)
            if p.not_asked:
                return _left_out(p, p.not_asked, p.text), ""
            if not error:
                unit = self._with_files(unit, p, executor)
        except BriefError as found:
            error = str(found)
        if executor is None:
            return unit, error or _unknown(p.executor, self.executors)
        if unit.brief.scope == "diff" and not unit.files and not error:
            text = f"no file that ends with {executor.suffix} is left of what changed"
            return _left_out(p, UNTOUCHED, text), ""
        content = self.content(unit)
        return replace(
            unit, fingerprint=fingerprint(unit, executor, self.version(p.executor), content)
        ), error

    def _with_files(self, unit: Unit, p: Proposal, executor: Executor | None) -> Unit:
        """The unit with what it is about, and how much of that its answer must have looked at."""
        agent = executor is None or executor.paid
        if unit.brief.scope == "tree":
            # An analyser gets a file list always; an agent finds the files itself.
            files = self.tree.expand(unit.brief.reads) if unit.brief.reads or agent else self.tree.names
            return replace(unit, files=files, coverage=self._coverage(unit, 0.0) if agent else 0.0)
        if agent:
            least = self._coverage(unit, DIFF_COVERAGE)
            return replace(unit, files=p.files, inlined=p.inlined, coverage=least)
        there = set(self.tree.names)
        suffix = executor.suffix if executor else ""
        return replace(unit, files=tuple(f for f in p.files if f in there and f.endswith(suffix)))

    def _coverage(self, unit: Unit, default: float) -> float:
        if unit.brief.contract.kind != "findings":
            return 0.0
        wanted = self.policy(unit.folder).min_coverage
        return default if wanted < 0 else wanted

    def content(self, unit: Unit) -> str:
        """A digest of what the unit is about; of one that writes code all that it may build upon."""
        if unit.brief.mode == "write":
            return self.tree.content_hash(())
        if unit.brief.scope != "diff":
            return self.tree.content_hash(unit.files if unit.brief.reads else ())
        told = hashlib.sha256(self.about.encode(errors="surrogatepass")).hexdigest()
        return f"{self.tree.slice_hash(unit.files)} {told}"


def _left_out(p: Proposal, reason: str, text: str) -> NotAsked:
    return NotAsked(p.id, p.case, p.folder, p.executor, reason, text)


def _check_reads(reads: Sequence[str], tree: Tree) -> None:
    """``BriefError`` for a pattern that names no file, neither before the change nor after it."""
    for pattern in reads:
        named = matcher([pattern])
        before = (entry.path for entry in tree.listing)
        if not any(map(named, (*before, *tree.base_names))):
            tree.expand([pattern])


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
