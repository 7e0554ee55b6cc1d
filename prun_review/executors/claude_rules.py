"""Which tools and commands claude has, by what it is asked to do (measured with 2.1.332).

claude has no sandbox of its own, so a list of allowed commands is a fence for those who mean well: a test
that it wrote runs whatever it wants.  What must hold is looked at afterwards, and ``containment`` keeps it.
Denials come first: what is denied stays so, also within a compound command, whatever is allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prun_review.model import Brief

READ_TOOLS = ("--tools", "Read,Grep,Glob", "--permission-mode", "dontAsk")
FULL_TOOLS = (
    *("--tools", "Read,Grep,Glob,Edit,Write,Bash", "--permission-mode", "acceptEdits"),
    *("--allowedTools", "Bash"),
)
WEB_TOOLS = (
    *("--tools", "Read,Grep,Glob,Edit,Write,Bash,WebFetch,WebSearch", "--permission-mode", "acceptEdits"),
    *("--allowedTools", "Bash", "WebFetch", "WebSearch"),
)
WRITE_TOOLS = ("--tools", "Read,Grep,Glob,Edit,Write,Bash", "--permission-mode", "acceptEdits")

COMMANDS = (
    *("git status", "git diff", "git log", "git show", "git ls-files", "git grep", "git blame"),
    *("python -m pytest", "python3 -m pytest", "pytest", "ruff", "mypy", "python -m mypy"),
    *("python -m unittest", "python3 -m unittest", "python -m compileall"),
    *("ls", "cat", "head", "tail", "wc", "grep", "rg", "pwd", "which", "diff"),
)
"""What it may run where it writes code, each alone or with arguments.  With ``acceptEdits`` it may make, move
and remove files of its working directory anyhow, and of no other."""

NEVER = (
    *("commit", "push", "tag", "branch", "reset", "rebase", "checkout", "switch", "restore", "clean"),
    *("stash", "merge", "cherry-pick", "revert", "am", "pull", "fetch", "clone", "init", "remote", "config"),
    *("worktree", "submodule", "update-ref", "symbolic-ref", "reflog", "gc", "prune", "repack", "replace"),
    *("filter-branch", "notes", "bisect", "bundle", "send-email", "hook", "credential", "daemon"),
)
"""Of git: what changes history, refs or configuration, or speaks to another repository."""
ELSEWHERE = ("-c", "-C", "--git-dir*", "--work-tree*", "--exec-path*", "--config-env*")
"""Options before its verb that would hide one of these, or lead it to another repository."""


def tools(brief: Brief, commands: Sequence[str] = ()) -> tuple[str, ...]:
    """The options for a brief; ``commands`` take the place of :data:`COMMANDS`."""
    if brief.mode == "write":
        allowed = ("Bash",) if brief.access == "full" else tuple(_rules(commands or COMMANDS))
        denied = tuple(_rules([f"git {word}" for word in (*NEVER, *ELSEWHERE)]))
        return (*WRITE_TOOLS, "--allowedTools", *allowed, "--disallowedTools", *denied)
    if brief.contract.sources:
        return WEB_TOOLS
    return FULL_TOOLS if brief.access == "full" else READ_TOOLS


def _rules(commands: Sequence[str]) -> Iterator[str]:
    for command in commands:
        yield f"Bash({command})"
        yield f"Bash({command} *)"
