"""Which changed files a case is about, and how a case is split: whole files, stable, never cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.change import Listed
from prun_review.errors import BriefError
from prun_review.slices import cut, matching

PATHS = st.text("abc/", min_size=1, max_size=12).filter(lambda p: "//" not in p and p.strip("/") == p)
LISTINGS = st.dictionaries(PATHS, st.integers(1, 40), max_size=60).map(
    lambda found: [Listed(path, "text", size) for path, size in sorted(found.items())]
)


def many(count: int, size: int = 300) -> list[Listed]:
    return sorted(
        (Listed(f"pkg{n % 7}/mod{n % 3}/file{n:03}.py", "text", size) for n in range(count)),
        key=lambda entry: entry.path,
    )


@given(LISTINGS, st.integers(1, 100))
def test_every_file_stands_in_exactly_one_slice_and_none_is_cut(listing: list[Listed], limit: int) -> None:
    slices = cut(listing, (), limit)
    sizes = {entry.path: entry.size for entry in listing}
    assert sorted(path for part in slices for path in part.files) == sorted(sizes)
    assert [part.files[0] for part in slices] == sorted(part.files[0] for part in slices)
    assert len({part.name for part in slices}) == len(slices)
    for part in slices:
        assert part.files == tuple(sorted(part.files))
        assert part.name == (part.files[0] if len(slices) > 1 else "")
        whole = sum(sizes[path] for path in part.files)
        if whole > limit:  # one file that no prompt can hold: named, and not shown
            assert (len(part.files), part.inlined) == (1, ())
        else:
            assert part.inlined == part.files


@given(LISTINGS, st.integers(40, 400))
def test_there_are_not_many_more_slices_than_needed(listing: list[Listed], limit: int) -> None:
    total = sum(entry.size for entry in listing)
    assert len(cut(listing, (), limit)) <= 1 + 4 * total // limit


def test_what_fits_is_one_case_without_a_name() -> None:
    (only,) = cut(many(10), (), 3000)
    assert (len(only.files), only.name) == (10, "")


def test_a_file_more_changes_few_slices() -> None:
    listing = many(200)
    before = {part.files for part in cut(listing, (), 6000)}
    assert 10 <= len(before) <= 20
    kept = []
    for n in range(60):
        more = sorted(
            [*listing, Listed(f"pkg{n % 7}/mod{n % 3}/new{n}.py", "text", 300)], key=lambda e: e.path
        )
        after = {part.files for part in cut(more, (), 6000)}
        kept.append(len(before & after) / len(before))
    # The one that it falls into always changes, and now and then a cut moves.
    assert sum(kept) / len(kept) > 0.8
    assert max(kept) < 1


def test_folders_are_kept_together_where_that_is_possible() -> None:
    listing = [Listed(f"{folder}/f{n}.py", "text", 100) for folder in ("api", "core") for n in range(8)]
    assert [part.name for part in cut(listing, (), 1000)] == ["api/f0.py", "core/f0.py"]


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        ((), ["a b#c.py", "docs/x.md", "src/a.py", "src/b.py"]),
        (("src/**",), ["src/a.py", "src/b.py"]),
        (("docs", "a b#c.py"), ["a b#c.py", "docs/x.md"]),
        (("nowhere/*",), []),
    ],
)
def test_patterns_choose(patterns: tuple[str, ...], found: list[str]) -> None:
    listing = [Listed(path, "text", 10) for path in ("a b#c.py", "docs/x.md", "src/a.py", "src/b.py")]
    assert [entry.path for entry in matching(listing, patterns)] == found
    assert [path for part in cut(listing, patterns, 1000) for path in part.files] == found


@pytest.mark.parametrize(
    ("kind", "asked"),
    [("text", 1), ("link", 1), ("mode", 1), ("binary", 0), ("lfs", 0), ("submodule", 0), ("withheld", 0)],
)
def test_nobody_is_asked_about_what_nobody_can_read(kind: str, asked: int) -> None:
    assert len(cut([Listed("x", kind, 10)], (), 1000)) == asked


def test_a_pattern_that_leaves_the_tree_is_an_error() -> None:
    with pytest.raises(BriefError, match="leaves the reviewed tree"):
        cut([Listed("x", "text", 10)], ("../x",), 1000)
