"""The reviewed tree as files: what read-only workers of a run look at, and whether it stayed so."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prun_review import files
from prun_review.errors import TreeError
from prun_review.git import EXECUTABLE, LINK, Entry
from prun_review.model import Reason
from prun_review.publicnames import few
from prun_review.shadow import batches

SNAPSHOT_CHANGED = "snapshot-changed"
"""Code of a reason: what reviewers read is not what it was; no answer given after that counts."""
LEFT_BY_CODEX = (".agents", ".aws", ".codex", ".git")
"""Empty directories that codex's sandbox makes where it works, and leaves there when it is killed.
They count as nothing and are never removed meanwhile: its bind mounts lie on them."""

Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One directory with the files of a tree, read-only."""

    path: Path
    notes: tuple[str, ...]
    """Symbolic links that were not made, and why."""
    entries: Mapping[str, Entry]
    """What stands there, by path."""
    stamps: Mapping[str, Stamp]
    """Device, inode, size, mode and times of each file when it was written."""
    about: Snapshot | None = None
    """Of a change: what it is, as files of its own; see :attr:`beside`."""

    @property
    def beside(self) -> Path | None:
        """In a review of a change: the directory with ``CHANGE.diff``, ``CHANGED.tsv`` and the pre-images
        of changed files below ``base/``, read-only."""
        return self.about.path if self.about else None


def write(
    path: Path, entries: Mapping[str, Entry], blobs: Callable[[Sequence[Entry]], list[bytes]]
) -> Snapshot:
    """Write ``entries`` below ``path``, which must not exist and appears whole."""
    part = path.with_name(path.name + ".part")
    made: dict[str, Entry] = {}
    notes: list[str] = []
    with files.named(TreeError, "the snapshot of the reviewed tree cannot be written", part):
        files.make_private(part)
        for batch in batches({n: e for n, e in entries.items() if e.mode != LINK}):
            for (name, entry), content in zip(batch, blobs([e for _, e in batch]), strict=True):
                target = part / name
                target.parent.mkdir(parents=True, exist_ok=True)
                files.create(target, content, 0o555 if entry.mode == EXECUTABLE else 0o444)
                made[name] = entry
        # Links come last: while files are written there is none that could lead a path outside.
        for batch in batches({n: e for n, e in entries.items() if e.mode == LINK}):
            for (name, entry), content in zip(batch, blobs([e for _, e in batch]), strict=True):
                why = _link(part, name, content)
                if why:
                    notes.append(f"{name}: {why}")
                else:
                    made[name] = entry
        stamps = {name: _stamp((part / name).lstat()) for name in made}
        for folder, _, _ in os.walk(part, topdown=False):
            os.chmod(folder, 0o555)
        os.rename(part, path)
    return Snapshot(path, tuple(notes), made, stamps)


def _link(root: Path, name: str, target: bytes) -> str:
    """Make a symbolic link, or say why not."""
    if not stays_inside(name, target):
        return "a link that leaves the tree"
    place = root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.symlink(target, os.fsencode(place))
    except OSError as e:
        return f"a link that cannot be made: {e.strerror}"
    return ""


def stays_inside(name: str, target: bytes) -> bool:
    """Whether a link at ``name`` cannot lead out of the tree, whatever other such links there are.

    ``..`` may only lead, so it climbs real directories; what follows descends, and where it meets
    another link the same holds for that one.
    """
    parts = target.split(b"/")
    climbed = 0
    while climbed < len(parts) and parts[climbed] in (b"..", b"."):
        climbed += 1
    up = parts[:climbed].count(b"..")
    if not target or b"\0" in target or target.startswith(b"/"):
        return False
    return b".." not in parts[climbed:] and up <= name.count("/")


def _stamp(info: os.stat_result) -> Stamp:
    return (info.st_dev, info.st_ino, info.st_size, info.st_mode, info.st_mtime_ns, info.st_ctime_ns)


def differences(snapshot: Snapshot, object_format: str) -> tuple[Reason, ...]:
    """What happened to the snapshot, and to what lies beside it, since it was written: nothing, or
    reasons that forbid PASS.

    A file that was rewritten counts even if its content is the same again: what a worker read in
    between is unknown.  Its change time tells, which only the system's clock can forge.
    """
    reasons = _differences(snapshot, object_format, "the snapshot of the reviewed tree")
    if snapshot.about:
        reasons += _differences(snapshot.about, object_format, "what lies beside the snapshot")
    return reasons


def _differences(snapshot: Snapshot, object_format: str, called: str) -> tuple[Reason, ...]:
    found: dict[str, list[str]] = {}
    try:
        seen = _walk(snapshot.path)
    except OSError as e:
        text = f"{called} cannot be read: {e.strerror} ({e.filename})"
        return (Reason(SNAPSHOT_CHANGED, text),)
    for name, info in seen.items():
        entry = snapshot.entries.get(name)
        if entry is None:
            found.setdefault("added", []).append(name)
        elif _stamp(info) != snapshot.stamps[name]:
            found.setdefault(_change(snapshot, name, entry, info, object_format), []).append(name)
    found["removed"] = [name for name in snapshot.entries if name not in seen]
    return tuple(
        Reason(SNAPSHOT_CHANGED, f"{what} in {called}: {few(names)}")
        for what, names in sorted(found.items())
        if names
    )


def _change(snapshot: Snapshot, name: str, entry: Entry, info: os.stat_result, object_format: str) -> str:
    path = snapshot.path / name
    if stat.S_IFMT(info.st_mode) != stat.S_IFMT(snapshot.stamps[name][3]):
        return "replaced"
    try:
        content = os.fsencode(os.readlink(path)) if entry.mode == LINK else path.read_bytes()
    except OSError:
        return "made unreadable"
    if hashlib.new(object_format, b"blob %d\0" % len(content) + content).hexdigest() != entry.sha:
        return "content changed"
    return "mode changed" if info.st_mode != snapshot.stamps[name][3] else "rewritten with the same content"


def _walk(root: Path) -> dict[str, os.stat_result]:
    """Everything but directories; empty directories count as files, unless codex left them."""
    seen: dict[str, os.stat_result] = {}
    folders = [(str(root), "")]
    while folders:
        folder, prefix = folders.pop()
        with os.scandir(folder) as found:
            entries = list(found)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append((entry.path, f"{prefix}{entry.name}/"))
            else:
                seen[prefix + entry.name] = entry.stat(follow_symlinks=False)
        if prefix and not entries and prefix[:-1] not in LEFT_BY_CODEX:
            seen[prefix[:-1]] = os.lstat(folder)
    return seen
