"""``run_waves`` and ``run_panels``: what programs call, and what they get where there is nothing to get."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import prun_review
from prun_review import run_panels, run_waves, rundir, wavedocument
from prun_review.errors import ConfigError, InternalError, PlanError, RunDirError
from prun_review.rundir import RunView
from tests.repokit import cache_home, repository
from tests.waves.wavekit import T, project, states

ENV = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
ANSWER = {
    **{"conclusion": "read", "files": "src/a.py", "open_items": "none", "verification": "read"},
    **{"verdict": "approve", "examined": ["src/a.py"], "findings": []},
}
TABLE = """\
[tool.prun_review.executor.{name}]
type = "command"
vendor = "{name}"
lineage = "{name}"
argv = [{argv}]
"""


@pytest.fixture(autouse=True)
def env(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    with cache_home() as place:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        yield {**ENV, "XDG_CACHE_HOME": str(place)}


def panels(tmp: Path, probe: str) -> Path:
    """A project with a probe and two reviewers that approve."""
    (tmp / "approve.py").write_text(f"import sys, json\nsys.stdin.read()\nprint(json.dumps({ANSWER!r}))\n")
    argv = ", ".join(json.dumps(word) for word in (sys.executable, str(tmp / "approve.py")))
    tables = "".join(TABLE.format(name=name, argv=argv) for name in ("left", "right"))
    head = '[tool.prun_review]\nexecutors = ["left", "right"]\nreport = ["markdown"]\n'
    files = {"pyproject.toml": head + tables, "src/a.py": "one\n", "panels/probe_a.py": probe}
    return repository(tmp / "project", {**files, ".gitignore": "reports/\n__pycache__/\n"})


PROBE = "def probe_a(result):\n    '''What is wrong with src/a.py?'''\n"


def test_the_names_are_public_and_cost_nothing_before_they_are_used() -> None:
    assert {"run_waves", "run_panels"} <= set(prun_review.__all__)


# --- waves ------------------------------------------------------------------------------------


def test_the_document_of_a_run_of_waves(tmp_path: Path, env: Mapping[str, str]) -> None:
    made = project(tmp_path, T(1, 1), T(2, 2, [1], script="exit 1"))
    first = run_waves(made.directory, root=made.root, env=env, jobs=1)
    assert states(first) == {"001": "succeeded:ok", "002": "failed:unknown"}
    assert (first["status"], wavedocument.validate(first)) == ("failed", [])
    made.script(2, "touch .claude-task-complete")
    second = run_waves(made.directory, root=made.root, env=env, resume=True)
    assert second["status"] == "completed"
    assert [RunView(path).waves() for path in rundir.stored(made.root)] == [second, first]


def test_a_program_ends_a_run_of_waves(tmp_path: Path, env: Mapping[str, str]) -> None:
    made = project(tmp_path, T(1, 1, script="touch begun; sleep 60"), T(2, 2))

    def stop() -> str:
        return "enough" if (made.scripts / "task-001.prompt").exists() else ""

    document = run_waves(made.directory, root=made.root, env=env, stop=stop)
    assert (document["status"], document["stopped"]) == ("stopped", "enough")
    assert states(document) == {"001": "failed:cancelled", "002": "not-run:stopped"}


def test_what_cannot_be_run_is_an_error_and_no_document(tmp_path: Path, env: Mapping[str, str]) -> None:
    made = project(tmp_path, T(1, 1, deps=[9]))
    with pytest.raises(ConfigError, match="task-009"):
        run_waves(made.directory, root=made.root, env=env)
    with pytest.raises(ConfigError, match="jobs is 0"):
        run_waves(made.directory, root=made.root, env=env, jobs=0)
    with pytest.raises(ConfigError, match="isolation is 'none'"):
        run_waves(made.directory, root=made.root, env=env, isolation="none")
    with pytest.raises(ConfigError, match="no such directory"):
        run_waves(made.root / "parallel/none", root=made.root, env=env)


def test_a_run_of_waves_is_no_latest_review(tmp_path: Path, env: Mapping[str, str]) -> None:
    made = project(tmp_path, T(1, 1))
    run_waves(made.directory, root=made.root, env=env)
    with pytest.raises(RunDirError, match="there is no run yet"):
        rundir.latest(made.root)


# --- panels -----------------------------------------------------------------------------------


def test_the_document_of_a_review(tmp_path: Path, env: Mapping[str, str]) -> None:
    root = panels(tmp_path, PROBE)
    document = run_panels(["panels/"], root=root, env=env)
    assert document["verdict"]["outcome"] == "PASS"
    [path] = rundir.stored(root)
    assert RunView(path).vouched_document() == document
    assert (root / "reports/latest/report.md").is_file()  # what the project configures is written too
    document = run_panels(["panels/probe_a.py"], root=root, env=env, executors=["left"])
    assert document["verdict"]["outcome"] == "INCOMPLETE"  # one voice is no consensus
    assert [u["executor"] for u in document["units"]] == ["left"]


def test_a_review_of_a_change_knows_its_authors(tmp_path: Path, env: Mapping[str, str]) -> None:
    root = panels(tmp_path, "from prun_review import brief\n@brief(scope='diff')\n" + PROBE)
    (root / "src/a.py").write_text("two\n")
    document = run_panels(["panels/"], root=root, env=env, base="HEAD", authors=["left"])
    assert document["facts"]["authors"] == ["left"]
    assert document["facts"]["revision"]["base"]


@pytest.mark.parametrize(
    ("probe", "error", "told"),
    [
        ("import nothing_of_that_name\n" + PROBE, PlanError, "nothing_of_that_name"),
        ("import os\nos._exit(7)\n", InternalError, "exit status 7"),
        ("", PlanError, "no document"),
    ],
)
def test_a_review_that_comes_to_no_document_is_an_error(
    tmp_path: Path, env: Mapping[str, str], probe: str, error: type[Exception], told: str
) -> None:
    root = panels(tmp_path, probe)
    with pytest.raises(error, match=told):
        run_panels(["panels/"], root=root, env=env)


def test_a_review_that_is_ended_is_an_error(tmp_path: Path, env: Mapping[str, str]) -> None:
    root = panels(tmp_path, PROBE)
    (tmp_path / "approve.py").write_text("import time, pathlib\npathlib.Path('/dev/null')\ntime.sleep(60)\n")

    def stop() -> str:
        return "enough" if next(root.glob(".prun/runs/*/units/*/1/dispatch-pid"), None) else ""

    with pytest.raises(PlanError, match=r"no document \(enough\)"):
        run_panels(["panels/"], root=root, env=env, stop=stop)
    [path] = rundir.stored(root)
    assert not RunView(path).dispatcher_alive()


def test_no_panel_is_no_review(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no panel is named"):
        run_panels([], root=tmp_path)
