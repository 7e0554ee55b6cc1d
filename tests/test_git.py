"""Git through the shadow: nothing that a repository configures is executed."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prun_review import git as ours
from prun_review.errors import TreeError
from prun_review.repostate import repository_changes, repository_state
from prun_review.workspace import take

from .repokit import ENV, cache_home, git, repository, write


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with cache_home() as path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(path))
        yield path


class Trap:
    """A repository with uncommitted edits and a program that leaves a mark when it is started."""

    def __init__(self, tmp: Path) -> None:
        self.mark = tmp / "executed"
        self.program = tmp / "trap.sh"
        self.program.write_text(f"#!/bin/sh\necho run >> '{self.mark}'\n")
        self.program.chmod(0o755)
        self.repo = repository(tmp / "repo", {"a.txt": "one\n", "b.txt": "two\n"})

    def config(self, key: str, value: str | None = None) -> None:
        git(self.repo, "config", key, value or str(self.program))

    def attributes(self, text: str, where: str = ".gitattributes") -> None:
        write(self.repo, {where: text})

    def hook(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        for name in ("post-index-change", "pre-commit", "reference-transaction", "post-checkout"):
            shutil.copy(self.program, folder / name)


def fsmonitor(trap: Trap) -> None:
    trap.config("core.fsmonitor")


def clean_filter(trap: Trap) -> None:
    trap.attributes("* filter=evil\n")
    trap.config("filter.evil.clean")


def process_filter(trap: Trap) -> None:
    trap.attributes("* filter=evil\n", ".git/info/attributes")
    trap.config("filter.evil.process")
    trap.config("filter.evil.required", "true")


def smudge_filter(trap: Trap) -> None:
    trap.attributes("* filter=evil\n")
    trap.config("filter.evil.smudge")


def external_diff(trap: Trap) -> None:
    trap.config("diff.external")


def textconv(trap: Trap) -> None:
    trap.attributes("* diff=evil\n")
    trap.config("diff.evil.textconv")


def diff_driver(trap: Trap) -> None:
    trap.attributes("* diff=evil\n", ".git/info/attributes")
    trap.config("diff.evil.command")


def hooks(trap: Trap) -> None:
    trap.hook(trap.repo / ".git/hooks")


def hooks_path(trap: Trap) -> None:
    trap.hook(trap.repo / "tools")
    trap.config("core.hooksPath", str(trap.repo / "tools"))


def include(trap: Trap) -> None:
    write(trap.repo, {".git/more": f"[core]\n\tfsmonitor = {trap.program}\n"})
    trap.config("include.path", "more")


def worktree_config(trap: Trap) -> None:
    trap.config("extensions.worktreeConfig", "true")
    write(trap.repo, {".git/config.worktree": f"[core]\n\tfsmonitor = {trap.program}\n"})


def git_file(trap: Trap) -> None:
    fsmonitor(trap)
    (trap.repo / ".git").rename(trap.repo / "elsewhere")
    (trap.repo / ".git").write_text("gitdir: elsewhere\n")


def submodule(trap: Trap) -> None:
    """An edit inside it, and a filter that ``git status`` there would start."""
    inner = repository(trap.repo.parent / "inner", {"x.txt": "x\n"})
    git(trap.repo, "submodule", "--quiet", "add", str(inner), "inner")
    git(trap.repo, "commit", "-q", "-m", "submodule")
    git(trap.repo / "inner", "config", "filter.evil.clean", str(trap.program))
    write(trap.repo, {"inner/.gitattributes": "* filter=evil\n", "inner/x.txt": "y\n"})


def promisor(trap: Trap) -> None:
    """A blob is missing, and the repository says whom to ask for it and by which program."""
    trap.config("remote.evil.url", "ssh://nowhere.invalid/x")
    trap.config("remote.evil.promisor", "true")
    trap.config("core.repositoryformatversion", "1")
    trap.config("extensions.partialClone", "evil")
    trap.config("core.sshCommand")
    blob = git(trap.repo, "rev-parse", "HEAD:b.txt")
    (trap.repo / ".git/objects" / blob[:2] / blob[2:]).unlink()
    git(trap.repo, "update-index", "--skip-worktree", "b.txt")
    (trap.repo / "b.txt").unlink()


TRAPS: list[tuple[Callable[[Trap], None], tuple[str, ...]]] = [
    (fsmonitor, ("status",)),
    (clean_filter, ("add", "-u")),
    (process_filter, ("add", "-u")),
    (smudge_filter, ("checkout", "--", "a.txt")),
    (external_diff, ("diff",)),
    (textconv, ("diff",)),
    (diff_driver, ("diff",)),
    (hooks, ("add", "-u")),
    (hooks_path, ("add", "-u")),
    (include, ("status",)),
    (worktree_config, ("status",)),
    (git_file, ("status",)),
    (submodule, ("status",)),
    (promisor, ("cat-file", "-p", "HEAD:b.txt")),
]


@pytest.mark.parametrize(("arm", "trigger"), TRAPS, ids=[arm.__name__ for arm, _ in TRAPS])
def test_a_hostile_repository_executes_nothing(
    tmp_path: Path, arm: Callable[[Trap], None], trigger: tuple[str, ...]
) -> None:
    trap = Trap(tmp_path)
    arm(trap)
    write(trap.repo, {"a.txt": "edited\n"})
    trap.mark.unlink(missing_ok=True)
    with take(trap.repo, include_untracked=True) as tree, tree.materialise() as shot:
        assert (shot.path / "a.txt").is_file()
        tree.read("a.txt")
        tree.changed(shot)
        tree.repository_changed()
    assert not trap.mark.exists()
    git(trap.repo, *trigger, check=False)
    assert trap.mark.exists(), "the trap was never armed, so the line above proves nothing"


@pytest.mark.parametrize(("arm", "trigger"), TRAPS, ids=[arm.__name__ for arm, _ in TRAPS])
def test_a_hostile_head_executes_nothing(
    tmp_path: Path, arm: Callable[[Trap], None], trigger: tuple[str, ...]
) -> None:
    trap = Trap(tmp_path)
    git(tmp_path, "clone", "-q", str(trap.repo), "trusted")
    arm(trap)
    write(trap.repo, {"a.txt": "edited\n"})
    trap.mark.unlink(missing_ok=True)
    with take(tmp_path / "trusted", base="main", head=str(trap.repo)) as tree, tree.materialise() as shot:
        assert tree.change is not None
        changed = {f.path: f.added for f in tree.change.files}
        if "filter" in arm.__name__:  # the edit is in the other form, which only the filter could tell
            assert any("not from disk (by a filter" in note for note in tree.revision.notes)
        else:
            assert changed["a.txt"] == {1}
        assert changed.keys() <= {"a.txt", ".gitattributes", ".gitmodules", "inner"}
        tree.changed(shot)
        tree.repository_changed()
    assert not trap.mark.exists()
    git(trap.repo, *trigger, check=False)
    assert trap.mark.exists(), "the trap was never armed, so the line above proves nothing"


def test_core_worktree_cannot_point_the_review_elsewhere(tmp_path: Path) -> None:
    secret = repository(tmp_path / "secret", {"a.txt": "secret\n"})
    repo = repository(tmp_path / "repo", {"a.txt": "public\n"})
    git(repo, "config", "core.worktree", str(secret))
    write(repo, {"a.txt": "edited\n"})
    with take(repo) as tree:
        assert tree.read("a.txt") == ("edited",)


def test_the_users_index_and_objects_are_not_touched(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    write(repo, {"src/a.py": "edited\n", "new.py": "new\n"})

    def everything() -> dict[str, tuple[bytes, int]]:
        """Contents and times; git freshens the time of an object that it would write again."""
        paths = [p for p in (repo / ".git").rglob("*") if p.is_file()]
        return {str(p): (p.read_bytes(), 0 if "objects" in p.parts else p.stat().st_mtime_ns) for p in paths}

    before = everything()
    with take(repo, include_untracked=True) as tree, tree.materialise():
        assert tree.revision.dirty
    assert everything() == before


def test_the_surroundings_do_not_reach_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repository(tmp_path / "repo")
    other = repository(tmp_path / "other", {"other.txt": "x\n"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "nonsense")
    with take(repo) as tree:
        assert tree.names == ("README", "src/a.py")


@pytest.mark.parametrize(
    ("prepare", "message", "remedy"),
    [
        (lambda p: None, "not in a git repository", "git init && git add ."),
        (lambda p: (p / ".git").mkdir(), "not in a git repository", "git init"),
        (lambda p: write(p, {".git": "nonsense"}), "not in a git repository", "git init"),
        (lambda p: git(p, "init", "-q"), "no commit yet", "git commit"),
        (
            lambda p: write(repository(p), {".git/HEAD": "ref: refs/heads/none"}),
            "no commit yet",
            "git commit",
        ),
        (lambda p: write(repository(p), {".git/config": "[core"}), "ended with 128", "git status"),
        (lambda p: write(repository(p), {".git/index": "DIRC nonsense"}), "ended with 128", "git status"),
        (lambda p: git(repository(p), "rm", "-q", "-r", "."), "nothing to review", "git add"),
    ],
    ids=["none", "empty .git", "odd .git", "no commit", "dangling HEAD", "config", "index", "no file"],
)
def test_what_is_no_usable_repository_says_why_and_what_to_do(
    tmp_path: Path, prepare: Callable[[Path], object], message: str, remedy: str
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    prepare(folder)
    with pytest.raises(TreeError) as caught:
        take(folder)
    assert message in str(caught.value)
    assert remedy in caught.value.remedy
    assert str(folder) in str(caught.value)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    write(tmp_path, {"file": "x"})
    for name in ("absent", "file"):
        with pytest.raises(TreeError, match=name):
            take(tmp_path / name)


def test_git_missing_or_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repository(tmp_path / "repo")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TreeError, match=r"git is not on PATH[^$]*install git"):
        take(repo)
    (tmp_path / "git").write_text("#!/bin/sh\necho git version 2.20.1\n")
    (tmp_path / "git").chmod(0o755)
    with pytest.raises(TreeError, match=r"2\.20\.1' is too old"):
        take(repo)


def test_no_git_from_the_reviewed_tree_or_a_relative_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = repository(tmp_path / "repo")
    write(repo, {"git": f"#!/bin/sh\ntouch {tmp_path}/executed\n"})
    (repo / "git").chmod(0o755)
    monkeypatch.chdir(repo)
    monkeypatch.setenv("PATH", os.pathsep.join([".", "", str(repo), ENV["PATH"]]))
    with take(repo) as tree:
        assert tree.names
    assert not (tmp_path / "executed").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository away")
def test_a_repository_of_another_owner_is_reviewed_because_nothing_of_it_is_executed(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    subprocess.run(["chown", "-R", "12345:12345", str(repo)], check=True)
    assert (
        "dubious ownership"
        in subprocess.run(
            ["git", "status"], cwd=repo, env=ENV, capture_output=True, text=True, check=False
        ).stderr
    )
    with take(repo) as tree:
        assert tree.read("README") == ("hello",)


def test_sha256_linked_work_trees_split_index_and_odd_paths(tmp_path: Path) -> None:
    plain = repository(tmp_path / 'odd "name"\n#', None, "--object-format=sha256")
    git(plain, "update-index", "--split-index")
    git(plain, "worktree", "add", "-q", str(tmp_path / "linked"))
    write(tmp_path / "linked", {"README": "linked\n"})
    for folder, said in ((plain, "hello"), (tmp_path / "linked", "linked")):
        with take(folder) as tree, tree.materialise() as shot:
            assert len(tree.revision.tree) == 64
            assert tree.read("README") == (said,)
            assert tree.changed(shot) == ()


@pytest.mark.parametrize(("real", "forged"), [("aa/x", "../x"), ("b/.gix/x", "b/.git/x"), ("c/d", "c/.")])
def test_a_forged_index_leads_nowhere(tmp_path: Path, real: str, forged: str) -> None:
    repo = repository(tmp_path / "repo", {"aa/x": "1\n", "b/.gix/x": "2\n", "c/d": "3\n"})
    index = (repo / ".git/index").read_bytes()[:-20].replace(real.encode(), forged.encode())
    (repo / ".git/index").write_bytes(index + hashlib.sha1(index).digest())
    write(tmp_path, {"x": "outside\n"})
    with pytest.raises(TreeError, match=f"the index is forged: {forged!r}"):
        take(repo)


def test_objects_borrowed_by_their_own_alternates(tmp_path: Path) -> None:
    source = repository(tmp_path / "source")
    git(tmp_path, "clone", "-q", "--shared", str(source), "clone")
    with take(tmp_path / "clone") as tree:
        assert tree.read("README") == ("hello",)


class TestState:
    """What of the repository must stay as it is."""

    @pytest.mark.parametrize(
        ("change", "names"),
        [
            (("branch", "new"), "refs of the repository changed during the review: refs/heads/new"),
            (("tag", "v1"), "refs of the repository changed during the review: refs/tags/v1"),
            (("checkout", "-q", "--detach"), "refs of the repository changed during the review: HEAD"),
            (("config", "a.b", "c"), "configuration of the repository changed during the review: config"),
            (("update-ref", "refs/remotes/o/m", "HEAD"), "refs/remotes/o/m"),
        ],
        ids=["branch", "tag", "HEAD", "config", "remote"],
    )
    def test_a_change_is_named(self, tmp_path: Path, change: tuple[str, ...], names: str) -> None:
        repo = repository(tmp_path / "repo")
        before = repository_state(repo)
        git(repo, *change)
        [reason] = repository_changes(before, repository_state(repo))
        assert (reason.code, reason.outcome) == ("repository-changed", "INCOMPLETE")
        assert names in reason.text

    def test_a_hook_that_appears_or_becomes_executable(self, tmp_path: Path) -> None:
        repo = repository(tmp_path / "repo")
        before = repository_state(repo)
        write(repo, {".git/hooks/pre-commit": "#!/bin/sh\n"})
        middle = repository_state(repo)
        (repo / ".git/hooks/pre-commit").chmod(stat.S_IRWXU)
        after = repository_state(repo)
        for one, other in ((before, middle), (middle, after)):
            [reason] = repository_changes(one, other)
            assert "hooks of the repository changed" in reason.text
            assert "pre-commit" in reason.text

    def test_what_changes_nothing_is_no_change(self, tmp_path: Path) -> None:
        repo = repository(tmp_path / "repo")
        before = repository_state(repo)
        git(repo, "gc", "-q")
        git(repo, "pack-refs", "--all")
        write(repo, {"README": "edited\n"})
        git(repo, "add", "-A")
        assert repository_changes(before, repository_state(repo)) == ()


def test_find_tells_folder_and_prefix(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    found = ours.find(repo / "src")
    assert (found.top, found.git_dir, found.common) == (repo, repo / ".git", repo / ".git")
    assert found.prefix == "src/"
