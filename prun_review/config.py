"""Configuration: ``[tool.prun_review]`` and its twins on the command line, checked, with sources.

Pure: the doors read the file and hand the mapping in.  Every option knows where its value came
from (``default``, ``pyproject.toml``, ``command line``).  An unknown key is an error that names the
nearest known one.
"""

from __future__ import annotations

import difflib
import math
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from prun_review.budget import Budget
from prun_review.errors import ConfigError
from prun_review.model import SEVERITIES
from prun_review.policy import Policy, in_range, range_of

PLACE = "[tool.prun_review]"

REPEATS = 100
"""The most often that one executor is asked the same."""


@dataclass(frozen=True, slots=True)
class ExecutorConfig:
    """One table ``[tool.prun_review.executor.NAME]``."""

    name: str
    type: str = ""
    """``codex``, ``claude``, ``command``, ``analyser``, ``inbox``; known by name for the built-in ones."""
    path: str = ""
    """Absolute path of the program; empty: PATH, then the package that carries it."""
    model: str = ""
    effort: str = ""
    limit: int = 0
    """Most dispatches at once; 0: no limit of its own."""
    args: tuple[str, ...] = ()
    """Further arguments, put before the prompt marker."""
    env: tuple[str, ...] = ()
    """Further names of environment variables that its child may see."""
    vendor: str = ""
    lineage: str = ""
    argv: tuple[str, ...] = ()
    """``command`` and ``analyser``: the argv template."""
    contracts: tuple[str, ...] = ()
    reader: str = ""
    """``analyser``: ``sarif`` or ``pylint-json2``."""
    select: tuple[str, ...] = ()
    """``analyser``: rules to switch on, in the tool's own words."""
    ignore: tuple[str, ...] = ()
    """``analyser``: rules to switch off, in the tool's own words."""
    severities: Mapping[str, str] = field(default_factory=dict)
    """``analyser``: severity by rule id or rule prefix; the longest prefix wins."""
    obey_suppressions: bool = False
    """``analyser``: take in-code suppressions (``# noqa``) at their word."""
    provides: tuple[str, ...] = ()
    """What it has beyond answering (``mcp:gmail``): briefs with ``needs`` go to who declares them."""
    stall: float = -1.0
    """Seconds of silence after which a dispatch of it is stalled; 0: never; -1: the run's ``stall``."""
    startup: float = -1.0
    """Seconds within which a dispatch must have written something; 0: whenever; -1: the type's own."""
    stagger: float = -1.0
    """Least seconds between two starts; 0: none, as with a key instead of a login; -1: the type's own."""
    grace: float = 20.0
    """Seconds of silence that a finished answer gets before a program that does not exit is ended."""
    inbox: str = ""
    """``inbox``: the folder for prompts and results, relative to the trusted root."""
    write_commands: tuple[str, ...] = ()
    """``claude``: commands that it may run where it writes code, each alone or with arguments; empty: a list
    of harmless ones and the usual tests (``claude_rules.COMMANDS``)."""
    isolated: bool = False
    """``analyser``: it loads neither code nor configuration from the tree; others are refused in the
    profile ``untrusted``."""


@dataclass(frozen=True, slots=True)
class Egress:
    """The table ``[tool.prun_review.egress]``: what may leave the machine, and to whom."""

    send_to: tuple[str, ...] = ()
    """Executors or vendors that may be sent anything; empty: those that are asked."""
    never: tuple[str, ...] = (
        "**/.env",
        "**/.env.*",
        "**/*.pem",
        "**/*.key",
        "**/*.p12",
        "**/*.pfx",
        "**/id_*",
        "**/.netrc",
        "**/.git-credentials",
    )
    """Patterns of files that are sent to nobody, tracked or not, in any folder: they are left out of the
    snapshot."""
    secrets: str = "redact"
    """``redact``: secrets in files are masked before anybody reads them; ``refuse``: the run does not
    start; ``send``: they are sent as they are."""


@dataclass(frozen=True, slots=True)
class Waves:
    """The table ``[tool.prun_review.waves]``: how ``parallel/`` directories are run."""

    jobs: int = 3
    """Most tasks at once."""
    timeout: float = 7200.0
    """Seconds of wall time for one attempt at a task that names none."""
    executor: str = "codex"
    """Who does a task that names nobody, and whose agent is not in ``agents``."""
    reopen: int = 1
    """How often a conflict may open one task again."""
    isolation: str = "copy"
    """Where a task is worked on: ``copy``, a throwaway copy that shares nothing with the repository;
    ``worktree``, a git worktree of it, which shares its objects, refs, configuration and hooks."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """Executor by agent: its name as tasks have it, its name without plugin, or the plugin with its colon
    (``python-experts:``)."""
    tests: tuple[str, ...] = ()
    """Shell commands that are the project's own tests, run on the whole when it is integrated."""

    def executor_for(self, agent: str) -> str:
        """Who does the tasks of an agent."""
        plugin, colon, name = agent.rpartition(":")
        keys = (agent, name, f"{plugin}:" if colon else "")
        return next((self.agents[key] for key in keys if key and key in self.agents), self.executor)


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration of a run."""

    panels: tuple[str, ...] = ("panels",)
    """Panels folders, relative to the trusted root."""
    executors: tuple[str, ...] = ("codex", "sonnet")
    offline_executors: tuple[str, ...] = ("ruff", "pylint", "bandit")
    jobs: int = 12
    timeout: float = 900.0
    """Default seconds of wall time per attempt."""
    report: tuple[str, ...] = ("markdown", "json")
    """``FORMAT`` or ``FORMAT:PATH``."""
    offline: bool = False
    """Ask ``offline_executors`` instead of ``executors``."""
    replay: str = ""
    """Run whose stored answers are judged again."""
    resume: str = ""
    """Take over valid results of the same fingerprint: from this run, or ``latest`` for all stored ones."""
    stall: float = 600.0
    """Seconds without growth of its output after which a dispatch is stalled; 0: never."""
    retries: int = 2
    """How often a failure that can pass on retry is tried again."""
    retry_wait: float = 5.0
    """Base of the wait before a retry, in seconds: a random part of it, twice it, four times it..."""
    budget: str = ""
    """What the run may spend, as in ``5usd`` or ``5usd,2Mtok``; nothing new starts once it is reached."""
    heartbeat: float = 60.0
    """Seconds between progress lines."""
    dispatch: str = "auto"
    """``auto`` or ``off``: with ``off`` nothing is dispatched and the verdict is INCOMPLETE."""
    reviewed: str = "."
    """The repository whose tree is reviewed, relative to the trusted root."""
    include_untracked: bool = False
    exclude: tuple[str, ...] = ()
    """Further patterns that are left out of the reviewed tree."""
    base: str = ""
    """Review the change since this revision (of the trusted root's repository) and not the whole tree."""
    head: str = ""
    """What is reviewed: a revision, or a folder with another checkout; empty: the work tree."""
    previous: str = ""
    """Run whose unresolved blockers on the same head are carried over: its id or path, or ``latest``."""
    about: str = ""
    """File with the change's own title and description, to be sent with it as data."""
    profile: str = "auto"
    """``trusted``, ``untrusted``, or ``auto``: untrusted where ``head`` is given and ``CI`` is set."""
    containment: str = "none"
    """``bwrap``: every worker runs in a mount namespace of its own (bubblewrap)."""
    guarded: tuple[str, ...] = ()
    """Further patterns of files that change the review itself when a change touches them."""
    accept: str = "prun-accept.toml"
    """The trusted root's file of what named persons answer for."""
    cross_examine: str = "gate"
    """What of the findings is put before the other vendor in a second wave: ``off``, ``gate`` (what could
    gate) or ``all``."""
    examine_limit: int = 20
    """Most questions of the second wave; the most severe first."""
    repeat: int = 0
    """How often each executor is asked; 0: as each probe says (once)."""
    baseline: str = ""
    """File of known findings, relative to the trusted root; ``prun-review baseline`` makes it."""
    authors: tuple[str, ...] = ()
    """Who wrote what is reviewed: vendors, lineages or executors; none corroborates its own patch."""
    egress: Egress = field(default_factory=Egress)
    waves: Waves = field(default_factory=Waves)
    exit_codes: str = "plain"
    """``plain`` (0, 1) or ``extended`` (10 for INCOMPLETE)."""
    gate: Policy = field(default_factory=Policy)
    folders: Mapping[str, Policy] = field(default_factory=dict)
    """Policies of single panels folders (``panels/design``), over ``gate``."""
    executor_tables: Mapping[str, ExecutorConfig] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    """Option name -> where its value came from.  Of policies every key that was set: ``gate.high``,
    ``folders.panels/x.high``."""

    def executor(self, name: str) -> ExecutorConfig:
        """The table of an executor; an empty one where there is none."""
        return self.executor_tables.get(name) or ExecutorConfig(name=name)

    def policy(self, folder: str) -> Policy:
        """The policy of a panels folder: that of the nearest configured folder at or above it."""
        parts = folder.split("/")
        for n in range(len(parts), 0, -1):
            found = self.folders.get("/".join(parts[:n]))
            if found:
                return found
        return self.gate


_KEYS = {f.name for f in fields(Config)} - {"executor_tables", "sources"} | {"executor"}
_CHOICES = {
    "dispatch": ("auto", "off"),
    "exit_codes": ("plain", "extended"),
    "mode": ("enforce", "report"),
    "rule": ("consensus", "single"),
    "block": SEVERITIES,
    "known": ("pass", "gate"),
    "choices": ("unanimous", "majority", "report"),
    "cross_examine": ("off", "gate", "all"),
    **dict.fromkeys(SEVERITIES, ("", "consensus", "any", "off")),
    "secrets": ("redact", "refuse", "send"),
    "profile": ("auto", "trusted", "untrusted"),
    "containment": ("none", "bwrap"),
    "isolation": ("copy", "worktree"),
    "reader": ("sarif", "pylint-json2"),
    "type": ("codex", "claude", "command", "analyser", "inbox"),
}


def load(
    table: Mapping[str, Any],
    options: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
) -> Config:
    """The configuration of ``[tool.prun_review]``, ``environment`` over it, command line over both.

    ``options`` and ``environment`` hold only what was given, under the names of the keys;
    ``ConfigError`` names key, place and remedy.
    """
    config = Config()
    sources = dict.fromkeys(_KEYS, "default") | {f"gate.{f.name}": "default" for f in fields(Policy)}
    layers = (("pyproject.toml", table), ("environment", environment or {}), ("command line", options or {}))
    for where, given in layers:
        place = PLACE if where == "pyproject.toml" else where
        named = {key.replace("-", "_"): value for key, value in given.items()}
        for name in sorted(named, key=lambda name: name == "folders"):  # over gate, wherever that stands
            _known(name, _KEYS, place)
            config = _set(config, name, named[name], place)
            sources |= dict.fromkeys(_names(name, named[name]), where)
    return replace(config, sources=sources)


def _names(name: str, value: Any) -> Iterator[str]:
    """The names under which the source of a value is recorded: of a policy, and of waves, also each key that
    it sets."""
    yield name
    tables = {name: value} if name in ("gate", "waves") else {}
    if name == "folders":
        tables = {f"folders.{str(folder).strip('/')}": table for folder, table in value.items()}
        yield from tables
    for prefix, table in tables.items():
        yield from (f"{prefix}.{str(key).replace('-', '_')}" for key in table)


def _set(config: Config, name: str, value: Any, place: str) -> Config:
    if name == "gate":
        return replace(config, gate=_table(config.gate, value, f"{place[:-1]}.gate]"))
    if name == "egress":
        return replace(config, egress=_table(Egress(), value, f"{place[:-1]}.egress]"))
    if name == "waves":
        return replace(config, waves=waves_of(value, f"{place[:-1]}.waves]", config.waves))
    if name == "folders":
        return replace(config, folders=_folders(config, value, place))
    if name == "executor":
        return replace(config, executor_tables=_executors(value, place))
    checked = _check(name, getattr(config, name), value, place)
    if name == "jobs" and checked < 1:
        raise ConfigError(f"jobs must be at least 1, got {checked}", place=place, remedy="jobs = 12")
    if name == "timeout" and checked <= 0:
        raise ConfigError(f"timeout must be above 0 s, got {checked}", place=place, remedy="timeout = 900")
    if name in ("stall", "retries", "retry_wait", "examine_limit", "repeat") and checked < 0:
        raise ConfigError(f"{name} is {checked}", place=place, remedy=f"{name} = 0 turns it off")
    if name == "repeat" and checked > REPEATS:
        raise ConfigError(f"repeat is {checked}", place=place, remedy=f"{REPEATS} at most")
    if name == "budget":
        Budget.parse(checked)
    if name in ("panels", "executors", "offline_executors") and not checked:
        raise ConfigError(f"{name} is empty", place=place, remedy=f"leave {name} out for its default")
    return replace(config, **{name: checked})


def waves_of(value: Any, place: str, over: Waves | None = None) -> Waves:
    """The table of waves over another one, or over the defaults; ``ConfigError``."""
    waves: Waves = _table(over or Waves(), value, place)
    for key, ok in (("jobs", waves.jobs >= 1), ("timeout", waves.timeout > 0), ("reopen", waves.reopen >= 0)):
        if not ok:
            remedy = f"{key} = {getattr(Waves(), key):g} is the default"
            raise ConfigError(f"{key} is {getattr(waves, key)}", place=place, remedy=remedy)
    return waves


def over_waves(config: Config, given: Mapping[str, Any]) -> Config:
    """The configuration under what the command line asks of waves; ``ConfigError``."""
    where = "command line"
    sources = {**config.sources, **{f"waves.{key}": where for key in given}}
    return replace(config, waves=waves_of(given, where, config.waves), sources=sources)


def _folders(config: Config, value: Any, place: str) -> dict[str, Policy]:
    if not isinstance(value, Mapping):
        raise ConfigError("folders must be a table of tables", place=place, remedy=_FOLDERS_EXAMPLE)
    found: dict[str, Policy] = {}
    for name, table in value.items():
        folder = str(name).strip("/")
        # A second spelling of a folder would be a policy that holds nowhere.
        if folder in found or folder != posixpath.normpath(folder):
            raise ConfigError(
                f"folders names {name!r}, " + ("twice" if folder in found else "in a roundabout way"),
                place=place,
                remedy=f'one table, folders."{posixpath.normpath(folder)}"',
            )
        found[folder] = _table(config.gate, table, f'{place[:-1]}.folders."{name}"]')
    return found


_FOLDERS_EXAMPLE = '[tool.prun_review.folders."panels/design"] with mode = "report"'


def _executors(value: Any, place: str) -> dict[str, ExecutorConfig]:
    if not isinstance(value, Mapping):
        raise ConfigError(
            "executor must be a table of tables", place=place, remedy="[tool.prun_review.executor.codex]"
        )
    return {
        str(name): _table(ExecutorConfig(name=str(name)), table, f"{place[:-1]}.executor.{name}]")
        for name, table in value.items()
    }


def _table(base: Any, value: Any, place: str) -> Any:
    if not isinstance(value, Mapping):
        raise ConfigError(f"expected a table, got {type(value).__name__}", place=place)
    known = {f.name for f in fields(base)} - {"name"}
    changes = {}
    for key, item in value.items():
        name = str(key).replace("-", "_")
        _known(name, known, place)
        changes[name] = _check(name, getattr(base, name), item, place)
        if isinstance(base, Policy) and not in_range(name, changes[name]):
            raise ConfigError(f"{name} is {changes[name]}", place=place, remedy=f"{name} is {range_of(name)}")
    return replace(base, **changes)


def _known(name: str, known: set[str], place: str) -> None:
    if name not in known:
        near = difflib.get_close_matches(name, sorted(known), 1)
        hint = f"did you mean {near[0]!r}?" if near else "known keys: " + ", ".join(sorted(known))
        raise ConfigError(f"unknown key {name!r}", place=place, remedy=hint)


def _check(name: str, like: Any, value: Any, place: str) -> Any:
    """``value`` as the type that ``like`` has."""
    if name in _CHOICES and value not in _CHOICES[name]:
        words = ", ".join(filter(None, _CHOICES[name]))
        raise ConfigError(f"{name} is {value!r}", place=place, remedy=f"one of {words}")
    if isinstance(like, bool):
        ok: Any = isinstance(value, bool)
    elif isinstance(like, (int, float)):
        number = isinstance(value, int if isinstance(like, int) else (int, float))
        ok = number and not isinstance(value, bool) and math.isfinite(value)
    elif isinstance(like, str):
        ok = isinstance(value, str)
    elif isinstance(like, tuple):
        ok = isinstance(value, (list, tuple)) and all(isinstance(v, str) for v in value)
    else:
        ok = isinstance(value, Mapping) and all(isinstance(v, str) for v in value.values())
    if not ok:
        kinds = {
            bool: "true or false",
            int: "a whole number",
            float: "a number",
            str: "a string",
            tuple: "a list of strings",
        }
        want = kinds.get(type(like), "a table of strings")
        raise ConfigError(f"{name} must be {want}, got {value!r}", place=place)
    return tuple(value) if isinstance(like, tuple) else type(like)(value)
