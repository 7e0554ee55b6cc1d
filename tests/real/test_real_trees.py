"""What the real codex and claude start for their models is gone when their dispatch is, however it ends.

Each is asked by our model server to run a shell command that leaves a job in the foreground, one in
the background and one in a session of its own.  Both programs lose some of these when they are ended
without care, and even when they end by themselves.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from prun_review.config import load
from prun_review.executors.claude import Claude
from prun_review.executors.codex import Codex
from prun_review.ports import Launch, Located
from prun_review.process import contain, reap
from tests.executors.driving import Bench
from tests.modelserver import ModelServer, Reply, Rule
from tests.process.trees import parent_of, until

WORKERS = ("codex", "codex without sandbox", "sonnet", "codex contained", "sonnet contained")
MODEL = "gpt-5.5"
"""Of codex: it is offered the shell as a tool of its own."""
JOBS = 3
"""That a command leaves while it runs."""
LIMITS = (8.0, 25.0, 80.0)
"""Time limits to try in turn: on a busy machine a program may need long until its tool runs."""

_HARNESS = """
import json, sys, time
from pathlib import Path
from prun_review.ports import Launch
from prun_review.process.launch import ProcessLauncher

launcher = ProcessLauncher()
running = []
for fields in json.loads(sys.stdin.readline()):
    for name in ("cwd", "stdin", "stdout", "stderr"):
        fields[name] = Path(fields[name])
    running.append(launcher.start(Launch(**fields)))
print(json.dumps([process.pid for process in running]), flush=True)
word = sys.stdin.readline().strip()
if word:
    for process in running:
        process.stop(word)
print(json.dumps([[e.code, e.ended_by, e.note] for p in running if (e := p.wait())]), flush=True)
time.sleep(600)
"""
"""It stays when all is over, so that no end of it ends anything; a line on its input stops what runs."""


@dataclass
class Scene:
    """The three workers, each with its tool running, below a harness of their own."""

    harness: subprocess.Popen[str]
    pids: list[int]
    marks: list[str]
    """One per worker, in the command line of each of its jobs."""
    root: Path

    def jobs(self, mark: str) -> list[int]:
        """The jobs of one worker that run."""
        return [pid for pid, words, _ in _processes() if mark in words and "sleep" in words.split("\0")[0]]

    def left(self) -> list[str]:
        """What runs below the harness, or was started there: by a mark, or a path of these tests."""
        return [
            f"{pid} {words!r}"
            for pid, words, env in _processes()
            if any(mark in words for mark in self.marks)
            or (str(self.root) in env and "zygote.main" not in words)
        ]

    def stand(self, patience: float) -> bool:
        """Wait until every worker's jobs run."""
        deadline = time.monotonic() + patience
        while any(len(self.jobs(mark)) < JOBS for mark in self.marks):
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.05)
        return True

    def exits(self, word: str = "") -> list[Any]:
        """How the dispatches ended, once they have; with ``word`` they are told to."""
        assert self.harness.stdin
        assert self.harness.stdout
        self.harness.stdin.write(f"{word}\n")
        self.harness.stdin.flush()
        found: list[Any] = json.loads(self.harness.stdout.readline())
        return found


def _processes() -> Iterator[tuple[int, str, str]]:
    """Pid, command line and environment of what can be seen, without this process."""
    for process in Path("/proc").iterdir():
        if not process.name.isdigit() or int(process.name) == os.getpid():
            continue
        try:
            words, env = (os.fsdecode((process / name).read_bytes()) for name in ("cmdline", "environ"))
        except OSError:
            continue
        yield int(process.name), words, env


def launch_of(
    bench: Bench, programs: dict[str, Located], server: ModelServer, worker: str, limit: float
) -> Launch:
    """What is started for a worker; codex is also tried without its sandbox, where it leaks most."""
    name, _, how = worker.partition(" ")
    if name == "sonnet":
        executor: Codex | Claude = Claude.configured(load({}).executor("sonnet"))
    else:
        free = ["-s", "danger-full-access"] if how == "without sandbox" else []
        table = {"args": [*server.codex_args(), *free], "env": ["MOCK_KEY"], "model": MODEL}
        executor = Codex.configured(load({"executor": {"codex": table}}).executor("codex"))
    access = "read" if name == "codex" and not how else "full"
    request = bench.request(executor, f"Review src, [{worker}].", access=access, located=programs[name])
    request = replace(request, contained=how == "contained")
    command = executor.command(request)
    for file, data in command.files.items():
        (request.out / file).write_bytes(data)
    (request.out / "stdin").write_bytes(command.stdin)
    out = request.out
    streams = (out / "stdin", out / "tail", out / "err")
    launch = Launch(command.argv, command.env, command.cwd, *streams, limit)
    return contain.contained(request, command, launch) if request.contained else launch


def reply(worker: str, mark: str, *, hangs: bool) -> Reply:
    """A call of the shell tool; the answer comes once that returns."""
    job = f"sleep 600.{mark} >/dev/null 2>&1"
    script = f"true; {job} & setsid {job} & " + (job if hangs else "true")
    shell = {"command": script, "description": "run", "timeout": 120_000}
    tool = (
        ("Bash", shell)
        if worker.startswith("sonnet")
        else ("exec_command", {"cmd": script, "yield_time_ms": 30_000})
    )
    return Reply({"verdict": "fine"}, tools=(tool,))


Begin = Callable[..., Scene]


@pytest.fixture
def begin(tmp_path: Path, programs: dict[str, Located]) -> Iterator[Begin]:
    made: list[Scene] = []
    servers: list[ModelServer] = []

    def start(*, hangs: bool = True, limit: float = 120.0) -> Scene:
        root = tmp_path / str(len(made))
        marks = [str(10**11 + secrets.randbelow(10**11)) for _ in WORKERS]
        rules = [
            Rule(f"[{worker}]", reply(worker, mark, hangs=hangs))
            for worker, mark in zip(WORKERS, marks, strict=True)
        ]
        server = ModelServer(rules)
        server.__enter__()
        servers.append(server)
        bench = Bench(root)
        bench.env |= {
            "MOCK_KEY": "dummy",
            "ANTHROPIC_API_KEY": "sk-ant-dummy",
            "ANTHROPIC_BASE_URL": server.anthropic_url,
        }
        (bench.tree / "src").mkdir()
        launches = []
        for worker in WORKERS:
            launch = launch_of(bench, programs, server, worker, limit)
            fields = {key: getattr(launch, key) for key in launch.__dataclass_fields__}
            launches.append({key: str(v) if isinstance(v, Path) else v for key, v in fields.items()})
        harness = subprocess.Popen(
            [sys.executable, "-c", _HARNESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert harness.stdin
        assert harness.stdout
        harness.stdin.write(json.dumps(launches) + "\n")
        harness.stdin.flush()
        made.append(Scene(harness, json.loads(harness.stdout.readline()), marks, root))
        return made[-1]

    yield start
    for scene in made:
        with scene.harness:
            scene.harness.kill()
    deadline = time.monotonic() + 10
    while any(scene.left() for scene in made) and time.monotonic() < deadline:
        time.sleep(0.1)
    for scene in made:
        for line in scene.left():
            reap.send(int(line.split()[0]), signal.SIGKILL)
    for server in servers:
        server.__exit__(None, None, None)


def told(scene: Scene) -> str:
    """What the programs said, for a test that failed."""
    return "\n".join(f"{f}: {f.read_text(errors='replace')[-1500:]}" for f in scene.root.glob("units/*/*"))


def test_stop(begin: Begin) -> None:
    scene = begin()
    assert scene.stand(90), told(scene)
    exits = scene.exits("stall")
    assert [word for _, word, _ in exits] == ["stall"] * len(WORKERS)
    assert scene.left() == []


def test_timeout(begin: Begin) -> None:
    for limit in LIMITS:
        scene = begin(limit=limit)
        stood = scene.stand(limit - 1)
        exits = scene.exits()
        assert [word for _, word, _ in exits] == ["timeout"] * len(WORKERS), told(scene)
        assert scene.left() == []
        if stood:
            return
    pytest.fail("no tool ran before the time limit")


def test_sigkill_of_the_harness(begin: Begin) -> None:
    scene = begin()
    assert scene.stand(90), told(scene)
    scene.harness.kill()
    scene.harness.wait()
    until(lambda: not scene.left())


def test_sigkill_of_the_shims(begin: Begin) -> None:
    scene = begin()
    assert scene.stand(90), told(scene)
    for shim in {parent_of(pid) for pid in scene.pids}:
        os.kill(shim, signal.SIGKILL)
    assert [e[:2] for e in scene.exits()] == [[None, "lost"]] * len(WORKERS)
    until(lambda: not scene.left())


def test_an_end_of_their_own_with_jobs_in_the_background(begin: Begin) -> None:
    """All three answer, and what they leave is ended although they did not care."""
    scene = begin(hangs=False)
    exits = scene.exits()
    assert [e[:2] for e in exits] == [[0, ""]] * len(WORKERS), told(scene)
    assert any("left behind" in note for _, _, note in exits), "nobody left anything to be ended"
    assert scene.left() == []
