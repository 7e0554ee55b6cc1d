"""A review by reviewers that make process trees, as a process group of its own, and what is left of it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from prun_review.process import reap
from tests.plugin.conftest import payload
from tests.process.trees import PATIENCE, alive, birth_of, parent_of, until

TREEMAKER = Path(__file__).with_name("treemaker.py")
ANSWERING = ("leader exits first", "reads to the end")
"""Trees whose leader has answered when the end comes."""
HANGING = (
    *("plain", "ignores TERM", "setsid grandchild", "other environment", "double fork", "fork storm"),
    *("closes its streams", "stops itself"),
)
TREES = (*HANGING, *ANSWERING)
PROBE = 'def probe_app(result):\n    """Audit."""\n'


class Review:
    """``pytest panels/`` with one reviewer per tree; ``then`` is what the hanging ones do instead."""

    def __init__(
        self,
        path: Path,
        trees: Sequence[str] = TREES,
        *,
        probe: str = PROBE,
        extra: str = "",
        then: str = "hang",
    ) -> None:
        self.path = path
        self.trees = trees
        self.tag = f"attack-{secrets.token_hex(8)}"
        self.log = path.parent / f"{path.name}.log"
        self.process: subprocess.Popen[bytes] | None = None
        names = [tree.replace(" ", "-") for tree in trees]
        lines = ["[tool.pytest.ini_options]", 'addopts = ""', "[tool.prun_review]", f"executors = {names!r}"]
        lines += [f"jobs = {len(names)}", extra]
        for name, tree in zip(names, trees, strict=True):
            argv = [sys.executable, "-I", "-S", str(TREEMAKER), tree, self.tag, str(self.log), then]
            argv += [str(len(names) - 1), json.dumps(payload())]
            lines += [f"[tool.prun_review.executor.{name}]", 'type = "command"']
            lines += [
                f'vendor = "vendor-{name}"',
                f'lineage = "lineage-{name}"',
                f"argv = {json.dumps(argv)}",
            ]
        (path / "panels").mkdir(parents=True)
        (path / "src").mkdir()
        (path / "src/app.py").write_text("def run():\n    pass\n")
        (path / "panels/probe_app.py").write_text(probe)
        (path / "pyproject.toml").write_text("\n".join(lines) + "\n")
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "state"]):
            subprocess.run([*git, *words], cwd=path, check=True, capture_output=True)

    def start(self, *args: str) -> None:
        """pytest, and everything that it starts but the reviewers themselves, carries the tag."""
        # Other plugins cost each of its processes half a second.
        env = {**os.environ, reap.TAG: self.tag, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # it would be compiled again in every process
        plugins = [word for name in ("prun_review.plugin", "xdist") for word in ("-p", name)]
        with (self.path.parent / f"{self.path.name}.out").open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugins, "panels/", *args],
                cwd=self.path,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def end(self) -> int:
        """The exit status, once pytest has ended."""
        assert self.process
        return self.process.wait(120)

    def one(self, number: int) -> None:
        """Signal pytest alone."""
        assert self.process
        self.process.send_signal(number)

    def group(self, number: int) -> None:
        """Signal pytest's process group, as a terminal does."""
        assert self.process
        os.killpg(self.process.pid, number)

    def said(self, words: str) -> int:
        """How often the reviewers have said it."""
        return self._log().count(words)

    def _log(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def ready(self) -> None:
        """Wait until every tree stands."""
        process = self.process
        assert process
        until(lambda: self.said("ready") == len(self.trees) or process.poll() is not None, 3 * PATIENCE)
        assert process.returncode is None, self.output()

    def recorded(self) -> list[tuple[int, str]]:
        """The processes that the trees wrote down: pid and birth."""
        noted = [line.split() for line in self._log() if line.startswith("pid ")]
        return [(int(pid), birth) for _, pid, birth in noted]

    def living(self) -> list[int]:
        """Those of them that still run."""
        return [pid for pid, birth in self.recorded() if alive(pid) and birth_of(pid) == birth]

    def pids(self) -> dict[int, bytes]:
        """What lives of it by its environment or its command line, which is told."""
        marks = (self.tag.encode(), os.fsencode(self.path) + b"/.prun/")
        found = {}
        for pid in (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()):
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                known = command + Path(f"/proc/{pid}/environ").read_bytes()
            except OSError:
                continue
            if any(mark in known for mark in marks):
                found[pid] = command
        return found

    def shims(self) -> list[int]:
        """Forks of the zygote."""
        forked = [pid for pid, command in self.pids().items() if b"zygote.main" in command]
        return [pid for pid in forked if parent_of(pid) in forked]

    def zygotes(self) -> list[int]:
        """The zygote, and the one of ``--version`` calls if there is one."""
        forked = [pid for pid, command in self.pids().items() if b"zygote.main" in command]
        return [pid for pid in forked if parent_of(pid) not in forked]

    def judges(self) -> list[int]:
        """The workers of pytest-xdist."""
        return [pid for pid, command in self.pids().items() if b"sys.stdin.readline" in command]

    def gone(self) -> None:
        """Wait until nothing is left.  Looked at twice, because one look can fall between two links of
        a chain."""
        until(lambda: not self.pids() and not self.pids() and not self.living())

    def sweep(self) -> None:
        """What a failed test leaves.  Only pytest is killed at first: zygote and shims end their trees
        then; killed all at once they would set a chain of forks free that nobody can catch."""
        if self.process is None:
            return
        self.process.kill()
        self.process.wait()
        deadline = time.monotonic() + 10
        while self.pids() and time.monotonic() < deadline:
            time.sleep(0.1)
        for pid in self.pids():
            reap.send(pid, signal.SIGKILL)

    def output(self) -> str:
        """What pytest printed."""
        return (self.path.parent / f"{self.path.name}.out").read_text(errors="replace")

    def report(self) -> dict[str, Any]:
        """The document of the run: as reported, or as the run directory has it where none was."""
        found = list(self.path.glob("reports/latest/report.json")) or list(
            self.path.glob(".prun/runs/*/run.json")
        )
        document: dict[str, Any] = json.loads(found[0].read_text())
        return document

    def reasons(self) -> dict[str, str]:
        """Tree -> reason code of its unit."""
        names = {tree.replace(" ", "-"): tree for tree in self.trees}
        return {names[unit["executor"]]: unit["reason"] for unit in self.report()["units"]}
