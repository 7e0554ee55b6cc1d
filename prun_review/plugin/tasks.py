"""A directory of waves and tasks becomes a pytest collector, its tasks become items."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from prun_review import parallel
from prun_review.errors import PrunError
from prun_review.manifestfiles import MANIFEST
from prun_review.model import Result
from prun_review.planning import Proposal
from prun_review.plugin.collect import decided
from prun_review.plugin.units import UNIT
from prun_review.plugin.wavescope import Waves
from prun_review.projectrules import Project
from prun_review.renderers.escape import one_line
from prun_review.tasks import ERROR, Manifest, Problem, Task
from prun_review.verdict import number

FOLLOWS = ("dependency", "validation", "panel", "not-selected")
"""Reasons of tasks that were not run because of something else, which pytest tells itself: skipped."""
SHOWN = 12
"""Lines of a failed check's output that a report holds."""


class ManifestWarning(pytest.PytestWarning):
    """Something in a directory of waves that does not keep it from being run."""


class TaskItem(pytest.Item):
    """One task; it passes only where the task succeeded, whatever else happened to it."""

    def __init__(self, *, task: Task, unit: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.task = task
        self.stash[UNIT] = unit

    def runtest(self) -> None:
        """Nothing: the task was done by the run, and its outcome is judged around this call."""

    def reportinfo(self) -> tuple[Path, int, str]:
        """Its task file, or the manifest that lists it."""
        return self.path / (self.task.task_file or MANIFEST), 0, self.name


class ManifestDirectory(pytest.Directory):
    """The directory that the command line names."""

    collector: TaskCollector

    def collect(self) -> Iterable[pytest.Item]:
        """One item a task; one error with everything that is wrong where there are errors."""
        manifest = self.collector.read(self)
        waves = self.collector.waves
        known = {name for task in manifest.tasks for name in (task.id, task.short)}
        unknown = sorted((waves.chosen or set()) - known)
        if unknown:
            there = ", ".join(task.id for task in manifest.tasks[:20])
            raise self.CollectError(f"{self.nodeid} has no task {', '.join(unknown)}; there are: {there}")
        for task in manifest.tasks:
            if waves.chosen is None or waves.chosen & {task.id, task.short}:
                unit = f"{manifest.directory}::{task.id}"
                yield TaskItem.from_parent(self, name=task.id, task=task, unit=unit)


class TaskCollector:
    """The collection hooks of a session that runs a directory of waves."""

    def __init__(self, root: Path, waves: Waves, project: Project) -> None:
        self.root = root
        self.project = project
        self.waves = waves
        self.seen = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_directory(self, path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Our collector for the one directory that was named; tests in it are not looked for."""
        if Path(os.path.realpath(path)) != self.waves.real:
            return None
        node = self.waves.node(parent.config.rootpath)
        made: ManifestDirectory = ManifestDirectory.from_parent(parent, path=path, nodeid=node)
        made.collector = self
        return made

    def read(self, node: ManifestDirectory) -> Manifest:
        """The manifest; its warnings are told, its errors are one ``CollectError``."""
        try:
            manifest, problems = parallel.read(self.root, node.path, self.project)
        except PrunError as error:
            raise node.CollectError(str(error)) from None
        errors = [problem for problem in problems if problem.level == ERROR]
        if errors or manifest is None:
            told = [f"{node.nodeid} cannot be run: {number(len(errors), 'error')}"]
            raise node.CollectError("\n".join([*told, *(_told(node.nodeid, e) for e in errors)]))
        for problem in problems:
            node.warn(ManifestWarning(_told(node.nodeid, problem)))
        return manifest

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Count the tasks before anything takes some away."""
        self.seen += isinstance(item, TaskItem)

    def left(self, items: Sequence[pytest.Item]) -> int:
        """How many tasks were collected and are not in ``items``, whatever took them away."""
        return max(0, self.seen - sum(isinstance(item, TaskItem) for item in items))

    def proposals(self, items: Sequence[pytest.Item]) -> list[Proposal]:
        """One proposal for each task that is to be run; a mark that skips one keeps it from being run."""
        made = []
        for item in items:
            if isinstance(item, TaskItem):
                unit, (reason, text) = item.stash[UNIT], decided(item)
                folder, place = unit.rpartition("::")[0], item.task.task_file or MANIFEST
                made.append(
                    Proposal(unit, unit, folder, item.task.executor, place=place, not_asked=reason, text=text)
                )
        return made


def judge(result: Result) -> None:
    """Fail or skip the item of a task that did not succeed, with everything that is known of why."""
    if result.status == "not-run" and result.reason in FOLLOWS:
        # At the task's own place: where pytest was told to skip it is of no use to anybody.
        raise pytest.skip.Exception(
            one_line(f"{result.reason}: {result.message}", 600), _use_item_location=True
        )
    pytest.fail(why(result), pytrace=False)


def why(result: Result) -> str:
    """Reason, message, violations and failed checks of a task, each on lines of its own."""
    from prun_review.plugin.items import clean_text

    lines = [f"{result.unit.rpartition('::')[2]} {_ended(result)}: {result.reason}"]
    lines += [result.message] if result.message else []
    lines += [f"  {violation}" for violation in result.violations]
    for check in result.checks:
        if not check.ok:
            how = check.ended_by or ("did not start" if check.code is None else f"exit {check.code}")
            lines.append(f"  check failed ({how}): {check.command}")
            lines += [f"    {line}" for line in check.said.splitlines()[-SHOWN:]]
    return clean_text("\n".join(lines))


def _ended(result: Result) -> str:
    by = f" by {result.executor}" if result.executor else ""
    return f"was not run{by}" if result.status == "not-run" else f"failed{by}"


def _told(directory: str, problem: Problem) -> str:
    place = f"{directory}/{problem.file}" if directory != "." else problem.file
    where = f"{place}:{problem.line}" if problem.line else place
    told = f"{one_line(where, 400)}: {problem.level}: [{problem.code}] {one_line(problem.text, 600)}"
    return f"{told}\n  remedy: {one_line(problem.remedy, 400)}" if problem.remedy else told
