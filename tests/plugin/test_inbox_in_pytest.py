"""A session that answers an inbox sits on a panel beside a command: same contract, one verdict."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.answers_kit import fenced, header
from tests.plugin.conftest import ONE, Project, finding, payload

TABLE = """
[tool.prun_review.executor.session]
type = "inbox"
inbox = ".prun-inbox"
vendor = "anthropic"
lineage = "claude"
provides = ["mcp:gmail"]
"""


@contextmanager
def session(project: Project, answer: dict[str, Any]) -> Iterator[list[str]]:
    """A stand-in session: answers every open question as its prompt says, in a thread."""
    taken: list[str] = []
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.1):
            for prompt in (project.path / ".prun-inbox").glob("*.prompt.md"):
                if prompt.name not in taken:
                    taken.append(prompt.name)
                    _answer(prompt, answer)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield taken
    finally:
        over.set()
        thread.join()


def _answer(prompt: Path, answer: dict[str, Any]) -> None:
    told = json.loads(Path(str(prompt).replace(".prompt.md", ".json")).read_text())
    result = Path(told["result"])
    assert told["result"] in prompt.read_text()
    aside = Path(told["result"] + ".part")
    aside.write_text(header(answer, told["unit"]) + "\n" + fenced(answer) + "\n")
    threading.Event().wait(0.6)
    os.replace(aside, result)


@pytest.fixture
def panel(project: Project) -> Project:
    project.config("", ("left",))
    text = (project.path / "pyproject.toml").read_text()
    project.write("pyproject.toml", text.replace("['left']", "['left', 'session']") + TABLE)
    project.probe(ONE)
    return project


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_its_answer_is_judged_and_cross_checked_like_any_other(
    panel: Project, workers: tuple[str, ...]
) -> None:
    panel.answers({"payload": payload(finding())})
    with session(panel, payload(finding())) as taken:
        first = panel.run("panels/", *workers)
    assert first.ret == 1
    assert first.stdout.str().count("questions for session wait in .prun-inbox/*.prompt.md") == 1
    report = panel.report()
    assert report["verdict"]["outcome"] == "FAIL"
    assert [(f["class"], f["executors"]) for f in report["findings"]] == [("consensus", ["left", "session"])]
    assert len(taken) == 1
    # judged again from what the run keeps; no question is put to anybody
    before = sorted(p.name for p in (panel.path / ".prun-inbox").iterdir())
    again = panel.run("panels/", "--prun-replay", report["run_id"], *workers)
    assert again.ret == 1
    assert "questions for session" not in again.stdout.str()
    assert panel.report()["findings"] == report["findings"]
    assert sorted(p.name for p in (panel.path / ".prun-inbox").iterdir()) == before


def test_a_broken_answer_is_asked_for_again_under_new_names(panel: Project) -> None:
    panel.answers({"payload": payload()})
    with session(panel, payload(verdict="fine")) as taken:
        assert panel.run("panels/").ret == 1
    assert len(set(taken)) == 2
    [unit] = [u for u in panel.report()["units"] if u["executor"] == "session"]
    assert (unit["status"], unit["reason"], unit["attempts"]) == ("broken", "contract", 2)


def test_nobody_answers(panel: Project) -> None:
    panel.probe(ONE.replace('reads=["src/*.py"]', 'reads=["src/*.py"], timeout=2'))
    panel.answers({"payload": payload()})
    assert panel.run("panels/").ret == 1
    assert panel.report()["verdict"]["outcome"] == "INCOMPLETE"
    [unit] = [u for u in panel.report()["units"] if u["executor"] == "session"]
    assert (unit["status"], unit["reason"]) == ("failed", "timeout")
    folder = panel.path / ".prun-inbox"
    assert [p.suffix for p in folder.glob("*.prompt.md*")] == [".withdrawn"]


def test_looking_publishes_nothing(panel: Project) -> None:
    panel.run("panels/", "--collect-only", "-q").stdout.fnmatch_lines(["*probe_app[[]session]*"])
    assert not (panel.path / ".prun-inbox").exists()
