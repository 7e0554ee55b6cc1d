"""The cross-check: rows of real failures, the rule clause by clause, and properties of any input."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prun_review import Finding, Pair, crosscheck, matching
from prun_review.folding import Member, fold
from prun_review.lexical import score
from prun_review.model import Place
from prun_review.shortlist import shortlist
from prun_review.tokens import MAX_NAME, MAX_WORDS, first_sentence, items, split


def at(title: str, file: str | None = "src/app.py", line: int | None = 10, **more: Any) -> Finding:
    return Finding(title=title, file=file, line=line, **more)


def outcomes(left: Sequence[Finding], right: Sequence[Finding]) -> list[tuple[int | None, int | None, str]]:
    return [(p.left, p.right, p.outcome) for p in crosscheck(left, right)]


INJECTION = at("User input is concatenated into the SQL query, so it can be injected", category="security")
INJECTION_2 = at(
    "SQL injection: the query is built by concatenating user input", line=12, category="security"
)
ZERO = at("Average divides by zero for an empty basket", line=10, category="correctness")


# --- rows of real failures --------------------------------------------------------------------


def test_one_defect_in_two_wordings_on_near_lines_matches() -> None:  # C25
    (pair,) = crosscheck([INJECTION], [INJECTION_2])
    assert (pair.left, pair.right, pair.outcome) == (0, 0, "match")
    assert pair.reason == (
        "same file, 2 lines apart, 6 of 7 words shared: concatenated, injected, input, query, user and others"
    )
    assert pair.score == pytest.approx(6 / 42**0.5, abs=1e-4)


@pytest.mark.parametrize("line", [5, 25])
def test_one_defect_at_call_and_definition_twenty_lines_apart_matches(line: int) -> None:  # C26a
    call = at("Retry loop never stops when `fetch_page` keeps failing", line=line)
    definition = at("`fetch_page` failing keeps the retry loop running without end", line=30 - line)
    assert outcomes([call], [definition]) == [(0, 0, "match")]


def test_two_defects_on_one_line_stay_two() -> None:  # C26b, C27
    assert outcomes([INJECTION], [ZERO]) == [(0, None, "alone"), (None, 0, "alone")]
    both = [INJECTION, ZERO]
    assert outcomes(both, [replace(ZERO, title="Empty basket makes the average divide by zero")]) == [
        (0, None, "alone"),
        (1, 0, "match"),
    ]
    assert outcomes(both, both[::-1]) == [(0, 1, "match"), (1, 0, "match")]


def test_what_only_the_second_panel_found_is_listed() -> None:  # C28
    extra = at("Temporary file is never closed", line=88, category="resource")
    pairs = crosscheck([INJECTION], [INJECTION_2, extra])
    assert [(p.left, p.right, p.outcome) for p in pairs] == [(0, 0, "match"), (None, 1, "alone")]
    assert pairs[1].reason == "nothing like it on the left"
    assert [p.reason for p in crosscheck([], [extra])] == ["the left side holds no finding"]


def test_ranges_that_jitter_are_one_place_and_a_repetition_never_agrees() -> None:  # C30, C32
    once = at("Lock is released before the balance is written", line=45, end_line=51)
    again = replace(once, end_line=52)
    assert outcomes([once], [again]) == [(0, 0, "match")]
    pairs = crosscheck([once, again], [])
    assert [(p.left, p.right, p.outcome) for p in pairs] == [(0, None, "alone"), (1, None, "alone")]
    assert [p.reason for p in pairs].count("repeats left 0, counted once") == 1
    pairs = crosscheck([once, again], [again, once])
    assert Counter(p.outcome for p in pairs) == {"match": 1, "alone": 2}
    assert {p.reason for p in pairs if p.outcome == "alone"} == {
        "repeats left 0, counted once",
        "repeats right 1, counted once",
    }


def test_the_most_severe_speaks_for_its_repetitions() -> None:
    mild, grave = replace(INJECTION, severity="low"), replace(INJECTION, severity="critical")
    pairs = crosscheck([mild, grave], [INJECTION_2])
    assert [(p.left, p.right, p.outcome) for p in pairs] == [(0, None, "alone"), (1, 0, "match")]
    shaky = replace(INJECTION, severity="critical", grounding="ungrounded")
    assert (1, 0, "match") in outcomes([shaky, mild], [INJECTION_2])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Unused variable 'a'", "Unused variable 'b'"),
        ("The value of `left_size` is never checked here", "The value of `right_size` is never checked here"),
        ("Missing check for None on user", "Missing check for None on account"),
    ],
)
def test_siblings_on_one_line_are_not_repetitions(one: str, other: str) -> None:
    left = [at(one), at(other)]
    assert outcomes(left, left) == [(0, 0, "match"), (1, 1, "match")]


def test_two_rules_with_one_text_are_two_findings() -> None:
    left = [at("Value is never used", rule="A1"), at("Value is never used", rule="B2")]
    assert [outcome for _, _, outcome in outcomes(left, left)] == ["match", "match"]


def test_one_rule_twice_on_neighbouring_lines_is_two_findings() -> None:
    left = [at("Line too long", line=n, rule="E501") for n in (5, 6, 7)]
    assert outcomes(left, left) == [(n, n, "match") for n in range(3)]


@pytest.mark.parametrize(
    ("file", "line", "other_file", "other_line", "reason"),
    [
        (None, None, "src/app.py", 400, "no file to compare"),
        (None, None, None, None, "no file to compare"),
        ("", 3, "src/app.py", 400, "no file to compare"),
        ("src/app.py", None, "src/app.py", 400, "same file, no line to compare"),
        ("src/app.py", 0, "src/app.py", 400, "same file, no line to compare"),
        ("src/app.py", -7, "src/app.py", None, "same file, no line to compare"),
    ],
)
def test_findings_without_a_place_are_compared_by_text(  # C34
    file: str | None, line: int | None, other_file: str | None, other_line: int | None, reason: str
) -> None:
    left = replace(INJECTION, file=file, line=line)
    right = replace(INJECTION_2, file=other_file, line=other_line)
    (pair,) = crosscheck([left], [right])
    assert pair.outcome == "match"
    assert pair.reason.startswith(f"{reason}, 6 of 7 words shared: ")
    assert outcomes([left], [replace(ZERO, file=other_file, line=other_line)])[0][2] == "alone"


def test_a_text_that_names_several_files_is_no_place() -> None:  # C34
    left = at("Password is logged in src/login.py and src/admin.py", file=None, line=None)
    right = at("src/admin.py logs the password", file="src/admin.py", line=31)
    assert outcomes([left], [right]) == [(0, 0, "match")]


@pytest.mark.parametrize(
    "path",
    [
        "src/app.py",
        "./src/app.py",
        "a/src/app.py",
        "b/src/app.py",
        "src\\app.py",
        "src//app.py",
        "`src/app.py`",
        "/home/somebody/clone/src/app.py",
        "C:\\\\clone\\\\src\\\\app.py",
    ],
)
def test_one_file_in_many_spellings(path: str) -> None:  # C35
    assert outcomes([INJECTION], [replace(INJECTION_2, file=path)]) == [(0, 0, "match")]
    assert outcomes([replace(INJECTION, file=path)], [INJECTION_2]) == [(0, 0, "match")]


@pytest.mark.parametrize("path", ["lib/src/app.py", "src/app.pyi", "SRC/app.py", "../src/app.py", "app.py"])
def test_another_file_never_matches(path: str) -> None:  # C35
    assert outcomes([INJECTION], [replace(INJECTION_2, file=path)])[0][2] != "match"


def test_a_folder_named_like_a_diff_prefix_stays_a_folder() -> None:
    left = replace(INJECTION, file="a/app.py")
    assert outcomes([left], [replace(INJECTION_2, file="b/app.py")])[0][2] != "match"
    assert outcomes([left], [replace(INJECTION_2, file="a/app.py")]) == [(0, 0, "match")]


@pytest.mark.parametrize(("line", "outcome"), [(30, "match"), (31, "uncertain"), (9_000_000, "uncertain")])
def test_a_line_far_off_is_doubt(line: int, outcome: str) -> None:  # C35
    assert outcomes([INJECTION], [replace(INJECTION_2, line=line)]) == [(0, 0, outcome)]


def test_a_whole_function_is_not_near_everything_in_it() -> None:
    left = replace(INJECTION, line=1, end_line=500)
    assert outcomes([left], [replace(INJECTION_2, line=24)]) == [(0, 0, "match")]
    assert outcomes([left], [replace(INJECTION_2, line=25)]) == [(0, 0, "uncertain")]


# --- the rule, clause by clause ---------------------------------------------------------------


def test_analysers_with_nothing_in_common_but_the_place_are_uncertain() -> None:
    pylint = at("eval-used: Use of eval", category="security")
    bandit = at(
        "Use of possibly insecure function - consider using safer ast.literal_eval.",
        category="security",
        line=13,
    )
    (pair,) = crosscheck([pylint], [bandit])
    assert (pair.outcome, pair.left, pair.right) == ("uncertain", 0, 0)
    assert pair.reason.startswith("same file, 3 lines apart")
    farther = replace(bandit, title="Possibly insecure function", line=14)
    assert outcomes([pylint], [farther])[0][2] == "alone"
    assert outcomes([pylint], [replace(farther, line=13)])[0][2] == "uncertain"
    assert outcomes([pylint], [replace(farther, line=13, category="style")])[0][2] == "alone"


RUN = at("Shell injection", severity="critical", category="security", quote="subprocess.run(cmd, shell=True)")
VAGUE = replace(RUN, title="不安全", category="other", severity="high", line=13)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        ({}, "uncertain"),
        ({"quote": "  subprocess.run(cmd,\n    shell=True)\n"}, "uncertain"),
        ({"quote": "def go(cmd):\n    subprocess.run(cmd, shell=True)"}, "uncertain"),
        ({"quote": "subprocess.run("}, "uncertain"),
        ({"severity": "dreadful"}, "uncertain"),
        ({"severity": "medium"}, "alone"),
        ({"quote": "run(cmd"}, "alone"),
        ({"quote": "subprocess.run(other, shell=True)"}, "alone"),
        ({"quote": None}, "alone"),
        ({"line": 14}, "alone"),
        ({"file": "src/other.py"}, "alone"),
    ],
)
def test_severe_findings_that_quote_the_same_code_are_at_least_uncertain(
    change: dict[str, Any], outcome: str
) -> None:
    other = replace(VAGUE, **change)
    pairs = crosscheck([RUN], [other])
    assert pairs[0].outcome == outcome
    if outcome == "uncertain":
        assert "both high or worse and quoting the same code" in pairs[0].reason
    assert crosscheck([other], [RUN])[0].outcome == outcome


def test_the_same_quote_says_nothing_about_a_finding_whose_partner_is_found() -> None:
    assert outcomes([RUN], [RUN, VAGUE]) == [(0, 0, "match"), (None, 1, "alone")]


def test_near_lines_prefer_the_nearest() -> None:
    left = [at("alpha beta gamma delta zeta", line=10)]
    right = [at("alpha kappa lambda omicron sigma", line=12), at("theta iota", line=11)]
    (pair, rest) = crosscheck(left, right)
    assert (pair.left, pair.right, pair.outcome) == (0, 1, "uncertain")
    assert pair.reason == "same file, 1 line apart, same category other, 0 of 7 words shared"
    assert (rest.right, rest.outcome) == (0, "alone")


def test_another_file_with_one_root_cause_is_uncertain() -> None:
    left = at("`parse_header` accepts a negative length", file="src/reader.py")
    right = at("A negative length passes `parse_header`", file="src/server.py", line=70)
    (pair,) = crosscheck([left], [right])
    assert pair.outcome == "uncertain"
    assert pair.reason.startswith("different files, ")
    assert pair.reason.endswith("; both name parse_header: perhaps one root cause")
    plain = [replace(f, title=f.title.replace("`parse_header`", "parser")) for f in (left, right)]
    assert outcomes(plain[:1], plain[1:])[0][2] == "alone"


def test_a_second_partner_is_shown_as_uncertain_not_dropped() -> None:
    left = [at("Cache key ignores the tenant, so data leaks between tenants", line=20)]
    right = [
        at("Cache key ignores the tenant", line=20),
        at("Tenants share the cache because the key ignores the tenant", line=30),
        at("Thread pool is never shut down", line=31),
    ]
    pairs = crosscheck(left, right)
    assert [(p.left, p.right, p.outcome) for p in pairs] == [
        (0, 0, "match"),
        (0, 1, "uncertain"),
        (None, 2, "alone"),
    ]
    assert pairs[1].reason.endswith("; the left one has a nearer partner")


def test_the_best_score_is_paired_first() -> None:
    left = [
        at("Token is compared in time that depends on its content"),
        at("Token never expires after logout"),
    ]
    right = [at("Token never expires"), at("Token comparison time depends on content")]
    assert outcomes(left, right) == [(0, 1, "match"), (1, 0, "match")]


MADE_UP = [f"{a}{b}" for a in "qxzj" for b in "abcdefghijklmnopqrtuvwxyz"]
"""A hundred words of which none is another's stem."""


def overlapping(shared: int, words: int) -> tuple[str, str]:
    """Two texts of so many words each."""
    return " ".join(MADE_UP[:words]), " ".join(MADE_UP[words - shared : 2 * words - shared])


@pytest.mark.parametrize(
    ("shared", "words", "outcome"),
    [(13, 50, "match"), (12, 50, "uncertain"), (7, 50, "uncertain"), (6, 50, "alone"), (0, 1, "alone")],
)
def test_the_cuts_are_where_they_are_said_to_be(shared: int, words: int, outcome: str) -> None:
    one, other = overlapping(shared, words)
    pair = crosscheck([at(one, category="style")], [at(other)])[0]
    assert pair.outcome == outcome
    if pair.outcome != "alone":
        assert f", {shared} of {2 * words - shared} words shared: " in pair.reason
        assert pair.score == pytest.approx(shared / words)


@pytest.mark.parametrize(("shared", "outcome"), [(13, "uncertain"), (12, "alone")])
def test_far_apart_doubt_needs_the_text_of_a_match(shared: int, outcome: str) -> None:
    one, other = overlapping(shared, 50)
    assert crosscheck([at(one, line=10)], [at(other, line=31)])[0].outcome == outcome


@pytest.mark.parametrize(("shared", "outcome"), [(23, "uncertain"), (22, "alone")])
def test_another_file_needs_more_text(shared: int, outcome: str) -> None:
    one, other = (
        " ".join(f"`{word}`" for word in [*text.split(), "qaz"]) for text in overlapping(shared - 1, 49)
    )
    left, right = at(one, file="x.py"), at(other, file="y.py")
    assert crosscheck([left], [right])[0].outcome == outcome


def test_one_name_and_a_number_are_no_root_cause() -> None:
    left, right = at("`load` 80", file="x.py"), at("`load` 80", file="y.py")
    assert crosscheck([left], [right])[0].outcome == "alone"
    more = [replace(f, title=f"{f.title} leaks") for f in (left, right)]
    assert crosscheck(more[:1], more[1:])[0].outcome == "uncertain"


@pytest.mark.parametrize(("words", "repeats"), [(4, True), (3, False)])
def test_four_of_five_words_repeat_a_finding(words: int, repeats: bool) -> None:
    told = [" ".join(MADE_UP[:n]) for n in (words, words + 1)]
    pairs = crosscheck([at(title) for title in told], [])
    assert any("repeats" in p.reason for p in pairs) is repeats


@pytest.mark.parametrize(
    ("one", "other", "outcome"),
    [
        ("Too many branches (14/12)", "Too many statements (60/50)", "alone"),
        ("Too many branches (14/12)", "Too many statements (14/12)", "alone"),
        ("Unused variable 'left'", "Unused argument 'right'", "uncertain"),
        ("Unclosed file", "File never closed", "uncertain"),
        ("Unclosed file in the parser", "File name is wrong in every report", "alone"),
        ("SQL injection", "Header injection", "uncertain"),
        ("SQL injection", "SQL injection in the search form", "match"),
        ("Typo", "Typo in the name of the cache", "uncertain"),
        ("Typo", "Typo", "match"),
        ("80", "80", "match"),
        ("Token never expires", "Token that never expires is accepted", "match"),
    ],
)
def test_one_common_word_says_little(one: str, other: str, outcome: str) -> None:
    left, right = at(one, category="style"), at(other, category="other")
    assert crosscheck([left], [right])[0].outcome == outcome


def test_the_first_sentence_of_detail_counts_and_the_rest_does_not() -> None:
    left = [at("Wrong result", detail="Discount is applied twice, e.g. for members. Rounding hides it.")]
    right = [at("Discount applied twice for members")]
    assert crosscheck(left, right)[0].outcome == "match"
    buried = [
        at("Wrong result", detail="See below. Discount is applied twice for members.", category="style")
    ]
    assert crosscheck(buried, right)[0].outcome == "alone"


def test_somebody_may_say_what_is_the_same() -> None:
    def rule(left: Finding, right: Finding) -> bool | None:
        told = {"yes": True, "no": False}
        return told.get(left.suggestion or "")

    elsewhere = replace(ZERO, file="src/other.py")
    (pair,) = crosscheck([replace(INJECTION, suggestion="yes")], [elsewhere], same=rule)
    assert pair.outcome == "match"
    assert pair.reason.startswith("said to be the same; different files, 0 of ")
    kept_apart = crosscheck([replace(INJECTION, suggestion="no")], [INJECTION_2], same=rule)
    assert [p.outcome for p in kept_apart] == ["alone", "alone"]
    assert crosscheck([INJECTION], [INJECTION_2], same=rule)[0].outcome == "match"
    told, better = replace(INJECTION_2, suggestion="yes", title="x y z"), replace(INJECTION, line=11)
    pairs = crosscheck([better, told], [INJECTION], same=rule)
    assert [(p.left, p.right, p.outcome) for p in pairs] == [(0, 0, "uncertain"), (1, 0, "match")]


def test_what_somebody_raises_is_not_hidden() -> None:
    def broken(left: Finding, right: Finding) -> bool | None:
        raise LookupError("no opinion today")

    with pytest.raises(LookupError, match="no opinion today"):
        crosscheck([INJECTION], [ZERO], same=broken)


# --- text -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserName", {"get", "user", "nam", "=getusername"}),
        ("user_name", {"user", "nam", "=username"}),
        ("The caches are", {"cach"}),
        ("It isn't closed, it's not", {"clos"}),
        ("retries 3 times", {"retr", "3", "tim"}),
        ("Fehler: größer", {"fehler", "großer"}),
        ("ключ не найден", {"ключ", "не", "наиден"}),
        ("!!!", {"!!!"}),
        (" \n", set()),
    ],
)
def test_words(text: str, expected: set[str]) -> None:
    assert split(text)[0] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call load() before os.walk, not later", {"load", "os"}),
        ("Unused variable 'a' in `run.all()`", {"a", "run", "all"}),
        ("userName and max_size", {"userName", "max_size"}),
        ("plain words only. Nothing else.", set()),
    ],
)
def test_names(text: str, expected: set[str]) -> None:
    assert split(text)[1] == expected


def test_first_sentence_ends_at_a_sentence_not_at_a_dot() -> None:
    assert first_sentence("Uses e.g. os.path here. Then more.") == "Uses e.g. os.path here."
    assert first_sentence("One line\nand another") == "One line"


@pytest.mark.parametrize(
    "text",
    [
        "a" * 5_000_000,
        "x_" * 100_000,
        "(" * 100_000,
        "`" * 100_000,
        "aB" * 100_000,
        "f." * 100_000,
        " ".join(f"word{n}" for n in range(100_000)),
        "\ud83d\x00\x1b]0;title\x07 ",
        "e\u0301" * 100_000,
    ],
)
def test_a_hostile_text_is_cut_before_it_costs_anything(text: str) -> None:
    one, other = at(text, detail=text), at(text[::-1], detail=text[::-1])
    check_partition([one], [other], crosscheck([one], [other]))
    (item,), _ = items([one], [])
    assert len(item.words) <= MAX_WORDS
    assert len(item.names) <= MAX_WORDS
    assert all(len(word) <= MAX_NAME + 1 for word in item.words | item.names)


# --- a change ---------------------------------------------------------------------------------


def old(title: str, line: int, mapped: int, file: str = "src/app.py", **more: Any) -> Finding:
    return at(title, line=line, side="old", mapped=Place(file, mapped), **more)


GONE = "The token check in `handle` is removed without a replacement"


def test_an_old_and_a_new_line_of_one_replacement_match_where_the_text_says_so() -> None:
    before = old(GONE, line=400, mapped=12)
    (pair,) = crosscheck([before], [at(f"{GONE}, so anyone passes", line=14, side="new")])
    assert pair.outcome == "match"
    assert pair.reason.startswith(
        "same file, 2 lines apart (old lines counted where they would stand after the change), "
    )
    assert outcomes([before], [at("Average divides by zero", line=12)]) != [(0, 0, "match")]
    assert outcomes([replace(before, mapped=None)], [at(f"{GONE}, so anyone passes", line=14)]) == [
        (0, 0, "uncertain")
    ]


def test_old_names_of_a_renamed_file_are_its_new_one() -> None:
    before = replace(old(GONE, line=10, mapped=10, file="src/new.py"), file="src/old.py")
    assert outcomes([before], [at(GONE, file="src/new.py")]) == [(0, 0, "match")]
    assert outcomes([at(GONE, file="src/new.py")], [before]) == [(0, 0, "match")]
    assert outcomes([before], [at(GONE, file="src/old.py")]) == [(0, 0, "uncertain")]


def test_two_old_places_are_compared_by_their_old_lines() -> None:
    """Forty lines are gone: all of them would stand at line 12."""
    first, last = old(GONE, 12, 12), old(GONE, 52, 12)
    assert outcomes([first], [last]) == [(0, 0, "uncertain")]
    assert outcomes([first], [replace(first, title=f"{GONE}!", line=14)]) == [(0, 0, "match")]
    assert outcomes([first, last], [last, first]) == [(0, 1, "match"), (1, 0, "match")]
    (pair,) = crosscheck([first], [replace(first, title=f"{GONE}!", line=14)])
    assert pair.reason.startswith("same file, 2 lines apart, ")


def test_two_old_places_far_apart_in_the_head_are_near_beyond_the_cap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [at(f"cache number{n} lock", line=500 + n * 50) for n in range(30)]
    left = [old(GONE, 12, 12), *words]
    right = [old(f"{GONE} now", 14, 300), *words]
    monkeypatch.setattr(matching, "ALL_PAIRS", 100)
    assert (0, 0, "match") in outcomes(left, right)
    lefts, rights = items([old("cache leaks", 12, 12)], [old("token loops", 14, 300)])
    assert shortlist(lefts, rights, 23, 100) == [0]


def test_one_line_number_on_both_sides_is_two_places() -> None:
    left = [at(GONE, line=12, side="new"), old(GONE, 12, 40)]
    check_partition(left, left, crosscheck(left, left))
    assert outcomes(left, left) == [(0, 0, "match"), (1, 1, "match")]


def test_an_executor_that_tells_of_two_places_that_are_gone_holds_two_findings() -> None:
    def held(*findings: Finding) -> list[int]:
        return [len(h.members) for h in fold([[Member("a", "u", f) for f in findings]])]

    first, last = old(GONE, 12, 12), old(GONE, 52, 12)
    assert held(first, last) == [1, 1]
    assert held(first, replace(first, end_line=13)) == [2]
    assert held(first, at(GONE, line=12, side="new")) == [2]
    assert held(replace(first, file="src/old.py"), at(GONE, line=12, side="new")) == [2]
    assert held(old(GONE, 12, 30), at(GONE, line=12, side="new")) == [1, 1]


# --- properties -------------------------------------------------------------------------------

WORDS = [
    "cache",
    "lock",
    "token",
    "query",
    "escape",
    "`user_id`",
    "loop",
    "leaks",
    "`load()`",
    "empty",
    "twice",
]
TITLES = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
FINDINGS = st.builds(
    Finding,
    title=TITLES,
    detail=TITLES,
    file=st.sampled_from([None, "", "a/x.py", "x.py", "./y.py", "y.py"]),
    line=st.none() | st.integers(-1, 60),
    end_line=st.none() | st.integers(-1, 70),
    severity=st.sampled_from(["low", "critical", "unheard-of"]),
    category=st.sampled_from(["security", "style"]),
    rule=st.sampled_from([None, None, "E1"]),
    mapped=st.none() | st.builds(Place, st.sampled_from(["x.py", "y.py"]), st.none() | st.integers(0, 40)),
)
FEW = settings(max_examples=60, deadline=None)  # no test here is about time
PANELS = st.lists(FINDINGS, max_size=9)
HOSTILE = st.builds(
    Finding,
    title=st.text(st.characters(), max_size=40),
    detail=st.text(st.characters(), max_size=40),
    file=st.none() | st.text(st.characters(), max_size=12),
    line=st.none() | st.integers(),
    end_line=st.none() | st.integers(),
    category=st.text(st.characters(), max_size=5),
    severity=st.text(max_size=5),
    rule=st.none() | st.text(max_size=3),
    mapped=st.none()
    | st.builds(Place, st.text(max_size=5), st.none() | st.integers(), st.none() | st.integers()),
)


def check_partition(left: Sequence[Finding], right: Sequence[Finding], pairs: Sequence[Pair]) -> None:
    for side, panel in (("left", left), ("right", right)):
        seen = Counter(getattr(p, side) for p in pairs if getattr(p, side) is not None)
        assert set(seen) == set(range(len(panel)))
        for index, times in seen.items():
            mine = Counter(p.outcome for p in pairs if getattr(p, side) == index)
            assert mine["match"] <= 1
            assert times == 1 or "alone" not in mine
    matched = {(side, getattr(p, side)) for p in pairs if p.outcome == "match" for side in ("left", "right")}
    for p in pairs:
        assert 0 <= p.score <= 1
        assert p.reason
        assert p.reason.isprintable()
        assert len(p.reason) < 500
        assert (p.outcome == "alone") == (p.left is None or p.right is None)
        if p.outcome == "uncertain":
            assert ("left", p.left) not in matched or ("right", p.right) not in matched
    assert sorted(pairs, key=lambda p: (p.left is None, p.left or 0, p.right is None, p.right or 0)) == pairs


def mirrored(pairs: Sequence[Pair]) -> set[Pair]:
    swap = {"left": "right", "right": "left"}
    return {
        Pair(p.right, p.left, p.outcome, p.score, " ".join(swap.get(w, w) for w in p.reason.split(" ")))
        for p in pairs
    }


@FEW
@given(PANELS, PANELS)
def test_every_finding_occurs_and_matches_are_one_to_one(left: list[Finding], right: list[Finding]) -> None:
    check_partition(left, right, crosscheck(left, right))


@FEW
@given(st.lists(HOSTILE, max_size=5), st.lists(HOSTILE, max_size=5))
def test_nothing_a_reviewer_writes_raises(left: list[Finding], right: list[Finding]) -> None:
    check_partition(left, right, crosscheck(left, right))


@FEW
@given(PANELS, PANELS)
def test_both_sides_see_the_same(left: list[Finding], right: list[Finding]) -> None:
    assert mirrored(crosscheck(left, right)) == set(crosscheck(right, left))


@FEW
@given(PANELS, PANELS, st.randoms(use_true_random=False))
def test_the_order_of_findings_does_not_decide(
    left: list[Finding], right: list[Finding], chance: random.Random
) -> None:
    def told(lefts: list[Finding], rights: list[Finding]) -> Counter[Any]:
        return Counter(
            (
                None if p.left is None else lefts[p.left],
                None if p.right is None else rights[p.right],
                p.outcome,
                p.score,
            )
            for p in crosscheck(lefts, rights)
        )

    before = told(left, right)
    assert told(chance.sample(left, len(left)), chance.sample(right, len(right))) == before


def plain_file(finding: Finding) -> str:
    file = finding.mapped.file if finding.mapped else finding.file or ""
    return file.removeprefix("./").removeprefix("a/")


@FEW
@given(PANELS, PANELS)
def test_no_match_across_files_nor_far_off_nor_without_text(
    left: list[Finding], right: list[Finding]
) -> None:
    for p in crosscheck(left, right):
        if p.outcome != "match" or p.left is None or p.right is None:
            continue
        a, b = left[p.left], right[p.right]
        assert p.score >= 0.26
        if a.mapped and b.mapped and min(a.line or 0, b.line or 0) > 0 and a.mapped.line and b.mapped.line:
            assert abs((a.line or 0) - (b.line or 0)) <= 20 + 3
        elif (a.mapped or a.file) and (b.mapped or b.file):
            assert plain_file(a) == plain_file(b)
            first, second = (f.mapped.line if f.mapped else f.line for f in (a, b))
            if first and second and min(first, second) > 0:
                assert abs(first - second) <= 20 + 3


@FEW
@given(PANELS, PANELS)
def test_category_never_vetoes_a_match(left: list[Finding], right: list[Finding]) -> None:
    def matches(lefts: list[Finding], rights: list[Finding]) -> set[tuple[str, str]]:
        return {
            (lefts[p.left].title + lefts[p.left].detail, rights[p.right].title + rights[p.right].detail)
            for p in crosscheck(lefts, rights)
            if p.outcome == "match" and p.left is not None and p.right is not None
        }

    one = [
        replace(f, category="style", line=n * 100 + 1, file="x.py", mapped=None) for n, f in enumerate(left)
    ]
    other = [
        replace(f, category="style", line=n * 100 + 5, file="x.py", mapped=None) for n, f in enumerate(right)
    ]
    apart = [replace(f, category="security", severity="low") for f in other]
    assert matches(one, other) == matches(one, apart)


Key = tuple[bool, float, int, int, bool]


def naive(left: Sequence[str], right: Sequence[str]) -> set[tuple[int, int, str]]:
    """The rule for findings of which nothing but the title is known, over all pairs at once."""
    lefts, rights = items([Finding(title) for title in left], [Finding(title) for title in right])
    rank = {title: n for n, title in enumerate(sorted({*left, *right}))}
    cells: dict[tuple[int, int], Key] = {}
    for (i, a), (j, b) in product(enumerate(lefts), enumerate(rights)):
        both, value = a.words & b.words, score(a, b)
        said = len([word for word in both if not word.isdigit()])
        enough = said > 2 or (said == 2 and len(both) / len(a.words | b.words) >= 0.25)
        sure = value >= 0.26 and (enough or a.words == b.words)
        if sure or (value >= 0.14 and said >= 2) or (value >= 0.26 and said):
            r, t = rank[left[i]], rank[right[j]]
            cells[i, j] = (not sure, -value, min(r, t), max(r, t), r > t)
    matches: set[tuple[int, int]] = set()
    for i, j in sorted(cells, key=lambda cell: cells[cell]):
        if not cells[i, j][0] and all(i != x and j != y for x, y in matches):
            matches.add((i, j))
    rows, columns = {i for i, _ in matches}, {j for _, j in matches}
    doubts = set()
    for n in range(len(left)):
        mine = [cell for cell in cells if cell[0] == n]
        if n not in rows and mine:
            doubts.add(min(mine, key=lambda cell: cells[cell]))
    for n in range(len(right)):
        theirs = [cell for cell in cells if cell[1] == n]
        if n not in columns and theirs:
            doubts.add(min(theirs, key=lambda cell: cells[cell]))
    return {(*cell, "match") for cell in matches} | {(*cell, "uncertain") for cell in doubts}


def differently_said(titles: list[str]) -> list[str]:
    """Those that do not repeat one another, which would be folded."""
    said = {split(title)[0]: title for title in titles}
    return [title for words, title in said.items() if not any(words < more for more in said)]


@FEW
@given(st.lists(TITLES, max_size=7), st.lists(TITLES, max_size=7))
def test_titles_alone_are_paired_as_a_naive_rule_does(one: list[str], other: list[str]) -> None:
    left, right = differently_said(one), differently_said(other)
    pairs = crosscheck([Finding(title) for title in left], [Finding(title) for title in right])
    assume(not any("repeats" in p.reason for p in pairs))
    found = {(p.left, p.right, p.outcome) for p in pairs if p.outcome != "alone"}
    assert found == naive(left, right)


# --- more than can be compared ----------------------------------------------------------------


@FEW
@given(PANELS, PANELS)
def test_a_case_beyond_the_cap_keeps_the_promises(left: list[Finding], right: list[Finding]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "ALL_PAIRS", 8)
        some = crosscheck(left, right)
        assert mirrored(some) == set(crosscheck(right, left))
    check_partition(left, right, some)


def many(n: int, seed: int, files: int) -> list[Finding]:
    chance = random.Random(seed)
    words = [f"{a}{b}" for a in WORDS for b in "abcdefghij"]
    return [
        at(
            " ".join(chance.choices(words, k=6)),
            f"src/m{chance.randrange(files)}.py",
            chance.randrange(1, 3000),
        )
        for _ in range(n)
    ]


def test_beyond_the_cap_no_match_with_a_place_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = many(200, 1, 4), many(200, 2, 4)
    everything = [p for p in crosscheck(left, right) if p.outcome == "match"]
    assert len(everything) > 5
    monkeypatch.setattr(matching, "ALL_PAIRS", 10_000)
    some = crosscheck(left, right)
    assert [(p.left, p.right) for p in some if p.outcome == "match"] == [
        (p.left, p.right) for p in everything
    ]
    alone = [p.reason for p in some if p.outcome == "alone"]
    assert alone
    assert all(" among those compared (" in reason and " of 40000 pairs" in reason for reason in alone)


HERE = {"file": "x.py", "line": 7}
NOWHERE = {"file": None, "line": None}


@pytest.mark.parametrize(
    ("place", "other"), [(HERE, HERE), (NOWHERE, NOWHERE), (HERE, NOWHERE), (NOWHERE, HERE)]
)
def test_the_list_of_a_hostile_case_stays_below_its_cap(place: dict[str, Any], other: dict[str, Any]) -> None:
    lefts, rights = items(
        [at(f"cache number{n} lock", **place) for n in range(400)],
        [at(f"token number{n} lock", **other) for n in range(400)],
    )
    some = shortlist(lefts, rights, 23, 2000)
    assert some == [n * 400 + n for n in range(400)]
    assert shortlist(rights, lefts, 23, 2000) == some
    assert len(shortlist(lefts, rights, 23, 500_000)) == 160_000
