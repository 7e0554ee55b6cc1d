"""However a second wave ends: nothing of it stays, nothing of the first is lost, and it can be taken up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prun_review import crossexam
from prun_review.model import Brief
from prun_review.planning import Proposal
from prun_review.review import Review
from prun_review.secondwave import LATE
from prun_review.settings import read_settings
from prun_review.standing import Status
from prun_review.status import RunStatus
from tests.plugin.conftest import ASKED, EXAMINES, ONE, Project, finding, opinion, payload, same_opinion
from tests.plugin.test_second_wave import (
    BOTH,
    CLEAN,
    FOUND,
    OTHER_WORDS,
    WORKERS,
    examining,
    gate,
    group,
    same_verdict,
    stored,
)
from tests.process.trees import PATIENCE, until

LOOP = finding(
    title="Prices: the first one is skipped",
    detail="The loop starts at index one, so the sum lacks an item.",
    line=10,
    end_line=10,
    category="correctness",
    quote="for price in prices[1:]:",
)
LOOPED = opinion("confirm", line=10, quote="for price in prices[1:]:")
REFUTED = opinion("refute", line=4, quote="def run(command):")


def two_questions(project: Project, *rules: dict[str, Any]) -> None:
    """Two findings that ``left`` holds alone, and how ``right`` answers about them."""
    examining(project)
    answer(project, *rules)


def answer(project: Project, *rules: dict[str, Any]) -> None:
    """``right`` refutes the first and confirms the second; about that one ``rules`` come before."""
    project.answers(
        *({"when": "Prices: the first", **rule} for rule in rules),
        {"when": "Prices: the first", "payload": LOOPED},
        {"when": ASKED, "payload": REFUTED},
        {**FOUND, "payload": payload(finding(), LOOP)},
        CLEAN,
    )


class Session:
    """pytest with a second wave of which one examiner hangs."""

    def __init__(self, project: Project, *args: str) -> None:
        self.project = project
        two_questions(project, {"instead": "heartbeat"})
        self.output = project.path.parent / f"{project.path.name}.out"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "pytest",
                    "-p",
                    "no:cacheprovider",
                    "panels/",
                    "--prun-heartbeat=1",
                    *args,
                ],
                cwd=project.path,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        until(lambda: self.waits() or self.process.poll() is not None, 3 * PATIENCE)
        assert self.process.returncode is None, self.output.read_text()

    def waits(self) -> bool:
        """One question is answered, about the other one somebody thinks, and that is told."""
        told = "] cross-examination: 1 of 2 answered, 1 running (oldest right "
        return self.project.calls().count("right") == 3 and told in self.output.read_text()

    def status(self) -> Status:
        """The run as a second terminal sees it."""
        [run] = self.project.path.glob(".prun/runs/*")
        return RunStatus(run, self.project.path).look()

    def end(self, number: int) -> int:
        """Signal pytest; its exit status once nothing of it is left."""
        self.process.send_signal(number)
        status = self.process.wait(120)
        until(lambda: not self.left(), 3 * PATIENCE)
        return status

    def left(self) -> list[str]:
        """Reviewers of this project that still run."""
        mark = os.fsencode(self.project.scenario)
        found = []
        for process in Path("/proc").iterdir():
            try:
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if mark in command:
                found.append(f"{process.name} {command!r}")
        return found


@WORKERS
def test_ctrl_c_leaves_nothing_and_a_result_for_every_unit(
    project: Project, workers: tuple[str, ...]
) -> None:
    session = Session(project, *workers)
    status = session.status()
    assert (status.total.done, status.questions, status.examined.done, status.examined.running) == (
        2,
        2,
        1,
        1,
    )
    assert session.end(signal.SIGINT) == pytest.ExitCode.INTERRUPTED
    report = same_verdict(project)
    assert (report["status"], report["verdict"]["outcome"]) == ("interrupted", "INCOMPLETE")
    assert "stopped" in {r["code"] for r in report["verdict"]["reasons"]}
    assert {u["status"] for u in report["units"]} == {"valid"}, "the first wave is kept"
    ends = sorted((r["status"], r["reason"]) for r in stored(project))
    assert ends == [("failed", "cancelled"), ("valid", "ok")]
    taken_up(project, workers)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_is_cut_off_can_be_taken_up(project: Project, number: int) -> None:
    session = Session(project)
    assert session.end(number) != 0
    told = gate(project)
    assert (told["outcome"], "unfinished" in {r["code"] for r in told["reasons"]}) == ("INCOMPLETE", True)
    taken_up(project, ())


def taken_up(project: Project, workers: tuple[str, ...]) -> None:
    """Nothing is asked but the question that was open."""
    [run] = (path.name for path in (project.path / ".prun/runs").iterdir())
    before = len(project.calls())
    answer(project)
    result = project.run("panels/", "--prun-resume", *workers)
    said = result.stdout.str()
    assert project.calls()[before:] == ["right"], said
    assert f"resumed from {run}: 2 of 2 units taken over" in said
    assert f"cross-examination: resumed from {run}: 1 of 2 units taken over" in said
    assert "cross-examination: 1 unit of 1 question: 1 to right" in said
    report = same_verdict(project)
    assert report["facts"]["resumed_from"] == [run]
    found = {f["line"]: (f["class"], f["examined"]) for f in report["findings"]}
    assert found == {5: ("contested", "refuted"), 10: ("consensus", "confirmed")}
    assert report["verdict"]["outcome"] == "FAIL"


@WORKERS
def test_an_examiner_that_runs_out_of_time_is_asked_again_on_resume(
    project: Project, workers: tuple[str, ...]
) -> None:
    two_questions(project, {"instead": "heartbeat"})
    assert project.run("panels/", "--prun-timeout", "4", *workers).ret == 1
    classes = {f["line"]: (f["class"], f["examined"]) for f in project.report()["findings"]}
    assert classes == {5: ("contested", "refuted"), 10: ("single", "unresolved")}
    assert "timeout" in {r["reason"] for r in stored(project)}
    taken_up(project, workers)


@WORKERS
def test_a_replay_judges_the_stored_answers_again(project: Project, workers: tuple[str, ...]) -> None:
    two_questions(project)
    assert project.run("panels/").ret == 1
    first = project.report()
    calls = project.calls()
    result = project.run("panels/", "--prun-replay", first["run_id"], *workers)
    assert result.ret == 1
    again = same_verdict(project)
    assert project.calls() == calls
    assert again["findings"] == first["findings"]
    assert again["examination"]["questions"] == first["examination"]["questions"]
    assert "cross-examination: " not in result.stdout.str()


def test_what_a_replay_cannot_answer_is_open_and_said(project: Project) -> None:
    examining(project, {"payload": opinion("refute")})
    project.run("panels/", "--prun-cross-examine", "off")
    run = project.report()["run_id"]
    result = project.run("panels/", "--prun-replay", run)
    assert result.ret == 1
    told = f"cross-examination: run {run} has no result that its ledger vouches for of 1 unit"
    assert told in result.stdout.str()
    assert (group(project)["class"], group(project)["examined"]) == ("single", "unresolved")
    assert [r["reason"] for r in stored(project)] == ["not-stored"]
    assert project.calls().count("right") == 1


def test_an_answer_about_another_tree_is_stale(project: Project) -> None:
    examining(project, {"payload": opinion("refute")})
    project.write("src/other.py", "x = 1\n")
    project.probe(ONE.replace('reads=["src/*.py"]', 'reads=["src/app.py"]'))
    assert project.run("panels/").ret == 0
    run, calls = project.report()["run_id"], len(project.calls())
    project.write("src/other.py", "x = 2\n")
    project.commit()
    assert project.run("panels/", "--prun-resume").ret == 0
    assert project.calls()[calls:] == ["right"], "the panels read one file, an examiner may read all"
    assert project.run("panels/", "--prun-replay", run).ret == 1
    assert [r["reason"] for r in stored(project)] == ["stale"]


def test_a_reached_budget_leaves_questions_open(project: Project) -> None:
    asked = {"match": ASKED, "scenario": "ok", "payload": opinion("confirm")}
    clean = {"scenario": "ok", "payload": payload()}
    programs = {
        "codex": project.stand_in("codex", asked, {**clean, "payload": payload(finding())}),
        "sonnet": project.stand_in("claude", asked, clean),
    }
    lines = ["[tool.prun_review]", "executors = ['codex', 'sonnet']", "jobs = 1"]
    for name, path in programs.items():
        lines += [f"[tool.prun_review.executor.{name}]", f"path = '{path}'", "stagger = 0"]
    project.write("pyproject.toml", "\n".join(lines))
    project.probe(ONE)
    result = project.run("panels/", "--prun-budget=200tok")
    assert result.ret == 1
    report = same_verdict(project)
    assert {u["status"] for u in report["units"]} == {"valid"}, result.stdout.str()
    assert [(r["executor"], r["status"], r["reason"]) for r in stored(project)] == [
        ("sonnet", "not-run", "budget")
    ]
    assert "cross-examination: 1 unit of sonnet not asked: budget reached, " in result.stdout.str()
    assert report["verdict"]["outcome"] == "INCOMPLETE"
    result = project.run("panels/", "--prun-resume")
    assert (result.ret, group(project)["examined"]) == (1, "confirmed"), result.stdout.str()
    assert report["facts"]["budget"] != ""


def test_what_goes_to_whom_is_on_record(project: Project) -> None:
    examining(project, {"payload": opinion("confirm")})
    project.run("panels/")
    run = project.path / ".prun/runs" / project.report()["run_id"]
    sent = {e["executor"]: e for e in json.loads((run / "egress.json").read_text())["executors"]}
    assert {name: (e["units"], e["attempts"]) for name, e in sent.items()} == {
        "left": (1, 1),
        "right": (2, 2),
    }
    events = [e["event"] for e in project.ledger()]
    assert events.count("egress") == 3, "before either wave, and at the end"
    began = [i for i, e in enumerate(project.ledger()) if e["event"] == "attempt-started"]
    assert events.index("examination") < began[2]
    assert events.index("egress", events.index("examination")) < began[2]


def test_plan_prices_it(project: Project) -> None:
    examining(project, extra="examine_limit = 7")

    def plan(*args: str) -> str:
        argv = [sys.executable, "-m", "prun_review", "plan", *args]
        done = subprocess.run(argv, cwd=project.path, capture_output=True, text=True, check=True)
        return done.stdout

    told = plan()
    assert (
        "cross-examination (gate): at most 7 questions more; --prun-cross-examine off leaves it out\n"
        "left: at most 7 questions, cost not estimable: no earlier run was billed in money\n"
        "right: at most 7 questions, cost not estimable: no earlier run was billed in money\n"
    ) in told
    project.config("examine_limit = 7", tables={"left": EXAMINES})
    assert "\nleft: at most 7 questions" in plan()
    assert "\nright: at most 7 questions" not in plan()
    for off in ("examine_limit = 0", 'cross_examine = "off"'):
        project.config(off, tables=BOTH)
        assert "cross-examination" not in plan()
    project.config("", ("left",), tables=BOTH)
    assert "cross-examination" not in plan(), "nobody is independent of anybody"


def started(project: Project) -> Review:
    """A review of one case by both, begun in this process."""
    root, config = read_settings(project.path, {})
    review = Review(root, config, dict(os.environ))
    brief = Brief("Audit the application.", reads=("src/*.py",))
    names = ("left", "right")
    try:
        review.start(
            [Proposal(f"p::a[{name}]", "p::a", "panels", name, brief=brief) for name in names],
            workers=0,
            partial="",
            say=lambda text: None,
        )
    except BaseException:
        review.close()
        raise
    return review


def test_what_comes_up_after_the_last_round_is_left_out(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two rounds are needed here; where there is one, what the second would ask is said."""
    examining(project)
    project.answers(
        {"when": ASKED, "payload": same_opinion("no")},
        FOUND,
        {**CLEAN, "payload": payload(OTHER_WORDS)},
    )
    monkeypatch.setattr(crossexam, "ROUNDS", 1)
    review = started(project)
    said: list[str] = []
    try:
        while review.owed:
            review.next(1)
        review.examine(said.append, said.append)
        outcome = review.finish(stopped="", reported=None, items_failed=0)
    finally:
        review.close()
    assert project.calls().count("left") == 2
    assert said[-1] == f"cross-examination: 2 questions left out: {LATE}"
    assert len(outcome.document["examination"]["left_out"]) == 2
    assert outcome.verdict.outcome == gate(project)["outcome"] == "INCOMPLETE"


def test_a_result_that_ctrl_c_caught_on_its_way_is_as_it_was_stored(project: Project) -> None:
    """Else the verdict that was told and the one that ``gate`` derives would be two."""
    two_questions(project)
    review = started(project)
    try:
        until(lambda: len(list(project.path.glob(".prun/runs/*/units/*/result.json"))) == 2)
        assert review._pool
        assert review._pool.next(10)  # taken out, and lost
        review.stop("interrupted", "interrupted")
        assert [r.status for r in review.results.values()] == ["valid", "valid"]
        outcome = review.finish(stopped="interrupted", reported=None, items_failed=0)
    finally:
        review.close()
    assert gate(project)["outcome"] == outcome.verdict.outcome == "INCOMPLETE"
