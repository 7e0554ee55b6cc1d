"""No descendant survives: six kinds of tree, each with every way a dispatch can end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from prun_review.errors import LaunchError
from prun_review.ports import Launch
from prun_review.process import reap
from prun_review.process.launch import ProcessLauncher

from .trees import PATIENCE, TREES, alive, end_all, launch, new_tag, parent_of, survivors, tree, until

FOREVER = "sleep 600"
STARTS = 20


@pytest.fixture(params=[True, False], ids=["cgroup", "bare"])
def launcher(request: pytest.FixtureRequest) -> Iterator[ProcessLauncher]:
    """Cgroups are used where the system gives them, and all of this holds without."""
    with ProcessLauncher(cgroups=request.param) as it:
        yield it


@pytest.fixture
def tags() -> Iterator[dict[str, str]]:
    it = {name: new_tag() for name in TREES}
    yield it
    for tag in it.values():
        end_all(tag)


def where(tmp_path: Path, name: str) -> Path:
    return tmp_path / name.replace(" ", "-")


def wait_ready(tmp_path: Path) -> None:
    for name in TREES:
        until((where(tmp_path, name) / "ready").exists)


def test_the_leader_ends_by_itself(tmp_path: Path, launcher: ProcessLauncher, tags: dict[str, str]) -> None:
    running = {
        name: launcher.start(tree(where(tmp_path, name), name, tag=tags[name], last="exit 7"))
        for name in TREES
    }
    ended = {name: process.wait(PATIENCE) for name, process in running.items()}
    assert {name: (e.code, e.ended_by) for name, e in ended.items() if e} == {
        name: (0 if name == "leader exits first" else 7, "") for name in TREES
    }
    assert all("left behind" in e.note for e in ended.values() if e)
    assert {name: survivors(tag) for name, tag in tags.items()} == {name: [] for name in TREES}


def test_timeout(tmp_path: Path, launcher: ProcessLauncher, tags: dict[str, str]) -> None:
    running = {
        name: launcher.start(tree(where(tmp_path, name), name, tag=tags[name], last=FOREVER, timeout=1.0))
        for name in TREES
    }
    ended = {name: process.wait(PATIENCE) for name, process in running.items()}
    assert {name: e.ended_by for name, e in ended.items() if e} == {
        name: "" if name == "leader exits first" else "timeout" for name in TREES
    }
    assert {name: survivors(tag) for name, tag in tags.items()} == {name: [] for name in TREES}


def test_stop(tmp_path: Path, launcher: ProcessLauncher, tags: dict[str, str]) -> None:
    running = {
        name: launcher.start(tree(where(tmp_path, name), name, tag=tags[name], last=FOREVER))
        for name in TREES
    }
    wait_ready(tmp_path)
    for process in running.values():
        process.stop("-x")
    ended = {name: process.wait(PATIENCE) for name, process in running.items()}
    first = ended.pop("leader exits first")  # ended by itself, or was about to
    assert first
    assert first.ended_by in ("", "-x")
    assert {e.ended_by for e in ended.values() if e} == {"-x"}
    assert {name: survivors(tag) for name, tag in tags.items()} == {name: [] for name in TREES}


_HARNESS = """
import json, os, sys, time
from pathlib import Path
from prun_review.ports import Launch
from prun_review.process.launch import ProcessLauncher

launcher = ProcessLauncher()
running = []
for fields in json.loads(sys.stdin.read()):
    for name in ("cwd", "stdin", "stdout", "stderr"):
        fields[name] = Path(fields[name])
    running.append(launcher.start(Launch(**fields)))
copy = os.fork() if sys.argv[1] == "forks" else 1
if copy == 0:
    time.sleep(600)
print(json.dumps([copy, *(process.pid for process in running)]), flush=True)
time.sleep(600)
"""


def start_harness(
    tmp_path: Path, tags: dict[str, str], mode: str = "plain"
) -> tuple[subprocess.Popen[str], list[int]]:
    """A harness of its own with all trees up; it, the pid of its fork (or 1) and of the workers."""
    trees = [tree(where(tmp_path, name), name, tag=tags[name], last=FOREVER) for name in TREES]
    harness, pids = begin_harness(trees, mode)
    wait_ready(tmp_path)
    return harness, pids


def begin_harness(them: list[Launch], mode: str = "plain") -> tuple[subprocess.Popen[str], list[int]]:
    """The same with any launches, as soon as they are started."""
    launches = []
    for it in them:
        fields = {key: getattr(it, key) for key in it.__dataclass_fields__}
        launches.append({k: str(v) if isinstance(v, Path) else v for k, v in fields.items()})
    harness = subprocess.Popen(
        [sys.executable, "-c", _HARNESS, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert harness.stdin
    assert harness.stdout
    with harness.stdin, harness.stdout:
        harness.stdin.write(json.dumps(launches))
        harness.stdin.close()
        pids: list[int] = json.loads(harness.stdout.readline())
    return harness, pids


@pytest.mark.parametrize("mode", ["plain", "forks"])
def test_the_harness_is_killed(tmp_path: Path, tags: dict[str, str], mode: str) -> None:
    """Also when a fork of it lives on, which must not keep the lifelines open."""
    harness, (copy, *workers) = start_harness(tmp_path, tags, mode)
    zygote = parent_of(parent_of(workers[0]))
    try:
        harness.kill()
        harness.wait()
        for tag in tags.values():
            until(lambda tag=tag: not survivors(tag))
        until(lambda: not alive(zygote))
        assert copy == 1 or alive(copy)
    finally:
        if copy != 1:
            os.kill(copy, signal.SIGKILL)


def test_shims_and_harness_are_killed(tmp_path: Path, tags: dict[str, str]) -> None:
    """Then only the zygote is left to end the trees."""
    harness, (_, *workers) = start_harness(tmp_path, tags)
    # the leader that exits first is gone, and its shim with it or about to go
    shims = {parent_of(pid) for pid in workers if alive(pid)}
    zygotes = {parent_of(shim) for shim in shims}
    assert len(zygotes) == 1
    for pid in shims:
        os.kill(pid, signal.SIGKILL)
    harness.kill()
    harness.wait()
    for tag in tags.values():
        until(lambda tag=tag: not survivors(tag))
    until(lambda: not alive(*zygotes))


def test_the_harness_is_killed_while_shims_and_zygote_are_stopped(
    tmp_path: Path, tags: dict[str, str]
) -> None:
    """A worker can send SIGSTOP to them; neither sleeps through the end of the harness."""
    harness, (_, *workers) = start_harness(tmp_path, tags)
    shims = {parent_of(pid) for pid in workers if alive(pid)}
    (zygote,) = {parent_of(shim) for shim in shims}
    try:
        for pid in (zygote, *shims):
            os.kill(pid, signal.SIGSTOP)
        harness.kill()
        harness.wait()
        for tag in tags.values():
            until(lambda tag=tag: not survivors(tag))
        until(lambda: not alive(zygote))
    finally:
        for pid in (zygote, *shims):
            reap.send(pid, signal.SIGKILL)


def test_a_shim_that_is_stopped_again_and_again_is_killed(tmp_path: Path, tags: dict[str, str]) -> None:
    """After the time that TERM and KILL may take, when the harness is gone."""
    tag = tags["plain"]
    script = "trap '' TERM; while kill -STOP $PPID; do : > ready; done"
    harness, (_, worker) = begin_harness([launch(tmp_path, "/bin/sh", "-c", f"sleep 0.2; {script}", tag=tag)])
    shim = parent_of(worker)
    zygote = parent_of(shim)
    until((tmp_path / "ready").exists)
    harness.kill()
    harness.wait()
    try:
        until(lambda: not survivors(tag) and not alive(zygote), 2 * PATIENCE)
    finally:
        reap.send(shim, signal.SIGKILL)


def test_a_stopped_zygote_starts_what_comes_next(
    tmp_path: Path, launcher: ProcessLauncher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prun_review.process.launch.BIRTH_LIMIT", 10.0)
    script = "kill -STOP $(cut -d ' ' -f 4 /proc/$PPID/stat)"
    for name in ("1", "2"):
        ended = launcher.start(launch(tmp_path / name, "/bin/sh", "-c", script)).wait(PATIENCE)
        assert ended
        assert (ended.code, ended.ended_by) == (0, "")


def test_a_start_that_nobody_answered_leaves_no_worker(
    tmp_path: Path, launcher: ProcessLauncher, tags: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker stops its shim before that has said that it runs.  Not each of them wins this race."""
    monkeypatch.setattr("prun_review.process.launch.BIRTH_LIMIT", 1.0)
    tag = tags["plain"]
    for _ in range(STARTS):
        stopping = launch(tmp_path, "/bin/sh", "-c", "kill -STOP $PPID; exec sleep 600", tag=tag)
        with suppress(LaunchError):
            process = launcher.start(stopping)
            shim = parent_of(process.pid)
            until(lambda shim=shim: " T " in Path(f"/proc/{shim}/stat").read_text())
            process.stop()
            os.kill(shim, signal.SIGCONT)
            assert process.wait(PATIENCE)
        assert survivors(tag) == []


def test_a_shim_is_killed(tmp_path: Path, launcher: ProcessLauncher, tags: dict[str, str]) -> None:
    names = [name for name in TREES if name != "leader exits first"]
    running = {
        name: launcher.start(tree(where(tmp_path, name), name, tag=tags[name], last=FOREVER))
        for name in names
    }
    for name in names:
        until((where(tmp_path, name) / "ready").exists)
    for process in running.values():
        os.kill(parent_of(process.pid), signal.SIGKILL)
    ended = {name: process.wait(PATIENCE) for name, process in running.items()}
    assert {name: (e.code, e.ended_by) for name, e in ended.items() if e} == dict.fromkeys(
        names, (None, "lost")
    )
    assert {name: survivors(tags[name]) for name in names} == {name: [] for name in names}


def test_the_zygote_is_killed(tmp_path: Path, launcher: ProcessLauncher) -> None:
    """What runs goes on and is still contained; one new zygote is started, not a second."""
    tag = new_tag()
    first = launcher.start(launch(tmp_path / "1", "/bin/sh", "-c", "setsid sleep 600 & sleep 600", tag=tag))
    os.kill(parent_of(parent_of(first.pid)), signal.SIGKILL)
    second = launcher.start(launch(tmp_path / "2", "/bin/sleep", "600"))
    assert first.wait(0) is None
    first.stop()
    ended = first.wait(PATIENCE)
    assert ended
    assert ended.ended_by == "cancelled"
    assert survivors(tag) == []
    os.kill(parent_of(parent_of(second.pid)), signal.SIGKILL)
    until(lambda: _refuses(launcher, tmp_path / "3"))
    second.stop()
    assert second.wait(PATIENCE)


def _refuses(launcher: ProcessLauncher, directory: Path) -> bool:
    try:
        launcher.start(launch(directory, "/bin/true")).wait(PATIENCE)
    except LaunchError as error:
        return "zygote" in str(error)
    return False


def test_close_ends_what_runs(tmp_path: Path) -> None:
    tag = new_tag()
    launcher = ProcessLauncher()
    process = launcher.start(launch(tmp_path, "/bin/sh", "-c", "setsid sleep 600 & sleep 600", tag=tag))
    zygote = parent_of(parent_of(process.pid))
    launcher.close()
    ended = process.wait(0)
    assert ended
    assert ended.ended_by == "cancelled"
    assert survivors(tag) == []
    assert not os.path.exists(f"/proc/{zygote}")
    launcher.close()
    with pytest.raises(LaunchError, match="the launcher is closed"):
        launcher.start(launch(tmp_path, "/bin/true"))


def test_signals_of_people_do_not_reach_shim_and_zygote(tmp_path: Path, launcher: ProcessLauncher) -> None:
    process = launcher.start(launch(tmp_path, "/bin/sleep", "600"))
    shim = parent_of(process.pid)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(shim, number)
        os.kill(parent_of(shim), number)
    assert process.wait(0.1) is None
    assert launcher.start(launch(tmp_path / "2", "/bin/true")).wait(PATIENCE)
    process.stop()
    assert process.wait(PATIENCE)
    assert reap.children(os.getpid())  # the zygote is still there
