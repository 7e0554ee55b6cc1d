"""``DIR/logs/<task id>.log``: what was said and done about each task, for people; best effort.

A log that cannot be written is no reason to end a run: it is told once, and everything that a log says
stands in the run directory too.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from prun_review import files, masking
from prun_review.errors import ConfigError
from prun_review.model import Result, Unit
from prun_review.planning import slug_of
from prun_review.renderers.escape import plain
from prun_review.tasks import SUCCEEDED, Outcome, Task
from prun_review.waveunits import notes

FOLDER = "logs"
TAIL = 20_000
"""Bytes of what a worker printed, from its end."""
SHARED = 0o644
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}")
MOST = 1_000_000
"""Characters of one log: of one that is longer its end is kept."""


class Logs:
    """The logs of a run."""

    def __init__(self, place: Path, secrets: Collection[str], tell: Callable[[str], None]) -> None:
        """``place`` is the directory of the manifest."""
        self._place = place
        self._secrets = secrets
        self._tell = tell
        self._texts: dict[str, str] = {}
        self._failed = False
        self.names: dict[str, str] = {}
        """Log of a task by its id, relative to the directory, once there is one."""

    def started(self, task: Task, unit: Unit, base: str) -> None:
        """A task begins, or begins again."""
        head = f"=== {task.id}: {task.title or task.component or task.id} ===\n"
        if task.id not in self._texts:
            self._texts[task.id] = head
        self._add(
            task.id, f"\n--- {_clock()} started: {unit.executor}, unit {unit.slug}, base {base[:12]} ---\n"
        )

    def ended(self, task: Task, result: Result, attempts: Path) -> None:
        """An opening of a task ended; ``attempts`` is the directory of its unit."""
        self._add(task.id, "".join(f"{part.rstrip()}\n" for part in _told(result, attempts)))

    def note(self, task: str, outcome: Outcome) -> None:
        """What became of a task later: put together, opened again, skipped."""
        why = f" ({outcome.reason})" if outcome.reason not in ("", "ok") else ""
        if outcome.status == SUCCEEDED and not outcome.commit:
            return  # its opening ended well, and that is told already
        told = f"accepted: with it the whole is commit {outcome.commit}" * (outcome.status == SUCCEEDED)
        told = told or f"{outcome.status}{why}" + (f": {outcome.message}" if outcome.message else "")
        self._add(task, f"\n--- {_clock()} {told} ---\n")

    def _add(self, task: str, text: str) -> None:
        known = self._texts.get(task, f"=== {task} ===\n")
        text = plain(masking.mask(text, self._secrets))
        name = task if _NAME.fullmatch(task) else slug_of(task)
        self._texts[task] = (known + text)[-MOST:]
        if self._failed:
            return
        try:
            folder = self._place / FOLDER
            folder.mkdir(mode=0o755, exist_ok=True)
            if not _inside(folder, self._place):
                raise OSError(errno.ELOOP, "it is a link that leads out of the directory")
            files.write(
                folder / f"{name}.log", self._texts[task].encode(errors="replace"), SHARED, sync=False
            )
            self.names[task] = f"{FOLDER}/{name}.log"
        except OSError as error:
            self._failed = True
            self._tell(f"logs cannot be written in {self._place / FOLDER}: {error.strerror}; the run goes on")


def _clock() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")


def _told(result: Result, attempts: Path) -> Iterator[str]:
    tail = files.take_regular(attempts / str(max(result.attempts, 1)), "tail", TAIL)
    text = tail.data.decode(errors="replace").strip()
    if text:
        yield f"\n[the end of what it printed]\n{text}"
    if result.text.strip() and result.text.strip() != text:
        yield f"\n[its last message]\n{result.text.strip()}"
    patch = result.patch
    if patch:
        yield f"\n[what it changed]{'' if patch.files else ' nothing'}"
        yield from (f"{file.status} {file.path} +{file.added} -{file.deleted}" for file in patch.files)
        yield from (f"breach {breach.code} {breach.path}: {breach.text}" for breach in patch.breaches)
    yield from (f"note: {text}" for text in notes(result))
    for check in result.checks:
        how = "passed" if check.ok else f"failed ({check.ended_by or check.code})"
        yield f"\n[we ran: {check.command}] {how}"
        yield check.said
    why = f" ({result.reason})" if result.reason not in ("", "ok") else ""
    said = f": {result.message}" if result.message else ""
    yield f"\n--- {_clock()} ended after {result.seconds:.0f} s: {result.status}{why}{said} ---"


def find(place: Path, name: str) -> Path:
    """The log of a task by its long or short id; ``ConfigError`` where there is none, or several, or it lies
    elsewhere."""
    folder = place / FOLDER
    logs = sorted(path for path in folder.glob("*.log") if path.is_file()) if folder.is_dir() else []
    exact = [path for path in logs if path.name == f"{name}.log"]
    found = exact or [path for path in logs if path.name.startswith(f"{name}-")]
    if len(found) == 1 and not _inside(found[0], place):
        raise ConfigError(
            "the log is a link that leads out of the directory", place=str(found[0]), remedy="take it away"
        )
    if len(found) == 1:
        return found[0]
    known = ", ".join(path.stem for path in logs) or "none"
    what = f"may be any of {', '.join(path.stem for path in found)}" if found else "has no log"
    raise ConfigError(f"{name} {what}", place=str(folder), remedy=f"logs that are there: {known}")


def _inside(path: Path, place: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(place))
