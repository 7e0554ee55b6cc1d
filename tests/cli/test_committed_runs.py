"""A run that came with the repository is its author's word: no verb takes it for a review."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.driver import call
from tests.cli.runkit import both, store
from tests.gatekit import SQL
from tests.repokit import git

PLANTED = "29991231T235959Z-ffff"
VERBS = (
    ("gate",),
    ("gate", "--explain"),
    ("gate", PLANTED),
    ("gate", f".prun/runs/{PLANTED}"),
    ("report",),
    ("status",),
    ("baseline", "-o", "known.json"),
    ("accept", "latest", "f1-", "--by", "Ada", "--reason", "so"),
    ("compare", PLANTED, PLANTED),
)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a green run of a date to come, and a red one of today."""
    git(tmp_path, "init", "-q")
    store(tmp_path).rename(tmp_path / PLANTED)
    store(tmp_path, both(SQL))
    shutil.move(tmp_path / PLANTED, tmp_path / ".prun/runs" / PLANTED)
    return tmp_path


def commit(repo: Path, *names: str) -> None:
    git(repo, "add", "-f", *names)
    git(repo, "commit", "-q", "--allow-empty", "-m", "work")


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_committed_run_is_refused(repo: Path, verb: tuple[str, ...]) -> None:
    commit(repo, ".prun/runs")
    status, out, errors = call(*verb, cwd=repo)
    assert (status, out) == (2, "")
    assert "git tracks .prun/runs/" in errors
    assert "git rm -r --cached .prun" in errors


def test_a_run_that_is_only_added_is_refused_too(repo: Path) -> None:
    commit(repo)
    git(repo, "add", "-f", f".prun/runs/{PLANTED}/run.json")
    assert call("gate", cwd=repo)[0] == 2


def test_a_link_that_was_committed_is_refused(repo: Path) -> None:
    (repo / ".prun").rename(repo / "data")
    (repo / ".prun").symlink_to("data")
    commit(repo, ".prun")
    assert call("gate", cwd=repo)[0] == 2


def test_what_nobody_committed_is_judged(repo: Path) -> None:
    (repo / "a.py").write_text("a = 1\n")
    commit(repo, "a.py")
    assert call("gate", PLANTED, "--json", cwd=repo)[0] == 0
    shutil.rmtree(repo / ".prun/runs" / PLANTED)
    assert call("gate", "--json", cwd=repo)[0] == 1
