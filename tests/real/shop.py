"""The example shop in a repository of its own, full of canaries, reviewed by the real programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prun_review.ports import Located
from tests.modelserver import Call, ModelServer, Rule

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "examples" / "shop"
SCRIPTS = Path(sysconfig.get_path("scripts"))
PLANTED: dict[str, dict[str, Any]] = {
    a["id"]: a for a in json.loads((ROOT / "tests" / "data" / "shop_answers.json").read_text())
}
"""What is wrong with the shop, by id."""

CANARY = "CANARY-5d2f"
KEYS = {
    "MOCK_KEY": "dummy-key-of-one-vendor",
    "OPENAI_API_KEY": "sk-dummy-of-one-vendor",
    "ANTHROPIC_API_KEY": "sk-ant-dummy-of-the-other",
}
MODEL = "gpt-5.5"
"""Of codex: older models are offered web search and the shell as tools of their own."""


def defect(name: str, title: str, detail: str, **changes: Any) -> dict[str, Any]:
    """A finding about a planted defect, quoted from the shop, in a reviewer's own words."""
    place = PLANTED[name]
    line = (SHOP / place["file"]).read_text().splitlines()[place["line"] - 1]
    return {
        "title": title,
        "detail": detail,
        "file": place["file"],
        "line": place["line"],
        "end_line": place["end_line"],
        "severity": place["severity"],
        "category": "security",
        "confidence": 0.8,
        "quote": line.strip(),
        "suggestion": None,
        **changes,
    }


def answer(*findings: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A findings answer; it keeps the contract unless ``changes`` break it."""
    return {
        "conclusion": "Read the files of the question and what they call.",
        "files": "those named in the question",
        "open_items": "none",
        "verification": "read line by line",
        "verdict": "request-changes" if findings else "approve",
        "examined": sorted({str(f["file"]) for f in findings}) or ["shop"],
        "findings": list(findings),
        **changes,
    }


@dataclass(frozen=True)
class Run:
    """What one ``pytest panels/`` left behind."""

    code: int
    output: str
    calls: Sequence[Call]
    repository: Path
    left: Sequence[str] = field(default_factory=tuple)
    """Command lines that still run after it."""

    @property
    def reports(self) -> Path:
        """``reports/latest``."""
        return self.repository / "reports" / "latest"

    @property
    def report(self) -> dict[str, Any]:
        """The document as the reports folder has it."""
        document: dict[str, Any] = json.loads((self.reports / "report.json").read_text())
        return document

    @property
    def path(self) -> Path:
        """The run directory."""
        return self.repository / ".prun" / "runs" / str(self.report["run_id"])

    def of(self, vendor: str) -> list[Call]:
        """The requests of one vendor's program."""
        return [call for call in self.calls if call.vendor == vendor]

    def codes(self, outcome: str, folder: str) -> list[str]:
        """The reason codes that led a folder to an outcome, sorted."""
        reasons = self.report["verdict"]["reasons"]
        return sorted(r["code"] for r in reasons if (r["outcome"], r["folder"]) == (outcome, folder))

    def unit(self, case: str, executor: str) -> dict[str, Any]:
        """The unit of a case whose id holds ``case``."""
        units: list[dict[str, Any]] = self.report["units"]
        [found] = [u for u in units if case in u["case"] and u["executor"] == executor]
        return found

    def attempts(self, executor: str) -> list[Path]:
        """The attempt directories of an executor."""
        slugs = [u["slug"] for u in self.report["units"] if u["executor"] == executor]
        return [p.parent for slug in slugs for p in sorted((self.path / "units" / slug).glob("*/argv.json"))]


@dataclass
class Shop:
    """A copy of the shop, and surroundings with nothing in them but dummy keys.

    ``programs`` are put on PATH as ``codex`` and ``claude``; without them the packages must be found.
    """

    root: Path
    programs: Mapping[str, Located] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("home", "bin"):
            (self.root / name).mkdir(parents=True)
        (self.root / "bin" / "git").symlink_to(_program("git"))
        for name, located in self.programs.items():
            (self.root / "bin" / name).symlink_to(located.argv[0])
        shutil.copytree(SHOP, self.repository, ignore=shutil.ignore_patterns("reports", ".*", "__pycache__"))
        self._plant()
        self.git("init", "-q")

    @property
    def repository(self) -> Path:
        """The repository under review."""
        return self.root / "repository"

    @property
    def marker(self) -> Path:
        """Made by whatever of the reviewed tree is executed."""
        return self.root / "ran"

    @property
    def env(self) -> dict[str, str]:
        """The whole environment of pytest."""
        return {"PATH": f"{SCRIPTS}:{self.root}/bin", "HOME": str(self.root / "home"), **KEYS}

    def git(self, *args: str) -> None:
        """Run git in the repository."""
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *args], cwd=self.repository, env=self.env, check=True)

    def _plant(self) -> None:
        """Files that would instruct an agent or run something, if it took them for its own."""
        touch = _program("touch")
        hook = {
            "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"{touch} {self.marker}"}]}]}
        }
        server = {"command": touch, "args": [str(self.marker)]}
        skill = f"---\nname: canary\ndescription: {CANARY}\n---\n{CANARY}\n"
        files = {
            "CLAUDE.md": CANARY,
            "AGENTS.md": CANARY,
            "shop/CLAUDE.md": CANARY,
            "shop/AGENTS.md": CANARY,
            ".claude/settings.json": json.dumps(hook),
            ".claude/skills/canary/SKILL.md": skill,
            ".mcp.json": json.dumps({"mcpServers": {"canary": server}}),
            ".codex/config.toml": f'[mcp_servers.canary]\ncommand = "{touch}"\nargs = ["{self.marker}"]\n',
            ".codex/hooks.json": json.dumps(hook),
            ".agents/skills/canary/SKILL.md": skill,
        }
        for name, text in files.items():
            path = self.repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def review(self, rules: Sequence[Rule], *args: str) -> Run:
        """``pytest panels/ ARGS`` with both programs asking our server."""
        with ModelServer(rules) as server:
            table = (SHOP / "pyproject.toml").read_text() + (
                "retries = 1\nretry_wait = 0.1\n"
                "[tool.prun_review.executor.codex]\n"
                f'model = "{MODEL}"\nenv = ["MOCK_KEY"]\nargs = {json.dumps(server.codex_args())}\n'
            )
            (self.repository / "pyproject.toml").write_text(table)
            self.git("add", "-A")
            self.git("commit", "-q", "-m", "under review")
            done = subprocess.run(
                [str(SCRIPTS / "pytest"), "panels/", *args],
                cwd=self.repository,
                env={**self.env, "ANTHROPIC_BASE_URL": server.anthropic_url},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=150,
            )
        return Run(done.returncode, done.stdout.decode(), server.calls, self.repository, self._running())

    def gate(self) -> tuple[int, dict[str, Any]]:
        """``prun-review gate --json`` on the latest run: exit status and verdict."""
        argv = [str(SCRIPTS / "prun-review"), "gate", "--json"]
        done = subprocess.run(argv, cwd=self.repository, env=self.env, capture_output=True, timeout=60)
        return done.returncode, json.loads(done.stdout)

    def _running(self) -> list[str]:
        """Processes of these surroundings: each has a path of ours in its environment or arguments."""
        found = []
        for process in Path("/proc").iterdir():
            try:
                environ, command = ((process / name).read_bytes() for name in ("environ", "cmdline"))
            except OSError:  # no process, or one that has just ended
                continue
            if os.fsencode(self.root) in environ + command:
                found.append(f"{process.name} {command!r}")
        return found


def _program(name: str) -> str:
    found = shutil.which(name)
    assert found, f"these tests need {name}"
    return found
