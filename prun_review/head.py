"""The head that a run reviews: taken once, with all that is decided about it before anybody is asked.

With a base or a named head it is taken before probes are collected, because the change decides which
items there are; without, when dispatching begins.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from prun_review import bench, boundary, egress, judging, planning, previous, remembered, workspace
from prun_review.changegate import MOST_MASKED
from prun_review.config import Config
from prun_review.copies import Copies
from prun_review.diffs import Diffs
from prun_review.errors import PlanError
from prun_review.folding import Same
from prun_review.model import Plan, Reason, Result, RunFacts, Unit
from prun_review.planning import Proposal
from prun_review.ports import Command, Executor, Launch, Launcher, Redactor, Request, Workbench
from prun_review.process import contain
from prun_review.prompts import Diff
from prun_review.rundir import RunDir
from prun_review.snapshot import Snapshot
from prun_review.subject import Subject
from prun_review.vault import Vault
from prun_review.verifying import Room

Contain = Callable[[Request, Command, Launch], Launch]


class Head:
    """The reviewed tree of a run and its change.  Close its :attr:`tree`."""

    def __init__(
        self, root: Path, config: Config, env: Mapping[str, str], executors: Mapping[str, Executor]
    ) -> None:
        """Take it; ``PrunError`` where that is impossible."""
        self._root = root
        self._config = config
        self._env = env
        self._executors = executors
        self._redactor = egress.masks(root, config) if _may_send(config, executors) else None
        self.profile = boundary.profile_of(config, env)
        self.about = _masked(boundary.about_of(config, root), self._redactor)
        """What prompts tell of the change beside its diff."""
        # Our own folders are left out wherever the trusted root lies in a larger reviewed tree, and what
        # sessions have answered in inboxes before is nothing that the others shall read.
        inboxes = [table.inbox for table in config.executor_tables.values() if table.inbox]
        ours = [root / name for name in (*config.panels, "reports", ".prun", *inboxes)]
        self.tree = workspace.take(
            reviewed(root, config),
            include_untracked=config.include_untracked,
            exclude=config.exclude,
            panels=[str(path) for path in ours],
            never=config.egress.never,
            redact=self._redactor,
            base=config.base,
            head=config.head,
            root=root,
            guarded=(*config.guarded, config.accept, *remembered.guarded(config, root)),
            panel_names=config.panels,
        )

    # --- before anything is sent ------------------------------------------------------------

    def plan(
        self, proposals: Sequence[Proposal], version: Callable[[str], str]
    ) -> tuple[Plan, dict[str, str]]:
        """See :func:`prun_review.planning.make`."""
        return planning.make(
            proposals, self.tree, self._executors, version, policy=self._config.policy, about=self.about
        )

    def complete(self, units: Sequence[Unit], version: Callable[[str], str]) -> tuple[Unit, ...]:
        """See :func:`prun_review.planning.complete`."""
        return planning.complete(
            units, self.tree, self._executors, version, timeout=self._config.timeout, about=self.about
        )

    def may_ask(self, names: Collection[str]) -> None:
        """``PrunError`` where nobody decided that the tree goes to one of these executors."""
        egress.check(self._config, names, self._executors, self._env)
        if self._redactor is not None and any(self._executors[name].paid for name in names):
            egress.refuse(self._config, self.tree.redacted)

    def may_take_over(self) -> None:
        """``PlanError`` where the run builds on earlier ones that came with the repository."""
        boundary.refuse_tracked(self._config, self.tree.tracked_runs)

    def may_begin(self, units: Sequence[Unit]) -> None:
        """``PlanError`` where a worker could reach what it must not, or cannot be contained as wanted."""
        if self.profile == boundary.UNTRUSTED:
            boundary.refuse_exposed(units, self._executors, self._config, self._env)
        why = contain.unavailable() if self.contain else ""
        if why:
            raise PlanError(
                f"workers cannot be contained: {why}",
                place=f"containment = {self._config.containment!r}",
                remedy='install bubblewrap, or containment = "none"',
            )

    @property
    def contain(self) -> Contain | None:
        """What puts a worker into a namespace of its own; None where that is not wanted."""
        return contain.contained if self._config.containment == "bwrap" else None

    # --- for the run ------------------------------------------------------------------------

    def facts(self, facts: RunFacts, store: RunDir, same: Same | None) -> tuple[RunFacts, Sequence[str]]:
        """What a run records of the change and its surroundings, and notes for people.  ``PrunError``."""
        tree, config = self.tree, self._config
        earlier = previous.Earlier()
        if config.previous:
            earlier = previous.carried(
                self._root,
                config.previous,
                tree=tree.revision.tree,
                merge_base=tree.revision.merge_base,
                here=store.path,
                same=same,
            )
        accepted = boundary.acceptances_of(config, self._root, tree, facts.started)
        before = remembered.remembered(config, self._root, tree, accepted)
        told = replace(
            facts,
            change=tree.change.records() if tree.change else (),
            alters=tree.alters,
            alters_paths=tree.altering_paths,
            alters_digest=tree.alters_digest,
            acceptances=before.acceptances,
            known=before.known,
            baseline=remembered.name_of(config, self._root),
            carried=earlier.carried,
            profile=self.profile,
            doubts=(*self._doubts(), *earlier.doubts),
            masked=self._masked_places(),
        )
        notes = (*(f"previous: {note}" for note in earlier.notes), *before.notes)
        return told, notes

    def _doubts(self) -> Iterator[Reason]:
        """Where the change is another one from another side, what was taken back there is not in it."""
        bases = self.tree.merge_bases
        if len(bases) > 1:
            text = (
                f"{len(bases)} merge bases: compared with {bases[0][:12]} only; merge the base into the head "
                "first"
            )
            yield Reason("several-merge-bases", text)

    def _masked_places(self) -> tuple[str, ...]:
        """See :attr:`RunFacts.masked`."""
        records = self.tree.change.records() if self.tree.change else ()
        names = {name for file in records for name in (file.path, file.old_path)}
        spots = sorted({spot for spot in self.tree.redacted if spot.file in names})
        return tuple(f"{s.file}:{s.line} {s.kind}" for s in spots[:MOST_MASKED])

    def again(self, result: Result, unit: Unit) -> Result:
        """A result of an earlier run, its findings looked up and placed in this head."""
        tree = self.tree
        return judging.again(
            result,
            unit,
            tree.read,
            names=tree.names,
            change=tree.change,
            read_base=tree.read_base,
            base_names=tree.base_names,
        )

    def subject(self, snapshot: Snapshot) -> Subject:
        """The head as dispatches need it."""
        tree = self.tree
        if tree.change is None or snapshot.beside is None:
            return Subject(snapshot.path, tree.read, tree.names)
        return Subject(
            tree=snapshot.path,
            read=tree.read,
            names=tree.names,
            beside=snapshot.beside,
            change=tree.change,
            read_base=tree.read_base,
            base_names=tree.base_names,
            diff_of=self.diffs(str(snapshot.beside)),
        )

    def workbench(self, store: RunDir, launcher: Launcher, stack: ExitStack) -> Workbench:
        """What makes the copies in which code is written, for as long as the ``stack`` is open.  From now on
        what is staged in the repository is watched too."""
        self.tree.watch_index()
        ground = self.tree.written_on()
        vault = Vault.create(store.path / "git", ground.repository)
        commit = bench.commit_of(vault, ground)
        copies = stack.enter_context(Copies(vault, store.path, (self._root,)))
        here = ground.repository.top / ground.repository.prefix
        room = Room(launcher, self._env, self._config.containment, stands_for=here, root=self._root)
        veil = bench.Veil(vault, self._config.egress.never, self._redactor)
        return bench.Bench(vault, copies, room, lambda unit: commit, veil)

    def diffs(self, beside: str) -> Callable[[Unit], Diff | None]:
        """What a unit's prompt says of the change; ``beside`` is the directory with all of it.

        An analyser reads no prompt.
        """
        made = Diffs(self.tree, beside, self.about)
        return lambda unit: made(unit) if self._executors[unit.executor].paid else None

    def record(self, store: RunDir, units: Collection[Unit], snapshot: Snapshot) -> None:
        """Say on disk what of the head goes to whom; ``units`` are those that are asked."""
        tree = self.tree
        reach = egress.Reach(snapshot.entries, tree.slice_text, snapshot.beside, tree.left_out, tree.redacted)
        egress.record(store, self._config, units, self._executors, reach)
        if self._redactor is not None:
            egress.keep(self._root, self._redactor)


def reviewed(root: Path, config: Config) -> Path:
    """The folder whose tree is reviewed."""
    return (root / config.reviewed).resolve()


def _may_send(config: Config, executors: Mapping[str, Executor]) -> bool:
    """Whether a run may ask somebody who is not on this machine: a probe may name anybody, unless the
    command line says who it is."""
    chosen = config.offline_executors if config.offline else config.executors
    restricted = config.offline or config.sources.get("executors") == "command line"
    return any(executors[name].paid for name in (chosen if restricted else executors))


def _masked(text: str, redactor: Redactor | None) -> str:
    if redactor is None or not text:
        return text
    return redactor("about", "", text.encode()).decode(errors="replace")
