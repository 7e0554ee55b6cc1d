"""What must hold between a manifest and the project that it is for: panels, executors, files.  Pure.

The project is reached through the port :class:`Project`; ``surroundings.py`` has the one implementation.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from prun_review.manifestfields import Problems, near
from prun_review.scopes import common, head
from prun_review.scopetext import BOUNDARY, CREATE, Entry
from prun_review.taskmaking import Joined
from prun_review.tasks import Task


class Project(Protocol):
    """The project that a directory of waves lies in, as it is now."""

    def panel(self, name: str) -> str:
        """Why a panel (a folder, a file or a node id) cannot be asked; empty where it can."""

    def doer(self, task: Task) -> str:
        """The executor of a task, whether it is able or not."""

    @property
    def able(self) -> Collection[str]:
        """The executors that write code."""

    def unable(self, name: str) -> str:
        """Why that executor cannot do a task; empty where it can."""

    def there(self, name: str) -> str:
        """``file`` or ``folder`` where something of that name is there; else empty."""


def doers(joined: Sequence[Joined], project: Project, problems: Problems) -> None:
    """An error for a task that wishes for an executor who cannot do it; a warning for each who is configured
    and cannot: a run may choose another one."""
    told: set[str] = set()
    for each in joined:
        name = project.doer(each.task)
        why = project.unable(name)
        remedy = near(name, project.able) or f"who can: {', '.join(sorted(project.able)) or 'nobody'}"
        if why and each.task.executor:
            problems.error("unknown-executor", *each.where("executor"), f"{each.task.id}: {why}", remedy)
        elif why and name not in told:
            told.add(name)
            text = f"{each.task.id}: {why}, and it is configured for this task"
            problems.warning("unknown-executor", *each.place, text, remedy)


def files(joined: Sequence[Joined], project: Project, problems: Problems) -> None:
    """A warning for each task that modifies what is not there, and is created by no task up to its wave; and
    for each that creates a file that is there."""
    for each in joined:
        entries = [entry for entry in _named(each) if entry.kind != BOUNDARY]
        missing = [e for e in entries if e.kind != CREATE and not _to_be(e, each, joined, project)]
        present = [e for e in entries if e.kind == CREATE and project.there(e.target.pattern) == "file"]
        _tell(
            each,
            missing,
            "it is not there",
            "nor is",
            "CREATE it, or mend its name",
            "scope-missing",
            problems,
        )
        _tell(
            each,
            present,
            "it is there already",
            "so is",
            "MODIFY it where it is meant",
            "scope-there",
            problems,
        )


def _named(each: Joined) -> list[Entry]:
    """The entries that name one thing."""
    entries = each.file.entries if each.file else ()
    return [entry for entry in entries if head(entry.target.pattern) == entry.target.pattern]


def _to_be(entry: Entry, each: Joined, joined: Sequence[Joined], project: Project) -> bool:
    """Whether what it names is there, or may be by then."""
    name = entry.target.pattern
    if project.there(name):
        return True
    for other in joined:
        if other.task.wave < each.task.wave and not other.task.scope.stated:
            return True  # it may create anything
        creates = other.task.scope.create if other.task.wave <= each.task.wave else ()
        if any(common(pattern, name) is not None for pattern in creates):
            return True
    return False


def _tell(
    each: Joined, entries: Sequence[Entry], what: str, also: str, remedy: str, code: str, problems: Problems
) -> None:
    if entries and each.file:
        first, more = entries[0], len(entries) - 1
        beside = f", {also} {more} more of this task" if more else ""
        told = f"{first.kind} {first.target.pattern}: {what}{beside}"
        problems.warning(code, each.file.name, first.line, told, remedy)
