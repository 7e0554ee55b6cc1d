"""The second net: a tree in a cgroup of its own, and nothing at all where there are none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prun_review.process import cgroup, reap
from prun_review.process.launch import ProcessLauncher, ShimProcess

from .trees import PATIENCE, alive, launch, new_tag, parent_of, until

HERE = "30 29 0:28 / / rw - ext4 /dev/a rw\n"
UNIFIED = "38 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
BELOW = "40 31 0:26 /user.slice /run/my\\040place\\134 rw shared:4 - cgroup2 none rw\n"


@pytest.mark.parametrize(
    ("mounts", "own", "place"),
    [
        (HERE + UNIFIED, "9:name=systemd:/\n0::/\n", "/sys/fs/cgroup/unified"),
        (UNIFIED, "0::/a/b\n", "/sys/fs/cgroup/unified/a/b"),
        (BELOW, "0::/user.slice/x.scope\n", "/run/my place\\/x.scope"),
        (BELOW, "0::/user.slice\n", "/run/my place\\"),
        (BELOW + UNIFIED, "0::/user.slices\n", "/sys/fs/cgroup/unified/user.slices"),
        (BELOW, "0::/system.slice\n", ""),
        (UNIFIED, "0::/../other\n", ""),
        (HERE, "0::/\n", ""),
        (UNIFIED, "1:cpu:/\n", ""),
        ("", "", ""),
    ],
)
def test_our_own_place(mounts: str, own: str, place: str) -> None:
    assert cgroup.locate(mounts, own) == place


@pytest.mark.parametrize("place", ["", "no/such/folder", "."])
def test_a_place_that_is_no_cgroup_gives_no_nest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cgroup.make_nest(place) is cgroup.NONE
    assert cgroup.deserted(place) == []
    assert list(tmp_path.iterdir()) == []


def test_without_a_nest_every_step_does_nothing() -> None:
    assert cgroup.NONE.enter(7) == cgroup.leave("") == ""
    assert cgroup.members("") == []
    cgroup.kill("")
    assert cgroup.remove("")
    assert cgroup.leave("/no/such/cell") == ""
    assert cgroup.remove("/no/such/cell")


@pytest.fixture
def place() -> str:
    """Our own cgroup, where it may be used."""
    it = cgroup.home()
    nest = cgroup.make_nest(it)
    if nest is cgroup.NONE:
        pytest.skip("cgroup v2 is not delegated to this user here")
    nest.give_up()
    return it


@pytest.fixture
def launcher(place: str) -> Iterator[ProcessLauncher]:
    with ProcessLauncher() as it:
        yield it


def cell_of(pid: int) -> str:
    own = Path(f"/proc/{pid}/cgroup").read_text()
    return cgroup.locate(Path("/proc/self/mountinfo").read_text(), own)


def hidden(directory: Path, launcher: ProcessLauncher) -> tuple[ShimProcess, int]:
    """A dispatch whose child has a session of its own, no environment, and ignores TERM."""
    deaf = "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done"
    process = launcher.start(
        launch(directory, "/bin/sh", "-c", 'setsid env -i /bin/sh -c "$0" & sleep 600', deaf)
    )
    until((directory / "pid").exists)
    until(lambda: (directory / "pid").read_text().strip())
    return process, int((directory / "pid").read_text())


def test_a_worker_is_born_into_its_cell_and_its_shim_stays_out(
    tmp_path: Path, launcher: ProcessLauncher, place: str
) -> None:
    process = launcher.start(launch(tmp_path, "/bin/sh", "-c", "cat /proc/self/cgroup; sleep 600"))
    until(lambda: (tmp_path / "out").read_text())
    cell = cell_of(process.pid)
    assert cell.startswith(f"{place}/prun_review-")
    assert f"0::{cell.removeprefix(place)}" in (tmp_path / "out").read_text()
    assert cell_of(parent_of(process.pid)) == place
    process.stop()
    assert process.wait(PATIENCE)
    assert not os.path.exists(cell)
    launcher.close()
    assert not os.path.exists(os.path.dirname(cell))


def test_what_hides_from_everything_else_is_ended_when_shim_and_zygote_are_killed(
    tmp_path: Path, launcher: ProcessLauncher
) -> None:
    process, pid = hidden(tmp_path, launcher)
    cell = cell_of(pid)
    shim = parent_of(process.pid)
    os.kill(parent_of(shim), signal.SIGKILL)
    os.kill(shim, signal.SIGKILL)
    ended = process.wait(PATIENCE)
    assert ended
    assert (ended.ended_by, ended.note) == ("lost", "its shim died without a report")
    assert not alive(pid)
    assert not os.path.exists(cell)


def test_the_zygote_ends_the_cell_of_a_killed_shim(tmp_path: Path, launcher: ProcessLauncher) -> None:
    process, pid = hidden(tmp_path, launcher)
    cell = cell_of(pid)
    os.kill(parent_of(process.pid), signal.SIGKILL)
    assert process.wait(PATIENCE)
    assert not alive(pid)
    until(lambda: not os.path.exists(cell))


_HARNESS = """
import sys, time
from pathlib import Path
from prun_review.process.launch import ProcessLauncher
from tests.process.test_cgroup import hidden
process, pid = hidden(Path(sys.argv[1]), ProcessLauncher())
print(process.pid, pid, flush=True)
time.sleep(600)
"""


def test_what_outlived_harness_zygote_and_shims_is_ended_at_the_next_start(
    tmp_path: Path, place: str
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _HARNESS, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as harness:
        assert harness.stdout
        worker, pid = map(int, harness.stdout.readline().split())
        cell = cell_of(pid)
        shim = parent_of(worker)
        try:
            with ProcessLauncher():
                assert alive(pid), "a nest that is lived in is nobody else's"
            for victim in (parent_of(shim), shim, harness.pid):
                os.kill(victim, signal.SIGKILL)
            harness.wait()
            assert alive(worker)
            assert alive(pid)
            with ProcessLauncher() as launcher:
                assert launcher.start(launch(tmp_path / "2", "/bin/true")).wait(PATIENCE)
                until(lambda: not alive(worker) and not alive(pid))
            until(lambda: not os.path.exists(os.path.dirname(cell)))
        finally:
            for victim in (worker, pid):
                reap.send(victim, signal.SIGKILL)


@pytest.mark.parametrize("name", ["mine", "my0own0tests.nest"])
def test_an_empty_nest_is_removed_and_no_other_cgroup_is(place: str, name: str) -> None:
    left, other = f"{place}/prun_review-0123456789ab.nest", f"{place}/prun_review-{name}"
    os.makedirs(f"{left}/3/of-a-worker")
    os.mkdir(other)
    try:
        with ProcessLauncher():
            until(lambda: not os.path.exists(left))
            assert os.path.exists(other)
    finally:
        assert cgroup.remove(other)


def test_a_worker_that_makes_cgroups_itself_does_not_leave_by_them(
    tmp_path: Path, launcher: ProcessLauncher, place: str
) -> None:
    script = f"""
        cell={place}$(sed -n 's/^0:://p' /proc/self/cgroup); mkdir $cell/mine; trap '' TERM
        sh -c 'trap "" TERM; echo $$ > '$cell'/mine/cgroup.procs; : > ready; while :; do sleep 0.1; done' &
        wait
    """
    process = launcher.start(launch(tmp_path, "/bin/sh", "-c", script))
    until((tmp_path / "ready").exists)
    cell = cell_of(process.pid)
    assert len(cgroup.members(f"{cell}/mine")) >= 1
    process.stop()
    assert process.wait(PATIENCE)
    assert not os.path.exists(cell)


def test_a_nest_that_is_taken_away_costs_no_dispatch(tmp_path: Path, launcher: ProcessLauncher) -> None:
    process = launcher.start(launch(tmp_path, "/bin/sleep", "600"))
    nest = os.path.dirname(cell_of(process.pid))
    process.stop()
    assert process.wait(PATIENCE)
    assert cgroup.remove(nest)
    ended = launcher.start(
        launch(tmp_path, "/bin/sh", "-c", "setsid sleep 600 & exit 3", tag=new_tag())
    ).wait(PATIENCE)
    assert ended
    assert (ended.code, ended.ended_by) == (3, "")
    assert not os.path.exists(nest)
