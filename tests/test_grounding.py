"""Grounding: the quote decides, the line helps (cases C34, C35)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.grounding import ground
from prun_review.model import GROUNDINGS, Finding
from prun_review.ports import Missing

FILES = {
    "src/x.py": (
        "import os",
        "",
        "def load(path):",
        "    return eval(open(path).read())",
        "",
        "",
        "def save(path, text):",
        "\tf = open(path, 'w')",
        "\tf.write(text)",
        "",
        "def again(path):",
        "    return eval(open(path).read())",
    ),
    "a/real.py": ("value = compute()",),
    "real.py": ("other = nothing()",),
    "empty.py": (),
    "Case.py": ("print('case')",),
    "link": ("../../etc/passwd",),
}
REGULAR = [name for name in FILES if name != "link"]
EVAL = "return eval(open(path).read())"


def read(path: str) -> tuple[str, ...] | Missing:
    return FILES.get(path) or (() if path in FILES else Missing("no such file"))


def one(names: list[str] | None = None, prefixes: tuple[str, ...] = (), **fields: Any) -> Finding:
    (found,) = ground([Finding("t", **fields)], read, names=names, prefixes=prefixes)
    return found


@pytest.mark.parametrize(
    ("fields", "grounding", "place"),
    [
        # at the line
        ({"line": 4, "quote": EVAL}, "exact", (4, None)),
        ({"line": 4, "quote": "  " + EVAL.replace("(open", "(open") + "  "}, "exact", (4, None)),
        ({"line": 8, "quote": "f = open(path, 'w')\n    f.write(text)"}, "exact", (8, None)),
        ({"line": 9, "quote": "    f = open(path, 'w')\r\n    f.write(text)"}, "exact", (9, None)),
        ({"line": 3, "end_line": 4, "quote": EVAL}, "exact", (3, 4)),
        ({"line": 3, "end_line": 99, "quote": "def load"}, "exact", (3, 12)),
        ({"line": 3, "quote": "def load(path):\n\n    return eval(open(path).read())"}, "exact", (3, None)),
        # viewers' line numbers and Markdown around the quote
        ({"line": 4, "quote": "     4\u2192    " + EVAL}, "exact", (4, None)),
        ({"line": 3, "quote": "3: def load(path):\n4:     " + EVAL}, "exact", (3, None)),
        ({"line": 4, "quote": "`" + EVAL + "`"}, "exact", (4, None)),
        ({"line": 4, "quote": "```python\n" + EVAL + "\n```"}, "exact", (4, None)),
        # elsewhere: the nearest one
        ({"line": 6, "quote": EVAL}, "moved", (4, None)),
        ({"line": 10, "quote": EVAL}, "moved", (12, None)),
        ({"line": 8, "quote": EVAL}, "moved", (4, None)),  # as far as line 12: the earlier
        ({"line": 999, "quote": EVAL}, "moved", (12, None)),
        ({"line": 1, "end_line": 2, "quote": "def load(path)"}, "moved", (3, 4)),
        ({"line": 1, "quote": "f = open(path, 'w')\nf.write(text)"}, "moved", (8, 9)),
        # no line
        ({"quote": "def save"}, "exact", (7, None)),
        ({"quote": EVAL}, "moved", (4, None)),
        # not there
        ({"line": 4, "quote": "return yaml.load(path)"}, "ungrounded", (4, None)),
        ({"line": 4, "quote": "def load(path):\n    pass"}, "ungrounded", (4, None)),
        ({"line": 13}, "ungrounded", (13, None)),
        # no quote, or one that says nothing
        ({"line": 12}, "line-only", (12, None)),
        ({"line": 12, "end_line": 40}, "line-only", (12, 12)),
        ({"line": 4, "quote": ")"}, "line-only", (4, None)),
        ({"line": 4, "quote": "):::("}, "line-only", (4, None)),
        ({"line": 13, "quote": ")"}, "ungrounded", (13, None)),
        ({}, "unlocated", (None, None)),
        ({"quote": "  "}, "unlocated", (None, None)),
    ],
)
def test_quote_first_line_second(
    fields: dict[str, Any], grounding: str, place: tuple[int | None, int | None]
) -> None:
    found = one(file="src/x.py", **fields)
    assert (found.grounding, (found.line, found.end_line)) == (grounding, place), found.note
    assert found.file == "src/x.py"


def test_notes_say_what_was_done() -> None:
    assert one(file="src/x.py", line=6, quote=EVAL).note == "moved from line 6 to where the quote stands"
    assert "12 lines" in one(file="src/x.py", line=13).note
    assert one(file="src/x.py", line=4, quote="nothing like it").note == "the quote is not in src/x.py"
    assert "first of 2" in one(file="src/x.py", quote=EVAL).note
    assert "too short" in one(file="src/x.py", line=4, quote=")").note
    assert one(file="nope.py", line=1, note="kept").note.startswith("kept; cannot look into 'nope.py'")


@pytest.mark.parametrize(
    ("written", "resolved", "grounding"),
    [
        ("./src/x.py", "src/x.py", "exact"),
        ("src\\x.py", "src/x.py", "exact"),
        ("a/src/x.py", "src/x.py", "exact"),
        ("b/src/x.py", "src/x.py", "exact"),
        ("/snap/1/src/x.py", "src/x.py", "exact"),
        ("SRC/X.PY", "src/x.py", "exact"),
        ("clone/src/x.py", "src/x.py", "exact"),
        ("x.py", "src/x.py", "exact"),
        ("src/x.py:4", "src/x.py", "exact"),
        ("nope/y.py", "nope/y.py", "ungrounded"),
        ("../src/x.py", "../src/x.py", "ungrounded"),
        ("/etc/passwd", "/etc/passwd", "ungrounded"),
        ("src/x.py\0", "src/x.py\0", "ungrounded"),
        ("src/x.py, real.py", "src/x.py", "exact"),
        ("nope.py:9 and src/x.py:4", "src/x.py", "exact"),
        ("nope.py, neither.py", "nope.py, neither.py", "ungrounded"),
    ],
)
def test_paths_are_resolved_but_never_bent(written: str, resolved: str, grounding: str) -> None:
    found = one(REGULAR, ("/snap/1",), file=written, line=4, quote=EVAL)
    assert (found.file, found.grounding) == (resolved, grounding)


def test_a_real_folder_named_a_is_not_a_diff_prefix() -> None:
    assert one(file="a/real.py", line=1, quote="value = compute()").grounding == "exact"
    moved = one(file="b/real.py", line=1, quote="other = nothing()")
    assert (moved.file, moved.grounding) == ("real.py", "exact")


def test_a_line_in_the_path_is_taken() -> None:
    found = one(file="src/x.py:4", quote=None)
    assert (found.file, found.line, found.grounding) == ("src/x.py", 4, "line-only")


def test_a_guessed_file_needs_a_quote_that_is_in_it() -> None:
    assert one(REGULAR, file="x.py", line=4).grounding == "ungrounded"
    assert one(REGULAR, file="x.py", line=4, quote="not in there").grounding == "ungrounded"
    assert "file was 'x.py'" in one(REGULAR, file="x.py", line=4, quote=EVAL).note


def test_what_is_not_a_regular_file_of_the_tree_grounds_nothing() -> None:
    found = one(REGULAR, file="link", line=1, quote="../../etc/passwd")
    assert found.grounding == "ungrounded"


def test_an_empty_file_has_no_line() -> None:
    assert one(file="empty.py", line=1).grounding == "ungrounded"
    assert one(file="empty.py", line=1, quote="anything").grounding == "ungrounded"


@pytest.mark.parametrize("file", [None, "", "  "])
def test_no_file_is_unlocated(file: str | None) -> None:
    found = one(file=file, line=3, quote=EVAL)
    assert (found.grounding, found.file, found.line) == ("unlocated", None, None)
    assert "line 3" in found.note


def test_each_file_is_read_once() -> None:
    asked: list[str] = []

    def counting(path: str) -> tuple[str, ...] | Missing:
        asked.append(path)
        return read(path)

    ground([Finding("t", file="src/x.py", line=n) for n in range(1, 9)], counting)
    assert asked == ["src/x.py"]


LINES = st.lists(
    st.text(st.sampled_from("ab (\t\n):"), max_size=8).map(lambda s: s.replace("\n", "")), max_size=8
)
FINDINGS = st.builds(
    Finding,
    title=st.text(max_size=5),
    file=st.none() | st.sampled_from(["f", "./f", "F", "a/f", "g", "../f", "/f"]) | st.text(max_size=8),
    line=st.none() | st.integers(-3, 12) | st.integers(),
    end_line=st.none() | st.integers(-3, 12) | st.integers(),
    quote=st.none() | st.text(st.sampled_from("ab (\t\n):`1"), max_size=16) | st.text(max_size=8),
)


@settings(deadline=None)
@given(LINES, st.lists(FINDINGS, max_size=5), st.booleans())
def test_nothing_raises_and_nothing_is_dropped(
    lines: list[str], findings: list[Finding], named: bool
) -> None:
    def tree(path: str) -> tuple[str, ...] | Missing:
        return tuple(lines) if path == "f" else Missing("not there")

    grounded = ground(findings, tree, names=["f"] if named else None)
    assert [f.title for f in grounded] == [f.title for f in findings]
    for found in grounded:
        assert found.grounding in GROUNDINGS[1:]
        if found.grounding in ("exact", "moved", "line-only"):
            assert found.file == "f"
            assert found.line is not None
            assert 1 <= found.line <= len(lines)
            assert found.end_line is None or found.line <= found.end_line <= len(lines)


@settings(deadline=None)
@given(LINES.filter(lambda lines: any(len(x.split()) for x in lines)), st.data())
def test_what_is_copied_from_the_file_is_found_at_its_line(lines: list[str], data: st.DataObject) -> None:
    number = data.draw(st.sampled_from([i for i, x in enumerate(lines, 1) if x.strip()]))
    (found,) = ground(
        [Finding("t", file="f", line=number, quote=lines[number - 1])], lambda path: tuple(lines), names=["f"]
    )
    assert found.grounding in ("exact", "line-only")  # line-only where the line is too short to tell
    assert found.line == number
