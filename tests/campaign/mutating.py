"""Ways to break the gate on purpose: a function or a number of the package is another one for a while."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from prun_review import answers, consensus, folders, gate, groups, model, verdict

Change = Callable[[pytest.MonkeyPatch], None]


def everywhere(original: Any, other: Any) -> Change:
    """A function of the package in every module that holds it."""

    def change(patch: pytest.MonkeyPatch) -> None:
        held = [
            (module, name)
            for module in list(sys.modules.values())
            if getattr(module, "__name__", "").startswith("prun_review")
            for name, value in list(vars(module).items())
            if value is original
        ]
        assert held, f"{original} is nowhere"
        for module, name in held:
            patch.setattr(module, name, other)

    return change


def other_facts(**fields: Callable[[model.RunFacts], Any]) -> Change:
    """The gate takes other facts than those of the run."""
    original = gate.gather

    def gather(facts: model.RunFacts, *rest: Any) -> gate.Evidence:
        return original(replace(facts, **{name: how(facts) for name, how in fields.items()}), *rest)

    return everywhere(original, gather)


def other_groups(how: Callable[[groups.Group], groups.Group | None]) -> Change:
    """The cross-check comes to other groups."""
    original = consensus.cross

    def cross(*args: Any, **named: Any) -> groups.Crossing:
        found = original(*args, **named)
        kept = tuple(g for group in found.groups if (g := how(group)) is not None)
        return replace(found, groups=kept)

    return everywhere(original, cross)


def other_results(how: Callable[[model.Result], model.Result]) -> Change:
    """Results are taken for something else."""
    original = answers.lay
    return everywhere(original, lambda plan, results: original(plan, [how(r) for r in results]))


def other_decisions(how: Callable[[folders.Decision], folders.Decision]) -> Change:
    """A finding leads to something else."""
    original = folders.judge
    return everywhere(original, lambda *args: how(original(*args)))


def without(code: str) -> Change:
    """A reason is forgotten."""
    original = verdict.conclude

    def conclude(
        reasons: Iterable[model.Reason], outcomes: Mapping[str, str], counts: Mapping[str, int]
    ) -> model.Verdict:
        kept = [r for r in reasons if r.code.partition(":")[0] != code]
        left = {r.folder for r in kept if r.outcome != "PASS"}
        named = {
            name: o if name in left or o.startswith("report") else "PASS" for name, o in outcomes.items()
        }
        return original(kept, named, counts)

    return everywhere(original, conclude)


def in_place(module: Any, name: str, value: object) -> Change:
    """One name of one module (or class)."""
    return lambda patch: patch.setattr(module, name, value)
