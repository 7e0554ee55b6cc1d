"""Directories on disk: what is read, what is refused, and that nothing leads out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from prun_review import parallel
from prun_review.errors import ConfigError
from tests.waves.manifestkit import BOOKS, SECTIONS, codes, prompt, read, sound, written


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A sound directory below a trusted root."""
    return written(tmp_path / "parallel/TS-0007-library", sound())


@pytest.mark.parametrize("what", [".", "tasks", "tasks/", "manifest.json"])
def test_a_directory_is_meant_by_its_parts_too(tmp_path: Path, place: Path, what: str) -> None:
    opened = parallel.open_directory(tmp_path, place / what)
    assert (opened.path, opened.place) == ("parallel/TS-0007-library", place.resolve())
    found, problems = parallel.read(tmp_path, place / what)
    assert problems == ()
    assert found is not None
    assert (found, ()) == read(sound())


def test_a_folder_named_tasks_that_is_a_directory_itself_is_that(tmp_path: Path) -> None:
    inner = written(tmp_path / "tasks", sound())
    assert parallel.open_directory(tmp_path, inner).path == "tasks"
    assert parallel.open_directory(tmp_path, inner / "tasks").path == "tasks"


def test_the_root_itself_may_be_the_directory(tmp_path: Path) -> None:
    written(tmp_path, sound())
    assert parallel.open_directory(tmp_path, tmp_path).path == "."


def test_a_relative_path_is_that_of_the_working_directory(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place.parent)
    assert parallel.open_directory(tmp_path, Path("TS-0007-library")).place == place.resolve()


@pytest.mark.parametrize("what", ["nowhere", "parallel/TS-0007-library/context.md"])
def test_what_is_no_directory_is_an_error_with_a_remedy(tmp_path: Path, place: Path, what: str) -> None:
    with pytest.raises(ConfigError, match="no such directory") as caught:
        parallel.open_directory(tmp_path, tmp_path / what)
    assert caught.value.remedy
    assert what in caught.value.place


def test_a_directory_outside_the_root_is_refused(tmp_path: Path, place: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/way").symlink_to(place)
    for path in (place, tmp_path / "root/way"):
        with pytest.raises(ConfigError, match="outside the trusted root"):
            parallel.open_directory(tmp_path / "root", path)


def test_what_runs_left_behind_is_not_looked_at(tmp_path: Path, place: Path) -> None:
    for name in (
        "logs/a.log",
        "scripts/x.sh",
        "prompts.backup-1/task-001.txt",
        ".git/config",
        "a/b/c/d/e/f/g/h/i/j/k",
    ):
        written(place, {name: "x"})
    opened = parallel.open_directory(tmp_path, place)
    assert opened.names == frozenset(sound())


@pytest.mark.parametrize("target", ["/etc/hostname", "../../outside.md", "missing"])
@pytest.mark.parametrize(
    "name", ["tasks/task-001-books.md", "context.md", "contracts/types.py", "manifest.json"]
)
def test_a_link_that_leads_out_is_refused_and_not_read(
    tmp_path: Path, place: Path, target: str, name: str
) -> None:
    (tmp_path / "parallel/outside.md").write_text(BOOKS.replace("Books", "SECRET"))
    (place / name).unlink()
    (place / name).symlink_to(target)
    found, problems = parallel.read(tmp_path, place)
    refused = [(p.code, p.level) for p in problems if p.file == name]
    assert ("unreadable" if target == "missing" else "leaves-directory", "error") in refused
    assert "SECRET" not in repr(found)


def test_a_link_inside_the_directory_is_followed(tmp_path: Path, place: Path) -> None:
    (place / "tasks/task-001-books.md").rename(place / "books.md")
    (place / "tasks/task-001-books.md").symlink_to("../books.md")
    found, problems = parallel.read(tmp_path, place)
    assert problems == ()
    assert found is not None
    assert found.tasks[0].title == "Books"


def test_a_linked_folder_is_not_entered(tmp_path: Path, place: Path) -> None:
    outside = written(tmp_path / "outside", {"task-001.txt": prompt(*SECTIONS)})
    (place / "prompts").symlink_to(outside)
    assert parallel.open_directory(tmp_path, place).names == frozenset(sound())
    found, problems = parallel.read(tmp_path, place)
    assert found is not None
    assert problems == ()
    assert found.tasks[0].prompt_file == ""


def test_a_link_to_itself_is_told(tmp_path: Path, place: Path) -> None:
    (place / "context.md").unlink()
    (place / "context.md").symlink_to("context.md")
    (place / "loop").symlink_to("loop")
    _, problems = parallel.read(tmp_path, place)
    assert ("unreadable", "context.md") in [(p.code, p.file) for p in problems]


def test_a_pipe_is_not_waited_for(tmp_path: Path, place: Path) -> None:
    (place / "context.md").unlink()
    os.mkfifo(place / "context.md")
    _, problems = parallel.read(tmp_path, place)
    assert ("unreadable", "context.md") in [(p.code, p.file) for p in problems]


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, place: Path) -> None:
    with (place / "context.md").open("wb") as stream:
        stream.truncate(parallel.MAX_FILE + 1)
    _, problems = parallel.read(tmp_path, place)
    assert ("too-large", "error", "context.md") in [(p.code, p.level, p.file) for p in problems]


def test_a_directory_of_too_many_files_is_an_error(tmp_path: Path, place: Path) -> None:
    notes = place / "notes"
    notes.mkdir()
    for number in range(parallel.MAX_FILES):
        (notes / f"{number}").touch()
    found, problems = parallel.read(tmp_path, place)
    assert found is not None or "no-tasks" in codes(problems)
    assert "too-many-files" in codes(problems, "error")


def test_a_file_that_may_not_be_read_is_told(tmp_path: Path, place: Path) -> None:
    (place / "tasks/task-002-readers.md").unlink()
    (place / "tasks/task-002-readers.md").mkdir()
    _, problems = parallel.read(tmp_path, place)
    assert ("task-file-missing", "error") in [(p.code, p.level) for p in problems]


def test_names_that_are_no_utf8_do_no_harm(tmp_path: Path, place: Path) -> None:
    with open(os.fsencode(place / "tasks") + b"/task-\xff.md", "w") as stream:
        stream.write("---\nid: x\n---\n")
    found, problems = parallel.read(tmp_path, place)
    assert found is not None
    assert codes(problems) == ["unlisted-task"]


def test_two_hundred_tasks_of_ten_waves_are_sound(tmp_path: Path) -> None:
    files, waves = {"context.md": "c", "contracts/types.py": "t"}, []
    for wave in range(1, 11):
        tasks = []
        for number in range((wave - 1) * 20 + 1, wave * 20 + 1):
            deps = f"[task-{number - 20:03d}, task-001]" if wave > 1 else "[]"
            text = (
                BOOKS.replace("config/urls", f"config/{number}")
                .replace("task-001", f"task-{number:03d}")
                .replace("books", f"m{number}")
            )
            text = text.replace("blocks: [task-003]\n", "").replace("wave: 1", f"wave: {wave}")
            files[f"tasks/task-{number:03d}-m{number}.md"] = text.replace("deps: []", f"deps: {deps}")
            tasks.append({"id": f"task-{number:03d}-m{number}", "agent": "api-expert"})
        waves.append({"number": wave, "tasks": tasks, "validation": "true"})
    files["manifest.json"] = json.dumps({"tech_spec_id": "TS-9", "waves": waves})
    found, problems = parallel.read(tmp_path, written(tmp_path / "parallel/TS-9", files))
    assert found is not None
    assert problems == ()
    assert len(found.tasks) == 200
    assert found.waves[9].tasks[19].deps == ("task-001-m1", "task-180-m180")
