"""The workbench of a run: copies out of its vault, and commands on what was written in them."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from prun_review import files, patterns, verifying
from prun_review.copies import Copies, Masked, ThrowawayCopy
from prun_review.errors import TreeError
from prun_review.git import LINK
from prun_review.model import Unit
from prun_review.ports import Redactor
from prun_review.publicnames import public_name
from prun_review.redaction import UnsearchedError
from prun_review.shadow import batches
from prun_review.vault import Vault
from prun_review.verifying import Room
from prun_review.workspace import Ground
from prun_review.written import Check, Patch

WORK = "work"
"""Beside the tree that commands run in: their home, temporary files and output."""


@dataclass(frozen=True)
class Bench:
    """Implements :class:`prun_review.ports.Workbench`; safe in threads."""

    vault: Vault
    copies: Copies
    room: Room
    base_of: Callable[[Unit], str]
    """Unit -> SHA of the commit that its copies are made of."""
    masked_of: Callable[[str], Masked] = lambda base: {}
    """SHA of such a commit -> files of which workers see something else; commands see what is there."""
    within: str = ""
    """The folder in which commands run, relative to the root of the tree."""

    def open(self, unit: Unit, out: Path) -> ThrowawayCopy:
        """A fresh copy for the attempt ``out`` of a unit; ``TreeError`` where there is none to be had."""
        if not out.name.isdecimal():
            raise TreeError("an attempt is known by its number", place=str(out))
        base = self.base_of(unit)
        return self.copies.open(base, unit.slug, int(out.name), out, self.masked_of(base))

    def check(self, patch: Patch, commands: Sequence[str], stop: Callable[[], str]) -> tuple[Check, ...]:
        """Run commands one after the other on a fresh copy of base and patch."""
        return self.run(patch.tree, commands, stop)

    def run(self, tree: str, commands: Sequence[str], stop: Callable[[], str]) -> tuple[Check, ...]:
        """The same on the files of any tree or commit of the vault."""
        with self.copies.plain(tree) as place:
            work = place.parent / WORK
            with files.named(TreeError, "no place for commands can be made", work):
                files.make_private(work)
            # A line of its own: joined by && only the first part of `a & b` and `a; b` would be there.
            there = f"cd -- {shlex.quote(self.within)} || exit\n" if self.within else ""
            checks = verifying.run([f"{there}{c}" for c in commands], place, work, self.room, stop)
            return tuple(replace(c, command=told) for c, told in zip(checks, commands, strict=True))


def commit_of(vault: Vault, ground: Ground) -> str:
    """SHA of the commit in the vault that copies of a reviewed tree are made of: the one under review, or one
    of ours on top of it with what the work tree has otherwise; of a folder in a repository the folder alone.
    """
    commit = vault.commit_of(ground.commit)
    tree = vault.tree_of(commit)
    if ground.gone or ground.new:
        shas = vault.store((), [content for _, content in ground.new])
        put = [replace(entry, sha=sha) for (entry, _), sha in zip(ground.new, shas, strict=True)]
        tree = vault.replaced(tree, ground.gone, put)
        commit = vault.commit(tree, (commit,), "what the work tree holds\n")
    if not ground.repository.prefix:
        return commit
    return vault.commit(vault.folder(tree, ground.repository.prefix.rstrip("/")), (), "the folder\n")


@dataclass
class Veil:
    """What workers must not see of a commit, or see masked, looked up once for each; safe in threads."""

    vault: Vault
    never: Sequence[str]
    """Patterns of files that are withheld, in whatever case."""
    redact: Redactor | None
    """Masks secrets; None: they are shown."""
    _known: dict[str, Masked] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, commit: str) -> Masked:
        """Public name -> what is shown; None for a file that is withheld."""
        with self._guard:
            if commit not in self._known:
                self._known[commit] = dict(self._look(commit))
            return self._known[commit]

    def _look(self, commit: str) -> Iterator[tuple[str, bytes | None]]:
        withheld = patterns.matcher(self.never), patterns.matcher([p.lower() for p in self.never])
        seen = []
        for entry in self.vault.entries(commit):
            name = public_name(entry.name)
            if withheld[0](name) or withheld[1](name.lower()):
                yield name, None
            elif entry.size and entry.mode != LINK and self.redact and not self.redact.clean(entry.sha):
                seen.append((name, entry))
        for batch in batches(dict(seen)):
            contents = self.vault.contents([entry for _, entry in batch])
            for (name, entry), content in zip(batch, contents, strict=True):
                shown = self._masked(name, entry.sha, content)
                if shown != content:
                    yield name, shown

    def _masked(self, name: str, sha: str, content: bytes) -> bytes | None:
        assert self.redact is not None
        try:
            return self.redact(name, sha, content)
        except UnsearchedError:
            return None
