"""``prun-review baseline [RUN] -o FILE``: the findings of a run as known ones, which do not gate any more.

What goes in: every grounded finding that could gate under the policies of the run; with ``--blocking``
only what stood in the way of PASS (and what was known already), with ``--all`` whatever its severity.
What a person answers for stays with that person.  Entries of the baseline that the run itself had are
kept where it could not have found them: their case was not soundly asked about their file.

``latest``, the default, is the last run that has answers.

Exit 0; 2 where nothing was answered in the run, it has not ended, or cannot be read.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prun_review.cli import runs, stored
from prun_review.errors import ConfigError, RunDirError
from prun_review.renderers.escape import one_line


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "baseline",
        help="make the findings of a run known ones",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help=runs.RUN_HELP)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="what to write")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--blocking", action="store_true", help="only what stood in the way of PASS")
    which.add_argument("--all", action="store_true", help="everything that is grounded")


def run(args: argparse.Namespace) -> int:
    """Write the file; 0."""
    from prun_review import baseline, rundir
    from prun_review import document as documents
    from prun_review.keeping import keep
    from prun_review.verdict import number

    path = runs.answered("baseline", args.run)
    document = _ended(path)
    facts = documents.facts_of(document)
    kept = keep(document["findings"], facts, "all" if args.all else "blocking" if args.blocking else "gating")
    before = _unasked(path, document)
    revision = facts.revision
    made = baseline.Baseline(
        (*kept.entries, *before), facts.run_id, revision.commit, revision.tree, facts.version
    )
    entries = baseline.distinct(made.entries)
    if len(entries) > baseline.MOST:
        raise ConfigError(
            f"{len(entries)} findings, and a baseline holds at most {baseline.MOST}",
            place=path.name,
            remedy="--blocking takes fewer; mend the rest, or exclude generated code from the review",
        )
    rundir.write_file(args.output, baseline.text_of(made))
    counts = Counter(known.finding.severity for known in entries)
    told = [f"{args.output}: {number(len(entries), 'known finding')}{_severities(counts)} of run {path.name}"]
    told += [f"left out: {_listed(kept.left_out)}"] if kept.left_out else []
    told += [f"kept of {facts.baseline}, since nobody was soundly asked: {len(before)}"] if before else []
    if document["verdict"]["outcome"] == "INCOMPLETE":
        told.append("the run is INCOMPLETE: what it did not see is not in the baseline and will gate")
    told.append(f'used by: pytest panels/ --prun-baseline {args.output}, or baseline = "{args.output}"')
    for line in told:
        print(f"prun-review baseline: {one_line(line, 1000)}", file=sys.stderr)
    return 0


def _ended(path: Path) -> Mapping[str, Any]:
    from prun_review.runview import RunView

    RunView(path).refuse_live()
    document = stored.read(path).document
    if document["status"] != "finished":
        raise RunDirError(
            f"run {path.name} did not come to its end ({document['status']})",
            place=str(path),
            remedy="--prun-resume-from it, and make the baseline of the run that ends",
        )
    if not document["findings"] and all(unit["status"] != "valid" for unit in document["units"]):
        # It would be an empty baseline, in the place of a good one perhaps.
        why = document["facts"]["stopped"] or "no unit has a valid answer"
        raise RunDirError(
            f"nothing was answered in run {path.name} ({one_line(why, 300)}), so it says of no finding that "
            "it is there or gone",
            place=str(path),
            remedy="name a run that has answers, or review first",
        )
    return document


def _unasked(path: Path, document: Mapping[str, Any]) -> tuple[Any, ...]:
    """The entries of the run's own baseline that it could not have found."""
    from prun_review import document as documents
    from prun_review import rundir
    from prun_review.answers import lay
    from prun_review.findingrows import group_of
    from prun_review.settling import asked_about, settle

    facts = documents.facts_of(document)
    if not facts.known:
        return ()
    record = rundir.open_run(path)
    asked = asked_about(facts, record.plan, lay(record.plan, record.results))
    return settle(facts, map(group_of, document["findings"]), asked=asked).unasked


def _severities(counts: Mapping[str, int]) -> str:
    from prun_review.model import SEVERITIES

    told = ", ".join(f"{counts[s]} {s}" for s in reversed(SEVERITIES) if counts[s])
    return f" ({told})" if told else ""


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {why}" for why, n in counts.items())
