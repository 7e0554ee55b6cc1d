"""Whether the objects that a run reads are what their names say.

Git takes an object for what its name says, a loose one and one in a pack.  A worker that is not contained can
write into the run directory and into the user's repository, of which the run borrows; without this a
validation or a panel would look at files that no patch makes.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from prun_review import files
from prun_review.errors import TreeError
from prun_review.treewalk import Stamp, stamp

_FORMS = {40: "sha1", 64: "sha256"}
_PIECE = 1 << 20
_LARGEST = 1 << 40
_INDEX = ".idx"


def prove(objects: Path, known: dict[str, Stamp], verify: Callable[[Path], object]) -> None:
    """``TreeError`` where an object in the object directory ``objects`` is not what its name says.

    ``known`` remembers what was looked at: what has not changed since is not read again.  ``verify`` looks at
    the objects of a pack, given its index, and raises ``TreeError``.
    """
    for path, now in seen(objects).items():
        if known.get(path) == now:
            continue
        try:
            if path.endswith(_INDEX):
                verify(Path(path))
            else:
                with files.named(TreeError, "the objects of the run cannot be read", Path(path)):
                    _check(Path(path), "".join(path.split(os.sep)[-2:]))
        except TreeError as error:
            if not os.path.lexists(path):
                continue  # the user's git put it elsewhere meanwhile
            if path.endswith(_INDEX):
                raise _foreign(f"pack {Path(path).stem[:17]}", path) from error
            raise
        known[path] = now


def seen(objects: Path) -> dict[str, Stamp]:
    """By path: the stamps of all loose objects and indexes of packs; ``TreeError``."""
    found: dict[str, Stamp] = {}
    with files.named(TreeError, "the objects of the run cannot be read", objects):
        for folder in (name for name in os.listdir(objects) if len(name) == 2 or name == "pack"):
            with suppress(FileNotFoundError), os.scandir(objects / folder) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):
                        if len(folder + entry.name) in _FORMS and folder != "pack":
                            found[entry.path] = stamp(entry.stat(follow_symlinks=False))
                        elif folder == "pack" and entry.name.endswith(_INDEX):
                            found[entry.path] = _of_pack(entry.path)
    return found


def _of_pack(index: str) -> Stamp:
    """Of a pack's index, which comes last, and of the pack.  Git renews the times of a pack when what is
    written is in it already, so these say nothing."""
    return (*stamp(os.stat(index)), *stamp(os.stat(f"{index.removesuffix(_INDEX)}.pack"))[:3])


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
        raise _foreign(f"object {name[:12]}", str(path))


def _foreign(what: str, path: str) -> TreeError:
    return TreeError(
        f"{what} of this run is not what its name says: somebody wrote into its store",
        place=path,
        remedy='look which worker wrote there (containment = "bwrap" keeps it out); run anew',
    )
