"""How the reviewed tree is taken: the tracked content of a work tree becomes one tree object."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from prun_review import git, patterns
from prun_review.errors import TreeError
from prun_review.git import GITLINK, LINK, Entry, Repository
from prun_review.model import Revision
from prun_review.publicnames import apart, few, folders_of, named, public_name
from prun_review.shadow import Shadow

_OURS = ".prun/"
"""What is left out at any depth."""

_CONVERTED = "its form on disk is not the one that git stores"


@dataclass(frozen=True, slots=True)
class Selection:
    """What of a work tree is under review."""

    prefix: bytes
    """The folder under review, relative to the root of the work tree."""
    tests: tuple[tuple[str, Callable[[str], bool]], ...]
    """Patterns relative to that folder, and whether each matches a public name."""
    untracked: bool

    @property
    def excluded(self) -> tuple[str, ...]:
        """All patterns, for people."""
        return (_OURS, *(pattern for pattern, _ in self.tests))

    def takes(self, name: bytes) -> bool:
        """Whether a path (relative to the root of the work tree) belongs to the tree."""
        if not name.startswith(self.prefix):
            return False
        return not self.leaves_out(name[len(self.prefix) :])

    def leaves_out(self, rel: bytes) -> str:
        """The first pattern that leaves a path of that folder out; empty where none does."""
        if b".prun" in rel.split(b"/")[:-1]:
            return _OURS
        name = public_name(rel)
        return next((pattern for pattern, matches in self.tests if matches(name)), "")


@dataclass(frozen=True, slots=True)
class Listing:
    """What an index or a commit lists, by name relative to the root of the work tree."""

    wanted: Mapping[bytes, Entry]
    """What is under review."""
    submodules: Mapping[bytes, Entry]
    """Submodules that lie there."""
    watched: Mapping[bytes, Entry]
    """What is no part of the review, and looked at all the same."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A tree object and the listing of what it holds."""

    revision: Revision
    entries: Mapping[str, Entry]
    """Public name -> ordinary file or symbolic link."""
    left_out: Mapping[str, str]
    """Public name -> why it is not in the tree."""
    listing: Listing
    """Where it came from."""


@dataclass
class _Notes:
    """What is gathered on the way."""

    cut: int
    """Length of the prefix."""
    left_out: dict[str, str] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    """Files that git stores in another form, taken as committed."""
    absent: list[str] = field(default_factory=list)
    """Files that a sparse checkout does not have on disk, taken as committed."""
    renamed: list[str] = field(default_factory=list)

    def out(self, name: bytes, why: str) -> None:
        self.left_out.setdefault(public_name(name[self.cut :].rstrip(b"/")), why)

    def lines(self) -> Iterator[str]:
        kinds: dict[str, list[str]] = {}
        for name, why in self.left_out.items():
            kinds.setdefault(why, []).append(name)
        for why, names in sorted(kinds.items()):
            yield f"{len(names)} left out ({why}): {few(names)}"
        if self.kept:
            text = "taken as git has them and not from disk (by a filter, ident or working-tree-encoding)"
            yield f"{len(self.kept)} {text}: {few(self.kept)}"
        absent = [name for name in self.absent if name not in self.left_out]
        if absent:
            yield f"{len(absent)} not on disk (sparse checkout), taken as git has them: {few(absent)}"
        if self.renamed:
            text = "with names that cannot be printed or are too long, here as"
            yield f"{len(self.renamed)} {text}: {few(self.renamed)}"


def select(
    repository: Repository, exclude: Sequence[str], panels: Iterable[str | Path], untracked: bool
) -> Selection:
    """The selection of :func:`prun_review.workspace.take`; ``BriefError`` for a malformed pattern."""
    root = repository.top / repository.prefix
    folders = [root / p for p in panels]
    inside = [f.relative_to(root).as_posix() for f in folders if f.is_relative_to(root) and f != root]
    # What earlier runs wrote is no part of what is reviewed; .prun/ goes at any depth.
    patterned = ("reports/", *(f"{name}/" for name in inside), *exclude)
    tests = tuple((pattern, patterns.matcher([pattern])) for pattern in patterned)
    return Selection(os.fsencode(repository.prefix), tests, untracked)


def _nothing(name: bytes) -> bool:
    return False


def build(
    shadow: Shadow,
    selection: Selection,
    commit: str,
    *,
    worktree: bool = True,
    watched: Callable[[bytes], bool] = _nothing,
) -> Taken:
    """Make the tree object of the work tree on top of ``commit``, or of that commit alone.

    ``TreeError`` when there is nothing in it.
    """
    notes = _Notes(len(selection.prefix))
    if worktree:
        indexed = shadow.index()
        listing = _edited(shadow, indexed, _sorted(shadow, indexed, selection, watched, notes), notes)
        dirty = _differs(shadow, listing.wanted.values(), commit, selection)
        if selection.untracked:
            _add_untracked(shadow, selection, notes)
        shadow.forget(listing.watched)
        held = shadow.index()
        tree = shadow.write_tree(os.fsdecode(selection.prefix)) if held else ""
        listing = replace(listing, wanted={e.name: e for e in held})
    else:
        listing = _sorted(shadow, shadow.tree(commit), selection, watched, notes)
        dirty = False
        inside = ((name[notes.cut :], e.mode, e.sha) for name, e in listing.wanted.items())
        tree = shadow.planted(inside, "index.head") if listing.wanted else ""
    entries = _named(shadow.tree(tree), notes) if tree else {}
    if not entries:
        raise TreeError(
            "there is nothing to review: git tracks no file here that is not left out",
            place=str(shadow.repository.top / shadow.repository.prefix),
            remedy=f"git add your files; left out are {', '.join(selection.excluded)}",
        )
    count = sum(e.mode != LINK for e in entries.values())
    revision = Revision(commit, tree, dirty, count, selection.excluded, tuple(notes.lines()))
    return Taken(revision, entries, notes.left_out, listing)


@dataclass(frozen=True, slots=True)
class Former:
    """What a commit holds, none of it in a tree object of ours."""

    listing: Listing
    entries: Mapping[str, Entry]
    """As in :class:`Taken`."""
    left_out: Mapping[str, str]


def former(
    shadow: Shadow, selection: Selection, commit: str, *, watched: Callable[[bytes], bool] = _nothing
) -> Former:
    """What of a commit is under review."""
    notes = _Notes(len(selection.prefix))
    listing = _sorted(shadow, shadow.tree(commit), selection, watched, notes)
    inside = (replace(e, name=name[notes.cut :]) for name, e in listing.wanted.items())
    return Former(listing, _named(inside, notes), notes.left_out)


def _sorted(
    shadow: Shadow,
    entries: Iterable[Entry],
    selection: Selection,
    watched: Callable[[bytes], bool],
    notes: _Notes,
) -> Listing:
    listing: tuple[dict[bytes, Entry], ...] = ({}, {}, {})
    wanted, submodules, beside = listing
    for entry in entries:
        name = entry.name
        _check_path(name, shadow.repository)
        if selection.takes(name):
            (submodules if entry.mode == GITLINK else wanted)[name] = entry
            if entry.mode == GITLINK:
                notes.out(name, "a submodule")
            continue
        if name.startswith(selection.prefix):
            notes.out(name, "excluded")
        if watched(name):
            beside[name] = entry
    return Listing(*listing)


def _edited(shadow: Shadow, indexed: Iterable[Entry], listing: Listing, notes: _Notes) -> Listing:
    """Bring our index to what the work tree holds of a listing; the listing then."""
    submodules = {n: e for n, e in listing.watched.items() if e.mode == GITLINK}
    before = {n: e for n, e in {**listing.wanted, **listing.watched}.items() if n not in submodules}
    # Before git looks at the work tree: it would start `git status` inside a submodule.
    odd = {name for name, e in before.items() if not _fit(shadow.repository, name)}
    for name in odd & listing.wanted.keys():
        notes.out(name, "neither a file nor a link on disk")
    before = {name: e for name, e in before.items() if name not in odd}
    shadow.forget(e.name for e in indexed if e.name not in before)
    wanted = [e for e in before.values() if not e.unmerged]
    absent = {e.name for e in wanted if e.sparse and not _on_disk(shadow.repository, e.name)}
    notes.absent += [public_name(name[notes.cut :]) for name in sorted(absent & listing.wanted.keys())]
    # Put anew, entries have no mark that hides an edit and no time that a file was seen: git reads all.
    shadow.put(e for e in wanted if e.name not in absent)
    shadow.add_edits()
    # What lies on disk is the other form: gigabytes instead of an LFS pointer, in plain text what
    # git-crypt keeps encrypted, or `$Id: 1f2e $` in place of whatever `ident` hides of the committed line.
    held = shadow.index()
    edited = {e.name for e in held if e.sha != before[e.name].sha or before[e.name].unmerged}
    converted = [before[name] for name in shadow.converted(edited)]
    shadow.put([e for e in converted if not e.unmerged])
    shadow.forget([e.name for e in converted if e.unmerged])
    for entry in converted:
        if entry.name in listing.watched:
            continue
        if entry.unmerged:
            notes.out(entry.name, f"unmerged, and {_CONVERTED}")
        else:
            notes.kept.append(public_name(entry.name[notes.cut :]))
    held = shadow.index() if converted else held
    return replace(
        listing,
        wanted={e.name: e for e in held if e.name in listing.wanted},
        watched={e.name: e for e in held if e.name in listing.watched} | submodules,
    )


def _fit(repository: Repository, name: bytes) -> bool:
    """False for a FIFO, device, socket or folder in place of a file: git refuses or misreads these."""
    try:
        mode = os.lstat(os.path.join(os.fsencode(repository.top), name)).st_mode
    except OSError:
        return True  # gone, as git will see too
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _on_disk(repository: Repository, name: bytes) -> bool:
    return os.path.lexists(os.path.join(os.fsencode(repository.top), name))


def _check_path(name: bytes, repository: Repository) -> None:
    """Git never adds such names, but takes an index that holds them, and would follow ``..``."""
    if any(part in (b"", b".", b"..") or part.lower() == b".git" for part in name.split(b"/")):
        raise TreeError(
            f"the index is forged: {public_name(name)!r} is no path of the work tree",
            place=str(repository.git_dir / "index"),
            remedy="do not trust this repository; a fresh clone has an index of its own",
        )


def _add_untracked(shadow: Shadow, selection: Selection, notes: _Notes) -> None:
    names = [n for n in shadow.untracked(git.ignore_file(shadow.repository)) if selection.takes(n)]
    converted = shadow.converted(names)
    wanted = []
    for name in names:
        if name.endswith(b"/"):
            notes.out(name, "a repository of its own")
        elif name in converted:
            notes.out(name, f"untracked, and {_CONVERTED}")
        else:
            wanted.append(name)
    shadow.add(wanted)


def _differs(shadow: Shadow, held: Iterable[Entry], commit: str, selection: Selection) -> bool:
    """Whether our index holds anything else than the commit does."""
    committed = {
        (e.name, e.mode, e.sha)
        for e in shadow.tree(commit, os.fsdecode(selection.prefix))
        if e.mode != GITLINK and selection.takes(e.name)
    }
    return committed != {(e.name, e.mode, e.sha) for e in held}


def _named(listing: Iterable[Entry], notes: _Notes) -> dict[str, Entry]:
    """Entries by public name, without those that cannot be files."""
    entries: dict[str, Entry] = {}
    folders: set[str] = set()
    # Those that have their public name come first: it is theirs, whatever another one looks like.
    for entry in sorted(listing, key=lambda e: os.fsencode(named(e.name)) != e.name):
        name = apart(named(entry.name), entries, folders)
        if entry.size is None:
            notes.left_out[name] = "its content is not here (partial clone)"
        else:
            entries[name] = entry
            folders.update(folders_of(name, folders))
            if os.fsencode(name) != entry.name:
                notes.renamed.append(name)
    return entries
