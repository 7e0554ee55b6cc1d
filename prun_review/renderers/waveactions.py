"""What is left for a person to do after a wave run, from its document; no escaping."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from prun_review.renderers import waveview as view
from prun_review.renderers.waveview import Document, Row


def must_fix(document: Document) -> list[str]:
    """What keeps the run from being whole, task by task, wave by wave."""
    items = [f"the run was stopped: {document['stopped']}"] if document["status"] == "stopped" else []
    items += [_task(task) for task in document["tasks"] if task["status"] == "failed"]
    for wave in document["waves"]:
        check = wave["validation"]
        if check and not view.passed(check):
            items.append(f"wave {wave['number']}: its validation {view.how(check)}: {check['command']}")
        if wave["reason"] == "panel" and wave["status"] == "failed":
            told = [_review(r) for r in wave["reviews"] if r["outcome"] != "PASS"]
            items.append(
                f"wave {wave['number']}: its panel did not pass it: {'; '.join(told) or 'no review'}"
            )
    items += [
        f"{task['short']} changed the contract {name}" for task, name in view.touched_contracts(document)
    ]
    whole = document["integration"]
    if whole:
        items += [f"conflict of {c['task']} in {', '.join(c['paths'])}" for c in whole["conflicts"]]
        bad = [check for check in whole["checks"] if not view.passed(check)]
        items += [f"{view.how(check)} on the whole: {check['command']}" for check in bad]
        known = "; ".join(f"did not pass on the whole: {check['command']}" for check in bad)
        if whole["status"] != "whole" and whole["message"] not in ("", known):  # it says more than those
            items.append(whole["message"])
    return items + [f"{p['file']}: {p['text']}" for p in document["problems"] if p["level"] == "error"]


def _task(task: Row) -> str:
    kept = f"; its copy is kept: {task['patch']['kept']}" if task["patch"] and task["patch"]["kept"] else ""
    return f"{task['short']} failed: {view.lacking(task)}{kept}"


def _review(review: Row) -> str:
    where = f"see {review['report']}" if review["report"] else ""
    return "; ".join(filter(None, (review["line"], *review["findings"], where)))


def should_fix(document: Document) -> list[str]:
    """What is not done or not known, and does not by itself break the whole."""
    items = [
        f"{task['short']} was {'skipped' if task['status'] == 'skipped' else 'not run'}: {view.lacking(task)}"
        for task in document["tasks"]
        if task["status"] not in ("succeeded", "failed")
    ]
    items += [
        f"look at {task['short']}: a conflict in {', '.join(task['conflict']['paths'])} opened it again"
        for task in document["tasks"]
        if task["conflict"] and task["status"] == "succeeded"
    ]
    items += [f"{row['task']} was {view.redone(row)}; look at it" for row in document["again"]]
    items += [f"wave {n} was changed and not reviewed" for n in view.unreviewed(document)]
    items += [f"not run on the whole: {text}" for text in view.unrun(document)]
    for task in document["tasks"]:
        told = (*task["notes"], *(task["patch"]["notes"] if task["patch"] else ()))
        items += [f"{task['short']}: {note}" for note in told]
    return items + [f"{p['file']}: {p['text']}" for p in document["problems"] if p["level"] == "warning"]


@dataclass(frozen=True, slots=True)
class Next:
    """One thing to do now."""

    text: str
    command: str = ""
    """As a shell takes it; empty where there is none."""


def next_steps(document: Document) -> list[Next]:
    """What to do now, in order."""
    where, whole = shlex.quote(document["directory"]), document["integration"]
    if document["status"] == "running":
        return [Next("Wait for the run; it is here", f"prun-review status {where}")]
    if document["status"] != "completed" or (whole and whole["status"] != "whole"):
        mend = [] if document["status"] == "partial" else [Next("Mend what Must Fix lists")]
        return [
            *mend,
            Next("Run what is left, and keep what succeeded", f"prun-review run {where} --resume"),
            *([Next("Put it together again", f"prun-review integrate {where}")] if whole else []),
        ]
    if whole is None:
        return [Next("Put it together and test the whole", f"prun-review integrate {where}")]
    if not whole["applied"]:
        return [Next("Fetch the branch, and nothing else", f"prun-review integrate {where} --apply")]
    branch = shlex.quote(whole["applied"])
    return [Next("Look at it", f"git diff HEAD...{branch}"), Next("Take it", f"git merge {branch}")]
