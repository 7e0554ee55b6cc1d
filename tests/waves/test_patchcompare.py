"""Patches of one case compared: real patches of real git."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review import treediff
from prun_review.patchcompare import Block, Changed, Compared, Meeting, Side, compare, parse
from prun_review.renderers import patches
from prun_review.written import Breach, Check, Patch
from tests.renderers.sample import HOSTILE, hostile
from tests.renderers.test_escape import is_active
from tests.repokit import ENV, git, repository, write

LINES = "".join(f"line {n}\n" for n in range(1, 31))
OLD: Mapping[str, str | bytes] = {
    **{"a.py": LINES, "b.py": LINES, "gone.txt": "x\n", "data.bin": bytes(range(256))},
    **{"sp ace é\t.txt": "one\ntwo\n", "run.sh": "#!/bin/sh\n"},
}


class Bench:
    """A repository, and patches from its first commit to what a worker left."""

    def __init__(self, where: Path) -> None:
        self.where = repository(where, OLD)
        self.base = git(self.where, "rev-parse", "HEAD")

    def run(self, *args: str, **_: Any) -> bytes:
        return subprocess.run(["git", *args], cwd=self.where, env=ENV, capture_output=True, check=True).stdout

    def side(self, name: str, content: Mapping[str, str | bytes | None], *checks: Check, **more: Any) -> Side:
        git(self.where, "checkout", "-q", "--detach", self.base)
        git(self.where, "clean", "-qfd")
        for path, data in content.items():
            if data is None:
                (self.where / path).unlink()
            else:
                write(self.where, {path: data})
        for path in more.get("executable", ()):
            (self.where / path).chmod(0o755)
        git(self.where, "add", "-A")
        tree = git(self.where, "write-tree")
        git(self.where, "reset", "-q", "--hard", self.base)
        files = treediff.touched(self.run, self.base, tree)
        text = treediff.patch(self.run, self.base, tree)
        return Side(name, Patch(self.base, tree, "d", len(text), files), text, checks)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("patches") / "repo")


def edited(*edits: tuple[int, str], text: str = LINES) -> str:
    """The lines with some of them replaced, from 1; an edit that ends in a plus is put behind its line."""
    lines = text.splitlines()
    for number, new in sorted(edits, reverse=True):
        if new.startswith("+"):
            lines.insert(number, new[1:])
        else:
            lines[number - 1 : number] = new.split("|") if new else []
    return "".join(f"{line}\n" for line in lines)


def met(bench: Bench, left: Mapping[str, Any], right: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    made = compare([bench.side("codex", left), bench.side("sonnet", right)])
    return [(m.path, m.outcome, m.same, m.differ) for m in made.meetings]


@pytest.mark.parametrize(
    ("left", "right", "outcome", "same", "differ"),
    [
        (edited((5, "five")), edited((5, "five")), "same", ("5",), ()),
        (edited((5, "five")), edited((5, "FIVE")), "overlap", (), ("5",)),
        (edited((5, "five")), edited((25, "x")), "alone", (), ()),
        (edited((5, "five")), edited((6, "six")), "alone", (), ()),
        (edited((5, "five"), (20, "x")), edited((5, "five"), (20, "y")), "overlap", ("5",), ("20",)),
        (edited((5, "five"), (7, "")), edited((5, "five")), "alone", ("5",), ()),
        (edited((5, ""), (6, ""), (7, "")), edited((6, "six")), "overlap", (), ("5-7",)),
        (edited((5, "+new")), edited((5, "+new")), "same", ("after 5",), ()),
        (edited((5, "+new")), edited((5, "+other")), "overlap", (), ("after 5",)),
        (edited((5, "+new")), edited((6, "+new")), "alone", (), ()),
        (edited((5, "+new")), edited((5, "five")), "alone", (), ()),
        (edited((5, "+new")), edited((5, "a|b"), (6, "c")), "overlap", (), ("after 5",)),
        (LINES.rstrip("\n"), edited((30, "line 30 ")), "overlap", (), ("30",)),
        (LINES.rstrip("\n"), LINES.rstrip("\n"), "same", ("30",), ()),
        (LINES.replace("\n", "\r\n"), edited((3, "x")), "overlap", (), ("1-30",)),
    ],
)
def test_where_two_patches_of_a_file_agree(
    bench: Bench, left: str, right: str, outcome: str, same: tuple[str, ...], differ: tuple[str, ...]
) -> None:
    assert met(bench, {"a.py": left}, {"a.py": right}) == [("a.py", outcome, same, differ)]


MOVED = {"b.py": None, "moved.py": LINES}


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ({"data.bin": b"\0new"}, {"data.bin": b"\0new"}, ("data.bin", "same", (), ())),
        ({"data.bin": b"\0new"}, {"data.bin": b"\0old"}, ("data.bin", "overlap", (), ("the whole file",))),
        ({"gone.txt": None}, {"gone.txt": None}, ("gone.txt", "same", ("1",), ())),
        ({"gone.txt": None}, {"gone.txt": "y\n"}, ("gone.txt", "overlap", (), ("the whole file",))),
        ({"new.py": "a\n"}, {"new.py": "a\n"}, ("new.py", "same", ("after 0",), ())),
        ({"new.py": "a\n"}, {"new.py": "b\n"}, ("new.py", "overlap", (), ("after 0",))),
        (MOVED, MOVED, ("moved.py", "same", (), ())),
        (MOVED, {"moved.py": "else\n"}, ("moved.py", "overlap", (), ("the whole file",))),
        (
            {"sp ace é\t.txt": "one\n2\n"},
            {"sp ace é\t.txt": "one\n2\n"},
            ("sp ace é%09.txt", "same", ("2",), ()),
        ),
        ({"empty": ""}, {"empty": ""}, ("empty", "same", (), ())),
    ],
)
def test_files_of_all_kinds(
    bench: Bench, left: Mapping[str, Any], right: Mapping[str, Any], expected: tuple[Any, ...]
) -> None:
    assert met(bench, left, right) == [expected]


def test_a_mode_is_part_of_the_change(bench: Bench) -> None:
    left = bench.side("a", {}, executable=["run.sh"])
    same = bench.side("b", {}, executable=["run.sh"])
    right = bench.side("c", {"run.sh": "#!/bin/bash\n"})
    outcomes = [(m.left, m.right, m.outcome) for m in compare([left, same, right]).meetings]
    assert outcomes == [("a", "b", "same"), ("a", "c", "overlap"), ("b", "c", "overlap")]


def test_lines_that_look_like_a_patch_are_lines(bench: Bench) -> None:
    odd = "diff --git a/x b/x\n@@ -1,2 +1,2 @@\n-- a\n++ b\n\\ No newline\n"
    side = bench.side("codex", {"a.py": odd + LINES, "b.py": edited((5, "five"))})
    assert set(parse(side.text)) == {"a.py", "b.py"}
    (block,) = parse(side.text)["a.py"].blocks
    assert block == Block(0, (), tuple(odd.encode().splitlines()))


TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "@@ -1 +1 @@", "-x", "+y", "\\ z"]), max_size=12)


@settings(max_examples=40, deadline=None)
@given(TEXTS, TEXTS, st.booleans(), st.booleans())
def test_the_blocks_make_the_new_file_of_the_old_one(
    bench: Bench, old: list[str], new: list[str], old_end: bool, new_end: bool
) -> None:
    before, after = ("\n".join(ls) + "\n" * (bool(ls) and e) for ls, e in ((old, old_end), (new, new_end)))
    ids = []
    for text in (before, after):
        git(bench.where, "reset", "-q", "--hard", bench.base)
        blob = git(bench.where, "hash-object", "-w", "--stdin", stdin=text.encode())
        git(bench.where, "update-index", "--add", "--cacheinfo", f"100644,{blob},f")
        ids.append(git(bench.where, "write-tree"))
    made = parse(treediff.patch(bench.run, *ids)).get("f", Changed("", ()))
    lines: list[bytes] = _marked(before)
    for block in reversed(made.blocks):
        at = block.start - 1 if block.gone else block.start
        assert tuple(lines[at : at + len(block.gone)]) == block.gone
        lines[at : at + len(block.gone)] = block.come
    assert lines == _marked(after)


def _marked(text: str) -> list[bytes]:
    """Lines as a patch tells them apart: one without an end is another one."""
    lines = text.encode().split(b"\n")
    if lines[-1] == b"":
        return lines[:-1]
    return [*lines[:-1], lines[-1] + b"\n\\"]


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text("@-+ \\\n,0123456789adfgit/", max_size=200).map(str.encode))
def test_any_text_can_be_looked_at(text: bytes) -> None:
    assert isinstance(parse(b"diff --git a/x b/x\n" + text), dict)


def test_patches_of_different_bases_are_compared_by_their_files(bench: Bench) -> None:
    left = bench.side("codex", {"a.py": edited((5, "five"))})
    other = Side("sonnet", Patch("f" * 40, "t", files=left.patch.files), left.text)
    made = compare([left, other])
    assert (made.shared, made.meetings, made.note) == (("a.py",), (), "they start from different commits")


# --- shown ------------------------------------------------------------------------------------


def shown(bench: Bench) -> Compared:
    good, bad = Check("pytest -q", 0), Check("pytest -q", 1)
    slow = Check("mypy src", -9, "timeout")
    left = bench.side("codex", {"a.py": edited((5, "five"), (20, "x")), "new.py": "a\nb\n"}, good, slow)
    right = bench.side("sonnet", {"a.py": edited((5, "five"), (20, "y")), "gone.txt": None}, bad)
    patch = replace(right.patch, breaches=(Breach("outside-scope", "gone.txt", "not its"),))
    return compare([left, Side("sonnet", patch, right.text, right.checks)])


def test_two_patches_side_by_side_as_text(bench: Bench) -> None:
    assert patches.text(shown(bench), "panels/fix/probe_login.py::probe_login") == TEXT


TEXT = """\
PATCHES  panels/fix/probe_login.py::probe_login
  executor  files  added  deleted  verified  breaches
  codex         2      4        2    1 of 2         0
  sonnet        2      2        3    0 of 1         1

FILES: 1 of 3 touched by all 2
  file      codex     sonnet
  a.py      modified  modified
  gone.txt  -         deleted
  new.py    added     -

VERIFY
  command    codex             sonnet
  pytest -q  passed            failed (exit 1)
  mypy src   failed (timeout)  not run

WHERE THEY AGREE
  a.py: codex and sonnet: same at 5; differ at 20

NOT ALLOWED
  sonnet: [outside-scope] gone.txt: not its
"""


def test_two_patches_side_by_side_as_markdown(bench: Bench) -> None:
    page = patches.render(shown(bench), "probe_login")
    for line in (
        "# Patches for `probe_login`",
        "| codex | 2 | 4 | 2 | 1 of 2 | 0 |",
        "| `gone.txt` | - | deleted |",
        "| `pytest -q` | passed | failed (exit 1) |",
        "| `a.py` | codex and sonnet | same at 5; differ at 20 |",
        r"- sonnet: \[outside-scope\] gone.txt: not its",
    ):
        assert line in page.splitlines()


def test_nothing_of_two_patches_is_active(bench: Bench) -> None:
    made = shown(bench)
    sides = tuple(
        Side(s.name + HOSTILE, s.patch, b"", tuple(Check(c.command + HOSTILE, c.code) for c in s.checks))
        for s in made.sides
    )
    files = {path + HOSTILE: states for path, states in made.files.items()}
    meetings = tuple(Meeting(m.path + HOSTILE, m.left, m.right + HOSTILE, m.outcome) for m in made.meetings)
    odd = Compared(sides, files, meetings)
    for out in (patches.text(odd, "x" + HOSTILE), patches.render(odd, hostile("x"))):
        assert not is_active(out)
        assert "\x1b" not in out
        assert "<img" not in out or out.startswith("PATCHES")
