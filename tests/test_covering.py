"""Which files of a change an answer accounts for, file by file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.answers import lay
from prun_review.covering import Cover, cover
from prun_review.model import Answer, ChangedFile, Contract, Plan, Result, Unit
from prun_review.policy import Policy
from tests.gate_situations import CODEX, PAIR, SONNET
from tests.gatekit import HEADER, about, broken, changed, facts, lost, result, unit


def look(
    units: tuple[Unit, ...],
    results: tuple[Result, ...],
    *files: ChangedFile,
    uncovered: tuple[str, ...] = (),
    alters: tuple[str, ...] = (),
) -> dict[str, Cover]:
    run = facts(change=files, gate=Policy(uncovered=uncovered), alters_paths=alters)
    return {c.file.path: c for c in cover(run, units, lay(Plan(units), results))}


def examined(of: Unit, *names: str) -> Result:
    return result(of, answer=Answer(HEADER, "comment", names))


A, B = (changed(name)["change"][0] for name in ("src/a.py", "src/b.py"))
GONE = changed("src/a.py", status="deleted")["change"][0]
MOVED = ChangedFile("src/new.py", "src/old.py", "renamed")
ODD = ChangedFile("odd\\name", "odd\\name")
ON_A = about(CODEX, "src/a.py")
RUFF = about(unit("ruff"), "src/a.py", "src/b.py", scope="tree")


@pytest.mark.parametrize(
    ("of", "answer", "file", "covered"),
    [
        (ON_A, examined(ON_A, "src/a.py"), A, True),
        (ON_A, examined(ON_A, "docs/x.md", "src/a.py"), A, True),
        (ON_A, examined(ON_A, "./src/a.py"), A, True),
        (ON_A, examined(ON_A, "src"), A, False),
        (ON_A, examined(ON_A, "src/"), A, False),
        (ON_A, examined(ON_A, "."), A, False),
        (ON_A, examined(ON_A, "a.py", "src/a.pyc", "src/a", "*"), A, False),
        (ON_A, examined(ON_A, "src/b.py"), A, False),
        (ON_A, examined(ON_A), A, False),
        (ON_A, examined(ON_A, "src/a.py", "src/b.py"), B, False),
        (ON_A, examined(ON_A, "src/a.py"), GONE, True),
        (ON_A, examined(ON_A, "src"), GONE, False),
        (about(CODEX, "src/new.py"), examined(CODEX, "src/old.py"), MOVED, False),
        (about(CODEX, "src/new.py"), examined(CODEX, "src/new.py"), MOVED, True),
        (about(CODEX, "odd\\name"), examined(CODEX, "odd\\name"), ODD, True),
        (ON_A, lost(ON_A), A, False),
        (ON_A, broken(ON_A), A, False),
        (ON_A, replace(examined(ON_A, "src/a.py"), status="broken"), A, False),
        (CODEX, examined(CODEX, "src/a.py"), A, True),
        (CODEX, examined(CODEX, "src/b.py"), A, False),
        (CODEX, examined(CODEX, "src"), A, False),
        (CODEX, examined(CODEX, "src/a.py"), GONE, False),
        (about(CODEX, "src/a.py", scope="tree"), examined(CODEX, "src/a.py"), A, True),
        (about(CODEX, "src/a.py", scope="tree"), examined(CODEX, "src/a.py"), GONE, False),
        (about(CODEX, reads=("src/**",), scope="tree"), examined(CODEX, "src/a.py"), A, False),
        (about(CODEX), examined(CODEX, "src/a.py"), A, False),
        (unit("codex", contract=Contract("prose")), examined(CODEX, "src/a.py"), A, False),
        (RUFF, examined(RUFF, "src/a.py"), A, True),
        (RUFF, examined(RUFF, "./src/a.py"), A, True),
        (RUFF, examined(RUFF, "src"), A, False),
        (RUFF, examined(RUFF, "."), A, False),
        (RUFF, examined(RUFF, "src/b.py"), A, False),
        (RUFF, examined(RUFF), A, False),
        (about(unit("ruff"), "src/b.py"), examined(unit("ruff"), "src/a.py"), A, False),
    ],
)
def test_an_answer_covers_what_its_unit_holds(
    of: Unit, answer: Result, file: ChangedFile, covered: bool
) -> None:
    found = look((of,), (answer,), file)[file.path]
    assert bool(found.cases) is covered
    assert found.missing is not covered
    assert bool(found.why) is not covered


@pytest.mark.parametrize("kind", ["binary", "lfs", "submodule", "withheld", "excluded", "masked"])
def test_nobody_covers_what_nobody_can_read(kind: str) -> None:
    units = (*PAIR, ON_A)
    answers = (examined(CODEX, "src/a.py"), examined(SONNET, "src/a.py"))
    found = look(units, answers, replace(A, kind=kind))["src/a.py"]
    assert found.missing
    assert found.why.startswith(f"{kind}: ")
    assert "nobody has seen" in found.why


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (
            (examined(CODEX, "src"), examined(SONNET, "src/b.py")),
            "no answer names it as examined; it was put to",
        ),
        ((examined(CODEX, "src"), lost(SONNET)), "no answer names it as examined; it was put to"),
        ((lost(CODEX), broken(SONNET)), "no answer to rely on; it was put to"),
        ((), "no answer to rely on; it was put to"),
    ],
)
def test_it_says_who_can_be_asked_again(answers: tuple[Result, ...], why: str) -> None:
    units = (about(CODEX, "src/a.py"), about(SONNET, "src/a.py"))
    said = look(units, answers, A)["src/a.py"].why
    assert said.startswith(f"{why} {CODEX.id}")


def test_one_of_many_files_skipped_is_the_one_that_is_named() -> None:
    files = [ChangedFile(f"src/m{n}.py", f"src/m{n}.py") for n in range(12)]
    of = about(CODEX, *(file.path for file in files))
    found = look((of,), (examined(of, *(file.path for file in files[1:])),), *files)
    assert [c.file.path for c in found.values() if c.missing] == ["src/m0.py"]


def test_each_case_is_named_once() -> None:
    other = about(unit("codex", "panels/security/probe_y.py::probe_y"), "src/a.py")
    units = (ON_A, about(SONNET, "src/a.py"), other)
    found = look(units, tuple(examined(u, "src/a.py") for u in units), A)["src/a.py"]
    assert found.cases == (ON_A.case, other.case)


@pytest.mark.parametrize(
    ("patterns", "old", "new", "ignored"),
    [
        (("docs/**",), "docs/a.md", "docs/a.md", True),
        (("docs",), "docs/a.md", "docs/b.md", True),
        (("docs/**",), "src/a.py", "docs/a.py", False),
        (("docs/**",), "docs/a.py", "src/a.py", False),
        (("docs/**", "src/**"), "src/a.py", "docs/a.py", True),
        (("docs/**",), "", "docs/new.md", True),
        (("*.md",), "", "docs/new.md", False),
        (("[", "../x", "/", "docs/**"), "", "docs/new.md", True),
        ((), "", "docs/new.md", False),
    ],
)
def test_a_pattern_ignores_a_file_under_both_its_names(
    patterns: tuple[str, ...], old: str, new: str, ignored: bool
) -> None:
    file = ChangedFile(new, old, "renamed" if old not in ("", new) else "added")
    found = look((), (), file, uncovered=patterns)[new]
    assert (found.ignored, found.missing) == (ignored, not ignored)


def test_a_note_says_why_it_could_not_be_seen() -> None:
    said = look((), (), replace(A, kind="excluded", note="by the pattern src/**"))["src/a.py"].why
    assert said == "excluded: left out of what is reviewed, so nobody has seen it (by the pattern src/**)"


def test_a_file_that_changes_the_review_is_not_missing_as_well() -> None:
    found = look((), (), A, B, alters=("src/a.py",))
    assert [c.missing for c in found.values()] == [False, True]


@given(st.permutations([A, B, GONE]), st.sampled_from([(), ("src/**",)]))
def test_every_file_is_spoken_of_in_its_order(files: list[ChangedFile], patterns: tuple[str, ...]) -> None:
    run = facts(change=tuple(files), gate=Policy(uncovered=patterns))
    units = (ON_A,)
    covers = cover(run, units, lay(Plan(units), [examined(ON_A, "src/a.py")]))
    assert [c.file for c in covers] == files
    assert all(c.missing == (not c.cases and not patterns) for c in covers)
