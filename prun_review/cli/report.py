"""``prun-review report [RUN]``: a stored run rendered again, without pytest and without a vendor."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prun_review.cli import runs
from prun_review.errors import ConfigError, PrunError, RunDirError
from prun_review.renderers.escape import one_line
from prun_review.renderers.terminal import Terminal


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "report", help="render a stored run", description=__doc__, add_help=False
    )
    shown = "show this help message and exit"
    asked = parser.add_argument("-h", "--help", action=_Help, nargs=0, default=argparse.SUPPRESS, help=shown)
    parser.add_argument("run", nargs="?", metavar="RUN", help=runs.RUN_HELP)
    asked.const = parser.add_argument("--format", default="terminal", metavar="FORMAT")
    parser.add_argument("--out", type=Path, metavar="PATH", help="write there and not to standard output")


class _Help(argparse.Action):
    """``--help`` with the formats that there are: extensions are asked only when somebody wants to know."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print it and end; ``const`` is the option that takes a format."""
        from prun_review import extensions

        try:
            formats = ", ".join(extensions.renderers(extensions.manager()))
        except PrunError as error:  # the help is for whoever is in trouble, too
            formats = f"terminal, markdown, json, adr; no others: {one_line(error.message, 200)}"
        self.const.help = formats.replace("%", "%%")
        parser.print_help()
        parser.exit()


def run(args: argparse.Namespace) -> int:
    """Render to standard output or into a file; 0."""
    from prun_review import extensions, rundir

    known = extensions.renderers(extensions.manager())
    if args.format not in known:
        remedy = f"one of {', '.join(sorted(known))}"
        raise ConfigError(f"unknown format {args.format!r}", place="--format", remedy=remedy)
    renderer = known[args.format]
    if isinstance(renderer, Terminal):
        width = 80 if args.out else shutil.get_terminal_size((80, 24)).columns
        renderer = Terminal(width=width)
    text = renderer(_document(runs.shown("report", args.run)))
    if args.out is None:
        sys.stdout.write(text)
    else:
        rundir.write_file(args.out, text)
    return 0


def _document(path: Path) -> Mapping[str, Any]:
    try:
        return runs.judge(path).document
    except PrunError:
        raise
    except (ValueError, OSError) as error:
        remedy = "ask again, or look at its files by hand"
        raise RunDirError(f"the run is damaged: {error}", place=str(path), remedy=remedy) from error
