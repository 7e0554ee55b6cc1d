"""Who corroborates whom, and what independent executors hold together."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.consensus import Crossing, Group, cross
from prun_review.folding import Member, fold
from prun_review.independence import dependence, independent_among, known, rule_dependence
from prun_review.model import SEVERITIES, Finding, Result
from tests.gatekit import CASE, EXECUTORS, LEAK, PERHAPS, SQL, SQL_REWORDED, STYLE, broken, lost, result, unit


def run(**said: list[Finding]) -> Crossing:
    """The cross-check of what executors said, by name."""
    return cross([result(unit(name), *findings) for name, findings in said.items()], EXECUTORS)


def only(crossing: Crossing) -> Group:
    (group,) = crossing.groups
    return group


# --- independence -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "why"),
    [
        ("codex", "sonnet", ""),
        ("ruff", "pylint", ""),
        ("ruff", "codex", ""),
        ("codex", "codex", "itself"),
        ("codex", "mini", "both are openai's"),
        ("sonnet", "proxy", "both are claude's"),
        ("codex", "nameless", "not known"),
        ("codex", "unheard", "not known"),
    ],
)
def test_dependence_is_symmetric_and_named(left: str, right: str, why: str) -> None:
    for a, b in ((left, right), (right, left)):
        said = dependence(known(a, EXECUTORS), known(b, EXECUTORS))
        assert (why in said) if why else said == ""


def test_case_and_blanks_do_not_make_two_vendors() -> None:
    codex = EXECUTORS["codex"]
    shouting = replace(codex, name="other", vendor=" OpenAI ", lineage="other")
    assert "openai" in dependence(codex, shouting)


def test_a_lineage_that_is_the_others_vendor_is_no_second_opinion() -> None:
    wrapped = replace(EXECUTORS["codex"], name="wrapped", vendor="somebody", lineage="anthropic")
    assert dependence(wrapped, EXECUTORS["sonnet"])


@pytest.mark.parametrize(
    ("borrowed", "other", "corroborates"),
    [
        (None, "bandit", True),
        ("bandit", "bandit", False),
        ("Bandit", "bandit", False),
        ("pycqa", "bandit", False),
        ("bandit", "pylint", True),
    ],
)
def test_a_borrowed_rule_does_not_corroborate_its_origin(
    borrowed: str | None, other: str, corroborates: bool
) -> None:
    ours = replace(SQL, rule="S608", lineage=borrowed)
    said = rule_dependence(ours, SQL, EXECUTORS["ruff"], EXECUTORS[other])
    assert bool(said) is not corroborates
    if said:
        assert said == f"not corroboration: ruff's S608 is {borrowed}'s rule"


def test_two_rules_borrowed_from_one_origin_do_not_corroborate_each_other() -> None:
    both = replace(SQL, rule="S608", lineage="bandit")
    assert rule_dependence(both, both, EXECUTORS["ruff"], EXECUTORS["pylint"])


def test_independent_among() -> None:
    assert independent_among(["codex", "mini", "sonnet"], EXECUTORS)
    assert not independent_among(["codex", "mini", "codex"], EXECUTORS)
    assert not independent_among(["codex"], EXECUTORS)
    assert not independent_among([], EXECUTORS)


# --- classes ------------------------------------------------------------------------------------


def test_the_same_defect_in_ordinary_words_a_line_apart_is_consensus() -> None:
    group = only(run(codex=[SQL], sonnet=[SQL_REWORDED]))
    assert (group.kind, group.severity, group.agreed) == ("consensus", "critical", "critical")
    assert group.executors == ("codex", "sonnet")
    assert "codex and sonnet" in group.reason


@pytest.mark.parametrize(
    ("left", "right", "kind", "agreed"),
    [
        ("critical", "high", "consensus", "critical"),
        ("critical", "medium", "contested", ""),
        ("high", "low", "contested", ""),
        ("medium", "low", "consensus", "medium"),
        ("info", "info", "consensus", "info"),
    ],
)
def test_severities_two_levels_apart_are_contested(left: str, right: str, kind: str, agreed: str) -> None:
    group = only(run(codex=[replace(SQL, severity=left)], sonnet=[replace(SQL_REWORDED, severity=right)]))
    assert (group.kind, group.agreed, group.severity) == (kind, agreed, left)
    if kind == "contested":
        assert f"codex says {left}" in group.reason
        assert f"sonnet says {right}" in group.reason


def test_near_lines_in_other_words_are_uncertain() -> None:
    group = only(run(codex=[SQL], sonnet=[PERHAPS]))
    assert (group.kind, group.agreed) == ("uncertain", "")
    assert group.executors == ("codex", "sonnet")


def test_the_highest_severity_told_counts_where_two_quote_the_same_code() -> None:
    """A finding told low first and critical after is no less severe than one told critical at once."""
    mine = replace(SQL, severity="low", quote="db.execute(sql + name)")
    other = replace(mine, title="Unsafe", detail="This is bad.", category="other", severity="critical")
    group = only(run(codex=[mine, replace(mine, severity="critical")], sonnet=[other]))
    assert (group.kind, group.severity) == ("uncertain", "critical")


def test_distinct_defects_on_one_line_stay_two() -> None:
    other = replace(LEAK, file=SQL.file, line=SQL.line, end_line=SQL.end_line)
    crossing = run(codex=[SQL], sonnet=[other])
    assert [g.kind for g in crossing.groups] == ["single", "single"]
    assert crossing.groups[0].reason == "held by codex; not reported by sonnet"


def test_same_words_in_another_file_are_never_agreement() -> None:
    crossing = run(codex=[SQL], sonnet=[replace(SQL, file="src/billing.py")])
    assert {g.kind for g in crossing.groups} <= {"single", "uncertain"}


@pytest.mark.parametrize("pair", [("codex", "mini"), ("sonnet", "proxy"), ("codex", "nameless")])
def test_executors_that_are_not_independent_hold_it_together_as_one(pair: tuple[str, str]) -> None:
    crossing = run(**{pair[0]: [SQL], pair[1]: [SQL]})
    group = only(crossing)
    assert (group.kind, group.agreed, group.executors) == ("single", "", pair)
    assert not crossing.pairs[0].independent


def test_two_runs_of_one_executor_never_corroborate() -> None:
    first, second = result(unit("codex"), SQL), result(unit("codex", repeat=2), SQL_REWORDED)
    group = only(cross([first, second], EXECUTORS))
    assert group.kind == "single"
    assert len(group.members) == 2


def test_a_repetition_in_one_answer_is_folded_and_kept_with_its_severity() -> None:
    twice = [replace(SQL, severity="low", line=11, end_line=14), replace(SQL, line=11, end_line=15)]
    crossing = run(codex=twice, sonnet=[])
    group = only(crossing)
    assert group.kind == "single"
    assert group.severity == "critical"
    assert [m.finding.id.rpartition("#")[2] for m in group.members] == ["1", "2"]


def test_two_undefined_names_on_one_line_are_two_findings() -> None:
    a, b = (
        replace(STYLE, title=f"Undefined name `{name}`", detail="", rule="F821") for name in ("alpha", "beta")
    )
    assert len(fold([[Member("ruff", "u", a), Member("ruff", "u", b)]])) == 2


def test_an_ungrounded_finding_is_shown_and_matched_with_nothing() -> None:
    crossing = run(codex=[replace(SQL, grounding="ungrounded", note="no such line")], sonnet=[SQL])
    assert sorted((g.kind, g.reason) for g in crossing.groups) == [
        ("single", "held by sonnet; not reported by codex"),
        ("ungrounded", "no such line"),
    ]
    assert all(p.outcome == "alone" for p in crossing.pairs)


def test_a_broken_answer_corroborates_nothing_and_is_still_shown() -> None:
    crossing = cross([broken(unit("codex"), SQL), result(unit("sonnet"), SQL)], EXECUTORS)
    assert [g.kind for g in crossing.groups] == ["single", "single"]
    assert "codex is broken" in crossing.groups[1].reason
    assert "no other executor answered" in crossing.groups[0].reason


def test_a_broken_repeat_lends_no_finding_to_a_valid_one() -> None:
    answers = [result(unit("codex")), broken(unit("codex", repeat=2), SQL), result(unit("sonnet"), SQL)]
    assert [g.kind for g in cross(answers, EXECUTORS).groups] == ["single", "single"]


def test_what_may_be_the_same_does_not_raise_what_is_agreed() -> None:
    agreed = replace(SQL, severity="medium")
    crossing = run(codex=[agreed], sonnet=[agreed], pylint=[PERHAPS])
    assert [(g.kind, g.severity, g.executors) for g in crossing.groups] == [
        ("consensus", "medium", ("codex", "sonnet")),
        ("uncertain", "critical", ("pylint",)),
    ]


def test_a_borrowed_rule_is_single_and_says_so() -> None:
    ported = replace(SQL, rule="S608", lineage="bandit")
    group = only(run(ruff=[ported], bandit=[replace(SQL, rule="B608")]))
    assert (group.kind, group.reason) == ("single", "not corroboration: ruff's S608 is bandit's rule")
    assert group.executors == ("ruff", "bandit")


def test_a_borrowed_rule_does_not_take_the_partner_of_an_own_one() -> None:
    ported = replace(SQL, rule="S608", lineage="bandit")
    own = replace(SQL_REWORDED, rule="RX1")
    crossing = run(ruff=[ported, own], bandit=[replace(SQL, rule="B608")])
    kinds = {g.kind: [m.finding.rule for m in g.members] for g in crossing.groups}
    assert kinds == {"consensus": ["RX1", "B608"], "single": ["S608"]}


def test_a_third_voice_makes_a_borrowed_pair_consensus() -> None:
    ported = replace(SQL, rule="S608", lineage="bandit")
    group = only(run(ruff=[ported], pylint=[SQL], bandit=[replace(SQL, rule="B608")]))
    assert (group.kind, group.executors) == ("consensus", ("ruff", "pylint", "bandit"))


def test_groups_are_not_chained_and_nobody_is_dropped() -> None:
    """pylint's finding is like both others, which are not like each other."""

    def told(a: Finding, b: Finding) -> bool:
        return {a.rule, b.rule} != {"A", "C"}

    said = {"codex": "A", "pylint": "B", "sonnet": "C"}
    results = [result(unit(name), replace(SQL, rule=rule)) for name, rule in said.items()]
    crossing = cross(results, EXECUTORS, same=told)
    kinds = sorted(g.kind for g in crossing.groups)
    assert kinds == ["consensus", "uncertain"]
    assert all(not {"codex", "sonnet"} <= set(g.executors) for g in crossing.groups)


def test_dependent_voices_do_not_hide_a_severity() -> None:
    minor = replace(SQL, severity="medium")
    group = only(run(codex=[minor], sonnet=[minor], mini=[SQL]))
    assert (group.kind, group.severity, group.agreed) == ("contested", "critical", "medium")


def test_unknown_severities_are_never_agreed() -> None:
    odd = replace(SQL, severity="blocker")
    group = only(run(codex=[odd], sonnet=[odd]))
    assert (group.severity, group.agreed) == ("blocker", "")
    assert group.kind == "contested"


def test_the_hook_decides_what_is_the_same() -> None:
    results = [result(unit("codex"), SQL), result(unit("sonnet"), LEAK)]
    assert only(cross(results, EXECUTORS, same=lambda a, b: True)).kind == "consensus"
    apart = cross(
        [result(unit("codex"), SQL), result(unit("sonnet"), SQL)], EXECUTORS, same=lambda a, b: False
    )
    assert [g.kind for g in apart.groups] == ["single", "single"]


def test_failed_executors_hold_nothing_and_are_not_said_to_differ() -> None:
    crossing = cross([result(unit("codex"), SQL), lost(unit("sonnet"))], EXECUTORS)
    assert "no other executor answered" in only(crossing).reason
    assert crossing.pairs == ()


def test_no_results_no_groups() -> None:
    assert cross([], EXECUTORS) == Crossing()


# --- for any findings ---------------------------------------------------------------------------

FINDINGS = st.builds(
    Finding,
    title=st.sampled_from([SQL.title, SQL_REWORDED.title, LEAK.title, PERHAPS.title, ""]),
    detail=st.sampled_from([SQL.detail, LEAK.detail, ""]),
    file=st.sampled_from(["src/auth.py", "src/store.py", None]),
    line=st.sampled_from([None, 1, 12, 13, 40]),
    severity=st.sampled_from([*SEVERITIES, "blocker"]),
    category=st.sampled_from(["security", "resource"]),
    rule=st.sampled_from([None, "S608"]),
    lineage=st.sampled_from([None, "bandit", "pylint"]),
    grounding=st.sampled_from(["exact", "ungrounded"]),
)
SAID = st.dictionaries(
    st.tuples(st.sampled_from(sorted(EXECUTORS)), st.integers(1, 2)),
    st.lists(FINDINGS, max_size=4),
    max_size=5,
)


def answers(said: dict[tuple[str, int], list[Finding]]) -> list[Result]:
    return [result(unit(name, repeat=n), *findings) for (name, n), findings in said.items()]


@settings(max_examples=100, deadline=None)
@given(SAID, st.randoms(use_true_random=False))
def test_nothing_is_dropped_or_invented_whatever_the_order(
    said: dict[tuple[str, int], list[Finding]], rng: random.Random
) -> None:
    results = answers(said)
    crossing = cross(results, EXECUTORS)
    shown = sorted(m.finding.id for g in crossing.groups for m in g.members)
    assert shown == sorted(f.id for r in results for f in r.findings)
    rng.shuffle(results)
    assert cross(results, EXECUTORS) == crossing


@settings(max_examples=100, deadline=None)
@given(SAID)
def test_what_consensus_means(said: dict[tuple[str, int], list[Finding]]) -> None:
    crossing = cross(answers(said), EXECUTORS)
    matched = {(p.left, p.right) for p in crossing.pairs if p.outcome == "match" and p.independent}
    for group in crossing.groups:
        assert group.case == CASE
        if group.kind == "ungrounded":
            assert not group.members[0].finding.grounded
            continue
        assert all(m.finding.grounded for m in group.members)
        ends = [(m.executor, m.finding.id) for m in group.members]
        agreeing = any((a, b) in matched for a in ends for b in ends)
        assert agreeing == (group.kind in ("consensus", "contested"))
        assert (group.agreed == group.severity) == (group.kind == "consensus")
        if group.kind == "consensus":
            assert independent_among(group.executors, EXECUTORS)
