"""A directory of every shape that manifests have had runs to its end, by the command of old."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from prun_review.cli import cpo
from prun_review.runwaves import settings
from tests.cli.driver import inside
from tests.repokit import cache_home
from tests.waves.wavekit import DIR, T, project, states

PYTHON = "from pathlib import Path; print(Path('task-001.txt').read_text(), 'wave one is whole')"


def waves(*wanted: str, **more: Any) -> list[dict[str, Any]]:
    """Two waves of one task each, by their short ids, with the same further keys."""
    ids = wanted or ("task-001", "task-002")
    return [
        {"number": n, "tasks": [{"id": i, "agent": "shop:hand-expert", **more}]} for n, i in enumerate(ids, 1)
    ]


A: dict[str, Any] = {
    "tech_spec_id": "TS-0009",
    "waves": [
        {**wave, "validation": f"test -s task-00{n}.txt"}
        for n, wave in enumerate(waves("task-001-part", "task-002-part"), 1)
    ],
}
for number, each in enumerate(A["waves"], 1):
    each["tasks"][0]["prompt_file"] = f"prompts/task-00{number}.txt"
B = {
    **{"tech_spec_id": "TS-0009", "name": "shop", "technology": "python", "python_version": "3.11"},
    "dependencies": {
        "python": {"add": ["nothing-of-that-name==1"], "upgrade": [], "remove": [], "add_dev": []}
    },
    "waves": [{**waves()[0], "validation": PYTHON}, waves()[1]],
    "metadata": {"total_tasks": 2, "max_parallel": 1, "critical_path": ["task-001", "task-002"]},
}
B2 = {**B, "metadata": {"total_tasks": 3, "max_parallel": 9, "critical_path": ["task-001", "task-003"]}}
C = {
    **{"tech_spec_id": "TS-0009", "name": "shop", "technology": "python", "waves": waves(component="part")},
    "metadata": {
        "created_at": "2025-01-01T00:00:00Z",
        "sources": {"prd": "docs/prd.md", "tech_spec": "ts.md"},
    },
}
D = {
    **{"version": "1.0.0", "created_at": "2025-01-01T00:00:00Z", "technology": "python"},
    "tech_spec": {"id": "TS-0009", "title": "shop", "path": "ts.md", "status": "APPROVED"},
    "sources": {"prd": "docs/prd.md", "tech_spec": "ts.md"},
    "command": {"name": "parallel-decompose", "args": {}, "invoked_at": "2025-01-01T00:00:00Z"},
    "tasks": {"total": 2, "waves": 2, "files": [f"tasks/task-00{n}-part.md" for n in (1, 2)]},
    "execution": {"status": "pending", "options": {"max_concurrent": 1}, "waves": [], "failed_tasks": []},
    "integration": {"status": "pending"},
}
VARIANTS = {"A": A, "B": B, "B2": B2, "C": C, "D": D, "none": None}


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with cache_home() as place:
        monkeypatch.setenv("XDG_CACHE_HOME", str(place))
        yield


@pytest.mark.parametrize("variant", VARIANTS)
def test_it_is_validated_and_run(tmp_path: Path, variant: str) -> None:
    made = project(tmp_path, T(1, 1), T(2, 2, [1]))
    value = VARIANTS[variant]
    if value is None:
        (made.directory / "manifest.json").unlink()
    else:
        (made.directory / "manifest.json").write_text(json.dumps(value, indent=1))
    if variant == "A":
        (made.directory / "prompts").mkdir()
        for n in (1, 2):
            told = f"TASK-00{n}: Part\n\n=== OBJECTIVE ===\nBy hand.\n\ntouch .claude-task-complete\n"
            (made.directory / f"prompts/task-00{n}.txt").write_text(told)
    out = io.StringIO()
    with inside(made.root), redirect_stdout(out), redirect_stderr(io.StringIO()):
        assert cpo.main(["validate", f"{DIR}/"]) == 0
    assert out.getvalue().count("[wrong-count]") == 2 * (variant == "B2")
    document = made.done()
    assert states(document) == {"001": "succeeded:ok", "002": "succeeded:ok"}
    assert document["status"] == "completed"
    assert document["manifest"]["variant"] == variant[0].replace("n", "none")
    said = [wave["validation"] and wave["validation"]["said"] for wave in document["waves"]]
    assert said == {"A": ["", ""], "B": ["task-001\n wave one is whole", None]}.get(variant[0], [None, None])
    by_hand = ["By hand." in path.read_text() for path in made.scripts.glob("*.prompt")]
    assert by_hand == [variant == "A"] * 2


@pytest.mark.parametrize("configured", [True, False])
@pytest.mark.parametrize(
    ("here", "named"),
    [
        (".", DIR),
        ("..", f"shop/{DIR}"),
        ("src", f"../{DIR}/"),
        ("parallel", "TS-0009-shop"),
        (DIR, "."),
        (f"{DIR}/tasks", "../tasks"),
        (f"{DIR}/tasks", "../manifest.json"),
    ],
)
def test_the_project_of_a_directory_is_the_same_from_everywhere(
    tmp_path: Path, configured: bool, here: str, named: str
) -> None:
    """Scopes of tasks are relative to it, whatever folder somebody stands in."""
    root = project(tmp_path, T(1, 1)).root
    if not configured:
        (root / "pyproject.toml").write_text('[project]\nname = "shop"\n')
    with inside(root / here):
        assert settings(Path(named), {})[0].resolve() == root.resolve()


def test_a_project_within_a_repository_is_where_somebody_stands(tmp_path: Path) -> None:
    root = project(tmp_path, T(1, 1), files={f"web/{DIR}/tasks/task-001.md": "# task-001: x\n"}).root
    (root / "pyproject.toml").unlink()
    for here in (root, root / "web"):
        with inside(here):
            assert settings(root / "web" / DIR, {})[0].resolve() == here.resolve()
