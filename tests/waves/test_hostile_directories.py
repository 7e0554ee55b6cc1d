"""Directories of waves, their logs and stored runs that are made to be read wrong: every verb that only looks
ends with an exit status of its own, waits for nothing, shows nothing of elsewhere and prints no escapes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from prun_review.wavelogs import Logs
from tests.cli.driver import call
from tests.repokit import git
from tests.waves.manifestkit import sound, written

D = "parallel/TS-0007-library"
SECRET = "what lies elsewhere"
LOOKING = (("validate", D), ("validate", D, "--json"), ("status", D), ("logs", D), ("logs", D, "task-001"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    written(tmp_path / D, sound())
    (tmp_path / "pyproject.toml").write_text("[tool.prun_review]\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/task-001-books.log").write_text(SECRET)
    git(tmp_path, "init", "-q")
    return tmp_path


def text(name: str, content: bytes) -> Callable[[Path], None]:
    def make(place: Path) -> None:
        (place / name).parent.mkdir(exist_ok=True, parents=True)
        (place / name).write_bytes(content)

    return make


def link(name: str, target: str) -> Callable[[Path], None]:
    def make(place: Path) -> None:
        (place / name).parent.mkdir(exist_ok=True, parents=True)
        (place / name).unlink(missing_ok=True)
        (place / name).symlink_to(place / target)

    return make


def pipe(name: str) -> Callable[[Path], None]:
    def make(place: Path) -> None:
        (place / name).parent.mkdir(exist_ok=True, parents=True)
        (place / name).unlink(missing_ok=True)
        os.mkfifo(place / name)

    return make


def endless(name: str) -> Callable[[Path], None]:
    def make(place: Path) -> None:
        (place / name).parent.mkdir(exist_ok=True, parents=True)
        with open(place / name, "wb") as file:
            file.truncate(1 << 36)

    return make


RUN = "../../.prun/runs/20260101T000000Z-abcd"
TASK, LOG = "tasks/task-001-books.md", "logs/task-001-books.log"
SPOILED = {
    "a key with NUL": text("manifest.json", b'{"tech_spec_id": "x", "a\0b": 1, "waves": []}'),
    "a giant number": text("manifest.json", b'{"a": ' + b"1" * 5000 + b", }"),
    "deep": text("manifest.json", b"[" * 100_000),
    "escapes": text("manifest.json", json.dumps({"tech_spec_id": "\x1b]0;x\x07", "\x9b31m": [1]}).encode()),
    "no numbers": text("manifest.json", b'{"tech_spec_id": NaN, "waves": [{"number": -Infinity}]}'),
    "half characters": text("manifest.json", b'{"tech_spec_id": "\\ud800", "\\udfff": "\xed\xa0\x80"}'),
    "a manifest elsewhere": link("manifest.json", "../../elsewhere/task-001-books.log"),
    "a task elsewhere": link(TASK, "../../elsewhere/task-001-books.log"),
    "a link to itself": link("loop", "loop"),
    "a manifest to wait for": pipe("manifest.json"),
    "a task to wait for": pipe(TASK),
    "a log to wait for": pipe(LOG),
    "a run to wait for": pipe(f"{RUN}/waves.json"),
    "an endless manifest": endless("manifest.json"),
    "an endless log": endless(LOG),
    "an endless run": endless(f"{RUN}/waves.json"),
    "a run of lists": text(f"{RUN}/waves.json", b"[" * 100_000),
    "a run of nothing": text(f"{RUN}/waves.json", json.dumps({"directory": D, "tasks": "\x1b[31m"}).encode()),
    "a log elsewhere": link(LOG, "../../elsewhere/task-001-books.log"),
    "logs elsewhere": link("logs", "../../elsewhere"),
    "a log with escapes": text(LOG, b"\x1b]0;x\x07\x1b[31mred\r\x08\xff\xc2\x9b31m\n"),
    "tags": text(TASK, b"---\nid: !!python/object/apply:os.system ['touch executed']\n---\n"),
    "aliases": text(TASK, b"---\na: &a [x, x]\nid: [*a, *a]\n---\n"),
    "deep YAML": text(TASK, b"---\nid: " + b"[" * 50_000 + b"\n---\n"),
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=list(SPOILED))
def test_looking_is_safe(project: Path, spoil: Callable[[Path], None]) -> None:
    spoil(project / D)
    before = sorted(os.walk(project))
    for words in LOOKING:
        status, out, err = call(*words, cwd=project)
        assert status in (0, 1, 2), (words, err)
        assert SECRET not in out + err, words
        assert not {"\x1b", "\x07", "\x08", "\x9b"} & {*out, *err}, words
    assert sorted(os.walk(project)) == before


@pytest.mark.parametrize("name", ["logs", "logs/deeper"])
def test_logs_are_written_nowhere_else(project: Path, name: str) -> None:
    from prun_review.tasks import Outcome

    place = project / D
    (place / "logs").symlink_to(project / "elsewhere") if name == "logs" else (place / "logs").mkdir()
    told: list[str] = []
    logs = Logs(place, (), told.append)
    logs.note("task-001-books", Outcome("task-001-books"))
    assert (project / "elsewhere/task-001-books.log").read_text() == SECRET
    assert bool(told) == (name == "logs")
