"""Scopes: braces, whether two can name one file, and the text that they stand in."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from prun_review import scopes, scopetext
from prun_review.patterns import matcher
from prun_review.scopes import clash, common, expand, inside, neighbours
from prun_review.tasks import Scope, Target


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [
        ("a.py", ["a.py"]),
        ("a/{b,c}.py", ["a/b.py", "a/c.py"]),
        ("{a,b}/{c,d}", ["a/c", "a/d", "b/c", "b/d"]),
        ("a/{b,{c,d}}.py", ["a/b.py", "a/c.py", "a/d.py"]),
        ("a/{b, c}.py", ["a/b.py", "a/c.py"]),
        ("a/{b}.py", ["a/b.py"]),
        ("a/{b,b}.py", ["a/b.py"]),
        ("a{,_test}.py", ["a.py", "a_test.py"]),
        ("a/{b", ["a/{b"]),
        ("a/b}", ["a/b}"]),
        ("{}", ["{}"]),
    ],
)
def test_braces(pattern: str, meant: list[str]) -> None:
    assert list(expand(pattern)) == meant


def test_braces_that_stand_for_too_much_are_refused() -> None:
    assert len(expand("{a,b,c,d}" * 4)) == 256
    with pytest.raises(ValueError, match="more than 500"):
        expand("{a,b,c,d}" * 12)
    with pytest.raises(ValueError, match="more than 500"):
        expand("{" + ",".join(map(str, range(600))) + "}")


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("a.py", "a.py", True),
        ("a.py", "b.py", False),
        ("./a.py", "a.py", True),
        ("a", "a/b.py", True),
        ("a", "ab.py", False),
        ("a/", "a/b/c.py", True),
        ("a.d", "a.d/b.py", True),
        ("a.py", "*/b", False),
        ("apps/*/models.py", "apps/users/m*.py", True),
        ("apps/users/models.py", "apps/users/*/*", False),
        ("apps/*", "apps/users/models.py", False),
        ("apps/**", "apps/users/models.py", True),
        ("apps/*/migrations/*", "apps/users/tests/*.py", False),
        ("**/x.py", "x.py", True),
        ("**/x.py", "a/*/x.py", True),
        ("**/test_*.py", "src/*_test.py", True),
        ("a*.py", "*b.py", True),
        ("a?.py", "ab*.py", True),
        ("a?.py", "abc*.py", False),
        ("a[0-9].py", "a[5-7].py", True),
        ("a[0-4].py", "a[5-7].py", False),
        ("a[!0-9].py", "a?.py", True),
        ("a[!b].py", "ab.py", False),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", True),
        ("app/[id]/page.tsx", "app/i/*", True),
        ("app/[id]/*.tsx", "app/[id]/page.tsx", True),
        ("src/a", "src/A", False),
    ],
)
def test_whether_two_patterns_can_name_one_file(one: str, other: str, meet: bool) -> None:
    assert (common(one, other) is not None) is meet
    assert (common(other, one) is not None) is meet


@pytest.mark.parametrize(
    ("one", "other", "within"),
    [
        ("a.py", "a.py", True),
        ("a/b.py", "a", True),
        ("a/b.py", "a/*", True),
        ("a/b/c.py", "a/*", False),
        ("a/*.py", "a/*", True),
        ("a/*", "a/*.py", False),
        ("a/*/x.py", "a/**", True),
        ("a/**", "a/*", False),
        ("a", "a/**", True),
        ("apps/*/models.py", "apps/orders/*", False),
        ("a[12].py", "a[0-9].py", True),
        ("a[12b].py", "a[0-9].py", False),
        ("src/*_x.py", "src/*x*", True),
    ],
)
def test_whether_one_pattern_lies_within_another(one: str, other: str, within: bool) -> None:
    assert inside(one, other) is within


@pytest.mark.parametrize(
    ("one", "other", "how"),
    [
        (Target("a.py"), Target("a.py"), "same"),
        (Target("a.py", "A"), Target("a.py", "A"), "same"),
        (Target("a.py"), Target("a.py", "A"), "nested"),
        (Target("a.py", "A"), Target("a.py", "A.run"), "nested"),
        (Target("a.py", "A.run"), Target("a.py", "A.stop"), ""),
        (Target("a.py", "A"), Target("a.py", "AB"), ""),
        (Target("a.py", "A"), Target("b.py", "A"), ""),
        (Target("src"), Target("src/a.py", "A"), "nested"),
        (Target("src/*.py"), Target("src/a.py"), "nested"),
        (Target("src/a*.py"), Target("src/*b.py"), "overlap"),
        (Target("src/a.py"), Target("lib/a.py"), ""),
    ],
)
def test_how_two_targets_clash(one: Target, other: Target, how: str) -> None:
    assert clash(one, other) == how
    assert clash(other, one) == how


# --- against brute force ----------------------------------------------------------------------

PARTS = ("a", "b", "ab", "*", "a*", "*b", "?", "a?", "[ab]", "[!a]", "**", "b*a", "?b")
PATTERNS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map("/".join)
WORDS = ["".join(w) for n in (1, 2, 3) for w in product("abx", repeat=n)]
"""Enough to tell any two of the parts apart: none looks at more than three letters."""
NAMES = [
    *WORDS,
    *("/".join(p) for p in product(["a", "b", "ab", "x", "ax", "xb", "bxa", "xxx", "bb"], repeat=2)),
    *("/".join(p) for p in product(["a", "b", "ab", "x", "ax", "xb", "bxa", "bb"], repeat=3)),
    *("/".join(p) for p in product(["a", "b", "ab", "x", "ba"], repeat=4)),
]


@lru_cache(None)
def matched(pattern: str) -> frozenset[str]:
    """Those of the names that a pattern matches, asked one by one."""
    return frozenset(filter(matcher((pattern,)), NAMES))


@settings(max_examples=250, deadline=None)
@given(PATTERNS, PATTERNS)
@example("**/a", "a/**")
@example("*/a", "**/b")
@example("a", "a/b")
@example("b*a", "?b")
def test_patterns_meet_where_brute_force_finds_a_name(one: str, other: str) -> None:
    found = matched(one) & matched(other)
    name = common(one, other)
    if found:
        assert name is not None
    if name is not None and "[" not in name:
        assert matcher((one,))(name), name
        assert matcher((other,))(name), name
        assert "" not in name.split("/")


@settings(max_examples=250, deadline=None)
@given(PATTERNS, PATTERNS)
@example("a/*", "a/**")
@example("**", "*")
@example("[ab]", "?")
def test_no_name_of_a_pattern_within_another_escapes_it(one: str, other: str) -> None:
    last = one.rpartition("/")[2]
    literal = not set("*?[") & set(last)
    own = {name for name in matched(one) if not literal or _ends_with(name, one)}
    beyond, below = own - matched(other), matched(one) - own - matched(other)
    if inside(one, other):
        assert beyond == set() or (literal and below == set())
    elif not beyond and set("*?[") & set(one):
        # What escapes is deeper or longer than brute force looks; the search has its name.
        machines = scopes._machine(one, whole=False), scopes._machine(other)
        name = scopes._search(*machines, lambda left, right: left and not right, one)
        assert name is not None
        assert not matcher((other,))(name)
    else:
        assert beyond


def _ends_with(name: str, pattern: str) -> bool:
    """Whether the name is one of the pattern itself, and not only below one."""
    parts, names = pattern.split("/"), name.split("/")
    return names[-1] == parts[-1] and ("**" in parts or len(names) == len(parts))


@settings(max_examples=100, deadline=None)
@given(st.lists(PATTERNS, max_size=7))
def test_neighbours_leave_out_no_two_that_meet(patterns: list[str]) -> None:
    pairs = list(neighbours(patterns))
    assert len(set(pairs)) == len(pairs)
    assert all(left < right for left, right in pairs)
    for right in range(len(patterns)):
        for left in range(right):
            if common(patterns[left], patterns[right]) is not None:
                assert (left, right) in pairs


def test_patterns_made_to_take_long_end_on_the_safe_side() -> None:
    one = "*a" + "?" * 40 + "x*"
    other = "*b" + "?" * 40 + "y*"
    assert common(one, other) is not None
    assert inside("*a" + "?" * 30 + "*", "*a" + "?" * 31 + "*") is False


# --- the text ---------------------------------------------------------------------------------


def scope(text: str) -> tuple[Scope, list[tuple[str, int]]]:
    """The scope of a section that begins at line 10, and code and line of its faults."""
    entries, faults = scopetext.read(list(enumerate(text.split("\n"), 10)))
    return scopetext.scope_of(entries), [(fault.code, fault.line) for fault in faults]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("CREATE: a.py, b.py", Scope(("a.py", "b.py"))),
        ("CREATE: a/{b,c}.py, d.py", Scope(("a/b.py", "a/c.py", "d.py"))),
        ("create: a.py", Scope(("a.py",))),
        ("- CREATE: a.py", Scope(("a.py",))),
        ("**CREATE**: a.py", Scope(("a.py",))),
        ("**CREATE:** a.py", Scope(("a.py",))),
        ("CREATE: **/a.py, *.md", Scope(("**/a.py", "*.md"))),
        ("CREATE:**/a.py", Scope(("**/a.py",))),
        ("**CREATE:** **/a.py", Scope(("**/a.py",))),
        ("**CREATE**:\n- **/a.py\n* */b.py", Scope(("**/a.py", "*/b.py"))),
        ("**CREATE**:\n- a.py\n- `b c.py`\n* d.py", Scope(("a.py", "b c.py", "d.py"))),
        ("**CREATE**:\n\n- a.py (new)\n- `b.py` - the other\n- c.py # why", Scope(("a.py", "b.py", "c.py"))),
        ("CREATE: a.py,\n  b.py", Scope(("a.py", "b.py"))),
        ("### CREATE\n- a.py\n\n### Modify\n\n- b.py", Scope(("a.py",), (Target("b.py"),))),
        ("CREATE: none\nMODIFY: N/A\nBOUNDARY: -", Scope()),
        ("MODIFY: a.py::A.b, c.py", Scope((), (Target("a.py", "A.b"), Target("c.py")))),
        ("MODIFY: a.py::A.b() # x, y", Scope((), (Target("a.py", "A.b"),))),
        ("MODIFY: a.py::A::b", Scope((), (Target("a.py", "A.b"),))),
        ("MODIFY: a.py::*", Scope((), (Target("a.py"),))),
        ("MODIFY: {a,b}.py::A", Scope((), (Target("a.py", "A"), Target("b.py", "A")))),
        ("BOUNDARY: a/*, b/", Scope((), (), ("a/*", "b"))),
        ("Boundaries: a/*", Scope((), (), ("a/*",))),
        ("CREATE: a.py\nNote: b.py is there", Scope(("a.py",))),
        ("CREATE: a.py\n\nAll of it is small.", Scope(("a.py",))),
        ("some words\nand more", Scope()),
        ("CREATE: a.py\nCREATE: a.py, b.py", Scope(("a.py", "b.py"))),
    ],
)
def test_the_styles_that_scopes_are_written_in(text: str, meant: Scope) -> None:
    found, faults = scope(text)
    assert faults == []
    assert found == Scope(
        tuple(dict.fromkeys(meant.create)), tuple(dict.fromkeys(meant.modify)), meant.boundary
    )


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("\nCREATE: ../a.py", "bad-scope", 11),
        ("CREATE:\n- a.py\n- ~/a.py", "bad-scope", 12),
        ("CREATE: a[z-a].py", "bad-scope", 10),
        ("CREATE: " + "{a,b,c,d}" * 9, "bad-scope", 10),
        ("CREATE: /", "bad-scope", 10),
        ("CREATE: a.py and b.py", "scope-prose", 10),
        ("BOUNDARY: everything else", "scope-prose", 10),
        ("BOUNDARY: a.py::A", "scope-symbol", 10),
        ("CREATE: a.py::A", "scope-symbol", 10),
    ],
)
def test_what_is_no_scope_is_told_at_its_line(text: str, code: str, line: int) -> None:
    assert scope(text)[1] == [(code, line)]


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="CREATE:MODIFYBOUNDARY -*`{},#[]()./\\\n:ab", max_size=60))
def test_no_text_raises(text: str) -> None:
    entries, _ = scopetext.read([(1, f"CREATE: {text}"), *enumerate(text.split("\n"), 2)])
    for entry in entries:
        matcher((entry.target.pattern,))("a")
