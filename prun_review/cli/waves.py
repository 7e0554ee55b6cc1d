"""What ``prun-review run DIR`` and ``status DIR`` do with a directory of waves; no verb of its own."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

from prun_review.errors import ConfigError, InternalError, PrunError
from prun_review.renderers.escape import one_line, plain

if TYPE_CHECKING:
    from prun_review.wavebeginning import Selection
    from prun_review.waverun import WaveRun

OPTIONS = ("only", "from_wave", "resume", "executor", "jobs", "timeout", "reopen", "isolation", "dry_run")
BROKEN_PIPE = 141
"""Exit status where whoever read went away, as of every verb."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def is_directory(name: str) -> bool:
    """Whether an argument means a directory of waves, and no run, panel or option of pytest."""
    from prun_review.manifestfiles import MANIFEST, TASKS

    place = Path(name)
    if place.name == MANIFEST or (place.name == TASKS and place.is_dir()):
        return place.exists()
    return (place / MANIFEST).is_file() or (place / TASKS).is_dir()


def near(name: str) -> list[str]:
    """Directories of waves that may be meant by a name that is none: those in it, beside it, or in the
    usual folder."""
    for folder in (Path(name), Path(name).parent, Path("parallel")):
        with suppress(OSError):
            if found := sorted(str(path) for path in folder.iterdir() if holds_waves(path)):
                return found
    return []


def holds_waves(place: Path) -> bool:
    """Whether a folder holds a manifest or files of tasks; a folder of tests named so is none."""
    from prun_review.manifestfiles import MANIFEST, TASKS

    return (place / MANIFEST).is_file() or any((place / TASKS).glob("*.md"))


def meant(name: str, command: str) -> str:
    """The command with the directory that may be meant, and how many more there are; empty: none is there."""
    found = near(name)
    more = f" (or one of {len(found) - 1} more there)" if len(found) > 1 else ""
    return f"{command} {shlex.quote(one_line(found[0], 1000))}{more}" if found else ""


def register(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run of waves."""
    group = parser.add_argument_group("with DIR, a directory of waves")
    add = group.add_argument
    add("--only", action="append", metavar="ID", help="this task alone, by long or short id; may be repeated")
    add("--from-wave", type=int, metavar="N", help="take what stands before wave N from the former run")
    add("--resume", action="store_true", help="take over what the former run has done already")
    add("--executor", default="", metavar="NAME", help="who does the tasks that wish for nobody")
    add("--jobs", type=int, metavar="N", help="most tasks at once (configuration: waves.jobs)")
    add("--timeout", type=float, metavar="SECONDS", help="for one attempt at a task (waves.timeout)")
    add("--reopen", type=int, metavar="N", help="how often a conflict may open a task again (waves.reopen)")
    add("--isolation", choices=("copy", "worktree"), help="where tasks are worked on (waves.isolation)")
    add("--dry-run", action="store_true", help="say what would be run, and start nothing")


def given(args: argparse.Namespace) -> list[str]:
    """Those of the options that were given."""
    return [f"--{name.replace('_', '-')}" for name in OPTIONS if getattr(args, name) not in (None, False, "")]


def selection_of(args: argparse.Namespace) -> Selection:
    """What the options select."""
    from prun_review.wavebeginning import Selection

    only = None if args.only is None else tuple(args.only)
    return Selection(only, args.from_wave, args.resume, args.executor)


def run(args: argparse.Namespace, directory: Path) -> int:
    """Run the waves; 0 only where all of it is done, 1 where not, 128 and the signal's number where one
    ended it."""
    from prun_review.runwaves import settings
    from prun_review.waverun import WaveRun

    options = {name: getattr(args, name) for name in ("jobs", "timeout", "reopen", "isolation")}
    root, config = settings(directory, options)
    lines = _Lines()
    made = WaveRun(root, config, os.environ, directory, selection_of(args), lines.line)
    made.check_names()
    if args.dry_run:
        _dry(made)
        return 0
    with _signals(lambda: made.started) as caught:
        try:
            made.start(say=_say, tell=_say)
            if caught:
                made.stop("interrupted", _interrupted(caught))
            return _finish(made, lines, caught)
        except KeyboardInterrupt:
            if not caught:
                raise
            _say(f"{_interrupted(caught)} before anything was begun")
            return 128 + caught[0]
        finally:
            made.close()


def _finish(made: WaveRun, lines: _Lines, caught: list[int]) -> int:
    from prun_review.renderers import progresslines
    from prun_review.reporting import trouble
    from prun_review.runwaves import to_its_end

    def stop() -> str:
        if not lines.begun and made.course is not None:  # the first tasks run now
            lines.begin(progresslines.started(made.course))
        return _interrupted(caught) if caught else lines.unread

    to_its_end(made, stop)
    stop()
    course = made.course
    if course is None:
        raise InternalError("the run of waves has no course")
    lines.line(progresslines.complete(course).rstrip("\n"))
    try:
        outcome = made.finish()
    except PrunError as error:
        _say(trouble(error))
        return 1
    _print(f"{plain(outcome.text)}run directory: {made.directory}", sys.stderr)
    if caught:
        return 128 + caught[0]
    if lines.unread:
        return BROKEN_PIPE
    if lines.lost:
        _say(f"what was printed is not whole: {lines.lost}")
    return 0 if outcome.verdict.outcome == "PASS" and not lines.lost else 1


def _interrupted(caught: list[int]) -> str:
    return f"interrupted by {signal.Signals(caught[0]).name}"


def _say(text: str) -> None:
    _print(f"prun-review run: {plain(text)}", sys.stderr)


def _print(text: str, stream: TextIO) -> OSError | None:
    """Print a line.  Where nothing can be printed any more (the terminal is gone, the disk is full) the
    stream leads to nowhere from now on: that must not keep a run from being ended in order."""
    try:
        print(text, file=stream, flush=True)
    except OSError as error:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        return error
    return None


class _Lines:
    """The lines that scripts read, behind the block that says what was started."""

    def __init__(self) -> None:
        self.begun = False
        self.lost: OSError | None = None
        """Why some of them could not be printed."""
        self._waiting: list[str] = []

    @property
    def unread(self) -> str:
        """Why the run is to end: whoever read the lines went away; empty as long as nobody did."""
        return "nobody reads its lines any more" if isinstance(self.lost, BrokenPipeError) else ""

    def begin(self, block: str) -> None:
        """Print the block, and from then on every line at once."""
        self.begun = True
        for line in (block.removesuffix("\n"), *self._waiting):
            self.line(line)

    def line(self, text: str) -> None:
        """One line, or a block without its last line end."""
        if self.begun:
            self.lost = _print(text, sys.stdout) or self.lost
        else:
            self._waiting.append(text)


@contextmanager
def _signals(begun: Callable[[], bool]) -> Iterator[list[int]]:
    """The signals that came, in a list: what runs is ended in order, and a further one changes nothing.
    Before anything was begun the first one is a ``KeyboardInterrupt``."""
    caught: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        if len(caught) == 1 and not begun():
            raise KeyboardInterrupt

    heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # nohup
    before = {number: signal.signal(number, note) for number in heard}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _dry(made: WaveRun) -> None:
    from prun_review.wavebeginning import moved

    reading, course = made.look()
    print(f"{one_line(reading.manifest.directory)}: {moved(reading) or f'from commit {reading.base[:12]}'}")
    for wave in course.manifest.waves:
        print(f"Wave {wave.number}:")
        for task in wave.tasks:
            held = course.outcomes[task.id]
            what = (
                f"to {reading.doers[task.id]}" if held.status == "pending" else f"{held.status} {held.reason}"
            )
            deps = f", after {', '.join(task.deps)}" if task.deps else ""
            print(f"  {one_line(task.id)}: {one_line(what)}{one_line(deps)}")
        if wave.validation:
            print(f"  then runs: {one_line(wave.validation, 300)}")
        if wave.panel:
            print(f"  then reviews: {one_line(' '.join(wave.panel), 300)}")


# --- status -----------------------------------------------------------------------------------


def status(name: str, as_json: bool) -> int:
    """Print how the newest run of a directory stands, or the run of waves of that id or path; 0."""
    document = document_of(name)
    if as_json:
        from prun_review.renderers.json import dumps

        sys.stdout.write(dumps(document))
        return 0
    from prun_review.waveverdict import text_of

    columns = max(60, min(160, shutil.get_terminal_size((100, 24)).columns))
    sys.stdout.write(text_of(document, columns))
    return 0


def document_of(name: str) -> dict[str, Any]:
    """The wave document that a directory of waves or a run stands for; ``ConfigError`` where it was never
    run."""
    from prun_review import parallel, wavetaking
    from prun_review.runwaves import settings

    if not is_directory(name):
        return _told(Path(name), name)
    root, _ = settings(Path(name), {})
    opened = parallel.open_directory(root, Path(name))
    path = wavetaking.newest(root, opened.path)
    if path is None:
        raise ConfigError(
            "it was never run here", place=opened.path, remedy=f"prun-review run {one_line(name)}"
        )
    return _told(path, name)


def _told(path: Path, name: str) -> dict[str, Any]:
    """The document of a run; of one that was killed it is told how to go on, and what it left."""
    from prun_review.runview import RunView

    alive = RunView(path).dispatcher_alive()  # before its document is read: it may end between the two
    document = RunView(path).waves()
    if document.get("status") == "running" and not alive:
        where = name if is_directory(name) else str(document.get("directory"))
        again = f"prun-review run {one_line(where)} --resume goes on"
        print(f"prun-review status: run {path.name} was killed; {again}", file=sys.stderr)
        tell_untaken(path)
        return _killed(document, "it was killed")
    return document


def _killed(document: dict[str, Any], why: str) -> dict[str, Any]:
    """The document as it would read had the run been told to end, so that nothing reads as if it went on."""
    failed = {"status": "failed", "reason": "killed", "message": "its run was killed"}
    never = {"status": "not-run", "reason": "stopped"}
    tasks = {"running": failed, "pending": {**never, "message": "its run was killed before"}}
    waves = {"running": {"status": "failed", "reason": "stopped"}, "pending": never}
    return {
        **document,
        "status": "stopped",
        "stopped": why,
        "tasks": [{**row, **tasks.get(row["status"], {})} for row in document["tasks"]],
        "waves": [{**row, **waves.get(row["status"], {})} for row in document["waves"]],
    }


def tell_untaken(path: Path) -> None:
    """Say where the work of a run that was killed lies."""
    from prun_review.copyplace import untaken

    for tree in untaken(path):
        told = f"nobody took what was written in {one_line(str(tree), 1000)}"
        print(f"prun-review status: {told}", file=sys.stderr)
