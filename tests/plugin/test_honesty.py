"""Reports that would be lost, items that vanish, processes that die: never a green run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.plugin.conftest import ONE, Project, payload

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])


@WORKERS
@pytest.mark.parametrize(
    "body",
    [
        r"assert False, 'odd \ud83d'",
        r"raise ValueError('\ud83d')",
        r"logging.getLogger().error('\ud83d'); assert False",
        r"record_property('k', '\ud83d'); assert False",
        r"record_property('k', Path('/x')); assert False",
        r"record_property('k', {'a': {1, 2}}); assert False",
        r"warnings.warn('\ud83d'); assert False",
        r"print('\ud83d'.encode('utf-8', 'surrogatepass')); assert False",
        r"pytest.skip('\ud83d')",
        r"assert False, '\x1b[2J\x00'",
    ],
)
def test_a_report_that_is_hard_to_carry_still_fails_the_run(
    project: Project, body: str, workers: tuple[str, ...]
) -> None:
    project.probe(
        "import logging, warnings\nfrom pathlib import Path\nimport pytest\n"
        + ONE.replace("probe_app(result)", "probe_app(result, record_property)")
        + f"    {body}\n"
    )
    project.answers({"payload": payload()})
    result = project.run("panels/", "-W", "ignore", *workers)
    if "skip" in body:
        assert result.parseoutcomes().get("skipped") == 2
    else:
        assert result.ret in (1, 3)
        assert result.ret == 3 or result.parseoutcomes()["failed"] >= 2
    assert "\x1b[2J" not in result.stdout.str()


def test_a_warning_that_a_worker_could_not_send_arrives_clean(project: Project) -> None:
    project.probe("import warnings\n" + ONE + "    warnings.warn('odd \\ud83d word')\n")
    project.answers({"payload": payload()})
    result = project.run("panels/", "-n", "2")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*UserWarning: odd * word*"])


@WORKERS
def test_an_internal_error_is_exit_3(project: Project, workers: tuple[str, ...]) -> None:
    project.write(
        "conftest.py", "def pytest_runtest_logfinish(nodeid):\n    raise RuntimeError('hook of theirs')\n"
    )
    project.probe(ONE)
    project.answers({"payload": payload()})
    assert project.run("panels/", *workers).ret == 3


@WORKERS
def test_maxfail_stops_new_dispatches_and_ends_those_in_flight(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.config("jobs = 3")
    project.probe(
        """
import pytest
from prun_review import brief

@brief(executors=["left"])
@pytest.mark.parametrize("n", range(8))
def probe_many(n):
    '''Question number {n}.'''
"""
    )
    project.answers({"when": "number 0", "raw": "x", "exit": 1}, {"sleep": 60, "payload": payload()})
    begun = time.monotonic()
    result = project.run("panels/", "-x", *workers)
    assert time.monotonic() - begun < 55, "the dispatches in flight were waited for"
    assert result.ret in (1, 2)
    assert len(project.calls()) < 8
    report = project.report()
    assert report["verdict"]["outcome"] == "INCOMPLETE"
    assert len(report["units"]) == 8
    assert all(u["status"] in ("failed", "not-run") for u in report["units"])


def test_a_killed_worker_does_not_lose_its_item_or_pay_twice(project: Project) -> None:
    project.probe(
        """
import os, pathlib
import pytest
from prun_review import brief

@brief(executors=["left"])
@pytest.mark.parametrize("n", range(4))
def probe_many(result, n):
    '''Question number {n}.'''
    mark = pathlib.Path(MARK)
    if n == 2 and not mark.exists():
        mark.write_text("x")
        os.kill(os.getpid(), 9)
""".replace("MARK", repr(str(project.path.parent / (project.path.name + "-mark"))))
    )
    project.config('[tool.prun_review.gate]\nrule = "single"')
    project.answers({"payload": payload()})
    result = project.run("panels/", "-n", "2")
    assert len(project.calls()) == 4
    assert result.parseoutcomes()["passed"] == 4
    assert project.report()["verdict"]["outcome"] == "PASS"


def test_a_worker_that_dies_each_time_is_not_green(project: Project) -> None:
    project.probe("import os\n" + ONE + "    os.kill(os.getpid(), 9)\n")
    project.answers({"payload": payload()})
    result = project.run("panels/", "-n", "2", "--max-worker-restart=2")
    assert result.ret != 0


@pytest.mark.parametrize(
    "parameters", ["{'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}", "[str(object()) for _ in range(3)]"]
)
def test_parameters_that_differ_between_workers_are_named_and_nothing_is_spent(
    project: Project, parameters: str
) -> None:
    project.probe(
        f"""
import pytest

@pytest.mark.parametrize("word", {parameters})
def probe_words(word):
    '''About {{word}}.'''
"""
    )
    project.answers({"payload": payload()})
    for _ in range(3):
        result = project.run("panels/", "-n", "2")
        if result.ret != 0:  # the hash seeds of two workers differ nearly always
            break
    assert result.ret != 0
    assert "probe_words" in result.stdout.str() + result.stderr.str()


@WORKERS
def test_sigkill_of_pytest_leaves_no_worker_behind(project: Project, workers: tuple[str, ...]) -> None:
    project.probe(ONE)
    project.answers({"sleep": 300, "payload": payload()})
    command = [sys.executable, "-m", "pytest", "panels/", "-p", "no:randomly", *workers]
    with subprocess.Popen(
        command, cwd=project.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _until(lambda: len(project.calls()) == 2)
        pids = [int(line.split()[1]) for line in Path(f"{project.scenario}.calls").read_text().splitlines()]
        process.send_signal(signal.SIGKILL)
    _until(lambda: not any(map(_alive, pids)))
    gate = subprocess.run(
        [sys.executable, "-m", "prun_review", "gate"], cwd=project.path, capture_output=True
    )
    assert gate.returncode == 1


def _until(condition: object) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if condition():  # type: ignore[operator]
            return
        time.sleep(0.05)
    raise AssertionError("did not happen within a minute")


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@WORKERS
def test_plugins_next_to_ours_keep_the_number_of_dispatches(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.probe(ONE + "    assert not result.findings\n")
    project.answers({"payload": payload()})
    run = project.pytester.runpytest_subprocess
    rows = [
        (("-p", "randomly"), 2),
        (("--reruns", "2"), 2),
        (("--timeout", "20"), 2),
        (("--count", "2"), 4),
    ]
    for options, dispatches in rows:
        before = len(project.calls())
        result = run("panels/", "-p", "no:cacheprovider", *options, *workers)
        assert result.ret == 0, (options, result.stdout.str())
        assert len(project.calls()) - before == dispatches, options


def test_a_timeout_of_pytest_timeout_does_not_count_the_wait(project: Project) -> None:
    project.probe(ONE)
    project.answers({"sleep": 2.5, "payload": payload()})
    for workers in ((), ("-n", "2")):
        result = project.run("panels/", "--timeout=1", *workers, others=True)
        assert result.ret == 0, result.stdout.str()


@pytest.mark.parametrize("dist", ["load", "loadscope", "loadfile", "loadgroup", "worksteal", "each"])
def test_every_distribution_mode_dispatches_each_unit_once(project: Project, dist: str) -> None:
    project.probe(ONE, "panels/probe_a.py")
    project.probe(ONE, "panels/sub/probe_b.py")
    project.answers({"payload": payload()})
    arguments = ("-n", "2", "--dist", dist) if dist != "each" else ("--tx", "2*popen", "--dist", "each")
    result = project.run("panels/", *arguments)
    assert result.ret == 0, result.stdout.str()
    assert len(project.calls()) == 4


def test_a_conftest_cannot_turn_the_exit_status_green(project: Project) -> None:
    project.write(
        "panels/conftest.py",
        "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n",
    )
    project.probe(ONE)
    project.answers({"raw": "x", "exit": 1})
    # panels/ is the trusted root's own code, so this is no attack; it is an accident that must show.
    assert project.run("panels/").ret == 1


def test_edits_of_refs_during_the_run_are_incomplete(project: Project) -> None:
    project.probe(
        "import subprocess\n"
        + ONE
        + "    subprocess.run(['git', 'branch', 'moved-' + result.executor], check=True)\n"
    )
    project.answers({"payload": payload()})
    result = project.run("panels/")
    assert result.ret == 1
    assert "repository-changed" in [r["code"] for r in project.report()["verdict"]["reasons"]]


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write anywhere")
def test_a_read_only_project_is_a_named_error(project: Project) -> None:
    project.probe(ONE)
    project.path.chmod(0o500)
    try:
        result = project.run("panels/")
    finally:
        project.path.chmod(0o700)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert ".prun" in result.stderr.str()


@WORKERS
def test_no_repository_and_no_commit_are_usage_errors(project: Project, workers: tuple[str, ...]) -> None:
    import shutil

    project.probe(ONE)
    project.answers({"payload": payload()})
    shutil.rmtree(project.path / ".git")
    result = project.run("panels/", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "git init" in result.stderr.str() + result.stdout.str()
    project.git("init", "-q")
    result = project.run("panels/", *workers)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "commit" in result.stderr.str() + result.stdout.str()
    assert project.calls() == []
