"""The real codex and claude do the tasks of three waves; the middle one fails in part, two clash."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prun_review import rundir
from prun_review.vault import Vault
from tests import repokit
from tests.modelserver import FREEFORM, ModelServer, Reply, Rule
from tests.real.reaching import SHELL
from tests.real.shop import KEYS, SCRIPTS

DIR = "parallel/TS-0012-shop"
TASK = "---\nid: {id}\ncomponent: shop\nwave: {wave}\ndeps: [{deps}]\nexecutor: {by}\n---\n# {head}\n"
TOLD = "# This is the second time"
CPO = "import sys; from prun_review.cli.cpo import main; sys.exit(main())"
WAYS = {
    "cpo run": ("-c", CPO, "run", f"{DIR}/"),
    "-n0": ("-m", "pytest", DIR, "-n0"),
    "-n 2": ("-m", "pytest", DIR, "-n", "2"),
}
"""How a directory of waves is run, as arguments of the interpreter."""


def codex(patch: str, *, done: bool = True) -> Reply:
    """How codex applies a patch, and says that it is done."""
    whole = f"*** Begin Patch\n{patch}*** End Patch\n"
    signal = [("exec_command", {"cmd": "touch .claude-task-complete"})] * done
    return Reply(text="It is done.", tools=(("apply_patch", {FREEFORM: whole}), *signal))


def claude(*tools: tuple[str, dict[str, Any]], done: bool = True) -> Reply:
    """The same for claude, with the tools that it uses."""
    signal = [("Bash", {"command": "touch .claude-task-complete", "description": "done"})] * done
    return Reply(text="It is done.", tools=(*tools, *signal))


def edit(old: str, new: str) -> tuple[str, dict[str, Any]]:
    return "Edit", {"file_path": "src/shop.py", "old_string": old, "new_string": new}


READ = ("Read", {"file_path": "src/shop.py"})


class Shop:
    """A project whose executors ask our server."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.repo = root / "project"
        self.output = ""

    def make(self, server: ModelServer, *tasks: tuple[str, int, str, str]) -> None:
        (self.root / "home").mkdir(parents=True)
        table = (
            "[tool.prun_review]\nretries = 0\n[tool.prun_review.executor.codex]\n"
            f'model = "{SHELL}"\nenv = ["MOCK_KEY"]\nargs = {json.dumps(server.codex_args())}\n'
        )
        waves = [
            {"number": n, "tasks": [{"id": t[0], "agent": "shop-expert"} for t in tasks if t[1] == n]}
            for n in sorted({t[1] for t in tasks})
        ]
        content: dict[str, str | bytes] = {
            "pyproject.toml": table,
            "src/shop.py": "def price(): return 3\n",
            ".gitignore": f"{DIR}/logs/\n{DIR}/report.json\n",
            f"{DIR}/manifest.json": json.dumps({"tech_spec_id": "TS-0012", "waves": waves}),
            f"{DIR}/context.md": "# The shop\n",
        }
        for name, wave, by, deps in tasks:
            head = f"{name[:8]}: {name[9:].title()}"
            text = TASK.format(id=name, wave=wave, by=by, deps=deps, head=head)
            content[f"{DIR}/tasks/{name}.md"] = text
        repokit.repository(self.repo, content)

    def run(self, server: ModelServer, *way: str) -> tuple[int, dict[str, Any]]:
        """Exit status and document of ``prun-review run DIR``, or of another way to run it."""
        env = {"PATH": f"{SCRIPTS}:/usr/bin:/bin", "HOME": str(self.root / "home"), "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            [sys.executable, *(way or ("-m", "prun_review", "run", DIR))],
            cwd=self.repo,
            env={**env, **KEYS, "ANTHROPIC_BASE_URL": server.anthropic_url},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=400,
        )
        self.output = done.stdout.decode(errors="replace")
        return done.returncode, json.loads((self.repo / DIR / "report.json").read_text())

    def accepted(self, document: dict[str, Any], name: str) -> str:
        """A file as it is in the whole."""
        vault = Vault.open(next(rundir.stored(self.repo)) / "git")
        entries = [e for e in vault.entries(document["head"]) if e.name == name.encode()]
        return b"".join(vault.contents(entries)).decode()


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "w")


def states(document: dict[str, Any]) -> dict[str, str]:
    return {task["short"]: f"{task['status']}:{task['reason']}" for task in document["tasks"]}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_three_waves_with_a_failing_middle_task(shop: Shop, way: tuple[str, ...]) -> None:
    rules = [
        Rule("TASK-001: Tax", codex("*** Add File: src/tax.py\n+def tax(price): return price / 5\n")),
        Rule("TASK-002: Sale", claude(READ, edit("return 3", "return 4"), done=False)),
        Rule(
            "TASK-003: Rate",
            codex(
                "*** Update File: src/tax.py\n@@\n-def tax(price): return price / 5\n"
                "+def tax(price): return price / 4\n"
            ),
        ),
        Rule("TASK-004: Shelf", codex("*** Add File: src/shelf.py\n+x = 1\n")),
        Rule(
            "TASK-005: Bill",
            claude(
                ("Read", {"file_path": "src/tax.py"}),
                ("Edit", {"file_path": "src/tax.py", "old_string": "price / 4", "new_string": "price / 3"}),
                ("Write", {"file_path": "src/bill.py", "content": "from src.tax import tax\n"}),
            ),
        ),
    ]
    tasks = [
        ("task-001-tax", 1, "codex", ""),
        ("task-002-sale", 2, "sonnet", "task-001"),
        ("task-003-rate", 2, "codex", "task-001"),
        ("task-004-shelf", 3, "codex", "task-002"),
        ("task-005-bill", 3, "sonnet", "task-003"),
    ]
    with ModelServer(rules) as server:
        shop.make(server, *tasks)
        before = repokit.git(shop.repo, "for-each-ref"), repokit.git(shop.repo, "status", "--porcelain")
        code, document = shop.run(server, *way)
    assert states(document) == {
        **{"task-001": "succeeded:ok", "task-002": "failed:no-marker", "task-003": "succeeded:ok"},
        **{"task-004": "skipped:dependency", "task-005": "succeeded:ok"},
    }, shop.output
    assert code == 1
    assert not [call for call in server.calls if "TASK-004: Shelf" in call.prompt]
    assert shop.accepted(document, "src/tax.py") == "def tax(price): return price / 3\n"
    assert shop.accepted(document, "src/shop.py") == "def price(): return 3\n"
    kept = Path(document["tasks"][1]["patch"]["kept"])
    assert (kept / "src/shop.py").read_text() == "def price(): return 4\n"
    after = repokit.git(shop.repo, "for-each-ref"), repokit.git(shop.repo, "status", "--porcelain")
    assert after == before


def test_two_vendors_that_edit_the_same_line_and_the_later_one_again(shop: Shop) -> None:
    first = "*** Update File: src/shop.py\n@@\n-def price(): return 3\n+def price(): return 30\n"
    rules = [
        Rule("TASK-002: Sale", claude(READ, edit("return 30", "return 30 - 1")), also=TOLD),
        Rule("TASK-002: Sale", claude(READ, edit("return 3", "return 3 - 1"))),
        Rule("TASK-001: Tax", codex(first)),
    ]
    with ModelServer(rules) as server:
        shop.make(server, ("task-001-tax", 1, "codex", ""), ("task-002-sale", 1, "sonnet", ""))
        code, document = shop.run(server)
    assert (code, document["status"]) == (0, "completed"), shop.output
    assert [task["reopened"] for task in document["tasks"]] == [0, 1]
    assert shop.accepted(document, "src/shop.py") == "def price(): return 30 - 1\n"
    [again] = {call.prompt for call in server.calls if TOLD in call.prompt}
    assert "+def price(): return 3 - 1" in again
    assert "+def price(): return 30" not in again.split("PATCH")[-1]
