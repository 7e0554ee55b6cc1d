"""``manifest.json`` in all its variants, as one list of waves.  Pure.

Five variants are about.  A has nothing but waves and ``prompt_file``; B adds dependencies and counts, C
components and sources; D (version 1.0.0) has no waves at all, only a list of task files; and there may be
task files without a manifest.  In the last two the waves stand in the frontmatter.

What a manifest says of packages to install (``dependencies``) is not read: nothing here installs anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prun_review import jsonplaces
from prun_review.manifestfields import Fields, Problems
from prun_review.manifestfiles import MANIFEST, TASKS, below
from prun_review.strictjson import pointer, shown
from prun_review.taskfiles import TaskFile
from prun_review.taskids import short

KEYS = (
    *("tech_spec_id", "name", "technology", "python_version", "dependencies", "waves", "metadata"),
    *("version", "created_at", "tech_spec", "sources", "command", "tasks", "execution", "integration"),
    *("description", "title"),
)
WAVE_KEYS = ("number", "name", "description", "tasks", "validation", "panel")
TASK_KEYS = (
    *("id", "agent", "prompt_file", "component", "title", "description", "deps", "blocks"),
    *("verify", "executor", "timeout", "access"),
)
META_KEYS = (
    *("tech_spec", "generated_at", "created_at", "total_tasks", "total_waves", "max_parallel"),
    *("critical_path", "sources", "generator", "version"),
)
_EXAMPLES = {
    "waves": '{"number": 1, "tasks": [{"id": "task-001-users"}]}',
    "tasks": '{"id": "task-001-users"}',
}


@dataclass(frozen=True)
class Listed:
    """A task where it is listed."""

    id: str
    wave: int
    fields: Fields
    """What the manifest says of it; without keys where it only lists files."""
    line: int | None
    task_file: str = ""
    """Where the list is one of files: which."""


@dataclass(frozen=True)
class ListedWave:
    """A wave where it is listed."""

    number: int
    line: int | None
    fields: Fields


@dataclass(frozen=True)
class Listing:
    """A manifest that was read."""

    file: str
    """``manifest.json``, or empty where there is none."""
    variant: str
    fields: Fields
    tasks: tuple[Listed, ...] = ()
    waves: tuple[ListedWave, ...] = ()
    spec: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    whole: bool = True
    """Whether all of it could be understood: else more tasks are meant than these."""

    @property
    def broken(self) -> bool:
        """Whether there is a manifest of which nothing could be understood."""
        return bool(self.file) and not self.fields.values and not self.whole


def read(text: str | None, files: Mapping[str, TaskFile], directory: str, problems: Problems) -> Listing:
    """The listing of a directory: of its manifest's text, or where that is None of its task files.

    ``directory`` is its path below the trusted root: paths in a manifest may begin with it.
    """
    if text is None:
        nothing = Fields({}, MANIFEST, lambda _: None, problems, "the manifest")
        return Listing("", "none", nothing, _of_files(tuple(files), files, problems, {}))
    located = jsonplaces.read(text)
    for fault in located.faults:
        tell = problems.warning if fault.mended else problems.error
        tell(fault.code, MANIFEST, fault.line, fault.text, fault.remedy)
    value = located.value
    if not isinstance(value, dict):
        if not any(fault.code in ("not-json", "too-deep") for fault in located.faults):
            remedy = 'it begins with {"tech_spec_id": "TS-...", "waves": ['
            problems.error("wrong-type", MANIFEST, 1, "the manifest must be an object", remedy)
        value = None

    fields = Fields(value or {}, MANIFEST, _below(located, ""), problems, "the manifest")
    if value is None:
        told = Problems()  # what would be said of waves that nobody understood is of no use
        tasks = _of_files(tuple(files), files, told, {})
        return Listing(MANIFEST, "none", fields, tasks, whole=False)
    return _listing(fields, located, files, directory, problems)


def _listing(
    fields: Fields,
    located: jsonplaces.Located,
    files: Mapping[str, TaskFile],
    directory: str,
    problems: Problems,
) -> Listing:
    fields.known(KEYS)
    metadata = fields.table("metadata")
    metadata.known(META_KEYS)
    old = "waves" not in fields.values and any(
        isinstance(fields.values.get(k), dict) for k in ("tasks", "execution")
    )
    _required(fields, old, problems)
    spec = fields.text("tech_spec_id")
    waves: tuple[ListedWave, ...] = ()
    whole = True
    if old:
        spec = spec or fields.table("tech_spec").text("id")
        tasks = _old(fields, files, directory, problems)
    elif fields.has("waves"):
        waves, tasks, whole = _waves(fields, located, problems)
    else:
        tasks = _of_files(tuple(files), files, problems, {})
    variant, sources = _variant(fields, tasks, old), _sources(fields, old)
    return Listing(MANIFEST, variant, fields, tasks, waves, spec, sources, whole)


def _required(fields: Fields, old: bool, problems: Problems) -> None:
    if old:
        identified = isinstance(fields.values.get("tech_spec"), dict) or "tech_spec_id" in fields.values
        missing = [*([] if identified else ["tech_spec"]), *([] if "tasks" in fields.values else ["tasks"])]
    else:
        there = {"tech_spec_id": "tech_spec_id" in fields.values, "waves": fields.has("waves")}
        missing = [key for key, said in there.items() if not said]
    if missing:
        problems.error("missing-field", MANIFEST, 1, f"Missing required fields: {', '.join(missing)}")


def _variant(fields: Fields, tasks: Sequence[Listed], old: bool) -> str:
    if old:
        return "D"
    metadata = fields.values.get("metadata")
    if any("component" in t.fields.values for t in tasks) or (
        isinstance(metadata, dict) and "sources" in metadata
    ):
        return "C"
    return "B" if {"dependencies", "python_version", "metadata"} & fields.values.keys() else "A"


def _sources(fields: Fields, old: bool) -> Mapping[str, str]:
    metadata = fields.table("metadata")
    held = fields.table("sources") if fields.has("sources") else metadata.table("sources")
    found = {key: held.text(key) for key in ("prd", "tech_spec")}
    found["tech_spec"] = found["tech_spec"] or metadata.text("tech_spec")
    if old:
        found["tech_spec"] = found["tech_spec"] or fields.table("tech_spec").text("path")
    return {key: value for key, value in found.items() if value}


def _waves(
    fields: Fields, located: jsonplaces.Located, problems: Problems
) -> tuple[tuple[ListedWave, ...], tuple[Listed, ...], bool]:
    waves, tasks = [], []
    listed, whole = _objects(fields, "waves", located, problems)
    for index, value, line in listed:
        where = f"waves/{index}"
        wave = Fields(
            value, MANIFEST, _below(located, f"/{where}"), problems, f"wave {index + 1} of the list"
        )
        wave.known(WAVE_KEYS)
        number = wave.number("number")
        if not wave.has("number"):
            problems.error("missing-field", MANIFEST, line, f"{wave.what} has no number")
        number = index + 1 if number is None else number
        waves.append(ListedWave(number, wave.lines("number") or line, wave))
        held, all_of_it = _objects(wave, "tasks", located, problems, where)
        whole = whole and all_of_it
        for at, task, place in held:
            lines = _below(located, f"/{where}/tasks/{at}")
            entry = Fields(task, MANIFEST, lines, problems, f"task {at + 1} of wave {number}")
            entry.known(TASK_KEYS)
            name = entry.text("id")
            if not name:
                problems.error("missing-field", MANIFEST, place, f"{entry.what} has no id")
            tasks.append(Listed(name, number, entry, lines("id") or place))
    known = tuple(task for task in tasks if task.id)
    return tuple(waves), known, whole and len(known) == len(tasks)


def _objects(
    fields: Fields, key: str, located: jsonplaces.Located, problems: Problems, above: str = ""
) -> tuple[Sequence[tuple[int, Mapping[str, Any], int | None]], bool]:
    """The objects of a list with index and line, and whether these are all; a fault for everything else in
    it.  The id of a task in place of the task is a fault and is understood."""
    value = fields.values.get(key)
    if not isinstance(value, list):
        fields.wrong(key, "a list", value)
        return [], False
    found: list[tuple[int, Mapping[str, Any], int | None]] = []
    for index, item in enumerate(value):
        line = located.lines.get(pointer(f"/{above}/{key}" if above else f"/{key}", index))
        if isinstance(item, dict):
            found.append((index, item, line))
            continue
        an_id = key == "tasks" and isinstance(item, str) and bool(item.strip())
        if an_id:
            found.append((index, {"id": item}, line))
        told = f"{fields.what}: item {index + 1} of {key} must be an object, and is {shown(item)}"
        remedy = f"write {json.dumps({'id': item})}" if an_id else f"write {_EXAMPLES[key]}"
        problems.error("wrong-type", MANIFEST, line, told, remedy)
    return found, len(found) == len(value)


def _below(located: jsonplaces.Located, where: str) -> Callable[[str], int | None]:
    """The lines of keys below a pointer; a key may hold a slash itself."""
    held = located.lines
    return lambda key: held.get(f"{where}/{key}") or held.get(pointer(where, key))


def _old(
    fields: Fields, files: Mapping[str, TaskFile], directory: str, problems: Problems
) -> tuple[Listed, ...]:
    """Variant D: a list of files; the waves are in their frontmatter, else in ``execution``."""
    tasks = fields.table("tasks")
    names = []
    lines: dict[str, int | None] = {}
    for index, said in enumerate(tasks.texts("files")):
        name = next((n for n in (below(said, directory), f"{TASKS}/{said}") if n in files), "")
        if name:
            names.append(name)
            lines[name] = tasks.lines(f"files/{index}")
        else:
            line = tasks.lines(f"files/{index}") or tasks.lines("files")
            problems.error("task-file-missing", MANIFEST, line, f"the task file {said!r} is not there")
    spoken: dict[str, int] = {}
    execution = fields.table("execution")
    held = execution.values.get("waves")
    for index, wave in enumerate(held if isinstance(held, list) else []):
        number = wave.get("wave") if isinstance(wave, dict) else None
        listed = wave.get("tasks") if isinstance(wave, dict) else None
        if isinstance(number, int) and not isinstance(number, bool) and isinstance(listed, list):
            spoken.update((name, number) for name in listed if isinstance(name, str))
        else:
            told = f"wave {index + 1} of execution needs 'wave' (a number) and 'tasks' (a list)"
            problems.error("wrong-type", MANIFEST, execution.lines(f"waves/{index}"), told)
    chosen = names if tasks.has("files") else list(files)
    return _of_files(chosen, files, problems, spoken, lines)


def _of_files(
    names: Sequence[str],
    files: Mapping[str, TaskFile],
    problems: Problems,
    spoken: Mapping[str, int],
    lines: Mapping[str, int | None] | None = None,
) -> tuple[Listed, ...]:
    """Tasks of task files: waves of the frontmatter, else as ``spoken`` of by id, else all in one."""
    waves = {}
    for name in names:
        said = files[name].fields.number("wave")
        held = {key: number for key, number in spoken.items() if key in _ids(files[name])}
        if said and held and said not in held.values():
            told = f"its wave is {said}, and execution of the manifest puts it into {min(held.values())}"
            problems.warning("wave-differs", name, files[name].line_of("wave"), told)
        waves[name] = said or next(iter(held.values()), None)
    none = not any(waves.values())
    found = []
    for name in names:
        file = files[name]
        if waves[name] is None and not none:
            problems.error(
                "missing-field", name, 1, "its frontmatter has no wave, and that of others has one"
            )
        place = (lines or {}).get(name)
        empty = Fields({}, MANIFEST if place else name, lambda _: None, problems, f"task {file.stem!r}")
        found.append(Listed(_best_id(file), waves[name] or 1, empty, place or file.line_of("id"), name))
    return tuple(found)


def _ids(file: TaskFile) -> set[str]:
    return {file.stem, short(file.stem), _best_id(file)}


def _best_id(file: TaskFile) -> str:
    """The longer one where file name and frontmatter mean the same task, else the frontmatter's."""
    said = file.fields.values.get("id")
    said = said.strip() if isinstance(said, str) else ""
    return file.stem if not said or file.stem.startswith(f"{said}-") else said
