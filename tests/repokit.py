"""Real git repositories for tests, and a cache directory where snapshots may lie."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from prun_review import files

ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}

TEMPLATE = Path(__file__).parent / "gitdir"
"""What a git directory begins with: git's own holds fourteen examples of hooks, for every repository anew."""
QUICK = ("-c", "maintenance.auto=false", "-c", f"init.templateDir={TEMPLATE}")
"""No second process after each commit."""


def git(where: Path, *args: str, check: bool = True, stdin: bytes = b"") -> str:
    """What a user's own git prints; file transport is allowed, for submodules."""
    argv = ["git", "-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", *QUICK, *args]
    done = subprocess.run(argv, cwd=where, env=ENV, input=stdin, capture_output=True, check=False)
    assert not check or done.returncode == 0, done.stderr.decode(errors="replace")
    return os.fsdecode(done.stdout).strip()


def repository(where: Path, content: Mapping[str, str | bytes] | None = None, *init: str) -> Path:
    """A repository with one commit of ``content``."""
    where.mkdir(parents=True, exist_ok=True)
    git(where, "init", "-q", *init)
    write(where, content if content is not None else {"src/a.py": "one\ntwo\n", "README": "hello\n"})
    git(where, "add", "-A")
    git(where, "commit", "-q", "--allow-empty", "-m", "first")
    return where


def write(where: Path, content: Mapping[str, str | bytes]) -> None:
    """Write files, with their folders."""
    for name, data in content.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_bytes(data.encode() if isinstance(data, str) else data)


@contextmanager
def cache_home() -> Iterator[Path]:
    """A directory outside /tmp, as snapshots want it."""
    path = Path(tempfile.mkdtemp(prefix="prun-review-test-", dir="/var/tmp"))
    try:
        yield path
    finally:
        files.remove_tree(path)
        shutil.rmtree(path, ignore_errors=True)
