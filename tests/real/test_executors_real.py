"""The real codex and claude against our model server: command lines, isolation, answers, failures.

Nothing but 127.0.0.1 is reached: dummy keys, an empty home, a base URL of ours.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review.config import load
from prun_review.contract import KINDS
from prun_review.executors import claude_usage
from prun_review.executors.claude import Claude
from prun_review.executors.codex import Codex
from prun_review.model import Contract, Reading, Usage
from prun_review.ports import Located, Output, Seen, Sign
from tests.executors.driving import SCHEMA, Bench, started
from tests.modelserver import FREEFORM, Call, ModelServer, Reply, Rule
from tests.real.reaching import CODE, SHELL

Programs = dict[str, Located]

NAMES = ("codex", "sonnet")
VENDOR = {"codex": "openai", "sonnet": "anthropic"}
PAYLOAD = {"verdict": "fine"}
CANARY = "CANARY-b7e1"
READ_TOOLS = {"Read", "Grep", "Glob", "StructuredOutput", "DeferredToolPlaceholder"}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A reviewed tree, under git, full of files that would instruct an agent or run something."""
    bench = Bench(tmp_path)
    skill = f"---\nname: canary\ndescription: {CANARY}\n---\n{CANARY}\n"
    hook = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"touch {tmp_path}/ran"}]}]}}
    server = {"mcpServers": {"canary": {"command": "touch", "args": [f"{tmp_path}/ran"]}}}
    files = {
        "src/a.py": "x = 1\n",
        "src/CLAUDE.md": CANARY,
        "src/AGENTS.md": CANARY,
        "CLAUDE.md": CANARY,
        "CLAUDE.local.md": CANARY,
        "AGENTS.md": CANARY,
        "AGENTS.override.md": CANARY,
        ".mcp.json": json.dumps(server),
        ".claude/settings.json": json.dumps(hook),
        ".claude/rules/r.md": CANARY,
        ".claude/skills/canary/SKILL.md": skill,
        ".claude/agents/canary.md": skill,
        ".claude/commands/canary.md": CANARY,
        ".agents/skills/canary/SKILL.md": skill,
        ".codex/skills/canary/SKILL.md": skill,
        ".codex/hooks.json": json.dumps(hook),
        ".codex/config.toml": f'[mcp_servers.canary]\ncommand = "touch"\nargs = ["{tmp_path}/ran"]\n',
    }
    for name, text in files.items():
        path = bench.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "outside.txt").write_text("OUTSIDE\n")
    (bench.tree / "link.txt").symlink_to(tmp_path / "outside.txt")
    subprocess.run(
        ["git", "init", "-q"],
        cwd=bench.tree,
        check=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
    )
    return bench


def ask(
    bench: Bench,
    programs: Programs,
    name: str,
    reply: Reply,
    *,
    model: str = "",
    schema: Mapping[str, Any] = SCHEMA,
    prompt: str = "Review src, please. Do not use $canary.",
    contained: bool = False,
) -> tuple[list[Call], Output, Reading]:
    """One question to a real program, and what the server and we saw of it."""
    with ModelServer([Rule("Review src", reply)]) as server:
        if name == "codex":
            table = {"args": list(server.codex_args()), "env": ["MOCK_KEY"], "model": model}
            executor: Codex | Claude = Codex.configured(load({"executor": {name: table}}).executor(name))
            bench.env |= {"MOCK_KEY": "dummy", "ANTHROPIC_API_KEY": "sk-not-for-codex"}
        else:
            executor = Claude.configured(load({"executor": {name: {"model": model}}}).executor(name))
            bench.env |= {"ANTHROPIC_API_KEY": "sk-ant-dummy", "ANTHROPIC_BASE_URL": server.anthropic_url}
        request = bench.request(executor, prompt, schema=schema, located=programs[name])
        request = replace(request, contained=contained)
        _, output, reading = bench.run(executor, request, timeout=120)
    return server.of(VENDOR[name]), output, reading


@pytest.mark.parametrize("name", NAMES)
def test_structured_answer_with_schema_and_without_the_trees_instructions(
    bench: Bench, programs: Programs, name: str
) -> None:
    calls, output, reading = ask(bench, programs, name, Reply(PAYLOAD))
    assert (reading.status, reading.reason) == ("answered", "ok"), output
    assert (reading.payload or json.loads(reading.text)) == PAYLOAD
    cost = reading.usage.cost_usd
    tokens = Usage(
        input_tokens=140 if name == "sonnet" else 120, cached_tokens=20, output_tokens=30, cost_usd=cost
    )
    assert reading.usage == tokens
    assert (cost is not None) == (name == "sonnet")
    assert len(calls) == 1, "no hidden second call"
    sent = json.dumps(calls[0].body)
    assert "Review src, please." in calls[0].prompt
    assert json.dumps({k: v for k, v in SCHEMA.items() if k != "$schema"}) in sent
    assert CANARY not in sent
    assert not (bench.root / "ran").exists(), "a hook or an MCP server of the reviewed tree was started"


@pytest.mark.parametrize("words", [1, 30_000])
@pytest.mark.parametrize("name", NAMES)
def test_the_end_of_the_output_shows_that_the_answer_is_there(
    bench: Bench, programs: Programs, name: str, words: int
) -> None:
    _, output, reading = ask(bench, programs, name, Reply({"verdict": "word " * words}))
    assert reading.status == "answered"
    executor = (Codex if name == "codex" else Claude).configured(load({}).executor(name))
    whole, end = output.stdout, output.stdout[-65_536:]
    assert executor.sign(Seen({"tail": len(whole)}, end, b"")) == Sign("finished")
    lines = whole.splitlines(keepends=True)
    for n in range(len(lines)):
        before = b"".join(lines[:n])
        assert executor.sign(Seen({"tail": len(before)}, before[-65_536:], b"")) == Sign()
    kinds = [json.loads(line)["type"] for line in lines]
    assert kinds[-1] == ("turn.completed" if name == "codex" else "result")
    assert name == "codex" or {"system", "stream_event", "assistant"} <= set(kinds)
    if name == "sonnet":  # one that was ended before its result has spent that all the same
        spent = claude_usage.so_far(b"".join(lines[:-1]))
        assert spent == replace(reading.usage, cost_usd=None)


@pytest.mark.parametrize("contract", [Contract(), Contract("choice", ("a", "b"), ("speed",))])
@pytest.mark.parametrize("name", NAMES)
def test_both_programs_take_the_schemas_of_our_contracts(
    bench: Bench, programs: Programs, name: str, contract: Contract
) -> None:
    schema = KINDS[contract.kind].schema(contract)
    assert schema is not None
    calls, output, _ = ask(bench, programs, name, Reply(text="no"), schema=schema)
    assert calls, output
    body = calls[0].body
    offered = [tool["input_schema"] for tool in body.get("tools", []) if tool["name"] == "StructuredOutput"]
    (sent,) = offered or [body["text"]["format"]["schema"]]
    assert sent == {key: value for key, value in schema.items() if key != "$schema"}


@pytest.mark.parametrize(
    ("name", "model", "tools"),
    [
        ("codex", SHELL, [("exec_command", {"cmd": "cat src/a.py; false"}), ("exec_command", {"cmd": "ls"})]),
        ("codex", CODE, [("exec", {FREEFORM: 'text(await tools.exec_command({cmd: "cat src/a.py"}))'})]),
        ("sonnet", "", [("Glob", {"pattern": "src/*.py"}), ("Read", {"file_path": "{tree}/src/CLAUDE.md"})]),
    ],
)
def test_the_programs_events_tell_what_was_looked_at(
    bench: Bench, programs: Programs, name: str, model: str, tools: list[tuple[str, dict[str, str]]]
) -> None:
    calls = tuple(
        (tool, {k: v.replace("{tree}", str(bench.tree)) for k, v in given.items()}) for tool, given in tools
    )
    _, output, reading = ask(bench, programs, name, Reply(PAYLOAD, tools=calls), model=model)
    touched = "\n".join(reading.touched or ())
    assert "src/a.py" in touched, output
    assert name == "sonnet" or "x = 1" in touched
    assert "src/AGENTS.md" not in touched


@pytest.mark.parametrize("name", NAMES)
def test_no_tool_and_no_file_was_looked_at(bench: Bench, programs: Programs, name: str) -> None:
    _, _, reading = ask(bench, programs, name, Reply(PAYLOAD))
    assert reading.touched == ()


def test_codex_gets_no_web_search(bench: Bench, programs: Programs) -> None:
    # An older model, because codex offers web search as a tool of its own to those only.
    calls, _, reading = ask(bench, programs, "codex", Reply(PAYLOAD), model="gpt-5.5")
    assert reading.status == "answered"
    assert "exec_command" in calls[0].tool_names
    assert not [tool for tool in calls[0].tool_names if "web" in tool]


def test_codex_shell_is_read_only_and_sees_no_key(bench: Bench, programs: Programs) -> None:
    probe = {"cmd": "env; cat src/a.py; touch written || echo refused"}
    calls, _, reading = ask(
        bench, programs, "codex", Reply(PAYLOAD, tools=(("exec_command", probe),)), model="gpt-5.5"
    )
    assert reading.status == "answered"
    (result,) = calls[-1].tool_results
    assert "x = 1" in result
    assert "refused" in result
    assert "KEY=" not in result
    assert not (bench.tree / "written").exists()


def test_claude_has_file_tools_of_the_tree_only(bench: Bench, programs: Programs) -> None:
    outside = str(bench.root / "outside.txt")
    tools = (
        ("Read", {"file_path": str(bench.tree / "src/a.py")}),
        ("Read", {"file_path": outside}),
        ("Read", {"file_path": str(bench.tree / "link.txt")}),
        ("Grep", {"pattern": "OUTSIDE", "path": str(bench.root), "output_mode": "content"}),
        ("Bash", {"command": f"touch {bench.root}/ran", "description": "x"}),
        ("Write", {"file_path": str(bench.tree / "written"), "content": "x"}),
    )
    calls, _, reading = ask(bench, programs, "sonnet", Reply(PAYLOAD, tools=tools))
    assert reading.status == "answered"
    assert set(calls[0].tool_names) <= READ_TOOLS
    assert {"Read", "Grep", "Glob", "StructuredOutput"} <= set(calls[0].tool_names)
    assert [tool for tool in calls[0].tool_names if "eb" in tool] == []
    results = calls[-1].tool_results
    assert len(results) == len(tools)
    assert "x=1" in results[0].replace(" ", "")
    assert not [result for result in results[1:] if "OUTSIDE\\n" in result or "OUTSIDE\n" in result]
    assert all("denied" in result or "No such tool" in result for result in results[1:])
    assert not (bench.tree / "written").exists()
    assert not (bench.root / "ran").exists()
    assert CANARY not in json.dumps(calls[-1].body), "reading a file pulled its folder's instructions in"


@pytest.mark.parametrize("name", NAMES)
def test_prose_instead_of_the_schema(bench: Bench, programs: Programs, name: str) -> None:
    _, output, reading = ask(bench, programs, name, Reply(text="I looked, and it is fine."))
    assert output.exit.code == 0
    if name == "codex":  # does not check the schema itself: the contract will
        assert (reading.status, reading.text) == ("answered", "I looked, and it is fine.")
    else:
        assert (reading.status, reading.reason) == ("failed", "no-answer")
        assert "I looked, and it is fine." in reading.message


@pytest.mark.parametrize(
    ("name", "reply", "reason"),
    [
        ("codex", Reply(status=400, error="bad", code="context_length_exceeded"), "prompt-too-long"),
        ("codex", Reply(status=429, error="no more", code="usage_limit_reached"), "quota-exhausted"),
        ("codex", Reply(status=401, error="who are you"), "not-logged-in"),
        ("sonnet", Reply(status=400, error="bad", code="invalid_request_error"), "bad-request"),
        ("sonnet", Reply(status=404, error="model: nope", code="not_found_error"), "model-not-found"),
    ],
)
def test_failure_of_the_service(
    bench: Bench, programs: Programs, name: str, reply: Reply, reason: str
) -> None:
    _, output, reading = ask(bench, programs, name, reply)
    assert (reading.status, reading.reason) == ("failed", reason), output
    assert output.exit.code == 1
    assert reading.message


@pytest.mark.parametrize("name", NAMES)
def test_version_and_login_are_asked_of_the_program_itself(
    bench: Bench, programs: Programs, name: str
) -> None:
    executor = (Codex if name == "codex" else Claude).configured(load({}).executor(name))
    env = executor.child_env(bench.env)
    argv = executor.version_argv(programs[name])
    version = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert (version.returncode, version.stdout.strip() != b"") == (0, True)
    login = executor.login_argv(programs[name])
    assert login is not None
    status = subprocess.run(login, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert status.returncode == 1, "nobody is logged in from an empty home"


@pytest.mark.parametrize("contained", [False, True])
def test_codex_writes_a_login_through_the_link(bench: Bench, programs: Programs, contained: bool) -> None:
    """Were the link replaced, a refreshed token would be lost to the user, who would be logged out."""
    users = bench.root / "home" / ".codex"
    users.mkdir()
    (users / "auth.json").write_text("{}")
    executor = Codex.configured(load({}).executor("codex"))
    request = replace(bench.request(executor, located=programs["codex"]), contained=contained)
    command = executor.command(request)
    login = (*programs["codex"].argv, "login", "--with-api-key")
    argv = started(request, replace(command, argv=login))
    subprocess.run(
        argv, env=dict(command.env), input=b"sk-dummy\n", capture_output=True, timeout=60, check=True
    )
    assert (Path(command.env["CODEX_HOME"]) / "auth.json").is_symlink()
    assert "sk-dummy" in (users / "auth.json").read_text()
