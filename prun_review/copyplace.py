"""Where throwaway copies lie, what is known of each, and which may be removed.

<cache>/prun_review/copies/<run id>-<6 hex>/
    lock                            held while the run makes and uses copies
    template-<12 hex>/tree/         what its copies are copied from
    <slug>-<attempt>/copy.json tree/
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from prun_review import files, scratch, treewalk
from prun_review.errors import LaunchError, TreeError
from prun_review.locks import Lock, is_held
from prun_review.process.run import run

KIND, RECORD, TREE, LOCK, PATCH = "copies", "copy.json", "tree", "lock", "change.patch"
UNWORKED = ("template-", "plain-")
"""What the names begin with of folders in which no worker works."""
DAY = 86400.0
REMOVING = 600.0
"""Seconds for the removal of a tree that is nested too deeply for us."""


@dataclass(frozen=True, slots=True)
class Registered:
    """What ``copy.json`` says of a copy."""

    run: str
    """Its run directory."""
    unit: str
    """Slug."""
    attempt: int
    base: str
    """SHA of the commit that it was made of."""
    made: float
    """Seconds since the epoch."""
    out: str
    """Directory of the attempt, where ``change.patch`` is kept."""
    laid: str = ""
    """Digest of its files when it was whole; empty before: nobody worked in it yet."""
    harvested: str = ""
    """The same when its change was taken; empty before."""
    patch: str = ""
    """sha256 of the ``change.patch`` that was taken; empty where there was no change."""
    kept: bool = False
    """Left for a person to look at."""
    shared: str = ""
    """The git directory of the user's repository whose worktree it is; empty for a copy."""
    entry: str = ""
    """Its name among the worktrees there."""

    def write(self, folder: Path) -> None:
        """Put it beside the tree; ``OSError``."""
        if folder.is_symlink():
            raise OSError(errno.ELOOP, "a link stands in its place", str(folder))
        files.write(folder / RECORD, json.dumps(asdict(self)).encode(), sync=False)

    @classmethod
    def read(cls, folder: Path) -> Registered | None:
        """What is known of the copy in a folder; None where nothing is."""
        try:
            data = json.loads(files.read_regular(folder / RECORD, 1 << 20))
            record = cls(**{f.name: data[f.name] for f in fields(cls) if f.name in data})
            record = replace(record, made=float(record.made))
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        # A worker that is not contained can write there too.
        words = (getattr(record, f.name) for f in fields(cls) if f.type == "str")
        sound = all(isinstance(word, str) and "\0" not in word for word in words)
        return record if sound and math.isfinite(record.made) else None


class Place:
    """The folder of one run's copies, locked while it is open."""

    def __init__(self, run_dir: Path, avoid: tuple[Path, ...]) -> None:
        """Make it, or take that of the same run again; ``TreeError``."""
        base = scratch.fit(KIND, "the copies that code is written in", (*avoid, run_dir))
        name = _name(run_dir)
        with files.named(TreeError, "no folder for copies can be made", base / name):
            gate = Lock(base / LOCK, wait=True)  # nobody cleans between mkdir and lock
            try:
                _sweep(base)
                self.path = base / name
                with suppress(FileExistsError):
                    files.make_private(self.path)
                self._lock = Lock(self.path / LOCK)
            finally:
                gate.release()

    def close(self) -> None:
        """Give it up, and remove it where nothing is left in it."""
        for path in self.path.iterdir() if self.path.is_dir() else ():
            if path.name != LOCK and Registered.read(path) is None and not _may_hold(path):
                remove(path)
        with suppress(OSError):
            if [path.name for path in self.path.iterdir()] == [LOCK]:
                files.remove_tree(self.path)
        self._lock.release()


def _name(run_dir: Path) -> str:
    """What the folder of a run is called."""
    return f"{run_dir.name}-{hashlib.sha256(os.fsencode(run_dir)).hexdigest()[:6]}"


def _sweep(base: Path) -> None:
    """Remove what runs that were killed left beside their copies: a template is a whole checkout."""
    for folder in base.iterdir():
        if folder.name == LOCK or folder.is_symlink() or not folder.is_dir() or _held(folder / LOCK):
            continue
        with suppress(OSError):  # a leftover that cannot be removed stops no run
            for path in folder.iterdir():
                record = Registered.read(path)
                unworked = path.name.startswith(UNWORKED) if record is None else not record.laid
                if unworked and not (record and record.shared):  # which is known elsewhere, and left to clean
                    remove(path)  # nobody ever worked in it
            if [path.name for path in folder.iterdir()] == [LOCK]:
                files.remove_tree(folder)


def untaken(run_dir: Path) -> Iterator[Path]:
    """The work trees of a run that is dead in which something was written that nobody took."""
    for folder in (place / _name(run_dir.absolute()) for place in scratch.places(KIND) if _ours(place)):
        if not folder.is_dir() or folder.is_symlink() or _held(folder / LOCK):
            continue
        for path in sorted(folder.iterdir()):
            record = None if path.is_symlink() else Registered.read(path)
            if record and record.laid and _change(path, record):
                yield path / TREE


def remove(path: Path) -> str:
    """Remove a folder whatever its modes; why it could not be, or nothing.  Links are not followed."""
    try:
        if path.is_symlink() or not path.is_dir():
            path.unlink()
        else:
            files.remove_tree(path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        deep = error.errno in (errno.ENAMETOOLONG, errno.EMFILE)  # each level takes a descriptor
        return _removed_by_rm(path) if deep else error.strerror or str(error)
    except RecursionError:
        return _removed_by_rm(path)
    return ""


def _removed_by_rm(path: Path) -> str:
    """A worker can nest folders deeper than a path can name; ``rm`` goes down step by step."""
    try:
        run(("/bin/rm", "-rf", "--", str(path)), env={"LC_ALL": "C"}, cwd=path.parent, timeout=REMOVING)
    except LaunchError as error:
        return error.message
    return "its folders are nested too deeply" if path.exists() else ""


@dataclass(frozen=True, slots=True)
class Left:
    """Something that lies among the copies, and what is to become of it."""

    path: Path
    goes: bool
    why: str


def survey(now: float, older: float, force: bool) -> Iterator[Left]:
    """Everything that lies there, of all runs; ``older`` is in seconds, as ``now``.  No run begins there
    meanwhile.

    A copy goes when it is older and its change is stored, or there is none; with ``force`` also when not.
    """
    for place in scratch.places(KIND):
        if not place.is_absolute() or not _ours(place):
            continue
        with files.named(TreeError, "the copies cannot be listed", place):
            gate = Lock(place / LOCK, wait=True)
            try:
                for run_folder in sorted(path for path in place.iterdir() if path.name != LOCK):
                    yield from _of_run(run_folder, now, older, force)
            finally:
                gate.release()


def _ours(place: Path) -> bool:
    with suppress(OSError):
        return place.lstat().st_uid == os.geteuid() and place.is_dir() and not place.is_symlink()
    return False


def _of_run(folder: Path, now: float, older: float, force: bool) -> Iterator[Left]:
    if folder.is_symlink() or not folder.is_dir():
        yield Left(folder, True, "no folder of a run")
        return
    alive = _held(folder / LOCK)
    for path in sorted(path for path in folder.iterdir() if path.name != LOCK):
        record = None if path.is_symlink() else Registered.read(path)
        if alive or (record and _held(Path(record.run) / LOCK)):
            yield Left(path, False, "its run is alive")
        else:
            yield _judged(path, record, now, older, force)
    if not alive and all(path.name == LOCK for path in folder.iterdir()):
        yield Left(folder, True, "nothing is left in it")


def _held(lock: Path) -> bool:
    """Whether somebody holds a lock; also where that cannot be told."""
    try:
        return is_held(lock)
    except OSError:
        return True


def _judged(path: Path, record: Registered | None, now: float, older: float, force: bool) -> Left:
    if record is None and _may_hold(path):
        made, laid = path.lstat().st_mtime, True
    elif record is None:
        return Left(path, True, "a leftover: no copy is registered there")
    else:
        made, laid = record.made, bool(record.laid)
    if not laid:
        return Left(path, True, "a leftover: it was not made to its end")
    age = f"{(now - made) / DAY:.1f} days old"
    if made > now - older:
        return Left(path, False, f"{age}, which is not old enough")
    change = _change(path, record) if record else "nothing is known of it, so it may hold a change"
    if change and not force:
        return Left(path, False, f"{age}, and {change} (--force removes it)")
    return Left(path, True, f"{age}, {change or _stored(record)}")


def _stored(record: Registered | None) -> str:
    """What is left of a copy of which nothing would be lost."""
    patch = Path(record.out) / PATCH if record and record.patch else None
    return f"and its change is stored in {patch}" if patch and patch.is_file() else "and it holds no change"


def _may_hold(path: Path) -> bool:
    """Whether work may lie in a folder of which no record can be read: it was cut short, or taken away."""
    return not path.is_symlink() and os.path.lexists(path / TREE) and not path.name.startswith(UNWORKED)


def _change(path: Path, record: Registered) -> str:
    """What would be lost with a copy; empty for nothing."""
    if not os.path.lexists(path / TREE):
        return ""
    try:
        now = treewalk.walk(str(path / TREE)).digest()
        if now == record.laid:
            return ""
        if now != record.harvested:
            return "it holds a change that is not stored in its run"
        kept = not record.patch or _digest(Path(record.out) / PATCH) == record.patch
    except OSError as error:
        return f"it cannot be looked at: {error.strerror}"
    return "" if kept else f"its change is not stored in {record.out} any more"


def _digest(path: Path) -> str:
    with suppress(OSError):
        return hashlib.sha256(files.read_regular(path, 4 << 30)).hexdigest()
    return ""
