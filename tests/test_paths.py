"""Paths as reviewers write them (cases C35)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.paths import Names, among, candidates, line_suffix, normalise_path, suspicious


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("src/x.py", "src/x.py"),
        ("./src/x.py", "src/x.py"),
        ("././src//x.py", "src/x.py"),
        ("src\\x.py", "src/x.py"),
        (".\\src\\x.py", "src/x.py"),
        (" `src/x.py` ", "src/x.py"),
        ("a/src/x.py", "a/src/x.py"),
        ("../x.py", "../x.py"),
        ("src/../../x.py", "src/../../x.py"),
        ("/etc/passwd", "/etc/passwd"),
        ("//etc/passwd", "/etc/passwd"),
        ("/snap/run1/src/x.py", "src/x.py"),
        ("/snap/run1/./src/x.py", "src/x.py"),
        ("/snap/run1", "/snap/run1"),
        ("/snap/run12/src/x.py", "/snap/run12/src/x.py"),
        ("/snap/run1/../x.py", "../x.py"),
        ("", ""),
        (".", ""),
    ],
)
def test_normalise(written: str, meant: str) -> None:
    assert normalise_path(written, prefixes=["/snap/run1/", "/snap"[:0]]) == meant


def test_the_longest_prefix_wins() -> None:
    assert normalise_path("/snap/run1/x.py", prefixes=["/snap", "/snap/run1"]) == "x.py"


@settings(deadline=None)
@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing_and_never_adds_an_escape(path: str) -> None:
    once = normalise_path(path)
    assert once.split("/").count("..") <= path.replace("\\", "/").count("..")
    if not once.startswith(("`", "'", '"')) and once == once.strip(" `'\""):
        assert normalise_path(once) == once.strip()


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "~/x", "C:/x", "a\0b"])
def test_suspicious_paths_are_told(path: str) -> None:
    assert suspicious(path)
    assert list(candidates(path)) == []


@pytest.mark.parametrize("path", ["src/x.py", "a..b/x", "..x", "c", "x:y"])
def test_ordinary_paths_are_not_suspicious(path: str) -> None:
    assert suspicious(path) == ""


@pytest.mark.parametrize(
    ("written", "path", "line"),
    [
        ("src/x.py:12", "src/x.py", 12),
        ("src/x.py:12:4", "src/x.py", 12),
        ("src/x.py:12-14", "src/x.py", 12),
        ("src/x.py#L7-L9", "src/x.py", 7),
        ("src/x.py:L7", "src/x.py", 7),
        ("src/x.py", "src/x.py", None),
        ("src/x.py:", "src/x.py:", None),
    ],
)
def test_line_suffix(written: str, path: str, line: int | None) -> None:
    assert line_suffix(written) == (path, line)


def test_the_literal_reading_comes_first() -> None:
    assert list(candidates("a/x.py")) == ["a/x.py", "x.py"]
    assert list(candidates("./b/x.py")) == ["./b/x.py", "b/x.py", "x.py"]


def test_a_case_difference_counts_only_with_one_candidate() -> None:
    assert list(candidates("SRC/X.py", names=Names(["src/x.py", "y"]))) == ["SRC/X.py", "src/x.py"]
    assert list(candidates("SRC/X.py", names=Names(["src/x.py", "src/X.py"]))) == ["SRC/X.py"]


@pytest.mark.parametrize(
    ("path", "guess"),
    [
        ("clone/src/x.py", "src/x.py"),
        ("x.py", "src/x.py"),
        ("deep/clone/src/x.py", "src/x.py"),
        ("other/setup.py", None),  # a root file is not guessed from its last part alone
        ("twice.py", None),
        ("nowhere.py", None),
    ],
)
def test_guesses_need_one_file(path: str, guess: str | None) -> None:
    assert Names(["src/x.py", "setup.py", "p/twice.py", "q/twice.py"]).guess(path) == guess


@pytest.mark.parametrize(
    ("path", "known", "meant"),
    [
        ("a/src/x.py", ["src/x.py"], "src/x.py"),
        ("b/src/x.py", ["a/src/x.py"], "b/src/x.py"),
        ("/clone/src/x.py", ["src/x.py", "lib/x.py"], "src/x.py"),
        ("/tmp/a/b/src/x.py", ["src/x.py"], "src/x.py"),
        ("C:/clone/src/x.py", ["src/x.py"], "src/x.py"),
        ("/clone/src/x.py", ["x.py"], "/clone/src/x.py"),
        ("/clone/pkg/src/x.py", ["src/x.py", "pkg/src/x.py"], "/clone/pkg/src/x.py"),
        ("/clone/src/x.py", ["clone/src/y.py"], "/clone/src/x.py"),
        ("clone/src/x.py", ["src/x.py"], "clone/src/x.py"),
        ("SRC/x.py", ["src/x.py"], "SRC/x.py"),
        ("../src/x.py", ["src/x.py"], "../src/x.py"),
        ("", ["src/x.py"], ""),
    ],
)
def test_other_findings_say_what_a_path_means(path: str, known: list[str], meant: str) -> None:
    assert among(path, known) == meant
