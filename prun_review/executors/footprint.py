"""What of the disk an installed program needs to run: for its own sandbox, and for ours.

A program of the system needs nothing said.  Of one that lies elsewhere the smallest thing is named
that holds it whole: its virtual environment, its package, its npm scope, or else the file alone.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import prun_review

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
"""Where programs and libraries of the system are; everybody has them."""


LOGINS = (
    *(".aws", ".azure", ".claude", ".codex", ".config", ".docker", ".gnupg", ".kube", ".mozilla", ".netrc"),
    *(".password-store", ".ssh", ".git-credentials", ".npmrc", ".pypirc", ".local/share/keyrings"),
)
"""Below a home: nothing of these is a tool, wherever a PATH may point."""
MOST_TOOLS = 1_000
"""Files of a folder that are looked into for what they need."""
_LOOKING = threading.Lock()


def of_program(program: str, path: str = "") -> tuple[Path, ...]:
    """The paths that an executable file needs; ``path`` is the PATH on which a script's interpreter is
    looked for.  Paths of the system are left out."""
    found: list[Path] = []
    for file in (program, *_interpreter(program, path)):
        found += _of_file(Path(file))
    return _narrowed(found, homes())


def of_python() -> tuple[Path, ...]:
    """What the interpreter that runs this needs, and this package, from which it runs scripts."""
    package = Path(os.path.abspath(prun_review.__file__)).parent
    return _narrowed([Path(sys.prefix), Path(sys.base_prefix), package], homes())


def of_tools(entries: Iterable[str]) -> tuple[Path, ...]:
    """What the programs in the folders of a PATH need: of a virtual environment all of it and what it was
    made from; of another folder what it holds, where links and first lines of scripts lead, and what its
    Python was installed with; of shims all that they choose from.  Nothing of :data:`LOGINS`."""
    with _LOOKING:  # dispatches begin at once, and each would look
        return _of_tools(tuple(entries), homes())


def homes() -> tuple[Path, ...]:
    """The user's home as it is called and as it is."""
    home = os.environ.get("HOME", "")
    named = [home] if os.path.isabs(home) and home.strip("/") else []
    with suppress(ImportError, KeyError):  # nobody keeps a list of users here
        import pwd

        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    forms = [form for place in named if place.strip("/") for form in (place, os.path.realpath(place))]
    return tuple(dict.fromkeys(Path(os.path.abspath(form)) for form in forms))


@functools.lru_cache(16)
def _of_tools(entries: tuple[str, ...], homes: tuple[Path, ...]) -> tuple[Path, ...]:
    """The same, looked up once: a folder may hold hundreds of links, and every command asks."""
    found: list[Path] = []
    for entry in map(Path, entries):
        if not entry.is_dir() or _of_system(entry):
            continue
        found.append(entry)
        found += _environment(entry.parent)
        if entry.name == "shims" or (entry.parent / "Cellar").is_dir():
            found.append(entry.parent)
        if any(entry == home / ".local/bin" for home in homes):
            found.append(entry.parent)
        for file in _files(entry):
            found += _led_to(file)
    return tuple(p for p in _narrowed(found, homes) if not _login(p, homes))


def _files(folder: Path) -> list[Path]:
    """The files in it, Python first; the first of the others."""
    with suppress(OSError), os.scandir(folder) as entries:
        names = sorted((not e.name.startswith("python"), e.name) for e in entries if e.is_file())
        return [folder / name for _, name in names[:MOST_TOOLS]]
    return []


def _led_to(file: Path) -> list[Path]:
    """What a tool needs beyond the folder that it lies in."""
    real = Path(os.path.realpath(file))
    found = [] if real.parent == file.parent else _of_file(file)[1:]
    for program in (file, *(Path(word) for word in _interpreter(str(file), "") if word.startswith("/"))):
        found += [] if program == file else _of_file(program)
        found += _installation(Path(os.path.realpath(program)))
    return found


def _installation(real: Path) -> list[Path]:
    """What a Python interpreter was installed with."""
    if not real.name.startswith("python") or _of_system(real):
        return []
    prefix = real.parent.parent
    return [prefix] if any(prefix.glob("lib*/python3*")) else []


def _narrowed(paths: Iterable[Path], homes: tuple[Path, ...]) -> tuple[Path, ...]:
    """Without those of the system; of a home, what lies above it, and its ``.local``, which hold everything
    else too, only what is Python's."""
    found: list[Path] = []
    for path in paths:
        wide = any(home.is_relative_to(path) or path == home / ".local" for home in homes)
        found += _of_pythons(path) if wide or path == Path("/") else [path]
    return tuple(dict.fromkeys(p for p in found if not _of_system(p)))


def _of_pythons(prefix: Path) -> list[Path]:
    python = [prefix / "bin", prefix / "pyvenv.cfg"] if (prefix / "bin/python3").exists() else []
    found = {*prefix.glob("lib*/python3*"), *prefix.glob("lib*/libpython3*"), *python}
    return sorted(path for path in found if path.exists())


def _login(path: Path, homes: tuple[Path, ...]) -> bool:
    forms = (path, Path(os.path.realpath(path)))
    return any(form.is_relative_to(home / name) for form in forms for home in homes for name in LOGINS)


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
