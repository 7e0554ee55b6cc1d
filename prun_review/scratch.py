"""A private directory of one run, outside the repository and outside what workers may write.

Not under /tmp: codex's ``workspace-write`` sandbox makes /tmp and ``$TMPDIR`` writable for every
worker, so one of them could change what the others review.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from prun_review import files
from prun_review.errors import TreeError
from prun_review.locks import Lock, is_held

NAME = "prun_review"


class Scratch:
    """A fresh directory, 0700, removed by :meth:`close` or, after a crash, by the next run."""

    def __init__(self, *avoid: Path) -> None:
        """Make it outside the folders to ``avoid``; ``TreeError`` where no place is fit."""
        base = fit("trees", "the snapshot of the reviewed tree", avoid)
        with files.named(TreeError, "no private directory can be made", base):
            gate = Lock(base / "lock", wait=True)  # nobody sweeps between mkdir and lock
            try:
                _sweep(base)
                self.path = files.make_private(base / secrets.token_hex(6))
                self._lock = Lock(self.path / "lock")
            finally:
                gate.release()

    def close(self) -> None:
        """Remove it; a second call does nothing."""
        with files.named(TreeError, "the private directory cannot be removed", self.path):
            files.remove_tree(self.path)
        self._lock.release()


def fit(kind: str, what: str, avoid: tuple[Path, ...]) -> Path:
    """The first fit place for directories of one kind, made if need be: the user's cache, else /var/tmp.
    ``TreeError``, which says for ``what`` it was sought, where there is none."""
    for place in places(kind):
        if not place.is_absolute() or _inside(place, (*avoid, Path("/tmp"), Path(tempfile.gettempdir()))):
            continue
        with suppress(OSError):
            place.mkdir(mode=files.PRIVATE_DIR, parents=True, exist_ok=True)
            info = place.lstat()
            # /var/tmp is everybody's: a directory or link of that name made by another is not ours
            if info.st_uid == os.geteuid() and not place.is_symlink() and os.access(place, os.W_OK | os.X_OK):
                place.chmod(files.PRIVATE_DIR)
                return place
    raise TreeError(
        f"no place for {what}: it must be writable, outside the repository and outside /tmp",
        remedy="set XDG_CACHE_HOME to such a directory",
    )


def places(kind: str) -> Iterator[Path]:
    """Where directories of a kind may lie, in the order that they are tried."""
    cache, home = os.environ.get("XDG_CACHE_HOME"), os.environ.get("HOME")
    if cache:
        yield Path(cache, NAME, kind)
    if home:
        yield Path(home, ".cache", NAME, kind)
    yield Path("/var/tmp", f"{NAME}-{os.geteuid()}-{kind}")


def _inside(place: Path, folders: tuple[Path, ...]) -> bool:
    """``place`` lies in one of them, whatever links lead there."""
    real = place.resolve()
    return any(real.is_relative_to(folder.resolve()) for folder in folders)


def _sweep(base: Path) -> None:
    """Remove what dead runs left: their locks are free."""
    for path in base.iterdir():
        with suppress(OSError):  # a leftover that cannot be removed does not stop this run
            if path.is_dir() and not path.is_symlink() and not is_held(path / "lock"):
                files.remove_tree(path)
