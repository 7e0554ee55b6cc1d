"""What is done to the user's own repository while others write code is told, step after step in one of them;
what happens to it by itself is not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from prun_review.repostate import RepositoryState, repository_changes, repository_state
from tests.copies.kit import BASE
from tests.repokit import ENV, git, repository

REFS, CONFIG, HOOKS, INDEX = "refs", "configuration", "hooks", "index"
STEPS = [
    ("git symbolic-ref HEAD refs/heads/other", REFS, "HEAD"),
    ("git symbolic-ref HEAD refs/heads/main; echo z >> README; git stash -q", REFS, "refs/stash"),
    ("git update-ref refs/replace/$(git rev-parse HEAD) HEAD", REFS, "refs/replace/"),
    ("git rev-parse HEAD > .git/MERGE_HEAD", REFS, "MERGE_HEAD"),
    ("mkdir .git/rebase-merge", REFS, "rebase-merge"),
    ("git update-index --skip-worktree README", INDEX, "README"),
    ("rm .git/index", INDEX, "src/a.py"),
    ("echo x >> .git/info/exclude", CONFIG, "info/exclude"),
    ("echo x > .git/info/sparse-checkout", CONFIG, "info/sparse-checkout"),
    ("echo /x > .git/objects/info/alternates", CONFIG, "objects/info/alternates"),
    ("mkdir .git/remotes; echo 'URL: ext::sh -c x' > .git/remotes/origin", CONFIG, "remotes/origin"),
    ("mkdir -p .git/modules/a/b/modules/c; cd .git/modules/a/b; echo x | tee config > modules/c/config",
     CONFIG, "modules/a/b/config, modules/a/b/modules/c/config"),
    ("mkdir .git/modules/a/b/hooks; echo x > .git/modules/a/b/hooks/post-checkout",
     CONFIG, "modules/a/b/hooks/post-checkout"),
    ("printf '[core]\\n\\tfsmonitor=x\\n' > .git/more", CONFIG, "what it includes"),
    ("echo x > .hooks/pre-commit", HOOKS, ".hooks/pre-commit"),
    ("mv .git/hooks h; ln -s ../h .git/hooks", HOOKS, "hooks"),
    ("truncate -s 80G .git/hooks/huge", HOOKS, "huge"),
    ("mkfifo .git/hooks/pipe", HOOKS, "pipe"),
    ("mv .git ../moved; echo 'gitdir: ../moved' > .git", CONFIG, "the git directory"),
]  # fmt: skip
NOTHING = (
    *("git pack-refs --all", "git gc -q", "touch README; git status", "git reflog expire --expire=now --all"),
    *(
        ": > .git/index.lock; rm .git/index.lock",
        "git rev-parse HEAD > .git/ORIG_HEAD",
        "echo x > .git/FETCH_HEAD",
        "git update-ref refs/prefetch/remotes/origin/main HEAD",
    ),
    "echo edited >> src/a.py",
)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = repository(tmp_path / "repo", BASE)
    git(made, "config", "include.path", "more")
    git(made, "config", "core.hooksPath", ".hooks")
    (made / ".git/more").write_text("")
    (made / ".hooks").mkdir()
    return made


def done(repo: Path, script: str) -> RepositoryState:
    subprocess.run(["/bin/sh", "-ec", script], cwd=repo, env=ENV, check=True, capture_output=True)
    return repository_state(repo, index=True)


def test_what_a_worker_does_to_it_is_told(repo: Path) -> None:
    before = repository_state(repo, index=True)
    for script, kind, names in STEPS:
        after = done(repo, script)
        told = [reason.text for reason in repository_changes(before, after)]
        assert any(text.startswith(f"{kind} of") and names in text for text in told), (script, told)
        before = after


def test_what_happens_by_itself_is_not(repo: Path) -> None:
    before = repository_state(repo, index=True)
    for script in NOTHING:
        assert repository_changes(before, done(repo, script)) == (), script


def test_an_empty_index_is_watched_too(repo: Path) -> None:
    git(repo, "rm", "-r", "-q", "--cached", ".")
    before = repository_state(repo, index=True)
    assert before.index, "what is asked for is known to have been asked for"
    (reason,) = repository_changes(before, done(repo, "git add README"))
    assert reason.text.endswith("during the review: README")
