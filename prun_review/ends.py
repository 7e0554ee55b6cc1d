"""The two ends of a change: which commits they are, and one store that holds what both need.

Names are looked up in the trusted repository only, because whoever made the head also made its refs.
What is needed of another checkout's objects is copied out of it, and git names every object anew on the
way: its files may hold anything under any name, so they are no place to read the base from.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from prun_review import foreign, git
from prun_review.errors import TreeError
from prun_review.git import GITLINK, Entry, Repository
from prun_review.publicnames import public_name
from prun_review.shadow import Shadow

HISTORY = "fetch the whole history: fetch-depth: 0 for actions/checkout, or git fetch --unshallow"

_PARENT = re.compile(rb"^parent ([0-9a-f]+)$", re.MULTILINE)


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
    merge_bases: tuple[str, ...] = ()
    """All commits that the two have in common last, each no ancestor of another; compared with the first."""
    notes: tuple[str, ...] = ()

    @property
    def merge_base(self) -> str:
        """The one that is compared with; empty where there is none."""
        return self.merge_bases[0] if self.merge_bases else ""


def find(repo: Path, base: str, head: str, root: Path) -> Ends:
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
    _no_program_of(path)  # before git is looked for, which may be one of them
    if "/" not in head and git.commit(trusted, head):
        raise TreeError(
            f"{head!r} is a revision and a folder too",
            place="--prun-head",
            remedy=f"write ./{head} for the folder, or refs/heads/{head} for the branch",
        )
    return path


def _no_program_of(folder: Path) -> None:
    real = folder.resolve()
    for entry in os.environ.get("PATH", "").split(os.pathsep):
        if os.path.isabs(entry) and Path(entry).resolve().is_relative_to(real):
            raise TreeError(
                f"{entry} belongs to the head {folder}: its programs would be run",
                place="PATH",
                remedy="take it out of PATH",
            )


def _checkout(trusted: Repository, folder: Path, root: Path) -> Repository:
    real = root.resolve()
    reviewed = None if real.is_relative_to(folder.resolve()) else git.find(folder)
    if reviewed is None or real.is_relative_to(reviewed.top):
        raise TreeError(
            f"{folder} is no checkout apart from the trusted root {real}: nothing there would be data only",
            place="--prun-head",
            remedy="check the head out into a folder of its own, or leave the option out for the work tree",
        )
    foreign.check(reviewed, trusted)
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
    meanings = git.meanings(trusted, rev)
    if len(set(meanings.values())) > 1:
        raise TreeError(
            f"the {what} {rev!r} is ambiguous: {' and '.join(meanings)} are different commits",
            place=str(trusted.top),
            remedy="write refs/heads/... (or refs/tags/..., refs/remotes/...) in full, or the whole SHA",
        )
    return sha


def _base(trusted: Repository, rev: str) -> str:
    """SHA of the base; a full SHA may also be a commit that only the head's repository holds."""
    return (
        rev
        if not rev or (git.SHA.fullmatch(rev) and not git.commit(trusted, rev))
        else _commit(trusted, rev, "base")
    )


def shadow_of(found: Ends, place: Path) -> Shadow:
    """A shadow at ``place`` over the work tree that is reviewed, with all objects that the review needs."""
    form = git.object_format(found.commit)
    if not found.base or found.trusted.common == found.reviewed.common:
        return Shadow(place, found.reviewed, form)
    shadow = Shadow(place, found.reviewed, form, found.trusted)
    lender = Shadow(place.with_name(f"{place.name}.lender"), found.reviewed, form)
    _cut(lender, [found.reviewed])
    known = holds(shadow, found.base)
    if not known and not holds(lender, found.base):
        raise TreeError(
            f"the base {found.base} is no commit of either repository",
            place=str(found.trusted.top),
            remedy=HISTORY,
        )
    # Of the history commits are enough; of a base that only the lender has, all is needed.
    until = [f"^{found.base}"] if known and holds(lender, found.base) else []
    _lend(
        lender, shadow, [found.commit, *([] if known else [found.base]), *until], "--revs", "--filter=tree:0"
    )
    _lend(lender, shadow, [f"{found.commit}^{{tree}}"], "--revs", "--filter=blob:none")
    if not known:
        base = meet(found, shadow).merge_base
        _lend(lender, shadow, [f"{sha}^{{tree}}" for sha in (base, found.base)], "--revs")
    absent = [e for e in shadow.sized([e for e in shadow.index() if e.mode != GITLINK]) if e.size is None]
    _lend(lender, shadow, sorted({e.sha for e in lender.sized(absent) if e.size is not None}))
    return shadow


def _lend(lender: Shadow, shadow: Shadow, what: Sequence[str], *how: str) -> None:
    """Copy objects into a shadow; each gets its name from its content."""
    if not what:
        return
    stdin = "".join(f"{line}\n" for line in what).encode()
    packed = lender.run("pack-objects", "-q", "--stdout", *how, stdin=stdin)
    shadow.run("index-pack", "--stdin", stdin=packed)


def holds(shadow: Shadow, commit: str) -> bool:
    """Whether a commit of that name is at hand."""
    args = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    return bool(shadow.run(*args, fine=(0, 1, 128)).strip())


def meet(found: Ends, shadow: Shadow) -> Ends:
    """The ends with their merge base; ``TreeError`` where there is none that is certain."""
    if not found.base:
        return found
    if not holds(shadow, found.base):
        raise TreeError(
            f"the base {found.base} is no commit of the repository",
            place=str(found.trusted.top),
            remedy=HISTORY,
        )
    cut = _cut(shadow, [found.trusted, found.reviewed])
    out = shadow.run("merge-base", "--all", found.base, found.commit, fine=(0, 1, 128)).decode().split()
    if not out:
        raise TreeError(
            f"no merge base: the history at hand does not connect base {found.base[:12]} and head "
            f"{found.commit[:12]}",
            place=str(found.reviewed.top),
            remedy=HISTORY,
        )
    own = shadow.run("rev-list", found.commit, f"^{found.base}").decode().split() if cut else []
    if cut & set(own):
        raise TreeError(
            f"no certain merge base: the history of head {found.commit[:12]} is cut off before it joins base "
            f"{found.base[:12]} everywhere",
            place=str(found.reviewed.top),
            remedy=HISTORY,
        )
    others = ", ".join(sha[:12] for sha in out[1:])
    note = f"several merge bases: compared with {out[0][:12]}, not with {others}"
    return replace(found, merge_bases=tuple(out), notes=(note,) if others else ())


def _cut(shadow: Shadow, repositories: Iterable[Repository]) -> set[str]:
    """Let git know the commits at which the history at hand ends (``shallow``); these.

    A mark counts only where a parent is missing: it must not hide what is there.
    """
    marks = {sha for repository in repositories for sha in git.shallow(repository)}
    here = [e for e in shadow.sized([Entry(b"", "", sha) for sha in sorted(marks)]) if e.size is not None]
    contents = shadow.blobs(here) if here else []
    parents = {
        e.sha: [p.decode() for p in _PARENT.findall(content.split(b"\n\n")[0])]
        for e, content in zip(here, contents, strict=True)
    }
    every = sorted({p for ps in parents.values() for p in ps})
    missing = {e.sha for e in shadow.sized([Entry(b"", "", p) for p in every]) if e.size is None}
    cut = {sha for sha, ps in parents.items() if missing & set(ps)}
    if cut:
        shadow.write("shallow", "".join(f"{sha}\n" for sha in sorted(cut)).encode())
    return cut


def tracked_runs(root: Path, place: Path) -> tuple[str, ...]:
    """What git tracks at or below ``.prun/`` of the trusted root, relative to that, sorted: whoever may
    commit can have written it.  ``place`` is for a shadow; none where that folder is in no repository."""
    try:
        repository = git.find(root)
        commit = git.head(repository)
    except TreeError:
        return ()
    shadow = Shadow(place, repository, git.object_format(commit))
    prefix = os.fsencode(repository.prefix)
    listed = {e.name for e in (*shadow.index(), *shadow.tree(commit, f"{repository.prefix}.prun"))}
    below = (name[len(prefix) :] for name in listed if name.startswith(prefix))
    # In any case: some file systems do not tell the spellings apart.
    return tuple(sorted(public_name(name) for name in below if name.split(b"/")[0].lower() == b".prun"))


def position(found: Ends, root: Path, repository: Repository) -> str | None:
    """Where the trusted root lies, or would lie, in one of the two repositories; None: outside of it."""
    reviewed = found.trusted.top / found.trusted.prefix
    where = posixpath.normpath(posixpath.join(repository.prefix, os.path.relpath(root.resolve(), reviewed)))
    return None if where == ".." or where.startswith("../") else where
