"""The composite action and the workflows: valid for their platforms, and their scripts run for real."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from prun_review import acceptance, config
from tests import repokit
from tests.plugin.conftest import payload

ROOT = Path(__file__).parent.parent
ACTION = ROOT / "action.yml"
DOCS = ROOT / "docs"
WORKFLOWS = [DOCS / "workflows" / f"{name}.yml" for name in ("pull-request", "fork", "merge-queue")]
GITLAB = DOCS / "workflows" / "gitlab-ci.yml"
OURS = "OWNER/prun_review@" + "0" * 40
"""Stands for the reader's own copy."""
BIN = Path(sys.executable).parent


def load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    return found


def job_of(path: Path) -> dict[str, Any]:
    [job] = load(path)["jobs"].values()
    return dict(job)


def scripts() -> Iterator[tuple[str, str]]:
    for path in (ACTION, *WORKFLOWS):
        steps = load(path)["runs"]["steps"] if path == ACTION else job_of(path)["steps"]
        for step in steps:
            if "run" in step:
                assert step["shell"] == "bash"
                yield f"{path.name}: {step.get('name')}", step["run"]


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("vendor.github-actions", [ACTION]),
        ("vendor.github-workflows", WORKFLOWS),
        ("custom.github-workflows-require-timeout", WORKFLOWS),
        ("vendor.gitlab-ci", [GITLAB]),
    ],
)
def test_the_platforms_schemas_take_them(schema: str, paths: list[Path]) -> None:
    argv = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, paths)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_example_is_told_of() -> None:
    text = (DOCS / "ci.md").read_text(encoding="utf-8")
    told = set(re.findall(r"\(workflows/([\w.-]+)\)", text))
    assert told == {path.name for path in (DOCS / "workflows").iterdir()}


@pytest.mark.parametrize(("name", "script"), list(scripts()))
def test_no_value_is_written_into_a_script(name: str, script: str) -> None:
    assert "${{" not in script, name
    assert script.startswith("set -euo pipefail\n"), name
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
class TestWorkflows:
    """What ``docs/ci.md`` says that all of them keep to."""

    def test_actions_are_pinned(self, path: Path) -> None:
        uses = [step["uses"] for step in job_of(path)["steps"] if "uses" in step]
        assert OURS in uses
        assert not [used for used in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", used)]
        text = path.read_text(encoding="utf-8")
        pinned = [line for line in text.split("\n") if "uses: actions/" in line]
        assert not [line for line in pinned if not re.search(r" # v\d+\.\d+\.\d+$", line)]

    def test_the_token_can_write_nothing_and_stays_in_no_checkout(self, path: Path) -> None:
        assert load(path)["permissions"] == {}
        assert job_of(path)["permissions"] == {"contents": "read"}
        checkouts = [s for s in job_of(path)["steps"] if s.get("uses", "").startswith("actions/checkout@")]
        assert checkouts
        for step in checkouts:
            assert step["with"]["persist-credentials"] is False
            assert step["with"]["fetch-depth"] == 0

    def test_keys_are_seen_by_the_one_step_that_reviews(self, path: Path) -> None:
        workflow, job = load(path), job_of(path)
        assert "env" not in workflow
        assert "env" not in job
        for step in job["steps"]:
            secret = "secrets." in json.dumps(step)
            assert secret is (step.get("id") == "review")
            if secret:
                assert "secrets." not in json.dumps(step["with"])
                assert set(step["env"]) == {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}

    def test_older_reviews_are_ended_or_told_apart(self, path: Path) -> None:
        assert "github.event." in load(path)["concurrency"]["group"]

    def test_somebody_is_named_and_the_reports_are_no_secret_place(self, path: Path) -> None:
        [review] = [step for step in job_of(path)["steps"] if step.get("id") == "review"]
        assert review["with"]["executors"] == "codex,sonnet"
        inputs = load(ACTION)["inputs"]
        assert set(review["with"]) <= set(inputs)
        assert not [name for name in inputs if re.search("key|token|secret", name)]


@pytest.mark.parametrize("name", ["fork", "merge-queue"])
def test_a_head_that_is_data_is_in_no_step_but_the_review(name: str) -> None:
    [path] = [path for path in WORKFLOWS if path.stem == name]
    for step in job_of(path)["steps"]:
        if step.get("with", {}).get("path") == "head":
            assert step["with"]["lfs"] is False
            assert step["with"]["submodules"] is False
        elif step.get("id") == "review":
            assert step["with"]["root"] == "trusted"
            assert step["with"]["head"].endswith("/head")
        else:
            assert "head" not in json.dumps(step)


def test_only_the_fork_runs_from_the_base_with_keys_and_a_person_releases_them() -> None:
    for path in WORKFLOWS:
        targeted = "pull_request_target" in load(path)["on"]
        assert targeted is (path.stem == "fork")
        assert targeted is ("environment" in job_of(path))


def test_what_the_documentation_shows_as_configuration_is_valid() -> None:
    text = (DOCS / "ci.md").read_text(encoding="utf-8")
    accept, egress = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    found = acceptance.parse(accept, "prun-accept.toml", 1_795_996_800.0)  # 2026-11-30
    assert [(a.kind, a.expired) for a in found] == [("outage", False), ("review-change", False)]
    table = tomllib.loads(egress)["tool"]["prun_review"]
    assert config.load(table).egress.send_to == ("openai", "anthropic")


# --- the scripts of the action, run for real ------------------------------------------------


def script_of(step: str) -> str:
    [script] = [text for name, text in scripts() if name == f"action.yml: {step}"]
    return script


def bash(step: str, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script_of(step)]
    return subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, timeout=120, check=False)


class Runner:
    """What a runner gives to a step: its folders and files."""

    def __init__(self, path: Path) -> None:
        self.temp = path / "temp"
        self.work = path / "work"
        self.output = path / "output"
        self.summary = path / "summary"
        for folder in (self.temp, self.work, path / "home"):
            folder.mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(path / "home"),
            "CI": "true",
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(self.output),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_ACTION_PATH": str(ROOT),
            "OPENAI_API_KEY": "sk-dummy-openai",
            "XDG_CACHE_HOME": str(path / "home"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # others cost half a second each
        }

    def venv(self) -> Path:
        """Where the action installs; here links to what is installed already."""
        place = self.temp / "prun-review" / "venv" / "bin"
        place.mkdir(parents=True)
        for name, program in (("python", sys.executable), ("prun-review", str(BIN / "prun-review"))):
            (place / name).write_text(f'#!/bin/sh\nexec "{program}" "$@"\n')
            (place / name).chmod(0o755)
        return place

    def review(self, **inputs: str) -> subprocess.CompletedProcess[str]:
        names = ("root", "base", "head", "executors", "previous", "about", "args")
        given = {f"PRUN_{name.upper()}": inputs.get(name, "." if name == "root" else "") for name in names}
        return bash("Review", self.work, {**self.env, **given})

    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.output.read_text().splitlines())


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


HOSTILE = (
    "$(touch pwned)",
    "`touch pwned`",
    "--help",
    "-h",
    "; touch pwned #",
    "a b\tc",
    "'\"",
    "*",
    "x\n--prun-offline",
    "--upload-pack=touch pwned",
)
RECORDER = """#!{python} -I
import json, os, sys
json.dump({{"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ)}}, open({log!r}, "w"))
"""


def recorder(path: Path, log: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RECORDER.format(python=sys.executable, log=str(log)))
    path.chmod(0o755)


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_value_is_one_argument(runner: Runner, tmp_path: Path, value: str) -> None:
    recorder(runner.venv() / "prun-review", tmp_path / "log")
    done = runner.review(base=value, head=value, executors=value, previous=value, about=value)
    argv = json.loads((tmp_path / "log").read_text())["argv"]
    given = [f"--{name}={value}" for name in ("base", "head", "executors", "previous")]
    assert argv[:6] == ["run", *given, "--"]
    assert argv[-1] == f"--prun-about={value}"
    assert not list(tmp_path.rglob("pwned"))
    # The recorder reviews nothing: no report, so no green whatever its status.
    assert (done.returncode, runner.outputs()["verdict"]) == (1, "INCOMPLETE")


@pytest.mark.parametrize(
    ("report", "verdict"),
    [
        ('{"verdict": {"outcome": "PASS"}}', "PASS"),
        ("[" * 100_000, "INCOMPLETE"),
        ('{"verdict": ' + "[" * 100_000, "INCOMPLETE"),
        ('{"verdict": {"outcome": "PASS\\nstatus=0"}}', "INCOMPLETE"),
        ('{"verdict": {"outcome": ["PASS"]}}', "INCOMPLETE"),
        ("null", "INCOMPLETE"),
        ("\ud800", "INCOMPLETE"),
    ],
)
def test_whatever_the_report_is_there_is_a_verdict(
    runner: Runner, tmp_path: Path, report: str, verdict: str
) -> None:
    (tmp_path / "document").write_bytes(report.encode("utf-8", "surrogatepass"))
    program = runner.venv() / "prun-review"
    program.write_text(
        '#!/bin/sh\nfor a; do case "$a" in --prun-report=json:*) '
        f'cp "{tmp_path}/document" "${{a#*:}}";; esac; done\n'
    )
    program.chmod(0o755)
    done = runner.review(base="main")
    assert runner.outputs()["verdict"] == verdict
    assert done.returncode == (verdict != "PASS")


def test_without_python_there_is_a_verdict_too(runner: Runner, tmp_path: Path) -> None:
    place = runner.venv()
    recorder(place / "prun-review", tmp_path / "log")
    (place / "python").write_text("#!/bin/sh\nexit 139\n")
    assert runner.review(base="main").returncode == 1
    assert runner.outputs()["verdict"] == "INCOMPLETE"


def test_further_arguments_are_taken_line_by_line(runner: Runner, tmp_path: Path) -> None:
    recorder(runner.venv() / "prun-review", tmp_path / "log")
    runner.review(base="main", args="-k\na b $(touch pwned)\n\n*\n")
    argv = json.loads((tmp_path / "log").read_text())["argv"]
    assert argv[-3:] == ["-k", "a b $(touch pwned)", "*"]


def test_packages_are_installed_without_keys_and_away_from_every_checkout(
    runner: Runner, tmp_path: Path
) -> None:
    programs = tmp_path / "programs"
    recorder(programs / "python3", tmp_path / "venv.log")
    recorder(runner.temp / "prun-review" / "venv" / "bin" / "python", tmp_path / "pip.log")
    (runner.work / "venv.py").write_text("raise SystemExit('a module of the checkout was run')")
    env = {**runner.env, "PATH": f"{programs}:{runner.env['PATH']}", "HTTPS_PROXY": "http://127.0.0.1:9"}
    env |= {"PRUN_ROOT": ".", "PRUN_EXTRAS": "offline,vendors", "PRUN_CONSTRAINTS": "pins.txt"}
    done = bash("Install", runner.work, env)
    assert done.returncode == 0, done.stderr
    venv, pip = (json.loads((tmp_path / f"{name}.log").read_text()) for name in ("venv", "pip"))
    place = runner.temp / "prun-review"
    for call in (venv, pip):
        assert not [name for name in call["env"] if "KEY" in name]
        assert call["env"]["HTTPS_PROXY"] == "http://127.0.0.1:9"
        assert call["cwd"] == str(place / "empty")
    # The interpreter takes its own options out of the list: -I was one.
    assert venv["argv"] == ["-I", "-m", "venv", "--", str(place / "venv")]
    assert pip["argv"][-3:] == [f"--constraint={runner.work}/pins.txt", "--", f"{ROOT}[offline,vendors]"]


@pytest.mark.parametrize("extras", ["vendors] @ git+https://x", "a b", "$(touch pwned)", "--index-url=x"])
def test_extras_are_words(runner: Runner, extras: str) -> None:
    env = {**runner.env, "PRUN_ROOT": ".", "PRUN_EXTRAS": extras, "PRUN_CONSTRAINTS": ""}
    done = bash("Install", runner.work, env)
    assert done.returncode == 4
    assert not (runner.temp / "prun-review").exists()


PROBE = '''
from prun_review import brief

@brief(scope="diff")
def probe_change(result):
    """What is wrong with this change?"""
'''
ANSWER = """
import json, re, sys
unit = re.search(r"^# (\\S+) result", sys.stdin.read(), re.MULTILINE)[1]
print(f"# {{unit}} result\\nConclusion: looked\\nFiles: src/a.py\\nOpen items: none\\nVerification: read\\n")
print("```json\\n" + json.dumps({payload}) + "\\n```")
"""


def project(where: Path, answers: Mapping[str, dict[str, Any]]) -> str:
    """A repository whose last commit is a change, with two reviewers; the SHA before it."""
    lines = [
        "[tool.pytest.ini_options]",
        'addopts = ""',
        "[tool.prun_review]",
        'executors = ["north", "south"]',
    ]
    for name, answer in answers.items():
        program = where.parent / f"{name}.py"
        program.write_text(ANSWER.format(payload=repr(answer)))
        lines += [f"[tool.prun_review.executor.{name}]", 'type = "command"', f'vendor = "v-{name}"']
        lines += [f'lineage = "l-{name}"', f"argv = {json.dumps([sys.executable, '-I', str(program)])}"]
    repokit.repository(
        where,
        {
            "pyproject.toml": "\n".join(lines) + "\n",
            "panels/probe_change.py": PROBE,
            "src/a.py": "def f(x):\n    return x\n",
        },
    )
    before = repokit.git(where, "rev-parse", "HEAD")
    repokit.write(where, {"src/a.py": "def f(x):\n    return eval(x)\n"})
    repokit.git(where, "commit", "-q", "-a", "-m", "change")
    return before


def finding() -> dict[str, Any]:
    return {
        "title": "eval of an argument runs whatever the caller passes in",
        "detail": "f evaluates its argument x as code, so a caller runs any code.",
        "file": "src/a.py",
        "line": 2,
        "end_line": 2,
        "severity": "critical",
        "category": "security",
        "confidence": 0.9,
        "quote": "    return eval(x)",
        "suggestion": "return x",
        "side": "new",
        "cause": None,
    }


def answer(*findings: dict[str, Any]) -> dict[str, Any]:
    said = {"verdict": "request-changes" if findings else "approve", "findings": list(findings)}
    return {**payload(), "examined": ["src/a.py"], **said}


@pytest.mark.parametrize(
    ("findings", "status", "verdict"), [((), 0, "PASS"), ((finding(),), 1, "FAIL")], ids=["clean", "defect"]
)
def test_the_action_reviews_a_change(
    runner: Runner, findings: tuple[dict[str, Any], ...], status: int, verdict: str
) -> None:
    runner.venv()
    answers = {"north": answer(*findings), "south": answer(*findings)}
    before = project(runner.work / "trusted", answers)
    done = runner.review(root="trusted", base=before, executors="north,south")
    assert done.returncode == status, done.stdout + done.stderr
    outputs = runner.outputs()
    assert (outputs["verdict"], outputs["status"]) == (verdict, str(status))
    report = Path(outputs["report"])
    assert sorted(path.name for path in report.iterdir()) == ["report.json", "report.md"]
    assert runner.summary.read_text() == (report / "report.md").read_text()
    [record] = (runner.work / "trusted" / ".prun" / "runs").glob("*/egress.json")
    sent = json.loads(record.read_text())["executors"]
    told = [(e["executor"], e["attempts"], [file["path"] for file in e["inlined"]]) for e in sent]
    assert told == [("north", 1, ["src/a.py"]), ("south", 1, ["src/a.py"])]
    prompts = [path.stat().st_size for path in record.parent.glob("units/*/1/prompt.md")]
    assert sum(e["prompt_bytes"] for e in sent) == sum(prompts)


@pytest.mark.parametrize("value", ["$(touch pwned)", "--help", "--output=pwned"])
def test_a_hostile_branch_is_refused_as_a_revision(runner: Runner, tmp_path: Path, value: str) -> None:
    runner.venv()
    before = project(runner.work / "trusted", {"north": answer(), "south": answer()})
    for inputs in ({"base": value}, {"base": before, "head": value}):
        runner.output.unlink(missing_ok=True)
        done = runner.review(root="trusted", executors="north,south", **inputs)
        assert done.returncode == 4, done.stdout + done.stderr
        assert runner.outputs()["verdict"] == "INCOMPLETE"
    assert not list(tmp_path.rglob("pwned"))
