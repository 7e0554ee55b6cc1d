"""What each executor says hostile content could reach: nothing only where that was measured."""

from __future__ import annotations

from typing import Any

import pytest

from prun_review.config import load
from prun_review.executors import built_in
from prun_review.model import Brief, Contract

COMMAND = {"type": "command", "vendor": "v", "lineage": "l", "argv": ["/opt/program"]}
ANALYSER = {**COMMAND, "type": "analyser", "reader": "sarif", "argv": ["/opt/tool", "{files}"]}
INBOX = {"type": "inbox", "vendor": "v", "lineage": "l", "inbox": ".inbox"}
PROVIDER = [
    "-c",
    "model_provider=x",
    "-c",
    'model_providers.x.env_key="X_KEY"',
    "-c",
    "model_providers.x.name=x",
]


def said(
    name: str, table: dict[str, Any], *, access: str = "read", sources: bool = False, contained: bool
) -> str:
    executor = built_in(load({"executor": {name: table}} if table else {}))[name]
    brief = Brief("p", Contract(sources=sources), access=access)
    return "; ".join(executor.exposes(brief, {"OPENAI_API_KEY": "k"}, contained=contained))


@pytest.mark.parametrize("contained", [False, True])
@pytest.mark.parametrize(
    ("name", "table", "access"),
    [
        ("codex", {}, "read"),
        ("codex", {}, "run"),
        ("codex", {"args": PROVIDER, "env": ["X_KEY"], "model": "m", "effort": "high"}, "read"),
        ("codex", {"args": ["--config", "model_reasoning_effort=high"], "env": ["X_REGION"]}, "read"),
        ("sonnet", {}, "read"),
        ("sonnet", {}, "run"),
        ("sonnet", {"args": ["--max-turns", "9", "--max-budget-usd=3", "--fallback-model", "x"]}, "read"),
        ("ruff", {}, "read"),
        ("ruff", {"select": ["F"], "obey_suppressions": True}, "read"),
        ("ruff", {"args": ["--preview"], "isolated": True}, "read"),
        ("bandit", {}, "read"),
        ("pylint", {"isolated": True}, "read"),
        ("semgrep", {**ANALYSER, "isolated": True}, "read"),
    ],
)
def test_nothing(name: str, table: dict[str, Any], access: str, contained: bool) -> None:
    assert said(name, table, access=access, contained=contained) == ""


@pytest.mark.parametrize("contained", [False, True])
@pytest.mark.parametrize(
    ("name", "table", "words"),
    [
        ("codex", {"args": ["-s", "read-only"]}, "'-s', which is not known to be harmless"),
        ("codex", {"args": ["--sandbox=danger-full-access"]}, "--sandbox=danger-full-access"),
        ("codex", {"args": ["--add-dir", "/"]}, "--add-dir"),
        ("codex", {"args": ["-c", "default_permissions=':danger-full-access'"]}, "'default_permissions'"),
        (
            "codex",
            {"args": ["-c", "shell_environment_policy.inherit=all"]},
            "shell_environment_policy.inherit",
        ),
        ("codex", {"args": ["-c", "mcp_servers.x.command=x"]}, "mcp_servers.x.command"),
        ("codex", {"args": ["-c", "model_provider"]}, ""),
        ("codex", {"args": ["-c"]}, "''"),
        ("codex", {"args": ["-p", "mine"]}, "'-p'"),
        ("codex", {"env": ["NPM_TOKEN"]}, "NPM_TOKEN, by its name a secret"),
        ("codex", {"args": PROVIDER, "env": ["X_KEY", "Y_KEY"]}, "Y_KEY"),
        ("codex", {"env": ["LD_PRELOAD"]}, "LD_PRELOAD, which can make it run other code"),
        ("sonnet", {"args": ["--add-dir", "/home"]}, "--add-dir"),
        ("sonnet", {"args": ["--allowedTools", "Bash"]}, "--allowedTools"),
        ("sonnet", {"args": ["--allowedTools=Bash"]}, "--allowedTools=Bash"),
        ("sonnet", {"args": ["--max-turns", "9", "--settings", "x"]}, "--settings"),
        ("sonnet", {"args": ["--dangerously-skip-permissions"]}, "--dangerously-skip-permissions"),
        ("sonnet", {"args": ["--mcp-config", "x"]}, "--mcp-config"),
        ("sonnet", {"args": ["--some-new-option"]}, "--some-new-option"),
        ("sonnet", {"env": ["GITHUB_TOKEN"]}, "GITHUB_TOKEN"),
        ("sonnet", {"env": ["NODE_OPTIONS"]}, "NODE_OPTIONS"),
        ("third", COMMAND, "nothing is known"),
        ("session", INBOX, "not confined"),
        ("pylint", {}, "loads code or configuration"),
        ("semgrep", ANALYSER, "loads code or configuration"),
        ("semgrep", {**ANALYSER, "isolated": True, "env": ["SEMGREP_APP_TOKEN"]}, "SEMGREP_APP_TOKEN"),
        ("ruff", {"args": ["--config", "ruff.toml"]}, "args can make it load"),
    ],
)
def test_something(name: str, table: dict[str, Any], words: str, contained: bool) -> None:
    assert words in said(name, table, contained=contained)
    assert bool(words) == bool(said(name, table, contained=contained))


@pytest.mark.parametrize(
    ("name", "sources", "contained", "words"),
    [
        ("codex", False, False, "its shell reads the disk and writes the snapshot"),
        ("codex", False, True, ""),
        ("codex", True, False, "its shell reaches the network"),
        ("codex", True, True, "its shell reaches the network"),
        ("sonnet", False, False, "its Bash is not confined"),
        ("sonnet", False, True, "its Bash is not confined"),
        ("sonnet", True, True, "its Bash is not confined"),
    ],
)
def test_full_access(name: str, sources: bool, contained: bool, words: str) -> None:
    found = said(name, {}, access="full", sources=sources, contained=contained)
    assert words in found
    assert bool(words) == bool(found)
