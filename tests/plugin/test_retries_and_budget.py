"""What is tried again, what is not, what stops further starts, and how a run is taken up again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from prun_review.words import number
from tests.plugin.conftest import ONE, Project, payload

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
FOUR = '''
import pytest
from prun_review import brief

@brief(reads=["src/*.py"])
@pytest.mark.parametrize("part", ["a", "b", "c", "d"])
def probe_app(result, part):
    """Audit part {part} of the application."""
'''
BUSY = {"raw": "API Error: 529 Overloaded", "exit": 1}
QUOTA = {"raw": "You've hit your usage limit. Try again later.", "exit": 1}


def units(project: Project, executor: str) -> list[dict[str, Any]]:
    return [u for u in project.report()["units"] if u["executor"] == executor]


def events(project: Project, name: str) -> list[dict[str, Any]]:
    return [e for e in project.ledger() if e["event"] == name]


@WORKERS
def test_a_failure_that_passes_on_retry_costs_nothing_but_time(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.probe(ONE)
    project.answers({"of": "right", "first": 2, **BUSY}, {"payload": payload()})
    result = project.run("panels/", *workers)
    assert result.ret == 0, result.stdout.str()
    [unit] = units(project, "right")
    assert (unit["status"], unit["attempts"]) == ("valid", 3)
    assert project.calls().count("right") == 3
    assert [(e["attempt"], e["reason"]) for e in events(project, "retry")] == [
        (1, "over-capacity"),
        (2, "over-capacity"),
    ]
    mine = [e for e in events(project, "attempt-finished") if e["slug"] == unit["slug"]]
    assert [(e["attempt"], e["status"], "retry_in" in e) for e in mine] == [
        (1, "failed", True),
        (2, "failed", True),
        (3, "valid", False),
    ]
    stored = project.path.glob(f".prun/runs/*/units/{unit['slug']}/result.json")
    assert '"over-capacity"' in next(stored).read_text()
    [jobs] = events(project, "jobs")
    assert (jobs["jobs"] >= 1, jobs["limits"]) == (True, {})


@pytest.mark.parametrize(
    ("rule", "retries", "calls", "reason"),
    [
        (BUSY, "0", 1, "over-capacity"),
        (BUSY, "1", 2, "over-capacity"),
        ({"raw": "this cannot pass", "exit": 3}, "2", 1, "unknown"),
        ({"raw": "rate limit reached. Please try again in 40 minutes.", "exit": 1}, "2", 1, "rate-limited"),
        ({"first": 1, "raw": "Not what was asked for."}, "1", 3, "over-capacity"),
    ],
    ids=["off", "one", "cannot pass", "too long a wait", "second question"],
)
def test_retries_have_an_end(
    project: Project, rule: dict[str, Any], retries: str, calls: int, reason: str
) -> None:
    project.probe(ONE)
    project.answers({"of": "left", "payload": payload()}, {"of": "right", **rule}, {"of": "right", **BUSY})
    result = project.run("panels/", "--prun-retries", retries)
    assert result.ret == 1
    assert project.calls().count("right") == calls
    [unit] = units(project, "right")
    assert unit["attempts"] == calls
    if "first" in rule:  # an answer that broke its contract is still more than no answer
        assert (unit["status"], unit["reason"]) == ("broken", "contract")
        assert [e["reason"] for e in events(project, "retry")] == ["over-capacity"]
    else:
        assert (unit["status"], unit["reason"]) == ("failed", reason)
    assert ("try again in 40 min" in unit["message"]) is (reason == "rate-limited")


@WORKERS
def test_a_spent_quota_stops_its_executor_and_no_other(project: Project, workers: tuple[str, ...]) -> None:
    project.config("", ("left", "right"), {"right": "limit = 1"})
    project.probe(FOUR)
    project.answers({"of": "right", **QUOTA}, {"payload": payload()})
    result = project.run("panels/", *workers)
    assert result.ret == 1
    assert (project.calls().count("left"), project.calls().count("right")) == (4, 1)
    assert {u["status"] for u in units(project, "left")} == {"valid"}
    ends = sorted((u["status"], u["reason"]) for u in units(project, "right"))
    assert ends == [("failed", "quota-exhausted")] + [("not-run", "quota-exhausted")] * 3
    message = next(u["message"] for u in units(project, "right") if u["status"] == "not-run")
    assert message.startswith("not run: right quota exhausted (")
    result.stdout.fnmatch_lines(["[[]prun *] right quota exhausted: 3 further units of it not run -- *"])
    [breaker] = events(project, "breaker")
    assert (breaker["executor"], breaker["reason"]) == ("right", "quota-exhausted")
    assert project.report()["verdict"]["outcome"] == "INCOMPLETE"


@WORKERS
@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ("0.002usd", "budget $0.002; codex reports no cost; $0.00?? reported by sonnet"),
        ("400tok", "budget 400 tokens; * tokens reported by codex; * tokens reported by sonnet"),
    ],
)
def test_a_reached_budget_starts_nothing_new(
    project: Project, workers: tuple[str, ...], budget: str, told: str
) -> None:
    answer = {"scenario": "ok", "payload": payload(), "text": None}
    programs = {"codex": project.stand_in("codex", answer), "sonnet": project.stand_in("claude", answer)}
    lines = ["[tool.prun_review]", "executors = ['codex', 'sonnet']", "jobs = 1"]
    for name, path in programs.items():
        lines += [f"[tool.prun_review.executor.{name}]", f"path = '{path}'", "stagger = 0"]
    project.write("pyproject.toml", "\n".join(lines))
    project.probe(FOUR)
    result = project.run("panels/", f"--prun-budget={budget}", *workers)
    assert result.ret == 1
    report = project.report()
    ran = [u for u in report["units"] if u["status"] != "not-run"]
    left = [u for u in report["units"] if u["status"] == "not-run"]
    assert {u["status"] for u in ran} == {"valid"}
    assert {u["reason"] for u in left} == {"budget"}
    assert left
    assert (report["verdict"]["outcome"], len(events(project, "budget"))) == ("INCOMPLETE", 1)
    assert Path(report["facts"]["budget"]).match(told)
    result.stdout.fnmatch_lines([f"[[]prun *] budget reached, *: {number(len(left), 'unit')} not run -- *"])


@WORKERS
def test_a_resumed_run_asks_only_what_is_open(project: Project, workers: tuple[str, ...]) -> None:
    project.probe(FOUR)
    project.answers({"of": "right", "when": "part c", "raw": "broken", "exit": 3}, {"payload": payload()})
    assert project.run("panels/", *workers).ret == 1
    first = project.report()["run_id"]
    project.answers({"payload": payload()})
    result = project.run("--prun-resume", "panels/", *workers)
    assert result.ret == 0, result.stdout.str()
    result.assert_outcomes(passed=8)
    assert (project.calls().count("left"), project.calls().count("right")) == (4, 5)
    assert project.report()["facts"]["resumed_from"] == [first]
    result.stdout.fnmatch_lines([f"[[]prun *] resumed from {first}: 7 of 8 units taken over"])
    result.stdout.fnmatch_lines(["[[]prun *] 1 unit of 1 case: 1 to right*"])
    again = project.run("panels/", "--prun-resume-from", project.report()["run_id"], *workers)
    assert again.ret == 0
    assert len(project.calls()) == 9
    again.stdout.fnmatch_lines(["*: 8 of 8 units taken over"])


def test_resume_is_refused_where_it_makes_no_sense(project: Project) -> None:
    project.probe(ONE)
    project.answers({"payload": payload()})
    result = project.run("panels/", "--prun-resume", "--prun-replay", "latest")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "exclude each other" in result.stderr.str()
    result = project.run("panels/", "--prun-resume-from", "20200101T000000Z-abcd")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "20200101T000000Z-abcd" in result.stderr.str()
    result = project.run("panels/", "--prun-budget", "five")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "5usd" in result.stderr.str()
    assert project.calls() == []


@WORKERS
def test_an_answer_about_changed_files_is_not_kept(project: Project, workers: tuple[str, ...]) -> None:
    project.probe(ONE)
    project.answers({"of": "right", "spoil": "src/app.py", "payload": payload()}, {"payload": payload()})
    result = project.run("panels/", *workers)
    assert result.ret == 1
    [unit] = units(project, "right")
    assert (unit["status"], unit["reason"]) == ("failed", "snapshot-changed")
    assert "src/app.py" in unit["message"]
    project.answers({"payload": payload()})
    assert project.run("panels/", "--prun-resume", *workers).ret == 0
    assert project.calls().count("right") == 2


@WORKERS
def test_a_run_directory_that_vanishes_ends_the_run_and_nobody_waits(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.probe(FOUR)
    gone = str(project.path / ".prun" / "runs")
    project.answers(
        {"of": "left", "when": "part a", "remove": gone, "payload": payload()}, {"payload": payload()}
    )
    result = project.run("panels/", "--prun-jobs", "1", *workers)
    assert result.ret == 1
    assert "vanished" in result.stdout.str()
    assert len(project.calls()) <= 2
