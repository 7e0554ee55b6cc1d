"""Tasks of a stored wave run done again, where what they wrote clashes with what they are put onto."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace

from prun_review import waveunits
from prun_review.integrating import Change
from prun_review.model import Result, Unit
from prun_review.rebuilding import Accepted
from prun_review.rundir import RunDir
from prun_review.tasks import SUCCEEDED, Conflict, Course, Outcome, Task
from prun_review.vault import Vault
from prun_review.wavebeginning import Wanted, reading_of
from prun_review.waves import trusted
from prun_review.wavesite import Site, site_of

SLICE = 1.0
"""Seconds between two looks whether a worker has ended."""


@dataclass(frozen=True)
class Hands:
    """Implements :data:`prun_review.wholeness.Again`, by who did the task before."""

    wanted: Wanted
    store: RunDir
    """The run; the attempts are kept in it beside the earlier ones."""
    vault: Vault
    tell: Callable[[str], None]

    def __call__(self, each: Accepted, task: Task, conflict: Conflict) -> Change | str:
        """What it wrote this time, on top of ``conflict.onto``; or why that does not count."""
        self.tell(f"{task.id} is done again: a conflict in {', '.join(conflict.paths)}")
        reading = reading_of(self.wanted)
        doer = each.outcome.executor
        if doer in self.wanted.executors:
            reading = replace(reading, doers={**reading.doers, task.id: doer})
        reading = replace(reading, base=conflict.onto)
        course = Course(reading.manifest, {task.id: Outcome(task.id)}, {}, conflict.onto)
        site = site_of(
            self.wanted, reading, self.store, (course, {}, None), 1, (self.tell, self.tell), self.vault
        )
        try:
            unit = self._opening(site, each, task, conflict)
            result = _done(site, unit, conflict.onto)
            if found := site.guard():
                return "; ".join(reason.text for reason in found)
        finally:
            site.close()
        held = trusted(waveunits.outcome(task.id, result, self.wanted.executors[unit.executor].vendor))
        if held.status != SUCCEEDED or held.patch is None:
            return ": ".join(filter(None, (held.reason, held.message)))
        return Change(task, held.patch.base, held.patch.tree, unit.executor)

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
    """The result of a dispatch in a copy of the commit ``base``."""
    site.bases[unit.id] = base
    site.crew.hand_in([unit])
    while (result := site.crew.next(SLICE)) is None:
        pass
    return result
