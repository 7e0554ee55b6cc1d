"""``status`` and ``watch`` as commands, on runs that another process writes meanwhile."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from prun_review.prun import births
from tests.cli.driver import call, prun_review, surroundings
from tests.cli.runkit import store

REPOSITORY = Path(__file__).parents[2]
WRITER = """
import sys, time
from pathlib import Path
from prun_review import document, rundir
from tests.cli.runkit import FACTS, CODEX, SONNET
from tests.gatekit import result
from prun_review.model import Plan
from dataclasses import replace

run = rundir.create(Path(sys.argv[1]), now=time.time())
facts = replace(FACTS, run_id=run.id, started=time.time())
plan = Plan((CODEX, SONNET))
print(run.path, flush=True)
for order in sys.stdin:
    if order == "plan\\n":
        run.write_plan(plan)
        run.write_document(document.start(facts, plan))
    elif order == "attempt\\n":
        (run.new_attempt(CODEX) / "tail").touch()
        run.append("attempt-started", unit=CODEX.id, slug=CODEX.slug, attempt=1)
    elif order == "results\\n":
        for unit in plan.units:
            run.finish(result(unit))
    elif order == "end\\n":
        done = replace(facts, finished=time.time())
        run.write_document(document.build(done, plan, [result(unit) for unit in plan.units]))
        run.close()
    print("done", flush=True)
"""


class Writer:
    """A process that writes a run step by step."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.path = Path(process.stdout.readline().strip())

    def order(self, *orders: str) -> None:
        """Let it do something, and wait until that is done."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        for order in orders:
            self.process.stdin.write(order + "\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "done\n"


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Writer(process)
        finally:
            process.kill()


@contextmanager
def watching(root: Path, *args: str, terminal: bool = False) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """``prun-review watch`` and a descriptor of what it prints."""
    read, write = pty.openpty() if terminal else os.pipe()
    with subprocess.Popen(
        [sys.executable, "-m", "prun_review", "watch", "--every", "0.1", *args],
        cwd=root,
        env=surroundings(root),
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=subprocess.STDOUT,
    ) as process:
        os.close(write)
        try:
            yield process, read
        finally:
            process.kill()
            os.close(read)


def until(descriptor: int, wanted: str) -> str:
    """Read until the text is there."""
    said = b""
    while wanted.encode() not in said:
        with suppress(OSError):  # the end of a terminal
            piece = os.read(descriptor, 1 << 16)
            said += piece
            if piece:
                continue
        raise AssertionError(f"{wanted!r} did not come: {said!r}")
    return said.decode()


def rest(descriptor: int) -> str:
    """All that is still to be read."""
    said = b""
    with suppress(OSError):
        while piece := os.read(descriptor, 1 << 16):
            said += piece
    return said.decode()


def test_status_of_a_run_from_a_second_process(writer: Writer, tmp_path: Path) -> None:
    writer.order("plan", "attempt")
    done = prun_review("status", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "dispatcher alive, in" in done.stdout
    assert str(writer.path) in done.stdout.replace("\n  ", "")
    assert "0 of 2 done; 1 running; 1 waiting" in done.stdout
    assert re.search(r"codex 0m\d\ds, silent 0m\d\ds: ", done.stdout)
    writer.order("results", "end")
    done = prun_review("status", writer.path.name, "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (found["state"], found["total"]["valid"], found["dispatcher_alive"]) == ("finished", 2, False)
    assert found["verdict"].startswith("PASS")


@pytest.mark.parametrize("how", ["latest", "id", "path", "report folder"])
def test_a_run_is_found_by_all_its_names(tmp_path: Path, how: str) -> None:
    path = store(tmp_path)
    folder = tmp_path / "reports" / path.name
    folder.mkdir(parents=True)
    named = {"latest": [], "id": [path.name], "path": [str(path)], "report folder": [str(folder)]}[how]
    status, out, errors = call("status", *named, cwd=tmp_path)
    assert (status, errors) == (0, "")
    assert f"{path.name}: finished after 1m00s" in out


@pytest.mark.parametrize("verb", ["status", "watch"])
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        ("nothing", "there is no run yet"),
        ("unknown", "'nowhere' is no run"),
        ("version", "another version of prun_review"),
        ("json", "not JSON"),
        ("plan", "not in the ledger"),
        ("foreign", "there is no run.json"),
    ],
)
def test_named_errors(tmp_path: Path, verb: str, spoil: str, message: str) -> None:
    args = ["nowhere"] if spoil == "unknown" else []
    if spoil != "nothing":
        path = store(tmp_path)
        if spoil == "version":
            (path / "run.json").write_text('{"schema_version": 7}')
        elif spoil == "json":
            (path / "run.json").write_text("\x00")
        elif spoil == "plan":
            (path / "plan.json").write_text("{}")
        elif spoil == "foreign":
            (path / "run.json").unlink()
    status, out, errors = call(verb, *args, cwd=tmp_path)
    assert (status, out) == (2, "")
    assert message in errors
    assert errors.startswith(f"prun-review {verb}: ")


def test_watch_appends_lines_and_ends_with_the_run(writer: Writer, tmp_path: Path) -> None:
    with watching(tmp_path) as (process, read):
        writer.order("plan")
        until(read, "0 of 2 done; 2 waiting")
        writer.order("attempt")
        until(read, "0 of 2 done; 1 running; 1 waiting")
        writer.order("results", "end")
        assert process.wait(30) == 0
        said = rest(read)
    assert "\x1b" not in said
    assert "finished after" in said
    assert "verdict: PASS" in said


def test_watch_tells_that_the_dispatcher_died(writer: Writer, tmp_path: Path) -> None:
    with watching(tmp_path, writer.path.name) as (process, read):
        writer.order("plan", "attempt")
        until(read, "1 running")
        writer.process.kill()
        assert process.wait(30) == 1
        said = rest(read)
    assert "the dispatcher died" in said
    assert "IN FLIGHT WHEN IT DIED" in said


def test_ctrl_c_ends_the_watch_and_not_the_run(writer: Writer, tmp_path: Path) -> None:
    with watching(tmp_path) as (process, read):
        writer.order("plan")
        until(read, "2 waiting")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    writer.order("results", "end")
    assert "2 valid" in prun_review("status", cwd=tmp_path).stdout


def test_on_a_terminal_only_its_own_lines_are_taken_back(writer: Writer, tmp_path: Path) -> None:
    with watching(tmp_path, terminal=True) as (process, read):
        writer.order("plan")
        first = until(read, "2 waiting")
        writer.order("attempt")
        second = until(read, "1 running")
        writer.order("results", "end")
        until(read, "verdict: PASS")
        assert process.wait(30) == 0
    said = first + second
    ups = re.findall(r"\x1b\[(\d+)A\x1b\[J", said)
    blocks = re.split(r"\x1b\[\d+A\x1b\[J", said)
    assert len(ups) > 0
    for block, up in zip(blocks, ups, strict=False):
        assert block.count("\n") == int(up)
    assert set(re.findall(r"\x1b\[[0-9;]*[A-Za-z]", said)) == {"\x1b[J", *(f"\x1b[{n}A" for n in ups)}


@pytest.mark.parametrize("every", ["0", "-1", "soon", "1e9", "nan"])
def test_a_pace_that_makes_no_sense_is_a_usage_error(tmp_path: Path, every: str) -> None:
    status, _, errors = call("watch", "--every", every, cwd=tmp_path)
    assert status == 2
    assert "seconds" in errors


# --- state directories of the prun scripts --------------------------------------------------


def state_directory(
    root: Path, name: str, *, result: str | None, tail: float | None, pid: int, age: float = 3600
) -> Path:
    """A directory as the old scripts leave it; ``tail``: seconds since it was last written."""
    now = time.time()
    path = root / f"prun-task-0a1b2c3d-{name}"
    path.mkdir()
    goal = root / f"{name}.md"
    entries = {"result-file": f"{goal}\n", "pre-mtime": "0\n", "timestamp": f"{int(now - 3600)}\n"}
    entries["dispatch-pid"] = f"{pid}\n"
    for entry, text in entries.items():
        (path / entry).write_text(text)
    if tail is not None:
        (path / "tail").write_text("output\n")
        os.utime(path / "tail", (now - tail, now - tail))
    if result is not None:
        goal.write_text(result)
        os.utime(goal, (now - age, now - age))
    return path


FALLBACK = "# u result (FALLBACK, worker wrote no result file)\n"


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"result": "# u result\n", "tail": 5}, "done"),
        ({"result": "# u result\n", "tail": 5, "age": 1}, "finishing"),
        ({"result": "# u result\n", "tail": 5, "age": -900}, "finishing"),  # a time that lies ahead
        ({"result": FALLBACK, "tail": 5}, "failed(fallback)"),
        ({"result": "", "tail": 5}, "growing"),
        ({"result": None, "tail": 5}, "growing"),
        ({"result": None, "tail": -900}, "growing"),
        ({"result": None, "tail": 700}, "stalled(700s)"),
        ({"result": None, "tail": 700, "pid": 1 << 22}, "failed(dispatch-dead)"),
        ({"result": None, "tail": 5, "pid": 1 << 22}, "growing"),
    ],
)
def test_state_directories_in_the_words_of_monitor(
    tmp_path: Path, fields: dict[str, object], word: str
) -> None:
    path = state_directory(tmp_path, "u", **{"pid": os.getpid(), **fields})  # type: ignore[arg-type]
    now = time.time()
    os.utime(path, (now, now))
    (path / "timestamp").write_text(f"{int(now)}\n")
    status, out, _ = call("status", str(path), cwd=tmp_path)
    assert (status, re.sub(r"\(70\d", "(700", out)) == (0, f"UNIT {path.name} {word}\n")


OWN = "own"
"""Stands for the birth of this process, which cannot be part of a test's name."""


@pytest.mark.parametrize(
    ("fields", "born", "word"),
    [
        ({"result": None, "tail": 5, "pid": 1 << 22}, "0-0 17", "growing (dispatcher gone)"),
        ({"result": None, "tail": None, "pid": 1 << 22}, "0-0 17", "pending (dispatcher gone)"),
        ({"result": None, "tail": 5}, "0-0 17", "growing (dispatcher gone)"),  # its pid is another's by now
        ({"result": None, "tail": 5}, OWN, "growing"),
        ({"result": "# u result\n", "tail": 5, "pid": 1 << 22}, "0-0 17", "done"),
    ],
)
def test_a_birth_proves_at_once_that_the_dispatcher_is_gone(
    tmp_path: Path, fields: dict[str, object], born: str, word: str
) -> None:
    path = state_directory(tmp_path, "u", **{"pid": os.getpid(), **fields})  # type: ignore[arg-type]
    (path / "timestamp").write_text(f"{int(time.time())}\n")
    recorded = births.birth(os.getpid()) if born == OWN else born
    (path / "dispatch-start").write_text(f"{recorded}\n")
    assert call("status", str(path), cwd=tmp_path)[:2] == (0, f"UNIT {path.name} {word}\n")
    [unit] = json.loads(call("status", str(path), "--json", cwd=tmp_path)[1])["units"]
    gone = word.endswith(" (dispatcher gone)")
    assert (unit["status"], unit["dispatcher_gone"]) == (word.removesuffix(" (dispatcher gone)"), gone)


def test_a_state_directory_that_does_not_exist_is_told(tmp_path: Path) -> None:
    one = state_directory(tmp_path, "one", result="# one result\n", tail=5, pid=os.getpid())
    status, out, errors = call("status", str(one), "prun-task-0-two", cwd=tmp_path)
    assert (status, out) == (2, f"UNIT {one.name} done\nUNIT prun-task-0-two pending\n")
    assert errors == "prun-review status: prun-task-0-two: there is no such state directory\n"


def test_several_at_once_and_as_json(tmp_path: Path) -> None:
    one = state_directory(tmp_path, "one", result="# one result\n", tail=5, pid=os.getpid())
    two = state_directory(tmp_path, "two", result=None, tail=None, pid=os.getpid())
    (two / "timestamp").write_text(f"{int(time.time())}\n")
    status, out, _ = call("status", str(one), str(two), "--json", cwd=tmp_path)
    found = json.loads(out)["units"]
    assert (status, [(u["name"], u["status"]) for u in found]) == (
        0,
        [(one.name, "done"), (two.name, "pending")],
    )
    run = store(tmp_path)
    status, _, errors = call("status", str(one), str(run), cwd=tmp_path)
    assert (status, "one run at a time" in errors) == (2, True)


def test_an_attempt_of_a_run_is_such_a_directory(writer: Writer, tmp_path: Path) -> None:
    writer.order("plan", "attempt")
    [attempt] = writer.path.glob("units/*/1")
    (attempt / "result-file").write_text(f"{attempt.parent / 'result.json'}\n")
    done = prun_review("status", str(attempt), cwd=tmp_path)
    assert done.stdout == "UNIT 1 growing\n"
