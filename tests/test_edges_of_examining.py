"""Who examines what, and what is told of it: each fails for a change that nobody noticed before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from prun_review.consensus import cross
from prun_review.crossexam import Round
from prun_review.model import ExecutorInfo, Finding, Opinion, Result, Unit
from prun_review.ruled import every_ruling, rulings_of
from tests.examkit import (
    ABLE,
    CANNOT_TELL,
    NO,
    REFUTE,
    YES,
    ask_of,
    claim,
    confirm,
    examined,
    opinion,
    pair,
)
from tests.gatekit import EXECUTORS, LEAK, PERHAPS, SQL, SQL_REWORDED, result, unit
from tests.test_effects import DOUBT, first, of, run

CODEX, SONNET, MINI, PROXY, THIRD = (unit(n) for n in ("codex", "sonnet", "mini", "proxy", "third"))


def asked(units: Sequence[Unit], results: Sequence[Result], third: ExecutorInfo, **more: Any) -> Round:
    """What is asked in a run that has one executor more."""
    contracts = {**ABLE, "third": ABLE["codex"]}
    facts = {"executors": (third, *EXECUTORS.values())}
    return ask_of(units, results, facts=facts, **{"contracts": contracts, **more})


def test_an_examiner_is_independent_of_each_who_holds_it_most_severely() -> None:
    third = ExecutorInfo("third", "other", "gpt-mini", True)  # mini's lineage, and no vendor of theirs
    units = (CODEX, MINI, THIRD, SONNET)
    results = [result(CODEX, SQL), result(MINI, SQL_REWORDED), result(THIRD), result(SONNET)]
    assert [u.executor for u in asked(units, results, third).units] == ["sonnet"]
    alone = [result(CODEX, SQL), *map(result, units[1:])]
    assert {u.executor for u in asked(units, alone, third).units} == {"third", "sonnet"}


@pytest.mark.parametrize("units", list(permutations((CODEX, SONNET, THIRD))))
@pytest.mark.parametrize("held", [{"codex": SQL, "sonnet": PERHAPS}, {"codex": PERHAPS, "sonnet": SQL}])
def test_both_of_a_pair_come_before_a_third(units: tuple[Unit, ...], held: dict[str, Finding]) -> None:
    third = ExecutorInfo("third", "other", "other", True)
    results = [result(u, *(held[n] for n in [u.executor] if n in held)) for u in units]
    found = asked(units, results, third)
    assert [q.kind for q in found.questions] == ["same"]
    assert {u.executor for u in found.units} == {"codex", "sonnet"}


def test_a_claim_shows_what_all_said_of_it_its_own_holder_first() -> None:
    ours = replace(SQL, quote="db.execute(sql_1 + name)")
    again = replace(ours, quote="db.execute(sql_1 + name)  # ours", severity="high")
    theirs = replace(SQL_REWORDED, quote="db.execute(sql_2 + name)")
    results = [result(CODEX, ours, again), result(MINI, theirs), result(SONNET)]
    [shown] = ask_of((CODEX, MINI, SONNET), results).units[0].brief.exhibits
    assert shown.text.index("sql_1") < shown.text.index("sql_2")
    assert shown.text.count("sql_1") == 2


def test_one_that_could_examine_a_claim_is_named_and_no_more() -> None:
    contracts = {name: frozenset({"findings"}) for name in ABLE}
    units = (CODEX, SONNET, PROXY)
    found = ask_of(units, [result(CODEX, SQL), result(SONNET), result(PROXY)], contracts=contracts)
    [left] = found.left_out
    assert left.why.startswith("sonnet does not examine: ")
    assert "proxy" not in left.why


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (None, "gave no answer to rely on (timeout)"),
        (confirm("high"), "confirms it as high"),
        (opinion("confirm"), "confirms it"),
        (REFUTE, "refutes it"),
        (opinion("refute", "high"), "refutes it"),
        (opinion("refute", None, "ungrounded"), "refutes it, without proof"),
        (opinion("confirm", "low", "line-only"), "confirms it as low, without proof"),
        (CANNOT_TELL, "cannot tell"),
    ],
)
def test_what_an_examiner_said_is_told(said: Opinion | None, told: str) -> None:
    (ruling,) = every_ruling(examined((claim(first("codex")), {"sonnet": said})))
    assert ruling.why == f"sonnet {told}"


def test_an_examiner_without_a_result_is_told() -> None:
    held = examined((claim(first("codex")), {"sonnet": REFUTE}))
    (ruling,) = every_ruling(replace(held, results=()))
    assert ruling.why == "sonnet gave no answer to rely on (missing)"


def test_one_pair_that_nobody_settled_leaves_a_doubt_unresolved_whatever_else_was() -> None:
    other = pair(first("codex"), first("sonnet", 2))
    held = examined((DOUBT, {"codex": YES, "sonnet": NO}), (other, {"codex": NO, "sonnet": NO}))
    group = of(run({"codex": [SQL], "sonnet": [PERHAPS, LEAK]}, held), first("codex"))
    assert (group.kind, group.examined, len(group.rulings)) == ("uncertain", "unresolved", 2)


@pytest.mark.parametrize(
    ("by", "then"), [("proxy", "unresolved"), ("mini", "refuted"), ("pylint", "refuted")]
)
def test_who_depends_on_the_most_severe_holder_refutes_nothing(by: str, then: str) -> None:
    said = {"codex": [replace(SQL, severity="low")], "sonnet": [replace(SQL, severity="high")]}
    for asked_about in ("codex", "sonnet"):
        held = examined((claim(first(asked_about)), {by: REFUTE}), also=(first("codex"), first("sonnet")))
        group = of(run(said, held), first("codex"))
        assert (group.kind, group.severity, group.examined) == ("contested", "high", then)


@pytest.mark.parametrize(
    ("lineage", "then"), [("gpt-mini", "unresolved"), ("gpt", "unresolved"), ("other", "refuted")]
)
def test_of_two_who_hold_it_most_severely_one_is_enough_to_depend_on(lineage: str, then: str) -> None:
    executors = {**EXECUTORS, "third": ExecutorInfo("third", "other", lineage, True)}
    held = examined((claim(first("codex")), {"third": REFUTE}), also=(first("codex"), first("mini")))
    crossing = cross([result(CODEX, SQL), result(MINI, SQL)], executors, rulings=rulings_of(held))
    assert [(g.severity, g.examined) for g in crossing.groups] == [("critical", then)]
