"""What is told of a panel that does not pass what a wave wrote."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prun_review.renderers import waveterminal
from tests.change.kit import defect
from tests.repokit import cache_home
from tests.waves.wavekit import DIR, T, project, states

FINDINGS = [
    defect("it says too much", "task-001.txt", 1, "task-001", severity="critical"),
]
ANSWER = {
    **{"conclusion": "read", "files": "task-001.txt", "open_items": "none", "verification": "read"},
    **{"verdict": "request-changes", "examined": ["task-001.txt"], "findings": FINDINGS},
}
TABLE = """
[tool.prun_review.executor.{name}]
type = "command"
vendor = "vendor-{name}"
lineage = "{name}"
argv = {argv}
"""


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with cache_home() as place:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        yield place


def test_what_blocks_is_told_with_its_place_and_the_report(tmp_path: Path) -> None:
    says = f"import sys\nsys.stdin.read()\nprint({json.dumps(ANSWER)!r})\n"
    (tmp_path / "says.py").write_text(says)
    argv = json.dumps([sys.executable, str(tmp_path / "says.py")])
    tables = "".join(TABLE.format(name=name, argv=argv) for name in ("left", "right"))
    probe = "def probe_a(result):\n    '''What is wrong with it?'''\n"
    made = project(
        tmp_path,
        T(1, 1),
        config=f'executors = ["left", "right"]\nreport = ["markdown"]\n{tables}',
        files={"panels/probe_a.py": probe, ".gitignore": f"{DIR}/logs/\nreports/\n__pycache__/\n"},
    )
    path = made.directory / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["waves"][0]["panel"] = ["panels/"]
    path.write_text(json.dumps(manifest))
    document = made.done()
    assert states(document) == {"001": "succeeded:ok"}
    [review] = document["waves"][0]["reviews"]
    assert (review["outcome"], document["waves"][0]["reason"]) == ("FAIL", "panel"), review
    assert review["findings"] == ["critical: task-001.txt:1: it says too much"]
    assert review["report"] == f"reports/{review['run']}/report.md"
    assert "it says too much" in (made.root / review["report"]).read_text()
    page = waveterminal.render(document)
    assert all(f"      {text}\n" in page for text in (*review["findings"], f"its report: {review['report']}"))
