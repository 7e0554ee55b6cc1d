"""What a manifest says of its project is checked before anything is run: panels, executors, files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prun_review import parallel
from prun_review.errors import ConfigError
from prun_review.wavebeginning import Selection
from tests.cli.driver import call
from tests.plugin.waving import SCOPE, waving
from tests.repokit import cache_home
from tests.waves.wavekit import DIR, Project, T, project

PROBES = {"panels/look/probe_it.py": "def probe_it():\n    pass\n", "panels/empty/notes.md": "none\n"}


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with cache_home() as place:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        yield


def task(number: int, wave: int = 1, scope: str = "", front: str = "") -> T:
    """One with a scope, so that nothing is said of that."""
    scope = f"## Scope\n{scope}" if scope else SCOPE.format(n=number)
    return T(number, wave, scope=scope, front=f"{front}\n" if front else "")


def panelled(tmp: Path, panel: Any) -> Project:
    """A project whose first wave has this panel."""
    made = project(tmp, task(1), files=PROBES)
    path = made.directory / "manifest.json"
    value = json.loads(path.read_text())
    value["waves"][0]["panel"] = panel
    path.write_text(json.dumps(value, indent=1))
    return made


def told(made: Project) -> tuple[int, list[str]]:
    """Exit status and problems of validate, each without its place."""
    status, out, _ = call("validate", DIR, cwd=made.root)
    return status, [line.split(": ", 1)[1] for line in out.splitlines() if "[" in line]


@pytest.mark.parametrize(
    "panel", [["panels/look"], "panels/look", "panels/look/probe_it.py", "panels/look/probe_it.py::probe_it"]
)
def test_a_panel_is_a_folder_a_file_or_a_node(tmp_path: Path, panel: Any) -> None:
    assert told(panelled(tmp_path, panel)) == (0, [])


def test_a_panel_that_is_not_there_is_an_error_everywhere_and_nothing_is_run(tmp_path: Path) -> None:
    made = panelled(
        tmp_path, ["panels/look", "panels/lok", "panels/lok/probe_it.py::probe_it", "panels/empty"]
    )
    why = [
        "error: [panel-missing] panel 'panels/lok': it is not there",
        "error: [panel-missing] panel 'panels/lok/probe_it.py::probe_it': it is not there",
        "error: [panel-missing] panel 'panels/empty': it holds no probe",
    ]
    assert told(made) == (1, why)
    with pytest.raises(ConfigError, match="'panels/lok': it is not there"):
        made.done()
    with waving(made) as inside:
        done = inside.run(DIR)
    assert done.code != 0
    assert "panel 'panels/lok': it is not there" in done.out
    assert not list(made.scripts.glob("*.prompt"))


def test_who_does_a_task_is_told_as_a_run_would_tell_it(tmp_path: Path) -> None:
    made = project(tmp_path, task(1, front="executor: nobody"), task(2, front="executor: ruff"), task(3))
    status, out, _ = call("validate", DIR, cwd=made.root)
    assert status == 1
    assert "error: [unknown-executor] task-001-part: there is no executor 'nobody'\n" in out
    assert "error: [unknown-executor] task-002-part: ruff does not write code\n" in out
    assert "task-003" not in out
    assert "hand" in out
    with pytest.raises(ConfigError, match="task-001-part: there is no executor 'nobody'"):
        made.done()


def test_who_is_configured_and_cannot_is_a_warning_and_another_may_be_chosen(tmp_path: Path) -> None:
    made = project(tmp_path, task(1), task(2))
    path = made.root / "pyproject.toml"
    path.write_text(path.read_text().replace('executor = "hand"', 'executor = "nobody"'))
    why = "warning: [unknown-executor] task-001-part: there is no executor 'nobody', and it is configured"
    assert told(made) == (0, [f"{why} for this task"])
    with pytest.raises(ConfigError, match="no executor 'nobody'") as refused:
        made.done()
    assert 'contracts = ["task"] in its table' in refused.value.remedy
    assert made.done(Selection(executor="hand"))["status"] == "completed"


def test_files_are_there_or_are_not(tmp_path: Path) -> None:
    made = project(
        tmp_path,
        task(
            1,
            scope="CREATE: src/new.py, src/shared.txt, parallel, pyproject.toml\nMODIFY: none.py, nor.py",
        ),
        task(2, scope="CREATE: lib/*.py\nMODIFY: src/later.py, src/*.x"),
        task(
            3, 2, scope="MODIFY: src/new.py, lib/a.py, src/shared.txt, lib, docs/no.md\nBOUNDARY: not/there"
        ),
    )
    assert told(made) == (
        0,
        [
            "warning: [scope-there] CREATE src/shared.txt: it is there already, so is 1 more of this task",
            "warning: [scope-missing] MODIFY none.py: it is not there, nor is 1 more of this task",
            "warning: [scope-missing] MODIFY src/later.py: it is not there",
            "warning: [scope-missing] MODIFY docs/no.md: it is not there",
        ],
    )


def test_what_a_task_without_scope_may_make_is_not_missed(tmp_path: Path) -> None:
    made = project(tmp_path, task(1), task(2, 2, scope="MODIFY: anything.py"))
    path = made.directory / "tasks/task-001-part.md"
    text = path.read_text()
    path.write_text(text[: text.index("## Scope")])
    status, problems = told(made)
    assert (status, [line[:19] for line in problems]) == (0, ["warning: [no-scope]"])


def test_no_word_of_an_agent_where_it_is_known_who_does_a_task(tmp_path: Path) -> None:
    made = project(tmp_path, task(1))
    path = made.directory / "tasks/task-001-part.md"
    path.write_text(path.read_text().replace("agent: hand-expert\n", ""))
    path = made.directory / "manifest.json"
    value = json.loads(path.read_text())
    del value["waves"][0]["tasks"][0]["agent"]
    path.write_text(json.dumps(value))
    assert told(made) == (0, [])
    found, problems = parallel.read(made.root, made.directory)
    assert found is not None
    assert [p.text for p in problems] == [
        "task 'task-001-part' names no agent, so whoever does the tasks of a project does it"
    ]
