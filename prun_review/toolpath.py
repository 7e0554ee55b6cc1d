"""The PATH of commands that are run on what was written: the user's own, of which every program can be used.

A ``python3`` may be a shim: a script, or a link to another program, that chooses an interpreter by files in
the user's home.  Commands have another home, so the shim is asked once, where and as the user would, and
what it chose comes before it; where that is on PATH anyway, the shim comes last.  The environment that runs
this comes behind all: its ``pytest`` is found where there is no other.
"""

from __future__ import annotations

import functools
import os
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path

from prun_review.errors import LaunchError
from prun_review.executors import environment, footprint
from prun_review.process.run import run

PATIENCE = 20.0
"""Seconds for a shim to say what it chooses; pyenv takes some 50 ms."""
CHOOSERS = ("PYENV_", "ASDF_", "MISE_", "RTX_")
"""How the variables begin by which shims choose."""

_NAMES = ("python3", "python")
_ASK = "import sys; print(sys.executable)"


def path_of(env: Mapping[str, str], tree: Path, where: Path) -> tuple[str, ...]:
    """The entries of a PATH for commands on the files in ``tree``; ``where`` is the trusted root, in which
    shims are asked."""
    entries = environment.path_entries(env.get("PATH", os.defpath), (tree,))
    wanted = {n: v for n, v in env.items() if n in ("HOME", "LANG") or n.startswith(CHOOSERS)}
    whole = tuple(sorted((wanted | {"PATH": os.pathsep.join(entries)}).items()))
    found, last = list[str](), list[str]()
    for place, entry in enumerate(entries):
        chosen = _chosen(entry, whole, where)
        if {*chosen} & {*entries[place:]}:  # put first, it would hide what else comes before it
            last.append(entry)
        else:
            found += [*chosen, entry]
    scripts = sysconfig.get_path("scripts")
    return tuple(dict.fromkeys([*found, *last, scripts]))


def user_base(entries: tuple[str, ...]) -> str:
    """Where ``pip install --user`` put what is on a PATH; empty where it is not."""
    for home in footprint.homes():
        if str(home / ".local/bin") in entries and any((home / ".local").glob("lib/python3*/site-packages")):
            return str(home / ".local")
    return ""


@functools.lru_cache(64)
def _chosen(entry: str, env: tuple[tuple[str, str], ...], where: Path) -> tuple[str, ...]:
    """The folders of the interpreters that shims in a folder of PATH stand for."""
    return tuple(dict.fromkeys(_asked(entry, dict(env), where)))


def _asked(entry: str, env: Mapping[str, str], where: Path) -> Iterator[str]:
    for name in _NAMES:
        program = os.path.join(entry, name)
        if not _is_shim(program):
            continue
        try:
            argv = (program, "-I", "-c", _ASK)
            done = run(argv, env=env, cwd=where, timeout=PATIENCE, max_output=1 << 16, sweep=True)
        except LaunchError:
            continue  # it chooses nothing here: then commands fail on it too, and say so
        chosen = os.fsdecode(done.stdout).strip() if not done.code else ""
        if os.path.isabs(chosen) and os.access(chosen, os.X_OK) and os.path.dirname(chosen) != entry:
            yield os.path.dirname(chosen)


def _is_shim(program: str) -> bool:
    if not os.access(program, os.X_OK) or not os.path.isfile(program):
        return False
    real = os.path.realpath(program)
    try:
        with open(real, "rb") as file:
            script = file.read(2) == b"#!"
    except OSError:
        return False
    return script or not os.path.basename(real).startswith("python")
