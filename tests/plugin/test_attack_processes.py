"""However pytest ends, nothing that it started stays, and no unit is dispatched twice."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prun_review.process import reap
from tests.plugin.conftest import Project, payload
from tests.process.trees import parent_of, until

# Each stand-in makes its tree, says so in LOG, and hangs; "leader" and "eof" answer and end.
STAND_IN = '''
import os, signal, subprocess, sys, time
kind, tag, log, answer = sys.argv[1:5]
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
DEAF = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; time.sleep(600)"
CHAIN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    if os.fork():
        os._exit(0)
    time.sleep(0.002)
"""

def child(code, **changes):
    subprocess.Popen([sys.executable, "-I", "-S", "-c", code, tag], **{**quiet, **changes})

def say(word):
    with open(log, "a") as file:
        file.write(word + chr(10))

def reply():
    print(answer, flush=True)
    say("ready")
    os._exit(0)

say("called")
if kind == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child(DEAF)
elif kind == "session":
    child(DEAF, start_new_session=True)
elif kind == "other environment":
    child(DEAF, start_new_session=True, env={})
elif kind == "double fork" and not os.fork():
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", DEAF, tag])
elif kind == "leader":
    child(DEAF, start_new_session=True, stdout=1)
    reply()
elif kind == "chain":
    child(CHAIN)
elif kind == "closed":
    for number in range(3):
        os.close(number)
elif kind == "eof":
    sys.stdin.read()
    reply()
say("ready")
if kind == "stopped":
    os.kill(os.getpid(), signal.SIGSTOP)
while True:
    time.sleep(600)
'''
KINDS = (
    *("deaf", "session", "other environment", "double fork", "leader"),
    *("chain", "closed", "eof", "stopped"),
)


class Review:
    """A review by one stand-in of each kind, as a process group of its own."""

    def __init__(self, project: Project, kinds: tuple[str, ...] = KINDS, probe: str = "") -> None:
        self.project = project
        self.tag = f"attack-{secrets.token_hex(8)}"
        self.log = project.path.parent / f"{self.tag}.log"
        script = project.path.parent / f"{self.tag}.py"
        script.write_text(STAND_IN)
        names = [kind.replace(" ", "-") for kind in kinds]
        lines = ["[tool.pytest.ini_options]", 'addopts = ""', "[tool.prun_review]", f"executors = {names!r}"]
        for name, kind in zip(names, kinds, strict=True):
            argv = [sys.executable, "-I", "-S", str(script), kind, self.tag, str(self.log)]
            lines += [f"[tool.prun_review.executor.{name}]", 'type = "command"']
            lines += [f'vendor = "vendor-{name}"', f'lineage = "lineage-{name}"']
            lines.append(f"argv = {json.dumps([*argv, json.dumps(payload())])}")
        project.write("pyproject.toml", "\n".join(lines) + "\n")
        project.probe(probe or 'def probe_app(result):\n    """Audit."""\n')
        project.commit()
        self.kinds = kinds

    def start(self, *args: str) -> None:
        """pytest, and everything that it starts but the stand-ins themselves, carries the tag."""
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "panels/", *args]
        self.process = subprocess.Popen(
            command,
            cwd=self.project.path,
            env={**os.environ, reap.TAG: self.tag},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def said(self, word: str) -> int:
        return self.log.read_text().split().count(word) if self.log.exists() else 0

    def ready(self) -> None:
        until(lambda: self.said("ready") == len(self.kinds))

    def pids(self) -> dict[int, bytes]:
        """What lives of it, with its command line."""
        marks = (self.tag.encode(), os.fsencode(self.project.path) + b"/.prun/")
        found = {}
        for pid in (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                known = command + Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue
            if any(mark in known for mark in marks):
                found[pid] = command
        return found

    def shims(self) -> list[int]:
        forked = [pid for pid, command in self.pids().items() if b"zygote.main" in command]
        return [pid for pid in forked if parent_of(pid) in forked]

    def zygotes(self) -> list[int]:
        forked = [pid for pid, command in self.pids().items() if b"zygote.main" in command]
        return [pid for pid in forked if parent_of(pid) not in forked]

    def judges(self) -> list[int]:
        return [pid for pid, command in self.pids().items() if b"sys.stdin.readline" in command]

    def gone(self) -> None:
        """Twice, because one look can fall between two links of a chain."""
        until(lambda: not self.pids() and not self.pids())


@pytest.fixture
def started(project: Project) -> Iterator[list[Review]]:
    """Reviews to be swept when a test fails."""
    made: list[Review] = []
    yield made
    for review in made:
        # Only pytest itself: zygote and shims end their trees then.  To kill them all at once would
        # set a chain of forks free that nobody can catch.
        review.process.kill()
        review.process.wait()
        deadline = time.monotonic() + 10
        while review.pids() and time.monotonic() < deadline:
            time.sleep(0.1)
        for pid in review.pids():
            reap.send(pid, signal.SIGKILL)


def one(review: Review, number: int) -> None:
    review.process.send_signal(number)


def group(review: Review, number: int) -> None:
    os.killpg(review.process.pid, number)


N2 = ("-n", "2")
ENDS: dict[str, tuple[Callable[[Review, int], None], int, tuple[str, ...]]] = {
    "Ctrl-C": (group, signal.SIGINT, ()),
    "Ctrl-C n2": (group, signal.SIGINT, N2),
    "SIGINT n2": (one, signal.SIGINT, N2),
    "SIGTERM": (one, signal.SIGTERM, ()),
    "SIGHUP": (group, signal.SIGHUP, ()),
    "SIGTERM n2": (one, signal.SIGTERM, N2),
    "SIGKILL n2": (one, signal.SIGKILL, N2),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_signal_leaves_nothing_running(project: Project, started: list[Review], end: str) -> None:
    review = Review(project)
    started.append(review)
    send, number, workers = ENDS[end]
    review.start(*workers)
    review.ready()
    send(review, number)
    status = review.process.wait(60)
    review.gone()
    assert status != 0
    assert review.said("called") == len(KINDS)
    if number == signal.SIGINT:
        report = project.report()
        assert (report["status"], report["verdict"]["outcome"]) == ("interrupted", "INCOMPLETE")
        answered = {u["executor"] for u in report["units"] if u["status"] == "valid"}
        assert answered == {"leader", "eof"}
        assert {u["reason"] for u in report["units"] if u["executor"] not in answered} == {"cancelled"}


@pytest.mark.parametrize(("victims", "workers"), [("shims", ()), ("zygotes", ()), ("judges", N2)])
def test_parts_that_are_killed_leave_nothing_and_nothing_is_asked_twice(
    project: Project, started: list[Review], victims: str, workers: tuple[str, ...]
) -> None:
    review = Review(project)
    started.append(review)
    review.start(*workers)
    review.ready()
    found: list[int] = getattr(review, victims)()
    assert found
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    if victims != "shims":  # the dispatches go on
        one(review, signal.SIGINT)
    assert review.process.wait(90) != 0
    review.gone()
    assert review.said("called") == len(KINDS)
    assert project.report()["verdict"]["outcome"] == "INCOMPLETE"


@pytest.mark.parametrize("flags", [("-s",), ("-x", *N2)], ids=["s", "x n2"])
def test_timeouts_leave_nothing_running(
    project: Project, started: list[Review], flags: tuple[str, ...]
) -> None:
    review = Review(project)
    started.append(review)
    review.start("--prun-timeout=2", *flags)
    assert review.process.wait(90) in (1, 2)
    review.gone()
    units = {u["executor"]: u["reason"] for u in project.report()["units"]}
    assert len(units) == len(KINDS)
    assert set(units.values()) <= {"ok", "timeout", "cancelled", "stopped"}
    assert review.said("called") == len(KINDS)


def test_trees_that_outlive_a_good_answer_are_ended_and_it_counts(
    project: Project, started: list[Review]
) -> None:
    probe = "from prun_review import brief\n\n\n@brief(prompt='x' * 5_000_000)\ndef probe_app():\n    pass\n"
    review = Review(project, ("leader", "eof"), probe)
    started.append(review)
    review.start("-s")
    assert review.process.wait(90) == 0
    review.gone()
    assert (review.said("called"), project.report()["verdict"]["outcome"]) == (2, "PASS")
