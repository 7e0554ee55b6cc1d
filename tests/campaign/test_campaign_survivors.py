"""What mutation testing found to be told by nobody: each of these fails for a change that survived before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from prun_review.fingerprints import fingerprint
from prun_review.folders import judge, share
from prun_review.model import Acceptance, Known, NotAsked, Reason, Result
from prun_review.policy import Policy, range_of, settings
from tests.gate_situations import ASKS, PAIR, held
from tests.gatekit import CASE, FOLDER, LEAK, SQL, choose, lost, result, verdict
from tests.rule_situations import group

DESIGN = ASKS[0].folder
CLEAN = [result(unit) for unit in PAIR]


def reason(code: str, reasons: tuple[Reason, ...]) -> Reason:
    """The one reason of a code."""
    found = [r for r in reasons if r.code == code]
    assert len(found) == 1, found
    return found[0]


def left_out(why: str, texts: dict[str, str]) -> dict[str, tuple[NotAsked, ...]]:
    """Executors that the case was not put to, each with its text."""
    return {"not_asked": tuple(NotAsked(f"{CASE}-{n}", CASE, FOLDER, n, why, t) for n, t in texts.items())}


def test_a_table_over_a_folder_of_one_name_is_its_source() -> None:
    sources = {"folders.panels": "pyproject.toml", "folders.panels.high": "pyproject.toml"}
    found = settings(Policy(high="any"), "panels", sources)["high"]
    assert found.source == "folders.panels in pyproject.toml"


@pytest.mark.parametrize(("name", "words"), [("quorum", "0 or more"), ("min_agreement", "0 to 1")])
def test_the_range_of_a_number_is_told(name: str, words: str) -> None:
    assert range_of(name) == words


def test_a_low_agreement_is_told_as_the_share_it_is() -> None:
    folders = {FOLDER: Policy(min_agreement=0.9, critical="off", high="off")}
    results = [result(PAIR[0], SQL, LEAK), result(PAIR[1], SQL)]
    told = reason("low-agreement", verdict(PAIR, results, folders=folders).reasons)
    assert "an agreement of 0.67, and min_agreement = 0.9" in told.text  # 2 of 3 voices


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([lost(a) for a in ASKS], "nobody chose"),
        ([choose(ASKS[0], "jsonl"), choose(ASKS[1], "sqlite")], "codex says jsonl, sonnet says sqlite"),
    ],
    ids=["nobody", "each another"],
)
def test_an_open_choice_tells_who_said_what(answers: list[Result], words: str) -> None:
    folders = {DESIGN: Policy(choices="unanimous")}
    told = reason("choice-open", verdict(ASKS, answers, folders=folders).reasons)
    assert words in told.text


@pytest.mark.parametrize(("text", "words"), [("the file is gone", ": the file is gone"), ("", ": brief")])
def test_what_could_not_be_asked_tells_the_first_reason_why(text: str, words: str) -> None:
    plan = left_out("brief", {"a": text, "b": "other"})
    assert reason("brief", verdict(PAIR, CLEAN, plan=plan).reasons).text.endswith(words)


def test_what_others_have_the_means_for_tells_the_first_reason_why() -> None:
    plan = left_out("needs", {"a": "a has no mail", "b": "b has no mail"})
    assert reason("needs", verdict(PAIR, CLEAN, plan=plan).reasons).text.endswith(": a has no mail")


def test_a_table_over_no_folder_is_the_source_of_none_but_its_own() -> None:
    sources = {"folders.": "pyproject.toml", "folders..high": "pyproject.toml", "gate.high": "env"}
    assert settings(Policy(high="any"), "panels", sources)["high"].source == "gate in env"


CUT = "x" * 57 + "..."
"""What fits in the 60 characters that a list has for a title."""


@pytest.mark.parametrize(("title", "told"), [("x" * 61, CUT), ("x" * 60, "x" * 60)])
def test_titles_in_a_list_are_cut_to_60_characters(title: str, told: str) -> None:
    finding = replace(SQL, title=title)
    known = Known(fingerprint(CASE, finding), CASE, FOLDER, finding)
    stale = reason("stale-baseline", verdict(PAIR, CLEAN, known=(known,)).reasons)
    assert stale.text.endswith(f" {told}")
    over = Acceptance("finding", known.fingerprint, "Ada", "later", case=CASE, finding=finding, expired=True)
    expired = reason("acceptance-expired", verdict(PAIR, held(finding), acceptances=(over,)).reasons)
    assert expired.text.endswith(f" {told}")


def test_a_finding_that_nobody_counted_came_back_each_time() -> None:
    assert share(group("single")) == 1


def test_what_is_off_and_not_grounded_says_both() -> None:
    said = judge(group("ungrounded", "info", grounding="ungrounded"), Policy())
    assert (said.code, said.outcome) == ("off", "")
    assert said.why == "the rule for info is off, and it is not grounded"
