"""How lines of one side map to the other: against git itself, which made the change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prun_review import patch
from prun_review.change import Change, FileChange, Hunk, listing
from prun_review.model import ChangedFile

from .repokit import git, repository, write

Lines = list[bytes]


def changed(*hunks: Hunk, path: str = "a.py", old_path: str = "a.py", status: str = "modified") -> FileChange:
    return FileChange(ChangedFile(path, old_path, status), hunks)


# --- real edits, real git -------------------------------------------------------------------


def line(n: int, *, crlf: bool) -> bytes:
    return b"line %d%s\n" % (n, b"\r" if crlf else b"")


@st.composite
def texts(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A text, and the same after some edits; lines repeat in some, and some end without a line end."""
    many = draw(st.sampled_from((3, 1000)))  # few different lines: what moved where is ambiguous
    numbers = st.integers(0, many)
    crlf = draw(st.booleans())
    old = draw(st.lists(numbers, max_size=40))
    if many == 1000:
        old = list(dict.fromkeys(old))
    new = list(old)
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(new)))
        end = min(len(new), at + draw(st.integers(0, 5)))
        match draw(st.sampled_from(("insert", "delete", "replace", "move"))):
            case "insert":
                new[at:at] = draw(st.lists(numbers, min_size=1, max_size=6))
            case "delete":
                del new[at:end]
            case "replace":
                new[at:end] = draw(st.lists(numbers, min_size=1, max_size=4))
            case "move":
                block = new[at:end]
                del new[at:end]
                to = draw(st.integers(0, len(new)))
                new[to:to] = block
    before, after = (b"".join(line(n, crlf=crlf) for n in side) for side in (old, new))
    if draw(st.booleans()):
        before = before.removesuffix(b"\n")
    if draw(st.booleans()):
        after = after.removesuffix(b"\n")
    return before, after


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("mapping") / "repo", {"seed": "x\n"})


def committed(repo: Path, contents: Sequence[bytes]) -> str:
    write(repo, {str(n): content for n, content in enumerate(contents)})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--allow-empty", "-m", "next")
    return git(repo, "rev-parse", "HEAD")


def taken(repo: Path, first: str, second: str, context: str) -> dict[int, FileChange]:
    out = git(repo, "-c", "core.quotePath=true", "diff-tree", "-r", "-p", context, first, second)
    return {n: changed(*s.hunks) for n, s in patch.parse(out.encode() + b"\n").items()}


def split(content: bytes) -> list[str]:
    lines = content.decode().split("\n")
    if not lines[-1]:
        lines.pop()
    return [text.removesuffix("\r") for text in lines]


class TestAgainstGit:
    @settings(
        max_examples=8,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.lists(texts(), min_size=12, max_size=12), st.sampled_from(("-U3", "-U0", "-U1")))
    def test_every_line(self, repo: Path, pairs: list[tuple[bytes, bytes]], context: str) -> None:
        first = committed(repo, [old for old, _ in pairs])
        second = committed(repo, [new for _, new in pairs])
        files = taken(repo, first, second, context)
        for n, (old, new) in enumerate(pairs):
            if n not in files:
                assert old == new
                continue
            self.check(files[n], split(old), split(new), old, new)
            self.check_counts(files[n], repo, first, second, n)

    def check(self, file: FileChange, old: list[str], new: list[str], was: bytes, now: bytes) -> None:
        kept = {o: file.to_new(o) for o in range(1, len(old) + 1) if o not in file.deleted}
        back = {n: file.to_old(n) for n in range(1, len(new) + 1) if n not in file.added}
        # What is neither added nor deleted is on both sides, in the same order, with the same text.
        assert {n: o for o, n in kept.items()} == back
        assert all(o is not None and n is not None for o, n in [*kept.items(), *back.items()])
        assert list(kept.values()) == sorted(back)
        assert [old[o - 1] for o in kept] == [new[n - 1] for n in back]
        assert len(kept) + len(file.added) == len(new)
        assert len(kept) + len(file.deleted) == len(old)
        assert all(file.to_new(o) is None for o in file.deleted)
        assert all(file.to_old(n) is None for n in file.added)
        near = [file.nearest_new(o) for o in range(1, len(old) + 3)]
        assert near == sorted(near)
        assert all(file.nearest_new(o) == n for o, n in kept.items())
        assert min(near) >= 1
        for _, lines in file.numbered():
            for o, n, text in lines:
                assert text[0] == ("+" if o is None else "-" if n is None else " ")
                assert o is None or old[o - 1] == text[1:]
                assert n is None or new[n - 1] == text[1:]

    def check_counts(self, file: FileChange, repo: Path, first: str, second: str, n: int) -> None:
        counts = git(repo, "diff-tree", "--numstat", first, second, "--", str(n)).split()
        assert [str(len(file.added)), str(len(file.deleted))] == counts[:2]

    @settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(texts(), min_size=6, max_size=6))
    def test_what_blame_knows(self, repo: Path, pairs: list[tuple[bytes, bytes]]) -> None:
        """Lines that git attributes to the first commit are those that are not added, at the old number."""
        git(repo, "rm", "-rq", "--cached", ".")
        for n in range(12):
            (repo / str(n)).unlink(missing_ok=True)
        committed(repo, [])
        first = committed(repo, [old for old, _ in pairs])
        second = committed(repo, [new for _, new in pairs])
        files = taken(repo, first, second, "-U3")
        for n, (_, new) in enumerate(pairs):
            said = git(repo, "blame", "--root", "--porcelain", second, "--", str(n)) if new else ""
            heads = re.findall(r"^([0-9a-f]{40}) (\d+) (\d+)(?: \d+)?$", said, re.MULTILINE)
            blamed = {int(now): int(was) for sha, was, now in heads if sha == first}
            file = files.get(n, changed())
            ours = {now: file.to_old(now) for now in range(1, len(split(new)) + 1) if now not in file.added}
            assert ours == blamed


# --- by hand --------------------------------------------------------------------------------

INSERTED = Hunk(2, 2, 2, 4, (" two", "+x", "+y", " three"))
"""Two lines put between the lines 2 and 3."""
DELETED = Hunk(10, 3, 12, 1, (" ten", "-eleven", "-twelve"))


class TestByHand:
    @pytest.mark.parametrize(
        ("old", "new", "near"),
        [
            (1, 1, 1),
            (2, 2, 2),
            (3, 5, 5),
            (9, 11, 11),
            (10, 12, 12),
            (11, None, 13),
            (12, None, 13),
            (13, 13, 13),
        ],
    )
    def test_old_to_new(self, old: int, new: int | None, near: int) -> None:
        file = changed(INSERTED, DELETED)
        assert file.to_new(old) == new
        assert file.nearest_new(old) == near

    @pytest.mark.parametrize(
        ("new", "old"), [(2, 2), (3, None), (4, None), (5, 3), (12, 10), (13, 13), (99, 99)]
    )
    def test_new_to_old(self, new: int, old: int | None) -> None:
        assert changed(INSERTED, DELETED).to_old(new) == old

    @pytest.mark.parametrize(
        ("hunk", "added", "deleted", "near"),
        [
            (Hunk(0, 0, 1, 2, ("+a", "+b")), {1, 2}, set(), [3, 7, 8]),
            (Hunk(1, 2, 0, 0, ("-a", "-b")), set(), {1, 2}, [1, 3, 4]),
            (Hunk(5, 0, 6, 1, ("+a",)), {6}, set(), [1, 5, 7]),  # without context: after line 5
            (Hunk(5, 1, 4, 0, ("-a",)), set(), {5}, [1, 5, 5]),
        ],
    )
    def test_hunks_without_lines_on_one_side(
        self, hunk: Hunk, added: set[int], deleted: set[int], near: list[int]
    ) -> None:
        file = changed(hunk)
        assert file.added == added
        assert file.deleted == deleted
        assert [file.nearest_new(n) for n in (1, 5, 6)] == near

    def test_a_file_without_hunks_maps_to_itself(self) -> None:
        assert (changed().to_new(7), changed().to_old(7), changed().nearest_new(7)) == (7, 7, 7)

    def test_in_hunk(self) -> None:
        file = changed(INSERTED, DELETED)
        assert [n for n in range(1, 16) if file.in_hunk("old", n, n)] == [2, 3, 10, 11, 12]
        assert [n for n in range(1, 16) if file.in_hunk("new", n, n)] == [2, 3, 4, 5, 12]
        assert file.in_hunk("new", 6, 12)
        assert not file.in_hunk("new", 6, 11)

    def test_a_change_is_asked_by_both_names(self) -> None:
        moved = changed(path="new.py", old_path="old.py", status="renamed")
        gone = changed(path="gone.py", old_path="gone.py", status="deleted")
        born = changed(path="old.py", old_path="", status="added")
        change = Change((gone, moved, born))
        assert change.at("old.py") is born
        assert change.at("old.py", "old") is moved
        assert change.at("gone.py") is None
        assert change.named("gone.py") is gone
        assert [change.old_path(p) for p in ("new.py", "old.py", "same.py")] == ["old.py", "", "same.py"]
        assert [change.new_path(p) for p in ("old.py", "gone.py", "same.py")] == [
            "new.py",
            "gone.py",
            "same.py",
        ]
        assert [f.path for f in change.records()] == ["gone.py", "new.py", "old.py"]
        assert [x.size for x in listing(change, [1, 2, 3])] == [1, 2, 3]
