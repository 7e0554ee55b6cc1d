"""``--prun-repeat``: every executor is asked so often, with and without workers."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import ONE, Project, finding, payload

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["local", "workers"])
TWICE = ONE.replace("@brief(", "@brief(repeat=2, ")


@WORKERS
def test_each_executor_is_asked_so_often(project: Project, workers: tuple[str, ...]) -> None:
    project.probe(ONE)
    project.answers(
        {"of": "left", "first": 1, "payload": payload(finding())},
        {"of": "right", "payload": payload(finding())},
        {"payload": payload()},
    )
    result = project.run("panels/", "--prun-repeat", "3", "-v", *workers)
    assert sorted(project.calls()) == ["left"] * 3 + ["right"] * 3
    wanted = [f"*probe_app[[]{name}~{n}]*" for name in ("left", "right") for n in (1, 2, 3)]
    result.stdout.fnmatch_lines_random(wanted)
    report = project.report()
    assert [case["case"] for case in report["cases"]] == ["panels/probe_app.py::probe_app"]
    left, right = report["agreement"]["within"]
    assert (left["executor"], left["pairs"], left["answers"], left["asked"]) == ("left", 3, 3, 3)
    assert left["came"] == [{"times": 1, "of": 3, "findings": 1}]
    assert (left["both"], left["only_left"] + left["only_right"]) == (0, 2)
    assert right["came"] == [{"times": 3, "of": 3, "findings": 1}]
    assert (right["both"], right["only_left"] + right["only_right"]) == (3, 0)
    (beside,) = left["beside"]
    assert (beside["executor"], beside["independent"], beside["both"]) == ("right", True, 3)
    assert (beside["pairs"], beside["only_right"]) == (9, 6)


def test_the_command_line_overrides_the_probe_and_the_file(project: Project) -> None:
    project.config("repeat = 4", executors=("left",))
    project.probe(TWICE)
    project.answers({"payload": payload()})
    listed = project.run("panels/", "--collect-only", "-q")
    listed.stdout.fnmatch_lines(["*probe_app[[]left~4]*"])
    result = project.run("panels/", "--prun-repeat", "1", "-v")
    result.stdout.fnmatch_lines(["*probe_app[[]left]*"])
    assert project.calls() == ["left"]


def test_without_it_the_probe_decides(project: Project) -> None:
    project.config("repeat = 0", executors=("left",))
    project.probe(TWICE)
    listed = project.run("panels/", "--collect-only", "-q")
    listed.stdout.fnmatch_lines(["*probe_app[[]left~1]*", "*probe_app[[]left~2]*"])
    assert "left~3" not in listed.stdout.str()


@pytest.mark.parametrize(("given", "says"), [("101", "repeat is 101"), ("-1", "repeat is -1")])
def test_a_senseless_number_asks_nobody(project: Project, given: str, says: str) -> None:
    project.probe(ONE)
    project.answers({"payload": payload()})
    result = project.run("panels/", "--prun-repeat", given)
    assert result.ret == 4
    assert says in result.stderr.str()
    assert project.calls() == []
