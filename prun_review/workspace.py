"""The reviewed tree: one git tree object of what the work tree holds, read as data only."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from prun_review import altering, changeset, ends, files, git, links, patch, snapshot, taken
from prun_review.altering import BLIND, Watch
from prun_review.change import Change, FileChange, Listed, listing
from prun_review.changeset import Side
from prun_review.contents import Contents
from prun_review.ends import Ends
from prun_review.errors import TreeError
from prun_review.git import GITLINK, LINK, Entry, Repository
from prun_review.guard import Guard
from prun_review.model import Reason, Revision
from prun_review.ports import Reader, Redactor
from prun_review.publicnames import few, public_name
from prun_review.redaction import Spot
from prun_review.repostate import RepositoryState, repository_changes, repository_state
from prun_review.scratch import Scratch
from prun_review.shadow import Shadow
from prun_review.shown import WITHHELD, Screen
from prun_review.snapshot import Snapshot
from prun_review.taken import Former, Selection


def take(
    repo: Path,
    *,
    include_untracked: bool = False,
    exclude: Sequence[str] = (),
    panels: Sequence[str | Path] = (),
    never: Sequence[str] = (),
    redact: Redactor | None = None,
    base: str = "",
    head: str = "",
    root: Path | None = None,
    guarded: Sequence[str] = (),
    panel_names: Sequence[str] = (),
) -> ReviewedTree:
    """The tree of what git tracks in the folder ``repo``, as it stands on disk now; or of ``head``.

    ``exclude`` are patterns and ``panels`` folders (absolute, or relative to ``repo``) to leave out;
    untracked files are taken only on request and ignored ones never.  Files that match ``never`` are
    withheld and said to be; ``redact`` masks contents before anybody sees them.

    ``base`` is a revision of the repository of ``repo`` (or the full SHA of a commit of the head's): then
    the tree has a :attr:`ReviewedTree.change`.  ``head`` is a revision of that repository, or a folder
    (absolute, or relative to ``root``) that lies in a checkout of its own.  ``root`` is the trusted root
    (default: ``repo``); ``panel_names`` are its panels folders and ``guarded`` patterns of further files
    that change the review itself, both relative to it.

    ``TreeError`` when there is no repository, commit, merge base or file, or the head's checkout holds
    ``root``; ``BriefError`` for a malformed pattern.
    """
    root = (root or repo).absolute()
    found = ends.find(repo, base, head, root)
    selection = taken.select(found.trusted, exclude, panels, include_untracked)
    order = Order(found, selection, root, tuple(panel_names), tuple(guarded), tuple(never), redact)
    scratch = Scratch(found.reviewed.top, found.trusted.top)
    try:
        return ReviewedTree(order, scratch)
    except BaseException:
        scratch.close()
        raise


@dataclass(frozen=True, slots=True)
class Order:
    """What :func:`take` was asked for, as far as it could be looked up at once."""

    ends: Ends
    selection: Selection
    """Of the trusted repository."""
    root: Path
    panels: tuple[str, ...]
    guarded: tuple[str, ...]
    never: tuple[str, ...]
    redact: Redactor | None


@dataclass(frozen=True, slots=True)
class Ground:
    """What code is written on in a review: a commit, and what the work tree has otherwise."""

    repository: Repository
    commit: str
    gone: tuple[bytes, ...] = ()
    """Names of the commit that the work tree lacks, relative to its root."""
    new: tuple[tuple[Entry, bytes], ...] = ()
    """What it has otherwise, with contents."""


class ReviewedTree:
    """The tree under review: names, contents, a snapshot, and whether things stayed as they were.

    Close it (or use it as a context manager): it holds a private directory.  Its reading methods
    may be called from many threads.
    """

    revision: Revision
    """Which tree this is, and what was left out."""
    names: tuple[str, ...]
    """Ordinary files, sorted, relative to the folder under review; odd bytes as ``%E9``."""
    left_out: Mapping[str, str]
    """Name -> why it is not in the tree."""
    read: Reader
    """Reads them as lines, masked as reviewers see them."""
    change: Change | None
    """What differs from the merge base; None where no change is reviewed."""
    base_names: tuple[str, ...]
    """``names`` of the merge base; none where no change is reviewed."""
    read_base: Reader
    """Reads these."""
    alters: tuple[str, ...]
    """Files of the change that change the review itself, sorted; relative to the root of the repository
    that the trusted root lies in."""
    alters_digest: str
    """sha256 over what they were and became; empty where there is none."""
    altering_paths: tuple[str, ...]
    """Those of ``alters`` that ``change`` holds, under the names that they have there."""
    merge_bases: tuple[str, ...]
    """All merge bases, first the one that is compared with; none where no change is reviewed.  With
    several, what one of them lacks may have come back by the change without being in it."""
    tracked_runs: tuple[str, ...]
    """What git tracks at or below ``.prun/`` of the trusted root: no run of ours, but a committer's word."""
    redacted: tuple[Spot, ...]
    """What the redactor recorded."""
    before: RepositoryState
    """The repository as it was when the tree was taken."""

    def __init__(self, order: Order, scratch: Scratch) -> None:
        """Use :func:`take`."""
        found = order.ends
        self._folder = found.trusted.top / found.trusted.prefix
        self._selection = replace(order.selection, prefix=os.fsencode(found.reviewed.prefix))
        self._scratch = scratch
        self.before = repository_state(self._folder)
        self._shadow = ends.shadow_of(found, scratch.path / "git")
        self._ends = ends.meet(found, self._shadow)
        self.merge_bases = self._ends.merge_bases
        self.tracked_runs = ends.tracked_runs(order.root, scratch.path / "git.root")
        self._root = ends.position(found, order.root, found.trusted)
        watch = self._watch(order)
        watched = self._looked_at(self._selection.prefix, watch.new)
        self._taken = taken.build(
            self._shadow, self._selection, found.commit, worktree=found.worktree, watched=watched
        )
        screen = Screen(self._shadow, order.never, order.redact)
        self._taken = replace(self._taken, entries=screen.named(self._taken.entries))
        selection = replace(order.selection, prefix=os.fsencode(found.trusted.prefix))
        former = self._former(selection, screen, watch) if self._ends.base else None
        screen.learn(self._taken.entries, *([former.entries] if former else []))
        self._shown = screen(self._taken.entries)
        self.left_out = {**self._taken.left_out, **self._shown.withheld}
        self._contents = Contents(self._shown.entries, self.left_out, self._shadow.blobs, "the reviewed tree")
        self.names, self.read = self._contents.names, self._contents.read
        self._take_change(former, selection, screen, watch)
        self.redacted = order.redact.spots if order.redact else ()
        self.revision = self._revision()

    def _watch(self, order: Order) -> Watch:
        """What to look at besides, of a change where the trusted root lies in its repository."""
        there = ends.position(order.ends, order.root, order.ends.reviewed)
        if not order.ends.base or self._root is None or there is None:
            return BLIND
        found, shadow = self._ends, self._shadow
        tops = (found.trusted.top, found.reviewed.top)
        old = [links.committed(shadow, sha, tops) for sha in sorted({found.base, found.merge_base})]
        old.append(links.on_disk(found.trusted.top, old[0].known | old[-1].known, tops))
        new = links.committed(shadow, found.commit, tops)
        if found.worktree:
            indexed = {public_name(e.name) for e in shadow.index() if e.mode == LINK}
            new = links.on_disk(found.reviewed.top, indexed, tops)
        return altering.watch(self._root, there, order.panels, order.guarded, old, [new])

    def _looked_at(self, prefix: bytes, watched: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
        """Of a change also what the selection leaves out of the reviewed folder: that it differs is told."""
        return (lambda raw: raw.startswith(prefix) or watched(raw)) if self._ends.base else watched

    def _former(self, selection: Selection, screen: Screen, watch: Watch) -> Former:
        """The merge base, under public names."""
        watched = self._looked_at(selection.prefix, watch.old)
        former = taken.former(self._shadow, selection, self._ends.merge_base, watched=watched)
        return replace(former, entries=screen.named(former.entries))

    def _take_change(self, former: Former | None, selection: Selection, screen: Screen, watch: Watch) -> None:
        """Take what differs from the merge base, where there is one."""
        self.change, self.alters, self.altering_paths, self.alters_digest = None, (), (), ""
        entries: Mapping[str, Entry] = {}
        left_out: Mapping[str, str] = {}
        if former:
            old = Side(selection.prefix, former.listing, former.entries, screen(former.entries))
            new = Side(self._selection.prefix, self._taken.listing, self._taken.entries, self._shown)
            altered = watch.altered(self._shadow, old.listing, new.listing)
            change = changeset.compare(self._shadow, old, new, screen)
            self.change = changeset.with_excluded(change, old, new, altered, selection.leaves_out)
            self.alters, self.alters_digest = altered.names, altered.digest
            self.altering_paths = changeset.paths_of(self.change, old, new, altered)
            left_out = {**former.left_out, **old.shown.withheld}
            entries = old.shown.entries
        self._base_entries = entries
        contents = Contents(entries, left_out, self._shadow.blobs, "the base")
        self.base_names, self.read_base = contents.names, contents.read

    def _revision(self) -> Revision:
        found, shown = self._ends, self._shown
        notes = [*self._taken.revision.notes, *found.notes]
        if shown.withheld:
            notes.append(f"{len(shown.withheld)} {WITHHELD}: {few(shown.withheld)}")
        if shown.masked:
            notes.append(f"{len(shown.masked)} shown with secrets masked: {few(shown.masked)}")
        return replace(
            self._taken.revision,
            files=len(self.names),
            notes=tuple(notes),
            base=found.base,
            merge_base=found.merge_base,
            head=found.commit if found.base else "",
        )

    def __enter__(self) -> ReviewedTree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the private directory, snapshot included; a second call does nothing."""
        self._scratch.close()

    def expand(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """The files that patterns name, sorted; nothing for no pattern.

        ``BriefError`` for a pattern that leaves the tree or names no file.
        """
        return self._contents.expand(wanted)

    def content_hash(self, names: Sequence[str] = ()) -> str:
        """sha256 over names, modes and contents of these files; of the whole tree when empty.

        ``KeyError`` for a name that is not in the tree.
        """
        shown = self._shown
        if names:
            return _sha256(_told(shown.entries, names))
        hidden = "".join(f"{name}\0" for name in sorted(shown.withheld))
        return _sha256(f"{self.revision.tree}{hidden}{_told(shown.masked, shown.masked)}")

    @cached_property
    def listing(self) -> tuple[Listed, ...]:
        """The changed files with the sizes of their diffs; none where no change is reviewed."""
        change = self.change or Change()
        return listing(change, (len(patch.text_of(file)) for file in change.files))

    def slice_text(self, names: Sequence[str]) -> str:
        """How these changed files differ, in the order of ``names``; every line with its numbers.

        ``KeyError`` for a file that is not changed.
        """
        return "".join(patch.text_of(self._changed(name)) for name in names)

    def slice_hash(self, names: Sequence[str]) -> str:
        """sha256 over names and contents of both sides of these changed files, whatever commits they come
        from, and over what is masked in them; ``KeyError`` for a file that is not changed."""
        told = []
        for name in sorted(set(names)):
            file = self._changed(name)
            seen = [
                entries[path].sha
                for entries, path in ((self._base_entries, file.old_path), (self._shown.entries, file.path))
                if path in entries
            ]
            told.append("\0".join((file.path, file.old_path, file.file.kind, file.identity, *seen)))
        return _sha256("\0\0".join(told))

    def _changed(self, name: str) -> FileChange:
        found = self.change.named(name) if self.change else None
        if found is None:
            raise KeyError(name)
        return found

    def trusted_text(self, name: str) -> str | None:
        """A file of the trusted root as the base has it, decoded with replacement: what a head that is the
        trusted root's own work tree cannot have edited.

        None where no change is reviewed, there is no such ordinary file, or the trusted root lies in
        another repository.
        """
        if not self._ends.base or self._root is None:
            return None
        path = posixpath.normpath(posixpath.join(self._root, name))
        found = self._shadow.tree(self._ends.base, path) if not path.startswith(("/", "..")) else []
        there = [e for e in found if e.name == os.fsencode(path) and e.mode not in (LINK, GITLINK)]
        return self._shadow.blobs(there)[0].decode(errors="replace") if there else None

    def renamed_since(self, commit: str) -> Mapping[str, str] | None:
        """What became of the names that files had in an earlier commit: old name -> name in this tree, of
        those that have another one now.  None where that commit is not at hand, or cannot be listed."""
        if not git.SHA.fullmatch(commit) or not ends.holds(self._shadow, commit):
            return None
        try:
            former = taken.former(self._shadow, self._selection, commit).entries
        except TreeError:
            return None
        was, now = ({e.name: name for name, e in side.items()} for side in (former, self._taken.entries))
        gone = {e.name: e for e in former.values() if e.name not in now and e.size is not None}
        come = {e.name: e for e in self._taken.entries.values() if e.name not in was and e.size is not None}
        return {was[old]: now[new] for new, old in changeset.renames(self._shadow, gone, come).items()}

    def watch_index(self) -> None:
        """From now on what is staged counts as part of the repository that must stay as it is."""
        self.before = replace(self.before, index=repository_state(self._folder, index=True).index)

    def written_on(self) -> Ground:
        """What code is written on: the commit under review, and what the work tree has otherwise."""
        found = self._ends
        if not found.worktree:
            return Ground(found.reviewed, found.commit)
        committed = {e.name: e for e in self._shadow.tree(found.commit, found.reviewed.prefix)}
        held = self._taken.listing.wanted
        same = {(e.name, e.mode, e.sha) for e in committed.values()}
        new = self._shadow.sized([e for e in held.values() if (e.name, e.mode, e.sha) not in same])
        files = (name for name, e in committed.items() if e.mode != GITLINK and self._selection.takes(name))
        gone = tuple(name for name in files if name not in held)
        return Ground(
            found.reviewed, found.commit, gone, tuple(zip(new, self._shadow.blobs(new), strict=True))
        )

    def brings(self, name: str) -> bool:
        """Whether a file of the trusted root is what the change makes of it, as far as it decides over the
        review."""
        return self._root is not None and posixpath.normpath(posixpath.join(self._root, name)) in self.alters

    @contextmanager
    def materialise(self) -> Iterator[Snapshot]:
        """The tree as read-only files in a private directory, removed at the end."""
        path, beside = self._scratch.path / "tree", self._scratch.path / "change"
        try:
            shot = snapshot.write(path, self._shown.entries, self._shadow.blobs)
            if self.change is not None:
                shot = replace(
                    shot, about=snapshot.write(beside, self._about(self.change), self._shadow.blobs)
                )
            yield shot
        finally:
            with files.named(TreeError, "the snapshot cannot be removed", path):
                for made in (path, beside):
                    files.remove_tree(made.with_name(f"{made.name}.part"))
                    files.remove_tree(made)

    def _about(self, change: Change) -> dict[str, Entry]:
        """What lies beside the snapshot of a change."""
        rows = [("path", "old path", "status", "kind", "added", "deleted", "note")]
        for record in change.records():
            numbers = (str(record.added), str(record.deleted))
            rows.append((record.path, record.old_path, record.status, record.kind, *numbers, record.note))
        texts = {
            "CHANGE.diff": self.slice_text([file.path for file in change.files]),
            "CHANGED.tsv": "".join("\t".join(row) + "\n" for row in rows),
        }
        contents = [text.encode() for text in texts.values()]
        shas = self._shadow.store(contents)
        made = {
            name: Entry(name.encode(), "100644", sha, len(content))
            for name, sha, content in zip(texts, shas, contents, strict=True)
        }
        former = {file.old_path for file in change.files} & self._base_entries.keys()
        return {**made, **{f"base/{name}": self._base_entries[name] for name in sorted(former)}}

    def changed(self, shot: Snapshot) -> tuple[Reason, ...]:
        """What workers did to the snapshot; each reason forbids PASS."""
        return snapshot.differences(shot, git.object_format(self.revision.tree))

    def guard(self, shot: Snapshot) -> Guard:
        """A check from many threads that the snapshot and the repository (refs, HEAD, configuration,
        hooks; not the work tree) are what they were; see :class:`Guard`."""
        return Guard(lambda: (*self.changed(shot), *self._repository_reasons()))

    def repository_changed(self) -> tuple[Reason, ...]:
        """What happened to the user's repository since the tree was taken.

        Refs, HEAD, configuration and hooks forbid PASS; edits of the work tree are a remark, because
        people edit while a review runs.
        """
        reasons = self._repository_reasons()
        now = self._tree_now()
        if now == self.revision.tree or (reasons and not now):
            return reasons
        text = (
            f"the work tree was edited during the review; the verdict is about tree {self.revision.tree[:12]}"
        )
        return (*reasons, Reason("worktree-changed", text, outcome="PASS"))

    def _repository_reasons(self) -> tuple[Reason, ...]:
        try:
            now = repository_state(self._folder, index=bool(self.before.index))
            return repository_changes(self.before, now)
        except TreeError as error:
            return (Reason("repository-changed", f"the repository cannot be read any more: {error.message}"),)

    def _tree_now(self) -> str:
        """The tree that the work tree holds now; empty when it cannot be taken any more."""
        if not self._ends.worktree:
            return self.revision.tree
        scratch = Scratch(self._ends.reviewed.top, self._ends.trusted.top)
        try:
            reviewed = git.find(self._ends.reviewed.top / self._ends.reviewed.prefix)
            commit = git.head(reviewed)
            shadow = Shadow(scratch.path / "git", reviewed, git.object_format(commit))
            return taken.build(shadow, self._selection, commit).revision.tree
        except TreeError:
            return ""
        finally:
            scratch.close()


def _told(entries: Mapping[str, Entry], names: Iterable[str]) -> str:
    """Names, modes and contents of files as one text."""
    chosen = ((name, entries[name]) for name in sorted(set(names)))
    return "".join(f"{e.mode} {e.sha} {name}\0" for name, e in chosen)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
