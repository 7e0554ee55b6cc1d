"""The second wave of a review of a change: the diff of the file in question is shown, either side proves."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.change.cases import GONE, UNCHECKED
from tests.change.kit import Scene
from tests.plugin.conftest import ASKED, EXAMINES, opinion


class Examining(Scene):
    """Whose vendors examine findings of each other."""

    def table(self, config: str = "", further: str = "") -> str:
        return super().table(config, further).replace('type = "command"', f'type = "command"\n{EXAMINES}')


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A change that takes a check away, beside one that only says hello."""
    made = Examining(tmp_path / "s")
    made.commit({"src/auth.py": UNCHECKED, "docs/guide.md": "# Guide\n\nHello.\n"})
    return made


def answered(scene: Scene, **changes: Any) -> None:
    """``left`` tells of the check, ``right`` of nothing; and what ``right`` says of it when asked."""
    proof = {"file": GONE["file"], "line": GONE["line"], "quote": GONE["quote"], "side": "old", **changes}
    told = opinion("confirm", examined=["src/auth.py"], **proof)
    scene.answers({"when": ASKED, "raw": json.dumps(told)}, {"of": "left", "findings": [GONE]}, {})


@pytest.mark.parametrize(
    ("changes", "kind", "examined"),
    [
        ({}, "consensus", "confirmed"),
        ({"side": None}, "consensus", "confirmed"),
        ({"side": "new", "line": 12, "quote": "return load(user)"}, "consensus", "confirmed"),
        ({"quote": "if request.token is None:"}, "single", "unresolved"),
        ({"file": "src/gone.py"}, "single", "unresolved"),
    ],
    ids=["what is gone", "no side", "what stayed", "what never was", "no such file"],
)
def test_the_proof_stands_on_either_side(
    scene: Scene, changes: dict[str, Any], kind: str, examined: str
) -> None:
    answered(scene, **changes)
    done = scene.review()
    [found] = scene.report.document["findings"]
    assert (found["class"], found["examined"]) == (kind, examined), done.output
    assert (done.code, scene.report.outcome) == (1, "FAIL" if examined == "confirmed" else "INCOMPLETE")
    assert scene.cli("gate").code == 1


def test_the_diff_of_the_file_in_question_is_shown_and_the_rest_lies_beside(scene: Scene) -> None:
    answered(scene)
    scene.review()
    [asked] = [call for call in scene.calls if ASKED in call["prompt"]]
    assert asked["name"] == "right"
    [diff] = re.findall(r"<<< DIFF (\w+)\n(.*?)\n>>> DIFF \1", asked["prompt"], re.DOTALL)
    assert 'if not request.get("token"):' in diff[1]
    assert "Hello." not in asked["prompt"]
    assert "Hello." in asked["beside"]["CHANGE.diff"]
    [run] = (scene.path / ".prun/runs").iterdir()
    sent = {row["executor"]: row for row in json.loads((run / "egress.json").read_text())["executors"]}
    shown = {name: {f["path"]: f["units"] for f in row["inlined"]} for name, row in sent.items()}
    assert shown == {
        "left": {"docs/guide.md": 1, "src/auth.py": 1},
        "right": {"docs/guide.md": 1, "src/auth.py": 2},
    }


def test_a_push_asks_again_and_a_second_run_does_not(scene: Scene) -> None:
    """What settled it may stand in any file, so an answer is taken over for the same two trees only."""
    answered(scene)
    scene.review()
    before = len(scene.calls)
    scene.review("--prun-resume")
    assert len(scene.calls) == before
    scene.commit({"docs/guide.md": "# Guide\n\nGood day.\n"})
    scene.review("--prun-resume")
    again = [call["prompt"] for call in scene.calls[before:]]
    assert [ASKED in prompt for prompt in again].count(True) == 1
    assert len(again) == 3, "the case is about both files"
    assert scene.report.outcome == "FAIL"
