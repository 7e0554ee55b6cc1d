"""What a launched worker gets, and how its end is told."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from prun_review.errors import LaunchError
from prun_review.model import Exit
from prun_review.process.launch import ProcessLauncher

from .trees import PATH, PATIENCE, launch, until


@pytest.fixture(scope="module")
def launcher() -> Iterator[ProcessLauncher]:
    with ProcessLauncher() as it:
        yield it


def finish(launcher: ProcessLauncher, directory: Path, *argv: str, **changes: Any) -> Exit:
    ended = launcher.start(launch(directory, *argv, **changes)).wait(PATIENCE)
    assert ended is not None
    return ended


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", -9), ("kill -9 0", -9)],
)
def test_exit_status(launcher: ProcessLauncher, tmp_path: Path, script: str, code: int) -> None:
    """``kill 0`` reaches the worker's own group only: its shim lives to report it."""
    ended = finish(launcher, tmp_path, "/bin/sh", "-c", script)
    assert (ended.code, ended.ended_by, ended.note) == (code, "", "")
    assert ended.seconds > 0


def test_streams(launcher: ProcessLauncher, tmp_path: Path) -> None:
    content = bytes(range(256)) * 1000
    (tmp_path / "out").write_bytes(b"of an earlier attempt" * 50000)
    ended = finish(launcher, tmp_path, "/bin/sh", "-c", "cat; echo oops >&2", content=content)
    assert ended.code == 0
    assert (tmp_path / "out").read_bytes() == content
    assert (tmp_path / "err").read_bytes() == b"oops\n"
    assert (tmp_path / "err").stat().st_mode & 0o777 == 0o600


def test_both_outputs_in_one_file(launcher: ProcessLauncher, tmp_path: Path) -> None:
    tail = tmp_path / "tail"
    finish(launcher, tmp_path, "/bin/sh", "-c", "echo a; echo b >&2; echo c", stdout=tail, stderr=tail)
    assert tail.read_text() == "a\nb\nc\n"


def test_environment_and_directory_are_exact(launcher: ProcessLauncher, tmp_path: Path) -> None:
    env = {"A": "1=2", "B": "two\nlines", "C": "", "D": os.fsdecode(b"\xff")}
    finish(launcher, tmp_path, "/usr/bin/env", "-0", env=env, tag="a-tag")
    wanted = {b"A=1=2", b"B=two\nlines", b"C=", b"D=\xff", b"PRUN_DISPATCH=a-tag", b""}
    assert set((tmp_path / "out").read_bytes().split(b"\0")) == wanted
    finish(launcher, tmp_path, "/bin/pwd")
    assert (tmp_path / "out").read_text() == f"{tmp_path}\n"


def test_an_untagged_launch_gets_a_tag_of_its_own(launcher: ProcessLauncher, tmp_path: Path) -> None:
    tags = set()
    for _ in range(2):
        finish(launcher, tmp_path, "/bin/sh", "-c", "echo $PRUN_DISPATCH", env=PATH)
        tags.add((tmp_path / "out").read_text().strip())
    assert len(tags) == 2
    assert all(tags)


def test_arguments_arrive_as_bytes(launcher: ProcessLauncher, tmp_path: Path) -> None:
    words = ["", "a b", "-n", "\n", os.fsdecode(b"\xfe\xff"), "é"]
    finish(launcher, tmp_path, "/usr/bin/printf", "%s|", *words)
    assert (tmp_path / "out").read_bytes() == b"|".join(os.fsencode(word) for word in words) + b"|"


def held_back(launcher: ProcessLauncher, directory: Path) -> int:
    """The signals that a worker finds ignored or blocked, as bits; not 32 and 33, the C library's own."""
    finish(launcher, directory, "/bin/cat", "/proc/self/status")
    blocked, ignored = re.findall(r"Sig(?:Blk|Ign):\s*(\w+)", (directory / "out").read_text())
    return (int(blocked, 16) | int(ignored, 16)) & ~(0b11 << 31)


def test_no_descriptor_and_no_signal_state_leaks(launcher: ProcessLauncher, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    os.set_inheritable(writer, True)
    script = (
        "import os; found = os.listdir('/proc/self/fd'); "
        "print(sorted(f for f in found if os.path.exists('/proc/self/fd/' + f)))"
    )
    try:
        with ProcessLauncher() as other:
            held = [other.start(launch(tmp_path / str(n), "/bin/sleep", "600")) for n in range(3)]
            finish(other, tmp_path, sys.executable, "-I", "-S", "-c", script)
            assert (tmp_path / "out").read_text() == "['0', '1', '2']\n"
            assert len(held) == 3
    finally:
        os.close(reader)
        os.close(writer)
    assert held_back(launcher, tmp_path) == 0


def test_ignored_and_blocked_signals_of_the_harness_are_not_inherited(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        with ProcessLauncher() as it:
            assert held_back(it, tmp_path) == 0
    finally:
        signal.signal(signal.SIGUSR1, before)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@pytest.mark.parametrize("size", [0, 1, 100_000])
def test_output_at_the_limit_is_kept(launcher: ProcessLauncher, tmp_path: Path, size: int) -> None:
    ended = finish(launcher, tmp_path, "/usr/bin/head", "-c", str(size), "/dev/zero", max_output=100_000)
    assert (ended.code, ended.ended_by, ended.note) == (0, "", "")
    assert (tmp_path / "out").stat().st_size == size


@pytest.mark.parametrize("redirect", ["", ">&2"])
def test_endless_output_is_cut(launcher: ProcessLauncher, tmp_path: Path, redirect: str) -> None:
    ended = finish(launcher, tmp_path, "/bin/sh", "-c", f"exec yes {redirect}", max_output=100_000)
    assert ended.ended_by == "output"
    assert re.match(r"wrote more than 100000 bytes; kept the first 100000 of \d+ bytes$", ended.note)
    assert (tmp_path / ("err" if redirect else "out")).stat().st_size == 100_000


def test_a_burst_past_the_limit_by_a_worker_that_ended_is_cut_too(
    launcher: ProcessLauncher, tmp_path: Path
) -> None:
    ended = finish(launcher, tmp_path, "/usr/bin/head", "-c", "70000", "/dev/zero", max_output=1000)
    assert (ended.code, ended.note) == (0, "kept the first 1000 of 70000 bytes")
    assert (tmp_path / "out").stat().st_size == 1000


def test_what_was_stopped_stays_stopped_whatever_it_exits_with(
    launcher: ProcessLauncher, tmp_path: Path
) -> None:
    script = "trap 'exit 0' TERM; : > ready; while :; do sleep 0.02; done"
    process = launcher.start(launch(tmp_path, "/bin/sh", "-c", script))
    until((tmp_path / "ready").exists)
    assert process.wait(0.01) is None
    process.stop()
    process.stop("too late")
    ended = process.wait(PATIENCE)
    assert ended
    assert (ended.code, ended.ended_by) == (0, "cancelled")
    process.stop("much too late")
    assert process.wait(0) is ended


def test_several_threads_may_wait(launcher: ProcessLauncher, tmp_path: Path) -> None:
    process = launcher.start(launch(tmp_path, "/bin/sleep", "600"))
    with ThreadPoolExecutor(4) as threads:
        waiting = [threads.submit(process.wait) for _ in range(4)]
        process.stop()
        assert len({id(future.result(PATIENCE)) for future in waiting}) == 1


def make_fifo(directory: Path) -> dict[str, object]:
    os.mkfifo(directory / "fifo")
    return {"stdout": directory / "fifo"}


def make_plain_file(directory: Path) -> dict[str, object]:
    (directory / "plain").write_text("#!/bin/sh\n")
    return {"argv": (str(directory / "plain"),)}


def make_program_in_relative_path(directory: Path) -> dict[str, object]:
    (directory / "tool").write_text("#!/bin/sh\n")
    (directory / "tool").chmod(0o755)
    return {"argv": ("tool",), "env": {"PATH": ".::bin"}}


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"argv": ("/no/such/program",)}, "cannot start /no/such/program: No such file or directory"),
        ({"argv": ("no-such",)}, "cannot start no-such: not found in the absolute entries of its PATH"),
        ({"argv": ("/bin/echo", "x" * 200_000)}, "Argument list too long"),
        ({"argv": ()}, "cannot start"),
        ({"cwd": Path("/no/such/place")}, "cannot enter /no/such/place: No such file or directory"),
        ({"stdin": Path("/no/such/file")}, "cannot open /no/such/file: No such file or directory"),
        ({"stderr": Path("/no/such/file")}, "cannot open /no/such/file: No such file or directory"),
        ({"stdout": Path("/")}, "cannot open /: Is a directory"),
        (make_plain_file, "Permission denied"),
        (make_program_in_relative_path, "not found in the absolute entries of its PATH"),
        (make_fifo, "fifo"),
    ],
)
def test_what_cannot_be_started(
    launcher: ProcessLauncher, tmp_path: Path, changes: object, note: str
) -> None:
    given: Any = changes(tmp_path) if callable(changes) else changes
    fields = dict(given)
    argv = fields.pop("argv", ("/bin/true",))
    process = launcher.start(launch(tmp_path, *argv, **fields))
    assert process.pid == 0
    ended = process.wait(PATIENCE)
    assert ended
    assert (ended.code, ended.ended_by) == (None, "spawn")
    assert note in ended.note


@pytest.mark.parametrize(("word", "value"), [("a\0b", ""), ("", "b\0c")])
def test_nul_is_refused(launcher: ProcessLauncher, tmp_path: Path, word: str, value: str) -> None:
    with pytest.raises(LaunchError, match="NUL byte"):
        launcher.start(launch(tmp_path, "/bin/echo", word, env={"A": value}))


def test_64_at_once(launcher: ProcessLauncher, tmp_path: Path) -> None:
    """From 64 threads, all in flight together: each waits for a file that comes when all run."""
    go = tmp_path / "go"
    script = f"echo $1; until [ -e {go} ]; do sleep 0.05; done; exit $1"
    begun = threading.Barrier(65)

    def one(n: int) -> Exit | None:
        process = launcher.start(launch(tmp_path / str(n), "/bin/sh", "-c", script, "sh", str(n)))
        begun.wait(PATIENCE)
        return process.wait(PATIENCE)

    with ThreadPoolExecutor(64) as threads:
        futures = [threads.submit(one, n) for n in range(64)]
        begun.wait(PATIENCE)
        go.touch()
        codes = [ended.code for future in futures if (ended := future.result(PATIENCE))]
    assert codes == list(range(64))
    assert [(tmp_path / str(n) / "out").read_text() for n in range(64)] == [f"{n}\n" for n in range(64)]
