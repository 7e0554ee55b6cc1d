"""One run of pytest over all faults, each in a panels folder of its own, and what is wrong with it after."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from prun_review.causes import cause
from tests.faults.table import RETRIES, VENDORS, Fate, Fault, answer

STANDINS = Path(__file__).parents[1] / "standins"
PROGRAM = {"codex": "codex", "sonnet": "claude"}
SCRIPTS = Path(sysconfig.get_path("scripts"))
SOURCE = """def total(prices):
    result = 0
    for price in prices[1:]:
        result += price
    return result
"""
PROBE = '''from prun_review import brief


@brief(reads=["src/*.py"], executors=["{target}", "{other}"], timeout={timeout})
def probe_fault(result):
    """Audit the sums. [[{fault}:{vendor}]]"""
'''
TABLE = """[tool.prun_review.executor.{name}]
type = "{kind}"
path = "{path}"
startup = 8
stall = 2
stagger = 0
grace = 1
"""
LIMIT = 300
"""Seconds for the whole run; it takes a tenth of that on two quiet cores."""


@dataclass(frozen=True)
class Cell:
    """One fault of one vendor."""

    fault: Fault
    vendor: str

    @property
    def folder(self) -> str:
        """Its panels folder."""
        return f"panels/{self.fault.name}-{self.vendor}"

    @property
    def fate(self) -> Fate:
        """What has to become of its unit."""
        return self.fault.fates[self.vendor]

    @property
    def executor(self) -> str:
        """Who shows the fault: for what keeps an executor's further units from running, one of its own."""
        alone = self.fault.alone or cause(self.fate.reason).breaks
        return f"{self.vendor}-{self.fault.name}" if alone else self.vendor

    @property
    def other(self) -> str:
        """The vendor that answers cleanly."""
        return VENDORS[1 - VENDORS.index(self.vendor)]


def cells(faults: Sequence[Fault]) -> list[Cell]:
    """Every fault of every vendor."""
    return [Cell(fault, vendor) for fault in faults for vendor in VENDORS]


class Project:
    """A repository with a panels folder per cell, and the two stand-ins."""

    def __init__(self, root: Path, grid: Sequence[Cell]) -> None:
        self.root, self.grid = root, grid
        self.bin, self.repository = root / "bin", root / "repository"
        for folder in (self.bin, root / "home", self.repository / "src"):
            folder.mkdir(parents=True)
        for vendor in VENDORS:
            (self.bin / PROGRAM[vendor]).symlink_to(STANDINS / PROGRAM[vendor])
            (self.bin / f"{PROGRAM[vendor]}.json").write_text(json.dumps(self._rules(vendor)))
        (self.repository / "src/app.py").write_text(SOURCE)
        (self.repository / "pyproject.toml").write_text(self._configuration())
        for cell in grid:
            self._probe(cell)
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "under review")):
            identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
            subprocess.run(["git", *identity, *words], cwd=self.repository, env=self.env, check=True)

    @property
    def env(self) -> dict[str, str]:
        """The whole environment of pytest."""
        path = f"{SCRIPTS}:{self.bin}:/usr/bin:/bin"
        return {"PATH": path, "HOME": str(self.root / "home")}

    def _rules(self, vendor: str) -> list[dict[str, Any]]:
        marked = [c for c in self.grid if c.vendor == vendor]
        rules = [{"match": f"[[{c.fault.name}:{vendor}]]", **c.fault.rules[vendor]} for c in marked]
        return [*rules, {"match": "", "payload": answer()}]

    def _configuration(self) -> str:
        lines = [f"[tool.prun_review]\njobs = 16\nretries = {RETRIES}\nretry_wait = 0.05\nheartbeat = 600\n"]
        own = {c.executor: c.fault.program for c in self.grid}
        for name in dict.fromkeys([*VENDORS, *own]):
            kind = PROGRAM[name.partition("-")[0]]
            path = self.bin / (name if own.get(name) else kind)
            if own.get(name):
                path.write_text(own[name])
                path.chmod(0o755)
            lines.append(TABLE.format(name=name, kind=kind, path=path))
        return "\n".join(lines)

    def _probe(self, cell: Cell) -> None:
        folder = self.repository / cell.folder
        folder.mkdir(parents=True)
        words = {"target": cell.executor, "other": cell.other, "timeout": cell.fault.timeout}
        text = PROBE.format(**words, fault=cell.fault.name, vendor=cell.vendor)
        # A name of its own: pytest imports probe files by their base names.
        (folder / f"probe_{folder.name.replace('-', '_')}.py").write_text(text)

    def run(self, *options: str) -> Outcome:
        """``pytest panels/`` as a process of its own, which must leave nothing running."""
        argv = [
            sys.executable,
            "-m",
            "pytest",
            "panels/",
            "-q",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            *options,
        ]
        done = subprocess.run(
            argv,
            cwd=self.repository,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
        )
        runs = [folder.name for folder in (self.repository / ".prun/runs").iterdir()]
        left = survivors(str(self.root), *(f"PRUN_DISPATCH={run}" for run in runs))
        return Outcome(self.repository, done.returncode, done.stdout.decode("utf-8", "replace"), left)


def survivors(*marks: str) -> list[str]:
    """What still runs of a project: processes with one of ``marks`` in their environment or arguments.

    Every dispatch has the project's paths and its own tag there, and so has all that it starts.
    """
    found = []
    for process in Path("/proc").iterdir():
        try:
            environ, command = ((process / name).read_bytes() for name in ("environ", "cmdline"))
        except OSError:  # no process, or one that has just ended
            continue
        if any(os.fsencode(mark) in environ + command for mark in marks):
            found.append(f"{process.name} {command!r}")
    return found


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    repository: Path
    code: int
    output: str
    left: Sequence[str]

    @cached_property
    def report(self) -> dict[str, Any]:
        """The document."""
        document: dict[str, Any] = json.loads((self.repository / "reports/latest/report.json").read_text())
        return document

    @cached_property
    def markdown(self) -> list[str]:
        """The lines of the report."""
        return (self.repository / "reports/latest/report.md").read_text().splitlines()

    @cached_property
    def run(self) -> Path:
        """The run directory."""
        return self.repository / ".prun/runs" / str(self.report["run_id"])

    @cached_property
    def recorded(self) -> list[str]:
        """The units of all results in the ledger."""
        events = [json.loads(line) for line in (self.run / "ledger.jsonl").read_text().splitlines()]
        return [event["unit"] for event in events if event["event"] == "result"]

    @cached_property
    def units(self) -> dict[tuple[str, str], list[dict[str, Any]]]:
        """Folder and executor -> the units."""
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for unit in self.report["units"]:
            found.setdefault((unit["folder"], unit["executor"]), []).append(unit)
        return found

    def wrong(self, cell: Cell) -> list[str]:
        """All that is not as it has to be with a cell, the other vendor's clean answer included."""
        clean = self.units.get((cell.folder, cell.other), [])
        fates = [_fate(unit) for unit in clean]
        return self.wrong_alone(cell) + _differs("the other vendor's units", fates, [("valid", "ok", 1)])

    def wrong_alone(self, cell: Cell) -> list[str]:
        """All that is not as it has to be with the unit that the fault hit."""
        hit = self.units.get((cell.folder, cell.executor), [])
        if len(hit) != 1:
            return [f"{len(hit)} units instead of 1"]
        verdict = self.report["verdict"]["folders"].get(cell.folder)
        fate, wanted = cell.fate, "PASS" if cell.fate.kept else "INCOMPLETE"
        found = [
            *_differs("fate", _fate(hit[0]), (fate.status, fate.reason, fate.attempts)),
            *_differs("verdict", verdict, wanted),
            *self._stored(hit[0], cell.fault),
            *self._told(cell, hit[0]),
        ]
        return [f"{text}; it said: {hit[0]['message'][:300]}" for text in found]

    def _stored(self, unit: dict[str, Any], fault: Fault) -> list[str]:
        """Every attempt is on disk with its output as it was written, and one result."""
        folder = self.run / "units" / unit["slug"]
        attempts = sorted(p for p in folder.iterdir() if p.name.isdigit())
        tails = [p / "tail" for p in attempts]
        whole = all(p.is_file() and fault.raw in p.read_bytes() for p in tails)
        prompts = all((p / "prompt.md").stat().st_size for p in attempts)
        result = json.loads((folder / "result.json").read_text())
        return [
            *_differs("attempts on disk", len(attempts), unit["attempts"]),
            *_differs("outputs and prompts stored", (whole, prompts), (True, True)),
            *_differs("stored status", result["status"], unit["status"]),
            *_differs("results in the ledger", self.recorded.count(unit["id"]), 1),
        ]

    def _told(self, cell: Cell, unit: dict[str, Any]) -> list[str]:
        """The reports name the cause of a lost unit, and of one that answered after all, once."""
        reasons = cell.fate.retried if cell.fate.kept else (cell.fate.reason,)
        found = [] if unit["message"] or cell.fate.kept else ["a failure without a word"]
        for reason in set(reasons):
            key = (cell.executor, reason)
            rows = [row for row in self.report["causes"] if (row["executor"], row["reason"]) == key]
            found += _differs("rows of the cause", len(rows), 1)
            title = f"- {cell.executor}: {cause(reason).title}"
            lines = [line for line in self.markdown if line.replace("\\", "").startswith(title)]
            found += _differs(f"lines {title!r} in the report", len(lines), 1)
        return found


def _differs(what: str, found: object, wanted: object) -> list[str]:
    return [] if found == wanted else [f"{what}: {found!r} instead of {wanted!r}"]


def _fate(unit: dict[str, Any]) -> tuple[str, str, int]:
    return unit["status"], unit["reason"], unit["attempts"]
