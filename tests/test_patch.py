"""Git's output read, and a file's change as reviewers see it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review import patch
from prun_review.change import FileChange, Hunk
from prun_review.model import ChangedFile
from prun_review.patch import Pair, Section, pairs, parse, text_of

from .repokit import ENV, repository, write

HOSTILE = [
    "diff --git a/0 b/0",
    "@@ -1 +1 @@",
    "--- a/0",
    "+++ b/0",
    "\\ No newline at end of file",
    "Binary files a/0 and b/0 differ",
    "-minus",
    "+plus",
    "",
    " ",
    "\x0c\x85\u2028not a line end",
    "\ttab",
]


def diff(repo: Path, old: dict[str, bytes], new: dict[str, bytes]) -> bytes:
    """What git prints between two sets of files."""
    shas = []
    for content in (old, new):
        for path in repo.iterdir():
            if path.name != ".git":
                path.unlink()
        write(repo, content)
        for argv in (["add", "-A"], ["write-tree"]):
            done = subprocess.run(["git", *argv], cwd=repo, env=ENV, capture_output=True, check=True)
        shas.append(done.stdout.decode().strip())
    argv = ["git", "diff-tree", "-r", "-p", *shas]
    return subprocess.run(argv, cwd=repo, env=ENV, capture_output=True, check=True).stdout


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("patch") / "repo", {"0": "x\n"})


def test_lines_that_look_like_a_patch_are_lines(repo: Path) -> None:
    old = "".join(f"{line}\n" for line in HOSTILE).encode()
    new = "".join(f"{line}\n" for line in reversed(HOSTILE)).encode()
    found = parse(diff(repo, {"0": old, "1": b"a\n"}, {"0": new, "1": b"b\n"}))
    assert sorted(found) == [0, 1]
    texts = [line for hunk in found[0].hunks for line in hunk.lines]
    assert [t[1:] for t in texts if t[0] in " -"] == HOSTILE
    assert [t[1:] for t in texts if t[0] in " +"] == HOSTILE[::-1]
    assert found[1].hunks == (Hunk(1, 1, 1, 1, ("-a", "+b")),)


@pytest.mark.parametrize(
    ("old", "new", "lines", "note"),
    [
        (b"a\r\nb\r\n", b"a\r\nc\r\n", (" a", "-b", "+c"), ""),
        (b"a\r\n", b"a\n", ("-a", "+a"), "CRLF ends 1 of 1 deleted, 0 of 1 added lines"),
        (
            b"a\r\nb\r\n",
            b"a\r\nb\r\nc\n",
            (" a", " b", "+c"),
            "CRLF ends 0 of 1 added, 2 of 2 other lines",
        ),
        (b"a", b"a\n", ("-a", "+a"), "only in the base no line end follows the last line"),
        (b"a\n", b"a", ("-a", "+a"), "only in the head no line end follows the last line"),
        (b"a", b"b", ("-a", "+b"), ""),
        (b"a\r\nb", b"c\r\nb", ("-a", "+c", " b"), ""),
        (b"a\xe9\n", b"a\xc3\xa9\n", ("-a\ufffd", "+a\xe9"), ""),
        (b"a\rb\n", b"a\rc\n", ("-a\rb", "+a\rc"), ""),
    ],
)
def test_line_ends_and_encodings(
    repo: Path, old: bytes, new: bytes, lines: tuple[str, ...], note: str
) -> None:
    section = parse(diff(repo, {"0": old}, {"0": new}))[0]
    assert section.hunks[0].lines == lines
    assert section.note == note
    assert not section.binary


def test_files_without_lines(repo: Path) -> None:
    found = parse(diff(repo, {"0": b"\0a", "2": b""}, {"0": b"\0b", "1": b""}))
    assert found == {0: Section(binary=True), 1: Section(), 2: Section()}


def test_a_file_that_became_a_link_is_one_hunk() -> None:
    out = (
        b"diff --git a/7 b/7\ndeleted file mode 100644\nindex 1..0\n--- a/7\n+++ /dev/null\n@@ -1,2 +0,0 @@\n"
        b"-one\n-two\ndiff --git a/7 b/7\nnew file mode 120000\nindex 0..2\n--- /dev/null\n+++ b/7\n"
        b"@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n"
    )
    assert parse(out)[7].hunks == (Hunk(1, 2, 1, 1, ("-one", "-two", "+/etc/passwd")),)


def test_pairs() -> None:
    raw = (
        b":100644 100644 1 2 M\0a\nb\0:000000 100644 0 2 A\0new\0:100644 000000 1 0 D\0gone\0"
        b":100644 100644 1 2 R087\0old name\0M\0:100644 120000 1 2 T\0t\0"
    )
    assert pairs(raw) == (
        Pair(b"a\nb", b"a\nb"),
        Pair(b"", b"new"),
        Pair(b"gone", b""),
        Pair(b"old name", b"M", 87),
        Pair(b"t", b"t"),
    )
    assert pairs(b"") == ()


class TestText:
    def test_both_numbers_stand_on_every_line(self) -> None:
        hunks = (
            Hunk(98, 3, 98, 4, (" a", "+b", " c", " d"), "def f():"),
            Hunk(200, 1, 201, 0, ("-gone",)),
        )
        file = FileChange(ChangedFile("new.py", "old.py", "renamed", added=1, deleted=1), hunks)
        assert text_of(file) == (
            "=== new.py (renamed from old.py, +1 -1)\n"
            "@@ -98,3 +98,4 @@ def f():\n"
            " 98  98 | a\n"
            "     99 |+b\n"
            " 99 100 | c\n"
            "100 101 | d\n"
            "@@ -200,1 +201,0 @@\n"
            "200     |-gone\n"
        )

    @pytest.mark.parametrize(
        ("record", "head"),
        [
            (ChangedFile("a", "a", kind="binary"), "=== a (modified, binary: no lines to show)\n"),
            (
                ChangedFile("a", "", "added", "withheld"),
                "=== a (added, withheld: sent to nobody)\n",
            ),
            (
                ChangedFile("a", "a", kind="mode", note="mode 100644 -> 100755"),
                "=== a (modified, only its mode, mode 100644 -> 100755)\n",
            ),
            (ChangedFile("b", "a", "renamed"), "=== b (renamed from a, no line differs)\n"),
            (
                ChangedFile("a", "a", kind="submodule", note="1 -> 2"),
                "=== a (modified, a submodule: its content is not here, 1 -> 2)\n",
            ),
        ],
    )
    def test_what_has_no_lines_says_why(self, record: ChangedFile, head: str) -> None:
        assert text_of(FileChange(record)) == head

    @given(
        st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=8), max_size=12),
        st.integers(1, 99_999),
    )
    def test_the_numbers_can_be_read_back(self, lines: list[str], start: int) -> None:
        texts = tuple("-+ "[len(line) % 3] + line for line in lines)
        old, new = (sum(t[0] in marks for t in texts) for marks in (" -", " +"))
        hunk = Hunk(start - (old == 0), old, start - (new == 0), new, texts)
        file = FileChange(ChangedFile("a", "a", added=1), (hunk,))
        rows = [row.split("|", 1) for row in text_of(file).split("\n")[2:-1]]
        assert [text for _, text in rows] == list(texts)
        [(_, numbered)] = file.numbered()
        told = [[n for n in (old, new) if n is not None] for old, new, _ in numbered]
        assert [[int(n) for n in numbers.split()] for numbers, _ in rows] == told


@given(st.binary(max_size=300))
def test_what_is_no_patch_has_no_sections(data: bytes) -> None:
    if b"diff --git" not in data:
        assert patch.parse(data) == {}
