"""The policy of the gate: the rule of a severity, ranges, and where each value came from."""

from __future__ import annotations

import json
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review import document
from prun_review.config import load
from prun_review.consensus import CLASSES
from prun_review.errors import ConfigError
from prun_review.fingerprints import fingerprint
from prun_review.folders import judge
from prun_review.model import SEVERITIES, Acceptance, Plan
from prun_review.policy import RULES, Policy, grave, quorum_of, rule_of, settings, within
from tests.gate_situations import CLEAN, PAIR, held
from tests.gatekit import CASE, FOLDER, LEAK, SQL, facts, result, verdict
from tests.rule_situations import group


@pytest.mark.parametrize(
    ("policy", "rules"),
    [
        (Policy(), "off off off consensus consensus"),
        (Policy(block="critical"), "off off off off consensus"),
        (Policy(block="info"), "consensus consensus consensus consensus consensus"),
        (Policy(block="hihg"), "consensus consensus consensus consensus consensus"),
        (Policy(rule="single"), "off off off any any"),
        (Policy(rule="single", block="low"), "off any any any any"),
        (Policy(high="off", info="any"), "any off off off consensus"),
        (Policy(rule="single", critical="consensus"), "off off off any consensus"),
        (Policy(medium="sometimes"), "off off consensus consensus consensus"),
    ],
)
def test_rule_of_each_severity(policy: Policy, rules: str) -> None:
    assert [rule_of(policy, severity) for severity in SEVERITIES] == rules.split()


POLICIES = st.builds(
    Policy,
    rule=st.sampled_from(["consensus", "single"]),
    block=st.sampled_from([*SEVERITIES, "odd"]),
    critical=st.sampled_from(["", *RULES]),
    high=st.sampled_from(["", *RULES, "odd"]),
    low=st.sampled_from(["", *RULES]),
)


@given(POLICIES, st.sampled_from([*SEVERITIES, "blocker", ""]))
def test_what_nobody_knows_is_never_harmless_and_never_enough_alone(policy: Policy, word: str) -> None:
    rule = rule_of(policy, word)
    assert rule in RULES
    if word not in SEVERITIES:
        assert rule == "consensus"
        assert grave(policy, word)
    if rule != "off":
        assert grave(policy, word)


@pytest.mark.parametrize(
    ("policy", "least"),
    [
        (Policy(), "high"),
        (Policy(block="critical"), "high"),
        (Policy(block="medium"), "medium"),
        (Policy(block="info"), "info"),
        (Policy(high="off", critical="off"), "high"),
        (Policy(block="medium", medium="off"), "medium"),
    ],
)
def test_what_is_grave_whatever_gates_it(policy: Policy, least: str) -> None:
    assert [s for s in SEVERITIES if grave(policy, s)] == list(SEVERITIES[SEVERITIES.index(least) :])


def test_a_severity_with_a_rule_is_grave_on_its_own() -> None:
    assert [s for s in SEVERITIES if grave(Policy(low="any"), s)] == ["low", "high", "critical"]


@pytest.mark.parametrize(
    ("policy", "quorum"),
    [
        (Policy(), 2),
        (Policy(rule="single"), 1),
        (Policy(quorum=1), 1),
        (Policy(rule="single", quorum=3), 3),
        (Policy(quorum=-1), 2),
    ],
)
def test_quorum(policy: Policy, quorum: int) -> None:
    assert quorum_of(policy) == quorum


@pytest.mark.parametrize(
    ("count", "limit", "fits"),
    [(0, 0, True), (1, 0, False), (1, 1, True), (2, 1, False), (9, -1, True), (0, -1, True)],
)
def test_limits(count: int, limit: int, fits: bool) -> None:
    assert within(count, limit) is fits


# --- what may be written --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("quorum", [0, 1, 9], [-1]),
        ("contested", [-1, 0, 7], [-2]),
        ("unresolved", [-1, 0, 7], [-2]),
        ("min_agreement", [0, 0.5, 1, 1.0], [-0.01, 1.01, 50]),
        ("reproducibility", [0, 0.5, 1], [-1, 1.5]),
        ("min_coverage", [-1, 0, 0.3, 1], [-0.5, 1.5, -2]),
        ("critical", ["", "consensus", "any", "off"], ["single", "block"]),
        ("known", ["pass", "gate"], ["off"]),
        ("choices", ["unanimous", "majority", "report"], ["all"]),
    ],
)
def test_values_that_are_taken_and_refused(key: str, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert getattr(load({"gate": {key: value}}).gate, key) == value
    for value in bad:
        for table, place in (
            ({"gate": {key: value}}, "[tool.prun_review.gate]"),
            ({"folders": {"panels/x": {key.replace("_", "-"): value}}}, 'folders."panels/x"]'),
        ):
            with pytest.raises(ConfigError) as refused:
                load(table)
            assert key in str(refused.value)
            assert place in refused.value.place
            assert refused.value.remedy
            assert "of ," not in refused.value.remedy


@pytest.mark.parametrize("order", [("gate", "folders"), ("folders", "gate")])
def test_a_folder_stands_over_the_gate_field_by_field_in_any_order(order: tuple[str, ...]) -> None:
    tables = {"gate": {"quorum": 3, "high": "any"}, "folders": {"panels/x": {"high": "off"}, "panels/y": {}}}
    config = load({name: tables[name] for name in order})
    assert config.policy("panels/x") == Policy(quorum=3, high="off")
    assert config.policy("panels/x/deep") == Policy(quorum=3, high="off")
    assert config.policy("panels/y") == config.gate == Policy(quorum=3, high="any")


# --- where it came from ---------------------------------------------------------------------------

SOURCES = load(
    {
        "gate": {"block": "medium", "min-agreement": 0.5},
        "folders": {"panels/x": {"high": "any"}, "/panels/x/y/": {}},
    }
).sources


@pytest.mark.parametrize(
    ("folder", "key", "policy", "value", "source"),
    [
        ("panels/z", "mode", Policy(), "enforce", "default"),
        ("panels/z", "block", Policy(block="medium"), "medium", "gate in pyproject.toml"),
        ("panels/z", "min_agreement", Policy(min_agreement=0.5), "0.5", "gate in pyproject.toml"),
        ("panels/z", "high", Policy(), "consensus", "block and rule"),
        ("panels/x", "high", Policy(high="any"), "any", "folders.panels/x in pyproject.toml"),
        ("panels/x/z", "high", Policy(high="any"), "any", "folders.panels/x in pyproject.toml"),
        ("panels/x/z", "block", Policy(block="medium"), "medium", "gate in pyproject.toml"),
        ("panels/x/y", "high", Policy(), "consensus", "block and rule"),
        ("panels/xy", "high", Policy(), "consensus", "block and rule"),
        ("panels/z", "uncovered", Policy(uncovered=("a/**", "b")), "a/** b", "default"),
        ("panels/z", "unresolved", Policy(unresolved=-1), "-1", "default"),
    ],
)
def test_every_value_knows_its_source(folder: str, key: str, policy: Policy, value: str, source: str) -> None:
    held = settings(policy, folder, SOURCES)
    assert list(held) == [f.name for f in fields(Policy)]
    assert (held[key].value, held[key].source) == (value, source)


def test_severities_of_a_policy_that_nobody_touched_are_default() -> None:
    held = settings(Policy(), "panels/x", load({}).sources)
    assert {setting.source for setting in held.values()} == {"default"}
    assert (held["high"].value, held["low"].value) == ("consensus", "off")


def test_a_run_without_sources_says_so() -> None:
    assert {s.source for s in settings(Policy(), FOLDER, {}).values()} == {"not recorded"}
    assert settings(Policy(high="any"), FOLDER, {})["high"].source == "not recorded"


def test_a_stored_run_can_print_the_policy_with_its_sources() -> None:
    config = load({"folders": {FOLDER: {"block": "low"}}})
    run = facts(folders={FOLDER: config.policy(FOLDER)}, sources=dict(config.sources))
    made = document.build(run, Plan(PAIR), CLEAN)
    assert document.validate(made) == []
    stored = json.loads(json.dumps(made))["policy"][FOLDER]
    assert stored["block"] == {"value": "low", "source": f"folders.{FOLDER} in pyproject.toml"}
    assert stored["low"] == {"value": "consensus", "source": "block and rule"}
    assert stored["choices"] == {"value": "report", "source": "default"}
    assert document.start(replace(run, finished=None), Plan(PAIR))["policy"][FOLDER] == stored


# --- the README says the same -----------------------------------------------------------------------

SECTION = (
    (Path(__file__).parent.parent / "README.md")
    .read_text(encoding="utf-8")
    .split("## What the verdict means")[1]
    .split("\n## ")[0]
)
CELLS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in SECTION.split("| a finding is |")[1].split("\n\n")[0].splitlines()[2:]
]


@pytest.mark.parametrize("cells", CELLS, ids=lambda cells: cells[0])
def test_the_table_of_rules_is_what_the_gate_does(cells: list[str]) -> None:
    words, *expected = cells
    kind = words.split(":")[0].split(",")[0]
    severity = "critical" if words.endswith("critical") else "high"
    agreed = severity if kind == "consensus" else ""
    more: dict[str, Any] = {"grounding": "ungrounded"} if kind == "ungrounded" else {}
    examined = "refuted" if "refuted" in words else ""
    for rule, outcome in zip(RULES, expected, strict=True):
        one = group(kind, severity, agreed, examined=examined, **more)
        key: dict[str, Any] = {severity: rule}
        said = judge(one, Policy(**key))
        assert said.outcome == outcome.replace("said", "")
        if outcome == "said":
            assert said.code == "refuted"


def test_the_table_of_rules_has_every_class() -> None:
    assert {cells[0].split(":")[0].split(",")[0] for cells in CELLS} == set(CLASSES)


def test_the_example_of_a_policy_is_one() -> None:
    table = tomllib.loads(SECTION.split("```toml\n")[1].split("```")[0])["tool"]["prun_review"]
    config = load(table)
    assert rule_of(config.policy("panels/security"), "medium") == "consensus"
    assert config.policy("panels/design") == replace(config.gate, choices="majority", unresolved=-1)
    assert (config.gate.unresolved, config.gate.choices) == (2, "report")


def test_the_line_that_is_shown_is_one() -> None:
    leak = replace(LEAK, severity="medium")
    other = replace(leak, title="Retry without backoff", detail="A dead host is hammered.", file="src/net.py")
    high = replace(SQL, severity="high")
    person = Acceptance("finding", fingerprint(CASE, high), "Ada", "x", "2026-12-05", case=CASE, finding=high)
    table = tomllib.loads(SECTION.split("```toml\n")[1].split("```")[0])["tool"]["prun_review"]
    policy = load(table).policy(FOLDER)
    said = verdict(PAIR, held(high), folders={FOLDER: policy}, acceptances=(person,))
    assert said.line == "PASS (1 high accepted by Ada until 2026-12-05)"
    results = (result(PAIR[0], high, leak), result(PAIR[1], other))
    said = verdict(PAIR, results, folders={FOLDER: policy}, acceptances=(person,))
    assert f"`{said.line}`" in " ".join(SECTION.split())


@pytest.mark.parametrize("name", ["panels//x", "panels/./x", "panels/y/../x", "./panels/x", "", "/"])
def test_a_folder_has_one_spelling(name: str) -> None:
    """Another one would hold nowhere, and nobody would miss it."""
    with pytest.raises(ConfigError, match="roundabout"):
        load({"folders": {name: {"medium": "any"}}})


def test_a_folder_has_one_policy() -> None:
    for names in (("panels/x", "panels/x/"), ("panels/x/", "panels/x")):
        with pytest.raises(ConfigError, match="twice"):
            load({"folders": {name: {"medium": "any"} for name in names}})
    assert load({"folders": {"panels/x/": {"medium": "any"}}}).policy("panels/x/y").medium == "any"
