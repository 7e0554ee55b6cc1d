"""``prun-review validate DIR``: all that is wrong with the waves and tasks of a ``parallel/`` directory.

DIR holds ``manifest.json``, or task files in ``tasks/``.  Everything that is wrong is told at once, with file
and line; nothing that the directory names is executed, imported or installed.

Exit 0: it can be run (there may be warnings); 1: there are errors; 2: there is no such directory.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prun_review.renderers.escape import one_line

if TYPE_CHECKING:
    from prun_review.surroundings import Surroundings
    from prun_review.tasks import Manifest, Problem, Wave

SCHEMA_VERSION = 1


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "validate",
        help="tell what is wrong with a directory of waves and tasks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="what holds manifest.json or tasks/")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def run(args: argparse.Namespace) -> int:
    """Print the problems; 0 or 1."""
    from prun_review import manifest, parallel

    root, project = _project(args.directory)
    opened = parallel.open_directory(root, args.directory)
    found, problems = manifest.read(opened, project)
    if args.json:
        print(json.dumps(document(opened.path, found, problems), indent=2))
    else:
        shown = os.path.relpath(opened.place)
        for problem in problems:
            print(_line(problem, shown))
            if problem.remedy:
                print(f"  remedy: {one_line(problem.remedy)}")
        print(_counts(found, problems))
    return 1 if _of(problems, "error") else 0


def _project(directory: Path) -> tuple[Path, Surroundings | None]:
    """The trusted root and the project, as a run would take them; None where there is no project."""
    from prun_review import git, runwaves, surroundings
    from prun_review.errors import PrunError
    from prun_review.settings import is_project

    with suppress(PrunError):  # then only what the directory itself holds can be looked at
        root, config = runwaves.settings(directory, {})
        place = Path(os.path.realpath(directory))
        if place.is_relative_to(os.path.realpath(root)) and (is_project(root) or git.find(root)):
            return root, surroundings.of(root, config)
    return _root(directory), None


def _root(directory: Path) -> Path:
    """The trusted root that a directory lies in; of one elsewhere its parent: only reading it needs none."""
    from prun_review.settings import read_settings

    root, _ = read_settings(Path.cwd())
    place = Path(os.path.realpath(directory))
    return root if place.is_relative_to(os.path.realpath(root)) else place.parent


def _line(problem: Problem, directory: str) -> str:
    """As compilers print it, so that editors find the place."""
    place = os.path.normpath(os.path.join(directory, problem.file))
    where = f"{place}:{problem.line}" if problem.line else place
    return f"{one_line(where, 400)}: {problem.level}: [{problem.code}] {one_line(problem.text, 600)}"


def _of(problems: Sequence[Problem], level: str) -> int:
    return sum(problem.level == level for problem in problems)


def _counts(found: Manifest | None, problems: Sequence[Problem]) -> str:
    from prun_review.verdict import number

    told = f"{number(_of(problems, 'error'), 'error')}, {number(_of(problems, 'warning'), 'warning')}"
    if found is None:
        return f"{told}; nothing to run"
    prompts = sum(bool(task.task_file) and not task.prompt_file for task in found.tasks)
    built = f", {number(prompts, 'prompt')} built" if prompts else ""
    spec = f" of {one_line(found.spec, 60)}" if found.spec else ""
    return f"{told}; {number(len(found.tasks), 'task')} in {number(len(found.waves), 'wave')}{spec}{built}"


def document(directory: str, found: Manifest | None, problems: Sequence[Problem]) -> dict[str, Any]:
    """What ``--json`` prints; see ``schemas/validation.json``."""
    errors = _of(problems, "error")
    return {
        "schema_version": SCHEMA_VERSION,
        "directory": directory,
        "ok": not errors,
        "errors": errors,
        "warnings": len(problems) - errors,
        "variant": found.variant if found else None,
        "spec": found.spec if found else None,
        "digest": found.digest if found else None,
        "jobs": found.jobs or None if found else None,
        "waves": [_wave(wave) for wave in found.waves] if found else [],
        "problems": [
            {name: getattr(problem, name) for name in ("level", "code", "file", "line", "text", "remedy")}
            for problem in problems
        ],
    }


def _wave(wave: Wave) -> dict[str, Any]:
    tasks = [
        {
            "id": task.id,
            "short": task.short,
            "agent": task.agent,
            "executor": task.executor or None,
            "deps": list(task.deps),
            "task_file": task.task_file or None,
            "prompt_file": task.prompt_file or None,
        }
        for task in wave.tasks
    ]
    return {
        "number": wave.number,
        "validation": wave.validation or None,
        "panel": list(wave.panel),
        "tasks": tasks,
    }
