"""What of the user's repository must stay as it is while workers run: refs, HEAD, configuration, hooks.

Also all by which its configuration could be had from elsewhere: included files, another folder of hooks,
objects of others, another git directory in the place of this one, submodules' own.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from prun_review import files, git
from prun_review.errors import TreeError
from prun_review.git import Repository
from prun_review.model import Reason
from prun_review.publicnames import few, public_name

CONFIGURATION = (
    *("config", "config.worktree", "info/attributes", "info/exclude", "info/grafts", "commondir"),
    *("info/sparse-checkout", "objects/info/alternates", "shallow"),
)
FOLDERS = ("remotes", "branches")
"""Of these every file is configuration, of remotes as git once had them."""
UNDER_WAY = (
    *("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply"),
    "sequencer",
)
"""What is there while somebody merges, picks, reverts, bisects or rebases."""
BY_ITSELF = "refs/prefetch/"
"""Where ``git maintenance`` fetches to in the background, so that nothing that others see changes."""
CAP = 64 << 20
"""Bytes of one file that are looked at, from its end."""


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
        configuration = _configuration(repository)
        hooks = _hooks(repository.common, repository.common / "hooks")
        head = _digest(repository.git_dir / "HEAD")
        under_way = {name: "there" for name in UNDER_WAY if os.path.lexists(repository.git_dir / name)}
        text = _text(repository)
    if b"include" in text:
        effective = git.theirs(repository, "config", "--list", "--includes", "--show-origin", "-z")
        configuration["what it includes"] = hashlib.sha256(effective).hexdigest()
    if b"include" in text or b"hookspath" in text:
        hooks |= _hooks_elsewhere(repository)
    refs = {name: to for name, to in git.refs(repository).items() if not name.startswith(BY_ITSELF)}
    told = {**refs, **under_way, "HEAD": f"{refs.get('HEAD', '')} {head}"}
    return RepositoryState(told, configuration, hooks, _staged(repository) if index else {})


def _configuration(repository: Repository) -> dict[str, str]:
    found = {"the git directory": f"{repository.git_dir} {repository.common}"}
    for folder in (repository.common, repository.git_dir):
        for name in CONFIGURATION:
            if os.path.lexists(folder / name):
                found[name] = f"{found.get(name, '')}{_digest(folder / name)}"
    for name in FOLDERS:
        found |= {f"{name}/{key}": told for key, told in _files(repository.common / name).items()}
    for module in _modules(repository.common / "modules"):
        name = str(module.relative_to(repository.common))
        if os.path.lexists(module / "config"):
            found[f"{name}/config"] = _digest(module / "config")
        found |= {f"{name}/hooks/{key}": told for key, told in _files(module / "hooks").items()}
    return found


def _modules(folder: Path) -> Iterator[Path]:
    """The git directories of submodules, which may lie in folders and have submodules themselves."""
    for name in files.folders(folder):
        path = folder / name
        if os.path.lexists(path / "HEAD") or os.path.lexists(path / "config"):
            yield path
            yield from _modules(path / "modules")
        else:
            yield from _modules(path)


def _text(repository: Repository) -> bytes:
    """Its own configuration in lower case."""
    names = {
        folder / name for folder in (repository.common, repository.git_dir) for name in CONFIGURATION[:2]
    }
    return b"".join(files.take_regular(path.parent, path.name, CAP).data.lower() for path in sorted(names))


def _hooks(above: Path, folder: Path) -> dict[str, str]:
    found = {str(folder.relative_to(above)): _digest(folder)} if folder.is_symlink() else {}
    return found | _files(folder)


def _hooks_elsewhere(repository: Repository) -> dict[str, str]:
    """Those that ``core.hooksPath`` names; git looks for it where it runs them, in the work tree."""
    found: dict[str, str] = {}
    for scope in ("--local", "--worktree"):  # not what we say ourselves: that there are none
        args = ("config", scope, "--includes", "-z", "--type=path", "--get", "core.hooksPath")
        named = os.fsdecode(git.theirs(repository, *args, fine=(0, 1, 128)).rstrip(b"\0"))
        folder = repository.top / named
        if named:
            with files.named(TreeError, "the hooks cannot be read", folder):
                found |= {f"{named}/{key}": told for key, told in _hooks(folder.parent, folder).items()}
    return found


def _files(folder: Path) -> dict[str, str]:
    return {path.name: _digest(path) for path in folder.iterdir()} if folder.is_dir() else {}


def _staged(repository: Repository) -> dict[str, str]:
    """Mode, SHA and mark of each entry: what ``git status`` refreshes in an index is no change."""
    env = {"GIT_DIR": str(repository.git_dir), "GIT_WORK_TREE": str(repository.top)}
    args = ("ls-files", "-z", "-v", "--stage", "--full-name")
    out = git.call(git.program(repository.top), args, env, repository.top)
    found = {"": "looked at"}  # also where nothing is staged
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
    if not stat.S_ISREG(info.st_mode):
        return f"{info.st_mode:o}"
    content = files.take_regular(path.parent, path.name, CAP).data
    return f"{info.st_mode:o} {info.st_size} {hashlib.sha256(content).hexdigest()}"
