"""What the analysers say about the example shop, against the list of what is wrong with it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from prun_review.config import load
from prun_review.executors.analyser import built_in
from prun_review.independence import rule_dependence
from prun_review.matching import crosscheck
from prun_review.model import SEVERITIES, ExecutorInfo, Finding, severity_rank
from tests.executors.analysing import PYTHON, answer

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "examples" / "shop"
ANSWERS: list[dict[str, Any]] = json.loads((ROOT / "tests" / "data" / "shop_answers.json").read_text())

CONSENSUS = {"eval-discount", "undefined-declined", "local-number", "finally-return", "format-count"}
"""High, and seen by two analysers of independent vendors and lineages."""
ALSO_SHARED = {"mutable-lines", "duplicate-at", "late-binding", "bare-except", "open-file"}
ONE_ONLY = {"sql-search", "pickle-cookie", "md5-password", "weak-token"}
"""Seen by one analyser; the rest of the list takes a reader who understands the shop."""


@pytest.fixture(scope="module")
def panels(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[Finding, ...]]:
    """The findings of every analyser."""
    files = {str(p.relative_to(SHOP)): p.read_bytes() for p in sorted(SHOP.rglob("shop/*.py"))}
    root = tmp_path_factory.mktemp("shop")
    return {name: tuple(answer(root, name, files).findings or ()) for name in PYTHON}


def planted(finding: Finding) -> set[str]:
    """The answers that a finding lies at."""
    return {
        a["id"]
        for a in ANSWERS
        if a["file"] == finding.file
        and a["line"] <= (finding.end_line or 0)
        and (finding.line or 0) <= a["end_line"]
    }


def test_the_list_of_answers_is_about_the_shop() -> None:
    assert len(ANSWERS) >= 12
    assert len({a["kind"] for a in ANSWERS}) >= 6
    assert len({a["id"] for a in ANSWERS}) == len(ANSWERS)
    for a in ANSWERS:
        lines = (SHOP / a["file"]).read_text().splitlines()
        assert 1 <= a["line"] <= a["end_line"] <= len(lines), a
        assert a["severity"] in SEVERITIES
        assert lines[a["line"] - 1].strip(), a


def test_nothing_in_the_shop_gives_an_answer_away() -> None:
    text = "".join(p.read_text().lower() for p in SHOP.rglob("*") if p.suffix in (".py", ".md", ".toml"))
    for word in (
        "bug",
        "defect",
        "vulnerab",
        "injection",
        "todo",
        "fixme",
        "planted",
        "on purpose",
        "shop_answers",
    ):
        assert word not in text, word


def test_independent_analysers_agree_on_what_is_there_and_on_nothing_else(
    panels: Mapping[str, tuple[Finding, ...]],
) -> None:
    infos = {n: ExecutorInfo(n, e.vendor, e.lineage, e.paid) for n, e in built_in(load({})).items()}
    agreed: set[str] = set()
    for a, b in itertools.combinations(PYTHON, 2):
        for pair in crosscheck(panels[a], panels[b]):
            if pair.outcome == "alone":
                continue
            assert pair.left is not None
            assert pair.right is not None
            left, right = panels[a][pair.left], panels[b][pair.right]
            same = planted(left) & planted(right)
            worst = max(severity_rank(left.severity), severity_rank(right.severity))
            if worst >= severity_rank("medium"):
                assert same, (left, right)
                assert pair.outcome == "match", (left, right)
                assert not rule_dependence(left, right, infos[a], infos[b])
                agreed |= same
    assert agreed == CONSENSUS | ALSO_SHARED


def test_each_answer_is_seen_by_as_many_as_the_list_means(panels: Mapping[str, tuple[Finding, ...]]) -> None:
    seen = {
        a["id"]: {n for n, found in panels.items() for f in found if a["id"] in planted(f)} for a in ANSWERS
    }
    high = {a["id"] for a in ANSWERS if a["severity"] in ("high", "critical")}
    assert high >= CONSENSUS
    assert {a for a, by in seen.items() if len(by) >= 2} == CONSENSUS | ALSO_SHARED
    assert all(len(seen[a]) == 1 for a in ONE_ONLY)
    assert {a for a, by in seen.items() if not by} >= {
        "stock-race",
        "xss-search",
        "path-invoice",
        "role-or",
        "stock-leak",
    }
    for a in ANSWERS:
        if a["id"] in CONSENSUS:
            rated = {f.severity for found in panels.values() for f in found if a["id"] in planted(f)}
            assert rated == {a["severity"]}
