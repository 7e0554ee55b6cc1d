"""What the reports say of a wave run: order, grouping and wording, taken from its document; no escaping.

Documents are taken in full shape, as :func:`prun_review.wavedocument.read` gives them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]
Row = Mapping[str, Any]

WHOLE = "the whole"
TAIL = 12
"""Lines shown of what a command said that did not pass."""
TESTS, TYPES, LINT, OTHER = "Tests", "Type Check", "Lint", "Other"
_KINDS = (
    (TYPES, re.compile(r"\b(mypy|pyright|pyre|pytype|tsc|type-?check|ty check)\b")),
    (LINT, re.compile(r"\b(ruff|flake8|pylint|eslint|bandit|black|isort|prettier|biome|lint|clippy)\b")),
    (TESTS, re.compile(r"\b(pytest|unittest|tox|nox|jest|vitest|rspec|phpunit|ctest|tests?)\b")),
)


@dataclass(frozen=True, slots=True)
class Ran:
    """One command that the harness ran."""

    where: str
    """``wave 1``, ``task-001`` or ``the whole``."""
    check: Row

    @property
    def ok(self) -> bool:
        """It passed."""
        return passed(self.check)

    @property
    def kind(self) -> str:
        """What it looks like, by the words in the command: the first of the kinds that has one."""
        command = self.check["command"].lower()
        return next((kind for kind, words in _KINDS if words.search(command)), OTHER)


def passed(check: Row) -> bool:
    """As :attr:`prun_review.written.Check.ok`."""
    return check["code"] == 0 and not check["ended_by"]


def ran(document: Document) -> list[Ran]:
    """Everything that was run: on each task's change, on each wave, on the whole."""
    found = []
    for wave in document["waves"]:
        for task in document["tasks"]:
            if task["wave"] == wave["number"]:
                found += [Ran(task["short"], check) for check in task["checks"]]
        if wave["validation"]:
            found.append(Ran(f"wave {wave['number']}", wave["validation"]))
    whole = document["integration"]
    return [*found, *(Ran(WHOLE, check) for check in (whole["checks"] if whole else ()))]


def how(check: Row) -> str:
    """``passed``, ``failed (exit 1)``, ``failed (timeout)``."""
    if passed(check):
        return "passed"
    if check["ended_by"]:
        return f"failed ({check['ended_by']})"
    return "did not start" if check["code"] is None else f"failed (exit {check['code']})"


def tail(check: Row) -> list[str]:
    """The last lines of what a command said that did not pass; how many stand before them."""
    lines = [] if passed(check) else check["said"].strip().splitlines()
    more = len(lines) - TAIL
    return [*([f"({more} lines before these are in report.json)"] if more > 0 else []), *lines[-TAIL:]]


def counted(document: Document) -> dict[str, int]:
    """How many tasks there are of each status that occurs, in a fixed order."""
    states = [task["status"] for task in document["tasks"]]
    order = ("succeeded", "failed", "skipped", "not-run", "running", "pending")
    return {state: states.count(state) for state in order if state in states}


def tally(document: Document) -> str:
    """``5 tasks: 3 succeeded, 1 failed, 1 skipped``."""
    n = len(document["tasks"])
    told = ", ".join(f"{count} {state.replace('-', ' ')}" for state, count in counted(document).items())
    return f"{n} {'task' if n == 1 else 'tasks'}{': ' * bool(told)}{told}"


def accepted(document: Document) -> list[Row]:
    """The tasks whose change is put together."""
    return [task for task in document["tasks"] if task["status"] == "succeeded" and task["commit"]]


def put_together(document: Document) -> list[Row]:
    """Those of them that the whole holds: what clashes with it is left out, and so is what builds on that."""
    whole = document["integration"]
    out = {conflict["task"] for conflict in whole["conflicts"]} if whole else set()
    found = []
    for task in accepted(document):  # in wave order, so what one builds on comes before it
        if task["id"] in out or out & {*task["deps"]}:
            out.add(task["id"])
        else:
            found.append(task)
    return found


def lacking(task: Row) -> str:
    """Why a task is not done: ``timeout: it took more than 2 h``; empty where it is.  Where its copy is kept
    is told apart."""
    if task["status"] == "succeeded":
        return ""
    kept = task["patch"]["kept"] if task["patch"] else ""
    message = task["message"].replace(f"; what it wrote is kept in {kept}", "") if kept else task["message"]
    reason = "" if _unclear(task) else task["reason"]
    return ": ".join(filter(None, (reason, message))) or task["status"]


def why(task: Row) -> str:
    """The same in few words."""
    if task["status"] == "succeeded":
        return ""
    return re.split("[:;]", task["message"])[0][:40] if _unclear(task) else task["reason"]


def _unclear(task: Row) -> bool:
    """Whether its message says more than its reason: a worker that ended badly and not why."""
    return task["reason"] == "unknown" and bool(task["message"])


def breaches(document: Document) -> Iterator[tuple[Row, Row]]:
    """Every task with each thing that it did and must not."""
    for task in document["tasks"]:
        for breach in task["patch"]["breaches"] if task["patch"] else ():
            yield task, breach


def reviews(document: Document) -> Iterator[tuple[int, Row]]:
    """Every review with the number of its wave."""
    for wave in document["waves"]:
        for review in wave["reviews"]:
            yield wave["number"], review


def unreviewed(document: Document) -> list[int]:
    """Numbers of the waves that name a panel, hold a change, and were not reviewed."""
    return [w["number"] for w in _unseen(document) if w["names"]["panel"]]


def unasked(document: Document) -> list[int]:
    """Numbers of the waves that hold a change and name no panel."""
    return [w["number"] for w in _unseen(document) if not w["names"]["panel"]]


def _unseen(document: Document) -> list[Row]:
    wrote = {task["wave"] for task in accepted(document) if _files(task)}
    return [wave for wave in document["waves"] if not wave["reviews"] and wave["number"] in wrote]


def touched_contracts(document: Document) -> list[tuple[Row, str]]:
    """Accepted tasks that changed a file which some task was told to keep to, with its name."""
    contracts = {within(document, name): name for task in document["tasks"] for name in task["contracts"]}
    return [
        (task, contracts[path])
        for task in accepted(document)
        for path in sorted({p for file in _files(task) for p in (file["path"], file["old_path"])})
        if path in contracts
    ]


def within(document: Document, name: str) -> str:
    """The path of a file of the directory, from the root of the repository, as patches have paths."""
    return f"{document['prefix']}{posixpath.normpath(posixpath.join(document['directory'], name))}"


def ran_on_whole(document: Document) -> list[Ran]:
    """What was run on the whole."""
    return [run for run in ran(document) if run.where == WHOLE]


def unrun(document: Document) -> list[str]:
    """What was not run or not looked at on the whole, in words; nothing before it is put together."""
    whole = document["integration"]
    return list(whole["unrun"]) if whole else []


def wrong(document: Document) -> list[str]:
    """What speaks against the whole beside conflicts and checks, in words."""
    whole = document["integration"]
    return list(whole["wrong"]) if whole else []


def redone(row: Row) -> str:
    """What became of a task that was done again while it was integrated."""
    how = "succeeded" if row["status"] == "succeeded" else lacking(row)
    return f"done again by {row['executor']} on {row['base'][:12]}: {how} (units/{row['unit']})"


def _files(task: Row) -> list[Row]:
    files: list[Row] = task["patch"]["files"] if task["patch"] else []
    return files


def lines(task: Row) -> str:
    """``2 files +10 -3``, ``nothing``; empty where it is not known."""
    if not task["patch"]:
        return ""
    files = _files(task)
    if not files:
        return "nothing"
    added, deleted = (sum(file[key] for file in files) for key in ("added", "deleted"))
    return f"{len(files)} {'file' if len(files) == 1 else 'files'} +{added} -{deleted}"


def lasted(seconds: float) -> str:
    """``0:05``, ``1:02:03``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
