"""The command line around the verbs: usage errors, interrupts, broken pipes, our own bugs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from prun_review.cli import VERBS, main
from tests.cli.driver import call, prun_review, surroundings


def test_help_names_every_verb(tmp_path: Path) -> None:
    done = prun_review("--help", cwd=tmp_path)
    assert done.returncode == 0
    assert all(verb in done.stdout for verb in VERBS)


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ((), "prun-review: the following arguments are required: VERB"),
        (("polish",), "prun-review: argument VERB: invalid choice: 'polish'"),
        (
            ("gate", "--jason"),
            "prun-review gate: unrecognized arguments: --jason\n  remedy: prun-review gate --help",
        ),
        (("crosscheck", "a.json"), "prun-review crosscheck: the following arguments are required: RIGHT"),
        (("gate", "no-such-run"), "prun-review gate: "),
        (
            ("report", "--format", "pdf"),
            "--format: unknown format 'pdf'\n  remedy: one of adr, json, markdown",
        ),
    ],
)
def test_usage_errors_exit_2_with_place_and_remedy(tmp_path: Path, args: tuple[str, ...], told: str) -> None:
    status, out, errors = call(*args, cwd=tmp_path)
    assert (status, out) == (2, "")
    assert told in errors
    assert "remedy: " in errors
    assert "Traceback" not in errors


def test_a_malformed_configuration_is_a_usage_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.prun_review]\njobs = 3\nexecutors = ["codex"\n')
    done = prun_review("doctor", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"prun-review doctor: {tmp_path}/pyproject.toml:" in done.stderr
    assert "not TOML" in done.stderr


def test_a_hostile_argument_is_inert_in_the_message(tmp_path: Path) -> None:
    done = prun_review("gate", "\x1b]0;t\x07\n::error::pwned", cwd=tmp_path)
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert "\n::" not in done.stderr


def test_traceback_is_shown_on_demand_on_either_side_of_the_verb(tmp_path: Path) -> None:
    for args in (("--traceback", "gate", "x"), ("gate", "x", "--traceback")):
        status, _, errors = call(*args, cwd=tmp_path)
        assert status == 2
        assert "Traceback (most recent call last)" in errors


def test_a_reader_that_went_away_is_no_bug(tmp_path: Path) -> None:
    (tmp_path / "empty.sarif").write_text('{"version": "2.1.0", "runs": []}')
    read, write = os.pipe()
    os.close(read)
    process = subprocess.Popen(
        [sys.executable, "-m", "prun_review", "crosscheck", "empty.sarif", "empty.sarif"],
        cwd=tmp_path,
        env=surroundings(tmp_path),
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (141, "")


def test_ctrl_c_is_130(tmp_path: Path) -> None:
    left = tmp_path / "left"
    os.mkfifo(left)
    process = subprocess.Popen(
        [sys.executable, "-m", "prun_review", "crosscheck", "left", "left"],
        cwd=tmp_path,
        env=surroundings(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # Opening for writing returns once the command has opened it for reading, and so waits in read.
    with left.open("wb"):
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (130, "", "prun-review: interrupted\n")


def test_our_own_bug_is_one_line_and_a_traceback_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # A directory in place of an importable verb: the command line itself is broken.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("prun_review.settings.load", lambda *_: 1 / 0)
    assert main(["doctor"]) == 3
    out, errors = capsys.readouterr()
    (written,) = tmp_path.glob("prun-review-*.traceback.txt")
    assert out == ""
    assert errors == (
        "prun-review: internal error, please report it: ZeroDivisionError: division by zero"
        f" (traceback: {written})\n"
    )
    assert "in read_settings" in written.read_text()
