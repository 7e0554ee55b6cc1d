"""Which files of a change change the review itself: panels, and what decides how pytest runs them.  Pure.

Names here are relative to the root of the trusted root's repository.
"""

from __future__ import annotations

import posixpath
import tomllib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from prun_review import patterns

_LINKS_MAX = 40
"""Links that one path goes through, as Linux follows them."""
WHOLE = ("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
"""Files that count however little of them changes: pytest obeys them at and above what it is given."""
IMPORTED = ("sitecustomize.py", "usercustomize.py")
"""Files of the trusted root that Python imports by itself where that folder is on its path."""
SECTIONS = {
    "tox.ini": ("pytest",),
    "setup.cfg": ("pytest", "tool:pytest", "options.entry_points"),
}
"""Files of which only these sections count."""
TABLES = (
    ("tool", "prun_review"),
    ("tool", "pytest"),
    ("project", "entry-points", "pytest11"),
    ("project", "entry-points", "prun_review"),
)
"""What of ``pyproject.toml`` counts: configuration, and what an installed project plugs in."""


def watch(root: str, panels: Iterable[str], guarded: Sequence[str]) -> Callable[[str], bool]:
    """Whether a file may change the review.

    ``root`` is the trusted root, ``panels`` and the patterns ``guarded`` are relative to it.
    ``BriefError`` for a malformed pattern.
    """
    root = posixpath.normpath(root or ".")
    folders = {_below(root, panel) for panel in panels}
    deciding = {above for folder in (root, *folders) for above in _upwards(folder)}
    own = folders - {root}
    below = tuple(_start(folder) for folder in own)
    at_root = _start(root)
    matches = patterns.matcher(guarded)

    def watched(name: str) -> bool:
        folder, _, last = name.rpartition("/")
        rel = name.removeprefix(at_root) if name.startswith(at_root) else None
        if name in own or name.startswith(below) or (rel is not None and (matches(rel) or _plugs_in(rel))):
            return True
        return (folder or ".") in deciding and (last in WHOLE or last in SECTIONS or last == "pyproject.toml")

    return watched


def anchors(root: str, panels: Iterable[str], guarded: Sequence[str]) -> tuple[str, ...]:
    """Where files that count are looked for by name, arguments as of :func:`watch`: any part of such a path
    may be a symbolic link.  Of a pattern, what stands before its first wildcard."""
    root = posixpath.normpath(root or ".")
    folders = {_below(root, panel) for panel in panels}
    deciding = {above for folder in (root, *folders) for above in _upwards(folder)}
    names = {
        f"{_start(folder)}{last}" for folder in deciding for last in (*WHOLE, *SECTIONS, "pyproject.toml")
    }
    names |= {f"{_start(root)}{last}" for last in IMPORTED}
    for pattern in guarded:
        parts = pattern.split("/")
        plain = next((n for n, part in enumerate(parts) if set("*?[") & set(part)), len(parts))
        names.add(_below(root, "/".join(parts[:plain])))
    return tuple(sorted({*names, *folders} - {root, "."}))


def follow(name: str, link: Callable[[str], str | None]) -> tuple[str, ...]:
    """The names that a path goes through, and at last what it stands for; ``.`` is the root.

    ``link`` says what a name points to where it is a symbolic link, with the root for ``/``.  A path that
    leaves the root, or goes in circles, stands for nothing: then only the names up to there.
    """
    through: list[str] = []
    at, rest = "", name.split("/")
    while rest:
        part = rest.pop(0)
        if part == "..":
            if not at:
                return tuple(through)
            at = posixpath.dirname(at)
        elif part not in ("", "."):
            here = f"{at}/{part}" if at else part
            target = link(here)
            if target is None:
                at = here
                continue
            if len(through) == _LINKS_MAX:
                return tuple(through)
            through.append(here)
            at = "" if target.startswith("/") else at
            rest = [*target.split("/"), *rest]
    return (*through, at or ".")


def _below(root: str, folder: str) -> str:
    return posixpath.normpath(posixpath.join(root, folder))


def _upwards(folder: str) -> Iterable[str]:
    """The folder and all above it, ``.`` at last; of what lies outside only that."""
    while folder not in (".", "", "/") and not folder.startswith(".."):
        yield folder
        folder = posixpath.dirname(folder) or "."
    yield "."


def _start(folder: str) -> str:
    """What names below a folder start with."""
    return "" if folder == "." else f"{folder}/"


def _plugs_in(name: str) -> bool:
    """A file of the trusted root that is imported, or names plugins, once that folder is on Python's path."""
    folder, _, last = name.partition("/")
    return name in IMPORTED or (last == "entry_points.txt" and folder.endswith((".egg-info", ".dist-info")))


def partly(name: str) -> bool:
    """Whether only parts of a watched file count, so that :func:`same` must be asked."""
    last = name.rpartition("/")[2]
    return last in SECTIONS or last == "pyproject.toml"


def same(name: str, old: bytes, new: bytes) -> bool:
    """Whether what counts of a file is the same on both sides; a side without the file is empty.

    What cannot be parsed is never the same.
    """
    last = name.rpartition("/")[2]
    if last in SECTIONS:
        return _sections(old, SECTIONS[last]) == _sections(new, SECTIONS[last])
    try:
        return _tables(old) == _tables(new)
    except (ValueError, RecursionError):  # TOML and UTF-8 errors are values too
        return False


def _tables(content: bytes) -> list[Any]:
    parsed = tomllib.loads(content.decode())
    found: list[Any] = []
    for keys in TABLES:
        value: Any = parsed
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        found.append(value)
    return found


def _sections(content: bytes, names: Sequence[str]) -> list[str]:
    """The lines of sections as they stand: a parser's idea of a value need not be pytest's."""
    kept: list[str] = []
    inside = False
    text = content.decode("utf-8", errors="surrogateescape").removeprefix("\ufeff")
    for line in text.splitlines():
        head = line.split("#")[0].split(";")[0].rstrip()
        if head.startswith("[") and head.endswith("]"):  # else pytest takes it for more of the value above
            inside = head[1:].split("]")[0].strip() in names
        if inside:
            kept.append(line.rstrip())
    return kept
