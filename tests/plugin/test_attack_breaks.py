"""Whole runs that end green although a review did not happen, or another one did."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.conftest import ONE, Project, finding, payload

SECOND = ONE.replace("probe_app", "probe_second").replace("Audit the", "Second audit of the")
TEST = "def test_a():\n    pass\n"


def gate(project: Project) -> int:
    """The exit status of ``prun-review gate``."""
    command = [sys.executable, "-m", "prun_review", "gate"]
    return subprocess.run(command, cwd=project.path, capture_output=True).returncode


def line(result: pytest.RunResult) -> str:
    """The verdict line, which the terminal may have wrapped."""
    text = result.stdout.str()
    return " ".join(text[text.find("VERDICT:") :].split()) if "VERDICT:" in text else ""


LEFT_OUT = {
    "ignore": (["panels/", "--ignore=panels/sub"], {}),
    "ignore-glob": (["panels/", "--ignore-glob=*second*"], {}),
    "subfolder": (["panels/sub"], {}),
    "file": (["panels/probe_app.py"], {}),
    "norecursedirs": (["panels/", "-o", "norecursedirs=sub"], {}),
    "modifyitems": (
        ["panels/"],
        {
            "panels/conftest.py": "def pytest_collection_modifyitems(items):\n"
            "    items[:] = [i for i in items if 'second' not in i.nodeid]\n"
        },
    ),
    "importorskip": (
        ["panels/"],
        {"panels/sub/probe_second.py": "import pytest\npytest.importorskip('not_there_x')\n" + SECOND},
    ),
    "module skip": (
        ["panels/"],
        {
            "panels/sub/probe_second.py": "import pytest\n"
            "pytest.skip('later', allow_module_level=True)\n" + SECOND
        },
    ),
}


@pytest.mark.parametrize(("arguments", "files"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_probe_files_that_gave_no_item_make_the_run_partial(
    project: Project, arguments: list[str], files: dict[str, str]
) -> None:
    """``-k`` and node ids say so; whatever else keeps a probe away must say so too."""
    project.probe(ONE)
    project.probe(SECOND, "panels/sub/probe_second.py")
    for name, text in files.items():
        project.write(name, text)
    project.answers({"payload": payload()})
    result = project.run(*arguments)
    assert (result.ret, gate(project)) != (0, 0)
    assert result.ret == 1 or "partial" in line(result)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), "1 probe file, panels/probe_b.py"),
        (("panels/probe_c.py",), "2 probe files, the first panels/probe_b.py"),
    ],
)
def test_probe_files_that_were_not_named_are_counted_and_the_first_is_named(
    project: Project, more: tuple[str, ...], told: str
) -> None:
    project.probe(ONE)
    for name in ("panels/probe_b.py", *more):
        project.probe(SECOND, name)
    project.answers({"payload": payload()})
    assert project.run("panels/probe_app.py").ret == 0
    (partial,) = [r["text"] for r in project.report()["verdict"]["reasons"] if r["code"] == "partial"]
    assert partial == f"partial: 2 units, not selected: {told}"


def test_last_failed_is_partial_although_pytest_skips_whole_files(project: Project) -> None:
    project.probe(ONE)
    project.probe(SECOND, "panels/sub/probe_second.py")
    project.answers({"when": "Second audit", "raw": "x", "exit": 1}, {"payload": payload()})
    run = project.pytester.runpytest_subprocess
    assert run("panels/", "-p", "no:randomly").ret == 1
    project.answers({"payload": payload()})
    result = run("panels/", "-p", "no:randomly", "--lf")
    assert "partial" in line(result)
    assert gate(project) == 1


def test_a_file_that_does_not_import_is_not_green_for_the_gate_command(project: Project) -> None:
    project.probe(ONE)
    project.probe("import not_there_x\n" + SECOND, "panels/probe_second.py")
    project.answers({"payload": payload()})
    result = project.run("panels/", "--continue-on-collection-errors")
    assert result.ret != 0
    assert gate(project) == 1


NO_REVIEW = {
    "other tests only": (["panels/", "tests/", "-k", "test_a"], {"panels/probe_app.py": ONE}),
    "no probe in it": (
        ["panels/", "tests/"],
        {"panels/probe_app.py": "def prob_app(result):\n    '''A.'''\n"},
    ),
    "a test file in panels": (["panels/"], {"panels/test_b.py": TEST}),
    "5 made 0": (
        ["panels/"],
        {
            "panels/probe_app.py": "",
            "conftest.py": "def pytest_sessionfinish(session, exitstatus):\n"
            "    if exitstatus == 5:\n        session.exitstatus = 0\n",
        },
    ),
}


@pytest.mark.parametrize(("arguments", "files"), NO_REVIEW.values(), ids=NO_REVIEW)
def test_a_session_that_named_panels_and_asked_nothing_is_not_green(
    project: Project, arguments: list[str], files: dict[str, str]
) -> None:
    project.write("tests/test_a.py", TEST)
    for name, text in files.items():
        project.write(name, text)
    project.answers({"payload": payload()})
    assert project.run(*arguments).ret != 0
    assert project.calls() == []


def test_the_gate_does_not_answer_for_a_session_that_failed_before_it_began(project: Project) -> None:
    """``pytest panels/ || true; prun-review gate``: an older PASS is not the verdict on this session."""
    project.probe(ONE)
    project.answers({"payload": payload()})
    assert project.run("panels/").ret == 0
    project.probe("import not_there_x\n" + ONE)
    assert project.run("panels/").ret != 0
    assert gate(project) != 0


def test_an_empty_parameter_set_is_no_decision_to_skip(project: Project) -> None:
    project.probe(
        ONE + "\n\nimport pytest\n\n@pytest.mark.parametrize('module', [])\n"
        "def probe_each(module):\n    '''Audit {module}.'''\n"
    )
    project.answers({"payload": payload()})
    assert project.run("panels/").ret == 1


def test_an_altered_output_of_an_attempt_is_not_replayed(project: Project) -> None:
    project.probe(ONE)
    project.answers({"payload": payload(finding())})
    assert project.run("panels/").ret == 1
    run = project.report()["run_id"]
    for tail in (project.path / ".prun/runs" / run / "units").glob("*/1/tail"):
        tail.write_text(json.dumps(payload()))
    assert project.run("panels/", "--prun-replay", run).ret == 1


MEDDLER = """
import glob, json, os, sys, time

sys.stdin.read()
answer = open(sys.argv[1]).read()
deadline = time.time() + 20
done = False
while not done and time.time() < deadline:
    for tail in glob.glob(sys.argv[2]):
        os.rename(tail, tail + ".was")
        with open(tail, "w") as file:
            file.write(answer)
        done = True
    time.sleep(0.01)
print(answer)
"""


def test_one_reviewer_cannot_put_its_words_into_anothers_mouth(project: Project) -> None:
    """``tail`` is renamed away while its owner still writes: what is read is not what was written."""
    outside = project.scenario.parent
    (outside / "meddler.py").write_text(MEDDLER)
    (outside / "answer.json").write_text(json.dumps(payload()))
    place = f"{project.path}/.prun/runs/*/units/*right*/1/tail"
    argv = [sys.executable, str(outside / "meddler.py"), str(outside / "answer.json"), place]
    text = (project.path / "pyproject.toml").read_text()
    old = json.dumps(
        [sys.executable, str(Path(__file__).with_name("answering.py")), str(project.scenario), "left"]
    )
    assert old in text
    project.write("pyproject.toml", text.replace(old, json.dumps(argv)))
    project.probe(ONE)
    project.answers({"of": "right", "sleep": 2, "payload": payload(finding())})
    project.run("panels/")
    [right] = [u for u in project.report()["units"] if u["executor"] == "right"]
    held = [f for f in project.report()["findings"] if "right" in f["executors"]]
    assert right["status"] != "valid" or held


def test_panels_behind_a_link_review_the_project_that_was_named(project: Project) -> None:
    """The link's target must not decide which project is reviewed under whose configuration."""
    other = project.path.parent / f"{project.path.name}-other"
    shutil.copytree(project.path, other)
    (other / "panels").mkdir()
    (other / "panels/probe_app.py").write_text(ONE)
    os.symlink(other / "panels", project.path / "panels")
    project.answers({"payload": payload()})
    result = project.run("panels/")
    assert result.ret != 0 or (project.path / "reports/latest/report.json").is_file()
    assert result.ret != 0 or not (other / ".prun").exists()


def test_a_policy_for_a_folder_that_is_no_panels_folder_is_a_usage_error(project: Project) -> None:
    project.config(
        '[tool.prun_review.gate]\nmode = "report"\n[tool.prun_review.folders."security"]\nmode = "enforce"'
    )
    project.probe(ONE, "panels/security/probe_app.py")
    project.answers({"payload": payload(finding())})
    assert project.run("panels/").ret != 0


def test_two_parameter_ids_are_two_cases(project: Project) -> None:
    project.probe(
        "import pytest\n\n@pytest.mark.parametrize('name', ['a', 'a-'])\n"
        "def probe_x(name):\n    '''Audit <{name}>.'''\n"
    )
    project.answers({"payload": payload()})
    project.run("panels/")
    assert len(project.report()["cases"]) == 2


@pytest.mark.parametrize("flag", ["--sw-skip", "--sw-reset"])
def test_what_implies_stepwise_is_refused_like_it(project: Project, flag: str) -> None:
    project.probe(ONE)
    project.answers({"payload": payload()})
    assert project.pytester.runpytest_subprocess("panels/", flag).ret == pytest.ExitCode.USAGE_ERROR


def test_a_link_that_leaves_the_tree_is_told(project: Project) -> None:
    """All of ``lib`` is behind the link, and no reviewer sees it."""
    outside = project.path.parent / f"{project.path.name}-lib"
    outside.mkdir()
    os.symlink(outside, project.path / "lib")
    project.commit()
    project.probe(ONE)
    project.answers({"payload": payload()})
    project.run("panels/")
    told = json.dumps([project.report()["verdict"], project.report()["revision"]])
    assert "lib" in told
