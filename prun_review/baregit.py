"""Bare git directories of ours: laid out by hand, so that no template, hook or setting of others gets in."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from prun_review import files
from prun_review.errors import TreeError
from prun_review.git import Entry

_QUIET = {
    "core.splitIndex": "false",
    "core.untrackedCache": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "gc.auto": "0",
}

AS_STORED = b"* -text -ident !filter !working-tree-encoding !diff !merge !whitespace\n"
"""Attributes under which files lie on disk byte for byte as git stores them, whatever any
``.gitattributes`` says, and are compared and merged as what they are."""

CAP = 16 << 20
"""Bytes of such a file that are looked at."""
OBJECT = 0o400
"""Mode of an object's file: nothing writes to one again."""


def make(path: Path, form: str, settings: Mapping[str, str], lent: Path | None = None) -> None:
    """An empty git directory; ``OSError`` where it cannot be made.

    ``form`` is ``sha1`` or ``sha256``, ``settings`` are by whole key (``core.eol``), and objects that it
    does not hold are read from ``lent``.
    """
    for folder in ("", "refs", "info", "objects", "objects/info"):
        files.make_private(path / folder)
    files.create(path / "HEAD", b"ref: refs/heads/none\n")
    files.create(path / "config", config(form, settings))
    if lent:
        files.create(path / "objects/info/alternates", quoted(os.fsencode(lent)) + b"\n")


def config(form: str, settings: Mapping[str, str]) -> bytes:
    """The settings, and ours, as a configuration file; keys and values are our own words."""
    whole = {"core.repositoryformatversion": str(int(form != "sha1")), **_QUIET, **settings}
    if form != "sha1":
        whole["extensions.objectFormat"] = form
    lines = []
    for key, value in whole.items():
        section, _, name = key.rpartition(".")
        lines += [f"[{section}]", f"\t{name} = {value}"]
    return "\n".join([*lines, ""]).encode()


OBEYED = ("config", "config.worktree", "commondir")
"""Files of a git directory that can make git run a program."""
BELIEVED = ("info/attributes", "info/exclude", "info/grafts", "objects/info/alternates")
"""Those that can make it see something else than is there."""


def laid(path: Path, names: Sequence[str] = OBEYED) -> tuple[bytes, ...]:
    """What such files of a git directory hold now; nothing for those that are not there."""
    return tuple(files.take_regular(path, name, CAP).data for name in names)


def intact(path: Path, before: tuple[bytes, ...], names: Sequence[str] = OBEYED) -> None:
    """``TreeError`` where they do not hold that: a worker that is not contained can write there, and git
    would obey it, outside of any sandbox."""
    now = laid(path, names)
    changed = [name for name, old, new in zip(names, before, now, strict=True) if old != new]
    if changed or any(os.path.islink(path / name) for name in names):
        raise TreeError(
            f"git's own data of this run was changed by somebody: {', '.join(changed) or 'a link'}",
            place=str(path),
            remedy='look which worker wrote there (containment = "bwrap" keeps it out); run anew',
        )


def store(objects: Path, form: str, kind: str, content: bytes) -> str:
    """Keep an object as a file of its own, as git does; its SHA.  ``OSError`` where it cannot be written.

    For small ones: a process of git costs more than all of this.
    """
    whole = b"%s %d\0%s" % (kind.encode(), len(content), content)
    sha = hashlib.new(form, whole, usedforsecurity=False).hexdigest()
    place = objects / sha[:2] / sha[2:]
    if not place.exists():
        place.parent.mkdir(mode=files.PRIVATE_DIR, exist_ok=True)
        files.write(place, zlib.compress(whole, 1), OBJECT, sync=False)
    return sha


def quoted(raw: bytes) -> bytes:
    """A path quoted as C does, as git takes it in lists of paths: it may hold any byte."""
    plain = b"".join(b"\\%03o" % c if c < 32 or c in b'"\\' or c > 126 else bytes([c]) for c in raw)
    return b'"' + plain + b'"'


def contents(out: bytes, entries: Sequence[Entry], place: Path) -> list[bytes]:
    """The contents of entries with known sizes in what ``git cat-file --batch`` printed of them."""
    found, at = [], 0
    for entry in entries:
        first = out.index(b"\n", at) + 1
        size = out[at:first].split()[-1]
        if not size.isdigit() or int(size) != entry.size:
            raise TreeError(
                f"object {entry.sha} of {os.fsdecode(entry.name)!r} cannot be read",
                place=str(place),
                remedy="git fsck",
            )
        found.append(out[first : first + entry.size])
        at = first + entry.size + 1
    return found
