"""The README's "Findings over time" is true: its commands, one after the other, on a real project."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.driver import prun_review
from tests.plugin.conftest import ONE, SOURCE, Project, finding, payload, project

__all__ = ["project"]

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
SECTION = README.split("### Findings over time\n")[1].split("\n## ")[0]
REWORDED = finding(
    title="User input concatenated into os.system allows command injection",
    detail="The command argument reaches os.system unquoted: any shell command can be run.",
)


def commands() -> list[list[str]]:
    """The commands of the section, without the program's name."""
    [block] = re.findall(r"^```console\n(.*?)^```", SECTION, re.M | re.S)
    return [shlex.split(line, comments=True) for line in block.splitlines()]


def verb(project: Project, *args: str) -> subprocess.CompletedProcess[str]:
    done = prun_review(*args, cwd=project.path)
    assert done.returncode == 0, done.stderr
    return done


def verdict(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = project.report()["verdict"]
    return found


def run(project: Project, *args: str) -> str:
    project.run(*args)
    return str(project.report()["run_id"])


def test_the_commands_in_their_order(project: Project) -> None:
    baseline, known, accept, compare = commands()
    project.config("")
    project.probe(ONE)
    project.commit()
    project.answers({"payload": payload(finding())})
    first = run(project, "panels/")
    assert verdict(project)["outcome"] == "FAIL"

    told = verb(project, *baseline[1:]).stderr
    assert "baseline.json: 1 known finding (1 high)" in told
    project.commit()

    # The same defect: elsewhere in a renamed file, and one vendor tells it in other words.
    project.git("mv", "src/app.py", "src/main.py")
    project.write("src/main.py", "# moved\n" * 6 + SOURCE)
    project.commit()
    moved = {"file": "src/main.py", "line": 11, "end_line": 11}
    examined = {"examined": ["src/main.py"], "files": "src/main.py"}
    project.answers({"payload": payload({**REWORDED, **moved}, **examined)})
    second = run(project, *known[1:])
    document = project.report()
    assert verdict(project)["outcome"] == "PASS", verdict(project)
    assert [row["known"] for row in document["findings"]] == [True]
    assert document["baseline"] == {"file": "baseline.json", "entries": 1, "known": 1, "stale": []}
    assert "known" in verdict(project)["line"]

    third = run(project, "panels/")  # without the baseline
    assert verdict(project)["outcome"] == "FAIL"
    [row] = project.report()["findings"]
    told = verb(project, *[row["fingerprint"] if word == "FINDING" else word for word in accept[1:]]).stderr
    assert "is accepted by Ada" in told
    fourth = run(project, "panels/")
    assert verdict(project)["outcome"] == "PASS"
    assert [row["accepted"]["by"] for row in project.report()["findings"]] == ["Ada"]
    assert "Ada" in verdict(project)["line"]

    def compared(a: str, b: str) -> dict[str, Any]:
        args = [{"RUN_A": a, "RUN_B": b}.get(word, word) for word in compare[1:]]
        assert verb(project, *args).stdout.startswith(f"# {a} and {b}")
        made: dict[str, Any] = json.loads(verb(project, *args, "--format", "json").stdout)
        return made

    renamed = compared(first, third)["findings"]
    assert [len(renamed[kind]) for kind in ("new", "fixed", "same")] == [0, 0, 1]
    made = compared(second, fourth)
    assert [made["verdict"][side]["outcome"] for side in ("before", "after")] == ["PASS", "PASS"]


def test_a_worse_one_a_second_one_and_a_mended_one(project: Project) -> None:
    baseline, known, *_ = commands()
    project.config("")
    project.probe(ONE)
    project.commit()
    project.answers({"payload": payload(finding())})
    run(project, "panels/")
    verb(project, *baseline[1:])
    project.answers({"payload": payload(finding(severity="critical"))})
    run(project, *known[1:])
    assert verdict(project)["outcome"] == "FAIL"
    second = finding(
        title="Sum skips the first price", line=10, end_line=10, quote="for price in prices[1:]:"
    )
    project.answers(
        {"payload": payload(finding(), {**second, "detail": "The loop starts at the second item."})}
    )
    run(project, *known[1:])
    assert verdict(project)["outcome"] == "FAIL"
    assert sorted(row["known"] for row in project.report()["findings"]) == [False, True]
    project.answers({"payload": payload()})
    run(project, *known[1:])
    assert verdict(project)["outcome"] == "PASS"
    assert [entry["severity"] for entry in project.report()["baseline"]["stale"]] == ["high"]


def test_a_change_of_either_file_changes_the_review_and_counts_for_nothing(project: Project) -> None:
    baseline, known, accept, _ = commands()
    project.config("")
    project.probe(ONE)
    project.write("README", "hello\n")
    project.commit()
    project.git("tag", "base")
    project.answers({"payload": payload(finding())})
    project.write("src/app.py", SOURCE.replace("sh -c ", "sh -ec "))
    project.commit()
    quoted = finding(quote='return os.system("sh -ec " + command)')
    project.answers({"payload": payload(quoted)})
    run(project, "panels/", "--prun-base", "base")
    assert verdict(project)["outcome"] == "FAIL"
    [row] = project.report()["findings"]
    verb(project, *baseline[1:])
    verb(project, *[row["fingerprint"] if word == "FINDING" else word for word in accept[1:]])
    project.git("add", "baseline.json", "prun-accept.toml")
    project.git("commit", "-q", "-m", "known and accepted by the change itself")
    run(project, *known[1:], "--prun-base", "base")
    document = project.report()
    assert verdict(project)["outcome"] == "FAIL"
    assert document["change"]["alters"] == ["baseline.json", "prun-accept.toml"]
    assert "changes-review" in {reason["code"] for reason in verdict(project)["reasons"]}
    assert [(row["known"], row["accepted"]) for row in document["findings"]] == [(False, None)]


@pytest.mark.parametrize("told", ["baseline", "accept", "compare"])
def test_what_is_told_of_a_verb_is_what_its_help_knows(told: str, tmp_path: Path) -> None:
    shown = prun_review(told, "--help", cwd=tmp_path).stdout
    [text] = re.findall(rf"^- \*\*`{told}`\*\*(.*?)(?=^- |\Z|^Both)", SECTION, re.M | re.S)
    for option in re.findall(r"`(--[a-z]+)", text):
        assert option in shown
