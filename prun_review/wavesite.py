"""What a run of waves works with once it may begin: vault, copies, crew, and what is watched meanwhile."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from prun_review import (
    __version__,
    egress,
    files,
    git,
    linked,
    masking,
    rundir,
    taken,
    waveunits,
    worktrees,
)
from prun_review.bench import Bench, Veil
from prun_review.changegate import ACCEPT
from prun_review.copies import Copies
from prun_review.crew import Crew, Tools
from prun_review.errors import PlanError, PrunError, RunDirError
from prun_review.guard import Guard
from prun_review.locks import Lock, holder
from prun_review.model import Reason, Result, Unit
from prun_review.ports import Launcher, Missing
from prun_review.process import contain
from prun_review.process.launch import ProcessLauncher
from prun_review.programs import Programs, forbidden
from prun_review.publicnames import few, public_name
from prun_review.repostate import repository_changes, repository_state
from prun_review.rundir import RunDir
from prun_review.runpanels import run_panels
from prun_review.scratch import Scratch
from prun_review.shadow import Shadow
from prun_review.subject import Subject
from prun_review.surroundings import known_as
from prun_review.tasks import PENDING, Course, Task
from prun_review.untouched import Deciding
from prun_review.vault import Vault
from prun_review.verifying import Room
from prun_review.wavebeginning import Reading, Wanted
from prun_review.wavepace import OwnSteps, Stop
from prun_review.wavereview import Ask
from prun_review.wavetaking import GIT, Former, take_over
from prun_review.worktrees import Worktrees

OTHERS = "have the tasks done by another one: --executor NAME, or executor in [tool.prun_review.waves]"
"""What to do where a program is missing."""


@dataclass(frozen=True)
class Site:
    """All that a run that has begun works with."""

    reading: Reading
    course: Course
    """As the run begins."""
    refusals: Mapping[str, str]
    """By task: why it is not run although it was selected."""
    units: Mapping[str, Unit]
    """By task: its unit of the plan."""
    taken: Mapping[str, tuple[Unit, Result]]
    """By task of the former run: its last opening."""
    store: RunDir
    vault: Vault
    crew: Crew
    steps: OwnSteps
    guard: Guard
    bases: dict[str, str]
    """Id of an opening -> commit that its copies are made of."""
    expected: Mapping[tuple[str, str], float]
    """Seconds by unit of the plan and executor, from earlier runs."""
    secrets: frozenset[str]
    seen: str
    """Tree of the user's work tree as the run began; empty where it is not watched."""
    version: str
    stack: ExitStack

    def longest(self, tasks: Sequence[Task]) -> Task:
        """The task that is expected to take longest; the first of those of which nothing is known."""
        units = self.units
        return max(tasks, key=lambda t: self.expected.get((units[t.id].case, units[t.id].executor), 0.0))

    def edited(self) -> str:
        """What is to be told of the user's work tree, for people: it may be edited while a run goes on, and
        nothing of it gets into the run, but a worker that is not contained could have done it too."""
        if not self.seen:
            return ""
        try:
            now, _ = worktree(self.reading)
        except PrunError as error:
            return f"the work tree cannot be looked at any more: {error.message}"
        if now == self.seen:
            return ""
        return "tracked files of the work tree changed while it ran, by your hand or a worker's: see git diff"

    def close(self) -> None:
        """End what runs; harmless when called again."""
        self.stack.close()


def site_of(
    wanted: Wanted,
    reading: Reading,
    store: RunDir,
    begun: tuple[Course, Mapping[str, str], Former | None],
    jobs: int,
    voices: tuple[Callable[[str], None], Callable[[str], None]],
    vault: Vault | None = None,
) -> Site:
    """Make it in the run directory ``store``, on a vault of its own where none is given; ``PrunError``."""
    course, refusals, former = begun
    say, tell = voices
    with ExitStack() as stack:
        launcher = ProcessLauncher()  # before this process has a thread of its own
        stack.callback(launcher.close)
        shared = wanted.config.waves.isolation == "worktree"
        given = vault is not None  # and holds the base, which may be a commit of ours
        vault = vault or Vault.create(store.path / GIT, reading.repository, alone=shared)
        if not given:
            vault.commit_of(reading.base)
        if reading.head:
            vault.commit_of(reading.head)
        taken_over = take_over(former, course, store, vault) if former else {}
        asked = sorted({reading.doers[n] for n, o in course.outcomes.items() if o.status == PENDING})
        veil = _may_begin(wanted, vault, reading, asked)
        programs = Programs(wanted.executors, wanted.env, launcher)
        commits = filter(None, (reading.base, reading.head))
        tracked = [public_name(entry.name) for commit in commits for entry in vault.entries(commit)]
        programs.locate(asked, forbidden(reading.repository.top, tracked, wanted.root), OTHERS)
        seen = "" if given else _edited(reading, say)
        if shared and wanted.config.containment == "bwrap":
            say("git does not work in worktrees of contained workers: the repository is not shown to them")
        before = repository_state(reading.repository.top, index=True)
        beside = linked.others(reading.repository)
        guard = Guard(lambda: (*_changes(reading, before), *(_beside(reading, beside) if shared else ())))
        copies = stack.enter_context((Worktrees if shared else Copies)(vault, store.path))
        bases: dict[str, str] = {}
        here = reading.repository.top
        room = Room(launcher, wanted.env, wanted.config.containment, stands_for=here, root=wanted.root)
        bench = Bench(vault, copies, room, lambda unit: bases[unit.id], veil, reading.prefix)
        crew = Crew(_tools(wanted, store, programs, launcher, bench, guard, tell), jobs)
        stack.callback(crew.close)
        units = {
            task.id: waveunits.planned(
                reading.manifest, task, reading.doers[task.id], wanted.config.waves, reading.prefix
            )
            for task in reading.manifest.tasks
        }

        return Site(
            reading=reading,
            course=course,
            refusals=refusals,
            units=units,
            taken=taken_over,
            store=store,
            vault=vault,
            crew=crew,
            steps=OwnSteps(bench, store.id, _panels(wanted, reading, launcher), reading.prefix),
            guard=guard,
            bases=bases,
            expected=rundir.durations(wanted.root),
            secrets=masking.secrets_of(wanted.env),
            seen=seen,
            version=__version__,
            stack=stack.pop_all(),
        )


def _edited(reading: Reading, say: Callable[[str], None]) -> str:
    """The state of the user's work tree; what of it the copies do not have is said."""
    seen, edited = worktree(reading)
    if edited:
        start = reading.base[:12] if reading.head else "HEAD"
        text = f"uncommitted changes are not in the copies that tasks work in: {few(edited)}"
        say(f"{text}; they start from {start}")
    return seen


def _tools(
    wanted: Wanted,
    store: RunDir,
    programs: Programs,
    launcher: ProcessLauncher,
    bench: Bench,
    guard: Guard,
    tell: Callable[[str], None],
) -> Tools:
    return Tools(
        config=replace(wanted.config, replay=""),
        store=store,
        launcher=launcher,
        executors=wanted.executors,
        located=programs.located,
        subject=Subject(store.path, lambda path: Missing("nothing is reviewed here"), ()),
        env=wanted.env,
        workbench=bench,
        contain=contain.contained if wanted.config.containment == "bwrap" else None,
        verify=guard,
        voids=frozenset({"repository-changed"}),
        consequence="the run is stopped",
        tell=tell,
    )


def alone(store: RunDir, directory: str) -> Lock:
    """Held while a directory is run: two runs would write the same logs and the same report, and only one of
    them could be gone on from.  ``PlanError`` where somebody else holds it."""
    path = store.path.parent.parent / f"waves-{hashlib.sha256(directory.encode()).hexdigest()[:12]}.lock"
    with files.named(RunDirError, "the directory cannot be kept for this run", path):
        try:
            return Lock(path)
        except BlockingIOError as error:
            raise PlanError(
                f"it is being run already, by {holder(path)}",
                place=directory,
                remedy="wait for that run to end; prun-review status DIR tells how it stands",
            ) from error


def _panels(wanted: Wanted, reading: Reading, launcher: Launcher) -> Callable[[Stop], Ask]:
    """What runs panels, as long as what decides how they review is what it is now."""
    config = wanted.config
    panels = [panel for wave in reading.manifest.waves for panel in wave.panel]
    further = (*config.guarded, ACCEPT, *filter(None, (config.baseline,)))
    deciding = Deciding(wanted.root, panels, further) if panels else None

    def ask(stop: Stop) -> Ask:
        def review(
            paths: Sequence[str], *, base: str, head: str, authors: Sequence[str]
        ) -> Mapping[str, object]:
            if deciding and (names := deciding.changed()):
                raise PlanError(f"{names} changed since the run began, and decides how it is reviewed")
            more = {"root": wanted.root, "env": wanted.env, "launcher": launcher, "stop": stop}
            told = run_panels(paths, base=base, head=head, authors=authors, **more)  # type: ignore[arg-type]
            report = f"reports/{told['run_id']}/report.md"
            return {**told, "report": report if (wanted.root / report).is_file() else ""}

        return review

    return ask


def _may_begin(wanted: Wanted, vault: Vault, reading: Reading, asked: Sequence[str]) -> Veil:
    """What workers must not see; ``PrunError`` where nobody decided that the tree goes to one of them, or
    they cannot be contained as wanted."""
    config = wanted.config
    egress.check(config, asked, wanted.executors, wanted.env, _named(wanted))
    why = contain.unavailable() if config.containment == "bwrap" else ""
    if why:
        raise PlanError(
            f"workers cannot be contained: {why}",
            place="containment = 'bwrap'",
            remedy='install bubblewrap, or containment = "none"',
        )
    redact = egress.masks(wanted.root, config)
    veil = Veil(vault, config.egress.never, redact)
    masked = veil(reading.base)
    if config.waves.isolation == "worktree":
        worktrees.unveiled(masked, str(reading.repository.top))
    if redact is not None and config.egress.secrets == "refuse":
        egress.refuse(config, redact.spots)
    return veil


def _named(wanted: Wanted) -> set[str]:
    """Executors that the person who runs this named for waves; a manifest, or a task, names nobody to whom
    anything is sent under CI."""
    waves, sources = wanted.config.waves, wanted.config.sources
    names = [wanted.selection.executor, *waves.agents.values()]
    names += [waves.executor] if sources.get("waves.executor", "default") != "default" else []
    return {known_as(name, wanted.executors) for name in names}


def _changes(reading: Reading, before: object) -> tuple[Reason, ...]:
    found = repository_changes(before, repository_state(reading.repository.top, index=True))  # type: ignore[arg-type]
    return tuple(replace(r, text=r.text.replace("during the review", "during the run")) for r in found)


def _beside(reading: Reading, before: Mapping[str, str]) -> tuple[Reason, ...]:
    """The same of what worktrees share beside that."""
    after = linked.others(reading.repository)
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    text = f"the user's worktrees, or where objects lie, changed during the run: {few(names)}"
    return (Reason("repository-changed", text),) if names else ()


def worktree(reading: Reading) -> tuple[str, list[str]]:
    """Tree of the tracked files of the user's work tree as they are now, and the names of those that are
    others than in HEAD; not of the directory, which is read as it is edited."""
    repository = reading.repository
    scratch = Scratch(repository.top)
    try:
        shadow = Shadow(scratch.path / "git", repository, git.object_format(reading.base))
        whole = replace(repository, prefix="")
        place = reading.opened.place.relative_to(repository.top)
        ours = [f"{place}/{name}" for name in ("logs/", "report.json", "integration-report.md")]
        selection = taken.select(whole, ours, (), False)
        found = taken.build(shadow, selection, reading.head or reading.base)
        if not found.revision.dirty:
            return found.revision.tree, []
        listed = shadow.tree(reading.head or reading.base)
        before = {
            (e.name, e.mode, e.sha) for e in listed if e.mode != git.GITLINK and selection.takes(e.name)
        }
        now = {(e.name, e.mode, e.sha) for e in found.listing.wanted.values()}
        names = {public_name(name) for name, _, _ in before ^ now}
        return found.revision.tree, sorted(n for n in names if not n.startswith(f"{place}/"))
    finally:
        scratch.close()
