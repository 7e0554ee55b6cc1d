"""Which files have another name in a later commit, as git knows them again by what they hold."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from prun_review import changeset, ends, git
from prun_review.errors import TreeError
from prun_review.git import Entry
from prun_review.publicnames import public_name
from prun_review.scratch import Scratch
from prun_review.shadow import Shadow


def between(folder: Path, old: str, new: str) -> Mapping[str, str]:
    """Old name -> new name, relative to ``folder``, of what differs in name between two commits.

    ``TreeError`` where the folder is in no repository, or one of the commits is not at hand.
    """
    repository = git.find(folder)
    scratch = Scratch(repository.top)
    try:
        shadow = Shadow(scratch.path / "git", repository, git.object_format(git.head(repository)))
        for commit in (old, new):
            if not git.SHA.fullmatch(commit) or not ends.holds(shadow, commit):
                raise TreeError(f"commit {commit[:12]} is not in the repository", place=str(repository.top))
        was, now = (_files(shadow, commit, repository.prefix) for commit in (old, new))
        gone = {name: entry for name, entry in was.items() if name not in now}
        come = {name: entry for name, entry in now.items() if name not in was}
        found = changeset.renames(shadow, gone, come)
        return {public_name(before): public_name(after) for after, before in found.items()}
    finally:
        scratch.close()


def _files(shadow: Shadow, commit: str, prefix: str) -> dict[bytes, Entry]:
    """The files of a commit below a folder, by name relative to that, as far as they are at hand."""
    cut = len(os.fsencode(prefix))
    every = (replace(e, name=e.name[cut:]) for e in shadow.tree(commit, prefix.rstrip("/")))
    return {entry.name: entry for entry in every if entry.size is not None}
