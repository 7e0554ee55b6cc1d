"""Tasks of a stored wave run done again, where what they wrote clashes with what they are put onto.

What is done again is kept in the run and in its document at once, so that whoever integrates the run the
next time takes it over and nobody is asked twice for the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from prun_review import wavetaking, waveunits
from prun_review.codec import decode, encode
from prun_review.errors import PrunError, TreeError
from prun_review.integrating import Change
from prun_review.model import Result, Unit
from prun_review.rebuilding import Accepted
from prun_review.rundir import RunDir
from prun_review.tasks import FAILED, SUCCEEDED, Conflict, Course, Outcome, Redone, Task
from prun_review.vault import Vault
from prun_review.wavebeginning import Wanted, reading_of
from prun_review.waves import asked, trusted
from prun_review.wavesite import Site, site_of

SLICE = 1.0
"""Seconds between two looks whether a worker has ended."""


@dataclass
class Hands:
    """Implements :class:`prun_review.wholeness.Again`, by who did the task before."""

    wanted: Wanted
    store: RunDir
    """The run; the attempts are kept in it beside the earlier ones."""
    vault: Vault
    onto: str
    """SHA of the user's commit that the run is put onto."""
    replay: Callable[[str], object]
    """Puts the run onto an earlier commit of the user's once more, so that its commits are in the vault."""
    tell: Callable[[str], None]
    records: list[Redone] = field(default_factory=list)
    """What was done again so far, oldest first."""
    _replayed: set[str] = field(default_factory=set)
    _told: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for row in self.store.waves().get("again", ()):
            try:
                self.records.append(decode(Redone, row))
            except ValueError as error:
                self.tell(f"what was done again earlier is not taken over: {error}")

    # --- what was done earlier ---

    def earlier(self, task: Task) -> Iterator[Change]:
        """What it wrote when it was done again, the latest first; only what the run vouches for."""
        for record in reversed(self.records):
            if record.task != task.id or record.status != SUCCEEDED:
                continue
            try:
                yield self._change(task, record)
            except PrunError as error:
                text = f"what {task.id} wrote in units/{record.unit} is not taken over: {error.message}"
                if text not in self._told:
                    self._told.add(text)
                    self.tell(text)

    def _change(self, task: Task, record: Redone) -> Change:
        if record.asked != asked(task):
            raise TreeError("the task was changed since")
        result = self.store.result_of(wavetaking.unit_of(self.store.path, record.unit))
        patch = record.patch
        if result is None or not result.ok or patch is None or result.patch != patch or not patch.files:
            raise TreeError("its result is not what the document says")
        self._remake(record)
        if self.vault.store_patch(record.base, self.store.patch_of(result)) != patch.tree:
            raise TreeError("its patch makes another tree than it says")
        return Change(task, record.base, patch.tree, record.executor)

    def _remake(self, record: Redone) -> None:
        """Let the commit be there that it was done on; ``TreeError``."""
        try:
            self.vault.tree_of(record.base)
        except TreeError:
            if record.onto not in self._replayed:
                self._replayed.add(record.onto)
                self.replay(self.vault.commit_of(record.onto))
            self.vault.tree_of(record.base)

    # --- once more ---

    def __call__(self, each: Accepted, task: Task, conflict: Conflict) -> Change | str:
        """What it wrote this time, on top of ``conflict.onto``; or why that does not count."""
        self.tell(f"{task.id} is done again: a conflict in {', '.join(conflict.paths)}")
        wanted, doer = self.wanted, each.outcome.executor
        if doer in wanted.executors:  # whoever asks for this names who did it before
            wanted = replace(wanted, selection=replace(wanted.selection, executor=doer))
        reading = reading_of(wanted)
        if doer in wanted.executors:
            reading = replace(reading, doers={**reading.doers, task.id: doer})
        reading = replace(reading, base=conflict.onto)
        question = next((asked(each) for each in reading.manifest.tasks if each.id == task.id), "")
        course = Course(reading.manifest, {task.id: Outcome(task.id)}, {}, conflict.onto)
        site = site_of(wanted, reading, self.store, (course, {}, None), 1, (self.tell, self.tell), self.vault)
        try:
            unit = self._opening(site, each, task, conflict)
            result = _done(site, unit, conflict.onto)
            moved = "; ".join(reason.text for reason in site.guard())
        finally:
            site.close()
        vendor = self.wanted.executors[unit.executor].vendor
        held = trusted(replace(waveunits.outcome(task.id, result, vendor), conflict=conflict))
        if moved:
            held = replace(held, status=FAILED, reason="repository-changed", message=moved)
        self._keep(held, conflict.onto, question)
        if held.status != SUCCEEDED or held.patch is None:
            return ": ".join(filter(None, (held.reason, held.message)))
        return Change(task, held.patch.base, held.patch.tree, unit.executor)

    def _keep(self, held: Outcome, base: str, question: str) -> None:
        """Write down what became of it, before anything else is done."""
        status = SUCCEEDED if held.status == SUCCEEDED else FAILED
        told = {name: getattr(held, name) for name in ("task", "unit", "reason", "message", "executor")}
        more = {name: getattr(held, name) for name in ("vendor", "attempts", "seconds", "patch")}
        self.records.append(Redone(onto=self.onto, base=base, asked=question, status=status, **told, **more))
        document = {**self.store.waves(), "again": encode(tuple(self.records))}
        self.store.write_waves(document, durable=True)

    def _opening(self, site: Site, each: Accepted, task: Task, conflict: Conflict) -> Unit:
        """The next opening of the task that the run does not hold yet."""
        before = self.vault.diff(each.parent, each.commit).decode(errors="replace")
        again = waveunits.again(conflict, before, secrets.token_hex(8))
        number = each.outcome.reopened + 2
        while True:
            unit = waveunits.opening(site.units[task.id], number, conflict.onto, again)
            if not (self.store.path / "units" / unit.slug).exists():
                return unit
            number += 1


def _done(site: Site, unit: Unit, base: str) -> Result:
    """The result of a dispatch in a copy of the commit ``base``, stored also where it never ran."""
    site.bases[unit.id] = base
    site.crew.hand_in([unit])
    while (result := site.crew.next(SLICE)) is None:
        pass
    if not site.crew.is_stored(result):
        site.store.finish(result)
    return result
