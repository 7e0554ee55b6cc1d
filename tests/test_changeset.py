"""A change on real repositories: its two ends, what differs, and what of it changes the review."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from prun_review import snapshot
from prun_review.change import Change, FileChange, Listed
from prun_review.errors import BriefError, TreeError
from prun_review.ports import Missing
from prun_review.workspace import ReviewedTree, take

from .repokit import cache_home, git, repository, write

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 1234\n"


@pytest.fixture(autouse=True, scope="module")
def home() -> Iterator[Path]:
    with cache_home() as path, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(path))
        yield path


def commit(repo: Path, content: Mapping[str, str | bytes] | None = None) -> str:
    """Commit the work tree, with these files in it; its SHA."""
    write(repo, content or {})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--allow-empty", "-m", "next")
    return git(repo, "rev-parse", "HEAD")


def numbered(count: int, name: str = "line") -> str:
    return "".join(f"{name} {n}\n" for n in range(1, count + 1))


def files(tree: ReviewedTree) -> dict[str, FileChange]:
    assert tree.change is not None
    return {f.path: f for f in tree.change.files}


def told(tree: ReviewedTree) -> dict[str, tuple[str, str, str]]:
    """Status, kind and old name of every changed file."""
    return {name: (f.file.status, f.file.kind, f.old_path) for name, f in files(tree).items()}


# --- what differs ---------------------------------------------------------------------------


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def as_link(repo: Path) -> None:
    (repo / "text").unlink()
    (repo / "text").symlink_to("/etc/passwd")


def renamed(repo: Path) -> None:
    (repo / "text").rename(repo / "moved")
    edited(repo / "moved", "line 3\n", "line three\n")


def withheld_renamed(repo: Path) -> None:
    (repo / ".env").rename(repo / "env.txt")


KINDS: list[tuple[str, Callable[[Path], object], dict[str, tuple[str, str, str]], tuple[int, int]]] = [
    (
        "edit",
        lambda r: edited(r / "text", "line 3\n", "x\ny\n"),
        {"text": ("modified", "text", "text")},
        (2, 1),
    ),
    ("added", lambda r: write(r, {"new": "a\nb\n"}), {"new": ("added", "text", "")}, (2, 0)),
    ("added empty", lambda r: write(r, {"new": ""}), {"new": ("added", "text", "")}, (0, 0)),
    ("deleted", lambda r: (r / "text").unlink(), {"text": ("deleted", "text", "text")}, (0, 20)),
    ("renamed and edited", renamed, {"moved": ("renamed", "text", "text")}, (1, 1)),
    ("moved", lambda r: (r / "text").rename(r / "moved"), {"moved": ("renamed", "text", "text")}, (0, 0)),
    ("binary", lambda r: write(r, {"bin": b"\0new"}), {"bin": ("modified", "binary", "bin")}, (0, 0)),
    (
        "binary moved",
        lambda r: (r / "bin").rename(r / "bin2"),
        {"bin2": ("renamed", "binary", "bin")},
        (0, 0),
    ),
    ("text to binary", lambda r: write(r, {"text": b"\0"}), {"text": ("modified", "binary", "text")}, (0, 0)),
    (
        "too large",
        lambda r: write(r, {"big": b"x\n" * (3 << 20)}),
        {"big": ("modified", "binary", "big")},
        (0, 0),
    ),
    (
        "pointer",
        lambda r: write(r, {"lfs": POINTER.format("b" * 64)}),
        {"lfs": ("modified", "lfs", "lfs")},
        (0, 0),
    ),
    (
        "pointer to text",
        lambda r: write(r, {"lfs": "no pointer any more\n"}),
        {"lfs": ("modified", "lfs", "lfs")},
        (0, 0),
    ),
    ("mode", lambda r: (r / "text").chmod(0o755), {"text": ("modified", "mode", "text")}, (0, 0)),
    ("text to link", as_link, {"text": ("modified", "link", "text")}, (1, 20)),
    (
        "new link",
        lambda r: (r / "link").symlink_to("/etc/passwd"),
        {"link": ("added", "link", "")},
        (1, 0),
    ),
    ("withheld", lambda r: write(r, {".env": "KEY=2\n"}), {".env": ("modified", "withheld", ".env")}, (0, 0)),
    (
        "withheld renamed",  # an old name that nobody may read is no way to show its content
        withheld_renamed,
        {"env.txt": ("added", "withheld", ""), ".env": ("deleted", "withheld", ".env")},
        (0, 0),
    ),
    ("nothing", lambda r: None, {}, (0, 0)),
    (
        "left out",
        lambda r: write(r, {"reports/x": "1\n", "docs/x": "2\n"}),
        {"reports/x": ("added", "excluded", ""), "docs/x": ("added", "excluded", "")},
        (0, 0),
    ),
]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    content: dict[str, str | bytes] = {
        "text": numbered(20),
        "bin": b"\0old\n",
        "lfs": POINTER.format("a" * 64),
        "big": b"x\n" * 10,
        ".env": "KEY=1\n",
        "src/a.py": "one\ntwo\n",
    }
    return repository(tmp_path / "repo", content)


OPTIONS: dict[str, Any] = {"base": "main", "never": [".env"], "exclude": ["docs"]}


@pytest.mark.parametrize(("edit", "expected", "counts"), [k[1:] for k in KINDS], ids=[k[0] for k in KINDS])
def test_kinds(
    repo: Path,
    edit: Callable[[Path], object],
    expected: dict[str, tuple[str, str, str]],
    counts: tuple[int, int],
) -> None:
    edit(repo)
    git(repo, "add", "-A")
    with take(repo, **OPTIONS) as tree:
        assert told(tree) == expected
        records = [f.file for f in files(tree).values()]
        assert (sum(r.added for r in records), sum(r.deleted for r in records)) == counts
        assert tree.listing == tuple(Listed(r.path, r.kind, len(tree.slice_text([r.path]))) for r in records)
        assert "KEY=2" not in tree.slice_text([r.path for r in records])


def test_a_work_tree_its_commit_and_another_checkout_of_it_are_one_change(repo: Path) -> None:
    plain = "edit added deleted binary pointer mode"
    names = {*plain.split(), "new link", "withheld renamed", "left out"}
    for name, edit, *_ in KINDS:
        if name in names:
            edit(repo) if name != "deleted" else (repo / "src/a.py").unlink()
    git(repo, "add", "-A")
    with take(repo, **OPTIONS) as tree:
        change = tree.change
        assert len(files(tree)) == 10
        digest = tree.slice_hash(list(files(tree)))
    git(repo, "checkout", "-q", "-b", "topic")
    commit(repo)
    git(repo, "checkout", "-q", "-f", "main")
    git(repo.parent, "clone", "-q", "-b", "topic", str(repo), "clone")
    for head in ("topic", "../clone"):
        with take(repo, head=head, **OPTIONS) as tree:
            assert tree.change == change
            assert tree.slice_hash(list(files(tree))) == digest
            assert not tree.revision.dirty


def test_what_is_too_large_and_what_is_withheld_say_so(repo: Path) -> None:
    write(repo, {"big": b"x\n" * (3 << 20), ".env": "KEY=2\n"})
    with take(repo, base="main", never=["**/.env"]) as tree:
        assert "too large: 6291456 bytes" in files(tree)["big"].file.note
        assert "6291456" in tree.slice_text(["big"])
        assert "KEY" not in tree.slice_text([".env"])
        assert tree.read(".env") == Missing("left out of the reviewed tree (withheld: sent to nobody)", "")
        assert isinstance(tree.read_base(".env"), Missing)
        assert ".env" not in (*tree.names, *tree.base_names)
        assert "1 withheld: sent to nobody: .env" in tree.revision.notes
        assert tree.revision.files == len(tree.names)
        with pytest.raises(BriefError, match=r"matches no file"):
            tree.expand([".env"])


def test_lines_of_a_long_file_have_their_numbers(repo: Path) -> None:
    write(repo, {"long": numbered(100_000)})
    commit(repo)
    edited(repo / "long", "line 70000\n", "x\n")
    edited(repo / "long", "line 99999\nline 100000\n", "line 99999\nline 100000")
    with take(repo, base="main") as tree:
        file = files(tree)["long"]
        assert sorted(file.added) == sorted(file.deleted) == [70_000, 100_000]
        assert file.to_new(99_999) == 99_999
        assert "\n 70000        |-line 70000\n        70000 |+x\n" in tree.slice_text(["long"])


NAMES = [
    b"a b#c.py",
    b"new\nline.py",
    b'quo"te.py',
    b"latin\xe9.py",
    b"back\\slash",
    b"diff --git a/x b/x",
    b"tab\there",
    "grüße/ñ.py".encode(),
    b"-rf",
    b":(glob)*",
    b"x" * 200 + b"\xff" * 50,
]


def test_any_name(repo: Path) -> None:
    folder = os.fsencode(repo)
    for name in NAMES:
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        Path(os.fsdecode(os.path.join(folder, name))).write_text(f"{name!r}\nkept\n")
    commit(repo)
    for name in NAMES[1:]:
        with open(os.path.join(folder, name), "ab") as stream:
            stream.write(b"added\n")
    os.rename(os.path.join(folder, NAMES[0]), os.path.join(folder, b"moved\n#.py"))
    git(repo, "add", "-A")
    with take(repo, base="main") as tree:
        found = files(tree)
        assert len(found) == len(NAMES)
        assert all(name.isprintable() for name in found)
        assert {
            "new%0Aline.py",
            "latin%E9.py",
            "back%5Cslash",
            "tab%09here",
            "moved%0A%23.py" * 0 or "-rf",
        } <= set(found)
        assert found["moved%0A#.py"].old_path == "a b#c.py"
        assert all(f.added == {3} for f in found.values() if f.file.status == "modified")
        for path, file in found.items():
            assert isinstance(tree.read(path), tuple)
            assert isinstance(tree.read_base(file.old_path), tuple)
        with tree.materialise() as shot:
            assert shot.beside is not None
            rows = (shot.beside / "CHANGED.tsv").read_text().splitlines()
            assert {row.split("\t")[0] for row in rows[1:]} == set(found)
            assert all((shot.beside / "base" / f.old_path).is_file() for f in found.values())


def test_submodules(repo: Path, tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner", {"x": "1\n"})
    git(repo, "submodule", "--quiet", "add", str(inner), "inner")
    first = commit(repo)
    last = commit(inner, {"x": "2\n"})
    git(repo / "inner", "fetch", "-q")
    git(repo / "inner", "checkout", "-q", last)
    with take(repo, base="main") as tree:
        assert told(tree) == {}  # as in the index: git is not asked what a submodule holds
    git(repo, "add", "inner")
    for head in ("", commit(repo)):
        with take(repo, base=first, head=head) as tree:
            assert told(tree) == {"inner": ("modified", "submodule", "inner")}
            assert files(tree)["inner"].file.note.endswith(f"-> {last[:12]}")
            assert "inner" not in tree.names
            assert tree.slice_hash(["inner"]) != ""
            with tree.materialise() as shot:
                assert not (shot.path / "inner").exists()
    git(repo, "rm", "-q", "-f", "inner")
    write(repo, {"inner": "a file now\n"})
    git(repo, "add", "-A")
    with take(repo, base=first) as tree:
        assert told(tree)["inner"] == ("modified", "submodule", "inner")


def test_a_fifo_in_place_of_a_file_hangs_nothing(repo: Path) -> None:
    (repo / "text").unlink()
    os.mkfifo(repo / "text")
    os.mkfifo(repo / "other")
    with take(repo, base="main", include_untracked=True) as tree:
        assert told(tree) == {"text": ("deleted", "text", "text")}


def test_untracked_files_belong_to_a_change_on_request(repo: Path) -> None:
    write(repo, {"new": "1\n"})
    with take(repo, base="main") as tree:
        assert told(tree) == {}
    with take(repo, base="main", include_untracked=True) as tree:
        assert told(tree) == {"new": ("added", "text", "")}


# --- the two ends ---------------------------------------------------------------------------


@pytest.fixture
def branches(repo: Path) -> Path:
    """``main`` has gone on since ``topic`` left it; ``main`` is checked out."""
    git(repo, "checkout", "-q", "-b", "topic")
    commit(repo, {"src/a.py": "one\nTWO\n"})
    git(repo, "checkout", "-q", "main")
    commit(repo, {"text": "rewritten on main\n", "review.toml": "tip\n"})
    return repo


def test_the_merge_base_is_compared_with_and_the_tip_is_trusted(branches: Path) -> None:
    with take(branches, base="main", head="topic") as tree:
        assert told(tree) == {"src/a.py": ("modified", "text", "src/a.py")}
        revision = tree.revision
        assert revision.base == git(branches, "rev-parse", "main")
        assert revision.merge_base == git(branches, "merge-base", "main", "topic")
        assert revision.head == revision.commit == git(branches, "rev-parse", "topic")
        assert tree.trusted_text("review.toml") == "tip\n"
        assert tree.trusted_text("nothing") is None
        assert tree.trusted_text("src") is None
        assert tree.trusted_text("../x") is None
        assert tree.trusted_text("/etc/passwd") is None
        assert tree.read_base("text") == tuple(numbered(20).splitlines())
        assert tree.read("src/a.py") == ("one", "TWO")
        assert tree.read_base("src/a.py") == ("one", "two")


def test_without_a_base_there_is_no_change(branches: Path) -> None:
    with take(branches, head="topic", panel_names=["src"]) as tree, tree.materialise() as shot:
        assert tree.read("src/a.py") == ("one", "TWO")
        assert (tree.change, tree.alters, tree.alters_digest, tree.base_names, tree.listing) == (
            None, (), "", (), ()
        )  # fmt: skip
        assert (tree.revision.base, tree.revision.merge_base, tree.revision.head) == ("", "", "")
        assert tree.trusted_text("text") is None
        assert isinstance(tree.read_base("text"), Missing)
        assert shot.beside is None
        with pytest.raises(KeyError):
            tree.slice_text(["src/a.py"])


def test_another_checkout_is_its_work_tree_and_its_names_count_for_nothing(branches: Path) -> None:
    clone = branches.parent / "clone"
    git(branches.parent, "clone", "-q", "-b", "topic", str(branches), "clone")
    write(clone, {"src/a.py": "one\nTWO\nthree\n"})
    git(clone, "branch", "-q", "-f", "main", "topic")  # there, the change goes to itself
    git(clone, "tag", "only-there")
    for head in (str(clone), "../clone"):
        with take(branches, base="main", head=head) as tree:
            assert files(tree)["src/a.py"].added == {2, 3}
            assert tree.revision.base == git(branches, "rev-parse", "main")
            assert tree.revision.dirty
    with pytest.raises(TreeError, match="'only-there' names no commit"):
        take(branches, base="only-there", head=str(clone))


def test_a_base_that_only_the_other_repository_has_is_named_in_full(branches: Path) -> None:
    clone = branches.parent / "clone"
    git(branches.parent, "clone", "-q", "-b", "topic", str(branches), "clone")
    there = commit(clone, {"src/a.py": "one\nTWO\nthree\n", "only": "there\n"})
    write(clone, {"src/a.py": "one\nTWO\nthree\nfour\n"})
    with take(branches, base=there, head=str(clone)) as tree:
        assert files(tree)["src/a.py"].added == {4}
        assert tree.read_base("only") == ("there",)
        assert tree.trusted_text("only") == "there\n"
    with pytest.raises(TreeError, match=f"{'0' * 40} is no commit"):
        take(branches, base="0" * 40, head=str(clone))


@pytest.mark.parametrize(
    ("base", "head", "message", "remedy"),
    [
        ("maim", "", "'maim' names no commit", "fetch-depth: 0"),
        ("main", "nowhere", "'nowhere' names no commit", "git fetch --unshallow"),
        ("--all", "", "'--all' names no commit", ""),
        ("main", "--upload-pack=touch x", "names no commit", ""),
        ("main..topic", "", "'main..topic' names no commit", ""),
        (":/next", "", "':/next' names no commit", ""),
        ("main^{/next}", "", "names no commit", ""),
        ("main:text", "", "names no commit", ""),
        ("main^{tree}", "", "names no commit", ""),
        ("@{upstream}", "", "names no commit", ""),
        ("0" * 40, "", "is no commit", "fetch-depth: 0"),
        ("main", "orphan", "no merge base", "git fetch --unshallow"),
        ("main", ".", "trusted root", "a folder of its own"),
        ("main", "..", "trusted root", "a folder of its own"),
        ("main", "src/", "trusted root", "a folder of its own"),
        ("main", "./src/", "trusted root", "a folder of its own"),
        ("main", "link", "trusted root", "a folder of its own"),
        ("main", "./nowhere", "no folder './nowhere'", ""),
        ("main", "both", "a revision and a folder too", "refs/heads/both"),
    ],
)
def test_what_cannot_be_compared(branches: Path, base: str, head: str, message: str, remedy: str) -> None:
    git(branches, "branch", "both")
    git(branches, "checkout", "-q", "--orphan", "orphan")
    commit(branches)
    git(branches, "checkout", "-q", "main")
    (branches / "both").mkdir()
    (branches / "link").symlink_to(branches)
    with pytest.raises(TreeError) as caught:
        take(branches, base=base, head=head)
    assert message in caught.value.message
    assert remedy in caught.value.remedy
    assert caught.value.exit_status == 4
    assert not (branches / "x").exists()


@pytest.mark.parametrize("end", ["base", "head"])
@pytest.mark.parametrize(
    ("name", "refs", "said"),
    [
        ("pr", ["refs/heads/pr", "refs/tags/pr"], "refs/tags/pr and refs/heads/pr"),
        ("pr~1", ["refs/heads/pr", "refs/tags/pr"], "refs/tags/pr and refs/heads/pr"),
        ("pr^", ["refs/heads/pr", "refs/tags/pr"], "refs/tags/pr and refs/heads/pr"),
        ("o/m", ["refs/remotes/o/m", "refs/tags/o/m"], "refs/tags/o/m and refs/remotes/o/m"),
        ("o/m", ["refs/remotes/o/m", "refs/heads/o/m"], "refs/heads/o/m and refs/remotes/o/m"),
        ("heads/pr", ["refs/heads/pr", "refs/tags/heads/pr"], "refs/heads/pr and refs/tags/heads/pr"),
        ("o", ["refs/remotes/o/HEAD", "refs/tags/o"], "refs/tags/o and refs/remotes/o/HEAD"),
        ("heads/pr", ["refs/heads/heads/pr", "refs/heads/pr"], "refs/heads/pr and refs/heads/heads/pr"),
        ("{short}", ["refs/heads/{short}"], "refs/heads/{short} and the abbreviated {full}"),
        ("v1-2-g{short}", ["refs/tags/v1-2-g{short}"], "refs/tags/v1-2-g{short} and the abbreviated {full}"),
        # one commit, one ref, or a name that means one thing
        ("o/m", ["refs/heads/o/m"], ""),
        ("refs/heads/pr", ["refs/heads/pr", "refs/tags/pr", "refs/tags/refs/heads/pr"], ""),
        ("{full}", ["refs/heads/{full}", "refs/tags/{full}"], ""),
        ("{full}~0", ["refs/heads/{full}", "refs/tags/{full}"], ""),
        ("HEAD", ["refs/tags/HEAD"], ""),
        ("{short}", [], ""),
    ],
)
def test_a_name_that_means_two_commits_is_refused(
    branches: Path, end: str, name: str, refs: list[str], said: str
) -> None:
    full = git(branches, "rev-parse", "main")
    fill = {"full": full, "short": full[:8]}
    commits = [git(branches, "rev-parse", "topic"), full]
    commit(branches, {"later": "1\n"})
    for n, ref in enumerate(refs):
        git(branches, "update-ref", ref.format(**fill), commits[n % 2])
    options = {"base": "main", "head": "main", end: name.format(**fill)}
    if not said:
        with take(branches, **options) as tree:  # type: ignore[arg-type]
            expected = {"o/m": "topic", "refs/heads/pr": "refs/heads/pr", "HEAD": "main"}.get(name, full)
            assert getattr(tree.revision, end) == git(branches, "rev-parse", expected)
        return
    with pytest.raises(TreeError) as caught:
        take(branches, **options)  # type: ignore[arg-type]
    assert f"is ambiguous: {said.format(**fill)} are different commits" in caught.value.message
    assert caught.value.message.startswith(f"the {end} ")
    assert "write refs/heads/" in caught.value.remedy
    assert caught.value.exit_status == 4
    for ref in refs[1:]:
        git(branches, "update-ref", ref.format(**fill), commits[0])
    if refs[1:]:  # both mean the same now
        with take(branches, **options) as tree:  # type: ignore[arg-type]
            assert tree.change is not None


def test_a_full_name_that_is_missing_means_no_other_ref(branches: Path) -> None:
    git(branches, "update-ref", "refs/heads/refs/heads/release", "topic")
    with pytest.raises(TreeError, match="'refs/heads/release' names no commit"):
        take(branches, base="refs/heads/release", head="topic")


def test_a_tag_object_and_its_commit_are_one(branches: Path) -> None:
    git(branches, "branch", "v1", "topic")
    git(branches, "tag", "-a", "-m", "x", "inner", "topic")
    git(branches, "tag", "-a", "-m", "x", "v1", "inner")
    with take(branches, base="v1", head="main") as tree:
        assert tree.revision.base == git(branches, "rev-parse", "topic")


def test_a_folder_below_the_trusted_root_is_fine(branches: Path) -> None:
    git(branches, "clone", "-q", "-b", "topic", ".", "head")
    with take(branches, base="main", head="head") as tree:
        assert set(files(tree)) == {"src/a.py"}
        assert not [name for name in tree.names if name.startswith("head/")]


def test_a_linked_work_tree_is_another_checkout(branches: Path) -> None:
    git(branches, "worktree", "add", "-q", "../linked", "topic")
    write(branches.parent / "linked", {"src/a.py": "one\nTWO\nthree\n"})
    with take(branches, base="main", head="../linked") as tree:
        assert files(tree)["src/a.py"].added == {2, 3}


def test_merge_commits_and_criss_cross(branches: Path) -> None:
    git(branches, "checkout", "-q", "topic")
    git(branches, "merge", "-q", "--no-edit", "main")
    with take(branches, base="main", head="topic") as tree:
        assert set(files(tree)) == {"src/a.py"}  # what came from main is none of the change
    git(branches, "checkout", "-q", "main")
    left = commit(branches, {"left": "1\n"})
    git(branches, "checkout", "-q", "topic")
    right = commit(branches, {"right": "1\n"})
    git(branches, "merge", "-q", "--no-edit", left)
    git(branches, "checkout", "-q", "main")
    git(branches, "merge", "-q", "--no-edit", right)
    with take(branches, base="main", head="topic") as tree:
        first, second = git(branches, "merge-base", "--all", "main", "topic").split()
        assert tree.revision.merge_base == first
        assert any(f"compared with {first[:12]}, not with {second[:12]}" in n for n in tree.revision.notes)
        assert tree.merge_bases == (first, second)
    with take(branches, base="main", head="main") as tree:
        assert tree.merge_bases == (git(branches, "rev-parse", "main"),)
    with take(branches) as tree:
        assert tree.merge_bases == ()


class TestShallow:
    @pytest.fixture
    def long(self, branches: Path) -> Path:
        """Three commits on ``topic``."""
        git(branches, "checkout", "-q", "topic")
        for n in (1, 2):
            commit(branches, {"src/a.py": f"one\nTWO\n{n}\n"})
        git(branches, "checkout", "-q", "main")
        return branches

    def cloned(self, source: Path, depth: int) -> Path:
        git(source.parent, "clone", "-q", "--depth", str(depth), "-b", "topic", source.as_uri(), "shallow")
        return source.parent / "shallow"

    def test_a_history_that_does_not_reach_the_base_is_refused(self, long: Path) -> None:
        shallow = self.cloned(long, 1)
        git(long.parent, "clone", "-q", "--single-branch", "-b", "main", long.as_uri(), "trusted")
        trusted = long.parent / "trusted"
        git(shallow, "fetch", "-q", "--depth", "1", "origin", "main:main")
        for repo, head in ((trusted, str(shallow)), (shallow, "")):
            with pytest.raises(TreeError, match="no merge base") as caught:
                take(repo, base="main", head=head)
            assert "fetch-depth: 0" in caught.value.remedy
            assert "git fetch --unshallow" in caught.value.remedy
        git(shallow, "fetch", "-q", "--unshallow")
        with take(trusted, base="main", head=str(shallow)) as tree:
            assert set(files(tree)) == {"src/a.py"}

    def test_one_that_the_trusted_repository_completes_is_enough(self, long: Path) -> None:
        shallow = self.cloned(long, 3)
        git(long.parent, "clone", "-q", "--single-branch", "-b", "main", long.as_uri(), "trusted")
        assert len(git(shallow, "rev-list", "HEAD").split()) == 3
        with take(long.parent / "trusted", base="main", head=str(shallow)) as tree:
            assert tree.revision.merge_base == git(long, "merge-base", "main", "topic")
            assert set(files(tree)) == {"src/a.py"}

    def test_a_mark_hides_nothing_that_is_there(self, long: Path) -> None:
        """A head that says that its history ends early would be compared with an older commit."""
        clone = long.parent / "clone"
        git(long.parent, "clone", "-q", "-b", "topic", str(long), "clone")
        (clone / ".git/shallow").write_text(git(clone, "rev-parse", "HEAD~1") + "\n")
        with take(long, base="main", head=str(clone)) as tree:
            assert tree.revision.merge_base == git(long, "merge-base", "main", "topic")

    def test_a_history_that_is_cut_on_one_of_two_ways_is_refused(self, long: Path) -> None:
        """By the other way it would be compared with a commit from before the real merge base."""
        old = git(long, "rev-list", "--max-parents=0", "main")
        git(long, "checkout", "-q", "-b", "middle", "main")
        git(long, "checkout", "-q", "-b", "both")
        for n in (1, 2):
            commit(long, {"both": f"{n}\n"})
        git(long, "checkout", "-q", "-b", "side", old)
        commit(long, {"side": "1\n"})
        git(long, "checkout", "-q", "both")
        git(long, "merge", "-q", "--no-edit", "side")
        git(long, "checkout", "-q", "main")
        git(long.parent, "clone", "-q", "--depth", "2", "-b", "both", long.as_uri(), "cut")
        # As if the base had no more than the trunk: the objects of the head are nowhere else.
        git(long.parent, "clone", "-q", "--single-branch", "-b", "main", long.as_uri(), "trusted")
        with pytest.raises(TreeError, match="no certain merge base") as caught:
            take(long.parent / "trusted", base="main", head="../cut")
        assert "fetch-depth: 0" in caught.value.remedy
        with take(long.parent / "trusted", base="main", head=str(long.parent / "trusted/../repo")) as tree:
            assert tree.change == Change()


# --- a hostile checkout ---------------------------------------------------------------------


def test_objects_under_false_names_do_not_reach_the_base(branches: Path) -> None:
    """Whoever made the files of a checkout can make its objects say anything."""
    clone = branches.parent / "clone"
    git(branches.parent, "clone", "-q", "--no-local", "-b", "topic", str(branches), "clone")
    blob = git(branches, "rev-parse", "main~1:src/a.py")
    packs = sorted((clone / ".git/objects/pack").iterdir())
    for pack in packs:
        pack.rename(clone / pack.name)
    for pack in clone.glob("*.pack"):
        git(clone, "unpack-objects", "-q", stdin=pack.read_bytes())
    loose = clone / ".git/objects" / blob[:2] / blob[2:]
    loose.chmod(0o600)
    forged = b"one\nTWO\n"  # as if the change were none
    loose.write_bytes(zlib.compress(b"blob %d\0" % len(forged) + forged))
    assert git(clone, "cat-file", "-p", blob) == "one\nTWO"
    with take(branches, base="main", head=str(clone)) as tree:
        assert tree.read_base("src/a.py") == ("one", "two")
        assert files(tree)["src/a.py"].added == {2}
        assert "|-two" in tree.slice_text(["src/a.py"])


def test_grafts_and_replacements_count_for_nothing(branches: Path) -> None:
    right = git(branches, "merge-base", "main", "topic")
    git(branches, "replace", git(branches, "rev-parse", "topic"), git(branches, "rev-parse", "main"))
    write(branches, {".git/info/grafts": git(branches, "rev-parse", "topic") + "\n"})
    with take(branches, base="main", head="topic") as tree:
        assert tree.revision.merge_base == right
        assert set(files(tree)) == {"src/a.py"}


# --- what changes the review ----------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    content = {
        "panels/probe_a.py": "1\n",
        "conftest.py": "1\n",
        "pyproject.toml": "[tool.prun_review]\njobs = 1\n[tool.ruff]\nline-length = 1\n",
        "src/a.py": "1\n",
        "src/conftest.py": "1\n",
        "policy/x": "1\n",
        "app/b.py": "1\n",
        "accept.toml": "1\n",
    }
    return repository(tmp_path / "project", content)


ALTERS: list[tuple[dict[str, str], tuple[str, ...]]] = [
    ({"src/a.py": "2\n", "src/conftest.py": "2\n"}, ()),
    ({"panels/probe_a.py": "2\n"}, ("panels/probe_a.py",)),
    ({"panels/probe_b.py": "1\n", "conftest.py": "2\n"}, ("conftest.py", "panels/probe_b.py")),
    ({"pyproject.toml": "[tool.prun_review]\njobs = 1\n[tool.ruff]\nline-length = 2\n"}, ()),
    ({"pyproject.toml": "[tool.prun_review]\njobs = 2\n"}, ("pyproject.toml",)),
    ({"pyproject.toml": "[tool"}, ("pyproject.toml",)),
    ({"pytest.ini": "[pytest]\n"}, ("pytest.ini",)),
    ({"tox.ini": "[tox]\n"}, ()),
    ({"policy/x": "2\n", "accept.toml": "2\n"}, ("accept.toml", "policy/x")),
]


@pytest.mark.parametrize(("edit", "expected"), ALTERS)
def test_what_changes_the_review(project: Path, edit: dict[str, str], expected: tuple[str, ...]) -> None:
    options: dict[str, Any] = {
        "base": "main",
        "panels": ["panels"],
        "panel_names": ["panels"],
        "guarded": ["policy/**", "accept.toml"],
    }
    write(project, edit)
    git(project, "add", "-A")
    with take(project, **options) as tree:
        assert tree.alters == expected
        digest = tree.alters_digest
        assert bool(digest) is bool(expected)
        assert not [name for name in tree.names if name.startswith("panels/")]
        assert not [name for name in files(tree) if name.startswith("panels/")]


def test_every_head_can_change_the_review(project: Path) -> None:
    options: dict[str, Any] = {"base": "main", "panels": ["panels"], "panel_names": ["panels"]}
    write(project, {"panels/probe_a.py": "2\n", "conftest.py": "2\n", "src/a.py": "2\n"})
    seen = []
    with take(project, **options) as tree:
        seen.append((tree.alters, tree.alters_digest))
    git(project, "checkout", "-q", "-b", "topic")
    commit(project)
    git(project, "checkout", "-q", "main")
    git(project.parent, "clone", "-q", "-b", "topic", str(project), "clone")
    for head in ("topic", "../clone"):
        with take(project, head=head, **options) as tree:
            seen.append((tree.alters, tree.alters_digest))
    assert seen[0][0] == ("conftest.py", "panels/probe_a.py")
    assert seen == seen[:1] * 3


def test_deleted_and_linked_panels_change_the_review_and_the_digest_follows(project: Path) -> None:
    digests = set()
    options: dict[str, Any] = {"base": "main", "panels": ["panels"], "panel_names": ["panels"]}
    for content in ("2\n", "3\n"):
        write(project, {"panels/probe_a.py": content})
        with take(project, **options) as tree:
            digests.add(tree.alters_digest)
    (project / "panels/probe_a.py").unlink()
    with take(project, **options) as tree:
        assert tree.alters == ("panels/probe_a.py",)
        digests.add(tree.alters_digest)
    (project / "panels").rmdir()
    (project / "panels").symlink_to("src")
    git(project, "add", "-A")
    with take(project, **options) as tree:
        assert tree.alters == ("panels", "panels/probe_a.py")
        digests.add(tree.alters_digest)
    assert len(digests) == 4


def test_a_trusted_root_beside_or_below_the_reviewed_folder(project: Path) -> None:
    write(project, {"tools/review/panels/probe_x.py": "1\n", "tools/review/conftest.py": "1\n"})
    commit(project)
    write(project, {"tools/review/panels/probe_x.py": "2\n", "app/b.py": "2\n", "conftest.py": "2\n"})
    review = project / "tools/review"
    expected = ("conftest.py", "tools/review/panels/probe_x.py")
    for reviewed, changed in ((project / "app", {"b.py"}), (project, {"app/b.py", "conftest.py"})):
        with take(
            reviewed, base="main", root=review, panels=[review / "panels"], panel_names=["panels"]
        ) as tree:
            assert tree.alters == expected
            assert set(files(tree)) == changed
            assert tree.trusted_text("conftest.py") == "1\n"


def test_a_trusted_root_in_another_repository_is_out_of_reach(project: Path, tmp_path: Path) -> None:
    review = repository(tmp_path / "review", {"panels/probe_x.py": "1\n"})
    write(project, {"panels/probe_a.py": "2\n", "src/a.py": "2\n"})
    with take(project, base="main", root=review, panels=[review / "panels"], panel_names=["panels"]) as tree:
        assert tree.alters == ()
        assert set(files(tree)) == {"panels/probe_a.py", "src/a.py"}
        assert tree.trusted_text("panels/probe_x.py") is None


def test_only_the_reviewed_folder_is_compared(project: Path) -> None:
    git(project, "checkout", "-q", "-b", "topic")
    commit(project, {"app/b.py": "2\n", "src/a.py": "2\n"})
    git(project, "checkout", "-q", "main")
    git(project.parent, "clone", "-q", "-b", "topic", str(project), "clone")
    for head in ("topic", str(project.parent / "clone/app")):
        with take(project / "app", base="main", head=head) as tree:
            assert set(files(tree)) == {"b.py"}
            assert tree.names == tree.base_names == ("b.py",)


def test_what_is_left_out_and_differs_is_part_of_the_change(project: Path) -> None:
    options: dict[str, Any] = {
        "base": "main",
        "panels": ["panels", "app/in"],
        "panel_names": ["panels"],
        "exclude": ["vendor/**", "*.lock", "**/gen"],
    }
    stays = {"vendor/same.js": "1\n", "reports/same": "1\n", "vendor/mode.sh": "1\n", "vendor/gone.js": "1\n"}
    write(project, {**stays, "vendor/lib.js": "1\n", "panels/pyproject.toml": "[a]\n"})
    commit(project)
    git(project, "checkout", "-q", "-b", "topic")
    write(
        project,
        {
            "src/a.py": "2\n",
            "vendor/lib.js": "2\n",
            "x.lock": "1\n",
            "src/gen/y": "1\n",
            "reports/views.py": "1\n",
            "src/.prun/x.py": "1\n",
            ".prun/x": "1\n",
            "app/in/a.md": "1\n",
            "panels/probe_a.py": "2\n",
            "panels/pyproject.toml": "[b]\n",
        },
    )
    (project / "vendor/gone.js").unlink()
    (project / "vendor/mode.sh").chmod(0o755)
    (project / "vendor/link").symlink_to("lib.js")
    git(project, "add", "-f", "-A")
    expected = {
        ".prun/x": ("added", "excluded by .prun/"),
        "app/in/a.md": ("added", "excluded by app/in/"),
        "panels/pyproject.toml": ("modified", "excluded by panels/"),  # nothing of it changes the review
        "reports/views.py": ("added", "excluded by reports/"),
        "src/.prun/x.py": ("added", "excluded by .prun/"),
        "src/gen/y": ("added", "excluded by **/gen"),
        "vendor/gone.js": ("deleted", "excluded by vendor/**"),
        "vendor/lib.js": ("modified", "excluded by vendor/**"),
        "vendor/link": ("added", "excluded by vendor/**"),
        "vendor/mode.sh": ("modified", "excluded by vendor/**"),
        "x.lock": ("added", "excluded by *.lock"),
    }
    seen = []
    commit(project)
    git(project, "checkout", "-q", "main")
    git(project.parent, "clone", "-q", "-b", "topic", str(project), "clone")
    for head in ("topic", "../clone"):
        with take(project, head=head, **options) as tree:
            seen.append(tree.change)
            out = {n: f.file for n, f in files(tree).items() if f.file.kind == "excluded"}
            assert {n: (f.status, f.note) for n, f in out.items()} == expected
            assert set(files(tree)) - out.keys() == {"src/a.py"}
            assert not [f for f in files(tree).values() if f.hunks and f.path != "src/a.py"]
            assert tree.alters == ("panels/probe_a.py",)
            assert tree.altering_paths == ()
            assert tree.slice_text(["x.lock"]) == (
                "=== x.lock (added, left out: its content is not shown, excluded by *.lock)\n"
            )
            assert not out.keys() & {*tree.names, *tree.base_names}
    git(project, "checkout", "-q", "topic")
    with take(project, **options) as tree:
        assert [*seen, tree.change] == seen[:1] * 3
        before = tree.revision.tree
    write(project, {"vendor/same.js": "edited\n", "vendor/new.js": "untracked\n"})
    with take(project, **options) as tree:
        assert set(files(tree)) - {f.path for f in seen[0].files} == {"vendor/same.js"}  # type: ignore[union-attr]
        assert tree.revision.tree == before
        assert tree.repository_changed() == ()
    with take(project / "src", base="main") as tree:  # what lies outside is not the reviewed folder's
        assert set(files(tree)) == {"a.py", "gen/y", ".prun/x.py"}


def test_a_name_that_is_left_out_takes_no_others_name(project: Path) -> None:
    if os.fsencode("\udce9") != b"\xe9":
        pytest.skip("no such names here")
    write(project, {"out/\udce9": "1\n", "out/%E9": "1\n"})
    git(project, "add", "-f", "-A")
    with take(project, base="main", exclude=["out"]) as tree:
        assert told(tree) == {"out/%E9": ("added", "excluded", ""), "out/%E9~": ("added", "excluded", "")}
    with take(project, base="main", exclude=["out/%E9~"]) as tree:
        assert len(files(tree)) == 2


def test_names_of_the_review_and_of_the_change_are_not_mixed_up(project: Path) -> None:
    write(project, {"conftest.py": "2\n", "src/conftest.py": "2\n", "src/a.py": "2\n"})
    with take(project / "src", base="main", root=project) as tree:
        assert set(files(tree)) == {"a.py", "conftest.py"}  # this conftest.py is not the one that alters
        assert (tree.alters, tree.altering_paths) == (("conftest.py",), ())
    with take(project / "src", base="main", root=project, guarded=["src/a.py"]) as tree:
        assert tree.alters == ("conftest.py", "src/a.py")
        assert tree.altering_paths == ("a.py",)
    with take(project, base="main") as tree:
        assert tree.alters == tree.altering_paths == ("conftest.py",)


def test_what_a_file_of_the_review_was_renamed_to_is_an_ordinary_file(project: Path) -> None:
    write(project, {"conftest.py": numbered(20)})
    commit(project)
    git(project, "mv", "conftest.py", "src/moved.py")
    (project / "app").mkdir(exist_ok=True)
    with take(project, base="main") as tree:
        assert told(tree)["src/moved.py"] == ("renamed", "text", "conftest.py")
        assert (tree.alters, tree.altering_paths) == (("conftest.py",), ())
    git(project, "mv", "src/moved.py", "pytest.ini")
    with take(project, base="main") as tree:
        assert told(tree)["pytest.ini"] == ("renamed", "text", "conftest.py")
        assert (tree.alters, tree.altering_paths) == (("conftest.py", "pytest.ini"), ("pytest.ini",))
    (project / "pytest.ini").unlink()
    with take(project, base="main") as tree:
        assert tree.alters == tree.altering_paths == ("conftest.py",)


@pytest.mark.parametrize("below", ["", "tools/review"])
def test_runs_that_git_tracks_are_told(project: Path, below: str) -> None:
    root = project / below
    write(root, {".prun/runs/1/run.json": "{}\n", "x": "1\n"})
    with take(project, root=root) as tree:
        assert tree.tracked_runs == ()
    git(root, "add", "-f", ".prun")
    with take(project, root=root) as tree:
        assert tree.tracked_runs == (".prun/runs/1/run.json",)
    commit(project)
    git(root, "rm", "-q", "-r", "--cached", ".prun")
    with take(project, root=root) as tree:  # what a commit brought is still on disk
        assert tree.tracked_runs == (".prun/runs/1/run.json",)
    git(project, "commit", "-q", "-m", "gone")
    shutil.rmtree(root / ".prun")
    (root / ".prun").symlink_to("src")
    git(root, "add", "-f", ".prun")
    with take(project, root=root) as tree:
        assert tree.tracked_runs == (".prun",)


def test_runs_tracked_elsewhere_are_not_told(project: Path, tmp_path: Path) -> None:
    write(project, {"src/.prun/runs/1/x": "1\n"})
    commit(project)
    with take(project) as tree:
        assert tree.tracked_runs == ()
    with take(project, root=project / "src") as tree:
        assert tree.tracked_runs == (".prun/runs/1/x",)
    with take(project, root=tmp_path) as tree:
        assert tree.tracked_runs == ()


LINKED: dict[str, str] = {
    "tools/panels/probe_a.py": "1\n",
    "tools/conf.py": "1\n",
    "tools/project.toml": "[tool.ruff]\nx = 1\n",
    "docs/accept.txt": "1\n",
    "docs/policy/x": "1\n",
    "shared/help.py": "1\n",
    "src/a.py": "1\n",
}
"""What links stand for, by name."""


def link(repo: Path, name: str, target: str) -> None:
    (repo / name).parent.mkdir(parents=True, exist_ok=True)
    (repo / name).symlink_to(target)


@pytest.mark.parametrize(
    ("links", "edit", "expected"),
    [
        ({"panels": "tools/panels"}, "tools/panels/probe_a.py", True),
        ({"panels": "tools/panels"}, "tools/panels/new.py", True),
        ({"panels": "tools/panels"}, "tools/conf.py", False),
        ({"panels": "one", "one": "two/../three", "three": "tools/panels"}, "tools/panels/probe_a.py", True),
        ({"panels": "{top}/tools/panels"}, "tools/panels/probe_a.py", True),
        ({"panels": "t/panels", "t": "tools"}, "tools/panels/probe_a.py", True),
        ({"panels/help.py": "../shared/help.py"}, "shared/help.py", True),
        ({"panels": "tools/panels", "tools/panels/help.py": "../../shared/help.py"}, "shared/help.py", True),
        ({"conftest.py": "tools/conf.py"}, "tools/conf.py", True),
        ({"pyproject.toml": "tools/project.toml"}, "tools/project.toml", True),
        ({"accept.toml": "docs/accept.txt"}, "docs/accept.txt", True),
        ({"policy": "docs/policy"}, "docs/policy/x", True),
        ({"deep": "docs"}, "docs/policy/x", True),
        ({"other": "docs"}, "docs/policy/x", False),
        ({"panels": "../outside"}, "src/a.py", False),
        ({"panels": "panels"}, "src/a.py", False),
        ({"panels": "."}, "src/a.py", True),
    ],
)
def test_what_links_of_the_review_stand_for_changes_it_too(
    tmp_path: Path, links: dict[str, str], edit: str, expected: bool
) -> None:
    repo = repository(tmp_path / "linked", LINKED)
    write(repo, {"two/x": "1\n"})
    for name, target in links.items():
        link(repo, name, target.format(top=repo))
    commit(repo)
    options: dict[str, Any] = {
        "base": "main",
        "panel_names": ["panels"],
        "guarded": ["policy/**", "accept.toml", "deep/policy/x"],
    }
    git(repo, "checkout", "-q", "-b", "topic")
    write(repo, {edit: "[tool.ruff]\nx = 2\n"})
    git(repo, "add", "-A")
    seen = []
    with take(repo, **options) as tree:
        seen.append((tree.alters, tree.altering_paths, tree.alters_digest))
    commit(repo)
    git(repo, "checkout", "-q", "main")
    with take(repo, head="topic", **options) as tree:
        seen.append((tree.alters, tree.altering_paths, tree.alters_digest))
    assert [one[:2] for one in seen] == [((edit,), (edit,)) if expected else ((), ())] * 2
    assert seen[0] == seen[1]


def test_a_link_that_the_change_brings_is_told_with_what_it_stands_for(tmp_path: Path) -> None:
    repo = repository(tmp_path / "linked", {**LINKED, "panels/probe_a.py": "1\n", "src/b/probe_x.py": "1\n"})
    options: dict[str, Any] = {"base": "base", "panel_names": ["panels"]}
    git(repo, "branch", "base")
    shutil.rmtree(repo / "panels")
    link(repo, "panels", "src/b")
    git(repo, "add", "-A")
    with take(repo, **options) as tree:
        assert tree.alters == ("panels", "panels/probe_a.py")
        first = tree.alters_digest
    commit(repo, {"src/a.py": "2\n"})
    with take(repo, **options) as tree:
        assert tree.alters_digest == first
    commit(repo, {"src/b/probe_x.py": "2\n"})
    with take(repo, **options) as tree:
        assert tree.alters == ("panels", "panels/probe_a.py", "src/b/probe_x.py")
        second = tree.alters_digest
    # What it stands for is the same in the base, and part of what is accepted all the same.
    git(repo, "checkout", "-q", "-b", "other", "base")
    commit(repo, {"src/b/probe_x.py": "2\n"})
    git(repo, "branch", "-f", "base")
    shutil.rmtree(repo / "panels")
    link(repo, "panels", "src/b")
    git(repo, "add", "-A")
    with take(repo, **options) as tree:
        assert tree.alters == ("panels", "panels/probe_a.py")
        assert len({first, second, tree.alters_digest}) == 3
    with take(repo / "src", root=repo, **options) as tree:
        assert tree.alters == ("panels", "panels/probe_a.py")


def test_a_link_on_the_base_alone_and_one_on_the_trusted_disk_count(project: Path) -> None:
    git(project, "checkout", "-q", "-b", "topic")
    commit(project, {"src/a.py": "2\n"})
    git(project, "checkout", "-q", "main")
    shutil.rmtree(project / "panels")
    link(project, "panels", "src")
    options: dict[str, Any] = {"base": "main", "head": "topic", "panel_names": ["panels"]}
    with take(project, **options) as tree:  # not committed, and what pytest runs
        assert tree.alters == ("src/a.py",)
    commit(project)
    git(project, "checkout", "-q", "topic")
    with take(project, **options) as tree:  # what the change goes to
        assert tree.alters == ("src/a.py",)


def test_the_digest_covers_what_altered_files_were(project: Path) -> None:
    digests = []
    for before in ("1\n", "0\n"):
        git(project, "checkout", "-q", "-B", "topic", "main")
        commit(project, {"conftest.py": before})
        write(project, {"conftest.py": "2\n"})
        with take(project, base="topic") as tree:
            assert tree.alters == ("conftest.py",)
            digests.append(tree.alters_digest)
    (project / "conftest.py").chmod(0o755)
    with take(project, base="topic") as tree:
        digests.append(tree.alters_digest)
    assert len(set(digests)) == 3


# --- redaction ------------------------------------------------------------------------------


@dataclass
class Stars:
    """Masks every ``s3cret``."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    spots: tuple[Any, ...] = ()

    def clean(self, blob: str) -> bool:
        return blob in self.known

    def __call__(self, name: str, blob: str, content: bytes) -> bytes:
        self.asked.append((name, blob))
        if b"s3cret" not in content:
            self.known.add(blob)
            return content
        self.spots = (*self.spots, (name, "found"))
        return content.replace(b"s3cret", b"******")


def test_what_is_masked_is_masked_everywhere(repo: Path) -> None:
    write(repo, {"src/key.py": "KEY = 's3cret'\na\n", "src/old.py": "OLD = 's3cret1'\n", "run": "s3cret\n"})
    (repo / "run").chmod(0o755)
    commit(repo)
    write(repo, {"src/key.py": "KEY = 's3cret'\nb\n", "src/old.py": "OLD = 's3cret2'\n"})
    stars = Stars()
    with take(repo, base="main", redact=stars) as tree, tree.materialise() as shot:
        assert tree.read("src/key.py") == ("KEY = '******'", "b")
        assert tree.read_base("src/key.py") == ("KEY = '******'", "a")
        assert shot.beside is not None
        written = [p.read_bytes() for top in (shot.path, shot.beside) for p in top.rglob("*") if p.is_file()]
        assert not [content for content in written if b"s3cret" in content]
        assert (shot.path / "run").stat().st_mode & 0o100
        assert files(tree)["src/key.py"].added == {2}
        assert tree.redacted == stars.spots
        assert len(stars.asked) == len(set(stars.asked))
        assert "3 shown with secrets masked: run, src/key.py, src/old.py" in tree.revision.notes
        assert tree.changed(shot) == ()
    assert set(files(tree)) == {"src/key.py", "src/old.py"}
    stars.asked.clear()
    with take(repo, base="main", redact=stars):
        assert {name for name, blob in stars.asked if blob} == {"src/key.py", "src/old.py", "run"}


def test_where_only_what_is_masked_differs_that_is_said(repo: Path) -> None:
    commit(repo, {"key": "s3cret\n"})
    write(repo, {"key": "******\n"})
    with take(repo, base="main", redact=Stars()) as tree:
        file = files(tree)["key"]
        assert (file.file.kind, file.hunks, file.file.note) == ("masked", (), "only what is masked differs")
        assert tree.slice_text(["key"]) == (
            "=== key (modified, no line that is shown differs, only what is masked differs)\n"
        )
    (repo / "key").chmod(0o755)
    with take(repo, base="main", redact=Stars()) as tree:
        record = files(tree)["key"].file
        assert record.kind == "masked"
        assert record.note == "mode 100644 -> 100755; only what is masked differs"
    write(repo, {"long": numbered(20) + "s3cret1\n"})
    commit(repo)
    git(repo, "branch", "-f", "base")
    (repo / "long").rename(repo / "moved")
    edited(repo / "moved", "s3cret1", "******1")
    git(repo, "add", "-A")
    with take(repo, base="base", redact=Stars()) as tree:
        assert told(tree) == {"moved": ("renamed", "masked", "long")}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_masked_line_that_differs_is_shown_to_differ(repo: Path, end: str) -> None:
    mask = "\x1f" + "0" * 32
    lines = [
        "def f():",
        " a = 's3cret'",
        " b = 's3cret1'",
        *(f" {n}" for n in range(9)),
        " c = 's3cret'",
        " d",
    ]
    commit(repo, {"key": end.join(lines), "alone": "s3cret"})
    before = git(repo, "rev-parse", "HEAD")
    # One line looks like another and is none; one is edited in the open; one stays.
    lines[1], lines[-1] = " a = '******'", f" D {mask}"
    write(repo, {"key": end.join(lines), "alone": "s3cret\nmore"})
    with take(repo, base=before, redact=Stars()) as tree:
        key = files(tree)["key"]
        assert (key.file.kind, set(key.added), set(key.deleted)) == ("text", {2, 14}, {2, 14})
        assert "lines that look alike differ in what is masked" in key.file.note
        texts = [line for hunk in key.hunks for line in hunk.lines]
        assert texts.count("- a = '******'") == texts.count("+ a = '******'") == 1
        assert f"+ D {mask}" in texts
        assert "  c = '******'" in texts
        assert "alike" not in files(tree)["alone"].file.note
        assert "\x1f" not in tree.slice_text(["key"]).replace(mask, "")


def test_masks_and_what_is_withheld_change_the_hashes(repo: Path) -> None:
    write(repo, {"key": "s3cret\n"})
    git(repo, "add", "-A")
    variants: list[dict[str, Any]] = [{}, {"redact": Stars()}, {"never": ["key"]}, {"never": ["text"]}]
    whole, slices = set(), set()
    for options in variants:
        with take(repo, base="main", **options) as tree:
            whole.add(tree.content_hash())
            slices.add(tree.slice_hash(["key"]))
    assert len(whole) == 4
    assert len(slices) == 3


# --- the snapshot, and what lies beside it --------------------------------------------------


def test_what_lies_beside_the_snapshot(repo: Path) -> None:
    renamed(repo)
    write(repo, {"src/a.py": "one\nTWO\n", "bin": b"\0x", "new": "1\n"})
    git(repo, "add", "-A")
    with take(repo, base="main") as tree, tree.materialise() as shot:
        assert tree.change is not None
        beside = shot.beside
        assert beside is not None
        assert not beside.is_relative_to(shot.path)
        assert (beside / "CHANGE.diff").read_text() == tree.slice_text([f.path for f in tree.change.files])
        assert (beside / "CHANGED.tsv").read_text().splitlines() == [
            "path\told path\tstatus\tkind\tadded\tdeleted\tnote",
            "bin\tbin\tmodified\tbinary\t0\t0\t",
            "moved\ttext\trenamed\ttext\t1\t1\t",
            "new\t\tadded\ttext\t1\t0\t",
            "src/a.py\tsrc/a.py\tmodified\ttext\t1\t1\t",
        ]
        found = {str(p.relative_to(beside / "base")) for p in (beside / "base").rglob("*") if p.is_file()}
        assert found == {"bin", "text", "src/a.py"}
        assert (beside / "base/src/a.py").read_text() == "one\ntwo\n"
        assert not any(p.stat().st_mode & 0o222 for p in [beside, *beside.rglob("*")])
        assert tree.changed(shot) == ()
        (beside / "base/src").chmod(0o755)
        (beside / "base/src/a.py").unlink()
        (beside / "base/src/a.py").write_text("one\nTWO\n")
        [reason] = tree.changed(shot)
        assert reason.code == snapshot.SNAPSHOT_CHANGED
        assert reason.text == "content changed in what lies beside the snapshot: base/src/a.py"
    assert not beside.exists()


def test_slices_survive_a_rebase_and_follow_content(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "topic")
    commit(repo, {"src/a.py": "one\nTWO\n", "text": "x\n"})

    def hashes() -> tuple[str, str, str]:
        with take(repo, base="main", head="topic") as tree:
            assert tree.slice_hash(["text", "src/a.py"]) == tree.slice_hash(["src/a.py", "text"])
            return (
                tree.slice_hash(["src/a.py"]),
                tree.slice_hash(["text"]),
                tree.slice_hash(["src/a.py", "text"]),
            )

    first = hashes()
    git(repo, "checkout", "-q", "main")
    commit(repo, {"other": "1\n"})
    git(repo, "checkout", "-q", "topic")
    git(repo, "rebase", "-q", "main")
    assert hashes() == first
    commit(repo, {"text": "y\n"})
    second = hashes()
    assert second[0] == first[0]
    assert second[1] != first[1]
    assert second[2] != first[2]


def test_a_commit_is_no_work_tree_that_could_change(branches: Path) -> None:
    with take(branches, base="main", head="topic") as tree:
        write(branches, {"text": "edited meanwhile\n"})
        assert tree.repository_changed() == ()
        git(branches, "tag", "moved")
        assert [r.code for r in tree.repository_changed()] == ["repository-changed"]


def test_an_edit_of_another_checkout_is_told(branches: Path) -> None:
    git(branches.parent, "clone", "-q", "-b", "topic", str(branches), "clone")
    with take(branches, base="main", head="../clone") as tree:
        assert tree.repository_changed() == ()
        write(branches.parent / "clone", {"text": "edited meanwhile\n"})
        assert [r.code for r in tree.repository_changed()] == ["worktree-changed"]
