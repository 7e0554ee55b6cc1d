"""What a ruling does to pairs and groups: an examiner counts as a holder, or as one who says no."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.consensus import Came, Crossing, Group, cross
from prun_review.independence import dependence, known
from prun_review.matching import crosscheck
from prun_review.model import SEVERITIES, Finding, Opinion, Result, Violation
from prun_review.ruled import every_ruling, proven, rulings_of
from prun_review.rulings import Examination, Question
from tests.examkit import CANNOT_TELL, NO, REFUTE, YES, answer, claim, confirm, examined, opinion, pair
from tests.gatekit import EXECUTORS, LEAK, PERHAPS, SQL, SQL_REWORDED, STYLE, broken, result, unit


def run(said: Mapping[str, Sequence[Finding]], held: Examination = Examination()) -> Crossing:  # noqa: B008
    """The cross-check of what executors said, under what was examined."""
    results = [result(unit(name), *findings) for name, findings in said.items()]
    return cross(results, EXECUTORS, rulings=rulings_of(held))


AGAIN = unit("codex", repeat=2)


def first(executor: str, n: int = 1) -> str:
    """The id of what an executor reported as its n-th."""
    return f"{unit(executor).slug}#{n}"


def of(crossing: Crossing, finding: str) -> Group:
    (group,) = [g for g in crossing.groups if finding in [m.finding.id for m in g.members]]
    return group


def sql(severity: str) -> Finding:
    return replace(SQL, severity=severity)


# --- claims -------------------------------------------------------------------------------------

CLAIMS: list[tuple[str, dict[str, str], dict[str, Opinion | None], tuple[str, str, str, str]]] = [
    # held as severity, said by examiners, -> class, severity, agreed, examined
    ("confirmed as it is", {"codex": "critical"}, {"sonnet": confirm("critical")},
     ("consensus", "critical", "critical", "confirmed")),
    ("confirmed a step below: the higher counts", {"codex": "critical"}, {"sonnet": confirm("high")},
     ("consensus", "critical", "critical", "confirmed")),
    ("confirmed a step above: the higher counts", {"codex": "high"}, {"sonnet": confirm("critical")},
     ("consensus", "critical", "critical", "confirmed")),
    ("confirmed two steps below", {"codex": "critical"}, {"sonnet": confirm("medium")},
     ("contested", "critical", "", "confirmed")),
    ("confirmed two steps above", {"codex": "medium"}, {"sonnet": confirm("critical")},
     ("contested", "critical", "", "confirmed")),
    ("refuted", {"codex": "critical"}, {"sonnet": REFUTE}, ("contested", "critical", "", "refuted")),
    ("nobody can tell", {"codex": "critical"}, {"sonnet": CANNOT_TELL},
     ("single", "critical", "", "unresolved")),
    ("no answer", {"codex": "critical"}, {"sonnet": None}, ("single", "critical", "", "unresolved")),
    ("confirmed without proof", {"codex": "critical"},
     {"sonnet": opinion("confirm", "critical", "ungrounded")}, ("single", "critical", "", "unresolved")),
    ("refuted by a line alone", {"codex": "critical"}, {"sonnet": opinion("refute", None, "line-only")},
     ("single", "critical", "", "unresolved")),
    ("confirmed by a moved quote", {"codex": "high"}, {"sonnet": opinion("confirm", "high", "moved")},
     ("consensus", "high", "high", "confirmed")),
    ("a word of the other question", {"codex": "high"}, {"sonnet": YES},
     ("single", "high", "", "unresolved")),
    ("confirmed by its own vendor", {"codex": "critical"}, {"mini": confirm("critical")},
     ("single", "critical", "", "unresolved")),
    ("refuted by its own vendor", {"codex": "critical"}, {"mini": REFUTE},
     ("single", "critical", "", "unresolved")),
    ("confirmed by nobody knows whom", {"codex": "critical"}, {"nameless": confirm("critical")},
     ("single", "critical", "", "unresolved")),
    ("one confirms, one refutes", {"codex": "critical"}, {"sonnet": REFUTE, "proxy": confirm("critical")},
     ("consensus", "critical", "critical", "confirmed")),
    ("one confirms with proof, one without", {"codex": "critical"},
     {"sonnet": confirm("low"), "proxy": opinion("confirm", "critical", "ungrounded")},
     ("contested", "critical", "", "confirmed")),
    ("two confirm, the higher counts", {"codex": "high"},
     {"sonnet": confirm("low"), "proxy": confirm("critical")},
     ("consensus", "critical", "critical", "confirmed")),
    ("held differently, and the milder one agrees", {"codex": "critical", "sonnet": "medium"},
     {"sonnet": confirm("high")}, ("consensus", "critical", "critical", "confirmed")),
    ("held differently, and it stays so", {"codex": "critical", "sonnet": "medium"},
     {"sonnet": confirm("medium")}, ("contested", "critical", "", "confirmed")),
    ("held differently, and refuted by who holds it", {"codex": "critical", "sonnet": "medium"},
     {"sonnet": REFUTE}, ("contested", "critical", "", "unresolved")),
    ("held differently, and refuted by a third", {"codex": "critical", "sonnet": "medium"},
     {"sonnet": REFUTE, "proxy": REFUTE}, ("contested", "critical", "", "refuted")),
    ("one refutes, one cannot tell", {"codex": "critical"}, {"sonnet": REFUTE, "proxy": CANNOT_TELL},
     ("single", "critical", "", "unresolved")),
    ("one refutes, one confirms without proof", {"codex": "critical"},
     {"sonnet": REFUTE, "proxy": opinion("confirm", "critical", "ungrounded")},
     ("single", "critical", "", "unresolved")),
    ("one refutes, one gave no answer", {"codex": "critical"}, {"sonnet": REFUTE, "proxy": None},
     ("contested", "critical", "", "refuted")),
    ("both refute", {"codex": "critical"}, {"sonnet": REFUTE, "proxy": REFUTE},
     ("contested", "critical", "", "refuted")),
    ("what independent ones hold is not refuted away", {"codex": "high", "sonnet": "high"},
     {"sonnet": REFUTE}, ("consensus", "high", "high", "unresolved")),
]  # fmt: skip


@pytest.mark.parametrize(("held", "says", "then"), [row[1:] for row in CLAIMS], ids=[r[0] for r in CLAIMS])
def test_a_claim_that_was_examined(
    held: dict[str, str], says: dict[str, Opinion | None], then: tuple[str, str, str, str]
) -> None:
    said = {name: [sql(severity)] for name, severity in held.items()}
    asked = examined((claim(first("codex")), says), also=[first(name) for name in held])
    group = of(run(said, asked), first("codex"))
    assert (group.kind, group.severity, group.agreed, group.examined) == then
    (ruling,) = group.rulings
    assert {name for name, _ in ruling.opinions} == {
        name for name, o in says.items() if o is not None and o.word != "yes"
    }
    assert group.executors == tuple(held)  # who examined it did not report it


def test_arguments_are_told_on_one_line() -> None:
    said = replace(REFUTE, reason="Line one.\n\n" + "x" * 4_000)
    group = of(run({"codex": [SQL]}, examined((claim(first("codex")), {"sonnet": said}))), first("codex"))
    assert group.reason.startswith("held by codex; sonnet refutes it: Line one. xxx")
    assert len(group.reason) < 300
    assert "\n" not in group.reason
    confirmed = examined((claim(first("codex")), {"sonnet": confirm("high")}))
    told = of(run({"codex": [SQL]}, confirmed), first("codex")).reason
    assert told == "held by codex as critical, confirmed by sonnet as high"


def test_an_answer_that_breaks_its_contract_says_nothing() -> None:
    held = examined((claim(first("codex")), {"sonnet": confirm("critical")}))
    (good,) = held.results
    for bad in (
        replace(good, status="broken"),
        replace(good, violations=broken(held.plan.units[0]).violations),
        replace(good, status="valid", answer=None),
        replace(good, executor="mini"),
        replace(good, case="x-other"),
    ):
        group = of(run({"codex": [SQL]}, replace(held, results=(bad,))), first("codex"))
        assert (group.kind, group.examined) == ("single", "unresolved")


def test_nothing_is_ruled_about_what_the_tree_does_not_hold() -> None:
    ungrounded = replace(SQL, grounding="ungrounded")
    held = examined((claim(first("codex")), {"sonnet": confirm("critical")}))
    group = of(run({"codex": [ungrounded]}, held), first("codex"))
    assert (group.kind, group.agreed, group.examined, group.rulings) == ("ungrounded", "", "", ())


# --- pairs --------------------------------------------------------------------------------------

DOUBT = pair(first("codex"), first("sonnet"))


@pytest.mark.parametrize(
    ("says", "kinds", "outcomes"),
    [
        ({"codex": YES, "sonnet": YES}, ["consensus"], ["match"]),
        ({"codex": NO, "sonnet": NO}, ["single", "single"], ["alone", "alone"]),
        ({"codex": YES, "sonnet": NO}, ["uncertain"], ["uncertain"]),
        ({"codex": YES, "sonnet": None}, ["uncertain"], ["uncertain"]),
        ({"codex": NO}, ["uncertain"], ["uncertain"]),
        ({"codex": CANNOT_TELL, "sonnet": CANNOT_TELL}, ["uncertain"], ["uncertain"]),
        ({"codex": YES, "sonnet": opinion("yes", None, "ungrounded")}, ["uncertain"], ["uncertain"]),
        ({"codex": NO, "mini": NO}, ["uncertain"], ["uncertain"]),
        ({"codex": YES, "mini": YES}, ["uncertain"], ["uncertain"]),
        ({"nameless": YES, "sonnet": YES}, ["uncertain"], ["uncertain"]),
        (
            {"codex": YES, "mini": YES, "sonnet": opinion("yes", None, "ungrounded")},
            ["uncertain"],
            ["uncertain"],
        ),
        ({"mini": YES, "proxy": YES}, ["consensus"], ["match"]),
        ({}, ["uncertain"], ["uncertain"]),
    ],
)
def test_a_pair_that_was_examined(
    says: dict[str, Opinion | None], kinds: list[str], outcomes: list[str]
) -> None:
    crossing = run({"codex": [SQL], "sonnet": [PERHAPS]}, examined((DOUBT, says)))
    assert [g.kind for g in crossing.groups] == kinds
    assert [p.outcome for p in crossing.pairs] == outcomes
    settled = kinds != ["uncertain"]
    assert all(p.reason.startswith("settled: ") == settled for p in crossing.pairs)
    for group in crossing.groups:
        assert [r.question for r in group.rulings] == [DOUBT]
        assert group.examined == ("" if settled else "unresolved")
        assert (group.agreed != "") == (group.kind == "consensus")


@pytest.mark.parametrize("word", [YES, NO])
def test_nothing_is_ruled_about_two_that_are_not_independent(word: Opinion) -> None:
    question = pair(first("codex"), first("mini"))
    held = examined((question, {"codex": word, "sonnet": word}))
    said = {"codex": [SQL], "mini": [PERHAPS]}
    assert [(p.outcome, p.reason) for p in run(said, held).pairs] == [
        (p.outcome, p.reason) for p in run(said).pairs
    ]


@pytest.mark.parametrize(
    ("says", "outcome"),
    [
        ([YES, YES], "match"),
        ([NO, NO], "distinct"),
        ([YES], "unresolved"),
        ([NO, None], "unresolved"),
        ([YES, NO], "unresolved"),
        ([YES, CANNOT_TELL], "unresolved"),
        ([], "unresolved"),
    ],
)
def test_a_pair_needs_two_that_say_the_same(says: list[Opinion | None], outcome: str) -> None:
    told = dict(zip(("codex", "sonnet"), says, strict=False))
    (ruling,) = every_ruling(examined((DOUBT, told)))
    assert (ruling.outcome, ruling.severity) == (outcome, "")
    assert ruling.why  # whatever was said


@pytest.mark.parametrize(
    ("says", "then"),
    [
        ({"sonnet": REFUTE}, "unresolved"),
        ({"sonnet": REFUTE, "proxy": REFUTE}, "refuted"),
        ({"sonnet": confirm("critical")}, "confirmed"),
    ],
)
def test_who_holds_the_twin_does_not_take_it_back_alone(says: dict[str, Opinion | None], then: str) -> None:
    """Two that say "no" leave each of the pair alone, and each could refute the other's."""
    held = examined((DOUBT, {"codex": NO, "sonnet": NO}), (claim(first("codex")), says))
    group = of(run({"codex": [SQL], "sonnet": [PERHAPS]}, held), first("codex"))
    assert group.examined == then


MAIL = replace(SQL, title="SQL injection in find_user by the mail", quote="db.execute(name + mail)")
TWO_AS_ONE: dict[str, tuple[dict[str, list[list[Finding]]], list[str]]] = {
    "in one answer": ({"codex": [[SQL, replace(SQL, quote="log(name)")]]}, [first("codex", 2)]),
    "in one answer, one word apart": (
        {
            "codex": [
                [replace(MAIL, title=f"{MAIL.title} of the {who} beside it") for who in ("user", "host")]
            ]
        },
        [first("codex", 2)],
    ),
    "in repeats": ({"codex": [[replace(MAIL, quote=None)], [SQL_REWORDED]]}, [f"{AGAIN.slug}#1"]),
    "by a relative": ({"codex": [[SQL]], "mini": [[SQL_REWORDED]]}, [first("mini")]),
}


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize(("said", "also"), TWO_AS_ONE.values(), ids=TWO_AS_ONE)
def test_a_refutation_counts_where_all_that_is_taken_for_it_was_told(
    said: dict[str, list[list[Finding]]], also: list[str], told: bool
) -> None:
    """Two defects that were taken for one are refuted together or not at all, whatever they quote."""
    held = examined((claim(first("codex")), {"sonnet": REFUTE}), also=also if told else ())
    results = [
        result(unit(name, repeat=n), *findings)
        for name, answers in said.items()
        for n, findings in enumerate(answers, 1)
    ]
    group = of(cross(results, EXECUTORS, rulings=rulings_of(held)), first("codex"))
    assert len(group.members) == 2
    assert group.examined == ("refuted" if told else "unresolved")


@pytest.mark.parametrize(
    ("other", "codes", "then"),
    [
        (confirm("high"), ("unproven",), "unresolved"),
        (confirm("high"), ("coverage",), "unresolved"),
        (CANNOT_TELL, ("coverage",), "unresolved"),
        (REFUTE, ("unproven", "coverage"), "refuted"),
        (REFUTE, ("word-contradicted",), "unresolved"),
        (REFUTE, ("did-not-read", "unproven"), "unresolved"),
        (None, (), "refuted"),
    ],
)
def test_a_broken_answer_settles_nothing_and_may_leave_it_open(
    other: Opinion | None, codes: tuple[str, ...], then: str
) -> None:
    """Who confirms it with a quote that is nowhere is no witness that it is not there."""
    held = examined((claim(first("codex")), {"sonnet": REFUTE, "proxy": other}))
    results = [
        replace(r, status="broken", violations=tuple(Violation(code, "/word", "x") for code in codes))
        if r.executor == "proxy" and other
        else r
        for r in held.results
    ]
    group = of(run({"codex": [SQL]}, replace(held, results=tuple(results))), first("codex"))
    assert group.examined == then


@pytest.mark.parametrize(
    ("other", "then"),
    [
        (replace(SQL_REWORDED, grounding="ungrounded", severity="medium"), "unresolved"),
        (replace(PERHAPS, grounding="ungrounded", severity="low"), "unresolved"),
        (replace(LEAK, grounding="ungrounded", severity="medium"), "refuted"),
    ],
)
def test_who_told_the_same_without_proof_does_not_take_it_back(other: Finding, then: str) -> None:
    held = examined((claim(first("codex")), {"sonnet": REFUTE}))
    group = of(run({"codex": [SQL], "sonnet": [other]}, held), first("codex"))
    assert (group.kind, group.examined) == ("single" if then == "unresolved" else "contested", then)


def test_who_saw_what_as_a_is_told() -> None:
    (ruling,) = every_ruling(examined((DOUBT, {"codex": YES, "sonnet": NO})))
    assert ruling.why == (
        "codex says yes, one fix would resolve both; "
        "sonnet says no, one fix would not resolve both (its A is the right one)"
    )


def test_two_severities_of_one_defect_can_still_be_far_apart() -> None:
    held = examined((DOUBT, {"codex": YES, "sonnet": YES}))
    (group,) = run({"codex": [SQL], "sonnet": [replace(PERHAPS, severity="low")]}, held).groups
    assert (group.kind, group.severity, group.agreed) == ("contested", "critical", "")


def test_a_second_wording_of_a_matched_defect_joins_it() -> None:
    """Two findings of one executor are never compared: both are the one that the other vendor holds."""
    again = replace(
        PERHAPS, line=12, title="User name reaches the SQL query unchecked", category="correctness"
    )
    said = {"codex": [SQL, again], "sonnet": [SQL_REWORDED]}
    doubt = [p for p in run(said).pairs if p.outcome == "uncertain"]
    assert [(p.left, p.right) for p in doubt] in (
        [(("codex", first("codex", 1)), ("sonnet", first("sonnet")))],
        [(("codex", first("codex", 2)), ("sonnet", first("sonnet")))],
    )
    assert doubt[0].left is not None
    question = pair(doubt[0].left[1], first("sonnet"))
    (group,) = run(said, examined((question, {"codex": YES, "sonnet": YES}))).groups
    assert group.kind == "consensus"
    assert sorted(m.finding.id for m in group.members) == [first("codex"), first("codex", 2), first("sonnet")]
    kinds = [g.kind for g in run(said, examined((question, {"codex": NO, "sonnet": NO}))).groups]
    assert sorted(kinds) == ["consensus", "single"]


def test_a_match_of_words_is_not_undone() -> None:
    held = examined((DOUBT, {"codex": NO, "sonnet": NO}))
    (group,) = run({"codex": [SQL], "sonnet": [SQL_REWORDED]}, held).groups
    assert group.kind == "consensus"


# --- how often it came back ---------------------------------------------------------------------


def test_it_counts_the_sound_answers_that_hold_it() -> None:
    one, two, three = (unit("codex", repeat=n) for n in (1, 2, 3))
    other = unit("sonnet")
    twice = replace(SQL, line=12, detail="Told again.")
    results = [result(one, SQL, twice, LEAK), result(two, SQL), result(three), result(other, SQL_REWORDED)]
    for _ in range(3):
        random.shuffle(results)
        crossing = cross(results, EXECUTORS)
        assert of(crossing, f"{one.slug}#1").came == (Came("codex", 2, 3), Came("sonnet", 1, 1))
        assert of(crossing, f"{one.slug}#3").came == (Came("codex", 1, 3),)
    results = [result(one, SQL), broken(two, LEAK), result(three)]
    crossing = cross(results, EXECUTORS)
    assert of(crossing, f"{one.slug}#1").came == (Came("codex", 1, 2),)
    assert of(crossing, f"{two.slug}#1").came == (Came("codex", 0, 2),)
    alone = cross([broken(two, LEAK)], EXECUTORS)
    assert alone.groups[0].came == ()  # nothing sound to count


def test_what_comes_back_in_other_words_came_back() -> None:
    """Nobody can be sure that it is the same, and a finding that no two answers tell alike is no rare one."""
    words = replace(
        SQL, title="Unescaped input reaches the database", detail="Whoever logs in dumps the table."
    )
    one, two, three, other = *(unit("codex", repeat=n) for n in (1, 2, 3)), unit("sonnet")
    assert [p.outcome for p in crosscheck([SQL], [words])] == ["uncertain"]
    results = [result(one, SQL), result(two, words), result(three, LEAK), result(other)]
    crossing = cross(results, EXECUTORS)
    assert [len(g.members) for g in crossing.groups] == [1, 1, 1], "it is not folded for that"
    for id, times in ((f"{one.slug}#1", 2), (f"{two.slug}#1", 2), (f"{three.slug}#1", 1)):
        assert of(crossing, id).came == (Came("codex", times, 3),)
    misquoted = replace(words, grounding="ungrounded")
    crossing = cross([result(one, SQL), result(two, misquoted), result(other)], EXECUTORS)
    assert of(crossing, f"{one.slug}#1").came == (Came("codex", 2, 2),)
    crossing = cross([result(one, SQL), broken(two, words), result(three), result(other, words)], EXECUTORS)
    assert Came("codex", 1, 2) in of(crossing, f"{one.slug}#1").came, "only its own sound answers count"


# --- whatever is said ---------------------------------------------------------------------------

NAMES = st.sampled_from(["codex", "sonnet", "mini", "proxy", "nameless", "ruff"])
HELD = st.builds(
    lambda f, s: replace(f, severity=s),
    st.sampled_from([SQL, SQL_REWORDED, PERHAPS, LEAK, STYLE]),
    st.sampled_from(SEVERITIES),
)
SAID = st.dictionaries(NAMES, st.lists(HELD, max_size=3), min_size=1, max_size=4)
WORDS = st.builds(
    lambda w, s, g: opinion(w, s if w == "confirm" else None, g),
    st.sampled_from(["confirm", "refute", "yes", "no", "cannot-tell"]),
    st.sampled_from(SEVERITIES),
    st.sampled_from(["exact", "moved", "ungrounded", "line-only", "unlocated", "unchecked"]),
)


@st.composite
def examinations(draw: st.DrawFn, said: Mapping[str, Sequence[Finding]]) -> Examination:
    """Questions about any of the findings, asked or not, and anything that anybody may say to them."""
    ids = [first(name, n) for name, findings in said.items() for n in range(1, len(findings) + 1)]
    if not ids:
        return Examination()
    drawn = draw(st.lists(st.tuples(st.booleans(), st.sampled_from(ids), st.sampled_from(ids)), max_size=4))
    questions: dict[str, Question] = {}
    for one, left, right in drawn:
        question = claim(left) if one or left == right else pair(*sorted((left, right)))
        questions[question.id] = question
    says = st.dictionaries(NAMES, st.none() | WORDS, max_size=3)
    return examined(*((question, draw(says)) for question in questions.values()))


def shape(crossing: Crossing) -> set[tuple[object, ...]]:
    """What of a crossing does not hang on who is left and who is right."""
    return {
        (
            frozenset(m.finding.id for m in g.members),
            *(g.kind, g.severity, g.agreed, g.examined),
            frozenset(r.question.id for r in g.rulings),
            frozenset(g.came),
        )
        for g in crossing.groups
    }


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_ruling_makes_consensus_without_two_that_are_independent(data: st.DataObject) -> None:
    said = data.draw(SAID)
    held = data.draw(examinations(said))
    for group in run(said, held).groups:
        confirming = {
            name
            for ruling in group.rulings
            for name, o in ruling.opinions
            if ruling.question.kind == "claim" and o.word == "confirm" and proven(o)
        }
        everybody = [known(name, EXECUTORS) for name in {*group.executors, *confirming}]
        if group.agreed or group.kind == "consensus":
            assert any(not dependence(a, b) for a in everybody for b in everybody if a is not b)
        if group.examined == "confirmed":
            holders = [known(name, EXECUTORS) for name in group.executors]
            assert any(not dependence(h, known(name, EXECUTORS)) for h in holders for name in confirming)
        if not confirming:
            assert group.examined != "confirmed"


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_order_of_results_and_executors_does_not_matter(data: st.DataObject) -> None:
    said = data.draw(SAID)
    held = data.draw(examinations(said))
    results = [result(unit(name), *findings) for name, findings in said.items()]
    once = cross(results, EXECUTORS, rulings=rulings_of(held))
    shuffled = replace(held, results=tuple(data.draw(st.permutations(held.results))))
    assert rulings_of(shuffled) == rulings_of(held)
    assert cross(data.draw(st.permutations(results)), EXECUTORS, rulings=rulings_of(shuffled)) == once
    turned = dict(reversed(EXECUTORS.items()))
    assert shape(cross(results, turned, rulings=rulings_of(held))) == shape(once)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_claim_touches_no_other_group(data: st.DataObject) -> None:
    said = data.draw(SAID)
    held = data.draw(examinations(said))
    claims = rulings_of(replace(held, questions=tuple(q for q in held.questions if q.kind == "claim")))
    before = {g.id: g for g in run(said).groups}
    results = [result(unit(name), *findings) for name, findings in said.items()]
    after = cross(results, EXECUTORS, rulings=claims).groups
    assert {g.id for g in after} == set(before)
    for group in after:
        assert group.members == before[group.id].members
        if not {m.finding.id for m in group.members} & claims.claims.keys():
            assert group == before[group.id]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_pair_touches_no_group_that_nothing_links_to_it(data: st.DataObject) -> None:
    said = data.draw(SAID)
    held = data.draw(examinations(said))
    pairs = [q for q in held.questions if q.kind == "same"]
    plain = run(said)
    near = {end for q in pairs for end in (q.left, q.right)}
    links = [{p.left[1], p.right[1]} for p in plain.pairs if p.left and p.right]
    while any(ends & near and not ends <= near for ends in links):
        near |= {end for ends in links if ends & near for end in ends}
    after = run(said, replace(held, questions=tuple(pairs)))
    far = [g for g in after.groups if not {m.finding.id for m in g.members} & near]
    assert far == [g for g in plain.groups if not {m.finding.id for m in g.members} & near]


def test_without_rulings_nothing_is_examined() -> None:
    results: list[Result] = [result(unit("codex"), SQL), result(unit("sonnet"), PERHAPS, LEAK)]
    for group in cross(results, EXECUTORS, rulings=rulings_of(Examination())).groups:
        assert (group.examined, group.rulings) == ("", ())
    assert answer(unit("codex"), None).status == "failed"
