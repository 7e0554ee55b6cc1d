"""``prun-review status [RUN|DIR...]``: how a run stands, from its files alone, live or after the fact.

RUN is a run id, a run directory or a report folder; the latest review for ``latest`` or where it is left
out.  DIR is a directory of waves: its newest run is meant.  It may also
be a state directory of the prun scripts (``prun-task-...``, or an attempt of a run): then one line
``UNIT <name> <status>`` is printed for each, in the words of ``prun-review monitor``, and
``(dispatcher gone)`` behind it where no result can come any more.  Exit 0, or 2 where there is no such
run or directory.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prun_review.cli import USAGE, runs, waves
from prun_review.errors import ConfigError, PrunError
from prun_review.renderers.escape import one_line
from prun_review.renderers.json import dumps

if TYPE_CHECKING:
    from prun_review.status import RunStatus


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "status", help="how a run stands, from its files", description=__doc__
    )
    parser.add_argument("runs", nargs="*", metavar="RUN", help=runs.RUN_HELP)
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the status of one run, or of state directories; 0."""
    if len(args.runs) == 1 and (of_waves := _of_waves(args.runs[0])):
        return waves.status(of_waves, args.json)
    folders = [name for name in args.runs if _state_directory(Path(name))]
    if folders and len(folders) == len(args.runs):
        return _states(folders, args.json)
    if len(args.runs) > 1:
        raise ConfigError("one run at a time, or state directories only", place=" ".join(args.runs))
    path = runs.shown("status", args.runs[0] if args.runs else None)
    found = reader(path).look()
    if args.json:
        from prun_review.codec import encode

        sys.stdout.write(dumps(encode(found)))
        return 0
    from prun_review.statuslines import lines

    print("\n".join(lines(found, columns())))
    if found.state == "died":
        waves.tell_untaken(path)
    return 0


def _of_waves(name: str) -> str:
    """The directory of waves, or the run of one, that is meant; empty: something else is."""
    from prun_review.runview import WAVES

    if waves.is_directory(name):
        return name
    with suppress(PrunError):
        found = runs.find(name)
        return str(found) if (found / WAVES).is_file() else ""
    return ""


def reader(path: Path) -> RunStatus:
    """The reader of the run in this directory."""
    from prun_review.settings import read_settings
    from prun_review.status import RunStatus

    parents = path.parents
    below = len(parents) > 2 and parents[0].name == "runs" and parents[1].name == ".prun"
    # A run of another project has its history beside it.
    root = parents[2] if below else read_settings(Path.cwd())[0]
    return RunStatus(path, root)


def columns() -> int:
    """Columns of the terminal, within what can be read."""
    return max(60, min(160, shutil.get_terminal_size((100, 24)).columns))


# --- state directories of the prun scripts --------------------------------------------------


def _state_directory(path: Path) -> bool:
    """What one dispatch left, or would have left under this name, and no run."""
    return path.name.startswith("prun-task-") or (path.is_dir() and (path / "result-file").is_file())


def _states(names: list[str], as_json: bool) -> int:
    units = [
        {
            "name": Path(name).absolute().name,
            "path": name,
            "status": state_of(name),
            "dispatcher_gone": _gone(name),
        }
        for name in names
    ]
    if as_json:
        sys.stdout.write(dumps({"units": units}))
    else:
        for unit in units:
            gone = " (dispatcher gone)" if unit["dispatcher_gone"] else ""
            print(f"UNIT {one_line(str(unit['name']))} {one_line(str(unit['status']))}{gone}")
    missing = [name for name in names if not os.path.isdir(name)]
    for name in missing:
        told = f"{one_line(name)}: there is no such state directory"
        print(f"prun-review status: {told}", file=sys.stderr)
    return USAGE if missing else 0


def _gone(name: str) -> bool:
    """No result has landed, and the birth that was recorded proves that nobody will write one.

    ``monitor`` says so after the stall threshold only: that is its protocol.
    """
    from prun_review.prun.statedir import StateDir

    place = StateDir(Path(name))
    if place.entry("dispatch-start") is None or place.alive() is not False:
        return False
    result = place.result()  # looked at last: it may have landed at the last moment
    return result is None or place.landed(result) is None


def state_of(name: str, env: Mapping[str, str] = os.environ, now: float | None = None) -> str:
    """The status of one dispatch, in the words of ``monitor``, told from one look.

    ``monitor`` watches silence grow; one look has the times of change only.  One that lies ahead is
    not believed: then the output counts as growing, and a result as not yet left alone.
    """
    from prun_review.prun import console
    from prun_review.prun.statedir import StateDir

    place = StateDir(Path(name))
    now = time.time() if now is None else now
    result = place.result()
    info = place.landed(result) if result is not None else None
    if result is not None and info is not None:
        if now - info.st_mtime < console.seconds(env, "PRUN_MONITOR_STABLE_WINDOW", 10):
            return "finishing"
        failure = place.failure(result)
        return f"failed({failure})" if failure else "done"
    times = [ns / 1e9 for _, ns in place.output()] or [float(place.number("timestamp") or now)]
    silent = now - max(times)
    if silent < console.seconds(env, "PRUN_STALL_THRESHOLD", 600):
        return "growing" if place.output() else "pending"
    return "failed(dispatch-dead)" if place.alive() is False else f"stalled({int(silent)}s)"
