"""Does this command line name a directory of waves and tasks?  Standard library only.

Such a directory holds a ``manifest.json`` that speaks of waves or tasks, or task files in ``tasks/``.  It
is looked for where a person typed its name, never elsewhere; a folder that is a project of its own is run
by ``prun-review run`` only, so that ``pytest .`` stays the command that runs its tests.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

MANIFEST, TASKS = "manifest.json", "tasks"
USUAL = "parallel"
"""The folder that directories of waves usually lie in: what a bare ``pytest`` has a word for."""
_READ = 1 << 20
"""Bytes of a manifest that are looked at."""


@dataclass(frozen=True)
class Waves:
    """The directory of waves and tasks that a command line names."""

    place: Path
    """Absolute, as it was typed."""
    chosen: frozenset[str] | None = None
    """The ids behind ``::``, long or short; None: all tasks."""

    @property
    def real(self) -> Path:
        """The same, resolved."""
        return Path(os.path.realpath(self.place))

    def sent(self) -> dict[str, Any]:
        """As execnet carries it to a worker."""
        return {
            "place": str(self.place),
            "chosen": None if self.chosen is None else sorted(self.chosen),
        }

    def node(self, root: Path) -> str:
        """The node id of the directory in a session with this root directory."""
        name = os.path.relpath(self.place, root).replace(os.sep, "/")
        return str(self.place) if name.startswith("../") else name


def received(sent: Mapping[str, Any]) -> Waves:
    """What :meth:`Waves.sent` made."""
    chosen = sent["chosen"]
    return Waves(Path(sent["place"]), None if chosen is None else frozenset(chosen))


def named(here: Path, typed: Sequence[str], *, with_panels: bool) -> Waves | None:
    """The directory that the typed arguments name; ``pytest.UsageError`` for two, and for one beside
    panels."""
    found: dict[Path, Waves] = {}
    for argument in typed:
        place = place_of(here, argument)
        if place is None or is_project(place):
            continue
        ids = frozenset(argument.split("::")[1:])
        former = found.get(Path(os.path.realpath(place)))
        chosen = None if not ids or (former and former.chosen is None) else ids
        if former:
            chosen = None if chosen is None else chosen | (former.chosen or frozenset())
        found[Path(os.path.realpath(place))] = Waves(former.place if former else place, chosen)
    if not found:
        return None
    if with_panels or len(found) > 1:
        shown = ", ".join(os.path.relpath(waves.place, here) for waves in found.values())
        other = "panels beside a directory of waves" if with_panels else "several directories of waves"
        raise pytest.UsageError(f"the arguments name {other}: {shown}\n  remedy: run pytest once for each")
    return next(iter(found.values()))


def place_of(here: Path, argument: str) -> Path | None:
    """The directory of waves that an argument means: it, its manifest or its task folder; None for others."""
    path = Path(os.path.abspath(here / argument.split("::", 1)[0]))
    if (path.name == MANIFEST and path.is_file()) or (path.name == TASKS and not holds_waves(path)):
        path = path.parent
    return path if holds_waves(path) else None


def holds_waves(path: Path) -> bool:
    """Whether a directory has a manifest that speaks of waves or tasks, or task files."""
    try:
        with (path / MANIFEST).open("rb") as file:
            said = file.read(_READ)
    except OSError:
        said = b""
    if b'"waves"' in said or b'"tech_spec_id"' in said:
        return True
    try:
        names = sorted(os.listdir(path / TASKS))
    except OSError:
        return False
    return any(_is_task(path / TASKS / name) for name in names if name.endswith(".md"))


def _is_task(path: Path) -> bool:
    """Whether a Markdown file is a task by its name or by the frontmatter that it begins with."""
    if path.name.startswith("task-"):
        return path.is_file()
    try:
        with path.open("rb") as file:
            return file.read(4).rstrip() == b"---"
    except OSError:
        return False


def is_project(path: Path) -> bool:
    """Whether the directory is a project of its own, whose tests ``pytest .`` runs."""
    return any((path / name).exists() for name in (".git", "pyproject.toml", "pytest.ini", "setup.py"))


def hint(here: Path, covered: Sequence[Path]) -> str:
    """The line about directories of waves that this command has not run; empty where it covers none."""
    told: list[Path] = []
    for root in covered:
        folders = [root] if holds_waves(root) else _usual(root / USUAL) or _usual(root)
        told += [folder for folder in folders if folder not in told]
    if not told:
        return ""
    first = os.path.relpath(told[0], here)
    how = f"prun-review run {first}" if is_project(told[0]) else f"pytest {first}"
    what = "1 directory of waves" if len(told) == 1 else f"{len(told)} directories of waves"
    return f"{what} not run: {how}{' ...' if len(told) > 1 else ''}"


def _usual(folder: Path) -> list[Path]:
    """The directories of waves in a folder ``parallel``."""
    if folder.name != USUAL or not folder.is_dir():
        return []
    return [path for path in sorted(folder.iterdir()) if path.is_dir() and holds_waves(path)]
