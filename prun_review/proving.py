"""Whether the objects of a run's own store are what their names say.

Git takes a loose object for what its name says.  A worker that is not contained can write into the run
directory; without this a validation or a panel would look at files that no patch makes.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from contextlib import suppress
from pathlib import Path

from prun_review import files
from prun_review.errors import TreeError
from prun_review.treewalk import Stamp, stamp

_FORMS = {40: "sha1", 64: "sha256"}
_PIECE = 1 << 20
_LARGEST = 1 << 30


def prove(objects: Path, known: dict[str, Stamp]) -> None:
    """``TreeError`` where a loose object in the object directory ``objects`` is not what its name says.

    ``known`` remembers what was looked at: what has not changed since is not read again.
    """
    with files.named(TreeError, "the objects of the run cannot be read", objects):
        for folder in (name for name in os.listdir(objects) if len(name) == 2):
            with os.scandir(objects / folder) as entries:
                for entry in entries:
                    name = f"{folder}{entry.name}"
                    if len(name) not in _FORMS:
                        continue  # one that is being written
                    now = stamp(entry.stat(follow_symlinks=False))
                    if known.get(name) != now:
                        _check(Path(entry), name)
                        known[name] = now


def _check(path: Path, name: str) -> None:
    digest = hashlib.new(_FORMS[len(name)], usedforsecurity=False)
    unpacked = zlib.decompressobj()
    with suppress(zlib.error), files.open_regular(path, _LARGEST) as stream:
        while piece := stream.read(_PIECE):
            while piece:
                digest.update(unpacked.decompress(piece, _PIECE))
                piece = unpacked.unconsumed_tail
        digest.update(unpacked.flush())
    if digest.hexdigest() != name:
        raise TreeError(
            f"object {name[:12]} of this run is not what its name says: somebody wrote into its store",
            place=str(path),
            remedy='look which worker wrote there (containment = "bwrap" keeps it out); run anew',
        )
