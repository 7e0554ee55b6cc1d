"""The wave document: one versioned JSON value that tells all of a wave run.

It is ``waves.json`` of a run directory and ``report.json`` of a ``parallel/`` directory; its schema is
``schemas/waves.json``.  It is written strictly and read leniently: reports show what is there, and a run
that goes on takes over only what is whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from prun_review.codec import decode, encode
from prun_review.contractparts import load_schema
from prun_review.jsonvalues import clean, iso
from prun_review.lenient import Fitting
from prun_review.model import Usage
from prun_review.tasks import Course, Integration, Manifest, Outcome, Problem, Task, Wave, WaveOutcome
from prun_review.wavestatus import status

SCHEMA_VERSION = 1

_OUTCOME = tuple(f.name for f in dataclasses.fields(Outcome) if f.name != "task")
_WAVE = tuple(f.name for f in dataclasses.fields(WaveOutcome))


@dataclass(frozen=True, slots=True)
class Facts:
    """What the document tells beside the course."""

    run_id: str
    started: float
    """Seconds since the epoch."""
    finished: float | None = None
    version: str = ""
    """Of prun_review."""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """By executor, over all its dispatches."""
    logs: Mapping[str, str] = field(default_factory=dict)
    """Log of a task by its id, relative to the directory."""
    problems: tuple[Problem, ...] = ()
    integration: Integration | None = None
    prefix: str = ""
    """The trusted root within its repository: empty, or with a slash at its end."""


class Rows:
    """The rows of tasks, each the same object as long as its task stands as it stood."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Task, Outcome, str, dict[str, Any]]] = {}

    def __call__(self, task: Task, outcome: Outcome, log: str) -> dict[str, Any]:
        """That of one task; nobody may change it."""
        known = self._known.get(task.id)
        if known is None or known[0] is not task or known[1] is not outcome or known[2] != log:
            known = self._known[task.id] = (task, outcome, log, clean(_task(task, outcome, log)))
        return known[3]


def build(course: Course, facts: Facts, rows: Rows | None = None) -> dict[str, Any]:
    """The document of a run as it stands; only JSON values, no lone surrogates, no NaN.

    ``rows`` remembers those of tasks from one document of a run to the next.
    """
    row = rows or Rows()
    manifest = course.manifest
    document = {
        "schema_version": SCHEMA_VERSION,
        "run_id": facts.run_id,
        "version": facts.version,
        "directory": manifest.directory,
        "manifest": {
            **{key: getattr(manifest, key) for key in ("digest", "spec", "name", "technology", "variant")},
            "sources": dict(manifest.sources),
        },
        "base": course.base,
        "head": head(course),
        "started": iso(facts.started),
        "finished": None if facts.finished is None else iso(facts.finished),
        "status": status(course),
        "stopped": course.stopped,
        "reopen": course.reopen,
        "waves": [_wave(wave, course.waves[wave.number]) for wave in manifest.waves],
        "tasks": [],
        "integration": encode(facts.integration),
        "usage": _usage(course, facts.usage),
        "problems": encode(facts.problems),
        "prefix": facts.prefix,
        "again": [],
    }
    cleaned: dict[str, Any] = clean(document)
    cleaned["tasks"] = [row(t, course.outcomes[t.id], facts.logs.get(t.id, "")) for t in manifest.tasks]
    return cleaned


def head(course: Course) -> str:
    """SHA of the commit with all that was accepted so far; empty where nothing was."""
    if not any(outcome.commit for outcome in course.outcomes.values()):
        return ""
    heads = [course.waves[wave.number].head for wave in course.manifest.waves]
    return next(filter(None, reversed(heads)), "")


def _wave(wave: Wave, held: WaveOutcome) -> dict[str, Any]:
    return {**encode(held), "names": {"validation": wave.validation, "panel": list(wave.panel)}}


def _task(task: Task, outcome: Outcome, log: str) -> dict[str, Any]:
    told = encode(outcome)
    del told["task"]
    return {
        **{"id": task.id, "short": task.short, "title": task.title, "wave": task.wave, "agent": task.agent},
        **{"deps": list(task.deps), "contracts": list(task.contracts)},
        **told,
        "log": log,
    }


def _usage(course: Course, usage: Mapping[str, Usage]) -> dict[str, Any]:
    asked = [o for o in course.outcomes.values() if o.executor]
    rows = {}
    for name in dict.fromkeys([*(o.executor for o in asked), *usage]):
        mine = [o for o in asked if o.executor == name]
        rows[name] = {
            "vendor": next((o.vendor for o in mine), ""),
            "tasks": len(mine),
            "attempts": sum(o.attempts for o in mine),
            "seconds": sum(o.seconds for o in mine),
            **encode(usage.get(name, Usage())),
        }
    return rows


# --- read back --------------------------------------------------------------------------------


def validate(document: Any) -> list[str]:
    """What is wrong with a document under its schema, as ``place: text``; empty if nothing."""
    errors = _validator().iter_errors(document)
    return sorted(f"{'/'.join(map(str, e.absolute_path)) or 'document'}: {e.message[:300]}" for e in errors)


def read(value: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A document in full shape from whatever was stored, and what of it could not be understood.

    Never raises.  What was not understood never reads as success.
    """
    schema = load_schema("waves")
    fitting = Fitting(schema)
    document: dict[str, Any] = clean(fitting(schema, value))
    if fitting.notes and document["status"] == "completed":
        document["status"] = "failed"
    return document, tuple(fitting.notes)


def course_of(value: Any) -> Course:
    """The course that a document tells of, for a run that goes on from it.

    Its manifest knows no more of a task than its id, its wave and what it depends on.  A task or a wave
    that is not whole is left as if it had not begun.  ``ValueError`` for a document of another version.
    """
    version = value.get("schema_version") if isinstance(value, dict) else None
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise ValueError(f"a wave document of version {version!r}; this reads {SCHEMA_VERSION}")
    document, notes = read(value)
    broken = {tuple(note.split(":")[0].split("/")[:2]) for note in notes}
    outcomes: dict[str, Outcome] = {}
    waves: dict[int, WaveOutcome] = {}
    for n, row in enumerate(document["tasks"]):
        told = {"task": row["id"], **{key: row[key] for key in _OUTCOME}}
        whole = ("tasks", str(n)) not in broken and row["id"] not in outcomes
        outcomes[row["id"]] = decode(Outcome, told) if whole else Outcome(row["id"])
    for n, row in enumerate(document["waves"]):
        whole = ("waves", str(n)) not in broken and row["number"] not in waves
        held = decode(WaveOutcome, {key: row[key] for key in _WAVE}) if whole else WaveOutcome(row["number"])
        waves[row["number"]] = held
    return Course(
        _manifest(document), outcomes, waves, document["base"], document["stopped"], document["reopen"]
    )


def _manifest(document: Mapping[str, Any]) -> Manifest:
    tasks = [Task(t["id"], t["wave"], title=t["title"], deps=tuple(t["deps"])) for t in document["tasks"]]
    numbers = sorted({w["number"] for w in document["waves"]} | {t.wave for t in tasks})
    waves = tuple(Wave(n, tuple(t for t in tasks if t.wave == n)) for n in numbers)
    return Manifest(document["directory"], waves, digest=document["manifest"]["digest"])


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator  # 66 ms to import

    return Draft202012Validator(load_schema("waves"))
