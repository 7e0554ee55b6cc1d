"""Who answers in the campaign: vendors, relatives of vendors, analysers, and some that nobody knows."""

from __future__ import annotations

from prun_review.model import Contract, ExecutorInfo

_EXAMINES = ("findings", "choice", "examination")
RECORDED = {
    info.name: info
    for info in (
        ExecutorInfo("codex", "openai", "gpt", True, contracts=_EXAMINES),
        ExecutorInfo("sonnet", "anthropic", "claude", True, contracts=_EXAMINES),
        ExecutorInfo("gem", "google", "gemini", True, contracts=_EXAMINES),
        ExecutorInfo("mini", "openai", "gpt-mini", True, contracts=_EXAMINES),
        ExecutorInfo("proxy", "reseller", "claude", True, contracts=_EXAMINES),
        ExecutorInfo("azure", " OpenAI", "o-series", True, contracts=_EXAMINES),
        ExecutorInfo("ruff", "astral", "pyflakes", False, contracts=("findings",)),
        ExecutorInfo("bandit", "pycqa", "bandit", False, contracts=("findings",)),
        ExecutorInfo("nameless", "", "", True, contracts=_EXAMINES),
    )
}
"""``ghost`` is in none of these: a run may ask it all the same."""

PANELS: tuple[tuple[str, ...], ...] = (
    *[("codex", "sonnet")] * 8,
    *[("codex", "sonnet", "gem")] * 5,
    *[("codex", "sonnet", "mini"), ("codex", "sonnet", "proxy"), ("sonnet", "gem", "proxy", "codex")] * 2,
    ("codex", "sonnet", "ruff"),
    ("codex", "sonnet", "ruff", "bandit"),
    ("codex", "mini"),
    ("codex", "azure"),
    ("sonnet", "proxy"),
    ("codex", "ruff"),
    ("ruff", "bandit"),
    ("codex", "nameless"),
    ("codex", "ghost"),
    ("codex",),
    ("ruff",),
)
"""Which executors a run asks."""

BORROWED = {"ruff": "bandit", "bandit": ""}
"""Analyser -> whose rules it took over."""

QUESTION = Contract("choice", ("jsonl", "sqlite", "csv"), ("safety",))
FINDINGS = Contract("findings")
