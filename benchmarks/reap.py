"""How long a process tree takes to be gone once its end was decided, and what a dispatch costs to start.

    python benchmarks/reap.py [--runs 10]

First table, per tree: milliseconds from ``stop`` to ``wait`` returning, which it does when nobody is
left, with and without cgroups, beside SIGKILL of the process group.  Trees that ignore SIGTERM get two
seconds of grace; that is subtracted.  "left" counts processes that still ran after it, over all runs.
Second table: one ``/bin/true`` from start to its reported end, and what each waiting shim keeps to
itself.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tabulate import tabulate

from prun_review.ports import Launch
from prun_review.process import reap
from prun_review.process.launch import ProcessLauncher

FOREVER = "sleep 600"
CHAIN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    if os.fork():
        os._exit(0)
    time.sleep(0.002)
"""
TREES = {
    "plain": f"{FOREVER} & : > ready; {FOREVER}",
    "setsid grandchild": f"setsid {FOREVER} & : > ready; {FOREVER}",
    "double fork": f"sh -c '(setsid {FOREVER} &) & exit 0'; : > ready; {FOREVER}",
    "20 processes": f"for n in 1 2 3 4 5 6 7 8 9 10; do setsid sh -c '{FOREVER}; :' & done; "
    f": > ready; {FOREVER}",
    "ignores TERM": f"trap '' TERM; {FOREVER} & : > ready; {FOREVER}",
    "fork storm, ignores TERM": f'"$PYTHON" -I -S -c "$CHAIN" & : > ready; {FOREVER}',
}
WAITING = 32
"""Shims that wait at once for the second table."""


def env(tag: str) -> dict[str, str]:
    return {"PATH": os.defpath, "PYTHON": sys.executable, "CHAIN": CHAIN, reap.TAG: tag}


def ready(where: Path) -> None:
    """The script said so, and a moment for its children to be what they will be."""
    while not (where / "ready").exists():
        time.sleep(0.005)
    time.sleep(0.1)


def left(tag: str) -> int:
    """Processes of a tree that still run, which end here."""
    time.sleep(0.05)
    found = reap.tagged(tag)
    reap.sweep_tag(tag)
    return len(found)


def ours(launcher: ProcessLauncher, script: str, where: Path) -> tuple[float, int]:
    tag = secrets.token_hex(8)
    null = Path(os.devnull)
    process = launcher.start(
        Launch(("/bin/sh", "-c", script), env(tag), where, null, null, null, timeout=600, tag=tag)
    )
    ready(where)
    begun = time.monotonic()
    process.stop()
    process.wait()
    taken = time.monotonic() - begun
    return taken - (reap.GRACE if "TERM" in script or "CHAIN" in script else 0.0), left(tag)


def group(script: str, where: Path) -> tuple[float, int]:
    tag = secrets.token_hex(8)
    process = subprocess.Popen(
        ["/bin/sh", "-c", script],
        env=env(tag),
        cwd=where,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    ready(where)
    begun = time.monotonic()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return time.monotonic() - begun, left(tag)


def measured(way: Callable[[Path], tuple[float, int]], runs: int) -> tuple[float, float, int]:
    """Median and worst in milliseconds, and everything that was left."""
    found = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            found.append(way(Path(folder)))
    times = [1000 * seconds for seconds, _ in found]
    return statistics.median(times), max(times), sum(count for _, count in found)


def reaping(runs: int) -> str:
    table = []
    with ProcessLauncher() as with_them, ProcessLauncher(cgroups=False) as without:
        for name, script in TREES.items():
            row: list[object] = [name]
            for launcher in (with_them, without):
                row += measured(partial(ours, launcher, script), runs)
            row += measured(partial(group, script), runs)
            table.append(row)
    headers = [
        "tree",
        "ours ms",
        "worst",
        "left",
        "no cgroup ms",
        "worst",
        "left",
        "kill group",
        "worst",
        "left",
    ]
    return tabulate(table, headers, floatfmt=".1f")


def private_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


def starting(runs: int) -> str:
    table: list[list[object]] = []
    null = Path(os.devnull)

    def launch(*argv: str) -> Launch:
        return Launch(argv, {}, Path("/"), null, null, null, timeout=600)

    for name, cgroups in (("launcher", True), ("launcher without cgroups", False)):
        with ProcessLauncher(cgroups=cgroups) as launcher:
            times = []
            for _ in range(5 * runs):
                begun = time.monotonic()
                launcher.start(launch("/bin/true")).wait()
                times.append(1000 * (time.monotonic() - begun))
            waiting = [launcher.start(launch("/bin/sleep", "600")) for _ in range(WAITING)]
            own = [private_mib(pid) for pid in reap.descendants([os.getpid()]) if _is_shim(pid)]
            for process in waiting:
                process.stop()
            for process in waiting:
                process.wait()
        table.append([name, statistics.median(times), max(times), statistics.median(own)])
    times = []
    for _ in range(5 * runs):
        begun = time.monotonic()
        subprocess.run(["/bin/true"], check=True)
        times.append(1000 * (time.monotonic() - begun))
    table.append(["subprocess.run, nothing contained", statistics.median(times), max(times), None])
    return tabulate(table, ["start to end of /bin/true", "ms", "worst", "MiB per shim"], floatfmt=".2f")


def _is_shim(pid: int) -> bool:
    """A fork of the zygote that has a child of its own."""
    command = Path(f"/proc/{pid}/cmdline").read_bytes()
    return b"zygote.main" in command and len(reap.children(pid)) == 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    print(reaping(runs), starting(runs), sep="\n\n")


if __name__ == "__main__":
    main()
