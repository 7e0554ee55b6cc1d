"""The prun commands as real processes, a stand-in worker, and state directories of the old scripts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

PRUN = (sys.executable, "-m", "prun_review")
PATIENCE = 60.0

WORKER = """\
#!/bin/sh
# Stands in for codex: records how it was called, then does what PLAY says.
mkdir -p "$SEEN"
for word in "$@"; do printf '%s\\n' "$word"; done > "$SEEN/argv"
env > "$SEEN/env"
pwd > "$SEEN/pwd"
cat > "$SEEN/stdin"
eval "$PLAY"
"""

FALLBACK = """\
# {unit} result (FALLBACK, worker wrote no result file)
Conclusion: INCOMPLETE; structured result missing, raw worker output salvaged from the dispatch tail below.
Files: unknown
Open items: worker did not write its result file; review the raw output below or re-dispatch this unit.
Verification: none (salvaged by dispatch-task, not by the worker)

"""
REAPED = """\
# {unit} result (FALLBACK, worker wrote no result file)
Conclusion: INCOMPLETE; worker was reaped by dispatch-task ({why}) before writing a result; \
raw worker output salvaged from the dispatch tail below.
Files: unknown
Open items: worker was reaped by dispatch-task ({why}); review the raw output below or re-dispatch this unit.
Verification: none (worker reaped by dispatch-task; tail salvaged by dispatch-task)

"""
RESULT = "# u1 result\nConclusion: fine\nFiles: none\nOpen items: none\nVerification: none\n\nBody.\n"


class Desk:
    """One coordinator's desk: a prompt, a place for results, a temporary directory, a worker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tmp = folder / "tmp"
        self.seen = folder / "seen"
        self.result = folder / "results" / "u1.md"
        self.prompt = folder / "prompt.md"
        self.prompt.write_text(f"Look at it. Write to {self.result}.\n")
        bin = folder / "bin"
        bin.mkdir()
        (bin / "codex").write_text(WORKER)
        (bin / "codex").chmod(0o755)
        self.env = {
            "PATH": f"{bin}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(folder),
            "TMPDIR": str(self.tmp),
            "SEEN": str(self.seen),
            "RESULT": str(self.result),
        }

    def words(self, **changes: str) -> list[str]:
        """The arguments of a dispatch."""
        given = {"prompt_file": str(self.prompt), "result_file": str(self.result), "unit_id": "u1"} | changes
        return [word for name, value in given.items() for word in ("--" + name.replace("_", "-"), value)]

    def start(
        self, play: str, *further: str, env: dict[str, str] | None = None, **changes: str
    ) -> subprocess.Popen[str]:
        """A dispatch in the background."""
        return subprocess.Popen(
            [*PRUN, "dispatch", *self.words(**changes), *further],
            cwd=self.folder,
            env={**self.env, "PLAY": play, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def dispatch(
        self, play: str, *further: str, env: dict[str, str] | None = None, **changes: str
    ) -> subprocess.CompletedProcess[str]:
        """A dispatch, to its end."""
        return finish(self.start(play, *further, env=env, **changes))

    @property
    def state(self) -> Path:
        """The only state directory."""
        (found,) = self.tmp.glob("prun-task-*")
        return found


def command(
    *words: str, env: dict[str, str], cwd: Path, program: tuple[str, ...] = PRUN
) -> subprocess.CompletedProcess[str]:
    """A command, to its end."""
    return subprocess.run(
        [*program, *words], cwd=cwd, env=env, capture_output=True, text=True, timeout=PATIENCE
    )


def finish(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    out, errors = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)


def laid_out(
    folder: Path,
    unit: str = "u1",
    *,
    result: str | bytes,
    pid: int | None,
    tail: bytes | None = b"working\n",
    pre_mtime: int = 0,
    timestamp: int | None = None,
) -> Path:
    """A state directory byte by byte as the old scripts leave it; ``pid`` None: as 0.7.6 did."""
    path = folder / f"prun-task-0123abcd-{unit}-{pid or 4242}-00112233445566ff"
    (path / "work").mkdir(parents=True)
    (path / "pre-mtime").write_text(f"{pre_mtime}\n")
    (path / "timestamp").write_text(f"{int(time.time()) if timestamp is None else timestamp}\n")
    (path / "result-file").write_bytes((result if isinstance(result, bytes) else os.fsencode(result)) + b"\n")
    if pid is not None:
        (path / "dispatch-pid").write_text(f"{pid}\n")
    if tail is not None:
        (path / "tail").write_bytes(tail)
    return path


def dead_pid() -> int:
    """The pid of a process that has ended."""
    process = subprocess.Popen(["/bin/true"])
    process.wait()
    return process.pid


def landed(path: Path, text: str = RESULT, *, age: float = 100.0) -> Path:
    """A file that was last changed ``age`` seconds ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def until(condition: object) -> None:
    """Wait for something that must come to be."""
    assert callable(condition)
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.01)
