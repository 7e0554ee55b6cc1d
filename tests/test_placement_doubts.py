"""Doubts that keep a blocker from being reported only: what an author of a change might lean on."""

from __future__ import annotations

from dataclasses import replace
from textwrap import indent
from typing import Any

import pytest

from prun_review.change import Change, FileChange, Hunk
from prun_review.gone import lost
from prun_review.grounding import ground
from prun_review.model import ChangedFile, Finding, Place
from prun_review.placement import place

from .changekit import Two

FILLER = "\n".join(f"step_{n}()" for n in range(30))
BODY = indent(FILLER, "    ")
FAR = {"line": 15, "quote": "step_14()"}


def changed(old: str, new: str, name: str = "a.py", **others: str) -> Two:
    """One file that changes, and others that do not."""
    rest = {path.replace("__", "/") + ".py": text for path, text in others.items()}
    return Two({name: old, **rest}, {name: new, **rest})


def known_as(two: Two, name: str, identity: str) -> Two:
    """The same with the modes and blob ids of one file."""
    two.change = Change(
        tuple(replace(f, identity=identity) if f.path == name else f for f in two.change.files)
    )
    return two


def held(found: Finding) -> tuple[str, bool, str]:
    """What the rules say of a finding."""
    return found.placement, found.beside, found.note


# --- beside an edit, and at the heading of a block -------------------------------------------------

BESIDE = "it stands beside what the change edits"
HEADS = "it heads a block that the change edits"


@pytest.mark.parametrize(
    ("old", "new", "quote", "why"),
    [
        # nothing goes and a line comes: what stands below cannot be reached any more
        (f"a()\ncheck(u)\n{FILLER}", f"a()\nreturn\ncheck(u)\n{FILLER}", "check(u)", BESIDE),
        (f"{FILLER}\ndef f(u):\n    pass", f"{FILLER}\n@public\ndef f(u):\n    pass", "def f(u):", BESIDE),
        # a check goes and as many lines of a text come
        (f"{FILLER}\nif not u:\n    stop(u)\ngive(u)", f'{FILLER}\n"""\nfine"""\ngive(u)', "give(u)", BESIDE),
        # code that only begins with a comment goes
        (f"{FILLER}\n/* who */ if (!t) abort();\ngive(t);", f"{FILLER}\ngive(t);", "give(t);", BESIDE),
        # the last line of a long body: replaced, added, deleted, a comment even
        (f"def f(u):\n{BODY}\n    old(u)", f"def f(u):\n{BODY}\n    new(u)", "def f(u):", HEADS),
        (f"def f(u):\n{BODY}", f"def f(u):\n{BODY}\n    new(u)", "def f(u):", HEADS),
        (f"def f(u):\n{BODY}\n    old(u)", f"def f(u):\n{BODY}", "def f(u):", HEADS),
        (f"def f(u):\n{BODY}", f"def f(u):\n{BODY}\n    # noqa", "def f(u):", HEADS),
        # lines that come above shift it
        (
            f"{FILLER}\ndef f(u):\n{BODY}\n    old(u)",
            f"a = 1\n{FILLER}\ndef f(u):\n{BODY}",
            "def f(u):",
            HEADS,
        ),
        # a block above it goes in the same stretch
        (f"def f(u):\n{BODY}\n    old(u)\nx = 1", f"def f(u):\n{BODY}", "def f(u):", HEADS),
        # decorators, a signature of several lines, a class around it
        (
            f"@one\n@two(\n    1,\n)\ndef f(\n    u,\n):\n{BODY}",
            f"@one\n@two(\n    1,\n)\ndef f(\n    u,\n):\n{BODY}\n    x()",
            "@one",
            HEADS,
        ),
        (
            f"class A:\n    @two\n    def f(\n        u,\n    ):\n{indent(BODY, '    ')}",
            f"class A:\n    @two\n    def f(\n        u,\n    ):\n{indent(BODY, '    ')}\n        x()",
            "class A:",
            HEADS,
        ),
        # a call, a key, a bracket, a condition of the preprocessor
        (
            f"connect(\n{BODY}\n    verify=True,\n)",
            f"connect(\n{BODY}\n    verify=False,\n)",
            "connect(",
            HEADS,
        ),
        ("steps:\n" + "- run\n" * 20 + "- verify", "steps:\n" + "- run\n" * 20, "steps:", HEADS),
        (
            f"int f(int u) {{\n{FILLER}\nneed(u);\n}}",
            f"int f(int u) {{\n{FILLER}\n}}",
            "int f(int u) {",
            HEADS,
        ),
        (
            f"int f(int u)\n{{\n{FILLER}\nneed(u);\n}}",
            f"int f(int u)\n{{\n{FILLER}\n}}",
            "int f(int u)",
            HEADS,
        ),
        (f"#if AB\n{FILLER}\n# define STRICT 1\n#endif", f"#if AB\n{FILLER}\n#endif", "#if AB", HEADS),
        (
            f"int f() {{\n{FILLER}\nold_1;\n}}\na;\na;\na;\na;\nint g() {{\n{FILLER}\nold_2;\n}}",
            f"int f() {{\n{FILLER}\nnew_1;\n}}\na;\na;\na;\na;\nint g() {{\n{FILLER}\nnew_2;\n}}",
            "int g() {",
            HEADS,
        ),
        (f"@one\n# why\ndef f():\n{BODY}", f"@one\n# why\ndef f():\n{BODY}\n    x()", "@one", HEADS),
        (
            f"int f(int u)\n#if AB\n{{\n{BODY}\n}}",
            f"int f(int u)\n#if AB\n{{\n{BODY}\n    x();\n}}",
            "int f(int u)",
            HEADS,
        ),
        # what stands less deep in between ends no block: a comment, a directive, a text of several lines
        (
            f"def f(u):\n{BODY}\n# note\n    old(u)",
            f"def f(u):\n{BODY}\n# note\n    new(u)",
            "def f(u):",
            HEADS,
        ),
        (
            f'def f(u):\n{BODY}\n    q = """\nselect\n"""\n    old(u)',
            f'def f(u):\n{BODY}\n    q = """\nselect\n"""\n    new(u)',
            "def f(u):",
            HEADS,
        ),
    ],
)
def test_near_an_edit_and_above_it_nothing_is_proven(old: str, new: str, quote: str, why: str) -> None:
    found = changed(old, new).placed(file="a.py", quote=quote)
    assert found.placement == ("context" if why == BESIDE else "pre-existing")
    assert (found.beside, found.note) == (False, why)


@pytest.mark.parametrize(
    ("old", "new", "quote"),
    [
        # another block
        (
            f"def f(u):\n{BODY}\n\ndef g(u):\n    a()\n    b()\n    c()\n    old(u)",
            f"def f(u):\n{BODY}\n\ndef g(u):\n    a()\n    b()\n    c()\n    new(u)",
            "def f(u):",
        ),
        (
            f"int f() {{\n{FILLER}\n}}\n{FILLER}\nold();",
            f"int f() {{\n{FILLER}\n}}\n{FILLER}\nnew();",
            "int f() {",
        ),
        (
            f"#if AB\n{FILLER}\n#endif\n{FILLER}\nold();",
            f"#if AB\n{FILLER}\n#endif\n{FILLER}\nnew();",
            "#if AB",
        ),
        (
            "one:\n" + "- run\n" * 20 + "two:\n" + "- run\n" * 20 + "- verify",
            "one:\n" + "- run\n" * 20 + "two:\n" + "- run\n" * 20,
            "one:",
        ),
        # behind a block, and in a block without being its heading
        (f"def f(u):\n{BODY}\nold = 1", f"def f(u):\n{BODY}\nnew = 1", "def f(u):"),
        (f"def f(u):\n{BODY}\n    old(u)", f"def f(u):\n{BODY}\n    new(u)", "step_14()"),
    ],
)
def test_far_from_every_edit_it_is_beside(old: str, new: str, quote: str) -> None:
    assert held(changed(old, new).placed(file="a.py", quote=quote))[:2] == ("pre-existing", True)


# --- names that the change takes away --------------------------------------------------------------

USER = "import app\n\n\ndef run():\n    return app.load_all(3)"
APP = f"def load_all(n):\n    return n\n\n\n{FILLER}"


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"line": 5, "quote": "return app.load_all(3)"}, "load_all"),
        ({"line": 5}, "load_all"),
        ({"line": 5, "side": "old"}, "load_all"),
        ({"line": 4, "end_line": 5, "quote": "def run():"}, "load_all"),
        ({"line": 5, "quote": "return app"}, "load_all"),  # the rest of its line counts
        ({"line": 1, "rule": "E1101", "title": "Module 'app' has no 'load_all' member"}, "load_all"),
        ({"line": 1, "rule": "E1101", "detail": "load_all is not there"}, "load_all"),
        ({"title": "load_all is gone"}, "load_all"),  # no line: the title is all there is
        ({"line": 1, "quote": "import app"}, ""),
        ({"line": 1, "title": "load_all"}, ""),
        ({"line": 4, "quote": "def run():"}, ""),
        ({}, ""),
    ],
)
def test_who_speaks_of_a_name_that_is_gone_speaks_of_the_change(fields: dict[str, Any], name: str) -> None:
    two = changed(APP, APP.replace("load_all", "load_some"), "app.py", use=USER)
    (grounded,) = ground([Finding(**{"title": "t", "file": "use.py", **fields})], two.read, **two.trees)
    (found,) = place([grounded], two.change, read=two.read, read_base=two.read_base)
    assert found.placement in ("pre-existing", "outside")
    assert found.beside is not bool(name)
    assert (f"the change takes {name!r} away" in found.note) is bool(name)


def test_a_long_quote_is_searched_to_its_end() -> None:
    text = "\n".join(f"run_{n}()" for n in range(80)) + "\nload_all(1)"
    two = changed(APP, APP.replace("load_all", "load_some"), "app.py", use=text)
    assert not two.placed(file="use.py", line=1, quote=text).beside
    assert two.placed(file="use.py", line=1, quote="run_0()").beside


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        ("import os\nfrom a import (\n    one,\n    two,\n)", "from a import (\n    one,\n)", {"os", "two"}),
        # a use of it, or a remark about it, does not bring it back where it was declared
        ("import os", "os.getcwd()", {"os"}),
        ("import os", "# import os", {"os"}),
        ("LIMIT = 3", "check(LIMIT)", {"LIMIT"}),
        ("import os", "import os, sys", set()),
        ("LIMIT = 3", "LIMIT = 4", set()),
        ("old_one, other = 3, 4", "other = 4", {"old_one"}),
        # what was only used is back where it is used
        ("need(user)", "user.need()", set()),
        ("need(user)", "# need(user)", {"need", "user"}),
        ("need(user)", "* need(user)", {"need", "user"}),
        # moved
        ("def load(name):\n    return name\nx = 1", "x = 1\ndef load(name):\n    return name", set()),
        # comments take nothing away; what only begins like one does
        ("# see os\n// use os\n/* os */\n<!-- os -->\n/* os", "", set()),
        ("/* who */ if (!tk) abort();", "", {"who", "tk", "abort"}),
        ("<!-- a --> <b>bold</b>", "", {"bold"}),
        ("# define STRICT 1\n#include <os.h>", "", {"STRICT", "os"}),
        ("#[derive(Debug)]", "", {"derive", "Debug"}),
        # single letters and keywords are no names
        ("for i in range(n): return None", "", set()),
        ("x" * 500, "", set()),
    ],
)
def test_names_that_are_gone(old: str, new: str, gone: set[str]) -> None:
    assert lost(changed(f"{old}\n{FILLER}", f"{new}\n{FILLER}").change).names == gone


def test_a_name_that_comes_back_in_another_file_is_not_gone_and_prose_takes_none() -> None:
    moved = Two({"a.py": "def load(): 1", "b.py": ""}, {"a.py": "", "b.py": "def load(): 1"})
    assert lost(moved.change).names == set()
    assert lost(changed("the user loads", "nothing", "README.md").change).names == set()
    assert lost(changed("requests==2", "", "need.txt").change).names == {"requests"}


NAMING = """\
from src.auth import go
require('./to-do')
from one import kept
from two import kept
import pk
from q import x"""
RENAMED = Two(
    {
        "src/auth.py": "v = 1",
        "lib/to-do.js": "v = 1",
        "one/kept.py": "v = 1",
        "pk/__init__.py": "v = 1",
        "q/x.py": "v = 1",
        "use.py": NAMING,
    },
    {"src/login.py": "v = 1", "two/kept.py": "v = 1", "use.py": NAMING},
    renamed={"src/login.py": "src/auth.py", "two/kept.py": "one/kept.py"},
)


@pytest.mark.parametrize(
    ("line", "name"), [(1, "src.auth"), (2, "to-do"), (3, "one.kept"), (4, ""), (5, "pk"), (6, "q.x")]
)
def test_a_file_that_is_gone_takes_its_module_away(line: int, name: str) -> None:
    found = RENAMED.placed(file="use.py", line=line)
    assert held(found) == ("outside", not name, name and f"the change takes {name!r} away")


def test_a_long_change_is_read_once_and_its_names_are_all_known() -> None:
    lines = tuple(f"-name_{n} = {n}" for n in range(20_000))
    record = ChangedFile("big.py", "big.py")
    change = Change((FileChange(record, (Hunk(1, len(lines), 0, 0, lines),)),))
    assert len(lost(change).names) == 20_000
    assert lost(change) is lost(replace(change))


# --- the file's mode, masked text, links -----------------------------------------------------------


def test_a_file_with_another_mode_proves_nothing() -> None:
    script = f"#!/bin/sh\n{FILLER}\nold"
    why = "the change alters the mode of the file"
    same = changed(script, script, "x.sh")
    same.change = Change((FileChange(ChangedFile("x.sh", "x.sh", kind="mode")),))
    assert held(same.placed(file="x.sh", line=1, quote="#!/bin/sh")) == ("pre-existing", False, why)
    for identity, note in (("100644 1 100755 2", why), ("100644 1 100644 2", "")):
        both = known_as(changed(script, script.replace("old", "new"), "x.sh"), "x.sh", identity)
        found = both.placed(file="x.sh", line=1, quote="#!/bin/sh")
        assert held(found) == ("pre-existing", not note, note)
        found = both.placed(file="x.sh", line=2, quote="step_0()", cause=Place("x.sh", 1))
        assert found.caused is bool(note)


@pytest.mark.parametrize(
    ("record", "identity", "placement", "beside"),
    [
        (ChangedFile("k.py", "k.py"), "100644 1 100644 2", "added", False),
        (ChangedFile("k.py", "k.py"), "", "added", False),
        (ChangedFile("k.py", "k.py", kind="link"), "", "added", False),
        (ChangedFile("k.py", "old.py", "renamed"), "100644 1 100644 2", "added", False),
        (ChangedFile("k.py", "old.py", "renamed"), "100644 1 100644 1", "pre-existing", True),
        (ChangedFile("k.py", "old.py", "renamed"), "", "pre-existing", True),
    ],
)
def test_where_only_masked_text_differs_the_file_counts_as_added(
    record: ChangedFile, identity: str, placement: str, beside: bool
) -> None:
    text = "KEY = '********'\nuse(KEY)"
    two = Two({record.old_path: text, "b.py": FILLER}, {"k.py": text, "b.py": FILLER})
    two.change = Change((FileChange(record, (), identity),))
    found = two.placed(file="k.py", line=2, quote="use(KEY)")
    assert (found.placement, found.beside) == (placement, beside)
    found = two.placed(file="b.py", line=2, cause=Place("k.py", 2))
    assert (found.caused, found.beside) == (True, False)


def test_a_masked_line_of_an_edited_file_proves_nothing() -> None:
    two = changed(f"KEY = '********'\n{FILLER}\nold", f"KEY = '********'\n{FILLER}\nnew")
    why = "what differs in a masked line cannot be told"
    assert held(two.placed(file="a.py", line=1, quote="KEY = ")) == ("pre-existing", False, why)


def test_where_a_link_newly_leads_nothing_is_proven() -> None:
    files = {"a/x.py": "ok()", "b/x.py": "evil()", "bb/x.py": "evil()"}
    two = Two({**files, "in/lib": "../a"}, {**files, "in/lib": "../b"})
    (link,) = two.change.files
    two.change = Change((replace(link, file=replace(link.file, kind="link")),))
    assert held(two.placed(file="b/x.py", line=1)) == ("outside", False, "the change makes in/lib lead to it")
    assert two.placed(file="bb/x.py", line=1).beside
    assert two.placed(file="a/x.py", line=1).beside


# --- causes ----------------------------------------------------------------------------------------

AUTH = f"import db\n\n\ndef handle(t):\n    check(t)\n    return give(t)\n\n\n{FILLER}"
TREES = Two(
    {
        "src/auth.py": AUTH,
        "src/same.py": AUTH,
        "lib/twice.py": "v = 1",
        "src/twice.py": "v = 1",
        "gone/one.py": "v = 1",
        "use.py": FILLER,
    },
    {
        "src/auth.py": AUTH.replace("    check(t)\n", ""),
        "src/same.py": AUTH,
        "lib/twice.py": "v = 2",
        "src/twice.py": "v = 2",
        "use.py": FILLER,
    },
)


@pytest.mark.parametrize(
    ("file", "line", "caused", "beside"),
    [
        # the hunk holds lines 2 to 8 of the base
        ("src/auth.py", 5, True, False),
        ("auth.py", 5, True, False),
        ("auth.py:5", None, True, False),
        ("src/auth.py (handle)", 5, True, False),
        ("handle() in src/auth.py:5", None, True, False),
        ("`src/auth.py`#handle", 5, True, False),
        ("src/auth.py::handle", 5, True, False),
        ("src::auth", 5, True, False),
        ("src.auth", 5, True, False),
        ("src.auth.handle", 5, True, False),
        ("src.auth", None, False, False),
        ("gone.one", None, True, False),
        ("gone/one.py", 99, True, False),
        # in the right file, beside every hunk
        ("src/auth.py", 18, False, False),
        ("auth.py", 18, False, False),
        ("src/auth.py", 19, False, True),
        ("auth.py", 19, False, True),
        ("src/auth.py", 999, False, False),  # no such line
        ("src/auth.py", 0, False, False),
        # no file at all, or one of several
        ("CHANGE.diff", 9, False, False),
        ("/beside/CHANGE.diff", 9, False, False),
        ("twice.py", 1, False, False),
        ("twice", 1, False, False),
        ("nope.py", 5, False, False),
        ("the caller", None, False, False),
        # a file that the change leaves alone, and none
        ("src/same.py", 5, False, True),
        ("same.py:5", None, False, True),
        ("use.py", 3, False, True),
        (" ", 5, False, True),
    ],
)
def test_a_cause_is_looked_for(file: str, line: int | None, caused: bool, beside: bool) -> None:
    for at in (FAR, {"line": 15}):
        found = TREES.placed(file="use.py", cause=Place(file, line), **at)
        assert (found.caused, found.beside) == (caused, beside), found.note
        assert found.beside or found.caused or "its cause" in found.note
