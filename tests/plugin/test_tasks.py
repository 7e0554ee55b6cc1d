"""``pytest DIR``: tasks as items, with workers that are shell scripts; every row is a real pytest run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.plugin.waving import SCOPE, Waving, commit, ids, waving
from tests.process.trees import until
from tests.waves.wavekit import DIR, DONE, T, project, states

MUTE = """\
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    return True
"""
"""A hook that keeps pytest from speaking of any item."""


def task(number: int, wave: int, *deps: int, script: str = "", front: str = "") -> T:
    """One that writes a file of its own."""
    return T(number, wave, deps, script, front=front, scope=SCOPE.format(n=number))


def in_the_middle(path: Path) -> Iterator[Waving]:
    """Three waves whose second one fails in part, by a check of ours."""
    made = project(
        path,
        task(1, 1),
        task(2, 2, 1, front='verify: ["echo looked at it; exit 7"]\n'),
        task(3, 2, 1, script=f"cat task-001.txt > task-003.txt; {DONE}"),
        task(4, 3, 2),
        task(5, 3, 3),
        validation={1: "test -f task-001.txt"},
    )
    with waving(made) as pytest_in:
        yield pytest_in


@pytest.fixture
def middle(tmp_path: Path) -> Iterator[Waving]:
    yield from in_the_middle(tmp_path)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Waving]:
    """Two tasks, one after the other, that do what they are asked."""
    with waving(project(tmp_path, task(1, 1), task(2, 2, 1))) as pytest_in:
        yield pytest_in


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_failed_task_fails_its_item_skips_what_needs_it_and_all_else_goes_on(
    middle: Waving, workers: tuple[str, ...]
) -> None:
    ran = middle.run(DIR, "-v", "-rs", *workers)
    assert ran.outcomes() == {
        **{"task-001": "PASSED", "task-002": "FAILED", "task-003": "PASSED"},
        **{"task-004": "SKIPPED", "task-005": "PASSED"},
    }
    assert ran.code == 1
    assert "task-002-part failed by hand: verify" in ran.out
    assert "check failed (exit 7): echo looked at it; exit 7\n    looked at it\n" in ran.out
    assert f"{DIR}/tasks/task-004-part.md:1: dependency: task-002-part failed (verify)" in ran.out
    assert "FAIL (3 of 5 tasks succeeded)" in ran.out
    assert "STATUS: FAILED\n" in ran.out
    document = middle.report()
    assert states(document) == {
        **{"001": "succeeded:ok", "002": "failed:verify", "003": "succeeded:ok"},
        **{"004": "skipped:dependency", "005": "succeeded:ok"},
    }
    assert middle.asked() == ["task-001", "task-002", "task-003", "task-005"]

    # What failed is mended, and only what is open is asked again.
    text = (middle.made.directory / "tasks/task-002-part.md").read_text()
    text = text.replace("exit 7", "exit 0")
    (middle.made.directory / "tasks/task-002-part.md").write_text(text)
    middle.forget()
    ran = middle.run(DIR, "--prun-resume", *workers)
    assert (ran.code, ran.counts) == (0, {"passed": 5})
    assert middle.asked() == ["task-002", "task-004"]
    assert "3 of 5 tasks taken over" in ran.out
    assert f": prun-review integrate {DIR}\n" in ran.out
    assert f"STATUS: COMPLETED\nrun directory: {middle.runs()[-1]}\n" in ran.out


def test_all_done_is_green_and_known_to_pytest_by_the_ids_of_the_tasks(two: Waving) -> None:
    ran = two.run(f"{DIR}/", "--junitxml=out.xml", "--durations=0", "-vv", "-rA")
    assert (ran.code, ran.counts) == (0, {"passed": 2})
    for node in ids([1, 2]):
        assert f"PASSED {node}\n" in ran.out
        assert f"s call     {node}\n" in ran.out
    cases = ElementTree.parse(two.made.root / "out.xml").iter("testcase")
    assert [(case.get("classname"), case.get("name")) for case in cases] == [
        (DIR.replace("/", "."), "task-001-part"),
        (DIR.replace("/", "."), "task-002-part"),
    ]
    assert two.report()["status"] == "completed"


@pytest.mark.parametrize(
    ("arguments", "outcomes", "asked"),
    [
        ((f"{DIR}::task-001-part",), {"task-001": "PASSED"}, [1]),
        ((f"{DIR}/::task-001", f"{DIR}::task-003-part"),
         {"task-001": "PASSED", "task-003": "PASSED"}, [1, 3]),
        ((DIR, "-k", "001 or 004"), {"task-001": "PASSED", "task-004": "SKIPPED"}, [1]),
        ((f"{DIR}/tasks", "--deselect", f"{DIR}::task-002-part", "-k", "not 005", "-n2"),
         {"task-001": "PASSED", "task-003": "PASSED", "task-004": "SKIPPED"}, [1, 3]),
    ],
)  # fmt: skip
def test_only_what_is_selected_is_asked_and_a_part_is_never_green(
    middle: Waving, arguments: tuple[str, ...], outcomes: dict[str, str], asked: list[int]
) -> None:
    ran = middle.run(*arguments, "-v", "-rs")
    assert ran.outcomes() == outcomes
    assert middle.asked() == [f"task-{n:03}" for n in asked]
    assert ran.code == 1
    if "SKIPPED" in outcomes.values():
        assert "it needs task-002-part, which is neither selected nor done" in ran.out


def test_the_last_failed_task_is_selected_and_what_it_needs_is_taken_over(middle: Waving) -> None:
    assert middle.run(DIR).code == 1
    middle.forget()
    ran = middle.run(DIR, "--lf", "--prun-resume", "-v")
    assert ran.outcomes() == {"task-002": "FAILED"}
    assert middle.asked() == ["task-002"]
    assert ran.code == 1
    assert f"run directory: {middle.runs()[-1]}\n" in ran.out
    assert f": prun-review run {DIR} --resume\n" in ran.out


def test_what_was_done_before_needs_no_item_for_the_whole_to_be_green_and_all_else_does(
    tmp_path: Path,
) -> None:
    made = project(tmp_path, task(1, 1), task(2, 2, script="exit 1"), task(3, 3))
    with waving(made) as pytest_in:
        assert pytest_in.run(DIR).code == 1
        made.script(2, f"echo 2 > task-002.txt; {DONE}")
        (made.root / "conftest.py").write_text(MUTE)
        # Those whose report is lost were items, and count as such even where they were done before.
        ran = pytest_in.run(*ids([1, 2]), "--prun-resume")
        assert ran.code == 1
        assert f"INCOMPLETE (no report spoke of {DIR}::task-001-part)" in ran.out
        (made.root / "conftest.py").unlink()
        pytest_in.forget()
        for arguments in (("--lf",), ("-k", "003", "-n", "2")):
            ran = pytest_in.run(DIR, *arguments, "--prun-resume")
            assert (ran.code, ran.counts["passed"], "STATUS: COMPLETED\n" in ran.out) == (0, 1, True), ran.out
        assert pytest_in.asked() == []


def test_a_validation_without_all_tasks_of_its_wave_says_nothing_of_those_that_were_done(
    tmp_path: Path,
) -> None:
    made = project(tmp_path, task(1, 1), task(2, 1), task(3, 2), validation={1: "test -f task-002.txt"})
    with waving(made) as pytest_in:
        ran = pytest_in.run(DIR, "-k", "001")
    assert (ran.code, ran.counts) == (1, {"passed": 1, "failed": 1, "deselected": 2})
    assert "INCOMPLETE (1 of 3 tasks succeeded, 2 not selected)" in ran.out
    told = "wave 1: its validation failed without 1 task that nobody selected (exit 1): test -f task-002.txt"
    assert told in ran.out


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_the_first_failure_ends_what_runs(tmp_path: Path, workers: tuple[str, ...]) -> None:
    made = project(
        tmp_path,
        task(1, 1, script="while ! test -f ../../nothing; do sleep 0.1; done"),
        task(2, 1, script="exit 3"),
        task(3, 2),
    )
    with waving(made) as pytest_in:
        ran = pytest_in.run(DIR, "-x", "-v", *workers)
        assert ran.outcomes()["task-002"] == "FAILED"
        assert ran.code == 1 if not workers else ran.code != 0
        found = states(pytest_in.report())
        assert found["001"] in ("failed:cancelled", "failed:stopped", "not-run:stopped")
        assert found["002"] == "failed:unknown"
        assert found["003"] == "not-run:stopped"
        assert pytest_in.asked() == ["task-001", "task-002"]


@pytest.mark.parametrize(
    "arguments",
    [("--collect-only", "-q"), ("--collect-only", "-q", "-n", "2"), ("--setup-plan",), ("--setup-only",)],
)
def test_commands_that_only_look_start_nothing_and_leave_nothing(
    two: Waving, arguments: tuple[str, ...]
) -> None:
    ran = two.run(DIR, *arguments)
    assert two.asked() == []
    assert two.runs() == []
    assert all(node in ran.out for node in ids([1, 2]))
    assert ran.code == 0


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_everything_that_is_wrong_is_one_error_and_nothing_is_started(
    two: Waving, workers: tuple[str, ...]
) -> None:
    for number, old, new in (
        (1, "wave: 1", "wave: 7"),
        (2, "deps: [task-001]", "deps: [task-009, task-002]"),
    ):
        path = two.made.directory / f"tasks/task-{number:03}-part.md"
        path.write_text(path.read_text().replace(old, new))
    ran = two.run(DIR, *workers)
    assert f"{DIR} cannot be run: 2 errors\n" in ran.out
    for code in ("cycle", "unknown-dependency"):
        assert f"{DIR}/tasks/task-002-part.md:5: error: [{code}] " in ran.out
    assert ran.out.count("ERROR collecting") == 1
    assert ran.code not in (0, 5)
    assert two.asked() == []


def test_what_is_only_odd_is_a_warning(two: Waving) -> None:
    path = two.made.directory / "tasks/task-001-part.md"
    path.write_text(path.read_text().replace("component: part", "component: part\nmood: fine"))
    ran = two.run(DIR)
    assert (ran.code, ran.counts) == (0, {"passed": 2, "warning": 1})
    assert "ManifestWarning: " in ran.out
    assert "[unknown-key]" in ran.out


def test_marks_keep_a_task_from_being_run_and_hide_nothing(middle: Waving) -> None:
    hook = """\
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        if "003" in item.name:
            item.add_marker(pytest.mark.skip("not today"))
        if "002" in item.name:
            item.add_marker(pytest.mark.xfail(reason="known"))
"""
    commit(middle.made, {"conftest.py": hook})
    ran = middle.run(DIR, "-v", "-rs")
    assert ran.outcomes() == {
        **{"task-001": "PASSED", "task-002": "FAILED", "task-003": "SKIPPED"},
        **{"task-004": "SKIPPED", "task-005": "SKIPPED"},
    }
    assert "not today" in ran.out
    assert "it needs task-003-part" in ran.out
    assert middle.asked() == ["task-001", "task-002"]
    assert ran.code == 1


def test_tests_beside_it_run_too(two: Waving) -> None:
    commit(
        two.made, {"tests/test_it.py": "def test_it():\n    pass\n", f"{DIR}/test_no.py": "assert False\n"}
    )
    ran = two.run("tests", DIR)
    assert (ran.code, ran.counts) == (0, {"passed": 3})


def test_the_directory_may_be_where_pytest_is_started(two: Waving) -> None:
    ran = two.run(".::task-001", cwd=two.made.directory)
    assert ran.counts == {"passed": 1, "failed": 1}, ran.out + ran.err
    assert two.asked() == ["task-001"]


def test_where_nothing_that_is_selected_can_be_run_it_is_said_and_nothing_begins(middle: Waving) -> None:
    ran = middle.run(f"{DIR}::task-004")
    assert "task-004-part: it needs task-002-part, which is neither selected nor done" in ran.err
    assert "--prun-resume" in ran.err
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert middle.asked() == []


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_where_all_tasks_are_skipped_none_is_done_and_it_is_not_green(
    two: Waving, workers: tuple[str, ...]
) -> None:
    hook = "import pytest\n\ndef pytest_itemcollected(item):\n    item.add_marker(pytest.mark.skip('no'))\n"
    commit(two.made, {"conftest.py": hook})
    ran = two.run(DIR, *workers)
    assert (ran.code, ran.counts) == (1, {"skipped": 2, "failed": 1})
    assert "every task that was selected is skipped by a mark" in ran.out
    assert two.asked() == []


def test_a_validation_that_fails_is_told_and_ends_it_although_every_task_passed(tmp_path: Path) -> None:
    made = project(
        tmp_path, task(1, 1), task(2, 2, 1), validation={1: "echo it is not whole; exit 5", 2: "true"}
    )
    with waving(made) as pytest_in:
        ran = pytest_in.run(DIR, "-v", "-rs")
        assert ran.outcomes() == {"task-001": "PASSED", "task-002": "SKIPPED"}
        assert ran.code == 1
        told = "wave 1: its validation failed (exit 5): echo it is not whole; exit 5\n    it is not whole\n"
        assert told in ran.out
        assert "wave 2: its validation failed" not in ran.out  # it never ran
        assert f"{DIR}/tasks/task-002-part.md:1: validation: " in ran.out
        assert pytest_in.asked() == ["task-001"]


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_what_comes_after_the_last_task_is_waited_for_where_all_failed(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    made = project(tmp_path, task(1, 1, script="exit 3"), validation={1: "sleep 1; echo looked; exit 4"})
    with waving(made) as pytest_in:
        ran = pytest_in.run(DIR, *workers)
        [wave] = pytest_in.report()["waves"]
    assert ran.code == 1
    assert (wave["validation"]["code"], wave["validation"]["said"]) == (4, "looked")
    assert "STATUS: FAILED\n" in ran.out


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_ctrl_c_ends_what_runs_and_leaves_an_end_of_the_run(tmp_path: Path, workers: tuple[str, ...]) -> None:
    ready = tmp_path / "ready"
    long = f"echo $$ > {ready}.new; mv {ready}.new {ready}; while true; do sleep 0.1; done"
    made = project(tmp_path, task(1, 1, script=long), task(2, 2, 1))
    with waving(made) as pytest_in, pytest_in.started(DIR, *workers) as process:
        until(lambda: ready.exists() or process.poll() is not None, 60)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == pytest.ExitCode.INTERRUPTED
        pid = int(ready.read_text())
        until(lambda: not Path(f"/proc/{pid}").exists(), 20)
        document = pytest_in.report()
        assert document["status"] == "stopped"
        assert states(document)["002"] == "not-run:stopped"
        assert pytest_in.asked() == ["task-001"]


def test_the_item_of_a_killed_worker_is_judged_once_more(two: Waving) -> None:
    hook = f"""\
import os, pathlib, signal

def pytest_runtest_setup(item):
    mark = pathlib.Path({str(two.made.scripts / "killed")!r})
    if "001" in item.name and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
"""
    commit(two.made, {"conftest.py": hook})
    ran = two.run(DIR, "-n", "2", "--max-worker-restart=4")
    assert (ran.code, ran.counts.get("passed"), ran.counts.get("failed")) == (0, 2, None)
    assert (two.made.scripts / "killed").exists()
