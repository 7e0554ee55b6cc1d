"""Why a dispatch ended is told exactly, whoever of worker, clock and harness was first."""

from __future__ import annotations

import ast
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import prun_review
from prun_review.process.launch import ProcessLauncher, ShimProcess

from .trees import PATIENCE, alive, end_all, launch, new_tag, parent_of, survivors, until

WORDS = ("stall", "startup", "finished", "network", "-x", "budget: 3,00 € spent", "x" * 3000)


@pytest.fixture
def launcher() -> Iterator[ProcessLauncher]:
    with ProcessLauncher() as it:
        yield it


@pytest.fixture
def tag() -> Iterator[str]:
    it = new_tag()
    yield it
    end_all(it)


def begin(launcher: ProcessLauncher, directory: Path, script: str, tag: str) -> ShimProcess:
    """Runs ``script`` and waits for its file ``ready``."""
    process = launcher.start(launch(directory, "/bin/sh", "-c", script, tag=tag))
    until((directory / "ready").exists)
    return process


@pytest.mark.parametrize(
    "script",
    [
        "exec sleep 600",
        "trap '' TERM; while :; do sleep 0.05; done",
        "trap 'echo a whole answer; exit 0' TERM; while :; do sleep 0.05; done",
    ],
    ids=["obeys", "deaf", "answers on TERM"],
)
def test_the_word_of_a_stop_arrives(tmp_path: Path, launcher: ProcessLauncher, tag: str, script: str) -> None:
    running = {
        word: launcher.start(launch(tmp_path / str(n), "/bin/sh", "-c", f": > ready; {script}", tag=tag))
        for n, word in enumerate(WORDS)
    }
    for n in range(len(WORDS)):
        until((tmp_path / str(n) / "ready").exists)
    begun = time.monotonic()
    for word, process in running.items():
        process.stop(word)
        process.stop("too late")
    ended = {word: process.wait(PATIENCE) for word, process in running.items()}
    assert time.monotonic() - begun < 10, "2 s of grace, then KILL; the rest is for a busy machine"
    assert {word: e.ended_by for word, e in ended.items() if e} == {word: word for word in WORDS}
    assert survivors(tag) == []


def test_what_ended_by_itself_before_was_not_stopped(
    tmp_path: Path, launcher: ProcessLauncher, tag: str
) -> None:
    """Its sweep is still under way, because a child of it ignores TERM."""
    deaf = "trap '' TERM; : > ready; while :; do sleep 0.05; done"
    process = begin(
        launcher,
        tmp_path,
        f'echo answer; setsid sh -c "{deaf}" & until [ -e ready ]; do sleep 0.01; done; exit 5',
        tag,
    )
    until(lambda: not alive(process.pid))
    process.stop("stall")
    ended = process.wait(PATIENCE)
    assert ended
    assert (ended.code, ended.ended_by) == (5, "")
    assert ended.note.startswith("ended ")
    assert (tmp_path / "out").read_text() == "answer\n"
    assert survivors(tag) == []


@pytest.mark.parametrize("later", ["stop", "timeout"])
def test_the_end_of_the_worker_counts_where_its_shim_slept_over_all_of_it(
    tmp_path: Path, launcher: ProcessLauncher, tag: str, later: str
) -> None:
    """Order is not told by what the shim happens to look at first."""
    script = "until [ -e go ]; do sleep 0.01; done; exit 6"
    limit = 60.0 if later == "stop" else 1.5
    process = launcher.start(launch(tmp_path, "/bin/sh", "-c", script, tag=tag, timeout=limit))
    shim = parent_of(process.pid)
    os.kill(shim, signal.SIGSTOP)
    try:
        (tmp_path / "go").touch()
        until(lambda: not alive(process.pid))
        if later == "stop":
            process.stop("stall")
        else:
            time.sleep(limit)
    finally:
        os.kill(shim, signal.SIGCONT)
    ended = process.wait(PATIENCE)
    assert ended
    assert (ended.code, ended.ended_by) == (6, "")


@pytest.mark.parametrize(
    "holder",
    ["sleep 600 &", "setsid sleep 600 &", "(setsid sleep 600 &);", "trap '' TERM; setsid sleep 600 &"],
)
def test_an_answer_is_whole_although_a_grandchild_holds_its_output(
    tmp_path: Path, launcher: ProcessLauncher, tag: str, holder: str
) -> None:
    ended = launcher.start(launch(tmp_path, "/bin/sh", "-c", f"echo answer; {holder} exit 0", tag=tag)).wait(
        PATIENCE
    )
    assert ended
    assert (ended.code, ended.ended_by) == (0, "")
    assert "left behind" in ended.note
    assert (tmp_path / "out").read_text() == "answer\n"
    assert survivors(tag) == []


CLOCKED = ("process", "supervise.py", "pool.py", "brakes.py", "dispatch.py")


def test_no_wall_clock_decides_over_a_dispatch() -> None:
    """A clock that is set must neither end a unit nor keep one: only ``monotonic`` is asked."""
    home = Path(prun_review.__file__).parent
    found = set()
    for place in CLOCKED:
        files = sorted((home / place).glob("*.py")) if not place.endswith(".py") else [home / place]
        assert files
        for file in files:
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    if node.value.id in ("time", "datetime", "date"):
                        found.add(f"{node.value.id}.{node.attr}")
                elif isinstance(node, ast.ImportFrom):
                    assert node.module not in ("time", "datetime"), f"{file}: cannot be seen through"
    assert found <= {"time.monotonic", "time.sleep"}
