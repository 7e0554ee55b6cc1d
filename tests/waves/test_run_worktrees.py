"""Runs of waves in worktrees, as programs: two waves, what stays of a failed task, a branch that is made."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prun_review import cli, integration, rundir, scratch
from prun_review.linked import LOCK
from prun_review.wavebeginning import Selection
from tests.repokit import cache_home, git
from tests.waves.wavekit import DIR, DONE, Project, T, project, states


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with cache_home() as place:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
        yield place


def ended(made: Project, *args: str) -> tuple[int, str]:
    argv = [sys.executable, "-m", "prun_review", *args]
    done = subprocess.run(argv, cwd=made.root, capture_output=True, text=True, timeout=240, check=False)
    return done.returncode, done.stderr


def document(made: Project) -> dict[str, Any]:
    return json.loads((next(rundir.stored(made.root)) / "waves.json").read_text())  # type: ignore[no-any-return]


def raw(made: Project) -> dict[str, bytes]:
    """The user's files, and all of the git directory but objects: byte for byte."""
    names = {str(p.relative_to(made.root)): p for p in made.root.rglob("*") if p.is_file()}
    left = (".git/objects/", f".git/{LOCK}", ".prun/", f"{DIR}/logs/", f"{DIR}/report.json")
    return {name: path.read_bytes() for name, path in names.items() if not name.startswith(left)}


def test_two_waves_and_integration(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = project(
        tmp_path,
        T(1, 1, script=f"echo a > one; git add -A; {DONE}"),
        T(2, 1, script=f"echo lost > two; exit 3; {DONE}"),
        T(3, 2, [1], script=f"cat one > three; test $(git log --oneline | wc -l) -gt 1; {DONE}"),
        validation={1: "test -f one", 2: "test -f three"},
    )
    table = made.root / "pyproject.toml"
    table.write_text(table.read_text().replace("executor = ", 'isolation = "worktree"\nexecutor = ', 1))
    made.git("commit", "-qam", "worktrees")
    made.git("worktree", "add", "-q", "--detach", str(tmp_path / "mine"))
    before, listed = raw(made), made.git("worktree", "list", "--porcelain")

    code, err = ended(made, "run", DIR)
    told = document(made)
    assert states(told) == {"001": "succeeded:ok", "002": "failed:unknown", "003": "succeeded:ok"}, err
    assert ([wave["validation"]["code"] for wave in told["waves"]], code) == ([0, 0], 1)
    kept = Path(told["tasks"][1]["patch"]["kept"])
    assert (kept / "two").read_text() == "lost\n"
    assert f"kept in {kept}" in told["tasks"][1]["message"]
    assert made.git("worktree", "list", "--porcelain").startswith(f"{listed}\n\nworktree {kept}\n")
    assert made.git("worktree", "list", "--porcelain").count("worktree /") == 3
    after = {name: data for name, data in raw(made).items() if not name.startswith(".git/worktrees/prun-")}
    assert after == before

    monkeypatch.setattr(scratch, "places", lambda kind: iter((cache / scratch.NAME / kind,)))
    assert cli.main(["clean", "--older-than", "0"]) == 0
    assert not kept.exists()
    assert (made.git("worktree", "list", "--porcelain"), raw(made)) == (listed, before)

    _, err = ended(made, "integrate", DIR)
    whole, head = next(rundir.stored(made.root)) / integration.WHOLE, document(made)["integration"]["head"]
    names = git(made.root, "--git-dir", str(whole), "ls-tree", "--name-only", head).split()
    assert {"one", "three"} <= {*names}, err
    assert raw(made) | {f"{DIR}/{integration.REPORT}": b""} == before | {f"{DIR}/{integration.REPORT}": b""}


def test_a_worker_that_makes_a_branch_fails_the_run(tmp_path: Path) -> None:
    script = f"echo a > one; git checkout -q -b sneaky; git add -A; git commit -qm x; {DONE}"
    made = project(tmp_path, T(1, 1, script=script), T(2, 2, [1]))
    for name in ("user.name", "user.email"):
        made.git("config", name, "somebody")
    code, err = ended(made, "run", DIR, "--isolation", "worktree")
    told = document(made)
    assert (code, told["status"]) == (1, "failed")
    assert "refs of the repository changed during the run: refs/heads/sneaky" in err
    assert "succeeded" not in " ".join(states(told).values())


def test_what_is_withheld_cannot_be_in_a_worktree(tmp_path: Path) -> None:
    made = project(tmp_path, T(1, 1), files={"conf/.env": "A=1\n"})
    code, err = ended(made, "run", DIR, "--isolation", "worktree")
    assert code != 0
    assert "conf/.env" in err
    assert 'isolation = "copy"' in err
    assert not list((made.scripts).glob("*.prompt"))


@pytest.mark.parametrize("first", ["worktree", "copy"])
def test_a_run_is_gone_on_from(tmp_path: Path, first: str) -> None:
    """What stands already comes from a run that borrowed objects as well as from one that did not; also what
    the history of the repository holds, and the commit that it started from does not."""
    made = project(tmp_path, T(1, 1, script=f"echo old > again; {DONE}"), T(2, 2, [1], script="exit 3"))
    (made.root / "again").write_text("old\n")
    made.git("add", "-A")
    made.git("commit", "-qm", "has it")
    made.git("rm", "-q", "again")
    made.git("commit", "-qm", "has it no more")
    before = raw(made)
    assert states(made.done(isolation=first)) == {"001": "succeeded:ok", "002": "failed:unknown"}
    made.script(2, f"test -f again; echo b > two; {DONE}")
    told = made.done(Selection(resume=True), isolation="worktree")
    assert (told["status"], states(told)["001"]) == ("completed", "succeeded:ok")
    assert raw(made) == before
