"""The project that a directory of waves lies in, as its manifest is read: panels, executors, files.

Nothing of it is executed or imported.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from prun_review import extensions, waveunits
from prun_review.config import Config
from prun_review.ports import Executor
from prun_review.tasks import Task

KIND = "task"


@dataclass(frozen=True)
class Surroundings:
    """:class:`prun_review.projectrules.Project`."""

    root: Path
    """Trusted."""
    config: Config
    executors: Mapping[str, Executor]
    chosen: str = ""
    """Who does the tasks that wish for nobody."""

    def panel(self, name: str) -> str:
        """Why a panel cannot be asked; empty where it can.  It is relative to the trusted root."""
        place = self.root / name.partition("::")[0]
        if not os.path.exists(place):
            return "it is not there"
        if os.path.isdir(place) and next(place.rglob("*.py"), None) is None:
            return "it holds no probe"
        return ""

    def doer(self, task: Task) -> str:
        """The executor of a task, by the name that it is known by here."""
        return known_as(waveunits.executor_of(task, self.config.waves, self.chosen), self.executors)

    @property
    def able(self) -> Collection[str]:
        """The executors that write code."""
        return [name for name, executor in self.executors.items() if KIND in executor.contracts]

    def unable(self, name: str) -> str:
        """Why that executor cannot do a task; empty where it can."""
        if name not in self.executors:
            return f"there is no executor {name!r}"
        return "" if name in self.able else f"{name} does not write code"

    def there(self, name: str) -> str:
        """What lies there in the work tree."""
        place = self.root / name
        return "folder" if os.path.isdir(place) else "file" if os.path.lexists(place) else ""


def of(root: Path, config: Config) -> Surroundings:
    """The project of a root, with the executors that are installed and configured."""
    return Surroundings(root, config, extensions.executors(extensions.manager(), config))


def known_as(name: str, executors: Mapping[str, Executor]) -> str:
    """``sonnet`` for ``claude``: people name the program, where one executor alone is of that lineage."""
    able = [n for n, executor in executors.items() if executor.lineage == name and KIND in executor.contracts]
    return able[0] if name not in executors and len(able) == 1 else name
