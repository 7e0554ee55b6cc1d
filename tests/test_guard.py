"""The guard of a reviewed tree: asked by many threads, checked seldom, and never forgetful."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prun_review import workspace
from prun_review.guard import Guard
from prun_review.model import Reason
from prun_review.snapshot import Snapshot
from prun_review.workspace import ReviewedTree
from tests.repokit import cache_home, git, repository

CHANGED = (Reason("snapshot-changed", "x"),)


class Check:
    """A check that waits until it may end, and counts."""

    def __init__(self) -> None:
        self.calls = 0
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.answer: tuple[Reason, ...] = ()
        self.raises: Exception | None = None

    def __call__(self) -> tuple[Reason, ...]:
        self.calls += 1
        self.begun.release()
        assert self.may_end.acquire(timeout=30)
        if self.raises:
            raise self.raises
        return self.answer


class Asked(threading.Thread):
    """A thread that asks a guard once."""

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self.guard = guard
        self.answer: tuple[Reason, ...] | Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            self.answer = self.guard()
        except Exception as error:
            self.answer = error

    def get(self) -> tuple[Reason, ...] | Exception | None:
        self.join(30)
        assert not self.is_alive()
        return self.answer


def all_waiting(guard: Guard, count: int) -> None:
    """Until so many threads wait for the check that runs."""
    for _ in range(3000):
        with guard._turn:
            if len(guard._turn._waiters) == count:  # type: ignore[attr-defined]
                return
        threading.Event().wait(0.01)
    raise AssertionError("the threads never came to wait")


def test_those_that_come_while_a_check_runs_share_the_next_one() -> None:
    check = Check()
    guard = Guard(check)
    first = Asked(guard)
    assert check.begun.acquire(timeout=30)
    others = [Asked(guard) for _ in range(63)]
    all_waiting(guard, 63)
    check.may_end.release()
    assert first.get() == ()
    assert check.begun.acquire(timeout=30), "a check that had begun before they came does not cover them"
    check.answer = CHANGED
    check.may_end.release()
    assert {other.get() for other in others} == {CHANGED}
    assert check.calls == 2


def test_what_changed_once_stays_changed_and_is_not_looked_at_again() -> None:
    check = Check()
    guard = Guard(check)
    check.answer = CHANGED
    check.may_end.release()
    assert guard() == CHANGED
    check.answer = ()
    assert guard() == guard.found == CHANGED
    assert check.calls == 1


def test_a_repository_that_changed_first_hides_no_changed_snapshot() -> None:
    check = Check()
    guard = Guard(check)
    branch, content = Reason("repository-changed", "refs"), Reason("snapshot-changed", "content")
    for _ in range(3):
        check.may_end.release()
    check.answer = (branch,)
    assert guard() == (branch,)
    check.answer = ()
    assert guard() == (branch,), "what was put back stays told"
    check.answer = (content,)
    assert guard() == guard() == (branch, content)
    assert check.calls == 3


def test_a_check_that_fails_covers_nobody() -> None:
    check = Check()
    guard = Guard(check)
    first = Asked(guard)
    assert check.begun.acquire(timeout=30)
    other = Asked(guard)
    all_waiting(guard, 1)
    check.raises = MemoryError("none left")
    check.may_end.release()
    assert isinstance(first.get(), MemoryError)
    assert check.begun.acquire(timeout=30)
    check.raises = None
    check.answer = CHANGED
    check.may_end.release()
    assert other.get() == CHANGED


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ReviewedTree]:
    repo = repository(tmp_path / "repo", {"a": "1\n", "d/b": "2\n"})
    with cache_home() as cache:
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        with workspace.take(repo) as taken:
            yield taken


CHANGES: dict[str, tuple[Callable[[Path, Snapshot], object], str, str]] = {
    "content": (lambda r, s: os.utime(s.path / "a"), "snapshot-changed", "rewritten with the same content"),
    "added": (lambda r, s: (s.path / "d/new").touch(), "snapshot-changed", "added"),
    "removed": (lambda r, s: (s.path / "d/b").unlink(), "snapshot-changed", "removed"),
    "a branch": (lambda r, s: git(r, "branch", "other"), "repository-changed", "refs"),
    "HEAD": (lambda r, s: git(r, "checkout", "-q", "--detach"), "repository-changed", "HEAD"),
    "config": (lambda r, s: git(r, "config", "a.b", "c"), "repository-changed", "configuration"),
    "a hook": (lambda r, s: (r / ".git/hooks/pre-push").touch(), "repository-changed", "hooks"),
    "no repository": (lambda r, s: (r / ".git").rename(r / "x"), "repository-changed", "cannot be read"),
}


@pytest.mark.parametrize(("change", "code", "text"), CHANGES.values(), ids=CHANGES)
def test_snapshot_and_repository_are_guarded(
    tree: ReviewedTree,
    tmp_path: Path,
    change: Callable[[Path, Snapshot], object],
    code: str,
    text: str,
) -> None:
    with tree.materialise() as shot:
        guard = tree.guard(shot)
        assert guard() == ()
        (shot.path / "d").chmod(0o755)
        assert guard() == ()
        change(tmp_path / "repo", shot)
        reasons = guard()
        assert {(r.code, r.outcome) for r in reasons} == {(code, "INCOMPLETE")}
        assert any(text in r.text for r in reasons)


def test_edits_of_the_work_tree_and_what_codex_makes_are_no_change(
    tree: ReviewedTree, tmp_path: Path
) -> None:
    with tree.materialise() as shot:
        guard = tree.guard(shot)
        (tmp_path / "repo/a").write_text("edited meanwhile")
        shot.path.chmod(0o755)
        (shot.path / ".codex").mkdir()
        assert guard() == ()
        assert (shot.path / ".codex").is_dir(), "its sandbox may have mounted something there"
