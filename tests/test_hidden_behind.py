"""No finding hides behind another one: two defects in nearly the same words stay two up to the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from prun_review import document
from prun_review.fingerprints import core, fingerprint
from prun_review.folding import Member, fold
from prun_review.matching import crosscheck
from prun_review.model import Acceptance, Finding, Known, Plan, Result, RunFacts, Unit
from prun_review.policy import Policy
from prun_review.rulings import Examination
from tests.examkit import REFUTE, ask_of, claim, examined
from tests.gatekit import CASE, FOLDER, facts, result, unit

FIRST = Finding(
    "SQL injection: the first parameter is concatenated into the statement",
    "The first parameter of lookup reaches the database as part of the SQL text, so anybody reads any row.",
    "src/auth.py",
    4,
    7,
    "high",
    "security",
    quote='a = cur.execute("select * from users where id=" + str(int(user_id)))',
    grounding="exact",
)
SECOND = replace(
    FIRST,
    title=FIRST.title.replace("first", "second"),
    detail=FIRST.detail.replace("first", "second"),
    quote='b = cur.execute("select * from orders where id=" + order_id)',
)
USERS = replace(
    FIRST,
    title="SQL injection in find_user",
    detail="The name parameter is concatenated into the SQL query, so a caller can read any row.",
    line=10,
    end_line=10,
    quote='db.execute("select * from users where name=" + name)',
)
ORDERS = replace(
    USERS,
    title="SQL injection in find_order",
    detail=USERS.detail.replace("name", "order"),
    line=22,
    end_line=22,
    quote='db.execute("select * from orders where id=" + order)',
)
CODEX, AGAIN, SONNET = unit("codex"), unit("codex", repeat=2), unit("sonnet")
OUTER = f"def lookup(cur, user_id):\n    {FIRST.quote}"


def folded(*answers: Sequence[Finding]) -> list[int]:
    """How many members each finding has that one executor holds."""
    held = fold([[Member("codex", f"u{n}", f) for f in answer] for n, answer in enumerate(answers)])
    return [len(one.members) for one in held]


def verdict(
    run: RunFacts, units: Sequence[Unit], results: Sequence[Result], asked: Examination | None = None
) -> str:
    built: dict[str, Any] = document.build(
        run, Plan(tuple(units)), results, examination=asked or Examination()
    )["verdict"]
    return str(built["outcome"])


ALIKE = pytest.mark.parametrize(
    ("one", "other", "held"),
    [
        pytest.param(FIRST, SECOND, 2, id="other quote"),
        pytest.param(FIRST, replace(FIRST, quote=SECOND.quote), 2, id="same words, other quote"),
        pytest.param(
            replace(FIRST, line=None, end_line=None),
            replace(SECOND, line=None, end_line=None),
            2,
            id="no lines",
        ),
        pytest.param(FIRST, replace(FIRST, placement="pre-existing", beside=True), 2, id="beside"),
        pytest.param(
            replace(FIRST, placement="added"),
            replace(FIRST, placement="pre-existing", caused=True),
            2,
            id="one was there",
        ),
        pytest.param(FIRST, FIRST, 1, id="told twice"),
        pytest.param(FIRST, replace(FIRST, end_line=6), 1, id="told twice, lines that jitter"),
        pytest.param(FIRST, replace(FIRST, quote=f"  {FIRST.quote}\n"), 1, id="other blanks"),
        pytest.param(FIRST, replace(FIRST, quote=OUTER), 1, id="one quotes more"),
        pytest.param(FIRST, replace(FIRST, quote=None), 1, id="one quotes nothing"),
        pytest.param(FIRST, replace(FIRST, quote=" \n"), 1, id="one quotes blanks"),
    ],
)


@ALIKE
def test_one_answer(one: Finding, other: Finding, held: int) -> None:
    assert len(folded([one, other])) == held
    assert len(folded([other, one])) == held


@ALIKE
def test_two_answers_to_one_question(one: Finding, other: Finding, held: int) -> None:
    assert len(folded([one], [other])) == held
    assert len(folded([other], [one])) == held


@ALIKE
def test_a_panel_that_is_compared(one: Finding, other: Finding, held: int) -> None:
    for panel in ([one, other], [other, one]):
        for pairs in (crosscheck(panel, []), crosscheck([], panel)):
            assert sum("counted once" in p.reason for p in pairs) == 2 - held
        assert sum(p.outcome == "match" for p in crosscheck(panel, panel)) == held


def test_two_quotes_do_not_meet_in_a_third_finding() -> None:
    silent, outer = replace(FIRST, quote=None), replace(FIRST, quote=f"{FIRST.quote}\n{SECOND.quote}")
    for between in (silent, outer):
        assert sorted(folded([between, FIRST, SECOND])) == [1, 2]
        assert sorted(folded([between], [FIRST], [SECOND])) == [1, 2]
        pairs = crosscheck([between, FIRST, SECOND], [])
        assert sum("counted once" in p.reason for p in pairs) == 1


def test_repeats_find_their_own_whatever_the_order() -> None:
    """One-to-one between what quotes the same code, although the words fit crosswise as well."""
    held = fold([[Member("codex", "u1", USERS), Member("codex", "u1", ORDERS)],
                 [Member("codex", "u2", ORDERS), Member("codex", "u2", USERS)]])  # fmt: skip
    assert [{m.finding.quote for m in one.members} for one in held] == [{USERS.quote}, {ORDERS.quote}]
    assert [len(one.members) for one in held] == [2, 2]


def test_what_the_project_says_is_one_stays_one() -> None:
    members = [[Member("codex", "u1", USERS)], [Member("codex", "u2", ORDERS)]]
    assert len(fold(members, lambda one, other: True)) == 1
    assert len(fold(members, lambda one, other: None)) == 2


def accepted() -> Acceptance:
    name = fingerprint(CASE, FIRST)
    return Acceptance("finding", name, "Ada", "fine", "", False, case=CASE, finding=core(FIRST))


@pytest.mark.parametrize(
    ("also", "sonnet", "outcome"),
    [
        ({"acceptances": (accepted(),)}, (), "INCOMPLETE"),
        ({"acceptances": (accepted(),)}, (FIRST, SECOND), "FAIL"),
        ({"known": (Known(fingerprint(CASE, FIRST), CASE, FOLDER, core(FIRST)),)}, (SECOND, FIRST), "FAIL"),
        ({"folders": {FOLDER: Policy(unresolved=1)}}, (), "INCOMPLETE"),
    ],
)
def test_what_settles_the_first_says_nothing_of_the_second(
    also: dict[str, Any], sonnet: tuple[Finding, ...], outcome: str
) -> None:
    assert verdict(
        facts(**also), [CODEX, SONNET], [result(CODEX, FIRST, SECOND), result(SONNET, *sonnet)]
    ) == (outcome)


def test_a_refuted_finding_hides_no_second_of_its_answer() -> None:
    said = result(CODEX, FIRST, SECOND)
    results = [said, result(SONNET)]
    assert {q.left for q in ask_of([CODEX, SONNET], results).questions} == {f.id for f in said.findings}
    one, other = (claim(f.id, "high") for f in said.findings)
    refuted = examined((one, {"sonnet": REFUTE}))
    assert verdict(facts(), [CODEX, SONNET], results, refuted) == "INCOMPLETE"
    both = examined((one, {"sonnet": REFUTE}), (other, {"sonnet": REFUTE}))
    assert verdict(facts(), [CODEX, SONNET], results, both) == "PASS"


def test_a_refuted_finding_hides_no_second_of_another_repeat() -> None:
    said, again = result(CODEX, USERS), result(AGAIN, ORDERS)
    units, results = [CODEX, AGAIN, SONNET], [said, again, result(SONNET)]
    refuted = examined((claim(said.findings[0].id, "high"), {"sonnet": REFUTE}))
    assert verdict(facts(), units, results, refuted) == "INCOMPLETE"


def test_what_comes_back_in_other_words_is_reproduced() -> None:
    """Both of two answers hold it, in words of which nobody can say whether they are the same."""
    words = replace(
        USERS,
        title="Unescaped input reaches the database",
        detail="Whoever controls the login can dump the table.",
        quote=f"cur = {USERS.quote}",
    )
    often = facts(folders={FOLDER: Policy(reproducibility=0.75)})
    other = unit("sonnet", repeat=2)
    units = [CODEX, AGAIN, SONNET, other]
    one_vendor = [result(CODEX, USERS), result(AGAIN, words), result(SONNET), result(other)]
    assert verdict(often, units, one_vendor) == "INCOMPLETE"
    crosswise = [result(CODEX, USERS), result(AGAIN, words), result(SONNET, words), result(other, USERS)]
    assert verdict(often, units, crosswise) == "FAIL"
    once = [result(CODEX, USERS), result(AGAIN), result(SONNET), result(other)]
    assert verdict(often, units, once) == "PASS"
