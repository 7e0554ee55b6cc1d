"""SIGKILL at random instants, then resume: nothing is lost but what was in flight.

``PRUN_CRASH_KILLS`` is how many kills; 3 without it, since each costs a few seconds.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.crash import campaign
from tests.repokit import cache_home

KILLS = int(os.environ.get("PRUN_CRASH_KILLS", "3"))
SEED = int(os.environ.get("PRUN_CRASH_SEED", "1"))
SHARED = max(1, KILLS // 5)
"""Kills of runs with ``-n 2``; the others go without workers."""


@pytest.mark.parametrize(
    ("workers", "kills"), [(0, KILLS - SHARED), (2, SHARED)], ids=["without workers", "-n 2"]
)
def test_after_every_kill_a_resumed_run_ends_as_an_undisturbed_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], workers: int, kills: int
) -> None:
    if not kills:
        pytest.skip("no kills are left for this kind")
    with cache_home() as cache:
        project = campaign.Project.make(tmp_path, cache, workers)
        try:
            expected = campaign.undisturbed(project)
            tally = campaign.run(project, kills, SEED, expected)
        finally:
            project.end()
    with capsys.disabled():
        print(f"\n{tally} (seed {SEED}, -n {workers})")
    assert tally.kills == kills
