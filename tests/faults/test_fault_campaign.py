"""Every kind of fault, in both vendors' stand-ins, without and with pytest-xdist: nothing green, nothing
lost, nothing left running, and each cause named once."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.campaign import Cell, Outcome, Project, cells, survivors
from tests.faults.table import FAULTS, KEPT_FAULTS, VENDORS

GRID = cells([*FAULTS, *KEPT_FAULTS])
MODES = {"-n0": (), "-n2": ("-n", "2")}
COUNTED: dict[str, int] = {}
"""Mode -> wrong cells, for the count line."""


@pytest.fixture(scope="module", params=MODES, ids=list(MODES))
def outcome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One run over all cells."""
    return Project(tmp_path_factory.mktemp("campaign"), GRID).run(*MODES[request.param])


def test_at_least_sixty_kinds_each_once() -> None:
    names = [fault.name for fault in (*FAULTS, *KEPT_FAULTS)]
    assert len(set(names)) == len(names)
    assert len(FAULTS) >= 60
    assert not [fault.name for fault in FAULTS if any(fate.kept for fate in fault.fates.values())]


def test_no_cell_is_wrong(
    outcome: Outcome, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {f"{cell.fault.name} x {cell.vendor}": found for cell in GRID if (found := outcome.wrong(cell))}
    with capsys.disabled():
        print(_count_line(len(wrong)))
    assert not wrong, "\n".join(f"{name}: {'; '.join(found)}" for name, found in wrong.items())


def _count_line(wrong: int) -> str:
    COUNTED[str(len(COUNTED))] = wrong
    kinds, kept, modes = len(FAULTS), len(KEPT_FAULTS), len(COUNTED)
    grid = (kinds + kept) * len(VENDORS) * modes
    return (
        f"\nfault campaign: {kinds} faults and {kept} that an answer survives"
        f" x {len(VENDORS)} vendors x {modes} mode{'s' * (modes > 1)} = {grid} cells,"
        f" {sum(COUNTED.values())} wrong"
    )


def test_nothing_is_left_running(outcome: Outcome) -> None:
    assert list(outcome.left) == []


def test_the_run_as_a_whole_is_not_green(outcome: Outcome) -> None:
    assert outcome.code == 1, outcome.output[-3000:]
    assert outcome.report["verdict"]["outcome"] == "INCOMPLETE"
    green = {cell.folder for cell in GRID if cell.fate.kept}
    folders = outcome.report["verdict"]["folders"]
    assert {name for name, verdict in folders.items() if verdict == "PASS"} == green


def test_every_planned_unit_has_one_result(outcome: Outcome) -> None:
    planned = [unit["id"] for unit in outcome.report["units"]]
    assert len(planned) == 2 * len(GRID)
    assert sorted(outcome.recorded) == sorted(planned)
    assert {unit["status"] for unit in outcome.report["units"]} == {"valid", "broken", "failed"}


def test_a_wrong_outcome_would_be_seen(outcome: Outcome) -> None:
    found = {fault.name: fault for fault in (*FAULTS, *KEPT_FAULTS)}
    cut, once = found["cut"], found["busy-once"]
    assert outcome.wrong(Cell(cut, "codex")) == []
    swapped = (
        replace(cut, fates=found["prose"].fates),
        replace(cut, fates=once.fates),
        replace(cut, raw=b"never written"),
        replace(cut, name="hang"),
        replace(once, fates=found["at-capacity"].fates),
    )
    assert [fault for fault in swapped if not outcome.wrong(Cell(fault, "codex"))] == []


def test_a_survivor_would_be_seen(tmp_path: Path) -> None:
    tag = f"PRUN_DISPATCH={tmp_path.name}"
    env = {"PRUN_DISPATCH": f"{tmp_path.name}/unit/1"}
    with subprocess.Popen(["/bin/sleep", "60"], env=env, start_new_session=True) as process:
        seen = survivors("no such mark", tag)
        process.kill()
    assert [line.split()[0] for line in seen] == [str(process.pid)]
    assert survivors("no such mark", tag) == []
