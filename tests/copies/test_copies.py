"""The copies themselves: where they lie, what they hold, what does not get out of them."""

from __future__ import annotations

import os
import socket
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prun_review import copies, harvest
from prun_review.copies import Copies
from prun_review.errors import TreeError
from prun_review.repostate import repository_changes, repository_state
from tests.copies import kit
from tests.copies.kit import COMMIT, EDIT, Bench, applied, codes, content, unit, work
from tests.repokit import cache_home, git, repository, write

# --- the copy itself ---


def test_a_copy_is_a_repository_with_one_commit(bench: Bench) -> None:
    write(bench.repo, {"secret-history": "x\n"})
    git(bench.repo, "add", "-A")
    git(bench.repo, "commit", "-qm", "second")
    bench.base = bench.vault.commit_of("HEAD")
    copy = bench.open()
    assert git(copy.path, "rev-list", "--all", "HEAD").split() == [bench.base]
    assert git(copy.path, "cat-file", "--batch-all-objects", "--batch-check").count("commit") == 1
    assert git(copy.path, "status", "--short", "--branch") == "## prun"
    assert git(copy.path, "remote") == ""
    assert git(copy.path, "config", "core.longpaths") == "true"
    git(copy.path, "fsck", "--strict", "--full")
    theirs = {p.stat().st_ino for p in (bench.repo / ".git").rglob("*") if p.is_file()}
    here = [p for p in copy.path.rglob("*") if p.is_file() and not p.is_symlink()]
    assert not [p for p in here if p.stat().st_nlink != 1 or p.stat().st_ino in theirs]
    assert not (copy.path / ".git/objects/info/alternates").exists()
    assert copy.notes == ()


def test_it_lies_where_no_sandbox_lets_others_write(bench: Bench, cache: Path) -> None:
    copy = bench.open()
    assert copy.path.is_relative_to(cache / "prun_review/copies")
    assert stat.S_IMODE(copy.folder.stat().st_mode) == 0o700


def test_a_place_inside_the_repository_is_passed_over(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(bench.repo / "cache"))
    monkeypatch.setenv("HOME", str(cache))
    with Copies(bench.vault, bench.run_dir) as others:
        out = bench.run_dir / "units/x/1"
        out.mkdir(parents=True)
        assert others.open(bench.base, "x", 1, out).path.is_relative_to(cache / ".cache/prun_review/copies")


def test_a_system_without_that_cp(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.repo / "link").symlink_to("README")
    (bench.repo / "README").chmod(0o755)
    git(bench.repo, "add", "-A")
    git(bench.repo, "commit", "-qm", "more")
    bench.base = bench.vault.commit_of("HEAD")
    monkeypatch.setattr(copies, "_CP", "/nonexistent/cp")
    copy = bench.open()
    assert git(copy.path, "status", "--short") == ""
    assert copy.harvest(unit()).empty


def test_sixteen_at_once(bench: Bench) -> None:
    def one(n: int) -> tuple[int, dict[str, str]]:
        out = bench.run_dir / f"units/u{n}/1"
        out.mkdir(parents=True)
        copy = bench.copies.open(bench.base, f"u{n}", 1, out)
        work(copy.path, f"echo {n} > mine{n}; echo {n} >> src/a.py; git add -A; git commit -qm {n}")
        patch = copy.harvest(unit())
        copy.close()
        assert patch.breaches == ()
        assert not copy.folder.exists()
        assert content(bench.vault, patch.tree)["src/a.py"][1] == b"one\ntwo\nthree\n%d\n" % n
        return patch.commits, {file.path: file.status for file in patch.files}

    before = repository_state(bench.repo, index=True)
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(one, range(16)))
    assert found == [(1, {f"mine{n}": "added", "src/a.py": "modified"}) for n in range(16)]
    assert repository_changes(before, repository_state(bench.repo, index=True)) == ()


def test_ten_thousand_files(bench: Bench, tmp_path: Path) -> None:
    # Names of one file: a file system may take minutes to make so many, and nothing is shown by that.
    link = "import os; [os.link('0', str(n)) for n in range(1, 10000)]"
    patch = bench.work(f'mkdir many; cd many; echo x > 0; {sys.executable} -c "{link}"')
    assert len(patch.files) == 10_000
    assert patch.breaches == ()
    assert applied(tmp_path, bench.repo, patch, bench.text()) == patch.tree


@pytest.mark.parametrize(
    ("limit", "value", "script"),
    [
        ("FILES", 3, "touch a b c d"),
        ("BYTES", 10, "echo more than ten bytes > a"),
        ("FILES", 2, "rm -r src README"),
    ],
)
def test_too_much_is_not_taken(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, script: str
) -> None:
    monkeypatch.setattr(harvest, limit, value)
    patch = bench.work(script)
    assert codes(patch) == {"too-large"}
    assert patch.files == ()


def test_writing_outside_changes_no_patch_and_is_told_by_the_repository(bench: Bench) -> None:
    before = repository_state(bench.repo, index=True)
    where = str(bench.repo)
    patch = bench.work("echo x > $R/src/outside; git -C $R add -A".replace("$R", where))
    assert patch.empty
    (reason,) = repository_changes(before, repository_state(bench.repo, index=True))
    assert reason.text == "index of the repository changed during the review: src/outside"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("git -C $R symbolic-ref HEAD refs/heads/other", "refs of the repository changed"),
        ("git -C $R checkout -q --detach", "refs of the repository changed"),
        ("git -C $R tag x", "refs of the repository changed during the review: refs/tags/x"),
        ("git -C $R config a.b c", "configuration of the repository changed"),
        ("mkdir -p $R/.git/hooks; echo x > $R/.git/hooks/pre-push", "hooks of the repository changed"),
        ("git -C $R rm -q --cached README", "index of the repository changed during the review: README"),
        ("git -C $R update-index --assume-unchanged README", "index of the repository changed"),
    ],
)
def test_what_is_done_to_the_real_repository_is_told(bench: Bench, script: str, said: str) -> None:
    before = repository_state(bench.repo, index=True)
    work(bench.open().path, script.replace("$R", str(bench.repo)))
    (reason,) = repository_changes(before, repository_state(bench.repo, index=True))
    assert reason.text.startswith(said)


def test_looking_at_the_status_changes_no_index(bench: Bench) -> None:
    before = repository_state(bench.repo, index=True)
    raw = (bench.repo / ".git/index").read_bytes()
    os.utime(bench.repo / "README", (1, 1))
    git(bench.repo, "status")
    assert (bench.repo / ".git/index").read_bytes() != raw
    assert repository_changes(before, repository_state(bench.repo, index=True)) == ()
    assert repository_state(bench.repo).index == {}


def test_a_copy_cannot_harm_what_others_are_made_of(bench: Bench) -> None:
    first = bench.open()
    work(
        first.path,
        "for f in $(find .git/objects -type f); do chmod u+w $f; echo broken > $f; done; echo x > README",
    )
    second = bench.open()
    assert (second.path / "README").read_text() == "hello\n"
    git(second.path, "fsck")
    git(bench.repo, "fsck")
    assert {file.path for file in first.harvest(unit()).files} == {"README"}


def test_a_template_that_somebody_wrote_to_is_refused(bench: Bench) -> None:
    first = bench.open()
    (template,) = first.folder.parent.glob("template-*/tree")
    (template / "README").write_text("something else\n")
    with pytest.raises(TreeError, match="what copies are made of was changed"):
        bench.open()


def test_a_socket_is_no_file(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = bench.open()
    monkeypatch.chdir(copy.path)  # the name of a socket has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert codes(copy.harvest(unit())) == {"odd-file"}


# --- what is not there ---


def test_masked_files_are_shown_so_and_never_taken(bench: Bench) -> None:
    shown = {"README": b"*****\n", "src/b.py": None, "nowhere": b"x"}
    copy = bench.open(shown)
    assert (copy.path / "README").read_bytes() == b"*****\n"
    assert not (copy.path / "src/b.py").exists()
    assert git(copy.path, "status", "--short") == ""
    hidden = git(bench.repo, "rev-parse", "HEAD:README")
    assert hidden not in git(copy.path, "cat-file", "--batch-all-objects", "--batch-check")
    assert copy.base == bench.base
    assert copy.notes == (
        "shown with secrets masked, a change of them cannot be taken (1): README",
        "withheld, nothing may be written there (1): src/b.py",
    )
    work(copy.path, f"{EDIT} cat README > x; cat x > README; rm x; git add -A; git commit -qm x")
    patch = copy.harvest(unit())
    assert ({f.path for f in patch.files}, patch.breaches, patch.commits) == ({"src/a.py"}, (), 1)

    for script in ("echo x >> README", "rm README", "chmod +x README", "echo x > src/b.py"):
        copy = bench.open(shown)
        work(copy.path, script)
        patch = copy.harvest(unit())
        assert (codes(patch), patch.files) == ({"masked-file"}, ())


def test_submodules_and_lfs_pointers_are_named_and_no_change(tmp_path: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n"
    repo = repository(tmp_path / "repo", {"big.bin": pointer, ".gitattributes": "*.bin filter=lfs\n"})
    inner = repository(tmp_path / "inner")
    git(repo, "submodule", "--quiet", "add", str(inner), "sub")
    (repo / "passwd").symlink_to("/etc/passwd")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "more")
    bench = kit.bench_of(repo, tmp_path)
    with bench.copies:
        copy = bench.open()
        assert copy.notes == (
            "Git LFS pointers, whose content is not here (1): big.bin",
            "submodules, which are not here (empty folders) (1): sub",
            "links that leave the tree, not made here (1): passwd",
        )
        assert git(copy.path, "status", "--short") == ""
        assert copy.harvest(unit()).empty
        work(copy.path, "rmdir sub; git checkout -q .")
        assert copy.harvest(unit()).empty
        for script in ("echo x > sub/x", "rmdir sub; echo x > sub", "git init -q sub"):
            copy = bench.open()
            work(copy.path, script)
            patch = copy.harvest(unit())
            assert patch.empty
            assert codes(patch) <= {"submodule", "nested-repository"}
            assert patch.breaches


def _linked(repo: Path, tmp: Path) -> Path:
    git(repo, "worktree", "add", "-q", str(tmp / "linked"))
    return tmp / "linked"


def _shallow(repo: Path, tmp: Path) -> Path:
    git(repo, "commit", "-q", "--allow-empty", "-m", "more")
    git(tmp, "clone", "-q", "--depth=1", f"file://{repo}", "short")
    return tmp / "short"


def _sparse(repo: Path, tmp: Path) -> Path:
    git(repo, "sparse-checkout", "set", "src")
    return repo


def _partial(repo: Path, tmp: Path) -> Path:
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(tmp, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo}", "part")
    git(tmp / "part", "show", "HEAD:src/a.py")
    return tmp / "part"


@pytest.mark.parametrize("make", [_linked, _shallow, _sparse, _partial], ids=lambda f: f.__name__)
def test_checkouts_of_all_kinds(tmp_path: Path, make: object) -> None:
    repo = repository(tmp_path / "repo", kit.BASE)
    bench = kit.bench_of(make(repo, tmp_path), tmp_path)  # type: ignore[operator]
    with bench.copies:
        commits = int(make is not _partial)
        patch = bench.work(f"{EDIT} echo n > new; {f'{COMMIT} x' if commits else ''}")
    assert {file.path: file.status for file in patch.files} == {"src/a.py": "modified", "new": "added"}
    assert (patch.commits, patch.breaches) == (commits, ())
    assert bench.vault.store_patch(bench.base, bench.text()) == patch.tree


def test_sha256(tmp_path: Path) -> None:
    bench = kit.bench(tmp_path, None, "--object-format=sha256")
    with bench.copies:
        patch = bench.work(f"{EDIT} rm README; ln -s x y; {COMMIT} x")
    assert (len(patch.tree), len(patch.files), patch.commits, patch.breaches) == (64, 3, 1, ())


def test_the_users_own_ignore_file_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with cache_home() as home:
        (home / "git").mkdir()
        (home / "git/ignore").write_text("*.swp\n")
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
        bench = kit.bench(tmp_path)
        with bench.copies:
            assert bench.work("echo x > a.swp").empty


# --- ends ---


def test_a_copy_is_gone_unless_it_is_kept(bench: Bench) -> None:
    first, second = bench.open(), bench.open()
    kept = second.keep()
    for copy in (first, second, first):
        copy.close()
    assert not first.folder.exists()
    assert Path(kept) == second.path
    bench.copies.close()
    bench.copies.close()
    assert [p.name for p in second.folder.parent.iterdir() if p.name != "lock"] == [second.folder.name]


def test_nothing_is_left_when_all_are_gone(bench: Bench, cache: Path) -> None:
    bench.open().close()
    with bench.copies.plain(bench.base) as folder:
        assert sorted(p.name for p in folder.iterdir()) == [".gitignore", "README", "data.bin", "src"]
    bench.copies.close()
    assert [p.name for p in (cache / "prun_review/copies").iterdir()] == ["lock"]


def test_an_empty_change_leaves_no_patch_of_the_attempt_before(bench: Bench) -> None:
    bench.work(EDIT)
    assert bench.text()
    bench.work(":")
    with pytest.raises(FileNotFoundError):
        bench.text()


def test_what_cannot_be_copied_leaves_nothing(bench: Bench) -> None:
    with pytest.raises(TreeError):
        bench.copies.open("0" * 40, "x", 1, bench.run_dir)
    copy = bench.open()
    with pytest.raises(TreeError, match="no copy can be made"):
        bench.copies.open(bench.base, "probe_x-codex", 1, bench.run_dir)
    assert copy.path.is_dir()
