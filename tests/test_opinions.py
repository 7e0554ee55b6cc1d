"""The second wave's contract: one word, and the code that proves it; nothing is read into an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from prun_review.contract import KINDS, Judged, judge_answer, load_schema, render_result
from prun_review.errors import BriefError
from prun_review.model import SEVERITIES, Contract, Opinion
from prun_review.opinions import ExaminationKind
from prun_review.probes import Shape, shape
from prun_review.rulings import CLAIM, SAME

from .answers_kit import (
    CANNOT_TELL,
    CLAIMED,
    CONFIRMED,
    PAIRED,
    SLUG,
    YES,
    codes,
    fenced,
    header,
    salvaged,
    with_,
)

KIND = ExaminationKind()
REFUTED = CONFIRMED | {
    "conclusion": "Nobody hands it a file of others.",
    "reason": "All callers of load() pass a constant path.",
    "word": "refute",
    "severity": None,
}


def judged(payload: Any = None, text: str = "", contract: Contract = CLAIMED) -> Judged:
    return judge_answer(payload=payload, text=text, contract=contract, kind=KIND, slug=SLUG)


def both(payload: Any, contract: Contract = CLAIMED) -> list[Judged]:
    """The same answer as structured output and as Markdown with a fenced block."""
    text = f"{header(CONFIRMED)}\n{fenced(payload)}\n"
    return [judged(payload, contract=contract), judged(text=text, contract=contract)]


def said(one: Judged) -> Opinion:
    assert one.answer is not None
    assert one.answer.opinion is not None
    return one.answer.opinion


# --- what is asked for --------------------------------------------------------------------------


def test_it_is_one_of_the_built_in_kinds() -> None:
    assert isinstance(KINDS["examination"], ExaminationKind)


@pytest.mark.parametrize(
    ("contract", "words", "more"),
    [
        (CLAIMED, list(CLAIM), {"severity"}),
        (PAIRED, list(SAME), set()),
        (Contract("examination", CLAIM, change=True), list(CLAIM), {"severity", "side"}),
        (Contract("examination", SAME, change=True), list(SAME), {"side"}),
    ],
)
def test_the_schema_has_the_words_of_the_contract_and_no_key_too_many(
    contract: Contract, words: list[str], more: set[str]
) -> None:
    schema = KIND.schema(contract)
    assert schema is not None
    parts = schema["properties"]
    assert parts["word"]["enum"] == words
    assert set(parts) == set(YES) | more
    assert sorted(schema["required"]) == sorted(parts)
    if "severity" in more:
        assert parts["severity"]["enum"] == [*SEVERITIES, None]
    told = KIND.instructions(contract)
    assert all(f'"{word}"' in told for word in words)
    assert ("`severity`" in told, "`side`" in told) == ("severity" in more, "side" in more)
    assert load_schema("examination")["properties"]["word"]["enum"] == list(CLAIM)  # not changed in place


def test_the_payloads_of_these_tests_are_valid() -> None:
    for payload, contract in ((CONFIRMED, CLAIMED), (CANNOT_TELL, CLAIMED), (YES, PAIRED)):
        assert Draft202012Validator(KIND.schema(contract) or False).is_valid(payload)


@pytest.mark.parametrize("given", ["examination", Contract("examination", CLAIM)])
def test_no_probe_can_ask_for_it(given: Contract | str) -> None:
    """Nothing of such an answer would gate: it would be green whatever it says."""
    with pytest.raises(BriefError, match="second wave's own"):
        shape({"contract": given})
    assert isinstance(shape({"contract": "findings"}), Shape)


# --- good answers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "contract"),
    [(CONFIRMED, CLAIMED), (REFUTED, CLAIMED), (CANNOT_TELL, CLAIMED), (YES, PAIRED)],
    ids=["confirm", "refute", "cannot-tell", "yes"],
)
def test_a_good_answer_is_taken_as_it_is(payload: dict[str, Any], contract: Contract) -> None:
    for one in both(payload, contract):
        assert (one.violations, one.salvage) == ((), ())
        opinion = said(one)
        assert (opinion.word, opinion.reason) == (payload["word"], payload["reason"])
        assert opinion.severity == payload.get("severity")
        proof = opinion.evidence
        assert (proof.file, proof.line, proof.quote) == tuple(payload[k] for k in ("file", "line", "quote"))
        assert (proof.title, proof.grounding, proof.side) == ("", "unchecked", None)
        assert one.answer is not None
        assert (one.answer.examined, one.answer.verdict, one.answer.findings) == (("src/x.py",), None, ())


def test_in_a_change_it_says_the_side() -> None:
    contract = Contract("examination", CLAIM, change=True)
    for one in both(CONFIRMED | {"side": "old"}, contract):
        assert (one.violations, said(one).evidence.side) == ((), "old")


@pytest.mark.parametrize(
    ("payload", "contract", "change"),
    [(CONFIRMED, CLAIMED, False), (YES, PAIRED, False), (CANNOT_TELL, CLAIMED, False),
     (CONFIRMED | {"side": "new"}, Contract("examination", CLAIM, change=True), True)],
)  # fmt: skip
def test_an_answer_goes_round(payload: dict[str, Any], contract: Contract, change: bool) -> None:
    native = judged(payload, contract=contract)
    assert native.answer is not None
    again = judged(text=render_result(SLUG, native.answer, change=change), contract=contract)
    assert (again.answer, again.violations) == (native.answer, ())


# --- broken ones --------------------------------------------------------------------------------

BROKEN: list[tuple[str, dict[str, Any], str]] = [
    ("no word", {"word": ...}, "/word"),
    ("another word", {"word": "probably"}, "/word"),
    ("a word of the other question", {"word": "yes"}, "/word"),
    ("null for a word", {"word": None}, "/word"),
    ("a list of words", {"word": ["confirm"]}, "/word"),
    ("two words", {"word": "confirm, refute"}, "/word"),
    ("no reason", {"reason": ...}, "/reason"),
    ("null for a reason", {"reason": None}, "/reason"),
    ("an empty reason", {"reason": " \n"}, "/reason"),
    ("a filler for a reason", {"reason": "Yes. OK."}, "/reason"),
    ("a placeholder for a reason", {"reason": "<why>"}, "/reason"),
    ("dots for a reason", {"reason": "..."}, "/reason"),
    ("confirmed without a severity", {"severity": None}, "/severity"),
    ("confirmed with a severity nobody knows", {"severity": "severe"}, "/severity"),
    ("confirmed with a number for a severity", {"severity": 4}, "/severity"),
    ("refuted with a severity", {"word": "refute"}, "/severity"),
    ("no file", {"file": None}, "/file"),
    ("a blank file", {"file": " "}, "/file"),
    ("no quote", {"quote": None}, "/quote"),
    ("an empty quote", {"quote": ""}, "/quote"),
    ("a number for a quote", {"quote": 12}, "/quote"),
    ("refuted without a quote", {"word": "refute", "severity": None, "quote": None}, "/quote"),
    ("refuted without a file", {"word": "refute", "severity": None, "file": None}, "/file"),
    ("no file was read", {"examined": []}, "/examined"),
    ("blanks were read", {"examined": [" "]}, "/examined"),
    ("not said what was read", {"examined": ...}, "/examined"),
    ("a placeholder for a conclusion", {"conclusion": "<one line>"}, "/conclusion"),
    ("a blank conclusion", {"conclusion": " "}, "/conclusion"),
]


@pytest.mark.parametrize(("changes", "where"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_what_matters_and_is_broken_breaks_the_answer(changes: dict[str, Any], where: str) -> None:
    payload = with_(CONFIRMED, **changes)
    one = judged(payload)
    assert where in [v.where for v in one.violations]
    text = judged(text=f"# {SLUG} result\n\n{fenced(payload)}")
    assert where in [v.where for v in text.violations]


@pytest.mark.parametrize("word", [..., None, "probably"])
def test_without_a_word_the_word_is_what_is_missing(word: Any) -> None:
    for one in both(with_(CONFIRMED, word=word, severity=None, file=None, quote=None)):
        told = [v.text for v in one.violations]
        assert "the word is missing: one of confirm, refute, cannot-tell" in told
        assert not any("the code that proves it" in text for text in told)


@pytest.mark.parametrize("missing", ["file", "quote"])
def test_yes_and_no_need_their_proof_as_well(missing: str) -> None:
    for word in ("yes", "no"):
        for one in both(YES | {"word": word, missing: None}, PAIRED):
            assert [(v.code, v.where) for v in one.violations] == [("unproven", f"/{missing}")]


def test_what_does_not_matter_is_mended_and_noted() -> None:
    one = judged(with_(CONFIRMED, line="four", side="new"))
    assert (one.violations, said(one).evidence.line) == ((), None)
    assert salvaged(one) == [("bad-field", "/line"), ("unknown-key", "/side")]


def test_a_severity_beside_a_pair_is_dropped_and_noted() -> None:
    one = judged(YES | {"severity": "high"}, contract=PAIRED)
    assert (one.violations, said(one).severity) == ((), None)
    assert salvaged(one) == [("unknown-key", "/severity")]


@pytest.mark.parametrize("written", ["Confirm", " CONFIRM "])
def test_a_word_in_other_letters_is_that_word_and_noted(written: str) -> None:
    one = judged(CONFIRMED | {"word": written})
    assert (one.violations, said(one).word, salvaged(one)) == ((), "confirm", [("bad-field", "/word")])


def test_whoever_saw_nothing_says_nothing() -> None:
    blind = CANNOT_TELL | {"open_items": "I could not read the file src/x.py"}
    for one in both(blind):
        assert codes(one) == ["did-not-read"]
    for payload in (CONFIRMED, REFUTED):
        one = judged(payload | {"open_items": "I could not read the file src/y.py"})
        assert [(v.code, v.where) for v in one.violations] == [("did-not-read", "/open_items")]


def test_its_reason_speaks_for_it() -> None:
    """Of the header nothing more is asked: what counts stands in the reason and in the proof."""
    short = dict.fromkeys(("conclusion", "files", "open_items", "verification"), "none")
    for payload in (CONFIRMED | short, CANNOT_TELL | short):
        assert judged(payload).violations == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "confirm",
        f"# {SLUG} result\nConclusion: confirm\n\nconfirm, it is real",
        f"# {SLUG} result\n\n{fenced(CONFIRMED)}\n\n{fenced(CANNOT_TELL)}",
        f"# {SLUG} result\n\n{fenced(REFUTED)}\n\n{fenced(CONFIRMED)}",
        f"The claim said:\n\n{fenced(CONFIRMED)}\n\nwhich I could not check.",
        f"# {SLUG} result (FALLBACK, no answer)\n\n{fenced(CONFIRMED)}",
        f"# another-unit result\n\n{fenced(CONFIRMED)}",
        json.dumps([CONFIRMED, CONFIRMED]),
        json.dumps(CONFIRMED)[:-30],
        json.dumps(CONFIRMED).replace('"word"', '"word": "refute", "word"'),
    ],
)
def test_no_text_around_it_makes_an_answer(text: str) -> None:
    assert judged(text=text).violations


# --- anything at all ----------------------------------------------------------------------------

JSONISH = st.none() | st.booleans() | st.integers(-3, 9) | st.text(max_size=8) | st.lists(st.text(max_size=4))
WORDS = st.sampled_from([*CLAIM, *SAME, *SEVERITIES, " ", "..."])
SPOILT = st.builds(
    lambda changes: with_(CONFIRMED, **changes),
    st.dictionaries(st.sampled_from([*CONFIRMED, "side"]), JSONISH | WORDS | st.just(...), max_size=4),
)


@settings(deadline=None)
@given(SPOILT, st.sampled_from([CLAIMED, PAIRED, Contract("examination", CLAIM, change=True)]))
def test_only_a_whole_answer_is_kept(payload: dict[str, Any], contract: Contract) -> None:
    for one in both(payload, contract):
        if one.violations:
            continue
        opinion = said(one)
        assert opinion.word in contract.options
        assert opinion.word == str(payload["word"]).strip()
        assert opinion.reason.strip()
        assert (opinion.severity is not None) == (opinion.word == "confirm")
        assert opinion.severity in (None, *SEVERITIES)
        assert one.answer is not None
        assert one.answer.examined
        if opinion.word != "cannot-tell":
            assert opinion.evidence.file
            assert opinion.evidence.quote


# --- words that take the word back ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "changes", "code"),
    [
        ("refute", {"open_items": "I could not open src/a.py: permission denied."}, "did-not-read"),
        ("refute", {"conclusion": "I was not able to read the files."}, "did-not-read"),
        ("confirm", {"conclusion": "I was not able to read the files."}, "did-not-read"),
        ("refute", {"reason": "I could not read src/a.py, so I assume the claim is wrong."}, "did-not-read"),
        ("refute", {"reason": "Could not open src/a.py. Callers look safe."}, "did-not-read"),
        ("refute", {"reason": "The defect is real, I confirm it: nothing is quoted."}, "word-contradicted"),
        ("refute", {"conclusion": "Confirmed: a critical command injection."}, "word-contradicted"),
        ("refute", {"conclusion": "The claim holds."}, "word-contradicted"),
        ("refute", {"reason": "The text reaches the shell. CONFIRMED."}, "word-contradicted"),
        ("confirm", {"reason": "The call is quoted, so it is not a defect."}, "word-contradicted"),
        ("confirm", {"conclusion": "The claim is refuted."}, "word-contradicted"),
        ("confirm", {"conclusion": "A false positive: the text is quoted."}, "word-contradicted"),
    ],
)
def test_a_word_that_its_own_words_take_back_is_no_answer(
    word: str, changes: dict[str, Any], code: str
) -> None:
    payload = (CONFIRMED if word == "confirm" else REFUTED) | changes
    assert code in {v.code for v in judged(payload).violations}


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("refute", "I cannot confirm it: the text is quoted before it reaches the shell."),
        ("refute", "If the defect is real, a caller passes text; none does, all pass constants."),
        ("refute", "I confirm that the text is quoted before it is used."),
        ("refute", "The claim is wrong: the loader could not read a file outside the root."),
        ("refute", "Confirmed: the text never reaches eval."),
        ("confirm", "The defect is real: eval gets the whole file."),
        ("confirm", "This is not a false positive: eval gets the whole file."),
        ("confirm", "The parser does not read it safely, so the file is run."),
    ],
)
def test_a_reason_that_agrees_with_its_word_is_taken(word: str, reason: str) -> None:
    payload = (CONFIRMED if word == "confirm" else REFUTED) | {"reason": reason}
    assert judged(payload).violations == ()


@pytest.mark.parametrize(
    ("word", "reason"), [("yes", "They are two separate defects."), ("no", "Both are the same defect.")]
)
def test_a_word_about_a_pair_is_taken_back_as_well(word: str, reason: str) -> None:
    assert "word-contradicted" in codes(judged(YES | {"word": word, "reason": reason}, contract=PAIRED))


@pytest.mark.parametrize("key", ["findings", "Findings", "other_defects"])
def test_findings_beside_a_word_break_the_answer(key: str) -> None:
    one = judged(REFUTED | {key: [{"title": "x", "severity": "critical"}]})
    assert "lost-finding" in codes(one)
    assert ("unknown-key", f"/{key}") in salvaged(one)
    assert judged(REFUTED | {"findings": []}).violations == ()
    remark = judged(REFUTED | {"mood": "calm"})
    assert (remark.violations, salvaged(remark)) == ((), [("unknown-key", "/mood")])
