"""Briefs as marks: what the stand-ins really receive, and what a malformed one costs."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import ONE, Project, payload


def prompts(project: Project) -> dict[str, str]:
    """Prompt by unit id of the latest run."""
    import json

    found = {}
    for file in (project.path / ".prun/runs").glob("*/units/*/unit.json"):
        unit = json.loads(file.read_text())
        attempts = sorted(file.parent.glob("[0-9]*/prompt.md"))
        if attempts:
            found[unit["id"]] = attempts[0].read_text()
    return found


def test_docstring_parameters_and_other_braces(project: Project) -> None:
    project.probe(
        """
import pytest
from prun_review import brief

@pytest.mark.parametrize("module", ["app"])
def probe_it(module):
    '''Audit src/{module}.py; keep {other} and {"json": 1} as they are.'''
"""
    )
    project.answers({"payload": payload()})
    project.run("panels/").assert_outcomes(passed=2)
    for prompt in prompts(project).values():
        assert 'Audit src/app.py; keep {other} and {"json": 1} as they are.' in prompt


def test_the_closest_brief_wins_field_by_field(project: Project) -> None:
    project.probe(
        """
import pytest
from prun_review import brief

pytestmark = brief(prompt="from module", reads=["src/*.py"])

@brief(prompt="from function {case}")
@pytest.mark.parametrize("case", [
    "plain",
    pytest.param("own", marks=brief(prompt="from param {case}")),
])
def probe_it(case):
    pass

def probe_bare():
    pass
"""
    )
    project.answers({"payload": payload()})
    project.run("panels/").assert_outcomes(passed=6)
    told = prompts(project)
    for unit, prompt in told.items():
        assert "src/app.py" in prompt
        want = (
            "from module" if "bare" in unit else "from param own" if "own" in unit else "from function plain"
        )
        assert want in prompt


def test_prompts_from_files_and_functions(project: Project) -> None:
    project.write("panels/question.md", "Look at {module} from a file.")
    project.probe(
        """
from pathlib import Path
import pytest
from prun_review import brief

@brief(prompt=Path("question.md"))
@pytest.mark.parametrize("module", ["app"])
def probe_file(module):
    pass

@brief(prompt=lambda module: "Look at " + module + " from a function.")
@pytest.mark.parametrize("module", ["app"])
def probe_function(module):
    pass
"""
    )
    project.answers({"payload": payload()})
    project.run("panels/").assert_outcomes(passed=4)
    text = "\n".join(prompts(project).values())
    assert "Look at app from a file." in text
    assert "Look at app from a function." in text


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("@brief(promt='x')\ndef probe_bad():\n    '''x'''", "brief() has no field 'promt'*"),
        ("@brief(access='root')\ndef probe_bad():\n    '''x'''", "access is 'root'"),
        ("@brief(timeout=-1)\ndef probe_bad():\n    '''x'''", "timeout is -1"),
        ("@brief(reads='src')\ndef probe_bad():\n    '''x'''", "reads is 'src'"),
        ("@brief(repeat=0)\ndef probe_bad():\n    '''x'''", "repeat is 0"),
        ("@brief(contract='poem')\ndef probe_bad():\n    '''x'''", "unknown contract 'poem'*"),
        ("@brief(contract=choice('a'))\ndef probe_bad():\n    '''x'''", "choice() needs two options or more"),
        ("@brief(executors=['cdx'])\ndef probe_bad():\n    '''x'''", "unknown executor 'cdx'*"),
        (
            "@brief(executors=['rigth'])\ndef probe_bad():\n    '''x'''",
            "unknown executor 'rigth': did you mean 'right'?",
        ),
        ("@brief(reads=['src/nothing*.py'])\ndef probe_bad():\n    '''x'''", "*src/nothing*"),
        ("@brief(reads=['../outside'])\ndef probe_bad():\n    '''x'''", "*../outside*"),
        ("@brief(reads=['/etc/passwd'])\ndef probe_bad():\n    '''x'''", "*/etc/passwd*"),
        ("@brief(prompt=lambda: 1 / 0)\ndef probe_bad():\n    '''x'''", "*ZeroDivisionError*"),
        ("@brief(prompt=3)\ndef probe_bad():\n    '''x'''", "prompt is 3"),
        ("def probe_bad():\n    pass", "the prompt is empty"),
        (
            "@pytest.mark.parametrize('x', [pytest.param(1, marks=brief(executors=['left']))])\n"
            "def probe_bad(x):\n    '''x'''",
            "executors stands in pytest.param*",
        ),
    ],
)
def test_a_malformed_brief_fails_its_items_only(
    project: Project, bad: str, message: str, workers: tuple[str, ...]
) -> None:
    project.probe(ONE + "\nimport pytest\nfrom prun_review import choice\n\n" + bad + "\n")
    project.answers({"payload": payload()})
    result = project.run("panels/", *workers)
    assert result.ret == 1
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] == 2
    assert outcomes["failed"] >= 2  # its own items, and the gate
    result.stdout.fnmatch_lines([f"*{message.strip('*')}*"])
    assert sorted(project.calls()) == ["left", "right"]
    assert project.report()["verdict"]["outcome"] == "INCOMPLETE"
    said = result.stdout.str()
    assert "2 units of 1 case: 1 to left (vendor-left, paid); 1 to right (vendor-right, paid)" in said
    broken = {u["id"] for u in project.report()["units"] if u["reason"] == "brief"}
    assert broken
    assert f"; {len(broken)} broken, not sent" in said
    assert "our own error" not in said


def test_an_empty_prompt_without_docstrings_is_an_error(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONOPTIMIZE", "2")
    project.probe(ONE)
    project.answers({"payload": payload()})
    result = project.run("panels/")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the prompt is empty*"])
    assert project.calls() == []


def test_executors_and_repeat_shape_the_items(project: Project) -> None:
    project.probe(
        """
from prun_review import brief

@brief(executors=["left"], repeat=2)
def probe_cheap():
    '''Cheap question.'''
"""
    )
    project.answers({"payload": payload()})
    result = project.run("panels/", "-v")
    # in order of completion, which is anybody's guess
    result.stdout.fnmatch_lines_random(["*probe_cheap[[]left~1]*", "*probe_cheap[[]left~2]*"])
    assert project.calls() == ["left", "left"]
    # two runs of one vendor are never two vendors
    assert project.report()["verdict"]["outcome"] == "INCOMPLETE"
    assert result.ret == 1


def test_executors_are_restricted_on_the_command_line(project: Project) -> None:
    project.probe(ONE)
    project.answers({"payload": payload()})
    result = project.run("panels/", "--prun-executors", "left")
    assert project.calls() == ["left"]
    assert result.ret == 1
    assert [r["code"] for r in project.report()["verdict"]["reasons"] if r["outcome"] == "INCOMPLETE"] == [
        "one-vendor"
    ]


def test_a_question_that_nobody_asked_can_answer_is_not_asked_and_not_green(project: Project) -> None:
    project.config("")
    text = (
        (project.path / "pyproject.toml")
        .read_text()
        .replace('type = "command"', 'type = "command"\ncontracts = ["findings"]')
    )
    project.write("pyproject.toml", text)
    project.probe(
        """
from prun_review import brief, choice

@brief(contract=choice("a", "b", criteria=["cost"]))
def probe_design():
    '''Which?'''
"""
    )
    project.answers({"payload": payload()})
    result = project.run("panels/")
    assert result.ret != 0
    assert project.calls() == []


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--prun-executors", "cdx"), "unknown executor 'cdx'"),
        (("--prun-jobs", "0"), "jobs must be at least 1"),
        (("--prun-report", "poem"), "poem"),
        (("--prun-executors", "left", "--prun-offline"), "exclude each other"),
    ],
)
def test_bad_options_are_usage_errors(project: Project, option: tuple[str, ...], message: str) -> None:
    project.probe(ONE)
    result = project.run("panels/", *option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr.str()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('reviewed = "nope"', "reviewed names no folder: 'nope'"),
        ("job = 3", "did you mean 'jobs'"),
        ('jobs = "many"', "jobs must be a whole number"),
        ("[tool.prun_review.gate]\nmod = 'report'", "did you mean 'mode'"),
        ("[tool.prun_review.executor.left2]\ntyp = 'command'", "did you mean 'type'"),
    ],
)
def test_bad_configuration_is_a_usage_error_with_place_and_remedy(
    project: Project, line: str, message: str
) -> None:
    project.config(line)
    project.probe(ONE)
    result = project.run("panels/")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr.str()
    assert "tool.prun_review" in result.stderr.str()
