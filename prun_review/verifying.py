"""Commands of the trusted root, run on what was written: ``verify`` of a brief, ``validation`` of a wave.

They are the user's own, but what they run was written by somebody else: so they see a fresh folder, an
environment built from names, an empty home, and where bubblewrap is there no network and nothing else of
the disk than the system's programs and the tools on PATH.  What was written then stands in the place of the
user's own folder too: a virtual environment in which the project is installed to be edited names it by path,
and would test what is not in question.  Their ends are the launcher's affair, as those of workers.
"""

from __future__ import annotations

import ast
import os
import re
import secrets
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prun_review import files, masking, toolpath
from prun_review.errors import LaunchError, PrunError
from prun_review.executors import footprint
from prun_review.model import Exit
from prun_review.ports import Launch, Launcher
from prun_review.process import contain
from prun_review.written import Check

SAID = 4_000
"""Characters kept of what a command printed, from its end."""
MOST_OUTPUT = 64 << 20
"""Bytes that a command may print before it is ended."""
SLICE = 0.2
"""Seconds between two looks whether it is to be ended."""

_ONE_STREAM = 'exec /bin/sh -c "$1" 2>&1'
"""Standard error joins standard output where it was printed, so that the end of both is the end."""
_OF_OLD = """\
import ast, sys
tree = ast.parse(sys.argv.pop())
last = tree.body.pop().value if isinstance(tree.body[-1], ast.Expr) else None
names = {"__name__": "__main__"}
exec(compile(tree, "validation", "exec"), names)
sys.exit(bool(last) and eval(compile(ast.Expression(last), "validation", "eval"), names) is False)"""
"""What runs a Python expression of old: one that comes to False does not pass; to None does ``print``."""
_STATEMENT = re.compile(r"\s*(?:from\s+[\w.]+\s+import\s|import\s+[\w.]+)")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Room:
    """Where and how commands run."""

    launcher: Launcher
    env: Mapping[str, str]
    """The surroundings' environment; a command gets PATH and language of it and nothing else."""
    containment: str = "none"
    """With ``bwrap`` nothing runs uncontained; with ``none`` it does where there is no bubblewrap."""
    timeout: float = 900.0
    """Seconds of wall time for each command."""
    contain: Callable[[], str] = contain.unavailable
    """Why nothing can be contained here; empty where it can."""
    stands_for: Path | None = None
    """The user's folder in whose place the files stand for a contained command."""
    root: Path = Path("/")
    """The trusted root, where the user's shims are asked which Python they stand for: in a reviewed tree its
    files would choose."""


def run(
    commands: Sequence[str], tree: Path, work: Path, room: Room, stop: Callable[[], str] = lambda: ""
) -> tuple[Check, ...]:
    """Run shell commands one after the other in the folder ``tree``, all of them even where one fails.

    ``tree`` is theirs to write, so what one leaves the next one finds.  ``work`` is an existing folder for
    their home, temporary files and output.  ``stop()`` says why to end early, or nothing: what was not
    run by then did not start.  A command that cannot be run is a failed check that says why.
    """
    why = room.contain()
    if why and room.containment != "none":
        return tuple(Check(command, None, "spawn", said=f"not run: {why}") for command in commands)
    return tuple(_checks(commands, tree, work, room, stop, contained=not why))


def as_shell(validation: str) -> str:
    """A wave's validation as a shell command: a bare Python expression of old becomes one.

    What begins with an import and is Python as a whole is taken for Python; no shell would know it.
    """
    if not _STATEMENT.match(validation):
        return validation
    try:
        ast.parse(validation.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return validation
    return f"python3 -c {shlex.quote(_OF_OLD)} {shlex.quote(validation.strip())}"


def _checks(
    commands: Sequence[str],
    tree: Path,
    work: Path,
    room: Room,
    stop: Callable[[], str],
    *,
    contained: bool,
) -> Iterator[Check]:
    for number, command in enumerate(commands, 1):
        if why := stop():
            yield Check(command, None, why, said="not run: it was ended before", contained=contained)
            continue
        try:
            yield _check(command, tree, work / f"check-{number}", room, stop, contained=contained)
        except PrunError as error:
            yield Check(command, None, "spawn", said=f"not run: {error}"[:SAID], contained=contained)


def _check(
    command: str, tree: Path, place: Path, room: Room, stop: Callable[[], str], *, contained: bool
) -> Check:
    launch = _launch(command, tree, place, room)
    if contained:
        tools = _tools(launch.env["PATH"], tree, room.stands_for)
        instead = {room.stands_for: tree} if room.stands_for else {}
        launch = contain.alone(launch, tools, (tree, place / "home", place / "tmp"), instead)
    process = room.launcher.start(launch)
    exit = _watched(process.wait, process.stop, stop)
    output = files.take_regular(place, "output", SAID * 4).data.decode(errors="replace")
    said = masking.mask(_CONTROL.sub("", output).rstrip(), masking.secrets_of(room.env))[-SAID:]
    note = f"{said}\n{exit.note}".strip()[-SAID:] if exit.note else said
    return Check(command, exit.code, exit.ended_by, round(exit.seconds, 3), note, contained)


def _tools(path: str, tree: Path, stands_for: Path | None) -> Iterator[Path]:
    """What commands need of the disk.  Of the folder that the tree stands for only virtual environments, and
    what the tree does not hold: else the user's own files would be tested."""
    for tool in (*footprint.of_tools(path.split(os.pathsep)), *footprint.of_python()):
        real = Path(os.path.realpath(tool))
        if stands_for is None or not real.is_relative_to(stands_for):
            yield tool
            continue
        around = (f for f in (real, *real.parents) if f != stands_for and f.is_relative_to(stands_for))
        absent = not os.path.lexists(tree / real.relative_to(stands_for))
        if absent or any((f / "pyvenv.cfg").is_file() for f in around):
            yield tool


def _watched(
    wait: Callable[[float], Exit | None], end: Callable[[str], None], stop: Callable[[], str]
) -> Exit:
    told = False
    while True:
        exit = wait(SLICE)
        if exit is not None:
            return exit
        if not told and (why := stop()):
            end(why)
            told = True


def _launch(command: str, tree: Path, place: Path, room: Room) -> Launch:
    with files.named(LaunchError, "no place for a command can be made", place):
        for folder in (place, place / "home", place / "tmp"):
            files.make_private(folder)
        for name in ("stdin", "output", "unused"):
            files.create(place / name, b"")
    given = {name: room.env[name] for name in ("LANG", "LC_ALL", "LC_CTYPE", "TZ") if name in room.env}
    entries = toolpath.path_of(room.env, tree, room.root)
    given |= {"PYTHONUSERBASE": base} if (base := toolpath.user_base(entries)) else {}
    env = {**given, "PATH": os.pathsep.join(entries), "HOME": str(place / "home")}
    env |= {"TMPDIR": str(place / "tmp"), "TERM": "dumb"}
    return Launch(
        argv=("/bin/sh", "-c", _ONE_STREAM, "sh", command),
        env={**env, "GIT_CEILING_DIRECTORIES": str(tree.parent)},
        cwd=tree,
        stdin=place / "stdin",
        stdout=place / "output",
        stderr=place / "unused",
        timeout=room.timeout,
        tag=f"check-{time.time_ns()}-{secrets.token_hex(4)}",
        max_output=MOST_OUTPUT,
    )
