"""``prun-review integrate`` on runs that went on from another one, whose later tasks started from commits of
that one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from prun_review import rundir
from prun_review.errors import RunDirError
from prun_review.git import find
from prun_review.rebuilding import rebuild
from prun_review.vault import Vault
from prun_review.wavebeginning import Selection
from prun_review.wavetaking import read
from tests.cli.driver import call
from tests.repokit import cache_home
from tests.waves.wavekit import DIR, DONE, T, project


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with cache_home() as path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(path))
        yield


def test_a_task_that_failed_was_done_again_while_later_ones_stayed(tmp_path: Path) -> None:
    made = project(
        tmp_path,
        T(1, 1, script=f"echo 1 > one; {DONE}"),
        T(2, 1, script="exit 3"),
        T(3, 2, [1], script=f"cat one > three; {DONE}"),
        T(4, 3, [3], script=f"cat three > four; {DONE}"),
        validation={3: "grep 1 four"},
    )
    assert made.done()["status"] == "failed"
    made.script(2, f"echo 2 > two; {DONE}")
    document = made.done(Selection(resume=True))
    assert document["status"] == "completed"
    code, out, _ = call("integrate", DIR, "--test", "grep 2 two", cwd=made.root)
    assert (code, "passed: grep 1 four" in out, "passed: grep 2 two" in out) == (0, True, True), out

    run = next(iter(rundir.stored(made.root)))
    [pack] = (run / "git/objects/pack").glob("*.pack")
    pack.unlink()
    former, other = read(run), Vault.create(tmp_path / "other", find(made.root))
    with pytest.raises(RunDirError, match="what its changes started from cannot be had"):
        rebuild(former, other)
