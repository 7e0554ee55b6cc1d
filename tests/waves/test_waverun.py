"""Runs of waves with workers that are shell scripts: what becomes of tasks, waves and what comes after."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from prun_review import rundir, wavedocument
from prun_review.errors import ConfigError, PlanError
from prun_review.rundir import RunView
from prun_review.vault import Vault
from prun_review.wavebeginning import Selection
from tests.repokit import cache_home
from tests.waves.wavekit import DIR, DONE, Project, T, drain, project, states


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with cache_home() as place:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        yield place


def three_waves(tmp_path: Path) -> Project:
    """The middle one fails in part."""
    return project(
        tmp_path,
        T(1, 1),
        T(2, 2, [1], script=f"test -f task-001.txt; echo no > task-002.txt; exit 3; {DONE}"),
        T(3, 2, [1], script=f"cat task-001.txt > task-003.txt; {DONE}"),
        T(4, 3, [2]),
        T(5, 3, [3], script=f"cat task-001.txt task-003.txt > task-005.txt; {DONE}"),
        validation={1: "test -f task-001.txt", 3: "test -f task-005.txt && ! test -e task-002.txt"},
    )


def test_what_depends_on_a_failure_is_skipped_and_all_else_goes_on(tmp_path: Path) -> None:
    made = three_waves(tmp_path)
    before = made.git("for-each-ref"), made.git("status", "--porcelain"), made.git("rev-parse", "HEAD")
    document = made.done()
    assert states(document) == {
        **{"001": "succeeded:ok", "002": "failed:unknown", "003": "succeeded:ok"},
        **{"004": "skipped:dependency", "005": "succeeded:ok"},
    }
    assert document["status"] == "failed"
    assert document["tasks"][3]["message"] == "task-002-part failed (unknown)"
    assert [w["validation"] and w["validation"]["code"] for w in document["waves"]] == [0, None, 0]
    assert wavedocument.validate(document) == []
    assert (made.git("for-each-ref"), made.git("status", "--porcelain"), made.git("rev-parse", "HEAD")) == before
    assert json.loads((made.directory / "report.json").read_text()) == document
    [path] = rundir.stored(made.root)
    assert RunView(path).waves() == document
    vault = Vault.open(path / "git")
    held = {e.name.decode() for e in vault.entries(document["head"])} & {f"task-00{n}.txt" for n in range(6)}
    assert held == {"task-001.txt", "task-003.txt", "task-005.txt"}
    assert made.lines[-1] == "[PROGRESS] execution status=failed"
    assert "[PROGRESS] wave=2 task=task-002 status=failed error=unknown" in made.lines
