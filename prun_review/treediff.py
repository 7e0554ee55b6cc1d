"""What git says of two trees, and of two changes put together, as records."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prun_review.errors import TreeError
from prun_review.publicnames import named
from prun_review.shadow import RENAMES
from prun_review.written import Touched

TEXT = 20_000
"""Characters that are told of one conflict."""
SEARCHED = 16 << 20
"""Bytes of a file up to which its conflicting places are looked for."""

Run = Callable[..., bytes]
"""``Vault.run``."""

_RENAMES = ("-M", f"-l{RENAMES}")
_PATCH = (
    *("-p", "-U3", "--binary", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
_LISTED = ("-z", "--raw", "--numstat")
_STATUSES = {"A": "added", "D": "deleted", "M": "modified", "R": "renamed", "T": "type"}
_NONE = "000000"
_HUNK = re.compile(rb"^<<<<<<< .*?^>>>>>>> [^\n]*\n?", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Clash:
    """One place where two changes of the same base do not go together."""

    path: str
    kind: str
    """git's word: ``contents``, ``modify/delete``, ``rename/rename``, ``file/directory``, ``binary``..."""
    text: str
    """What git says of it, and the clashing lines of both sides between markers."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Two changes of one base put together."""

    tree: str
    """SHA; where it is not clean, files of it hold conflict markers: it is for people, never for use."""
    conflicts: tuple[Clash, ...] = ()

    @property
    def clean(self) -> bool:
        """Nothing clashed."""
        return not self.conflicts


def patch(run: Run, old: str, new: str) -> bytes:
    """The differences as text for ``git apply``."""
    return run("diff-tree", "-r", *_PATCH, *_RENAMES, old, new)


def touched(run: Run, old: str, new: str) -> tuple[Touched, ...]:
    """The files that differ, sorted by path."""
    return _listed(run("diff-tree", "-r", *_LISTED, *_RENAMES, old, new))


def compared(run: Run, old: str, new: str) -> tuple[bytes, tuple[Touched, ...]]:
    """Both of one look."""
    out = run("diff-tree", "-r", *_LISTED, *_PATCH, *_RENAMES, old, new)
    listing, between, text = out.partition(b"\0\0")  # no name in the listing is empty
    if out and not (between and text):
        raise TreeError("git diff-tree said what is not understood", remedy="see that git is 2.38 or newer")
    return text, _listed(listing + b"\0" if out else b"")


def _listed(out: bytes) -> tuple[Touched, ...]:
    parts = iter(out.split(b"\0")[:-1])
    found: dict[bytes, Touched] = {}
    for part in parts:
        if part.startswith(b":"):
            name, file = _raw(part, parts)
            found[name] = file
        else:
            added, deleted, name = part.split(b"\t", 2)
            if not name:  # of a renamed one both names follow
                name = (next(parts), next(parts))[1]
            found[name] = _counted(found[name], added, deleted)
    return tuple(sorted(found.values(), key=lambda file: file.path))


def _raw(part: bytes, rest: Iterator[bytes]) -> tuple[bytes, Touched]:
    old_mode, mode, old_sha, sha, letter = part[1:].decode().split(" ")
    names = [next(rest) for _ in range(2 if letter[0] in "RC" else 1)]
    status = _STATUSES[letter[0]]
    if status == "modified" and old_sha == sha:
        status = "mode"
    old_path = named(names[0]) if len(names) == 2 else ""
    new, old = ("" if m == _NONE else m for m in (mode, old_mode))
    return names[-1], Touched(named(names[-1]), status, old_path, new, old)


def _counted(file: Touched, added: bytes, deleted: bytes) -> Touched:
    binary = added == b"-"
    counts = (0, 0) if binary else (int(added), int(deleted))
    return Touched(file.path, file.status, file.old_path, file.mode, file.old_mode, binary, *counts)


def merged(run: Run, out: bytes, sides: Mapping[str, str]) -> Merged:
    """The record of what ``git merge-tree --write-tree --messages -z`` printed; ``sides`` name the two
    commits in words."""
    parts = out.split(b"\0")
    tree = parts[0].decode().strip()
    end = parts.index(b"", 1) if b"" in parts[1:] else len(parts)
    staged = {item.partition(b"\t")[2]: None for item in parts[1:end]}
    clashes: dict[bytes, Clash] = {}
    for names, kind, said in _messages(iter(parts[end + 1 :])):
        word = re.fullmatch(r"CONFLICT \((.*)\)", kind)
        for name in names[:1] if word else ():
            told = f"{clashes[name].text}{said}" if name in clashes else said
            clashes[name] = Clash(named(name), word[1] if word else "", told)
    for name in staged:
        if not any(name == known for known in clashes):
            clashes[name] = Clash(named(name), "contents", "")
    return Merged(tree, tuple(_with_hunks(run, tree, name, clashes[name], sides) for name in sorted(clashes)))


def _messages(parts: Iterator[bytes]) -> Iterator[tuple[list[bytes], str, str]]:
    """Names, kind and words of each message."""
    for count in parts:
        if not count.strip().isdigit():
            return
        names = [next(parts) for _ in range(int(count))]
        kind, said = (next(parts).decode(errors="replace") for _ in range(2))
        yield names, kind, said


def _with_hunks(run: Run, tree: str, name: bytes, clash: Clash, sides: Mapping[str, str]) -> Clash:
    try:
        content = run("cat-file", "blob", f"{tree}:{os.fsdecode(name)}", cap=SEARCHED)
    except TreeError:
        content = b""  # it is in neither side, a folder, or too long to be shown
    text = clash.text + b"".join(_HUNK.findall(content)).decode(errors="replace")
    for sha, word in sides.items():
        text = text.replace(sha, word)
    return Clash(clash.path, clash.kind, text[:TEXT])
