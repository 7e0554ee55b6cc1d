"""What codex's shell may see and write: a permission profile of ours, put on every command line.

The older ``--sandbox read-only`` reads the whole disk, the login and other units included; a profile
reads what it names (measured with 0.163).  Codex prefers ``--sandbox`` where both are given, so there
is none.  ``--strict-config`` makes a codex that does not know these settings (before 0.138) fail
instead of falling back to the older sandbox in silence.
"""

from __future__ import annotations

import functools
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from prun_review.executors import environment, footprint
from prun_review.executors.environment import NETWORK_NAMES
from prun_review.ports import Request

NAME = "prun-review"

PRIVATE = (
    *(".ssh", ".codex", ".claude", ".claude.json", ".aws", ".azure", ".gnupg", ".docker", ".kube"),
    *(".netrc", ".npmrc", ".pypirc", ".git-credentials", ".config/gh", ".config/gcloud", ".config/pip"),
)
"""Of the user's home: where logins usually are.  For ``access="full"``, which reads the rest of the disk."""

TALKATIVE = ("environment", "gitconfig", "netrc", "npmrc", "pip.conf", "docker", "kubernetes", "rancher")
"""Of /etc: what everybody may read and what often holds a login all the same."""


WRITTEN = {".": "write", ".git": "read", ".codex": "read", ".agents": "read"}
"""Of a copy that code is written in: commits and what would configure the next codex are none of it."""

SHELL = (
    *("HOME", "PATH", "SHELL", "USER", "LOGNAME", "TMPDIR", "TERM", "LANG", "LANGUAGE", "LC_*", "TZ"),
    *("GIT_CEILING_DIRECTORIES", "PRUN_DISPATCH"),
)
"""The variables that its shell has; the last is the mark by which what a dispatch leaves is found."""


def switches(request: Request, home: str, *, network: bool) -> tuple[str, ...]:
    """The ``-c`` settings of a dispatch; ``home`` is its CODEX_HOME."""
    workshop = tuple(environment.WORKSHOP) if request.unit.brief.mode == "write" else ()
    rules = {
        "default_permissions": json.dumps(NAME),
        f"permissions.{NAME}.filesystem": _table(_rules(request, home)),
        f"permissions.{NAME}.network": _table({"enabled": network}),
        "shell_environment_policy.inherit": '"all"',
        "shell_environment_policy.include_only": json.dumps(SHELL + workshop + NETWORK_NAMES * network),
    }
    return tuple(f"{key}={value}" for key, value in rules.items())


def _rules(request: Request, home: str) -> dict[str, object]:
    """Path -> ``read``, ``write`` or ``deny``."""
    full = request.unit.brief.access == "full"
    own = request.unit.brief.mode == "write"  # the tree is a copy of its own
    writes = full and not request.contained  # contained, the snapshot is read-only for everybody
    helpers = (os.path.join(home, "tmp"), *map(str, _program(request)), *map(str, _tools(request)))
    tree = _written(request) if own else {".": "write" if writes else "read"}
    rules: dict[str, object] = {":minimal": "read", ":workspace_roots": tree}
    rules |= dict.fromkeys(helpers, "read")
    rules |= dict.fromkeys(_etc(), "deny")
    if request.beside:
        rules[str(request.beside)] = "read"
    if full or own:
        rules[":tmpdir"] = "write"
    if writes:
        rules |= {":root": "read", **dict.fromkeys(_logins(request, home), "deny")}
    return rules


def _program(request: Request) -> tuple[Path, ...]:
    """Codex starts itself anew inside its sandbox, and has a ``rg`` of its own."""
    program = request.located.argv[0]
    found = footprint.of_program(program, request.env.get("PATH", ""))
    return tuple(path for path in found if path.exists() and not path.is_symlink())


def _tools(request: Request) -> tuple[Path, ...]:
    return tuple(path for path in environment.workshop(request) if path.exists() and not path.is_symlink())


def _written(request: Request) -> dict[str, str]:
    """Rules below the copy; one for what is not there, or is a link, would be an error."""
    places = {name: request.tree / name for name in WRITTEN}
    return {n: rule for n, rule in WRITTEN.items() if places[n].is_dir() and not places[n].is_symlink()}


def _logins(request: Request, home: str) -> list[str]:
    users = request.env.get("HOME", "")
    places = [os.path.join(users, name) for name in PRIVATE] if users.startswith("/") else []
    named = [request.env.get(name, "") for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR")]
    places += [place for place in named if place.startswith("/")]
    return [p for p in map(os.path.realpath, places) if os.path.exists(p) and not home.startswith(p)]


@functools.cache
def _etc() -> tuple[str, ...]:
    """What of /etc is not for everybody, and what is talkative.  A rule for a place that is not there
    or is a link would be an error."""
    found: list[str] = []
    for folder in ("/etc", "/etc/ssl", "/etc/ssh", "/etc/pki", "/etc/pki/tls"):
        within = any(folder.startswith(place) for place in found)  # a rule below a denied place is an error
        for name in os.listdir(folder) if os.access(folder, os.R_OK) and not within else ():
            path = f"{folder}/{name}"
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                continue
            if not mode & stat.S_IROTH or (folder == "/etc" and name in TALKATIVE):
                found.append(path)
    return tuple(sorted(found))


def _table(values: Mapping[str, object]) -> str:
    """An inline table of TOML."""
    pairs = []
    for key, value in values.items():
        text = _table(value) if isinstance(value, Mapping) else json.dumps(value, ensure_ascii=False)
        pairs.append(f"{json.dumps(key, ensure_ascii=False)}={text}")
    return "{" + ",".join(pairs) + "}"
