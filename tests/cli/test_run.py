"""``prun-review run``: pytest on all panels, and its exit status; ``plan`` of a change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.change.cases import EVALUATED
from tests.change.kit import BASE, Content, Scene

PROBE = '''
from prun_review import brief

@brief(scope="diff", reads=["src/**"], max_diff=900)
def probe_change(result):
    """What does this change break?"""

@brief(scope="diff", reads=["web/**"])
def probe_web(result):
    """What does this change break in the browser?"""
'''


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A change of a line, of a long file, of a document and of a picture."""
    base = {**BASE, "web/x.js": "let x\n"}
    made = Scene(tmp_path / "s", probe=PROBE, config='gate.uncovered = ["LICENSE"]', base=base)
    long = "".join(f"LINE{n} = {n}\n" for n in range(99))
    more: Content = {"docs/new.md": "# New\n", "logo.png": b"\0\1", "LICENSE": "all mine\n"}
    made.commit({"src/auth.py": EVALUATED, "src/long.py": long, **more})
    made.both()
    return made


@pytest.mark.parametrize("folder", [".", "src"])
def test_it_runs_all_panels_and_ends_as_pytest_does(scene: Scene, folder: str) -> None:
    ignored = 'gate.uncovered = ["docs/**", "logo.png", "LICENSE"]'
    scene.git("checkout", "-q", "main")
    scene.commit({"pyproject.toml": scene.table(ignored)})
    options = ("--base", "main", "--head", "topic", "--executors", "left,right")
    report = scene.folder / "report.md"
    done = scene.cli("run", *options, f"--report=markdown:{report}", "--report=json", cwd=scene.path / folder)
    assert (done.code, scene.report.outcome) == (0, "PASS"), done.output
    assert report.read_text(encoding="utf-8")
    assert {call["name"] for call in scene.calls} == {"left", "right"}
    before = len(scene.calls)
    done = scene.cli("run", *options, "--", "-k", "probe_change and left", cwd=scene.path / folder)
    assert (done.code, scene.report.outcome) == (1, "INCOMPLETE"), done.output
    assert {call["name"] for call in scene.calls[before:]} == {"left"}


@pytest.mark.parametrize(
    ("args", "status", "told"),
    [
        (("src",), 2, "unknown argument 'src'"),
        (("--bse", "main"), 2, "--bse"),
        (("--base", "nowhere"), 4, "nowhere"),
        (("--base", "main", "--offline", "--executors", "left"), 4, "exclude each other"),
        (("--base", "main", "--report", "poem"), 4, "poem"),
        (("--base", "main", "--previous", "none"), 4, "none"),
        # Without a value it must not take the panels for one: nothing would be reviewed then.
        (("--base", "main", "--", "-k"), 4, "-k"),
        (("--base", "main", "--", "--no-such-option"), 4, "--no-such-option"),
        # Without the plugin there is no probe, and pytest says so.
        (("--base", "main", "--", "-p", "no:prun_review"), 5, "no tests ran"),
    ],
)
def test_what_it_does_not_know_is_refused(
    scene: Scene, args: tuple[str, ...], status: int, told: str
) -> None:
    done = scene.cli("run", *args)
    assert done.code == status, done.output
    assert told in done.output
    assert "Traceback" not in done.output
    assert scene.calls == []


def test_a_folder_without_panels_is_an_error(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "s")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = scene.cli("run", cwd=elsewhere)
    assert done.code == 2
    assert "there is no panels folder" in done.output


def test_plan_shows_parts_what_is_shown_of_them_and_what_nobody_looks_at(scene: Scene) -> None:
    (scene.path / "title.txt").write_text("A title\n", encoding="utf-8")
    done = scene.cli("plan", "--base", "main", "--about", "title.txt", "--prompts", "--executors", "left")
    assert done.code == 0, done.output
    lines = done.output.splitlines()
    cases = [line.split()[1].partition("::")[2] for line in lines if line.startswith("left  ")]
    assert cases == [f"probe_change[src/{name}.py-left]" for name in ("auth", "long")]
    assert "1 changed file, 1 in the prompt" in done.output
    assert "1 changed file (src/long.py), no diff in the prompt" in done.output
    assert "src/long.py: lines " in done.output
    assert done.output.count("    A title\n") == 2
    assert (
        "not asked  panels/probe_change.py::probe_web left: no file that matches web/** changed"
        in done.output
    )
    nobody = re.findall(r"^nobody is asked about (.*)$", done.output, re.M)
    assert nobody == ["docs/new.md", "logo.png (binary)"]
    assert scene.calls == []
    assert not (scene.path / ".prun").exists()
