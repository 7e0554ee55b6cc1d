"""A branch of ours brought into the user's repository; nothing else there changes.

No ``git fetch``: it obeys what that repository configures (hooks, negotiation through alternates,
automatic repacking), leaves ``FETCH_HEAD`` and follows tags.  One pack with what is new is written
among its objects, and the ref is made if there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prun_review import git
from prun_review.errors import TreeError
from prun_review.git import Repository

if TYPE_CHECKING:
    from prun_review.vault import Vault

_BASES = "refs/prun/base"
_WHO = {"GIT_COMMITTER_NAME": "prun_review", "GIT_COMMITTER_EMAIL": "prun_review@localhost"}
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
    bases = vault.run("for-each-ref", "--format=^%(objectname)", _BASES)
    vault.pack(repository.common / "objects", f"{commit}\n".encode() + bases, "--revs")
    if git.commit(repository, commit) != commit:
        raise TreeError("the commits did not arrive", place=str(repository.top), remedy="git fsck")
    env = {"GIT_DIR": str(repository.git_dir), **_WHO}
    # The commit before must be none: two at once cannot overwrite each other's branch.
    args = ("update-ref", "-m", "prun-review: a run's branch", ref, commit, "0" * len(commit))
    git.call(git.program(repository.top), args, env, repository.git_dir)
