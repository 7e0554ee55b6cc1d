"""The second wave in whole pytest runs: what it asks, what follows, and that no fault in it is green."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.plugin.conftest import ASKED, EXAMINES, ONE, Project, finding, opinion, payload, same_opinion

WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["n0", "n2"])
BOTH = {"left": EXAMINES, "right": EXAMINES}
FOUND = {"of": "left", "when": "Audit", "payload": payload(finding())}
CLEAN = {"of": "right", "when": "Audit", "payload": payload()}
OTHER_WORDS = finding(
    title="Arbitrary code execution", detail="Whoever calls this decides what is executed on the host."
)
"""The same place and quote without a word in common: what nobody but an examiner can settle."""


def examining(project: Project, *rules: dict[str, Any], extra: str = "") -> None:
    """One finding that ``left`` holds alone, and what the examiners answer."""
    project.config(extra, tables=BOTH)
    project.commit()
    project.probe(ONE)
    project.answers(*({"when": ASKED, **rule} for rule in rules), FOUND, CLEAN)


def gate(project: Project) -> dict[str, Any]:
    """What ``prun-review gate`` says of the latest run."""
    done = subprocess.run(
        [sys.executable, "-m", "prun_review", "gate", "--json"],
        cwd=project.path,
        capture_output=True,
        check=False,
    )
    told: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (0 if told["outcome"] == "PASS" else 1)
    return told


def same_verdict(project: Project) -> dict[str, Any]:
    """The document, after ``gate`` derived the same from what is stored."""
    report = project.report()
    told = gate(project)
    assert told["outcome"] == report["verdict"]["outcome"]
    assert [r["code"] for r in told["reasons"]] == [r["code"] for r in report["verdict"]["reasons"]]
    return report


def group(project: Project) -> dict[str, Any]:
    [found] = project.report()["findings"]
    return dict(found)


def stored(project: Project) -> list[dict[str, Any]]:
    """The results of the second wave of the latest run."""
    run = project.path / ".prun/runs" / project.report()["run_id"]
    units = json.loads((run / "examination.json").read_text())["plan"]["units"]
    return [json.loads((run / "units" / u["slug"] / "result.json").read_text()) for u in units]


class TestClaims:
    @WORKERS
    def test_confirmed_is_consensus(self, project: Project, workers: tuple[str, ...]) -> None:
        examining(project, {"payload": opinion("confirm")})
        result = project.run("panels/", *workers)
        assert result.ret == 1
        assert project.calls() in (["left", "right", "right"], ["right", "left", "right"])
        found = group(project)
        assert (found["class"], found["examined"]) == ("consensus", "confirmed"), result.stdout.str()
        assert same_verdict(project)["verdict"]["outcome"] == "FAIL"
        said = result.stdout.str()
        told = "] cross-examination: 1 unit of 1 question: 1 to right (vendor-right, paid); about src/app.py;"
        assert said.count(told) == 1
        assert said.index("1 to left") < said.index(told) < said.index("FAIL")
        [answered] = stored(project)
        assert (answered["executor"], answered["status"]) == ("right", "valid")

    @WORKERS
    def test_refuted_is_contested(self, project: Project, workers: tuple[str, ...]) -> None:
        refuted = opinion("refute", reason="Callers pass constants only.", line=4, quote="def run(command):")
        examining(project, {"payload": refuted})
        assert project.run("panels/", *workers).ret == 0
        found = group(project)
        assert (found["class"], found["examined"]) == ("contested", "refuted")
        assert "Callers pass constants only." in json.dumps(found["rulings"])
        verdict = same_verdict(project)["verdict"]
        assert (verdict["outcome"], [r["code"] for r in verdict["reasons"]]) == ("PASS", ["refuted"])

    def test_a_refuted_critical_stays_open(self, project: Project) -> None:
        examining(project, {"payload": opinion("refute")})
        project.answers(
            {"when": ASKED, "payload": opinion("refute")},
            {**FOUND, "payload": payload(finding(severity="critical"))},
            CLEAN,
        )
        assert project.run("panels/").ret == 1
        assert same_verdict(project)["verdict"]["outcome"] == "INCOMPLETE"

    def test_nobody_examines_who_was_not_told_of_it(self, project: Project) -> None:
        examining(project, {"payload": opinion("confirm")})
        project.config("")
        result = project.run("panels/")
        assert sorted(project.calls()) == ["left", "right"]
        told = 'left out: right does not examine: add "examination" to the contracts of'
        assert (
            f"cross-examination: 1 question {told} [tool.prun_review.executor.right]" in result.stdout.str()
        )
        assert (group(project)["class"], group(project)["examined"]) == ("single", "")
        assert stored(project) == []

    def test_the_most_severe_are_asked_first(self, project: Project) -> None:
        examining(project, {"payload": opinion("confirm", severity="critical")}, extra="examine_limit = 1")
        lesser = finding(
            title="Prices: the first one is skipped",
            detail="The loop starts at index one, so the sum lacks an item.",
            line=10,
            end_line=10,
            category="correctness",
            quote="for price in prices[1:]:",
        )
        both = payload(lesser, finding(severity="critical"))
        project.answers({"when": ASKED, "payload": opinion("confirm")}, {**FOUND, "payload": both}, CLEAN)
        result = project.run("panels/")
        assert result.ret == 1
        assert project.calls().count("right") == 2
        assert "; 1 question left out: over the limit of 1" in result.stdout.str()
        found = {f["severity"]: (f["class"], f["examined"]) for f in project.report()["findings"]}
        assert found == {"critical": ("consensus", "confirmed"), "high": ("single", "")}
        same_verdict(project)


class TestPairs:
    """Both vendors hold something at one place, in words of which none is shared."""

    def asked(self, project: Project, *rules: dict[str, Any]) -> None:
        examining(project)
        project.answers(
            *({"when": ASKED, **rule} for rule in rules),
            FOUND,
            {**CLEAN, "payload": payload(OTHER_WORDS)},
        )

    def test_two_times_yes_is_one_defect(self, project: Project) -> None:
        self.asked(project, {"payload": same_opinion("yes")})
        assert project.run("panels/").ret == 1
        found = group(project)
        assert found["class"] == "consensus", found
        assert sorted(project.calls()) == ["left"] * 2 + ["right"] * 2
        shown = {}
        for prompt in project.path.glob(".prun/runs/*/units/*examine*/1/prompt.md"):
            text = prompt.read_text()
            shown[prompt.parts[-3].split("-")[-2]] = text.index("Arbitrary code") < text.index("concatenated")
        assert sorted(shown.values()) == [False, True], "each sees them in another order"
        assert same_verdict(project)["verdict"]["outcome"] == "FAIL"

    def test_two_times_no_are_two_and_each_is_asked_about(self, project: Project) -> None:
        self.asked(
            project,
            {"when": "FINDING A", "payload": same_opinion("no")},
            {"of": "left", "payload": opinion("confirm")},
            {"of": "right", "payload": opinion("refute")},
        )
        result = project.run("panels/")
        assert result.ret == 1
        assert sorted(project.calls()) == ["left"] * 3 + ["right"] * 3
        assert result.stdout.str().count("] cross-examination: 2 units of") == 2, "two rounds"
        found = {
            f["members"][0]["executor"]: (f["class"], f["examined"]) for f in project.report()["findings"]
        }
        # right refutes what it holds the twin of
        assert found == {"left": ("single", "unresolved"), "right": ("consensus", "confirmed")}
        assert same_verdict(project)["verdict"]["outcome"] == "FAIL"

    @pytest.mark.parametrize("other", ["no", "cannot-tell"])
    def test_anything_else_leaves_it_open(self, project: Project, other: str) -> None:
        self.asked(
            project,
            {"of": "left", "payload": same_opinion("yes")},
            {"of": "right", "payload": same_opinion(other)},
        )
        assert project.run("panels/").ret == 1
        assert {(f["class"], f["examined"]) for f in project.report()["findings"]} == {
            ("uncertain", "unresolved")
        }
        assert same_verdict(project)["verdict"]["outcome"] == "INCOMPLETE"


FAULTS: dict[str, dict[str, Any]] = {
    "cannot tell": {"payload": opinion("cannot-tell", file=None, line=None, quote=None)},
    "a quote that is nowhere": {"payload": opinion("refute", quote="assert command.isalnum()")},
    "no quote": {"payload": opinion("refute", quote=None)},
    "a scrap of code": {"payload": opinion("refute", quote="retu")},
    "nothing read": {"payload": opinion("refute", conclusion="I was not able to read the files.")},
    "the contrary of its word": {"payload": opinion("refute", reason="The defect is real, I confirm it.")},
    "another file examined": {"payload": opinion("refute", examined=["panels/probe_app.py"])},
    "findings beside it": {"payload": opinion("refute", findings=[{"title": "x", "severity": "high"}])},
    "a file that is not there": {"payload": opinion("refute", file="src/gone.py")},
    "another word": {"payload": opinion("steered")},
    "another form": {"payload": payload()},
    "prose": {"raw": "I refute this claim. It is harmless."},
    "a fallback": {"raw": "# FALLBACK result\n\nConclusion: the dispatcher gave up\n"},
    "nothing": {"raw": ""},
    "half an answer": {"raw": json.dumps(opinion("refute"))[:-40]},
    "an exit status": {"raw": json.dumps(opinion("refute")), "exit": 1},
    "the vendor is away": {"raw": "You've hit your usage limit. Try again later.", "exit": 1},
    "silence": {"instead": "silence"},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_of_an_examiner_is_an_opinion(project: Project, fault: str) -> None:
    extra = "stall = 2\nretries = 0" if fault == "silence" else "retries = 0"
    examining(project, FAULTS[fault], extra=extra)
    result = project.run("panels/")
    assert result.ret == 1, result.stdout.str()
    found = group(project)
    assert (found["class"], found["examined"]) == ("single", "unresolved")
    assert same_verdict(project)["verdict"]["outcome"] == "INCOMPLETE"
    assert {u["status"] for u in project.report()["units"]} == {"valid"}, "the first wave is whole"


class TestNotAsked:
    @pytest.mark.parametrize(
        ("args", "extra"),
        [
            (("--prun-cross-examine", "off"), ""),
            ((), 'cross_examine = "off"'),
            ((), "examine_limit = 0"),
            (("-x",), ""),
        ],
        ids=["option", "configured", "no question", "stopped"],
    )
    @WORKERS
    def test_nothing_is_spent(
        self, project: Project, args: tuple[str, ...], extra: str, workers: tuple[str, ...]
    ) -> None:
        examining(project, {"payload": opinion("confirm")}, extra=extra)
        if "-x" in args:
            project.probe(ONE.replace('application."""', 'application."""\n    assert not result.findings'))
        result = project.run("panels/", *args, *workers)
        assert "cross-examination: 1 unit" not in result.stdout.str()
        assert project.calls().count("right") <= 1
        assert result.ret != 0, "what nobody was asked about stays open"

    def test_dispatch_off(self, project: Project) -> None:
        examining(project, {"payload": opinion("confirm")})
        assert project.run("panels/", "--prun-dispatch", "off").ret == 1
        assert project.calls() == []

    def test_what_gates_nothing_is_not_asked_about_unless_all_is(self, project: Project) -> None:
        examining(project, {"payload": opinion("confirm", severity="medium")})
        rules = [{"when": ASKED, "payload": opinion("confirm", severity="medium")}, CLEAN]
        project.answers({**FOUND, "payload": payload(finding(severity="medium"))}, *rules)
        assert project.run("panels/").ret == 0
        assert sorted(project.calls()) == ["left", "right"]
        assert project.run("panels/", "--prun-cross-examine", "all").ret == 0
        assert project.calls()[2:].count("right") == 2
        assert (group(project)["class"], group(project)["examined"]) == ("consensus", "confirmed")

    def test_an_executor_that_is_held_is_not_asked(self, project: Project) -> None:
        two = ONE + ONE.replace("probe_app", "probe_more").replace("Audit", "Look over")
        examining(project, {"payload": opinion("confirm")}, extra="jobs = 1")
        project.probe(two)
        quota = {"of": "right", "when": "Look over", "raw": "You've hit your usage limit.", "exit": 1}
        project.answers(
            {"when": ASKED, "payload": opinion("confirm")},
            quota,
            FOUND,
            CLEAN,
            {"of": "left", "payload": payload()},
        )
        result = project.run("panels/")
        assert result.ret == 1
        assert "cross-examination: 1 unit of right not asked: right quota exhausted" in result.stdout.str()
        [left] = stored(project)
        assert (left["status"], left["reason"]) == ("not-run", "quota-exhausted")
        same_verdict(project)


class TestItsOwnFailure:
    @WORKERS
    def test_a_wave_that_cannot_be_stored_is_told_and_loses_nothing(
        self, project: Project, workers: tuple[str, ...]
    ) -> None:
        examining(project, {"payload": opinion("confirm")})
        bar = {**CLEAN, "bar": str(project.path / ".prun/runs/*")}
        project.answers({"when": ASKED, "payload": opinion("confirm")}, FOUND, bar)
        result = project.run("panels/", *workers)
        assert result.ret == 1
        report = project.report()
        assert report["verdict"]["outcome"] == "INCOMPLETE"
        assert "examination-failed" in {r["code"] for r in report["verdict"]["reasons"]}
        assert "the cross-examination ended early: " in result.stdout.str()
        assert {u["status"] for u in report["units"]} == {"valid"}
        assert sorted(project.calls()) == ["left", "right"]
        assert gate(project)["outcome"] == "INCOMPLETE"

    def test_a_run_whose_second_wave_was_touched_is_not_green(self, project: Project) -> None:
        refuted = opinion("refute", line=4, quote="def run(command):")
        examining(project, {"payload": refuted})
        project.run("panels/")
        run = project.path / ".prun/runs" / project.report()["run_id"]
        [result] = run.glob("units/*examine*/result.json")
        kept = result.read_text()
        result.write_text(kept.replace('"refute"', '"confirm"'))
        assert "result-refused" in {r["code"] for r in gate(project)["reasons"]}
        result.unlink()
        assert "examination-refused" in {r["code"] for r in gate(project)["reasons"]}
        result.write_text(kept)
        (run / "examination.json").unlink()
        assert {"examination-refused", "result-refused"} <= {r["code"] for r in gate(project)["reasons"]}
