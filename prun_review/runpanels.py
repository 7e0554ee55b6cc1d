"""Panels run by a program: pytest in a fresh interpreter, and the document of the run that it made."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from prun_review import rundir
from prun_review.errors import ConfigError, InternalError, PlanError, PrunError
from prun_review.model import Exit
from prun_review.ports import Launch, Launcher
from prun_review.process.launch import ProcessLauncher
from prun_review.renderers.escape import one_line
from prun_review.rundir import RunView
from prun_review.settings import read_settings

PATIENCE = 24 * 3600.0
"""Seconds for a whole review; its units have limits of their own."""
SLICE = 0.2
SAID = 4_000
"""Bytes of what pytest said, from its end, in an error."""
NOT_BEGUN = (2, 4, 5)
"""Exit statuses of pytest for what the caller can mend: a panel that does not import, an option, no probe."""


def run_panels(
    paths: Sequence[str | os.PathLike[str]],
    *,
    executors: Sequence[str] | None = None,
    base: str | None = None,
    head: str | None = None,
    authors: Sequence[str] = (),
    root: str | os.PathLike[str] | None = None,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    launcher: Launcher | None = None,
    stop: Callable[[], str] = lambda: "",
) -> dict[str, Any]:
    """The run document of one review of panels, probe files or node ids, whatever its verdict.

    ``root`` is the project (default: the one at or above the current folder), ``options`` are further
    arguments of pytest.  ``stop()`` says why to end early, or nothing.  ``PrunError`` where the review did
    not come to a document: never an empty one.
    """
    top = read_settings(Path(root) if root else Path.cwd())[0] if root is None else Path(root).absolute()
    config = read_settings(top)[1]
    if not paths:
        raise ConfigError("no panel is named", remedy='run_panels(["panels/"])')
    given = [f"--prun-base={base}"] * (base is not None) + [f"--prun-head={head}"] * (head is not None)
    given += [f"--prun-executors={','.join(executors)}"] if executors is not None else []
    given += [f"--prun-authors={','.join(authors)}"] if authors else []
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="prun-panels-")))
        reports = [*config.report, f"json:{place / 'run.json'}"]
        given += [f"--prun-report={report}" for report in reports]
        if launcher is None:
            launcher = ProcessLauncher()
            stack.callback(launcher.close)
        names = [os.fspath(path) for path in paths]
        argv = (sys.executable, "-m", "pytest", "-p", "prun_review", *names, *given, *options)
        exit = _ended(launcher, argv, dict(os.environ if env is None else env), top, place, stop)
        return _document(top, place, exit)


def _ended(
    launcher: Launcher,
    argv: tuple[str, ...],
    env: Mapping[str, str],
    root: Path,
    place: Path,
    stop: Callable[[], str],
) -> Exit:
    process = launcher.start(
        Launch(
            argv=argv,
            env={**env, "COLUMNS": env.get("COLUMNS", "100")},
            cwd=root,
            stdin=Path(os.devnull),
            stdout=place / "said",
            stderr=place / "said.err",
            timeout=PATIENCE,
            tag=f"panels-{time.time_ns()}-{secrets.token_hex(4)}",
        )
    )
    told = False
    while (exit := process.wait(SLICE)) is None:
        if not told and (why := stop()):
            process.stop(why)
            told = True
    return exit


def _document(root: Path, place: Path, exit: Exit) -> dict[str, Any]:
    """The document as the ledger of its run vouches for it."""
    import json

    said = b"".join((place / name).read_bytes()[-SAID:] for name in ("said", "said.err")).decode(
        errors="replace"
    )
    try:
        told = json.loads((place / "run.json").read_bytes())
        view = RunView(rundir.find(root, str(told["run_id"])))
        return view.vouched_document()
    except (OSError, ValueError, KeyError, TypeError, PrunError) as error:
        how = exit.ended_by or f"exit status {exit.code}"
        lines = said.strip().splitlines()
        errors = [line for line in lines if line.startswith("E ")]  # as pytest marks them
        last = one_line(" / ".join(errors[-6:] or lines[-6:]), 1000)
        kind = PlanError if exit.code in NOT_BEGUN or exit.ended_by else InternalError
        raise kind(
            f"the review came to no document ({how}): {last or 'it said nothing'}",
            place=str(root),
            remedy="run pytest on the same panels and read what it says",
        ) from error
