"""The wave document: what it tells, its schema, and what is taken from one that is not whole."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.model import Usage
from prun_review.tasks import Course, Integration, Problem
from prun_review.wavebegin import begin
from prun_review.wavedocument import Facts, build, course_of, head, read, validate
from prun_review.wavestatus import STATUSES
from prun_review.written import Breach, Claim
from tests.waves.coursekit import BASE, Play, Script, begun, check, manifest, patch, some_run, task

FACTS = Facts("20261130-080000-ab12", 1_796_000_000.0, 1_796_000_060.5, version="0.1.0")
OF = manifest(
    task("001-users", 1, title="Users", contracts=("contracts/types.py",)),
    task("002", 1),
    task("003", 2, "001-users", agent="python-experts:django-expert"),
    validation={1: "make test"},
    panel=[1],
)


def played(script: Script | None = None) -> Course:
    return Play(begun(OF), script or Script(), Random(1)).run()


def full() -> dict[str, Any]:
    """A document in which every list holds something and nothing is null that need not be."""
    course = played(Script(clashes={"task-002": 2}))
    held = course.outcomes["task-001-users"]
    assert held.patch
    held = replace(
        held,
        claim=Claim(True, ("src/a.py",), 3, 3, 0, True, "did it"),
        checks=(check(),),
        patch=replace(held.patch, breaches=(Breach("odd-name", "a", "b"),), notes=("LFS",)),
    )
    course = replace(course, outcomes={**course.outcomes, held.task: held})
    conflict = course.outcomes["task-002"].conflict
    assert conflict
    facts = replace(
        FACTS,
        usage={"codex": Usage(1200, 0, 90, 0.25)},
        logs={held.task: "logs/task-001.log"},
        problems=(Problem("warning", "wrong-count", "manifest.json", 3, "4 tasks", "say 3"),),
        integration=Integration("conflicts", "prun/1", "a" * 40, (conflict,), (check(),), "prun/1", "m"),
    )
    return build(course, facts)


def test_it_tells_all_of_a_run() -> None:
    document = build(played(), FACTS)
    assert validate(document) == []
    assert document["status"] == "completed"
    assert (document["started"], document["finished"]) == (
        "2026-11-30T00:53:20.000Z",
        "2026-11-30T00:54:20.500Z",
    )
    assert (document["directory"], document["manifest"]["spec"]) == ("parallel/TS-0001-shop", "TS-0001")
    assert document["base"] == BASE
    assert document["head"] == document["waves"][-1]["head"] == document["tasks"][-1]["commit"]
    users = document["tasks"][0]
    assert (users["id"], users["short"], users["title"]) == ("task-001-users", "task-001", "Users")
    assert users["contracts"] == ["contracts/types.py"]
    assert [file["path"] for file in users["patch"]["files"]] == ["src/task-001-users.py"]
    assert document["waves"][0]["names"] == {"validation": "make test", "panel": ["panels/"]}
    assert document["waves"][0]["validation"]["command"] == "make test"
    assert {r["outcome"] for r in document["waves"][0]["reviews"]} == {"PASS"}
    used = document["usage"]["codex"]
    assert (used["vendor"], used["tasks"], used["attempts"], used["seconds"]) == ("openai", 3, 3, 6.0)
    assert (document["integration"], used["input_tokens"]) == (None, None)


def test_what_was_not_accepted_is_no_head() -> None:
    fails = {name: ["timeout"] for name in ("task-001-users", "task-002")}
    assert head(played(Script(fails))) == ""
    assert build(begun(OF), replace(FACTS, finished=None))["head"] == ""


@pytest.mark.parametrize("seed", range(30))
def test_it_is_valid_at_every_moment_of_a_run(seed: int) -> None:
    random = Random(seed)
    of, script = some_run(random)
    play = Play(begun(of), script, random)
    play.run(stop_after=seed if seed % 3 == 0 else None)
    for course in play.seen:
        document = build(course, FACTS)
        assert validate(document) == []
        assert read(json.loads(json.dumps(document))) == (document, ())
    assert document["status"] in STATUSES


def places(value: Any, where: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*where, key)
        yield from places(item, (*where, key))


def at(value: Any, where: tuple[str | int, ...]) -> Any:
    for key in where:
        value = value[key]
    return value


FULL = full()
KEYS = [w for w in places(FULL) if isinstance(w[-1], str)]
LATER = {
    *(("prefix",), ("again",)),
    *(("integration", key) for key in ("onto", "wrong", "unrun")),
    *(where for where in KEYS if where[-2:-1] != ("patch",) and where[0] == "tasks" and where[-1] == "notes"),
    *(where for where in KEYS if "reviews" in where and where[-1] in ("findings", "report")),
}
"""What documents of earlier runs have not."""


def test_the_whole_document_is_valid() -> None:
    assert validate(FULL) == []
    assert len(KEYS) > 150


@pytest.mark.parametrize("where", KEYS, ids=lambda w: "/".join(map(str, w)))
def test_the_schema_is_strict(where: tuple[str | int, ...]) -> None:
    parent = where[:-1]
    free = parent in {("usage",), ("manifest", "sources")} or where in LATER
    for change in ("less", "more", "other"):
        document = copy.deepcopy(FULL)
        if change == "less":
            del at(document, parent)[where[-1]]
        elif change == "more":
            at(document, parent)["surprise"] = 1
        else:
            at(document, parent)[where[-1]] = object()
        if change != "less" or not free:
            assert validate(document), change


def test_a_document_without_what_came_later_is_whole() -> None:
    document = copy.deepcopy(FULL)
    for where in LATER:
        del at(document, where[:-1])[where[-1]]
    told, notes = read(document)
    assert notes == ()
    assert told["status"] == FULL["status"]
    assert len(LATER) >= 8
    assert all(at(told, where) in ("", []) for where in LATER)


def test_the_schema_itself_is_sound() -> None:
    from jsonschema import Draft202012Validator

    from prun_review.contractparts import load_schema

    Draft202012Validator.check_schema(load_schema("waves"))


# --- read leniently ---------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_anything_reads_as_a_document_and_never_as_success(value: Any) -> None:
    document, notes = read(value)
    assert validate(document) == []
    assert notes
    assert document["status"] != "completed"


DONE = build(played(), FACTS)
WHERES = list(places(DONE))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(WHERES), JSON, st.booleans())
def test_a_changed_place_is_told_or_understood(where: tuple[str | int, ...], value: Any, gone: bool) -> None:
    stored = copy.deepcopy(DONE)
    if gone:
        del at(stored, where[:-1])[where[-1]]
    else:
        at(stored, where[:-1])[where[-1]] = value
    document, notes = read(stored)
    assert validate(document) == []
    if document["status"] == "completed":
        assert notes == ()
    wrong = validate(stored)
    dropped = any("Additional properties" in text for text in wrong)  # that is no note
    assert notes or not wrong or dropped


def test_keys_of_a_later_version_are_dropped() -> None:
    stored = copy.deepcopy(DONE)
    stored["tasks"][0]["mood"] = "good"
    assert read(stored) == (DONE, ())


@pytest.mark.parametrize(
    ("where", "value", "note"),
    [
        (("status",), "green", "status: unexpected 'green'"),
        (("tasks", 0, "status"), 1, "tasks/0/status: unexpected int"),
        (("tasks", 0, "attempts"), True, "tasks/0/attempts: unexpected bool"),
        (("tasks", 0, "attempts"), -1, "tasks/0/attempts: unexpected int"),
        (("tasks", 0, "seconds"), float("nan"), "tasks/0/seconds: unexpected float"),
        (("tasks", 0, "patch", "files", 0), "x", "tasks/0/patch/files/0: unexpected 'x'"),
        (("waves", 0, "reviews", 0, "outcome"), "OK", "waves/0/reviews/0/outcome: unexpected 'OK'"),
        (("waves",), {}, "waves: unexpected object"),
        (("schema_version",), 2, "schema_version: unexpected int"),
        (("schema_version",), True, "schema_version: unexpected bool"),
    ],
)
def test_what_is_not_understood_says_least(where: tuple[str | int, ...], value: Any, note: str) -> None:
    stored = copy.deepcopy(DONE)
    at(stored, where[:-1])[where[-1]] = value
    document, notes = read(stored)
    assert note in notes
    assert document["status"] == "failed"


# --- going on from it -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_a_run_goes_on_from_the_document_as_from_the_run_itself(seed: int) -> None:
    random = Random(seed)
    of, script = some_run(random)
    play = Play(begun(of), script, random)
    course = play.run(stop_after=random.randint(0, 20))
    stored = json.loads(json.dumps(build(course, FACTS)))
    former = course_of(stored)
    assert (former.outcomes, former.waves, former.base) == (course.outcomes, course.waves, BASE)
    assert begin(of, BASE, done=former) == begin(of, BASE, done=course)
    assert begin(of, BASE, done=former, from_wave=len(of.waves)) == begin(
        of, BASE, done=course, from_wave=len(of.waves)
    )


@pytest.mark.parametrize(
    "where",
    [
        ("tasks", 1, "patch", "breaches"),
        ("tasks", 1, "checks"),
        ("tasks", 1, "asked"),
        ("tasks", 1, "patch", "files", 0, "path"),
    ],
)
def test_a_task_that_is_not_whole_is_run_again(where: tuple[str | int, ...]) -> None:
    stored = copy.deepcopy(DONE)
    at(stored, where[:-1])[where[-1]] = 7
    course = begun(OF, done=course_of(stored))
    states = {n: o.status for n, o in course.outcomes.items()}
    assert states == {"task-001-users": "succeeded", "task-002": "pending", "task-003": "succeeded"}


def test_a_wave_that_is_not_whole_is_proven_again() -> None:
    stored = copy.deepcopy(DONE)
    del stored["waves"][0]["reviews"]
    course = begun(OF, done=course_of(stored))
    assert course.waves[1].status == "running"
    assert {o.status for o in course.outcomes.values()} == {"succeeded"}


def test_a_task_that_stands_there_twice_is_run_again() -> None:
    stored = copy.deepcopy(DONE)
    stored["tasks"].append(stored["tasks"][2])
    assert begun(OF, done=course_of(stored)).outcomes["task-003"].status == "pending"


@pytest.mark.parametrize("value", [None, [], {}, {"schema_version": 2}, {"schema_version": True}])
def test_nothing_is_taken_from_another_version(value: Any) -> None:
    with pytest.raises(ValueError, match="a wave document of version"):
        course_of(value)


def test_text_that_no_file_can_hold_is_replaced() -> None:
    course = played(Script({"task-001-users": ["timeout"]}))
    held = replace(course.outcomes["task-002"], message="\ud800", patch=patch("a\udcff"))
    course = replace(course, outcomes={**course.outcomes, held.task: held})
    document = build(course, FACTS)
    json.dumps(document, ensure_ascii=False).encode("utf-8")
    assert document["tasks"][1]["message"] == "�"
