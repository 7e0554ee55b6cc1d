"""How a dispatch ends when the worker does not, and that nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from prun_review.process import reap
from tests.prun.kit import FALLBACK, PRUN, REAPED, RESULT, Desk, finish, until

HANGS = "echo thinking; sleep 600"
TREE = "(setsid sleep 600 &); echo thinking; sleep 600"
"""With a grandchild in a session of its own."""
DEAF = f"trap '' TERM; {TREE}"
"""It and its grandchild ignore TERM."""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def started(desk: Desk) -> str:
    """Wait until the worker prints; the tag of its tree."""
    until(lambda: [p for p in desk.tmp.glob("prun-task-*/tail") if p.read_bytes()])
    return desk.state.name


@pytest.mark.parametrize(
    ("name", "why", "play"),
    [("PRUN_STALL_THRESHOLD", "idle-stall", DEAF), ("CODEX_DISPATCH_TIMEOUT", "hard-timeout", TREE)],
)
def test_a_silent_or_late_worker_is_ended_with_its_tree(desk: Desk, name: str, why: str, play: str) -> None:
    done = desk.dispatch(play, env={name: "1"})
    assert (done.returncode, done.stdout.count("\n")) == (124, 1)
    last = f"dispatch-task: worker reaped ({why}); exit code 124."
    tail = f"thinking\n\n{last}\n"
    assert (desk.state / "tail").read_text() == tail
    assert desk.result.read_text() == REAPED.format(unit="u1", why=why) + tail
    assert done.stderr.splitlines()[-1] == last
    assert not (desk.state / "reap-reason").exists()
    assert reap.tagged(desk.state.name) == []


def test_a_real_result_of_an_ended_worker_is_kept(desk: Desk) -> None:
    done = desk.dispatch(
        f"""printf '%s' '{RESULT}' > "$RESULT"; {HANGS}""", env={"PRUN_STALL_THRESHOLD": "1"}
    )
    assert done.returncode == 124
    assert desk.result.read_text() == RESULT


def test_a_worker_that_goes_on_printing_is_not_silent(desk: Desk) -> None:
    play = "for i in 1 2 3; do echo $i; sleep 0.9; done"
    assert desk.dispatch(play, env={"PRUN_STALL_THRESHOLD": "2"}).returncode == 0


def test_a_threshold_of_0_waits_for_ever(desk: Desk) -> None:
    assert desk.dispatch("sleep 1.5; exit 6", env={"PRUN_STALL_THRESHOLD": "0"}).returncode == 6


def test_what_a_finished_worker_leaves_running_is_ended(desk: Desk) -> None:
    play = """(setsid sleep 600 &); printf '%s' x > "$RESULT"; exit 7"""
    assert desk.dispatch(play).returncode == 7
    assert desk.result.read_text() == "x"
    assert reap.tagged(desk.state.name) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda n: n.name)
def test_a_signal_ends_the_tree_and_leaves_the_fallback(desk: Desk, number: signal.Signals) -> None:
    # pytest itself may run with SIGINT ignored, which a dispatch would inherit and respect
    with default(number):
        process = desk.start(TREE)
    tag = started(desk)
    process.send_signal(number)
    done = finish(process)
    assert done.returncode == 128 + number
    assert desk.result.read_text().startswith(REAPED.format(unit="u1", why=number.name) + "thinking\n")
    assert (desk.state / "tail").read_text().endswith(f"reaped ({number.name}); exit code {128 + number}.\n")
    assert reap.tagged(tag) == []


def test_a_signal_keeps_a_result_that_is_there(desk: Desk) -> None:
    process = desk.start(f"""printf '%s' '{RESULT}' > "$RESULT"; {HANGS}""")
    started(desk)
    process.terminate()
    assert finish(process).returncode == 143
    assert desk.result.read_text() == RESULT


def test_a_signal_that_was_ignored_stays_ignored(desk: Desk) -> None:
    process = subprocess.Popen(
        ["nohup", *PRUN, "dispatch", *desk.words()],
        cwd=desk.folder,
        env={**desk.env, "PLAY": "echo thinking; until [ -e ../go ]; do sleep 0.05; done; sleep 1; exit 9"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started(desk)
    process.send_signal(signal.SIGHUP)
    (desk.state / "go").touch()
    assert finish(process).returncode == 9


def test_a_dispatcher_that_is_killed_leaves_no_worker(desk: Desk) -> None:
    process = desk.start(TREE)
    tag = started(desk)
    assert reap.tagged(tag)
    process.kill()
    finish(process)
    until(lambda: not reap.tagged(tag))
    assert not desk.result.exists()


def test_nobody_has_to_read_what_it_says(desk: Desk) -> None:
    """Standard error is a closed pipe, standard output is no descriptor at all."""
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.Popen(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *PRUN, "dispatch", *desk.words()],
        cwd=desk.folder,
        env={**desk.env, "PLAY": "echo out; exit 4"},
        stdin=subprocess.DEVNULL,
        stderr=writing,
    )
    os.close(writing)
    assert process.wait(60) == 4
    assert desk.result.read_text() == FALLBACK.format(unit="u1") + "out\n"


def test_the_state_directory_is_told_before_the_worker_ends(desk: Desk) -> None:
    process = desk.start("until [ -e ../go ]; do sleep 0.05; done")
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == f"STATE-DIR {desk.state}\n"
    assert process.poll() is None
    (desk.state / "go").touch()
    assert finish(process).returncode == 0


class default:  # noqa: N801 - reads as a word
    """A signal has its default inside, also for what is started there."""

    def __init__(self, number: signal.Signals) -> None:
        self.number = number

    def __enter__(self) -> None:
        self.before = signal.signal(self.number, signal.SIG_DFL)

    def __exit__(self, *_: object) -> None:
        signal.signal(self.number, self.before)
