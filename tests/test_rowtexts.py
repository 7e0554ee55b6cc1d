"""Texts of rows that are remembered: never another text than one that is written anew."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prun_review import masking
from prun_review.rowtexts import RowTexts

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just("x\nsecret-word\n"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ROWS = st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=3), max_size=4)
SECRETS = st.sampled_from([frozenset[str](), frozenset({"secret-word"}), frozenset({"tasks", "base"})])


def anew(document: dict[str, Any], secrets: frozenset[str]) -> bytes:
    return json.dumps(masking.masked(document, secrets), indent=1).encode() + b"\n"


@given(st.lists(st.tuples(VALUES, ROWS, SECRETS, st.booleans()), min_size=1, max_size=3))
def test_it_is_the_text_of_the_whole_document(
    states: list[tuple[Any, list[Any], frozenset[str], bool]],
) -> None:
    texts = RowTexts()
    kept: list[Any] = []
    for value, rows, secrets, again in states:
        kept = [*kept[1:], *rows, *rows[:1]] if again else list(rows)
        document = {"schema": 1, "tasks": kept, "base\n": value}
        assert texts(document, "tasks", secrets) == anew(document, secrets)
