"""Our entries among the worktrees of a user's repository: made and removed by one of us at a time.

Git makes them, with nothing of the repository's configuration that runs a program.  They are removed by
hand and by name: ``git worktree prune`` would also forget the user's own that lie on a disk which is away.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from prun_review import copyplace, delivering, files, git, owngit, scratch
from prun_review.errors import TreeError
from prun_review.git import Repository
from prun_review.locks import Lock, holder
from prun_review.vault import Vault

LOCK = "prun-review.lock"
"""In the git directory of the user's repository; it stays there."""
PATIENCE = 600.0
"""Seconds that one waits for another."""
LOOK = 0.02
"""Seconds between two tries."""

_WORKTREES = "worktrees"
_NAME = re.compile("prun-[0-9a-f]{12}")
_SEEN = ("HEAD", "commondir", "gitdir", "config.worktree", "locked")
"""What of a worktree of the user's must stay; its index changes when somebody looks at its status."""
_LENDING = ("shallow", "objects/info/alternates")


def add(vault: Vault, commit: str, name: str, folder: Path) -> Path:
    """Make the worktree ``tree`` in ``folder``, empty, on a commit of the vault, which the repository may not
    have yet; its entry is called ``name``.  Where the entry lies; ``TreeError``."""
    repository = vault.repository
    place = repository.common / _WORKTREES
    entry, first, tree = place / name, folder / name, folder / copyplace.TREE
    env = {
        "GIT_DIR": str(repository.common),
        # Git >= 2.48 would note in the shared configuration that paths are relative.
        **{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "worktree.useRelativePaths"},
        **{"GIT_CONFIG_VALUE_0": "false", **delivering.WHO},
    }
    with files.named(TreeError, "no worktree can be made", place), _turn(repository.common):
        if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
            raise TreeError("it is no folder", place=str(place), remedy="look what it is, and move it away")
        delivering.give(vault, repository, commit)
        # Locked, so that no prune by others takes it before it is where it belongs.  Its HEAD keeps the
        # commit from then on, so that no ref is needed.
        args = ("worktree", "add", "--lock", "--detach", "--no-checkout", str(first), commit)
        git.call(git.program(repository.top), args, env, repository.common)
        if files.read_regular(first / ".git", git.SMALL_CAP) != owngit.pointer(entry):
            raise TreeError("git made a worktree of another name", place=str(first))
        (entry / "info/sparse-checkout").unlink(missing_ok=True)
        files.write(entry / "gitdir", os.fsencode(tree.resolve() / ".git") + b"\n", 0o644, sync=False)
        first.rename(tree)
        (entry / "locked").unlink()
    return entry


def drop(common: Path, name: str) -> str:
    """Remove an entry of ours, whose files are somebody else's affair; why it could not be, or nothing."""
    place = common / _WORKTREES
    if not _NAME.fullmatch(name):
        return f"{name!r} is no worktree of ours"
    if place.is_symlink():
        return f"{place} is a link"
    if not place.is_dir():
        return ""
    try:
        with files.named(TreeError, "the worktree cannot be forgotten", place), _turn(common):
            why = copyplace.remove(place / name)
            with suppress(OSError):  # as git does where none is left
                place.rmdir()
    except TreeError as error:
        return str(error)
    return why


@contextmanager
def _turn(common: Path) -> Iterator[None]:
    """Only one of us changes worktrees of a repository at a time."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            lock = Lock(common / LOCK)
            break
        except BlockingIOError:
            if time.monotonic() > until:
                raise TreeError(
                    f"{holder(common / LOCK)} has been changing its worktrees for {PATIENCE:g} s",
                    place=str(common / LOCK),
                    remedy="wait for that process, or end it",
                ) from None
            time.sleep(LOOK)
    try:
        yield
    finally:
        lock.release()


def others(repository: Repository) -> dict[str, str]:
    """What workers can reach from a worktree beside refs, HEAD, index, configuration and hooks: the user's
    worktrees (the main one too), and where the repository has its objects from.  Name -> kind and digest."""
    found = {}
    names = [*_LENDING, *(["HEAD"] if repository.common != repository.git_dir else [])]
    place = repository.common / _WORKTREES
    with files.named(TreeError, "the repository cannot be read", place):
        listed = sorted(place.iterdir()) if place.is_dir() else []
    for entry in (entry for entry in listed if not _ours(entry)):
        names += [f"{_WORKTREES}/{entry.name}", *(f"{_WORKTREES}/{entry.name}/{name}" for name in _SEEN)]
    for name in names:
        with suppress(OSError):
            found[name] = owngit.told(repository.common / name)
    return found


def _ours(entry: Path) -> bool:
    """Whether an entry is that of a run, this one or another one."""
    if not _NAME.fullmatch(entry.name) or entry.is_symlink():
        return False
    leads = Path(os.fsdecode(files.take_regular(entry, "gitdir", git.SMALL_CAP).data))
    homes = [place.resolve() for place in scratch.places(copyplace.KIND)]
    return leads == Path() or any(leads.is_relative_to(home) for home in homes)
