"""The README is true: its commands run, its example works, its tables are complete."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from prun_review.config import Config, Egress, ExecutorConfig, Waves
from prun_review.policy import Policy
from tests.plugin.conftest import ONE, Project, finding, payload, project
from tests.repokit import cache_home

__all__ = ["project"]

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SCRIPTS = Path(sys.executable).parent


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This project as a new user has it: the tracked files in a repository of their own."""
    place = tmp_path_factory.mktemp("clone") / "prun_review"
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout.split("\0")
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *command], cwd=place, check=True)
    return place


def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command of the README with this environment's programs on PATH."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE")}
    env["PATH"] = f"{SCRIPTS}{os.pathsep}{env['PATH']}"
    env["PYTHONPATH"] = str(ROOT)
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)


def test_the_first_command_passes_and_its_output_is_the_one_shown(copy: Path) -> None:
    setup = "python3 -m venv .venv && .venv/bin/pip install -e '.[offline]'"
    assert f"{setup} && .venv/bin/pytest panels/ --prun-offline" in blocks("console")[0]
    done = run(["pytest", "panels/", "--prun-offline"], copy)
    assert done.returncode == 0, done.stdout + done.stderr
    [shown] = blocks("text")[:1]

    def skeleton(text: str) -> list[str]:
        words = (
            "PANELS",
            "QUESTIONS",
            "FINDINGS: ",
            "PAIRS",
            "AGREEMENT",
            "USAGE",
            "VERDICT: ",
            "  bandit  ",
            "  pylint  ",
            "  ruff  ",
        )
        found = [w for line in text.splitlines() for w in words if line.startswith(w)]
        return sorted(set(found))

    assert skeleton(shown) == skeleton(done.stdout)
    assert "VERDICT: PASS" in shown
    assert "VERDICT: PASS" in done.stdout
    latest = copy / "reports/latest"
    assert (latest / "report.md").is_file()
    assert (latest / "report.json").is_file()
    assert run(["prun-review", "gate"], copy).returncode == 0
    assert run(["prun-review", "report"], copy).returncode == 0
    assert run(["prun-review", "plan"], copy).returncode == 0


def test_the_shop_fails_and_names_the_consensus(copy: Path) -> None:
    [command] = [block for block in blocks("console") if "examples/shop" in block]
    assert command == "cd examples/shop && pytest panels/ --prun-offline -q\n"
    done = run(["pytest", "panels/", "--prun-offline", "-q"], copy / "examples/shop")
    assert done.returncode == 1, done.stdout + done.stderr
    said = _unwrapped(done.stdout)
    shown = [line for line in _unwrapped(blocks("text")[1]) if line != "  ..."]
    assert shown[0].startswith("VERDICT: FAIL (")
    assert (
        len([line for line in shown if re.match(r"  (FAIL|INCOMPLETE) \[\w+\] high: .*\(shop/", line)]) == 2
    )
    assert [line for line in shown if line not in said] == []
    assert len(done.stdout.splitlines()) < 100


def _unwrapped(text: str) -> list[str]:
    """The lines of a report before they were wrapped, with one id for every run."""
    return re.sub(r"\d{8}T\d{6}Z-\w{4}", "RUN", text.replace("\n    ", " ")).splitlines()


def test_the_probe_examples_are_collected_as_described_and_run(project: Project) -> None:
    examples = blocks("python")
    for text in examples:
        named = re.match(r"# (\S+)\n", text)
        assert named is not None
        project.probe(text, named[1])
    for module in ("auth", "billing"):
        project.write(f"src/{module}/core.py", "x = 1\n")
    project.commit()
    listed = project.run("panels/", "--collect-only", "-q").outlines
    assert any(line.endswith("probe_injection[auth-left]") for line in listed)
    assert any(line.endswith("probe_ledger_format[right]") for line in listed)
    project.answers({"payload": payload(examined=["src/auth/core.py", "src/billing/core.py"])})
    result = project.run("panels/security")
    assert result.ret == 0, result.stdout.str()


def test_the_probe_example_of_a_change_is_collected_as_described_and_run(project: Project) -> None:
    [text] = [block for block in blocks("python") if "changed(" in block]
    project.probe(text, "panels/change/probe_change.py")
    for module in ("auth", "billing"):
        project.write(f"src/{module}/core.py", "x = 1\n")
    project.commit()
    project.git("tag", "base")
    project.write("src/auth/core.py", "x = 2\n")
    project.commit()
    listed = project.run("panels/change", "--prun-base", "base", "--collect-only", "-q").outlines
    assert any(line.endswith("probe_regressions[left]") for line in listed)
    assert any(line.endswith("probe_area[auth-right]") for line in listed)
    assert any(line.endswith("probe_file[src/auth/core.py-left]") for line in listed)
    assert not any("probe_file[src/billing" in line for line in listed)
    project.answers({"payload": payload(examined=["src/auth/core.py"])})
    result = project.run("panels/change", "--prun-base", "base")
    assert result.ret == 0, result.stdout.str()
    assert re.search(r"^VERDICT: PASS", result.stdout.str(), re.M)


def test_the_probe_example_that_writes_is_collected(project: Project) -> None:
    [text] = [block for block in blocks("python") if 'mode="write"' in block]
    project.probe(text, "panels/writing/probe_quoting.py")
    project.config("", executors=("scribe",), tables={"scribe": 'contracts = ["change"]'})
    project.commit()
    listed = project.run("panels/writing", "--collect-only", "-q", "--prun-executors", "scribe").outlines
    assert any(line.endswith("probe_quoting[scribe]") for line in listed)


def test_the_waves_are_run_and_integrated_as_shown(copy: Path, tmp_path: Path) -> None:
    [commands] = [block for block in blocks("console") if "examples/waves" in block]
    [shown] = [block for block in blocks("text") if "task-001-words" in block]
    clone = tmp_path / "clone"
    shutil.copytree(copy / "examples/waves", clone / "examples/waves")
    with cache_home() as cache:
        env = f"XDG_CACHE_HOME={shlex.quote(str(cache))}"
        done = run(["/bin/sh", "-exc", f"export {env}\n{commands}"], clone)
        assert done.returncode == 0, done.stdout + done.stderr
        said = _lasting(done.stderr)
        assert [line for line in _lasting(shown) if line not in said and line != "..."] == []
        refs = run(["git", "for-each-ref", "--format=%(refname)"], tmp_path / "greeter").stdout
        assert re.fullmatch(r"refs/heads/\w+\nrefs/heads/prun/\S+\n", refs)
        # In the clone, where the project is a folder of its repository, by the name of the older tool.
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "all"]):
            subprocess.run(["git", *command], cwd=clone, check=True)
        there = clone / "examples/waves"
        done = run(["/usr/bin/env", env, "cpo", "run", "parallel/TS-0001-greeter/tasks"], there)
    assert done.returncode == 0, done.stdout + done.stderr
    for line in re.findall(r"`((?:===|\[PROGRESS\]).*?)`", README):
        assert line in done.stdout.splitlines()


def _lasting(text: str) -> list[str]:
    """The lines of a report, with one id for every run and one time for every task."""
    return re.sub(r"\d{8}T\d{6}Z-\w{4}", "RUN", re.sub(r"\b\d+:\d\d\b", "TIME", text)).splitlines()


def test_every_option_of_waves_is_in_their_table() -> None:
    table = README.split("| command | what it does | exit status |")[1].split("\n\n")[0]
    for verb in ("validate", "run", "status", "logs", "integrate", "clean"):
        [row] = [line for line in table.splitlines() if line.startswith(f"| `prun-review {verb}")]
        told = run(["prun-review", verb, "--help"], ROOT).stdout
        ours = told.split("with DIR, a directory of waves:")[-1]
        options = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", ours, re.M)) - {
            "--help",
            "--traceback",
            "--run",
        }
        assert {o for o in options if o not in row and o not in ("--older-than", "--force")} == set()
        assert set(re.findall(r"--[a-z-]+", row)) <= set(re.findall(r"--[a-z-]+", told))


def test_the_script_of_a_command_answers_both_waves(project: Project) -> None:
    [text] = blocks("py")
    script = project.path.parent / f"{project.path.name}-one_rule.py"
    script.write_text(text, encoding="utf-8")
    [example] = [block for block in blocks("toml") if "[tool.prun_review.executor.other]" in block]
    table, _, _ = example.partition("\n\n")
    argv = json.dumps([sys.executable, str(script)])
    project.config(re.sub(r"^argv = .*$", f"argv = {argv}", table, flags=re.M), executors=("left",))
    project.write("src/rule.py", "def rule(text):\n    return eval(text)\n")
    project.commit()
    project.probe(ONE)
    project.answers({"payload": payload(finding())})
    project.run("panels/", "--prun-executors", "left,other")
    report = project.report()
    assert [
        (f["title"], f["file"], f["line"], f["class"])
        for f in report["findings"]
        if "other" in f["executors"]
    ] == [("Text is evaluated", "src/rule.py", 2, "single")]
    units = [*report["units"], *report["examination"]["units"]]
    mine = [(u["status"], u["salvage"]) for u in units if u["executor"] == "other"]
    assert mine == [("valid", [])] * 2
    [left_out] = report["examination"]["left_out"]
    assert left_out["why"].startswith("left does not examine: add")


def test_every_option_and_every_key_is_in_the_tables() -> None:
    plugin = (ROOT / "prun_review/plugin/__init__.py").read_text(encoding="utf-8")
    options = set(re.findall(r'"(--prun-[a-z-]+)"', plugin))
    assert options == set(re.findall(r"--prun-[a-z-]+", README))
    ours, theirs = README.split("## Configuration")[1].split("##")[0].split("An executor's table")
    keys = {f.name for f in fields(Config)} - {
        "sources",
        "executor_tables",
        "gate",
        "folders",
        "egress",
        "waves",
    }
    for table, made in (("gate", Policy), ("egress", Egress), ("waves", Waves)):
        keys |= {f"{table}.{f.name}" for f in fields(made)}
    assert set(re.findall(r"^\| `([a-z_.]+)`", ours, re.M)) == keys
    first = "".join(line.split(" | ")[0] for line in theirs.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`(\w+)`", first)) == {f.name for f in fields(ExecutorConfig)} - {"name"}


def test_the_test_command_is_the_one_that_ci_runs() -> None:
    command = "python3 -m venv .venv && .venv/bin/pip install -e '.[test]'"
    command += " && .venv/bin/pytest -n 2 --dist worksteal"
    assert command in README
    script = (ROOT / ".ci/run").read_text(encoding="utf-8").replace("install -q -e", "install -e")
    assert command in script
    assert "|| true" not in script
