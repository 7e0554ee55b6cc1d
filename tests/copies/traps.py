"""Seventeen ways in which a repository makes careless git run a program.

Each is armed in a checkout with an edited file; ``spring`` does what a careless user does.
"""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.repokit import ENV, git, repository

HOOKS = (
    *("pre-commit", "post-commit", "commit-msg", "post-index-change", "post-checkout", "pre-push"),
    *("reference-transaction", "post-merge", "pre-auto-gc", "post-rewrite"),
)


@dataclass(frozen=True)
class Trap:
    """One of them."""

    name: str
    arm: Callable[[Path, Path], None]
    """Gets the checkout and the program."""
    fire: tuple[str, ...]
    """What git is told."""
    terminal: bool = False
    """Only where somebody looks at it."""

    def spring(self, top: Path) -> None:
        """What plain git does there."""
        env = {**ENV, "TERM": "xterm", "GIT_SSH_VARIANT": "simple"}
        argv = ["git", *self.fire]
        if not self.terminal:
            subprocess.run(argv, cwd=top, env=env, capture_output=True, check=False, timeout=60)
            return
        mine, its = pty.openpty()
        try:
            subprocess.run(argv, cwd=top, env=env, stdin=its, stdout=its, stderr=its, check=False, timeout=60)
        finally:
            os.close(mine)
            os.close(its)


def canary(folder: Path) -> Path:
    """A program that leaves the file ``executed`` beside it."""
    program = folder / "canary"
    program.write_text(f"#!/bin/sh\n: > '{folder}/executed'\nexit 1\n")
    program.chmod(0o755)
    return program


def _config(*pairs: tuple[str, str]) -> Callable[[Path, Path], None]:
    def arm(top: Path, program: Path) -> None:
        for key, value in pairs:
            git(top, "config", key, value.replace("@", str(program)))

    return arm


def _attributes(line: str, where: str, *pairs: tuple[str, str]) -> Callable[[Path, Path], None]:
    def arm(top: Path, program: Path) -> None:
        if where != ".git/info/attributes":
            (top / ".git/info/attributes").unlink(missing_ok=True)
        (top / ".git/info").mkdir(exist_ok=True)
        with (top / where).open("a") as file:
            file.write(f"{line}\n")
        _config(*pairs)(top, program)

    return arm


def _hooks(folder: Path, program: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in HOOKS:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(program)


def _hooks_path(top: Path, program: Path) -> None:
    _hooks(top / "tools", program)
    git(top, "config", "core.hooksPath", str(top / "tools"))


def _own_hooks(top: Path, program: Path) -> None:
    _hooks(top / ".git/hooks", program)


def _elsewhere(top: Path, program: Path) -> None:
    (top / "elsewhere").mkdir()
    _config(("core.fsmonitor", "@"), ("core.worktree", str(top / "elsewhere")))(top, program)


def _include(top: Path, program: Path) -> None:
    (top / ".git/more").write_text(f"[core]\n\tfsmonitor = {program}\n")
    git(top, "config", "include.path", "more")


def _config_worktree(top: Path, program: Path) -> None:
    git(top, "config", "extensions.worktreeConfig", "true")
    (top / ".git/config.worktree").write_text(f"[core]\n\tfsmonitor = {program}\n")


def _submodule(top: Path, program: Path) -> None:
    inner = repository(top / "inner", {"x.txt": "x\n"})
    git(top, "add", "inner")
    (inner / "x.txt").write_text("y\n")
    git(inner, "config", "core.fsmonitor", str(program))


def _promisor(top: Path, program: Path) -> None:
    missing = "12" * (len(git(top, "rev-parse", "HEAD")) // 2)
    git(top, "update-index", "--add", "--info-only", "--cacheinfo", f"100644,{missing},lacking")
    _config(
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "evil"),
        ("remote.evil.url", "ssh://nowhere.invalid/x"),
        ("remote.evil.promisor", "true"),
        ("core.sshCommand", "@"),
    )(top, program)


def _git_file(top: Path, program: Path) -> None:
    git(top, "config", "core.fsmonitor", str(program))
    (top / ".git").rename(top / "moved")
    (top / ".git").write_text("gitdir: moved\n")


_EVIL = "* diff=evil"
TRAPS = (
    Trap("fsmonitor", _config(("core.fsmonitor", "@")), ("status",)),
    Trap("diff.external", _config(("diff.external", "@")), ("diff",)),
    Trap("textconv", _attributes(_EVIL, ".gitattributes", ("diff.evil.textconv", "@")), ("diff",)),
    Trap(
        "textconv-infoattr",
        _attributes(_EVIL, ".git/info/attributes", ("diff.evil.textconv", "@")),
        ("diff",),
    ),
    Trap("diffdriver-command", _attributes(_EVIL, ".gitattributes", ("diff.evil.command", "@")), ("diff",)),
    Trap(
        "filter-clean",
        _attributes("* filter=evil", ".gitattributes", ("filter.evil.clean", "@")),
        ("add", "-A"),
    ),
    Trap(
        "filter-process",
        _attributes("* filter=evil", ".git/info/attributes", ("filter.evil.process", "@")),
        ("add", "-A"),
    ),
    Trap("hooksPath", _hooks_path, ("commit", "-a", "-m", "x")),
    Trap("dothooks", _own_hooks, ("commit", "-a", "-m", "x")),
    Trap("alias", _config(("alias.look", "!@")), ("look",)),
    Trap("pager", _config(("core.pager", "@")), ("log",), terminal=True),
    Trap("worktreecfg", _elsewhere, ("status",)),
    Trap("include", _include, ("status",)),
    Trap("configworktree", _config_worktree, ("status",)),
    Trap("submodule", _submodule, ("status",)),
    Trap("promisor", _promisor, ("cat-file", "-p", ":lacking")),
    Trap("gitfile", _git_file, ("status",)),
)
