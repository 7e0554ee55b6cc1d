"""The extension manual: every hook of prun_review, for pluggy.

A distribution registers a module (or object) with these functions under the entry-point group
``prun_review``; the built-in executors, renderers and contracts register through the same hooks.

    # pyproject.toml of your distribution
    [project.entry-points.prun_review]
    mine = "mine.prun_hooks"

    # mine/prun_hooks.py
    from prun_review.hookspecs import hookimpl

    @hookimpl
    def prun_executors(config):
        return {"mine": MyExecutor(config.executor("mine"))}

A later registration wins over an earlier one of the same name, and the built-ins come first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prun_review.config import Config
    from prun_review.model import Finding, Result
    from prun_review.ports import ContractKind, Executor, Renderer

PROJECT = "prun_review"
"""Name of the pluggy project and of the entry-point group."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def prun_executors(config: Config) -> Mapping[str, Executor]:
    """Executors by name.  Building one must not look for its program, start or read anything."""
    raise AssertionError("a specification is not called")


@hookspec
def prun_renderers() -> Sequence[Renderer]:
    """Report formats.  A renderer returns a string; it writes nothing."""
    raise AssertionError("a specification is not called")


@hookspec
def prun_contracts() -> Sequence[ContractKind]:
    """Contract kinds for ``brief(contract=...)``."""
    raise AssertionError("a specification is not called")


@hookspec
def prun_unit_finished(result: Result) -> None:
    """Called in the controller, one call at a time, after a unit's result is on disk.

    Also for those of the second wave: their ``unit`` begins with ``prun_review::examine[``, their ``case`` is
    the question that they were asked.
    """


@hookspec(firstresult=True)
def prun_same_finding(left: Finding, right: Finding) -> bool | None:
    """Whether two findings of one case are the same defect; None leaves it to the matcher."""
