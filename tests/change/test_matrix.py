"""Small repositories with real git, reviewed by stand-in vendors: placements, coverage, verdict, exit status.

The reviews run ahead of their tests, two at a time: alone each would wait for its processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

import pytest

from tests.change.cases import CASES, Case
from tests.change.kit import BASE, Done, Scene

MODES = {"n0": (), "n2": ("-n", "2")}
ROWS = [
    pytest.param(case, mode, id=f"{case.name} {mode}".replace(" ", "-").replace(",", ""))
    for case in CASES
    for mode in MODES
    if mode == "n0" or case.workers
]
Played = dict[tuple[str, str], "Future[tuple[Scene, Done]]"]


@pytest.fixture(scope="module")
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """Every review that a selected test wants."""

    def play(case: Case, mode: str, folder: str) -> tuple[Scene, Done]:
        scene = Scene(
            tmp_path_factory.getbasetemp() / "matrix" / folder,
            probe=case.probe,
            config=case.config,
            base={**BASE, **case.base},
        )
        return scene, case.play(scene, *MODES[mode])

    here = [i for i in request.session.items if isinstance(i, pytest.Function) and i.path == request.path]
    wanted = [cast(dict[str, Any], item.callspec.params) for item in here]
    with ThreadPoolExecutor(2) as pool:
        yield {
            (p["case"].name, p["mode"]): pool.submit(play, p["case"], p["mode"], str(n))
            for n, p in enumerate(wanted)
        }


@pytest.mark.parametrize(("case", "mode"), ROWS)
def test_change(played: Played, case: Case, mode: str) -> None:
    scene, done = played[case.name, mode].result()
    report = scene.report
    assert report.outcome == case.outcome, done.output
    assert done.code == (0 if case.outcome == "PASS" else 1), done.output
    assert report.codes() == case.codes
    assert report.placed == case.placed
    assert report.blocking == case.blocking
    if case.changed is not None:
        assert report.changed == case.changed
    assert f"VERDICT: {report.outcome}" in done.output
    case.further(scene, done)
