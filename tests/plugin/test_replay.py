"""A stored run judged again: same verdict, nothing dispatched; what changed is stale."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import ONE, SOURCE, Project, finding, payload


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
def test_a_replay_gives_the_same_verdict_without_a_dispatch(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.probe(ONE)
    project.answers({"payload": payload(finding())})
    assert project.run("panels/").ret == 1
    first = project.report()
    result = project.run("panels/", "--prun-replay", first["run_id"], *workers)
    assert result.ret == 1
    again = project.report()
    assert sorted(project.calls()) == ["left", "right"]
    assert again["verdict"]["outcome"] == first["verdict"]["outcome"] == "FAIL"
    assert again["findings"] == first["findings"]
    assert again["facts"]["replay_of"] == first["run_id"]
    assert result.stdout.str().count("replay") >= 1


def test_stored_answers_may_name_files_below_their_own_snapshot(project: Project) -> None:
    project.probe(ONE)
    told = payload(finding(file="<cwd>/src/app.py"), examined=["<cwd>/src/app.py"])
    project.answers({"payload": told})
    assert project.run("panels/").ret == 1
    first = project.report()
    assert first["findings"][0]["file"] == "src/app.py"
    project.run("panels/", "--prun-replay", first["run_id"])
    assert project.report()["findings"] == first["findings"]


def test_units_that_were_not_run_are_still_not_run(project: Project) -> None:
    project.probe(ONE)
    project.run("panels/", "--prun-dispatch", "off")
    first = project.report()
    assert {(u["status"], u["reason"]) for u in first["units"]} == {("not-run", "dispatch-off")}
    project.run("panels/", "--prun-replay", first["run_id"])
    again = project.report()
    for key in ("status", "reason", "message"):
        assert [u[key] for u in again["units"]] == [u[key] for u in first["units"]]
    assert project.calls() == []


def test_changed_content_or_question_makes_stored_answers_stale(project: Project) -> None:
    project.probe(ONE)
    project.answers({"payload": payload()})
    assert project.run("panels/").ret == 0
    run = project.report()["run_id"]
    project.write("src/app.py", SOURCE + "\n# one more line\n")
    result = project.run("panels/", "--prun-replay", run)
    assert result.ret == 1
    assert {u["reason"] for u in project.report()["units"]} == {"stale"}
    project.write("src/app.py", SOURCE)
    project.probe(ONE.replace("Audit the", "Look at the"))
    assert project.run("panels/", "--prun-replay", run).ret == 1
    project.probe(ONE)
    assert project.run("panels/", "--prun-replay", run).ret == 0
    assert sorted(project.calls()) == ["left", "right"]


def test_an_altered_result_is_not_replayed(project: Project) -> None:
    project.probe(ONE)
    project.answers({"payload": payload(finding())})
    assert project.run("panels/").ret == 1
    run = project.report()["run_id"]
    for file in (project.path / ".prun/runs" / run / "units").glob("*/result.json"):
        file.write_text(file.read_text().replace('"high"', '"low"'))
    said = project.run("panels/", "--prun-replay", run).stdout.str()
    assert said.count(f"] run {run} has no result that its ledger vouches for of 2 units") == 1
    assert {u["reason"] for u in project.report()["units"]} == {"not-stored"}


@pytest.mark.parametrize(("asked", "again"), [("2", "1"), ("1", "2")])
def test_a_run_that_asked_more_or_less_often_says_so(project: Project, asked: str, again: str) -> None:
    project.probe(ONE)
    project.answers({"payload": payload()})
    assert project.run("panels/", "--prun-repeat", asked).ret == 0
    run = project.report()["run_id"]
    result = project.run("panels/", "--prun-replay", run, "--prun-repeat", again)
    assert result.ret == 1
    times = {"1": "1 time", "2": "2 times"}[asked]
    why = f"run {run} asked each question {times}: add --prun-repeat {asked}"
    assert f"] {why}" in result.stdout.str()
    assert "vouches" not in result.stdout.str()
    told = project.report()
    assert told["verdict"]["outcome"] == "INCOMPLETE"
    assert {(u["reason"], u["message"]) for u in told["units"]} == {("not-stored", why)}
    assert project.run("panels/", "--prun-replay", run, "--prun-repeat", asked).ret == 0


def test_a_run_that_asked_some_questions_more_often_says_so(project: Project) -> None:
    twice = ONE.replace("@brief(", "@brief(repeat=2, ")
    thrice = twice.replace("repeat=2", "repeat=3").replace("probe_app", "probe_more")
    project.probe(f"{twice}\n{thrice}")
    project.answers({"payload": payload()})
    assert project.run("panels/").ret == 0
    run = project.report()["run_id"]
    result = project.run("panels/", "--prun-replay", run, "--prun-repeat", "1")
    assert result.ret == 1
    assert f"] run {run} asked its questions 2 to 3 times each" in result.stdout.str()


def test_an_unknown_run_is_a_usage_error(project: Project) -> None:
    project.probe(ONE)
    result = project.run("panels/", "--prun-replay", "20200101T000000Z-abcd")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "20200101T000000Z-abcd" in result.stderr.str()
