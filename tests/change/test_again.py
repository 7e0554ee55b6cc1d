"""A change that is reviewed more than once: pushes, rebases, re-runs, and what named persons answer for."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.change.cases import CLEARED, EVAL, EVALUATED, GONE, UNCHECKED
from tests.change.kit import AUTH, PROBE, SHOP, Scene, defect

PARTS = PROBE.replace('reads=["**"]', 'reads=["src/**"], max_diff=1200')
MANY = {f"src/part{n:02}.py": f"FIRST = {n}\nSECOND = 2\nTHIRD = 3\n" for n in range(40)}
DAY = 86_400


def later(days: float) -> str:
    """A day as the file of acceptances writes it."""
    return time.strftime("%Y-%m-%d", time.gmtime(time.time() + days * DAY))


def accept(scene: Scene, text: str) -> None:
    """It is merged into the base, by somebody who may do that."""
    scene.git("checkout", "-q", "main")
    scene.commit({"prun-accept.toml": text})
    scene.git("checkout", "-q", "topic")


def tampering(digest: str, until: str = "") -> str:
    """An entry for a change of the review."""
    end = f'until = "{until}"\n' if until else ""
    return f'[[review-change]]\ndigest = "{digest}"\nby = "Ada"\nreason = "asks for more"\n{end}'


def away(until: str, executor: str = "right") -> str:
    """An entry for an executor that does not answer."""
    who = f'executor = "{executor}"\nby = "Ada"\nreason = "its service is down"\n'
    return f'[[outage]]\n{who}until = "{until}"\n'


# --- pushes and rebases ---------------------------------------------------------------------------


def test_a_push_asks_again_only_about_the_part_that_it_touches(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s", probe=PARTS)
    scene.commit(MANY)
    scene.both()
    done = scene.review()
    assert scene.report.outcome == "PASS", done.output
    units = len(scene.report.units)
    assert units == len(scene.calls) >= 2 * 4

    scene.commit({"src/part20.py": MANY["src/part20.py"] + "FOURTH = 4\n"})
    done = scene.review("--prun-resume")
    assert scene.report.outcome == "PASS", done.output
    again = scene.calls[units:]
    assert sorted(call["name"] for call in again) == ["left", "right"]
    assert all("FOURTH = 4" in call["prompt"] for call in again)
    assert len(scene.report.units) == units

    # One more file moves no border but those beside it.
    scene.commit({"src/part07a.py": "SEVENTH = 7\n"})
    scene.both()
    before = len(scene.calls)
    scene.review("--prun-resume")
    assert scene.report.outcome == "PASS"
    again = scene.calls[before:]
    assert 2 <= len(again) <= 4
    assert all("part00.py" not in call["prompt"] for call in again)
    assert any("SEVENTH = 7" in call["prompt"] for call in again)


def test_a_rebase_that_changes_nothing_asks_nobody_and_judges_anew(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s")
    scene.commit({"src/auth.py": EVALUATED})
    old = AUTH.replace("PERIOD = 30", "PERIOD = 31")
    scene.both(EVAL, defect("greet() takes any name", "src/shop.py", 9, 'return "hello " + account["name"]'))
    assert scene.review().code == 1
    first = scene.report
    assert first.placed["greet() takes any name"] == ("pre-existing", False)
    asked = len(scene.calls)

    scene.git("checkout", "-q", "main")
    scene.commit({"src/other.py": "OTHER = 1\n"})
    scene.git("checkout", "-q", "topic")
    scene.git("rebase", "-q", "main")
    done = scene.review("--prun-resume")
    assert len(scene.calls) == asked, done.output
    again = scene.report
    assert (again.outcome, again.placed, again.blocking) == (first.outcome, first.placed, first.blocking)
    assert again.document["revision"]["merge_base"] != first.document["revision"]["merge_base"]

    # The file itself changed in the base: the same diff no longer has the same content.
    scene.git("checkout", "-q", "main")
    scene.commit({"src/auth.py": old})
    scene.git("checkout", "-q", "topic")
    scene.git("rebase", "-q", "main")
    scene.review("--prun-resume")
    assert len(scene.calls) == asked + 2


# --- running again until it is green --------------------------------------------------------------


def test_a_blocker_of_the_same_head_is_not_lost_by_running_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s")
    scene.commit({"src/auth.py": UNCHECKED})
    scene.both(GONE)
    assert scene.review().code == 1
    found = scene.report.document["run_id"]

    scene.both()
    for turn in range(2):  # what was carried once is carried on
        done = scene.review("--prun-previous", "latest")
        report = scene.report
        assert (done.code, report.outcome) == (1, "FAIL"), done.output
        assert report.codes("FAIL") == {"carried"}, turn
        [carried] = report.document["change"]["carried"]
        assert (carried["run"], carried["title"], carried["outcome"]) == (found, GONE["title"], "FAIL")
        assert GONE["title"] in done.output
    gate = scene.cli("gate")
    assert gate.code == 1, gate.output

    scene.both(GONE)  # held again: it decides itself
    scene.review("--prun-previous", found)
    assert (scene.report.codes(), scene.report.document["change"]["carried"]) == ({"consensus"}, [])

    scene.commit({"src/auth.py": AUTH, "src/shop.py": SHOP + "\nEND = 1\n"})
    scene.both()
    done = scene.review("--prun-previous", "latest")
    assert (done.code, scene.report.outcome) == (0, "PASS"), done.output
    assert scene.report.document["change"]["carried"] == []


def test_a_previous_run_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s")
    scene.commit({"src/auth.py": EVALUATED})
    done = scene.review("--prun-previous", "20200101T000000Z-abcd")
    assert done.code == 4, done.output
    assert "20200101T000000Z-abcd" in done.output
    assert scene.calls == []


# --- what a head changes of the review -----------------------------------------------------------


def test_a_change_of_the_review_waits_for_a_person_whom_the_base_names(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s")
    scene.commit({"src/auth.py": EVALUATED, "panels/probe_change.py": PROBE.replace("break?", "mend?")})
    scene.both()
    done = scene.review()
    report = scene.report
    assert (done.code, report.codes()) == (1, {"changes-review"}), done.output
    digest = report.document["change"]["alters_digest"]
    assert report.document["change"]["alters"] == ["panels/probe_change.py"]
    assert digest
    assert digest in report.text("changes-review")

    # The head cannot accept itself, be it committed or not.
    scene.write({"prun-accept.toml": tampering(digest)})
    scene.review()
    assert scene.report.codes() == {"changes-review"}
    scene.commit()
    scene.review()
    assert scene.report.codes() == {"changes-review"}
    assert "prun-accept.toml" in scene.report.document["change"]["alters"]
    scene.git("reset", "-q", "--hard", "HEAD~1")

    accept(scene, tampering(digest))
    done = scene.review()
    assert (done.code, scene.report.outcome) == (0, "PASS"), done.output
    [entry] = scene.report.document["change"]["acceptances"]
    assert (entry["by"], entry["expired"]) == ("Ada", False)
    assert "Ada" in done.output

    # What was accepted is that content, and no other.
    scene.commit({"panels/probe_change.py": PROBE.replace("break?", "say?")})
    scene.review()
    assert scene.report.codes() == {"changes-review"}


def test_an_acceptance_that_is_over_counts_for_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s")
    scene.commit({"src/auth.py": EVALUATED, "panels/probe_change.py": PROBE.replace("break?", "mend?")})
    scene.both()
    scene.review()
    digest = scene.report.document["change"]["alters_digest"]
    accept(scene, tampering(digest, later(-2)))
    scene.review()
    assert scene.report.codes() == {"changes-review"}
    [entry] = scene.report.document["change"]["acceptances"]
    assert entry["expired"]


ALTERING = {
    "panels/probe_more.py": PROBE,
    "panels/conftest.py": "X = 1\n",
    "conftest.py": "X = 1\n",
    "pytest.ini": "[pytest]\naddopts = -q\n",
    "tox.ini": "[pytest]\naddopts = -q\n",
    "setup.cfg": "[tool:pytest]\naddopts = -q\n",
    "prun-accept.toml": tampering("00" * 32),
    "rules/policy.md": "be kind\n",
}


def test_everything_that_decides_how_is_reviewed_is_told(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s", config='guarded = ["rules/**"]')
    table = (scene.path / "pyproject.toml").read_text()
    harmless = {"setup.py": "X = 1\n", "src/pytest_helper.py": "X = 1\n"}
    scene.commit(
        {**ALTERING, **harmless, "pyproject.toml": f'{table}\n[tool.prun_review.gate]\nmode="report"\n'}
    )
    scene.both()
    scene.git("checkout", "-q", "main")
    done = scene.review("--prun-head", "topic")
    report = scene.report
    assert report.document["change"]["alters"] == sorted([*ALTERING, "pyproject.toml"]), done.output
    assert report.codes() == {"changes-review"}
    assert done.code == 1


def test_other_tables_of_pyproject_are_no_part_of_the_review(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s")
    table = (scene.path / "pyproject.toml").read_text()
    scene.commit({"pyproject.toml": f"[project]\nname = 'x'\n\n{table}\n[tool.ruff]\nline-length = 10\n"})
    scene.both()
    scene.git("checkout", "-q", "main")
    done = scene.review("--prun-head", "topic")
    assert scene.report.document["change"]["alters"] == []
    assert (done.code, scene.report.outcome) == (0, "PASS"), done.output


# --- an outage ------------------------------------------------------------------------------------


def test_an_outage_that_somebody_answers_for(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s")
    scene.commit({"src/auth.py": EVALUATED})
    scene.answers({"of": "right", "exit": 9, "raw": ""}, {"findings": []})
    assert scene.review().code == 1
    assert scene.report.outcome == "INCOMPLETE"
    assert "one-vendor" in scene.report.codes()

    accept(scene, away(later(3)))
    done = scene.review()
    assert (done.code, scene.report.outcome) == (0, "PASS"), done.output
    for word in ("Ada", later(3), "right"):
        assert word in scene.report.line
    assert scene.cli("gate").code == 0
    done = scene.review("-n", "2")
    assert (done.code, scene.report.outcome) == (0, "PASS"), done.output
    assert "1 skipped" in done.output, "the item of who is away is neither failed nor passed"

    scene.answers({"of": "right", "exit": 9, "raw": ""}, {"findings": [EVAL, CLEARED]})
    done = scene.review()
    assert (done.code, scene.report.outcome) == (1, "FAIL"), done.output
    assert scene.report.blocking == {EVAL["title"]}

    scene.answers({"exit": 9, "raw": ""})  # nobody answers
    done = scene.review()
    assert (done.code, scene.report.outcome) == (1, "INCOMPLETE"), done.output


@pytest.mark.parametrize(
    ("entry", "code", "told"),
    [
        (away(later(-2)), 1, "one-vendor"),
        (away(later(3), "lefd"), None, "lefd"),
        (away(later(40)), 4, "until"),
        (away(later(3)).replace('"its service is down"', '" "'), 4, "reason"),
    ],
)
def test_an_outage_that_does_not_count(tmp_path: Path, entry: str, code: int | None, told: str) -> None:
    scene = Scene(tmp_path / "s")
    scene.commit({"src/auth.py": EVALUATED})
    scene.answers({"of": "right", "exit": 9, "raw": ""}, {"findings": []})
    accept(scene, entry)
    done = scene.review()
    assert done.code == code if code else done.code in (1, 4), done.output
    assert told in done.output
    assert not re.search(r"VERDICT: PASS", done.output)
    if code == 4:
        assert scene.calls == [], "nothing is asked where the file of acceptances is malformed"
