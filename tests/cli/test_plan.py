"""``prun-review plan``: what would be asked of whom, with nothing started and nothing written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.conftest import ONE, Project, payload, project
from tests.waves.wavekit import DIR, T
from tests.waves.wavekit import project as waves

__all__ = ["project"]


def plan(project: Project, *args: str) -> subprocess.CompletedProcess[str]:
    """The verb as a process of its own."""
    argv = [sys.executable, "-m", "prun_review", "plan", *args]
    # Other plugins cost every process half a second.
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(argv, cwd=project.path, env=env, capture_output=True, text=True)


def test_units_files_and_receivers_without_a_dispatch(project: Project) -> None:
    project.probe(ONE)
    project.answers({"payload": payload()})
    done = plan(project)
    assert done.returncode == 0, done.stderr
    assert "panels/probe_app.py::probe_app[left]" in done.stdout
    assert "findings, access read, 1 file, at most 900 s" in done.stdout
    assert "1 to left (vendor-left, paid); 1 to right (vendor-right, paid); about src/app.py" in done.stdout
    assert "left: 1 unit, at most 2 dispatches; cost not estimable" in done.stdout
    assert project.calls() == []
    assert not (project.path / ".prun").exists()
    assert not (project.path / "reports").exists()


def test_prompts_are_shown_in_full_when_asked_for(project: Project) -> None:
    project.probe(ONE)
    done = plan(project, "panels/probe_app.py", "--prompts", "--executors", "left")
    assert done.returncode == 0, done.stderr
    assert "    Audit the application." in done.stdout
    assert "[right]" not in done.stdout


def test_a_broken_brief_is_named_and_the_status_is_1(project: Project) -> None:
    project.probe(ONE + "\n@brief(reads=['nowhere/*.py'])\ndef probe_bad():\n    '''x'''\n")
    done = plan(project)
    assert done.returncode == 1
    assert "BROKEN: reads: 'nowhere/*.py' matches no file" in done.stdout


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        ("contract='poem'", "unknown contract 'poem'"),
        ("executors=['lefd']", "unknown executor 'lefd': did you mean 'left'?"),
    ],
)
def test_what_is_not_sent_is_not_counted(project: Project, mark: str, told: str) -> None:
    project.probe(f"{ONE}\n@brief({mark})\ndef probe_bad():\n    '''x'''\n")
    done = plan(project, "--prompts")
    assert done.returncode == 1, done.stderr
    assert told in done.stdout
    assert "2 units of 1 case: 1 to left (vendor-left, paid); 1 to right (vendor-right, paid)" in done.stdout
    assert "broken, not sent" in done.stdout
    assert "left: 1 unit, at most 2 dispatches" in done.stdout


@pytest.mark.parametrize(
    ("body", "message"),
    [("import nowhere_at_all\n", "nowhere_at_all"), ("def probe_x(:\n", "SyntaxError")],
)
def test_a_probe_file_that_does_not_import_is_an_error(project: Project, body: str, message: str) -> None:
    project.probe(body)
    done = plan(project)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_no_panels_folder_is_an_error_with_a_remedy(project: Project) -> None:
    done = plan(project)
    assert done.returncode == 2
    assert "there is no panels folder" in done.stderr
    assert "remedy" in done.stderr


def test_a_question_that_an_executor_cannot_answer_is_listed(project: Project) -> None:
    text = (project.path / "pyproject.toml").read_text()
    project.write(
        "pyproject.toml", text.replace('type = "command"', 'type = "command"\ncontracts = ["findings"]', 1)
    )
    project.probe(
        "from prun_review import brief, choice\n\n"
        "@brief(contract=choice('a', 'b', criteria=['cost']))\ndef probe_design():\n    '''Which?'''\n"
    )
    done = plan(project)
    assert done.returncode == 0, done.stderr
    assert (
        "not asked  panels/probe_app.py::probe_design left: left cannot answer a choice question"
        ' (contracts = [..., "choice"] in its table says that it can)' in done.stdout
    )


def test_it_is_planned_as_often_as_asked_and_without_the_second_wave(project: Project) -> None:
    project.probe(ONE)
    able = 'contracts = ["findings", "examination"]'
    project.config("", tables={"left": able, "right": able})
    names = ("--repeat", "2", "--cross-examine", "all"), ("--prun-repeat=2", "--prun-cross-examine=off")
    for args, examined in zip(names, (True, False), strict=True):
        done = plan(project, *args)
        assert done.returncode == 0, done.stderr
        assert "panels/probe_app.py::probe_app[left~2]" in done.stdout
        assert "4 units of 1 case" in done.stdout
        assert ("cross-examination (all)" in done.stdout) is examined
        assert "warning" not in done.stdout


def test_a_quorum_that_cannot_be_reached_is_told(project: Project) -> None:
    project.probe(ONE)
    project.config("gate.quorum = 3")
    done = plan(project)
    assert done.returncode == 0, done.stderr
    told = (
        "warning: panels: the quorum is 3, and 1 case will be asked of left, right only (2 independent): "
        "INCOMPLETE, whatever is answered"
    )
    assert told in done.stdout.splitlines()
    project.config('gate.quorum = 3\ngate.mode = "report"')
    assert "warning" not in plan(project).stdout


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--bogus",), "unrecognized arguments: --bogus"),
        (("--repeat", "x"), "argument --repeat/--prun-repeat: invalid int value: 'x'"),
        (("--cross-examine", "x"), "argument --cross-examine/--prun-cross-examine: invalid choice: 'x'"),
    ],
)
def test_what_it_does_not_know_leads_to_its_own_help(
    project: Project, args: tuple[str, ...], told: str
) -> None:
    done = plan(project, *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"prun-review plan: {told}" in done.stderr
    assert done.stderr.endswith("remedy: prun-review plan --help\n")


def test_of_a_directory_of_waves_who_does_what_and_what_is_sent(tmp_path: Path) -> None:
    made = waves(tmp_path, T(1, 1, scope="## Scope\nCREATE: one.txt"), T(2, 2, [1]))

    def said(*args: str) -> tuple[int, str, str]:
        argv = [sys.executable, "-m", "prun_review", "plan", *args]
        done = subprocess.run(argv, cwd=made.root, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    code, out, err = said(DIR)
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"hand       {DIR}::task-001-part",
        "           wave 1, access write, at most 7200 s",
        f"hand       {DIR}::task-002-part",
        "           wave 2, access write, at most 7200 s, after task-001-part",
    ]
    code, out, _ = said("--prompts", f"{DIR}/::task-001")
    assert (code, "task-002" in out) == (0, False)
    for words in ("Part 1", "one.txt", ".claude-task-complete", "throwaway copy"):
        assert words in out
    assert "there are: task-001-part, task-002-part" in said(f"{DIR}::task-9")[2]
    code, _, err = said(DIR, "--executors", "hand")
    assert (code, f"prun-review run {DIR} --dry-run" in err) == (2, True)
    assert not (made.root / ".prun").exists()
