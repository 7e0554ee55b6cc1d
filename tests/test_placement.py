"""Where findings stand in a change, and what proves that they are none of its doing."""

from __future__ import annotations

from dataclasses import replace
from textwrap import indent
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from prun_review.model import PLACEMENTS, Finding, Place
from prun_review.placement import place

from .changekit import Two

OLD = """\
import db


def admin(user):
    return user.admin


def delete(user, name):
    log(name)
    row = db.find(name)
    require_admin(user)
    db.remove(row)


def show(user, name):
    row = db.find(name)
    return render(row)


def search(user, text):
    query = "select * from t where x = ?"
    return db.run(query, text)


def far(row):
    return eval(row.formula)


def end(row):
    return exec(row.script)"""
NEW = (
    OLD.replace("    require_admin(user)\n", "")  # 11 is gone: what follows has a number less
    .replace('"select * from t where x = ?"', '"select * from t where x = " + text')  # 20, was 21
    .replace("db.run(query, text)", "db.run(query)")  # 21, was 22
)
UNTOUCHED = "import os\n\n\ndef call(name):\n    return delete(None, name)"
MOVED = Two(
    {"src/app.py": OLD, "src/use.py": UNTOUCHED, "src/old.py": UNTOUCHED + "\nx = 1"},
    {
        "src/app.py": NEW,
        "src/use.py": UNTOUCHED,
        "src/new.py": UNTOUCHED.replace("os", "sys") + "\nx = 1",
    },
    renamed={"src/new.py": "src/old.py"},
)

EVAL = "return eval(row.formula)"
Q: dict[str, tuple[dict[str, Any], str, bool, bool]] = {
    # what is said: placement, caused, beside
    "an added line": ({"line": 20, "quote": "select * from t where x = "}, "added", False, False),
    "an added line without a quote": ({"line": 20}, "added", False, False),
    "an added line, counted badly": ({"line": 23, "quote": '" + text'}, "added", False, False),
    "a range that ends on one": (
        {"line": 19, "end_line": 20, "quote": "def search(user, text):"},
        "added",
        False,
        False,
    ),
    "a quote that ends on one": (
        {"line": 19, "quote": 'def search(user, text):\n    query = "select * from t where x = " + text'},
        "added",
        False,
        False,
    ),
    "a deleted line": ({"line": 11, "quote": "require_admin(user)", "side": "old"}, "deleted", False, False),
    "a deleted line, side not said": ({"line": 11, "quote": "require_admin(user)"}, "deleted", False, False),
    "a deleted line, side wrong": (
        {"line": 9, "quote": "require_admin(user)", "side": "new"},
        "deleted",
        False,
        False,
    ),
    "a deleted line without a quote": ({"line": 11, "side": "old"}, "deleted", False, False),
    "an old quote around the deletion": (
        {"line": 10, "quote": "row = db.find(name)\nrequire_admin(user)\ndb.remove(row)"},
        "deleted",
        False,
        False,
    ),
    "a replaced line": (
        {"line": 21, "quote": "select * from t where x = ?", "side": "old"},
        "deleted",
        False,
        False,
    ),
    "context": ({"line": 23, "quote": "def far"}, "context", False, False),
    "context above": ({"line": 17, "quote": "return render(row)"}, "pre-existing", False, True),
    "context of replaced lines": ({"line": 19, "quote": "def search(user, text):"}, "context", False, False),
    "context on the old side": (
        {"line": 20, "quote": "def search(user, text):", "side": "old"},
        "context",
        False,
        False,
    ),
    "context without a quote": ({"line": 19}, "context", False, False),
    "around what is gone": ({"line": 11, "quote": "db.remove(row)"}, "context", False, False),
    "above what is gone": ({"line": 9, "quote": "log(name)"}, "context", False, False),
    "heading of what is gone": ({"line": 8, "quote": "def delete(user, name):"}, "context", False, False),
    "a function around what is gone": (
        {"line": 8, "end_line": 11, "quote": "def delete(user, name):"},
        "context",
        False,
        False,
    ),
    "elsewhere": ({"line": 25, "quote": EVAL}, "pre-existing", False, True),
    "elsewhere on the old side": ({"line": 26, "quote": EVAL, "side": "old"}, "pre-existing", False, True),
    "elsewhere without a quote": ({"line": 25}, "outside", False, False),
    "elsewhere with a quote that says nothing": ({"line": 25, "quote": ")"}, "outside", False, False),
    "elsewhere by a program": ({"line": 25, "rule": "B307"}, "pre-existing", False, True),
    "on an added line by a program": ({"line": 20, "rule": "S608"}, "added", False, False),
    "elsewhere with a quote of nowhere": ({"line": 25, "quote": "evil(user)"}, "outside", False, False),
    "beyond the end": ({"line": 99}, "outside", False, False),
    "beyond the end of the head only": ({"line": 30}, "outside", False, False),
    "no line and no quote": ({}, "outside", False, False),
    "caused by an added line": (
        {"line": 25, "quote": EVAL, "cause": Place("src/app.py", 20)},
        "outside",
        True,
        False,
    ),
    "caused by a deleted line": (
        {"line": 25, "quote": EVAL, "cause": Place("src/app.py", 22)},
        "outside",
        True,
        False,
    ),
    "caused by a hunk's context": (
        {"line": 29, "quote": "return exec", "cause": Place("b/src/app.py:18")},
        "outside",
        True,
        False,
    ),
    "caused in context": (
        {"line": 19, "quote": "def search", "cause": Place("./src/app.py", 21)},
        "outside",
        True,
        False,
    ),
    "caused by a line of a changed file": (
        {"line": 25, "quote": EVAL, "cause": Place("src/app.py", 5)},
        "pre-existing",
        False,
        False,  # three lines above a hunk
    ),
    "caused a few lines above the change": (
        {"line": 25, "quote": EVAL, "cause": Place("src/app.py", 1)},
        "pre-existing",
        False,
        False,
    ),
    "caused by a changed file": (
        {"line": 25, "quote": EVAL, "cause": Place("src/app.py")},
        "pre-existing",
        False,
        False,
    ),
    "caused by an unchanged file": (
        {"line": 25, "quote": EVAL, "cause": Place("src/use.py", 5)},
        "pre-existing",
        False,
        True,
    ),
    "caused by nothing that is there": (
        {"line": 25, "quote": EVAL, "cause": Place("nope.py", 20)},
        "pre-existing",
        False,
        False,
    ),
    "caused by the old name of a file": (
        {"line": 25, "quote": EVAL, "cause": Place("src/old.py", 99)},
        "outside",
        True,
        False,
    ),
    "caused by itself": (
        {"line": 19, "quote": "def search(user, text):", "cause": Place("src/app.py", 19)},
        "context",
        False,
        False,
    ),
    "an added line with a cause": (
        {"line": 20, "quote": "select * from t where x = ", "cause": Place("src/app.py", 21)},
        "added",
        True,
        False,
    ),
    "its own claims": (
        {"line": 20, "quote": "where x = ", "placement": "pre-existing", "beside": True, "caused": True,
         "mapped": Place("x", 1)},
        "added",
        False,
        False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("fields", "placement", "caused", "beside"), Q.values(), ids=Q.keys())
def test_the_tree_decides(fields: dict[str, Any], placement: str, caused: bool, beside: bool) -> None:
    found = MOVED.placed(file="src/app.py", **fields)
    assert (found.placement, found.caused, found.beside) == (placement, caused, beside), found
    assert found.side == "new" or found.mapped is not None


@pytest.mark.parametrize(
    ("fields", "placement", "beside"),
    [
        # a file that the change leaves alone needs no quote
        ({"file": "src/use.py", "line": 5, "quote": "return delete(None, name)"}, "pre-existing", True),
        ({"file": "src/use.py", "line": 5, "quote": "delete(None", "side": "old"}, "pre-existing", True),
        ({"file": "src/use.py", "line": 5}, "outside", True),
        ({"file": "src/use.py"}, "outside", True),
        # but what it says must be there
        ({"file": "src/use.py", "line": 50}, "outside", False),
        ({"file": "src/use.py", "line": 5, "quote": "require_admin(user)"}, "outside", False),
        ({"file": "src/nowhere.py", "line": 5}, "outside", False),
        ({"file": None, "line": 5}, "", False),
        # renamed: both names mean it
        ({"file": "src/new.py", "line": 5, "quote": "return delete(None, name)"}, "pre-existing", True),
        ({"file": "src/old.py", "line": 5, "quote": "return delete(None, name)"}, "pre-existing", True),
        ({"file": "src/old.py", "line": 1, "quote": "import sys"}, "added", False),
        ({"file": "src/new.py", "line": 1, "quote": "import os"}, "deleted", False),
        ({"file": "src/old.py", "line": 6, "side": "old"}, "outside", False),
    ],
)
def test_other_files(fields: dict[str, Any], placement: str, beside: bool) -> None:
    found = MOVED.placed(**fields)
    assert (found.placement, found.beside) == (placement, beside), found


WHOLE = Two(
    {"gone.py": "import os\nos.system(x)", "mode.sh": "rm -rf $1", "keep.py": "x = 1", "dir/a.py": "call()"},
    {"come.py": "import os\nos.system(y)", "mode.sh": "rm -rf $1", "keep.py": "x = 1", "lib/a.py": "call()"},
    renamed={"lib/a.py": "dir/a.py"},
    kinds={"blob.bin": "binary", "key.pem": "withheld", "vendor": "submodule", "mode.sh": "mode"},
)


@pytest.mark.parametrize(
    ("fields", "placement", "beside"),
    [
        ({"file": "come.py", "line": 2, "quote": "os.system(y)"}, "added", False),
        ({"file": "come.py"}, "added", False),
        ({"file": "come.py", "line": 99}, "added", False),
        ({"file": "come.py", "line": 1, "quote": "nothing like it"}, "added", False),
        ({"file": "come.py", "line": 2, "side": "old"}, "added", False),
        ({"file": "gone.py", "line": 2, "quote": "os.system(x)", "side": "old"}, "deleted", False),
        ({"file": "gone.py", "line": 2, "quote": "os.system(x)", "side": "new"}, "deleted", False),
        ({"file": "gone.py"}, "deleted", False),
        ({"file": "gone.py", "line": 1, "quote": "nothing like it"}, "deleted", False),
        ({"file": "blob.bin"}, "added", False),
        ({"file": "b/blob.bin:3"}, "added", False),
        ({"file": "key.pem", "line": 1, "quote": "PRIVATE KEY"}, "added", False),
        ({"file": "key.pem", "side": "old"}, "deleted", False),
        ({"file": "vendor"}, "added", False),
        ({"file": "mode.sh", "line": 1, "quote": "rm -rf $1"}, "pre-existing", False),
        ({"file": "mode.sh"}, "outside", False),
        ({"file": "lib/a.py", "line": 1, "quote": "call()"}, "pre-existing", True),
        ({"file": "dir/a.py", "line": 1, "quote": "call()", "side": "old"}, "pre-existing", True),
        ({"file": "lib/a.py"}, "outside", False),
    ],
)
def test_whole_files(fields: dict[str, Any], placement: str, beside: bool) -> None:
    found = WHOLE.placed(**fields)
    assert (found.placement, found.beside) == (placement, beside), found


@pytest.mark.parametrize(
    "file", ["come.py", "gone.py", "lib/a.py", "dir/a.py", "blob.bin", "mode.sh", "vendor"]
)
def test_a_file_that_is_changed_as_a_whole_is_a_cause_whatever_the_line(file: str) -> None:
    for line in (None, 1, 99):
        found = WHOLE.placed(file="keep.py", line=1, quote="x = 1", cause=Place(file, line))
        assert (found.placement, found.caused, found.beside) == ("outside", True, False)


# --- an author who wants a blocker to be beside the change -------------------------------------


def changed(old: str, new: str) -> Two:
    return Two({"a.py": old}, {"a.py": new})


FILLER = "\n".join(f"step_{n}()" for n in range(12))
DEEP = f"class A:\n    @route\n    def f(\n        u,\n    ):\n        if u:\n{indent(FILLER, ' ' * 12)}"


@pytest.mark.parametrize(
    ("old", "new", "fields", "why"),
    [
        (  # one of several equal checks is taken away
            f"check(user)\n{FILLER}\ncheck(user)\n{FILLER}\ncheck(user)",
            f"check(user)\n{FILLER}\n{FILLER}\ncheck(user)",
            {"line": 1, "quote": "check(user)"},
            "its quote also stands on line 14, which the change took away",
        ),
        (  # the line that is added stood there before, elsewhere
            f"eval(text)\n{FILLER}",
            f"eval(text)\n{FILLER}\neval(text)",
            {"line": 1, "quote": "eval(text)"},
            "its quote also stands on line 14, which the change added",
        ),
        (  # a part of an added line is quoted
            f"run(x)\n{FILLER}",
            f"run(x)\n{FILLER}\nif y: run(x)",
            {"line": 1, "quote": "run(x)"},
            "its quote also stands on line 14, which the change added",
        ),
        (  # too common to tell, and the other place is far
            "\n".join(["pass_on()"] * 300),
            "\n".join(["pass_on()"] * 300 + ["pass_on(1)", "pass_on()"]),
            {"line": 1, "quote": "pass_on()"},
            "its quote stands in too many places to tell which is meant",
        ),
        (  # a check becomes a comment
            f"def f(u):\n    need(u)\n    go(u)\n{FILLER}",
            f"def f(u):\n    # fine\n    go(u)\n{FILLER}",
            {"line": 3, "quote": "go(u)"},
            "it stands beside what the change edits",
        ),
        (  # a check and its neighbour become one line
            f"def f(u):\n    need(u)\n    x = 1\n    go(u)\n{FILLER}",
            f"def f(u):\n    x = 2\n    go(u)\n{FILLER}",
            {"line": 3, "quote": "go(u)"},
            "it stands beside what the change edits",
        ),
        (  # the heading of a long function, far from the check that is gone
            f"{DEEP}\n            need(u)\n        go(u)",
            f"{DEEP}\n        go(u)",
            {"line": 2, "quote": "@route"},
            "it heads a block that the change edits",
        ),
        (
            f"void f(int u)\n{{\n{indent(FILLER, '  ')}\n  need(u);\n}}",
            f"void f(int u)\n{{\n{indent(FILLER, '  ')}\n}}",
            {"line": 1, "quote": "void f(int u)"},
            "it heads a block that the change edits",
        ),
    ],
)  # fmt: skip
def test_in_doubt_it_is_not_beside(old: str, new: str, fields: dict[str, Any], why: str) -> None:
    found = changed(old, new).placed(file="a.py", **fields)
    assert found.placement in ("context", "pre-existing")
    assert (found.beside, found.note) == (False, why)


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        # what is gone is gone from another block
        (
            f"def f(u):\n    a(u)\n{FILLER}\ndef g(u):\n    need(u)",
            f"def f(u):\n    a(u)\n{FILLER}\ndef g(u):\n    pass",
            {"line": 1, "quote": "def f(u):"},
        ),
        # what is gone stood behind a block, not in it
        (
            f"if u:\n{indent(FILLER, '    ')}\nneed(u)",
            f"if u:\n{indent(FILLER, '    ')}",
            {"line": 1, "quote": "if u:"},
        ),
        # lines come and go, far from it
        (f"a(u)\n{FILLER}\nc(u)", f"a(u)\n{FILLER}\nb(u)", {"line": 1, "quote": "a(u)"}),
        (f"a(u)\n{FILLER}\nc(u)", f"a(u)\n{FILLER}\nb(u)\nc(u)", {"line": 1, "quote": "a(u)"}),
    ],
)
def test_what_is_proven_is_beside(old: str, new: str, fields: dict[str, Any]) -> None:
    found = changed(old, new).placed(file="a.py", **fields)
    assert (found.placement in ("context", "pre-existing"), found.beside, found.note) == (True, True, "")


def test_the_note_says_what_is_missing() -> None:
    found = MOVED.placed(file="src/app.py", line=25)
    assert found.note == "without a quote that is in the file it cannot be told from the change"
    assert MOVED.placed(file="src/app.py", line=25, quote=EVAL, cause=Place("src/app.py")).note == (
        "its cause src/app.py is a changed file, without a line"
    )


def test_a_finding_without_a_file_has_no_place_whatever_it_claims() -> None:
    claims = {"placement": "context", "beside": True, "caused": True, "mapped": Place("x", 1)}
    found = MOVED.placed(file=" ", **claims)
    assert (found.placement, found.beside, found.caused, found.mapped) == ("", False, False, None)


def test_a_tree_that_contradicts_the_change_proves_nothing() -> None:
    two = changed(f"x(1)\n{FILLER}", f"y(1)\n{FILLER}")
    two.old["a.py"] = ("other",) * 13  # numbers that do not fit the texts
    found = two.placed(file="a.py", line=12, quote="step_10()")
    assert (found.placement, found.beside) == ("outside", False)


# --- moved lines, mapped places ------------------------------------------------------------------


def test_lines_that_only_moved_are_added_and_say_so() -> None:
    body = "def risky(x):\n    return eval(x)"
    two = Two({"a.py": f"{body}\n{FILLER}", "b.py": "pass"}, {"a.py": FILLER, "b.py": f"pass\n{body}"})
    found = two.placed(file="b.py", line=3, quote="return eval(x)")
    assert (found.placement, found.beside) == ("added", False)
    assert found.note == "moved: the change takes the same away at a.py:2"
    new = Two({"b.py": "pass"}, {"b.py": f"pass\n{body}"})
    assert new.placed(file="b.py", line=3, quote="return eval(x)").note == ""


@pytest.mark.parametrize(
    ("fields", "mapped"),
    [
        ({"line": 11, "quote": "require_admin(user)"}, Place("src/app.py", 11)),
        ({"line": 26, "quote": EVAL, "side": "old"}, Place("src/app.py", 25)),
        ({"line": 20, "end_line": 22, "side": "old"}, Place("src/app.py", 19, 21)),
        ({"line": 25, "quote": EVAL}, None),
    ],
)
def test_old_places_have_one_in_the_head(fields: dict[str, Any], mapped: Place | None) -> None:
    assert MOVED.placed(file="src/app.py", **fields).mapped == mapped


def test_the_lines_of_a_replaced_block_map_one_by_one() -> None:
    two = changed("\n".join(f"old_{n}()" for n in range(40)), "\n".join(f"new_{n}()" for n in range(30)))
    mapped = [two.placed(file="a.py", line=n, side="old").mapped for n in (1, 25, 40)]
    assert mapped == [Place("a.py", 1), Place("a.py", 25), Place("a.py", 30)]


def test_a_file_that_is_gone_keeps_its_lines_and_a_renamed_one_has_its_new_name() -> None:
    assert WHOLE.placed(file="gone.py", line=2, quote="os.system(x)").mapped is None
    found = WHOLE.placed(file="dir/a.py", line=1, side="old")
    assert (found.file, found.side, found.mapped) == ("dir/a.py", "old", Place("lib/a.py", 1))


# --- against a naive computation -------------------------------------------------------------------

WORDS = [f"call_{c}()" for c in "abcdef"]
TEXT = st.lists(st.sampled_from([*WORDS, "    " + WORDS[0], "", "# note"]), min_size=1, max_size=14)


def stretches(two: Two) -> tuple[dict[int, int], set[int], set[int]]:
    """Old number of each kept new line, the new ones added, the old ones deleted: from the hunks alone."""
    (file,) = two.change.files
    old, new = two.old["a.py"], two.new["a.py"]
    kept, added, deleted = {}, set(), set()
    a = b = 1
    for hunk in file.hunks:
        first = hunk.new_start + (hunk.new_count == 0)
        while b < first:
            kept[b] = a
            a, b = a + 1, b + 1
        for line in hunk.lines:
            if line[0] == " ":
                kept[b] = a
            added |= {b} if line[0] == "+" else set()
            deleted |= {a} if line[0] == "-" else set()
            a, b = a + (line[0] != "+"), b + (line[0] != "-")
    while b <= len(new):
        kept[b] = a
        a, b = a + 1, b + 1
    assert a == len(old) + 1
    return kept, added, deleted


@settings(deadline=None, max_examples=300)
@given(TEXT, TEXT, st.data())
def test_placement_is_what_the_hunks_say(old: list[str], new: list[str], data: st.DataObject) -> None:
    assume(old != new)
    two = changed("\n".join(old), "\n".join(new))
    kept, added, deleted = stretches(two)
    side = data.draw(st.sampled_from(["old", "new"]))
    lines = old if side == "old" else new
    assume(any("call" in line for line in lines))
    number = data.draw(st.sampled_from([n for n, line in enumerate(lines, 1) if "call" in line]))
    cause = data.draw(st.none() | st.integers(1, 14).map(lambda n: Place("a.py", n)))
    found = Finding(
        "t", file="a.py", line=number, quote=lines[number - 1], side=side, grounding="exact", cause=cause
    )
    (found,) = place([found], two.change, read=two.read, read_base=two.read_base)
    if side == "old" and number in deleted:
        assert found.placement == "deleted"
    elif side == "new" and number in added:
        assert found.placement == "added"
    else:
        head = number if side == "new" else next(b for b, a in kept.items() if a == number)
        shown = {n for h in two.change.files[0].hunks for n in range(h.new_start, h.new_start + h.new_count)}
        expected = "context" if head in shown else "pre-existing"
        assert found.placement == ("outside" if found.caused else expected)
        if found.beside:  # proven: nothing changed holds its text, and no code is gone beside it
            texts = {lines[number - 1].strip()}
            assert not texts & {new[n - 1].strip() for n in added}
            assert not texts & {old[n - 1].strip() for n in deleted}
    assert not (found.beside and found.placement in ("added", "deleted"))
    touched = {*added, *deleted}
    if cause is not None and cause.line in touched:
        assert found.caused
        assert not found.beside
    assert (found.mapped is None) == (side == "new")


@settings(deadline=None)
@given(
    TEXT,
    TEXT,
    st.sampled_from(["a.py", "b/a.py", "b.py", "", "../a.py", "/x/base/a.py"]),
    st.none() | st.integers(-2, 20) | st.integers(),
    st.none() | st.integers(-2, 20) | st.integers(),
    st.none() | st.text(st.sampled_from("cal_()ab \n+-|12"), max_size=24) | st.sampled_from(WORDS),
    st.sampled_from(["new", "old", None]),
    st.none() | st.builds(Place, st.sampled_from(["a.py", "x", ""]), st.none() | st.integers()),
)
def test_nothing_raises_whatever_is_found(
    old: list[str],
    new: list[str],
    file: str,
    line: int | None,
    end: int | None,
    quote: str | None,
    side: str | None,
    cause: Place | None,
) -> None:
    two = changed("\n".join(old), "\n".join(new))
    fields = {"file": file, "line": line, "end_line": end, "quote": quote, "side": side, "cause": cause}
    found = two.placed(**fields)
    assert found.placement in (*PLACEMENTS, "")
    assert (found.placement == "") == (not file)
    if found.beside:
        assert found.grounding in ("exact", "moved") or not two.change.files
        assert found.placement in ("context", "outside", "pre-existing")
    again = replace(found, note="")
    assert two.placed(**{**fields, "file": found.file, "line": found.line}).title == again.title
