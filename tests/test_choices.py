"""Design questions: votes, ranking, score table, who would change their mind, dissent, stability."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review import document
from prun_review.choices import ballots, most, table
from prun_review.model import Answer, Choice, Contract, Plan, Result, Score
from tests.gate_situations import DESIGN, PANELS
from tests.gatekit import EXECUTORS, HEADER, facts, result, unit

OPTIONS = ("jsonl", "sqlite", "csv")
CRITERIA = ("safety", "speed")
QUESTION = Contract("choice", OPTIONS, CRITERIA)


def said(
    name: str,
    ranking: str,
    *scores: Score,
    repeat: int = 1,
    mind: str = "",
    conclusion: str = "it is simple",
) -> Result:
    """An answer; ``ranking`` by first letters, best first."""
    order = tuple(next(o for o in OPTIONS if o.startswith(letter)) for letter in ranking)
    answer = Answer(replace(HEADER, conclusion=conclusion), choice=Choice(order[0], order, scores, 0.7, mind))
    return result(unit(name, DESIGN, repeat, QUESTION), answer=answer)


def read(*results: Result) -> dict[str, Any]:
    """The ``choice`` part of the case, checked against its schema."""
    units = tuple(unit(r.executor, DESIGN, r.repeat, QUESTION) for r in results)
    made = document.build(facts(folders=PANELS), Plan(units), results)
    assert document.validate(made) == []
    (case,) = made["cases"]
    choice: dict[str, Any] = case["choice"]
    return choice


def ranks(choice: dict[str, Any]) -> list[tuple[Any, ...]]:
    keys = ("option", "place", "mean_rank", "points", "firsts", "votes")
    return [tuple(row[key] for key in keys) for row in choice["ranks"]]


# --- votes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "word"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], ""),
        (["a", "b", "a"], "a"),
        (["", "", "a"], "a"),
        (["a", "a", "b", "b", "c"], ""),
    ],
)
def test_most(words: list[str], word: str) -> None:
    assert most(words) == word


def test_one_vendor_has_one_voice() -> None:
    choice = read(said("codex", "jsc"), said("mini", "jsc"), said("sonnet", "sjc"))
    assert choice["voices"] == [
        {"executors": ["sonnet"], "option": "sqlite"},
        {"executors": ["codex", "mini"], "option": "jsonl"},
    ]
    assert (choice["winner"], choice["dissent"]) == (None, ["codex", "sonnet", "mini"])
    assert choice["votes"] == {"codex": "jsonl", "sonnet": "sqlite", "mini": "jsonl"}
    assert choice["agreement"] == {
        "k": 0, "n": 2, "wilson": None, "why_not": "2 executor pairs, fewer than 10",
    }  # fmt: skip


def test_a_voice_that_differs_has_no_vote() -> None:
    choice = read(said("codex", "jsc"), said("mini", "csj"), said("sonnet", "sjc"))
    assert {"executors": ["codex", "mini"], "option": ""} in choice["voices"]
    assert choice["winner"] == "sqlite"
    assert choice["dissent"] == ["codex", "mini"]


def test_ten_pairs_of_executors_have_an_interval() -> None:
    names = ("codex", "sonnet", "ruff", "pylint", "bandit")
    choice = read(*(said(name, "jsc") for name in names[:4]), said(names[4], "sjc"))
    assert (choice["agreement"]["k"], choice["agreement"]["n"]) == (6, 10)
    assert choice["agreement"]["wilson"] == [0.3127, 0.8318]
    assert choice["winner"] == "jsonl"


# --- ranking ------------------------------------------------------------------------------------


def test_ranking_by_borda_with_mean_ranks() -> None:
    choice = read(said("codex", "jsc"), said("sonnet", "sjc"), said("pylint", "scj"))
    assert ranks(choice) == [
        ("sqlite", 1, 1.3333, 5.0, 2, 3),
        ("jsonl", 2, 2.0, 3.0, 1, 3),
        ("csv", 3, 2.6667, 1.0, 0, 3),
    ]


def test_options_with_the_same_points_share_their_places() -> None:
    choice = read(said("codex", "jsc"), said("sonnet", "sjc"))
    assert ranks(choice) == [
        ("jsonl", 1.5, 1.5, 3.0, 1, 2),
        ("sqlite", 1.5, 1.5, 3.0, 1, 2),
        ("csv", 3.0, 3.0, 0.0, 0, 2),
    ]


def test_an_option_that_was_not_ranked_shares_the_places_behind() -> None:
    choice = read(said("codex", "j"), said("sonnet", "sjc"))
    found = {row["option"]: (row["mean_rank"], row["points"]) for row in choice["ranks"]}
    assert found == {"jsonl": (1.5, 3.0), "sqlite": (1.75, 2.5), "csv": (2.75, 0.5)}


def test_repeats_and_kin_do_not_weigh_more() -> None:
    once = read(said("codex", "jsc"), said("sonnet", "sjc"))
    often = read(
        *(said("codex", "jsc", repeat=n) for n in (1, 2, 3)), said("mini", "jsc"), said("sonnet", "sjc")
    )
    assert ranks(often) == ranks(once)


RANKINGS = st.permutations("jsc").map("".join)


@given(st.lists(RANKINGS, min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_borda_points_are_shared_out_whole_and_order_does_not_matter(
    given: list[str], rng: random.Random
) -> None:
    names = ("codex", "sonnet", "ruff", "pylint", "bandit")
    answers = [said(name, ranking) for name, ranking in zip(names, given, strict=False)]
    counted = ballots(answers, EXECUTORS)
    rows = table(OPTIONS, CRITERIA, answers, counted)["ranks"]
    assert sum(row["points"] for row in rows) == pytest.approx(3 * len(answers))
    assert sum(row["place"] for row in rows) == 6
    assert all(1 <= row["mean_rank"] <= 3 and row["points"] >= 0 for row in rows)
    for row in rows:  # with strict rankings Borda and mean rank are one order
        assert row["points"] == pytest.approx(len(answers) * (3 - row["mean_rank"]), abs=1e-3)
    shuffled = rng.sample(answers, len(answers))
    assert table(OPTIONS, CRITERIA, shuffled, ballots(shuffled, EXECUTORS))["ranks"] == rows


# --- scores -------------------------------------------------------------------------------------


def cell(choice: dict[str, Any], criterion: str, option: str) -> dict[str, Any]:
    (found,) = [r for r in choice["criterion_scores"] if (r["criterion"], r["option"]) == (criterion, option)]
    return dict(found)


def test_scores_have_mean_spread_and_numbers() -> None:
    def safety(score: int) -> Score:
        return Score("jsonl", "safety", score, "why")

    choice = read(
        said("codex", "jsc", safety(5)),
        said("codex", "jsc", safety(4), repeat=2),
        said("mini", "jsc", safety(1)),
        said("sonnet", "sjc", safety(2)),
    )
    # codex 4.5 and mini 1 have one voice: 2.75; sonnet 2
    assert cell(choice, "safety", "jsonl") == {
        "criterion": "safety", "option": "jsonl", "mean": 2.375, "low": 1, "high": 5,
        "deviation": 0.5303, "scores": 4, "voices": 2,
    }  # fmt: skip
    assert len(choice["criterion_scores"]) == len(OPTIONS) * len(CRITERIA)


def test_cells_without_scores_are_there_and_empty() -> None:
    choice = read(said("codex", "jsc", Score("jsonl", "safety", 5, "fsync")))
    alone = cell(choice, "safety", "jsonl")
    assert (alone["mean"], alone["deviation"], alone["voices"]) == (5.0, None, 1)
    assert cell(choice, "speed", "csv") == {
        "criterion": "speed", "option": "csv", "mean": None, "low": None, "high": None,
        "deviation": None, "scores": 0, "voices": 0,
    }  # fmt: skip


# --- words --------------------------------------------------------------------------------------


def test_who_would_change_their_mind_by_what() -> None:
    choice = read(
        said("codex", "jsc", mind="concurrent writers"),
        said("codex", "jsc", mind=" concurrent writers", repeat=2),
        said("codex", "sjc", mind="concurrent writers", repeat=3),
        said("sonnet", "sjc", mind="  "),
    )
    assert choice["minds"] == [
        {"executor": "codex", "repeats": [1, 2], "option": "jsonl", "text": "concurrent writers"},
        {"executor": "codex", "repeats": [3], "option": "sqlite", "text": "concurrent writers"},
    ]


def test_dissent_is_quoted_with_its_reasons() -> None:
    scores = (
        Score("sqlite", "safety", 5, "a journal"),
        Score("jsonl", "safety", 2, "torn lines"),
        Score("csv", "safety", 1, "quoting"),
    )
    choice = read(
        said("codex", "jsc"),
        said("pylint", "jsc"),
        said("sonnet", "sjc", *scores, conclusion="SQLite survives a crash"),
    )
    assert choice["winner"] == "jsonl"
    assert choice["dissenting"] == [
        {
            "executor": "sonnet",
            "repeat": 1,
            "option": "sqlite",
            "conclusion": "SQLite survives a crash",
            "reasons": [
                {"option": "sqlite", "criterion": "safety", "score": 5, "text": "a journal"},
                {"option": "jsonl", "criterion": "safety", "score": 2, "text": "torn lines"},
            ],
        }
    ]


def test_without_a_winner_every_answer_is_quoted() -> None:
    choice = read(said("codex", "jsc"), said("sonnet", "sjc"))
    assert [d["executor"] for d in choice["dissenting"]] == ["codex", "sonnet"]


def test_an_answer_of_a_divided_executor_is_quoted_where_it_differs() -> None:
    choice = read(
        said("codex", "jsc"), said("sonnet", "jsc"), said("sonnet", "sjc", repeat=2), said("ruff", "jsc")
    )
    assert (choice["winner"], choice["dissent"]) == ("jsonl", ["sonnet"])
    assert [(d["executor"], d["repeat"]) for d in choice["dissenting"]] == [("sonnet", 2)]


def test_stability_over_repeats() -> None:
    choice = read(
        *(said("codex", ranking, repeat=n) for n, ranking in enumerate(("jsc", "jsc", "sjc"), 1)),
        *(said("sonnet", ranking, repeat=n) for n, ranking in enumerate(("sjc", "jsc"), 1)),
        said("pylint", "jsc"),
    )
    assert choice["stability"] == [
        {"executor": "codex", "times": 2, "of": 3, "options": {"jsonl": 2, "sqlite": 1}},
        {"executor": "sonnet", "times": 0, "of": 2, "options": {"sqlite": 1, "jsonl": 1}},
    ]


def test_without_an_answer_everything_is_empty() -> None:
    rows = table(OPTIONS, CRITERIA, [], ballots([], EXECUTORS))
    assert (rows["votes"], rows["voices"], rows["minds"], rows["dissenting"]) == ({}, [], [], [])
    assert [row["mean_rank"] for row in rows["ranks"]] == [None] * 3
    assert rows["agreement"]["n"] == 0
    assert rows["winner"] is None
