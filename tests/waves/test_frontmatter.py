"""The YAML at the top of a task file: plain data with lines, and nothing that grows or runs."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review import frontmatter


@pytest.fixture(params=["as it is", "pure"], autouse=True)
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of PyYAML's readers: the one in C is not everywhere."""
    if request.param == "pure":
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


def front(inner: str) -> frontmatter.Front:
    """What a frontmatter says."""
    return frontmatter.read(f"---\n{inner}\n---\nbody\n")


@pytest.mark.parametrize(
    ("inner", "values"),
    [
        ("id: task-001", {"id": "task-001"}),
        ("wave: 1", {"wave": 1}),
        ("wave: '1'", {"wave": "1"}),
        ('wave: "1"', {"wave": "1"}),
        ("timeout: 1.5", {"timeout": 1.5}),
        ("a: -3\nb: +4\nc: 0", {"a": -3, "b": 4, "c": 0}),
        (
            "a: 012\nb: 1:30\nc: 2025-01-01\nd: 1e5\ne: 0x1f",
            {"a": "012", "b": "1:30", "c": "2025-01-01", "d": "1e5", "e": "0x1f"},
        ),
        ("a: no\nb: on\nc: y", {"a": "no", "b": "on", "c": "y"}),
        ("a: true\nb: False\nc: null\nd: ~\ne:", {"a": True, "b": False, "c": None, "d": None, "e": None}),
        ("a: 'null'\nb: ''", {"a": "null", "b": ""}),
        ("deps: []", {"deps": []}),
        ("deps: [a, 'b', 3]", {"deps": ["a", "b", 3]}),
        ("deps:\n  - a\n  - b", {"deps": ["a", "b"]}),
        ("agent: python-experts:django-expert", {"agent": "python-experts:django-expert"}),
        ("a: |\n  one\n  two", {"a": "one\ntwo\n"}),
        ("a: {b: {c: [1]}}", {"a": {"b": {"c": [1]}}}),
        ("# nothing\nid: a # why", {"id": "a"}),
        ("", {}),
        ("9999999999999999999: 99999999999999999999", {"9999999999999999999": "99999999999999999999"}),
    ],
)
def test_plain_values(inner: str, values: dict[str, Any]) -> None:
    found = front(inner)
    assert found.faults == ()
    assert found.values == values
    assert repr(found.values) == repr(values)  # True is not 1
    assert found.body == "body\n"


def test_lines_are_those_of_the_whole_text() -> None:
    text = "---\nid: a\n\n# why\ndeps:\n  - b\n  - c\nskills: [d,\n  e]\nm: {n: 1}\n---\n# title\n"
    found = frontmatter.read(text)
    assert found.lines == {
        "id": 2,
        "deps": 5,
        "deps/0": 6,
        "deps/1": 7,
        "skills": 8,
        "skills/0": 8,
        "skills/1": 9,
        "m": 10,
        "m/n": 10,
    }
    assert (found.body, found.body_line) == ("# title\n", 12)


@pytest.mark.parametrize(
    ("inner", "code", "line"),
    [
        ("a: 1\nb: &x [1]", "yaml-alias", 3),
        ("a: *x", "yaml-alias", 2),
        ("a: 1\nb: !!python/object/apply:os.system [id]", "yaml-tag", 3),
        ("a: !!str 1", "yaml-tag", 2),
        ("a: !x 1", "yaml-tag", 2),
        ("a: 1\n\tb: 2", "bad-yaml", 3),
        ("a: 1\nb: [1", "bad-yaml", None),
        ("a: 1\n b: 2", "bad-yaml", 3),
        ("a: b: c", "bad-yaml", 2),
        ("- a\n- b", "bad-yaml", 2),
        ("word", "bad-yaml", 2),
        ("? [a]\n: b", "bad-yaml", 2),
        ("{a: 1}: b", "bad-yaml", 2),
        ("a: 1\nb: 2\na: 3", "duplicate-key", 4),
        ("a: {b: 1, b: 2}", "duplicate-key", 2),
        ("a: " + "[" * 9 + "]" * 9, "too-deep", 2),
        ("a:\n" + "- x\n" * 3000, "too-large", None),
        ("a: " + "x" * 70_000, "too-large", 2),
        ("a: \x07", "bad-yaml", 2),
    ],
)
def test_what_is_refused_is_told_at_its_line(inner: str, code: str, line: int | None) -> None:
    found = front(inner)
    assert [fault[0] for fault in found.faults] == [code]
    if line is not None:
        assert found.faults[0][1] == line
    assert found.there


def test_brackets_without_end_are_refused_at_once() -> None:
    found = front("a: " + "[" * 50_000)
    assert found.values == {}
    # The reader in C has a limit of its own.
    assert [fault[0] for fault in found.faults] in (["too-deep"], ["bad-yaml"])


def test_an_alias_bomb_does_not_grow() -> None:
    rows = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    rows += [
        f"{b}: &{b} [*{a},*{a},*{a},*{a},*{a},*{a},*{a},*{a},*{a}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    found = front("\n".join(rows))
    assert found.values == {}
    assert [fault[:2] for fault in found.faults] == [("yaml-alias", 2)]


def test_of_a_key_that_stands_twice_the_first_counts() -> None:
    assert front("wave: 1\nwave: 2").values == {"wave": 1}


@pytest.mark.parametrize("text", ["", "# title\n", "----\nid: a\n", " ---\nid: a\n---\n", "--- x\n---\n"])
def test_a_text_without_frontmatter_is_all_body(text: str) -> None:
    found = frontmatter.read(text)
    assert (found.there, found.body, found.body_line, found.values) == (False, text, 1, {})


def test_a_frontmatter_that_is_not_closed_is_told() -> None:
    found = frontmatter.read("---\nid: a\n# title\n")
    assert [fault[:2] for fault in found.faults] == [("unclosed-frontmatter", 1)]


def test_a_line_of_dashes_in_the_body_is_left_alone() -> None:
    found = frontmatter.read("---\nid: a\n---\none\n---\ntwo\n")
    assert (found.values, found.body) == ({"id": "a"}, "one\n---\ntwo\n")


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="ab: -[]{}&*!|>'\"#\n\t,?~%@`1.\x00\u2028\ud7ff", max_size=50))
def test_no_text_raises(inner: str) -> None:
    found = front(inner)
    assert all(line >= 1 for _, line, _ in found.faults)
    assert all(isinstance(key, str) for key in found.values)
