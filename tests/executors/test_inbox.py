"""inbox: a question in a folder, answered by somebody else's session; the relay here is a real process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from prun_review.config import load
from prun_review.errors import ConfigError, LaunchError
from prun_review.executors import built_in
from prun_review.executors.inbox import Inbox
from prun_review.executors.inbox_relay import MOST, Question
from prun_review.model import Exit, Reading
from prun_review.ports import Command, Output, Request
from tests import needing
from tests.executors.driving import Bench, bare_request, started

TABLE = {"type": "inbox", "inbox": ".prun-inbox", "vendor": "anthropic", "lineage": "claude"}
ANSWER = "# u result\nConclusion: fine\n"


def inbox(**fields: object) -> Inbox:
    config = load({"executor": {"session": {**TABLE, **fields}}})
    made = built_in(config)["session"]
    assert isinstance(made, Inbox)
    return made


@dataclass
class Asked:
    """A question that is open, and the relay that stands for it."""

    executor: Inbox
    request: Request
    command: Command
    process: subprocess.Popen[bytes]
    about: dict[str, str]

    def __post_init__(self) -> None:
        self.prompt, self.result = Path(self.about["prompt"]), Path(self.about["result"])

    def read(self, ended_by: str = "") -> Reading:
        """Wait for the relay, and let the executor read what it left."""
        out, errors = self.process.communicate(timeout=30)
        self.said = errors.decode()
        exit = Exit(self.process.returncode, ended_by, seconds=1.0)
        return self.executor.read(Output(exit, out, errors), self.request)


def request(bench: Bench, executor: Inbox, seconds: float = 60.0) -> Request:
    """A request as a run makes it, its attempt below ``.prun``."""
    made = bench.request(executor, "Look into the mail.")
    out = bench.root / ".prun" / "runs" / "r" / "units" / "u" / str(bench.attempts)
    out.mkdir(parents=True)
    brief = replace(made.unit.brief, timeout=seconds, needs=("mcp:gmail",))
    return replace(made, out=out, unit=replace(made.unit, brief=brief))


def put(result: Path, text: str) -> None:
    """Answer as the prompt says."""
    aside = result.with_name(result.name + ".part")
    aside.write_text(text)
    time.sleep(0.6)  # the relay looks four times a second: it has seen the file grow aside
    os.replace(aside, result)


@contextmanager
def asked(
    bench: Bench, executor: Inbox | None = None, seconds: float = 60.0, contained: bool = False
) -> Iterator[Asked]:
    """Start the relay and wait for its prompt."""
    executor = executor or inbox()
    made = replace(request(bench, executor, seconds), contained=contained)
    command = executor.command(made)
    for name, data in command.files.items():
        (made.out / name).write_bytes(data)
    about = json.loads(command.files["inbox.json"])
    with subprocess.Popen(
        started(made, command),
        env=dict(command.env),
        cwd=command.cwd,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            assert process.stdin is not None
            process.stdin.write(command.stdin)
            process.stdin.close()
            process.stdin = None
            until(lambda: Path(about["prompt"]).exists() or process.poll() is not None)
            yield Asked(executor, made, command, process, about)
        finally:
            process.kill()


def until(condition: Callable[[], bool]) -> None:
    """Wait until ``condition()`` holds."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_question_is_published_answered_and_closed(bench: Bench) -> None:
    with asked(bench) as question:
        told = json.loads(Path(str(question.prompt).replace(".prompt.md", ".json")).read_text())
        prompt = question.prompt.read_text()
        put(question.result, ANSWER)
        reading = question.read()
    assert (reading.status, reading.text) == ("answered", ANSWER)
    assert prompt.startswith("Look into the mail.")
    for path in (question.result, question.about["progress"], question.prompt, bench.tree):
        assert str(path) in prompt
    assert (told["unit"], told["contract"], told["needs"]) == ("u", "findings", ["mcp:gmail"])
    assert told["deadline"] > time.time()
    assert not question.prompt.exists()
    assert question.prompt.with_name(question.prompt.name + ".answered").exists()
    folder = bench.root / ".prun-inbox"
    assert (folder / ".gitignore").read_text() == "*\n"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert not list(folder.glob(".*.part"))


def test_a_file_written_in_pieces_counts_when_it_was_left_alone(bench: Bench) -> None:
    with asked(bench) as question:
        with question.result.open("w") as file:
            for piece in ANSWER.splitlines(keepends=True):
                file.write(piece)
                file.flush()
                time.sleep(0.3)
        reading = question.read()
    assert (reading.status, reading.text) == ("answered", ANSWER)


def test_a_renamed_file_is_whole_at_once_and_another_one_is_not(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        question = Question(folder, "u.1")
        result, aside = tmp_path / question.result, tmp_path / question.part
        aside.write_text(ANSWER)
        assert question._look() is None
        os.replace(aside, result)
        assert question._look() == ANSWER.encode()
        result.unlink()
        result.write_text(ANSWER)  # in its place, and perhaps not to its end
        assert question._look() is None
    finally:
        os.close(folder)


@pytest.mark.parametrize(("seconds", "whole"), [(2.5, False), (9.5, False), (10.5, True)])
def test_a_draft_that_is_still_worked_on_is_no_answer(tmp_path: Path, seconds: float, whole: bool) -> None:
    """Who writes with tool calls pauses for seconds between two of them, and a draft may be complete."""
    folder = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        question = Question(folder, "u.1")
        (tmp_path / question.result).write_text(ANSWER)
        assert question._look() is None
        question.since -= seconds
        assert question._look() == (ANSWER.encode() if whole else None)
        (tmp_path / question.result).write_text(ANSWER + "and a critical finding\n")
        assert question._look() is None
    finally:
        os.close(folder)


def test_growth_is_a_line_on_standard_error(bench: Bench) -> None:
    with asked(bench) as question:
        progress = Path(question.about["progress"])
        for text in ("reading\n", "reading\nwriting\n"):
            progress.write_text(text)
            time.sleep(0.6)
        put(question.result, ANSWER)
        assert question.read().status == "answered"
    for told in ("progress: 8 bytes", "progress: 16 bytes", f"result.md.part: {len(ANSWER)} bytes"):
        assert told in question.said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_question_of_a_run_that_ended_is_withdrawn(bench: Bench, number: signal.Signals) -> None:
    with asked(bench) as question:
        question.process.send_signal(number)
        reading = question.read("cancelled")
    assert (reading.status, reading.reason) == ("failed", "cancelled")
    assert not question.prompt.exists()
    assert question.prompt.with_name(question.prompt.name + ".withdrawn").exists()


def _spoil(result: Path, kind: str, secret: Path) -> None:
    """Put something at the place of a result that is none."""
    if kind == "link":
        result.symlink_to(secret)
    elif kind == "hard link":
        os.link(secret, result)
    elif kind == "fifo":
        os.mkfifo(result)
    elif kind == "folder":
        result.mkdir()
    elif kind == "empty":
        result.touch()


def test_what_is_no_ordinary_file_of_its_own_is_never_read(bench: Bench) -> None:
    secret = bench.root / "secret"
    secret.write_text("PRIVATE")
    executor = inbox()
    kinds = ("link", "hard link", "fifo", "folder", "empty", "nothing")
    with ExitStack() as stack:
        # The answer of another question, an old one, lies beside them all the time.
        (bench.root / ".prun-inbox").mkdir()
        (bench.root / ".prun-inbox" / "u.00000000.result.md").write_text(ANSWER)
        questions = {kind: stack.enter_context(asked(bench, executor)) for kind in kinds}
        for kind, question in questions.items():
            _spoil(question.result, kind, secret)
        time.sleep(2.5)
        for kind, question in questions.items():
            assert question.process.poll() is None, kind
            question.process.terminate()
            reading = question.read("timeout")
            assert (reading.status, reading.reason, reading.text) == ("failed", "timeout", "")
            assert ("no ordinary file" in question.said) == (kind not in ("empty", "nothing"))


def test_a_fallback_is_no_answer(bench: Bench) -> None:
    with asked(bench) as question:
        put(question.result, "# u result (FALLBACK, worker wrote no result file)\nConclusion: INCOMPLETE\n")
        reading = question.read()
    assert (reading.status, reading.reason) == ("failed", "no-answer")
    assert "FALLBACK" in reading.message


def test_an_endless_answer_is_refused(bench: Bench) -> None:
    with asked(bench) as question:
        with question.result.open("wb") as file:
            file.truncate(MOST + 1)
        reading = question.read()
    assert (reading.status, reading.reason) == ("failed", "no-answer")
    assert "more than" in reading.message
    assert question.prompt.with_name(question.prompt.name + ".withdrawn").exists()


def test_an_inbox_that_vanishes_ends_the_question(bench: Bench) -> None:
    with asked(bench) as question:
        shutil.rmtree(question.prompt.parent)
        reading = question.read()
    assert (reading.status, reading.reason) == ("failed", "no-answer")
    assert "removed" in reading.message


def test_every_attempt_has_names_of_its_own(bench: Bench) -> None:
    executor = inbox()
    made = request(bench, executor)
    told = [json.loads(executor.command(made).files["inbox.json"]) for _ in range(2)]
    for name in ("prompt", "result", "progress"):
        assert told[0][name] != told[1][name]


def test_an_answer_before_its_question_is_refused(bench: Bench) -> None:
    executor = inbox()
    made = request(bench, executor)
    command = executor.command(made)
    (made.out / "inbox.json").write_bytes(command.files["inbox.json"])
    result = Path(json.loads(command.files["inbox.json"])["result"])
    result.parent.mkdir()
    result.write_text(ANSWER)
    done = subprocess.run(command.argv, input=b"p", cwd=made.out, capture_output=True, timeout=30)
    reading = executor.read(Output(Exit(done.returncode), done.stdout, done.stderr), made)
    assert (done.returncode, done.stdout) == (2, b"")
    assert (reading.reason, "before its question" in reading.message) == ("spawn-failed", True)
    assert not list(result.parent.glob("*.prompt.md"))


@pytest.mark.parametrize("where", ["inbox", "parent", "late"])
def test_no_link_leads_out_of_the_root(bench: Bench, tmp_path: Path, where: str) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    executor = inbox(inbox="deep/box")
    if where == "late":  # after the executor has looked
        made = request(bench, executor)
        command = executor.command(made)
        (made.out / "inbox.json").write_bytes(command.files["inbox.json"])
        (bench.root / "deep").symlink_to(outside)
        done = subprocess.run(command.argv, input=b"p", cwd=made.out, capture_output=True, timeout=30)
        assert done.returncode == 2
        assert b"cannot be used" in done.stderr
    else:
        link = bench.root / "deep" if where == "parent" else bench.root / "deep" / "box"
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(outside)
        with pytest.raises(LaunchError, match="behind a link"):
            executor.command(request(bench, executor))
    assert not list(outside.rglob("*"))


def test_panels_that_are_a_link_to_it_are_found(bench: Bench) -> None:
    (bench.root / ".prun-inbox").mkdir()
    (bench.root / "panels").symlink_to(bench.root / ".prun-inbox")
    with pytest.raises(LaunchError, match="panels folder"):
        inbox().command(request(bench, inbox()))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"inbox": ""}, "needs its folder"),
        ({"inbox": "."}, "needs its folder"),
        ({"inbox": "/tmp/box"}, "not below the project"),
        ({"inbox": "../box"}, "not below the project"),
        ({"inbox": "a\nb"}, "not below the project"),
        ({"inbox": "panels/box"}, "lies in or around panels/"),
        ({"inbox": "panels"}, "lies in or around panels/"),
        ({"inbox": ".prun/box"}, "lies in or around .prun/"),
        ({"inbox": ".git/box"}, "lies in or around .git/"),
        ({"vendor": ""}, "needs its vendor"),
        ({"lineage": ""}, "needs its lineage"),
    ],
)
def test_a_table_that_cannot_work_is_said(fields: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=rf"(?s)\[tool.prun_review.executor.session\].*{words}.*remedy"):
        inbox(**fields)


def test_what_its_table_says(bench: Bench) -> None:
    made = inbox(provides=["mcp:gmail"], limit=3, contracts=["prose"], stall=60, model="sonnet-5")
    assert (sorted(made.provides), made.limit, sorted(made.contracts)) == (["mcp:gmail"], 3, ["prose"])
    assert (made.supervision.stall, made.paid, made.native) == (60.0, True, False)
    assert "sonnet-5" in made.identity
    assert inbox().supervision.stall is None
    command = inbox().command(request(bench, inbox()))
    assert command.argv[:2] == (sys.executable, "-I")
    assert set(command.env) <= {"PATH", "HOME", "TERM"}


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (Output(Exit(0), b"", b""), "no-answer"),
        (Output(Exit(0), b" \n", b""), "no-answer"),
        (Output(Exit(0), b"x", b"", cut="cut"), "no-answer"),
        (Output(Exit(4), b"x", b"nobody answered in time"), "no-answer"),
        (Output(Exit(-9), b"x", b""), "killed"),
        (Output(Exit(None, "lost"), b"x", b""), "lost"),
        (Output(Exit(-15, "stall"), b"x", b""), "stalled"),
        (Output(Exit(2), b"", b"the inbox cannot be used: [Errno 28] No space left on device"), "disk-full"),
    ],
)
def test_no_answer_is_never_read_as_one(output: Output, reason: str) -> None:
    reading = inbox().read(output, bare_request())
    assert (reading.status, reading.reason, reading.text) == ("failed", reason, "")


def test_a_contained_relay_reaches_its_folder_and_nothing_else_of_the_root(bench: Bench) -> None:
    needing.bubblewrap()
    with asked(bench, contained=True) as question:
        assert question.prompt.exists()
        put(question.result, ANSWER)
        assert question.read().text == ANSWER, question.said
