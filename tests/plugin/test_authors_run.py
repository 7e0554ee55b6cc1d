"""Whole pytest runs of which somebody says who wrote what they review; stand-ins, -n0 and -n 2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.change.kit import Scene
from tests.plugin.conftest import ASKED, EXAMINES, ONE, Project, finding, opinion, payload

LEFT = ("--prun-authors", "left")
ALONE = "(left wrote it: right alone counts)"


def reviewed(project: Project, *rules: dict[str, Any], extra: str = "") -> None:
    """A project whose vendors examine each other's findings; who is not told otherwise finds nothing."""
    project.config(extra, tables={"left": EXAMINES, "right": EXAMINES})
    project.commit()
    project.probe(ONE)
    project.answers(*rules, {"payload": payload()})


def verb(project: Project, *args: str) -> subprocess.CompletedProcess[str]:
    """``prun-review ARGS`` in the project."""
    command = [sys.executable, "-m", "prun_review", *args]
    return subprocess.run(command, cwd=project.path, capture_output=True, text=True, check=False)


def verdict(project: Project) -> tuple[str, list[str]]:
    """Line and codes of the latest run; ``prun-review gate`` derives the same from what is stored."""
    told = project.report()["verdict"]
    gate = json.loads(verb(project, "gate", "--json").stdout)
    assert gate["outcome"] == told["outcome"]
    assert [r["text"] for r in gate["reasons"]] == [r["text"] for r in told["reasons"]]
    return told["line"], [r["code"] for r in told["reasons"] if r["outcome"] != "PASS"]


@pytest.mark.parametrize(
    ("args", "extra", "line"),
    [
        (LEFT, "", f"PASS {ALONE}"),
        ((*LEFT, "-n", "2"), "", f"PASS {ALONE}"),
        (("--prun-authors", " vendor-left , "), "", "PASS (vendor-left wrote it: right alone counts)"),
        (("--prun-authors", ""), 'authors = ["left"]', "PASS"),
    ],
    ids=["name", "with workers", "vendor", "nobody after all"],
)
def test_the_other_alone_counts_and_every_report_says_so(
    project: Project, args: tuple[str, ...], extra: str, line: str
) -> None:
    reviewed(project, extra=extra)
    done = project.run("panels/", *args)
    assert done.ret == 0, done.stdout.str()
    assert verdict(project) == (line, [])
    document = project.report()
    named = line.partition(" (")[2].partition(" wrote it")[0]
    assert document["authors"] == ({"named": [named], "executors": ["left"]} if named else None)
    page = (project.path / "reports/latest/report.md").read_text()
    told = f"written by {named}: the answers of left count against it only"
    for text in (done.stdout.str(), page.replace("\\", "")):
        assert (told in text) is bool(named)
    explained = verb(project, "gate", "--explain").stdout
    assert ("; " + named + " wrote it, so left is no voice" in explained) is bool(named)


@pytest.mark.parametrize(
    ("word", "workers", "expected"),
    [
        ("refute", (), ("INCOMPLETE", "unresolved", "unresolved")),
        ("refute", ("-n", "2"), ("INCOMPLETE", "unresolved", "unresolved")),
        ("confirm", (), ("FAIL", "consensus", "confirmed")),
    ],
    ids=["refutes", "with workers", "confirms"],
)
def test_an_author_is_asked_and_refutes_nothing(
    project: Project, word: str, workers: tuple[str, ...], expected: tuple[str, str, str]
) -> None:
    reviewed(
        project,
        {"when": ASKED, "payload": opinion(word)},
        {"of": "right", "when": "Audit", "payload": payload(finding())},
        extra='authors = ["lineage-left"]',
    )
    assert project.run("panels/", *workers).ret == 1
    line, codes = verdict(project)
    [found] = project.report()["findings"]
    assert (line.split()[0], codes, found["examined"]) == (expected[0], [expected[1]], expected[2]), line
    assert sorted(project.calls()) == ["left", "left", "right"]
    note = "left refutes it, which counts for nothing: it wrote what is reviewed"
    assert (note in json.dumps(project.report()["examination"])) is (word == "refute")


def test_where_nobody_else_answers_it_is_never_green(project: Project) -> None:
    reviewed(project)
    assert project.run("panels/", *LEFT, "--prun-executors", "left").ret == 1
    line, codes = verdict(project)
    assert codes == ["author-only"]
    assert line.endswith("author-only; left wrote it: nobody else was asked)")
    reviewed(project, {"of": "right", "raw": "no idea", "exit": 1})
    assert project.run("panels/", *LEFT, "--prun-retries", "0").ret == 1
    assert "author-only" in verdict(project)[1]


def test_a_stored_run_is_judged_again_with_another_author(project: Project) -> None:
    reviewed(project)
    assert project.run("panels/").ret == 0
    stored = project.report()["run_id"]
    for author, outcome in (("left", 0), ("left,right", 1)):
        done = project.run("panels/", "--prun-replay", stored, "--prun-authors", author)
        assert done.ret == outcome, done.stdout.str()
    assert verdict(project)[1] == ["author-only"]
    assert len(project.calls()) == 2


def test_a_name_that_nobody_knows_stops_the_run_before_anything_is_asked(project: Project) -> None:
    reviewed(project)
    done = project.run("panels/", "--prun-authors", "left,vendor-lefd")
    assert done.ret == 4
    done.stderr.fnmatch_lines(["*authors names 'vendor-lefd', which is no executor, vendor or lineage*"])
    done.stderr.fnmatch_lines(["*remedy: known: vendor-left, *"])
    assert project.calls() == []


def test_the_plan_and_the_short_command_know_authors_too(project: Project) -> None:
    reviewed(project)
    assert "warning" not in verb(project, "plan", "--authors", "left").stdout
    told = verb(project, "plan", "--authors", "left,right")
    assert told.returncode == 0, told.stderr
    assert (
        "warning: panels: the quorum is 1, and 1 case will be asked of left, right only (0 independent; "
        "left and right wrote it, so left and right are no voices): INCOMPLETE, whatever is answered"
    ) in told.stdout.splitlines()
    done = verb(project, "run", "--authors", "left", "--", "-q")
    assert done.returncode == 0, done.stdout
    assert verdict(project)[0] == f"PASS {ALONE}"


def test_a_changed_file_that_only_its_author_looked_at_is_not_covered(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s")
    scene.commit({"src/auth.py": "PERIOD = 31\n", "docs/guide.md": "# Guide\n"})
    scene.answers({"of": "right", "examined": ["src/auth.py"]}, {})
    assert scene.review().code == 0
    done = scene.review(*LEFT)
    assert (done.code, scene.report.codes()) == (1, {"uncovered"}), done.output
    assert "docs/guide.md (no answer names it as examined; " in scene.report.text("uncovered")
    assert scene.review("--prun-authors", "right").code == 0
    only = scene.cli("plan", "--base", "main", "--authors", "left,right")
    assert "nobody is asked about docs/guide.md" in only.output
