"""What of the user's repository must stay as it is while workers run: refs, HEAD, configuration, hooks."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prun_review import files, git
from prun_review.errors import TreeError
from prun_review.git import Repository
from prun_review.model import Reason
from prun_review.publicnames import few, public_name

CONFIGURATION = ("config", "config.worktree", "info/attributes", "info/exclude", "info/grafts", "commondir")


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """Name -> value or digest, by kind."""

    refs: Mapping[str, str]
    """Refs and HEAD; remote-tracking refs included, a worker's fetch is a change too."""
    configuration: Mapping[str, str]
    hooks: Mapping[str, str]
    index: Mapping[str, str] = field(default_factory=dict)
    """What is staged, by path; empty where it was not asked for."""


def repository_state(repo: Path, *, index: bool = False) -> RepositoryState:
    """The state now of the repository that the folder ``repo`` lies in, with what is staged where that is
    asked for (people stage while a review runs, but not while others write code); ``TreeError``."""
    repository = git.find(repo)
    with files.named(TreeError, "the repository cannot be read", repository.git_dir):
        configuration = {
            name: _digest(folder / name)
            for name in CONFIGURATION
            for folder in {repository.common, repository.git_dir}
            if os.path.lexists(folder / name)
        }
        hooks = repository.common / "hooks"
        found = {p.name: _digest(p) for p in hooks.iterdir()} if hooks.is_dir() else {}
        head = _digest(repository.git_dir / "HEAD")
    refs = git.refs(repository)
    staged = _staged(repository) if index else {}
    return RepositoryState({**refs, "HEAD": f"{refs.get('HEAD', '')} {head}"}, configuration, found, staged)


def _staged(repository: Repository) -> dict[str, str]:
    """Mode, SHA and mark of each entry: what ``git status`` refreshes in an index is no change."""
    env = {"GIT_DIR": str(repository.git_dir), "GIT_WORK_TREE": str(repository.top)}
    args = ("ls-files", "-z", "-v", "--stage", "--full-name")
    out = git.call(git.program(repository.top), args, env, repository.top)
    found: dict[str, str] = {}
    for item in out.split(b"\0")[:-1]:
        told, _, name = item.partition(b"\t")
        key = public_name(name)
        found[key] = f"{found.get(key, '')}{told.decode()};"
    return found


def repository_changes(before: RepositoryState, after: RepositoryState) -> tuple[Reason, ...]:
    """One reason for each kind that is not what it was; each forbids PASS."""
    reasons = []
    for kind in ("refs", "configuration", "hooks", "index"):
        old, new = getattr(before, kind), getattr(after, kind)
        names = [name for name in {*old, *new} if old.get(name) != new.get(name)]
        if names:
            text = f"{kind} of the repository changed during the review: {few(names)}"
            reasons.append(Reason("repository-changed", text))
    return tuple(reasons)


def _digest(path: Path) -> str:
    """Kind, permissions and content; what is no ordinary file is not opened."""
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        return f"link {os.readlink(path)}"
    content = path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
    return f"{info.st_mode:o} {hashlib.sha256(content).hexdigest()}"
