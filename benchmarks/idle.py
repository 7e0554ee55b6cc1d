"""What the plugin costs a project that has no panels.

    python benchmarks/idle.py [RUNS]

Side by side in one run, each in fresh interpreters, medians of CPU time: importing the plugin after
pytest, and its share of a whole ``pytest`` run of one empty test with and without it.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

IMPORT = """
import time, pytest, _pytest.terminal
from _pytest import config
begun = time.process_time()
import prun_review.plugin
print((time.process_time() - begun) * 1000)
"""


def cpu_of(command: list[str], folder: Path) -> float:
    """CPU milliseconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main(runs: int) -> None:
    """Print the table."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "test_empty.py").write_text("def test_empty():\n    pass\n")
        rows: dict[str, list[float]] = {
            "import of the plugin": [],
            "pytest with it": [],
            "pytest without it": [],
        }
        for turn in range(runs + 1):
            spent = subprocess.run(
                [sys.executable, "-c", IMPORT], cwd=folder, check=True, capture_output=True, text=True
            )
            found = (
                float(spent.stdout),
                cpu_of(pytest, folder),
                cpu_of([*pytest, "-p", "no:prun_review"], folder),
            )
            if turn:  # the first one compiles
                for row, value in zip(rows.values(), found, strict=True):
                    row.append(value)
    for label, values in rows.items():
        middle, low, high = statistics.median(values), min(values), max(values)
        print(f"{label:22} median {middle:7.1f} ms  min {low:7.1f}  max {high:7.1f}")
    with_it, without = (statistics.median(rows[k]) for k in ("pytest with it", "pytest without it"))
    print(f"{'difference':22} median {with_it - without:7.1f} ms, ratio {with_it / without:.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
