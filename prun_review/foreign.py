"""A checkout of a head that somebody else made: its git directory must be its own, and of ordinary files.

A link or an alternate there could make the review read, and send, what lies in other repositories of the
machine; a FIFO or a file without an end would hold it up.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from prun_review import files, git
from prun_review.errors import TreeError
from prun_review.git import Repository
from prun_review.publicnames import public_name

BORROWED = 64
"""Alternates that one file of them may name."""

_LARGE = ("index", "packed-refs")
_SMALL = (
    *("HEAD", "config", "config.worktree", "commondir", "gitdir", "shallow"),
    *("info/attributes", "info/exclude", "info/grafts", "objects/info/alternates"),
)
_FOLDERS = ("info", "refs", "objects")

REMEDY = "make a clone of its own of the head; only the trusted repository may lend it objects or a work tree"


def check(head: Repository, trusted: Repository) -> None:
    """``TreeError`` for a head whose git directory is not fit to be looked at.

    Linked work trees of the trusted repository, and clones that borrow its objects, are fit.
    """
    with files.named(TreeError, "the head cannot be read", head.git_dir):
        for folder in {head.git_dir, head.common}:
            _ordinary(folder)
        if head.common == trusted.common:
            if head.git_dir not in (head.common, head.common / "worktrees" / head.git_dir.name):
                raise _outside(head.git_dir, head.common)
            return
        for folder in (head.git_dir, head.common, *(head.common / name for name in _FOLDERS)):
            _inside(head, folder)
        _stores(head, trusted)


def _ordinary(folder: Path) -> None:
    """What git and we read there are ordinary files, and no larger than any that are honest."""
    caps = {**dict.fromkeys(_SMALL, git.SMALL_CAP), **dict.fromkeys(_LARGE, git.INDEX_CAP)}
    caps |= {path.name: git.INDEX_CAP for path in folder.glob("sharedindex.*")}
    for name, cap in caps.items():
        path = folder / name
        try:
            info = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        if not stat.S_ISREG(info.st_mode) or info.st_size > cap:
            what = f"larger than {cap} bytes" if stat.S_ISREG(info.st_mode) else "no ordinary file"
            raise TreeError(f"the head's {name} is {what}", place=_shown(path), remedy=REMEDY)


def _stores(head: Repository, trusted: Repository) -> None:
    """Its objects lie in the head, or in the trusted repository."""
    lent = _closure(trusted.common / "objects")
    queue, seen = [(head.common / "objects").resolve()], set(lent)
    while queue:
        store = queue.pop()
        if store in seen:
            continue
        seen.add(store)
        _inside(head, store)
        for link in _links(store):
            _inside(head, link)
        queue += _alternates(store)


def _closure(store: Path) -> set[Path]:
    """An object store and all that it borrows from."""
    queue, seen = [store.resolve()], set[Path]()
    while queue:
        if (one := queue.pop()) not in seen:
            seen.add(one)
            queue += _alternates(one)
    return seen


def _alternates(store: Path) -> list[Path]:
    """The stores that one borrows from, as git finds them."""
    path = store / "info/alternates"
    if not path.exists():
        return []
    lines = [line for line in files.read_regular(path, git.SMALL_CAP).split(b"\n") if line[:1] not in b"#"]
    if len(lines) > BORROWED or any(line.startswith(b'"') or b"\0" in line for line in lines):
        raise TreeError("its alternates are not understood", place=_shown(path), remedy=REMEDY)
    # First what is written, then links, as git does.
    return [Path(os.path.normpath(os.path.join(store, os.fsdecode(line)))).resolve() for line in lines]


def _links(store: Path) -> Iterator[Path]:
    """Symbolic links in an object store, which is two levels deep."""
    if not store.is_dir():
        return
    for folder, below, names in islice(os.walk(store), 1024):
        for name in (*below, *names):
            if os.path.islink(os.path.join(folder, name)):
                yield Path(folder, name)


def _inside(head: Repository, path: Path) -> None:
    real = path.resolve()
    if not real.is_relative_to(head.top):
        raise _outside(path, real)


def _outside(path: Path, real: Path) -> TreeError:
    return TreeError(
        f"the head's git directory leads outside of it, to {_shown(real)}", place=_shown(path), remedy=REMEDY
    )


def _shown(path: Path) -> str:
    return public_name(os.fsencode(path))
