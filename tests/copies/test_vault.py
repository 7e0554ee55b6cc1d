"""The vault with real git: what plain git says of the same trees is what it says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prun_review import git as ours
from prun_review.errors import TreeError
from prun_review.vault import ABSENT, LEAVES, SUBMODULE, Vault
from prun_review.written import Touched
from tests.repokit import git, repository, write

BASE: dict[str, str | bytes] = {
    "keep": "kept\n",
    "edit": "one\ntwo\nthree\n",
    "gone": "gone\n",
    "old/name.txt": "".join(f"line {n}\n" for n in range(20)),
    "bin": bytes(range(256)),
    "tool.sh": "#!/bin/sh\n",
    "crlf": "a\r\nb\r\n",
    "empty": "",
    "becomes": "a file\n",
    "folder/x": "x\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", BASE)


@pytest.fixture
def vault(repo: Path, tmp_path: Path) -> Vault:
    return Vault.create(tmp_path / "vault", ours.find(repo))


def commit(repo: Path, onto: str = "") -> str:
    """What lies in the work tree, as a commit."""
    git(repo, "add", "-A", "-f")
    git(repo, "commit", "-q", "--allow-empty", "-m", "next")
    return git(repo, "rev-parse", "HEAD")


def everything(repo: Path) -> str:
    """A commit with every kind of change."""
    write(repo, {"edit": "one\n2\nthree\n", "bin": b"\0\1\2", "new": "new\n", "crlf": "a\r\nB\r\n"})
    write(repo, {"now-empty": "", os.fsdecode(b'caf\xe9 "q"\t'): "odd\n"})
    (repo / "gone").unlink()
    git(repo, "mv", "old/name.txt", "newname.txt")
    (repo / "tool.sh").chmod(0o755)
    (repo / "becomes").unlink()
    write(repo, {"becomes/inside": "inside\n"})
    (repo / "folder/x").unlink()
    (repo / "folder").rmdir()
    (repo / "folder").write_text("now a file\n")
    (repo / "empty").unlink()
    (repo / "empty").symlink_to("keep")
    write(repo, {".gitattributes": "* -diff -text\nedit binary\nnew merge=union ident\n"})
    return commit(repo)


def test_every_kind_of_change_is_named(repo: Path, vault: Vault) -> None:
    base = vault.commit_of("HEAD")
    found = {file.path: file for file in vault.touched(base, vault.commit_of(everything(repo)))}
    told = {path: (f.status, f.old_path, f.old_mode, f.mode) for path, f in found.items()}
    plain = "100644"
    assert told == {
        ".gitattributes": ("added", "", "", plain),
        "becomes": ("deleted", "", plain, ""),
        "becomes/inside": ("added", "", "", plain),
        "bin": ("modified", "", plain, plain),
        'caf%E9 "q"%09': ("added", "", "", plain),
        "crlf": ("modified", "", plain, plain),
        "edit": ("modified", "", plain, plain),
        "empty": ("type", "", plain, "120000"),
        "folder": ("added", "", "", plain),
        "folder/x": ("deleted", "", plain, ""),
        "gone": ("deleted", "", plain, ""),
        "new": ("added", "", "", plain),
        "newname.txt": ("renamed", "old/name.txt", plain, plain),
        "now-empty": ("added", "", "", plain),
        "tool.sh": ("mode", "", plain, "100755"),
    }
    assert (found["edit"].added, found["edit"].deleted, found["edit"].binary) == (1, 1, False)
    assert (found["bin"].added, found["bin"].deleted, found["bin"].binary) == (0, 0, True)


def test_a_patch_applies_with_plain_git_and_in_the_vault(repo: Path, vault: Vault, tmp_path: Path) -> None:
    base, new = vault.commit_of("HEAD"), everything(repo)
    patch = vault.diff(base, new)
    git(tmp_path, "clone", "-q", str(repo), "clone")
    clone = tmp_path / "clone"
    git(clone, "checkout", "-q", base)
    git(clone, "apply", "--index", "-", stdin=patch)
    wanted = git(repo, "rev-parse", f"{new}^{{tree}}")
    assert git(clone, "write-tree") == wanted
    assert vault.store_patch(base, patch) == wanted == vault.tree_of(new)
    assert vault.diff(base, base) == b""
    assert vault.compared(base, new) == (patch, Vault.open(vault.path).touched(base, new))
    assert vault.compared(base, base) == (b"", ())
    assert vault.store_patch(base, b"") == vault.tree_of(base)


@pytest.mark.parametrize(
    "name", [b"../out", b".git/config", b"a/.GIT/hooks/x", b"/etc/x", "a/.g\u200cit/x".encode(), b"git~1/x"]
)
def test_a_patch_with_a_name_that_cannot_be_is_refused(vault: Vault, name: bytes) -> None:
    patch = b"diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+x\n" % (
        name,
        name,
        name,
    )
    with pytest.raises(TreeError, match="git apply"):
        vault.store_patch(vault.commit_of("HEAD"), patch)


def test_a_patch_for_something_else_is_refused(repo: Path, vault: Vault) -> None:
    base = vault.commit_of("HEAD")
    patch = vault.diff(base, everything(repo))
    write(repo, {"edit": "quite\nanother\n"})
    with pytest.raises(TreeError, match="git apply"):
        vault.store_patch(vault.commit_of(commit(repo)), patch)


def test_a_commit_is_what_git_makes_of_the_same(repo: Path, vault: Vault) -> None:
    base = vault.commit_of("HEAD")
    made = vault.commit(vault.tree_of(base), (base,), "caf\xe9: \udcff\0\n\nwhy\n", ("Ann <b>\n", "a@b.c"))
    when = vault.run("log", "-1", "--format=%ct", made).decode().strip()
    env = {"GIT_AUTHOR_NAME": "Ann  b", "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_NAME": "prun_review"}
    env |= {"GIT_COMMITTER_EMAIL": "prun_review@localhost"}
    env |= dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"@{when} +0000")
    message = b"caf\xc3\xa9: \\udcff\n\nwhy\n"
    args = ("commit-tree", vault.tree_of(base), "-p", base)
    assert vault.run(*args, stdin=message, env=env).decode().strip() == made
    vault.run("fsck", "--strict", made)
    with pytest.raises(TreeError, match="whole object names"):
        vault.commit("HEAD^{tree}", (base,), "x")


# --- merging ---

SIDES: list[tuple[str, dict[str, str | None], dict[str, str | None], set[tuple[str, str]]]] = [
    ("nothing", {}, {}, set()),
    ("the same", {"edit": "x\n"}, {"edit": "x\n"}, set()),
    ("other files", {"edit": "x\n"}, {"keep": "y\n", "new": "n\n"}, set()),
    ("one only", {"edit": "x\n", "gone": None}, {}, set()),
    ("lines apart", {"old/name.txt": "top\n{}"}, {"old/name.txt": "{}end\n"}, set()),
    ("the same line", {"edit": "one\nA\nthree\n"}, {"edit": "one\nB\nthree\n"}, {("edit", "contents")}),
    ("both new", {"new": "a\n"}, {"new": "b\n"}, {("new", "contents")}),
    ("edited and deleted", {"edit": "x\n"}, {"edit": None}, {("edit", "modify/delete")}),
    ("union does not count", {".gitattributes": "* merge=union\n", "edit": "one\nA\nthree\n"},
     {".gitattributes": "* merge=union\n", "edit": "one\nB\nthree\n"}, {("edit", "contents")}),
]  # fmt: skip


def changed(vault: Vault, repo: Path, base: str, edits: Mapping[str, str | None]) -> str:
    git(repo, "checkout", "-q", base)
    for name, text in edits.items():
        if text is None:
            (repo / name).unlink()
        else:
            write(repo, {name: text.replace("{}", str(BASE.get(name, "")))})
    return vault.tree_of(commit(repo))


@pytest.mark.parametrize(("name", "left", "right", "clashes"), SIDES, ids=[side[0] for side in SIDES])
def test_two_changes_put_together(
    repo: Path,
    vault: Vault,
    name: str,
    left: dict[str, str | None],
    right: dict[str, str | None],
    clashes: set[tuple[str, str]],
) -> None:
    base = vault.commit_of("HEAD")
    trees = [changed(vault, repo, base, edits) for edits in (left, right)]
    merged = vault.merge(vault.tree_of(base), *trees)
    assert {(c.path, c.kind) for c in merged.conflicts} == clashes
    assert merged.clean is not bool(clashes)
    both = [e for e in (*left.items(), *right.items()) if not clashes]
    whole = {file.path for file in vault.touched(base, merged.tree)}
    assert {path for path, _ in both} <= whole
    assert vault.merge(vault.tree_of(base), *reversed(trees)).clean is merged.clean


def test_a_conflict_shows_both_sides(repo: Path, vault: Vault) -> None:
    base = vault.commit_of("HEAD")
    trees = [changed(vault, repo, base, {"edit": f"one\n{word}\nthree\n"}) for word in ("LEFT", "RIGHT")]
    (clash,) = vault.merge(vault.tree_of(base), *trees).conflicts
    assert "<<<<<<< ours\nLEFT\n=======\nRIGHT\n>>>>>>> theirs\n" in clash.text


def test_binary_content_and_folders_clash(repo: Path, vault: Vault) -> None:
    base = vault.commit_of("HEAD")
    trees = []
    for data in (b"\0left", b"\0right"):
        git(repo, "checkout", "-q", base)
        write(repo, {"bin": data})
        trees.append(vault.tree_of(commit(repo)))
    assert not vault.merge(vault.tree_of(base), *trees).clean
    trees = [changed(vault, repo, base, edits) for edits in ({"thing": "file\n"}, {"thing/x": "below\n"})]
    assert {c.kind for c in vault.merge(vault.tree_of(base), *trees).conflicts} == {"file/directory"}


LINES = st.lists(st.sampled_from("abc"), max_size=6).map(lambda found: "".join(f"{c}\n" for c in found))
FILES = st.dictionaries(st.sampled_from(["a", "b", "d/e"]), LINES, max_size=3)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(base=FILES, left=FILES, right=FILES)
def test_no_side_is_ever_dropped(
    vault: Vault, base: dict[str, str], left: dict[str, str], right: dict[str, str]
) -> None:
    """A file that only one side changed is that side's; one that both changed differently is neither's."""
    trees = [_tree(vault, files) for files in (base, left, right)]
    merged = vault.merge(*trees)
    if not merged.clean:
        return
    whole = {e.name.decode(): e.sha for e in vault.entries(merged.tree)}
    sides = [{e.name.decode(): e.sha for e in vault.entries(tree)} for tree in trees]
    renamed = any(f.status == "renamed" for tree in trees[1:] for f in vault.touched(trees[0], tree))
    for name in {"a", "b", "d/e"} if not renamed else ():
        was, ours_, theirs = (side.get(name) for side in sides)
        if ours_ == was:
            assert whole.get(name) == theirs
        elif theirs in (was, ours_):
            assert whole.get(name) == ours_


def _tree(vault: Vault, files: dict[str, str]) -> str:
    with vault.index() as index:
        for name, text in files.items():
            sha = vault.run("hash-object", "-w", "--stdin", stdin=text.encode()).decode().strip()
            vault.run("update-index", "--add", "--cacheinfo", f"100644,{sha},{name}", index=index)
        return vault.write_tree(index)


# --- commits ---


def test_the_same_commit_has_the_same_name_at_any_time(vault: Vault) -> None:
    base = vault.commit_of("HEAD")
    made = {vault.commit(vault.tree_of(base), (base,), "a\n", ("A <x>\n", "a@b")) for _ in range(2)}
    (sha,) = made
    said = vault.run("cat-file", "commit", sha).decode()
    assert "author A  x <a@b> " in said
    assert vault.tree_of(sha) == vault.tree_of(base)
    when = [int(vault.run("log", "--no-walk", "--format=%ct", c)) for c in (base, sha)]
    assert when[1] == when[0] + 1


def test_what_names_no_commit_is_refused(vault: Vault) -> None:
    for rev in ("nowhere", "HEAD:edit", "--all", "HEAD..HEAD"):
        with pytest.raises(TreeError, match="is no commit"):
            vault.commit_of(rev)


def test_it_is_opened_again(vault: Vault) -> None:
    base = vault.commit_of("HEAD")
    sha = vault.commit(vault.tree_of(base), (base,), "a\n")
    again = Vault.open(vault.path)
    assert again.tree_of(sha) == vault.tree_of(base)
    with pytest.raises(TreeError, match="cannot be read"):
        Vault.open(vault.path / "nowhere")


# --- files ---


def test_files_lie_there_as_they_are_stored(tmp_path: Path) -> None:
    attributes = (
        "* text=auto eol=crlf ident\n*.utf16 working-tree-encoding=UTF-16\n* filter=lfs export-ignore\n"
    )
    repo = repository(tmp_path / "repo", {"a": "$Id$\nlf\n", "b.utf16": "x\n", "c": "cr\r\n"})
    write(repo, {".gitattributes": attributes})
    git(repo, "add", ".gitattributes")
    git(repo, "commit", "-qm", "attributes")
    vault = Vault.create(tmp_path / "vault", ours.find(repo))
    vault.materialise(vault.commit_of("HEAD"), tmp_path / "out")
    stored = {name: subprocess.check_output(["git", "show", f"HEAD:{name}"], cwd=repo) for name in "ac"}
    assert {name: (tmp_path / "out" / name).read_bytes() for name in "ac"} == stored
    assert (tmp_path / "out/b.utf16").read_bytes() == b"x\n"
    assert not (tmp_path / "out/.git").exists()


def test_links_that_leave_are_not_made(repo: Path, vault: Vault, tmp_path: Path) -> None:
    inner = repository(tmp_path / "inner")
    git(repo, "submodule", "--quiet", "add", str(inner), "sub")
    links = {"absolute": "/etc/passwd", "up": "../x", "folder/up": "../keep", "in": "keep", "self": "self"}
    for name, target in links.items():
        (repo / name).symlink_to(target)
    unmade = vault.materialise(vault.commit_of(commit(repo)), tmp_path / "out")
    assert unmade == {b"absolute": LEAVES, b"up": LEAVES, b"sub": SUBMODULE}
    out = tmp_path / "out"
    assert {p.name for p in out.iterdir() if p.is_symlink()} == {"in", "self"}
    assert os.readlink(out / "folder/up") == "../keep"
    with pytest.raises(TreeError):
        vault.materialise("HEAD", out)


def test_what_a_partial_clone_lacks_is_named(repo: Path, tmp_path: Path) -> None:
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo}", "part")
    part = tmp_path / "part"
    git(part, "show", "HEAD:edit")
    vault = Vault.create(tmp_path / "vault", ours.find(part))
    unmade = vault.materialise(vault.commit_of("HEAD"), tmp_path / "out")
    assert set(unmade.values()) == {ABSENT}
    assert unmade.keys() == {name.encode() for name in BASE} - {b"edit"}


# --- bringing a branch into the user's repository ---


def state(repo: Path) -> dict[str, bytes]:
    """Every file of its git directory."""
    top = ours.find(repo).common
    return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*") if p.is_file()}


def delivered(vault: Vault, repo: Path, name: str = "run1", text: str = "new\n") -> str:
    base = vault.commit_of("HEAD")
    tree = vault.store_patch(base, _adding("added", text))
    sha = vault.commit(tree, (base,), "what the run made\n")
    vault.branch(name, sha)
    vault.deliver(ours.find(repo), name)
    return sha


def _adding(name: str, text: str) -> bytes:
    head = f"diff --git a/{name} b/{name}\nnew file mode 100644\n--- /dev/null\n+++ b/{name}\n"
    return f"{head}@@ -0,0 +1 @@\n+{text}".encode()


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_only_objects_and_one_ref_arrive(tmp_path: Path, form: str) -> None:
    repo = repository(tmp_path / "repo", BASE, f"--object-format={form}")
    vault = Vault.create(tmp_path / "vault", ours.find(repo))
    before = state(repo)
    sha = delivered(vault, repo)
    after = state(repo)
    assert {name for name, data in before.items() if after.get(name) != data} == set()
    new = {name for name in after if name not in before and not name.startswith("objects/pack/")}
    assert new == {"refs/heads/prun/run1", "logs/refs/heads/prun/run1"}
    assert git(repo, "log", "--format=%H %s", "prun/run1").splitlines()[0] == f"{sha} what the run made"
    assert git(repo, "show", "prun/run1:added") == "new"
    git(repo, "fsck", "--strict", "--full")
    again = state(repo)
    vault.deliver(ours.find(repo), "run1")
    assert state(repo) == again
    git(repo, "merge", "-q", "prun/run1")


def test_a_branch_of_that_name_is_never_moved(repo: Path, vault: Vault) -> None:
    git(repo, "branch", "prun/run1")
    before = state(repo)
    with pytest.raises(TreeError, match="is there already, with another commit"):
        delivered(vault, repo)
    assert state(repo) == before


def test_a_branch_that_stands_in_the_way_is_said(repo: Path, vault: Vault) -> None:
    git(repo, "branch", "prun")
    with pytest.raises(TreeError, match="update-ref"):
        delivered(vault, repo)


@pytest.mark.parametrize("name", ["../x", "a b", "", "-x", "a/b", "x.lock"])
def test_a_name_that_is_none_of_a_branch(vault: Vault, name: str) -> None:
    with pytest.raises(TreeError, match="cannot be the name"):
        vault.branch(name, vault.commit_of("HEAD"))


def _linked(repo: Path, tmp: Path) -> Path:
    git(repo, "worktree", "add", "-q", str(tmp / "linked"))
    return tmp / "linked"


def _shallow(repo: Path, tmp: Path) -> Path:
    write(repo, {"more": "x\n"})
    commit(repo)
    git(tmp, "clone", "-q", "--depth=1", f"file://{repo}", "short")
    return tmp / "short"


def _sparse(repo: Path, tmp: Path) -> Path:
    git(repo, "sparse-checkout", "set", "folder")
    return repo


def _partial(repo: Path, tmp: Path) -> Path:
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(tmp, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo}", "part")
    return tmp / "part"


def _borrowing(repo: Path, tmp: Path) -> Path:
    git(tmp, "clone", "-q", "--shared", str(repo), "borrower")
    return tmp / "borrower"


@pytest.mark.parametrize("make", [_linked, _shallow, _sparse, _partial, _borrowing], ids=lambda f: f.__name__)
def test_repositories_of_all_kinds(repo: Path, tmp_path: Path, make: object) -> None:
    checkout = make(repo, tmp_path)  # type: ignore[operator]
    vault = Vault.create(tmp_path / "vault", ours.find(checkout))
    sha = delivered(vault, checkout)
    assert git(checkout, "rev-parse", "refs/heads/prun/run1") == sha
    assert git(checkout, "diff", "--name-only", "HEAD", "prun/run1") == "added"


def test_a_touched_file_knows_both_its_names() -> None:
    assert Touched("new", "renamed", "old").paths == ("new", "old")
