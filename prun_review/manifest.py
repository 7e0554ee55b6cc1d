"""A ``parallel/`` directory as one record, with all that is wrong with it.  Pure.

Nothing here runs, installs or imports anything that a manifest names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from prun_review import projectrules, scoperules, taskfiles, taskmaking, taskrules, wavelists
from prun_review.manifestfields import Fields, Problems
from prun_review.manifestfiles import MANIFEST, TASKS, Directory, Files
from prun_review.projectrules import Project
from prun_review.taskfiles import TaskFile
from prun_review.taskmaking import Joined, Shelf
from prun_review.tasks import Manifest, Problem, Wave
from prun_review.wavelists import Listing

_NOT_TASKS = frozenset({"readme", "index", "overview"})


def read(directory: Directory, project: Project | None = None) -> tuple[Manifest | None, tuple[Problem, ...]]:
    """The manifest and every problem, sorted by file and line.

    Where a problem is an error the manifest must not be run; it then holds what could be understood.  It is
    None only where there is nothing to run at all.  What it says of the ``project`` is checked where that is
    known.
    """
    problems = Problems()
    files = Files(directory, problems)
    held = _task_files(files)
    listing = wavelists.read(files.text(MANIFEST), held, directory.path, problems)
    # Of a manifest that cannot be read nothing more is known that could be wrong.
    rules = Problems() if listing.broken else problems
    shelf = Shelf.of(held)
    joined = [
        taskmaking.make(listed, shelf.find(listed, rules), directory.path, rules) for listed in listing.tasks
    ]
    _take_over(listing, joined, held, problems)
    joined = list(taskrules.unique(joined, rules))
    if not joined:
        _nothing(listing, files, directory.path, problems)
        return None, problems.sorted()
    joined = _related(listing, joined, project, rules)
    prompts = taskmaking.prompts(joined, files, directory.path, rules)
    joined = [_asked(each, *prompts[each.task.id]) for each in joined]
    taskmaking.unfiled(joined, rules)
    manifest = _manifest(directory.path, listing, _waves(listing, joined, project, problems))
    return replace(manifest, digest=files.digest()), problems.sorted()


def _task_files(files: Files) -> Mapping[str, TaskFile]:
    """By name.  Each keeps its faults for itself until it is known to count."""
    held = {}
    for name in files.below(TASKS, (".md",)):
        if name.rpartition("/")[2].removesuffix(".md").lower() not in _NOT_TASKS:
            text = files.text(name)
            if text is not None:
                held[name] = taskfiles.parse(name, text, Problems())
    return held


def _take_over(
    listing: Listing, joined: Sequence[Joined], held: Mapping[str, TaskFile], problems: Problems
) -> None:
    """Tell the faults of all task files that are used, or may be, and name the others."""
    used = {each.file.name for each in joined if each.file}
    for name, file in held.items():
        if name in used or not listing.whole:
            problems.take_over(file.fields.problems)
        else:
            told = "no task of the manifest means this task file"
            problems.warning("unlisted-task", name, file.line_of("id"), told)


def _nothing(listing: Listing, files: Files, directory: str, problems: Problems) -> None:
    """Tell that there is nothing to run."""
    if listing.file or files.below(TASKS):
        problems.error("no-tasks", listing.file or TASKS, None, "there is no task to run")
        return
    told = f"there is neither {MANIFEST} nor {TASKS}/ with task files in {directory}"
    problems.error("no-tasks", ".", None, told, f"name a directory that holds {MANIFEST} or {TASKS}/")


def _related(
    listing: Listing, joined: Sequence[Joined], project: Project | None, problems: Problems
) -> list[Joined]:
    """The tasks with their dependencies; all that must hold between them is checked."""
    # What is missing may only have been written in a way that was told already.
    unsure = problems if listing.whole else Problems()
    taskrules.numbers(listing, joined, unsure)
    taskrules.same_waves(joined, problems)
    taskrules.agents(joined, problems, decided=project is not None)
    if project:
        projectrules.doers(joined, project, problems)
        projectrules.files(joined, project, problems)
    taskrules.counts(listing.fields, joined, len({each.task.wave for each in joined}), unsure)
    scoperules.check(joined, problems)
    deps = taskrules.dependencies(joined, unsure)
    return [replace(each, task=replace(each.task, deps=deps[each.task.id])) for each in joined]


def _asked(joined: Joined, prompt_file: str, prompt: str) -> Joined:
    return replace(joined, task=replace(joined.task, prompt_file=prompt_file, prompt=prompt))


def _waves(
    listing: Listing, joined: Sequence[Joined], project: Project | None, problems: Problems
) -> tuple[Wave, ...]:
    """In the order of their numbers; of a number that stands twice all tasks, and what is said first."""
    numbers = sorted({each.task.wave for each in joined})
    made = []
    for number in numbers:
        said = [wave.fields for wave in listing.waves if wave.number == number]
        for fields in said:
            if fields.has("validation") and not str(fields.values["validation"]).strip():
                told = f"the validation of wave {number} is empty: nothing is run"
                problems.warning("bad-value", MANIFEST, fields.lines("validation"), told)
        validation = next(filter(None, (fields.text("validation") for fields in said)), "")
        panel = next(filter(None, (_panel(fields, project, problems) for fields in said)), ())
        tasks = tuple(each.task for each in joined if each.task.wave == number)
        made.append(Wave(number, tasks, validation, panel))
    return tuple(made)


def _panel(fields: Fields, project: Project | None, problems: Problems) -> tuple[str, ...]:
    panel = fields.texts("panel")
    for index, name in enumerate(panel):
        line = fields.lines(f"panel/{index}") or fields.lines("panel")
        if name.startswith("-"):
            told = f"panel is {name[:60]!r}, which is an option and no panel"
            problems.error("bad-value", MANIFEST, line, told)
        elif project and (why := project.panel(name)):
            remedy = "name a folder of probes, a file or a node id, relative to the root of the project"
            problems.error("panel-missing", MANIFEST, line, f"panel {name[:200]!r}: {why}", remedy)
    return tuple(name for name in panel if not name.startswith("-"))


def _manifest(directory: str, listing: Listing, waves: tuple[Wave, ...]) -> Manifest:
    fields = listing.fields
    execution = fields.table("execution").table("options")
    return Manifest(
        directory=directory,
        waves=waves,
        spec=listing.spec,
        name=fields.text("name")
        or (fields.table("tech_spec").text("title") if listing.variant == "D" else ""),
        technology=fields.text("technology"),
        variant=listing.variant,
        sources=listing.sources,
        jobs=fields.table("metadata").number("max_parallel") or execution.number("max_concurrent") or 0,
    )
