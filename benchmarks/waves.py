"""What a run of waves costs beside its tasks: 200 tasks in 10 waves by stand-ins, against the ideal.

    python benchmarks/waves.py [--tasks 200] [--waves 10] [--jobs 20] [--seconds 20] [--files 200]

The ideal is the time that the tasks alone take with so many at once, wave by wave: of each wave
ceil(tasks / jobs) x seconds.  Everything else is ours: the template of each wave's base, the copies, what is
taken of them, putting together, documents, logs.  ``validate`` reads and checks the same directory.  What the
stand-ins themselves cost in CPU is measured with one of them alone, and told apart.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tabulate import tabulate

from prun_review import parallel
from prun_review.config import load
from prun_review.waverun import WaveRun

WORK = """\
name=
while read -r line; do case $line in TASK-[0-9]*) name=${line#TASK-}; break;; esac; done
name=${name%%[!0-9]*}
echo "$name" > "part-$name.txt"
: > .claude-task-complete
echo done
exec sleep "$1"
"""
MOST_VALIDATING, MOST_OVER, MOST_CPU = 1.0, 0.10, 0.15
"""Seconds, share of the ideal, and seconds of CPU for each task that are aimed at."""


def made(place: Path, tasks: int, waves: int, files: int) -> tuple[Path, Path]:
    """A repository with a directory of waves; the root, and the directory."""
    root = place / "project"
    directory = root / "parallel/TS-0001-load"
    (directory / "tasks").mkdir(parents=True)
    (root / "src").mkdir()
    for n in range(files):
        (root / f"src/{n}.txt").write_text(f"{n}\n" * 20)
    told = []
    each = tasks // waves
    for wave in range(1, waves + 1):
        ids = [f"task-{(wave - 1) * each + n:03}-part" for n in range(1, each + 1)]
        told.append({"number": wave, "tasks": [{"id": i, "agent": "load-expert"} for i in ids]})
        for i in ids:
            front = f"id: {i}\ncomponent: part\nwave: {wave}\ndeps: []\n"
            scope = f"## Scope\nCREATE: part-{i.split('-')[1]}.txt\n"
            (directory / f"tasks/{i}.md").write_text(f"---\n{front}---\n# {i[:8]}: Part\n\n{scope}")
    (directory / "manifest.json").write_text(json.dumps({"tech_spec_id": "TS-0001", "waves": told}))
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    for args in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *args], cwd=root, check=True)
    return root, directory


def cpu() -> float:
    """Seconds of CPU of this process and its ended children."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def alone(place: Path) -> float:
    """Seconds of CPU of one stand-in."""
    began = cpu()
    for _ in range(10):
        argv = ["/bin/sh", str(place / "work.sh"), "0"]
        subprocess.run(argv, input=b"TASK-1: x\n", cwd=place, stdout=subprocess.DEVNULL, check=True)
    return (cpu() - began) / 10


def measure(place: Path, args: argparse.Namespace) -> list[Sequence[object]]:
    """The rows of the table."""
    (place / "work.sh").write_text(WORK)
    root, directory = made(place, args.tasks, args.waves, args.files)
    began = time.perf_counter()
    found, problems = parallel.read(root, directory)
    validated = time.perf_counter() - began
    assert found is not None, problems
    table = {
        **{"type": "command", "vendor": "a", "lineage": "a", "contracts": ["task"]},
        "argv": ["/bin/sh", str(place / "work.sh"), str(args.seconds)],
    }
    config = load({"executor": {"hand": table}, "waves": {"executor": "hand", "jobs": args.jobs}})
    own = alone(place)
    run = WaveRun(root, config, {"PATH": os.environ["PATH"]}, directory)
    began, used = time.perf_counter(), cpu()
    try:
        run.start(say=lambda text: None, tell=lambda text: None)
        while run.owed:
            run.next(0.5)
        document = run.finish().document
    finally:
        run.close()
    took, spent = time.perf_counter() - began, (cpu() - used) / args.tasks - own
    ended = sum(task["status"] == "succeeded" for task in document["tasks"])
    assert (document["status"], ended) == ("completed", args.tasks), document["status"]
    ideal = args.waves * math.ceil(args.tasks / args.waves / args.jobs) * args.seconds
    return [
        ("validate, seconds", validated, MOST_VALIDATING),
        ("ideal, seconds", ideal, ""),
        ("wall, seconds", took, ideal * (1 + MOST_OVER)),
        ("over the ideal, percent", 100 * (took / ideal - 1), 100 * MOST_OVER),
        ("over the ideal, seconds a wave", (took - ideal) / args.waves, ""),
        ("CPU a task, seconds", spent, MOST_CPU),
        ("CPU of a stand-in, seconds", own, ""),
        ("load of the machine at the end", os.getloadavg()[0], ""),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name, default in (("tasks", 200), ("waves", 10), ("jobs", 20), ("files", 200)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=20.0, help="how long a stand-in sleeps")
    args = parser.parse_args()
    if args.tasks % args.waves:
        parser.error("--tasks must be a multiple of --waves")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        place = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(place / "cache")
        (place / "cache").mkdir()
        rows = measure(place, args)
    sizes = f"{args.tasks} tasks of {args.seconds:g} s in {args.waves} waves, {args.jobs} at once"
    print(f"{sizes}, {args.files} files")
    print(tabulate(rows, ("", "measured", "aimed at"), floatfmt=".3f"))


if __name__ == "__main__":
    main()
