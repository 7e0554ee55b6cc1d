"""Web pages as evidence: what an answer must list, and when it stands on nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.contract import KINDS, Judged, judge_answer, render_result
from prun_review.document import build
from prun_review.errors import BriefError
from prun_review.model import Brief, Contract, Plan, Source, Unit
from prun_review.probes import brief, choice, resolve, shape
from prun_review.prompts import compose
from prun_review.sources import blocked, is_address, weigh
from tests.cli.runkit import FACTS
from tests.gatekit import result
from tests.gatekit import unit as planned

from .answers_kit import CHOICE, FINDINGS, SLUG, TWO, codes, fenced, header, salvaged, with_

PAGE: dict[str, Any] = {"url": "https://example.org/a?b=c#d", "status": 200, "via": "WebFetch"}
GONE: dict[str, Any] = {"url": "http://example.org/gone", "status": 404, "via": "curl"}
MUTE: dict[str, Any] = {"url": "https://example.net/", "status": None, "via": "curl"}
CONTRACTS = {"findings": Contract(sources=True), "choice": replace(TWO, sources=True)}
BASES = {"findings": FINDINGS, "choice": CHOICE}


def judged(sources: Any, kind: str = "findings", native: bool = True, **changes: Any) -> Judged:
    """A good answer with these sources, judged; ``...`` leaves the key out."""
    payload = with_(BASES[kind], sources=sources, **changes)
    text = "" if native else header(payload) + "\n" + fenced(payload)
    return judge_answer(
        payload=payload if native else None,
        text=text,
        contract=CONTRACTS[kind],
        kind=KINDS[kind],
        slug=SLUG,
    )


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("kind", ["findings", "choice"])
def test_sources_are_kept_blocked_ones_included(kind: str, native: bool) -> None:
    judgement = judged([PAGE, GONE, MUTE], kind, native)
    assert (codes(judgement), judgement.salvage) == ([], ())
    assert judgement.answer is not None
    assert judgement.answer.sources == tuple(Source(**page) for page in (PAGE, GONE, MUTE))


@pytest.mark.parametrize(
    ("sources", "violations", "salvage"),
    [
        ([], [("no-sources", "/sources")], []),
        (..., [("schema", "/sources"), ("no-sources", "/sources")], []),
        (None, [("schema", "/sources"), ("no-sources", "/sources")], []),
        ("https://example.org", [("schema", "/sources"), ("no-sources", "/sources")], []),
        ([GONE], [("all-blocked", "/sources")], []),
        ([GONE, MUTE], [("all-blocked", "/sources")], []),
        ([PAGE, with_(PAGE, status=399)], [], []),
        ([PAGE, with_(PAGE, status=100)], [], []),
        ([with_(PAGE, status=400)], [("all-blocked", "/sources")], []),
        ([with_(PAGE, status=100)], [("all-blocked", "/sources")], []),
        ([PAGE, with_(PAGE, status=99)], [], [("bad-field", "/sources/1/status")]),
        ([PAGE, with_(PAGE, status=600)], [], [("bad-field", "/sources/1/status")]),
        ([PAGE, with_(PAGE, status="200")], [], [("bad-field", "/sources/1/status")]),
        ([PAGE, with_(PAGE, status=True)], [], [("bad-field", "/sources/1/status")]),
        ([with_(PAGE, status="200")], [("all-blocked", "/sources")], [("bad-field", "/sources/0/status")]),
        ([with_(PAGE, status=0)], [("all-blocked", "/sources")], [("bad-field", "/sources/0/status")]),
        ([PAGE, with_(PAGE, url="ftp://example.org/")], [("bad-url", "/sources/1/url")], []),
        ([with_(PAGE, url="/relative")], [("bad-url", "/sources/0/url")], []),
        ([PAGE, with_(PAGE, url=...)], [("bad-url", "/sources/1/url")], [("missing-key", "/sources/1/url")]),
        ([PAGE, with_(PAGE, via=...)], [], [("missing-key", "/sources/1/via")]),
        ([PAGE, with_(PAGE, note="x")], [], [("unknown-key", "/sources/1/note")]),
        ([PAGE, "https://example.org"], [("lost-item", "/sources/1")], [("lost-item", "/sources/1")]),
        ([with_(PAGE, url="<url>")], [("placeholder", "/sources/0/url"), ("bad-url", "/sources/0/url")], []),
    ],
)
def test_rules(sources: Any, violations: list[tuple[str, str]], salvage: list[tuple[str, str]]) -> None:
    judgement = judged(sources)
    assert [(v.code, v.where) for v in judgement.violations] == violations
    assert salvaged(judgement) == salvage


def test_what_is_no_address_is_told_and_not_kept() -> None:
    judgement = judged([PAGE, with_(PAGE, url="javascript:alert(1)")])
    assert judgement.answer is not None
    assert [s.url for s in judgement.answer.sources] == [PAGE["url"]]
    assert "'javascript:alert(1)' is not an absolute http or https address" in str(judgement.violations[0])


def test_a_violation_names_the_blocked_pages_and_counts_the_rest() -> None:
    (violation,) = judged([GONE, MUTE]).violations
    assert violation.text == (
        "every fetch was blocked: 'http://example.org/gone' (404), 'https://example.net/' (no answer)"
    )
    many = judged([with_(GONE, url=f"http://example.org/{n}{'x' * 500}") for n in range(1, 9)])
    (violation,) = many.violations
    assert "/5xxx" in violation.text
    assert "/6xxx" not in violation.text
    assert violation.text.endswith("(404) and 3 more")
    assert len(violation.text) < 800


@pytest.mark.parametrize(
    ("url", "good"),
    [
        ("https://example.org", True),
        ("http://example.org:8080/a/b?c=d&e=%20#f", True),
        ("HTTPS://EXAMPLE.ORG/", True),
        ("https://[2001:db8::1]/", True),
        ("https://müller.example/ä", True),
        ("https://user@example.org/", True),
        ("", False),
        ("example.org", False),
        ("//example.org/", False),
        ("https:example.org", False),
        ("https://", False),
        ("https:///path", False),
        ("https://<host>/x", False),
        ("https://exa mple.org", False),
        ("https://example.org/a b", False),
        ("https://example.org/\n", False),
        ("https://example.org/\u202e", False),
        ("https://example.org:port/", False),
        ("https://example.org:99999/", False),
        ("https://[::1", False),
        ("ftp://example.org/", False),
        ("file:///etc/passwd", False),
        ("data:text/html,x", False),
        ("javascript:alert(1)", False),
    ],
)
def test_addresses(url: str, good: bool) -> None:
    assert is_address(url) is good


@given(st.text("htps:/[]@.a1%#? \n\u202e", max_size=30).map(lambda rest: f"https://{rest}"))
def test_addresses_never_raise(url: str) -> None:
    assert isinstance(is_address(url), bool)


@given(
    st.lists(st.builds(Source, st.sampled_from(["https://a.b", "x"]), st.none() | st.integers(), st.just("")))
)
def test_some_page_came_or_it_is_told(given_: list[Source]) -> None:
    weighed = weigh(given_)
    assert weighed.violations or any(not blocked(source) for source in weighed.kept)
    assert len(weighed.kept) <= len(given_)


def test_a_page_that_did_not_come_is_no_sign_of_files_that_were_not_read() -> None:
    clean: dict[str, Any] = {
        "verdict": "approve",
        "findings": [],
        "conclusion": "The pinned versions have no known holes.",
    }
    told = "could not fetch the contents of example.org/gone (404)"
    assert codes(judged([PAGE, GONE], **clean, open_items=told)) == []
    # the same words without a blocked page, or about the files, are what they are elsewhere
    assert codes(judged([PAGE], **clean, open_items=told)) == ["did-not-read"]
    assert codes(judged([PAGE, GONE], **clean, open_items="could not open the files")) == ["did-not-read"]


@pytest.mark.parametrize(
    ("told", "excused"),
    [
        ("could not open the page of the advisory, it is gone", True),
        ("I could not retrieve https://example.org/gone: it answered 404", True),
        ("I could not load example.org, it answered 404", True),
        ("I was unable to fetch it", True),
        ("I could not access the website, it asks for a login", True),
        ("I could not access the repository", False),
        ("Unable to access the source", False),
        ("I could not open the sources of the project", False),
        ("I could not access anything", False),
        ("I couldn't open any of them", False),
        ("I could not load the contents", False),
        ("could not fetch the repository", False),
        ("I could not retrieve the page of the repository", False),
    ],
)
def test_one_blocked_page_is_no_excuse_for_a_tree_that_was_not_read(told: str, excused: bool) -> None:
    clean: dict[str, Any] = {"verdict": "approve", "findings": [], "conclusion": "No known holes."}
    found = codes(judged([PAGE, GONE], **clean, open_items=told))
    assert found == ([] if excused else ["did-not-read"])
    assert codes(judged([PAGE], **clean, open_items=told)) == ["did-not-read"]


@pytest.mark.parametrize("kind", ["findings", "choice"])
def test_an_answer_written_back_says_the_same(kind: str) -> None:
    answer = judged([PAGE, MUTE], kind).answer
    assert answer is not None
    again = judge_answer(
        payload=None,
        text=render_result(SLUG, answer),
        contract=CONTRACTS[kind],
        kind=KINDS[kind],
        slug=SLUG,
    )
    assert (again.violations, again.answer) == ((), answer)


@pytest.mark.parametrize("kind", ["findings", "choice"])
def test_nothing_changes_where_they_are_not_asked_for(kind: str) -> None:
    plain = {"findings": Contract(), "choice": TWO}[kind]
    schema = KINDS[kind].schema(plain)
    assert schema is not None
    assert "sources" not in schema["properties"]
    assert "sources" not in KINDS[kind].instructions(plain)
    judgement = judge_answer(payload=BASES[kind], text="", contract=plain, kind=KINDS[kind], slug=SLUG)
    assert judgement.violations == ()


def test_a_kind_that_makes_no_sources_breaks_such_a_contract() -> None:
    class Own(type(KINDS["findings"])):  # type: ignore[misc]
        def answer(self, payload: Any, contract: Contract) -> Any:
            return replace(super().answer(payload, contract), sources=())

    judgement = judge_answer(
        payload=with_(FINDINGS, sources=[PAGE]),
        text="",
        contract=Contract(sources=True),
        kind=Own(),
        slug=SLUG,
    )
    assert codes(judgement) == ["no-sources"]


@pytest.mark.parametrize("native", [True, False])
def test_the_prompt_says_what_to_record(native: bool) -> None:
    asked = Brief("Look it up.", Contract(sources=True), access="full")
    unit = Unit("p::x[a]", SLUG, "p::x", "panels", "a", asked)
    prompt = compose(unit, KINDS["findings"], fence="f00d", native=native)
    assert (
        "`sources` lists every web page that you fetched or tried to fetch, blocked and failed ones" in prompt
    )
    assert "You may search the web and fetch pages" in prompt
    assert ('"sources"' in prompt) is not native
    other = compose(
        replace(unit, brief=replace(asked, contract=Contract())), KINDS["findings"], fence="f", native=True
    )
    assert "web" not in other


def test_the_document_shows_them() -> None:
    unit = planned("codex")
    good = result(unit)
    assert good.answer is not None
    answered = replace(good, answer=replace(good.answer, sources=(Source(**PAGE), Source(**MUTE))))
    document = build(FACTS, Plan((unit, planned("sonnet"))), [answered])
    rows = {row["executor"]: row["sources"] for row in document["units"]}
    assert rows == {"codex": [PAGE, MUTE], "sonnet": []}
    assert json.loads(json.dumps(document))["units"]


# --- as a brief asks for them ---------------------------------------------------------------


def resolved(**fields: Any) -> Brief:
    return resolve(fields, docstring="Look it up.", params={}, folder=Path(), timeout=9.0)


def test_a_brief_with_sources() -> None:
    assert resolved(sources=True, access="full").contract == Contract(sources=True)
    two = choice("a", "b")
    assert resolved(contract=two, sources=True, access="full").contract == replace(two, sources=True)
    assert resolved(contract=replace(two, sources=True), access="full").contract.sources
    assert resolved(contract=replace(two, sources=True), sources=False).contract.sources is False
    assert brief(sources=True).kwargs == {"sources": True}
    assert resolved().contract == Contract()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"sources": True}, "access 'read'.*remedy.*access='full'"),
        ({"sources": True, "access": "run"}, "access 'run'"),
        ({"sources": True, "access": "full", "contract": "prose"}, "a prose answer has none"),
        ({"sources": 1, "access": "full"}, "sources is 1"),
    ],
)
def test_a_brief_that_cannot_have_them(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BriefError) as caught:
        resolved(**fields)
    assert re.search(words, str(caught.value), re.DOTALL)


def test_needs_are_part_of_the_brief() -> None:
    assert resolved(needs=["b", "a", "b"]).needs == ("b", "a")
    assert shape({"needs": []}).needs == ()
    with pytest.raises(BriefError, match="needs is 'x'"):
        shape({"needs": "x"})


def test_a_question_about_the_web_alone_needs_no_file_of_the_tree() -> None:
    assert codes(judged([PAGE], examined=[])) == []
    without = judge_answer(
        payload=with_(FINDINGS, examined=[]), text="", contract=Contract(), kind=KINDS["findings"], slug=SLUG
    )
    assert codes(without) == ["nothing-examined"]
