"""The real codex and claude write a wave, and review what the other one wrote before the next one starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from prun_review import wavedocument
from tests import repokit
from tests.change.kit import PROBE, defect
from tests.modelserver import FREEFORM, Call, ModelServer, Reply, Rule
from tests.real.reaching import SHELL
from tests.real.shop import KEYS, SCRIPTS
from tests.real.test_real_change import answer

DIR = "parallel/TS-0011-shop"
TASK = "---\nid: {id}\ncomponent: shop\nwave: {wave}\nexecutor: {executor}\n---\n# {head}\n\n{text}\n"
TASKS = {
    "task-001-tax": (1, "codex", "task-001: Tax", "## Scope\nCREATE: src/tax.py"),
    "task-002-sale": (1, "sonnet", "task-002: Sale", "## Scope\nCREATE: src/sale.py"),
    "task-003-bill": (2, "codex", "task-003: Bill", "## Scope\nCREATE: src/bill.py"),
}
ASKED = "What does this change break?"


def codex(name: str, line: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """How codex writes a file of one line and says that it is done."""
    patch = f"*** Begin Patch\n*** Add File: {name}\n+{line}\n*** End Patch\n"
    return ("apply_patch", {FREEFORM: patch}), ("exec_command", {"cmd": "touch .claude-task-complete"})


def claude(name: str, line: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """The same for claude."""
    done = {"command": "touch .claude-task-complete", "description": "done"}
    return ("Write", {"file_path": name, "content": f"{line}\n"}), ("Bash", done)


SALE = "def sale(price): return eval(price)"
WRITES = [
    Rule(
        "TASK-001: Tax",
        Reply(text="done", tools=codex("src/tax.py", "def tax(price): return price / 5")),
    ),
    Rule("TASK-002: Sale", Reply(text="done", tools=claude("src/sale.py", SALE))),
    Rule("TASK-003: Bill", Reply(text="done", tools=codex("src/bill.py", "def bill(price): return price"))),
]
BAD = defect("a price is run as code", "src/sale.py", 1, SALE)


@dataclass
class Wave:
    """A user's project, and what the programs did in it."""

    root: Path
    calls: list[Call] = field(default_factory=list)
    output: str = ""

    @property
    def repo(self) -> Path:
        return self.root / "project"

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.repo / DIR / "report.json").read_text())
        return found

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": f"{SCRIPTS}:{os.defpath}",
            "HOME": str(self.root / "home"),
            "LC_ALL": "C.UTF-8",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **KEYS,
        }

    def make(self, server: ModelServer) -> None:
        """The project, whose executors ask our server."""
        (self.root / "home").mkdir(parents=True)
        waves = [
            {
                "number": n,
                "tasks": [{"id": i, "agent": "shop-expert"} for i, t in TASKS.items() if t[0] == n],
                **({"panel": ["panels/"]} if n == 1 else {}),
            }
            for n in (1, 2)
        ]
        table = (
            '[tool.pytest.ini_options]\naddopts = ""\n'
            '[tool.prun_review]\nexecutors = ["codex", "sonnet"]\nretries = 0\ncross_examine = "off"\n'
            "[tool.prun_review.executor.codex]\n"
            f'model = "{SHELL}"\nenv = ["MOCK_KEY"]\nargs = {json.dumps(server.codex_args())}\n'
        )
        content: dict[str, str | bytes] = {
            "pyproject.toml": table,
            "panels/probe_change.py": PROBE,
            "src/shop.py": "def price(): return 3\n",
            ".gitignore": f"reports/\n__pycache__/\n{DIR}/logs/\n{DIR}/report.json\n",
            f"{DIR}/manifest.json": json.dumps({"tech_spec_id": "TS-0011", "waves": waves}),
            f"{DIR}/context.md": "# The shop\n",
        }
        for name, (wave, executor, head, text) in TASKS.items():
            content[f"{DIR}/tasks/{name}.md"] = TASK.format(
                id=name, wave=wave, executor=executor, head=head, text=text
            )
        repokit.repository(self.repo, content)

    def run(self, rules: Sequence[Rule]) -> int:
        """``prun-review run DIR``."""
        with ModelServer(rules) as server:
            self.make(server)
            code = self.cli("run", DIR, ANTHROPIC_BASE_URL=server.anthropic_url)
        self.calls = list(server.calls)
        return code

    def cli(self, *args: str, **env: str) -> int:
        done = subprocess.run(
            [sys.executable, "-m", "prun_review", *args],
            cwd=self.repo,
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=400,
        )
        self.output = done.stdout.decode(errors="replace")
        return done.returncode

    def reviewed(self) -> list[tuple[str, list[str], list[str]]]:
        """Outcome, authors and tasks of the reviews of the first wave."""
        return [(r["outcome"], r["authors"], r["tasks"]) for r in self.document["waves"][0]["reviews"]]

    def asked(self, file: str) -> set[str]:
        """The vendors that were asked about a change that holds this file."""
        return {c.vendor for c in self.calls if ASKED in c.prompt and f"src/{file}" in c.prompt}


@pytest.fixture
def wave(tmp_path: Path) -> Wave:
    return Wave(tmp_path / "w")


def states(document: dict[str, Any]) -> dict[str, str]:
    return {task["short"]: f"{task['status']}:{task['reason']}" for task in document["tasks"]}


def test_a_wave_that_each_vendors_other_passes_is_followed_by_the_next(wave: Wave) -> None:
    rules = [*WRITES, Rule(ASKED, Reply(answer(examined=["src/tax.py"])), also="src/tax.py")]
    rules += [Rule(ASKED, Reply(answer(examined=["src/sale.py"])), also="src/sale.py")]
    code = wave.run(rules)
    document = wave.document
    assert code == 0, (wave.output, json.dumps(document, indent=1))
    assert states(document) == dict.fromkeys(("task-001", "task-002", "task-003"), "succeeded:ok")
    assert wave.reviewed() == [
        ("PASS", ["openai"], ["task-001-tax"]),
        ("PASS", ["anthropic"], ["task-002-sale"]),
    ]
    lines = [r["line"] for r in document["waves"][0]["reviews"]]
    assert "openai wrote it" in lines[0]
    assert "anthropic wrote it" in lines[1]
    assert wave.asked("tax.py") == wave.asked("sale.py") == {"openai", "anthropic"}
    assert {t["vendor"] for t in document["tasks"]} == {"openai", "anthropic"}
    assert wavedocument.validate(document) == []

    assert wave.cli("integrate", DIR, "--apply", "--test", "test -f src/bill.py && test -f src/sale.py") == 0
    [branch] = repokit.git(wave.repo, "branch", "--list", "prun/*", "--format=%(refname:short)").split()
    names = repokit.git(wave.repo, "log", "--format=%an %s", f"main..{branch}").splitlines()
    assert names == ["codex task-003-bill: Bill", "sonnet task-002-sale: Sale", "codex task-001-tax: Tax"]


def test_a_wave_is_stopped_by_its_panel(wave: Wave) -> None:
    """Claude wrote it; codex finds what is wrong with it, and claude admits it."""
    rules = [*WRITES, Rule(ASKED, Reply(answer(examined=["src/tax.py"])), also="src/tax.py")]
    rules += [Rule(ASKED, Reply(answer(BAD, examined=["src/sale.py"])), also="src/sale.py")]
    code = wave.run(rules)
    document = wave.document
    assert code == 1, (wave.output, json.dumps(document, indent=1))
    assert wave.reviewed() == [
        ("PASS", ["openai"], ["task-001-tax"]),
        ("FAIL", ["anthropic"], ["task-002-sale"]),
    ]
    assert states(document)["task-003"] == "not-run:panel"
    assert (document["status"], document["waves"][0]["reason"]) == ("failed", "panel")
    assert not [c for c in wave.calls if "TASK-003: Bill" in c.prompt]

    before = repokit.git(wave.repo, "for-each-ref")
    assert wave.cli("integrate", DIR, "--apply", "--test", "true") == 1
    assert "it is not applied" in wave.output
    assert repokit.git(wave.repo, "for-each-ref") == before


def test_the_authors_own_word_for_it_passes_nothing(wave: Wave) -> None:
    """Codex is away when claude's work is to be reviewed: what claude says for it does not count."""
    rules = [*WRITES, Rule(ASKED, Reply(answer(examined=["src/tax.py"])), also="src/tax.py")]
    rules += [Rule(ASKED, Reply(status=400), "openai", also="src/sale.py")]
    rules += [Rule(ASKED, Reply(answer(examined=["src/sale.py"])), "anthropic", also="src/sale.py")]
    code = wave.run(rules)
    assert code == 1, wave.output
    assert [(outcome, authors) for outcome, authors, _ in wave.reviewed()] == [
        ("PASS", ["openai"]),
        ("INCOMPLETE", ["anthropic"]),
    ]
    assert states(wave.document)["task-003"] == "not-run:panel"
