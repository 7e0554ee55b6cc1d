"""Whole runs with two stand-in vendors: verdict, exit status, reports, with and without ``-n``."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from prun_review import document
from tests.plugin.conftest import ONE, Project, finding, payload

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
OTHER_WORDS = finding(
    title="os.system is called with a command built by string concatenation of user input",
    detail="User input concatenated into os.system allows command injection through the shell.",
    line=5,
)


def codes(project: Project, outcome: str = "INCOMPLETE") -> list[str]:
    """Reason codes of the latest run that lead to ``outcome``."""
    return [r["code"] for r in project.report()["verdict"]["reasons"] if r["outcome"] == outcome]


@WORKERS
def test_both_approve(project: Project, workers: tuple[str, ...]) -> None:
    project.probe(ONE)
    project.answers({"payload": payload()})
    result = project.run("panels/", *workers)
    assert result.ret == 0
    result.assert_outcomes(passed=2)
    assert project.report()["verdict"]["outcome"] == "PASS"
    result.stdout.fnmatch_lines(["VERDICT: PASS*"])
    assert (project.path / "reports/latest/report.md").is_file()


@WORKERS
def test_both_find_the_same_severe_defect_in_other_words(project: Project, workers: tuple[str, ...]) -> None:
    project.probe(ONE)
    project.answers(
        {"of": "left", "payload": payload(finding())}, {"of": "right", "payload": payload(OTHER_WORDS)}
    )
    result = project.run("panels/", *workers)
    assert result.ret == 1
    result.assert_outcomes(passed=2, failed=1)  # the items keep their contract; the gate fails
    report = project.report()
    assert report["verdict"]["outcome"] == "FAIL"
    assert [f["class"] for f in report["findings"]] == ["consensus"]
    assert report["pairs"][0]["outcome"] == "match"
    result.stdout.fnmatch_lines(["*FAILED prun_review::gate*"])


@WORKERS
def test_one_vendor_alone_is_open_and_is_counted_where_that_is_tolerated(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.probe(ONE)
    project.answers({"of": "left", "payload": payload(finding())}, {"of": "right", "payload": payload()})
    assert project.run("panels/", *workers).ret == 1
    assert codes(project) == ["unresolved"], "it has no second executor that examines"
    project.config("[tool.prun_review.gate]\nunresolved = 1")
    result = project.run("panels/", *workers)
    assert result.ret == 0
    assert "VERDICT: PASS (1 high " in result.stdout.str()


@WORKERS
@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ({"raw": ""}, "failed"),
        ({"raw": "I could not read the files."}, "broken"),
        ({"raw": json.dumps(payload())[:-9]}, "broken"),
        ({"raw": json.dumps(payload(finding(title="")))}, "broken"),
        ({"raw": "API Error: 500", "exit": 1}, "failed"),
        ({"payload": payload(), "exit": 3}, "failed"),
    ],
    ids=["empty", "unread", "cut", "lost finding", "error", "exit 3"],
)
def test_one_vendor_without_a_valid_answer_is_never_green(
    project: Project, rule: dict[str, Any], status: str, workers: tuple[str, ...]
) -> None:
    project.probe(ONE)
    project.answers({"of": "left", "payload": payload()}, {"of": "right", **rule})
    result = project.run("panels/", *workers)
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=2)
    report = project.report()
    assert report["verdict"]["outcome"] == "INCOMPLETE"
    [unit] = [u for u in report["units"] if u["executor"] == "right"]
    assert unit["status"] == status
    expected = 2 if status == "broken" else 1  # one re-ask for a broken contract
    expected = 3 if unit["reason"] == "over-capacity" else expected  # and two retries of what can pass
    assert project.calls().count("right") == expected
    assert unit["attempts"] == expected
    gate = subprocess.run(
        [sys.executable, "-m", "prun_review", "gate", "--json"],
        cwd=project.path,
        capture_output=True,
        text=True,
    )
    assert gate.returncode == 1
    assert json.loads(gate.stdout)["outcome"] == "INCOMPLETE"
    assert report["facts"]["items_failed"] == 0


@WORKERS
def test_every_violation_is_listed_although_the_probe_never_looks(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.probe("def probe_bare():\n    '''Audit.'''\n")
    bad = payload(finding(severity="awful"), verdict="maybe")
    del bad["files"], bad["conclusion"]
    project.answers({"of": "left", "payload": payload()}, {"of": "right", "payload": bad})
    result = project.run("panels/", *workers)
    output = result.stdout.str()
    for word in ("files", "conclusion", "verdict", "severity"):
        assert f"{word}" in output
    result.stdout.fnmatch_lines(["*right broke the contract*"])


@WORKERS
def test_a_reask_that_is_answered_well_counts(project: Project, workers: tuple[str, ...]) -> None:
    project.probe(ONE)
    project.answers(
        {"of": "left", "payload": payload()},
        {"of": "right", "when": "broke", "payload": payload()},
        {"of": "right", "when": "again", "payload": payload()},
        {"of": "right", "when": "complete answer", "payload": payload()},
        {"of": "right", "raw": "no json here"},
    )
    result = project.run("panels/", *workers)
    assert result.ret == 0
    [unit] = [u for u in project.report()["units"] if u["executor"] == "right"]
    assert (unit["status"], unit["attempts"]) == ("valid", 2)
    assert sorted(project.calls()) == ["left", "right", "right"]


@WORKERS
def test_an_ungrounded_severe_finding_is_shown_and_not_green(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.probe(ONE)
    invented = finding(quote="eval(request.args['q'])", line=900)
    project.answers({"of": "left", "payload": payload(invented)}, {"of": "right", "payload": payload()})
    result = project.run("panels/", *workers)
    assert result.ret == 1
    assert [f["class"] for f in project.report()["findings"]] == ["ungrounded"]
    assert "ungrounded" in " ".join(codes(project))


@WORKERS
def test_an_own_assertion_of_a_probe_fails_the_run_beside_the_verdict(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.probe(ONE + "    assert not result.findings\n")
    project.answers(
        {"of": "left", "payload": payload(finding(severity="low"))}, {"of": "right", "payload": payload()}
    )
    result = project.run("panels/", *workers)
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=1)
    assert project.report()["verdict"]["outcome"] == "PASS"


@WORKERS
def test_xfail_cannot_hide_a_broken_contract(project: Project, workers: tuple[str, ...]) -> None:
    project.probe("import pytest\n" + ONE.replace("@brief", "@pytest.mark.xfail\n@brief"))
    project.answers({"of": "left", "payload": payload()}, {"of": "right", "raw": "nothing"})
    result = project.run("panels/", *workers)
    assert result.ret == 1
    assert result.parseoutcomes()["failed"] == 2  # the item and the gate
    assert "xfailed" not in result.parseoutcomes()


@WORKERS
def test_skip_marks_are_decided_before_anything_is_spent(project: Project, workers: tuple[str, ...]) -> None:
    project.probe(
        "import pytest\n"
        + ONE
        + "\n@pytest.mark.skip(reason='not today')\ndef probe_no():\n    '''No.'''\n"
        + "\n@pytest.mark.skipif(True, reason='never')\ndef probe_never():\n    '''No.'''\n"
        + "\n@pytest.mark.xfail(run=False, reason='hangs')\ndef probe_hangs():\n    '''No.'''\n"
    )
    project.answers({"payload": payload()})
    result = project.run("panels/", *workers)
    assert sorted(project.calls()) == ["left", "right"]
    assert result.parseoutcomes()["passed"] == 2
    left_out = project.report()["not_asked"]
    assert {n["reason"] for n in left_out} == {"skipped"}
    assert len(left_out) == 6


@WORKERS
def test_all_skipped_is_not_green(project: Project, workers: tuple[str, ...]) -> None:
    project.probe("import pytest\npytestmark = pytest.mark.skip(reason='later')\n" + ONE)
    project.answers({"payload": payload()})
    result = project.run("panels/", *workers)
    assert result.ret == 1
    assert project.calls() == []
    assert "nothing-asked" in codes(project)


@WORKERS
def test_a_selection_that_matches_nothing_is_pytests_exit_5(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.probe(ONE)
    project.answers({"payload": payload()})
    result = project.run("panels/", "-k", "nothing_of_that_name", *workers)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert project.calls() == []


@WORKERS
def test_a_partial_run_says_so_and_the_gate_command_takes_it_as_incomplete(
    project: Project, workers: tuple[str, ...]
) -> None:
    project.probe(ONE + "\n\ndef probe_other():\n    '''Other.'''\n")
    project.answers({"payload": payload()})
    result = project.run("panels/", "-k", "not other", *workers)
    result.stdout.fnmatch_lines(["VERDICT: PASS (*partial*-k*)"])
    assert result.ret == 0
    gate = subprocess.run(
        [sys.executable, "-m", "prun_review", "gate", "--json"],
        cwd=project.path,
        capture_output=True,
        text=True,
    )
    assert gate.returncode == 1
    assert json.loads(gate.stdout)["outcome"] == "INCOMPLETE"


@WORKERS
def test_the_gate_command_agrees_with_the_session(project: Project, workers: tuple[str, ...]) -> None:
    project.probe(ONE)
    project.answers({"payload": payload()})
    assert project.run("panels/", *workers).ret == 0
    gate = subprocess.run(
        [sys.executable, "-m", "prun_review", "gate"], cwd=project.path, capture_output=True, text=True
    )
    assert gate.returncode == 0, gate.stderr
    assert json.loads(gate.stdout)["outcome"] == "PASS"


def test_dispatch_off_spends_nothing_and_is_never_green(project: Project) -> None:
    project.probe(ONE)
    project.answers({"payload": payload()})
    for workers in ((), ("-n", "2")):
        result = project.run("panels/", "--prun-dispatch", "off", *workers)
        assert result.ret == 1
        assert project.calls() == []


def test_a_missing_program_is_exit_4_with_the_remedy_and_no_dispatch(project: Project) -> None:
    project.config("")
    text = (project.path / "pyproject.toml").read_text()
    text += (
        '[tool.prun_review.executor.gone]\ntype = "command"\nvendor = "v"\nlineage = "l"\n'
        'argv = ["/does/not/exist/cli"]\n'
    )
    project.write("pyproject.toml", text)
    project.probe(ONE)
    project.answers({"payload": payload()})
    for workers in ((), ("-n", "2")):
        result = project.run("panels/", "--prun-executors", "left,gone", *workers)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "gone" in result.stderr.str() + result.stdout.str()
        assert "remedy" in result.stderr.str() + result.stdout.str()
        assert project.calls() == []
    assert project.run("panels/", "--prun-executors", "left,gone", "--collect-only").ret == 0


def test_extended_exit_codes_tell_incomplete_apart(project: Project) -> None:
    project.config('exit_codes = "extended"')
    project.probe(ONE)
    project.answers({"of": "left", "payload": payload()}, {"of": "right", "raw": "x", "exit": 1})
    result = project.run("panels/")
    assert result.ret == 10
    result.stdout.fnmatch_lines(["VERDICT: INCOMPLETE*"])
    project.answers({"payload": payload(finding())})
    assert project.run("panels/").ret == 1


def test_a_folder_in_report_mode_is_shown_and_does_not_decide(project: Project) -> None:
    project.config('[tool.prun_review.folders."panels/loose"]\nmode = "report"')
    project.probe(ONE)
    project.probe(ONE.replace("Audit the", "Second look at the"), "panels/loose/probe_loose.py")
    project.answers({"when": "Second look", "payload": payload(finding())}, {"payload": payload()})
    result = project.run("panels/")
    assert result.ret == 0
    folders = project.report()["verdict"]["folders"]
    assert folders == {"panels": "PASS", "panels/loose": "report: FAIL"}


def test_a_choice_shows_ranking_and_dissent(project: Project) -> None:
    project.probe(
        """
from prun_review import brief, choice

@brief(contract=choice("jsonl", "sqlite", criteria=["crash safety"]))
def probe_format(result):
    '''Which format?'''
    assert result.choice.option in ("jsonl", "sqlite")
"""
    )

    def answer(first: str, second: str) -> dict[str, Any]:
        return {
            **{k: v for k, v in payload().items() if k not in ("verdict", "findings")},
            "choice": first,
            "ranking": [first, second],
            "scores": [
                {"option": first, "criterion": "crash safety", "score": 5, "reason": "append only"},
                {"option": second, "criterion": "crash safety", "score": 2, "reason": "one file"},
            ],
            "confidence": 0.7,
            "would_change_mind": "a benchmark",
        }

    project.answers(
        {"of": "left", "payload": answer("jsonl", "sqlite")},
        {"of": "right", "payload": answer("sqlite", "jsonl")},
    )
    result = project.run("panels/")
    assert result.ret == 0, result.stdout.str()
    [case] = project.report()["cases"]
    assert case["choice"]["winner"] is None
    result.stdout.fnmatch_lines(["*jsonl*", "*sqlite*"])


def test_a_report_goes_where_it_is_asked_for_and_the_document_is_valid(project: Project) -> None:
    project.probe(ONE)
    project.answers({"payload": payload(finding(severity="low"))})
    result = project.run("panels/", "--prun-report", "markdown:out/review.md", "--prun-report", "json")
    assert result.ret == 0, result.stdout.str()
    assert "Command injection" in (project.path / "out/review.md").read_text()
    report = project.report()
    assert document.validate(report) == []
    keys = "schema_version run_id status verdict panels cases pairs findings agreement usage revision"
    assert set(keys.split()) <= set(report)
    run = next((project.path / ".prun/runs").iterdir())
    assert json.loads((run / "run.json").read_text()) == report
    assert report["facts"]["sources"]["report"] == "command line"
    assert all(len(e["sha256"]) == 64 for e in report["facts"]["executors"])


def test_the_longest_of_an_earlier_run_starts_first(project: Project) -> None:
    project.config('jobs = 1\n[tool.prun_review.gate]\nrule = "single"')
    project.probe(
        "import pytest\nfrom prun_review import brief\n\n@brief(executors=['left'])\n"
        "@pytest.mark.parametrize('n', [1, 2, 3])\ndef probe_n(n):\n    '''Number {n}.'''\n"
    )
    project.answers({"when": "Number 3", "sleep": 1, "payload": payload()}, {"payload": payload()})

    def started() -> list[str]:
        run = max((project.path / ".prun/runs").iterdir())
        events = map(json.loads, (run / "ledger.jsonl").read_text().splitlines())
        return [e["unit"][-8:] for e in events if e["event"] == "attempt-started"]

    assert project.run("panels/").ret == 0
    assert started() == ["[1-left]", "[2-left]", "[3-left]"]
    time.sleep(1.1)  # run ids count seconds
    assert project.run("panels/").ret == 0
    assert started()[0] == "[3-left]"


def test_junit_holds_the_gate_and_the_executors(project: Project) -> None:
    project.probe(ONE)
    project.answers({"payload": payload(finding())})
    project.run("panels/", "--junitxml=out.xml")
    text = (project.path / "out.xml").read_text()
    assert "gate" in text
    assert 'name="prun_executor" value="left"' in text


def test_lf_does_not_ask_everything_again_for_the_gates_sake(project: Project) -> None:
    project.probe(ONE + "\n\ndef probe_other():\n    '''Other question.'''\n")
    project.answers({"when": "Other question", "of": "left", "raw": "x", "exit": 1}, {"payload": payload()})
    run = project.pytester.runpytest_subprocess
    assert run("panels/", "-p", "no:randomly").ret == 1
    before = len(project.calls())
    assert run("panels/", "-p", "no:randomly", "--lf").ret == 1
    assert len(project.calls()) == before + 1


def test_tests_beside_panels_run_too(project: Project) -> None:
    project.write("tests/test_a.py", "def test_a():\n    pass\n")
    project.probe(ONE)
    project.answers({"payload": payload()})
    project.run("panels/", "tests/").assert_outcomes(passed=3)


def test_module_fixtures_are_right_in_completion_order(project: Project) -> None:
    body = """
import pytest
from prun_review import brief

@pytest.fixture(scope="module")
def place():
    state = {"open": True}
    yield state
    state["open"] = False

@brief(reads=["src/*.py"])
@pytest.mark.parametrize("n", [1, 2])
def probe_it(result, place, n):
    '''Audit NAME {n}.'''
    assert place["open"]
"""
    project.probe(body.replace("NAME", "alpha"), "panels/probe_alpha.py")
    project.probe(body.replace("NAME", "beta"), "panels/probe_beta.py")
    project.answers(
        {"when": "alpha 1", "sleep": 0.6, "payload": payload()},
        {"when": "beta 2", "sleep": 0.3, "payload": payload()},
        {"payload": payload()},
    )
    project.run("panels/").assert_outcomes(passed=8)
