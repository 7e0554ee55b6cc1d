"""The vendors' own programs, from their packages; without them these tests fail, they do not skip."""

from __future__ import annotations

import pytest

from prun_review.config import load
from prun_review.executors.claude import Claude
from prun_review.executors.codex import Codex
from prun_review.ports import Located


@pytest.fixture(scope="session", autouse=True)
def programs() -> dict[str, Located]:
    """Executor name -> the program of its package (PATH is not looked at: its versions vary)."""
    config, env = load({}), {"PATH": ""}
    found = {
        "codex": Codex.configured(config.executor("codex")).locate(env, ()),
        "sonnet": Claude.configured(config.executor("sonnet")).locate(env, ()),
    }
    located = {name: program for name, program in found.items() if isinstance(program, Located)}
    if len(located) < len(found):
        missing = ", ".join(sorted(found.keys() - located.keys()))
        pytest.fail(f"tests/real needs the vendors' programs: pip install '.[vendors]' (missing: {missing})")
    return located
