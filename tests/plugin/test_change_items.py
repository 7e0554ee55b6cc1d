"""Items of probes about a change: their ids, how they are chosen, and which of them are not asked."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.change.kit import Scene

PROBES = '''
import pytest
from prun_review import brief, changed

@brief(scope="diff", reads=["{folder}/**"], max_diff=500)
@pytest.mark.parametrize("folder", ["src", pytest.param("web", marks=brief(reads=["web/*.js"]))])
def probe_parts(result, folder):
    """What breaks?"""

@brief(scope="diff", reads=["docs/**"])
def probe_docs(result):
    """What is told wrongly?"""

@pytest.mark.parametrize("name", changed("lib/**"))
def probe_lib(result, name):
    """What of {name}?"""

@brief(reads=["src/**"])
def probe_tree(result):
    """What is wrong at all?"""
'''
FOLDERS = {f"src/{name}.py": f"NAME = {name!r}\n" for name in ("ape", "bat", "cat", "dog")}
PARTS = ["ape", "dog"]
"""The files that the two parts of the case begin with: a diff has some 165 characters."""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A change of four files below ``src`` and one below ``web``."""
    made = Scene(
        tmp_path_factory.mktemp("items") / "s",
        probe=PROBES,
        base={**FOLDERS, "web/x.js": "let x\n", "web/y.css": "\n", "docs/a.md": "A\n", "lib/l.py": "L = 1\n"},
    )
    text = {name: body + f"{'MORE = 1  # what is new here': <60}\n" for name, body in FOLDERS.items()}
    made.commit({**text, "web/x.js": "let x = 1\n", "web/y.css": "b {}\n"})
    made.both()
    return made


def collected(scene: Scene, *args: str) -> list[str]:
    """The ids that a command collects."""
    done = scene.review("--collect-only", "-q", *args)
    assert done.code == 0, done.output
    return re.findall(r"^panels/probe_change\.py::(\S+)$", done.output, re.M)


def ids(*cases: str) -> list[str]:
    return [
        f"{case}-{name}]" if "[" in case else f"{case}[{name}]"
        for case in cases
        for name in ("left", "right")
    ]


def test_a_case_that_is_split_has_an_item_for_each_part_and_executor(scene: Scene) -> None:
    parts = [f"probe_parts[src-src/{name}.py" for name in PARTS]
    assert collected(scene) == [
        *ids(parts[0])[:1],
        *ids(parts[1])[:1],
        *ids(parts[0])[1:],
        *ids(parts[1])[1:],
        *ids("probe_parts[web", "probe_docs", "probe_lib[NOTSET", "probe_tree"),
    ]
    assert not (scene.path / ".prun").exists()


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (("-k", "dog"), [f"probe_parts[src-src/dog.py-{name}]" for name in ("left", "right")]),
        (("-k", "src/ape.py and right"), ["probe_parts[src-src/ape.py-right]"]),
    ],
)
def test_an_expression_chooses_parts(scene: Scene, args: tuple[str, ...], found: list[str]) -> None:
    assert collected(scene, *args) == found


@pytest.mark.parametrize("workers", ["0", "2"])
def test_every_item_is_asked_or_skipped_with_its_reason(scene: Scene, workers: str) -> None:
    done = scene.review("-rs", "-n", workers)
    assert re.search(r"\b8 passed, 4 skipped\b", done.output), done.output
    report = scene.report
    asked = {unit["case"].partition("::")[2] for unit in report.units}
    parts = {f"probe_parts[src-src/{name}.py]" for name in PARTS}
    assert asked == {*parts, "probe_parts[web]", "probe_tree"}
    left = {(row["case"].partition("::")[2], row["reason"]) for row in report.document["not_asked"]}
    assert left == {("probe_docs", "untouched"), ("probe_lib[NOTSET]", "untouched")}
    assert "no file that matches docs/** changed, or none that can be read" in done.output
    # The parameter's own brief reads less than the folder, so nobody is asked about the other file.
    assert (done.code, report.codes()) == (1, {"uncovered"})
    assert report.document["change"]["uncovered"] == ["web/y.css"]


def test_a_node_id_names_a_part(scene: Scene) -> None:
    before = len(scene.calls)
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "prun_review.plugin"]
    node = "panels/probe_change.py::probe_parts[src-src/dog.py-right]"
    done = scene.start([*argv, "--prun-base", "main", node])
    assert re.search(r"\b1 passed\b", done.output), done.output
    [call] = scene.calls[before:]
    assert call["name"] == "right"
    assert re.findall(r"^=== (\S+)", call["prompt"], re.M) == ["src/dog.py"]


def test_what_failed_is_asked_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s", probe=PROBES, base={**FOLDERS, "docs/a.md": "A\n", "lib/l.py": "L = 1\n"})
    scene.commit({name: body + f"{'MORE = 1': <60}\n" for name, body in FOLDERS.items()})
    scene.answers({"when": "src/dog.py (", "of": "left", "exit": 3}, {})
    argv = [sys.executable, "-m", "pytest", "-p", "prun_review.plugin", "--prun-base", "main", "panels/"]
    scene.start(argv)
    before = len(scene.calls)
    scene.answers({})
    done = scene.start([*argv, "--lf"])
    assert re.search(r"\b1 passed\b", done.output), done.output
    [call] = scene.calls[before:]
    assert (call["name"], "src/dog.py (" in call["prompt"]) == ("left", True)


TYPO = '''
from prun_review import brief

@brief(scope="diff", reads=["src/**", "scr/**"])
def probe_typo(result):
    """What breaks?"""

@brief(scope="diff", reads=["dcos/**"])
def probe_other(result):
    """What breaks?"""

@brief(scope="diff", reads=["src/**"], max_diff=0)
def probe_bound(result):
    """What breaks?"""

@brief(reads=["src/**"], max_diff=9)
def probe_tree(result):
    """What breaks?"""

@brief(scope="dif")
def probe_scope(result):
    """What breaks?"""
'''


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_pattern_with_a_typo_is_no_pattern_that_nothing_touched(tmp_path: Path, workers: str) -> None:
    scene = Scene(tmp_path / "s", probe=TYPO, config='gate.uncovered = ["**"]')
    scene.commit({"src/auth.py": "X = 1\n"})
    scene.both()
    done = scene.review("-n", workers)
    assert (done.code, scene.report.outcome) == (1, "INCOMPLETE"), done.output
    assert scene.calls == []
    reasons = {u["case"].partition("::")[2]: u["message"] for u in scene.report.units}
    assert {u["reason"] for u in scene.report.units} == {"brief"}
    assert "'scr/**' matches no file" in reasons["probe_typo"]
    assert "'dcos/**' matches no file" in reasons["probe_other"]
    assert "max_diff is 0" in reasons["probe_bound"]
    assert "max_diff goes with scope='diff'" in reasons["probe_tree"]
    assert "scope is 'dif'" in reasons["probe_scope"]


def test_shaping_fields_stand_on_no_parameter(tmp_path: Path) -> None:
    probe = '''
import pytest
from prun_review import brief

@pytest.mark.parametrize("x", [pytest.param(1, marks=brief(scope="diff"))])
def probe_bad(result, x):
    """What breaks?"""
'''
    scene = Scene(tmp_path / "s", probe=probe)
    scene.commit({"src/auth.py": "X = 1\n"})
    done = scene.review()
    assert done.code == 1
    assert "scope stands in pytest.param" in done.output
    assert scene.calls == []


@pytest.mark.parametrize("workers", ["0", "2"])
def test_without_a_base_nothing_about_a_change_is_asked(tmp_path: Path, workers: str) -> None:
    scene = Scene(tmp_path / "s", probe=PROBES, base={**FOLDERS, "lib/l.py": "L = 1\n"})
    scene.both()
    done = scene.review("-n", workers, base="")
    assert (done.code, scene.report.outcome) == (1, "INCOMPLETE"), done.output
    left = {(r["case"].partition("::")[2], r["reason"]) for r in scene.report.document["not_asked"]}
    cases = ("probe_parts[src]", "probe_parts[web]", "probe_docs", "probe_lib[NOTSET]")
    assert left == {(case, "no-base") for case in cases}
    assert {u["case"].partition("::")[2] for u in scene.report.units} == {"probe_tree"}
    assert "--prun-base" in done.output


def test_a_head_without_a_base_is_a_whole_tree(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s", probe=PROBES, base={**FOLDERS, "lib/l.py": "L = 1\n"})
    scene.commit({"src/ape.py": "NAME = 'monkey'\n"})
    scene.both()
    scene.git("checkout", "-q", "main")
    scene.review("--prun-head", "topic", base="")
    assert {row["reason"] for row in scene.report.document["not_asked"]} == {"no-base"}
    assert {u["case"].partition("::")[2] for u in scene.report.units} == {"probe_tree"}
    revision = scene.report.document["revision"]
    assert (revision["commit"], revision["base"]) == (scene.git("rev-parse", "topic"), "")


def test_an_analyser_without_a_file_of_its_own_is_not_asked(tmp_path: Path) -> None:
    probe = '''
from prun_review import brief

@brief(scope="diff")
def probe_lint(result):
    """What is wrong?"""
'''
    scene = Scene(tmp_path / "s", probe=probe, config='offline_executors = ["ruff"]')
    scene.commit({"docs/guide.md": "# Guide\n"})
    done = scene.review("--prun-offline")
    assert {row["reason"] for row in scene.report.document["not_asked"]} == {"untouched"}
    [left] = scene.report.document["not_asked"]
    assert left["text"] == "no file that ends with .py is left of what changed"
    assert "nothing-asked" in done.output
    scene.commit({"src/auth.py": None, "src/shop.py": "import os\n"})
    scene.review("--prun-offline")
    [unit] = scene.report.units
    assert (unit["status"], unit["examined"]) == ("valid", ["src/shop.py"])


def test_a_probe_file_may_be_imported_by_anybody() -> None:
    code = "import prun_review; got = prun_review.changed('src/**'); print(type(got).__name__, len(got))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Changed", "0"]
