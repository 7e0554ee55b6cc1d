"""Which files of a change an answer accounts for, file by file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prun_review.answers import lay
from prun_review.covering import UNREADABLE, Cover, cover
from prun_review.model import Answer, ChangedFile, Contract, ExecutorInfo, Plan, Policy, Result, Unit
from tests.gate_situations import CODEX, PAIR, SONNET
from tests.gatekit import EXECUTORS, HEADER, about, broken, changed, facts, lost, result, unit

AGENTS = {name: EXECUTORS[name] for name in ("codex", "sonnet", "ruff")}


def look(
    units: tuple[Unit, ...],
    results: tuple[Result, ...],
    *files: ChangedFile,
    executors: dict[str, ExecutorInfo] = AGENTS,
    uncovered: tuple[str, ...] = (),
    alters: tuple[str, ...] = (),
) -> dict[str, Cover]:
    run = facts(change=files, gate=Policy(uncovered=uncovered), alters=alters)
    return {c.file.path: c for c in cover(run, units, lay(Plan(units), results), executors)}


def examined(of: Unit, *names: str) -> Result:
    return result(of, answer=Answer(HEADER, "comment", names))


A, B = (changed(name)["change"][0] for name in ("src/a.py", "src/b.py"))
GONE = changed("src/a.py", status="deleted")["change"][0]
ON_A = about(CODEX, "src/a.py")
RUFF = about(unit("ruff"), "src/a.py", "src/b.py", scope="tree")


@pytest.mark.parametrize(
    ("of", "answer", "file", "covered"),
    [
        (ON_A, result(ON_A), A, True),
        (ON_A, result(ON_A), B, False),
        (ON_A, result(ON_A), GONE, True),
        (ON_A, lost(ON_A), A, False),
        (ON_A, broken(ON_A), A, False),
        (CODEX, result(CODEX), A, True),
        (CODEX, result(CODEX), GONE, False),
        (about(CODEX, "src/a.py", scope="tree"), result(CODEX), A, True),
        (about(CODEX, "src/a.py", scope="tree"), result(CODEX), GONE, False),
        (about(CODEX, reads=("src/**",), scope="tree"), result(CODEX), A, False),
        (about(CODEX), result(CODEX), A, False),
        (unit("codex", contract=Contract("prose")), result(CODEX), A, False),
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


@pytest.mark.parametrize("kind", UNREADABLE)
def test_nobody_covers_what_nobody_can_read(kind: str) -> None:
    found = look(PAIR, (result(CODEX), result(SONNET)), replace(A, kind=kind))["src/a.py"]
    assert found.missing
    assert found.why.startswith(kind)


def test_an_executor_that_nobody_recorded_must_say_what_it_went_through() -> None:
    assert look((ON_A,), (result(ON_A),), A, executors={})["src/a.py"].missing


def test_each_case_is_named_once() -> None:
    other = about(unit("codex", "panels/security/probe_y.py::probe_y"), "src/a.py")
    units = (ON_A, about(SONNET, "src/a.py"), other)
    found = look(units, tuple(map(result, units)), A)["src/a.py"]
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


def test_a_file_that_changes_the_review_is_not_missing_as_well() -> None:
    found = look((), (), A, B, alters=("src/a.py",))
    assert [c.missing for c in found.values()] == [False, True]


@given(st.permutations([A, B, GONE]), st.sampled_from([(), ("src/**",)]))
def test_every_file_is_spoken_of_in_its_order(files: list[ChangedFile], patterns: tuple[str, ...]) -> None:
    run = facts(change=tuple(files), gate=Policy(uncovered=patterns))
    units = (ON_A,)
    covers = cover(run, units, lay(Plan(units), [result(ON_A)]), AGENTS)
    assert [c.file for c in covers] == files
    assert all(c.missing == (not c.cases and not patterns) for c in covers)
