"""Short commands: their whole output or an error, and nothing left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prun_review.errors import LaunchError
from prun_review.process import reap
from prun_review.process.run import Completed, run

from .trees import PATH, until


def sh(script: str, cwd: Path, **changes: Any) -> Completed:
    fields: dict[str, Any] = {"env": PATH, "cwd": cwd, "timeout": 20.0, **changes}
    return run(["/bin/sh", "-c", script], **fields)


def test_what_it_returns(tmp_path: Path) -> None:
    done = sh("cat; echo err >&2; pwd; exit 3", tmp_path, stdin=b"\0in\n")
    assert done == Completed(3, b"\0in\n" + f"{tmp_path}\n".encode(), b"err\n")
    assert sh("kill -9 $$", tmp_path).code == -9


def test_environment_is_exact(tmp_path: Path) -> None:
    names = {
        line.partition(b"=")[0]
        for line in run(["/usr/bin/env"], env={"A": "1"}, cwd=tmp_path, timeout=20).stdout.split()
    }
    assert names == {b"A", reap.TAG.encode(), reap.HELPER.encode()}


def test_large_streams_both_ways(tmp_path: Path) -> None:
    content = b"x" * 3_000_000
    done = sh("cat; echo >&2", tmp_path, stdin=content, max_output=3_000_000)
    assert done.stdout == content


@pytest.mark.parametrize("redirect", ["", ">&2"])
def test_too_much_output(tmp_path: Path, redirect: str) -> None:
    with pytest.raises(LaunchError, match="wrote more than 1000 bytes"):
        sh(f"exec yes {redirect}", tmp_path, max_output=1000)
    with pytest.raises(LaunchError, match="wrote more than 1000 bytes"):
        sh(f"head -c 1001 /dev/zero {redirect}", tmp_path, max_output=1000)


def recorded(tmp_path: Path) -> str:
    return (tmp_path / "tag").read_text().strip()


def test_timeout_ends_the_tree(tmp_path: Path) -> None:
    script = "echo $PRUN_DISPATCH > tag; (setsid sleep 600 &); sleep 600"
    with pytest.raises(LaunchError, match=r"/bin/sh -c .*: not finished after 0.5 s"):
        sh(script, tmp_path, timeout=0.5)
    assert reap.tagged(recorded(tmp_path)) == []


def test_a_background_job_neither_holds_the_caller_nor_stays(tmp_path: Path) -> None:
    done = sh("echo $PRUN_DISPATCH > tag; sleep 600 & echo done", tmp_path)
    assert done == Completed(0, b"done\n", b"")
    until(lambda: reap.tagged(recorded(tmp_path)) == [])


@pytest.mark.parametrize(
    ("argv", "cwd"), [("/no/such/program", "."), ("/bin/true", "missing"), ("/bin/a\0b", ".")]
)
def test_what_cannot_be_started(tmp_path: Path, argv: str, cwd: str) -> None:
    with pytest.raises(LaunchError, match="cannot start"):
        run([argv], env=PATH, cwd=tmp_path / cwd, timeout=20)
