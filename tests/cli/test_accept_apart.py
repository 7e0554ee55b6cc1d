"""``prun-review accept``: what is accepted already is what a run would take it for, and nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from prun_review.acceptance import parse
from prun_review.model import Acceptance, Finding
from tests.cli.driver import call
from tests.cli.runkit import CODEX, FACTS, SONNET, both, store
from tests.gatekit import SQL, result

QUOTED = replace(SQL, quote="cursor.execute(query + name)")
COPY = replace(QUOTED, line=90, end_line=90)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A trusted root."""
    (tmp_path / "pyproject.toml").write_text("[tool.prun_review]\n")
    return tmp_path


def entries(root: Path) -> tuple[Acceptance, ...]:
    return parse((root / "prun-accept.toml").read_text(), "prun-accept.toml", 1.8e9)


def accept(root: Path, name: str) -> str:
    """Accept the one blocking finding of a run; what is printed."""
    row = next(r for r in json.loads((root / ".prun/runs" / name / "run.json").read_text())["findings"])
    status, _, errors = call("accept", name, row["id"], "--reason", "so", "--by", "Ada", cwd=root)
    assert status == 0
    return re.sub(r"\s+", " ", errors)


@pytest.mark.parametrize(
    ("first", "then", "written"),
    [
        pytest.param((QUOTED, QUOTED), (QUOTED, QUOTED), 1, id="the same"),
        pytest.param((QUOTED, QUOTED), (replace(QUOTED, line=14), QUOTED), 1, id="lines that jitter"),
        pytest.param((QUOTED, QUOTED), (COPY, COPY), 2, id="a copy elsewhere"),
        pytest.param(
            (QUOTED, QUOTED), (QUOTED, replace(QUOTED, line=28, end_line=28)), 2, id="and another place"
        ),
        pytest.param(
            (QUOTED, replace(QUOTED, line=28, end_line=28)), (QUOTED, QUOTED), 1, id="one of two places"
        ),
    ],
)
def test_what_gates_can_be_accepted(
    root: Path, first: tuple[Finding, Finding], then: tuple[Finding, Finding], written: int
) -> None:
    for n, (codex, sonnet) in enumerate((first, then)):
        given = (result(CODEX, codex), result(SONNET, sonnet))
        told = accept(root, store(root, given, now=1.8e9 + n).name)
        assert ("accepted already" in told) is (n == 1 and written == 1)
    assert len(entries(root)) == written
    run = store(
        root,
        (result(CODEX, then[0]), result(SONNET, then[1])),
        facts=replace(FACTS, acceptances=entries(root)),
        now=1.8e9 + 9,
    )
    assert json.loads(call("gate", run.name, cwd=root)[1])["outcome"] == "PASS"


def test_what_was_not_grounded_is_accepted_again_once_it_is(root: Path) -> None:
    lone = (result(CODEX, replace(QUOTED, grounding="ungrounded")), result(SONNET))
    accept(root, store(root, lone).name)
    assert "ungrounded = true" in (root / "prun-accept.toml").read_text()
    run = store(root, both(QUOTED), facts=replace(FACTS, acceptances=entries(root)), now=1.8e9 + 1)
    assert json.loads(call("gate", run.name, cwd=root)[1])["outcome"] == "FAIL"
    assert "accepted already" not in accept(root, run.name)
    assert len(entries(root)) == 2
