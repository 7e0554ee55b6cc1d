"""The accepted changes of a stored wave run put onto a commit of the user's, and looked at as a whole.

Four green branches are not a green merge: every validation of the manifest and the project's own tests run
on the whole, each on fresh files, and what the tasks were told (scopes, contracts) is held against it.  The
branch lies in an object store of its own in the run directory; the user's repository is read.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from prun_review import verifying
from prun_review.integrating import Change, Joined, Met, join, outside
from prun_review.publicnames import few
from prun_review.rebuilding import Accepted
from prun_review.tasks import Conflict, Integration, Manifest, Task
from prun_review.vault import Vault
from prun_review.waves import asked
from prun_review.written import Check

WHOLE, CONFLICTS, FAILED = "whole", "conflicts", "failed"

Run = Callable[[str, Sequence[str]], tuple[Check, ...]]
"""Runs commands on the files of a commit, as :meth:`prun_review.bench.Bench.run` does."""


Again = Callable[[Accepted, Task, Conflict], "Change | str"]
"""Has a task done again on the commit that a conflict names: its change, or why there is none."""


@dataclass(frozen=True, slots=True)
class Put:
    """Changes that were put onto a commit."""

    onto: str
    joined: Joined
    behind: tuple[str, ...]
    """Tasks that were not tried, since they build on one that is not in it."""
    failed: tuple[str, ...] = ()
    """What became of tasks that were done again and are not in it all the same, in words."""


def put(
    vault: Vault,
    onto: str,
    accepted: Sequence[Accepted],
    manifest: Manifest,
    prefix: str = "",
    again: Again = lambda each, task, conflict: "",
    most: int = 0,
) -> Put:
    """Put the changes onto the commit ``onto`` of the user's, in their order.

    A change that builds on one that is left out is left out too: without it, it would be another change.
    A task whose change clashes is done ``again``, at most ``most`` times.
    """
    today = {task.id: task for task in manifest.tasks}
    tip, commits, met = onto, dict[str, str](), list[Met]()
    conflicts, behind, failed = list[Conflict](), list[str](), list[str]()
    for each in accepted:
        task = today.get(each.task.id, each.task)
        if {*task.deps} & {*behind, *(conflict.task for conflict in conflicts)}:
            behind.append(task.id)
            continue
        # What it knows of earlier waves, it started from.
        here = [m for m in met if m.task.wave == task.wave]
        joined = join(vault, tip, [each.as_change(task)], here, prefix=prefix)
        for _ in range(most):
            if not joined.conflicts:
                break
            change = again(each, task, joined.conflicts[0])
            if isinstance(change, str):
                failed.append(f"{task.id} was done again in vain: {change}")
                break
            joined = join(vault, tip, [change], here, prefix=prefix)
        commits |= joined.commits
        conflicts += joined.conflicts
        met.append(Met(task, _paths(vault, tip, joined.head)))
        tip = joined.head
    return Put(onto, Joined(tip, commits, tuple(conflicts)), tuple(behind), tuple(failed))


def _paths(vault: Vault, old: str, new: str) -> frozenset[str]:
    return frozenset(path for file in vault.touched(old, new) for path in file.paths)


def look(put: Put, branch: str, checks: Sequence[Check], wrong: Sequence[str]) -> Integration:
    """What the changes came to, put together; ``wrong``: what speaks against it beside checks."""
    bad = [check.command for check in checks if not check.ok]
    told = [f"{', '.join(put.behind)} not tried, for what they build on is not in it"] if put.behind else []
    told += [*put.failed, *wrong, *(f"did not pass on the whole: {command}" for command in bad)]
    status = CONFLICTS if put.joined.conflicts or put.behind else FAILED if bad or wrong else WHOLE
    return Integration(
        status, branch, put.joined.head, put.joined.conflicts, tuple(checks), message="; ".join(told)
    )


def run_all(run: Run, head: str, manifest: Manifest, tests: Sequence[str]) -> tuple[Check, ...]:
    """Every validation that the manifest names, in wave order, and then ``tests``; each once, and on files
    that no other command has touched."""
    commands = dict.fromkeys((*(w.validation for w in manifest.waves if w.validation), *tests))
    found = [(command, run(head, (verifying.as_shell(command),))) for command in commands]
    return tuple(replace(check, command=command) for command, checks in found for check in checks)


# --- what speaks against it -------------------------------------------------------------------


def violations(
    vault: Vault, put: Put, accepted: Sequence[Accepted], manifest: Manifest, prefix: str = ""
) -> tuple[str, ...]:
    """What tasks did and must not have done by the manifest as it is now, and what of it is not what was
    run; in words."""
    found = [text for each in accepted for text in _of_task(vault, each, manifest, prefix)]
    contracts = {_contract(manifest, name, prefix): name for t in manifest.tasks for name in t.contracts}
    touched = vault.touched(put.onto, put.joined.head)
    changed = sorted({contracts[path] for file in touched for path in file.paths if path in contracts})
    return (*found, *(f"the contract {name} was changed" for name in changed))


def _of_task(vault: Vault, each: Accepted, manifest: Manifest, prefix: str) -> Iterator[str]:
    task = next((task for task in manifest.tasks if task.id == each.task.id), None)
    if task is None:
        yield f"{each.task.id} is no task of the manifest any more"
        return
    if asked(task) != each.outcome.asked:
        yield f"{task.id} was changed since it was run"
    if beyond := outside(task, _paths(vault, each.parent, each.commit), prefix):
        yield f"{task.id} changed what its scope does not name: {few(beyond)}"


def _contract(manifest: Manifest, name: str, prefix: str) -> str:
    """The path of a contract, from the root of the repository."""
    return prefix + posixpath.normpath(posixpath.join(manifest.directory, name))
