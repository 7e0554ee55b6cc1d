"""A small project with panels, a git repository and two stand-in vendors."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.repokit import QUICK

ANSWERING = Path(__file__).with_name("answering.py")
STANDINS = Path(__file__).parents[1] / "standins"
SOURCE = """import os


def run(command):
    return os.system("sh -c " + command)


def total(prices):
    result = 0
    for price in prices[1:]:
        result += price
    return result
"""


def payload(*findings: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A findings answer that keeps the contract."""
    return {
        "conclusion": "Looked at the module and its callers.",
        "files": "src/app.py",
        "open_items": "none",
        "verification": "read line by line",
        "verdict": "request-changes" if findings else "approve",
        "examined": ["src/app.py"],
        "findings": list(findings),
        **changes,
    }


def finding(**changes: Any) -> dict[str, Any]:
    """A grounded finding about the command line that is built by concatenation."""
    return {
        "title": "Command injection: user input concatenated into os.system",
        "detail": "The command argument reaches os.system unquoted, so a caller can run any shell command.",
        "file": "src/app.py",
        "line": 5,
        "end_line": 5,
        "severity": "high",
        "category": "security",
        "confidence": 0.9,
        "quote": 'return os.system("sh -c " + command)',
        "suggestion": "use subprocess.run with a list",
        **changes,
    }


EXAMINES = 'contracts = ["findings", "choice", "prose", "examination"]'
"""Line of an executor's table with which it is asked about findings of others."""
ASKED = "prun-review-examine"
"""Stands in every prompt of a second wave and in no other."""


def opinion(word: str, **changes: Any) -> dict[str, Any]:
    """An examiner's answer about :func:`finding` that keeps the contract of a claim."""
    return {
        "conclusion": f"Looked at the call: {word}.",
        "files": "src/app.py",
        "open_items": "none",
        "verification": "read the function and its callers",
        "examined": ["src/app.py"],
        "word": word,
        "reason": "The parameter reaches the shell as it came in; nothing in the function quotes it.",
        "severity": "high" if word == "confirm" else None,
        "file": "src/app.py",
        "line": 5,
        "quote": 'return os.system("sh -c " + command)',
        **changes,
    }


def same_opinion(word: str, **changes: Any) -> dict[str, Any]:
    """The same about a pair."""
    answer = opinion(word, **changes)
    del answer["severity"]
    return answer


OURS = ("prun_review", "xdist")
"""The plugins that a run needs."""


class Project:
    """The project under test, and how to run it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.scenario = self.path.parent / f"{self.path.name}-scenario.json"
        self.config("")
        self.write("src/app.py", SOURCE)
        self.git("init", "-q")
        self.commit()

    def config(
        self,
        extra: str,
        executors: tuple[str, ...] = ("left", "right"),
        tables: Mapping[str, str] | None = None,
    ) -> None:
        """Write pyproject.toml: stand-in executors of different vendors, ``extra``, and lines for the
        tables of some of them."""
        lines = [
            "[tool.pytest.ini_options]",
            'addopts = ""',
            "[tool.prun_review]",
            f"executors = {list(executors)!r}",
            "retry_wait = 0.05",
        ]
        lines.append(extra)
        for name in executors:
            argv = [sys.executable, str(ANSWERING), str(self.scenario), name]
            lines += [
                f"[tool.prun_review.executor.{name}]",
                'type = "command"',
                f'vendor = "vendor-{name}"',
                f'lineage = "lineage-{name}"',
                f"argv = {json.dumps(argv)}",
                (tables or {}).get(name, ""),
            ]
        self.write("pyproject.toml", "\n".join(lines) + "\n")

    def stand_in(self, program: str, *rules: dict[str, Any]) -> Path:
        """The path of a stand-in for a vendor's program, ``claude`` or ``codex``; see tests/standins."""
        folder = self.path.parent / f"{self.path.name}-{program}"
        folder.mkdir()
        (folder / program).symlink_to(STANDINS / program)
        (folder / f"{program}.json").write_text(json.dumps(list(rules)))
        return folder / program

    def write(self, name: str, text: str) -> None:
        """A file of the project."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def git(self, *args: str) -> None:
        """Run git in the project."""
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *QUICK, *identity, *args], cwd=self.path, check=True, capture_output=True)

    def commit(self) -> None:
        """Commit everything."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "state")

    def probe(self, body: str, name: str = "panels/probe_app.py") -> None:
        """A probe file."""
        self.write(name, body)

    def answers(self, *rules: dict[str, Any]) -> None:
        """What the stand-ins answer; see answering.py."""
        full = [{"when": "", "of": None, **rule} for rule in rules]
        self.scenario.write_text(json.dumps(full), encoding="utf-8")

    def calls(self) -> list[str]:
        """The stand-ins that were started, in order."""
        path = Path(str(self.scenario) + ".calls")
        return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []

    def run(self, *args: str, others: bool = False) -> pytest.RunResult:
        """``pytest ARGS`` as a process of its own; ``others``: with all plugins that are installed, which
        cost each of its processes half a second."""
        plugins = ("no:cacheprovider", "no:randomly") if others else ("no:cacheprovider", *OURS)
        words = [word for name in plugins for word in ("-p", name)]
        with pytest.MonkeyPatch.context() as patch:
            if not others:
                patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            return self.pytester.runpytest_subprocess(*words, *args, timeout=120)

    def ledger(self) -> list[dict[str, Any]]:
        """The events of the latest run."""
        latest = max((self.path / ".prun/runs").iterdir(), key=lambda run: (run / "lock").stat().st_mtime_ns)
        return [json.loads(line) for line in (latest / "ledger.jsonl").read_text().splitlines()]

    def report(self) -> dict[str, Any]:
        """The document of the latest run."""
        document: dict[str, Any] = json.loads((self.path / "reports/latest/report.json").read_text())
        return document


ONE = '''
from prun_review import brief

@brief(reads=["src/*.py"])
def probe_app(result):
    """Audit the application."""
'''


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A fresh project with one module, committed; no probes yet."""
    # Without compiled files every process compiles the package again: 1.5 s each.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    return Project(pytester)
