"""Units about a change: what they are about, what they must have examined, and what is not asked."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from prun_review.change import Listed
from prun_review.config import Config, ExecutorConfig
from prun_review.errors import BriefError
from prun_review.executors.analyser import built_in
from prun_review.executors.command import AnyCommand
from prun_review.model import Brief, Contract, NotAsked, Plan, Unit
from prun_review.patterns import matcher
from prun_review.planning import NO_BASE, UNTOUCHED, Proposal, make
from prun_review.policy import Policy
from prun_review.ports import Executor

AGENT = AnyCommand.configured(ExecutorConfig("acme", "command", argv=("cli",), vendor="acme", lineage="one"))
EXECUTORS: Mapping[str, Executor] = {"acme": AGENT, "ruff": built_in(Config())["ruff"]}
BRIEF = Brief("What breaks?", Contract(change=True), reads=("src/**",), scope="diff")


@dataclass
class HandMade:
    """A tree of a change: ``src/a.py`` and ``README`` changed, ``src/old.py`` is gone."""

    changed: Mapping[str, str]
    """Path -> what stands for its difference."""
    names: tuple[str, ...] = ("README", "src/a.py", "src/kept.py", "tools/x.py")
    base_names: tuple[str, ...] = ("README", "lib/only_before.py", "src/a.py", "src/old.py")

    @property
    def listing(self) -> tuple[Listed, ...]:
        return tuple(Listed(path, "text", len(text)) for path, text in sorted(self.changed.items()))

    def expand(self, patterns: Sequence[str]) -> tuple[str, ...]:
        for pattern in patterns:
            if not any(map(matcher([pattern]), self.names)):
                raise BriefError(f"reads: {pattern!r} matches no file")
        return tuple(filter(matcher(patterns), self.names)) if patterns else ()

    def content_hash(self, names: Sequence[str]) -> str:
        return " ".join(names or ["everything"])

    def slice_hash(self, names: Sequence[str]) -> str:
        whole = "".join(f"{name}\0{self.changed[name]}\0" for name in names)
        return hashlib.sha256(whole.encode()).hexdigest()


TREE = HandMade({"README": "r1", "src/a.py": "a1", "src/old.py": "o1"})


def proposal(**changes: Any) -> Proposal:
    wanted = Proposal(
        "p.py::probe[x]", "p.py::probe", "panels", "acme", brief=BRIEF, files=("src/a.py", "src/old.py")
    )
    return replace(replace(wanted, inlined=wanted.files), **changes)


def planned(p: Proposal, tree: HandMade = TREE, **more: Any) -> tuple[Plan, dict[str, str]]:
    return make([p], tree, EXECUTORS, lambda name: "1", **more)


def unit_of(p: Proposal, tree: HandMade = TREE, **more: Any) -> Unit:
    plan, broken = planned(p, tree, **more)
    assert broken == {}
    (unit,) = plan.units
    return unit


def test_an_agent_is_asked_about_its_slice() -> None:
    unit = unit_of(proposal(inlined=("src/a.py",)))
    assert unit.files == ("src/a.py", "src/old.py")
    assert unit.inlined == ("src/a.py",)
    assert unit.coverage == 0.5


def test_an_analyser_gets_what_is_still_there_and_ends_as_it_reads() -> None:
    unit = unit_of(proposal(executor="ruff", files=("README", "src/a.py", "src/old.py")))
    assert (unit.files, unit.inlined, unit.coverage) == (("src/a.py",), (), 0.0)


@pytest.mark.parametrize("files", [("README",), ("src/old.py",)])
def test_an_analyser_without_a_file_is_not_asked(files: tuple[str, ...]) -> None:
    plan, broken = planned(proposal(executor="ruff", files=files, brief=replace(BRIEF, reads=())))
    assert (plan.units, broken) == ((), {})
    (left,) = plan.not_asked
    assert (left.reason, left.text) == (
        UNTOUCHED,
        "no file that ends with .py is left of what changed",
    )


@pytest.mark.parametrize(
    ("brief", "configured", "least"),
    [
        (BRIEF, -1.0, 0.5),
        (BRIEF, 0.0, 0.0),
        (BRIEF, 0.9, 0.9),
        (replace(BRIEF, scope="tree"), -1.0, 0.0),
        (replace(BRIEF, scope="tree"), 0.3, 0.3),
        (replace(BRIEF, contract=Contract("prose")), 0.9, 0.0),
    ],
)
def test_the_folder_says_how_much_must_be_examined(brief: Brief, configured: float, least: float) -> None:
    policies = {"panels": Policy(min_coverage=configured)}
    assert unit_of(proposal(brief=brief), policy=policies.__getitem__).coverage == least


@pytest.mark.parametrize("reason", [UNTOUCHED, NO_BASE, "skipped"])
def test_a_case_that_touches_nothing_is_not_asked(reason: str) -> None:
    plan, broken = planned(proposal(files=(), not_asked=reason, text="why"))
    assert broken == {}
    assert plan.not_asked == (NotAsked("p.py::probe[x]", "p.py::probe", "panels", "acme", reason, "why"),)


@pytest.mark.parametrize("not_asked", ["", UNTOUCHED])
def test_a_pattern_that_names_nothing_at_all_is_an_error_of_its_brief(not_asked: str) -> None:
    wrong = proposal(brief=replace(BRIEF, reads=("src/**", "scr/**")), not_asked=not_asked)
    plan, broken = planned(wrong)
    assert [unit.id for unit in plan.units] == [wrong.id]
    assert broken == {wrong.id: "reads: 'scr/**' matches no file"}


@pytest.mark.parametrize("pattern", ["src/kept.py", "lib/**", "src/old.py"])
def test_a_pattern_may_name_what_did_not_change_or_is_gone(pattern: str) -> None:
    plan, broken = planned(proposal(brief=replace(BRIEF, reads=(pattern,)), files=(), not_asked=UNTOUCHED))
    assert (plan.units, broken) == ((), {})


def test_a_push_that_changes_other_files_leaves_the_fingerprint() -> None:
    first = unit_of(proposal())
    other = HandMade({**TREE.changed, "README": "r2", "docs/new.md": "n"})
    assert unit_of(proposal(), other).fingerprint == first.fingerprint
    touched = HandMade({**TREE.changed, "src/a.py": "a2"})
    assert unit_of(proposal(), touched).fingerprint != first.fingerprint
    assert unit_of(proposal(), about="Title: trust me").fingerprint != first.fingerprint
    assert unit_of(proposal(files=("src/a.py",))).fingerprint != first.fingerprint


def test_a_higher_bar_is_another_question() -> None:
    wanted = {
        unit_of(proposal(), policy=lambda folder, c=c: Policy(min_coverage=c)).fingerprint
        for c in (-1.0, 0.5, 0.7)
    }
    assert len(wanted) == 2
