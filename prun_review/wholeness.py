"""The accepted changes of a stored wave run put onto a commit of the user's, and looked at as a whole.

Four green branches are not a green merge: every validation of the manifest and the project's own tests run
on the whole, each on fresh files, and what the tasks were told (scopes, contracts) is held against it.  The
branch lies in an object store of its own in the run directory; the user's repository is read.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from prun_review import verifying
from prun_review.integrating import Joined, Met, join, outside
from prun_review.publicnames import few
from prun_review.rebuilding import Accepted
from prun_review.tasks import Conflict, Integration, Manifest, Task
from prun_review.vault import Vault
from prun_review.waves import asked
from prun_review.written import Check

WHOLE, CONFLICTS, FAILED = "whole", "conflicts", "failed"

Run = Callable[[str, Sequence[str]], tuple[Check, ...]]
"""Runs commands on the files of a commit, as :meth:`prun_review.bench.Bench.run` does."""


@dataclass(frozen=True, slots=True)
class Put:
    """Changes that were put onto a commit."""

    onto: str
    joined: Joined
    behind: Mapping[str, str]
    """Tasks that were not tried, since they build on one that is not in it -> that one."""


def put(vault: Vault, onto: str, accepted: Sequence[Accepted], manifest: Manifest, prefix: str = "") -> Put:
    """Put the changes onto the commit ``onto`` of the user's, in their order.

    A change that builds on one that is left out is left out too: without it, it would be another change.
    """
    today = {task.id: task for task in manifest.tasks}
    head, commits = onto, dict[str, str]()
    conflicts: list[Conflict] = []
    behind: dict[str, str] = {}
    for each in accepted:
        task = today.get(each.task.id, each.task)
        lost = [dep for dep in task.deps if dep in behind or any(c.task == dep for c in conflicts)]
        if lost:
            behind[task.id] = lost[0]
            continue
        joined = join(vault, head, [each.as_change(task)], _met(accepted, commits, task), prefix=prefix)
        head = joined.head
        commits |= joined.commits
        conflicts += joined.conflicts
    return Put(onto, Joined(head, commits, tuple(conflicts)), behind)


def _met(accepted: Sequence[Accepted], commits: Mapping[str, str], task: Task) -> Iterator[Met]:
    """What is in it of the same wave: what it has of earlier ones, a change started from."""
    for each in accepted:
        if each.task.id in commits and each.task.wave == task.wave and each.outcome.patch:
            yield Met(each.task, each.outcome.patch.paths)


def look(put: Put, branch: str, checks: Sequence[Check], wrong: Sequence[str]) -> Integration:
    """What the changes came to, put together; ``wrong``: what speaks against it beside checks."""
    bad = [check.command for check in checks if not check.ok]
    told = [f"{', '.join(put.behind)} not tried, for what they build on is not in it"] if put.behind else []
    told += [*wrong, *(f"did not pass on the whole: {command}" for command in bad)]
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
    paths = {path for file in vault.touched(each.parent, each.commit) for path in file.paths}
    if beyond := outside(task, paths, prefix):
        yield f"{task.id} changed what its scope does not name: {few(beyond)}"


def _contract(manifest: Manifest, name: str, prefix: str) -> str:
    """The path of a contract, from the root of the repository."""
    return prefix + posixpath.normpath(posixpath.join(manifest.directory, name))
