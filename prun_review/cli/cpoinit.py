"""``cpo init DIR -t TECH_SPEC -n NAME``: an empty directory of waves, to be filled with tasks.

It makes DIR with ``manifest.json``, ``context.md``, ``.gitignore``, ``tasks/`` and ``contracts/``.  Nothing
that is there already is written to.  Tasks are files ``tasks/task-001-NAME.md``; ``cpo validate DIR`` tells
what they and the manifest lack.

Exit 0; 2 where there is a manifest already, or DIR cannot be made.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prun_review.manifestfiles import MANIFEST, TASKS
from prun_review.renderers.escape import one_line

DONE, USAGE = 0, 2
_FOLDERS = (TASKS, "contracts")
_IGNORED = "# What runs leave behind.\n/logs/\n/report.json\n/integration-report.md\n"
_SPEC = re.compile(r"TS-\d+", re.IGNORECASE)


def main(words: Sequence[str]) -> int:
    """Make the directory; the exit status."""
    parser = argparse.ArgumentParser(
        prog="cpo init", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("directory", type=Path, metavar="DIR", help="parallel/TS-0042-users, say")
    add("-t", "--tech-spec", default="", metavar="ID", help="tech_spec_id (default: the one in DIR's name)")
    add("-n", "--name", default="", metavar="NAME", help="what it is called (default: DIR's name)")
    try:
        args = parser.parse_args(words)
    except SystemExit as ended:
        return int(ended.code or 0)
    place: Path = args.directory
    found = _SPEC.match(place.resolve().name)
    spec = args.tech_spec or (found[0] if found else "")
    name = args.name or place.resolve().name.removeprefix(spec).strip("-") or spec
    try:
        made = _make(place, spec, name)
    except OSError as error:
        if (place / MANIFEST).exists():
            return _refused(f"{place / MANIFEST} is there already", "another directory, or edit that one")
        return _refused(f"{place} cannot be made: {error.strerror}", "a directory that may be written")
    shown = one_line(str(place), 1000)
    print(f"made {shown}: {', '.join(made)}")
    print(f"next: write {shown}/tasks/task-001-NAME.md and name its id in the manifest's waves")
    print(f"then: cpo validate {shlex.quote(shown)}")
    return DONE


def _make(place: Path, spec: str, name: str) -> list[str]:
    """Make what is not there, the manifest first; the names of what was made."""
    manifest: dict[str, Any] = {"tech_spec_id": spec or None, "name": name, "waves": []}
    place.mkdir(parents=True, exist_ok=True)
    with open(place / MANIFEST, "x", encoding="utf-8") as stream:
        stream.write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    made = [MANIFEST]
    for file, text in (
        ("context.md", f"# {name}\n\nWhat every task has to know.\n"),
        (".gitignore", _IGNORED),
    ):
        try:
            with open(place / file, "x", encoding="utf-8") as stream:
                stream.write(text)
        except FileExistsError:
            continue
        made.append(file)
    for folder in _FOLDERS:
        if not (place / folder).is_dir():
            (place / folder).mkdir()
            made.append(f"{folder}/")
    return made


def _refused(told: str, remedy: str) -> int:
    print(f"cpo init: {one_line(told, 1000)}\n  remedy: {remedy}", file=sys.stderr)
    return USAGE
