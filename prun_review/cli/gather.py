"""``prun-review gather FILE...``: wait for result files, with the protocol of the prun scripts.

Standard output: ``GATHER-START count=<n> timeout=<s>s``, then ``DONE <path>`` for each file that
lands, and ``TIMEOUT remaining=<k>`` when time is over before all have.  A file has landed when it is
there, not empty, and unchanged for a while.  Exit 0 when all have landed, 2 otherwise.

Environment: AGENT_CONFIG_GATHER_TIMEOUT (3600 seconds), PRUN_GATHER_POLL (5 seconds between looks),
PRUN_GATHER_STABLE_WINDOW (10 seconds unchanged).

Other than in the old script: a file that a running dispatch found in its result's place is an old
one and waited out; a directory is no result; after a jump of the clock a file counts as unchanged
by what was seen of it; the files are looked at once more when time is over.
"""

from __future__ import annotations

import argparse
import os
from typing import Any


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "gather",
        help="wait for result files, with the protocol of the prun scripts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a result file; named twice it counts twice")
    parser.add_argument(
        "--strict", action="store_true", help="a FALLBACK has not landed (the old script counts it)"
    )


def run(args: argparse.Namespace) -> int:
    """Wait for the files."""
    from prun_review.prun.gather import Gather

    return Gather(args.files, os.environ, strict=args.strict).run()
