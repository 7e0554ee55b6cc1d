"""``prun-review clean``: remove throwaway copies that nobody needs any more."""

from __future__ import annotations

import argparse
import sys
import time

from prun_review.renderers.escape import one_line

DAYS = 7.0


def register(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the verb."""
    parser = subparsers.add_parser(
        "clean",
        help="remove old throwaway copies of code-writing units, of all your projects",
        description="Removes the throwaway copies and worktrees that code-writing units left, and what runs "
        "that were killed left beside them: those of all projects of this user.  Never one whose run is "
        "alive; one that holds a change which is not stored in its run (change.patch) only with --force; "
        "of a failed task too, once its change is stored, the copy goes.  Says of each what becomes of it "
        "and why.  Exit status 1 where something could not be removed.",
    )
    parser.add_argument(
        "--older-than",
        type=_days,
        default=DAYS,
        metavar="DAYS",
        help=f"copies younger than that stay (default: {DAYS:g})",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="also copies with a change that is not stored in the run: it is lost then",
    )


def _days(text: str) -> float:
    days = float(text)
    if not 0 <= days < 36500:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of days")
    return days


def run(args: argparse.Namespace) -> int:
    """0, or 1 where something stays that should go."""
    from prun_review import copyplace, worktrees

    failed = 0
    told = 0
    for left in copyplace.survey(time.time(), args.older_than * copyplace.DAY, args.force):
        told += 1
        why = worktrees.discard(left.path) if left.goes else ""
        failed += bool(why)
        word = "kept" if not left.goes else "not removed" if why else "removed"
        print(f"{word} {one_line(str(left.path), 1000)}: {one_line(why or left.why, 500)}")
    if not told:
        print("prun-review clean: there are no copies", file=sys.stderr)
    return 1 if failed else 0
