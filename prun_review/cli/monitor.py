"""``prun-review monitor STATE-DIR...``: watch dispatches, with the protocol of the prun scripts.

Standard output: ``MONITOR-START units=<n> stall-threshold=<s>s timeout=<s>s``, then, at the first
thing that is to be known, ``MONITOR-EVENT fail|stall|all-done|timeout`` (in this order of urgency)
and one line ``UNIT <name> <status>`` per directory.  Statuses: pending (nothing printed yet), growing,
finishing (a result that is not yet left alone), done, stalled(<n>s), failed(fallback),
failed(dispatch-dead).  Exit 0 when all are done, 3 for fail and stall, 2 for timeout and usage.

Environment: PRUN_STALL_THRESHOLD (600 seconds of silence), PRUN_MONITOR_POLL (15 seconds between
looks), PRUN_MONITOR_TIMEOUT (3600 seconds), PRUN_MONITOR_STABLE_WINDOW (10 seconds unchanged).

The attempts of prun_review's own runs (.prun/runs/<id>/units/<unit>/<n>/) are such directories too;
a unit without a valid answer is failed(<its status>).

Other than in the old script: a result file of an earlier run is none; a recorded pid that belongs to
another process by now is not the dispatcher; after a jump of the clock a file counts as unchanged by
what was seen of it; entries that are links, FIFOs or longer than 64 KiB count as absent.
"""

from __future__ import annotations

import argparse
import os
from typing import Any


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "monitor",
        help="watch dispatches, with the protocol of the prun scripts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("directories", nargs="*", metavar="STATE-DIR", help="what dispatch told")


def run(args: argparse.Namespace) -> int:
    """Watch until there is something to be told."""
    from prun_review.prun import console
    from prun_review.prun.monitor import Monitor

    if not args.directories:
        console.note("monitor: name at least one state directory (prun-review monitor --help)")
    for path in args.directories:
        if not os.path.isdir(path):
            console.note(f"monitor: {path}: there is no such state directory")
    return Monitor(args.directories, os.environ).run()
