"""What the gate asks of a panels folder, and which rule that makes for a severity.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

SEVERITIES = ("info", "low", "medium", "high", "critical")
"""From the least to the most severe."""

RULES = ("consensus", "any", "off")
"""What a finding needs to fail the gate: two independent executors, one, or it never does."""

GRAVE = "high"
"""Findings of this severity or worse never pass without a word, whatever the policy says."""

UNTOLD = "not recorded"
"""The source of a value of a run whose facts do not say it."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the gate asks of a panels folder; the table ``[tool.prun_review.gate]``."""

    mode: str = "enforce"
    """``enforce`` or ``report`` (shown, never decides)."""
    rule: str = "consensus"
    """``consensus``: two independent executors per case; ``single``: one answer is enough."""
    block: str = "high"
    """Findings of this severity or worse can fail the gate."""
    critical: str = ""
    """The rule for findings of this severity: ``consensus`` (two independent executors must hold it, or one
    holds and another confirms it), ``any`` (one is enough) or ``off`` (it never blocks); empty: by ``block``
    and ``rule``.  The same for the next four."""
    high: str = ""
    medium: str = ""
    low: str = ""
    info: str = ""
    quorum: int = 0
    """Independent executors that must have answered each case; 0: two, or one under the rule ``single``."""
    contested: int = 0
    """Findings held differently that do not stand in the way; -1: any number."""
    unresolved: int = 0
    """Uncertain or single findings that nobody settled and that do not stand in the way; -1: any number."""
    min_agreement: float = 0.0
    """The least share of findings (and of choices) on which the executors must agree, by counts, 0 to 1."""
    reproducibility: float = 0.0
    """The least share of an executor's own answers in which a finding must come back to gate, 0 to 1."""
    known: str = "pass"
    """What a finding of the baseline does: ``pass``, or ``gate`` like any other."""
    choices: str = "report"
    """What choice questions need: ``unanimous``, ``majority``, or nothing (``report``)."""
    uncovered: tuple[str, ...] = ()
    """Patterns of changed files that no probe needs to look at (of the run's own policy only)."""
    min_coverage: float = -1.0
    """The least share of a unit's files that its answer must have examined, 0 to 1; -1: half of the
    files of a change, any one file of a tree."""


def rule_of(policy: Policy, severity: str) -> str:
    """The rule for findings of a severity, one of :data:`RULES`.

    The severity's own key decides where it is set; else ``block`` and ``rule``.  What nobody knows is
    never harmless: an unknown severity, or an unknown rule, is under ``consensus``.
    """
    if severity not in SEVERITIES:
        return "consensus"
    own: str = getattr(policy, severity)
    if own:
        return own if own in RULES else "consensus"
    if SEVERITIES.index(severity) < _least(policy):
        return "off"
    return "any" if policy.rule == "single" else "consensus"


def grave(policy: Policy, severity: str) -> bool:
    """Whether a finding is worth a word, or a doubt, even where nothing gates it: it has a rule, or it is
    at or above ``block`` or :data:`GRAVE`."""
    if rule_of(policy, severity) != "off":
        return True
    return SEVERITIES.index(severity) >= min(_least(policy), SEVERITIES.index(GRAVE))


def _least(policy: Policy) -> int:
    """The rank of ``block``; an unknown word blocks on everything."""
    return SEVERITIES.index(policy.block) if policy.block in SEVERITIES else 0


def quorum_of(policy: Policy) -> int:
    """How many pairwise independent executors must have answered each case."""
    if policy.quorum > 0:
        return policy.quorum
    return 1 if policy.rule == "single" else 2


def within(count: int, limit: int) -> bool:
    """Whether so many are tolerated; a limit below 0 tolerates any number."""
    return limit < 0 or count <= limit


def range_of(name: str) -> str:
    """The range that a number of the policy must lie in, in words; empty where there is none."""
    return {
        "quorum": "0 or more",
        "contested": "-1 (any number) or more",
        "unresolved": "-1 (any number) or more",
        "min_agreement": "0 to 1",
        "reproducibility": "0 to 1",
        "min_coverage": "0 to 1, or -1",
    }.get(name, "")


def in_range(name: str, value: Any) -> bool:
    """Whether a value of the policy lies in :func:`range_of`."""
    if name == "quorum":
        return bool(value >= 0)
    if name in ("contested", "unresolved"):
        return bool(value >= -1)
    if name == "min_coverage":
        return bool(value == -1 or 0 <= value <= 1)
    return name not in ("min_agreement", "reproducibility") or bool(0 <= value <= 1)


# --- where the values came from -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting:
    """One value that holds for a panels folder."""

    value: str
    """As text; of a severity the rule that results."""
    source: str
    """``default``, or the table and the layer: ``gate in pyproject.toml``; of a severity without a key
    of its own: ``block and rule`` where one of these was set."""


def settings(policy: Policy, folder: str, sources: Mapping[str, str]) -> dict[str, Setting]:
    """Every key of the policy of ``folder``, with where its value came from.

    ``sources`` are those of the configuration: ``gate.high``, ``folders.panels/x``,
    ``folders.panels/x.high``.  A folder stands under the nearest table at or above it.
    """
    table = _table_of(folder, sources)
    made_of = {_source(key, table, sources) for key in ("block", "rule")}
    above = made_of.pop() if made_of <= {"default"} or made_of <= {UNTOLD} else "block and rule"
    found = {}
    for key in (f.name for f in fields(policy)):
        value = getattr(policy, key)
        source = _source(key, table, sources)
        if key in SEVERITIES:
            source = source if value else above
            value = rule_of(policy, key)
        told = " ".join(value) if isinstance(value, tuple) else f"{value:g}" if _number(value) else value
        found[key] = Setting(told, source)
    return found


def _number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _table_of(folder: str, sources: Mapping[str, str]) -> str:
    parts = folder.split("/")
    for n in range(len(parts), 0, -1):
        name = f"folders.{'/'.join(parts[:n])}"
        if name in sources:
            return name
    return ""


def _source(key: str, table: str, sources: Mapping[str, str]) -> str:
    own = sources.get(f"{table}.{key}", "") if table else ""
    if own:
        return f"{table} in {own}"
    above = sources.get(f"gate.{key}", UNTOLD)
    return above if above in (UNTOLD, "default") else f"gate in {above}"
