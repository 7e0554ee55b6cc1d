"""Grounding on two sides: which tree holds the quote, and where (case C35)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.grounding import ground
from prun_review.model import Finding, Place
from prun_review.quotes import Source, needles

from .changekit import Two

B = "def b(u):\n    check(u)\n    go(u)\n"
OLD = f"import os\n\ndef a(u):\n    check(u)\n    go(u)\n\n{B}\nZED = 1\nYES = 2"
NEW = f"import os\n\ndef a(u):\n    go(u)\n\n{B}\nXRAY = 1\n    go(u)"
NUMBERED = " 3  3 | def a(u):\n 4    |-    check(u)\n 5  4 |     go(u)"
HUNK = "@@ -8,3 +7,3 @@\n     go(u)\n\n-ZED = 1\n-YES = 2"
TWO = Two(
    {
        "src/a.py": OLD,
        "src/was.py": "same()\nthere()",
        "b/x.py": "riskyes()",
        "x.py": "riskyes()",
        "y.py": "yes()",
    },
    {"src/a.py": NEW, "src/now.py": "same()\nhere()", "x.py": "riskyes()", "y.py": "yes()"},
    renamed={"src/now.py": "src/was.py"},
)


@pytest.mark.parametrize(
    ("fields", "side", "grounding", "lines"),
    [
        # on the side that is named, at the line
        ({"line": 7, "quote": "check(u)", "side": "new"}, "new", "exact", (7, None)),
        ({"line": 4, "quote": "check(u)", "side": "old"}, "old", "exact", (4, None)),
        ({"line": 8, "quote": "check(u)", "side": "old"}, "old", "exact", (8, None)),
        # only on the other
        ({"line": 12, "quote": "YES = 2", "side": "new"}, "old", "exact", (12, None)),
        ({"line": 3, "quote": "YES = 2"}, "old", "moved", (12, None)),
        ({"line": 10, "quote": "XRAY = 1", "side": "old"}, "new", "exact", (10, None)),
        # the line fits neither: what the change touches, on the named side first, then the nearest
        ({"line": 2, "quote": "check(u)"}, "old", "moved", (4, None)),
        ({"line": 10, "quote": "check(u)"}, "old", "moved", (4, None)),
        ({"line": 1, "quote": "go(u)"}, "new", "moved", (11, None)),
        ({"line": 1, "quote": "def b(u):", "side": "old"}, "old", "moved", (7, None)),
        # no line
        ({"quote": "check(u)"}, "old", "moved", (4, None)),
        ({"quote": "YES = 2"}, "old", "exact", (12, None)),
        ({"quote": "def b(u):"}, "new", "exact", (6, None)),
        # no quote: the line decides, where only one side has it
        ({"line": 12}, "old", "line-only", (12, None)),
        ({"line": 12, "side": "new"}, "old", "line-only", (12, None)),
        ({"line": 11}, "new", "line-only", (11, None)),
        ({"line": 11, "end_line": 40, "side": "old"}, "old", "line-only", (11, 12)),
        ({"line": 13}, "new", "ungrounded", (13, None)),
        ({"line": 13, "side": "old"}, "old", "ungrounded", (13, None)),
        ({"line": 3, "quote": ")"}, "new", "line-only", (3, None)),
        ({}, "new", "unlocated", (None, None)),
        # on no side
        ({"line": 4, "quote": "check(v)"}, "new", "ungrounded", (4, None)),
        ({"line": 4, "quote": "check(v)", "side": "old"}, "old", "ungrounded", (4, None)),
        # copied from a diff: its numbers, its marks, both sides at once
        ({"line": 4, "quote": " 4    |-    check(u)"}, "old", "exact", (4, None)),
        ({"line": 3, "quote": NUMBERED}, "old", "exact", (3, None)),
        ({"line": 10, "quote": "   10 |+XRAY = 1"}, "new", "exact", (10, None)),
        ({"line": 10, "quote": "+XRAY = 1"}, "new", "exact", (10, None)),
        ({"line": 11, "quote": "-ZED = 1\n-YES = 2"}, "old", "exact", (11, None)),
        ({"line": 10, "quote": "-ZED = 1\n-YES = 2\n+XRAY = 1"}, "new", "exact", (10, None)),
        ({"line": 9, "quote": HUNK}, "old", "exact", (9, None)),
        ({"line": 10, "quote": "```diff\n+XRAY = 1\n```"}, "new", "exact", (10, None)),
        ({"line": 10, "quote": "+ZED = 1"}, "new", "ungrounded", (10, None)),  # nobody added that
        ({"line": 11, "quote": "-XRAY = 1"}, "new", "ungrounded", (11, None)),
        ({"line": 10, "quote": "XRAY\\u0020= 1"}, "new", "exact", (10, None)),
    ],
)  # fmt: skip
def test_the_quote_decides_the_side(
    fields: dict[str, Any], side: str, grounding: str, lines: tuple[int | None, int | None]
) -> None:
    found = TWO.grounded(file="src/a.py", **fields)
    assert (found.side, found.grounding, (found.line, found.end_line)) == (side, grounding, lines), found.note
    assert found.file == "src/a.py"


@pytest.mark.parametrize(
    ("written", "side", "file", "grounding"),
    [
        ("src/a.py", None, "src/a.py", "exact"),
        ("a/src/a.py", None, "src/a.py", "exact"),
        ("b/src/a.py", "old", "src/a.py", "exact"),
        ("./src/a.py", None, "src/a.py", "exact"),
        ("src\\a.py", None, "src/a.py", "exact"),
        ("SRC/A.py", None, "src/a.py", "exact"),
        ("/snap/src/a.py", None, "src/a.py", "exact"),
        ("clone/src/a.py", None, "src/a.py", "exact"),
        ("src/a.py:4", None, "src/a.py", "exact"),
        ("src/a.py and x.py", None, "src/a.py", "exact"),
        ("/beside/base/src/a.py", None, "src/a.py", "exact"),
        ("/beside/base/src/a.py:4", "new", "src/a.py", "exact"),
        ("/elsewhere/base/src/a.py", None, "src/a.py", "exact"),
        ("../run/base/src/a.py", "new", "src/a.py", "exact"),
        ("/beside/base/../src/a.py", None, "/beside/base/../src/a.py", "ungrounded"),
        ("../src/a.py", None, "../src/a.py", "ungrounded"),
        ("/etc/src/../passwd", None, "/etc/src/../passwd", "ungrounded"),
        ("src/nope.py", None, "src/nope.py", "ungrounded"),
    ],
)
def test_paths_mean_both_trees(written: str, side: str | None, file: str, grounding: str) -> None:
    found = TWO.grounded(file=written, side=side, line=4, quote="check(u)\n    go(u)")
    assert (found.file, found.grounding) == (file, grounding), found.note
    assert grounding == "ungrounded" or (found.side, found.line) == ("old", 4)


@pytest.mark.parametrize(
    ("fields", "side", "file"),
    [
        ({"file": "src/was.py", "line": 1, "quote": "same()"}, "new", "src/now.py"),
        ({"file": "src/was.py", "line": 1, "quote": "same()", "side": "old"}, "old", "src/was.py"),
        ({"file": "src/was.py", "line": 2, "quote": "there()"}, "old", "src/was.py"),
        ({"file": "src/now.py", "line": 2, "quote": "there()"}, "old", "src/was.py"),
        ({"file": "src/was.py", "line": 2, "quote": "here()"}, "new", "src/now.py"),
        ({"file": "src/now.py", "line": 1, "quote": "same()", "side": "old"}, "old", "src/was.py"),
        ({"file": "now.py", "line": 1, "quote": "same()"}, "new", "src/now.py"),
        ({"file": "/beside/base/src/was.py", "quote": "same()", "side": "new"}, "old", "src/was.py"),
    ],
)  # fmt: skip
def test_a_renamed_file_has_two_names(fields: dict[str, Any], side: str, file: str) -> None:
    found = TWO.grounded(**fields)
    assert (found.side, found.file, found.grounding) == (side, file, "exact")


def test_a_deleted_file_is_not_mistaken_for_one_of_nearly_its_name() -> None:
    found = TWO.placed(file="b/x.py", line=1, quote="riskyes()")
    assert (found.file, found.side, found.placement) == ("b/x.py", "old", "deleted")
    two = Two({"lib/x.py": "riskyes()", "src/x.py": "riskyes()"}, {"lib/x.py": "riskyes()"})
    guess = two.placed(file="x.py", line=1, quote="riskyes()")
    assert (guess.grounding, guess.beside) == ("ungrounded", False)


def test_a_short_name_of_a_moved_file_means_that_file() -> None:
    two = Two(
        {"lib/keep.py": "call()"}, {"src/keep.py": "call()\nmore()"}, renamed={"src/keep.py": "lib/keep.py"}
    )
    found = two.grounded(file="keep.py", line=2, quote="more()")
    assert (found.file, found.side, found.grounding) == ("src/keep.py", "new", "exact")


def test_a_name_that_another_file_took_over_means_the_file_that_holds_the_quote() -> None:
    two = Two(
        {"a.py": "first()\nsecond()"},
        {"b.py": "first()\nsecond()", "a.py": "whollyes()\nother()"},
        renamed={"b.py": "a.py"},
    )
    assert two.placed(file="a.py", line=1, quote="whollyes()").placement == "added"
    old = two.placed(file="a.py", line=1, quote="first()")
    assert (old.side, old.file, old.placement) == ("new", "b.py", "pre-existing")


def test_notes_tell_the_side() -> None:
    assert TWO.grounded(file="src/a.py", line=12, quote="YES = 2", side="new").note == (
        "it stands on the old side of the change"
    )
    assert TWO.grounded(file="src/a.py", line=4, quote="nothing()").note == (
        "the quote is not in src/a.py, on neither side of the change"
    )
    assert "11 on the new side and 12 on the old side" in TWO.grounded(file="src/a.py", line=99).note
    assert TWO.grounded(file="src/a.py", quote="check(u)").note.endswith("one of 2 places")


@pytest.mark.parametrize(
    ("cause", "spelled"),
    [
        (Place("a/src/a.py", 4), Place("src/a.py", 4)),
        (Place("src/a.py:4"), Place("src/a.py", 4)),
        (Place("src/a.py:4", 9), Place("src/a.py", 9)),
        (Place("/snap/src/a.py", 4), Place("src/a.py", 4)),
        (Place("/beside/base/src/was.py", 2), Place("src/was.py", 2)),
        (Place("SRC/A.PY", 4), Place("src/a.py", 4)),
        (Place("y.py", 1), Place("y.py", 1)),
        (Place("../nope", 1), Place("../nope", 1)),
    ],
)
def test_causes_are_spelled_as_the_tree_does(cause: Place, spelled: Place) -> None:
    assert TWO.grounded(file="y.py", line=1, cause=cause).cause == spelled
    assert TWO.grounded(file=None, cause=cause).cause == spelled


def test_a_file_that_the_change_leaves_alone_is_read_on_one_side() -> None:
    asked: list[str] = []

    def read_base(path: str) -> Any:
        asked.append(path)
        return TWO.read_base(path)

    trees = TWO.trees | {"read_base": read_base}
    (found,) = ground([Finding("t", file="y.py", line=1, quote="yes()")], TWO.read, **trees)
    assert (found.grounding, found.side, asked) == ("exact", "new", [])


def test_without_a_change_a_diffs_marks_are_no_marks() -> None:
    (found,) = ground(
        [Finding("t", file="src/a.py", line=10, quote="+XRAY = 1")], TWO.read, names=list(TWO.new)
    )
    assert (found.grounding, found.side) == ("ungrounded", None)


# --- quotes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quote", "readings"),
    [
        ("aa = bb", [("aa = bb", "aa = bb")]),
        ("- aa: bb", [("- aa: bb", "- aa: bb"), ("", "aa: bb")]),
        (
            "-aa = bb\n+aa = cc\n dd = ee",
            [("-aa = bb\n+aa = cc\ndd = ee",) * 2, ("aa = cc\ndd = ee", "aa = bb\ndd = ee")],
        ),
        (
            "1 2 | aa = bb\n3   |-cc = dd",
            [("1 2 | aa = bb\n3 |-cc = dd",) * 2, ("", "aa = bb\ncc = dd")],
        ),
        ("(", []),
    ],
)
def test_a_quote_from_a_diff_reads_differently_on_each_side(
    quote: str, readings: list[tuple[str, str]]
) -> None:
    assert [(n.new, n.old) for n in needles(quote, diff=True)] == readings
    assert [(n.new, n.old) for n in needles(quote)] == readings[:1]


ROWS = st.lists(st.sampled_from(["ab", "a b", "", "  ab", "b", "abab", "(ab"]), max_size=12)


@settings(deadline=None)
@given(ROWS, st.sampled_from(["ab", "a b", "b\nab", "ab\nab", "abab", "zz"]), st.integers(-1, 14))
def test_every_place_of_a_quote_is_found(rows: list[str], needle: str, line: int) -> None:
    source = Source(rows)
    kept = [(n, " ".join(row.split())) for n, row in enumerate(rows, 1) if row.strip()]
    height = needle.count("\n") + 1
    naive = [
        (kept[i][0], kept[i + height - 1][0])
        for i in range(len(kept) - height + 1)
        if any(
            "\n".join(text for _, text in kept[i : i + height])[at:].startswith(needle)
            for at in range(len(kept[i][1]))
        )
    ]
    assert source.spans(needle, line) == naive
    nearest = min(naive, key=lambda s: max(s[0] - line, line - s[1], 0), default=None)
    assert source.nearest(needle, line) == nearest
    for n, _ in kept:
        assert source.part((n, n)) == dict(kept)[n]
    assert source.part((1, len(rows))) == "\n".join(text for _, text in kept)
