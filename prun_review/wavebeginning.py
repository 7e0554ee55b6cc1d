"""Everything that a wave run needs before its first dispatch: read, checked, made.  Nothing is spent here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from prun_review import (
    __version__,
    egress,
    git,
    manifest,
    masking,
    parallel,
    rundir,
    taken,
    wavebegin,
    waveunits,
)
from prun_review.bench import Bench, Veil
from prun_review.config import Config
from prun_review.copies import Copies
from prun_review.crew import Crew, Tools
from prun_review.errors import ConfigError, PlanError
from prun_review.git import Repository
from prun_review.guard import Guard
from prun_review.model import Reason, Result, Unit
from prun_review.parallel import ParallelDirectory
from prun_review.ports import Executor, Missing
from prun_review.process import contain
from prun_review.process.launch import ProcessLauncher
from prun_review.programs import Programs, forbidden
from prun_review.publicnames import public_name
from prun_review.repostate import repository_changes, repository_state
from prun_review.rundir import RunDir
from prun_review.runpanels import run_panels
from prun_review.scratch import Scratch
from prun_review.shadow import Shadow
from prun_review.subject import Subject
from prun_review.tasks import ERROR, PENDING, SUCCEEDED, Course, Manifest, Problem, Task
from prun_review.vault import Vault
from prun_review.verdict import number
from prun_review.verifying import Room
from prun_review.wavepace import OwnSteps, Stop
from prun_review.wavereview import Ask
from prun_review.wavetaking import GIT, Former, newest, read, take_over

KIND = "task"


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a directory is run, and by whom."""

    only: tuple[str, ...] | None = None
    """Ids of tasks, long or short; None: all."""
    from_wave: int | None = None
    """What stands before this wave is taken from the former run."""
    resume: bool = False
    """Take over what is still true of the former run."""
    executor: str = ""
    """Who does the tasks that wish for nobody."""


ALL = Selection()
"""Everything, anew."""


@dataclass(frozen=True)
class Wanted:
    """What is to be run, where."""

    root: Path
    config: Config
    env: Mapping[str, str]
    place: Path
    """The directory, as it was named."""
    selection: Selection
    executors: Mapping[str, Executor]


@dataclass(frozen=True)
class Reading:
    """A directory that may be run."""

    opened: ParallelDirectory
    manifest: Manifest
    warnings: tuple[Problem, ...]
    repository: Repository
    base: str
    """SHA of the commit that everything starts from: HEAD."""
    prefix: str
    """The trusted root within the repository: empty, or with a slash at its end."""
    doers: Mapping[str, str]
    """Executor by task."""


# --- reading ----------------------------------------------------------------------------------


def reading_of(wanted: Wanted) -> Reading:
    """Read and check it; ``ConfigError`` that tells everything that is wrong, ``TreeError`` where there is
    no commit to start from."""
    opened = parallel.open_directory(wanted.root, wanted.place)
    found, problems = manifest.read(opened)
    errors = [problem for problem in problems if problem.level == ERROR]
    if errors or found is None:
        raise refused(opened.path, errors or list(problems))
    doers = {
        task.id: waveunits.executor_of(task, wanted.config.waves, wanted.selection.executor)
        for task in found.tasks
    }
    _check_doers(found, doers, wanted.executors)
    repository = git.find(opened.place)
    root = wanted.root.resolve()
    inside = root != repository.top and root.is_relative_to(repository.top)
    prefix = f"{root.relative_to(repository.top).as_posix()}/" if inside else ""
    return Reading(opened, found, problems, repository, git.head(repository), prefix, doers)


def refused(directory: str, problems: Sequence[Problem]) -> ConfigError:
    """The error that tells all problems, one a line."""
    lines = [str(problem) + (f" -- {problem.remedy}" if problem.remedy else "") for problem in problems]
    return ConfigError(
        "\n".join([f"it cannot be run: {number(len(problems), 'error')}", *lines]),
        place=directory,
        remedy="prun-review validate tells all of it with lines; nothing was started",
    )


def _check_doers(found: Manifest, doers: Mapping[str, str], executors: Mapping[str, Executor]) -> None:
    wrong = []
    for task in found.tasks:
        name = doers[task.id]
        if name not in executors:
            wrong.append(f"{task.id}: there is no executor {name!r}")
        elif KIND not in executors[name].contracts:
            wrong.append(f"{task.id}: {name} does not write code")
    if wrong:
        able = sorted(name for name, executor in executors.items() if KIND in executor.contracts)
        told = "; ".join(wrong[:5]) + (f"; and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        raise ConfigError(told, place=found.directory, remedy=f"who can: {', '.join(able)}")


def former_of(wanted: Wanted, reading: Reading) -> Former | None:
    """The former run to go on from; None where none is asked for.  ``PrunError`` where there is none."""
    if not wanted.selection.resume and wanted.selection.from_wave is None:
        return None
    path = newest(wanted.root, reading.manifest.directory)
    if path is None:
        if wanted.selection.from_wave is None:
            return None
        raise PlanError(
            f"there is no earlier run of {reading.manifest.directory} to start from",
            place=str(wanted.root / ".prun/runs"),
            remedy="leave --from-wave out",
        )
    return read(path)


def course_of(
    wanted: Wanted, reading: Reading, former: Former | None, selected: Sequence[str]
) -> tuple[Course, dict[str, str]]:
    """The course of the run, and by task why it is not run although pytest selected it.

    ``selected``: what pytest selected; where it is nothing the selection decides.
    """
    done = former.course if former else None
    only: Sequence[str] | None = list(selected) if selected else wanted.selection.only
    refusals: dict[str, str] = {}
    if selected:
        refusals = _unmet(reading, selected, done)
        only = [name for name in selected if name not in refusals]
        if not only:
            raise PlanError(
                "; ".join(f"{name}: {why}" for name, why in refusals.items()),
                place=reading.manifest.directory,
                remedy="select what they need too, or go on from the former run (--prun-resume)",
            )
        only = None if len(only) == len(reading.manifest.tasks) else only
    course, problems = wavebegin.begin(
        reading.manifest,
        reading.base,
        only=only,
        from_wave=wanted.selection.from_wave,
        done=done,
        reopen=wanted.config.waves.reopen,
    )
    if course is None:
        raise PlanError(
            "; ".join(problem.text for problem in problems),
            place=reading.manifest.directory,
            remedy="; ".join(dict.fromkeys(p.remedy for p in problems if p.remedy)) or "run all of it",
        )
    return course, refusals


def _unmet(reading: Reading, selected: Sequence[str], done: Course | None) -> dict[str, str]:
    """Selected tasks with a dependency that is neither selected nor done, directly or by another one."""
    whole, _ = wavebegin.begin(reading.manifest, reading.base, done=done)
    there = {n for n, o in whole.outcomes.items() if o.status == SUCCEEDED} if whole else set()
    left = set(selected)
    refusals: dict[str, str] = {}
    for task in reading.manifest.tasks:
        missing = [dep for dep in task.deps if dep not in left and dep not in there]
        if task.id in left and missing:
            left.discard(task.id)
            refusals[task.id] = f"it needs {', '.join(missing)}, which is neither selected nor done"
    return refusals


# --- making -----------------------------------------------------------------------------------


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
    version: str
    stack: ExitStack

    def longest(self, tasks: Sequence[Task]) -> Task:
        """The task that is expected to take longest; the first of those of which nothing is known."""
        units = self.units
        return max(tasks, key=lambda t: self.expected.get((units[t.id].case, units[t.id].executor), 0.0))

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
        vault = vault or Vault.create(store.path / GIT, reading.repository)
        vault.commit_of(reading.base)
        taken_over = take_over(former, course, store, vault) if former else {}
        asked = sorted({reading.doers[n] for n, o in course.outcomes.items() if o.status == PENDING})
        veil = _may_begin(wanted, vault, reading, asked)
        programs = Programs(wanted.executors, wanted.env, launcher)
        tracked = [public_name(entry.name) for entry in vault.entries(reading.base)]
        programs.locate(asked, forbidden(reading.repository.top, tracked, wanted.root))
        if dirty(reading):
            say("uncommitted changes are not in the copies that tasks work in: they start from HEAD")
        before = repository_state(reading.repository.top, index=True)
        guard = Guard(lambda: _changes(reading, before))
        copies = stack.enter_context(Copies(vault, store.path))
        bases: dict[str, str] = {}
        room = Room(launcher, wanted.env, wanted.config.containment)
        bench = Bench(vault, copies, room, lambda unit: bases[unit.id], veil, reading.prefix)
        tools = Tools(
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
        crew = Crew(tools, jobs)
        stack.callback(crew.close)
        units = {
            task.id: waveunits.planned(
                reading.manifest, task, reading.doers[task.id], wanted.config.waves, reading.prefix
            )
            for task in reading.manifest.tasks
        }

        def ask(stop: Stop) -> Ask:
            def review(
                paths: Sequence[str], *, base: str, head: str, authors: Sequence[str]
            ) -> Mapping[str, object]:
                more = {"root": wanted.root, "env": wanted.env, "launcher": launcher, "stop": stop}
                return run_panels(paths, base=base, head=head, authors=authors, **more)  # type: ignore[arg-type]

            return review

        return Site(
            reading=reading,
            course=course,
            refusals=refusals,
            units=units,
            taken=taken_over,
            store=store,
            vault=vault,
            crew=crew,
            steps=OwnSteps(bench, store.id, ask, reading.prefix),
            guard=guard,
            bases=bases,
            expected=rundir.durations(wanted.root),
            secrets=masking.secrets_of(wanted.env),
            version=__version__,
            stack=stack.pop_all(),
        )


def _may_begin(wanted: Wanted, vault: Vault, reading: Reading, asked: Sequence[str]) -> Veil:
    """What workers must not see; ``PrunError`` where nobody decided that the tree goes to one of them, or
    they cannot be contained as wanted."""
    config = wanted.config
    egress.check(config, asked, wanted.executors, wanted.env)
    why = contain.unavailable() if config.containment == "bwrap" else ""
    if why:
        raise PlanError(
            f"workers cannot be contained: {why}",
            place="containment = 'bwrap'",
            remedy='install bubblewrap, or containment = "none"',
        )
    redact = egress.masks(wanted.root, config)
    veil = Veil(vault, config.egress.never, redact)
    veil(reading.base)
    if redact is not None and config.egress.secrets == "refuse":
        egress.refuse(config, redact.spots)
    return veil


def _changes(reading: Reading, before: object) -> tuple[Reason, ...]:
    found = repository_changes(before, repository_state(reading.repository.top, index=True))  # type: ignore[arg-type]
    return tuple(replace(r, text=r.text.replace("during the review", "during the run")) for r in found)


def dirty(reading: Reading) -> bool:
    """Whether the work tree holds uncommitted changes of tracked files."""
    repository = reading.repository
    scratch = Scratch(repository.top)
    try:
        shadow = Shadow(scratch.path / "git", repository, git.object_format(reading.base))
        whole = replace(repository, prefix="")
        selection = taken.select(whole, (), (), False)
        return taken.build(shadow, selection, reading.base).revision.dirty
    finally:
        scratch.close()
