"""The second wave of a run: what is asked about its findings once every unit has its result.

What is asked, and what follows, :mod:`prun_review.crossexam` says; here it goes through the same pool,
brakes, store and guards as the first wave.  Its units are no items of pytest and no units of the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prun_review import crossexam
from prun_review.brakes import Brakes
from prun_review.config import Config
from prun_review.folding import Same
from prun_review.head import Head
from prun_review.model import Plan, Result, RunFacts, Unit
from prun_review.ports import Executor
from prun_review.replay import Replay
from prun_review.reporting import announcement
from prun_review.resume import take_over
from prun_review.rulings import Examination, LeftOut, Question
from prun_review.rundir import RunDir
from prun_review.verdict import number, some

LATE = f"round {crossexam.ROUNDS} was the last"
"""Why a question is left out that came up after it."""


@dataclass(frozen=True)
class Means:
    """What the run gives its second wave."""

    root: Path
    config: Config
    executors: dict[str, Executor]
    """By name, those that a unit of the plan was meant for."""
    head: Head
    store: RunDir
    brakes: Brakes
    version: Callable[[str], str]
    """Executor name -> its version, part of the fingerprint."""
    same: Same | None
    replay: Replay | None
    refused: dict[str, tuple[str, str]]
    """The dispatcher's: unit id -> (reason code, text) of units that are not dispatched."""
    adopt: Callable[[Sequence[Result], bool], None]
    """Takes results that are not asked for; True: they stand in this run's store already."""
    record: Callable[[Sequence[Unit]], None]
    """Puts on disk what goes to whom with these units."""
    start: Callable[[Sequence[Unit]], None]
    """Hands units to the pool."""


class SecondWave:
    """Asks round by round; its results are handed in as they come."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._questions: tuple[Question, ...] = ()
        self._units: dict[str, Unit] = {}
        self._results: dict[str, Result] = {}
        self._left_out: tuple[LeftOut, ...] = ()
        self._rounds = 0
        self.runs: tuple[str, ...] = ()
        """Ids of earlier runs that answers were taken over from."""

    # --- how it stands ----------------------------------------------------------------------

    @property
    def examination(self) -> Examination:
        """All that was asked, and what came back so far."""
        units = tuple(self._units.values())
        results = tuple(self._results[u.id] for u in units if u.id in self._results)
        return Examination(self._questions, Plan(units), results, self._left_out)

    @property
    def units(self) -> Sequence[Unit]:
        """All that it asked so far."""
        return tuple(self._units.values())

    @property
    def open(self) -> Sequence[Unit]:
        """Its units without a terminal result."""
        return [unit for name, unit in self._units.items() if name not in self._results]

    def owns(self, unit: str) -> bool:
        """Whether the unit of this id is one of its own."""
        return unit in self._units

    def take(self, result: Result) -> None:
        """The terminal result of one of its units."""
        self._results[result.unit] = result

    # --- asking -----------------------------------------------------------------------------

    def ask(self, facts: RunFacts, plan: Plan, results: Iterable[Result], say: Callable[[str], None]) -> bool:
        """Begin the next round, given all results so far; False where nothing more is asked.

        ``say`` is told what goes to whom before it goes.  ``PrunError`` where that cannot be put on disk.
        """
        found = self._next(facts, plan, list(results))
        units = self._means.head.complete(found.units, self._means.version)
        asked = (*self._questions, *found.questions)
        if units or found.left_out != self._left_out:
            whole = Examination(asked, Plan((*self.units, *units)), left_out=found.left_out)
            self._means.store.write_examination(whole)
        news = bool(found.left_out) and found.left_out != self._left_out
        self._questions, self._left_out = asked, found.left_out
        self._units |= {unit.id: unit for unit in units}
        if units:
            self._begin(units, say)
        elif news:
            say(f"cross-examination: {self._told_left_out()}")
        return bool(units)

    def _next(self, facts: RunFacts, plan: Plan, results: Sequence[Result]) -> crossexam.Round:
        means = self._means
        found = crossexam.ask(
            facts,
            plan,
            results,
            self.examination,
            contracts={name: executor.contracts for name, executor in means.executors.items()},
            mode=means.config.cross_examine,
            limit=means.config.examine_limit,
            same=means.same,
        )
        self._rounds += 1
        if self._rounds <= crossexam.ROUNDS:
            return found
        late = tuple(LeftOut(question, LATE) for question in found.questions)
        return crossexam.Round(left_out=(*late, *found.left_out))

    def _begin(self, units: Sequence[Unit], say: Callable[[str], None]) -> None:
        """Take what is answered already, say what is not and to whom it goes, and begin."""
        if self._means.replay:
            self._again(self._means.replay, Plan(tuple(units)), say)
        elif self._means.config.resume:
            self._take_over(units, say)
        left = [unit for unit in units if unit.id not in self._results]
        if left and not self._means.replay:
            self._means.head.may_begin(left)
            self._means.record(left)
            say(f"cross-examination: {self._announced(left)}")
        self._means.start(left)

    def _again(self, replay: Replay, asked: Plan, say: Callable[[str], None]) -> None:
        """What the stored run cannot answer is refused, and said; the rest is judged again."""
        refused = replay.refusals(asked)
        self._means.refused.update(refused)
        for note in replay.notes(asked, self._means.config):
            say(f"cross-examination: {note}")
        self._means.adopt([r for r in replay.settled(asked) if r.unit not in refused], False)

    def _take_over(self, units: Sequence[Unit], say: Callable[[str], None]) -> None:
        means = self._means
        taken = take_over(means.root, Plan(tuple(units)), means.store, means.config.resume, means.head.again)
        self.runs = tuple(sorted({*self.runs, *taken.runs}, reverse=True))
        if taken.results:
            told = f"{len(taken.results)} of {number(len(units), 'unit')} taken over"
            say(f"cross-examination: resumed from {', '.join(taken.runs)}: {told}")
        means.adopt(taken.results, True)
        means.brakes.spent(taken.results)

    # --- saying -----------------------------------------------------------------------------

    def _announced(self, units: Sequence[Unit]) -> str:
        """How many questions go to whom, and what is not asked."""
        means = self._means
        held = {unit.executor: means.brakes.held(unit.executor) for unit in units}
        sent = tuple(unit for unit in units if not held[unit.executor])
        parts = []
        if sent:
            files = len(means.head.tree.names)
            parts.append(announcement(Plan(sent), means.executors, files, of="question"))
        for name in sorted(name for name, why in held.items() if why):
            count = sum(unit.executor == name for unit in units)
            parts.append(f"{number(count, 'unit')} of {name} not asked: {held[name]}")
        parts += [self._told_left_out()] if self._left_out else []
        return "; ".join(parts)

    def _told_left_out(self) -> str:
        whys = some(dict.fromkeys(left.why for left in self._left_out))
        return f"{number(len(self._left_out), 'question')} left out: {whys}"
