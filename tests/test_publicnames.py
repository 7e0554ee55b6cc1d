"""Public names: what can be written, stands in nobody's way, and was meant."""

from __future__ import annotations

from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review import publicnames
from prun_review.publicnames import LEVELS, NAME_MAX, PATH_MAX, apart, fitting, folders_of, nearest

PARTS = st.text("ab~", min_size=1, max_size=2)
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)


@given(st.lists(NAMES, max_size=12))
def test_names_that_are_apart_can_all_be_written(wanted: list[str]) -> None:
    files: set[str] = set()
    folders: set[str] = set()
    for name in wanted:
        got = apart(name, files, folders)
        files.add(got)
        folders.update(folders_of(got, folders))
        assert folders.issuperset(folders_of(got))
    assert len(files) == len(wanted)
    assert not files & folders


def test_a_name_that_stands_alone_keeps_it() -> None:
    assert apart("a/b", {"a/c", "b"}, {"a"}) == "a/b"
    assert apart("a/b", {"a"}, set()) == "a~/b"
    assert apart("a/b", {"x"}, {"a", "a/b"}) == "a/b~"


@pytest.mark.parametrize("levels", [LEVELS, LEVELS + 1, 5000])
def test_levels_are_bounded(levels: int) -> None:
    name = fitting("d/" * levels + "f.py")
    assert name.count("/") == (levels if levels <= LEVELS else 1)
    assert name.endswith("/f.py")
    assert len(name.encode()) <= PATH_MAX
    assert all(len(part) <= NAME_MAX for part in name.split("/"))
    assert fitting("e/" * levels + "f.py") != name


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("src/auth/logn.py", "src/auth/login.py"),
        ("src/auth/login.ts", "src/auth/login.py"),
        ("rsc/auth/login.py", "src/auth/login.py"),
        ("auth/login.py", "src/auth/login.py"),
        ("zzz", ""),
        ("", ""),
        ("src/auth/login.py" + "x" * publicnames.COMPARED, ""),
    ],
)
def test_the_name_that_was_meant(wanted: str, meant: str) -> None:
    assert nearest(wanted, ["README", "src/app.py", "src/auth/login.py"], 0.6) == meant


class Counted(list[str]):
    """Names that count how many of them are handed out."""

    seen = 0

    def __getitem__(self, at):  # type: ignore[no-untyped-def]
        got = super().__getitem__(at)
        self.seen += len(got) if isinstance(at, slice) else 1
        return got


def test_of_many_names_few_are_looked_at() -> None:
    names = Counted(f"src/{'ab/' * 60}module_{n:06}.txt" for n in range(50_000))
    wanted = f"src/{'ab/' * 60}module_025000.tx"
    assert nearest(wanted, names, 0.6) == names[bisect_left(names, wanted)]
    names.seen = 0
    nearest(wanted, names, 0.6)
    assert names.seen <= 2 * publicnames.AROUND + 20
