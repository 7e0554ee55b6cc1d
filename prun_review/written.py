"""What a code-writing unit leaves behind, as records.  Pure; part of the model.

A worker changes a throwaway copy of the tree.  What it changed is taken by the harness and never told by
the worker: a :class:`Patch` is what was found, a :class:`Claim` what was said, a :class:`Check` what the
harness ran on it.
"""

from __future__ import annotations

from dataclasses import dataclass

STATUSES = ("added", "modified", "deleted", "renamed", "mode", "type")
"""What may have happened to a file; ``type``: it became a link or a link became a file."""

WRITING = ("change", "task")
"""The contract kinds that go with ``mode="write"``, and with nothing else."""


@dataclass(frozen=True, slots=True)
class Touched:
    """One file that differs between base and copy."""

    path: str
    """Relative to the root of the tree, with forward slashes; a deleted one under the name that it had."""
    status: str
    """One of :data:`STATUSES`."""
    old_path: str = ""
    """The name before; only where it was renamed."""
    mode: str = ""
    """``100644``, ``100755`` or ``120000``; empty for a deleted one."""
    old_mode: str = ""
    """The same in the base; empty for a new one."""
    binary: bool = False
    added: int = 0
    """Lines."""
    deleted: int = 0
    """Lines."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The names that it has, or had."""
        return (self.path, self.old_path) if self.old_path else (self.path,)


@dataclass(frozen=True, slots=True)
class Breach:
    """One thing that a worker must not do and did, found in its copy or in the repository."""

    code: str
    """``outside-scope``, ``nested-repository``, ``escaping-link``, ``git-directory``, ``masked-file``,
    ``odd-name``, ``too-large``..."""
    path: str
    """Relative to the copy; empty for the whole."""
    text: str


@dataclass(frozen=True, slots=True)
class Patch:
    """What the copy of a unit holds beyond its base: commits, index, tree and untracked files at once."""

    base: str
    """SHA of the commit that the copy was made of."""
    tree: str
    """SHA of the tree object that holds what the worker left; in the run's own object store."""
    digest: str = ""
    """sha256 of ``change.patch``; empty where nothing was changed."""
    size: int = 0
    """Bytes of ``change.patch``."""
    files: tuple[Touched, ...] = ()
    """Sorted by path."""
    commits: int = 0
    """How many commits the worker made in its copy; their content is in ``tree`` all the same."""
    breaches: tuple[Breach, ...] = ()
    """What it must not have done, all of it; a patch with any is not accepted."""
    notes: tuple[str, ...] = ()
    kept: str = ""
    """Where the copy was left for a person to look at; empty where it is gone."""

    @property
    def empty(self) -> bool:
        """Nothing was changed."""
        return not self.files

    @property
    def paths(self) -> frozenset[str]:
        """All names that it touches, old ones included."""
        return frozenset(path for file in self.files for path in file.paths)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a worker says of its own work; never taken for proof."""

    completed: bool | None = None
    """None: it does not say."""
    files: tuple[str, ...] = ()
    """Files that it says it changed, created ones included."""
    tests_run: int | None = None
    tests_passed: int | None = None
    tests_failed: int | None = None
    validation_passed: bool | None = None
    summary: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One command that the harness ran on a fresh copy of base and patch."""

    command: str
    """As it was written, for a shell."""
    code: int | None
    """Exit status; negative for a signal; None where it did not start."""
    ended_by: str = ""
    """As :attr:`~prun_review.model.Exit.ended_by`."""
    seconds: float = 0.0
    said: str = ""
    """The end of what it printed, both streams, at most 4,000 characters, masked."""
    contained: bool = False
    """It ran in a mount namespace without network."""

    @property
    def ok(self) -> bool:
        """It ended by itself with exit status 0."""
        return self.code == 0 and not self.ended_by
