"""Which files change the review itself."""

from __future__ import annotations

import pytest

from prun_review.errors import BriefError
from prun_review.guarded import anchors, follow, partly, same, watch


@pytest.mark.parametrize(
    ("root", "name", "watched"),
    [
        ("", "panels/probe_a.py", True),
        ("", "panels/deep/er/data.json", True),
        ("", "panels", True),  # a link or a submodule in its place
        ("", "panels2/x.py", False),
        ("", "src/panels/x.py", False),
        ("", "conftest.py", True),
        ("", "src/conftest.py", False),
        ("", "tests/conftest.py", False),
        ("", "pytest.ini", True),
        ("", ".pytest.toml", True),
        ("", "tox.ini", True),
        ("", "src/tox.ini", False),
        ("", "sitecustomize.py", True),
        ("", "shop.egg-info/entry_points.txt", True),
        ("", "shop.egg-info/PKG-INFO", False),
        ("", "policy/rules.toml", True),
        ("", "accept.toml", True),
        ("", "README.md", False),
        ("", "src/a.py", False),
        ("tools/review", "tools/review/panels/probe_a.py", True),
        ("tools/review", "panels/probe_a.py", False),
        ("tools/review", "tools/review/accept.toml", True),
        ("tools/review", "accept.toml", False),
        ("tools/review", "tools/review/conftest.py", True),
        ("tools/review", "tools/conftest.py", True),
        ("tools/review", "conftest.py", True),  # pytest looks upwards for its configuration
        ("tools/review", "pyproject.toml", True),
        ("tools/review", "tools/other/conftest.py", False),
        ("tools/review", "sitecustomize.py", False),
        ("./", "panels/x", True),
    ],
)
def test_names(root: str, name: str, watched: bool) -> None:
    assert watch(root, ["panels"], ["policy/**", "accept.toml"])(name) is watched


def test_folders_on_the_way_to_panels_count_and_panels_may_lie_beside() -> None:
    watched = watch("review", ["deep/panels", "../shared/panels", "."], [])
    assert watched("review/deep/conftest.py")
    assert watched("shared/panels/probe_x.py")
    assert watched("shared/conftest.py")
    assert not watched("review/src/a.py")


def test_a_malformed_pattern_is_named() -> None:
    with pytest.raises(BriefError, match="leaves the reviewed tree"):
        watch("", ["panels"], ["../x"])


TOML = '[project]\nname = "x"\ndependencies = ["a"]\n'


@pytest.mark.parametrize(
    ("name", "old", "new", "equal"),
    [
        ("pyproject.toml", TOML, TOML.replace('"a"', '"b"'), True),
        ("pyproject.toml", "", TOML, True),
        ("pyproject.toml", TOML, TOML + "[tool.prun_review]\n", False),
        (
            "pyproject.toml",
            "[tool.prun_review.gate]\nblock='high'",
            "[tool.prun_review]\ngate.block='high'",
            True,
        ),
        (
            "pyproject.toml",
            "[tool.prun_review.gate]\nblock='high'",
            "[tool.prun_review.gate]\nblock='critical'",
            False,
        ),
        ("a/pyproject.toml", TOML, TOML + "[tool.pytest.ini_options]\naddopts='-p evil'\n", False),
        ("pyproject.toml", TOML, TOML + "[tool.ruff]\nline-length=1\n", True),
        ("pyproject.toml", TOML, TOML + "[project.entry-points.pytest11]\nevil='x'\n", False),
        ("pyproject.toml", TOML, TOML + "[project.entry-points.other]\nfine='x'\n", True),
        ("pyproject.toml", TOML, TOML + "[", False),
        ("pyproject.toml", "[", "[", False),
        ("pyproject.toml", "tool=1", "tool=2", True),
        ("tox.ini", "[tox]\nenvlist=a\n", "[tox]\nenvlist=b\n", True),
        ("tox.ini", "[tox]\n[pytest]\na=1\n", "[tox]\n[pytest]\na=2\n", False),
        ("tox.ini", "[tox]\na=\n", "[tox]\na=\n[pytest]\n", False),
        ("tox.ini", "[tox]\n", "[tox]\n[pytest] # really\naddopts=-p evil\n", False),
        ("tox.ini", "[pytest]\na=1\n", "[pytest]\na=1\n[broken\nb=1\n", False),
        ("tox.ini", "", "\ufeff[pytest]\na=1\n", False),
        ("tox.ini", "[pytest]\na=1\n[tox]\nb=1\n", "[tox]\nb=2\n[pytest]\na=1\n", True),
        ("setup.cfg", "[flake8]\na=1\n", "[flake8]\na=2\n", True),
        ("setup.cfg", "[tool:pytest]\na=1\n", "[tool:pytest]\na=2\n", False),
        ("setup.cfg", "", "[options.entry_points]\npytest11 =\n  evil = x\n", False),
    ],
)
def test_only_parts_of_some_files_count(name: str, old: str, new: str, equal: bool) -> None:
    assert partly(name)
    assert same(name, old.encode(), new.encode()) is equal


def test_other_files_count_as_a_whole() -> None:
    assert not any(map(partly, ("conftest.py", "pytest.ini", "panels/probe_a.py", "setup.cfg/x")))


def test_what_is_no_text_is_never_the_same() -> None:
    assert not same("pyproject.toml", b"\xff", b"\xff\xfe")


@pytest.mark.parametrize(
    ("name", "links", "through"),
    [
        ("a/b", {}, ("a/b",)),
        ("a/b", {"a": "c/d"}, ("a", "c/d/b")),
        ("a/b", {"a/b": "../x"}, ("a/b", "x")),
        ("a", {"a": "b", "b": "./c/"}, ("a", "b", "c")),
        ("x/a", {"x/a": "/y"}, ("x/a", "y")),
        ("a", {"a": "."}, ("a", ".")),
        ("a", {"a": "../x"}, ("a",)),
        ("a", {"a": "/.."}, ("a",)),
        ("a", {"a": "a"}, ("a",) * 40),
    ],
)
def test_where_a_path_leads(name: str, links: dict[str, str], through: tuple[str, ...]) -> None:
    assert follow(name, links.get) == through


def test_files_are_looked_for_by_name_at_and_above_panels() -> None:
    found = anchors("app", ["panels", "../x"], ["policy/**", "*.lock", "deep/file"])
    assert {"app/panels", "x", "app/conftest.py", "conftest.py", "x/tox.ini", "app/sitecustomize.py"} <= {
        *found
    }
    assert {"app/policy", "app/deep/file"} <= {*found}
    assert not {"app", ".", "deep/file", "app/deep"} & {*found}
