"""What of the user's repository must stay as it is while workers run: refs, HEAD, configuration, hooks."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prun_review import files, git
from prun_review.errors import TreeError
from prun_review.model import Reason
from prun_review.publicnames import few

CONFIGURATION = ("config", "config.worktree", "info/attributes", "info/exclude", "info/grafts", "commondir")


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """Name -> value or digest, by kind."""

    refs: Mapping[str, str]
    """Refs and HEAD; remote-tracking refs included, a worker's fetch is a change too."""
    configuration: Mapping[str, str]
    hooks: Mapping[str, str]


def repository_state(repo: Path) -> RepositoryState:
    """The state now of the repository that the folder ``repo`` lies in; ``TreeError``."""
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
    return RepositoryState({**refs, "HEAD": f"{refs.get('HEAD', '')} {head}"}, configuration, found)


def repository_changes(before: RepositoryState, after: RepositoryState) -> tuple[Reason, ...]:
    """One reason for each kind that is not what it was; each forbids PASS."""
    reasons = []
    for kind in ("refs", "configuration", "hooks"):
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
