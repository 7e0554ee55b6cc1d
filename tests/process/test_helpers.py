"""The short commands that a harness runs beside its dispatches end with it, and with nobody else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.process.trees import alive, until

HARNESS = """\
import pathlib, sys, threading
from prun_review.process.launch import ProcessLauncher
from prun_review.process.run import run

launcher = ProcessLauncher()
place = pathlib.Path(sys.argv[1])
script = "trap '' TERM; echo $$ > pid.part; mv pid.part pid; while :; do sleep 0.1; done"
argv = ("/bin/sh", "-c", script)
command = threading.Thread(target=lambda: run(argv, env={}, cwd=place, timeout=60), daemon=True)
command.start()
while not (place / "pid").exists():
    pass
launchers = [ProcessLauncher()]
launchers[0].close()
print("here", flush=True)
command.join()
"""


def test_a_command_ends_with_a_killed_harness_but_not_with_a_launcher_that_is_closed(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", HARNESS, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as harness:
        try:
            assert harness.stdout is not None
            assert harness.stdout.readline() == b"here\n"
            pid = int((tmp_path / "pid").read_text())
            assert alive(pid)
        finally:
            harness.kill()
    until(lambda: not alive(pid))
