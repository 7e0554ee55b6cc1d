"""A stored wave run integrated: rebuilt, put onto a commit, tested as a whole, reported, and given back."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prun_review import (
    extensions,
    files,
    git,
    landing,
    manifest,
    parallel,
    rundir,
    wavebeginning,
    wavedocument,
    wavestatus,
    wavetaking,
    wholeness,
)
from prun_review.bench import Bench
from prun_review.codec import encode
from prun_review.config import Config
from prun_review.copies import Copies
from prun_review.errors import ConfigError, InternalError, RunDirError, TreeError
from prun_review.git import Repository
from prun_review.jsonvalues import iso
from prun_review.model import Unit
from prun_review.parallel import ParallelDirectory
from prun_review.process.launch import ProcessLauncher
from prun_review.publicnames import few
from prun_review.rebuilding import Accepted, rebuild
from prun_review.redoing import Hands
from prun_review.renderers.escape import one_line
from prun_review.repostate import repository_changes, repository_state
from prun_review.rundir import RunDir, RunView
from prun_review.runview import STORED_CAP, WAVES
from prun_review.tasks import ERROR, SUCCEEDED, Integration, Manifest
from prun_review.vault import Vault
from prun_review.verifying import Room
from prun_review.wavetaking import Former
from prun_review.written import Check

WHOLE = "whole"
"""The object store of what is put together, in the run directory; made anew each time."""
REPORT, DOCUMENT = "integration-report.md", "report.json"
NOTHING = "no change was accepted, so there is nothing to put together"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be integrated, and how."""

    root: Path
    config: Config
    env: Mapping[str, str]
    onto: str = "HEAD"
    """A revision of the user's repository."""
    tests: tuple[str, ...] = ()
    """Shell commands that are the project's own tests."""
    reopen: int = 0
    """How often a task is done again whose change clashes."""
    apply: bool = False
    """Where all of it is well, bring the branch into the user's repository."""


@dataclass(frozen=True, slots=True)
class Integrated:
    """What came of it."""

    document: Mapping[str, Any]
    """The wave document with it."""
    integration: Integration
    status: int
    """Exit status: 0 only where the run is completed and the whole is whole."""
    store: Path
    """The object store with the branch."""


# --- which directory, which run ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """A directory as it is now."""

    opened: ParallelDirectory
    manifest: Manifest
    repository: Repository
    prefix: str
    """The trusted root within the repository: empty, or with a slash at its end."""


def place_of(root: Path, directory: Path) -> Place:
    """Read a directory; ``ConfigError`` where its manifest has errors."""
    opened = parallel.open_directory(root, directory)
    found, problems = manifest.read(opened)
    errors = [str(problem) for problem in problems if problem.level == ERROR]
    if errors or found is None:
        raise ConfigError(
            "\n".join(["its manifest has errors:", *errors]),
            place=opened.path,
            remedy="prun-review validate tells them with remedies",
        )
    repository = git.find(opened.place)
    top = root.resolve()
    inside = top != repository.top and top.is_relative_to(repository.top)
    return Place(
        opened, found, repository, f"{top.relative_to(repository.top).as_posix()}/" if inside else ""
    )


def last_run(root: Path, directory: str) -> Path:
    """The last run of a directory; ``RunDirError`` where there is none, or it has not ended.

    An earlier one is not taken in its stead: whoever asks right after a run that was killed would be told
    of another one that all is well.
    """
    for path in rundir.stored(root):
        if not os.path.lexists(path / WAVES):
            continue
        try:
            told = json.loads(files.read_regular(path / WAVES, STORED_CAP))
        except (OSError, ValueError, RecursionError) as error:
            raise _unfit(path, f"its {WAVES} cannot be read: {error}", "") from None
        if isinstance(told, dict) and told.get("directory") != directory:
            continue
        if RunView(path).dispatcher_alive():
            raise _unfit(path, "it still runs", "wait for it to end")
        if not isinstance(told, dict) or not told.get("finished"):
            raise _unfit(
                path, "it has no end", f"prun-review run {_shown(directory)} --resume goes on with it"
            )
        return path
    raise RunDirError(
        f"there is no run of {directory}",
        place=str(root / ".prun/runs"),
        remedy=f"prun-review run {_shown(directory)}",
    )


def _shown(directory: str) -> str:
    return one_line(shlex.quote(directory), 1000)


def _unfit(path: Path, why: str, remedy: str) -> RunDirError:
    return RunDirError(
        f"the last run, {path.name}, cannot be integrated: {why}",
        place=str(path),
        remedy="; ".join(filter(None, (remedy, "--run RUN takes an earlier one"))),
    )


# --- the whole --------------------------------------------------------------------------------


def integrate(wanted: Wanted, place: Place, run: Path, tell: Callable[[str], None]) -> Integrated:
    """Integrate the run in the directory ``run``; nothing but ``wanted.apply`` writes into the user's
    repository.  ``PrunError`` where the run cannot be relied on; then nothing is written."""
    former = wavetaking.read(run)
    if former.course.manifest.directory != place.opened.path:
        raise RunDirError(
            f"it is a run of {former.course.manifest.directory}, not of {place.opened.path}",
            place=str(run),
            remedy="name a run of this directory, or leave --run out for the latest one",
        )
    with _held(run) as store:
        alone = wanted.config.waves.isolation == "worktree"
        vault = _vault(run / WHOLE, place.repository, alone)
        found = _put(wanted, place, former, store, vault, tell)
        vault.branch(store.id, found.head)
        status = wavestatus.exit_status(former.course, found)
        _keep(store, former, place, found)
        if wanted.apply and status == 0:
            landing.check(place.repository, found.branch)
            vault.deliver(place.repository, store.id)
            found = replace(found, applied=found.branch)
            _keep(store, former, place, found)
        return Integrated(store.waves(), found, status, vault.path)


@contextmanager
def _held(run: Path) -> Iterator[RunDir]:
    """The run directory, to be written by nobody else meanwhile."""
    with files.named(RunDirError, "the run cannot be written", run):
        try:
            store = RunDir(run)
        except BlockingIOError as error:
            raise RunDirError(
                "another process is at work on the run", place=str(run), remedy="wait for it to end"
            ) from error
    try:
        yield store
    finally:
        store.close()


def _vault(path: Path, repository: Repository, alone: bool) -> Vault:
    with files.named(RunDirError, "the object store of the whole cannot be made", path):
        files.remove_tree(path)
    return Vault.create(path, repository, alone=alone)


def _put(
    wanted: Wanted, place: Place, former: Former, store: RunDir, vault: Vault, tell: Callable[[str], None]
) -> Integration:
    """Put it together, and look at it."""
    accepted = rebuild(former, vault)
    onto = vault.commit_of(wanted.onto)
    meanings = git.meanings(place.repository, wanted.onto)
    if len({*meanings.values()}) > 1:
        told = ", ".join(f"{what} ({sha[:12]})" for what, sha in meanings.items())
        raise TreeError(f"{wanted.onto!r} is ambiguous: {told}", remedy="write one of them in full")
    branch = f"prun/{former.id}"
    if not accepted:
        return Integration(wholeness.FAILED, branch, onto, message=_nothing(former))
    if onto != former.course.base:
        tell(f"{wanted.onto} is {onto[:12]}, and the run started from {former.course.base[:12]}")
    hands = _hands(wanted, place, (store, vault, onto, accepted), tell)
    put = wholeness.put(vault, onto, accepted, place.manifest, place.prefix, hands, wanted.reopen)
    wrong = list(wholeness.violations(vault, put, accepted, former.course, place.manifest, place.prefix))
    checks: tuple[Check, ...] = ()
    for task in put.redone:
        tell(f"{task} is in it as it was when it was done again")
    if put.joined.conflicts:
        tell("nothing is run on it, since it is not whole")
    else:
        before = repository_state(place.repository.top, index=True)
        with _runner(wanted, place, former, vault) as run:
            checks = wholeness.run_all(run, put.joined.head, place.manifest, wanted.tests)
        after = repository_state(place.repository.top, index=True)
        wrong += [r.text.replace("the review", "the checks") for r in repository_changes(before, after)]
    tests = wholeness.Tests(wanted.tests, wanted.config.waves.tests)
    unrun = wholeness.unrun(vault, put, former.course, place.manifest, tests)
    return replace(wholeness.look(put, branch, checks, wrong), unrun=unrun)


def _nothing(former: Former) -> str:
    """Why there is nothing: what succeeded may wait for others to end before it is accepted."""
    course = former.course
    waiting = sorted(n for n, o in course.outcomes.items() if o.status == SUCCEEDED and not o.commit)
    again = f"prun-review run {_shown(course.manifest.directory)} --resume goes on with it"
    return f"{NOTHING}; {few(waiting)} succeeded before the run ended: {again}" if waiting else NOTHING


def _hands(
    wanted: Wanted,
    place: Place,
    what: tuple[RunDir, Vault, str, tuple[Accepted, ...]],
    tell: Callable[[str], None],
) -> Hands:
    store, vault, onto, accepted = what
    executors = extensions.executors(extensions.manager(), wanted.config)
    running = wavebeginning.Wanted(
        wanted.root, wanted.config, wanted.env, place.opened.place, wavebeginning.ALL, executors
    )

    def replay(earlier: str) -> None:
        wholeness.put(vault, earlier, accepted, place.manifest, place.prefix, hands)

    hands = Hands(running, store, vault, onto, replay, tell)
    return hands


@contextmanager
def _runner(wanted: Wanted, place: Place, former: Former, vault: Vault) -> Iterator[wholeness.Run]:
    """What runs commands on a commit."""
    with ExitStack() as stack:
        launcher = ProcessLauncher()
        stack.callback(launcher.close)
        copies = stack.enter_context(Copies(vault, former.view.path))
        limit, top = wanted.config.waves.timeout, place.repository.top
        room = Room(launcher, wanted.env, wanted.config.containment, limit, stands_for=top, root=wanted.root)
        bench = Bench(vault, copies, room, _no_unit, within=place.prefix)
        yield lambda head, commands: bench.run(head, commands, lambda: "")


def _no_unit(unit: Unit) -> str:
    raise InternalError(f"nothing is dispatched here, and yet a copy for {unit.id} was asked for")


# --- what is written --------------------------------------------------------------------------


def _keep(store: RunDir, former: Former, place: Place, found: Integration) -> None:
    """Write the wave document with it, and the reports of the directory."""
    from prun_review.renderers import integration
    from prun_review.renderers.json import dumps

    told = {"again": [], **store.waves(), "prefix": place.prefix}
    document = {**told, "integration": encode(found)}
    if problems := wavedocument.validate(document):
        raise InternalError(f"the wave document is not what its schema says: {problems[0]}")
    store.write_waves(document, durable=True)
    document = store.waves()  # without secrets
    report = integration.render(wavedocument.read(document)[0], iso(time.time()))
    rundir.write_file(place.opened.place / REPORT, report)
    rundir.write_file(place.opened.place / DOCUMENT, dumps(document))


def by_hand(store: Path, repository: Repository, branch: str) -> str:
    """The command with which a person takes a branch that is not applied."""
    ref = f"refs/heads/{branch}"
    return f"git -C {shlex.quote(str(repository.top))} fetch {shlex.quote(str(store))} {ref}:{ref}"


def lines(done: Integrated) -> list[str]:
    """What people are told of it, without what the report says at length."""
    from prun_review.renderers import waveview

    found = done.integration
    why = f" ({found.message})" if found.message else ""
    told = [f"{found.status}: {found.branch} is {found.head[:12]}{why}"]
    for check in found.checks:
        how = "" if check.contained else " (not contained)"
        told.append(f"  {'passed' if check.ok else 'failed'}: {check.command}{how}")
    for conflict in found.conflicts:
        beside = f" with {', '.join(conflict.others)}" if conflict.others else ""
        told.append(f"  conflict of {conflict.task} in {', '.join(conflict.paths)}{beside}")
    for row in done.document["again"]:
        told.append(f"  {row['task']} was {waveview.redone(row)}")
    if found.applied:
        told.append(
            f"  applied: your repository has the branch {found.applied} now; nothing else of it changed"
        )
    word = done.document["status"]
    return [*told, *[f"  the run itself is {word}"] * (word != wavestatus.COMPLETED)]
