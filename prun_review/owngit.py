"""The ``.git`` of a copy, read as plain files: it was in a worker's hands, so git is never run with it.

What matters of it is told by digests.  Commits are counted by what loose objects say of their parents:
these are text that is unpacked here, bounded; packs of a worker are not opened.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from prun_review import files, git, treewalk

CAP = 1 << 20
"""Bytes of one file of it that are read."""
COUNTED, REFS = 10_000, 10_000
"""Commits and refs that are looked at."""
COMMIT = 64 << 10
"""Bytes of a commit object that are unpacked."""

_GUARDED = (
    *("config", "config.worktree", "commondir", "gitdir", "info", "objects", "objects/info", "refs"),
    *("info/attributes", "info/exclude", "info/grafts", "info/sparse-checkout"),
    *("objects/info/alternates", "objects/info/http-alternates", "hooks", "modules", "worktrees"),
)
_WHOLE = ("hooks", "modules", "worktrees")
"""Of these every file counts."""
_HEAD = re.compile(rb"(?:ref: refs/heads/[^\x00-\x20]+|[0-9a-f]{40}|[0-9a-f]{64})\n?")
_SHA = re.compile(rb"\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b")
_PARENT = re.compile(rb"^parent ([0-9a-f]+)$", re.MULTILINE)
_TREE = re.compile(rb"tree ([0-9a-f]+)\n")


def state(git_dir: Path) -> dict[str, str]:
    """What of it a worker has to leave alone: name -> kind and digest."""
    if not _is_folder(git_dir):
        return {}
    found = {".": "folder"}
    for name in _GUARDED:
        for path in (git_dir / name, *(_below(git_dir / name) if name in _WHOLE else ())):
            with suppress(OSError):
                found[str(path.relative_to(git_dir))] = told(path)
    head = _read(git_dir, "HEAD")
    found["HEAD"] = "fine" if _HEAD.fullmatch(head) else f"odd {hashlib.sha256(head).hexdigest()}"
    return found


def linked(tree: Path, entry: Path) -> dict[str, str]:
    """The same of a worktree of the user's repository, whose own part is ``entry``; nothing where the
    worktree does not lead there any more."""
    leads = files.take_regular(tree, ".git", CAP).data == pointer(entry)
    return state(entry) if leads else {}


def pointer(entry: Path) -> bytes:
    """What the file ``.git`` of a worktree holds."""
    return b"gitdir: " + os.fsencode(entry) + b"\n"


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _below(path: Path) -> list[Path]:
    """The files of a folder of it, sorted, the first of them; links are not followed."""
    if not _is_folder(path):
        return []
    with suppress(OSError):
        found = treewalk.walk(str(path))
        return [path / os.fsdecode(name) for name in sorted([*found.files, *found.odd])[:REFS]]
    return []


def told(path: Path) -> str:
    """Kind and digest; ``OSError`` where there is nothing."""
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        return f"link {os.readlink(path)!r}"
    if not stat.S_ISREG(info.st_mode):
        return f"{info.st_mode:o}"
    read = files.take_regular(path.parent, path.name, CAP)
    return f"{info.st_mode:o} {info.st_size} {hashlib.sha256(read.data).hexdigest()}"


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """What is not as it was, by name relative to the copy, in words."""
    if not after:
        return {".git": "it was removed, or replaced by something else"}
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    words = {name: "removed" if name not in after else "added" for name in before.keys() ^ after.keys()}
    return {f".git/{name}": words.get(name, "changed") for name in sorted(changed)}


@dataclass(frozen=True, slots=True)
class Commits:
    """What a worker committed, as far as it can be told."""

    count: int = 0
    """Those that its branches and HEAD lead to."""
    moved: bool = False
    """HEAD leads to another commit than at first."""
    dropped: bool = False
    """There are commits that HEAD does not lead to: undone by a reset, or on another branch."""
    tree: str = ""
    """SHA of the tree of HEAD's commit; empty where it cannot be read."""
    note: str = ""
    """What could not be counted."""


def commits(git_dir: Path, base: str, common: Path | None = None) -> Commits:
    """The commits beyond ``base``; none where there is no ``.git`` any more.  ``common``: where a worktree
    has objects and branches; only the one that it is on counts."""
    store = common or git_dir
    if not _is_folder(git_dir):
        return Commits(note="its .git is gone: commits in it cannot be counted")
    refs = _refs(git_dir)
    head = _head(git_dir, store, refs)
    own, own_unread = _reached(store, {head} - {""}, base)
    reached, unread = _reached(store, set(refs.values()) | {head} - {""}, base)
    seen, gone = _reached(store, _logged(git_dir) | set(refs.values()), base)
    found = _TREE.search(_commit(store, head))
    note = "some of its commits cannot be read (packed, or damaged), and are not counted"
    return Commits(
        count=len(reached),
        moved=head not in ("", base),
        dropped=bool((seen | gone) - own - own_unread),
        tree=found[1].decode() if found else "",
        note=note if unread else "",
    )


def _reached(git_dir: Path, tips: set[str], base: str) -> tuple[set[str], set[str]]:
    """The commits that can be read from there back to ``base``, and those that cannot."""
    queue, found, unread = [tip for tip in sorted(tips) if tip != base], set[str](), set[str]()
    while queue and len(found) < COUNTED:
        sha = queue.pop()
        content = _commit(git_dir, sha)
        if content:
            found.add(sha)
            parents = {parent.decode() for parent in _PARENT.findall(content.partition(b"\n\n")[0])}
            queue += sorted(parents - found - unread - {base})
        else:
            unread.add(sha)
    return found, unread


def _commit(git_dir: Path, sha: str) -> bytes:
    """The text of a loose commit object; nothing for anything else."""
    if not git.SHA.fullmatch(sha):
        return b""
    packed = _read(git_dir, f"objects/{sha[:2]}/{sha[2:]}")
    try:
        whole = zlib.decompressobj().decompress(packed, COMMIT)
    except zlib.error:
        return b""
    kind, _, content = whole.partition(b"\0")
    return content if kind.startswith(b"commit ") else b""


def _head(git_dir: Path, store: Path, refs: Mapping[str, str]) -> str:
    text = _read(git_dir, "HEAD").decode(errors="replace").strip()
    if not text.startswith("ref: "):
        return text
    name = text.removeprefix("ref: ")
    return refs.get(name) or (_refs(store).get(name, "") if store != git_dir else "")


def _refs(git_dir: Path) -> dict[str, str]:
    """Refs by name, packed ones too."""
    found = {}
    for line in _read(git_dir, "packed-refs").decode(errors="replace").splitlines():
        sha, _, name = line.partition(" ")
        if git.SHA.fullmatch(sha):
            found[name] = sha
    for path in _below(git_dir / "refs"):
        name = str(path.relative_to(git_dir))
        text = _read(git_dir, name).decode(errors="replace").strip()
        if git.SHA.fullmatch(text):
            found[name] = text
    return found


def _logged(git_dir: Path) -> set[str]:
    """What HEAD once stood for."""
    return {
        sha.decode()
        for line in _read(git_dir, "logs/HEAD").splitlines()
        for sha in _SHA.findall(line[:200])[:2]
        if sha.strip(b"0")
    }


def _read(git_dir: Path, name: str) -> bytes:
    """The end of an ordinary file of it; nothing for anything else."""
    return files.take_regular(git_dir, name, CAP).data
