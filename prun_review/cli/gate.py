"""``prun-review gate [RUN]``: the verdict on a stored run, derived again, as an exit status.

Standard output carries one JSON object; without ``--json`` the same is told to people on standard
error.  With ``--explain`` it is the derivation of the verdict, for people: which units, findings and rules
made it; with ``--explain --json`` the JSON object holds it under ``explain``.  Exit 0 for PASS, 1 for
everything else, 2 when there is no such run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prun_review.cli import runs
from prun_review.model import Verdict
from prun_review.renderers.escape import one_line
from prun_review.renderers.json import dumps

if TYPE_CHECKING:
    from prun_review.explain import Node


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "gate", help="judge a stored run again: exit 0 for PASS, 1 otherwise", description=__doc__
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help=runs.RUN_HELP)
    parser.add_argument("--json", action="store_true", help="nothing but the JSON")
    parser.add_argument("--explain", action="store_true", help="how the verdict came about, as a tree")


def run(args: argparse.Namespace) -> int:
    """Print the verdict; 0 only for PASS."""
    from prun_review import explain

    path = runs.reviewed(args.run)
    verdict, derivation = _judged(path)
    if args.explain and not args.json:
        _show(path, derivation)
    elif args.explain:
        sys.stdout.write(dumps({**shape(verdict), "explain": explain.plain(derivation)}))
    else:
        sys.stdout.write(dumps(shape(verdict)))
    if not args.json and not args.explain:
        _tell(path, verdict)
    return 0 if verdict.outcome == "PASS" else 1


def _judged(path: Path) -> tuple[Verdict, Node]:
    from prun_review import explain
    from prun_review.gate import for_gate_command

    try:
        judged = runs.judge(path)
        verdict = for_gate_command(judged.verdict)
        return verdict, explain.tree(judged.evidence, verdict)
    except Exception as error:  # whatever a damaged run leads to, it is not green
        verdict = runs.unreadable(error)
        return verdict, explain.Node(verdict.reasons[0].text, verdict.outcome)


def _show(path: Path, derivation: Node) -> None:
    from prun_review.explain import lines

    print(one_line(path.name))
    for depth, text in lines(derivation):
        print("  " * depth + one_line(text, 600))


def shape(verdict: Verdict) -> dict[str, Any]:
    """The JSON that scripts rely on."""
    return {
        "outcome": verdict.outcome,
        "reasons": [
            {"code": reason.code, "text": reason.text, "outcome": reason.outcome}
            for reason in verdict.reasons
        ],
        "folders": dict(verdict.folders),
        "counts": dict(verdict.counts),
    }


def _tell(path: Path, verdict: Verdict) -> None:
    lines = [f"{path.name}: {verdict.line or verdict.outcome}"]
    lines += [f"  [{reason.code}] {reason.text}" for reason in verdict.reasons]
    for line in lines:
        print("  " * line.startswith(" ") + one_line(line, 1000), file=sys.stderr)
