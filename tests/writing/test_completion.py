"""When a task is done: every combination of exit, marker, block, patch, creations and checks."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from prun_review.completion import RULES, Completion, complete
from prun_review.model import Answer, Header, Result
from prun_review.written import Breach, Check, Claim, Patch, Touched

BASE = Result("u", "u", "c", "f", "e", "valid", answer=Answer(Header("", "", "", "")))
NEW = Touched("app/models.py", "added")

EXITS = {
    "exit": BASE,
    "timeout": replace(
        BASE, status="failed", reason="timeout", message="ended at its time limit", answer=None
    ),
    "crash": replace(BASE, status="failed", reason="unknown", message="exit status 1", answer=None),
    "cancelled": replace(BASE, status="not-run", reason="cancelled", answer=None),
}
MARKERS = {"no marker": None, "marker": "", "marker with a summary": "# Done\nall of it\n"}
BLOCKS = {
    "no block": None,
    "empty block": Claim(),
    "done": Claim(completed=True),
    "done with files": Claim(completed=True, files=("app/models.py",)),
    "done and tested": Claim(completed=True, tests_run=3, tests_passed=3, tests_failed=0),
    "not done": Claim(completed=False),
    "error": Claim(completed=True, error="the database is away"),
    "failed tests": Claim(completed=True, tests_failed=2),
    "failed validation": Claim(validation_passed=False),
}
PATCHES = {
    "nothing": Patch("b", "t"),
    "new file": Patch("b", "t", "d", 9, (NEW,)),
    "file gone": Patch("b", "t", "d", 9, (Touched("app/models.py", "deleted"),)),
    "breach": Patch("b", "t", "d", 9, (NEW,), breaches=(Breach("outside-scope", "app/models.py", "no"),)),
    "breach alone": Patch("b", "t", breaches=(Breach("git-directory", ".git/config", "edited"),)),
}
CREATES = {"anything": (), "models": ("app/**",), "others": ("lib/*.py",)}
CHECKS = {
    "unchecked": (),
    "checked": (Check("true", 0),),
    "failed check": (Check("true", 0), Check("pytest -q", 1)),
    "check out of time": (Check("pytest -q", 0, "timeout"),),
}

DONE = {"no block", "empty block", "done", "done with files", "done and tested"}
TESTED = {"done and tested"}


def reason(exit: str, marker: str, block: str, patch: str, creates: str, checks: str) -> str:
    """The table of the rules, said over words."""
    if exit != "exit":
        return EXITS[exit].reason
    if patch.startswith("breach"):
        return "breach"
    if marker == "no marker":
        return "no-marker"
    if block in ("not done", "error"):
        return "says-incomplete"
    if block in ("failed tests", "failed validation"):
        return "contradicted"
    if patch == "nothing":
        if creates != "anything" or block == "done with files":
            return "nothing-written"
    elif creates == "others" or (creates == "models" and patch == "file gone"):
        return "nothing-created"
    return "ok" if checks in ("unchecked", "checked") else "verify"


ALL = tuple(itertools.product(EXITS, MARKERS, BLOCKS, PATCHES, CREATES, CHECKS))


def completed(exit: str, marker: str, block: str, patch: str, creates: str, checks: str) -> Completion:
    result = replace(EXITS[exit], patch=PATCHES[patch], checks=CHECKS[checks])
    if result.answer:
        result = replace(result, answer=replace(result.answer, claim=BLOCKS[block]))
    return complete(result, MARKERS[marker], CREATES[creates])


def test_every_combination() -> None:
    seen = set()
    for words in ALL:
        found = completed(*words)
        wanted = reason(*words)
        assert (found.reason, found.status) == (wanted, "succeeded" if wanted == "ok" else "failed"), words
        assert found.message or wanted in ("ok", "cancelled"), words
        seen.add(wanted)
    assert seen == {*RULES, "ok", "timeout", "unknown", "cancelled"}


@pytest.mark.parametrize("exit", ["timeout", "crash"])
def test_a_marker_before_a_bad_end_is_told(exit: str) -> None:
    late = completed(exit, "marker", "done", "new file", "anything", "unchecked")
    assert "exit-after-marker" in late.message
    assert EXITS[exit].message in late.message
    assert "marker" not in completed(exit, "no marker", "done", "new file", "anything", "unchecked").message


def test_a_failed_check_against_the_workers_word_says_so() -> None:
    told = completed("exit", "marker", "done and tested", "new file", "models", "failed check")
    assert told.reason == "verify"
    assert "'pytest -q' failed; contradicted" in told.message
    silent = completed("exit", "marker", "done", "new file", "models", "failed check")
    assert silent.reason == "verify"
    assert "contradicted" not in silent.message


def test_all_that_speaks_against_it_is_told() -> None:
    told = completed("exit", "no marker", "not done", "breach", "others", "failed check").message
    for words in ("outside-scope app/models.py", "no-marker: ", "says-incomplete: ", "nothing-created: "):
        assert words in told
    assert "verify: 'pytest -q' failed" in told


def test_an_answer_that_was_no_answer_does_not_count() -> None:
    fallback = replace(BASE, status="broken", reason="contract", message="a dispatcher wrote it", answer=None)
    assert complete(fallback, "") == Completion("failed", "contract", "a dispatcher wrote it")
