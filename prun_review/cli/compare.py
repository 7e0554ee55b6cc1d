"""``prun-review compare RUN_A RUN_B``: what is new, fixed, flipped or the same between two runs.

RUN_A is the earlier one.  Standard output carries the comparison: in Markdown, as plain text
(``--format text``), or as JSON (schema: prun_review/schemas/compare.json).  A finding is called fixed or
new only where the other run could have held it: everybody who holds it gave sound answers there.  Files
that git knows to be renamed in between are followed.  Both runs are judged again from what they stored.

Exit 0, whatever differs; 2 where a run cannot be read.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prun_review.cli import runs, stored
from prun_review.renderers.escape import one_line


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "compare",
        help="what is new, fixed, flipped or the same between two runs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run_a", metavar="RUN_A", help=runs.RUN_HELP.removesuffix(" (the default)"))
    parser.add_argument("run_b", metavar="RUN_B", help="the same; the later one")
    parser.add_argument("--format", choices=tuple(_FORMATS), default="markdown")


def run(args: argparse.Namespace) -> int:
    """Print the comparison; 0."""
    from prun_review.comparing import compare

    a, b = (stored.read(runs.answered("compare", name)).document for name in (args.run_a, args.run_b))
    comparison = compare(a, b, renames=_renames(a, b))
    sys.stdout.write(_FORMATS[args.format](comparison))
    return 0


def _markdown(comparison: Mapping[str, Any]) -> str:
    from prun_review.renderers.comparison import render

    return render(comparison)


def _text(comparison: Mapping[str, Any]) -> str:
    from prun_review.renderers.comparisonpage import text

    return text(comparison, max(40, shutil.get_terminal_size((80, 24)).columns))


def _json(comparison: Mapping[str, Any]) -> str:
    from prun_review.renderers.json import dumps

    return dumps(comparison)


_FORMATS = {"markdown": _markdown, "text": _text, "json": _json}


def _renames(a: Mapping[str, Any], b: Mapping[str, Any]) -> Mapping[str, str]:
    """What files got another name between the commits of two runs; none where git cannot say."""
    from prun_review.errors import TreeError
    from prun_review.renames import between
    from prun_review.settings import read_settings

    old, new = (document["revision"]["commit"] for document in (a, b))
    if not old or not new or old == new:
        return {}
    root, config = read_settings(Path.cwd())
    try:
        return between(root / config.reviewed, old, new)
    except TreeError as error:
        told = one_line(f"files that were renamed in between are not followed: {error.message}", 300)
        print(f"prun-review compare: {told}", file=sys.stderr)
        return {}
