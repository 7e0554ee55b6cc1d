"""Silence, endless heartbeats, answers whose program does not end, and the pace of starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from prun_review.model import Brief, Plan, Unit
from prun_review.plugin.progress import summary
from prun_review.process import reap
from prun_review.rulings import Examination
from tests.plugin.conftest import Project, payload

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
PROBE = '''
from prun_review import brief

@brief(reads=["src/*.py"], timeout={timeout})
def probe_app(result):
    """Audit the application."""
'''


def alive(run: str) -> list[str]:
    """The processes that carry the tag of a run."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                environment = (folder / "environ").read_bytes()
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if f"{reap.TAG}={run}/".encode() in environment:
                found.append(f"{folder.name} {words!r}")
    return found


@WORKERS
def test_a_hang_is_ended_and_a_finished_answer_is_kept(project: Project, workers: tuple[str, ...]) -> None:
    names = ("mute", "beating", "staying", "leaving")
    tables = {"mute": "stall = 1.5", "beating": "stall = 6", "staying": "grace = 1", "leaving": "grace = 60"}
    project.config("stall = 60", names, tables)
    project.probe(PROBE.format(timeout=9))
    project.answers(
        {"of": "mute", "instead": "silence"},
        {"of": "beating", "instead": "heartbeat"},
        {"of": "staying", "payload": payload(), "after": "stay"},
        {"of": "leaving", "payload": payload(), "after": "grandchild"},
    )
    result = project.run("panels/", *workers)
    assert result.ret == 1
    report = project.report()
    assert alive(report["run_id"]) == []
    assert report["verdict"]["outcome"] == "INCOMPLETE"
    ended = {u["executor"]: (u["status"], u["reason"], u["attempts"]) for u in report["units"]}
    assert ended == {
        "mute": ("failed", "stalled", 1),
        "beating": ("failed", "timeout", 1),
        "staying": ("valid", "ok", 1),
        "leaving": ("valid", "ok", 1),
    }
    result.stdout.fnmatch_lines(
        [
            "[[]prun *] mute stalled after 0m0*s of silence: panels/probe_app.py::probe_app[[]mute]"
            " -- most likely capacity: fewer at once, then --prun-resume"
        ]
    )
    slugs = {u["slug"]: u["executor"] for u in report["units"]}
    ends = {
        slugs[e["slug"]]: (e["code"], e["ended_by"], "the answer was complete" in e.get("note", ""))
        for e in project.ledger()
        if e["event"] == "attempt-finished"
    }
    assert [ends[name][1:] for name in names] == [
        *(("stall", False), ("timeout", False), ("", True), ("", False))
    ]
    assert (ends["staying"][0], ends["leaving"][0]) == (0, 0)


def test_a_kept_answer_is_kept_in_a_replay_too(project: Project) -> None:
    project.config("stall = 60", ("left", "right"), {"left": "grace = 0.5"})
    project.probe(PROBE.format(timeout=60))
    project.answers({"of": "left", "payload": payload(), "after": "stay"}, {"payload": payload()})
    assert project.run("panels/").ret == 0
    run = project.report()["run_id"]
    assert project.run("panels/", "--prun-replay", run).ret == 0
    assert sorted(project.calls()) == ["left", "right"]


@WORKERS
def test_the_first_start_of_a_vendor_stands_alone(project: Project, workers: tuple[str, ...]) -> None:
    claude = project.stand_in("claude", {"scenario": "ok", "seconds": 1.0, "payload": payload()})
    project.write(
        "pyproject.toml",
        "[tool.prun_review]\nexecutors = ['sonnet']\n[tool.prun_review.gate]\nrule = 'single'\n"
        f"[tool.prun_review.executor.sonnet]\npath = '{claude}'\nstagger = 0.3\n",
    )
    project.probe(
        '''
import pytest

@pytest.mark.parametrize("n", [1, 2, 3])
def probe_app(result, n):
    """Audit the application, part {n}."""
'''
    )
    result = project.run("panels/", *workers)
    assert result.ret == 0, result.stdout.str()
    first, second, third = [e["at"] for e in project.ledger() if e["event"] == "attempt-started"]
    assert second - first >= 0.95  # it writes its first byte after a second
    assert third - second >= 0.25


class Standing:
    """A review in the middle of its run."""

    plan = Plan(tuple(Unit(str(n), str(n), "c", "panels", "codex", Brief("?")) for n in range(64)))
    results: Mapping[str, Any] = dict.fromkeys(map(str, range(37)))
    examination = Examination()

    def __init__(self, flights: list[tuple[Unit, float, float]], pausing: int = 0) -> None:
        self.in_flight = lambda: flights
        self.pausing = lambda: pausing


@pytest.mark.parametrize(
    ("flights", "pausing", "lost", "line"),
    [
        ([], 0, 0, "37/64 done, 0 running"),
        ([(372.0, 5.0)], 0, 0, "37/64 done, 1 running (oldest codex 6m12s 40)"),
        (
            [(372.0, 29.0), (300.0, 250.0)],
            3,
            2,
            "37/64 done, 2 running (oldest codex 6m12s 40; longest silence codex 4m10s 41),"
            " 3 to be tried again, 2 without a valid answer",
        ),
    ],
)
def test_a_stalled_unit_is_told_from_a_slow_one(
    flights: list[tuple[float, float]], pausing: int, lost: int, line: str
) -> None:
    units = Standing.plan.units[40:]
    standing = Standing([(unit, *pair) for unit, pair in zip(units, flights, strict=False)], pausing)
    assert summary(standing, lost) == line  # type: ignore[arg-type]
