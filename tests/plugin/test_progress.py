"""What a person sees while units are in flight."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import ONE, Project, payload


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_a_heartbeat_says_what_is_done_and_what_runs(project: Project, workers: tuple[str, ...]) -> None:
    project.probe(ONE)
    project.answers({"of": "left", "payload": payload()}, {"of": "right", "sleep": 3, "payload": payload()})
    result = project.run("panels/", "--prun-heartbeat", "1", *workers)
    result.stdout.fnmatch_lines(["*2 units of 1 case: 1 to left*about src/app.py*"])
    result.stdout.fnmatch_lines(
        ["[[]prun *] 1/2 done, 1 running (oldest right 0m0*panels/probe_app.py::probe_app*"]
    )


def test_a_loss_is_told_at_once_and_inert(project: Project) -> None:
    project.probe(ONE)
    project.answers(
        {"of": "left", "payload": payload()}, {"of": "right", "raw": "\x1b[2J::error::x", "exit": 1}
    )
    result = project.run("panels/")
    result.stdout.fnmatch_lines(["[[]prun *] right failed: *"])
    assert "\x1b" not in result.stdout.str()


def test_quiet_says_nothing_in_between(project: Project) -> None:
    project.probe(ONE)
    project.answers({"payload": payload(), "sleep": 2})
    result = project.run("panels/", "-q", "--prun-heartbeat", "0.5")
    assert "running" not in result.stdout.str()
    assert "units of" in result.stdout.str()  # what is sent to whom is told all the same
