"""``prun-review logs DIR [TASK]``: what was said and done about one task of a ``parallel/`` directory.

TASK is its id, long or short (``task-001-users`` or ``task-001``); without it the logs that are there are
listed, one a line.  Exit 0; 2 where there is no such directory or log.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from prun_review.errors import ConfigError
from prun_review.renderers.escape import one_line, plain


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "logs",
        help="the log of one task of a directory of waves",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="what holds manifest.json or tasks/")
    parser.add_argument("task", nargs="?", metavar="TASK", help="its id, long or short")


def run(args: argparse.Namespace) -> int:
    """Print a log, or the names of all."""
    from prun_review import files, parallel, wavelogs

    # Reading logs asks for no trusted root: the directory stands for itself.
    place = parallel.open_directory(Path(os.path.realpath(args.directory)).parent, args.directory).place
    folder = place / wavelogs.FOLDER
    if args.task is None:
        for path in sorted(folder.glob("*.log")) if folder.is_dir() else ():
            print(f"{one_line(path.stem)}\t{one_line(os.path.relpath(path), 1000)}")
        return 0
    path = wavelogs.find(place, args.task)
    try:
        text = files.read_regular(path, 16 << 20).decode("utf-8", "replace")
    except OSError as error:
        raise ConfigError(f"the log cannot be read: {error.strerror}", place=str(path)) from None
    for line in text.splitlines():  # one by one: a reader that goes away in the middle is noticed
        print(plain(line))
    return 0
