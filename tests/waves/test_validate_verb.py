"""``prun-review validate``: text, JSON, exit statuses; nothing is executed."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from prun_review.contractparts import load_schema
from tests.cli.driver import call, prun_review
from tests.waves.manifestkit import BOOKS, LOANS, MANIFEST, line_of, sound, written

D = "parallel/TS-0007-library"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a sound directory."""
    written(tmp_path / D, sound())
    written(tmp_path, {"config/urls.py": "", "config/readers.py": ""})
    (tmp_path / "pyproject.toml").write_text("[tool.prun_review]\n")
    return tmp_path


def spoil(project: Path, name: str, old: str, new: str) -> None:
    path = project / D / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_a_sound_directory_is_0_with_one_line(project: Path) -> None:
    done = prun_review("validate", D, cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "0 errors, 0 warnings; 3 tasks in 2 waves of TS-0007, 3 prompts built\n"


def test_errors_are_1_each_with_file_line_and_code(project: Path) -> None:
    spoil(project, "tasks/task-003-loans.md", "deps: [task-001, ", "deps: [task-011, ")
    spoil(project, "tasks/task-001-books.md", "blocks: [task-003]\n", "")
    spoil(project, "manifest.json", '"tech_spec_id"', '"tech_spec_ids": 1, "tech_spec_id"')
    status, out, errors = call("validate", D, cwd=project)
    assert (status, errors) == (1, "")
    assert out.splitlines() == [
        f"{D}/manifest.json:2: warning: [unknown-key] the manifest: unknown key 'tech_spec_ids', "
        "which decides nothing",
        "  remedy: did you mean 'tech_spec_id'?",
        f"{D}/tasks/task-003-loans.md:{line_of(LOANS, 'deps:')}: error: [unknown-dependency] "
        "deps: there is no task 'task-011'",
        *[line for line in out.splitlines() if line.startswith("  remedy: did you mean 'task-0")],
        "1 error, 1 warning; 3 tasks in 2 waves of TS-0007, 3 prompts built",
    ]


def test_warnings_alone_are_0(project: Path) -> None:
    spoil(project, "tasks/task-003-loans.md", "agent: api-expert", "agent: api-guru")
    status, out, _ = call("validate", D, cwd=project)
    assert status == 0
    assert "0 errors, 1 warning" in out


@pytest.mark.parametrize("args", [("nowhere",), (), (D, "--jsn"), (D, D)])
def test_usage_errors_are_2(project: Path, args: tuple[str, ...]) -> None:
    status, out, errors = call("validate", *args, cwd=project)
    assert (status, out) == (2, "")
    assert "remedy:" in errors


def test_the_folder_of_tasks_may_be_named_as_old_documents_do(project: Path) -> None:
    status, out, _ = call("validate", f"{D}/tasks", cwd=project)
    assert (status, out[:8]) == (0, "0 errors")


def test_places_are_relative_to_the_working_directory(project: Path) -> None:
    spoil(project, "tasks/task-001-books.md", "wave: 1", "wave: 2")
    _, out, _ = call("validate", ".", cwd=project / D)
    assert out.startswith(f"tasks/task-001-books.md:{line_of(BOOKS, 'wave:')}: warning: [wave-differs]")


def test_a_directory_outside_any_project_can_be_looked_at(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    status, out, _ = call("validate", str(project / D), cwd=elsewhere)
    assert (status, out[:8]) == (0, "0 errors")


@pytest.mark.parametrize(
    ("change", "status"),
    [(None, 0), (("manifest.json", '"waves"', '"wave"'), 1), (("manifest.json", "{", "["), 1)],
)
def test_json_is_one_document_under_its_schema(
    project: Path, change: tuple[str, str, str] | None, status: int
) -> None:
    if change:
        spoil(project, *change)
    code, out, errors = call("validate", D, "--json", cwd=project)
    assert (code, errors) == (status, "")
    document = json.loads(out)
    schema = load_schema("validation")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    assert document["ok"] is (status == 0)
    assert document["errors"] == sum(p["level"] == "error" for p in document["problems"])
    assert document["directory"] == D


def test_json_of_nothing_is_under_the_schema_too(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, out, _ = call("validate", "empty", "--json", cwd=tmp_path)
    document = json.loads(out)
    jsonschema.validate(document, load_schema("validation"))
    assert (code, document["variant"], document["waves"]) == (1, None, [])
    assert [p["code"] for p in document["problems"]] == ["no-tasks"]
    assert call("validate", "empty", cwd=tmp_path)[1].endswith("1 error, 0 warnings; nothing to run\n")


def test_nothing_that_the_directory_names_is_executed(project: Path) -> None:
    trap = project / "trap"
    value = json.loads(json.dumps(MANIFEST))
    value["dependencies"] = {"python": {"add": [f"evil @ file://{project}/evil"]}}
    value["waves"][0]["validation"] = f"touch {trap}"
    value["waves"][1]["validation"] = f"open({str(trap)!r}, 'w')"
    value["waves"][1]["tasks"][0]["verify"] = [f"touch {trap}"]
    (project / D / "manifest.json").write_text(json.dumps(value))
    written(
        project / D,
        {"contracts/types.py": f"open({str(trap)!r}, 'w')", "conftest.py": f"open({str(trap)!r}, 'w')"},
    )
    spoil(
        project,
        "tasks/task-001-books.md",
        "deps: []",
        f"deps: !!python/object/apply:os.system ['touch {trap}']",
    )
    done = prun_review("validate", D, cwd=project)
    assert done.returncode == 1
    assert "[yaml-tag]" in done.stdout
    assert not trap.exists()
    assert not (project / ".prun").exists()


def test_foreign_text_is_inert(project: Path) -> None:
    spoil(project, "manifest.json", '"api-expert"', '"\\u001b[31m::error::x"')
    _, out, _ = call("validate", D, cwd=project)
    assert "\x1b" not in out
    assert "unknown-agent" in out
    _, out, _ = call("validate", D, "--json", cwd=project)
    assert "\x1b" not in out


def test_a_folder_that_is_no_directory_of_waves_is_told_as_such(project: Path) -> None:
    (project / "panels").mkdir()
    status, out, _ = call("validate", "panels", cwd=project)
    assert (status, out.splitlines()[0]) == (
        1,
        "panels: error: [no-tasks] there is neither manifest.json nor tasks/ with task files in panels",
    )


def test_a_prompt_without_its_task_file_is_not_counted_as_built(project: Path) -> None:
    (project / D / "tasks/task-002-readers.md").unlink()
    status, out, _ = call("validate", D, cwd=project)
    assert (status, out.splitlines()[-1][-16:]) == (1, " 2 prompts built")
