"""The derivation of a verdict: it says what the verdict says, and shows by what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.config import load
from prun_review.explain import MOST, Node, lines, plain, tree
from prun_review.gate import Evidence, for_gate_command, gather, judge
from prun_review.model import Opinion, Plan, Reason, Result, Unit, Verdict
from prun_review.policy import Policy
from prun_review.rulings import Question, Ruling
from prun_review.verdict import conclude, worst
from tests.change_situations import ROWS as CHANGES
from tests.gate_situations import AGREED, CLEAN, CODEX, PAIR, ROWS, Row, held
from tests.gate_strategies import FACTS, quiet_results, some_results
from tests.gatekit import CASE, FOLDER, LEAK, SQL, STYLE, facts, groups_of, lost, result, unit
from tests.rule_situations import group


def explained(evidence: Evidence) -> tuple[Node, Verdict]:
    verdict = for_gate_command(judge(evidence))
    return tree(evidence, verdict), verdict


def check(evidence: Evidence) -> Node:
    """The outcomes of the tree alone, put together from its leaves, give the verdict."""
    root, verdict = explained(evidence)
    assert root.outcome == verdict.outcome == from_leaves(root)
    for name, outcome in verdict.folders.items():
        if outcome in ("PASS", "FAIL", "INCOMPLETE"):
            [node] = [n for n in root.children if n.text == name]
            assert from_leaves(node) == node.outcome
            harder = worst(r.outcome for r in verdict.reasons if r.folder == name)
            assert node.outcome == worst((outcome, harder))
        else:
            [node] = [n for n in root.children if n.text.startswith(f"{name}: {outcome}")]
    told = [text for _, text in lines(root)]
    for reason in verdict.reasons:
        assert any(f"[{reason.code}]" in line for line in told)
    return root


def from_leaves(node: Node) -> str:
    """The worst of the outcomes below, not looking at what the nodes between say."""
    deciding = [c for c in node.children if c.outcome]
    return worst(from_leaves(c) for c in deciding) if deciding else node.outcome or "PASS"


def gathered(units: Sequence[Unit], results: Sequence[Result], plan: Any = None, **changed: Any) -> Evidence:
    return gather(facts(**changed), Plan(tuple(units), **(plan or {})), results, groups_of(results))


@settings(max_examples=200, deadline=None)
@given(st.one_of(some_results(), quiet_results()), FACTS)
def test_the_tree_gives_the_verdict(
    made: tuple[tuple[Unit, ...], list[Result]], changed: dict[str, Any]
) -> None:
    check(gathered(*made, **changed))


@pytest.mark.parametrize("row", [*ROWS, *CHANGES], ids=lambda row: row.name)
def test_every_situation_is_explained(row: Row) -> None:
    check(gathered(row.units, row.results, row.plan, **row.facts))


def test_what_is_wrong_with_the_stored_files_stands_in_it() -> None:
    evidence = gathered(PAIR, CLEAN)
    verdict = judge(evidence)
    harder = conclude(
        [Reason("result-refused", "altered"), *verdict.reasons], verdict.folders, verdict.counts
    )
    root = tree(evidence, harder)
    assert (root.outcome, from_leaves(root)) == ("INCOMPLETE", "INCOMPLETE")
    assert (1, "INCOMPLETE <- the run as a whole") in lines(root)
    assert (2, "INCOMPLETE: [result-refused] altered") in lines(root)


def test_a_tree_from_the_verdict_to_what_was_said() -> None:
    evidence = Plan(PAIR), (result(CODEX, SQL, STYLE), CLEAN[1])
    claim = Question("x-1", "claim", CASE, FOLDER, "u#1", severity="critical")
    proof = replace(LEAK, title="")
    opinion = Opinion("refute", "the value is bound, not formatted", proof)
    ruling = Ruling(claim, "refuted", "sonnet refutes it", "", (("sonnet", opinion),))
    refuted = replace(group("contested", "critical", examined="refuted"), rulings=(ruling,))
    config = load({"folders": {FOLDER: {"critical": "consensus", "quorum": 2}}})
    run = facts(folders={FOLDER: config.policy(FOLDER)}, sources=dict(config.sources))
    root = check(gather(run, *evidence, {CASE: [refuted]}))
    told = [f"{'  ' * depth}{text}" for depth, text in lines(root)]
    assert told == [
        "INCOMPLETE (2 of 2 units answered; refuted; 1 critical to be settled)",
        "  PASS: the run as a whole",
        f"  INCOMPLETE <- {FOLDER}",
        "    policy",
        f"      folders.{FOLDER} in pyproject.toml: critical = consensus, quorum = 2",
        "      default: mode = enforce, rule = consensus, block = high, high = consensus, medium = off, "
        "low = off, info = off, contested = 0, unresolved = 0, min_agreement = 0, reproducibility = 0, "
        "known = pass, choices = report, uncovered = (none), min_coverage = -1",
        "    cases: 1",
        f"      {CASE}: 2 of 2 executors answered (codex, sonnet), 2 independent of each other, quorum 2",
        "      findings: 0 held together, 1 by one voice each; choices: 0",
        "    INCOMPLETE <- findings: 1 refuted",
        "      INCOMPLETE <- [refuted] critical: SQL injection in find_user (src/auth.py:12)",
        "        rule: the rule for critical is consensus, and a person must answer for a refuted one "
        f"(source: folders.{FOLDER} in pyproject.toml)",
        "        class contested: says why",
        "        held by 1 executor",
        "          codex says critical: SQL injection in find_user (exact, u)",
        "        asked in the second wave: does it hold? refuted: sonnet refutes it",
        "          sonnet: refute at src/store.py:80 (exact): the value is bound, not formatted",
        "    PASS: what else was found",
    ]


def test_long_lists_are_counted_the_worst_first() -> None:
    low = [replace(group("single", "low"), id=f"u#{n}") for n in range(2 * MOST)]
    root = check(gather(facts(), Plan(PAIR), CLEAN, {CASE: [*low, group("single", "critical")]}))
    [folder] = [n for n in root.children if n.text == FOLDER]
    [found] = [n for n in folder.children if "findings: " in n.text and n.outcome]
    assert found.text == f"findings: {2 * MOST} off, 1 unresolved"
    assert len(found.children) == MOST + 1
    assert "[unresolved] critical" in found.children[0].text
    assert found.children[-1] == Node(f"and {MOST + 1} more")


def test_what_is_not_worth_a_word_is_one_line() -> None:
    root = check(gather(facts(), Plan(PAIR), CLEAN, {CASE: [group("single", "low")]}))
    assert (3, "PASS: [off] low: SQL injection in find_user (src/auth.py:12)") in lines(root)


def test_who_is_away_and_who_decides_nothing_is_said() -> None:
    from tests.gatekit import outage

    results = (lost(CODEX, reason="network"), CLEAN[1])
    root = check(gathered(PAIR, results, acceptances=(outage(),)))
    assert any("stands without who is away" in text for _, text in lines(root))
    report = check(gathered(PAIR, AGREED, folders={FOLDER: Policy(mode="report")}))
    assert (1, f"{FOLDER}: report: FAIL; it decides nothing") in lines(report)
    assert report.outcome == "PASS"


def test_what_the_baseline_holds_milder_is_said() -> None:
    from tests.test_gate_rules import entry

    known = (entry(replace(SQL, severity="low")),)
    root = check(gathered(PAIR, held(SQL), known=known))
    assert any(text == "the baseline holds it as low only" for _, text in lines(root))


F1 = "f1-0123456789abcdef"


def test_the_limit_that_let_it_pass_has_its_own_source() -> None:
    config = load({"gate": {"unresolved": 1}})
    run = facts(folders={FOLDER: config.gate}, sources=dict(config.sources), cross_examine="gate")
    root = check(gather(run, Plan(PAIR), CLEAN, {CASE: [group("single")]}))
    told = [text for _, text in lines(root)]
    assert (
        "rule: the rule for high is consensus, and nobody settled it; unresolved = 1 lets it pass "
        "(source: high: default; unresolved: gate in pyproject.toml)"
    ) in told
    assert [text for text in told if "tolerated:" in text] == [
        "PASS: [tolerated] 1 high nobody settled, tolerated: unresolved = 1"
    ]
    assert not any("cross-examination is off" in text for text in told)


@pytest.mark.parametrize(
    ("kind", "fields", "policy", "settled"),
    [
        ("single", {}, Policy(), True),
        ("contested", {"examined": "refuted", "severity": "critical"}, Policy(), True),
        ("consensus", {"agreed": "high"}, Policy(), False),
        ("single", {}, Policy(rule="single"), False),
        ("single", {}, Policy(unresolved=1), False),
        ("single", {}, Policy(mode="report"), False),
        ("nonsense", {}, Policy(), False),
    ],
)
def test_what_a_person_can_settle_says_how(
    kind: str, fields: dict[str, Any], policy: Policy, settled: bool
) -> None:
    one = replace(group("single"), kind=kind, fingerprint=F1, **fields)
    run = facts(folders={FOLDER: policy})
    told = [text for _, text in lines(check(gather(run, Plan(PAIR), CLEAN, {CASE: [one]})))]
    assert f"fingerprint {F1}" in told
    command = f"to settle: prun-review accept {run.run_id} {F1} --by NAME --reason TEXT"
    assert (command in told) is settled


@pytest.mark.parametrize(
    ("kind", "mode", "said"), [("single", "off", 1), ("single", "gate", 0), ("ungrounded", "off", 0)]
)
def test_that_cross_examination_is_off_is_said_where_nobody_settled_it(
    kind: str, mode: str, said: int
) -> None:
    evidence = gather(facts(cross_examine=mode), Plan(PAIR), CLEAN, {CASE: [group(kind)]})
    told = [text for _, text in lines(check(evidence))]
    assert told.count("nobody was asked about it: cross-examination is off") == said


@pytest.mark.parametrize(
    ("severities", "examined", "why"),
    [
        (("high", "high"), "", "independent executors hold it as high"),
        (("high", "medium"), "", "independent executors hold it; the higher severity counts: high"),
        (
            ("high",),
            "confirmed",
            "one holds it and another vendor confirms it; the higher severity counts: high",
        ),
    ],
)
def test_who_holds_what_fails_and_as_how_severe(severities: tuple[str, ...], examined: str, why: str) -> None:
    [member, *_] = group("single").members
    members = tuple(replace(member, finding=replace(member.finding, severity=s)) for s in severities)
    one = replace(group("consensus", agreed="high", examined=examined), members=members)
    told = [text for _, text in lines(check(gather(facts(), Plan(PAIR), CLEAN, {CASE: [one]})))]
    assert f"rule: {why} (source: not recorded)" in told


def test_repeats_are_counted() -> None:
    again = unit("codex", repeat=2)
    root = check(gathered((*PAIR, again), (result(CODEX, SQL), CLEAN[1], result(again))))
    assert any(text == "codex came back to it in 1 of 2 answers" for _, text in lines(root))


def test_as_json_values() -> None:
    root = check(gathered(PAIR, AGREED))
    told = plain(root)
    assert (told["outcome"], told["text"]) == ("FAIL", "FAIL (1 critical)")
    assert [child["outcome"] for child in told["children"]] == ["PASS", "FAIL"]
