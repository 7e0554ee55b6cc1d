"""Run directories: where they are, how they are laid out, and the reports beside them.

    .prun/runs/<utc>-<4 hex>/
        run.json  plan.json  ledger.jsonl  lock
        waves.json  git/                 of a run of waves, instead of run.json: its document, its objects
        examination.json                 what a second wave asked, rewritten at each of its rounds
        workers/<id>.json                what an xdist worker collected
        state/<executor>/                an executor's own directory during the run
        units/<slug>/unit.json  result.json
        units/<slug>/<n>/                an attempt: prompt.md argv.json tail stderr result-file
                                         dispatch-pid timestamp pre-mtime work/
    reports/<run id>/...                 reports/latest leads there

:class:`RunDir` writes one, :class:`RunView` reads one; the functions here find and make them.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from prun_review import files, ledger
from prun_review.errors import RunDirError
from prun_review.runview import LEDGER, LOCK, WAVES, RunRecord, RunView
from prun_review.runwriter import RunDir, refuse_full

__all__ = [
    "RunDir",
    "RunRecord",
    "RunView",
    "costs",
    "create",
    "durations",
    "find",
    "latest",
    "locked",
    "open_run",
    "publish",
    "stored",
    "write_file",
]

RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")
EXAMINES = "prun_review::examine["
"""What the id of every unit of a second wave begins with."""
HISTORY = 20
"""Newest runs whose ledgers tell durations and costs."""
LEDGER_CAP = 4 << 20
"""Bytes looked at of such a ledger, from its end."""
TRIES = 20
SHARED, SHARED_DIR = 0o644, 0o755
"""Modes of reports: they are made to be passed on."""


def create(root: Path, *, now: float, token: str | None = None) -> RunDir:
    """A new run directory below ``root/.prun``, locked by this process.

    ``now`` is in seconds since the epoch; ``token`` (4 hex digits) makes the id predictable, and is
    then refused when it is taken.  ``RunDirError`` when nothing can be written there, ``DiskFullError``
    when too little can.
    """
    home = root / ".prun"
    with files.named(RunDirError, "no run directory can be made", home):
        for folder in (home, home / "runs"):
            folder.mkdir(mode=files.PRIVATE_DIR, exist_ok=True)
            folder.chmod(files.PRIVATE_DIR)
        refuse_full(home)
        if not (home / ".gitignore").exists():
            files.write(home / ".gitignore", b"*\n")
        stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
        for _ in range(1 if token else TRIES):
            path = home / "runs" / f"{stamp}-{token or secrets.token_hex(2)}"
            if not RUN_ID.fullmatch(path.name):
                raise RunDirError(f"{token!r} is not 4 hex digits")
            with suppress(FileExistsError):
                return RunDir(files.make_private(path))
    raise RunDirError("there is such a run already", place=str(path), remedy="start again")


def locked(path: Path) -> bool:
    """Whether the process that writes this run still lives."""
    return RunView(path).dispatcher_alive()


def open_run(path: Path) -> RunRecord:
    """A stored run with all that does not fit together in it named; ``RunDirError``."""
    return RunView(path).load()


def latest(root: Path) -> Path:
    """The newest run directory of a review; ``RunDirError`` when there is none.  Runs of waves have no
    verdict, so none of them is meant."""
    for path in stored(root):
        if not (path / WAVES).exists():
            return path
    raise RunDirError(
        "there is no run yet", place=str(root / ".prun" / "runs"), remedy="pytest panels/ makes one"
    )


def find(root: Path, run: str) -> Path:
    """The run directory meant by ``run``: a path, a run id, or a report folder; ``RunDirError``."""
    if _is_run(Path(run)):
        return Path(run).absolute()
    # A report folder (also the link reports/latest) carries the id of its run as its name.
    name = Path(run).resolve().name if Path(run).is_dir() else run
    stored = root / ".prun" / "runs" / name
    if Path(name).name == name and _is_run(stored):
        return stored
    raise RunDirError(
        f"{run!r} is no run",
        place=str(root / ".prun" / "runs"),
        remedy="give a run id or a run directory, or leave it out for the latest run",
    )


def _is_run(path: Path) -> bool:
    return any((path / name).is_file() for name in ("run.json", "plan.json", LEDGER))


def stored(root: Path) -> Iterator[Path]:
    """All run directories, the newest first: by the second in the name, then by when its lock file was
    made."""
    with files.named(RunDirError, "the runs cannot be listed", root / ".prun" / "runs"):
        try:
            found = [p for p in (root / ".prun" / "runs").iterdir() if RUN_ID.fullmatch(p.name)]
        except FileNotFoundError:
            return
    yield from sorted(found, key=lambda p: (p.name[:16], _made(p / LOCK), p.name), reverse=True)


def _made(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def durations(root: Path) -> dict[tuple[str, str], float]:
    """Seconds by (case, executor) of units that answered, each from the newest run that has it."""
    found: dict[tuple[str, str], list[float]] = {}
    for events in _history(root):
        here: dict[tuple[str, str], list[float]] = {}
        for e in events:
            if e.get("status") in ("valid", "broken") and isinstance(e.get("seconds"), (int, float)):
                here.setdefault((str(e.get("case")), str(e.get("executor"))), []).append(e["seconds"])
        found = {**here, **found}
    return {key: statistics.median(seconds) for key, seconds in found.items()}


def costs(root: Path, *, examined: bool = False) -> dict[str, list[float]]:
    """What earlier units were billed in US dollars, by executor; none where no CLI says it.

    ``examined``: those of second waves, which are in no other number.
    """
    found: dict[str, list[float]] = {}
    for events in _history(root):
        for e in events:
            second = str(e.get("unit")).startswith(EXAMINES)
            if second is examined and isinstance(e.get("cost_usd"), (int, float)):
                found.setdefault(str(e.get("executor")), []).append(float(e["cost_usd"]))
    return found


def _history(root: Path) -> Iterator[list[dict[str, Any]]]:
    """The result events of the newest runs, the newest first; not of what was replayed or taken over:
    another run has those."""
    for _, path in zip(range(HISTORY), stored(root), strict=False):
        lines = files.take_regular(path, LEDGER, LEDGER_CAP).data.split(b"\n")
        events = [event for event in map(ledger.parse, lines) if event]
        yield [event for event in events if event["event"] == "result" and not event.get("again")]


def publish(root: Path, run_id: str, texts: Mapping[str, str]) -> Path:
    """Write ``reports/<run id>/<name>`` for each text and make ``reports/latest`` lead there.

    A new folder appears whole.  Where links are impossible, ``latest`` is a file with the run id.
    """
    reports = root / "reports"
    folder = reports / run_id
    for name in texts:
        if PurePosixPath(name).name != name:
            raise RunDirError(f"{name!r} is not a plain file name", place=str(folder))
    with files.named(RunDirError, "the reports cannot be written", folder):
        reports.mkdir(mode=SHARED_DIR, exist_ok=True)
        _sweep(reports)
        part = folder if folder.is_dir() else reports / f".{run_id}.{secrets.token_hex(4)}.part"
        try:
            part.mkdir(mode=SHARED_DIR, exist_ok=True)
            for name, text in texts.items():
                files.write(part / name, text.encode(errors="backslashreplace"), SHARED)
            if part != folder:
                part.chmod(SHARED_DIR)
                os.rename(part, folder)
        except BaseException:
            if part != folder:
                shutil.rmtree(part, ignore_errors=True)
            raise
        _lead(reports / "latest", run_id)
    return folder


def _sweep(reports: Path) -> None:
    """Remove what a SIGKILL left half-written an hour ago or more; a living run takes seconds."""
    for path in reports.glob(".*.part"):
        with suppress(OSError):
            if path.lstat().st_mtime < time.time() - 3600:
                path.unlink() if not path.is_dir() or path.is_symlink() else shutil.rmtree(path)


def _lead(latest: Path, run_id: str) -> None:
    aside = latest.with_name(f".latest.{secrets.token_hex(4)}.part")
    try:
        os.symlink(run_id, aside)
    except OSError as e:
        if e.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        files.write(latest, f"{run_id}\n".encode(), SHARED)
        return
    try:
        os.replace(aside, latest)
    except OSError:
        aside.unlink()
        raise
    files.sync_directory(latest.parent)


def write_file(path: Path, text: str) -> None:
    """Replace one report at a place of the user's choice, at once; ``RunDirError``."""
    with files.named(RunDirError, "the report cannot be written", path):
        path.parent.mkdir(mode=SHARED_DIR, parents=True, exist_ok=True)
        files.write(path, text.encode(errors="backslashreplace"), SHARED)
