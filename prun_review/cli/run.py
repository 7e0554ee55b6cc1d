"""``prun-review run``: the review of a change in one short line, as CI wants it; ``run DIR``: waves.

Finds the project at or above the current folder and runs pytest on all its panels, in this process.
What stands behind ``--`` goes to pytest as it is.  The exit status is pytest's: 0 only for the verdict
PASS; 1 for FAIL, INCOMPLETE and failed probes (10 for INCOMPLETE with ``exit_codes = "extended"``); 2 for
Ctrl-C, and for an error of this command line itself; 3 for our bug; 4 for a usage or configuration error;
5 where no probe was collected.  Options that only look (``--collect-only``) review nothing.

With DIR, a directory with ``manifest.json`` or ``tasks/``, its tasks are run wave by wave.  The exit status
is 0 only where all of it is done, 1 where not, 2 where nothing can be run (everything that is wrong is told),
and 128 and the number of the signal that ended it.  A foreign manifest is as dangerous as a foreign Makefile.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from prun_review.cli import waves as directories
from prun_review.cli.panels import STARTED, asking, panels, register_asking
from prun_review.cli.plan import register_waves, waves
from prun_review.errors import ConfigError


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "run",
        help="review: run pytest on the project's panels",
        description=__doc__,
        usage="%(prog)s [--base REV] [--head REV|DIR] [options] [-- PYTEST-ARGS...]\n"
        "       %(prog)s DIR [--only ID]... [--from-wave N] [--resume] [options]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    register_asking(parser)
    register_waves(parser)
    parser.add_argument("--previous", metavar="RUN", help="as --prun-previous")
    parser.add_argument("--report", action="append", metavar="FORMAT[:PATH]", help="as --prun-report")
    further = "a directory of waves; or behind --: pytest's own arguments"
    parser.add_argument("further", nargs="*", metavar="DIR|PYTEST-ARGS", help=further)
    directories.register(parser)


def run(args: argparse.Namespace) -> int:
    """Run pytest, or the waves of a directory; the exit status."""
    if len(args.further) == 1 and directories.is_directory(args.further[0]):
        if reviewing := [*asking(args), *waves(args)]:
            raise ConfigError(f"{reviewing[0]} is for reviews, and {args.further[0]!r} holds waves")
        return directories.run(args, Path(args.further[0]))
    if running := directories.given(args):
        meant = directories.meant(next(iter(args.further), ""), "prun-review run")
        remedy = f"name the directory that holds them{f': {meant}' if meant else ''}"
        raise ConfigError(f"{running[0]} is for waves", remedy=remedy)
    import pytest

    from prun_review.settings import read_settings

    if args.further and not args.further[0].startswith("-"):
        meant = directories.meant(args.further[0], "prun-review run")
        behind = "what is meant for pytest stands behind --, as in prun-review run -- -k EXPR"
        raise ConfigError(
            f"unknown argument {args.further[0]!r}: no directory of waves, and all panels are run",
            remedy="; ".join(filter(None, (meant, behind))),
        )
    found = panels(*read_settings(Path.cwd()))
    options = [*asking(args), *waves(args)]
    options += [f"--prun-previous={args.previous}"] if args.previous is not None else []
    options += [f"--prun-report={report}" for report in args.report or ()]
    # The panels come first: an option at the end whose value is missing must not take them for it.
    return int(pytest.main([*STARTED, *map(str, found), *options, *args.further]))
