"""What a prompt says of a change: shown diffs, and the lines of CHANGE.diff for the others."""

from __future__ import annotations

from collections.abc import Sequence

from prun_review.change import Listed
from prun_review.diffs import Diffs
from prun_review.model import Brief, Unit

TEXTS = {
    "a.py": "=== a.py (modified, +1 -0)\n@@ -1,0 +1,1 @@\n  1 |+=== b.py (modified)\n",
    "b.py": "=== b.py (modified, +2 -0)\n@@ -1,0 +1,2 @@\n  1 |+one\n  2 |+two\n",
    "c.py": "=== c.py (deleted, +0 -1)\n@@ -1,1 +0,0 @@\n1   |-gone\n",
}


class Tree:
    """Gives the diffs above."""

    listing = tuple(Listed(path, "text", len(text)) for path, text in TEXTS.items())

    def slice_text(self, names: Sequence[str]) -> str:
        return "".join(TEXTS[name] for name in names)


def of(scope: str, files: tuple[str, ...], inlined: tuple[str, ...]) -> Unit:
    brief = Brief("x", scope=scope)
    return Unit("p::a", "slug", "p::a", "panels", "codex", brief, files=files, inlined=inlined)


def test_what_is_not_shown_is_found_by_its_lines() -> None:
    whole = "".join(TEXTS.values())
    diffs = Diffs(Tree(), "/beside", "A title")
    diff = diffs(of("diff", ("a.py", "b.py", "c.py"), ("a.py",)))
    assert diff is not None
    assert (diff.text, diff.beside, diff.about) == (TEXTS["a.py"].rstrip("\n"), "/beside", "A title")
    assert diff.named_only == (("b.py", "lines 4 to 7"), ("c.py", "lines 8 to 10"))
    for name, where in diff.named_only:
        first, last = (int(word) for word in where.split() if word.isdecimal())
        lines = whole.split("\n")[first - 1 : last]
        assert "\n".join([*lines, ""]) == TEXTS[name]


def test_all_may_be_shown_or_none() -> None:
    diffs = Diffs(Tree(), "/beside", "")
    shown = diffs(of("diff", ("b.py",), ("b.py",)))
    assert shown is not None
    assert (shown.named_only, shown.about) == ((), "")
    named = diffs(of("diff", ("b.py",), ()))
    assert named is not None
    assert (named.text, named.named_only) == ("", (("b.py", "lines 4 to 7"),))


def test_a_question_about_the_tree_is_told_nothing() -> None:
    assert Diffs(Tree(), "/beside", "A title")(of("tree", ("a.py",), ())) is None
