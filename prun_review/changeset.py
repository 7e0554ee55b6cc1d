"""How a change is taken: its two ends, its two trees, and what differs between them.

Names are looked up in the trusted repository only, because whoever made the head also made its refs.
Another checkout is read through a shadow of ours, as every work tree is (see :mod:`prun_review.git`).
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prun_review import git, guarded, patch, taken
from prun_review.change import READABLE, Change, FileChange
from prun_review.errors import TreeError
from prun_review.git import GITLINK, LINK, Entry, Repository
from prun_review.model import ChangedFile
from prun_review.shadow import Shadow, batches
from prun_review.shown import Screen, Shown
from prun_review.taken import Listing, public_name

SNIFF = 8000
"""Bytes searched for NUL to tell binary files, as git does."""
SHOWN_CAP = 4 << 20
"""Bytes above which a file's lines are not shown: no prompt holds them."""
POINTER, POINTER_MAX = b"version https://git-lfs.github.com/spec/v1\n", 1024
"""How an LFS pointer starts, and bytes that it has at most."""
HISTORY = "fetch the whole history: fetch-depth: 0 for actions/checkout, or git fetch --unshallow"

_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Ends:
    """What a review is of, and what a change is compared with."""

    trusted: Repository
    """Where names are looked up, and the review's own files lie."""
    reviewed: Repository
    """Whose work tree or commit is reviewed."""
    commit: str
    """SHA of the head commit."""
    worktree: bool
    """The work tree on top of it is reviewed, and not the commit alone."""
    base: str = ""
    """SHA of the commit that the change goes to; empty where no change is reviewed."""
    merge_base: str = ""
    notes: tuple[str, ...] = ()


def ends(repo: Path, base: str, head: str, root: Path) -> Ends:
    """Find the head (and the base, as far as it can be named); ``TreeError``."""
    trusted = git.find(repo)
    folder = _folder(trusted, head, root) if head else None
    if head and folder is None:
        return Ends(trusted, trusted, _commit(trusted, head, "head"), False, _base(trusted, base))
    reviewed = trusted if folder is None else _checkout(trusted, folder, root)
    return Ends(trusted, reviewed, git.head(reviewed), True, _base(trusted, base))


def _folder(trusted: Repository, head: str, root: Path) -> Path | None:
    """The folder that ``head`` names; None where it is a revision."""
    path = root / head
    if not path.is_dir():
        if head.startswith(("/", "./", "../")) or head.endswith("/"):
            raise TreeError(f"there is no folder {head!r} to review", place="--prun-head")
        return None
    if "/" not in head and git.commit(trusted, head):
        raise TreeError(
            f"{head!r} is a revision and a folder too",
            place="--prun-head",
            remedy=f"write ./{head} for the folder, or refs/heads/{head} for the branch",
        )
    return path


def _checkout(trusted: Repository, folder: Path, root: Path) -> Repository:
    reviewed = git.find(folder)
    if root.resolve().is_relative_to(reviewed.top):
        raise TreeError(
            f"{folder} belongs to the repository in which pytest runs: nothing there is data only",
            place="--prun-head",
            remedy="check the head out into a folder of its own, or leave the option out for the work tree",
        )
    forms = [git.object_format(git.head(r)) for r in (trusted, reviewed)]
    if len(set(forms)) > 1:
        raise TreeError(
            f"the repositories name objects differently: {' and '.join(forms)}", place=str(folder)
        )
    return reviewed


def _commit(trusted: Repository, rev: str, what: str) -> str:
    sha = git.commit(trusted, rev)
    if not sha:
        raise TreeError(
            f"the {what} {rev!r} names no commit of the repository",
            place=str(trusted.top),
            remedy=f"name a branch, tag or SHA that is there (git log {what}); else {HISTORY}",
        )
    return sha


def _base(trusted: Repository, rev: str) -> str:
    """SHA of the base; a full SHA may also be a commit that only the head's repository holds."""
    return (
        rev
        if not rev or (_SHA.fullmatch(rev) and not git.commit(trusted, rev))
        else _commit(trusted, rev, "base")
    )


def shadow_of(found: Ends, place: Path) -> Shadow:
    """A shadow at ``place`` over the work tree that is reviewed, with the objects of both repositories."""
    lenders = (found.trusted,) if found.trusted.common != found.reviewed.common else ()
    return Shadow(place, found.reviewed, git.object_format(found.commit), lenders)


def meet(found: Ends, shadow: Shadow) -> Ends:
    """The ends with their merge base; ``TreeError`` where there is none."""
    if not found.base:
        return found
    if not shadow.has(found.base):
        raise TreeError(
            f"the base {found.base} is no commit of either repository",
            place=str(found.trusted.top),
            remedy=HISTORY,
        )
    bases = shadow.merge_bases(found.base, found.commit)
    if not bases:
        raise TreeError(
            f"no merge base: the history at hand does not connect base {found.base[:12]} and head "
            f"{found.commit[:12]}",
            place=str(found.reviewed.top),
            remedy=HISTORY,
        )
    others = ", ".join(sha[:12] for sha in bases[1:])
    note = f"several merge bases: compared with {bases[0][:12]}, not with {others}"
    return replace(found, merge_base=bases[0], notes=(note,) if others else ())


# --- what differs ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two trees."""

    prefix: bytes
    """The folder under review, relative to the root of its work tree."""
    listing: Listing
    entries: Mapping[str, Entry]
    """Files as they were taken, by public name."""
    shown: Shown

    def all(self) -> dict[bytes, _File]:
        """All that is under review, submodules too, by name relative to the folder."""
        cut = len(self.prefix)
        listed = {**self.listing.wanted, **self.listing.submodules}
        found = {n[cut:]: _File(taken.named(n[cut:]), e, e.sha) for n, e in listed.items()}
        for name, entry in self.entries.items():
            shown = self.shown.entries.get(name, entry)
            found[entry.name] = _File(name, entry, shown.sha)
        return found


@dataclass(frozen=True, slots=True)
class _File:
    """A file of one side."""

    name: str
    """Its public name."""
    entry: Entry
    """As it was taken; without a size where its content is not here."""
    shown: str
    """Id of what reviewers see of it."""


@dataclass(frozen=True, slots=True)
class _Moved:
    """A file on both sides; None where it is not."""

    old: _File | None
    new: _File | None
    kind: str = "text"
    note: str = ""

    @property
    def files(self) -> tuple[_File, ...]:
        """Those that there are."""
        return tuple(f for f in (self.old, self.new) if f)

    @property
    def edited(self) -> bool:
        """The content is not the same."""
        return len({f.entry.sha for f in self.files}) > 1 or len(self.files) == 1

    @property
    def renamed(self) -> bool:
        """It has two names."""
        return len({f.entry.name for f in self.files}) > 1


def compare(shadow: Shadow, old: Side, new: Side, screen: Screen) -> Change:
    """The change between two trees, as reviewers may see it."""
    moved = _moved(shadow, old.all(), new.all(), screen)
    pointers, binaries = _pointers(shadow, moved), _binaries(shadow, moved)
    moved = [_kind(one, pointers, binaries, screen) for one in moved]
    sections = _sections(shadow, {n: m for n, m in enumerate(moved) if m.kind in READABLE and m.edited})
    files = [_change(one, sections.get(n)) for n, one in enumerate(moved)]
    return Change(tuple(sorted(files, key=lambda f: f.path)))


def _moved(
    shadow: Shadow, old: Mapping[bytes, _File], new: Mapping[bytes, _File], screen: Screen
) -> list[_Moved]:
    """What differs, with the two names of a renamed file brought together."""

    def alone(one: Mapping[bytes, _File], other: Mapping[bytes, _File]) -> dict[bytes, Entry]:
        """What may have another name on the other side."""
        return {
            n: f.entry
            for n, f in one.items()
            if n not in other and f.entry.size is not None and not screen.withholds(f.name)
        }

    was = {name: name for name in new if name in old}
    gone, come = alone(old, new), alone(new, old)
    if gone and come:
        trees = [
            shadow.planted(((n, e.mode, e.sha) for n, e in side.items()), "index.renames")
            for side in (gone, come)
        ]
        was |= {p.new: p.old for p in patch.pairs(shadow.paired(*trees)) if p.old and p.new}
    both = [_Moved(old.get(was.get(name, b"")), file) for name, file in new.items()]
    rest = [_Moved(file, None) for name, file in old.items() if name not in set(was.values())]
    return [m for m in (*both, *rest) if m.edited or m.renamed or len({f.entry.mode for f in m.files}) > 1]


def _pointers(shadow: Shadow, moved: Sequence[_Moved]) -> set[str]:
    """Ids of the LFS pointers among the files."""
    small = {f.entry.sha: f.entry for m in moved for f in m.files if 0 < (f.entry.size or 0) <= POINTER_MAX}
    contents = shadow.blobs(list(small.values())) if small else []
    return {sha for sha, content in zip(small, contents, strict=True) if content.startswith(POINTER)}


def _binaries(shadow: Shadow, moved: Sequence[_Moved]) -> set[str]:
    """Ids of the binary files among those that only have another name: git shows nothing of these."""
    same = {m.new.entry.sha: m.new.entry for m in moved if m.new and m.renamed and not m.edited}
    fit = {sha: e for sha, e in same.items() if (e.size or 0) <= SHOWN_CAP}
    found = set()
    for batch in batches(fit):
        contents = shadow.blobs([e for _, e in batch])
        found |= {sha for (sha, _), content in zip(batch, contents, strict=True) if b"\0" in content[:SNIFF]}
    return found


def _kind(one: _Moved, pointers: set[str], binaries: set[str], screen: Screen) -> _Moved:
    """The same with its kind, and a note where that needs one."""
    entries = [f.entry for f in one.files]
    modes = [e.mode for e in entries]
    shas = {e.sha for e in entries}
    size = max((e.size or 0 for e in entries), default=0)
    note = f"mode {modes[0]} -> {modes[-1]}" if modes[0] != modes[-1] else ""
    if any(screen.withholds(f.name) for f in one.files):
        return replace(one, kind="withheld")
    if GITLINK in modes:
        return replace(one, kind="submodule", note=" -> ".join(e.sha[:12] for e in entries))
    if any(e.size is None for e in entries):
        return replace(one, kind="binary", note="its content is not here (partial clone)")
    if size > SHOWN_CAP:
        return replace(one, kind="binary", note=f"too large: {size} bytes, lines are shown up to {SHOWN_CAP}")
    if shas & pointers:
        return replace(one, kind="lfs", note=note)
    if shas & binaries:
        return replace(one, kind="binary", note=note)
    if LINK in modes:
        return replace(one, kind="link", note=note)
    return replace(one, kind="text" if one.edited or one.renamed else "mode", note=note)


def _sections(shadow: Shadow, moved: Mapping[int, _Moved]) -> dict[int, patch.Section]:
    """What git shows of them, under numbers for names: a real name could look like a part of a patch."""
    if not moved:
        return {}

    def tree(files: Mapping[int, _File | None]) -> str:
        named = ((b"%d" % n, f.entry.mode, f.shown) for n, f in files.items() if f)
        return shadow.planted(named, "index.patch")

    old, new = tree({n: m.old for n, m in moved.items()}), tree({n: m.new for n, m in moved.items()})
    found = patch.parse(shadow.patch(old, new))
    return {n: found.get(n, patch.Section(note=_unshown(m))) for n, m in moved.items()}


def _unshown(one: _Moved) -> str:
    """Why git shows nothing of a file whose content is not the same."""
    masked = any(f.shown != f.entry.sha for f in one.files)
    return "only what is masked differs" if masked else ""


def _change(one: _Moved, section: patch.Section | None) -> FileChange:
    section = section or patch.Section()
    old, new = one.old, one.new
    status = "added" if not old else "deleted" if not new else "renamed" if one.renamed else "modified"
    marks = [line[:1] for hunk in section.hunks for line in hunk.lines]
    record = ChangedFile(
        path=one.files[-1].name,
        old_path=old.name if old else "",
        status=status,
        kind="binary" if section.binary else one.kind,
        added=marks.count("+"),
        deleted=marks.count("-"),
        note="; ".join(filter(None, (one.note, section.note * (one.kind != "link")))),
    )
    identity = " ".join(f"{f.entry.mode} {f.entry.sha}" if f else "-" for f in (old, new))
    return FileChange(record, section.hunks, identity)


# --- what changes the review itself ---------------------------------------------------------


def position(found: Ends, root: Path, repository: Repository) -> str | None:
    """Where the trusted root lies, or would lie, in one of the two repositories; None: outside of it."""
    reviewed = found.trusted.top / found.trusted.prefix
    where = posixpath.normpath(posixpath.join(repository.prefix, os.path.relpath(root.resolve(), reviewed)))
    return None if where == ".." or where.startswith("../") else where


@dataclass(frozen=True, slots=True)
class Watch:
    """Looks for what changes the review, in both listings."""

    old_root: str
    """Where the trusted root lies in the base, as :func:`position` says."""
    new_root: str
    watched: Callable[[str], bool]
    """Whether a name of the base counts."""

    def old(self, raw: bytes) -> bool:
        """Whether a path of the base counts."""
        return self.watched(public_name(raw))

    def new(self, raw: bytes) -> bool:
        """Whether a path of the head counts."""
        name = self._aligned(raw)
        return name is not None and self.watched(name)

    def _aligned(self, raw: bytes) -> str | None:
        """A path of the head as the base would name it."""
        name = public_name(raw)
        if self.new_root == self.old_root:
            return name
        below = "" if self.new_root == "." else f"{self.new_root}/"
        return (
            posixpath.normpath(posixpath.join(self.old_root, name[len(below) :]))
            if name.startswith(below)
            else None
        )

    def altered(self, shadow: Shadow, old: Listing, new: Listing) -> tuple[tuple[str, ...], str]:
        """The files of the change that change the review, and a digest over what they became."""
        before = {public_name(n): e for n, e in _every(old) if self.old(n)}
        after = {name: e for n, e in _every(new) if self.new(n) and (name := self._aligned(n))}
        differ = [
            name
            for name in sorted({*before, *after})
            if _same_id(before.get(name)) != _same_id(after.get(name))
        ]
        names = tuple(n for n in differ if not _equivalent(shadow, n, before.get(n), after.get(n)))
        told = "".join(f"{name}\0{_same_id(after.get(name))}\0" for name in names)
        return names, hashlib.sha256(told.encode()).hexdigest() if names else ""


def _every(listing: Listing) -> Iterator[tuple[bytes, Entry]]:
    for part in (listing.wanted, listing.submodules, listing.watched):
        yield from part.items()


def _same_id(entry: Entry | None) -> str:
    return f"{entry.mode} {entry.sha}" if entry else "-"


def _equivalent(shadow: Shadow, name: str, old: Entry | None, new: Entry | None) -> bool:
    """Whether nothing that counts of a file differs."""
    if not guarded.partly(name):
        return False
    there = shadow.sized([e for e in (old, new) if e])
    if any(e.mode in (LINK, GITLINK) or e.size is None or e.size > SHOWN_CAP for e in there):
        return False
    contents = iter(shadow.blobs(there))
    return guarded.same(name, *(next(contents) if e else b"" for e in (old, new)))
