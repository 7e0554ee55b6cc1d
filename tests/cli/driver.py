"""``prun-review`` as a real process, in scrubbed surroundings."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from prun_review.cli import main


def surroundings(home: Path, **further: str) -> dict[str, str]:
    """An environment without anybody's logins; ``home`` is the only HOME."""
    return {"PATH": os.defpath, "HOME": str(home), "LC_ALL": "C.UTF-8", **further}


def prun_review(*args: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(
        [sys.executable, "-m", "prun_review", *args],
        cwd=cwd,
        env=env or surroundings(cwd),
        capture_output=True,
        text=True,
        timeout=60,
    )


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Run in ``folder``: for verbs called in this process, which a table of cases can afford."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def call(*args: str, cwd: Path) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of ``main`` in this process."""
    out, errors = io.StringIO(), io.StringIO()
    with inside(cwd), redirect_stdout(out), redirect_stderr(errors):
        status = main(args)
    return status, out.getvalue(), errors.getvalue()


def executable(path: Path, body: str) -> Path:
    """A shell script at ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path
