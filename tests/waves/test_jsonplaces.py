"""JSON with lines: every pointer at its line, every fault at its own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.jsonplaces import read

TEXT = """{
  "a": 1,
  "b": [
    {"c": "x, y: [1]"},
    {
      "c": [true,
            null]
    }
  ],
  "d/e": {}, "~": "\\"\\n"
}"""


def test_every_pointer_has_its_line() -> None:
    assert dict(read(TEXT).lines) == {
        "": 1,
        "/a": 2,
        "/b": 3,
        "/b/0": 4,
        "/b/0/c": 4,
        "/b/1": 5,
        "/b/1/c": 6,
        "/b/1/c/0": 6,
        "/b/1/c/1": 7,
        "/d~1e": 10,
        "/~0": 10,
    }


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ('{\n"a": 1,\n"a": 2}', "duplicate-key", 3),
        ('{\n"a": {"b": 1},\n"c": {\n"b": 1,\n"b": 2}}', "duplicate-key", 5),
        ('{"a":\n [1,\n NaN]}', "not-finite", 3),
        ('{\n"a": Infinity}', "not-finite", 2),
        ('{\n"a": 1e999}', "not-finite", 2),
        ('{\n"a": 1234567890123456789}', "giant-integer", 2),
        ('{\n"a": 1\n"b": 2}', "not-json", 3),
        ("{\n'a': 1}", "not-json", 2),
        ('{"a": 1,\n}', "not-json", 2),
        ("", "not-json", 1),
        ("\n" + "[" * 70 + "]" * 70, "too-deep", 1),
        ('{\n"a": "x\\u0000"}', "nul", 2),
        ('{\n"a": "\\ud800"}', "lone-surrogate", 2),
    ],
)
def test_every_fault_has_its_line(text: str, code: str, line: int) -> None:
    assert [(fault.code, fault.line) for fault in read(text).faults] == [(code, line)]


def test_odd_keys_and_giant_numbers_are_told_at_their_lines() -> None:
    odd = read('{\n"a\0b": 1,\n"c": [2]}')
    assert (odd.value, odd.lines["/a\ufffdb"], odd.lines["/c/0"]) == ({"a\ufffdb": 1, "c": [2]}, 2, 3)
    (fault,) = read('{"a": ' + "1" * 5000 + ",\n}").faults
    assert (fault.code, fault.line) == ("not-json", 2)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(VALUES, st.sampled_from([None, 0, 1]))
def test_there_is_a_line_for_every_value_and_no_other(value: Any, indent: int | None) -> None:
    found = read(json.dumps(value, indent=indent))
    assert json.dumps(found.value) == json.dumps(value).replace("\\u0000", "\\ufffd")
    assert len(found.lines) == _count(value)
    if indent is None:
        assert set(found.lines.values()) == {1}


def _count(value: Any) -> int:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_count, below))


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='{}[]:,"\\ \n1atrue\0', max_size=40))
def test_no_text_raises(text: str) -> None:
    assert all(fault.line >= 1 for fault in read(text).faults)
