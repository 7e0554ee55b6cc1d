"""Worktrees of the user's repository in the place of copies, for those who want them.

They share its objects, refs, configuration and hooks, so a worker can read all of its history and change
what others rely on: what it changes there is found afterwards, and not prevented.  What was written is
taken as it is of a copy, with a vault that borrows nothing.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from prun_review import copies, copyplace, files, linked, owngit, treewalk
from prun_review.copies import Copies, Masked, ThrowawayCopy
from prun_review.copyplace import TREE, Registered
from prun_review.errors import ConfigError, InternalError, TreeError
from prun_review.git import Entry, Repository
from prun_review.harvest import Laid
from prun_review.publicnames import few
from prun_review.vault import SUBMODULE, Vault

COPIES = 'isolation = "copy"'
SHARING = (
    "it is a worktree of the user's repository, which shares branches, tags, the stash, configuration and "
    "hooks with it: make, move and delete none of them"
)
"""What each worker is told."""


@dataclass(frozen=True, slots=True)
class _Base:
    """What is known of a commit that worktrees are made of."""

    listed: Mapping[bytes, Entry]
    unmade: Mapping[bytes, str]


class Worktrees(Copies):
    """Makes worktrees for the units of one run; folders for commands are made as by its base.

    Safe in threads, and beside other processes.
    """

    def __init__(self, vault: Vault, run_dir: Path, avoid: tuple[Path, ...] = ()) -> None:
        """As :class:`Copies`; the vault has to be ``alone``.  ``ConfigError`` where the repository is of a
        kind that cannot be watched."""
        check(vault.repository)
        if not vault.alone:
            raise InternalError("workers in worktrees can write to the objects that this vault borrows")
        super().__init__(vault, run_dir, avoid)
        self._bases: dict[str, _Base] = {}
        self._looking = threading.Lock()

    def open(
        self, base: str, slug: str, attempt: int, out: Path, masked: Masked | None = None
    ) -> ThrowawayCopy:
        """A fresh worktree on the commit ``base`` for an attempt in the directory ``out``; ``TreeError``, and
        ``ConfigError`` where something is to be withheld from workers."""
        unveiled(masked or {}, str(self._vault.repository.top))
        known = self._base(base)
        folder = self._place.path / f"{slug}-{attempt}"
        record = Registered(
            *(str(self._run_dir), slug, attempt, base, time.time(), str(out.absolute())),
            shared=str(self._vault.repository.common),
            entry=f"prun-{secrets.token_hex(6)}",
        )
        with files.named(TreeError, "no worktree can be made", folder):
            files.make_private(folder)
            try:
                record.write(folder)  # first: whatever happens now, `prun-review clean` finds it
                entry = linked.add(self._vault, base, record.entry, folder)
                _fill(self._vault, base, entry, folder / TREE, known)
                notes = copies.notes(folder / TREE, known.listed, known.unmade, {})
                found = treewalk.walk(str(folder / TREE))
                record = replace(record, laid=found.digest())
                record.write(folder)
            except BaseException:
                discard(folder)
                raise
        laid = Laid(
            *(folder / TREE, base, base, known.listed, known.unmade, {}, found.stamps),
            *(owngit.linked(folder / TREE, entry), entry),
        )
        return Worktree(folder, laid, (SHARING, *notes), self._vault, record)

    def _base(self, commit: str) -> _Base:
        with self._looking:
            if commit not in self._bases:
                listed = self._vault.entries(commit)
                unmade = self._vault.unmade(listed)
                self._bases[commit] = _Base({entry.name: entry for entry in listed}, unmade)
            return self._bases[commit]


class Worktree(ThrowawayCopy):
    """A worktree for one attempt; implements :class:`prun_review.ports.Copy`."""

    def close(self) -> None:
        """Remove it, unless it is kept.  What cannot be removed is left to ``prun-review clean``."""
        if not self.record.kept:
            discard(self.folder)


def check(repository: Repository) -> None:
    """``ConfigError`` where what workers do in a worktree of the repository could not be told."""
    if (repository.common / "reftable").is_dir():
        raise ConfigError(
            "the repository keeps its refs in a reftable: commits in a worktree of it cannot be told",
            place=str(repository.top),
            remedy=COPIES,
        )


def unveiled(masked: Masked, place: str) -> None:
    """``ConfigError`` where files are to be masked or withheld: their objects are shared."""
    if masked:
        raise ConfigError(
            f"{len(masked)} files that are masked or withheld could be read in a worktree, which shares the "
            f"repository's objects: {few(masked)}",
            place=place,
            remedy=f'{COPIES}; or egress.secrets = "send" and egress.never without them',
        )


def discard(folder: Path) -> str:
    """Remove a copy or a worktree with its entry; why it could not be, or nothing."""
    record = None if folder.is_symlink() else Registered.read(folder)
    why = linked.drop(Path(record.shared), record.entry) if record and record.shared else ""
    return why or copyplace.remove(folder)


def _fill(vault: Vault, base: str, entry: Path, tree: Path, known: _Base) -> None:
    """Write files and index, byte for byte as stored: no filter of the user's runs."""
    index = str(entry / "index")
    left = [name for name, why in known.unmade.items() if why != SUBMODULE]
    gone = b"".join(name + b"\0" for name in left)
    vault.run("read-tree", base, index=index)
    if left:
        vault.run("update-index", "-z", "--force-remove", "--stdin", stdin=gone, index=index)
    vault.run("checkout-index", "-a", "-q", "-u", index=index, worktree=tree)
    if left:
        lines = ((known.listed[name], name) for name in left)
        back = b"".join(f"{e.mode} {e.sha} 0\t".encode() + name + b"\0" for e, name in lines)
        vault.run("update-index", "-z", "--index-info", stdin=back, index=index)
        vault.run("update-index", "-z", "--skip-worktree", "--stdin", stdin=gone, index=index)
