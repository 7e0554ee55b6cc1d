"""Units, results and run directories for tests of what is stored."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from prun_review import __version__, document, rundir
from prun_review.model import (
    Answer,
    Brief,
    Exit,
    Finding,
    Findings,
    Header,
    Plan,
    Reason,
    Result,
    RunFacts,
    Unit,
)
from prun_review.ports import Command
from prun_review.rundir import RunDir

NOW = 1_780_000_000.0
KEY = "sk-very-secret-1"


def unit(name: str = "a") -> Unit:
    slug = f"probe-{name}-codex-0001"
    return Unit(
        f"panels/probe.py::{name}[codex]",
        slug,
        f"panels/probe.py::{name}",
        "panels",
        "codex",
        Brief("find defects", timeout=33.0),
        fingerprint="f" * 64,
    )


def result(of: Unit, status: str = "valid", **more: object) -> Result:
    finding = Finding("a defect \ud83d", "detail \x1b[2J \0", "src/ä.py", 3)
    answer = Answer(Header("c", "f", "o", "v"), "comment", ("src/ä.py",), Findings([finding]))
    base = Result(of.id, of.slug, of.case, of.folder, of.executor, status, answer=answer)
    base = replace(base, fingerprint=of.fingerprint, attempts=1, seconds=2.5)
    return replace(base, **more)  # type: ignore[arg-type]


@contextmanager
def writer(script: str) -> Iterator[Path]:
    """A process that prints the path of its run directory; killed at the end."""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            yield Path(os.fsdecode(child.stdout.readline()).strip())
        finally:
            child.kill()


def begin(run: RunDir, *units: Unit) -> None:
    run.write_plan(Plan(units))
    run.write_document({"schema_version": 1, "status": "started"})


def attempt(run: RunDir, one: Unit, answer: bytes = b"the answer") -> Path:
    """One attempt of a unit that printed ``answer``, from its directory to its end in the ledger."""
    out = run.new_attempt(one)
    command = Command(("x",), {}, run.path, b"p")
    run.record(out, "p", command)
    (out / "tail").write_bytes(answer)
    output = run.collect(out, command, Exit(0))
    run.append(
        "attempt-finished",
        unit=one.id,
        slug=one.slug,
        attempt=int(out.name),
        code=0,
        ended_by="",
        status="valid",
        reason="ok",
        seconds=2.5,
        digest=f"digest of {output.stdout.decode()}",
    )
    return out


def store(
    root: Path,
    answered: Mapping[str, str],
    *,
    at: float = NOW,
    ended: bool = True,
    integrity: tuple[Reason, ...] = (),
    version: str = __version__,
) -> RunDir:
    """A stored run: unit name -> status of its result; ``ended`` False: as a SIGKILL leaves it."""
    run = rundir.create(root, now=at)
    plan = Plan(tuple(map(unit, answered)))
    facts = RunFacts(run.id, at, version=version)
    run.write_plan(plan)
    run.write_document(document.start(facts, plan))
    results = [result(unit(name), status, message=run.id) for name, status in answered.items()]
    for one, found in zip(plan.units, results, strict=True):
        attempt(run, one)
        run.finish(found)
    if ended:
        facts = replace(facts, finished=at + 9, integrity=integrity)
        run.write_document(document.build(facts, plan, results))
    run.close()
    return run
