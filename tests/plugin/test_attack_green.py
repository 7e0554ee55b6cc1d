"""Attacks on a green verdict: answers taken over that are not what they are taken for."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from prun_review.review import Review
from prun_review.settings import read_settings
from tests.plugin.conftest import ONE, Project, finding, payload

REVIEWER = """import sys
sys.stdin.read()
with open({calls!r}, "a") as calls:
    calls.write("called\\n")
print({answer!r})
"""


def said_to_be(project: Project, name: str, vendor: str, lineage: str) -> None:
    """Change whose answers an executor gives."""
    path = project.path / "pyproject.toml"
    pattern = rf'(\[tool.prun_review.executor.{name}\]\ntype = "command"\n)vendor = .*\nlineage = .*\n'
    text, count = re.subn(pattern, rf'\g<1>vendor = "{vendor}"\nlineage = "{lineage}"\n', path.read_text())
    assert count == 1
    path.write_text(text)


@pytest.mark.parametrize("flag", ["--prun-resume", "--prun-replay"])
def test_answers_of_one_vendor_do_not_become_a_second_voice(project: Project, flag: str) -> None:
    project.probe(ONE)
    for name in ("left", "right"):
        said_to_be(project, name, "acme", "one")
    project.answers({"payload": payload()})
    assert project.run("panels/").ret == 1, "one vendor only"
    said_to_be(project, "right", "other", "two")
    if flag == "--prun-replay":
        assert project.run("panels/", flag, project.report()["run_id"]).ret == 1
        assert {u["executor"]: u["reason"] for u in project.report()["units"]}["right"] == "stale"
        return
    project.run("panels/", flag)
    assert project.calls()[2:] == ["right"], "asked under its new name"


class Script:
    """Two reviewers whose program is an interpreter: what answers is a script."""

    def __init__(self, project: Project, *options: str) -> None:
        self.place = project.path.with_name(f"{project.path.name}-reviewer.py")
        self.log = Path(f"{self.place}.calls")
        argv = [sys.executable, *options, str(self.place), str(self.log)]
        lines = ["[tool.prun_review]", 'executors = ["left", "right"]']
        for name in ("left", "right"):
            lines += [f"[tool.prun_review.executor.{name}]", 'type = "command"', f'vendor = "v-{name}"']
            lines += [f'lineage = "l-{name}"', f"argv = {json.dumps(argv)}"]
        project.write("pyproject.toml", "\n".join(lines) + "\n")
        project.probe(ONE)

    def answers(self, *findings: dict[str, object]) -> None:
        text = REVIEWER.format(calls=str(self.log), answer=json.dumps(payload(*findings)))
        self.place.write_text(text)

    @property
    def calls(self) -> int:
        return len(self.log.read_text().splitlines())


def test_another_script_is_another_reviewer(project: Project) -> None:
    script = Script(project, "-I", "-X", "utf8")
    script.answers()
    assert project.run("panels/").ret == 0
    assert project.run("panels/", "--prun-resume").ret == 0
    assert script.calls == 2, "the log that its argv names too is no part of it"
    script.answers(finding(severity="critical"))
    assert project.run("panels/", "--prun-resume").ret == 1
    assert script.calls == 4


def test_other_rules_are_another_analyser(project: Project, tmp_path: Path) -> None:
    rules, tool = tmp_path / "rules.yml", tmp_path / "tool"
    rules.write_text("none\n")
    tool.write_text("#!/bin/sh\nexit 1\n")
    tool.chmod(0o755)
    lines = ["[tool.prun_review]", 'executors = ["scan"]', "[tool.prun_review.executor.scan]"]
    lines += ['type = "analyser"', 'vendor = "v"', 'lineage = "l"', 'reader = "sarif"']
    lines += [f"argv = {json.dumps([str(tool), 'scan', f'--config={rules}', '{files}'])}"]
    project.write("pyproject.toml", "\n".join(lines) + "\n")
    project.probe(ONE)
    marks = []
    for text in ("none\n", "none\n", "all\n"):
        rules.write_text(text)
        assert project.run("panels/").ret == 1
        [unit] = project.report()["facts"]["executors"]
        marks.append(unit["version"])
    assert marks[0] == marks[1] != marks[2]
    assert marks[0].startswith("sha256:"), "a program that tells no version is known by its content"


def test_what_sessions_answered_before_is_not_shown_to_the_others(project: Project) -> None:
    table = 'type = "inbox"\ninbox = "mail/in"\nvendor = "anthropic"\nlineage = "claude"\n'
    project.config("include_untracked = true", ("left",))
    path = project.path / "pyproject.toml"
    path.write_text(f"{path.read_text()}\n[tool.prun_review.executor.session]\n{table}")
    project.commit()
    project.write("mail/in/u.0001.result.md", "# u result\n")
    project.write("mail/other.txt", "seen\n")
    root, config = read_settings(project.path)
    with Review(root, config, {}).head.tree as tree:
        assert "mail/other.txt" in tree.names
        assert [name for name in tree.names if name.startswith("mail/in/")] == []
