"""What answers: one table of the built-in executors, and of those that configuration adds.

Building an executor looks for nothing, starts nothing and reads nothing: that is ``locate``'s work,
and only when something will be dispatched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from prun_review.executors.claude import Claude
from prun_review.executors.codex import Codex
from prun_review.executors.command import AnyCommand
from prun_review.executors.inbox import Inbox

if TYPE_CHECKING:
    from prun_review.config import Config, ExecutorConfig
    from prun_review.ports import Executor

TYPES: Mapping[str, Callable[[ExecutorConfig], Executor]] = {
    "codex": Codex.configured,
    "claude": Claude.configured,
    "command": AnyCommand.configured,
}
"""What ``type`` in an executor's table may say, beside ``analyser`` and ``inbox``."""

NAMES = {"codex": "codex", "sonnet": "claude"}
"""Name of a built-in executor -> its type; a table of that name changes single fields of it."""


def built_in(config: Config) -> dict[str, Executor]:
    """Executors by name: the built-in vendors and analysers, then every table with a type.

    A table without a type under a name that is not built in belongs to somebody's hook.
    """
    from prun_review.executors import analyser

    found = analyser.built_in(config)
    for name in (*NAMES, *(n for n in config.executor_tables if n not in NAMES)):
        table = config.executor(name)
        kind = table.type or NAMES.get(name, "")
        if kind in TYPES:
            found[name] = TYPES[kind](replace(table, type=kind))
        elif kind == "inbox":
            found[name] = Inbox.configured(table, config.panels)
    return found
