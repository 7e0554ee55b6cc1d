"""A repository, the vault of a wave run in it, and what its tasks wrote; git is the real one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from prun_review import git as ours
from prun_review.git import Entry
from prun_review.integrating import Joined, put_together
from prun_review.reopening import put_together as told
from prun_review.tasks import SUCCEEDED, Course, Manifest, Outcome, Scope, Target, Task
from prun_review.vault import Vault
from prun_review.wavebegin import begin
from prun_review.waves import finished, started
from prun_review.written import Patch
from tests.repokit import repository

FILES: dict[str, str | bytes] = {
    "shop/cart.py": "".join(f"line{n} = {n}\n" for n in range(20)),
    "shop/price.py": "def price(n):\n    return 3 * n\n",
    "README": "hello\n",
}
VENDORS = {"codex": "openai", "sonnet": "anthropic"}
Text = Mapping[str, "str | None"]
"""What a task leaves: name -> text, None for a file that is gone."""


def edited(
    *at: int, files: Mapping[str, str | bytes] = FILES, name: str = "shop/cart.py", to: str = "0"
) -> str:
    """A file with some of its lines changed."""
    lines = str(files[name]).splitlines()
    return "".join(f"line{n} = {to}\n" if n in at else f"{line}\n" for n, line in enumerate(lines))


def scope(
    create: tuple[str, ...] = (), modify: tuple[str, ...] = (), boundary: tuple[str, ...] = ()
) -> Scope:
    return Scope(create, tuple(map(Target, modify)), boundary)


@dataclass
class Project:
    """A user's repository and a vault of it."""

    repo: Path
    vault: Vault
    base: str

    def wrote(self, base: str, text: Text) -> Patch:
        """The patch of who left these files."""
        blobs = {name: content for name, content in text.items() if content is not None}
        shas = self.vault.store((), [content.encode() for content in blobs.values()])
        put = [Entry(os.fsencode(n), "100644", sha) for n, sha in zip(blobs, shas, strict=True)]
        gone = [os.fsencode(name) for name, content in text.items() if content is None]
        tree = self.vault.replaced(self.vault.tree_of(base), gone, put)
        patch, files = self.vault.diff(base, tree), self.vault.touched(base, tree)
        digest = hashlib.sha256(patch).hexdigest() if patch else ""
        return Patch(base, tree, digest, len(patch), files)

    def names(self, commit: str) -> list[str]:
        """The files of a commit or tree."""
        return [os.fsdecode(entry.name) for entry in self.vault.entries(commit)]

    def text(self, commit: str, name: str) -> str:
        """One file of a commit or tree."""
        [entry] = [e for e in self.vault.entries(commit) if e.name == os.fsencode(name)]
        return self.vault.contents([entry])[0].decode()


def project(tmp: Path, files: Mapping[str, str | bytes] = FILES) -> Project:
    repo = repository(tmp / "repo", files)
    vault = Vault.create(tmp / "vault", ours.find(repo))
    return Project(repo, vault, vault.commit_of("HEAD"))


@dataclass
class Waves:
    """A run whose tasks leave what a test says."""

    project: Project
    course: Course

    @classmethod
    def of(cls, project: Project, manifest: Manifest, reopen: int = 1) -> Waves:
        course, problems = begin(manifest, project.base, reopen=reopen)
        assert course is not None, problems
        return cls(project, course)

    def work(self, task: str, text: Text, executor: str = "codex") -> None:
        """A task runs and leaves that, on top of what it starts from."""
        self.course = started(self.course, task, executor=executor, vendor=VENDORS.get(executor, executor))
        held = self.course.outcomes[task]
        found = next(t for t in self.course.manifest.tasks if t.id == task)
        base = held.conflict.onto if held.conflict else self.course.waves[found.wave].base
        wrote = self.project.wrote(base, text)
        self.course = finished(self.course, Outcome(task, SUCCEEDED, "ok", attempts=1, patch=wrote))

    def join(self, wave: int, prefix: str = "") -> Joined:
        """Put the wave together and tell the engine of it."""
        joined = put_together(self.project.vault, self.course, wave, prefix=prefix)
        self.course = told(self.course, wave, joined.head, joined.commits, joined.conflicts)
        return joined


def titled(task: Task, title: str) -> Task:
    return replace(task, title=title)
