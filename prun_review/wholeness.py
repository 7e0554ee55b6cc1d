"""The accepted changes of a stored wave run put onto a commit of the user's, and looked at as a whole.

Four green branches are not a green merge: every validation of the manifest and the project's own tests run
on the whole, each on fresh files, and what the tasks were told (scopes, contracts) is held against it.  The
branch lies in an object store of its own in the run directory; the user's repository is read.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from prun_review import verifying
from prun_review.git import GITLINK, LINK, SMALL_CAP
from prun_review.integrating import Change, Joined, Met, join, outside
from prun_review.publicnames import few, public_name
from prun_review.rebuilding import Accepted
from prun_review.snapshot import stays_inside
from prun_review.tasks import SUCCEEDED, Conflict, Course, Integration, Manifest, Task
from prun_review.vault import Vault
from prun_review.waves import asked, trusted
from prun_review.written import Check

WHOLE, CONFLICTS, FAILED = "whole", "conflicts", "failed"

Run = Callable[[str, Sequence[str]], tuple[Check, ...]]
"""Runs commands on the files of a commit, as :meth:`prun_review.bench.Bench.run` does."""


NO_TESTS = "neither --test nor tests in [tool.prun_review.waves] names one"


@dataclass(frozen=True, slots=True)
class Tests:
    """The project's own tests, as shell commands."""

    run: tuple[str, ...]
    configured: tuple[str, ...] = ()
    """Those of the configuration, which the command line may replace."""


class Again(Protocol):
    """Has tasks done again whose change clashes."""

    def earlier(self, task: Task) -> Iterable[Change]:
        """What it wrote when it was done again on another occasion, the latest first."""

    def __call__(self, each: Accepted, task: Task, conflict: Conflict) -> Change | str:
        """What it writes on the commit that the conflict names; or why that does not count."""


@dataclass(frozen=True, slots=True)
class Put:
    """Changes that were put onto a commit."""

    onto: str
    joined: Joined
    behind: tuple[str, ...]
    """Tasks that were not tried, since they build on one that is not in it."""
    redone: tuple[str, ...] = ()
    """Ids of tasks of which it holds what they wrote when they were done again."""
    failed: tuple[str, ...] = ()
    """What became of tasks that were done again and are not in it all the same, in words."""


def put(
    vault: Vault,
    onto: str,
    accepted: Sequence[Accepted],
    manifest: Manifest,
    prefix: str = "",
    again: Again | None = None,
    most: int = 0,
) -> Put:
    """Put the changes onto the commit ``onto`` of the user's, in their order.

    A change that builds on one that is left out is left out too: without it, it would be another change.
    A task whose change clashes is done ``again``, at most ``most`` times, unless what it wrote on an
    earlier occasion fits.
    """
    today = {task.id: task for task in manifest.tasks}
    tip, commits, met = onto, dict[str, str](), list[Met]()
    conflicts, behind, failed, redone = list[Conflict](), list[str](), list[str](), list[str]()
    for each in accepted:
        task = today.get(each.task.id, each.task)
        if {*task.deps} & {*behind, *(conflict.task for conflict in conflicts)}:
            behind.append(task.id)
            continue
        # What it knows of earlier waves, it started from.
        here = [m for m in met if m.task.wave == task.wave]
        joined = join(vault, tip, [each.as_change(task)], here, prefix=prefix)
        if joined.conflicts and again:
            joined, why = _again(vault, tip, joined, (each, task, here, prefix), again, most)
            failed += [f"{task.id} was done again in vain: {why}"] * bool(why)
            redone += [task.id] * (not joined.conflicts)
        commits |= joined.commits
        conflicts += joined.conflicts
        met.append(Met(task, _paths(vault, tip, joined.head)))
        tip = joined.head
    whole = Joined(tip, commits, tuple(conflicts))
    return Put(onto, whole, tuple(behind), tuple(redone), tuple(failed))


def _again(
    vault: Vault,
    tip: str,
    joined: Joined,
    what: tuple[Accepted, Task, Sequence[Met], str],
    again: Again,
    most: int,
) -> tuple[Joined, str]:
    """The tip with what a task wrote when it was done again, and why that does not count; with the conflict
    of ``joined``, or the last one, where nothing that it wrote goes together with the rest."""
    each, task, here, prefix = what
    for change in again.earlier(task):
        fitting = join(vault, tip, [change], here, prefix=prefix)
        if not fitting.conflicts and fitting.head != tip:
            return fitting, ""
    for _ in range(most):
        change_or_why = again(each, task, joined.conflicts[0])
        if isinstance(change_or_why, str):
            return joined, change_or_why
        joined = join(vault, tip, [change_or_why], here, prefix=prefix)
        if not joined.conflicts:
            break
    return joined, ""


def _paths(vault: Vault, old: str, new: str) -> frozenset[str]:
    return frozenset(path for file in vault.touched(old, new) for path in file.paths)


def look(put: Put, branch: str, checks: Sequence[Check], wrong: Sequence[str]) -> Integration:
    """What the changes came to, put together; ``wrong``: what speaks against it beside checks."""
    bad = [check.command for check in checks if not check.ok]
    told = [f"{', '.join(put.behind)} not tried, for what they build on is not in it"] if put.behind else []
    told += [*put.failed, *wrong, *(f"did not pass on the whole: {command}" for command in bad)]
    status = CONFLICTS if put.joined.conflicts or put.behind else FAILED if bad or wrong else WHOLE
    return Integration(
        status=status,
        branch=branch,
        head=put.joined.head,
        conflicts=put.joined.conflicts,
        checks=tuple(checks),
        message="; ".join(told),
        onto=put.onto,
        wrong=tuple(wrong),
    )


def run_all(run: Run, head: str, manifest: Manifest, tests: Sequence[str]) -> tuple[Check, ...]:
    """Every validation that the manifest names, in wave order, and then ``tests``; each once, and on files
    that no other command has touched."""
    commands = dict.fromkeys((*(w.validation for w in manifest.waves if w.validation), *tests))
    found = [(command, run(head, (verifying.as_shell(command),))) for command in commands]
    return tuple(replace(check, command=command) for command, checks in found for check in checks)


# --- what speaks against it -------------------------------------------------------------------


def violations(
    vault: Vault, put: Put, accepted: Sequence[Accepted], course: Course, manifest: Manifest, prefix: str = ""
) -> tuple[str, ...]:
    """What tasks did and must not have done by the manifest as it is now, and what of it is not what was
    run and reviewed; in words.  ``course``: the run as it ended."""
    found = [text for each in accepted for text in _beyond(vault, each, manifest, prefix)]
    contracts = {_contract(manifest, name, prefix): name for t in manifest.tasks for name in t.contracts}
    touched = vault.touched(put.onto, put.joined.head)
    changed = sorted({contracts[path] for file in touched for path in file.paths if path in contracts})
    found += [f"the contract {name} was changed" for name in changed]
    wrote = {each.task.id for each in accepted}
    return (*_not_as_run(course, manifest), *found, *_not_reviewed(put, wrote, course, manifest))


def _not_as_run(course: Course, manifest: Manifest) -> Iterator[str]:
    """Where the manifest is another one than that of the run."""
    today = {task.id: task for task in manifest.tasks}
    for name, held in course.outcomes.items():
        if name not in today:
            yield f"{name} is no task of the manifest any more"
        elif held.status == SUCCEEDED and asked(today[name]) != held.asked:
            yield f"{name} was changed since it was run"
        elif trusted(held).status != held.status:
            yield f"{name}: {trusted(held).message}"
    yield from (
        f"{name} came into the manifest after the run" for name in today if name not in course.outcomes
    )


def _beyond(vault: Vault, each: Accepted, manifest: Manifest, prefix: str) -> Iterator[str]:
    """What a task changed outside of its scope as it is now."""
    task = next((task for task in manifest.tasks if task.id == each.task.id), each.task)
    if beyond := outside(task, _paths(vault, each.parent, each.commit), prefix):
        yield f"{task.id} changed what its scope does not name: {few(beyond)}"


def _contract(manifest: Manifest, name: str, prefix: str) -> str:
    """The path of a contract, from the root of the repository."""
    return prefix + posixpath.normpath(posixpath.join(manifest.directory, name))


def _not_reviewed(put: Put, wrote: set[str], course: Course, manifest: Manifest) -> Iterator[str]:
    """What a panel that its wave names has not seen: the whole holds it all the same."""
    for wave in manifest.waves:
        held = course.waves.get(wave.number)
        reviews = [r for r in held.reviews if r.panels == wave.panel] if held else []
        seen = {task for review in reviews for task in review.tasks} - {*put.redone}
        unseen = [task.id for task in wave.tasks if task.id in wrote - seen]
        if wave.panel and unseen:
            yield f"the panel of wave {wave.number} has not seen what is put together of {', '.join(unseen)}"


# --- what was not looked at -------------------------------------------------------------------


def unrun(vault: Vault, put: Put, course: Course, manifest: Manifest, tests: Tests) -> tuple[str, ...]:
    """What was not run or not looked at on the whole, in words: what is not told here was."""
    return (
        *_no_command(put, manifest, tests),
        *_absent(vault, put),
        *_moved(put, course),
        *_same_but_case(vault, put),
    )


def _no_command(put: Put, manifest: Manifest, tests: Tests) -> Iterator[str]:
    validations = [wave.number for wave in manifest.waves if wave.validation]
    if put.joined.conflicts:
        yield "any validation or test, since it is not whole"
    elif not tests.run and not validations:
        yield f"anything at all: no wave names a validation, and {NO_TESTS}"
    elif not tests.run:
        yield f"the project's own tests: {NO_TESTS}"
    left = [test for test in tests.configured if test not in tests.run]
    if left and not put.joined.conflicts:
        yield f"tests of the configuration, since --test names others: {'; '.join(left)}"


def _absent(vault: Vault, put: Put) -> Iterator[str]:
    """Files that no command found in its place."""
    listed = vault.entries(put.joined.head)
    absent = [e for e in listed if e.size is None]
    if empty := [public_name(e.name) for e in absent if e.mode == GITLINK]:
        yield f"anything of submodules, whose folders were empty: {few(empty)}"
    lacking = [public_name(e.name) for e in absent if e.mode != GITLINK]
    if lacking:
        yield f"anything of files whose content is not in this clone: {few(lacking)}"
    links = [e for e in listed if e.mode == LINK and e.size is not None]
    to = zip(links, vault.contents(links), strict=True)
    if leaving := [public_name(e.name) for e, there in to if not stays_inside(os.fsdecode(e.name), there)]:
        yield f"anything of links that leave the tree, which were not there: {few(leaving)}"
    told = [e for e in listed if e.name.rpartition(b"/")[2] == b".gitattributes" and e.mode != LINK]
    told = [e for e in told if e.size is not None and e.size < SMALL_CAP]
    if any(b"filter=lfs" in content for content in vault.contents(told)):
        yield "anything of files in Git LFS, of which only the pointers were there"


def _moved(put: Put, course: Course) -> Iterator[str]:
    if put.onto != course.base and any(held.reviews for held in course.waves.values()):
        yield f"a review: the panels saw it on {course.base[:12]}, and not on {put.onto[:12]}"


def _same_but_case(vault: Vault, put: Put) -> Iterator[str]:
    """Names that are one on systems that ignore case, of which the whole brought one at least."""
    names = [entry.name for entry in vault.entries(put.joined.head)]
    folded: dict[str, list[str]] = {}
    for name in map(public_name, names):
        folded.setdefault(name.casefold(), []).append(name)
    brought = {path for file in vault.touched(put.onto, put.joined.head) for path in file.paths}
    twice = sorted(n for same in folded.values() if len(same) > 1 and brought & {*same} for n in same)
    if twice:
        yield f"a system on which names that differ in case only are one: {few(twice)}"
