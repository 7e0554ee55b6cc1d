"""The second wave on disk: what it asked, written anew each round, and what does not fit together in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from prun_review import rundir
from prun_review.codec import encode
from prun_review.errors import RunDirError
from prun_review.files import write
from prun_review.model import Plan, Unit
from prun_review.rulings import Examination, LeftOut, Question
from prun_review.rundir import RunDir, RunView
from prun_review.runview import EXAMINATION
from tests.storekit import NOW, begin, result, unit

FIRST, OTHER = (
    Question(f"x-{letter * 12}", "claim", unit().case, "panels", f"{unit().slug}#{n}")
    for n, letter in enumerate("ab", 1)
)


def exam_unit(question: Question) -> Unit:
    name = f"prun_review::examine[{question.id}-sonnet]"
    return replace(unit(), id=name, slug=f"examine-{question.id}-sonnet", case=question.id, executor="sonnet")


def asked(*questions: Question) -> Examination:
    return Examination(questions, Plan(tuple(map(exam_unit, questions))))


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunDir]:
    """A finished first wave, and one question answered."""
    made = rundir.create(tmp_path, now=NOW)
    begin(made, unit())
    made.finish(result(unit()))
    made.write_examination(asked(FIRST))
    made.finish(result(exam_unit(FIRST)))
    yield made
    made.close()


def test_it_is_read_as_it_was_written_and_its_results_stand_apart(run: RunDir) -> None:
    record = rundir.open_run(run.path)
    assert record.problems == ()
    assert [r.unit for r in record.results] == [unit().id]
    assert record.examination == replace(asked(FIRST), results=(result(exam_unit(FIRST)),))
    assert RunView(run.path).examination() == asked(FIRST), "results stand with their units only"
    [event] = [json.loads(line) for line in (run.path / "ledger.jsonl").read_text().splitlines()][-2:-1]
    assert (event["event"], event["questions"], event["units"], event["left_out"]) == ("examination", 1, 1, 0)


def test_each_round_replaces_the_one_before(run: RunDir) -> None:
    view = RunView(run.path)
    assert view.examination().questions == (FIRST,)
    told = replace(asked(FIRST, OTHER), left_out=(LeftOut(OTHER, "over the limit of 1"),))
    run.write_examination(replace(told, results=(result(exam_unit(FIRST)),)))
    run.finish(result(exam_unit(OTHER), "failed"))
    assert view.examination() == told
    record = rundir.open_run(run.path)
    assert (record.problems, len(record.examination.results)) == ((), 2)


def test_a_run_of_a_version_without_a_second_wave_loads(tmp_path: Path) -> None:
    made = rundir.create(tmp_path, now=NOW)
    begin(made, unit())
    made.finish(result(unit()))
    record = rundir.open_run(made.path)
    assert (record.problems, record.examination) == ((), Examination())
    made.close()


def missing(run: RunDir) -> None:
    (run.path / EXAMINATION).unlink()


def altered(run: RunDir) -> None:
    write(run.path / EXAMINATION, json.dumps(encode(asked(OTHER))).encode())


def not_ours(run: RunDir) -> None:
    run._vouch(EXAMINATION, {"questions": 1}, "examination")


def planted(run: RunDir) -> None:
    """One that nobody wrote, where there was none."""
    for name in (EXAMINATION, "ledger.jsonl"):
        (run.path / name).unlink()
    write(run.path / EXAMINATION, json.dumps(encode(asked(FIRST))).encode())


def unanswered(run: RunDir) -> None:
    run.write_examination(asked(FIRST, OTHER))


def taken_away(run: RunDir) -> None:
    (run.path / f"units/{exam_unit(FIRST).slug}/result.json").unlink()


def another_word(run: RunDir) -> None:
    place = run.path / f"units/{exam_unit(FIRST).slug}/result.json"
    place.write_bytes(place.read_bytes().replace(b'"valid"', b'"valid" '))


def stray(run: RunDir) -> None:
    run.finish(result(exam_unit(OTHER)))


def rolled_back(run: RunDir) -> None:
    """The round before, which the ledger knows as well, with nothing left of the one that followed."""
    before = (run.path / EXAMINATION).read_bytes()
    run.write_examination(asked(FIRST, OTHER))
    run.finish(result(exam_unit(OTHER)))
    write(run.path / EXAMINATION, before)
    shutil.rmtree(run.path / f"units/{exam_unit(OTHER).slug}")


def only_told(run: RunDir) -> None:
    """A result of a unit that nothing planned, of which only the ledger knows."""
    stray(run)
    shutil.rmtree(run.path / f"units/{exam_unit(OTHER).slug}")


TAMPERED: list[tuple[Callable[[RunDir], None], str, str]] = [
    (missing, "examination-refused", "the ledger knows of it"),
    (altered, "examination-refused", "sha256 is not in the ledger"),
    (not_ours, "examination-refused", "expected a list"),
    (planted, "examination-refused", "sha256 is not in the ledger"),
    (unanswered, "examination-refused", f"{exam_unit(OTHER).id}: it was asked, and has no result"),
    (taken_away, "examination-refused", f"{exam_unit(FIRST).id}: it was asked, and has no result"),
    (another_word, "result-refused", "sha256 is not in the ledger"),
    (stray, "result-refused", "a result of no unit of the plan"),
    (rolled_back, "examination-refused", "sha256 is not in the ledger"),
    (only_told, "result-refused", f"{exam_unit(OTHER).slug}/result.json: a result of no unit of the plan"),
]


@pytest.mark.parametrize(("tamper", "code", "text"), TAMPERED, ids=[t[0].__name__ for t in TAMPERED])
def test_what_does_not_fit_together_forbids_green(
    run: RunDir, tamper: Callable[[RunDir], None], code: str, text: str
) -> None:
    assert rundir.open_run(run.path).problems == ()
    tamper(run)
    record = rundir.open_run(run.path)
    assert any(p.code == code and text in p.text for p in record.problems), record.problems
    assert all(p.outcome == "INCOMPLETE" for p in record.problems)


def test_a_result_that_is_refused_is_told_once(run: RunDir) -> None:
    another_word(run)
    assert [p.code for p in rundir.open_run(run.path).problems] == ["result-refused"]
    assert rundir.open_run(run.path).examination.results == ()


@pytest.mark.parametrize("tamper", [missing, altered, not_ours])
def test_a_reader_of_one_part_is_refused_it(run: RunDir, tamper: Callable[[RunDir], None]) -> None:
    tamper(run)
    with pytest.raises(RunDirError):
        RunView(run.path).examination()
