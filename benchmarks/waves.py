"""What a run of waves costs beside its tasks: 200 tasks in 10 waves by stand-ins, against the ideal.

    python benchmarks/waves.py [--tasks 200] [--waves 10] [--jobs 12] [--seconds 10]

The ideal is the time that the tasks alone take with so many at once, wave by wave: of each wave
ceil(tasks / jobs) x seconds.  Everything else is ours: the template of each wave's base, the copies, what is
taken of them, putting together, documents, logs.  ``validate`` reads and checks the same directory.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from prun_review import parallel
from prun_review.config import load
from prun_review.waverun import WaveRun

WORK = """\
import pathlib, re, sys, time
name = re.search(r"^TASK-(\\d+)", sys.stdin.read(), re.MULTILINE)[1]
pathlib.Path(f"part-{name}.txt").write_text(name)
time.sleep(float(sys.argv[1]))
pathlib.Path(".claude-task-complete").touch()
print("done")
"""


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("tasks", 200), ("waves", 10), ("jobs", 12), ("files", 200)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=10.0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        place = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(place / "cache")
        (place / "cache").mkdir()
        (place / "work.py").write_text(WORK)
        root, directory = made(place, args.tasks, args.waves, args.files)
        began = time.perf_counter()
        found, problems = parallel.read(root, directory)
        validated = time.perf_counter() - began
        assert found is not None, problems
        table = {
            **{"type": "command", "vendor": "a", "lineage": "a", "contracts": ["task"]},
            "argv": [sys.executable, str(place / "work.py"), str(args.seconds)],
        }
        config = load({"executor": {"hand": table}, "waves": {"executor": "hand", "jobs": args.jobs}})
        run = WaveRun(root, config, {"PATH": os.environ["PATH"]}, directory)
        began, used = time.perf_counter(), cpu()
        try:
            run.start(say=lambda text: None, tell=lambda text: None)
            while run.owed:
                run.next(0.5)
            document = run.finish().document
        finally:
            run.close()
        took = time.perf_counter() - began
        ideal = args.waves * math.ceil(args.tasks / args.waves / args.jobs) * args.seconds
        told = {
            "status": document["status"],
            "tasks": len(document["tasks"]),
            "waves": len(document["waves"]),
            "jobs": args.jobs,
            "validate_s": round(validated, 3),
            "took_s": round(took, 1),
            "ideal_s": round(ideal, 1),
            "over_ideal": round(took / ideal - 1, 3),
            "own_cpu_s": round(cpu() - used, 1),
            "own_cpu_s_per_task": round((cpu() - used) / args.tasks, 3),
            "load": os.getloadavg()[0],
        }
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
