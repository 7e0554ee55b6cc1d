"""``prun-review doctor`` with small executables in place of the vendors' programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.driver import executable, prun_review, surroundings

CONFIG = """
[tool.prun_review]
executors = ["codex"]
offline_executors = ["ruff"]
"""
CODEX = """
case "$*" in
  --version) echo "codex-cli 9.9.9" ;;
  "login status") echo "account secret-name"; test -e "$HOME/logged-in" ;;
  *) exit 64 ;;
esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that asks codex, with its programs in ``bin`` and a home beside it."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").write_text(CONFIG)
    executable(tmp_path / "bin" / "codex", CODEX)
    executable(tmp_path / "bin" / "ruff", 'echo "ruff 0.0.1"')
    (tmp_path / "home").mkdir()
    return root


def env_of(project: Path, **further: str) -> dict[str, str]:
    home = project.parent / "home"
    return surroundings(home, PATH=f"{project.parent / 'bin'}{os.pathsep}{os.defpath}", **further)


def doctor(project: Path, **further: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = prun_review("doctor", "--json", cwd=project, env=env_of(project, **further))
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["ok"] is (done.returncode == 0)
    assert told["root"] == str(project)
    return done.returncode, {check["name"]: check for check in told["checks"]}


def test_all_is_well(project: Path) -> None:
    (project.parent / "home" / "logged-in").touch()
    status, checks = doctor(project)
    assert {name: check["status"] for name, check in checks.items()} == dict.fromkeys(checks, "ok")
    assert status == 0
    assert checks["codex"]["text"] == f"codex-cli 9.9.9, {project.parent}/bin/codex (PATH)"
    assert checks["codex login"]["text"] == "logged in"
    assert checks["git"]["text"].startswith("git version ")
    assert {"python", "pytest", "pytest-xdist", "ruff", "run directory", "clock"} <= set(checks)


OWN = """
[tool.prun_review.executor.third]
type = "command"
vendor = "acme"
lineage = "roadrunner"
argv = ["codex"]
[tool.prun_review.executor.session]
type = "inbox"
inbox = ".prun-inbox"
vendor = "anthropic"
lineage = "claude"
"""


def test_programs_that_are_not_asked_for_a_version(project: Path) -> None:
    (project / "pyproject.toml").write_text(CONFIG + OWN)
    _, checks = doctor(project)
    for name in ("third", "session"):
        assert checks[name]["status"] == "ok"
        assert checks[name]["text"].startswith("found, its version is not asked, /")
    assert not (project / ".prun-inbox").exists()


def test_not_logged_in_fails_and_tells_nothing_of_the_account(project: Path) -> None:
    status, checks = doctor(project)
    assert status == 1
    assert checks["codex login"]["status"] == "fail"
    assert checks["codex login"]["remedy"] == f"start {project.parent}/bin/codex by hand and log in"
    assert "secret-name" not in json.dumps(checks)


def test_not_logged_in_beside_a_key_is_a_warning_without_the_key(project: Path) -> None:
    status, checks = doctor(project, CODEX_API_KEY="dummy-value", ANTHROPIC_API_KEY="dummy-other")
    assert (status, checks["codex login"]["status"]) == (0, "warn")
    assert checks["codex login"]["text"] == "not logged in, but CODEX_API_KEY is set"
    assert "dummy" not in json.dumps(checks)


@pytest.mark.parametrize(
    ("config", "status", "name", "text"),
    [
        ('executors = ["nobody"]', "fail", "nobody", "unknown executor"),
        (
            'executors = ["codex"]\n[tool.prun_review.executor.codex]\npath = "/nowhere/x"',
            "fail",
            "codex",
            "missing",
        ),
        (
            'executors = ["codex"]\n[tool.prun_review.executor.ruff]\npath = "/nowhere/x"',
            "warn",
            "ruff",
            "missing",
        ),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(
    project: Path, config: str, status: str, name: str, text: str
) -> None:
    head = '[tool.prun_review]\noffline_executors = ["ruff"]\n'
    (project / "pyproject.toml").write_text(f"{head}{config}\n")
    checks = doctor(project)[1]
    assert checks[name]["status"] == status
    assert text in checks[name]["text"]
    assert checks[name]["remedy"]


def test_a_program_that_does_not_tell_its_version_fails(project: Path) -> None:
    executable(project.parent / "bin" / "codex", "exit 7")
    status, checks = doctor(project)
    assert status == 1
    assert checks["codex"]["text"].endswith("does not tell its version: exit status 7")
    assert "codex login" not in checks


def test_hostile_output_is_inert_for_people_too(project: Path) -> None:
    executable(project.parent / "bin" / "ruff", "printf '\\033]0;t\\007\\033[2J::error::x ##[y'")
    done = prun_review("doctor", cwd=project, env=env_of(project))
    assert "ok    ruff: ::error::x # #[y, " in done.stdout
    assert "\x1b" not in done.stdout


def test_an_unwritable_place_for_runs_fails(project: Path) -> None:
    # A file where the directory belongs stops root too, whom no permission stops.
    (project / ".prun").touch()
    status, checks = doctor(project)
    assert (status, checks["run directory"]["status"]) == (1, "fail")
    assert checks["run directory"]["text"] == f"{project}/.prun: Not a directory"


def test_no_credential_file_is_read(project: Path) -> None:
    home = project.parent / "home"
    (home / ".codex").mkdir()
    (home / ".codex" / "auth.json").write_text('{"dummy": "not a credential"}')
    (home / ".claude").mkdir()
    (home / ".claude" / ".credentials.json").write_text("{}")
    script = (
        "import sys\n"
        "sys.addaudithook(lambda event, args: event == 'open' and str(args[0]).startswith(sys.argv[1])"
        " and print('opened', args[0], file=sys.stderr))\n"
        "from prun_review.cli import main\n"
        "open(sys.argv[1] + '/.codex/auth.json').close()\n"
        "sys.exit(main(['doctor']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(home)],
        cwd=project,
        env=env_of(project),
        capture_output=True,
        text=True,
        timeout=60,
    )
    # The first line is the test's own look, which shows that the hook sees.
    assert done.stderr.splitlines() == [f"opened {home}/.codex/auth.json"]
    assert "codex login" in done.stdout
