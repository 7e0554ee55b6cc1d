"""Who can write code, what their command lines then are, and what they may see."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review.config import load
from prun_review.executors import built_in, claude_rules, footprint
from prun_review.executors.claude import Claude
from prun_review.executors.codex import Codex
from prun_review.executors.command import AnyCommand
from prun_review.model import Brief, Contract, Exit
from prun_review.ports import Executor, Output, Request
from prun_review.written import WRITING
from tests import needing
from tests.executors.driving import FAKE, Bench, options, started
from tests.writing.desk import repository

COMMAND: Mapping[str, Any] = {"type": "command", "vendor": "v", "lineage": "l", "argv": ["/bin/sh"]}
ANALYSER = {**COMMAND, "type": "analyser", "reader": "sarif", "argv": ["/opt/tool", "{files}"]}
INBOX = {"type": "inbox", "vendor": "v", "lineage": "l", "inbox": ".inbox"}


@pytest.mark.parametrize(
    ("name", "table", "kinds"),
    [
        ("codex", {}, {"change", "task"}),
        ("sonnet", {}, {"change", "task"}),
        ("own", COMMAND, set()),
        ("own", {**COMMAND, "contracts": ["task"]}, {"task"}),
        ("own", {**COMMAND, "contracts": ["findings", "change"]}, {"change"}),
        ("ruff", {}, set()),
        ("own", ANALYSER, set()),
        ("own", INBOX, set()),
    ],
)
def test_who_can_write(name: str, table: dict[str, Any], kinds: set[str]) -> None:
    executor = built_in(load({"executor": {name: table}} if table else {}))[name]
    assert executor.contracts & set(WRITING) == kinds


@pytest.mark.parametrize("name", ["codex", "sonnet", "own"])
@pytest.mark.parametrize("contained", [True, False])
def test_the_profile_untrusted_refuses_all_of_them(name: str, contained: bool) -> None:
    executor = built_in(load({"executor": {"own": {**COMMAND, "contracts": ["change"]}}}))[name]
    brief = Brief("p", Contract("change"), access="write", mode="write")
    assert "it changes files, and runs the code that it writes" in executor.exposes(
        brief, {}, contained=contained
    )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    repository(bench.tree)
    return bench


def writing(bench: Bench, executor: Executor, access: str = "write") -> Request:
    request = bench.request(executor, located=FAKE)
    brief = Brief("p", Contract("change"), access=access, mode="write")
    return replace(request, unit=replace(request.unit, brief=brief))


def after(argv: tuple[str, ...], option: str) -> list[str]:
    """The words that an option takes."""
    rest = argv[argv.index(option) + 1 :]
    end = next((n for n, word in enumerate(rest) if word.startswith("--")), len(rest))
    return list(rest[:end])


def test_claude_edits_and_runs_what_is_listed(bench: Bench) -> None:
    executor = Claude.configured(load({}).executor("sonnet"))
    argv = executor.command(writing(bench, executor)).argv
    assert options(argv)["--permission-mode"] == ["acceptEdits"]
    assert options(argv)["--tools"] == ["Read,Grep,Glob,Edit,Write,Bash"]
    allowed, denied = after(argv, "--allowedTools"), after(argv, "--disallowedTools")
    assert {"Bash(git status)", "Bash(git diff *)", "Bash(pytest *)", "Bash(python -m pytest)"} <= set(
        allowed
    )
    assert "Bash" not in allowed
    assert {"Bash(git push)", "Bash(git push *)", "Bash(git commit *)", "Bash(git -c *)"} <= set(denied)
    assert not {c.split()[1] for c in claude_rules.COMMANDS if c.startswith("git ")} & set(claude_rules.NEVER)


def test_claude_with_full_access_runs_all_but_gits_history(bench: Bench) -> None:
    executor = Claude.configured(load({}).executor("sonnet"))
    argv = executor.command(writing(bench, executor, "full")).argv
    assert after(argv, "--allowedTools") == ["Bash"]
    assert "Bash(git push *)" in after(argv, "--disallowedTools")


def test_the_list_of_commands_is_configured(bench: Bench) -> None:
    tables = {"sonnet": {"write_commands": ["npm test", "make check"]}}
    executor = Claude.configured(load({"executor": tables}).executor("sonnet"))
    argv = executor.command(writing(bench, executor)).argv
    assert after(argv, "--allowedTools") == [
        *("Bash(npm test)", "Bash(npm test *)", "Bash(make check)", "Bash(make check *)")
    ]
    assert executor.identity != Claude.configured(load({}).executor("sonnet")).identity


def test_a_review_is_asked_as_before(bench: Bench) -> None:
    executor = Claude.configured(load({}).executor("sonnet"))
    argv = executor.command(bench.request(executor, located=FAKE)).argv
    assert options(argv)["--tools"] == ["Read,Grep,Glob"]
    assert "--disallowedTools" not in argv
    env = executor.command(bench.request(executor, located=FAKE)).env
    assert "GIT_CONFIG_GLOBAL" not in env


def test_codex_writes_its_copy_but_not_its_git_directory(bench: Bench) -> None:
    (bench.tree / ".codex").symlink_to("src")
    executor = Codex.configured(load({}).executor("codex"))
    argv = " ".join(executor.command(writing(bench, executor)).argv)
    assert '":workspace_roots"={"."="write",".git"="read"}' in argv
    assert '":tmpdir"="write"' in argv
    assert '":root"' not in argv
    assert 'permissions.prun-review.network={"enabled"=false}' in argv
    assert '"GIT_CONFIG_GLOBAL"' in argv
    full = " ".join(executor.command(writing(bench, executor, "full")).argv)
    assert '":root"="read"' in full
    review = " ".join(executor.command(bench.request(executor, located=FAKE)).argv)
    assert '":workspace_roots"={"."="read"}' in review
    assert '"GIT_CONFIG_GLOBAL"' not in review


@pytest.mark.parametrize("kind", [Codex, Claude])
def test_the_tools_on_path_are_there_for_it(bench: Bench, kind: type[Codex | Claude]) -> None:
    venv = Path(sys.executable).parent
    bench.env["PATH"] = f"{venv}:/usr/bin:/bin:nowhere"
    executor = kind.configured(load({}).executor("codex" if kind is Codex else "sonnet"))
    command = executor.command(writing(bench, executor))
    assert set(footprint.of_tools([str(venv)])) <= set(command.readable)
    assert venv.parent in command.readable or venv in command.readable
    plain = executor.command(bench.request(executor, located=FAKE))
    assert venv not in plain.readable


def test_of_a_folder_on_path_no_home_is_shown(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python3").write_text("#!/bin/sh\n")
    assert footprint.of_tools([f"{home}/bin", "/usr/bin", f"{home}/nowhere"]) == (home / "bin",)
    (home / "lib" / "python3.11").mkdir(parents=True)
    assert footprint.of_tools([f"{home}/bin"]) == (home / "bin", home)


@pytest.mark.parametrize("mode", ["write", "review"])
def test_contained_only_what_writes_may_write_the_tree(bench: Bench, mode: str) -> None:
    needing.bubblewrap()
    executor = AnyCommand.configured(
        load({"executor": {"own": {**COMMAND, "contracts": ["change"]}}}).executor("own")
    )
    request = replace(bench.request(executor), contained=True)
    brief = replace(request.unit.brief, mode=mode)
    request = replace(request, unit=replace(request.unit, brief=brief))
    command = replace(executor.command(request), argv=("/bin/sh", "-c", "echo x > new; echo y > ../beside"))
    (bench.root / "beside").write_text("x")
    subprocess.run(
        started(request, command), env=dict(command.env), cwd=command.cwd, capture_output=True, timeout=60
    )
    assert (bench.tree / "new").exists() == (mode == "write")
    assert (bench.root / "beside").read_text() == "x"


@pytest.mark.parametrize(("kind", "answered"), [("task", True), ("change", False)])
def test_a_command_may_do_a_task_in_silence(bench: Bench, kind: str, answered: bool) -> None:
    table = {**COMMAND, "contracts": ["change", "task"]}
    executor = AnyCommand.configured(load({"executor": {"own": table}}).executor("own"))
    request = bench.request(executor)
    brief = Brief("p", Contract(kind), access="write", mode="write")
    request = replace(request, unit=replace(request.unit, brief=brief))
    reading = executor.read(Output(Exit(0), b"", b""), request)
    assert (reading.status == "answered") == answered
