"""One dispatch of one task to ``codex exec``, as ``dispatch-task`` of the prun scripts does it.

This is the compatible command for a coordinator that is alive and in charge, so the worker gets the
coordinator's environment as the old script gave it; only other vendors' keys are left out.
"""

from __future__ import annotations

import math
import os
import secrets
import shutil
import signal
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from prun_review import fallback, files
from prun_review.errors import BriefError, LaunchError, PrunError, RunDirError
from prun_review.executors.environment import VENDOR_NAMES, path_entries
from prun_review.ports import Launch, Process
from prun_review.process.launch import ProcessLauncher
from prun_review.prun import announce, console, statedir
from prun_review.prun.tail import Tail

REAPED, CANNOT_START, NOT_FOUND = 124, 126, 127
"""Exit statuses for a worker that was ended, that could not be started, that is not there."""
LOOK = 0.2
"""Seconds between looks at signals and at the growth of the tail."""
REAPS = {"timeout": "hard-timeout", "stall": "idle-stall", "output": "output-limit", "lost": "lost"}
"""``Exit.ended_by`` -> what the tail and the FALLBACK call it."""
SIGNALS = (signal.SIGTERM, signal.SIGINT, getattr(signal, "SIGHUP", signal.SIGTERM))


@dataclass(frozen=True, slots=True)
class Task:
    """What was asked for on the command line."""

    prompt_file: str
    result_file: str
    unit: str
    announce: bool = True
    """Put the result path after a prompt that does not name it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the worker ended."""

    code: int
    """Exit status of the dispatch."""
    reaped: str = ""
    """Why the dispatcher ended it; empty where it ended by itself or never ran."""


class Caught:
    """The first of the signals that ask the dispatcher to end; 0 as long as there was none."""

    number = 0

    def __call__(self, number: int, _frame: object) -> None:
        self.number = self.number or number


def dispatch(task: Task, env: Mapping[str, str]) -> int:
    """Run the task; the exit status: the worker's own, 124 when it was ended, 128+n after a signal.

    Raises a ``PrunError`` before anything is started when the task cannot be dispatched as asked.
    """
    result = _result(task, env)
    prompt = _prompt(task, result)
    with _catching() as caught:
        state = statedir.create(task.unit, result, prompt, env)
        launch = _launch(state, env)
        tail = Tail(launch.stdout)
        console.emit(f"STATE-DIR {state.path}")
        ended = Ended(REAPED, "lost")  # what holds if anything unforeseen happens
        try:
            ended = _work(launch, tail, console.seconds(env, "PRUN_STALL_THRESHOLD", 600), caught)
        finally:
            stands = _settle(task, state, result, tail, ended)
            console.note(tail.end())
            tail.close()
    return ended.code or int(not stands)


@contextmanager
def _catching() -> Iterator[Caught]:
    """Take the signals while inside; one that is ignored (``nohup``) stays ignored."""
    caught = Caught()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, caught)
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --- before -----------------------------------------------------------------------------------


def _result(task: Task, env: Mapping[str, str]) -> Path:
    """The result path, absolute, its folder made; what could never hold a result is refused."""
    if not statedir.NAME.fullmatch(task.unit):
        raise BriefError(
            f"--unit-id must be alphanumeric/dash/underscore, got: {task.unit!r}",
            remedy="it names a directory; a list with CRLF line ends leaves a \\r at its end",
        )
    if not task.result_file or any(char < " " for char in task.result_file):
        raise BriefError(
            f"--result-file has a control character in it: {task.result_file!r}",
            remedy="a list with CRLF line ends leaves a \\r at the end of a path",
        )
    path = Path(os.path.join(statedir.here(env), task.result_file))
    with files.named(RunDirError, "there can be no result file", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(path.stat().st_mode):
                raise BriefError("--result-file is no ordinary file", place=str(path), remedy="name another")
    return path


def _prompt(task: Task, result: Path) -> bytes:
    """What is sent; the prompt file itself is never changed."""
    path = Path(task.prompt_file)
    if statedir.ordinary(path) is None:
        raise BriefError(f"prompt file not found: {task.prompt_file}", remedy="name an ordinary file")
    with files.named(BriefError, "the prompt cannot be read", path):
        prompt = path.read_bytes()
    if task.announce and not announce.named(prompt, {str(result), os.path.realpath(result)}):
        console.note("dispatch-task: the prompt does not name the result file; it was told where it is")
        prompt += announce.text(task.unit, str(result))
    return prompt


def _launch(state: statedir.Fresh, env: Mapping[str, str]) -> Launch:
    """The worker, as the old script starts it."""
    here = statedir.here(env)
    cwd = Path(os.path.join(here, env.get("PRUN_SCRATCH_CWD") or state.path / "work"))
    with files.named(RunDirError, "failed to create scratch cwd", cwd):
        cwd.mkdir(parents=True, exist_ok=True)
    program = env.get("CODEX_BIN") or "codex"
    if "/" in program:  # not one that stands in the scratch directory, which holds foreign code
        program = os.path.join(here, program)
    sandbox = env.get("CODEX_DISPATCH_SANDBOX") or "danger-full-access"
    effort = env.get("CODEX_DISPATCH_REASONING") or "xhigh"
    isolated: tuple[str, ...] = ("--ignore-user-config", "-c", f"model_reasoning_effort={effort}")
    if env.get("CODEX_DISPATCH_ISOLATE_MCP", "").lower() == "off":
        isolated = ()
    foreign = {name for vendor, names in VENDOR_NAMES.items() if vendor != "openai" for name in names}
    return Launch(
        argv=(program, "exec", "--sandbox", sandbox, "--skip-git-repo-check", *isolated, "-"),
        env={name: value for name, value in env.items() if name not in foreign} | {"PWD": str(cwd)},
        cwd=cwd,
        stdin=state.path / "prompt.md",
        stdout=state.path / "tail",
        stderr=state.path / "tail",
        timeout=console.seconds(env, "CODEX_DISPATCH_TIMEOUT", 0) or math.inf,
        tag=state.path.name,
    )


# --- the worker -------------------------------------------------------------------------------


def _work(launch: Launch, tail: Tail, stall: int, caught: Caught) -> Ended:
    """Run the worker to its end, which is also the end of all that it started."""
    program = launch.argv[0]
    entries = os.pathsep.join(path_entries(launch.env.get("PATH", os.defpath)))
    if shutil.which(program, path=entries) is None:
        _tell(tail, f"{program} was not found (PATH, CODEX_BIN)")
        return Ended(NOT_FOUND)
    try:
        with ProcessLauncher() as launcher:
            return _watch(launcher.start(launch), tail, stall, caught)
    except LaunchError as error:
        _tell(tail, str(error))
        return Ended(CANNOT_START)


def _watch(process: Process, tail: Tail, stall: int, caught: Caught) -> Ended:
    size, silent, last = tail.size(), 0.0, time.monotonic()
    stopped = False
    while (exit := process.wait(LOOK)) is None:
        now = time.monotonic()
        # Counted in looks: a dispatcher that was itself stopped for an hour saw no hour of silence.
        silent = 0.0 if tail.size() != size else silent + min(now - last, 1.0)
        size, last = tail.size(), now
        if not stopped and (caught.number or (stall and silent >= stall)):
            process.stop(signal.Signals(caught.number).name if caught.number else "stall")
            stopped = True
    if exit.note:
        console.note(f"dispatch-task: {exit.note}")
    if exit.ended_by == "spawn":
        _tell(tail, exit.note)
        return Ended(CANNOT_START)
    if not exit.ended_by and exit.code is not None:
        return Ended(exit.code if exit.code >= 0 else 128 - exit.code)
    reason = REAPS.get(exit.ended_by, exit.ended_by)
    code = 128 + caught.number if reason.startswith("SIG") else REAPED
    _tell(tail, f"worker reaped ({reason}); exit code {code}.")
    return Ended(code, reason)


def _tell(tail: Tail, text: str) -> None:
    """A line of our own in the tail, which may find the disk full."""
    try:
        tail.append(f"\ndispatch-task: {text}\n")
    except OSError as error:
        console.note(f"dispatch-task: {text} (not in the tail: {error.strerror})")


# --- after ------------------------------------------------------------------------------------


def _settle(task: Task, state: statedir.Fresh, result: Path, tail: Tail, ended: Ended) -> bool:
    """See that there is a result of this dispatch or a FALLBACK; False where neither can be."""
    try:
        why = _missing(state, result)
        if why in ("old", "strange"):
            aside = result.with_name(f"{result.name}.aside-{state.nonce}")
            result.rename(aside)
            told = "the result file of an earlier run" if why == "old" else "what is no ordinary file"
            console.note(f"dispatch-task: {told} was moved to {aside}")
        if why:
            _publish(result, fallback.header(task.unit, ended.reaped), tail)
            console.note(f"dispatch-task: no result was written; FALLBACK in {result}")
    except (OSError, PrunError) as error:
        console.note(f"dispatch-task: neither a result nor a FALLBACK: {result}: {error}")
        return False
    return True


def _missing(state: statedir.Fresh, result: Path) -> str:
    """Empty when the worker wrote a result; else ``absent``, ``old`` (there before) or ``strange``."""
    info = statedir.ordinary(result)
    if info is None:
        return "strange" if os.path.exists(result) else "absent"
    if not info.st_size:
        return "absent"
    return "old" if state.before and statedir.mark(result) == state.before else ""


def _publish(result: Path, header: str, tail: Tail) -> None:
    """The FALLBACK appears whole or not at all."""
    result.parent.mkdir(parents=True, exist_ok=True)
    aside = result.with_name(f".{result.name[:100]}.{secrets.token_hex(4)}.part")
    try:
        with open(aside, "xb") as file:
            file.write(header.encode())
            tail.copy(file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(result)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise
    files.sync_directory(result.parent)
