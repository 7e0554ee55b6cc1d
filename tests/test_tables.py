"""The agreement part of the run document: who answered, what they share, and when that is not said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review import document, panelrows
from prun_review.answers import lay
from prun_review.compared import asked
from prun_review.consensus import cross
from prun_review.folding import Member
from prun_review.groups import Crossing, CrossPair, Group
from prun_review.intervals import wilson
from prun_review.model import Answer, Contract, ExecutorInfo, Finding, Findings, Plan, Result, Unit
from prun_review.pairrows import Tally, row, tally
from prun_review.tables import agreement
from prun_review.unseen import chapman
from tests.gatekit import (
    EXECUTORS,
    FOLDER,
    HEADER,
    LEAK,
    SQL,
    SQL_REWORDED,
    STYLE,
    broken,
    choose,
    facts,
    lost,
    result,
    unit,
)

PROSE = replace(
    STYLE, title="Bare except hides KeyboardInterrupt", detail="Ctrl-C is eaten.", file="src/io.py", line=40
)
OTHERS = (LEAK, STYLE, PROSE)
"""Findings that nobody could take for SQL or for each other."""


def case(n: int) -> str:
    return f"{FOLDER}/probe_shop.py::probe_injection[m{n}]"


def answered(said: Mapping[str, Sequence[Sequence[Finding] | None]], repeat: int = 1) -> dict[str, Any]:
    """The agreement of executors by name: for each what it found case by case; None: no answer."""
    units, results = [], []
    for name, answers in said.items():
        for n, answer in enumerate(answers):
            of = unit(name, case(n // repeat), repeat=n % repeat + 1)
            units.append(of)
            if answer is not None:
                results.append(result(of, *answer))
    return agreed(units, results)


def agreed(
    units: Sequence[Unit], results: Sequence[Result], of: Mapping[str, ExecutorInfo] = EXECUTORS
) -> dict[str, Any]:
    """The part as the document makes it, checked against its schema."""
    made = document.build(facts(executors=tuple(of.values())), Plan(tuple(units)), results)
    assert document.validate(made) == []
    part: dict[str, Any] = made["agreement"]
    return part


def shared(*severities: tuple[str, str]) -> dict[str, Any]:
    """One shared finding a case, codex and sonnet giving it these severities."""
    return answered(
        {
            "codex": [[replace(SQL, severity=a)] for a, _ in severities],
            "sonnet": [[replace(SQL_REWORDED, severity=b)] for _, b in severities],
        }
    )


# --- who answered -------------------------------------------------------------------------------


def test_missing_answers_are_counted_with_their_reasons_and_never_compared() -> None:
    units = [unit(name, case(n)) for n in range(4) for name in ("codex", "sonnet")]
    codex, sonnet = units[::2], units[1::2]
    results = [
        *(result(codex[0], SQL), result(sonnet[0], SQL_REWORDED)),
        *(lost(codex[1]), result(sonnet[1], LEAK)),
        *(broken(codex[2]), lost(sonnet[2], reason="rate-limited")),
        result(sonnet[3], STYLE),
    ]
    found = agreed(units, results)["findings"][0]
    assert (found["cases_both"], found["cases_asked"]) == (1, 4)
    assert (found["both"], found["only_left"], found["only_right"]) == (1, 0, 0)
    assert [(m["executor"], m["reason"], m["n"]) for m in found["missing"]] == [
        ("codex", "contract", 1),
        ("codex", "failed:timeout", 1),
        ("codex", "missing-result", 1),
        ("sonnet", "failed:rate-limited", 1),
    ]


def test_an_executor_with_one_sound_answer_of_several_has_answered() -> None:
    units = [unit("codex", case(0)), unit("codex", case(0), repeat=2), unit("sonnet", case(0))]
    found = agreed(units, [lost(units[0]), result(units[1], SQL), result(units[2], SQL_REWORDED)])
    assert found["findings"][0]["missing"] == []
    assert found["findings"][0]["both"] == 1


def test_nothing_asked_nothing_said() -> None:
    part = agreed([], [])
    assert (part["findings"], part["choices"], part["verdicts"], part["within"]) == ([], [], [], [])
    assert part["panel"]["findings"]["of"] == 0


# --- findings -----------------------------------------------------------------------------------


def test_under_ten_cases_there_are_only_counts() -> None:
    found = answered({"codex": [[SQL, *OTHERS]] * 9, "sonnet": [[SQL_REWORDED, *OTHERS]] * 9})["findings"][0]
    assert found["both"] == 36
    assert (found["psa"], found["psa_interval"]) == (None, None)
    assert found["why_not"] == found["psa_interval_why_not"] == "9 cases answered by both, fewer than 10"
    assert found["severity"]["alpha"]["value"] is None
    assert found["severity"]["alpha"]["why_not"] == "36 matched pairs in 9 cases, fewer than 10"


def test_ten_cases_have_a_range_an_interval_and_shares() -> None:
    left = [[SQL]] * 8 + [[SQL, LEAK]] * 2 + [[]] * 2
    right = [[SQL_REWORDED]] * 7 + [[STYLE]] * 5
    found = answered({"codex": left, "sonnet": right})["findings"][0]
    assert (found["both"], found["only_left"], found["only_right"]) == (7, 5, 5)
    assert found["psa"] == [round(14 / 24, 4)] * 2
    low, high = found["psa_interval"]
    assert low < 14 / 24 < high
    assert found["confirmed"]["left"] == {
        "k": 7, "k_most": 7, "n": 12, "wilson": [round(end, 4) for end in wilson(7, 12)], "why_not": "",
    }  # fmt: skip
    assert found["confirmed"]["right"]["n"] == 12


def test_shared_by_all_is_a_value_whose_interval_says_why_it_has_no_width() -> None:
    found = answered({"codex": [[SQL]] * 12, "sonnet": [[SQL_REWORDED]] * 12})["findings"][0]
    assert found["psa"] == [1.0, 1.0]
    assert found["psa_interval"] is None
    assert found["psa_interval_why_not"] == "every resample gives the same"
    assert found["confirmed"]["left"]["wilson"] == [round(end, 4) for end in wilson(12, 12)]


PAIR = ("codex", "sonnet")


def crossed(*pairs: tuple[int | None, int | None, str]) -> Crossing:
    """A cross-check of codex and sonnet by hand, with findings as numbers."""

    def end(name: str, n: int | None) -> tuple[str, str] | None:
        return None if n is None else (name, f"{name}#{n}")

    made = tuple(
        CrossPair(end("codex", a), end("sonnet", b), outcome, 0.5, "by hand", True, PAIR)
        for a, b, outcome in pairs
    )
    ends = dict.fromkeys(held for pair in made for held in (pair.left, pair.right) if held)
    return Crossing(tuple(_held(*held) for held in ends), made)


def _held(executor: str, id: str) -> Group:
    return Group(id, case(0), "single", "high", "", (Member(executor, "u", Finding("x", id=id)),), "by hand")


def by_hand(*crossings: Crossing) -> dict[str, Any]:
    """The row of codex and sonnet for cases that were cross-checked so."""
    units = [unit(name, case(n)) for n in range(len(crossings)) for name in PAIR]
    cases = asked(Plan(tuple(units)), lay(Plan(tuple(units)), list(map(result, units))))
    matched = {case(n): crossing for n, crossing in enumerate(crossings)}
    return row(PAIR, cases, matched, EXECUTORS)


def test_uncertain_pairs_widen_range_shares_and_interval() -> None:
    some = crossed((1, 1, "match"), (2, 2, "uncertain"), (3, None, "alone"))
    none = crossed((1, None, "alone"), (None, 1, "alone"))
    found = by_hand(*[some] * 8, *[none] * 4)
    assert found["uncertain"] == 8
    low, high = 16 / (16 + 16 + 16), 32 / (16 + 16 + 16)
    assert found["psa"] == [round(low, 4), round(high, 4)]
    assert found["psa_interval"][0] < low < high < found["psa_interval"][1]
    left = found["confirmed"]["left"]
    assert (left["k"], left["k_most"], left["n"]) == (8, 16, 28)
    assert left["wilson"] == [round(wilson(8, 28)[0], 4), round(wilson(16, 28)[1], 4)]


def test_a_second_partner_counts_its_finding_once() -> None:
    twice = crossed((1, 1, "match"), (1, 2, "uncertain"))
    found = by_hand(*[twice] * 12)
    assert (found["both"], found["uncertain"]) == (12, 12)
    assert found["psa"] == [round(2 / 3, 4), 1.0]
    assert found["confirmed"]["left"]["n"] == 12
    assert found["confirmed"]["right"] == found["confirmed"]["right"] | {"k": 12, "k_most": 24, "n": 24}


_PAIRS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from(["match", "uncertain"])), max_size=6
)


@given(_PAIRS)
def test_every_tally_has_a_range_in_bounds_and_mirrors(drawn: list[tuple[int, int, str]]) -> None:
    pairs: list[tuple[int | None, int | None, str]] = []
    for a, b, outcome in drawn:  # as crosscheck pairs: one match each, further pairs uncertain
        lefts, rights = {p[0] for p in pairs}, {p[1] for p in pairs}
        if outcome == "match" and (a in lefts or b in rights):
            continue
        if a in lefts and b in rights:
            continue
        pairs.append((a, b, outcome))
    taken = {p[0] for p in pairs}, {p[1] for p in pairs}
    pairs += [(n, None, "alone") for n in range(4) if n not in taken[0]]
    pairs += [(None, n, "alone") for n in range(4) if n not in taken[1]]
    found = tally(pairs)
    mirrored = tally((b, a, outcome) for a, b, outcome in pairs)
    assert (found.left, found.right) == (4, 4)
    assert (mirrored.only_left, mirrored.doubled_left) == (found.only_right, found.doubled_right)
    low, high, held = found.matched
    assert 0 <= low <= high <= held == 8
    certain = tally((a, b, "match" if outcome == "uncertain" else outcome) for a, b, outcome in pairs)
    assert certain.matched[1] == high  # settling a pair never leaves the range
    assert low <= mirrored.matched[0] <= high
    assert sum([found, mirrored], Tally()).left == 8


# --- severities ---------------------------------------------------------------------------------


def test_severities_of_what_both_found() -> None:
    severities = (
        [("critical", "high")] * 4 + [("high", "high")] * 5 + [("medium", "low"), ("critical", "low")] * 2
    )
    found = shared(*severities)["findings"][0]["severity"]
    assert (found["pairs"], found["exact"]["k"], found["within_one"]["k"]) == (13, 5, 11)
    assert found["bias"]["value"] == round((4 + 2 + 6) / 13, 4)
    low, high = found["bias"]["interval"]
    assert 0 < low < 12 / 13 < high
    assert found["harsher"] == "codex"
    assert found["alpha"]["value"] is not None
    assert found["alpha"]["n"] == 13
    mirrored = shared(*[(b, a) for a, b in severities])["findings"][0]["severity"]
    assert (mirrored["harsher"], mirrored["bias"]["value"]) == ("sonnet", -found["bias"]["value"])
    assert mirrored["alpha"]["value"] == found["alpha"]["value"]


def test_one_severity_everywhere_is_not_estimable() -> None:
    found = shared(*[("high", "high")] * 14)["findings"][0]["severity"]
    assert found["exact"]["wilson"] is not None
    assert found["alpha"]["value"] is None
    assert "all ratings are the same" in found["alpha"]["why_not"]
    assert (found["bias"]["value"], found["bias"]["interval"], found["harsher"]) == (0.0, None, "")


def test_agreement_on_all_severities_has_no_coefficient_to_print() -> None:
    found = shared(*[("high", "high"), ("low", "low")] * 7)["findings"][0]["severity"]
    assert found["alpha"] == {
        "value": None, "interval": None, "n": 14,
        "why_not": "all 14 agree, so nothing says how sure that is",
    }  # fmt: skip


def test_the_highest_of_an_executors_own_severities_counts() -> None:
    units = [unit("codex", case(0)), unit("codex", case(0), repeat=2), unit("sonnet", case(0))]
    results = [
        result(units[0], replace(SQL, severity="low")),
        result(units[1], SQL),
        result(units[2], SQL_REWORDED),
    ]
    found = agreed(units, results)["findings"][0]["severity"]
    assert (found["pairs"], found["exact"]["k"]) == (1, 1)


# --- what both missed ---------------------------------------------------------------------------


def pairs_of(both: int, left: int, right: int, uncertain: int = 0) -> Crossing:
    at = range(both + uncertain + left + right)
    outcomes = ["match"] * both + ["uncertain"] * uncertain + ["left"] * left + ["right"] * right
    return crossed(
        *(
            (
                None if o == "right" else n,
                None if o == "left" else n,
                "alone" if o in ("left", "right") else o,
            )
            for n, o in zip(at, outcomes, strict=True)
        )
    )


def test_what_both_missed_is_a_lower_bound_in_fixed_words() -> None:
    found = by_hand(pairs_of(5, 5, 10))["unseen"]
    assert found["more"] == [round(chapman(10, 15, 5) - 20, 4)] * 2
    assert [round(end) for end in found["interval"]] == [2, 45]
    assert found["seen"] == [20, 20]
    assert found["text"] == (
        "At least 8 more (lower bound, Chapman 95 % 2-45; assumes independent panels. "
        "On a public benchmark pairs of LLM reviewers missed about 4x this estimate)"
    )
    assert found["why_not"] == ""


def test_uncertain_pairs_make_it_a_range() -> None:
    found = by_hand(pairs_of(5, 3, 8, uncertain=2))["unseen"]
    assert found["more"] == [
        round(chapman(10, 15, 7) - 18, 4),
        round(chapman(10, 15, 5) - 20, 4),
    ]
    assert found["seen"] == [18, 20]
    assert found["text"].startswith("At least 3 to 8 more (lower bound")


def test_a_second_partner_is_one_defect_less_and_not_one_shared_more() -> None:
    matches = [(n, n, "match") for n in range(6)]
    alone = [(20, None, "alone"), (21, None, "alone"), *((None, n, "alone") for n in (30, 31, 32))]
    found = by_hand(crossed(*matches, (0, 6, "uncertain"), *alone))["unseen"]
    assert found["seen"] == [11, 12]
    assert found["more"] == [round(chapman(8, 9, 6) - 11, 4), round(chapman(8, 10, 6) - 12, 4)]


@pytest.mark.parametrize("sizes", [(2, 9, 9), (3, 1, 9), (3, 9, 1), (0, 20, 20)])
def test_too_small_an_overlap_has_no_estimate(sizes: tuple[int, int, int]) -> None:
    found = by_hand(pairs_of(*sizes))["unseen"]
    assert (found["more"], found["interval"], found["text"]) == (None, None, "")
    assert found["why_not"].startswith(f"overlap too small: {sizes[0]} of ")


def test_uncertain_pairs_do_not_make_an_overlap() -> None:
    assert by_hand(pairs_of(2, 9, 9, uncertain=5))["unseen"]["more"] is None


@settings(max_examples=60)
@given(*[st.integers(0, 12)] * 4)
def test_the_range_is_ordered_and_never_below_nothing(both: int, left: int, right: int, unsure: int) -> None:
    found = by_hand(pairs_of(both, left, right, unsure))["unseen"]
    if found["more"] is None:
        assert found["why_not"]
        return
    assert 0 <= found["more"][0] <= found["more"][1]
    assert 0 <= found["interval"][0] <= found["more"][0] + 1e-4
    assert found["more"][1] <= found["interval"][1] + 1e-4


def test_executors_of_one_vendor_are_marked_and_have_no_estimate() -> None:
    many = [SQL, *OTHERS]
    part = answered({"codex": [many] * 3, "mini": [many] * 3})
    (found,) = part["findings"]
    assert found["both"] == 12
    assert not found["independent"]
    assert "both are openai's" in found["dependence"]
    assert found["unseen"]["more"] is None
    assert found["unseen"]["why_not"] == found["dependence"]
    panel = part["panel"]["findings"]
    assert (panel["cases"], panel["of"]) == (0, 3)  # no case has two independent answers
    assert panel["held_by"] == []


# --- verdicts -----------------------------------------------------------------------------------

WORDS = ("approve", "comment", "request-changes")


def says(of: Unit, word: str | None) -> Result:
    return result(of, answer=Answer(HEADER, word, ("src/auth.py",), Findings()))


def voted(**words: str) -> dict[str, Any]:
    """The agreement on verdicts, one letter a case (a, c, r; dot: no answer)."""
    units, results = [], []
    for name, line in words.items():
        for n, letter in enumerate(line):
            of = unit(name, case(n))
            units.append(of)
            if letter != ".":
                results.append(says(of, next(w for w in WORDS if w.startswith(letter))))
    return agreed(units, results)


def test_verdicts_have_raw_agreement_ac1_specific_and_a_table() -> None:
    part = voted(codex="aaaaaaaaaaaaaaaaaarra.", sonnet="aaaaaaaaaaaaaaaaaacr.a")
    (found,) = part["verdicts"]
    assert (found["agree"], found["n"], found["of"]) == (19, 20, 22)
    assert found["wilson"] == [round(end, 4) for end in wilson(19, 20)]
    assert found["table"] == {"words": list(WORDS), "counts": [[18, 0, 0], [0, 0, 0], [0, 1, 1]]}
    assert [(s["word"], s["both"], s["left"], s["right"], s["share"]) for s in found["specific"]] == [
        ("approve", 18, 18, 18, 1.0),
        ("comment", 0, 0, 1, 0.0),
        ("request-changes", 1, 2, 1, 0.6667),
    ]
    assert found["ac1"]["n"] == 20
    low, high = found["ac1"]["interval"]
    assert 0.6 < low < found["ac1"]["value"] < high <= 1
    assert [(m["executor"], m["reason"], m["n"]) for m in found["missing"]] == [
        ("codex", "missing-result", 1),
        ("sonnet", "missing-result", 1),
    ]


def test_everybody_approves_is_no_coefficient() -> None:
    (found,) = voted(codex="a" * 30, sonnet="a" * 30)["verdicts"]
    assert (found["agree"], found["n"]) == (30, 30)
    assert found["wilson"] == [round(wilson(30, 30)[0], 4), 1.0]
    assert found["ac1"]["value"] is None
    assert "all ratings are the same" in found["ac1"]["why_not"]


def test_few_verdicts_are_counts() -> None:
    part = voted(codex="acr", sonnet="aca")
    (found,) = part["verdicts"]
    assert (found["agree"], found["n"], found["wilson"], found["ac1"]["value"]) == (2, 3, None, None)
    assert found["why_not"] == "3 cases answered by both, fewer than 10"
    assert found["ac1"]["why_not"] == "3 cases, fewer than 10"
    assert found["table"]["counts"] == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]


def test_divided_and_silent_executors_have_no_verdict_and_say_why() -> None:
    units = [unit("codex", case(0)), unit("codex", case(0), repeat=2), unit("sonnet", case(0))]
    results = [says(units[0], "approve"), says(units[1], "comment"), says(units[2], None)]
    (found,) = agreed(units, results)["verdicts"]
    assert (found["n"], found["of"]) == (0, 1)
    assert [(m["executor"], m["reason"]) for m in found["missing"]] == [
        ("codex", "divided"),
        ("sonnet", "no-verdict"),
    ]


def test_analysers_give_no_verdict() -> None:
    part = answered({"codex": [[SQL]], "ruff": [[]], "pylint": [[]]})
    assert part["verdicts"] == []
    assert part["panel"]["verdicts"]["executors"] == ["codex"]
    assert len(part["findings"]) == 3


def test_the_panel_has_one_word_for_each_voice_and_alpha_with_missing_answers() -> None:
    part = voted(
        codex="aaaaaarrrrcc.aa", mini="aaaaaarrrrcca.c", sonnet="aaaaaarrrcccaaa", nameless="..............."
    )
    found = part["panel"]["verdicts"]
    assert found["executors"] == ["codex", "sonnet", "mini"]  # who is not known is not paid: no verdict
    # codex and mini have one word together, and none where they differ
    assert (found["agree"], found["n"], found["of"]) == (13, 14, 15)
    assert found["wilson"] == [round(end, 4) for end in wilson(13, 14)]
    assert 0.7 < found["alpha"]["value"] < 1
    assert found["alpha"]["n"] == found["ac1"]["n"] == 14
    lacking = [(m["executor"], m["reason"], m["n"]) for m in found["missing"]]
    assert lacking == [(name, "missing-result", 1) for name in ("codex", "mini")]


def test_who_was_not_asked_a_case_is_not_missing_there() -> None:
    units = [unit("codex", case(0)), unit("sonnet", case(0)), unit("codex", case(1))]
    found = agreed(units, [says(u, "approve") for u in units])["panel"]["verdicts"]
    assert (found["agree"], found["n"], found["of"], found["missing"]) == (1, 1, 1, [])


# --- choices ------------------------------------------------------------------------------------


def chose(options: Sequence[tuple[str, ...]], **votes: str) -> dict[str, Any]:
    """The agreement on choices: for each question its options, and a letter each that says which."""
    units, results = [], []
    for name, line in votes.items():
        for n, letter in enumerate(line):
            question = Contract("choice", options[n % len(options)], ("safety",))
            of = unit(name, case(n), contract=question)
            units.append(of)
            if letter != ".":
                results.append(choose(of, next(o for o in question.options if o.startswith(letter))))
    return agreed(units, results)


def test_choices_of_one_set_of_options_have_a_coefficient() -> None:
    part = chose([("jsonl", "sqlite")], codex="jjjjjjssssj.", sonnet="jjjjjjsssjjj")
    (found,) = part["choices"]
    assert (found["agree"], found["n"], found["of"]) == (10, 11, 12)
    assert found["table"] == {"words": ["jsonl", "sqlite"], "counts": [[7, 0], [1, 3]]}
    assert 0 < found["ac1"]["value"] < 1
    assert part["panel"]["choices"]["alpha"]["value"] is not None


def test_choices_of_different_questions_have_only_the_raw_agreement() -> None:
    part = chose([("jsonl", "sqlite"), ("json", "toml")], codex="jj" * 6, sonnet="jt" * 6)
    (found,) = part["choices"]
    assert (found["agree"], found["n"], found["table"], found["specific"]) == (6, 12, None, [])
    assert found["wilson"] is not None
    assert found["ac1"]["why_not"] == "the questions differ in their options"
    assert part["panel"]["choices"]["alpha"]["why_not"] == "the questions differ in their options"


def test_two_divided_executors_do_not_agree() -> None:
    question = Contract("choice", ("jsonl", "sqlite"), ("safety",))
    units = [unit(name, case(0), n, question) for name in PAIR for n in (1, 2)]
    results = [choose(u, option) for u, option in zip(units, ("jsonl", "sqlite") * 2, strict=True)]
    (found,) = agreed(units, results)["choices"]
    assert (found["agree"], found["n"], found["ac1"]["n"]) == (0, 1, 0)


# --- the panel ----------------------------------------------------------------------------------


def test_the_panel_counts_voices_and_pools_independent_pairs() -> None:
    part = answered(
        {
            "codex": [[SQL, LEAK]] * 11,
            "mini": [[SQL, STYLE]] * 11,
            "sonnet": [[SQL_REWORDED]] * 10 + [None],
        }
    )
    found = part["panel"]["findings"]
    assert (found["cases"], found["of"]) == (10, 11)
    assert found["held_by"] == [{"voices": 2, "findings": 10}, {"voices": 1, "findings": 20}]
    assert found["classes"]["consensus"] == 10
    assert found["psa"] == [round(40 / 60, 4)] * 2  # two independent pairs of executors, 2 of 3 each
    assert [(m["executor"], m["n"]) for m in found["missing"]] == [("sonnet", 1)]


def test_what_the_tree_does_not_hold_is_held_by_nobody() -> None:
    gone = replace(LEAK, grounding="ungrounded")
    part = answered({"codex": [[SQL, gone]] * 2, "sonnet": [[SQL_REWORDED, gone]] * 2})
    found = part["panel"]["findings"]
    assert found["classes"]["ungrounded"] == 4
    assert found["held_by"] == [{"voices": 2, "findings": 2}]


def test_a_severity_that_one_voice_gives_is_compared_with_nothing() -> None:
    units = [unit(name, case(0)) for name in PAIR]
    cases = asked(Plan(tuple(units)), lay(Plan(tuple(units)), [result(u) for u in units]))
    alone = replace(_held("codex", "codex#1"), kind="consensus")  # what another vendor confirmed
    found = panelrows.findings(cases, {case(0): Crossing((alone,))}, EXECUTORS)
    assert found["severity"]["findings"] == 0


def test_severities_of_the_panel_are_of_voices() -> None:
    levels = ["high", "critical", "medium", "high", "low", "critical"] * 2
    part = answered(
        {
            "codex": [[replace(SQL, severity=s)] for s in levels],
            "mini": [[replace(SQL, severity="info")]] * 12,
            "sonnet": [[replace(SQL_REWORDED, severity=s)] for s in [*levels[:-1], "high"]],
        }
    )
    found = part["panel"]["severity"]
    assert found["findings"] == 12
    assert 0.7 < found["alpha"]["value"] < 1  # mini's are not codex's and sonnet's third opinion


def test_what_all_missed_needs_four_voices() -> None:
    three = answered({"codex": [[SQL]] * 3, "sonnet": [[SQL_REWORDED]] * 3, "ruff": [[STYLE]] * 3})
    assert three["panel"]["unseen"]["why_not"] == "3 independent voices; under 4 no estimate is accurate"
    four = answered(
        {
            "codex": [[SQL]] * 3,
            "sonnet": [[SQL_REWORDED, LEAK]] * 3,
            "pylint": [[STYLE]] * 3,
            "ruff": [[PROSE]] * 3,
        }
    )
    found = four["panel"]["unseen"]
    assert (found["voices"], found["seen"], found["why_not"]) == (4, 12, "")
    assert found["jackknife"] == round(3 / 4 * 9, 4)
    assert found["chao"] == round(9 * 8 / (2 * 4), 4)


# --- within -------------------------------------------------------------------------------------


def test_repeats_are_measured_beside_others_answer_by_answer() -> None:
    found = answered(
        {
            "codex": [[SQL, LEAK], [SQL], [SQL]] * 10,
            "mini": [[SQL], [SQL], [SQL]] * 10,
            "sonnet": [[SQL_REWORDED], [], []] * 10,
        },
        repeat=3,
    )["within"]
    codex, sonnet, mini = found
    assert [r["executor"] for r in found] == ["codex", "sonnet", "mini"]
    assert (codex["cases"], codex["of"], codex["pairs"], codex["answers"], codex["asked"]) == (
        10,
        10,
        30,
        30,
        30,
    )
    assert (codex["both"], codex["only_left"], codex["only_right"]) == (30, 20, 0)
    assert codex["psa"] == [round(60 / 80, 4)] * 2
    assert codex["came"] == [
        {"times": 3, "of": 3, "findings": 10},
        {"times": 1, "of": 3, "findings": 10},
    ]
    assert (codex["independent"], codex["dependence"]) == (False, "codex cannot corroborate itself")
    beside = {row["executor"]: row for row in codex["beside"]}
    assert (beside["mini"]["independent"], beside["sonnet"]["independent"]) == (False, True)
    assert beside["sonnet"]["both"] == 30  # nine pairs of answers a case, three of them shared
    assert beside["sonnet"]["pairs"] == beside["mini"]["pairs"] == 90
    assert beside["sonnet"]["psa"][0] < codex["psa"][0] < beside["mini"]["psa"][0]
    assert sonnet["psa"] == [0.0, 0.0]
    assert mini["psa"] == [1.0, 1.0]


def test_without_repeats_there_is_no_row_within() -> None:
    assert answered({"codex": [[SQL]], "sonnet": [[SQL]]})["within"] == []


def test_only_so_many_answers_are_compared_and_it_is_said() -> None:
    found, other = answered({"codex": [[SQL]] * 12, "sonnet": [[SQL]] * 12}, repeat=12)["within"]
    assert found["beside"][0]["pairs"] == other["beside"][0]["pairs"] == 45
    assert (found["pairs"], found["cases"]) == (45, 1)
    assert found["limited"] == "only the first 10 of 12 answers to a case were compared"
    assert found["came"] == [{"times": 12, "of": 12, "findings": 1}]


def test_a_lost_repeat_is_no_answer_without_findings() -> None:
    (found,) = answered({"codex": [[SQL], None, [SQL], None, [LEAK], None]}, repeat=3)["within"]
    assert (found["answers"], found["asked"], found["pairs"], found["both"]) == (3, 6, 1, 1)
    assert (found["cases"], found["of"]) == (1, 2)  # a single answer is compared with nothing
    assert found["came"] == [{"times": 2, "of": 2, "findings": 1}, {"times": 1, "of": 1, "findings": 1}]


def test_what_the_tree_does_not_hold_does_not_come_back() -> None:
    gone = replace(LEAK, grounding="ungrounded")
    (found,) = answered({"codex": [[SQL, gone], [SQL, gone]]}, repeat=2)["within"]
    assert (found["both"], found["came"]) == (1, [{"times": 2, "of": 2, "findings": 1}])


def test_the_hook_for_sameness_is_asked_within_as_well() -> None:
    units = [unit("codex", case(0), repeat=n) for n in (1, 2)]
    plan = Plan(tuple(units))
    answers = lay(plan, [result(units[0], SQL), result(units[1], LEAK)])
    crossings = {case(0): cross(list(answers.by_unit.values()), EXECUTORS)}
    for same, both in ((None, 0), (lambda a, b: True, 1)):
        (found,) = agreement(plan, answers, crossings, EXECUTORS, same=same)["within"]
        assert found["both"] == both
