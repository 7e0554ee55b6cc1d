"""How close the pool comes to the lower bound when durations are known, and in plan order.

    python benchmarks/makespan.py [--seed 3] [--bound 8]

40 log-normal units (sigma 0.8) on 12 slots, scaled so that the lower bound max(total / slots,
longest) is ``--bound`` seconds; each is a real ``sleep`` through the launcher.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from tabulate import tabulate

from prun_review.model import Brief, Result, Unit
from prun_review.pool import Cancel, Pool
from prun_review.ports import Launch
from prun_review.process.launch import ProcessLauncher

UNITS = 40
SLOTS = 12
SIGMA = 0.8


def durations(seed: int, bound: float) -> dict[str, float]:
    """Seconds by unit id, in plan order."""
    source = random.Random(seed)
    raw = {str(n): source.lognormvariate(0.0, SIGMA) for n in range(UNITS)}
    scale = bound / max(sum(raw.values()) / SLOTS, *raw.values())
    return {name: value * scale for name, value in raw.items()}


def makespan(seconds: Mapping[str, float], expected: Mapping[str, float], where: Path) -> float:
    """Seconds from the start of the pool to the last result."""

    def run(unit: Unit, cancel: Cancel) -> Result:
        null = Path(os.devnull)
        argv = ("/bin/sleep", f"{seconds[unit.id]:.3f}")
        process = launcher.start(Launch(argv, {}, where, null, null, null, timeout=60 + seconds[unit.id]))
        cancel.on_request(process.stop)
        ended = process.wait()
        status = "valid" if ended and ended.code == 0 else "failed"
        return Result(unit.id, unit.slug, unit.case, unit.folder, unit.executor, status, str(ended))

    with ProcessLauncher() as launcher:
        pool = Pool(run, jobs=SLOTS, expected=expected)
        begun = time.monotonic()
        pool.start([Unit(name, name, "case", "panels", "sleep", Brief("")) for name in seconds])
        results = [pool.next() for _ in seconds]
        taken = time.monotonic() - begun
        pool.close()
    failed = [result.reason for result in results if result and not result.ok]
    if failed:
        raise SystemExit(failed[0])
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--bound", type=float, default=8.0)
    options = parser.parse_args()
    seconds = durations(options.seed, options.bound)
    table = []
    with tempfile.TemporaryDirectory() as folder:
        for name, expected in (("longest first, durations known", seconds), ("plan order", {})):
            taken = makespan(seconds, expected, Path(folder))
            table.append((name, taken, options.bound, taken / options.bound))
    print(tabulate(table, ("order", "makespan s", "lower bound s", "ratio"), floatfmt=".2f"))


if __name__ == "__main__":
    main()
