"""A repository, its vault and copies of it, and workers that are shell scripts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prun_review import git as ours
from prun_review.copies import Copies, ThrowawayCopy
from prun_review.model import Brief, Unit
from prun_review.ports import Copy
from prun_review.vault import Vault
from prun_review.written import Patch
from tests.repokit import ENV, git, repository

BASE: dict[str, str | bytes] = {
    "README": "hello\n",
    "src/a.py": "one\ntwo\nthree\n",
    "src/b.py": "".join(f"line {n}\n" for n in range(20)),
    "data.bin": bytes(range(256)),
    ".gitignore": "*.log\nbuild/\n",
}
EDIT = "echo four >> src/a.py;"
COMMIT = "git add -A; git commit -qm"


def unit(writes: Sequence[str] = (), spares: Sequence[str] = ()) -> Unit:
    """A code-writing unit with that scope."""
    brief = Brief("do it", mode="write", writes=tuple(writes), spares=tuple(spares))
    return Unit("probe_x[codex]", "probe_x-codex", "probe_x", "panels", "codex", brief)


@dataclass
class Bench:
    """All that a test needs of one repository."""

    repo: Path
    vault: Vault
    run_dir: Path
    base: str
    copies: Copies
    opened: int = 0

    def open(self, masked: Mapping[str, bytes | None] | None = None) -> ThrowawayCopy:
        """A copy for the next attempt."""
        self.opened += 1
        out = self.run_dir / f"units/probe_x-codex/{self.opened}"
        out.mkdir(parents=True)
        return self.copies.open(self.base, "probe_x-codex", self.opened, out, masked)

    def work(self, script: str, *, writes: Sequence[str] = (), spares: Sequence[str] = ()) -> Patch:
        """What a worker leaves behind."""
        copy = self.open()
        work(copy.path, script)
        return as_port(copy).harvest(unit(writes, spares))

    def text(self) -> bytes:
        """The last patch."""
        return (self.run_dir / "units/probe_x-codex/change.patch").read_bytes()


def bench(tmp: Path, content: Mapping[str, str | bytes] | None = None, *init: str) -> Bench:
    """A bench on a new repository."""
    return bench_of(repository(tmp / "repo", BASE if content is None else content, *init), tmp)


def bench_of(repo: Path, tmp: Path) -> Bench:
    """A bench on a repository that is there; close its copies."""
    run_dir = tmp / ".prun/runs/20260101T000000Z-abcd"
    run_dir.mkdir(parents=True)
    vault = Vault.create(run_dir / "git", ours.find(repo))
    return Bench(repo, vault, run_dir, vault.commit_of("HEAD"), Copies(vault, run_dir))


def as_port(copy: ThrowawayCopy) -> Copy:
    """What the type checker says of it: it is what the engine wants."""
    return copy


def work(where: Path, script: str, **env: str) -> None:
    """Run a worker."""
    whole = {"PATH": ENV["PATH"], "HOME": "/nonexistent", **env}
    done = subprocess.run(["/bin/sh", "-ec", script], cwd=where, env=whole, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def codes(patch: Patch) -> set[str]:
    """The kinds of breaches in it."""
    return {breach.code for breach in patch.breaches}


def content(vault: Vault, tree: str) -> dict[str, tuple[str, bytes]]:
    """Modes and contents of a tree, by name."""
    entries = [e for e in vault.entries(tree) if e.size is not None]
    texts = vault.contents(entries)
    return {os.fsdecode(e.name): (e.mode, text) for e, text in zip(entries, texts, strict=True)}


def applied(tmp: Path, repo: Path, patch: Patch, text: bytes) -> str:
    """The tree that plain git makes of a clone of the base and the patch."""
    clone = tmp / "applied"
    git(tmp, "clone", "-q", "--no-checkout", str(repo), str(clone))
    git(clone, "read-tree", patch.base)
    if text:
        git(clone, "apply", "--cached", "-", stdin=text)
    return git(clone, "write-tree")
