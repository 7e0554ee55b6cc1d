"""Units of the second wave before they are dispatched: what they are about, and what they may cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review import rundir
from prun_review.config import Config, ExecutorConfig, load
from prun_review.executors.command import AnyCommand
from prun_review.extensions import executors, manager
from prun_review.model import Brief, Contract, Exhibit, Plan, Unit, Usage
from prun_review.planning import complete
from prun_review.reporting import cost_range, examination_range
from tests.storekit import NOW, begin, result, unit
from tests.test_change_plan import AGENT, EXECUTORS, TREE, HandMade

BRIEF = Brief(
    "Is it real?",
    Contract("examination", ("confirm", "refute", "cannot-tell")),
    reads=("src/a.py", "src/[odd].py"),
    exhibits=(Exhibit("CLAIM", "Title: it breaks"),),
)
ASKED = Unit("prun_review::examine[x-1-acme]", "examine-x-1", "x-1", "panels", "acme", BRIEF)
OF_A_CHANGE = replace(
    BRIEF, scope="diff", contract=replace(BRIEF.contract, change=True), reads=("src/old.py", "README")
)


def completed(brief: Brief = BRIEF, tree: HandMade = TREE, **more: Any) -> Unit:
    [made] = complete([replace(ASKED, brief=brief)], tree, EXECUTORS, lambda name: "1", timeout=60.0, **more)
    return made


def test_files_are_named_and_not_matched() -> None:
    made = completed()
    assert (made.files, made.inlined, made.brief.timeout) == (("src/a.py",), (), 60.0)
    odd = replace(TREE, names=(*TREE.names, "src/[odd].py"))
    assert completed(tree=odd).files == ("src/[odd].py", "src/a.py")
    assert completed(replace(BRIEF, reads=())).files == ()


def test_of_a_change_the_diffs_are_shown_as_far_as_they_fit() -> None:
    assert (completed(OF_A_CHANGE).files, completed(OF_A_CHANGE).inlined) == (("README", "src/old.py"),) * 2
    larger = replace(TREE, changed={**TREE.changed, "README": "r" * 100})
    assert completed(replace(OF_A_CHANGE, max_diff=50), larger).inlined == ("src/old.py",)
    assert completed(replace(OF_A_CHANGE, max_diff=3)).inlined == ("README",), "one of two"


def test_an_equal_question_has_an_equal_fingerprint() -> None:
    assert completed().fingerprint == completed().fingerprint
    assert completed(replace(BRIEF, timeout=5.0)).fingerprint == completed().fingerprint
    others = [
        completed(),
        completed(replace(BRIEF, exhibits=(Exhibit("CLAIM", "Title: it breaks badly"),))),
        completed(replace(BRIEF, prompt="Is it so?")),
        completed(replace(BRIEF, reads=("src/kept.py",))),
        completed(OF_A_CHANGE),
        completed(OF_A_CHANGE, about="a fix"),
        completed(OF_A_CHANGE, replace(TREE, changed={**TREE.changed, "README": "r2"})),
    ]
    assert len({one.fingerprint for one in others}) == len(others)


def test_an_examiner_may_read_all_so_all_of_the_tree_counts() -> None:
    class Elsewhere(HandMade):
        def content_hash(self, names: Any) -> str:
            return super().content_hash(names) + " changed" * (not names)

    assert completed(tree=Elsewhere(TREE.changed)).fingerprint != completed().fingerprint
    there = completed(OF_A_CHANGE, Elsewhere(TREE.changed))
    assert there.fingerprint != completed(OF_A_CHANGE).fingerprint, "a file that the change leaves alone"


def test_of_a_change_the_whole_merge_base_counts() -> None:
    """A file of the change that the question does not name may be what refuted it."""
    other = replace(TREE, changed={**TREE.changed, "src/a.py": "what it was before is another"})
    assert completed(OF_A_CHANGE, other).fingerprint != completed(OF_A_CHANGE).fingerprint


def test_an_examiner_must_have_read_what_it_is_asked_about() -> None:
    assert completed().coverage == 1.0
    assert completed(OF_A_CHANGE).coverage == 1.0


# --- what it may cost -------------------------------------------------------------------------

CONFIG = load({"examine_limit": 4})
VENDORS = executors(manager(), CONFIG)
BOTH = Plan((unit(), replace(unit(), id="b", slug="b", executor="sonnet")))


def priced(root: Path, plan: Plan = BOTH, config: Config = CONFIG) -> list[str]:
    return examination_range(plan, VENDORS, root, config)


def billed(root: Path, **costs: float) -> None:
    """A run in which units (``examined`` ones of the second wave) cost so much."""
    run = rundir.create(root, now=NOW)
    begin(run)
    for name, usd in costs.items():
        examined = name.startswith("examined")
        one = replace(unit(name), executor="sonnet")
        one = replace(one, id="prun_review::examine[x-1-sonnet]") if examined else one
        run.finish(result(one, usage=Usage(cost_usd=usd)))
    run.close()


def test_the_upper_bound_is_the_limit_for_each_who_may_be_asked(tmp_path: Path) -> None:
    unknown = "at most 4 questions, cost not estimable: no earlier run was billed in money"
    assert priced(tmp_path) == [
        "cross-examination (gate): at most 4 questions more; --prun-cross-examine off leaves it out",
        f"codex: {unknown}",
        f"sonnet: {unknown}",
    ]
    billed(tmp_path, first=0.25, other=0.5)
    told = "sonnet: at most 4 questions, $4.00 at most (from 2 earlier units; counts one re-ask each)"
    assert priced(tmp_path)[2] == told
    billed(tmp_path, examined=0.125, first=0.5)
    told = "sonnet: at most 4 questions, $1.00 at most (from 1 earlier question; counts one re-ask each)"
    assert priced(tmp_path)[2] == told


def test_what_a_second_wave_cost_is_no_price_of_the_first(tmp_path: Path) -> None:
    billed(tmp_path, examined=9.0, first=0.25)
    assert rundir.costs(tmp_path) == {"sonnet": [0.25]}
    assert rundir.costs(tmp_path, examined=True) == {"sonnet": [9.0]}
    assert "$0.25 to $0.50" in cost_range(BOTH, VENDORS, tmp_path)[1]


@pytest.mark.parametrize(
    ("plan", "config"),
    [
        (BOTH, load({"cross_examine": "off"})),
        (BOTH, load({"examine_limit": 0})),
        (Plan(BOTH.units[:1]), CONFIG),
        (Plan(tuple(replace(u, brief=Brief("?", Contract("prose"))) for u in BOTH.units)), CONFIG),
        (Plan(()), CONFIG),
    ],
    ids=["off", "no question", "one vendor", "no findings", "nothing"],
)
def test_nothing_is_said_where_nothing_can_be_asked(tmp_path: Path, plan: Plan, config: Config) -> None:
    assert priced(tmp_path, plan, config) == []


def test_who_examines() -> None:
    known = executors(manager(), Config())
    assert {name for name, one in known.items() if "examination" in one.contracts} == {"codex", "sonnet"}
    assert "examination" not in AGENT.contracts, "a command that was not told of it"
    told = ExecutorConfig(
        "acme", "command", argv=("cli",), vendor="v", lineage="l", contracts=("findings", "examination")
    )
    assert "examination" in AnyCommand.configured(told).contracts
    inbox = load(
        {"executor": {"desk": {"type": "inbox", "inbox": "in", "vendor": "anthropic", "lineage": "claude"}}}
    )
    assert "examination" not in executors(manager(), inbox)["desk"].contracts
