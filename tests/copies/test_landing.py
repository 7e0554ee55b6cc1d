"""Where a branch of ours cannot be made in a repository, or would be more than a branch; git is real."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from prun_review import git as ours
from prun_review import landing
from prun_review.errors import TreeError
from tests.repokit import git, repository

BRANCH = "prun/20261130T080000Z-ab12"


def packed(repo: Path) -> None:
    git(repo, "branch", "prun")
    git(repo, "pack-refs", "--all")


def unborn_elsewhere(repo: Path) -> None:
    place = repo.parent / "worktree"
    git(repo, "worktree", "add", "-q", "--detach", str(place))
    git(place, "checkout", "-q", "--orphan", BRANCH)


IN_THE_WAY: dict[str, tuple[Callable[[Path], object], str]] = {
    "a branch above it": (
        lambda repo: git(repo, "branch", "prun"),
        "there is a branch prun, so git can make",
    ),
    "packed": (packed, "there is a branch prun, so git can make"),
    "a tag of its name": (lambda repo: git(repo, "tag", BRANCH), "has the name of the branch"),
    "a ref of its name": (
        lambda repo: git(repo, "update-ref", f"refs/{BRANCH}", "HEAD"),
        "has the name of the branch",
    ),
    "unborn here": (lambda repo: git(repo, "checkout", "-q", "--orphan", BRANCH), "is checked out already"),
    "unborn in a worktree": (unborn_elsewhere, "is checked out already"),
}


@pytest.mark.parametrize("case", IN_THE_WAY)
def test_what_is_in_the_way_is_told_and_nothing_is_written(tmp_path: Path, case: str) -> None:
    repo = repository(tmp_path / "repo")
    spoil, said = IN_THE_WAY[case]
    landing.check(ours.find(repo), BRANCH)
    spoil(repo)
    before = {p: p.read_bytes() for p in (repo / ".git").rglob("*") if p.is_file()}
    with pytest.raises(TreeError, match=said):
        landing.check(ours.find(repo), BRANCH)
    assert {p: p.read_bytes() for p in (repo / ".git").rglob("*") if p.is_file()} == before


def test_a_branch_that_is_there_is_not_in_its_own_way(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    git(repo, "worktree", "add", "-q", "-b", BRANCH, str(tmp_path / "worktree"))
    landing.check(ours.find(repo), BRANCH)
    landing.check(ours.find(tmp_path / "worktree"), BRANCH)
