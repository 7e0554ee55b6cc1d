"""Probes that have code written: copies, patches, our checks, and two patches beside each other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from prun_review import document, patchrows
from tests.plugin.conftest import Project
from tests.repokit import cache_home

WRITER = """\
import json, pathlib, subprocess, sys
place, name = pathlib.Path(sys.argv[1]), sys.argv[2]
(place / (name + ".prompt")).write_text(sys.stdin.read())
subprocess.run(["/bin/sh", "-ec", (place / (name + ".sh")).read_text()], check=True)
files = json.loads((place / (name + ".json")).read_text())
answer = {"conclusion": "done", "files": "some", "open_items": "none", "verification": "none",
    "completed": True, "changed_files": files, "summary": "it is done",
    "tests_run": None, "tests_passed": None, "tests_failed": None}
print(json.dumps(answer))
"""
PROBE = '''
from prun_review import brief

@brief(mode="write", scope=["src/**"], verify=["grep -q shlex src/app.py", "echo checked"], timeout=60)
def probe_mend(result):
    """Quote what reaches the shell."""
    assert result.patch.paths == {"src/app.py"}
    assert all(check.ok for check in result.checks)
'''
MEND = "sed -i 's/^import os$/import os, shlex/; s/+ command/+ shlex.quote(command)/' src/app.py"
OTHER = "sed -i 's/^import os$/import os, shlex/; s/+ command/+ shlex.join([command])/' src/app.py"


@pytest.fixture
def writing(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A project with two who write, ``left`` and ``right``; both mend the file, each in its way."""
    place = project.path.parent / f"{project.path.name}-writers"
    place.mkdir()
    (place / "writer.py").write_text(WRITER)
    lines = ["[tool.pytest.ini_options]", 'addopts = ""', "[tool.prun_review]", "retry_wait = 0.0"]
    lines += ['executors = ["left", "right"]']
    for name in ("left", "right"):
        argv = [sys.executable, str(place / "writer.py"), str(place), name]
        lines += [f"[tool.prun_review.executor.{name}]", 'type = "command"', 'contracts = ["change"]']
        lines += [f'vendor = "vendor-{name}"', f'lineage = "lineage-{name}"', f"argv = {json.dumps(argv)}"]
    project.write("pyproject.toml", "\n".join(lines) + "\n")
    project.write(".gitignore", ".prun/\nreports/\n")
    project.probe(PROBE)
    project.commit()
    does(project, left=MEND, right=OTHER)
    with cache_home() as cache:
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        yield project


def does(project: Project, claims: Sequence[str] = ("src/app.py",), **scripts: str) -> None:
    """What each of the two does, and says that it changed."""
    place = project.path.parent / f"{project.path.name}-writers"
    for name, script in scripts.items():
        (place / f"{name}.sh").write_text(script)
        (place / f"{name}.json").write_text(json.dumps(list(claims)))


def units(project: Project) -> dict[str, Mapping[str, Any]]:
    """Executor -> its unit in the document of the latest run."""
    return {unit["executor"]: unit for unit in project.report()["units"]}


def run_directory(project: Project) -> Path:
    return max((project.path / ".prun/runs").iterdir())


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_two_write_the_same_and_their_patches_stand_beside_each_other(
    writing: Project, workers: tuple[str, ...]
) -> None:
    before = (writing.path / "src/app.py").read_text()
    result = writing.run("panels/", "--prun-report=markdown", "--prun-report=json", *workers)
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    assert (writing.path / "src/app.py").read_text() == before
    found = units(writing)
    page = (writing.path / "reports/latest/report.md").read_text()
    taking = dict(re.findall(r"^- (\w+): `git apply (\S+)`$", page, re.M))
    for name, quoted in (("left", "shlex.quote(command)"), ("right", "shlex.join([command])")):
        unit = found[name]
        assert [file["path"] for file in unit["patch"]["files"]] == ["src/app.py"]
        assert [(check["command"], check["code"]) for check in unit["checks"]] == [
            ("grep -q shlex src/app.py", 0),
            ("echo checked", 0),
        ]
        patch = run_directory(writing) / "units" / unit["slug"] / "change.patch"
        applied = ["git", "apply", "--stat", "--check", taking[name]]
        subprocess.run(applied, cwd=writing.path, check=True, capture_output=True)
        assert quoted in patch.read_text()
    [row] = writing.report()["patches"]
    assert row["case"].endswith("::probe_mend")
    [meeting] = row["meetings"]
    assert (meeting["outcome"], meeting["same"], meeting["differ"]) == ("overlap", ["1"], ["5"])
    for told in (
        result.stdout.str(),
        (writing.path / "reports/latest/report.md").read_text(),
        writing.pytester.run(sys.executable, "-m", "prun_review", "report", "latest").stdout.str(),
    ):
        assert "src/app.py" in told
        assert "grep -q shlex src/app.py" in told
        assert "same at 1; differ at 5" in told


@pytest.mark.parametrize(
    ("claims", "script", "reason", "told"),
    [
        (["src/app.py"], "echo x >> src/app.py", "verify", "grep -q shlex src/app.py"),
        (["src/app.py"], f"{MEND}; echo x > setup.py", "breach", "[outside-scope] setup.py"),
        (["src/gone.py"], MEND, "contract", "src/gone.py"),
        (["src/app.py"], "true", "contract", "src/app.py"),
    ],
)  # fmt: skip
def test_what_is_not_as_it_was_asked_fails_its_item_and_the_other_one_stands(
    writing: Project, claims: Sequence[str], script: str, reason: str, told: str
) -> None:
    does(writing, claims, left=script)
    result = writing.run("panels/", "--prun-report=markdown", "--prun-report=json", "-v")
    result.assert_outcomes(passed=1, failed=2)  # the item and the gate
    assert result.ret == 1
    found = units(writing)
    assert (found["left"]["status"], found["left"]["reason"]) == ("broken", reason)
    assert found["right"]["status"] == "valid"
    assert told in result.stdout.str()
    assert "FAILED panels/probe_app.py::probe_mend[left]" in result.stdout.str()
    page = (writing.path / "reports/latest/report.md").read_text()
    assert "Patches for" in page
    git = ["git", "status", "--porcelain", "src", "setup.py"]
    assert subprocess.run(git, cwd=writing.path, check=True, capture_output=True).stdout == b""


def test_the_patch_of_one_alone_is_shown_and_compared_with_nothing(writing: Project) -> None:
    result = writing.run("panels/", "--prun-executors=left", "--prun-report=markdown", "--prun-report=json")
    result.assert_outcomes(passed=1, failed=1)  # the gate wants a second voice
    assert "patches" not in writing.report()
    result.stdout.fnmatch_lines(["FILES: 1 touched", "  src/app.py  modified"])
    page = (writing.path / "reports/latest/report.md").read_text()
    assert "`src/app.py`" in page
    assert "Where they agree" not in page


def test_a_patch_that_is_spoilt_afterwards_is_not_compared(writing: Project) -> None:
    writing.run("panels/", "--prun-report=json").assert_outcomes(passed=2)
    patch = run_directory(writing) / "units" / units(writing)["right"]["slug"] / "change.patch"
    patch.write_text(patch.read_text().replace("shlex.join", "shlex.quote"))
    told = writing.pytester.run(sys.executable, "-m", "prun_review", "report", "latest").stdout.str()
    assert "same at 1" not in told
    assert "lines are not compared: the patch of right cannot be read" in told


def test_commands_that_only_look_write_nothing(writing: Project) -> None:
    for arguments in (("--collect-only",), ("--setup-plan",)):
        writing.run("panels/", *arguments)
    place = writing.path.parent / f"{writing.path.name}-writers"
    assert not list(place.glob("*.prompt"))


def test_the_document_with_patches_is_one_by_its_schema(writing: Project) -> None:
    does(writing, left=OTHER)
    writing.run("panels/", "--prun-report=json").assert_outcomes(passed=2)
    found = writing.report()
    assert document.validate(found) == []
    [(case, compared)] = patchrows.written(found)
    assert case == "panels/probe_app.py::probe_mend"
    assert [side.name for side in compared.sides] == ["left", "right"]
    assert [meeting.outcome for meeting in compared.meetings] == ["same"]
