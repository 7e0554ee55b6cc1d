"""A workbench made by hand: each copy is a plain repository with one commit, and git is the real one."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prun_review import patterns
from prun_review.model import Unit
from prun_review.written import Breach, Check, Patch, Touched

BASE: Mapping[str, str] = {"src/a.py": "def twice(x):\n    return x\n", "README.md": "# Shop\n"}
NAMES = {"A": "added", "M": "modified", "D": "deleted"}
ENV = {
    "PATH": "/usr/bin:/bin",
    **{"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"},
    **{f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(tree: Path, *words: str) -> str:
    """What git says in a tree."""
    done = subprocess.run(["git", *words], cwd=tree, env=ENV, capture_output=True, check=True)
    return done.stdout.decode()


def repository(tree: Path, files: Mapping[str, str] = BASE) -> str:
    """Make a repository with one commit; its SHA."""
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    git(tree, "init", "-q", "-b", "prun")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "base")
    return git(tree, "rev-parse", "HEAD").strip()


@dataclass
class HandCopy:
    """A throwaway copy."""

    path: Path
    base: str
    patch_file: Path
    notes: tuple[str, ...] = ()
    marker: str | None = None
    kept: bool = False
    closed: int = 0

    def harvest(self, unit: Unit) -> Patch:
        marker = self.path / ".claude-task-complete"
        if marker.exists():
            self.marker = marker.read_text()
            marker.unlink()
        git(self.path, "add", "-A")
        text = git(self.path, "diff", "--cached", "--binary", "--full-index", "--no-renames", self.base)
        said = git(self.path, "diff", "--cached", "--name-status", "--no-renames", self.base)
        rows = [line.split("\t") for line in said.splitlines()]
        files = tuple(Touched(name, NAMES[status]) for status, name in rows)
        inside = patterns.matcher(unit.brief.writes) if unit.brief.writes else lambda name: True
        odd = tuple(Breach("outside-scope", f.path, "is not in scope") for f in files if not inside(f.path))
        tree = git(self.path, "write-tree").strip()
        if not text:
            return Patch(self.base, tree, breaches=odd)
        self.patch_file.write_text(text)
        data = text.encode()
        return Patch(self.base, tree, hashlib.sha256(data).hexdigest(), len(data), files, breaches=odd)

    def keep(self) -> str:
        self.kept = True
        return str(self.path)

    def close(self) -> None:
        self.closed += 1


@dataclass
class HandBench:
    """Makes such copies, and says of every command what ``passes`` says."""

    root: Path
    passes: Callable[[str], bool] = lambda command: True
    notes: tuple[str, ...] = ()
    copies: list[HandCopy] = field(default_factory=list)
    checked: list[tuple[str, ...]] = field(default_factory=list)

    def open(self, unit: Unit, out: Path) -> HandCopy:
        path = self.root / f"{unit.slug}-{out.name}"
        path.mkdir(parents=True)
        copy = HandCopy(path, repository(path), out.parent / "change.patch", self.notes)
        self.copies.append(copy)
        return copy

    def check(self, patch: Patch, commands: Sequence[str], stop: Callable[[], str]) -> tuple[Check, ...]:
        self.checked.append(tuple(commands))
        return tuple(Check(command, 0 if self.passes(command) else 1) for command in commands)
