"""What is known or accepted at one place lets nothing pass at another, whoever words it and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest

from prun_review import document
from prun_review.acceptance import parse, table_of
from prun_review.changegate import again, parts
from prun_review.errors import ConfigError
from prun_review.fingerprints import core, fingerprint
from prun_review.keeping import acceptance
from prun_review.model import Acceptance, Carried, Finding, Known, Plan, RunFacts
from prun_review.previous import _add
from prun_review.remembered import _Places
from prun_review.sameness import HERE, REPEATED, apart, share_code
from prun_review.settling import answered_for, settle
from tests.gatekit import CASE, FOLDER, carry, changed, facts, result, unit
from tests.test_settling import group

CODEX, SONNET = unit("codex"), unit("sonnet")
FILE = "src/app.py"
QUOTE = "cursor.execute(query)"
OTHER = "cursor.execute(orders + name)"
OLD = Finding(
    "SQL injection by string concatenation",
    "The query text is built by string concatenation, so a caller can read any row.",
    FILE,
    10,
    10,
    "high",
    "security",
    quote=QUOTE,
    grounding="exact",
)
WORDED = replace(OLD, title="SQL injection by concatenation of strings")
BARE = replace(OLD, quote=None, grounding="line-only")
SECOND = replace(OLD, title="A caller reaches the statement")
GONE_CHECK = replace(
    OLD,
    title="Authorization check removed",
    detail="Whoever is logged in may delete.",
    quote="require_admin(request)",
    side="old",
    placement="deleted",
)


def at(finding: Finding, line: int, **fields: object) -> Finding:
    return replace(finding, line=line, end_line=line, **fields)  # type: ignore[arg-type]


def tree(**lines: str) -> dict[str, str]:
    """A file of 120 different lines but for those given: ``L10="..."``."""
    rows = {f"L{n}": f"row_{n} = {n}" for n in range(1, 121)} | lines
    return {FILE: "\n".join(rows.values())}


def placed(texts: dict[str, str], *findings: Finding) -> list[Finding]:
    """The findings as a run places what it knows of them in its tree."""
    seen = SimpleNamespace(
        names=tuple(texts), left_out={}, read=lambda name: tuple(texts[name].splitlines()),
        renamed_since=lambda commit: {},
    )  # fmt: skip
    places = _Places(seen)
    places.want("", *map(core, findings))
    places.look()
    return [places.of("", core(finding))[0] for finding in findings]


def verdicts(
    texts: dict[str, str], before: Sequence[Finding], codex: Finding, sonnet: Finding, change: bool = False
) -> set[str]:
    """What comes of findings of two vendors where ``before`` is known, and where a person accepts it."""
    lead, *also = placed(texts, *before)
    name = fingerprint(CASE, core(before[0]))
    known = Known(name, CASE, FOLDER, lead, also=tuple(also))
    by = Acceptance("finding", name, "Ada", "known", case=CASE, finding=lead, also=tuple(also))
    given = [result(CODEX, codex), result(SONNET, sonnet)]
    fields = (changed(FILE) | {"folders": facts().folders}) if change else {}
    plan = Plan(tuple(replace(u, files=(FILE,)) for u in (CODEX, SONNET)))
    runs = facts(known=(known,), **fields), facts(acceptances=(by,), **fields)
    found = set()
    for run in runs:
        [row] = document.build(run, plan, given)["findings"]
        found.add("known" if row["known"] or row["accepted"] else "gates")
    return found


COPY = tree(L10=QUOTE, L60=QUOTE)
MOVED = tree(L60=QUOTE)
DRIFTED = tree(L40=QUOTE, L90=QUOTE)
NEAR_COPY = tree(L10=QUOTE, L25=QUOTE)
ONE = tree(L10=QUOTE)
FAR_BARE = at(BARE, 25, title="SQL injection by concatenation of the order")
WIDE = "\n".join([QUOTE, *(f"row_{n} = {n}" for n in range(11, 17)), OTHER])
TALL = (
    "def lookup(name):\n    connection = connect()\n    return cursor.fetchall()\n    close_connection(now)"
)


@pytest.mark.parametrize(
    ("texts", "before", "codex", "sonnet", "comes"),
    [
        pytest.param(ONE, [OLD], OLD, OLD, "known", id="as it was"),
        pytest.param(ONE, [OLD], WORDED, OLD, "known", id="in other words of one"),
        pytest.param(MOVED, [OLD], at(OLD, 60), at(OLD, 60), "known", id="moved"),
        pytest.param(COPY, [OLD], OLD, OLD, "known", id="at its place beside a copy"),
        pytest.param(DRIFTED, [OLD], at(OLD, 90), at(OLD, 90), "known", id="moved beside a copy"),
        pytest.param(COPY, [OLD], at(OLD, 60), at(OLD, 60), "gates", id="a copy, while it stands"),
        pytest.param(NEAR_COPY, [OLD], OLD, at(OLD, 25), "gates", id="one tells it, the other a copy"),
        pytest.param(
            COPY,
            [OLD, SECOND],
            at(OLD, 60),
            at(SECOND, 60),
            "gates",
            id="a second wording is no second place",
        ),
        pytest.param(ONE, [OLD], OLD, FAR_BARE, "gates", id="the other quotes nothing, elsewhere"),
        pytest.param(
            ONE,
            [OLD],
            OLD,
            replace(FAR_BARE, file=None, line=None, end_line=None, grounding="unlocated"),
            "gates",
            id="the other names no place",
        ),
        pytest.param(ONE, [OLD], OLD, at(FAR_BARE, 12), "known", id="the other quotes nothing, near"),
        pytest.param(
            tree(L10=QUOTE, L17=OTHER),
            [OLD],
            replace(WORDED, quote=WIDE, end_line=17),
            replace(WORDED, quote=WIDE, end_line=17),
            "gates",
            id="a quote that goes on to other code",
        ),
        pytest.param(
            tree(L25="return cursor.fetchall()"),
            [replace(OLD, quote=TALL)],
            at(WORDED, 25, quote="return cursor.fetchall()"),
            at(WORDED, 25, quote="return cursor.fetchall()"),
            "gates",
            id="a line of code that is gone, elsewhere",
        ),
        pytest.param(
            ONE,
            [BARE],
            at(BARE, 61),
            at(OLD, 60, title="SQL injection by concatenation of the order", quote=OTHER),
            "gates",
            id="the words of what quotes nothing beside code that is quoted",
        ),
        pytest.param(ONE, [BARE], at(BARE, 61), at(BARE, 61), "known", id="nobody quotes"),
        pytest.param(
            DRIFTED,
            [OLD, SECOND],
            at(OLD, 40),
            at(SECOND, 90),
            "gates",
            id="two wordings of one place, at two places",
        ),
        pytest.param(
            ONE,
            [BARE, replace(SECOND, quote=None)],
            BARE,
            at(SECOND, 60, quote=None, grounding="line-only"),
            "gates",
            id="and without a quote",
        ),
        pytest.param(
            DRIFTED, [OLD, SECOND], at(OLD, 90), at(SECOND, 90), "known", id="two wordings, moved together"
        ),
        pytest.param(
            COPY, [OLD, at(SECOND, 60)], OLD, at(SECOND, 60), "known", id="two wordings of two places"
        ),
    ],
)
def test_in_a_tree(
    texts: dict[str, str], before: list[Finding], codex: Finding, sonnet: Finding, comes: str
) -> None:
    assert verdicts(texts, before, codex, sonnet) == {comes}
    assert verdicts(texts, before, sonnet, codex) == {comes}


@pytest.mark.parametrize(
    ("before", "found", "comes"),
    [
        pytest.param(GONE_CHECK, GONE_CHECK, "known", id="the same deletion"),
        pytest.param(GONE_CHECK, at(GONE_CHECK, 12), "known", id="lines that jitter"),
        pytest.param(GONE_CHECK, at(GONE_CHECK, 70), "gates", id="a like line is deleted elsewhere"),
        pytest.param(
            GONE_CHECK,
            at(GONE_CHECK, 25, title="The check for authorization is removed"),
            "gates",
            id="elsewhere, in other words",
        ),
        pytest.param(BARE, at(BARE, 60, placement="added"), "gates", id="added elsewhere, without a quote"),
    ],
)
def test_in_a_change(before: Finding, found: Finding, comes: str) -> None:
    assert verdicts(ONE, [before], found, found, change=True) == {comes}


def test_where_the_quote_of_what_is_known_stands() -> None:
    cases = {10: HERE, 12: HERE, 30: REPEATED}
    for line, grounding in cases.items():
        [found] = placed(COPY, at(OLD, line))
        assert (found.line, found.grounding) == (10, grounding)


@pytest.mark.parametrize(
    ("before", "after", "shared"), [(3, 3, True), (4, 0, False), (0, 4, False), (0, 0, True)]
)
def test_a_quote_with_more_around_it(before: int, after: int, shared: bool) -> None:
    rows = [f"line_{n} = {n}" for n in range(before)] + [f"x = {QUOTE} + 1"]
    text = "\n\n".join(rows + [f"later_{n} = {n}" for n in range(after)])
    assert share_code(QUOTE, text) is share_code(text, QUOTE) is shared


def test_what_stands_apart() -> None:
    assert not apart([OLD, WORDED, at(OLD, 13), at(BARE, 16)])
    for other in (
        at(OLD, 14), at(BARE, 14), replace(OLD, side="old"), replace(OLD, file="src/b.py"),
        replace(BARE, line=None), replace(BARE, file="src/b.py"),
    ):  # fmt: skip
        assert apart([OLD, other]), other
        assert apart([other, OLD]), other
    assert apart([BARE, at(BARE, 20)])
    nowhere = replace(BARE, file=None, line=None, end_line=None)
    assert not apart([nowhere, nowhere])


@pytest.mark.parametrize("stored", ["high", "critical"])
def test_what_an_examiner_took_for_more_severe_is_so_in_every_part(stored: str) -> None:
    """A group that quotes two places is looked for by its parts: none of them is milder than the group."""
    both = OLD, at(OLD, 40, quote=OTHER)
    held = [replace(core(f), severity=stored) for f in both]
    by = [Acceptance("finding", fingerprint(CASE, f), "Ada", "ok", case=CASE, finding=f) for f in held]
    raised = replace(group(*both, kind="contested"), severity="critical")
    taken = {"high": set(), "critical": {"u#1"}}[stored]
    assert set(settle(RunFacts("r", 0.0, acceptances=tuple(by)), [raised]).accepted) == taken
    one = Carried("r1", "u#1", "critical", OLD.title, "", "INCOMPLETE", FOLDER, both, CASE, "contested")
    assert {part.severity for part in parts(one)} == {"critical"}
    run = RunFacts("r", 0.0, carried=tuple(parts(one)), acceptances=tuple(by))
    assert len(answered_for(run)) == (2 if stored == "critical" else 0)
    milder = replace(one, members=(OLD, replace(both[1], severity="critical")))
    assert [part.severity for part in parts(milder)] == ["high", "critical"]


@pytest.mark.parametrize(
    ("held", "is_it"),
    [
        (OLD, True),
        (at(OLD, 60), False),
        (at(OLD, 60, grounding="moved"), False),
        (replace(OLD, line=None), True),
        (WORDED, True),
        (at(WORDED, 60), False),
    ],
)
def test_on_the_same_head_a_blocker_is_what_stands_at_its_place(held: Finding, is_it: bool) -> None:
    assert again(carry(OLD), [held]) is is_it
    assert again(carry(held), [OLD]) is is_it


def test_what_earlier_runs_held_is_told_as_the_worst_of_them() -> None:
    """A newer run that holds a defect milder, or a copy of it, takes no older blocker away."""
    newest = carry(OLD, run="r3")
    for older, told in (
        (carry(OLD, run="r2"), 1),
        (carry(at(OLD, 60), run="r2"), 2),
        (carry(replace(OLD, severity="critical"), run="r2"), 2),
        (carry(replace(OLD, severity="low"), run="r2"), 1),
        (carry(OLD, run="r2", outcome="INCOMPLETE"), 1),
    ):
        found = [newest]
        _add(found, [older])
        assert len(found) == told, older


def test_a_group_that_holds_what_a_change_adds_is_known_by_all_of_it() -> None:
    """Who tells the known one must not hide that another one tells what was added beside it."""
    added = replace(WORDED, placement="added", side="new", quote=f"{QUOTE}\n{OTHER}")
    context = replace(OLD, placement="context", side="new")
    assert verdicts(ONE, [OLD], added, context, change=True) == {"gates"}
    assert verdicts(ONE, [OLD, added], added, context, change=True) == {"known"}
    assert verdicts(ONE, [OLD], context, context, change=True) == {"known"}


def test_a_finding_whose_id_is_held_twice_is_not_settled() -> None:
    """What is settled is told by id: one that a stored run holds twice would settle another finding."""
    other = CASE.replace("auth", "billing")
    same, new = replace(OLD, id="u#1"), replace(OLD, id="u#1", title="Eval of text", quote="eval(x)")
    units = [CODEX, SONNET, unit("codex", other), unit("sonnet", other)]
    given = [result(u, same if u.case == CASE else new) for u in units]
    known = Known(fingerprint(CASE, OLD), CASE, FOLDER, core(OLD))
    built = document.build(facts(known=(known,)), Plan(tuple(units)), given)
    assert [row["known"] for row in built["findings"]] == [False, False]
    assert built["verdict"]["outcome"] == "FAIL"


@pytest.mark.parametrize("far", [False, True])
def test_what_is_kept_of_a_group_tells_every_place(far: bool) -> None:
    """Two reviewers with one title and quote at two places: what is kept of them finds both again."""
    there = at(OLD, 25 if far else 12)
    held = group(OLD, there, kind="consensus")
    made = acceptance(held, "Ada", "known", "", "")
    assert len(made.also) == far
    assert set(settle(RunFacts("r", 0.0, acceptances=(made,)), [held]).accepted) == {"u#1"}
    again = group(at(OLD, 10), at(OLD, 60), kind="consensus")
    moved = set(settle(RunFacts("r", 0.0, acceptances=(made,)), [again]).accepted)
    assert moved == ({"u#1"} if far else set())


def test_an_accepted_claim_that_the_tree_did_not_hold_lets_nothing_grounded_pass() -> None:
    """ "There is no such code", said a person.  When there is, nobody has answered for it."""
    claimed = replace(OLD, grounding="ungrounded")
    held = [result(CODEX, claimed), result(SONNET)]
    made = acceptance(group(claimed, kind="ungrounded"), "Ada", "there is no such code", "", "")
    assert parse(table_of(made), "x", 0.0) == (made,)
    assert "ungrounded = true" in table_of(made)
    run = facts(acceptances=(made,))
    plan = Plan((CODEX, SONNET))
    assert document.build(run, plan, held)["verdict"]["outcome"] == "PASS"
    for told in (OLD, WORDED, replace(OLD, quote=None, grounding="line-only")):
        both = [result(CODEX, told), result(SONNET, told)]
        assert document.build(run, plan, both)["verdict"]["outcome"] == "FAIL"
    for kind, answered in (("ungrounded", 1), ("single", 0)):
        one = replace(carry(claimed, outcome="INCOMPLETE"), case=CASE, kind=kind)
        assert len(answered_for(replace(run, carried=(one,)))) == answered
    with pytest.raises(ConfigError, match="ungrounded"):
        parse(table_of(made).replace("= true", "= 1"), "x", 0.0)
