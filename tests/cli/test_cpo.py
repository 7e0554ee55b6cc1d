"""``cpo`` as the documents that people follow have it: verbs, arguments, output, exit statuses."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest

from prun_review.cli import cpo
from tests.cli.driver import inside
from tests.repokit import cache_home
from tests.waves.wavekit import DIR, DONE, Project, T, project

PROGRAM = "import sys; from prun_review.cli.cpo import main; sys.exit(main())"


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with cache_home() as place:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    """Two tasks, of which the second depends on the first."""
    scope = "## Scope\nCREATE: task-{0}.txt"
    return project(tmp_path, T(1, 1, scope=scope.format("001")), T(2, 2, [1], scope=scope.format("002")))


def call(folder: Path, *words: str) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of ``cpo`` in this process."""
    out, errors = io.StringIO(), io.StringIO()
    with inside(folder), redirect_stdout(out), redirect_stderr(errors):
        status = cpo.main(words)
    return status, out.getvalue(), errors.getvalue()


def process(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The same as a process of its own."""
    argv = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_from_validate_to_clean(shop: Project) -> None:
    root = shop.root
    assert call(root, "validate", f"{DIR}/")[0] == 0
    done = process(root, "run", f"{DIR}/")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "=== Parallel Execution Started ===",
        "",
        "Wave 1:",
        "  task-001-part: RUNNING",
        "[PROGRESS] wave=1 status=started",
        "[PROGRESS] wave=1 task=task-001 status=started",
        "[PROGRESS] wave=1 task=task-001 status=completed commits=0",
        "[PROGRESS] wave=1 status=completed tasks=1/1",
        "[PROGRESS] wave=2 status=started",
        "[PROGRESS] wave=2 task=task-002 status=started",
        "[PROGRESS] wave=2 task=task-002 status=completed commits=0",
        "[PROGRESS] wave=2 status=completed tasks=1/1",
        "[PROGRESS] execution status=completed",
        "=== Execution Complete ===",
        "",
        "Results:",
        "  Completed: 2/2 tasks",
        "  Failed: 0 tasks",
        "",
        f"Next step: prun-review integrate {DIR}",
    ]
    status, out, _ = call(root, "status", DIR)
    assert (status, out.rstrip().splitlines()[-1]) == (0, "STATUS: COMPLETED")
    assert json.loads(call(root, "status", f"{DIR}/tasks", "--json")[1])["status"] == "completed"
    short, long = call(root, "logs", DIR, "task-001"), call(root, "logs", f"{DIR}/", "task-001-part")
    assert short == long
    assert "what was asked for is done" in short[1]
    listed = call(root, "logs", DIR)[1].splitlines()
    assert listed == [f"task-00{n}-part\t{DIR}/logs/task-00{n}-part.log" for n in (1, 2)]
    done = process(root, "integrate", f"{DIR}/")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "# Integration Report" in (shop.directory / "integration-report.md").read_text()
    for verb in ("validate", "status", "integrate"):  # from anywhere, as run
        assert call(root.parent, verb, str(shop.directory))[0] == 0
    shop.git("add", "-f", ".prun")
    status, _, errors = call(root.parent, "integrate", str(shop.directory))
    assert (status, "git tracks" in errors) == (2, True)
    shop.git("rm", "-rq", "--cached", ".prun")
    run = json.loads((shop.directory / "report.json").read_text())["run_id"]
    status, out, _ = call(root, "clean", "--older-than", "36000")  # others' copies may be there, and stay
    assert status == 0
    assert run not in out
    assert shop.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"


def test_a_failed_task_in_the_words_of_old_and_its_exit_status(shop: Project) -> None:
    shop.script(1, f"exit 3; {DONE}")
    done = process(shop.root, "run", f"{DIR}/tasks", "--jobs", "1")
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[lines.index("=== Execution Complete ===") :] == [
        "=== Execution Complete ===",
        "",
        "Results:",
        "  Completed: 0/2 tasks",
        "  Failed: 1 tasks",
        "  Skipped: 1 tasks",
    ]
    assert "[PROGRESS] wave=1 task=task-001 status=failed error=unknown" in lines
    assert "[PROGRESS] execution status=failed" in lines
    assert call(shop.root, "integrate", DIR)[0] == 1


def test_a_manifest_with_errors(shop: Project) -> None:
    path = shop.directory / "manifest.json"
    path.write_text('{"tech_spec_id": "TS-1"}')
    status, out, _ = call(shop.root, "validate", DIR)
    assert status == 1
    assert f"{DIR}/manifest.json" in out
    status, out, errors = call(shop.root, "run", DIR)
    assert (status, out) == (2, "")
    assert "waves" in errors
    assert not list(shop.scripts.glob("*.prompt"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "cpo: a verb is missing"),
        (["go", DIR], "cpo: there is no verb 'go'"),
        (["run"], "cpo run: a directory is missing"),
        (["run", "--jobs", "2"], "cpo run: there is no directory '2'"),
        (
            ["run", "parallel/TS-0000-gone"],
            f"cpo run: there is no directory 'parallel/TS-0000-gone'\n  remedy: cpo run {DIR}\n",
        ),
        (["run", "parallel"], f"prun-review run {DIR};"),
        (["status", "latest"], "cpo status: there is no directory 'latest'"),
        (["logs", DIR, "task-009"], "has no log"),
        (["status", DIR], "it was never run here"),
        (["validate", DIR, "--fast"], "unrecognized arguments: --fast"),
    ],
)
def test_what_is_no_command_starts_nothing(shop: Project, words: list[str], told: str) -> None:
    # With panels beside it the verb without a directory would mean a review.
    (shop.root / "panels").mkdir()
    (shop.root / "panels/probe_x.py").write_text("def probe_x(result):\n    'Look.'\n")
    status, out, errors = call(shop.root, *words)
    assert (status, out) == (2, "")
    assert told in errors
    assert "remedy: " in errors
    assert not (shop.root / ".prun").exists()


@pytest.mark.parametrize("verb", cpo.VERBS)
def test_every_verb_has_help_and_an_exit_status(tmp_path: Path, verb: str) -> None:
    status, out, _ = call(tmp_path, verb, "--help")
    assert status == 0
    assert f"{'cpo' if verb == 'init' else 'prun-review'} {verb}" in out
    told = call(tmp_path, "--help")[1]
    assert re.search(rf"^  cpo {verb}\b", told, re.MULTILINE)
    assert f"{verb}" in told.partition("exit status:")[2]


def test_a_directory_that_was_begun_with_init_is_filled_validated_and_run(shop: Project) -> None:
    made = "parallel/TS-0042-feature"
    status, out, _ = call(shop.root, "init", made, "-t", "TS-0042", "-n", "feature-name")
    assert (status, out.splitlines()[-1]) == (0, f"then: cpo validate {made}")
    place = shop.root / made
    manifest = json.loads((place / "manifest.json").read_text())
    assert manifest == {"tech_spec_id": "TS-0042", "name": "feature-name", "waves": []}
    status, out, _ = call(shop.root, "validate", made)
    assert (status, "[no-tasks]" in out) == (1, True)
    assert call(shop.root, "run", made)[0] == 2
    manifest["waves"] = [{"number": 1, "tasks": [{"id": "task-001", "agent": "an-expert"}]}]
    (place / "manifest.json").write_text(json.dumps(manifest))
    (place / "tasks/task-001-words.md").write_text("---\nid: task-001\nwave: 1\n---\n# task-001: Words\n")
    assert call(shop.root, "validate", made)[0] == 0
    assert call(shop.root, "init", made)[0] == 2
    assert json.loads((place / "manifest.json").read_text()) == manifest
    shop.git("add", "-A")
    shop.git("commit", "-qm", "a feature")
    assert call(shop.root, "run", made)[0] == 0
    assert shop.git("status", "--porcelain") == ""  # what a run leaves behind is ignored


@pytest.mark.parametrize(
    ("words", "fields"),
    [
        (["parallel/TS-0007-loans"], {"tech_spec_id": "TS-0007", "name": "loans"}),
        (["parallel/loans/"], {"tech_spec_id": None, "name": "loans"}),
        (["loans", "--tech-spec", "SPEC-1", "--name", "L"], {"tech_spec_id": "SPEC-1", "name": "L"}),
    ],
)
def test_what_init_is_not_told_is_taken_from_the_directorys_name(
    tmp_path: Path, words: list[str], fields: dict[str, str | None]
) -> None:
    assert call(tmp_path, "init", *words)[0] == 0
    assert json.loads((tmp_path / words[0] / "manifest.json").read_text()) == {**fields, "waves": []}


def test_init_writes_to_nothing_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "a/tasks").mkdir(parents=True)
    (tmp_path / "a/context.md").write_text("mine")
    (tmp_path / "file").write_text("mine")
    assert "context.md" not in call(tmp_path, "init", "a")[1].partition("next:")[0]
    assert (tmp_path / "a/context.md").read_text() == "mine"
    for place in ("file", "file/below"):
        status, out, errors = call(tmp_path, "init", place)
        assert (status, out) == (2, "")
        assert "cannot be made" in errors
    assert call(tmp_path, "init")[0] == 2
    assert (tmp_path / "file").read_text() == "mine"


def test_help_and_version(tmp_path: Path) -> None:
    assert call(tmp_path, "-h")[0] == 0
    assert re.fullmatch(r"cpo \(prun-review\) \d+\.\d+\.\d+\n", call(tmp_path, "--version")[1])


def test_the_installed_command_is_this_one() -> None:
    told = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    module, _, name = told["project"]["scripts"]["cpo"].partition(":")
    assert getattr(import_module(module), name) is cpo.main


def test_nobody_reads_a_log_to_its_end(shop: Project) -> None:
    folder = shop.directory / "logs"
    folder.mkdir()
    (folder / "task-001-part.log").write_text("line\x1b[31m\n" * 100_000)
    argv = [sys.executable, "-c", PROGRAM, "logs", DIR, "task-001"]
    with subprocess.Popen(argv, cwd=shop.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reading:
        assert reading.stdout
        assert reading.stderr
        first = os.read(reading.stdout.fileno(), 100)
        reading.stdout.close()
        assert reading.wait(60) == 141
        assert reading.stderr.read() == b""
    assert first.startswith(b"line")
    assert b"\x1b" not in first
