"""Stored runs for the verbs: found by name or path, and judged again from what they hold."""

from __future__ import annotations

import shlex
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prun_review.errors import PrunError
from prun_review.model import Reason, Verdict
from prun_review.renderers.escape import one_line

if TYPE_CHECKING:
    from prun_review.gate import Evidence

UNREADABLE = "unreadable-run"
LATEST = "latest"
"""The word for the latest run."""
RUN_HELP = "run id or directory, or 'latest' (the default)"


@dataclass(frozen=True, slots=True)
class Judged:
    """A run judged again: its document with the verdict in it, and the verdict."""

    document: dict[str, Any]
    verdict: Verdict
    evidence: Evidence
    """What the verdict was made of, but for what is wrong with the stored files."""


def find(run: str | None, root: Path | None = None) -> Path:
    """The run directory meant by ``RUN``: a path, a run id, a report folder; None or ``latest``: the
    latest.  ``root`` is the trusted root, that of the current folder where it is None.

    ``RunDirError`` when there is none, or when it came with the repository.
    """
    from prun_review import rundir
    from prun_review.settings import read_settings

    root = root or read_settings(Path.cwd())[0]
    path = rundir.latest(root) if run in (None, LATEST) else _named(root, str(run))
    if path.parent.resolve() == (root / ".prun" / "runs").resolve():
        _refuse_tracked(root)
    return path


def _named(root: Path, run: str) -> Path:
    from prun_review import rundir
    from prun_review.cli import waves
    from prun_review.errors import RunDirError

    try:
        return rundir.find(root, run)
    except RunDirError:
        if not waves.is_directory(run):
            raise
    raise _of_waves(f"{run!r} is a directory of waves", run)


def _of_waves(what: str, run: str) -> PrunError:
    from prun_review.errors import RunDirError

    remedy = f"prun-review status {shlex.quote(one_line(run, 1000))} tells how it stands"
    return RunDirError(f"{what}, and this verb is for reviews", remedy=remedy)


def reviewed(run: str | None) -> Path:
    """As :func:`find`; ``RunDirError`` for a run of waves, too."""
    from prun_review.runview import WAVES

    path = find(run)
    if (path / WAVES).is_file():
        raise _of_waves(f"{path.name} is a run of waves", str(run))
    return path


def _refuse_tracked(root: Path) -> None:
    """``RunDirError`` where git tracks stored runs: whoever may commit can have written them, with a date
    that makes them the latest."""
    from prun_review import ends, git
    from prun_review.errors import RunDirError, TreeError
    from prun_review.scratch import Scratch
    from prun_review.verdict import some

    try:
        repository = git.find(root)
    except TreeError:  # in no repository nothing is tracked
        return
    scratch = Scratch(repository.top)
    try:
        tracked = ends.tracked_runs(root, scratch.path / "git")
    finally:
        scratch.close()
    if tracked:
        raise RunDirError(
            f"git tracks {some(tracked)}: a run that came with the repository says what its author wants",
            place=str(root / tracked[0]),
            remedy="git rm -r --cached .prun",
        )


def shown(verb: str, run: str | None) -> Path:
    """As :func:`reviewed`, for a verb that shows a run: a latest run that asked nothing is told on standard
    error, with the last one that has answers, since whoever looks for a review means that one."""
    path = reviewed(run)
    why = _asked_nothing(path) if run in (None, LATEST) else ""
    if why:
        answered = _answered_before(path)
        rest = "no earlier run has answers"
        if answered:
            rest = f"the last run with answers is {answered}: prun-review {verb} {answered}"
        print(
            f"prun-review {verb}: the latest run asked nothing ({one_line(why, 300)}); {rest}",
            file=sys.stderr,
        )
    return path


def answered(verb: str, run: str | None) -> Path:
    """As :func:`reviewed`, for a verb that works with the findings of a run: the latest one is the last run
    that has answers, or that may still get some, and where it is not the newest that is told on standard
    error.  Where no run has answers it is the newest."""
    path = reviewed(run)
    if run not in (None, LATEST) or _has_answers(path) or _alive(path):
        return path
    before = _answered_before(path)
    if not before:
        return path
    print(
        f"prun-review {verb}: the latest run ({path.name}) has no answers; "
        f"taken is {before}, the last one that has",
        file=sys.stderr,
    )
    return path.with_name(before)


def _alive(path: Path) -> bool:
    from prun_review.runview import RunView

    with suppress(PrunError):  # what is wrong with it, the verb tells
        return RunView(path).dispatcher_alive()
    return False


def _has_answers(path: Path) -> bool:
    from prun_review.ledger import LedgerReader
    from prun_review.runview import LEDGER

    with suppress(OSError):
        events = LedgerReader(path / LEDGER).new()
        return any(e["event"] == "result" and e.get("status") in ("valid", "broken") for e in events)
    return False


def _asked_nothing(path: Path) -> str:
    """Why a run has ended without a unit, in words; empty where it has units or may still get some."""
    from prun_review.runview import RunView

    view = RunView(path)
    with suppress(PrunError):  # what is wrong with it, the verb tells
        if view.dispatcher_alive():
            return ""
        plan = view.plan()
        if plan and plan.units:
            return ""
        facts = view.read_document().get("facts")
        told = facts.get("stopped") if isinstance(facts, dict) else ""
        return str(told) if told else "no probe was asked"
    return ""


def _answered_before(path: Path) -> str:
    """The id of the newest run beside this one, and older, that has an answer; empty: none has."""
    from prun_review import rundir

    stored = list(rundir.stored(path.parents[2]))
    older = stored[stored.index(path) + 1 :] if path in stored else ()
    return next((other.name for other in older if _has_answers(other)), "")


def judge(path: Path) -> Judged:
    """Judge a run again from its plan, the results its ledger vouches for, and its facts.

    The stored verdict is not looked at.  A run without an end is INCOMPLETE, and so is one whose
    files do not fit together.  Raises whatever a damaged directory leads to.
    """
    from prun_review import document as documents
    from prun_review import extensions, patchrows, rundir
    from prun_review.codec import encode
    from prun_review.jsonvalues import clean
    from prun_review.runview import RunView
    from prun_review.verdict import conclude

    record = rundir.open_run(path)
    facts = documents.facts_of(record.document)
    same = extensions.same_finding(extensions.manager())
    gathered = documents.gather(facts, record.plan, record.results, same=same, examination=record.examination)
    document = documents.complete(gathered)
    document |= clean(patchrows.told(record.plan, record.results, RunView(path).patch_of))
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
    return Judged(document, verdict, gathered.evidence)


def unreadable(error: Exception) -> Verdict:
    """The verdict on a run that could not be judged."""
    text = one_line(f"the run cannot be judged: {type(error).__name__}: {error}", 500)
    return Verdict("INCOMPLETE", (Reason(UNREADABLE, text),), line=f"INCOMPLETE ({UNREADABLE})")
