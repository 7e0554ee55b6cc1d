"""Where symbolic links lead that the review's own files, or the folders that these lie in, are.

What such a link stands for decides as much as the link: its target's content is what pytest runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prun_review import guarded
from prun_review.git import LINK
from prun_review.publicnames import public_name
from prun_review.shadow import Shadow

OUTSIDE = "/.."
"""The target of a link that leaves the repository, in the words of :func:`prun_review.guarded.follow`."""


@dataclass(frozen=True, slots=True)
class Links:
    """The symbolic links of one tree, by names relative to its root."""

    known: frozenset[str]
    """Those that are listed; there may be more."""
    target: Callable[[str], str | None]
    """What a name points to where it is one."""


def committed(shadow: Shadow, commit: str, tops: Sequence[Path]) -> Links:
    """The links of a commit; ``tops`` are where its root lies on disk."""
    entries = [e for e in shadow.tree(commit) if e.mode == LINK and e.size is not None]
    contents = shadow.blobs(entries) if entries else []
    found = {public_name(e.name): _inside(c, tops) for e, c in zip(entries, contents, strict=True)}
    return Links(frozenset(found), found.get)


def on_disk(top: Path, known: Iterable[str], tops: Sequence[Path]) -> Links:
    """The links of a work tree, of which ``known`` are listed: any other file is looked at when asked for."""

    def target(name: str) -> str | None:
        path = top / name
        return _inside(os.fsencode(os.readlink(path)), tops) if path.is_symlink() else None

    return Links(frozenset(known), target)


def _inside(raw: bytes, tops: Sequence[Path]) -> str:
    """What a link holds, with the root of the repository for ``/``."""
    if not raw.startswith(b"/"):
        return public_name(raw)
    for top in map(os.fsencode, tops):
        if raw == top or raw.startswith(top + b"/"):
            return "/" + public_name(raw[len(top) + 1 :])
    return OUTSIDE


@dataclass(frozen=True, slots=True)
class Area:
    """Files and folders that links of the review lead to or through."""

    names: frozenset[str] = frozenset()

    def holds(self, name: str) -> bool:
        """Whether a name is, or lies below, one of them."""
        if not self.names:
            return False
        parts = name.split("/")
        return "." in self.names or any("/".join(parts[:n]) in self.names for n in range(1, len(parts) + 1))


def reached(anchors: Sequence[str], watched: Callable[[str], bool], trees: Iterable[Links]) -> Area:
    """All that is reached from where the review's own files are looked for (``anchors``), or from a link
    among the ``watched`` names, in any of the trees."""
    trees = tuple(trees)
    area = Area()
    while True:
        names = set(area.names)
        for tree in trees:
            starts = (name for name in tree.known if watched(name) or area.holds(name))
            for start in (*anchors, *starts):
                through = guarded.follow(start, tree.target)
                names.update(through if through != (start,) else ())
        if names == area.names:
            return area
        area = Area(frozenset(names))


def told(area: Area, ids: Mapping[str, str]) -> str:
    """The names of an area with what stands there, as one text."""
    return "".join(f"{name}\0{ids[name]}\0" for name in sorted(ids) if area.holds(name))
