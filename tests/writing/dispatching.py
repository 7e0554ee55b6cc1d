"""A run with one executor that is any Python script, dispatched for real."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prun_review import rundir
from prun_review.brakes import Brakes, Starts, backoff
from prun_review.budget import Budget
from prun_review.config import load
from prun_review.contract import KINDS
from prun_review.dispatch import Dispatcher
from prun_review.executors.command import AnyCommand
from prun_review.model import Brief, Contract, Plan, Result, Unit
from prun_review.pool import Cancel, Later
from prun_review.ports import Launcher, Located, Missing, Workbench
from prun_review.replay import Replay
from prun_review.rundir import RunDir
from prun_review.subject import Subject
from tests.storekit import NOW
from tests.writing.desk import HandBench

NAME = "writer"

SAYS = """
import json
print(json.dumps({{**{{"conclusion": "done", "files": "some", "open_items": "none", "verification": "none"}},
    **{{"completed": True, "changed_files": {files!r}, "summary": "it is"}},
    **dict.fromkeys(["tests_run", "tests_passed", "tests_failed"])}}))
"""


def says(files: Sequence[str]) -> str:
    """The end of a script that answers as ``change`` wants it."""
    return SAYS.format(files=list(files))


def unit(kind: str = "change", **brief: Any) -> Unit:
    """One unit that writes."""
    made = Brief("Make it so.", Contract(kind), access="write", mode="write", **{"timeout": 60.0, **brief})
    return Unit(
        "p.py::probe[writer]", "probe-writer-1", "p.py::probe", "panels", NAME, made, fingerprint="f" * 64
    )


@dataclass
class Desk:
    """One run directory with what dispatches its units."""

    root: Path
    store: RunDir
    launcher: Launcher
    workbench: Workbench | None
    retries: int = 2
    told: list[str] = field(default_factory=list)
    cancel: Cancel = field(default_factory=Cancel)
    replay: Replay | None = None

    def run(self, one: Unit, script: str) -> Result:
        """Dispatch it to its end, retries included."""
        program = self.root / "program.py"
        program.write_text(script)
        table = {
            **{"type": "command", "vendor": "v", "lineage": "l", "contracts": ["change", "task"]},
            "argv": [sys.executable, str(program)],
        }
        executor = AnyCommand.configured(load({"executor": {NAME: table}}).executor(NAME))
        env = {"PATH": "/usr/bin:/bin", "HOME": str(self.root)}
        located = executor.locate(env, ())
        assert isinstance(located, Located), located
        self.store.write_plan(Plan((one,)))
        dispatcher = Dispatcher(
            store=self.store,
            launcher=self.launcher,
            executors={NAME: executor},
            located={NAME: located},
            kinds=KINDS,
            subject=Subject(self.root, lambda path: Missing("nothing is read"), ()),
            env=env,
            state=self.store.state,
            refused={},
            brakes=Brakes(Budget.parse(""), [NAME], note=self.store.append, tell=self.told.append),
            starts=Starts({}),
            backoff=backoff(0.0),
            retries=self.retries,
            workbench=self.workbench,
            vouched=self.replay.vouched if self.replay else {},
            sites=self.replay.sites if self.replay else {},
        )
        outcome = dispatcher.run(one, self.cancel)
        while isinstance(outcome, Later):
            outcome = outcome.then(self.cancel)
        return outcome

    def attempts(self) -> list[Mapping[str, Any]]:
        """What the ledger says of the ends of attempts."""
        from prun_review.ledger import LedgerReader

        events = LedgerReader(self.store.path / "ledger.jsonl").new()
        return [event for event in events if event["event"] == "attempt-finished"]


@contextmanager
def desk(
    root: Path, launcher: Launcher, workbench: Workbench | None = None, *, at: float = NOW
) -> Iterator[Desk]:
    """A run below ``root``; its copies are made by hand."""
    root.mkdir(parents=True, exist_ok=True)
    store = rundir.create(root, now=at)
    yield Desk(root, store, launcher, workbench or HandBench(root / "copies"))
    store.close()
