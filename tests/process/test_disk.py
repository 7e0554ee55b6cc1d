"""A worker that fills the disk is ended before it is full; who merely works beside it is not."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prun_review.process import disk
from prun_review.process.launch import ProcessLauncher

from .trees import PATIENCE, launch

# A file system of 64 MiB counts from 12.8 MiB on and is nearly full at 3.2 MiB.
_ON_A_SMALL_DISK = """
import json, sys
from pathlib import Path
from prun_review.process.launch import ProcessLauncher
from tests.process.trees import PATIENCE, launch
with ProcessLauncher() as launcher:
    running = [
        launcher.start(launch(Path(sys.argv[1], str(n)), "/bin/sh", "-c", script))
        for n, script in enumerate(sys.argv[2:])
    ]
    ended = [process.wait(PATIENCE) for process in running[:-1]]
    still = running[-1].wait(0)
    running[-1].stop()
    ended.append(running[-1].wait(PATIENCE))
print(json.dumps([still is None, *([e.ended_by, e.note] for e in ended if e)]))
"""
FILL = "head -c 52000000 /dev/zero > most; while :; do head -c 400000 /dev/zero >> {}; sleep 0.05; done"


def mounts() -> list[str]:
    """The command that gives us a file system of our own, or none where that is forbidden."""
    for words in (["unshare", "-m"], ["unshare", "-rm"]):
        tried = subprocess.run([*words, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True)
        if tried.returncode == 0:
            return words
    return []


@pytest.mark.parametrize("where", ["big", "/dev/stdout", "$TMPDIR/big"])
def test_who_fills_the_disk_is_ended_and_its_neighbour_is_not(tmp_path: Path, where: str) -> None:
    words = mounts()
    if not words:
        pytest.skip("no mount of our own without more rights")
    fill = FILL.format(where)
    script = f"TMPDIR=. ; {fill}"
    neighbour = "while :; do echo an answer grows; sleep 0.05; done"
    inside = 'mount -t tmpfs -o size=64m none "$1" && exec "$2" -c "$3" "$1" "$4" "$5"'
    done = subprocess.run(
        [*words, "sh", "-c", inside, "-", str(tmp_path), sys.executable, _ON_A_SMALL_DISK, script, neighbour],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    still, filler, other = json.loads(done.stdout)
    assert filler[0] == "output"
    assert filler[1].startswith("the disk is nearly full: ")
    assert filler[1].endswith((" 1 MiB left", " 2 MiB left", " 3 MiB left"))
    assert still
    assert other == ["cancelled", ""]


REAL = os.statvfs("/")


def one_terabyte(free: int) -> os.statvfs_result:
    """What the kernel would say of it."""
    return os.statvfs_result((1, 1, 1 << 40, free, free, *REAL[5:]))


MIB = 1 << 20


@pytest.mark.parametrize(
    ("looks", "ended"),
    [
        ([(900, 0), (900, 5000)], ""),  # plenty left: whatever it writes
        ([(700, 100), (199, 120)], "199 MiB"),  # counted from 800 MiB on
        ([(700, 100), (201, 900)], ""),
        ([(100, 100), (100, 108)], ""),  # nearly full from the beginning, and hardly written to
        ([(100, 100), (100, 109)], "100 MiB"),
        ([(700, 100), (900, 100), (700, 120), (100, 125)], ""),  # there was room again
        ([(0, 0), (0, 0)], ""),
    ],
)
def test_what_counts(
    monkeypatch: pytest.MonkeyPatch,
    looks: list[tuple[int, int]],
    ended: str,
) -> None:
    now = iter(looks)
    state = {"free": 0, "written": 0}
    monkeypatch.setattr(os, "statvfs", lambda place: one_terabyte(state["free"] * MIB))
    room = disk.Room([0, b"/"], lambda: state["written"] * MIB)
    for free, written in now:
        state.update(free=free, written=written)
        said = room.shortage()
    assert said == (f"the disk is nearly full: {ended} left" if ended else "")


def test_a_device_and_a_folder_that_vanished_are_never_full() -> None:
    room = disk.Room([b"/dev/null", b"/no/such/folder", -1], lambda: pytest.fail("never asked"))
    assert room.shortage() == ""


def test_what_is_written_counts_children_that_have_ended(tmp_path: Path) -> None:
    before = disk.written([os.getpid()])
    with (tmp_path / "x").open("wb") as file:
        subprocess.run(["head", "-c", "3000000", "/dev/zero"], stdout=file, check=True)
    assert 3_000_000 <= disk.written([os.getpid(), 2**22 + 1]) - before < 4_000_000


def test_a_file_of_a_worker_has_a_longest_length(tmp_path: Path) -> None:
    """Also one without content: this one takes no room on the disk."""
    script = f"truncate -s {disk.FILE_LIMIT} most && truncate -s {disk.FILE_LIMIT + 1} more"
    with ProcessLauncher() as launcher:
        ended = launcher.start(launch(tmp_path, "/bin/sh", "-c", f"exec sh -c '{script}; exit $?'")).wait(
            PATIENCE
        )
    assert ended
    assert ended.code == 128 + signal.SIGXFSZ
    assert (tmp_path / "most").stat().st_size == disk.FILE_LIMIT
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY, "the harness keeps its own"
