"""A unit that writes code, from its copy to its result, with a real process and a real patch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prun_review.errors import TreeError
from prun_review.model import Result, Unit
from prun_review.process.launch import ProcessLauncher
from prun_review.written import Breach, Patch
from tests.writing.desk import HandBench, HandCopy
from tests.writing.dispatching import Desk, desk, says, unit

WRITE = 'open("src/a.py", "w").write("def twice(x):\\n    return 2 * x\\n")\n'
MARK = 'open(".claude-task-complete", "w").write("all of it")\n'


@pytest.fixture(scope="module")
def launcher() -> Iterator[ProcessLauncher]:
    with ProcessLauncher() as made:
        yield made


@pytest.fixture
def run(tmp_path: Path, launcher: ProcessLauncher) -> Iterator[Desk]:
    with desk(tmp_path / "run", launcher) as made:
        yield made


def bench(run: Desk) -> HandBench:
    assert isinstance(run.workbench, HandBench)
    return run.workbench


def only(run: Desk) -> HandCopy:
    (copy,) = bench(run).copies
    return copy


def test_what_it_wrote_is_taken_checked_and_stored(run: Desk) -> None:
    one = unit(verify=("pytest -q", "ruff check"), writes=("src",))
    result = run.run(one, WRITE + says(["src/a.py"]))
    assert (result.status, result.reason, result.message) == ("valid", "ok", "")
    assert result.patch is not None
    assert [(f.path, f.status) for f in result.patch.files] == [("src/a.py", "modified")]
    assert result.patch.kept == ""
    assert [(c.command, c.ok) for c in result.checks] == [("pytest -q", True), ("ruff check", True)]
    assert b"+    return 2 * x" in run.store.patch_of(result)
    assert run.store.result_of(one) == result
    assert (only(run).kept, only(run).closed) == (False, 1)


def test_it_works_in_its_copy_and_is_told_of_it(tmp_path: Path, launcher: ProcessLauncher) -> None:
    with desk(tmp_path / "run", launcher, HandBench(tmp_path / "copies", notes=("3 LFS pointers",))) as run:
        script = (
            "import os, sys\n"
            "prompt = sys.stdin.read()\n"
            "assert '3 LFS pointers' in prompt, prompt\n"
            "assert os.getcwd().endswith('copies/probe-writer-1-1'), os.getcwd()\n"
            "assert os.environ['GIT_CONFIG_GLOBAL'] == os.devnull\n"
        )
        assert run.run(unit(), script + WRITE + says(["src/a.py"])).ok
        (end,) = run.attempts()
        assert (end["status"], end["reason"]) == ("valid", "ok")


CASES: dict[str, tuple[str, dict[str, Any], str, list[str]]] = {
    "outside its scope": (
        WRITE + 'open("README.md", "a").write("x")\n' + says(["src/a.py", "README.md"]),
        {"writes": ("src",), "verify": ("true",)},
        "breach",
        ["outside-scope"],
    ),
    "a check fails": (WRITE + says(["src/a.py"]), {"verify": ("true", "fail")}, "verify", ["verify"]),
    "a file that it did not touch": (
        WRITE + says(["src/a.py", "src/z.py"]),
        {"verify": ("true",)},
        "contract",
        ["claimed-not-touched"],
    ),
    "nothing, and says otherwise": (
        says(["src/a.py"]),
        {"verify": ("true",)},
        "contract",
        ["nothing-written"],
    ),
    "no answer in the form": (
        WRITE + 'print("I made it so.")',
        {"verify": ("true",)},
        "contract",
        ["no-payload"],
    ),
}


@pytest.mark.parametrize(("script", "brief", "reason", "codes"), CASES.values(), ids=CASES)
def test_what_breaks_it(run: Desk, script: str, brief: dict[str, Any], reason: str, codes: list[str]) -> None:
    bench(run).passes = lambda command: command != "fail"
    result = run.run(unit(**brief), script)
    assert (result.status, result.reason) == ("broken", reason)
    assert [v.code for v in result.violations] == codes
    assert result.attempts == 1, "the work is never asked for again"
    assert len(bench(run).checked) == (reason == "verify")
    (end,) = run.attempts()
    assert (end["status"], end["reason"]) == ("broken", reason)
    assert result.patch is not None
    wrote = bool(result.patch.files)
    assert only(run).kept == wrote
    assert result.patch.kept == (str(only(run).path) if wrote else "")
    assert (f"what it wrote is kept in {only(run).path}" in result.message) == wrote


def test_untold_files_are_told_and_break_nothing(run: Desk) -> None:
    result = run.run(unit(), WRITE + 'open("src/new.py", "w").close()\n' + says(["src/a.py"]))
    assert result.ok
    assert [str(v) for v in result.salvage] == [
        "[untold-file] src/new.py was changed, and the answer does not say so"
    ]


@pytest.mark.parametrize(("kind", "script"), [("change", says([])), ("task", MARK)])
@pytest.mark.parametrize(("command", "end"), [("true", ("valid", "ok")), ("fail", ("broken", "verify"))])
def test_nothing_changed_and_nothing_claimed_is_valid_where_the_commands_pass_on_it(
    run: Desk, kind: str, script: str, command: str, end: tuple[str, str]
) -> None:
    """A command that nobody ran would have passed."""
    bench(run).passes = lambda command: command != "fail"
    result = run.run(unit(kind, verify=(command,)), script)
    assert (result.status, result.reason) == end
    assert [check.command for check in result.checks] == [command]
    assert result.patch is not None
    assert result.patch.empty


def test_what_can_pass_is_tried_again_on_a_fresh_copy(run: Desk) -> None:
    once = (
        "import os, sys\n"
        f"seen = {str(run.root / 'seen')!r}\n"
        "assert open('src/a.py').read() == 'def twice(x):\\n    return x\\n'\n"
        + WRITE
        + "if not os.path.exists(seen):\n"
        "    open(seen, 'w').close()\n"
        "    sys.exit('429 too many requests')\n"
    )
    result = run.run(unit(), once + says(["src/a.py"]))
    assert (result.status, result.attempts, result.retried) == ("valid", 2, ("rate-limited",))
    first, second = bench(run).copies
    assert (first.kept, second.kept) == (True, False)
    assert first.path != second.path
    assert [c.closed for c in bench(run).copies] == [1, 1]


@pytest.mark.parametrize("writes", [True, False])
def test_a_worker_that_is_ended_leaves_its_copy_only_if_it_holds_a_change(run: Desk, writes: bool) -> None:
    script = (WRITE if writes else "") + "import time\nprint('x', flush=True)\ntime.sleep(60)\n"
    result = run.run(unit(timeout=1.0), script)
    assert (result.status, result.reason) == ("failed", "timeout")
    assert only(run).kept == writes
    assert result.patch is not None
    assert bool(result.patch.kept) == writes


class Unreadable(HandBench):
    """Makes copies that cannot be read back."""

    def open(self, unit: Unit, out: Path) -> HandCopy:
        copy = super().open(unit, out)
        self.copies[-1] = Stubborn(copy.path, copy.base, copy.patch_file)
        return self.copies[-1]


class Stubborn(HandCopy):
    def harvest(self, unit: Unit) -> Patch:
        raise TreeError("its index is damaged")


def test_what_cannot_be_read_is_no_answer_and_is_kept(tmp_path: Path, launcher: ProcessLauncher) -> None:
    with desk(tmp_path / "run", launcher, Unreadable(tmp_path / "copies")) as run:
        result = run.run(unit(), WRITE + says(["src/a.py"]))
        assert (result.status, result.reason) == ("failed", "tree")
        assert "its index is damaged" in result.message
        assert result.patch is not None
        assert result.patch.breaches == (Breach("unreadable", "", result.patch.breaches[0].text),)
        assert result.patch.kept == str(only(run).path)


class Full(HandBench):
    """Has no room for a copy."""

    def open(self, unit: Unit, out: Path) -> HandCopy:
        raise TreeError("no space left")


def test_without_a_copy_nothing_is_dispatched(tmp_path: Path, launcher: ProcessLauncher) -> None:
    with desk(tmp_path / "run", launcher, Full(tmp_path / "copies")) as run:
        result = run.run(unit(), WRITE + says(["src/a.py"]))
        assert (result.status, result.reason, result.message) == ("failed", "tree", "no space left")
        assert run.attempts() == []


def test_without_a_workbench_it_is_refused(tmp_path: Path, launcher: ProcessLauncher) -> None:
    with desk(tmp_path / "run", launcher) as run:
        run.workbench = None
        result = run.run(unit(), WRITE)
        assert (result.status, result.reason, result.attempts) == ("failed", "brief", 0)
        assert "makes no copies" in result.message


TASKS: dict[str, tuple[str, dict[str, Any], tuple[str, str]]] = {
    "done": (WRITE + MARK + 'print("It is done.")', {}, ("valid", "ok")),
    "done without a word": (WRITE + MARK, {}, ("valid", "ok")),
    "no marker": (WRITE + 'print("It is done.")', {}, ("broken", "no-marker")),
    "marker and a crash": (WRITE + MARK + "raise SystemExit('oh')", {}, ("failed", "unknown")),
    "says incomplete": (
        WRITE + MARK + 'print(\'{"task_completed": false, "summary": ""}\')',
        {},
        ("broken", "says-incomplete"),
    ),
    "created": (WRITE + MARK, {"creates": ("src/*.py",)}, ("valid", "ok")),
    "not created": (WRITE + MARK, {"creates": ("lib/**",)}, ("broken", "nothing-created")),
    "nothing": (MARK, {"creates": ("src/*.py",)}, ("broken", "nothing-written")),
    "a check fails": (WRITE + MARK, {"verify": ("fail",)}, ("broken", "verify")),
    "outside": (WRITE + MARK, {"writes": ("lib",), "verify": ("true",)}, ("broken", "breach")),
}


@pytest.mark.parametrize(("script", "brief", "outcome"), TASKS.values(), ids=TASKS)
def test_tasks(run: Desk, script: str, brief: dict[str, Any], outcome: tuple[str, str]) -> None:
    bench(run).passes = lambda command: command != "fail"
    result = run.run(unit("task", **brief), script)
    assert (result.status, result.reason) == outcome, result
    assert result.marker == (MARK in script)
    assert bench(run).checked == ([("fail",)] if brief.get("verify") == ("fail",) else [])
    assert ("exit-after-marker" in result.message) == (outcome[0] == "failed")
    if outcome[0] == "valid":
        assert result.violations == ()
    assert only(run).kept == (outcome[0] != "valid" and WRITE in script)


def test_a_stop_while_checks_run_is_no_verdict_on_them(run: Desk) -> None:
    def passes(command: str) -> bool:
        run.cancel.request("interrupted")
        return False

    bench(run).passes = passes
    result = run.run(unit(verify=("slow",)), WRITE + says(["src/a.py"]))
    assert (result.status, result.reason) == ("failed", "cancelled")
    assert only(run).kept


def test_the_stored_result_reads_back_whole(run: Desk) -> None:
    one = unit("task", verify=("fail",))
    bench(run).passes = lambda command: False
    result = run.run(one, WRITE + MARK + 'print(\'{"task_completed": true, "tests_passed": 3}\')')
    stored = run.store.result_of(one)
    assert stored == result
    assert isinstance(stored, Result)
    assert replace(stored, message="") != stored
    assert stored.answer is not None
    assert stored.answer.claim is not None
    assert stored.answer.claim.tests_passed == 3
    assert "contradicted" in stored.message
