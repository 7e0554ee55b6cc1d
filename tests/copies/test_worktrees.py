"""Worktrees in the place of copies: what they are, what they share, and that all of it is found or undone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prun_review import cli, files, linked, scratch
from prun_review import git as ours
from prun_review.copies import Copies
from prun_review.copyplace import RECORD
from prun_review.errors import ConfigError, InternalError, TreeError
from prun_review.locks import Lock
from prun_review.repostate import repository_changes, repository_state
from prun_review.vault import Vault
from prun_review.worktrees import SHARING, Worktrees
from tests.copies import kit
from tests.copies.kit import COMMIT, EDIT, Bench, as_port, codes, content, unit, work
from tests.copies.traps import HOOKS, canary
from tests.repokit import ENV, git, repository, write

COMMITTER = {name: value for name, value in ENV.items() if name.startswith("GIT_")}


def bench_of(repo: Path, tmp: Path) -> Bench:
    """A bench with worktrees on a repository that is there."""
    run_dir = tmp / ".prun/runs/20260101T000000Z-abcd"
    run_dir.mkdir(parents=True)
    vault = Vault.create(run_dir / "git", ours.find(repo), alone=True)
    return Bench(repo, vault, run_dir, vault.commit_of("HEAD"), Worktrees(vault, run_dir))


@pytest.fixture(autouse=True)
def alone(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``clean`` looks at nothing but what this test made: copies below /var/tmp are somebody else's."""
    monkeypatch.setattr(scratch, "places", lambda kind: iter((cache / scratch.NAME / kind,)))


@pytest.fixture
def trees(tmp_path: Path) -> Iterator[Bench]:
    made = bench_of(repository(tmp_path / "repo", kit.BASE), tmp_path)
    with made.copies:
        yield made


def raw(repo: Path) -> dict[str, bytes]:
    """Every file of a user's repository, but objects and what ours leave: byte for byte."""
    left = ("objects", linked.LOCK)
    found = {str(p.relative_to(repo)): p for p in repo.rglob("*") if p.is_file()}
    return {n: p.read_bytes() for n, p in found.items() if not any(n.startswith(f".git/{x}") for x in left)}


def listed(repo: Path) -> list[str]:
    """What plain git says of the worktrees."""
    return [
        line for line in git(repo, "worktree", "list", "--porcelain").splitlines() if line[:8] == "worktree"
    ]


# --- what it is ---


def test_a_worktree_of_the_repository_that_leaves_it_as_it_was(trees: Bench, cache: Path) -> None:
    before = raw(trees.repo)
    copy = trees.open()
    assert copy.path.is_relative_to(cache / "prun_review/copies")
    assert listed(trees.repo)[1:] == [f"worktree {copy.path}"]
    assert git(copy.path, "rev-parse", "--path-format=absolute", "--git-common-dir") == str(
        trees.repo / ".git"
    )
    assert git(copy.path, "status", "--short", "--branch") == "## HEAD (no branch)"
    assert git(copy.path, "rev-parse", "HEAD") == trees.base
    assert "locked" not in git(trees.repo, "worktree", "list", "--porcelain")
    assert copy.notes == (SHARING,)
    work(copy.path, f"{EDIT} rm README; echo n > new; ln -s new link; chmod +x data.bin; echo x > a.log")
    patch = as_port(copy).harvest(unit())
    assert {f.path: f.status for f in patch.files} == {
        **{"README": "deleted", "src/a.py": "modified", "new": "added", "link": "added"},
        "data.bin": "mode",
    }
    assert (patch.breaches, patch.commits) == ((), 0)
    assert trees.vault.store_patch(trees.base, trees.text()) == patch.tree
    copy.close()
    copy.close()
    assert not copy.folder.exists()
    assert (len(listed(trees.repo)), raw(trees.repo)) == (1, before)
    assert not (trees.repo / ".git/worktrees").exists()
    git(trees.repo, "fsck", "--strict")


def test_commits_count_as_in_copies(trees: Bench) -> None:
    before = repository_state(trees.repo, index=True), linked.others(trees.vault.repository)
    script = (
        f"{EDIT} {COMMIT} one; echo n > new; {COMMIT} two; git commit -q --amend -m three; echo more > more"
    )
    copy = trees.open()
    work(copy.path, script, **COMMITTER)
    patch = copy.harvest(unit())
    assert {f.path for f in patch.files} == {"src/a.py", "new", "more"}
    assert (patch.commits, patch.breaches) == (2, ())

    lost = trees.open()
    work(lost.path, f"{EDIT} {COMMIT} x; git reset -q --hard HEAD~1", **COMMITTER)
    patch = lost.harvest(unit())
    assert (patch.empty, codes(patch)) == (True, {"lost-commit"})
    after = repository_state(trees.repo, index=True), linked.others(trees.vault.repository)
    assert repository_changes(before[0], after[0]) == ()
    assert before[1] == after[1]


def test_a_base_that_only_the_run_has(trees: Bench) -> None:
    """What a later wave stands on comes without a ref, and the worktree's HEAD keeps it."""
    patch = trees.work("echo later > later")
    trees.base = trees.vault.commit(patch.tree, (trees.base,), "wave 1\n")
    refs = git(trees.repo, "for-each-ref")
    copy = trees.open()
    assert (copy.path / "later").read_text() == "later\n"
    assert git(copy.path, "status", "--short") == ""
    assert git(copy.path, "log", "--format=%s") == "wave 1\nfirst"
    git(trees.repo, "gc", "-q", "--prune=now")
    git(copy.path, "fsck", "--strict")
    assert git(trees.repo, "for-each-ref") == refs
    work(copy.path, "echo more >> later")
    assert [f.path for f in copy.harvest(unit()).files] == ["later"]
    copy.close()
    trees.copies.close()
    kept = sorted(Path(p).parent.parent.name for p in trees.copies._place.path.glob("*/tree/.git"))
    for left in kept:
        linked.drop(
            trees.repo / ".git", json.loads((trees.copies._place.path / left / RECORD).read_text())["entry"]
        )
    git(trees.repo, "gc", "-q", "--prune=now")
    assert ours.commit(trees.vault.repository, trees.base) == ""
    assert trees.vault.tree_of(trees.base) == patch.tree


def _linked(repo: Path, tmp: Path) -> Path:
    git(repo, "worktree", "add", "-q", str(tmp / "linked"))
    return tmp / "linked"


def _of_a_bare_one(repo: Path, tmp: Path) -> Path:
    git(tmp, "clone", "-q", "--bare", str(repo), "bare")
    git(tmp / "bare", "worktree", "add", "-q", str(tmp / "linked"))
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


def _as_submodule(repo: Path, tmp: Path) -> Path:
    outer = repository(tmp / "outer")
    git(outer, "submodule", "--quiet", "add", str(repo), "sub")
    return outer / "sub"


def _sha256(repo: Path, tmp: Path) -> Path:
    return repository(tmp / "new", kit.BASE, "--object-format=sha256")


KINDS = [_linked, _of_a_bare_one, _shallow, _sparse, _partial, _as_submodule, _sha256]


@pytest.mark.parametrize("make", KINDS, ids=lambda f: f.__name__)
def test_repositories_of_all_kinds(tmp_path: Path, make: Callable[[Path, Path], Path]) -> None:
    made = bench_of(make(repository(tmp_path / "repo", kit.BASE), tmp_path), tmp_path)
    before = repository_state(made.repo, index=True), linked.others(made.vault.repository)
    with made.copies:
        for _ in range(2):  # the second on a commit of the run
            copy = made.open()
            commits = make is not _partial
            work(copy.path, f"{EDIT} echo n >> new; {f'{COMMIT} x' if commits else ''}", **COMMITTER)
            patch = copy.harvest(unit())
            copy.close()
            assert {f.path for f in patch.files} == {"src/a.py", "new"}
            assert (patch.commits, patch.breaches) == (int(commits), ())
            made.base = made.vault.commit(patch.tree, (made.base,), "next\n")
    after = repository_state(made.repo, index=True), linked.others(made.vault.repository)
    assert repository_changes(before[0], after[0]) == ()
    assert before[1] == after[1]


def test_submodules_and_lfs_pointers_are_named_and_no_filter_runs(tmp_path: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n"
    repo = repository(tmp_path / "repo", {"big.bin": pointer, ".gitattributes": "*.bin filter=lfs\n"})
    git(repo, "submodule", "--quiet", "add", str(repository(tmp_path / "inner")), "sub")
    (repo / "passwd").symlink_to("/etc/passwd")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "more")
    program = canary(tmp_path)
    for key in ("filter.lfs.smudge", "filter.lfs.clean", "filter.lfs.process", "core.fsmonitor"):
        git(repo, "config", key, str(program))
    for name in HOOKS:
        (repo / ".git/hooks" / name).unlink(missing_ok=True)
        (repo / ".git/hooks").mkdir(exist_ok=True)
        (repo / ".git/hooks" / name).symlink_to(program)
    made = bench_of(repo, tmp_path)
    with made.copies:
        copy = made.open()
        assert copy.notes[1:] == (
            "Git LFS pointers, whose content is not here (1): big.bin",
            "submodules, which are not here (empty folders) (1): sub",
            "links that leave the tree, not made here (1): passwd",
        )
        assert (copy.path / "big.bin").read_text() == pointer
        assert copy.harvest(unit()).empty
        (copy.path / "sub/x").write_text("x")
        assert codes(copy.harvest(unit())) == {"submodule"}
        copy.close()
    assert not (tmp_path / "executed").exists()


def test_what_cannot_be_is_refused(trees: Bench, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"1 files that are masked .*objects: README"):
        trees.open({"README": b"****"})
    with (
        pytest.raises(InternalError),
        Worktrees(Vault.create(tmp_path / "v", trees.vault.repository), tmp_path),
    ):
        pass
    with pytest.raises(TreeError):
        trees.copies.open("0" * 40, "x", 1, trees.run_dir)
    (trees.repo / ".git/worktrees").write_text("mine")
    with pytest.raises(TreeError, match="it is no folder") as told:
        trees.open()
    assert "move it away" in told.value.remedy
    assert not [p for p in trees.copies._place.path.iterdir() if p.name != "lock"]
    (trees.repo / ".git/worktrees").unlink()
    (trees.repo / ".git/reftable").mkdir()
    with pytest.raises(ConfigError, match="reftable"):
        Worktrees(trees.vault, tmp_path / "other")


# --- many at once ---


def test_sixteen_at_once(trees: Bench) -> None:
    before = raw(trees.repo)

    def one(n: int) -> int:
        out = trees.run_dir / f"units/u{n}/1"
        out.mkdir(parents=True)
        copy = trees.copies.open(trees.base, f"u{n}", 1, out)
        work(
            copy.path,
            f"echo {n} > mine{n}; echo {n} >> src/a.py; git add -A; git commit -qm {n}",
            **COMMITTER,
        )
        patch = copy.harvest(unit())
        assert {f.path: f.status for f in patch.files} == {f"mine{n}": "added", "src/a.py": "modified"}
        assert content(trees.vault, patch.tree)["src/a.py"][1] == b"one\ntwo\nthree\n%d\n" % n
        copy.close()
        assert (patch.breaches, copy.folder.exists()) == ((), False)
        return patch.commits

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(one, range(16))) == [1] * 16
    assert (len(listed(trees.repo)), raw(trees.repo)) == (1, before)


CHILD = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from prun_review import git
from prun_review.vault import Vault
from prun_review.worktrees import Worktrees
repo, run, then = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
run.mkdir(parents=True)
vault = Vault.create(run / "git", git.find(repo), alone=True)
base = vault.commit_of("HEAD")
copies = Worktrees(vault, run)
def one(n):
    out = run / f"units/u{n}/1"
    out.mkdir(parents=True)
    return copies.open(base, f"u{n}", 1, out)
with ThreadPoolExecutor(4) as pool:
    made = list(pool.map(one, range(4)))
print("made", flush=True)
if then == "wait":
    sys.stdin.readline()
with ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda copy: copy.close(), made))
copies.close()
"""


def child(trees: Bench, tmp: Path, name: str, then: str) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", CHILD, str(trees.repo), str(tmp / f"runs/{name}"), then]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_four_processes_lose_no_creation_and_a_killed_one_is_cleaned_up(
    trees: Bench, tmp_path: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(trees.repo, "worktree", "add", "-q", "-b", "mine", str(tmp_path / "mine"))
    git(trees.repo, "worktree", "add", "-q", "-b", "away", str(tmp_path / "away"))
    (tmp_path / "away").rename(tmp_path / "elsewhere")  # on a disk that is not there now
    theirs, before = linked.others(trees.vault.repository), raw(trees.repo)
    children = [child(trees, tmp_path, str(n), "wait") for n in range(4)]
    try:
        for process in children:
            assert process.stdout
            assert process.stdout.readline() == "made\n"
        assert len(listed(trees.repo)) == 3 + 16
        assert linked.others(trees.vault.repository) == theirs
        children[0].send_signal(signal.SIGKILL)
        for process in children[1:]:
            process.communicate("go on\n", timeout=60)
            assert process.returncode == 0
    finally:
        for process in children:
            process.kill()
            process.communicate()
    assert len(listed(trees.repo)) == 3 + 4
    work(next(cache.glob("prun_review/copies/0-*/u1-1/tree")), EDIT)
    assert cli.main(["clean", "--older-than", "0"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert sorted(line.split()[0] for line in told if "/0-" in line) == ["kept", *["removed"] * 3]
    assert cli.main(["clean", "--older-than", "0", "--force"]) == 0
    capsys.readouterr()
    assert raw(trees.repo) == before
    assert len(listed(trees.repo)) == 3


def test_a_crash_in_the_middle_is_cleaned_up(trees: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """Wherever it ends: what was registered leads to all of it."""
    made = []
    for half in ("nothing", "entry", "first", "tree"):
        copy = trees.open()
        record = json.loads((copy.folder / RECORD).read_text())
        (copy.folder / RECORD).write_text(json.dumps({**record, "laid": ""}))
        entry = trees.repo / ".git/worktrees" / record["entry"]
        if half in ("nothing", "entry"):
            files.remove_tree(copy.path)
        if half == "nothing":
            files.remove_tree(entry)
        if half == "first":
            copy.path.rename(copy.folder / record["entry"])
            (entry / "gitdir").unlink()
            (entry / "locked").write_text("initializing")
        made.append(copy.folder)
    assert linked.others(trees.vault.repository) == {}
    trees.copies.close()
    Worktrees(trees.vault, trees.run_dir / "next").close()  # the next run sweeps, and forgets none of them
    assert all(folder.exists() for folder in made)
    assert cli.main(["clean"]) == 0
    told = capsys.readouterr().out
    assert [folder for folder in made if f"removed {folder}: a leftover" not in told or folder.exists()] == []
    assert not (trees.repo / ".git/worktrees").exists()
    assert len(listed(trees.repo)) == 1


def test_one_that_is_kept_stays_until_it_is_old_or_the_user_removed_it(
    trees: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = trees.open(), trees.open()
    for copy in (first, second):
        work(copy.path, EDIT)
        copy.harvest(unit())
        assert Path(copy.keep()) == copy.path
        copy.close()
        record = json.loads((copy.folder / RECORD).read_text())
        (copy.folder / RECORD).write_text(json.dumps({**record, "made": time.time() - 6 * 86400}))
    trees.copies.close()
    assert len(listed(trees.repo)) == 3
    git(trees.repo, "worktree", "remove", "--force", str(first.path))
    assert cli.main(["clean"]) == 0
    assert capsys.readouterr().out.count("which is not old enough") == 2
    assert cli.main(["clean", "--older-than", "5"]) == 0
    assert capsys.readouterr().out.count("removed /") == 3
    assert not (trees.repo / ".git/worktrees").exists()


def test_copies_registered_by_an_earlier_version_are_known(tmp_path: Path, bench: Bench) -> None:
    copy = bench.open()
    record = json.loads((copy.folder / RECORD).read_text())
    for name in ("shared", "entry"):
        del record[name]
    (copy.folder / RECORD).write_text(json.dumps(record))
    assert copy.record.read(copy.folder) == copy.record


# --- locks of others ---


def test_stale_locks_of_git_stop_nothing(trees: Bench) -> None:
    """Neither file is needed; they stay for whoever they belong to."""
    locks = [
        trees.repo / ".git" / name for name in ("config.lock", "index.lock", "HEAD.lock", "packed-refs.lock")
    ]
    for path in locks:
        path.touch()
    patch = trees.work("echo later > later")
    trees.base = trees.vault.commit(patch.tree, (trees.base,), "wave 1\n")
    assert not trees.open().harvest(unit()).files
    assert all(path.exists() for path in locks)


def test_whoever_holds_our_lock_too_long_is_named(trees: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = trees.open()
    lock = Lock(trees.repo / ".git" / linked.LOCK)
    monkeypatch.setattr(linked, "PATIENCE", 0.1)
    with pytest.raises(TreeError, match=f"process {os.getpid()} has been changing its worktrees") as told:
        trees.open()
    assert "end it" in told.value.remedy
    copy.close()  # cannot be forgotten now, and is left to clean
    assert copy.folder.exists()
    lock.release()
    copy.close()
    assert not copy.folder.exists()


# --- what workers do to it ---

SHARED = (
    (
        f"{EDIT} git checkout -q -b x; {COMMIT} x",
        "refs of the repository changed during the review: refs/heads/x",
    ),
    ("git branch y", "refs of the repository changed during the review: refs/heads/y"),
    ("git tag x", "refs of the repository changed during the review: refs/tags/x"),
    (f"{EDIT} git stash -q", "refs of the repository changed during the review: refs/stash"),
    ("git config core.fsmonitor $C", "configuration of the repository changed"),
    ("for h in $H; do cp $C $R/.git/hooks/$h; done", "hooks of the repository changed"),
    ("git config filter.x.smudge $C; echo '* filter=x' > $R/.git/info/attributes", "configuration of the"),
)


def test_what_is_shared_and_changed_is_told_and_nothing_of_it_executed(trees: Bench, tmp_path: Path) -> None:
    program = canary(tmp_path)
    for name in ("info", "hooks"):
        (trees.repo / ".git" / name).mkdir(exist_ok=True)
    for script, said in SHARED:
        copy = trees.open()
        before = repository_state(trees.repo, index=True)
        env = {"R": str(trees.repo), "C": str(program), "H": " ".join(HOOKS)}
        work(copy.path, script, **COMMITTER, **env)
        (tmp_path / "executed").unlink(missing_ok=True)  # by the worker's own git
        assert copy.harvest(unit()).commits == script.count(COMMIT)  # on its branch, too
        copy.close()
        trees.open().close()
        (reason,) = repository_changes(before, repository_state(trees.repo, index=True))
        assert reason.text.startswith(said)
        assert not (tmp_path / "executed").exists(), script


BESIDE = (
    ("git worktree add -q --detach $T/x", {"worktrees/x", "worktrees/x/HEAD"}),
    ("git worktree add -q --detach $T/prun-0123456789ab", {"worktrees/prun-0123456789ab/HEAD"}),
    ("git -C $T/mine checkout -q --detach", {"worktrees/mine/HEAD"}),
    ("git worktree remove --force $T/mine", {"worktrees/mine", "worktrees/mine/HEAD"}),
    ("mv $T/other $T/away; git worktree prune", {"worktrees/other"}),
    ("echo /nowhere > $R/.git/objects/info/alternates", {"objects/info/alternates"}),
)


def test_the_users_worktrees_and_objects_are_watched(trees: Bench, tmp_path: Path) -> None:
    for name in ("mine", "other"):
        git(trees.repo, "worktree", "add", "-q", "-b", name, str(tmp_path / name))
    copy = trees.open()
    for script, names in BESIDE:
        before = linked.others(trees.vault.repository)
        work(copy.path, script, R=str(trees.repo), T=str(tmp_path))
        after = linked.others(trees.vault.repository)
        assert names <= {name for name in {*before, *after} if before.get(name) != after.get(name)}, script


OWN = (
    ("rm .git", ".git"),
    ("rm .git; git init -q .", ".git"),
    ("echo gitdir: /nowhere > .git", ".git"),
    ("rm -r $(git rev-parse --git-dir)", ".git"),
    ("echo /nowhere > $(git rev-parse --git-dir)/commondir", ".git/commondir"),
    ("d=$(git rev-parse --git-dir); mkdir -p $d/info; echo x > $d/info/exclude", ".git/info/exclude"),
)


def test_its_own_git_directory_is_watched(trees: Bench) -> None:
    for script, place in OWN:
        copy = trees.open()
        work(copy.path, f"{EDIT} {script}")
        patch = copy.harvest(unit())
        assert [f.path for f in patch.files] == ["src/a.py"]
        assert codes(patch) == {"git-directory"}
        assert place in {breach.path for breach in patch.breaches}
        copy.close()
        assert not copy.folder.exists()
        assert not (trees.repo / ".git/worktrees").exists()


def test_objects_that_a_worker_forges_do_not_reach_what_the_run_reads(trees: Bench, tmp_path: Path) -> None:
    """Whoever shares the objects can put a file of another content under a name that the base has."""
    sha = git(trees.repo, "rev-parse", "HEAD:README")
    place = f"{trees.repo}/.git/objects/{sha[:2]}/{sha[2:]}"
    forged = "import sys, zlib; open(sys.argv[1], 'wb').write(zlib.compress(b'blob 6\\0forged'))"
    copy = trees.open()
    work(copy.path, f'rm -f "$P"; {sys.executable} -c "$F" "$P"', P=place, F=forged)
    assert git(trees.repo, "cat-file", "-p", sha) == "forged"
    assert copy.harvest(unit()).empty
    assert content(trees.vault, trees.base)["README"][1] == b"hello\n"
    with trees.copies.plain(trees.base) as folder:
        assert (folder / "README").read_text() == "hello\n"
    later = Vault.create(tmp_path / "later", trees.vault.repository, alone=True)
    with pytest.raises(TreeError, match=r"verify-pack|pack-objects"):
        later.commit_of("HEAD")


def test_a_vault_that_borrows_nothing_is_whole(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", kit.BASE)
    write(repo, {"README": "second\n"})
    git(repo, "commit", "-qam", "second")
    vault = Vault.create(tmp_path / "vault", ours.find(repo), alone=True)
    first, second = vault.commit_of("HEAD~1"), vault.commit_of("HEAD")
    assert vault.commit_of("HEAD") == second
    assert Vault.open(tmp_path / "vault").alone
    assert [f.path for f in vault.touched(first, second)] == ["README"]
    made = vault.commit(vault.replaced(vault.tree_of(second), [b"README"], ()), (second,), "made\n")
    vault.branch("run", made)
    vault.deliver(ours.find(repo), "run")
    assert git(repo, "log", "--format=%s", "prun/run") == "made\nsecond\nfirst"
    git(repo, "fsck", "--strict")
    (repo / ".git").rename(tmp_path / "away")
    assert b"second" in b"".join(text for _, text in content(vault, second).values())


def test_copies_are_as_they_were(bench: Bench) -> None:
    assert type(bench.copies) is Copies
    assert not bench.vault.alone
    assert bench.open().record.shared == ""
