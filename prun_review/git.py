"""Git: the only module that runs it, and it runs nothing that a repository brings along.

A repository's configuration can name programs: fsmonitor, filters, diff drivers, hooks, a
promisor's ssh command (measured: 12 of 17 such configurations were executed by a plain
``git -C clone diff``).  So its work tree is only looked at through a *shadow*: a bare git directory
of ours with our configuration and our index that borrows their objects.  With their own git
directory we only resolve names, which starts nothing; transports are forbidden there too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from prun_review import files
from prun_review.errors import PrunError, TreeError
from prun_review.process.run import run

MINIMUM = (2, 30)
TIMEOUT = 300.0
"""Seconds for one git command; hashing 300 MB takes about 2."""
LISTING_CAP = 1 << 30
"""Bytes of one listing: ten million files."""

INDEX_CAP, SMALL_CAP = 1 << 30, 16 << 20
"""Bytes of an index, and of any other file of a git directory, up to which they are read."""

SHA = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
"""A whole object name."""
_RULES = ("refs/{}", "refs/tags/{}", "refs/heads/{}", "refs/remotes/{}", "refs/remotes/{}/HEAD")
"""Where git looks for a name, in its order."""
_SHORT = re.compile("(?:^|-g)([0-9a-fA-F]{4,})$")
"""An object's name cut short, alone or as ``git describe`` writes it."""
GITLINK, LINK, EXECUTABLE = "160000", "120000", "100755"

_QUIET = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_CONFIG_OFF = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
_ENVIRONMENT = {
    **_CONFIG_OFF,
    "LC_ALL": "C",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",  # git >= 2.45; for older ones the next line does the same
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_LFS_SKIP_SMUDGE": "1",
}


@dataclass(frozen=True, slots=True)
class Repository:
    """Where the parts of a repository lie."""

    top: Path
    """Root of the work tree."""
    git_dir: Path
    """HEAD and index of this work tree."""
    common: Path
    """Objects, refs, configuration and hooks: the same, but for linked work trees."""
    prefix: str
    """The folder asked for, relative to ``top``: empty, or ending with a slash."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of an index or a tree."""

    name: bytes
    """Relative to the root of the listing, as git has it: any byte but NUL."""
    mode: str
    sha: str
    size: int | None = None
    """Bytes; None where unknown (submodules, objects that are not here)."""
    unmerged: bool = False
    sparse: bool = False
    """Marked ``skip-worktree``: git would not look at the file, which need not be on disk."""


def find(folder: Path) -> Repository:
    """The repository that ``folder`` lies in; ``TreeError`` when there is none.

    Found without git, because git's own search obeys ``core.worktree`` of the repository found.
    """
    with files.named(TreeError, "the folder to review cannot be read", folder):
        folder = folder.resolve(strict=True)
        if not folder.is_dir():
            raise TreeError("the folder to review is a file", place=str(folder))
        for top in (folder, *folder.parents):
            git_dir = _git_dir(top / ".git")
            if git_dir:
                prefix = "" if top == folder else f"{folder.relative_to(top)}/"
                return Repository(top, git_dir, _common(git_dir), prefix)
    raise TreeError(
        "not in a git repository, and a review needs one tree to look at",
        place=str(folder),
        remedy="git init && git add . && git commit -m 'first'",
    )


def _git_dir(dot_git: Path) -> Path | None:
    """What ``.git`` stands for; None for what only looks like it (an empty directory)."""
    if dot_git.is_file():
        text = os.fsdecode(files.read_regular(dot_git, SMALL_CAP)[:8192])
        if not text.startswith("gitdir: "):
            return None
        dot_git = dot_git.parent / text[len("gitdir: ") :].rstrip("\n")
    return dot_git.resolve() if (dot_git / "HEAD").exists() else None


def _common(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    if not pointer.is_file():
        return git_dir
    return (git_dir / os.fsdecode(files.read_regular(pointer, SMALL_CAP)[:8192]).rstrip("\n")).resolve()


def program(*avoid: Path) -> str:
    """The git to run: first on PATH, never by a relative entry or from below a folder to ``avoid``."""
    for entry in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = Path(entry, "git")
        real = path.resolve()
        if (
            path.is_absolute()
            and os.access(path, os.X_OK)
            and not any(real.is_relative_to(folder) for folder in avoid)
        ):
            check_version(str(path))
            return str(path)
    raise TreeError("git is not on PATH", remedy="install git, for example: apt install git")


@cache
def check_version(path: str, least: tuple[int, int] = MINIMUM) -> None:
    """``TreeError`` where the git at ``path`` is older than ``least``."""
    text = call(path, ("version",), {}, Path("/")).decode(errors="replace")
    found = re.search(r"(\d+)\.(\d+)", text)
    if not found or (int(found[1]), int(found[2])) < least:
        need = ".".join(map(str, least))
        raise TreeError(f"{text.strip()!r} is too old", place=path, remedy=f"install git {need} or newer")


def call(
    path: str,
    args: Sequence[str],
    env: Mapping[str, str | None],
    cwd: Path,
    stdin: bytes = b"",
    cap: int = LISTING_CAP,
    fine: Sequence[int] = (0,),
    timeout: float = TIMEOUT,
) -> bytes:
    """The standard output of one git command; ``TreeError`` when it failed.

    ``env`` is put over ours; None takes a variable out.
    """
    absolute = [p for p in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(p)]
    whole = {**_ENVIRONMENT, "PATH": os.pathsep.join(absolute), "GIT_CEILING_DIRECTORIES": str(cwd), **env}
    argv = (path, *_QUIET, *args)
    try:
        done = run(
            argv,
            env={k: v for k, v in whole.items() if v is not None},
            cwd=cwd,
            stdin=stdin,
            timeout=timeout,
            max_output=cap,
        )
    except PrunError as error:
        raise TreeError(
            f"git {args[0]} did not work: {error.message}", place=str(cwd), remedy=error.remedy
        ) from error
    if done.code not in fine:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise TreeError(
            f"git {args[0]} ended with {done.code}: {said[-1] if said else 'it said nothing'}",
            place=str(cwd),
            remedy="see what `git status` and `git fsck` say there",
        )
    return done.stdout


def theirs(repository: Repository, *args: str, fine: Sequence[int] = (0,)) -> bytes:
    """A command on their git directory that only resolves names."""
    env = {"GIT_DIR": str(repository.git_dir)}
    return call(program(repository.top), args, env, repository.git_dir, fine=fine)


def object_format(sha: str) -> str:
    """The hash that an object's name was made with."""
    return "sha1" if len(sha) == 40 else "sha256"


def head(repository: Repository) -> str:
    """SHA of HEAD; ``TreeError`` when there is no commit yet."""
    sha = theirs(repository, "rev-parse", "--verify", "--quiet", "HEAD", fine=(0, 1)).decode().strip()
    if not sha:
        raise TreeError(
            "the repository has no commit yet",
            place=str(repository.top),
            remedy="git add . && git commit -m 'first'",
        )
    return sha


def commit(repository: Repository, rev: str) -> str:
    """SHA of the commit that a revision names there; empty where it names none.

    Searches (``:/text``, ``^{/text}``) count as none: who writes commit messages would choose.
    """
    if not rev or rev.startswith("-") or re.search(r"[\x00-\x20\x7f:]|\^\{/", rev):
        return ""
    args = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{rev}^{{commit}}")
    # What is wrong with a name is said in several exit statuses; a SHA that is not here is one of them.
    said = theirs(repository, *args, fine=(0, 1, 128)).decode(errors="replace").strip()
    name = _name_in(rev)
    if not SHA.fullmatch(said) or (name.startswith("refs/") and not existing(repository, [name])):
        return ""  # a range names several; and git would go on below refs/ for a whole name that is missing
    return said


def meanings(repository: Repository, rev: str) -> dict[str, str]:
    """The commits that the name in a revision may stand for, by how each is written in full; none for a
    name that means one thing anyway.  Git would take the first, and who pushes may choose names."""
    name = _name_in(rev)
    full = len(name) == len(commit(repository, rev)) and _SHORT.fullmatch(name)
    if full or name in ("", "@", "HEAD") or name.startswith("refs/"):
        return {}
    candidates = [rule.format(name) for rule in _RULES]
    found = {ref: commit(repository, ref) for ref in existing(repository, candidates)}
    short = _SHORT.search(name)
    if short and found:
        listed = theirs(repository, "rev-parse", f"--disambiguate={short[1]}", fine=(0, 1, 128))
        for sha in listed.decode().split():
            found |= {f"the abbreviated {sha}": sha} if commit(repository, sha) == sha else {}
    return {what: sha for what, sha in found.items() if sha}


def _name_in(rev: str) -> str:
    """A revision without its steps: ``~2``, ``^``, ``@{1}``."""
    return re.split(r"[~^]|@\{", rev, maxsplit=1)[0]


def existing(repository: Repository, names: Sequence[str]) -> list[str]:
    """Those of these refs that there are, in this order."""
    out = theirs(repository, "for-each-ref", "--format=%(refname)", *names)
    listed = set(os.fsdecode(out).splitlines())
    return [name for name in names if name in listed]


def shallow(repository: Repository) -> list[str]:
    """The commits whose parents the repository is said not to hold."""
    path = repository.common / "shallow"
    with files.named(TreeError, "git's own data cannot be read", path):
        content = files.read_regular(path, SMALL_CAP) if path.exists() else b""
    return [line for line in content.decode("ascii", "replace").split() if SHA.fullmatch(line)]


def refs(repository: Repository) -> dict[str, str]:
    """What every ref stands for, by name; and HEAD, where it is not a file of its own."""
    out = theirs(repository, "for-each-ref", "--format=%(refname)%00%(objectname) %(symref)%00")
    parts = [os.fsdecode(p.lstrip(b"\n")) for p in out.split(b"\0")]
    found = dict(zip(parts[0:-1:2], parts[1::2], strict=False))
    if (repository.common / "reftable").is_dir():
        found["HEAD"] = theirs(repository, "rev-parse", "--symbolic-full-name", "HEAD").decode().strip()
    return found


def ignore_file(repository: Repository) -> str:
    """The user's own file of ignored patterns (``core.excludesFile``).

    The only place where system and global configuration count: what they ignore is never sent.
    """
    home = {k: os.environ[k] for k in ("HOME", "XDG_CONFIG_HOME") if k in os.environ}
    env = {"GIT_DIR": str(repository.git_dir), **home, **dict.fromkeys(_CONFIG_OFF)}
    args = ("config", "-z", "--type=path", "--get", "core.excludesFile")
    out = call(program(repository.top), args, env, repository.git_dir, fine=(0, 1))
    base = home.get("XDG_CONFIG_HOME") or os.path.join(home.get("HOME", "/nonexistent"), ".config")
    return os.fsdecode(out.rstrip(b"\0")) or os.path.join(base, "git", "ignore")
