"""Heads that somebody made to be misread: by attributes, names, sizes, and git directories of theirs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from prun_review import shadow
from prun_review.errors import TreeError
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


@pytest.mark.parametrize("where", [".gitattributes", ".git/info/attributes"])
def test_no_attributes_hide_what_differs(repo: Path, tmp_path: Path, where: str) -> None:
    git(tmp_path, "clone", "-q", str(repo), "head")
    head = tmp_path / "head"
    git(head, "mv", "README", "guide.md")
    write(head, {where: "* -diff\n[0-9]* binary\n", "src/a.py": "one\nthree\n"})
    commit(head)
    for trusted, folder in ((repo, str(head)), (head, "")):
        with take(trusted, base=git(repo, "rev-parse", "main"), head=folder) as tree:
            assert tree.change is not None
            assert {f.file.kind for f in tree.change.files} == {"text"}
            assert tree.slice_text(["src/a.py"]).endswith("  2 |+three\n")
            assert [f.old_path for f in tree.change.files if f.path == "guide.md"] == ["README"]


# --- names of theirs ------------------------------------------------------------------------


def plant(repo: Path, names: Iterable[bytes], branch: str = "evil") -> None:
    """A branch that also holds these files, each with its own name as content."""
    lines = b"".join(b'M 100644 inline "%s"\ndata %d\n%s\n' % (n, len(n), n) for n in names)
    start = b"commit refs/heads/%s\ncommitter a <a@example.org> 1 +0000\ndata 1\nm\nfrom refs/heads/main\n"
    git(repo, "fast-import", "--quiet", stdin=start % branch.encode() + lines)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([rb"a\n/evil.py", b"a%0A"], {"a%0A", "a%0A~/evil.py"}),
        ([rb"a\351", b"a%E9/x"], {"a%E9/x", "a%E9~"}),
        ([b"a%E9", rb"a\351/x", rb"a\351/y", b"a%E9~"], {"a%E9", "a%E9~", "a%E9~~/x", "a%E9~~/y"}),
        ([rb"a\n", b"a%0A"], {"a%0A", "a%0A~"}),
    ],
)
def test_a_name_that_looks_like_anothers_folder_or_file(
    repo: Path, names: list[bytes], expected: set[str]
) -> None:
    plant(repo, names)
    with take(repo, base="main", head="evil") as tree, tree.materialise() as shot:
        assert set(tree.names) == {*expected, "README", "src/a.py"}
        assert {f.path for f in tree.change.files if f.hunks} == expected  # type: ignore[union-attr]
        for name in names:
            if b"\\" not in name:
                assert tree.read(name.decode()) == (name.decode(),)
        assert tree.changed(shot) == ()


def test_a_very_deep_path_is_shortened(repo: Path) -> None:
    plant(repo, [b"d/" * 1500 + b"f.py"])
    with take(repo, base="main", head="evil") as tree, tree.materialise() as shot:
        (name,) = set(tree.names) - {"README", "src/a.py"}
        assert name.startswith("d~d~")
        assert name.endswith("/f.py")
        assert (shot.path / name).is_file()
        assert f"1 with names that cannot be printed or are too long, here as: {name}" in tree.revision.notes
        assert tree.changed(shot) == ()


# --- sizes of theirs ------------------------------------------------------------------------


def bomb(repo: Path, levels: int) -> str:
    """A commit of so many folders in folders, ten in each, that take no more room than one."""

    def tree(mode: str, sha: str) -> str:
        lines = "".join(f"{mode} {'blob' if mode == '100644' else 'tree'} {sha}\t{n}\n" for n in range(10))
        return git(repo, "mktree", stdin=lines.encode())

    top = tree("100644", git(repo, "rev-parse", "HEAD:README"))
    for _ in range(levels - 1):
        top = tree("040000", top)
    return git(repo, "commit-tree", "-p", "main", "-m", "bomb", top)


def test_a_tree_of_a_thousand_million_files_is_refused(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow, "LISTED", 4 << 20)  # as the real one, and in seconds
    with pytest.raises(TreeError, match=r"too many files: .*wrote more than 4194304 bytes") as caught:
        take(repo, base="main", head=bomb(repo, 9))
    assert "generated files" in caught.value.remedy


@pytest.mark.parametrize(("most", "fits"), [(1000, True), (999, False)])
def test_files_of_a_listing_are_counted(
    repo: Path, most: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = bomb(repo, 3)
    monkeypatch.setattr(shadow, "FILES", most)
    if fits:
        with take(repo, base="main", head=head) as tree:
            assert len(tree.names) == most
    else:
        with pytest.raises(TreeError, match="too many files: at most 999"):
            take(repo, base="main", head=head)


# --- git directories of theirs --------------------------------------------------------------


@pytest.fixture
def head(repo: Path, tmp_path: Path) -> Path:
    """A clone of the repository with a commit of its own; beside it lies what is nobody's business."""
    private = repository(tmp_path / "private", {"plan": "PRIVATE\n"})
    git(private, "branch", "main2")
    git(tmp_path, "clone", "-q", str(repo), "head")
    write(tmp_path / "head", {"README": "edited\n"})
    commit(tmp_path / "head")
    return tmp_path / "head"


def sparse(path: Path, size: int) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("ab") as file:
        file.truncate(size)


def instead(path: Path, target: str | Path) -> None:
    """A link in place of a file or folder."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def alternates(head: Path, text: str) -> None:
    write(head, {".git/objects/info/alternates": text})


def chained(head: Path) -> None:
    alternates(head, "../../inner\n")
    write(head, {"inner/info/alternates": "../../private/.git/objects\n"})


def moved(head: Path, text: str) -> None:
    (head / ".git").rename(head.parent / "moved")
    (head / ".git").write_text(text)


LARGE, SMALL = "larger than 1073741824 bytes", "larger than 16777216 bytes"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda h: instead(h / ".git/index", "/dev/zero"), "index is no ordinary file"),
        (lambda h: instead(h / ".git/index", h.parent / "private/.git/index"), "index is no ordinary file"),
        (lambda h: sparse(h / ".git/index", (1 << 30) + 1), f"index is {LARGE}"),
        (lambda h: fifo(h / ".git/index"), "index is no ordinary file"),
        (lambda h: instead(h / ".git/sharedindex.x", "/dev/zero"), "sharedindex.x is no ordinary file"),
        (lambda h: sparse(h / ".git/info/attributes", (16 << 20) + 1), f"info/attributes is {SMALL}"),
        (lambda h: fifo(h / ".git/info/attributes"), "info/attributes is no ordinary file"),
        (lambda h: fifo(h / ".git/info/exclude"), "info/exclude is no ordinary file"),
        (lambda h: sparse(h / ".git/shallow", (16 << 20) + 1), f"shallow is {SMALL}"),
        (lambda h: fifo(h / ".git/shallow"), "shallow is no ordinary file"),
        (lambda h: fifo(h / ".git/config"), "config is no ordinary file"),
        (lambda h: instead(h / ".git/HEAD", "refs/heads/main"), "HEAD is no ordinary file"),
        (
            lambda h: (h / ".git/commondir").write_text("../../private/.git\n"),
            "leads outside of it, to .*private",
        ),
        (lambda h: instead(h / ".git/objects", h.parent / "private/.git/objects"), "leads outside .*private"),
        (lambda h: instead(h / ".git/refs", h.parent / "private/.git/refs"), "leads outside .*private"),
        (lambda h: instead(h / ".git/objects/aa", h.parent / "private/.git/objects/aa"), "leads outside"),
        (lambda h: alternates(h, f"{h.parent}/private/.git/objects\n"), "leads outside .*private"),
        (lambda h: alternates(h, "#\n\n../../../private/.git/objects"), "leads outside .*private"),
        (lambda h: alternates(h, f'"{h.parent}/private/.git/objects"\n'), "alternates are not understood"),
        (chained, "leads outside .*private"),
        (lambda h: moved(h, "gitdir: ../moved\n"), "leads outside .*moved"),
        (lambda h: moved(h, "gitdir: ../private/.git\n"), "leads outside .*private"),
        (lambda h: moved(h, "gitdir: .git\n"), "not in a git repository"),
    ],
)
def test_a_git_directory_that_is_not_its_own_is_refused(
    repo: Path, head: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(head)
    with pytest.raises(TreeError, match=message):
        take(repo, base="main", head=str(head))


def test_a_git_file_without_an_end_is_not_read(repo: Path, head: Path) -> None:
    moved(head, "gitdir: ../moved\n")
    sparse(head / ".git", (16 << 20) + 1)
    with pytest.raises(TreeError, match=SMALL):
        take(repo, base="main", head=str(head))


def test_what_the_trusted_repository_lends_is_fit(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(repo), "trusted")
    git(repo, "worktree", "add", "-q", "-b", "topic", str(tmp_path / "linked"))
    git(tmp_path, "clone", "-q", "--shared", str(repo), "shared")
    git(tmp_path, "clone", "-q", "--shared", str(tmp_path / "trusted"), "shared2")
    git(tmp_path, "clone", "-q", str(repo), "alone")
    alternates(tmp_path / "alone", f"../objects\n{tmp_path}/alone/.git/objects\n")  # leads nowhere else
    for trusted, name in (
        (repo, "linked"),
        (repo, "shared"),
        (repo, "alone"),
        (tmp_path / "trusted", "shared"),
        (tmp_path / "trusted", "shared2"),
        (tmp_path / "linked", "repo"),
    ):
        folder = tmp_path / name
        write(folder, {"README": "edited\n"})
        with take(trusted, base="main", head=str(folder)) as tree:
            assert "edited" in tree.slice_text(["README"])


def test_a_folder_that_poses_as_a_linked_work_tree_is_refused(repo: Path, head: Path) -> None:
    (head / ".git/commondir").write_text(f"{repo}/.git\n")
    with pytest.raises(TreeError, match="leads outside"):
        take(repo, base="main", head=str(head))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda r: fifo(r / ".git/index"), "no ordinary file"),
        (lambda r: sparse(r / ".git/index", (1 << 30) + 1), LARGE),
        (lambda r: fifo(r / ".git/info/attributes"), "no ordinary file"),
        (lambda r: sparse(r / ".git/info/exclude", (16 << 20) + 1), SMALL),
    ],
)
def test_files_of_the_own_git_directory_are_read_up_to_a_cap(
    repo: Path, spoil: Callable[[Path], object], message: str
) -> None:
    spoil(repo)
    with pytest.raises(TreeError, match=message):
        take(repo)
