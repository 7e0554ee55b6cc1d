"""Hooks, fixtures, exits and variables that could turn a run green, and do not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plugin.conftest import ONE, Project, finding, payload

FIXTURE = "\nimport pytest\n\n@pytest.fixture{}\ndef place(request):\n    {}\n"
WITH = ONE.replace("(result)", "(result, place)")
HOOK = "import pytest\n\n@pytest.hookimpl({})\ndef {}:\n    {}\n"

ACCIDENTS = {
    "exit 0 in the probe": (ONE + "    import pytest; pytest.exit('bye', returncode=0)\n", ""),
    "exit 0 in a fixture": (WITH + FIXTURE.format("", "pytest.exit('bye', returncode=0)"), ""),
    "exit 0 in the last teardown": (
        WITH + FIXTURE.format("(scope='session')", "yield; pytest.exit('bye', returncode=0)"),
        "",
    ),
    "a fixture skips": (WITH + FIXTURE.format("", "pytest.skip('later')"), ""),
    "a fixture expects failure": (
        WITH + FIXTURE.format("", "request.applymarker(pytest.mark.xfail(strict=False))"),
        "",
    ),
    "a result of its own": (ONE + FIXTURE.format("", "return 5").replace("place(request)", "result()"), ""),
    "a coroutine": (ONE.replace("def probe", "async def probe"), ""),
    "reports made green": (
        ONE,
        HOOK.format("tryfirst=True", "pytest_runtest_logreport(report)", "report.outcome = 'passed'"),
    ),
    "items that never run": (
        ONE,
        HOOK.format("tryfirst=True", "pytest_runtest_protocol(item)", "return True"),
    ),
    "a loop that does nothing": (ONE, HOOK.format("", "pytest_runtestloop(session)", "return True")),
    "the other vendor dropped": (
        ONE,
        "def pytest_collection_modifyitems(items):\n"
        "    items[:] = [i for i in items if 'right' not in i.nodeid]\n",
    ),
    "the other vendor skipped": (
        ONE,
        "import pytest\n\ndef pytest_collection_modifyitems(items):\n    for i in items:\n"
        "        if 'right' in i.nodeid:\n            i.add_marker(pytest.mark.skip('in CI'))\n",
    ),
    "an exit status made 0": (
        ONE,
        HOOK.format(
            "wrapper=True, tryfirst=True",
            "pytest_sessionfinish(session)",
            "yield; session.exitstatus = 0",
        ),
    ),
    "a parameter after ours": (
        ONE,
        HOOK.format(
            "trylast=True",
            "pytest_generate_tests(metafunc)",
            "metafunc.fixturenames.append('zz'); metafunc.parametrize('zz', [1, 2])",
        ),
    ),
}


@pytest.mark.parametrize(("probe", "conftest"), ACCIDENTS.values(), ids=ACCIDENTS)
def test_no_hook_or_fixture_makes_a_broken_answer_green(project: Project, probe: str, conftest: str) -> None:
    project.probe(probe)
    project.write("conftest.py", conftest)
    project.answers({"of": "left", "payload": payload()}, {"raw": "no answer"})
    assert project.run("panels/").ret != 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("-qq", "--no-summary", "--runxfail"),
        ("-p", "no:terminal", "-p", "no:skipping"),
        ("-o", "xfail_strict=false", "-o", "python_functions=test_*", "--import-mode=importlib"),
        ("--keep-duplicates", "panels/probe_app.py"),
        ("-n", "2", "--max-worker-restart=0", "--dist", "worksteal"),
    ],
    ids=" ".join,
)
def test_no_flag_makes_a_consensus_green(project: Project, arguments: tuple[str, ...]) -> None:
    project.probe("import pytest\n" + ONE.replace("@brief", "@pytest.mark.xfail\n@brief"))
    project.answers({"payload": payload(finding())})
    assert project.run("panels/", *arguments).ret != 0


def test_variables_of_git_lead_to_no_other_tree(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    other = project.path / "other"
    other.mkdir()
    project.git("init", "-q", str(other))
    values: dict[str, Any] = {
        "GIT_DIR": other / ".git",
        "GIT_WORK_TREE": other,
        "GIT_INDEX_FILE": other / ".git/index",
        "GIT_OBJECT_DIRECTORY": "/does/not/exist",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.worktree",
        "GIT_CONFIG_VALUE_0": other,
    }
    project.probe(ONE)
    project.answers({"payload": payload(finding())})
    for name, value in values.items():
        monkeypatch.setenv(name, str(value))
    assert project.run("panels/").ret == 1
    assert project.report()["verdict"]["outcome"] == "FAIL"  # the quote was found: it is our tree
