"""Who wrote what is reviewed: what they say against it counts, what they say for it does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review import document
from prun_review.answers import lay
from prun_review.authors import NOBODY, Authors, among, authors_of, check, kin
from prun_review.covering import cover
from prun_review.errors import ConfigError
from prun_review.explain import lines, tree
from prun_review.gate import gather, judge
from prun_review.independence import independents
from prun_review.model import Answer, ExecutorInfo, Finding, Opinion, Plan, Result, RunFacts, Unit, Verdict
from prun_review.policy import Policy, quorum_of
from prun_review.ruled import every_ruling
from prun_review.rulings import Examination
from tests.change_situations import ROWS as CHANGES
from tests.examkit import CANNOT_TELL, NO, REFUTE, YES, ask_of, claim, confirm, examined, opinion, pair
from tests.gate_situations import ASKS, CLEAN, CODEX, MINI, PAIR, PANELS, ROWS, SONNET, Row
from tests.gate_strategies import FACTS, quiet_results, some_results
from tests.gatekit import (
    EXECUTORS,
    FOLDER,
    HEADER,
    PERHAPS,
    SQL,
    about,
    changed,
    choose,
    facts,
    groups_of,
    lost,
    outage,
    result,
    unit,
    verdict,
)

WORDS: tuple[tuple[str, ...], ...] = (
    ("codex",), ("openai",), ("gpt",), ("anthropic",), ("codex", "sonnet"), ("nobody-of-these",),
)  # fmt: skip
RUFF, PROXY, NAMELESS = unit("ruff"), unit("proxy"), unit("nameless")
INFOS = [*EXECUTORS.values(), ExecutorInfo("azure", " OpenAI", "o-series", True)]


# --- who is an author's -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "theirs"),
    [
        ((), set()),
        (("codex",), {"codex", "mini", "azure"}),
        (("openai",), {"codex", "mini", "azure"}),
        ((" OpenAI ",), {"codex", "mini", "azure"}),
        (("gpt",), {"codex", "mini", "azure"}),
        (("mini",), {"codex", "mini", "azure"}),
        (("anthropic",), {"sonnet", "proxy"}),
        (("claude",), {"sonnet", "proxy"}),
        (("proxy",), {"sonnet", "proxy"}),
        (("ruff",), {"ruff"}),
        (("codex", "pycqa"), {"codex", "mini", "azure", "bandit"}),
        (("google",), set()),
    ],
    ids=lambda v: "-".join(v) if isinstance(v, tuple) else "",
)
def test_who_is_named_and_who_shares_vendor_or_lineage_with_them(
    words: tuple[str, ...], theirs: set[str]
) -> None:
    found = among(words, INFOS)
    unknown = {"nameless", "ghost"} if words else set()
    assert {n for n in (*(e.name for e in INFOS), "ghost") if found.wrote(n)} == theirs | unknown


def test_whose_vendor_is_known_of_an_executor_that_the_run_did_not_ask() -> None:
    run = facts(executors=(EXECUTORS["mini"], EXECUTORS["sonnet"]), authors=("codex",))
    assert not authors_of(run).wrote("mini")  # nothing tells whose codex is
    told = replace(run, authors_kin=kin(run.authors, EXECUTORS.values()))
    assert told.authors_kin == ("gpt", "openai")
    assert [n for n in ("codex", "mini", "sonnet") if authors_of(told).wrote(n)] == ["codex", "mini"]


@pytest.mark.parametrize(
    ("word", "nearest"),
    [
        ("sonet", "sonnet, "),
        ("opnai", "openai, "),
        ("cladue", "claude, "),
        ("", ""),
        ("codex,ruff", "codex, "),
    ],
)
def test_a_word_that_nobody_knows_is_refused_with_the_nearest_first(word: str, nearest: str) -> None:
    check(("codex", " OPENAI", "gpt"), EXECUTORS.values())
    with pytest.raises(ConfigError) as caught:
        check(("codex", word), EXECUTORS.values())
    assert repr(word) in caught.value.message
    told = str(caught.value.remedy)
    assert told.startswith(f"known: {nearest}")
    assert {"codex", "anthropic", "gpt-mini", "pylint-dev"} <= set(told.removeprefix("known: ").split(", "))


# --- the quorum -------------------------------------------------------------------------------


def codes(said: Verdict) -> list[str]:
    return sorted(r.code for r in said.reasons if r.outcome != "PASS")


THREE = (CODEX, SONNET, RUFF)
SINGLE, TWO, ONE = Policy(rule="single"), Policy(quorum=2), Policy(quorum=1)
QUORUM: list[tuple[str, tuple[Unit, ...], tuple[str, ...], Policy, str, list[str], str]] = [
    # who is asked, who gives no answer, under which policy -> outcome, codes, how the line ends
    ("one other", PAIR, (), Policy(), "PASS", [], "(codex wrote it: sonnet alone counts)"),
    ("nobody else", (CODEX,), (), Policy(), "INCOMPLETE", ["author-only"],
     "author-only; codex wrote it: nobody else was asked)"),
    ("nobody else, and one is enough", (CODEX,), (), SINGLE, "INCOMPLETE", ["author-only"], ""),
    ("nobody else, by number", (CODEX,), (), ONE, "INCOMPLETE", ["author-only"], ""),
    ("its vendor's other executor", (CODEX, MINI), (), Policy(), "INCOMPLETE", ["author-only"], ""),
    ("whom nobody knows", (CODEX, NAMELESS), (), Policy(), "INCOMPLETE", ["author-only"], ""),
    ("only the other", (SONNET,), (), Policy(), "PASS", [], "(codex wrote it: sonnet alone counts)"),
    ("two others", THREE, (), Policy(), "PASS", [], "(codex wrote it: ruff and sonnet count)"),
    ("one of two others", THREE, ("ruff",), Policy(), "INCOMPLETE", ["failed:timeout", "one-vendor"], ""),
    ("one of two others, and one is enough", THREE, ("ruff",), SINGLE, "INCOMPLETE", ["failed:timeout"], ""),
    ("two others that are one", (CODEX, SONNET, PROXY), (), Policy(), "PASS", [],
     "(codex wrote it: proxy and sonnet count, in 1 of 1 case as one voice)"),
    ("the other does not answer", PAIR, ("sonnet",), Policy(), "INCOMPLETE",
     ["author-only", "failed:timeout"], ""),
    ("the author does not answer", PAIR, ("codex",), Policy(), "INCOMPLETE", ["failed:timeout"], ""),
    ("two by number, one other", PAIR, (), TWO, "INCOMPLETE", ["one-vendor"], ""),
    ("two by number, two others", THREE, (), TWO, "PASS", [], ""),
    ("three by number, two others", THREE, (), Policy(quorum=3), "INCOMPLETE", ["quorum"], ""),
    ("one by number, one other", PAIR, (), ONE, "PASS", [], ""),
]  # fmt: skip


@pytest.mark.parametrize("row", QUORUM, ids=[row[0] for row in QUORUM])
def test_an_authors_answer_is_no_voice(
    row: tuple[str, tuple[Unit, ...], tuple[str, ...], Policy, str, list[str], str],
) -> None:
    _, units, silent, policy, outcome, expected, end = row
    results = [lost(u) if u.executor in silent else result(u) for u in units]
    said = verdict(units, results, folders={FOLDER: policy}, authors=("codex",))
    assert (said.outcome, codes(said)) == (outcome, expected), said.line
    assert said.line.endswith(end)
    assert "codex wrote it: " in said.line


def test_the_reason_tells_whose_answer_is_no_voice() -> None:
    said = verdict((CODEX, MINI), [result(CODEX), result(MINI)], authors=("openai",))
    [reason] = [r for r in said.reasons if r.code == "author-only"]
    assert "answered by 2 of 2 executors asked (codex, mini of codex, mini)" in reason.text
    assert "; openai wrote it, so codex and mini are no voices; nobody else answered" in reason.text
    two = verdict(PAIR, CLEAN, authors=("codex",), folders={FOLDER: TWO})
    [reason] = [r for r in two.reasons if r.code == "one-vendor"]
    assert reason.text.endswith("; codex wrote it, so codex is no voice, and the quorum is 2")


def test_votes_on_a_choice_stay_as_they_are() -> None:
    policies = {**PANELS, "panels/design": Policy(choices="unanimous")}
    for options, open_ones in ((("jsonl", "jsonl"), []), (("jsonl", "sqlite"), ["choice-open"])):
        answers = [choose(a, option) for a, option in zip(ASKS, options, strict=True)]
        said = verdict(ASKS, answers, folders=policies, authors=("codex",))
        assert codes(said) == open_ones


def test_cases_that_one_voice_decides_are_counted_in_the_line() -> None:
    other = tuple(unit(name, f"{FOLDER}/probe_x.py::probe_x") for name in ("codex", "sonnet"))
    said = verdict((*THREE, *other), [result(u) for u in (*THREE, *other)], authors=("openai",))
    assert said.line == "PASS (openai wrote it: ruff and sonnet count, in 1 of 2 cases as one voice)"


# --- who is away ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("units", "away", "policy", "expected"),
    [
        (PAIR, ["sonnet"], Policy(), ["author-only", "failed:network"]),  # its author stands in for nobody
        (PAIR, ["codex"], Policy(), []),
        (PAIR, ["codex"], TWO, ["one-vendor"]),  # and would have been no voice itself
        (THREE, ["sonnet"], Policy(), ["failed:network", "one-vendor"]),  # nor does an analyser stand in
        (THREE, ["ruff"], Policy(), []),  # but a vendor for an analyser
        (THREE, ["ruff"], TWO, []),
        ((CODEX, SONNET, PROXY), ["codex", "proxy"], TWO, ["one-vendor"]),  # proxy is no second voice
    ],
    ids=["the other", "the author", "the author, two", "a vendor", "an analyser", "an analyser, two", "kin"],
)
def test_an_author_neither_stands_in_nor_makes_a_case_whole(
    units: tuple[Unit, ...], away: list[str], policy: Policy, expected: list[str]
) -> None:
    results = [lost(u, reason="network") if u.executor in away else result(u) for u in units]
    told: dict[str, Any] = {
        "folders": {FOLDER: policy},
        "acceptances": tuple(outage(name) for name in away),
    }
    assert codes(verdict(units, results, authors=("codex",), **told)) == expected


def test_where_the_author_is_away_one_finding_of_the_other_is_enough() -> None:
    results = [lost(CODEX, reason="network"), result(SONNET, SQL)]
    told: dict[str, Any] = {"acceptances": (outage(),), "folders": {FOLDER: Policy(unresolved=-1)}}
    assert codes(verdict(PAIR, results, authors=("codex",), **told)) == ["single-finding"]


# --- what is covered --------------------------------------------------------------------------

ON_A = tuple(about(u, "src/a.py") for u in PAIR)


def looking(*names: Sequence[str]) -> list[Result]:
    return [result(u, answer=Answer(HEADER, "comment", tuple(n))) for u, n in zip(ON_A, names, strict=False)]


@pytest.mark.parametrize(
    ("units", "results", "why"),
    [
        (ON_A, looking(["src/a.py"], ["src/a.py"]), ""),
        (ON_A, looking(["docs"], ["src/a.py"]), ""),
        (ON_A, looking(["src/a.py"], ["docs"]), "no answer names it as examined; it was put to"),
        (ON_A[:1], looking(["src/a.py"]), "only who wrote it was asked; it was put to"),
        ((), [], "no probe asked about it"),
    ],
    ids=["both", "the other", "the author", "only the author is asked", "nobody"],
)
def test_a_file_that_only_its_author_looked_at_is_not_covered(
    units: tuple[Unit, ...], results: list[Result], why: str
) -> None:
    run = facts(authors=("codex",), **changed("src/a.py"))
    [found] = cover(run, units, lay(Plan(units), results), authors_of(run))
    assert found.why.startswith(why)
    assert found.missing is bool(why)
    said = verdict(units, results, authors=("codex",), **changed("src/a.py"))
    assert ("uncovered" in codes(said)) is bool(why)


# --- examination ------------------------------------------------------------------------------

LONE = {"sonnet": [SQL]}
SAYS = dict[str, "Opinion | None"]
MISQUOTED = opinion("refute", None, "ungrounded")
CLAIMS: list[tuple[str, tuple[str, ...], SAYS, str, str, list[str]]] = [
    # who wrote it, what examiners say of a critical finding of ruff's -> ruling, group's class, codes
    ("its author confirms it", ("codex",), {"codex": confirm("critical")}, "confirmed", "consensus",
     ["consensus"]),
    ("its author refutes it", ("codex",), {"codex": REFUTE}, "unresolved", "single", ["unresolved"]),
    ("its author's kin refutes it", ("openai",), {"mini": REFUTE}, "unresolved", "single", ["unresolved"]),
    ("two authors refute it", ("codex", "sonnet"), {"codex": REFUTE, "sonnet": REFUTE}, "unresolved",
     "single", ["unresolved"]),
    ("who may be its author refutes it", ("anthropic",), {"nameless": REFUTE}, "unresolved", "single",
     ["unresolved"]),
    ("another one refutes it", ("codex",), {"sonnet": REFUTE}, "refuted", "contested", ["refuted"]),
    ("both refute it", ("codex",), {"codex": REFUTE, "sonnet": REFUTE}, "refuted", "contested",
     ["refuted"]),
    ("its author refutes it without proof", ("codex",), {"codex": MISQUOTED, "sonnet": REFUTE}, "refuted",
     "contested", ["refuted"]),
    ("the other one refutes it without proof", ("codex",), {"codex": REFUTE, "sonnet": MISQUOTED},
     "unresolved", "single", ["unresolved"]),
    ("its author cannot tell", ("codex",), {"codex": CANNOT_TELL, "sonnet": REFUTE}, "unresolved",
     "single", ["unresolved"]),
    ("its author refutes, another confirms", ("codex",), {"codex": REFUTE, "sonnet": confirm("high")},
     "confirmed", "consensus", ["consensus"]),
    ("its author confirms, another refutes", ("codex",), {"codex": confirm("high"), "sonnet": REFUTE},
     "confirmed", "consensus", ["consensus"]),
    ("its author refutes, another gives no answer", ("codex",), {"codex": REFUTE, "sonnet": None},
     "unresolved", "single", ["unresolved"]),
    ("nobody says who wrote it", (), {"codex": REFUTE}, "refuted", "contested", ["refuted"]),
]  # fmt: skip


def held(found: dict[str, list[Finding]], examination: Examination, **changes: Any) -> dict[str, Any]:
    """The document of a run in which everybody answered, and these executors found something."""
    units = tuple(unit(name) for name in dict.fromkeys(("codex", "sonnet", "ruff", *found)))
    results = [result(u, *found.get(u.executor, ())) for u in units]
    made = document.build(
        facts(cross_examine="gate", **changes), Plan(units), results, examination=examination
    )
    assert not document.validate(made)
    return made


@pytest.mark.parametrize("row", CLAIMS, ids=[row[0] for row in CLAIMS])
def test_an_authors_refutation_settles_nothing(
    row: tuple[str, tuple[str, ...], SAYS, str, str, list[str]],
) -> None:
    _, authors, says, ruling, kind, expected = row
    wave = examined((claim(f"{RUFF.slug}#1"), says))
    made = held({"ruff": [SQL]}, wave, authors=authors)
    [question] = made["examination"]["questions"]
    [group] = made["findings"]
    assert (question["outcome"], group["class"]) == (ruling, kind)
    assert group["examined"] == ruling
    said = document.verdict_of(made)
    assert codes(said) == expected, said.line
    by_author = [n for n, o in says.items() if o and o.word == "refute" and among(authors, INFOS).wrote(n)]
    assert question["why"].count(", which counts for nothing: it wrote what is reviewed") == len(by_author)


def test_one_who_is_no_author_must_be_free_to_refute_it() -> None:
    """Beside an author, whose refutation counts for nothing, one of the holder's vendor refutes nothing."""
    wave = examined((claim(f"{SONNET.slug}#1"), {"codex": REFUTE, "proxy": REFUTE}))
    for authors, kind in (((), "contested"), (("codex",), "single")):
        [group] = held(LONE, wave, authors=authors)["findings"]
        assert group["class"] == kind


PAIRS: list[tuple[str, tuple[str, ...], SAYS, str]] = [
    ("one of them wrote it: yes", ("codex",), {"codex": YES, "sonnet": YES}, "match"),
    ("one of them wrote it: no", ("codex",), {"codex": NO, "sonnet": NO}, "distinct"),
    ("both wrote it: yes", ("codex", "sonnet"), {"codex": YES, "sonnet": YES}, "unresolved"),
    ("both wrote it: no", ("codex", "sonnet"), {"codex": NO, "sonnet": NO}, "distinct"),
    ("nobody says who wrote it", (), {"codex": YES, "sonnet": YES}, "match"),
]


@pytest.mark.parametrize("row", PAIRS, ids=[row[0] for row in PAIRS])
def test_two_authors_fold_no_pair(row: tuple[str, tuple[str, ...], SAYS, str]) -> None:
    _, authors, says, outcome = row
    wave = examined((pair(f"{CODEX.slug}#1", f"{SONNET.slug}#1"), says))
    made = held({"codex": [SQL], "sonnet": [PERHAPS]}, wave, authors=authors)
    [question] = made["examination"]["questions"]
    assert question["outcome"] == outcome
    kinds = {"match": ["consensus"], "distinct": ["single"] * 2, "unresolved": ["uncertain"]}
    assert [f["class"] for f in made["findings"]] == kinds[outcome]
    assert document.verdict_of(made).outcome == ("FAIL" if outcome == "match" else "INCOMPLETE")


# --- who is asked -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("authors", "asked", "found", "examiners"),
    [
        ((), ("codex", "sonnet"), "sonnet", ["codex"]),
        (("codex",), ("codex", "sonnet"), "sonnet", ["codex"]),  # its confirmation counts
        ((), ("codex", "sonnet", "mini"), "ruff", ["codex", "sonnet"]),
        (("openai",), ("codex", "sonnet", "mini"), "ruff", ["sonnet", "codex"]),
        (("openai",), ("codex", "mini", "sonnet", "proxy"), "ruff", ["sonnet", "proxy"]),
        (("codex",), ("codex", "sonnet"), "codex", ["sonnet"]),
    ],
)
def test_who_wrote_it_is_asked_last(
    authors: tuple[str, ...], asked: tuple[str, ...], found: str, examiners: list[str]
) -> None:
    units = [unit(name) for name in dict.fromkeys((*asked, found))]
    results = [result(u, *[SQL] * (u.executor == found)) for u in units]
    round_ = ask_of(units, results, facts={"authors": authors})
    assert [u.executor for u in round_.units] == examiners


def test_a_pair_is_put_to_one_who_did_not_write_it() -> None:
    gem = ExecutorInfo("gem", "google", "gemini", True)
    able = {n: frozenset({"findings", "examination"}) for n in ("codex", "sonnet", "gem")}
    units = [CODEX, SONNET, unit("gem")]
    results = [result(CODEX, SQL), result(SONNET, PERHAPS), result(units[2])]
    infos = {"executors": (*EXECUTORS.values(), gem)}
    for authors, two in (((), ["codex", "sonnet"]), (("openai", "claude"), ["codex", "gem"])):
        round_ = ask_of(units, results, contracts=able, facts={"authors": authors, **infos})
        assert [q.kind for q in round_.questions] == ["same"]
        assert [u.executor for u in round_.units] == two
    only = ask_of(units[:2], results[:2], contracts=able, facts={"authors": ("openai", "claude"), **infos})
    assert [u.executor for u in only.units] == ["codex", "sonnet"]  # their "no" still counts


# --- what it says against itself ----------------------------------------------------------------


def test_what_an_author_reports_against_its_own_patch_counts() -> None:
    both = [result(CODEX, SQL), result(SONNET, SQL)]
    assert codes(verdict(PAIR, both, authors=("codex",))) == ["consensus"]
    alone = [result(CODEX, SQL), result(SONNET)]
    assert codes(verdict(PAIR, alone, authors=("codex",))) == ["unresolved"]
    single = {"folders": {FOLDER: SINGLE}}
    assert codes(verdict(PAIR, alone, authors=("codex",), **single)) == ["single-finding"]


# --- what is said -----------------------------------------------------------------------------


def test_the_derivation_says_who_wrote_it_and_whose_word_counts() -> None:
    run = facts(authors=("codex",))
    evidence = gather(run, Plan(PAIR), CLEAN, groups_of(CLEAN))
    told = [text for _, text in lines(tree(evidence, judge(evidence)))]
    assert told[0] == "PASS (codex wrote it: sonnet alone counts)"
    assert "PASS: [authored] codex wrote it: sonnet alone counts" in told
    [case] = [line for line in told if "2 of 2 executors answered" in line]
    assert case.endswith(", 1 independent of each other, quorum 1; codex wrote it, so codex is no voice")


def test_the_document_names_the_authors_and_their_executors() -> None:
    made = held({}, Examination(), authors=("openai",))
    assert made["authors"] == {"named": ["openai"], "executors": ["codex", "mini", "nameless"]}
    assert document.facts_of(made).authors == ("openai",)
    assert held({}, Examination())["authors"] is None


# --- nobody says who wrote it -----------------------------------------------------------------

SOME = st.one_of(some_results(), quiet_results())


def judged(units: Sequence[Unit], results: Sequence[Result], run: RunFacts) -> Verdict:
    return judge(gather(run, Plan(tuple(units)), results, groups_of(results)))


def as_before(units: Sequence[Unit], results: Sequence[Result], run: RunFacts) -> None:
    """Every step that asks for authors does what it did before there were any."""
    evidence = gather(run, Plan(tuple(units)), results, groups_of(results))
    for folder in evidence.folders:
        assert folder.outages.whole == folder.outages.cases
        for case, answered in folder.answered().items():
            assert folder.voices(answered) == independents(answered, folder.executors)
            assert folder.quorum(folder.asked()[case]) == quorum_of(folder.policy)
    found = {r.code for r in judge(evidence).reasons}
    assert not found & {"author-only", "authored"}
    assert judge(evidence) == judged(units, results, replace(run, authors_kin=("openai", "claude")))


@pytest.mark.parametrize("row", [*ROWS, *CHANGES], ids=lambda row: row.name)
def test_no_situation_is_another_one_where_nobody_says_who_wrote_it(row: Row) -> None:
    as_before(row.units, row.results, facts(**row.facts))


@settings(max_examples=150, deadline=None)
@given(SOME, FACTS)
def test_nothing_changes_where_nobody_says_who_wrote_it(
    drawn: tuple[tuple[Unit, ...], list[Result]], changes: dict[str, Any]
) -> None:
    as_before(*drawn, facts(**changes))


EASED = {"one-vendor", "quorum"}
"""What a run may be rid of where an author is named: one other is then enough where only one was asked."""


@settings(max_examples=300, deadline=None)
@given(SOME, FACTS, st.sampled_from(WORDS))
def test_naming_an_author_makes_nothing_green_but_the_quorum(
    drawn: tuple[tuple[Unit, ...], list[Result]], changes: dict[str, Any], words: tuple[str, ...]
) -> None:
    plain = judged(*drawn, facts(**changes))
    signed = judged(*drawn, facts(authors=words, **changes))
    if signed.outcome == "PASS" and plain.outcome != "PASS":
        reported = {name for name, outcome in plain.folders.items() if outcome.startswith("report: ")}
        assert {r.code for r in plain.reasons if r.outcome != "PASS" and r.folder not in reported} <= EASED
    assert "authored" in {r.code for r in signed.reasons}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(["codex", "sonnet", "mini", "proxy", "nameless"]), unique=True), st.data())
def test_rulings_are_those_of_nobody_unless_an_author_refutes_or_folds(
    names: list[str], data: st.DataObject
) -> None:
    says = {n: data.draw(st.sampled_from([YES, NO, CANNOT_TELL, None])) for n in names}
    wave = examined((pair("a", "b"), says))
    assert every_ruling(wave) == every_ruling(wave, NOBODY) == every_ruling(wave, Authors())
    for words in WORDS:
        [ruling] = every_ruling(wave, among(words, INFOS))
        [plain] = every_ruling(wave)
        assert ruling.outcome in (plain.outcome, "unresolved")
        if ruling.outcome != plain.outcome:
            assert plain.outcome == "match"
            assert set(names) >= set(ruling.authors) >= {n for n, o in says.items() if o == YES}
