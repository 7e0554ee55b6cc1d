"""Stored runs for the verbs: found by name or path, and judged again from what they hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prun_review.model import Reason, Verdict
from prun_review.renderers.escape import one_line

UNREADABLE = "unreadable-run"


@dataclass(frozen=True, slots=True)
class Judged:
    """A run judged again: its document with the verdict in it, and the verdict."""

    document: dict[str, Any]
    verdict: Verdict


def find(run: str | None) -> Path:
    """The run directory meant by ``RUN``: a path, a run id, a report folder; None: the latest.

    ``RunDirError`` when there is none.
    """
    from prun_review import rundir
    from prun_review.settings import read_settings

    root, _ = read_settings(Path.cwd())
    return rundir.latest(root) if run is None else rundir.find(root, run)


def judge(path: Path) -> Judged:
    """Judge a run again from its plan, the results its ledger vouches for, and its facts.

    The stored verdict is not looked at.  A run without an end is INCOMPLETE, and so is one whose
    files do not fit together.  Raises whatever a damaged directory leads to.
    """
    from prun_review import document as documents
    from prun_review import extensions, rundir
    from prun_review.codec import encode
    from prun_review.verdict import conclude

    record = rundir.open_run(path)
    facts = documents.facts_of(record.document)
    same = extensions.same_finding(extensions.manager())
    document = documents.build(facts, record.plan, record.results, same=same)
    verdict = documents.verdict_of(document)
    # Without their folder, so that they count in a folder in report mode too.
    problems = [replace(problem, folder="") for problem in record.problems]
    status = record.document.get("status")
    if status not in ("finished", "interrupted"):
        document |= {"status": status, "finished": None}
        problems += documents.verdict_of({}).reasons
    if problems:
        verdict = conclude([*problems, *verdict.reasons], verdict.folders, verdict.counts)
        document["verdict"] = encode(verdict)
    return Judged(document, verdict)


def unreadable(error: Exception) -> Verdict:
    """The verdict on a run that could not be judged."""
    text = one_line(f"the run cannot be judged: {type(error).__name__}: {error}", 500)
    return Verdict("INCOMPLETE", (Reason(UNREADABLE, text),), line=f"INCOMPLETE ({UNREADABLE})")
