"""A small project with a base and a change, two stand-in vendors, and reviews of it as real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prun_review.publicnames import public_name
from tests import repokit

VENDOR = Path(__file__).with_name("vendor.py")
PROGRAMS = Path(sys.executable).parent
NAMES = ("left", "right")

PROBE = '''
from prun_review import brief

@brief(scope="diff", reads=["**"])
def probe_change(result):
    """What does this change break?"""
'''
"""One question about every changed file."""

AUTH = '''"""Who may do what."""

PERIOD = 30


def load(user):
    """The account of a user."""
    return {"name": user}


def handle(request):
    """Answer one request."""
    user = request["user"]
    if not request.get("token"):
        raise PermissionError("who is it")
    return load(user)


def forget(user):
    """Take an account away."""
    account = load(user)
    account.clear()
    return account
'''
SHOP = '''"""What is sold."""

from src.auth import load


def greet(name):
    """A line for the front page."""
    account = load(name)
    return "hello " + account["name"]
'''
BASE: Mapping[str, str] = {
    "src/auth.py": AUTH,
    "src/shop.py": SHOP,
    "docs/guide.md": "# Guide\n\nHow to shop.\n",
}

Content = Mapping[str, "str | bytes | None"]
"""File -> what it becomes; None: it is deleted."""


def defect(title: str, file: str, line: int | None, quote: str | None, **changes: Any) -> dict[str, Any]:
    """A severe finding as a vendor tells it; ``told``: words of the prompt that it depends on."""
    return {
        "title": title,
        "detail": f"{title}, which whoever calls it does not expect.",
        "file": file,
        "line": line,
        "end_line": line,
        "severity": "high",
        "category": "security",
        "confidence": 0.9,
        "quote": quote,
        "suggestion": None,
        "side": None,
        "cause": None,
        **changes,
    }


@dataclass(frozen=True)
class Done:
    """How a process ended."""

    code: int
    output: str


class Scene:
    """The trusted root with its repository; ``home`` and scenario lie beside it."""

    def __init__(
        self,
        folder: Path,
        *,
        probe: str = PROBE,
        config: str = "",
        base: Content = BASE,
        names: Sequence[str] = NAMES,
        further: str = "",
    ) -> None:
        """``config`` goes into ``[tool.prun_review]``, ``further`` behind the executors' tables."""
        self.folder = folder
        self.path = folder / "project"
        self.scenario = folder / "scenario.json"
        (folder / "home").mkdir(parents=True)
        self.path.mkdir()
        self.names = tuple(names)
        self.git("init", "-q", "-b", "main")
        (self.path / ".git/info/exclude").write_text("__pycache__/\nreports/\n")
        self._spoken: set[str] = set()
        self._last = ""
        project = {"pyproject.toml": self.table(config, further), "panels/probe_change.py": probe}
        self.commit({**project, **base})
        self.git("checkout", "-q", "-b", "topic")
        self.answers({})

    def table(self, config: str = "", further: str = "") -> str:
        """The trusted root's pyproject.toml."""
        lines = ["[tool.pytest.ini_options]", 'addopts = ""', "[tool.prun_review]"]
        lines += [f"executors = {json.dumps(self.names)}", "retries = 0", "retry_wait = 0.05", config]
        for name in self.names:
            argv = [sys.executable, "-I", "-S", str(VENDOR), str(self.scenario), name]
            lines += [f"[tool.prun_review.executor.{name}]", 'type = "command"']
            lines += [f'vendor = "vendor-{name}"', f'lineage = "lineage-{name}"']
            lines.append(f"argv = {json.dumps(argv)}")
        return "\n".join([*lines, further, ""])

    def git(self, *args: str, where: Path | None = None, stdin: bytes = b"") -> str:
        """What git prints."""
        return repokit.git(where or self.path, *args, stdin=stdin)

    def write(self, content: Content, where: Path | None = None) -> None:
        """Change the work tree."""
        root = where or self.path
        repokit.write(root, {name: data for name, data in content.items() if data is not None})
        for name, data in content.items():
            if data is None:
                (root / name).unlink()

    def commit(self, content: Content | None = None, where: Path | None = None) -> str:
        """Commit everything, after these changes; the SHA."""
        self.write(content or {}, where)
        self.git("add", "-A", where=where)
        self.git("commit", "-q", "--allow-empty", "-m", "state", where=where)
        return self.git("rev-parse", "HEAD", where=where)

    def answers(self, *rules: Mapping[str, Any]) -> None:
        """What the vendors answer; see vendor.py."""
        listed = {*self._listed("main"), *self._listed("HEAD"), *self._spoken}
        self.scenario.write_text(json.dumps({"rules": rules, "names": sorted(listed)}), encoding="utf-8")

    def _listed(self, revision: str) -> list[str]:
        """The files of a revision, as reviewers are told their names."""
        raw = self.git("ls-tree", "-r", "-z", "--name-only", revision).split("\0")[:-1]
        return [public_name(os.fsencode(name)) for name in raw]

    def knows(self, *names: str) -> None:
        """Names that the vendors may claim to have examined beyond those of ``main`` and HEAD."""
        self._spoken |= set(names)

    def both(self, *findings: Mapping[str, Any]) -> None:
        """Both vendors tell the same; nothing: both approve."""
        self.answers({"findings": findings})

    @property
    def env(self) -> dict[str, str]:
        """The whole environment of what is run: nobody's login, no CI."""
        return {
            "PATH": f"{PROGRAMS}:{os.defpath}",
            "HOME": str(self.folder / "home"),
            "LC_ALL": "C.UTF-8",
            # Other plugins cost every process half a second.
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }

    def start(
        self, argv: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> Done:
        """Run a program to its end, in the trusted root."""
        done = subprocess.run(
            argv,
            cwd=cwd or self.path,
            env=self.env if env is None else env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
        )
        self._last = done.stdout.decode(errors="replace")
        return Done(done.returncode, self._last)

    def review(self, *args: str, base: str = "main", cwd: Path | None = None, **env: str) -> Done:
        """``pytest panels/ --prun-base BASE ARGS``."""
        plugins = [word for name in ("prun_review.plugin", "xdist.plugin") for word in ("-p", name)]
        argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugins]
        argv += [*(["--prun-base", base] if base else []), "panels/", *args]
        return self.start(argv, cwd, {**self.env, **env})

    def cli(self, *args: str, cwd: Path | None = None, **env: str) -> Done:
        """``prun-review ARGS``."""
        return self.start([sys.executable, "-m", "prun_review", *args], cwd, {**self.env, **env})

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Every dispatch so far."""
        path = Path(f"{self.scenario}.calls")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def report(self) -> Report:
        """The document of the latest run."""
        path = self.path / "reports/latest/report.json"
        assert path.exists(), self._last
        return Report(json.loads(path.read_text()))


class Report:
    """The document of a run, in the words of these tests."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document

    @property
    def outcome(self) -> str:
        """PASS, FAIL or INCOMPLETE."""
        word: str = self.document["verdict"]["outcome"]
        return word

    @property
    def line(self) -> str:
        """The verdict as one line."""
        line: str = self.document["verdict"]["line"]
        return line

    def codes(self, *outcomes: str) -> set[str]:
        """Codes of the reasons that led to these outcomes; of all that forbid PASS where none is named."""
        wanted = outcomes or ("FAIL", "INCOMPLETE")
        return {r["code"] for r in self.document["verdict"]["reasons"] if r["outcome"] in wanted}

    def text(self, code: str) -> str:
        """What a reason says; empty where there is none of that code."""
        return "\n".join(r["text"] for r in self.document["verdict"]["reasons"] if r["code"] == code)

    @property
    def changed(self) -> dict[str, tuple[str, str, str]]:
        """Changed file -> status, kind, old name."""
        return {f["path"]: (f["status"], f["kind"], f["old_path"]) for f in self.document["change"]["files"]}

    @property
    def placed(self) -> dict[str, tuple[str, bool]]:
        """Title -> placement and whether the change caused it, the same for all who hold it."""
        found: dict[str, tuple[str, bool]] = {}
        for group in self.document["findings"]:
            for member in group["members"]:
                where = (member["placement"], member["caused"])
                assert found.setdefault(member["title"], where) == where, group
        return found

    @property
    def blocking(self) -> set[str]:
        """Titles of the findings that decide."""
        return {group["title"] for group in self.document["findings"] if group["blocking"]}

    @property
    def units(self) -> list[dict[str, Any]]:
        """The units."""
        rows: list[dict[str, Any]] = self.document["units"]
        return rows
