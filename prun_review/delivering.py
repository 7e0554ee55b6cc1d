"""Objects between the vault and the user's repository: a branch of ours brought there, nothing else there
changes; commits without a ref, for worktrees whose HEAD keeps them; and those that a vault holds itself.

No ``git fetch``: it obeys what that repository configures (hooks, negotiation through alternates,
automatic repacking), leaves ``FETCH_HEAD`` and follows tags.  One pack with what is new is written
among its objects, and the ref is made if there is none.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prun_review import baregit, files, git
from prun_review.errors import TreeError
from prun_review.git import Repository

if TYPE_CHECKING:
    from prun_review.vault import Vault

BASES = "refs/prun/base"
"""Of a vault: below it, the user's commits that it starts from."""
WHO = {"GIT_COMMITTER_NAME": "prun_review", "GIT_COMMITTER_EMAIL": "prun_review@localhost"}
"""Who stands in the reflog."""


def deliver(vault: Vault, repository: Repository, ref: str, commit: str) -> None:
    """Make ``ref`` of the repository stand for a commit of the vault.  Where it does already, nothing
    happens; ``TreeError`` where it stands for another."""
    there = git.theirs(repository, "for-each-ref", "--format=%(objectname) %(symref)", ref).decode().strip()
    if there == commit:
        return
    short = ref.removeprefix("refs/heads/")
    if there:
        raise TreeError(
            f"the branch {short} is there already, with another commit ({there[:12]})",
            place=str(repository.top),
            remedy=f"rename it (git branch -m {short} NAME) or delete it, and apply again",
        )
    _send(vault, repository, commit)
    env = {"GIT_DIR": str(repository.git_dir), **WHO}
    # The commit before must be none: two at once cannot overwrite each other's branch.
    args = ("update-ref", "-m", "prun-review: a run's branch", ref, commit, "0" * len(commit))
    git.call(git.program(repository.top), args, env, repository.git_dir)


def give(vault: Vault, repository: Repository, commit: str) -> None:
    """Let the repository hold a commit of the vault, without a ref: what is to keep it has to be made at
    once.  Where it is there already, nothing happens; ``TreeError``."""
    if git.commit(repository, commit) != commit:
        _send(vault, repository, commit)


def _send(vault: Vault, repository: Repository, commit: str) -> None:
    bases = vault.run("for-each-ref", "--format=^%(objectname)", BASES)
    vault.pack(repository.common / "objects", f"{commit}\n".encode() + bases, "--revs")
    if git.commit(repository, commit) != commit:
        raise TreeError("the commits did not arrive", place=str(repository.top), remedy="git fsck")


def take(vault: Vault, repository: Repository, commit: str) -> None:
    """Copy a commit of the repository into a vault that borrows nothing, with its files and without its
    history.  ``TreeError``, also where an object is not what its name says."""
    if vault.run("for-each-ref", f"{BASES}/{commit}"):
        return
    env = {
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": os.fsdecode(
            baregit.quoted(os.fsencode(repository.common / "objects"))
        )
    }
    args = ("rev-list", "--objects", "--no-object-names", "--no-walk", "--missing=allow-any", commit)
    wanted = vault.run(*args, env=env)
    packs = vault.path / "objects/pack"
    with files.named(TreeError, "the run's own git directory cannot be written", packs):
        packs.mkdir(mode=files.PRIVATE_DIR, exist_ok=True)
        cut = vault.path / "shallow"
        old = files.read_regular(cut, git.SMALL_CAP) if cut.exists() else b""
        files.write(cut, old + f"{commit}\n".encode(), sync=False)
    options = ("-q", "--delta-base-offset", "--window=0")
    made = vault.run("pack-objects", *options, str(packs / "pack"), stdin=wanted, env=env).decode().strip()
    vault.run("verify-pack", str(packs / f"pack-{made}.idx"))  # which hashes every object anew
