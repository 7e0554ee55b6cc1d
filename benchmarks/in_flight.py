"""128 units in flight at once: what the harness needs, and how close it stays to the ideal.

    python benchmarks/in_flight.py [--units 128] [--seconds 5] [--runs 3]

Each unit is a shell that sleeps, so the ideal is ``--seconds`` from the first dispatch; beside it
``xargs -P``, which contains nothing.  Medians of the runs; memory is the peak PSS of everything but
the units themselves, from runs of its own, since looking at it costs time.
"""

from __future__ import annotations

import argparse
import statistics

from dispatch_floor import Row, measure, ours, panels, xargs
from tabulate import tabulate

from prun_review.process import reap

ROWS: dict[str, Row] = {
    "pytest panels/ (whole command)": panels,
    "pool + launcher": ours,
    "xargs -P": xargs,
}
AIM = 1.15
"""Wall time over the ideal, from the first dispatch."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    reap.become_subreaper()
    table = []
    for name, row in ROWS.items():
        timed = [measure(row, options.units, options.seconds, sampled=False) for _ in range(options.runs)]
        sampled = [measure(row, options.units, options.seconds, sampled=True) for _ in range(options.runs)]
        ratio = statistics.median((run.wall - run.first) / options.seconds for run in timed)
        table.append(
            (
                name,
                ratio,
                max((run.wall - run.first) / options.seconds for run in timed),
                "yes" if ratio <= AIM else "no",
                statistics.median(run.first for run in timed),
                statistics.median(run.cpu for run in timed),
                statistics.median(run.pss for run in sampled),
            )
        )
    headers = ("harness", "wall/ideal", "worst", f"<= {AIM}", "first dispatch s", "CPU s", "PSS MiB")
    print(f"{options.units} units of {options.seconds:g} s in flight")
    print(tabulate(table, headers, floatfmt=".2f"))


if __name__ == "__main__":
    main()
