"""What is left of ways to a green run once whole files are counted and replaced files are refused."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.plugin.conftest import ONE, Project, payload

OTHER = "\n\ndef probe_other():\n    '''Other question.'''\n"


def gate(project: Project) -> int:
    """The exit status of ``prun-review gate``."""
    command = [sys.executable, "-m", "prun_review", "gate"]
    return subprocess.run(command, cwd=project.path, capture_output=True).returncode


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_items_that_a_hook_takes_away_silently_make_the_run_partial(
    project: Project, workers: tuple[str, ...]
) -> None:
    """Sharding plugins filter ``items`` in place and tell nobody; the file still gives an item."""
    project.probe(ONE + OTHER)
    project.write(
        "conftest.py",
        "def pytest_collection_modifyitems(items):\n"
        "    items[:] = [i for i in items if 'other' not in i.nodeid]\n",
    )
    project.answers({"payload": payload()})
    result = project.run("panels/", *workers)
    assert result.ret == 1 or gate(project) == 1


@pytest.mark.parametrize(
    "extra",
    ['executors = ["nobody"]', "jobs = 0", '[tool.prun_review.folders."nowhere"]\nmode = "report"'],
    ids=["executor", "value", "folder"],
)
def test_an_older_pass_is_not_the_verdict_on_a_session_refused_for_its_configuration(
    project: Project, extra: str
) -> None:
    project.probe(ONE)
    project.answers({"payload": payload()})
    assert project.run("panels/").ret == 0
    text = (project.path / "pyproject.toml").read_text()
    if extra.startswith("executors"):
        text = "\n".join(x for x in text.splitlines() if not x.startswith("executors"))
    project.write("pyproject.toml", text.replace("[tool.prun_review]\n", f"[tool.prun_review]\n{extra}\n", 1))
    assert project.run("panels/").ret == pytest.ExitCode.USAGE_ERROR
    assert gate(project) != 0
