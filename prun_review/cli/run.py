"""``prun-review run``: the review of a change in one short line, as CI wants it.

Finds the project at or above the current folder and runs pytest on all its panels, in this process.
What stands behind ``--`` goes to pytest as it is.  The exit status is pytest's: 0 only for the verdict
PASS; 1 for FAIL, INCOMPLETE and failed probes (10 for INCOMPLETE with ``exit_codes = "extended"``); 2 for
Ctrl-C, and for an error of this command line itself; 3 for our bug; 4 for a usage or configuration error;
5 where no probe was collected.  Options that only look (``--collect-only``) review nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from prun_review.cli.panels import STARTED, asking, panels, register_asking
from prun_review.cli.plan import register_waves, waves
from prun_review.errors import ConfigError


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "run",
        help="review: run pytest on the project's panels",
        description=__doc__,
        usage="%(prog)s [--base REV] [--head REV|DIR] [options] [-- PYTEST-ARGS...]",
    )
    register_asking(parser)
    register_waves(parser)
    parser.add_argument("--previous", metavar="RUN", help="as --prun-previous")
    parser.add_argument("--report", action="append", metavar="FORMAT[:PATH]", help="as --prun-report")
    parser.add_argument("further", nargs="*", metavar="PYTEST-ARGS", help="behind --: pytest's own arguments")


def run(args: argparse.Namespace) -> int:
    """Run pytest; its exit status."""
    import pytest

    from prun_review.settings import read_settings

    if args.further and not args.further[0].startswith("-"):
        raise ConfigError(
            f"unknown argument {args.further[0]!r}: all panels are run",
            remedy="what is meant for pytest stands behind --, as in prun-review run -- -k EXPR",
        )
    found = panels(*read_settings(Path.cwd()))
    options = [*asking(args), *waves(args)]
    options += [f"--prun-previous={args.previous}"] if args.previous is not None else []
    options += [f"--prun-report={report}" for report in args.report or ()]
    # The panels come first: an option at the end whose value is missing must not take them for it.
    return int(pytest.main([*STARTED, *map(str, found), *options, *args.further]))
