"""What a stored wave run came to, made again out of its patches; nothing is taken on trust.

The patches are what the ledger of the run vouches for, and the commits follow from them and from the base,
which is the user's own: the same ones come out, or the records of the run do not agree and it is refused.
Of the run's own object store only that is taken which a change of an earlier run started from, by its name
and held against it, so whoever wrote there changed nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from prun_review import wavedocument
from prun_review.errors import RunDirError, TreeError
from prun_review.integrating import Change, change_of, join
from prun_review.tasks import SUCCEEDED, Outcome, Task, Wave
from prun_review.vault import Vault
from prun_review.wavesteps import of
from prun_review.wavetaking import Former, bring

REMEDY = "run the directory again (prun-review run DIR); nothing else writes below .prun/"


@dataclass(frozen=True, slots=True)
class Accepted:
    """A change that a run accepted."""

    task: Task
    """As far as the run's document knows it."""
    outcome: Outcome
    parent: str
    """SHA of the commit that it was put onto."""
    commit: str
    """SHA of its own."""

    def as_change(self, task: Task) -> Change:
        """To be put onto another tip: what its commit did to the one before."""
        return Change(task, self.parent, self.commit, self.outcome.executor)


def rebuild(former: Former, vault: Vault) -> tuple[Accepted, ...]:
    """What a run accepted and that changes something, in the order of its commits, which are made in
    ``vault``; the last one is all of it.  ``RunDirError`` where its records do not agree."""
    work = _Rebuilding(former, vault)
    for wave in former.course.manifest.waves:
        work.wave(wave)
    return tuple(work.done)


@dataclass
class _Rebuilding:
    former: Former
    vault: Vault
    done: list[Accepted] = field(default_factory=list)
    tip: str = ""
    known: set[str] = field(default_factory=set)
    """Commits that are there: only what starts from one of them can be made."""
    trees: dict[str, str] = field(default_factory=dict)
    """By task: the tree that its patch makes."""

    def __post_init__(self) -> None:
        base = self.former.course.base
        if lost := [
            task for task, held in self._told().items() if self.former.course.outcomes.get(task) != held
        ]:
            raise self._refused("; ".join(self.former.notes) or f"what became of {', '.join(lost)}")
        try:
            self.tip = self.vault.commit_of(base)
        except TreeError as error:
            raise self._refused(f"the commit that it started from is gone: {error.message}") from error
        if self.tip != base:
            raise self._refused("it does not say which commit it started from")
        self.known.add(base)

    def _told(self) -> dict[str, Outcome]:
        """What the document says was accepted, whatever else is known of it."""
        whole = wavedocument.course_of(self.former.view.waves())
        return {task: o for task, o in whole.outcomes.items() if o.status == SUCCEEDED and o.commit}

    def wave(self, wave: Wave) -> None:
        """Make the commits of a wave."""
        held = self.former.course.waves[wave.number]
        waiting = [
            o
            for o in of(self.former.course, wave)
            if o.status == SUCCEEDED and o.commit and o.patch and o.patch.files
        ]
        # Whoever met no conflict was accepted before those whom one opened again.
        waiting.sort(key=lambda outcome: outcome.reopened)
        if held.base not in ("", self.tip):
            raise self._refused(f"wave {wave.number} did not start from what came before it")
        while waiting:
            waiting.remove(self._next(waiting))
        if held.head not in ("", self.tip):
            raise self._refused(f"wave {wave.number} did not come to what its patches make")

    def _next(self, waiting: list[Outcome]) -> Outcome:
        """Make the commit that follows on the tip; its name tells which one that is."""
        if found := self._fitting(waiting):
            return found
        self._bring({o.patch.base for o in waiting if o.patch} - self.known)
        if found := self._fitting(waiting):
            return found
        names = ", ".join(outcome.task for outcome in waiting)
        raise self._refused(f"the patches of {names} do not make the commits that it tells of")

    def _fitting(self, waiting: list[Outcome]) -> Outcome | None:
        tasks = {task.id: task for task in self.former.course.manifest.tasks}
        for outcome in waiting:
            if not self._has_tree(outcome):
                continue
            made = join(self.vault, self.tip, [change_of(tasks[outcome.task], outcome)]).head
            if made == outcome.commit:
                self.done.append(Accepted(tasks[outcome.task], outcome, self.tip, made))
                self.tip = made
                self.known.add(made)
                return outcome
        return None

    def _bring(self, bases: set[str]) -> None:
        """Let commits be there that changes of an earlier run started from: of this one they are none."""
        if not bases:
            return
        try:
            bring(self.former.view.path, bases, self.former.course.base, self.vault)
        except TreeError as error:
            raise self._refused(f"what its changes started from cannot be had: {error.message}") from error
        self.known |= bases

    def _has_tree(self, outcome: Outcome) -> bool:
        """Whether the tree of a task's change is there, made of its patch."""
        patch, name = outcome.patch, outcome.task
        if patch is None or patch.base not in self.known or name not in self.former.last:
            return False
        if name not in self.trees:
            _, result = self.former.last[name]
            try:
                self.trees[name] = self.vault.store_patch(patch.base, self.former.view.patch_of(result))
            except TreeError as error:
                raise self._refused(f"the patch of {name} does not apply: {error.message}") from error
        if self.trees[name] != patch.tree:
            raise self._refused(f"the patch of {name} makes another tree than it says")
        return True

    def _refused(self, why: str) -> RunDirError:
        path = self.former.view.path
        return RunDirError(
            f"the records of run {path.name} do not agree: {why}", place=str(path), remedy=REMEDY
        )
