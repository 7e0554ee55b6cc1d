"""Whether a branch of ours can be made in the user's repository, and would be that and nothing more."""

from __future__ import annotations

from pathlib import PurePosixPath

from prun_review import files, git
from prun_review.errors import TreeError
from prun_review.git import Repository


def check(repository: Repository, branch: str) -> None:
    """``TreeError`` where ``branch`` is not there and cannot be made, or its name would mean something else
    too; nothing is written.  What a branch that is there stands for is not looked at."""
    ref, top = f"refs/heads/{branch}", str(repository.top)
    above = [str(place) for place in PurePosixPath(ref).parents if str(place).startswith("refs/heads/")]
    same = [f"refs/{branch}", f"refs/tags/{branch}"]
    for name in git.existing(repository, [*above, *same]):
        short = name.removeprefix("refs/heads/")
        if name in above:
            text = f"there is a branch {short}, so git can make no branch {branch}"
            raise TreeError(
                text, place=top, remedy=f"rename it (git branch -m {short} NAME), and apply again"
            )
        # Whoever merges by the short name would merge that.
        text = f"{name} has the name of the branch {branch} that is to be made"
        raise TreeError(text, place=top, remedy="rename it, and apply again")
    if git.existing(repository, [ref]):
        return
    for head in (repository.common / "HEAD", *sorted((repository.common / "worktrees").glob("*/HEAD"))):
        with files.named(TreeError, "git's own data cannot be read", head):
            text = files.read_regular(head, git.SMALL_CAP).decode(errors="replace")
        if text.strip() == f"ref: {ref}":
            raise TreeError(
                f"{branch} is checked out already, as a branch without a commit ({head})",
                place=top,
                remedy="check another branch out there, and apply again",
            )
