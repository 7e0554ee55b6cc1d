"""``prun-review gate [RUN]``: the verdict on a stored run, derived again, as an exit status.

Standard output carries one JSON object; without ``--json`` the same is told to people on standard
error.  Exit 0 for PASS, 1 for everything else, 2 when there is no such run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from prun_review.cli import runs
from prun_review.model import Verdict
from prun_review.renderers.escape import one_line
from prun_review.renderers.json import dumps


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "gate", help="judge a stored run again: exit 0 for PASS, 1 otherwise", description=__doc__
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help=runs.RUN_HELP)
    parser.add_argument("--json", action="store_true", help="nothing but the JSON")


def run(args: argparse.Namespace) -> int:
    """Print the verdict; 0 only for PASS."""
    path = runs.find(args.run)
    verdict = _verdict(path)
    sys.stdout.write(dumps(shape(verdict)))
    if not args.json:
        _tell(path, verdict)
    return 0 if verdict.outcome == "PASS" else 1


def _verdict(path: Path) -> Verdict:
    from prun_review.gate import for_gate_command

    try:
        return for_gate_command(runs.judge(path).verdict)
    except Exception as error:  # whatever a damaged run leads to, it is not green
        return runs.unreadable(error)


def shape(verdict: Verdict) -> dict[str, Any]:
    """The JSON that scripts rely on."""
    return {
        "outcome": verdict.outcome,
        "reasons": [{"code": reason.code, "text": reason.text} for reason in verdict.reasons],
        "folders": dict(verdict.folders),
        "counts": dict(verdict.counts),
    }


def _tell(path: Path, verdict: Verdict) -> None:
    lines = [f"{path.name}: {verdict.line or verdict.outcome}"]
    lines += [f"  [{reason.code}] {reason.text}" for reason in verdict.reasons]
    for line in lines:
        print("  " * line.startswith(" ") + one_line(line, 1000), file=sys.stderr)
