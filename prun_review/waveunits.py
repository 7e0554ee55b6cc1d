"""The tasks of a wave run as units: one of the plan for each task, and one for each of its openings.  Pure.

Pytest, reports and those who wait for a task know it by the unit of the plan, which ends once it is known
what becomes of the task.  What is dispatched is an opening: ``DIR::task-001-users[codex~1]``, and ``~2``
where a conflict opened the task again.
"""

from __future__ import annotations

from dataclasses import replace

from prun_review.config import Waves
from prun_review.fencing import escape, fenced
from prun_review.model import Brief, Contract, Result, Unit
from prun_review.planning import slug_of
from prun_review.tasks import (
    FAILED,
    NOT_RUN,
    SKIPPED,
    SUCCEEDED,
    TERMINAL,
    Conflict,
    Manifest,
    Outcome,
    Task,
)
from prun_review.waves import asked

MOST_SHOWN = 60_000
"""Characters of a task's own earlier change that its next opening is shown."""

UNTRUE = ("claimed-not-touched", "untold-file")
_STATUSES = {"not-run": NOT_RUN, "valid": SUCCEEDED}


def node_id(manifest: Manifest, task: str) -> str:
    """The id of a task's unit in the plan, which is its pytest node id."""
    return f"{manifest.directory}::{task}"


def executor_of(task: Task, waves: Waves, chosen: str = "") -> str:
    """Who does a task: its own wish, else the one ``chosen`` for the run, else who does its agent's tasks."""
    return task.executor or chosen or waves.executor_for(task.agent)


def planned(manifest: Manifest, task: Task, executor: str, waves: Waves, prefix: str = "") -> Unit:
    """The unit of the plan.

    ``prefix``: where the paths of scopes start, relative to the root of the copies; empty or with a slash at
    its end.
    """
    name = node_id(manifest, task.id)
    return Unit(
        id=name,
        slug=slug_of(name),
        case=name,
        folder=manifest.directory,
        executor=executor,
        brief=_brief(task, waves, prefix),
        place=f"{manifest.directory}/{task.task_file}" if task.task_file else manifest.directory,
        fingerprint=asked(task),
    )


def opening(unit: Unit, number: int, base: str, again: str = "") -> Unit:
    """What is dispatched of a task's unit for the ``number``-th time (from 1), in a copy of the commit
    ``base``; ``again`` is told beside the prompt."""
    name = f"{unit.id}[{unit.executor}~{number}]"
    brief = replace(unit.brief, prompt="\n\n".join(filter(None, (unit.brief.prompt, again))))
    return replace(unit, id=name, slug=slug_of(name), brief=brief, fingerprint=f"{unit.fingerprint}-{base}")


def _brief(task: Task, waves: Waves, prefix: str) -> Brief:
    scope = task.scope
    creates, spares = ([prefix + name for name in names] for names in (scope.create, scope.boundary))
    modifies = [prefix + target.pattern for target in scope.modify]
    where = f"The project is the folder `{prefix}` of the working directory; all paths are relative to it."
    return Brief(
        prompt="\n\n".join([task.prompt, *[where] * bool(prefix)]),
        contract=Contract("task"),
        access=task.access or "write",
        timeout=task.timeout or waves.timeout,
        mode="write",
        writes=tuple(dict.fromkeys((*creates, *modifies))),
        spares=tuple(spares),
        verify=task.verify,
        creates=tuple(creates),
    )


def again(conflict: Conflict, patch: str, fence: str) -> str:
    """What a task is told that is opened again.  ``patch`` is what it wrote before; ``fence`` is a random
    word that nobody could know who wrote any of it."""
    others = f" by {', '.join(conflict.others)}" if conflict.others else ""
    parts = [
        "# This is the second time\n\nYou, or another worker, did this task before. Meanwhile others changed"
        f" the same places{others}, and what was written could not be joined with that. The working directory"
        " now holds what the others did, without the earlier work on this task. Do the task again, on top of"
        " what is there: keep what the others did, and reach all that the task asks for.",
        _shown("The files that clashed:", "FILE NAMES", "\n".join(conflict.paths), fence),
        _shown("The places that clashed:", "CONFLICT", conflict.text, fence),
        _shown("What was written before, as a patch of the state before:", "PATCH", patch, fence),
    ]
    return "\n\n".join(filter(None, parts))


def _shown(head: str, what: str, text: str, fence: str) -> str:
    if not text.strip():
        return ""
    cut = text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}\n(cut here)"
    lines = ("\t".join(escape(part, len(part)) for part in line.split("\t")) for line in cut.splitlines())
    return f"{head}\n{fenced(what, lines, fence)}"


def outcome(task: str, result: Result, vendor: str) -> Outcome:
    """What became of a task by the result of its opening."""
    status = _STATUSES.get(result.status, FAILED)
    return Outcome(
        task=task,
        status=status,
        reason=result.reason,
        message=result.message,
        executor=result.executor,
        vendor=vendor,
        unit=result.slug,
        attempts=result.attempts,
        seconds=result.seconds,
        marker=result.marker,
        claim=result.answer.claim if result.answer else None,
        patch=result.patch,
        checks=result.checks,
        notes=notes(result),
    )


def notes(result: Result) -> tuple[str, ...]:
    """Where what a worker says of files is not what its copy holds; nothing where it says nothing."""
    if not (result.answer and result.answer.claim and result.answer.claim.files):
        return ()
    return tuple(v.text for v in result.salvage if v.code in UNTRUE)


def is_final(held: Outcome, *, stopped: bool) -> bool:
    """Whether nothing more becomes of a task: one that succeeded may still meet a conflict until its
    change is put together with the others."""
    if held.status == SUCCEEDED:
        return bool(held.commit) or stopped
    return held.status in TERMINAL


def terminal(unit: Unit, held: Outcome, last: Result | None, stopped: str) -> Result:
    """The result of a task's unit in the plan, of its final outcome and the result of its last opening."""
    result = last or Result(unit.id, unit.slug, unit.case, unit.folder, unit.executor, "not-run")
    result = replace(
        result,
        unit=unit.id,
        slug=unit.slug,
        fingerprint=unit.fingerprint,
        attempts=held.attempts,
        seconds=held.seconds,
        reason=held.reason,
        message=held.message,
    )
    if held.status == SUCCEEDED and held.commit:
        return replace(result, status="valid")
    if held.status == SUCCEEDED:
        text = f"it succeeded, and its change was not put together with the others: {stopped}"
        return replace(result, status="failed", reason="stopped", message=text, answer=None)
    if held.status in (SKIPPED, NOT_RUN):
        return replace(result, status="not-run", answer=None)
    # What was accepted by its own contract may still have met a conflict, or records that refute it.
    return replace(result, status="broken" if result.status in ("valid", "broken") else "failed")
