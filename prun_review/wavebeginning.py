"""A directory of waves read and checked, and the course that a run of it begins with; nothing is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prun_review import (
    git,
    manifest,
    parallel,
    wavebegin,
)
from prun_review.config import Config
from prun_review.errors import ConfigError, PlanError
from prun_review.git import Repository
from prun_review.parallel import ParallelDirectory
from prun_review.ports import Executor
from prun_review.surroundings import Surroundings
from prun_review.tasks import ERROR, SUCCEEDED, Course, Manifest, Problem
from prun_review.verdict import number
from prun_review.wavetaking import Former, newest, read


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
    """SHA of the commit that everything starts from: HEAD, or where the former run began."""
    prefix: str
    """The trusted root within the repository: empty, or with a slash at its end."""
    doers: Mapping[str, str]
    """Executor by task."""
    head: str = ""
    """SHA of HEAD, where everything starts from another commit; else empty."""


# --- reading ----------------------------------------------------------------------------------


def reading_of(wanted: Wanted) -> Reading:
    """Read and check it; ``ConfigError`` that tells everything that is wrong, ``TreeError`` where there is
    no commit to start from."""
    opened = parallel.open_directory(wanted.root, wanted.place)
    around = Surroundings(wanted.root, wanted.config, wanted.executors, wanted.selection.executor)
    found, problems = manifest.read(opened, around)
    errors = [problem for problem in problems if problem.level == ERROR]
    if errors or found is None:
        raise refused(opened.path, errors or list(problems))
    doers = {task.id: around.doer(task) for task in found.tasks}
    _check_doers(found, doers, around)
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


def jobs_of(config: Config, found: Manifest) -> int:
    """Most tasks at once: as configured or asked for, else what the options of a manifest of version 1 say,
    else the default.  What later ones call ``max_parallel`` is the width of their widest wave."""
    asked = config.sources.get("waves.jobs", "default") != "default"
    wish = found.jobs if found.variant == "D" and not asked else 0
    return wish or config.waves.jobs


def _check_doers(found: Manifest, doers: Mapping[str, str], around: Surroundings) -> None:
    faults = {task.id: around.unable(doers[task.id]) for task in found.tasks}
    wrong = [f"{task}: {why}" for task, why in faults.items() if why]
    if wrong:
        told = "; ".join(wrong[:5]) + (f"; and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        who = f"who can: {', '.join(sorted(around.able))}"
        mine = 'a program of your own with contracts = ["task"] in its table'
        raise ConfigError(told, place=found.directory, remedy=f"{who}, or {mine}")


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


def going_on(reading: Reading, former: Former | None) -> Reading:
    """The reading from the commit that the former run began at, whatever HEAD is now; as it is where that
    commit is gone, and then the run is refused."""
    base = former.course.base if former else reading.base
    there = git.SHA.fullmatch(base) and git.commit(reading.repository, base) == base
    return replace(reading, base=base, head=reading.base) if there and base != reading.base else reading


def moved(reading: Reading) -> str:
    """What is said of a run that starts elsewhere than at HEAD; empty where it does not."""
    if not reading.head:
        return ""
    return f"goes on from {reading.base[:12]}, where it began; HEAD is {reading.head[:12]} now"


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
