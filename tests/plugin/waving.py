"""``pytest DIR`` as a process of its own, for directories of waves whose workers are shell scripts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.repokit import cache_home
from tests.waves.wavekit import DIR, Project

SCOPE = "## Scope\nCREATE: task-{n:03}.txt"
"""What a task without a script of its own does, so that nothing is warned of."""


@dataclass(frozen=True)
class Ran:
    """What a session came to."""

    code: int
    out: str
    err: str

    @property
    def counts(self) -> dict[str, int]:
        """``{"passed": 3, ...}`` of pytest's last line."""
        last = self.out.rstrip().splitlines()[-1] if self.out.strip() else ""
        return {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", last.rpartition(" in ")[0])}

    def outcomes(self) -> dict[str, str]:
        """Task -> its word, of a session with ``-v``."""
        found = re.findall(
            r"^(?:\[gw\d+\].*?)?\S*::(task-\d+)-part[^\n]*? (PASSED|FAILED|SKIPPED|ERROR)", self.out, re.M
        )
        found += [
            (task, word)
            for word, task in re.findall(
                r"^\[gw\d+\] .*?(PASSED|FAILED|SKIPPED) \S*::(task-\d+)-part", self.out, re.M
            )
        ]
        return dict(found)


@dataclass(frozen=True)
class Waving:
    """The project of a test, and pytest in it."""

    made: Project
    cache: Path

    def run(self, *args: str, cwd: Path | None = None) -> Ran:
        """``pytest ARGS``."""
        argv, kwargs = self._command(args)
        kwargs["cwd"] = cwd or self.made.root
        done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, **kwargs)
        return Ran(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def started(self, *args: str) -> Iterator[subprocess.Popen[bytes]]:
        """The same, running; it is ended afterwards, and its output is not kept."""
        argv, kwargs = self._command(args)
        null = subprocess.DEVNULL
        with subprocess.Popen(argv, stdout=null, stderr=null, start_new_session=True, **kwargs) as process:
            try:
                yield process
            finally:
                process.kill()

    def _command(self, args: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        surroundings = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "200"}
        surroundings["XDG_CACHE_HOME"] = str(self.cache)
        for name in ("PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS"):
            surroundings.pop(name, None)
        argv = [sys.executable, "-m", "pytest", "-p", "prun_review.plugin", "-p", "xdist", *args]
        return argv, {"cwd": self.made.root, "env": surroundings, "stdin": subprocess.DEVNULL}

    def asked(self) -> list[str]:
        """The tasks that workers were started for, as far as the last one tells."""
        return sorted(path.stem for path in self.made.scripts.glob("task-*.prompt"))

    def forget(self) -> None:
        """No worker was started so far."""
        for path in self.made.scripts.glob("*.prompt"):
            path.unlink()

    def report(self) -> dict[str, Any]:
        """The document of the last run."""
        document: dict[str, Any] = json.loads((self.made.directory / "report.json").read_text())
        return document

    def runs(self) -> list[Path]:
        """The run directories that there are."""
        runs = self.made.root / ".prun/runs"
        return sorted(runs.iterdir()) if runs.is_dir() else []


@contextmanager
def waving(made: Project) -> Iterator[Waving]:
    """pytest in a project."""
    with cache_home() as cache:
        yield Waving(made, cache)


def commit(made: Project, files: dict[str, str]) -> None:
    """Write files of the project and commit everything."""
    for name, text in files.items():
        (made.root / name).parent.mkdir(parents=True, exist_ok=True)
        (made.root / name).write_text(text)
    made.git("add", "-A")
    made.git("commit", "-q", "--allow-empty", "-m", "more")


def ids(numbers: Sequence[int]) -> list[str]:
    """Node ids of tasks."""
    return [f"{DIR}::task-{n:03}-part" for n in numbers]
