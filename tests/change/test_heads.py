"""Heads and bases: a revision, another checkout, a shallow clone; splitting; the verbs for CI."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.change.cases import EVAL, EVALUATED, GONE, UNCHECKED
from tests.change.kit import BASE, PROBE, SHOP, Scene, defect


def checkout(scene: Scene, where: Path, revision: str = "topic") -> Path:
    """Another clone of the project, as a CI job makes it of a pull request."""
    scene.git("clone", "-q", "--no-local", str(scene.path), str(where), where=scene.folder)
    scene.git("checkout", "-q", revision, where=where)
    return where


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """The trusted root stands on ``main``, the change on ``topic``."""
    scene = Scene(tmp_path / "s")
    scene.commit({"src/auth.py": EVALUATED})
    scene.both(EVAL)
    scene.git("checkout", "-q", "main")
    return scene


@pytest.mark.parametrize(
    ("kind", "workers"),
    [("revision", "0"), ("folder below the root", "2"), ("folder of another", "0")],
)
def test_a_head_that_is_not_the_work_tree(scene: Scene, kind: str, workers: str) -> None:
    sha = scene.git("rev-parse", "topic")
    head = "topic"
    if kind == "folder below the root":
        checkout(scene, scene.path / "head")
        head = "head"
    elif kind == "folder of another":  # its base is the contributor's word, ours counts
        other = checkout(scene, scene.folder / "head")
        scene.git("branch", "-q", "-f", "main", "topic", where=other)
        head = str(other)
    before = {p.name for p in scene.path.iterdir()}
    done = scene.review("--prun-head", head, "-n", workers)
    report = scene.report
    assert (done.code, report.outcome) == (1, "FAIL"), done.output
    assert report.changed == {"src/auth.py": ("modified", "text", "src/auth.py")}
    assert report.placed == {EVAL["title"]: ("added", False)}
    revision = report.document["revision"]
    assert (revision["head"], revision["dirty"]) == (sha, False)
    assert revision["base"] == revision["merge_base"] == scene.git("rev-parse", "main")
    assert {p.name for p in scene.path.iterdir()} == before | {".prun", "reports"}


def test_uncommitted_edits_of_another_checkout_belong_to_it(scene: Scene) -> None:
    head = checkout(scene, scene.folder / "head")
    (head / "src/shop.py").write_text(SHOP.replace('"hello "', "eval(name)"))
    (head / "src/untracked.py").write_text("X = 1\n")
    scene.review("--prun-head", str(head))
    assert set(scene.report.changed) == {"src/auth.py", "src/shop.py"}
    assert scene.report.document["revision"]["dirty"] is True


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--prun-head", "nowhere"), "nowhere"),
        (("--prun-head", "."), "trusted root"),
        (("--prun-base", "maim"), "maim"),
        (("--prun-base", "--upload-pack=touch canary"), "--upload-pack"),
        (("--prun-head", "main..topic"), "main..topic"),
        (("--prun-head", "orphan"), "fetch-depth: 0"),
    ],
)
def test_what_cannot_be_compared_is_exit_4_before_any_dispatch(
    scene: Scene, args: tuple[str, str], told: str
) -> None:
    scene.git("checkout", "-q", "--orphan", "orphan")
    scene.commit({"docs/guide.md": "of another history\n"})
    scene.git("checkout", "-q", "main")
    words = [f"{args[0]}={args[1]}"]
    done = scene.review(*words, base="" if args[0] == "--prun-base" else "main")
    assert done.code == 4, done.output
    assert told in done.output
    assert "Traceback" not in done.output
    assert scene.calls == []
    assert not (scene.path / "canary").exists()


def test_a_shallow_clone_is_exit_4_and_says_how_to_fetch(scene: Scene) -> None:
    scene.commit({"src/late.py": "LATE = 1\n"})
    url = scene.path.as_uri()
    clone = scene.folder / "clone"
    scene.git(
        "clone",
        "-q",
        "--depth",
        "1",
        "--no-single-branch",
        "-b",
        "topic",
        url,
        str(clone),
        where=scene.folder,
    )
    done = scene.review(base="origin/main", cwd=clone)
    assert done.code == 4, done.output
    for words in ("fetch-depth: 0", "git fetch --unshallow"):
        assert words in done.output
    assert scene.calls == []

    scene.git("fetch", "-q", "--unshallow", where=clone)
    done = scene.review(base="origin/main", cwd=clone)
    assert done.code == 1, done.output
    document = json.loads((clone / "reports/latest/report.json").read_text())
    assert document["verdict"]["outcome"] == "FAIL"


# --- splitting ------------------------------------------------------------------------------------


def test_two_hundred_files_are_split_and_none_is_cut_or_left_out(tmp_path: Path) -> None:
    probe = PROBE.replace('reads=["**"]', 'reads=["src/**"], max_diff=8000')
    files = {f"src/f{n:03}.py": f"A = {n}\nB = 2\nC = 3\n" for n in range(200)}
    scene = Scene(tmp_path / "s", probe=probe, base={"README": "x\n", **files})
    large = "\n".join(f"LINE{n} = {n}" for n in range(900))
    scene.commit(
        {name: text.replace("B = 2", f"B = 'new {name}'") for name, text in files.items()}
        | {"src/large.py": f"{large}\n"}
    )
    last = defect("The last line is wrong", "src/f199.py", 2, "B = 'new src/f199.py'", told="src/f199.py")
    scene.both(last)
    done = scene.review("-n", "2")
    report = scene.report
    assert (done.code, report.outcome) == (1, "FAIL"), done.output
    assert report.document["change"]["uncovered"] == []
    assert len(report.changed) == 201
    assert all(len(f["covered_by"]) == 1 for f in report.document["change"]["files"])
    for name in ("left", "right"):
        prompts = [call["prompt"] for call in scene.calls if call["name"] == name]
        assert len(prompts) == len(report.units) / 2 >= 4
        for file in files:
            assert sum(f"B = 'new {file}'" in prompt for prompt in prompts) == 1, file
        [alone] = [p for p in prompts if "src/large.py" in p]
        assert "LINE500" not in alone
        assert "CHANGE.diff" in alone
        assert "src/f000.py" not in alone
        assert max(len(p) for p in prompts) < 8000 + 12_000
    assert all(call["beside"]["CHANGE.diff"].count("LINE500 = 500") == 1 for call in scene.calls)


# --- probes ---------------------------------------------------------------------------------------

PER_FILE = '''
import pytest
from prun_review import brief, changed

@brief(scope="diff", reads=["{name}"])
@pytest.mark.parametrize("name", changed("src/**"))
def probe_file(result, name):
    """What does this change break in {name}?"""

@brief(scope="diff", reads=["web/**"])
def probe_web(result):
    """What does this change break in the browser?"""
'''


def test_parametrized_by_what_changed(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s", probe=PER_FILE, base={**BASE, "web/index.html": "<p>\n"})
    scene.commit({"src/auth.py": UNCHECKED, "src/shop.py": None, "src/new.py": "X = 1\n"})
    scene.both(GONE | {"told": "break in src/auth.py"})
    done = scene.review("-n", "2")
    report = scene.report
    assert (done.code, report.outcome) == (1, "FAIL"), done.output
    names = ["src/auth.py", "src/new.py", "src/shop.py"]
    asked = {unit["case"] for unit in report.units}
    assert asked == {f"panels/probe_change.py::probe_file[{name}]" for name in names}
    assert {row["reason"] for row in report.document["not_asked"]} == {"untouched"}
    assert report.codes() == {"consensus"}


def test_nothing_of_it_changed(tmp_path: Path) -> None:
    base = {**BASE, "web/index.html": "<p>\n"}
    scene = Scene(tmp_path / "s", probe=PER_FILE, base=base, config='gate.uncovered = ["docs/**"]')
    scene.commit({"docs/guide.md": "# Guide\n\nHow to shop here.\n"})
    done = scene.review()
    assert (done.code, scene.report.outcome) == (0, "PASS"), done.output
    assert "nothing asked: all 1 changed file" in scene.report.line
    assert {row["reason"] for row in scene.report.document["not_asked"]} == {"untouched"}
    assert scene.calls == []


def test_a_question_about_a_change_without_one(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s")
    scene.commit({"src/auth.py": EVALUATED})
    done = scene.review(base="")
    assert (done.code, scene.report.outcome) == (1, "INCOMPLETE"), done.output
    assert {row["reason"] for row in scene.report.document["not_asked"]} == {"no-base"}
    assert scene.calls == []


# --- the verbs ------------------------------------------------------------------------------------


def test_run_is_the_short_form(scene: Scene) -> None:
    done = scene.cli("run", "--base", "main", "--head", "topic")
    assert (done.code, scene.report.outcome) == (1, "FAIL"), done.output
    assert "VERDICT: FAIL" in done.output
    scene.both()
    done = scene.cli(
        "run",
        "--base",
        "main",
        "--head",
        "topic",
        "--executors",
        "left,right",
        "--",
        "-p",
        "xdist.plugin",
        "-n",
        "2",
    )
    assert (done.code, scene.report.outcome) == (0, "PASS"), done.output
    done = scene.cli("run", "--base", "main", "--head", "topic", cwd=scene.path / "src")
    assert (done.code, scene.report.outcome) == (0, "PASS"), done.output
    assert scene.cli("gate").code == 0
    done = scene.cli("run", "--base", "nowhere")
    assert done.code == 4, done.output
    assert scene.cli("gate").code == 1, "the latest review did not happen"


def test_plan_says_what_would_be_asked(scene: Scene) -> None:
    done = scene.cli("plan", "--base", "main", "--head", "topic", "--prompts")
    assert done.code == 0, done.output
    assert re.search(r"probe_change.*left", done.output)
    assert "src/auth.py" in done.output
    assert "eval(user)" in done.output
    assert scene.calls == []
    assert not (scene.path / ".prun").exists()
    done = scene.cli("plan", "--base", "main", "--head", "topic", cwd=scene.path / "src")
    assert done.code == 0, done.output
