"""Manifests in all variants, and everything that can be wrong with one, at its line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prun_review.manifestfiles import Unread
from prun_review.tasks import Manifest, Problem, Scope, Target
from tests.waves.manifestkit import (
    BOOKS,
    LOANS,
    MANIFEST,
    READERS,
    SECTIONS,
    codes,
    line_of,
    prompt,
    read,
    sound,
)

M, B, R, L = "manifest.json", *(f"tasks/task-00{n}" for n in ("1-books.md", "2-readers.md", "3-loans.md"))


def manifest_of(**changes: Any) -> str:
    """The sound manifest with other top keys."""
    return json.dumps({**MANIFEST, **changes}, indent=1)


def good(files: dict[str, str]) -> Manifest:
    """The manifest of files without a problem."""
    found, problems = read(files)
    assert [str(problem) for problem in problems] == []
    assert found is not None
    return found


def test_a_sound_directory_has_no_problem_and_all_of_it_is_there() -> None:
    found = good(sound())
    assert (found.spec, found.variant, found.directory) == ("TS-0007", "A", "parallel/TS-0007-library")
    assert [(w.number, [t.id for t in w.tasks], w.validation) for w in found.waves] == [
        (1, ["task-001-books", "task-002-readers"], "python -c 'import library.books'"),
        (2, ["task-003-loans"], "pytest -q"),
    ]
    books, readers, loans = found.tasks
    assert (books.title, books.component, books.agent) == ("Books", "books", "python-experts:api-expert")
    assert books.scope == Scope(
        create=("library/books/models.py", "library/books/views.py", "library/books/tests/*.py"),
        modify=(Target("config/urls.py", "books"),),
        boundary=("library/loans/*", "library/*/migrations/*"),
    )
    assert readers.scope.create == ("library/readers/models.py", "library/readers/views.py")
    assert loans.scope.modify == ()
    assert loans.deps == ("task-001-books", "task-002-readers")
    assert (loans.verify, loans.executor, loans.timeout, loans.access) == (
        ("pytest -q",),
        "sonnet",
        1200.0,
        "full",
    )
    assert (books.prompt_file, books.task_file, books.contracts) == ("", B, ("contracts/types.py",))


TASKS_1 = [{"id": "task-001"}, {"id": "task-002"}]


def variant_b(**metadata: Any) -> str:
    return manifest_of(
        name="library",
        technology="python",
        python_version="3.11",
        dependencies={"python": {"add": ["evil==1.0"], "upgrade": [], "remove": [], "add_dev": []}},
        metadata={"tech_spec": "specs/TS-0007.md", "generated_at": "2025-01-15T10:00:00Z", **metadata},
    )


def test_variant_b_is_read_and_its_packages_are_carried_nowhere() -> None:
    files = {**sound(), M: variant_b(total_tasks=3, max_parallel=2, critical_path=["task-001", "task-003"])}
    found = good(files)
    assert (found.variant, found.jobs, found.name, found.technology) == ("B", 2, "library", "python")
    assert found.sources == {"tech_spec": "specs/TS-0007.md"}
    assert "evil" not in repr(found)


def test_variant_c_has_components_and_sources() -> None:
    value = json.loads(
        manifest_of(metadata={"created_at": "x", "sources": {"prd": "p.md", "tech_spec": "s.md"}})
    )
    value["waves"][0]["tasks"][0]["component"] = "tomes"
    found = good({**sound(), M: json.dumps(value)})
    assert (found.variant, found.tasks[0].component) == ("C", "tomes")
    assert found.sources == {"prd": "p.md", "tech_spec": "s.md"}


def variant_d(**tasks: Any) -> str:
    return json.dumps(
        {
            "version": "1.0.0",
            "created_at": "2025-12-07T14:30:00Z",
            "tech_spec": {
                "id": "TS-0007",
                "title": "library",
                "path": "specs/TS-0007.md",
                "status": "APPROVED",
            },
            "sources": {"prd": "docs/library.md"},
            "command": {"name": "x", "args": {}},
            "technology": "python",
            "tasks": {"total": 3, "waves": 2, "files": [B, R, L], **tasks},
            "execution": {
                "status": "pending",
                "options": {"max_concurrent": 5},
                "waves": [
                    {"wave": 1, "status": "pending", "tasks": ["task-001", "task-002"]},
                    {"wave": 2, "status": "pending", "tasks": ["task-003"]},
                ],
            },
            "integration": {"status": "pending"},
        },
        indent=1,
    )


def test_variant_d_has_its_waves_in_the_frontmatter() -> None:
    found = good({**sound(), M: variant_d()})
    assert (found.variant, found.spec, found.jobs, found.name) == ("D", "TS-0007", 5, "library")
    assert found.sources == {"prd": "docs/library.md", "tech_spec": "specs/TS-0007.md"}
    assert [[t.id for t in w.tasks] for w in found.waves] == [
        ["task-001-books", "task-002-readers"],
        ["task-003-loans"],
    ]


def test_variant_d_falls_back_on_the_waves_of_its_execution() -> None:
    files = {**sound(), M: variant_d()}
    for name in (B, R, L):
        files[name] = files[name].replace("wave: 1\n", "").replace("wave: 2\n", "")
    assert [len(w.tasks) for w in good(files).waves] == [2, 1]


@pytest.mark.parametrize("start", ["", "./tasks/", "parallel/TS-0007-library/tasks/"])
def test_variant_d_may_name_its_files_from_elsewhere(start: str) -> None:
    names = [start + name.removeprefix("tasks/") for name in (B, R, L)]
    assert [task.task_file for task in good({**sound(), M: variant_d(files=names)}).tasks] == [B, R, L]


def test_variant_d_names_files_that_are_not_there_and_wrong_counts() -> None:
    text = variant_d(total=7, files=[B, "tasks/task-009-x.md", L])
    found, problems = read({**sound(), M: text})
    assert found is not None
    assert {(p.code, p.line) for p in problems if p.file == M} == {
        ("wrong-count", line_of(text, '"total"')),
        ("task-file-missing", line_of(text, "task-009-x.md")),
    }
    assert ("unlisted-task", "warning", R) in {(p.code, p.level, p.file) for p in problems}


def test_task_files_without_a_manifest_have_the_waves_of_their_frontmatter() -> None:
    files = sound()
    del files[M]
    found = good(files)
    assert found.variant == "none"
    assert [[t.id for t in w.tasks] for w in found.waves] == [
        ["task-001-books", "task-002-readers"],
        ["task-003-loans"],
    ]


def test_task_files_without_any_wave_are_one_wave() -> None:
    files = {n: t.replace("wave: 1\n", "").replace("wave: 2\n", "") for n, t in sound().items() if n != M}
    files[L] = files[L].replace("deps: [task-001, task-002-readers]", "deps: []")
    files[B] = files[B].replace("blocks: [task-003]\n", "")
    assert [[t.short for t in w.tasks] for w in good(files).waves] == [["task-001", "task-002", "task-003"]]


def test_a_wave_that_some_task_files_have_and_one_has_not_is_missing_there() -> None:
    files = {n: t.replace("wave: 2\n", "") for n, t in sound().items() if n != M}
    _, problems = read(files)
    assert ("missing-field", L, 1) in {(p.code, p.file, p.line) for p in problems}


@pytest.mark.parametrize("files", [{}, {"context.md": "x"}, {M: manifest_of(waves=[])}, {M: "[]"}, {M: ""}])
def test_nothing_to_run_is_no_manifest_and_an_error(files: dict[str, str]) -> None:
    found, problems = read(files)
    assert found is None
    assert "no-tasks" in codes(problems, "error")


def test_a_manifest_that_is_no_json_still_lets_the_task_files_be_checked() -> None:
    files = {**sound(), M: '{\n "waves": [\n  {,}\n ]\n}', L: LOANS.replace("task-001, ", "1, ")}
    found, problems = read({**files, R: READERS.replace("wave: 1\n", "")})
    assert found is not None
    assert [(p.code, p.file, p.line) for p in problems] == [  # and nothing that only waves could tell
        ("not-json", M, 3),
        ("wrong-type", L, line_of(LOANS, "deps:")),
    ]
    assert "column 4" in problems[0].text
    assert "comma" in problems[0].remedy


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (("tech_spec_id", "waves"), "Missing required fields: tech_spec_id, waves"),
        (("tech_spec_id",), "Missing required fields: tech_spec_id"),
        (("waves",), "Missing required fields: waves"),
    ],
)
def test_missing_fields_are_told_in_the_documented_words(changes: tuple[str, ...], told: str) -> None:
    text = json.dumps({key: value for key, value in {**MANIFEST, "name": "x"}.items() if key not in changes})
    _, problems = read({**sound(), M: text})
    assert [str(p) for p in problems if p.level == "error"] == [f"{M}:1: error: [missing-field] {told}"]


def test_a_manifest_whose_waves_are_null_has_none() -> None:
    """Its task files would be run without any validation."""
    _, problems = read({**sound(), M: manifest_of(waves=None)})
    assert "missing-field" in {p.code for p in problems if p.level == "error"}


def test_a_manifest_without_a_specification_may_say_so() -> None:
    assert good({**sound(), M: manifest_of(tech_spec_id=None)}).spec == ""


SPOILED = [
    # file, old, new, code, level, where the line is (text that stands in it), part of the message
    (M, '"number": 2', '"number": "2"', "wrong-type", "error", '"number": "2"', "the string '2'"),
    (M, '"number": 2', '"number": 3', "wave-gap", "error", '"number": 3', "wave 3 is there, and wave 2 not"),
    (M, '"number": 2', '"number": 9', "wave-gap", "error", '"number": 9', "waves 2 to 8 not"),
    (M, '"number": 2', '"number": 0', "bad-value", "error", '"number": 0', "at least 1"),
    (M, '"number": 2', '"number": true', "wrong-type", "error", '"number": true', "a whole number"),
    (M, '"number": 2', '"number": 2.0', "wrong-type", "error", '"number": 2.0', "2.0"),
    (M, '"number": 2', '"number": 1', "duplicate-wave", "error", None, "stands at line"),
    (M, '"number": 2,\n', "\n", "missing-field", "error", None, "wave 2 of the list has no number"),
    (M, '"number": 2', '"number": NaN', "not-finite", "error", "NaN", "NaN"),
    (M, '"number": 2', '"number": 12345678901234567890', "giant-integer", "error", "1234567", "20 digits"),
    (M, '"number": 2', '"number": 2, "number": 2', "duplicate-key", "error", '"number": 2', "more than once"),
    (M, '"number": 2', '"nubmer": 2', "unknown-key", "warning", "nubmer", "decides nothing"),
    (M, '"validation": "pytest', '"validaton": "pytest', "unknown-key", "error", "validaton", "'validaton'"),
    (M, '"validation": "pytest', '"validations": "x', "unknown-key", "error", "validations", "'validations'"),
    (M, '"validation": "pytest', '"panels": "x', "unknown-key", "error", "panels", "'panels'"),
    (M, '"tech_spec_id"', '"a/b": 1, "tech_spec_id"', "unknown-key", "warning", "a/b", "'a/b'"),
    (M, '"validation": "pytest -q"', '"validation": ["x"]', "wrong-type", "error", '["x"]', "a string"),
    (M, '"validation": "pytest -q"', '"panel": "--evil"', "bad-value", "error", "--evil", "an option"),
    (M, '"validation": "pytest -q"', '"validation": " "', "bad-value", "warning", '" "', "nothing is run"),
    (M, '"validation": "pytest -q"', '"panel": " "', "wrong-type", "error", '" "', "not blank"),
    (M, '"validation": "pytest -q"', '"panel": [7]', "wrong-type", "error", "[7]", "panel/0"),
    (M, '"id": "task-003-loans"', '"id": "task-003 loans"', "bad-id", "error", "task-003 loans", "no blanks"),
    (M, '"id": "task-003-loans"', '"id": " task-003-loans"', "bad-id", "error", '" task', "no blanks"),
    (M, '"id": "task-003-loans"', '"id": "../task-003"', "bad-id", "error", "../task", "letters"),
    (M, '"id": "task-003-loans",', "", "missing-field", "error", None, "task 1 of wave 2 has no id"),
    (M, '"id": "task-003-loans"', '"id": "task-001-books"', "duplicate-id", "error", None, "already"),
    (M, '"id": "task-003-loans"', '"id": "TASK-001-books"', "duplicate-id", "error", "TASK", "case only"),
    (M, '"id": "task-003-loans"', '"id": 3', "wrong-type", "error", '"id": 3', "must be a string, and is 3"),
    (
        M,
        '"id": "task-003-loans"',
        '"id": "loans"',
        "task-file-missing",
        "error",
        '"loans"',
        "neither a prompt",
    ),
    (M, '"python-experts:api-expert"', '""', "unknown-agent", "warning", '"id": "task-001', "names no agent"),
    (
        M,
        '"agent": "api-expert"',
        '"agent": "an expert"',
        "unknown-agent",
        "warning",
        "an expert",
        "not the name",
    ),
    (M, '"agent": "api-expert"', '"agent": "a:b:c"', "unknown-agent", "warning", "a:b:c", "not the name"),
    (
        M,
        '"agent": "api-expert"',
        '"agent": "api-exprt"',
        "unknown-agent",
        "warning",
        "api-exprt",
        "no other task",
    ),
    (
        M,
        '"agent": "api-expert"',
        '"agent": "web-guru"',
        "agent-differs",
        "warning",
        None,
        "'web-guru', which counts",
    ),
    (M, '"agent": "api-expert"', '"executor": "-x"', "bad-value", "error", "-x", "name of an executor"),
    (M, '"agent": "api-expert"', '"access": "read"', "bad-value", "error", '"access"', "one of write, full"),
    (M, '"agent": "api-expert"', '"verify": ""', "wrong-type", "error", '""', "not blank"),
    (M, '"agent": "api-expert"', '"timeout": -1', "wrong-type", "error", "-1", "above 0"),
    (
        M,
        '"agent": "api-expert"',
        '"prompt_file": "../../x"',
        "leaves-directory",
        "error",
        "../../x",
        "leaves",
    ),
    (
        M,
        '"agent": "api-expert"',
        '"prompt_file": "/etc/passwd"',
        "leaves-directory",
        "error",
        "/etc",
        "absolute",
    ),
    (B, "id: task-001\n", "id: task-002\n", "id-mismatch", "error", "id:", "calls the task 'task-001-books'"),
    (B, "id: task-001\n", "id: task-001-tomes\n", "id-mismatch", "error", "id:", "its name says"),
    (B, "id: task-001\n", "", "missing-field", "warning", "---", "no id"),
    (B, "wave: 1\n", "wave: 2\n", "wave-differs", "warning", "wave:", "in wave 1, which counts"),
    (B, "wave: 1\n", 'wave: "1"\n', "wrong-type", "error", "wave:", "the string '1'"),
    (B, "deps: []", "deps: [task-001]", "cycle", "error", "deps:", "task-001-books -> task-001-books"),
    (B, "deps: []", "deps: [task-002]", "late-dependency", "error", "deps:", "of the same wave"),
    (B, "deps: []", "deps:\n  - task-003", "late-dependency", "error", "  - task-003", "a later one, 2"),
    (B, "deps: []", "deps: task-003", "late-dependency", "error", "deps:", "a later one, 2"),
    (B, "deps: []", "deps: [1]", "wrong-type", "error", "deps:", "deps/0 must be a string, and is 1"),
    (B, "deps: []", "deps: {a: b}", "wrong-type", "error", "deps:", "a list of strings"),
    (B, "deps: []", "deps: [task-01]", "unknown-dependency", "error", "deps:", "no task 'task-01'"),
    (B, "deps: []", "deps: []\nverfy: make", "unknown-key", "error", "verfy:", "unknown key 'verfy'"),
    (B, "deps: []", "dep: []", "unknown-key", "warning", "dep:", "unknown key 'dep'"),
    (B, "blocks: [task-003]", "blocks: [task-007]", "unknown-dependency", "warning", "blocks:", "'task-007'"),
    (B, "blocks: [task-003]", "blocks: [task-002]", "late-dependency", "error", "blocks:", "is in wave 1"),
    (L, "[task-001, ", "[", "one-sided", "warning", None, "it counts as a dependency"),
    (B, "wave: 1", "wave: 1\nwave: 1", "duplicate-key", "error", "wave: 1\nd", "'wave'"),
    (B, "deps: []", "deps: &a []", "yaml-alias", "error", "deps:", "anchors and aliases"),
    (B, "deps: []", "deps: !!python/name:os.system []", "yaml-tag", "error", "deps:", "tags"),
    (B, "deps: []", "\tdeps: []", "bad-yaml", "error", "\tdeps", "not YAML"),
    (B, "deps: []", "deps: [[[[[[[[[[]]]]]]]]]]", "too-deep", "error", "deps:", "more than 8 deep"),
    (
        B,
        "contracts: [contracts/types.py]\n---",
        "contracts: []\n",
        "unclosed-frontmatter",
        "error",
        "---",
        "closed",
    ),
    (B, BOOKS[: BOOKS.index("# task")], "", "no-frontmatter", "warning", "# task", "no frontmatter"),
    (B, "contracts/types.py", "contracts/typs.py", "contract-missing", "error", "contracts:", "typs.py"),
    (
        B,
        "MODIFY: config/urls.py::books",
        "MODIFY: library/readers/models.py",
        "scope-overlap",
        "error",
        None,
        None,
    ),
    (B, "config/urls.py::books", "config/readers.py", "scope-nested", "error", None, "config/readers.py"),
    (
        B,
        "config/urls.py::books",
        "config/readers.py::readers.list",
        "scope-nested",
        "error",
        None,
        "readers.list",
    ),
    (
        B,
        "config/urls.py::books",
        "config/readers.py::readers",
        "scope-overlap",
        "error",
        None,
        "is the same as",
    ),
    (B, "config/urls.py::books", "config/readers.py::x", "scope-parts", "warning", None, "is not looked at"),
    (B, "MODIFY: config", "CHANGE: config", "scope-word", "warning", "CHANGE", "nothing of it counts"),
    (R, "**MODIFY**:", "**UPDATE**:", "scope-word", "warning", "UPDATE", "nothing of it counts"),
    (B, "MODIFY: config", "Modifies: config", "scope-word", "warning", "Modifies", None),
    (B, "config/urls.py::books", "library/readers", "scope-nested", "error", None, "holds or lies in"),
    (B, "config/urls.py::books", "library/*/models.py", "scope-nested", "error", None, "holds or lies in"),
    (B, "config/urls.py::books", "library/r*/m*.py", "scope-nested", "error", None, "holds or lies in"),
    (
        R,
        "library/readers/views.py",
        "library/books/models.py",
        "created-twice",
        "error",
        "library/b",
        "created by",
    ),
    (
        L,
        "library/loans/models.py",
        "library/books/models.py",
        "created-twice",
        "error",
        "CREATE",
        "is created by",
    ),
    (
        L,
        "library/loans/models.py",
        "library/books/tests/x.py",
        "created-twice",
        "warning",
        "CREATE",
        "may create",
    ),
    (B, "library/loans/*,", "library/books/*,", "boundary", "error", "CREATE", "within its own BOUNDARY"),
    (
        B,
        "library/loans/*,",
        "config,",
        "boundary",
        "error",
        "MODIFY",
        "MODIFY config/urls.py::books lies within",
    ),
    (B, "config/urls.py::books", "../secrets.py", "bad-scope", "error", "MODIFY", "leaves the reviewed tree"),
    (B, "config/urls.py::books", "/etc/passwd", "bad-scope", "error", "MODIFY", "leaves the reviewed tree"),
    (B, "config/urls.py::books", "config\\urls.py", "bad-scope", "error", "MODIFY", "backslashes"),
    (B, "config/urls.py::books", "the urls of it", "scope-prose", "error", "MODIFY", "no path"),
    (
        B,
        "library/loans/*, library/*/migrations/*",
        "all the rest",
        "scope-prose",
        "warning",
        "BOUNDARY",
        "no path",
    ),
    (B, "library/loans/*,", "library/x.py::A,", "scope-symbol", "warning", "BOUNDARY", "only MODIFY"),
    (B, "CREATE: library", "OTHERS: library", "scope-word", "warning", "OTHERS", "nothing of it counts"),
]


@pytest.mark.parametrize(("file", "old", "new", "code", "level", "where", "told"), SPOILED)
def test_a_spoiled_line_is_told_at_that_line(
    file: str, old: str, new: str, code: str | None, level: str, where: str | None, told: str | None
) -> None:
    files = sound()
    assert old in files[file]
    files[file] = files[file].replace(old, new, 1)
    found, problems = read(files)
    if code is None:
        assert [str(p) for p in problems] == []
        return
    assert found is not None
    hits = [p for p in problems if p.code == code and p.level == level]
    assert hits, "\n".join(map(str, problems))
    if where is not None:
        hits = [p for p in hits if p.file == file and p.line == line_of(files[file], where)]
        assert hits, "\n".join(map(str, problems))
    if told is not None:
        assert any(told in p.text for p in hits), "\n".join(map(str, problems))
    assert all(p.line is None or 1 <= p.line <= files[p.file].count("\n") + 1 for p in problems)


def test_the_scope_of_another_task_is_told_at_the_later_place_and_names_the_earlier() -> None:
    files = {**sound(), R: READERS.replace("config/readers.py::readers", "config/urls.py")}
    _, problems = read(files)
    place = f"tasks/task-001-books.md:{line_of(BOOKS, 'MODIFY')}"
    assert [str(p) for p in problems] == [
        f"{R}:{line_of(READERS, 'readers.py::')}: error: [scope-nested] MODIFY config/urls.py holds or lies "
        f"in MODIFY config/urls.py::books of 'task-001-books' in the same wave, at {place}"
    ]


def test_a_task_that_another_blocks_depends_on_it() -> None:
    found, problems = read({**sound(), L: LOANS.replace("task-001, ", "")})
    assert found is not None
    assert codes(problems) == ["one-sided"]
    assert found.tasks[2].deps == ("task-001-books", "task-002-readers")


def test_the_scopes_of_one_task_may_meet_each_other() -> None:
    good({**sound(), B: BOOKS.replace("MODIFY: config", "MODIFY: library/books/models.py::Book, config")})


@pytest.mark.parametrize("wall", ["library/books/migrations/*", "library/*/migrations/*", "**/secret.py"])
def test_a_boundary_may_take_something_out_of_the_own_scope(wall: str) -> None:
    text = BOOKS.replace("library/books/tests/*.py", "library/books/**").replace("library/loans/*", wall)
    good({**sound(), B: text})


def test_scopes_of_one_wave_are_compared_in_whatever_order_tasks_are_listed() -> None:
    files = {**sound(), M: variant_d(files=[B, L, R]), R: READERS.replace("readers.py::readers", "urls.py")}
    assert codes(read(files)[1]) == ["scope-nested"]


def test_a_cycle_over_several_waves_is_named_whole() -> None:
    files = {**sound(), B: BOOKS.replace("deps: []", "deps: [task-003]"), R: READERS}
    _, problems = read(files)
    cycle = [p for p in problems if p.code == "cycle"]
    assert [str(p) for p in cycle] == [
        f"{B}:{line_of(BOOKS, 'deps:')}: error: [cycle] a cycle: "
        "task-001-books -> task-003-loans -> task-001-books"
    ]
    assert "late-dependency" in codes(problems, "error")


def test_a_short_id_that_may_be_two_tasks_is_told() -> None:
    value = json.loads(manifest_of())
    value["waves"][0]["tasks"].append({"id": "task-001-tomes", "agent": "api-expert"})
    tomes = (
        BOOKS.replace("id: task-001", "id: task-001-tomes")
        .replace("books", "tomes")
        .replace("blocks: [task-003]\n", "")
    )
    _, problems = read({**sound(), M: json.dumps(value), "tasks/task-001-tomes.md": tomes})
    assert [(p.code, p.file, p.line) for p in problems if p.level == "error"] == [
        ("ambiguous-dependency", L, line_of(LOANS, "deps:"))
    ]


def test_everything_is_told_at_once() -> None:
    files = sound()
    files[M] = manifest_of(waves=MANIFEST["waves"], metadata={"total_tasks": 9, "max_parallel": "two"})
    files[M] = files[M].replace('"number": 2', '"number": "3"').replace('"tech_spec_id": "TS-0007",', "")
    files[B] = BOOKS.replace("deps: []", "deps: [task-044]").replace("config/urls.py::books", "../x")
    files[R] = READERS.replace("library/readers/views.py", "library/books/models.py")
    files[L] = LOANS.replace("id: task-003", "id: task-300")
    _, problems = read(files)
    assert {
        *("missing-field", "wrong-type", "wave-gap", "wrong-count", "unknown-dependency", "bad-scope"),
        *("created-twice", "id-mismatch"),
    } <= set(codes(problems))
    assert list(problems) == sorted(problems, key=lambda p: (p.file, p.line or 0))


@pytest.mark.parametrize(
    ("metadata", "line"),
    [
        ({"total_tasks": 4}, '"total_tasks"'),
        ({"critical_path": ["task-001", "task-005"]}, '"task-005"'),
        ({"total_waves": 1}, '"total_waves"'),
    ],
)
def test_counts_that_do_not_fit_are_warnings(metadata: dict[str, Any], line: str) -> None:
    text = variant_b(**metadata)
    found, problems = read({**sound(), M: text})
    assert found is not None
    assert [(p.level, p.code, p.line) for p in problems] == [("warning", "wrong-count", line_of(text, line))]


def hint(problems: tuple[Problem, ...]) -> list[str]:
    return [p.remedy for p in problems]


def test_an_unknown_key_names_the_nearest_known_one() -> None:
    _, problems = read({**sound(), M: manifest_of(tech_spec_idd="x")})
    assert hint(problems) == ["did you mean 'tech_spec_id'?"]


def test_waves_out_of_order_run_by_number_and_a_wave_without_tasks_is_an_error() -> None:
    text = manifest_of(waves=[MANIFEST["waves"][1], MANIFEST["waves"][0], {"number": 3, "tasks": []}])
    found, problems = read({**sound(), M: text})
    assert found is not None
    assert [wave.number for wave in found.waves] == [1, 2]
    assert [(p.code, p.level, p.line) for p in problems] == [
        ("wave-order", "warning", line_of(text, '"number": 1')),
        ("empty-wave", "error", line_of(text, '"number": 3')),
    ]


def test_a_wave_without_a_number_is_taken_for_the_one_that_it_stands_as() -> None:
    found, problems = read({**sound(), M: manifest_of().replace('"number": 2,', "")})
    assert found is not None
    assert [wave.number for wave in found.waves] == [1, 2]
    assert codes(problems) == ["missing-field"]


def test_a_panel_is_one_or_several() -> None:
    value = json.loads(manifest_of())
    value["waves"][0]["panel"] = "panels/security"
    value["waves"][1]["panel"] = ["panels/a", "panels/b"]
    found = good({**sound(), M: json.dumps(value)})
    assert [wave.panel for wave in found.waves] == [("panels/security",), ("panels/a", "panels/b")]


def test_what_the_manifest_says_of_a_task_goes_before_its_frontmatter() -> None:
    value = json.loads(manifest_of())
    value["waves"][1]["tasks"][0] |= {
        "executor": "codex",
        "verify": "ruff check",
        "timeout": 60,
        "access": "write",
    }
    loans = good({**sound(), M: json.dumps(value)}).tasks[2]
    assert (loans.executor, loans.verify, loans.timeout, loans.access) == (
        "codex",
        ("ruff check",),
        60.0,
        "write",
    )


# --- prompts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["task-001-books.txt", "task-001.txt", "task-001-books.md", "task-001-books-api.txt"]
)
def test_a_prompt_is_found_by_long_and_short_id(name: str) -> None:
    files = {**sound(), f"prompts/{name}": prompt(*SECTIONS)}
    files |= {f"prompts/task-00{n}.txt": prompt(*SECTIONS) for n in (2, 3)}
    books = good(files).tasks[0]
    assert (books.prompt_file, books.prompt) == (f"prompts/{name}", prompt(*SECTIONS))


@pytest.mark.parametrize(
    "named", ["prompts/a.txt", "./prompts/a.txt", "parallel/TS-0007-library/prompts/a.txt"]
)
def test_a_prompt_is_found_by_the_name_in_the_manifest(named: str) -> None:
    value = json.loads(manifest_of())
    value["waves"][0]["tasks"][0]["prompt_file"] = named
    files = {**sound(), M: json.dumps(value), "prompts/a.txt": prompt(*SECTIONS)}
    files |= {f"prompts/task-00{n}.txt": prompt(*SECTIONS) for n in (2, 3)}
    assert good(files).tasks[0].prompt_file == "prompts/a.txt"


def test_prompts_are_built_where_none_is_there_even_if_the_manifest_names_them() -> None:
    value = json.loads(manifest_of())
    value["waves"][0]["tasks"][0]["prompt_file"] = "prompts/task-001.txt"
    found = good({**sound(), M: json.dumps(value), "prompts/agent-prompts.md": "an overview"})
    assert [task.prompt_file for task in found.tasks] == ["", "", ""]
    assert "=== CONTRACTS ===\n--- contracts/types.py ---\nclass BookDTO:" in found.tasks[0].prompt
    assert "A small lending library" in found.tasks[1].prompt


def test_a_contract_that_is_missing_beside_a_prompt_is_a_warning() -> None:
    files = {**sound(), **{f"prompts/task-00{n}.txt": prompt(*SECTIONS) for n in (1, 2, 3)}}
    del files["contracts/types.py"]
    _, problems = read(files)
    assert [(p.level, p.code, p.line) for p in problems] == [
        ("warning", "contract-missing", line_of(BOOKS, "contracts:"))
    ]


def test_the_digest_holds_prompts_and_context_and_contracts_where_prompts_are_there() -> None:
    files = {**sound(), **{f"prompts/task-00{n}.txt": prompt(*SECTIONS) for n in (1, 2, 3)}}
    first = good(files).digest
    for name in ("prompts/task-002.txt", "context.md", "contracts/types.py"):
        assert good({**files, name: files[name] + "\n"}).digest != first, name


def test_one_prompt_that_is_missing_among_others_is_an_error() -> None:
    text = manifest_of()
    _, problems = read({**sound(), "prompts/task-001.txt": prompt(*SECTIONS)})
    assert [(p.code, p.level, p.file, p.line) for p in problems] == [
        ("prompt-missing", "error", M, line_of(text, '"task-002-readers"')),
        ("prompt-missing", "error", M, line_of(text, '"task-003-loans"')),
    ]


def test_a_named_prompt_that_is_missing_is_told_at_its_key() -> None:
    value = json.loads(manifest_of())
    value["waves"][0]["tasks"][0]["prompt_file"] = "prompts/task-010.txt"
    files = {**sound(), M: json.dumps(value, indent=1)}
    files |= {f"prompts/task-00{n}.txt": prompt(*SECTIONS) for n in (1, 2, 3)}
    _, problems = read(files)
    assert [(p.code, p.line) for p in problems] == [("prompt-missing", line_of(files[M], "task-010.txt"))]


def test_a_task_with_a_prompt_and_without_a_task_file_can_run() -> None:
    files = {**sound(), **{f"prompts/task-00{n}.txt": prompt(*SECTIONS) for n in (1, 2, 3)}}
    del files[R]
    found, problems = read({**files, L: LOANS.replace(", task-002-readers", "")})
    assert found is not None
    assert codes(problems) == ["task-file-missing"]
    assert problems[0].level == "warning"
    assert found.tasks[1].prompt_file == "prompts/task-002.txt"


# --- files that are not what they should be ---------------------------------------------------


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (BOOKS.encode("utf-16"), "not-utf8", 1),
        (BOOKS.encode().replace(b"one route", b"one \xff"), "not-utf8", line_of(BOOKS, "one route")),
        (
            b"\xef\xbb\xbf" + BOOKS.encode().replace(b"one route", b"\xff"),
            "not-utf8",
            line_of(BOOKS, "one route"),
        ),
        (Unread("too-large", "it is too large"), "too-large", None),
        (Unread("leaves-directory", "a link"), "leaves-directory", None),
    ],
)
def test_a_task_file_that_is_no_good_text(data: bytes | Unread, code: str, line: int | None) -> None:
    _, problems = read({**sound(), B: data})
    assert (code, "error", B, line) in {(p.code, p.level, p.file, p.line) for p in problems}


def test_byte_order_marks_and_carriage_returns_change_nothing() -> None:
    plain = good(sound())
    files = {n: b"\xef\xbb\xbf" + t.replace("\n", "\r\n").encode() for n, t in sound().items()}
    found, problems = read(files)
    assert found is not None
    assert problems == ()
    assert found.tasks == plain.tasks


def test_lines_are_right_behind_carriage_returns() -> None:
    files = {n: t.replace("\n", "\r\n").encode() for n, t in sound().items()}
    files[B] = files[B].replace(b"deps: []", b"deps: [task-044]")
    files[M] = files[M].replace(b'"number": 2', b'"number": 4')
    _, problems = read(files)
    assert {(p.code, p.file, p.line) for p in problems} == {
        ("unknown-dependency", B, line_of(BOOKS, "deps:")),
        ("wave-gap", M, line_of(manifest_of(), '"number": 2')),
        ("wave-differs", L, line_of(LOANS, "wave:")),
    }


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"tech_spec_id": "x", "waves": ' + "[" * 70 + "]" * 70 + "}",
        '{"waves": ' + "9" * 5000 + "}",
        '"just text"',
        "nul\0l",
        '{"waves": [{"number": 1, "tasks": [null, 3, "x", []]}]}',
        '{"waves": {"number": 1}}',
        '{"waves": [[]], "metadata": [], "execution": 3, "tasks": "x", "sources": [1]}',
        '{"tasks": {"files": [1, null, "tasks/../x", {}]}, "execution": {"waves": [1, {"wave": "a"}]}}',
    ],
)
def test_hostile_manifests_are_told_and_nothing_is_raised(text: str) -> None:
    _, problems = read({**sound(), M: text})
    assert codes(problems, "error")
    assert all(problem.line is None or problem.line >= 1 for problem in problems)


def test_the_digest_tells_what_is_asked() -> None:
    first = good(sound())
    assert first.digest == good(sound()).digest
    for name in sound():
        changed, _ = read({**sound(), name: sound()[name] + "\n"})
        assert changed is not None
        assert changed.digest != first.digest, name
    beside, _ = read({**sound(), "architecture.md": "x"})
    assert beside is not None
    assert beside.digest == first.digest


def test_a_task_file_that_no_task_means_is_named_and_not_checked() -> None:
    found, problems = read({**sound(), "tasks/task-099-old.md": "---\nid: [\n", "tasks/README.md": "notes"})
    assert found is not None
    assert [(p.code, p.level, p.file) for p in problems] == [
        ("unlisted-task", "warning", "tasks/task-099-old.md")
    ]


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.floats(allow_nan=False),
    st.sampled_from(["", " ", "1", "task-001", "x\n\x1b", "../x", "\ud800", "a" * 300]),
    st.lists(st.none() | st.integers(0, 2) | st.just("task-002") | st.just({}), max_size=2),
    st.dictionaries(st.sampled_from(["id", "tasks", "a/b", "", "number"]), st.integers(0, 3), max_size=2),
)
PLACES = [
    *[("waves",), ("waves", 0), ("waves", 0, "tasks"), ("waves", 0, "number"), ("waves", 1, "tasks", 0)],
    *[
        ("waves", 1, "tasks", 0, k)
        for k in ("id", "agent", "prompt_file", "deps", "verify", "timeout", "access")
    ],
    *[("waves", 1, k) for k in ("panel", "validation", "number")],
    *[(k,) for k in ("tech_spec_id", "metadata", "tasks", "execution", "sources", "tech_spec", "name")],
    *[("metadata", k) for k in ("max_parallel", "total_tasks", "critical_path", "sources", "tech_spec")],
]


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), ODD), min_size=1, max_size=3), st.booleans())
def test_odd_values_anywhere_are_told_and_nothing_is_raised(
    changes: list[tuple[Any, Any]], old: bool
) -> None:
    value = json.loads(variant_d() if old else variant_b())
    for path, odd in changes:
        at = value
        for key in path[:-1]:
            at = at.get(key, {}) if isinstance(at, dict) else at[key] if isinstance(at, list) and at else {}
        if isinstance(at, dict):
            at[path[-1]] = odd
        elif isinstance(at, list) and at:
            at[0] = odd
    text = json.dumps(value, indent=1)
    found, problems = read({**sound(), M: text})
    assert found is not None or "no-tasks" in codes(problems, "error")
    assert all(p.line is None or 1 <= p.line <= text.count("\n") + 20 for p in problems)
    if found is not None:
        assert all(task.prompt.strip() for task in found.tasks)
        assert len({task.id for task in found.tasks}) == len(found.tasks)
        assert all(dep in {t.id for t in found.tasks} for task in found.tasks for dep in task.deps)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.integers(0, len(BOOKS)), min_size=1, max_size=4),
    st.lists(
        st.sampled_from(
            ["---\n", "## Scope\n", "\t", "[", "{", "}", "`", ":", "**", "- ", "\x00", "::", "*", "~~~\n"]
        ),
        min_size=4,
    ),
)
def test_spoiled_task_files_are_told_and_nothing_is_raised(places: list[int], pieces: list[str]) -> None:
    text = BOOKS
    for place, piece in zip(sorted(places, reverse=True), pieces, strict=False):
        text = text[:place] + piece + text[place + len(piece) % 3 :]
    found, problems = read({**sound(), B: text})
    assert found is not None
    assert all(p.line is None or 1 <= p.line <= max(text.count("\n"), 40) + 1 for p in problems)


def test_a_task_that_is_listed_by_its_id_alone_is_told_and_known() -> None:
    waves = [{**wave, "tasks": [task["id"] for task in wave["tasks"]]} for wave in MANIFEST["waves"]]
    text = manifest_of(waves=waves)
    found, problems = read({**sound(), M: text, L: LOANS.replace("timeout: 1200", "timeout: -1")})
    assert found is not None
    assert [task.id for task in found.tasks] == [task["id"] for w in MANIFEST["waves"] for task in w["tasks"]]
    assert [(p.code, p.file, p.line, p.remedy) for p in problems] == [
        *(
            ("wrong-type", M, line_of(text, name), f'write {{"id": "{name}"}}')
            for name in (task.id for task in found.tasks)
        ),
        ("wrong-type", L, line_of(LOANS, "timeout"), ""),
    ]


@pytest.mark.parametrize("item", [7, None, [], {"agent": "api-expert"}])
def test_what_follows_from_a_task_that_cannot_be_read_is_not_told(item: Any) -> None:
    value = json.loads(manifest_of())
    value["waves"][0]["tasks"][0] = item
    _, problems = read({**sound(), M: json.dumps(value)})
    assert [p.code for p in problems] == ["missing-field" if isinstance(item, dict) else "wrong-type"]


def test_the_words_of_a_scope_are_no_prose() -> None:
    prose = "Note: see docs/urls.md for more\nOwner of it: library/x.py\n\nReasons:\n- it is so\n"
    good({**sound(), B: BOOKS.replace("\n## Requirements", f"\n{prose}\n## Requirements")})
