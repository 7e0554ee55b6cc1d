"""The real codex and claude write code through their tools, in a copy and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from prun_review.config import load
from prun_review.contract import KINDS
from prun_review.executors.claude import Claude
from prun_review.executors.codex import Codex
from prun_review.judging import judge
from prun_review.model import Contract, Reading, Result, Unit
from prun_review.ports import Located, Missing, Output, Request
from tests.executors.driving import Bench
from tests.modelserver import FREEFORM, Call, ModelServer, Reply, Rule
from tests.real.reaching import SHELL
from tests.writing.desk import HandBench, HandCopy, git

ANSWER = {
    **{"conclusion": "doubled", "files": "src/a.py", "open_items": "none", "verification": "read"},
    **{"completed": True, "changed_files": ["src/a.py", "src/b.py"], "summary": "twice doubles now"},
    **{"tests_run": None, "tests_passed": None, "tests_failed": None},
}
PATCH = """\
*** Begin Patch
*** Update File: src/a.py
@@
-    return x
+    return 2 * x
*** Add File: src/b.py
+def thrice(x):
+    return 3 * x
*** End Patch
"""
WRITTEN = {"src/a.py": "    return 2 * x\n", "src/b.py": "def thrice(x):\n    return 3 * x\n"}


@dataclass
class Place:
    """A user's repository, a run, and one copy."""

    root: Path
    bench: Bench = field(init=False)
    copy: HandCopy = field(init=False)

    def __post_init__(self) -> None:
        self.bench = Bench(self.root / "bench")
        unit = Unit("u", "u", "c", "f", "e", self.brief_of("e").brief)
        (self.root / "units" / "u").mkdir(parents=True)
        self.copy = HandBench(self.root / "copies").open(unit, self.root / "units" / "u" / "1")
        (self.root / "other").mkdir()

    def brief_of(self, name: str) -> Unit:
        from prun_review.probes import resolve

        brief = resolve(
            {"mode": "write", "scope": ["src"]},
            docstring="Make twice() double.",
            params={},
            folder=self.root,
            timeout=90,
        )
        return Unit("u", "u", "c", "f", name, brief)

    def ask(
        self, programs: dict[str, Located], name: str, tools: list[tuple[str, dict[str, Any]]], **how: Any
    ) -> tuple[list[Call], Output, Reading, Request]:
        """One dispatch of a real program whose model calls these tools and then answers."""
        with ModelServer([Rule("", Reply(ANSWER, tools=tuple(tools)))]) as server:
            if name == "codex":
                table = {"args": list(server.codex_args()), "env": ["MOCK_KEY"], "model": SHELL}
                self.bench.env["MOCK_KEY"] = "dummy"
                executor: Codex | Claude = Codex.configured(load({"executor": {name: table}}).executor(name))
            else:
                executor = Claude.configured(load({}).executor(name))
                self.bench.env |= {
                    "ANTHROPIC_API_KEY": "sk-ant-dummy",
                    "ANTHROPIC_BASE_URL": server.anthropic_url,
                }
            unit = self.brief_of(name)
            unit = replace(unit, brief=replace(unit.brief, **how.pop("brief", {})))
            request = self.bench.request(
                executor, located=programs[name], schema=KINDS["change"].schema(Contract("change"))
            )
            request = replace(request, unit=unit, tree=self.copy.path, **how)
            _, output, reading = self.bench.run(executor, request, timeout=120)
            vendor = "openai" if name == "codex" else "anthropic"
            return server.of(vendor), output, reading, request

    def judged(self, reading: Reading, name: str) -> Result:
        return judge(
            reading, self.brief_of(name), KINDS["change"], lambda path: Missing("x"), attempts=1, seconds=1
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "place")


def edits(place: Place, name: str) -> list[tuple[str, dict[str, Any]]]:
    """The same work through the tools of each vendor."""
    if name == "codex":
        return [("apply_patch", {FREEFORM: PATCH})]
    tree = place.copy.path
    edit = {"file_path": f"{tree}/src/a.py", "old_string": "return x", "new_string": "return 2 * x"}
    write = {"file_path": f"{tree}/src/b.py", "content": WRITTEN["src/b.py"]}
    return [("Read", {"file_path": f"{tree}/src/a.py"}), ("Edit", edit), ("Write", write)]


@pytest.mark.parametrize("contained", [False, True])
@pytest.mark.parametrize("name", ["codex", "sonnet"])
def test_the_patch_is_what_it_wrote(
    place: Place, programs: dict[str, Located], name: str, contained: bool
) -> None:
    calls, output, reading, _ = place.ask(programs, name, edits(place, name), contained=contained)
    assert reading.status == "answered", output
    patch = place.copy.harvest(place.brief_of(name))
    assert [(f.path, f.status) for f in patch.files] == [("src/a.py", "modified"), ("src/b.py", "added")], (
        calls[-1].tool_results
    )
    text = place.copy.patch_file.read_text()
    for name_, lines in WRITTEN.items():
        assert f"+++ b/{name_}" in text
        assert all(f"+{line}" in text.splitlines() for line in lines.splitlines())
    result = place.judged(reading, name)
    assert (result.status, result.violations) == ("valid", ())
    assert result.answer is not None
    assert result.answer.claim is not None
    assert result.answer.claim.files == ("src/a.py", "src/b.py")


@pytest.mark.parametrize("contained", [False, True])
def test_codex_writes_its_copy_and_nothing_else(
    place: Place, programs: dict[str, Located], contained: bool
) -> None:
    other = place.root / "other"
    outside = f"*** Begin Patch\n*** Add File: {other}/patched\n+x\n*** End Patch\n"
    tools: list[tuple[str, dict[str, Any]]] = [
        ("exec_command", {"cmd": "echo inside > src/c.py; echo $? status; python3 -c 'print(6 * 7)'"}),
        ("exec_command", {"cmd": f"touch {other}/touched"}),
        (
            "exec_command",
            {
                "cmd": "echo '[alias] x = !touch x' >> .git/config; touch .git/hooks/pre-commit;"
                " git commit -qam x"
            },
        ),
        ("apply_patch", {FREEFORM: outside}),
        ("exec_command", {"cmd": "git status --short; echo x > $TMPDIR/scratch && echo scratch is there"}),
    ]
    before = git(place.copy.path, "rev-parse", "HEAD"), (place.copy.path / ".git/config").read_text()
    calls, output, reading, _ = place.ask(programs, "codex", tools, contained=contained)
    assert reading.status == "answered", output
    said = calls[-1].tool_results
    assert "0 status" in said[0]
    assert "42" in said[0]
    assert "?? src/c.py" in said[-1]
    assert "scratch is there" in said[-1]
    assert list(other.iterdir()) == [], said
    assert not (place.copy.path / ".git/hooks/pre-commit").exists(), said
    after = git(place.copy.path, "rev-parse", "HEAD"), (place.copy.path / ".git/config").read_text()
    assert after == before, said


@pytest.mark.parametrize("access", ["write", "full"])
def test_claude_is_denied_gits_history_and_remotes(
    place: Place, programs: dict[str, Located], access: str
) -> None:
    remote = place.root / "remote.git"
    git(place.root, "init", "-q", "--bare", str(remote))
    tree = place.copy.path
    git(tree, "remote", "add", "origin", str(remote))
    (tree / "src/a.py").write_text("x = 1\n")
    denied = [
        "git push origin prun",
        "git commit -qam x",
        "git status && git commit -qam x",
        "git -c user.name=x -c user.email=y@z.example commit -qam x",
        f"git -C {tree} commit -qam x",
        f"git --git-dir={tree}/.git --work-tree={tree} tag t",
        "git checkout -b other",
        "git branch other",
        "git tag t",
        "git reset --hard",
        "git stash",
    ]
    allowed = ["git status --short", "git diff --stat", "git log --oneline", "ls src", "cat README.md"]
    tools = [("Bash", {"command": c, "description": "x"}) for c in (*denied, *allowed)]
    calls, output, reading, _ = place.ask(programs, "sonnet", tools, brief={"access": access})
    assert reading.status == "answered", output
    said = calls[-1].tool_results
    told = dict(zip((*denied, *allowed), said, strict=True))
    assert not [c for c in denied if "has been denied" not in told[c]], told
    assert git(tree, "log", "--all", "--format=%s").split() == ["base"], told
    assert git(tree, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/prun"]
    assert git(remote, "for-each-ref") == ""
    assert (tree / "src/a.py").read_text() == "x = 1\n"
    assert " M src/a.py" in told["git status --short"]
    assert "base" in told["git log --oneline"]
    assert "# Shop" in told["cat README.md"]


def test_claude_runs_tests_and_no_other_program(place: Place, programs: dict[str, Located]) -> None:
    other = place.root / "other"
    commands = [
        f"touch {other}/touched",
        f'python3 -c \'open("{other}/opened", "w")\'',
        f"curl -o {other}/fetched http://127.0.0.1:9/",
        "python3 -m unittest src.a; echo ran",
        "mkdir -p src/new && touch src/new/x && rm src/new/x",
    ]
    tools: list[tuple[str, dict[str, Any]]] = [
        *[("Bash", {"command": c, "description": "x"}) for c in commands],
        ("Write", {"file_path": f"{other}/written", "content": "x"}),
    ]
    calls, output, reading, _ = place.ask(programs, "sonnet", tools)
    assert reading.status == "answered", output
    said = calls[-1].tool_results
    assert list(other.iterdir()) == [], said
    assert "Ran 0 tests" in said[3] or "NO TESTS RAN" in said[3], said[3]
    assert (place.copy.path / "src/new").is_dir(), said[4]
