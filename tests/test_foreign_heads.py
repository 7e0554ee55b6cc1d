"""Heads that somebody made to be misread: by attributes, names, sizes, and git directories of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from prun_review.workspace import take

from .repokit import cache_home, git, repository, write


@pytest.fixture(autouse=True, scope="module")
def home() -> Iterator[Path]:
    with cache_home() as path, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(path))
        yield path


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo")


def commit(repo: Path) -> str:
    """Commit the work tree; its SHA."""
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--allow-empty", "-m", "next")
    return git(repo, "rev-parse", "HEAD")


@pytest.mark.parametrize("before", [False, True], ids=["with the change", "on the base"])
def test_what_a_checkout_converts_is_compared_as_committed(repo: Path, tmp_path: Path, before: bool) -> None:
    write(repo, {".gitattributes": "*.py ident\n"} if before else {})
    base = commit(repo)
    write(repo, {} if before else {".gitattributes": "*.py ident\n"})
    git(repo, "add", "-A")
    sha = git(repo, "hash-object", "-w", "--no-filters", "--stdin", stdin=b'V = "$Id:";evil();"$"\n')
    git(repo, "update-index", "--add", "--cacheinfo", f"100644,{sha},v.py")
    git(repo, "commit", "-q", "-m", "hidden")
    git(tmp_path, "clone", "-q", str(repo), "head")
    git(repo, "checkout", "-q", "-f", base)
    for where, head in ((tmp_path / "head", ""), (repo, str(tmp_path / "head"))):
        with take(where, base=base, head=head) as tree:
            assert "evil()" in tree.slice_text(["v.py"])
            assert any("not from disk" in note and note.endswith(": v.py") for note in tree.revision.notes)
