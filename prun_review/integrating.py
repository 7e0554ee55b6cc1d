"""Accepted changes put one after the other onto a tip, in the vault; nobody's checkout is touched.

Each is merged three ways, with what it started from as the base.  One that clashes is left out whole and
named: no side is ever dropped.  What merges without a clash is looked at once more, since git knows lines and
no scopes: two tasks may have made the same file, and a change may have followed a rename to a place that its
task must not touch.  The same changes on the same tip always make the same commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from prun_review import patterns
from prun_review.tasks import Conflict, Course, Outcome, Task
from prun_review.treediff import TEXT, Clash, Merged
from prun_review.wavesteps import of, unaccepted
from prun_review.written import Touched

WHO = "prun_review"
MAIL = "prun_review@localhost"


class Trees(Protocol):
    """What is needed of :class:`prun_review.vault.Vault`."""

    def tree_of(self, commit: str) -> str: ...

    def merge(self, base_tree: str, ours_tree: str, theirs_tree: str) -> Merged: ...

    def touched(self, old: str, new: str) -> tuple[Touched, ...]: ...

    def commit(
        self, tree: str, parents: Sequence[str], message: str, author: tuple[str, str] = ...
    ) -> str: ...


@dataclass(frozen=True, slots=True)
class Change:
    """What one task wrote, to be put onto a tip."""

    task: Task
    base: str
    """SHA of the commit or tree that it started from."""
    tree: str
    """SHA of the commit or tree that it came to."""
    author: str = ""
    """Name of the executor that wrote it."""


@dataclass(frozen=True, slots=True)
class Met:
    """A change that was accepted before."""

    task: Task
    paths: frozenset[str]
    """All names that it touched."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Changes put onto a tip."""

    head: str
    """SHA of the new tip; the old one where nothing was put onto it."""
    commits: Mapping[str, str]
    """By task that is in it: SHA of its commit, and for an empty change the tip that it met."""
    conflicts: tuple[Conflict, ...] = ()
    """One for every change that is not in it, in the order of the changes."""


def put_together(vault: Trees, course: Course, wave: int, *, prefix: str = "") -> Joined:
    """Put together what :class:`prun_review.wavesteps.PutTogether` asks for: all that a wave wrote and that
    is not accepted yet, in manifest order, onto what was accepted so far.

    ``prefix``: where scopes start, relative to the root of the repository; empty or with a slash at its end.
    ``TreeError`` where git fails.
    """
    manifest, held = course.manifest, course.waves[wave]
    found = next(each for each in manifest.waves if each.number == wave)
    tasks = {task.id: task for task in found.tasks}
    waiting = unaccepted(course, found)
    before = [
        Met(tasks[o.task], o.patch.paths) for o in of(course, found) if o.commit and o.patch and o.patch.files
    ]
    changes = [change_of(tasks[o.task], o) for o in waiting]
    return join(vault, held.head or held.base, changes, before, prefix=prefix)


def change_of(task: Task, outcome: Outcome) -> Change:
    """The change of a task that succeeded."""
    assert outcome.patch is not None, f"{outcome.task} succeeded without a patch"
    return Change(task, outcome.patch.base, outcome.patch.tree, outcome.executor)


def join(
    vault: Trees, onto: str, changes: Iterable[Change], before: Iterable[Met] = (), *, prefix: str = ""
) -> Joined:
    """Put changes onto the commit ``onto``, one after the other; ``before`` are those that it holds already
    and they did not start from."""
    tip, tree = onto, vault.tree_of(onto)
    met = list(before)
    commits: dict[str, str] = {}
    conflicts: list[Conflict] = []
    for change in changes:
        base, theirs = vault.tree_of(change.base), vault.tree_of(change.tree)
        own = frozenset(path for file in vault.touched(base, theirs) for path in file.paths)
        if not own:
            commits[change.task.id] = tip
            continue
        merged = vault.merge(base, tree, theirs)
        conflict = _clashes(change, merged) or _strays(vault, change, own, tree, merged.tree, prefix)
        conflict = conflict or _made_twice(change, own, met, prefix)
        if conflict:
            conflicts.append(replace(conflict, onto=tip, others=_others(conflict, met)))
            continue
        tip, tree = vault.commit(merged.tree, (tip,), _message(change.task), _author(change)), merged.tree
        commits[change.task.id] = tip
        met.append(Met(change.task, own))
    return Joined(tip, commits, tuple(conflicts))


def _message(task: Task) -> str:
    title = " ".join(task.title.split())
    return f"{task.id}: {title}\n" if title else f"{task.id}\n"


def _author(change: Change) -> tuple[str, str]:
    return change.author or WHO, MAIL


def _others(conflict: Conflict, met: Iterable[Met]) -> tuple[str, ...]:
    return tuple(m.task.id for m in met if m.paths & set(conflict.paths))


# --- what does not go together ----------------------------------------------------------------


def _clashes(change: Change, merged: Merged) -> Conflict | None:
    """What git could not merge."""
    if merged.clean:
        return None
    paths = tuple(sorted({clash.path for clash in merged.conflicts}))
    return Conflict(change.task.id, paths, _told(merged.conflicts))


def _told(clashes: Sequence[Clash]) -> str:
    """All clashing places; where they are too long each gets its share."""
    share = TEXT // len(clashes) if sum(len(c.text) + len(c.path) + 80 for c in clashes) > TEXT else TEXT
    return "\n".join(f"{c.path} ({c.kind})\n{c.text.rstrip()}"[:share] for c in clashes)[:TEXT]


def _strays(
    vault: Trees, change: Change, own: frozenset[str], before: str, after: str, prefix: str
) -> Conflict | None:
    """Files that the change reaches only on this tip, where a rename took it, and its task must not touch."""
    reached = {path for file in vault.touched(before, after) for path in file.paths} - own
    paths = outside(change.task, reached, prefix)
    if not paths:
        return None
    text = f"renamed meanwhile: what it changed is {', '.join(paths)} now, which its scope does not name"
    return Conflict(change.task.id, paths, text[:TEXT])


def outside(task: Task, paths: Iterable[str], prefix: str = "") -> tuple[str, ...]:
    """Those of the paths that a task must not touch, sorted; ``prefix`` as for :func:`put_together`."""
    scope = task.scope
    names = (*scope.create, *(target.pattern for target in scope.modify))

    def may(path: str) -> bool:
        return not _named(scope.boundary, path, prefix) and (not scope.stated or _named(names, path, prefix))

    return tuple(sorted(path for path in paths if not may(path)))


def _named(wanted: Sequence[str], path: str, prefix: str) -> bool:
    """Whether patterns that start at ``prefix`` name a path that starts at the root of the repository."""
    return path.startswith(prefix) and patterns.matcher(wanted)(path[len(prefix) :])


def _made_twice(change: Change, own: frozenset[str], met: Iterable[Met], prefix: str) -> Conflict | None:
    """Files that another task made too: git takes equal ones, and each task takes them for its own."""
    made = {path for path in own if _named(change.task.scope.create, path, prefix)}
    twice = {p: m.task for m in met for p in made & m.paths if _named(m.task.scope.create, p, prefix)}
    if not twice:
        return None
    told = ", ".join(f"{path} (also by {task.id})" for path, task in sorted(twice.items()))
    return Conflict(change.task.id, tuple(sorted(twice)), f"made by two tasks: {told}"[:TEXT])
