"""A unit that wrote code is taken over, or judged again, only with the patch that its result speaks of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from prun_review import __version__, document
from prun_review.errors import RunDirError
from prun_review.model import Plan, Result, RunFacts, Unit
from prun_review.process.launch import ProcessLauncher
from prun_review.replay import Replay
from prun_review.resume import take_over
from prun_review.runview import PATCH
from tests.storekit import NOW
from tests.writing.desk import HandBench
from tests.writing.dispatching import Desk, desk, says, unit
from tests.writing.test_write_work import MARK, WRITE

LATER = NOW + 1000


@pytest.fixture(scope="module")
def launcher() -> Iterator[ProcessLauncher]:
    with ProcessLauncher() as made:
        yield made


def stored(root: Path, launcher: ProcessLauncher, one: Unit, script: str, *, passes: bool = True) -> Desk:
    """A run that ended."""
    bench = HandBench(root / "copies", passes=lambda command: passes)
    with desk(root, launcher, bench) as run:
        facts = RunFacts(run.store.id, NOW, version=__version__)
        run.store.write_plan(Plan((one,)))
        run.store.write_document(document.start(facts, Plan((one,))))
        result = run.run(one, script)
        built = document.build(replace(facts, finished=NOW + 9), Plan((one,)), [result])
        assert document.validate(built) == []
        run.store.write_document(built)
    return run


def patch_of(run: Desk, one: Unit) -> Path:
    return run.store.path / "units" / one.slug / PATCH


@pytest.fixture
def one() -> Unit:
    return unit(verify=("pytest -q",))


def taken(root: Path, launcher: ProcessLauncher, one: Unit) -> tuple[list[Result], tuple[str, ...], Desk]:
    with desk(root, launcher, at=LATER) as run:
        plan = Plan((one,))
        run.store.write_plan(plan)
        run.store.write_document(document.start(RunFacts(run.store.id, LATER, version=__version__), plan))
        found = take_over(root, plan, run.store, "latest")
    return list(found.results), found.notes, run


def test_a_result_is_taken_over_with_its_patch(tmp_path: Path, launcher: ProcessLauncher, one: Unit) -> None:
    first = stored(tmp_path, launcher, one, WRITE + says(["src/a.py"]))
    results, notes, run = taken(tmp_path, launcher, one)
    assert notes == ()
    (result,) = results
    assert result == first.store.result_of(one)
    assert patch_of(run, one).read_bytes() == patch_of(first, one).read_bytes()
    assert run.store.patch_of(result).startswith(b"diff --git a/src/a.py")


def dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("elsewhere")


SPOILT: dict[str, Callable[[Path], object]] = {
    "altered": lambda path: path.write_bytes(path.read_bytes().replace(b"2 * x", b"3 * x")),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "gone": Path.unlink,
    "a link": dangling,
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_without_it_nothing_is_taken_over(
    tmp_path: Path, launcher: ProcessLauncher, one: Unit, spoil: Callable[[Path], object]
) -> None:
    first = stored(tmp_path, launcher, one, WRITE + says(["src/a.py"]))
    spoil(patch_of(first, one))
    results, notes, _ = taken(tmp_path, launcher, one)
    assert results == []
    assert len(notes) == 1
    assert "not taken over" in notes[0]
    assert "patch" in notes[0] or "not the change" in notes[0]


def test_what_changed_nothing_needs_no_patch(tmp_path: Path, launcher: ProcessLauncher, one: Unit) -> None:
    stored(tmp_path, launcher, one, says([]))
    results, notes, run = taken(tmp_path, launcher, one)
    assert (len(results), notes, patch_of(run, one).exists()) == (1, (), False)


def replayed(root: Path, first: Desk, one: Unit) -> tuple[Result, Desk]:
    """The same run judged again: nothing is started, and the script would fail."""
    replay = Replay(first.store.path)
    with desk(root / "again", replay, replay, at=LATER) as run:
        run.replay = replay
        return run.run(one, "raise SystemExit('started')"), run


@pytest.mark.parametrize(
    ("kind", "script", "passes"),
    [
        ("change", WRITE + says(["src/a.py"]), True),
        ("change", WRITE + says(["src/a.py"]), False),
        ("change", WRITE + says(["src/a.py", "src/z.py"]), True),
        ("change", says([]), True),
        ("task", WRITE + MARK, True),
        ("task", WRITE + "print('done')", True),
        ("task", WRITE + MARK, False),
    ],
)
def test_a_replay_comes_to_the_same_and_runs_nothing(
    tmp_path: Path, launcher: ProcessLauncher, kind: str, script: str, passes: bool
) -> None:
    one = unit(kind, verify=("pytest -q",))
    first = stored(tmp_path, launcher, one, script, passes=passes)
    was = first.store.result_of(one)
    assert was is not None
    result, run = replayed(tmp_path, first, one)
    assert result == was
    assert patch_of(run, one).exists() == bool(was.patch and was.patch.digest)
    assert len(first.workbench.checked) == bool(was.checks)  # type: ignore[union-attr]


def test_a_replay_of_an_altered_patch_is_no_answer(
    tmp_path: Path, launcher: ProcessLauncher, one: Unit
) -> None:
    first = stored(tmp_path, launcher, one, WRITE + says(["src/a.py"]))
    SPOILT["altered"](patch_of(first, one))
    result, _ = replayed(tmp_path, first, one)
    assert (result.status, result.reason) == ("failed", "run-directory")
    assert "not the change that its result speaks of" in result.message


def test_checks_that_were_not_made_then_are_not_made_up(
    tmp_path: Path, launcher: ProcessLauncher, one: Unit
) -> None:
    first = stored(tmp_path, launcher, one, WRITE + says(["src/a.py"]))
    replay = Replay(first.store.path)
    copy = replay.open(one, tmp_path / "1")
    assert [c.command for c in replay.check(copy.harvest(one), ("pytest -q",), lambda: "")] == ["pytest -q"]
    with pytest.raises(RunDirError, match="does not tell what came of ruff"):
        replay.check(copy.harvest(one), ("ruff",), lambda: "")


def test_the_document_tells_patch_checks_and_claim(
    tmp_path: Path, launcher: ProcessLauncher, one: Unit
) -> None:
    run = stored(tmp_path, launcher, one, WRITE + says(["src/a.py"]), passes=False)
    (row,) = run.store.read_document()["units"]
    assert [f["path"] for f in row["patch"]["files"]] == ["src/a.py"]
    assert row["patch"]["kept"] == str(tmp_path / "copies" / "probe-writer-1-1")
    assert [(c["command"], c["code"]) for c in row["checks"]] == [("pytest -q", 1)]
    assert row["claim"]["files"] == ["src/a.py"]
    assert row["marker"] is False
