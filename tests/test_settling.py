"""What a baseline or an acceptance settles, and everything near it that it must not."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.answers import lay
from prun_review.consensus import Group
from prun_review.fingerprints import core, fingerprint
from prun_review.folding import Member
from prun_review.model import (
    SEVERITIES,
    Acceptance,
    Brief,
    Carried,
    ChangedFile,
    Finding,
    Known,
    Plan,
    RunFacts,
    Violation,
)
from prun_review.settling import GONE, Settled, answered_for, asked_about, settle
from tests.gatekit import CASE, FOLDER, LEAK, PERHAPS, SQL, SQL_REWORDED, broken, lost, result, unit

OTHER_CASE = f"{FOLDER}/probe_shop.py::probe_injection[billing]"
ANY = {CASE: None, OTHER_CASE: None}
QUOTED = replace(SQL, quote="query = 'select * from u where n = ' + name")
LOWER = [(a, b) for n, a in enumerate(SEVERITIES) for b in SEVERITIES[n + 1 :]]


def known(finding: Finding, case: str = CASE, **fields: object) -> Known:
    return replace(Known(fingerprint(case, finding), case, FOLDER, core(finding)), **fields)  # type: ignore[arg-type]


def accepted(finding: Finding, case: str = CASE, **fields: object) -> Acceptance:
    base = Acceptance("finding", fingerprint(case, finding), "Ada", "known", case=case, finding=core(finding))
    return replace(base, **fields)  # type: ignore[arg-type]


def group(*findings: Finding, id: str = "u#1", case: str = CASE, kind: str = "single") -> Group:
    severity = max((f.severity for f in findings), key=lambda s: [*SEVERITIES, s].index(s))
    members = tuple(Member(f"e{n}", "unit", f) for n, f in enumerate(findings))
    return Group(id, case, kind, severity, "", members, "", fingerprint(case, findings[0]))


def laid(*groups: Group, known: tuple[Known, ...] = (), accepted: tuple[Acceptance, ...] = ()) -> Settled:
    facts = RunFacts("r", 0.0, known=known, acceptances=accepted)
    return settle(facts, groups, asked=ANY)


# --- what is found ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "found",
    [
        SQL,
        replace(SQL, line=400, end_line=None, confidence=0.1, category="other"),
        replace(SQL, severity="low"),
        replace(SQL, file="./src/auth.py", title="sql injection in `find_user`"),
        SQL_REWORDED,
    ],
    ids=["as it was", "far away", "less severe", "spelled otherwise", "in other words"],
)
def test_a_known_finding_is_found(found: Finding) -> None:
    entry = known(SQL)
    done = laid(group(found), known=(entry,), accepted=(accepted(SQL),))
    assert done.known == {"u#1": entry}
    assert done.accepted == {"u#1": accepted(SQL)}
    assert done.stale == ()
    assert done.how["u#1"].startswith("told in other words" if found is SQL_REWORDED else "same fingerprint")


@pytest.mark.parametrize(
    ("found", "stale"),
    [
        (PERHAPS, False),
        (LEAK, True),
        (replace(SQL, file="src/other.py"), True),
        (replace(SQL, file=None, line=None), True),
        (replace(SQL_REWORDED, line=100, end_line=100), False),
        (replace(SQL_REWORDED, file=None, line=None), True),
    ],
    ids=["perhaps the same", "another", "another file", "no file", "other words, far away", "words alone"],
)
def test_what_only_looks_like_it_gates(found: Finding, stale: bool) -> None:
    """And what may be there still is not called stale."""
    done = laid(group(found), known=(known(SQL),), accepted=(accepted(SQL),))
    assert (done.known, done.accepted) == ({}, {})
    assert (done.stale, done.unasked) == (((known(SQL),), ()) if stale else ((), (known(SQL),)))


def test_another_case_is_never_settled() -> None:
    done = laid(group(SQL, case=OTHER_CASE), known=(known(SQL),), accepted=(accepted(SQL),))
    assert (done.known, done.accepted) == ({}, {})
    forged = replace(known(SQL), fingerprint=fingerprint(OTHER_CASE, SQL))
    assert laid(group(SQL, case=OTHER_CASE), known=(forged,)).known == {}


@pytest.mark.parametrize(("stored", "now"), LOWER)
@pytest.mark.parametrize("words", [SQL, SQL_REWORDED], ids=["name", "words"])
def test_a_higher_severity_is_never_settled_and_said_to_be_worse(
    stored: str, now: str, words: Finding
) -> None:
    entry, by = known(replace(SQL, severity=stored)), accepted(replace(SQL, severity=stored))
    done = laid(group(replace(words, severity=now)), known=(entry,), accepted=(by,))
    assert (done.known, done.accepted) == ({}, {})
    assert done.worse == {"u#1": entry}
    assert done.stale == ()
    equal = laid(group(replace(words, severity=stored)), known=(entry,), accepted=(by,))
    assert (equal.known, equal.accepted, equal.worse) == ({"u#1": entry}, {"u#1": by}, {})


@pytest.mark.parametrize("word", ["fatal", "", "CRITICAL"])
def test_an_unknown_severity_settles_nothing_and_is_not_settled(word: str) -> None:
    odd = replace(SQL, severity=word)
    done = laid(group(odd), known=(known(replace(SQL, severity="critical")),), accepted=(accepted(SQL),))
    assert (done.known, done.accepted) == ({}, {})
    assert laid(group(SQL), known=(replace(known(SQL), finding=odd),)).known == {}
    assert laid(group(SQL), accepted=(replace(accepted(SQL), finding=odd),)).accepted == {}


@pytest.mark.parametrize("name", ["", "f2-0123456789abcdef", "f1-xyz", "x"])
def test_a_name_of_another_version_settles_nothing(name: str) -> None:
    done = laid(
        group(SQL),
        known=(replace(known(SQL), fingerprint=name),),
        accepted=(replace(accepted(SQL), subject=name),),
    )
    assert (done.known, done.accepted) == ({}, {})


def test_acceptances_of_other_kinds_settle_no_finding() -> None:
    odd = replace(accepted(SQL), kind="outage"), replace(accepted(SQL), finding=None)
    assert laid(group(SQL), accepted=odd).accepted == {}


def test_any_member_of_a_group_finds_it() -> None:
    done = laid(group(PERHAPS, replace(LEAK, file=SQL.file, line=14), SQL), known=(known(SQL),))
    assert set(done.known) == {"u#1"}
    done = laid(group(PERHAPS, SQL_REWORDED), known=(known(SQL),))
    assert set(done.known) == {"u#1"}


def test_the_words_of_all_who_held_it_find_it() -> None:
    entry = known(SQL, also=(core(PERHAPS),))
    done = laid(group(SQL, id="u#1"), group(PERHAPS, id="v#1"), known=(entry,))
    assert done.known == {"u#1": entry, "v#1": entry}
    by = accepted(SQL, also=(core(PERHAPS),))
    done = laid(group(SQL, id="u#1"), group(PERHAPS, id="v#1"), accepted=(by,))
    assert done.accepted == {"u#1": by, "v#1": by}


def test_two_entries_of_one_defect_are_both_there() -> None:
    entries = known(SQL), known(SQL_REWORDED)
    done = laid(group(SQL, SQL_REWORDED), known=entries)
    assert set(done.known) == {"u#1"}
    assert done.stale == ()


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ((known(SQL),), False),
        ((known(PERHAPS),), False),
        ((known(SQL), known(PERHAPS)), True),
        ((known(SQL, also=(core(PERHAPS),)),), True),
        ((known(SQL_REWORDED), known(PERHAPS)), True),
        ((known(SQL), known(replace(PERHAPS, severity="low"))), False),
        ((known(SQL), known(LEAK)), False),
    ],
)
def test_what_may_be_two_defects_must_be_known_as_both(entries: tuple[Known, ...], found: bool) -> None:
    done = laid(group(SQL, PERHAPS, kind="uncertain"), known=entries)
    assert done.known == ({"u#1": entries[0]} if found else {})
    assert set(laid(group(SQL, PERHAPS, kind="consensus"), known=entries).known) == {"u#1"}


def test_the_worst_of_what_may_be_two_defects_speaks_for_both() -> None:
    low, high = known(replace(SQL, severity="low")), known(PERHAPS)
    several = group(replace(SQL, severity="low"), PERHAPS, kind="uncertain")
    assert laid(several, known=(low, high)).known == {"u#1": high}
    worse = laid(group(SQL, PERHAPS, kind="uncertain"), known=(low, high))
    assert (worse.known, worse.worse) == ({}, {"u#1": low})


def test_an_ungrounded_finding_is_found_by_its_name_only() -> None:
    def torn(finding: Finding) -> Group:
        return group(replace(finding, grounding="ungrounded"), kind="ungrounded")

    assert set(laid(torn(SQL), known=(known(SQL),), accepted=(accepted(SQL),)).known) == {"u#1"}
    done = laid(torn(SQL_REWORDED), known=(known(SQL),), accepted=(accepted(SQL),))
    assert (done.known, done.accepted) == ({}, {})


# --- one to one -------------------------------------------------------------------------------


def test_two_defects_never_hide_behind_one_entry() -> None:
    twin = replace(SQL, line=90, end_line=90)
    done = laid(group(SQL, id="u#1"), group(twin, id="u#2"), known=(known(SQL),))
    assert set(done.known) == {"u#1"}
    reworded = replace(SQL_REWORDED, line=14, end_line=14)
    done = laid(group(SQL, id="u#1"), group(reworded, id="u#2"), known=(known(SQL),))
    assert set(done.known) == {"u#1"}
    done = laid(group(SQL_REWORDED, id="u#1"), group(reworded, id="u#2"), known=(known(SQL),))
    assert len(done.known) == 1


def test_one_place_told_twice_is_one_defect() -> None:
    done = laid(group(SQL, id="u#1"), group(SQL, id="v#1"), known=(known(SQL),))
    assert set(done.known) == {"u#1", "v#1"}


def test_one_place_told_twice_counts_as_its_worst() -> None:
    low = known(replace(SQL, severity="high"))
    done = laid(group(replace(SQL, severity="high"), id="u#1"), group(SQL, id="v#1"), known=(low,))
    assert done.known == {}
    assert set(done.worse) == {"u#1", "v#1"}


def test_findings_of_one_name_keep_their_order_when_lines_drift() -> None:
    lines = [5, 50, 500]
    entries = tuple(known(replace(SQL, line=n, end_line=n)) for n in lines)
    groups = [group(replace(SQL, line=n + 7, end_line=n + 7), id=f"u#{n}") for n in lines]
    done = laid(*reversed(groups), known=entries)
    assert {id: k.finding.line for id, k in done.known.items()} == {"u#5": 5, "u#50": 50, "u#500": 500}


def test_the_line_decides_who_of_one_name_was_known() -> None:
    entry = known(replace(SQL, line=50, end_line=50))
    groups = [group(replace(SQL, line=n, end_line=n), id=f"u#{n}") for n in (5, 50, 500)]
    assert set(laid(*groups, known=(entry,)).known) == {"u#50"}


def test_a_severe_entry_is_not_spent_on_a_mild_finding() -> None:
    entries = tuple(known(replace(SQL, line=n, severity=s)) for n, s in ((5, "critical"), (50, "low")))
    mild = group(replace(SQL, line=8, severity="low"), id="u#1")
    severe = group(replace(SQL, line=60, severity="critical"), id="u#2")
    done = laid(mild, severe, known=entries)
    assert {id: k.finding.severity for id, k in done.known.items()} == {"u#1": "low", "u#2": "critical"}


def test_the_mildest_entry_that_covers_it_is_the_one() -> None:
    entries = tuple(known(replace(SQL, line=n, severity=s)) for n, s in ((5, "critical"), (50, "low")))
    done = laid(group(replace(SQL, line=8, severity="low")), known=entries)
    assert done.known == {"u#1": entries[1]}
    assert done.stale == (entries[0],)


def test_a_wording_that_is_told_twice_stands_for_one_place() -> None:
    twice = known(SQL, also=(core(replace(SQL, line=14)),))
    groups = [group(replace(SQL, line=n, end_line=n), id=f"u#{n}") for n in (12, 90)]
    assert len(laid(*groups, known=(twice,)).known) == 1


def test_a_wording_that_is_told_of_two_places_stands_for_both() -> None:
    two = known(SQL, also=(core(replace(SQL, line=90)),))
    groups = [group(replace(SQL, line=n, end_line=n), id=f"u#{n}") for n in (12, 90, 200)]
    assert set(laid(*groups, known=(two,)).known) == {"u#12", "u#90"}


# --- stale, expired, carried ------------------------------------------------------------------


def facts_of(*entries: Known, **fields: object) -> RunFacts:
    return replace(RunFacts("r", 0.0, known=entries), **fields)  # type: ignore[arg-type]


def test_an_entry_is_stale_only_where_everybody_answered() -> None:
    units = unit("codex"), unit("sonnet")
    facts, plan = facts_of(known(SQL), known(LEAK, OTHER_CASE)), Plan(units)
    sound = [result(u) for u in units]
    salvaged = replace(sound[1], salvage=(Violation("lost-finding", "/findings/0", "a line is missing"),))
    for second, expected in (
        (sound[1], (known(SQL),)),
        (lost(units[1]), ()),
        (broken(units[1]), ()),
        (salvaged, ()),
        (None, ()),
    ):
        answers = lay(plan, [sound[0], *([second] if second else [])])
        assert settle(facts, (), asked=asked_about(facts, plan, answers)).stale == expected
    assert settle(facts, ()).stale == ()


def test_an_entry_is_stale_only_where_its_file_was_asked_about() -> None:
    one = replace(unit("codex"), files=("src/auth.py", "src/new.py"))
    change = (ChangedFile("src/new.py", "src/store.py", "renamed"),)
    entries = known(SQL), known(LEAK), known(replace(LEAK, file="src/cli.py"))
    gone = known(replace(LEAK, file="src/gone.py"), note=GONE)
    facts, plan = facts_of(*entries, gone, change=change), Plan((one,))
    asked = asked_about(facts, plan, lay(plan, [result(one)]))
    assert settle(facts, (), asked=asked).stale == (entries[0], entries[1], gone)
    part = replace(one, files=(), brief=Brief("p", scope="diff"))
    asked = asked_about(facts, Plan((part,)), lay(Plan((part,)), [result(part)]))
    assert settle(facts, (), asked=asked).stale == (gone,)


def test_an_expired_acceptance_settles_nothing_and_is_told() -> None:
    over = accepted(SQL, until="2020-01-01", expired=True)
    done = laid(group(SQL_REWORDED), accepted=(over,))
    assert (done.accepted, done.expired) == ({}, {"u#1": over})
    done = laid(group(SQL), accepted=(over, accepted(SQL)))
    assert (done.accepted, done.expired) == ({"u#1": accepted(SQL)}, {})


def carry(*members: Finding, **fields: object) -> Carried:
    first = members[0]
    base = Carried(
        "run", "u#1", first.severity, first.title, "", "INCOMPLETE", FOLDER, members, CASE, "single"
    )
    return replace(base, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "by", "answered"),
    [
        (carry(SQL), accepted(SQL), True),
        (carry(replace(LEAK, file=SQL.file, line=14), SQL_REWORDED), accepted(SQL), True),
        (carry(PERHAPS), accepted(SQL), False),
        (carry(SQL), accepted(SQL, expired=True), False),
        (carry(SQL), accepted(replace(SQL, severity="high")), False),
        (carry(SQL, case=""), accepted(SQL), False),
        (carry(SQL, case=OTHER_CASE), accepted(SQL), False),
        (carry(SQL_REWORDED, kind="ungrounded"), accepted(SQL), False),
        (carry(SQL, PERHAPS, kind="uncertain"), accepted(SQL), False),
        (carry(SQL, PERHAPS, kind="uncertain"), accepted(SQL, also=(core(PERHAPS),)), True),
        (carry(SQL, severity="fatal"), accepted(SQL), False),
    ],
)
def test_who_answers_for_a_carried_blocker(one: Carried, by: Acceptance, answered: bool) -> None:
    facts = RunFacts("r", 0.0, carried=(one,), acceptances=(by,))
    assert answered_for(facts) == ({("run", "u#1"): by} if answered else {})


# --- whatever the order, whatever the data ----------------------------------------------------

TITLES = ["SQL injection in find_user", "User name reaches the SQL query in find_user", "Handle leaks"]
SOME = st.builds(
    Finding,
    title=st.sampled_from(TITLES),
    file=st.sampled_from(["src/a.py", "src/b.py", None]),
    line=st.sampled_from([1, 2, 30, None]),
    severity=st.sampled_from([*SEVERITIES, "odd"]),
    quote=st.sampled_from([None, "do(x)"]),
)
CASES = st.sampled_from([CASE, OTHER_CASE])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(SOME, CASES), max_size=6),
    st.lists(st.tuples(st.lists(SOME, min_size=1, max_size=3), CASES), max_size=6),
    st.randoms(use_true_random=False),
)
def test_what_is_settled_holds_whatever_comes(
    stored: list[tuple[Finding, str]], held: list[tuple[list[Finding], str]], rng: random.Random
) -> None:
    entries = tuple(known(f, case) for f, case in stored)
    by = tuple(accepted(f, case) for f, case in stored)
    kinds = [rng.choice(["single", "uncertain"]) for _ in held]
    groups = [
        group(*findings, id=f"u#{n}", case=case, kind=kinds[n]) for n, (findings, case) in enumerate(held)
    ]
    done = laid(*groups, known=entries, accepted=by)
    named = {g.id: g for g in groups}
    for id, entry in done.known.items():
        assert entry.case == named[id].case
        assert SEVERITIES.index(named[id].severity) <= SEVERITIES.index(entry.finding.severity)
        assert any(m.finding.file == entry.finding.file for m in named[id].members)
    if all(len(g.members) == 1 for g in groups):  # each entry stands for one place
        spots = {(named[id].case, named[id].fingerprint, named[id].lead.line) for id in done.known}
        assert len(spots) <= len(entries)
    assert set(done.known) == set(done.accepted)
    assert not set(done.worse) & set(done.known)
    assert not set(done.stale) & {*done.known.values(), *done.worse.values()}
    shuffled_entries, shuffled = list(entries), list(groups)
    rng.shuffle(shuffled_entries)
    rng.shuffle(shuffled)
    again = laid(*shuffled, known=tuple(shuffled_entries), accepted=tuple(reversed(by)))
    assert set(again.known) == set(done.known)
    assert set(again.worse) == set(done.worse)
    assert set(again.stale) == set(done.stale)
