"""``gather``, line by line: what lands, when, in which words, and with which exit status."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from prun_review import fallback
from prun_review.prun.gather import Gather
from tests.prun.kit import PRUN, RESULT, Desk, command, laid_out, landed, until

SHORT = {"AGENT_CONFIG_GATHER_TIMEOUT": "0", "PRUN_GATHER_POLL": "0.05"}
"""One look at every file."""
FALLBACK = fallback.header("u1") + "raw\n"


def gather(*names: object, tmp: Path, strict: bool = False, **env: str) -> int:
    return Gather([str(n) for n in names], {"TMPDIR": str(tmp), **SHORT, **env}, strict=strict).run()


def test_a_transcript_of_files_that_have_landed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    a, b = landed(tmp_path / "real" / "a.md"), landed(tmp_path / "b.md", FALLBACK)
    done = command("gather", "link/a.md", str(b), "link/a.md", env={"TMPDIR": str(tmp_path)}, cwd=tmp_path)
    assert done.stdout.splitlines() == [
        "GATHER-START count=3 timeout=3600s",
        f"DONE {a}",  # as ``pwd -P`` tells the folder
        f"DONE {b}",  # a FALLBACK has landed
        f"DONE {a}",  # twice by index
    ]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_transcript_of_time_that_is_over(tmp_path: Path) -> None:
    landed(tmp_path / "a.md")
    (tmp_path / "empty.md").touch()
    (tmp_path / "folder").mkdir()
    env = {"TMPDIR": str(tmp_path), **SHORT}
    done = command(
        "gather", "a.md", "missing.md", "empty.md", "folder", "missing.md", "", env=env, cwd=tmp_path
    )
    lines = ["GATHER-START count=6 timeout=0s", f"DONE {tmp_path}/a.md", "TIMEOUT remaining=5"]
    assert (done.stdout.splitlines(), done.returncode) == (lines, 2)


def test_no_arguments_are_a_usage_error(tmp_path: Path) -> None:
    done = command("gather", env={}, cwd=tmp_path)
    assert (done.stdout, done.returncode) == ("", 2)
    assert "usage" in done.stderr or "required" in done.stderr


def test_each_file_is_told_when_it_lands(tmp_path: Path) -> None:
    env = {"TMPDIR": str(tmp_path), "PRUN_GATHER_POLL": "0.05", "PRUN_GATHER_STABLE_WINDOW": "1"}
    with subprocess.Popen(
        [*PRUN, "gather", "late.md", "early.md"], cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "GATHER-START count=2 timeout=3600s\n"
        landed(tmp_path / "early.md")
        assert process.stdout.readline() == f"DONE {tmp_path}/early.md\n"
        assert process.poll() is None
        landed(tmp_path / "late.md", age=0)
        assert process.stdout.read() == f"DONE {tmp_path}/late.md\n"
        assert process.wait() == 0


def test_a_file_that_is_still_written_has_not_landed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    landed(tmp_path / "a.md", age=5)
    assert gather(tmp_path / "a.md", tmp=tmp_path, PRUN_GATHER_STABLE_WINDOW="600") == 2
    assert gather(tmp_path / "a.md", tmp=tmp_path, PRUN_GATHER_STABLE_WINDOW="5") == 0
    assert capfd.readouterr().out.count("DONE") == 1


def test_settings_that_are_no_numbers_are_the_defaults(tmp_path: Path) -> None:
    names = ("AGENT_CONFIG_GATHER_TIMEOUT", "PRUN_GATHER_POLL", "PRUN_GATHER_STABLE_WINDOW")
    for value in ("", "soon", "-1", "1e3", "5s", "٣"):
        waiting = Gather(["a"], dict.fromkeys(names, value), strict=False)
        assert (waiting.timeout, waiting.poll, waiting.window) == (3600, 5, 10)
    waiting = Gather(["a"], dict.fromkeys(names, "7"), strict=False)
    assert (waiting.timeout, waiting.poll, waiting.window) == (7, 7, 7)
    assert Gather(["a"], {"PRUN_GATHER_POLL": "0"}, strict=False).poll > 0


def test_what_landed_when_time_is_over_counts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    landed(tmp_path / "a.md")
    assert gather(tmp_path / "a.md", tmp=tmp_path, AGENT_CONFIG_GATHER_TIMEOUT="0") == 0
    assert capfd.readouterr().out == f"GATHER-START count=1 timeout=0s\nDONE {tmp_path}/a.md\n"


def test_a_file_from_the_future_lands_once_it_was_left_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    landed(tmp_path / "a.md", age=-86_400)
    began = time.monotonic()
    later = {"AGENT_CONFIG_GATHER_TIMEOUT": "20", "PRUN_GATHER_STABLE_WINDOW": "1"}
    assert Gather([str(tmp_path / "a.md")], SHORT | later, strict=False).run() == 0
    assert time.monotonic() - began >= 1
    assert "DONE" in capfd.readouterr().out


# --- strict -------------------------------------------------------------------------------------


def test_strict_waits_for_a_result_and_says_so_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good = landed(tmp_path / "good.md", RESULT + "The FALLBACK is tested: " + FALLBACK)
    bad = landed(tmp_path / "bad.md", FALLBACK)
    assert gather(bad, good, tmp=tmp_path, strict=True) == 2
    out, errors = capfd.readouterr()
    assert out.splitlines()[1:] == [f"DONE {good}", "TIMEOUT remaining=1"]
    assert errors == f"gather: {bad}: a FALLBACK and no result, not counted (--strict)\n"


def test_strict_is_an_option_of_the_command(tmp_path: Path) -> None:
    landed(tmp_path / "a.md", FALLBACK)
    env = {"TMPDIR": str(tmp_path), **SHORT}
    assert command("gather", "--strict", "a.md", env=env, cwd=tmp_path).returncode == 2
    assert command("gather", "a.md", env=env, cwd=tmp_path).returncode == 0


# --- what a dispatch that runs found in its result's place ---------------------------------------


def test_the_file_of_an_earlier_run_is_waited_out_while_a_dispatch_runs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    old = landed(tmp_path / "r" / "a.md")
    mtime = int(old.stat().st_mtime)
    state = laid_out(tmp_path, result=str(old), pid=os.getpid(), pre_mtime=mtime)
    assert gather(old, tmp=tmp_path) == 2
    assert "older than the dispatch" in capfd.readouterr().err

    (state / "dispatch-pid").write_text("0\n")  # nobody runs: the file is all there will be
    assert gather(old, tmp=tmp_path) == 0

    (state / "dispatch-pid").write_text(f"{os.getpid()}\n")
    landed(old, age=50)  # the dispatch has written it
    assert gather(old, tmp=tmp_path) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a directory of somebody else")
def test_a_directory_of_somebody_else_keeps_nobody_waiting(tmp_path: Path) -> None:
    old = landed(tmp_path / "r" / "a.md")
    state = laid_out(tmp_path, result=str(old), pid=os.getpid(), pre_mtime=int(old.stat().st_mtime))
    os.chown(state, 65534, 65534)
    assert gather(old, tmp=tmp_path) == 0


def test_a_dispatch_of_ours_makes_an_old_result_wait(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    landed(desk.result, "old")
    running = desk.start("until [ -e ../go ]; do sleep 0.05; done; printf new > $RESULT")
    until(lambda: list(desk.tmp.glob("prun-task-*/tail")))
    env = desk.env | SHORT | {"PRUN_GATHER_STABLE_WINDOW": "0"}
    assert command("gather", str(desk.result), env=env, cwd=tmp_path).returncode == 2
    (desk.state / "go").touch()
    running.communicate()
    assert command("gather", str(desk.result), env=env, cwd=tmp_path).returncode == 0
    assert desk.result.read_text() == "new"
