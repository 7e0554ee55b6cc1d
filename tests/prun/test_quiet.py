"""A file is quiet by its time of change only while that fits what was seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from prun_review.prun import quiet
from prun_review.prun.quiet import Quiet


class Clocks:
    """A wall clock and a monotonic one that the test moves."""

    def __init__(self) -> None:
        self.wall, self.steady = 1_000_000.0, 50.0

    def time(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.steady

    def pass_(self, seconds: float, *, jump: float = 0.0) -> None:
        self.wall += seconds + jump
        self.steady += seconds


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    made = Clocks()
    monkeypatch.setattr(quiet, "time", made)
    return made


def info(path: Path, mtime: float, text: str = "x") -> os.stat_result:
    path.write_text(text)
    os.utime(path, (mtime, mtime))
    return path.stat()


def test_an_old_file_is_quiet_at_once_and_a_new_one_after_the_window(tmp_path: Path, clocks: Clocks) -> None:
    look = Quiet()
    assert look.quiet(tmp_path / "a", info(tmp_path / "a", clocks.wall - 10), 10)
    fresh = info(tmp_path / "b", clocks.wall)
    assert not look.quiet(tmp_path / "b", fresh, 10)
    clocks.pass_(9)
    assert not look.quiet(tmp_path / "b", fresh, 10)
    clocks.pass_(1)
    assert look.quiet(tmp_path / "b", fresh, 10)


def test_a_time_of_change_in_the_future_is_waited_out_by_watching(tmp_path: Path, clocks: Clocks) -> None:
    look, future = Quiet(), info(tmp_path / "a", clocks.wall + 86_400)
    assert not look.quiet(tmp_path / "a", future, 10)
    clocks.pass_(10)
    assert look.quiet(tmp_path / "a", future, 10)


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_a_clock_that_jumps_makes_nothing_quiet_or_loud(tmp_path: Path, clocks: Clocks, jump: float) -> None:
    look, fresh = Quiet(), info(tmp_path / "a", clocks.wall)
    assert not look.quiet(tmp_path / "a", fresh, 10)
    clocks.pass_(5, jump=jump)
    assert not look.quiet(tmp_path / "a", fresh, 10)
    clocks.pass_(5)
    assert look.quiet(tmp_path / "a", fresh, 10)


def test_a_file_server_whose_clock_is_behind_is_not_believed(tmp_path: Path, clocks: Clocks) -> None:
    look, path = Quiet(), tmp_path / "a"
    look.absent(path)
    for text in ("x", "xx", "xxx"):  # written under our eyes, with a time of change of an hour ago
        clocks.pass_(5)
        assert not look.quiet(path, info(path, clocks.wall - 3600, text), 10)
    clocks.pass_(10)
    assert look.quiet(path, path.stat(), 10)


def test_a_window_of_nothing_is_over_at_once(tmp_path: Path, clocks: Clocks) -> None:
    assert Quiet().quiet(tmp_path / "a", info(tmp_path / "a", clocks.wall + 99), 0)
