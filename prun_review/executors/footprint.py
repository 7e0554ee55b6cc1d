"""What of the disk an installed program needs to run: for its own sandbox, and for ours.

A program of the system needs nothing said.  Of one that lies elsewhere the smallest thing is named
that holds it whole: its virtual environment, its package, its npm scope, or else the file alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import prun_review

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
"""Where programs and libraries of the system are; everybody has them."""


def of_program(program: str, path: str = "") -> tuple[Path, ...]:
    """The paths that an executable file needs; ``path`` is the PATH on which a script's interpreter is
    looked for.  Paths of the system are left out."""
    found: list[Path] = []
    for file in (program, *_interpreter(program, path)):
        found += _of_file(Path(file))
    return tuple(dict.fromkeys(p for p in found if not _of_system(p)))


def of_python() -> tuple[Path, ...]:
    """What the interpreter that runs this needs, and this package, from which it runs scripts."""
    package = Path(os.path.abspath(prun_review.__file__)).parent
    paths = (Path(sys.prefix), Path(sys.base_prefix), package)
    return tuple(dict.fromkeys(p for p in paths if not _of_system(p)))


def of_tools(entries: Iterable[str]) -> tuple[Path, ...]:
    """What the programs in the folders of a PATH need: of a virtual environment all of it and what it was
    made from, of another folder what it holds and what its Python was installed with."""
    found: list[Path] = []
    for entry in map(Path, entries):
        if not entry.is_dir() or _of_system(entry):
            continue
        found.append(entry)
        found += _environment(entry.parent)
        installed = Path(os.path.realpath(entry / "python3")).parent.parent
        if any(installed.glob("lib/python3*")):  # else it might be anybody's home
            found.append(installed)
    return tuple(dict.fromkeys(p for p in found if not _of_system(p) and p != Path("/")))


def files(words: Iterable[str]) -> tuple[Path, ...]:
    """Those of the paths that are there."""
    return tuple(Path(word) for word in words if os.path.exists(word))


def _of_file(file: Path) -> list[Path]:
    real = Path(os.path.realpath(file))
    found = [file]
    for place in (file, real):
        found += _environment(place.parent.parent)
    return [*found, _package(real)]


def _environment(folder: Path) -> list[Path]:
    """A virtual environment and the installation that it was made from."""
    try:
        lines = (folder / "pyvenv.cfg").read_text(errors="replace").splitlines()
    except OSError:
        return []
    homes = [line.partition("=")[2].strip() for line in lines if line.partition("=")[0].strip() == "home"]
    return [folder, *(Path(home).parent for home in homes if home.startswith("/"))]


def _package(real: Path) -> Path:
    """The Python or npm package that a file is part of; the file itself where it is part of none."""
    parts = real.parts
    for marker in ("node_modules", "site-packages", "dist-packages"):
        if marker in parts[:-1]:
            return Path(*parts[: parts.index(marker) + 2])
    return real


def _interpreter(program: str, path: str) -> list[str]:
    """The program that a script names in its first line, also by ``env``."""
    try:
        with open(program, "rb") as file:
            first = file.readline(4096)
    except OSError:
        return []
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    if words and os.path.basename(words[0]) == "env":
        name = next((w for w in words[1:] if not w.startswith("-") and "=" not in w), "")
        places = [os.path.join(entry, name) for entry in path.split(os.pathsep) if entry.startswith("/")]
        return [*words[:1], *[p for p in places if os.access(p, os.X_OK)][:1]]
    return words[:1]


def _of_system(path: Path) -> bool:
    return any(path.is_relative_to(place) for place in SYSTEM)
