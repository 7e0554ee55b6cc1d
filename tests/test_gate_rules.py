"""The rules of the gate, one finding and one folder at a time, each with what stands on either side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from prun_review import document
from prun_review.consensus import Group
from prun_review.fingerprints import fingerprint
from prun_review.foldergate import concord, headline
from prun_review.folders import blocks, judge
from prun_review.gate import decide, folders_of, gather
from prun_review.model import Acceptance, Contract, ExecutorInfo, Finding, Known, Plan, Unit, Verdict
from prun_review.policy import Policy
from tests.gate_situations import ASKS, CLEAN, CODEX, MINI, PAIR, held, skipped
from tests.gatekit import (
    CASE,
    EXECUTORS,
    FOLDER,
    LEAK,
    PERHAPS,
    SQL,
    SQL_REWORDED,
    STYLE,
    carry,
    choose,
    facts,
    lost,
    outage,
    result,
    unit,
    verdict,
)
from tests.rule_situations import RULES, Rule, group

RUFF = unit("ruff")
THREE = (*PAIR, RUFF)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule(rule: Rule) -> None:
    said = judge(rule.group, rule.policy, rule.settled)
    assert (said.code, said.outcome) == (rule.code, rule.outcome)
    assert blocks(rule.group, rule.policy, rule.settled) == rule.outcome
    assert said.why
    assert said.group is rule.group


def codes(said: Verdict, outcome: str = "INCOMPLETE") -> list[str]:
    return sorted(r.code for r in said.reasons if r.outcome == outcome)


def folder(policy: Policy, *groups: Group) -> Verdict:
    """The verdict on a folder that was soundly answered, with these groups."""
    named = tuple(replace(g, id=f"u#{n}") for n, g in enumerate(groups, start=1))
    return decide(facts(folders={FOLDER: policy}), Plan(PAIR), CLEAN, {CASE: named})


# --- limits -----------------------------------------------------------------------------------

SINGLES = (group("single"), group("single"))
CONTESTED = (group("contested"), group("contested", "critical"))


@pytest.mark.parametrize(
    ("policy", "groups", "expected"),
    [
        (Policy(unresolved=1), SINGLES, ["unresolved", "unresolved"]),
        (Policy(unresolved=2), SINGLES, []),
        (Policy(unresolved=-1), SINGLES, []),
        (Policy(contested=-1), SINGLES, ["unresolved", "unresolved"]),
        (Policy(unresolved=1), (group("uncertain"), group("single")), ["uncertain", "unresolved"]),
        (Policy(unresolved=2), (group("uncertain"), group("single")), []),
        (Policy(contested=1), CONTESTED, ["contested", "contested"]),
        (Policy(contested=2), CONTESTED, []),
        (Policy(contested=-1), CONTESTED, []),
        (Policy(unresolved=-1), CONTESTED, ["contested", "contested"]),
        (
            Policy(unresolved=-1, contested=-1),
            (group("contested", "critical", examined="refuted"),),
            ["refuted"],
        ),
        (Policy(unresolved=-1, contested=-1), (group("ungrounded", grounding="ungrounded"),), ["ungrounded"]),
        (Policy(unresolved=1), (group("single"), group("single", "low")), []),
        (Policy(contested=1), (group("contested"), group("contested", examined="refuted")), []),
    ],
)
def test_limits_of_a_folder(policy: Policy, groups: Sequence[Group], expected: list[str]) -> None:
    said = folder(policy, *groups)
    assert codes(said) == expected
    assert said.outcome == ("INCOMPLETE" if expected else "PASS")


def test_what_is_tolerated_is_said() -> None:
    said = folder(Policy(unresolved=2), *SINGLES)
    assert said.line == "PASS (2 high not settled, tolerated by policy)"
    [reason] = [r for r in said.reasons if r.code == "tolerated"]
    assert reason.text == "2 high nobody settled, tolerated: unresolved = 2"
    assert (said.counts["high_tolerated"], said.counts["high_open"], said.counts["blocking"]) == (2, 0, 0)


def test_a_remark_is_for_what_passes_and_is_worth_a_word() -> None:
    assert not folder(Policy(), group("single", "low")).reasons
    refuted = folder(Policy(), group("contested", "critical", examined="refuted"))
    assert [(r.code, r.outcome) for r in refuted.reasons] == [("refuted", "INCOMPLETE")]
    passed = folder(Policy(), group("contested", examined="refuted"))
    assert [(r.code, r.outcome) for r in passed.reasons] == [("refuted", "PASS")]
    assert passed.line == "PASS (1 high refuted by another vendor)"


def test_limits_are_of_each_folder() -> None:
    others = tuple(unit(name, "panels/other/probe_x.py::probe_x") for name in ("codex", "sonnet"))
    policy = Policy(unresolved=1)
    run = facts(folders={FOLDER: policy, "panels/other": policy})
    groups = {CASE: SINGLES[:1], others[0].case: (replace(SINGLES[0], id="x#1", case=others[0].case),)}
    said = decide(run, Plan((*PAIR, *others)), (*CLEAN, *map(result, others)), groups)
    assert said.outcome == "PASS"


# --- quorum -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "units", "answered", "expected"),
    [
        (Policy(), PAIR, 2, []),
        (Policy(), PAIR, 1, ["failed:timeout", "one-vendor"]),
        (Policy(quorum=1), PAIR[:1], 1, []),
        (Policy(quorum=2), PAIR[:1], 1, ["one-vendor"]),
        (Policy(quorum=3), THREE, 3, []),
        (Policy(quorum=3), THREE, 2, ["failed:timeout", "quorum"]),
        (Policy(quorum=3), (*PAIR, MINI), 3, ["quorum"]),
        (Policy(quorum=4), THREE, 3, ["quorum"]),
        (Policy(rule="single"), PAIR[:1], 1, []),
        (Policy(rule="single", quorum=2), PAIR[:1], 1, ["one-vendor"]),
        (Policy(rule="single", quorum=2), PAIR, 2, []),
        (Policy(quorum=-1), PAIR[:1], 1, ["one-vendor"]),
    ],
)
def test_quorum(policy: Policy, units: Sequence[Unit], answered: int, expected: list[str]) -> None:
    results = [result(u) if n < answered else lost(u) for n, u in enumerate(units)]
    assert codes(verdict(units, results, folders={FOLDER: policy})) == expected


def test_a_missed_quorum_says_how_many_there_were() -> None:
    units = (*PAIR, MINI)
    said = verdict(units, [result(u) for u in units], folders={FOLDER: Policy(quorum=3)})
    [reason] = [r for r in said.reasons if r.code == "quorum"]
    assert "3 of 3 executors asked (codex, sonnet, mini of codex, sonnet, mini)" in reason.text
    assert "2 of them are independent of each other, and the quorum is 3" in reason.text


def test_the_largest_independent_set_counts_and_not_the_first() -> None:
    """mini shares codex's vendor, proxy sonnet's lineage; one that shares with two hides two."""
    both = ExecutorInfo("both", "openai", "claude", paid=True)
    infos = (both, *EXECUTORS.values())
    units = tuple(unit(name) for name in ("both", "codex", "sonnet"))
    said = verdict(units, [result(u) for u in units], executors=infos)
    assert said.outcome == "PASS"


def test_an_outage_stands_in_for_the_quorum_of_two() -> None:
    results = (lost(CODEX, reason="network"), CLEAN[1])
    assert verdict(PAIR, results, acceptances=(outage(),)).outcome == "PASS"


# --- agreement --------------------------------------------------------------------------------

AGREED_LOW = group("consensus", "low", "low")
ALONE_LOW = group("single", "low")


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ((AGREED_LOW,), (1, 0)),
        ((ALONE_LOW,), (0, 1)),
        ((group("uncertain", "low"),), (0, 2)),
        ((group("contested", "low"),), (1, 0)),
        ((group("contested", "low", examined="confirmed"),), (1, 0)),
        ((group("contested", "low", examined="refuted"),), (0, 1)),
        ((group("ungrounded", "low", grounding="ungrounded"),), (0, 0)),
        ((group("single", "low", beside=True),), (0, 0)),
        ((group("odd", "low"),), (0, 0)),
        ((AGREED_LOW, ALONE_LOW, group("uncertain", "low")), (1, 3)),
    ],
)
def test_what_the_agreement_counts(groups: Sequence[Group], expected: tuple[int, int]) -> None:
    run, plan = facts(), Plan(PAIR)
    [seen] = folders_of(run, plan, gather(run, plan, CLEAN, {}).answers, {CASE: groups})
    assert concord(seen) == expected


@pytest.mark.parametrize(
    ("least", "groups", "expected"),
    [
        (0.0, (ALONE_LOW,), []),
        (0.5, (), []),
        (0.66, (AGREED_LOW, ALONE_LOW), []),
        (0.67, (AGREED_LOW, ALONE_LOW), ["low-agreement"]),
        (1.0, (AGREED_LOW,), []),
        (0.01, (ALONE_LOW,), ["low-agreement"]),
    ],
)
def test_least_agreement_on_findings(least: float, groups: Sequence[Group], expected: list[str]) -> None:
    said = folder(Policy(min_agreement=least), *groups)
    assert codes(said) == expected
    assert all("min_agreement" in r.text for r in said.reasons if r.code == "low-agreement")


SECOND = tuple(unit(u.executor, "panels/design/probe_x.py::probe_x", contract=u.brief.contract) for u in ASKS)
ONE, TWO = [("jsonl", "jsonl")], [("jsonl", "sqlite")]


@pytest.mark.parametrize(
    ("policy", "votes", "expected"),
    [
        (Policy(), TWO, []),
        (Policy(choices="majority"), ONE, []),
        (Policy(choices="majority"), TWO, ["choice-open"]),
        (Policy(choices="unanimous"), ONE, []),
        (Policy(choices="unanimous"), TWO, ["choice-open"]),
        (Policy(choices="unanimus"), TWO, ["choice-open"]),
        (Policy(min_agreement=0.5), [*ONE, *TWO], []),
        (Policy(min_agreement=0.51), [*ONE, *TWO], ["low-agreement"]),
        (Policy(min_agreement=1.0), [*ONE, *ONE], []),
    ],
)
def test_choices(policy: Policy, votes: list[tuple[str, str]], expected: list[str]) -> None:
    units = (*ASKS, *SECOND)[: 2 * len(votes)]
    results = [choose(u, option) for u, option in zip(units, (o for v in votes for o in v), strict=True)]
    said = verdict(units, results, folders={"panels/design": policy})
    assert codes(said) == expected
    assert ("1 choice without agreement" in said.line) == (TWO[0] in votes)


@pytest.mark.parametrize(
    ("need", "options", "outcome"),
    [
        ("majority", ("jsonl", "sqlite", "jsonl"), "PASS"),
        ("unanimous", ("jsonl", "sqlite", "jsonl"), "INCOMPLETE"),
        ("unanimous", ("jsonl", "jsonl", "jsonl"), "PASS"),
        ("majority", ("jsonl", "sqlite", "sqlite"), "PASS"),
        ("report", ("jsonl", "sqlite", "jsonl"), "PASS"),
    ],
)
def test_a_majority_is_more_than_one_half(need: str, options: tuple[str, ...], outcome: str) -> None:
    third = unit("proxy", ASKS[0].case, contract=ASKS[0].brief.contract)
    infos = (*list(EXECUTORS.values())[:2], ExecutorInfo("proxy", "acme", "acme-1", paid=True))
    results = [choose(u, o) for u, o in zip((*ASKS, third), options, strict=True)]
    folders = {"panels/design": Policy(choices=need)}
    assert verdict((*ASKS, third), results, folders=folders, executors=infos).outcome == outcome


def test_an_executor_that_is_of_two_minds_makes_nothing_unanimous() -> None:
    again = unit("codex", ASKS[0].case, 2, ASKS[0].brief.contract)
    results = (choose(ASKS[0], "jsonl"), choose(again, "sqlite"), choose(ASKS[1], "jsonl"))
    units = (*ASKS, again)
    for need in ("unanimous", "majority"):  # one voice of two is no majority either
        assert codes(verdict(units, results, folders={"panels/design": Policy(choices=need)})) == [
            "choice-open"
        ]


VOICES = tuple(
    ExecutorInfo(f"voice{n}", f"vendor{n}", f"line{n}", version="1.0", paid=False) for n in range(5)
)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (["a", "a", "b"], "PASS"),
        (["a", "a", "b", "c"], "INCOMPLETE"),  # the most, and only half
        (["a", "a", "b", "c", "d"], "INCOMPLETE"),
        (["a", "a", "a", "b", "c"], "PASS"),
        (["a", "ab"], "INCOMPLETE"),  # two answers that differ: no vote, and still a voice
        (["a", "ab", "bc"], "INCOMPLETE"),
        (["a", "a", "bc"], "PASS"),
        (["ab", "ab", "ab"], "INCOMPLETE"),
        (["a"], "PASS"),
    ],
)
def test_a_majority_is_of_all_voices_that_answered(said: list[str], outcome: str) -> None:
    contract = Contract("choice", ("a", "b", "c", "d"))
    units, results = [], []
    for n, options in enumerate(said):
        for repeat, option in enumerate(options, start=1):
            units.append(unit(f"voice{n}", ASKS[0].case, repeat, contract))
            results.append(choose(units[-1], option))
    policy = {"panels/design": Policy(choices="majority", quorum=1)}
    found = verdict(units, results, folders=policy, executors=VOICES)
    assert found.outcome == outcome
    assert codes(found) == (["choice-open"] if outcome == "INCOMPLETE" else [])


def test_an_answer_that_is_not_sound_has_no_vote() -> None:
    results = (choose(ASKS[0], "jsonl"), choose(ASKS[1], "xml"))
    said = verdict(ASKS, results, folders={"panels/design": Policy(choices="majority")})
    assert codes(said) == ["contract", "one-vendor"]
    assert said.counts["dissent"] == 0


# --- what was known before ----------------------------------------------------------------------


def accept(finding: Finding, **fields: Any) -> Acceptance:
    base = Acceptance(
        "finding", fingerprint(CASE, finding), "Ada", "fixed next week", case=CASE, finding=finding
    )
    return replace(base, **fields)


def entry(finding: Finding) -> Known:
    return Known(fingerprint(CASE, finding), CASE, FOLDER, finding)


def test_a_person_answers_for_a_finding_and_is_named() -> None:
    said = verdict(PAIR, held(SQL, SQL_REWORDED), acceptances=(accept(SQL, until="2026-12-05"),))
    assert said.line == "PASS (1 critical accepted by Ada until 2026-12-05)"
    assert [r.folder for r in said.reasons if r.code == "accepted"] == [FOLDER]


def test_an_acceptance_is_for_no_more_than_it_says() -> None:
    mild = accept(replace(SQL, severity="high"))
    assert verdict(PAIR, held(SQL, SQL_REWORDED), acceptances=(mild,)).outcome == "FAIL"
    assert verdict(PAIR, held(LEAK), acceptances=(accept(SQL),)).outcome == "INCOMPLETE"


def test_an_acceptance_that_is_over_is_said_and_counts_for_nothing() -> None:
    gone = accept(SQL, until="2026-11-01", expired=True)
    said = verdict(PAIR, held(SQL), acceptances=(gone,))
    assert codes(said) == ["unresolved"]
    [reason] = [r for r in said.reasons if r.code == "acceptance-expired"]
    assert "accepted by Ada until 2026-11-01, which is over: critical SQL injection" in reason.text
    assert not verdict(PAIR, CLEAN, acceptances=(gone,)).reasons


def test_a_known_finding_is_listed_and_does_not_gate() -> None:
    said = verdict(PAIR, held(SQL, SQL_REWORDED), known=(entry(SQL),))
    assert said.line == "PASS (1 critical known in the baseline)"
    worse = (entry(replace(SQL, severity="high")),)
    assert verdict(PAIR, held(SQL, SQL_REWORDED), known=worse).outcome == "FAIL"
    gating = {FOLDER: Policy(known="gate")}
    assert verdict(PAIR, held(SQL, SQL_REWORDED), known=(entry(SQL),), folders=gating).outcome == "FAIL"


@pytest.mark.parametrize(
    ("entries", "outcome"),
    [
        ((accept(SQL),), "INCOMPLETE"),
        ((accept(PERHAPS),), "INCOMPLETE"),
        ((accept(SQL), accept(PERHAPS)), "PASS"),
        ((accept(SQL, also=(PERHAPS,)),), "PASS"),
        ((accept(SQL), accept(replace(PERHAPS, severity="low"))), "INCOMPLETE"),
    ],
)
def test_what_may_be_two_defects_is_accepted_only_as_both(
    entries: tuple[Acceptance, ...], outcome: str
) -> None:
    assert verdict(PAIR, held(SQL, PERHAPS), acceptances=entries).outcome == outcome
    known = tuple(replace(entry(a.finding), also=a.also) for a in entries if a.finding is not None)
    assert verdict(PAIR, held(SQL, PERHAPS), known=known).outcome == outcome


def test_known_and_accepted_findings_are_no_part_of_the_agreement() -> None:
    strict = {FOLDER: Policy(min_agreement=0.9)}
    low = (result(CODEX, STYLE), CLEAN[1])
    assert codes(verdict(PAIR, low, folders=strict)) == ["low-agreement"]
    assert verdict(PAIR, low, folders=strict, known=(entry(STYLE),)).outcome == "PASS"
    assert verdict(PAIR, low, folders=strict, acceptances=(accept(STYLE),)).outcome == "PASS"


def test_an_entry_of_the_baseline_that_is_gone_is_said() -> None:
    said = verdict(PAIR, CLEAN, known=(entry(SQL),))
    [reason] = said.reasons
    assert (reason.code, reason.outcome) == ("stale-baseline", "PASS")
    assert "1 known in the baseline and not found any more: SQL injection" in reason.text
    not_heard = verdict(PAIR, (lost(CODEX), CLEAN[1]), known=(entry(SQL),))
    assert "stale-baseline" not in {r.code for r in not_heard.reasons}


# --- carried ------------------------------------------------------------------------------------

OPEN_BEFORE = replace(
    carry(replace(LEAK, id="old#1"), outcome="INCOMPLETE"), case=CASE, kind="single", finding="old#1"
)
LEAK_REFUTED = replace(
    group("contested", examined="refuted"), members=(replace(group("single").members[0], finding=LEAK),)
)


def carried(one: Any, *groups: Group, **fields: Any) -> Verdict:
    return decide(facts(carried=(one,), **fields), Plan(PAIR), CLEAN, {CASE: groups})


def test_an_examination_that_refutes_it_settles_what_nobody_had_settled() -> None:
    said = carried(OPEN_BEFORE, LEAK_REFUTED)
    assert (said.outcome, codes(said)) == ("PASS", [])
    assert "1 high of an earlier run refuted by another vendor in this run" in said.line


def graver(one: Any, severity: str) -> Any:
    members = tuple(replace(f, severity=severity) for f in one.members)
    return replace(one, severity=severity, members=members)


QUOTED = replace(LEAK, quote="handle = open(path)")
TWIN = replace(QUOTED, title="Another file handle is never closed", quote="other = open(name)", line=90)
BOTH_BEFORE = replace(OPEN_BEFORE, kind="uncertain", members=(QUOTED, TWIN))


def refuted(*findings: Finding) -> Group:
    member = LEAK_REFUTED.members[0]
    return replace(LEAK_REFUTED, members=tuple(replace(member, finding=f) for f in findings))


def test_what_may_be_two_is_settled_by_both_and_by_no_other() -> None:
    assert carried(BOTH_BEFORE, refuted(QUOTED), refuted(TWIN)).outcome == "PASS"
    one = carried(BOTH_BEFORE, refuted(QUOTED), acceptances=(accept(TWIN),))
    assert one.outcome == "PASS"
    assert "accepted by Ada" in one.line
    for left in (QUOTED, TWIN):
        assert codes(carried(BOTH_BEFORE, refuted(left))) == ["carried"]
        assert codes(carried(BOTH_BEFORE, acceptances=(accept(left),))) == ["carried"]


@pytest.mark.parametrize(
    ("one", "found"),
    [
        (replace(OPEN_BEFORE, outcome="FAIL"), LEAK_REFUTED),
        (replace(OPEN_BEFORE, kind="ungrounded"), LEAK_REFUTED),
        (replace(OPEN_BEFORE, kind=""), LEAK_REFUTED),
        (replace(OPEN_BEFORE, kind="contested", examined="refuted"), LEAK_REFUTED),
        (OPEN_BEFORE, replace(LEAK_REFUTED, examined="unresolved", severity="low")),
        (OPEN_BEFORE, replace(LEAK_REFUTED, examined="", severity="low")),
        (OPEN_BEFORE, group("contested", examined="refuted")),
        (OPEN_BEFORE, replace(LEAK_REFUTED, severity="low")),
        (OPEN_BEFORE, replace(LEAK_REFUTED, severity="low", examined="confirmed")),
        (graver(OPEN_BEFORE, "critical"), LEAK_REFUTED),
        (graver(OPEN_BEFORE, "critical"), replace(LEAK_REFUTED, severity="low")),
        (graver(OPEN_BEFORE, "odd"), LEAK_REFUTED),
        (replace(OPEN_BEFORE, members=(QUOTED,)), refuted(TWIN)),
    ],
)
def test_and_settles_nothing_else(one: Any, found: Group) -> None:
    said = carried(one, found)
    assert said.outcome == one.outcome
    assert "carried" in codes(said, one.outcome)


def test_a_ruling_in_a_folder_that_decides_nothing_settles_nothing() -> None:
    advice = tuple(unit(name, "panels/advice/probe_x.py::probe_x") for name in ("codex", "sonnet"))
    run = facts(carried=(OPEN_BEFORE,), folders={FOLDER: Policy(), "panels/advice": Policy(mode="report")})
    ruled = replace(LEAK_REFUTED, case=advice[0].case)
    said = decide(run, Plan((*PAIR, *advice)), (*CLEAN, *map(result, advice)), {advice[0].case: (ruled,)})
    assert codes(said) == ["carried"]


def test_a_person_settles_a_carried_blocker_and_is_named() -> None:
    failed = replace(OPEN_BEFORE, outcome="FAIL", kind="consensus")
    assert carried(failed).outcome == "FAIL"
    said = carried(failed, acceptances=(accept(LEAK),))
    assert said.line == "PASS (1 high of an earlier run accepted by Ada)"
    assert carried(failed, acceptances=(accept(replace(LEAK, severity="low")),)).outcome == "FAIL"
    assert carried(replace(failed, case="another"), acceptances=(accept(LEAK),)).outcome == "FAIL"


# --- how it is said -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ({"file": "src/a.py", "line": 3}, "(src/a.py:3)"),
        ({"file": "src/a.py", "line": None}, "(src/a.py)"),
        ({"file": None, "line": None}, "(no place)"),
        ({"file": "src/a.py", "line": 3, "side": "old"}, "(src/a.py:3 (old side))"),
        ({"file": "src/a.py", "line": 3, "side": "new"}, "(src/a.py:3)"),
        ({"file": None, "line": None, "side": "old"}, "(no place)"),
    ],
)
def test_where_a_finding_is(place: dict[str, Any], told: str) -> None:
    [member] = group("single").members
    moved = replace(group("single"), members=(replace(member, finding=replace(member.finding, **place)),))
    assert headline(moved) == f"high: SQL injection in find_user {told}"


@pytest.mark.parametrize(
    ("case", "expected"), [(CASE, []), ("panels/security/probe_x.py::probe_x", ["not-asked:needs"])]
)
def test_what_a_brief_needs_is_routing_only_where_others_were_asked(case: str, expected: list[str]) -> None:
    said = verdict(PAIR, CLEAN, plan={"not_asked": (skipped("needs", case, "ruff"),)})
    assert codes(said) == expected
    assert ("needs" in codes(said, "PASS")) is not bool(expected)


# --- the document -------------------------------------------------------------------------------


def test_the_document_says_of_each_finding_what_was_known_and_asked() -> None:
    run = facts(acceptances=(accept(SQL),), known=(entry(LEAK), entry(STYLE)), baseline="known.json")
    made = document.build(run, Plan(PAIR), (result(CODEX, SQL, LEAK), CLEAN[1]))
    assert document.validate(made) == []
    rows = {row["title"]: row for row in made["findings"]}
    assert rows[SQL.title]["accepted"] == {"by": "Ada", "reason": "fixed next week", "until": ""}
    assert rows[SQL.title]["decided"]["code"] == "accepted"
    assert (rows[LEAK.title]["known"], rows[LEAK.title]["decided"]["code"]) == (True, "known")
    assert rows[LEAK.title]["accepted"] is None
    assert rows[LEAK.title]["fingerprint"] == fingerprint(CASE, LEAK)
    assert rows[LEAK.title]["came"] == [{"executor": "codex", "times": 1, "of": 1}]
    assert made["acceptances"][0]["by"] == "Ada"
    base = made["baseline"]
    assert (base["file"], base["entries"], base["known"]) == ("known.json", 2, 1)
    assert [(e["title"], e["place"]) for e in base["stale"]] == [(STYLE.title, "src/cli.py:3")]
    assert document.build(facts(), Plan(PAIR), CLEAN)["baseline"] is None
