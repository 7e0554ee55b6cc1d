"""The built-in and the installed extensions, through one pluggy manager (see :mod:`.hookspecs`)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any

import pluggy

from prun_review import hookspecs
from prun_review.config import Config, ExecutorConfig
from prun_review.errors import ConfigError, PrunError
from prun_review.hookspecs import PROJECT, hookimpl
from prun_review.ports import ContractKind, Executor, Renderer, SameFinding

BUILT_IN = "built-in"


class _BuiltIn:
    """What comes with prun_review, imported only when somebody asks."""

    @hookimpl
    def prun_executors(self, config: Config) -> Mapping[str, Executor]:
        from prun_review.executors import built_in

        return built_in(config)

    @hookimpl
    def prun_renderers(self) -> Sequence[Renderer]:
        from prun_review.renderers import RENDERERS

        return tuple(RENDERERS.values())

    @hookimpl
    def prun_contracts(self) -> Sequence[ContractKind]:
        from prun_review.contract import KINDS

        return tuple(KINDS.values())


@cache
def manager() -> pluggy.PluginManager:
    """The plugin manager of this process: built-ins first, then the entry points by name.

    ``ConfigError`` names an extension that does not import or has a hook that is not known.
    """
    plugins = pluggy.PluginManager(PROJECT)
    plugins.add_hookspecs(hookspecs)
    plugins.register(_BuiltIn(), BUILT_IN)
    for point in sorted(entry_points(group=PROJECT), key=lambda point: point.name):
        place = f"entry point {PROJECT}: {point.name} = {point.value}"
        remedy = f"mend or uninstall {point.dist.name if point.dist else 'its distribution'}"
        try:
            plugins.register(point.load(), point.name)
            plugins.check_pending()
        except Exception as error:  # whatever the import of foreign code raises
            told = f"extension {point.name!r} cannot be loaded: {type(error).__name__}: {error}"
            raise ConfigError(told, place=place, remedy=remedy) from error
    return plugins


def executors(plugins: pluggy.PluginManager, config: Config) -> dict[str, Executor]:
    """All executors by name; of two with one name the later registered one."""
    answers = _ask(plugins, "prun_executors", Mapping, config=config)
    return {_named(key, name): executor for name, a in answers for key, executor in a.items()}


def renderers(plugins: pluggy.PluginManager) -> dict[str, Renderer]:
    """All renderers by name; of two with one name the later registered one."""
    return {_named(r.name, name): r for name, a in _ask(plugins, "prun_renderers", Sequence) for r in a}


def contracts(plugins: pluggy.PluginManager) -> dict[str, ContractKind]:
    """All contract kinds by name; of two with one name the later registered one."""
    return {_named(k.kind, name): k for name, a in _ask(plugins, "prun_contracts", Sequence) for k in a}


def same_finding(plugins: pluggy.PluginManager) -> SameFinding | None:
    """The hook ``prun_same_finding`` as a callable; None where nobody implements it."""
    hook = plugins.hook.prun_same_finding
    if not hook.get_hookimpls():
        return None

    def same(left: Any, right: Any) -> bool | None:
        answer: bool | None = hook(left=left, right=right)
        return answer

    return same


def check_reports(plugins: pluggy.PluginManager, reports: Sequence[str]) -> None:
    """``ConfigError`` for a ``FORMAT`` or ``FORMAT:PATH`` whose format nobody renders."""
    known = renderers(plugins)
    for report in reports:
        name = report.partition(":")[0]
        if name not in known:
            raise ConfigError(f"unknown report format {name!r}", remedy=f"one of {', '.join(sorted(known))}")


def check_contracts(plugins: pluggy.PluginManager, tables: Mapping[str, ExecutorConfig]) -> None:
    """``ConfigError`` for an executor table whose ``contracts`` name a kind that nobody knows."""
    known = contracts(plugins) if any(table.contracts for table in tables.values()) else {}
    for name, table in tables.items():
        for kind in table.contracts:
            if kind not in known:
                near = difflib.get_close_matches(kind, sorted(known), 1)
                remedy = (
                    f"did you mean {near[0]!r}?" if near else f"known contracts: {', '.join(sorted(known))}"
                )
                place = f"[tool.prun_review.executor.{name}]"
                raise ConfigError(f"contracts names the unknown {kind!r}", place=place, remedy=remedy)


def _ask(plugins: pluggy.PluginManager, hook: str, kind: type, **given: Any) -> Iterator[tuple[str, Any]]:
    """Extension name and answer of each implementation, the earliest registered first.

    Asked one by one, so that an error can name the extension it came from.
    """
    place = f"entry point group {PROJECT}"
    for implementation in getattr(plugins.hook, hook).get_hookimpls():
        name = implementation.plugin_name
        try:
            answer = implementation.function(*(given[key] for key in implementation.argnames))
        except PrunError:
            raise
        except Exception as error:  # foreign code
            told = f"{hook} of extension {name!r} failed: {type(error).__name__}: {error}"
            remedy = "mend or uninstall the distribution that brings it"
            raise ConfigError(told, place=place, remedy=remedy) from error
        if not isinstance(answer, kind):
            told = f"{hook} of extension {name!r} gave {type(answer).__name__}, not {kind.__name__}"
            raise ConfigError(told, place=place, remedy="see prun_review.hookspecs")
        yield name, answer


def _named(key: object, extension: str) -> str:
    if not isinstance(key, str) or not key:
        raise ConfigError(f"extension {extension!r} registers something under the name {key!r}")
    return key
