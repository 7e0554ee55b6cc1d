"""When a command line means a directory of waves, and what is refused before anything is read of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from prun_review.plugin import wavescope
from tests.plugin.waving import SCOPE, Waving, commit, waving
from tests.waves.wavekit import DIR, T, project

WAVES = '{"tech_spec_id": "TS-1", "waves": []}'
TASK = "---\nid: task-001\n---\n"


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Waving]:
    """One task."""
    with waving(project(tmp_path, T(1, 1, scope=SCOPE.format(n=1)))) as pytest_in:
        yield pytest_in


def laid(folder: Path, *files: tuple[str, str]) -> Path:
    """The files below a folder."""
    for name, text in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("files", "held"),
    [
        ([("manifest.json", WAVES)], True),
        ([("manifest.json", WAVES[:-3])], True),
        ([("manifest.json", '{"tasks": {"files": []}}'), ("tasks/task-001.md", "x")], True),
        ([("manifest.json", '{"short_name": "Shop", "icons": []}')], False),
        ([("manifest.json", '{"tasks": []}')], False),
        ([("tasks/task-001-users.md", "# Users")], True),
        ([("tasks/users.md", TASK)], True),
        ([("tasks/users.md", "# Users")], False),
        ([("tasks/__init__.py", "")], False),
        ([("tasks/task-001.py", "")], False),
        ([], False),
    ],
)
def test_what_a_directory_of_waves_is(tmp_path: Path, files: list[tuple[str, str]], held: bool) -> None:
    assert wavescope.holds_waves(laid(tmp_path, *files)) is held


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [
        (["p/a"], None),
        (["p/a/"], None),
        (["p/a/tasks"], None),
        (["p/a/manifest.json"], None),
        (["link"], None),
        (["p/a", "p/a::task-001"], None),
        (["p/a::task-001", "p/a"], None),
        (["p/a::task-001", "link::task-002"], {"task-001", "task-002"}),
        (["tests", "p/a::task-001"], {"task-001"}),
    ],
)
def test_what_names_it(tmp_path: Path, typed: list[str], chosen: set[str] | None) -> None:
    laid(tmp_path, ("p/a/manifest.json", WAVES), ("p/a/tasks/task-001.md", TASK), ("tests/x.py", ""))
    os.symlink(tmp_path / "p/a", tmp_path / "link")
    waves = wavescope.named(tmp_path, typed, with_panels=False)
    assert waves
    assert waves.real == (tmp_path / "p/a").resolve()
    assert waves.chosen == chosen
    assert wavescope.received(waves.sent()) == waves


@pytest.mark.parametrize("typed", [[], ["p"], ["."], ["tests"], ["p/a/tasks/task-001.md"], ["gone"], ["own"]])
def test_what_names_none(tmp_path: Path, typed: list[str]) -> None:
    laid(tmp_path, ("p/a/tasks/task-001.md", TASK), ("tests/x.py", ""))
    laid(tmp_path / "own", ("tasks/task-001.md", TASK), ("pyproject.toml", ""))
    assert wavescope.named(tmp_path, typed, with_panels=False) is None


@pytest.mark.parametrize(
    ("covered", "told"),
    [
        (".", "2 directories of waves not run: pytest parallel/a ..."),
        ("parallel", "2 directories of waves not run: pytest parallel/a ..."),
        ("other", "1 directory of waves not run: pytest other/parallel/c"),
        ("own", "1 directory of waves not run: prun-review run own"),
        ("tests", ""),
    ],
)
def test_the_word_for_what_was_not_run(tmp_path: Path, covered: str, told: str) -> None:
    laid(tmp_path, ("parallel/a/manifest.json", WAVES), ("parallel/b/tasks/task-1.md", TASK))
    laid(tmp_path, ("parallel/d/x.py", ""), ("other/parallel/c/manifest.json", WAVES), ("tests/x.py", ""))
    laid(tmp_path / "own", ("manifest.json", WAVES), ("pyproject.toml", ""))
    assert wavescope.hint(tmp_path, [tmp_path / covered]) == told


@pytest.mark.parametrize(
    ("arguments", "ini"),
    [((), ""), ((".",), ""), (("parallel",), ""), ((), f'testpaths = ["{DIR}"]'), ((), f'addopts = "{DIR}"')],
)
def test_a_bare_run_starts_nothing_and_says_so(one: Waving, arguments: tuple[str, ...], ini: str) -> None:
    path = one.made.root / "pyproject.toml"
    path.write_text(f"{path.read_text()}\n[tool.pytest.ini_options]\n{ini}\n")
    commit(one.made, {"parallel/test_it.py": "def test_it():\n    pass\n"})
    ran = one.run(*arguments)
    assert one.asked() == []
    assert f"1 directory of waves not run: pytest {DIR}\n" in ran.out
    assert "::task-001" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("panels", DIR), f"panels beside a directory of waves: {DIR}\n  remedy: run pytest once for each"),
        ((DIR, "parallel/two"), f"several directories of waves: {DIR}, parallel/two\n  remedy: "),
        (
            (DIR, "--prun-base", "HEAD", "--prun-repeat=2"),
            "--prun-base, --prun-repeat: only reviews have that",
        ),
        ((DIR, "--prun-executors", "hand,codex"), "--prun-executors names 2 executors"),
        ((DIR, "--prun-jobs", "0"), "jobs is 0"),
        ((DIR, "--sw"), "--sw"),
    ],
)
def test_what_does_not_go_together(one: Waving, arguments: tuple[str, ...], words: str) -> None:
    commit(
        one.made,
        {"panels/probe_x.py": "def probe_x(result):\n    'x'\n", "parallel/two/manifest.json": WAVES},
    )
    ran = one.run(*arguments)
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert words in ran.err
    assert (one.asked(), one.runs()) == ([], [])


@pytest.mark.parametrize(
    ("arguments", "config", "words"),
    [
        (("--prun-executors", "nobody"), "", "there is no executor 'nobody'"),
        ((), 'dispatch = "off"', "dispatch is off"),
    ],
)
def test_what_cannot_be_run_starts_nothing(
    one: Waving, arguments: tuple[str, ...], config: str, words: str
) -> None:
    path = one.made.root / "pyproject.toml"
    path.write_text(path.read_text().replace("[tool.prun_review]", f"[tool.prun_review]\n{config}", 1))
    ran = one.run(DIR, *arguments)
    assert ran.code == pytest.ExitCode.USAGE_ERROR
    assert words in ran.err
    assert one.asked() == []


def test_a_task_that_is_not_there_is_named(one: Waving) -> None:
    ran = one.run(f"{DIR}::task-002")
    assert f"{DIR} has no task task-002; there are: task-001-part" in ran.out
    assert ran.code not in (0, 5)
    assert one.asked() == []
