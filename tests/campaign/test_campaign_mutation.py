"""Mutation testing changes what it says, one thing at a time, and never a file."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaign.mutationrun import ROOT, TESTS, chosen
from tests.campaign.sourcemutants import changed, sites

SOURCE = '''
from dataclasses import dataclass

@dataclass(frozen=True)
class Limit:
    most: int = 3

def within(n, limit, names=()):
    """So many are fine."""
    if not names or limit.most is None:
        return True
    return any(0 < len(name) <= n + 1 for name in names) and n >= 0.5
'''

WANTED = {
    "3 is 4",
    "3 is 2",
    "not is left out",
    "Or is And",
    "Is is IsNot",
    "True is False",
    "nothing is returned",
    "any is all",
    "Lt is LtE",
    "Lt is GtE",
    "LtE is Lt",
    "LtE is Gt",
    "Add is Sub",
    "And is Or",
    "GtE is Gt",
    "GtE is Lt",
    "0.5 is 0.85",
    "0 is 1",
    "0 is -1",
    "1 is 2",
    "1 is 0",
}


def test_every_change_is_found_and_none_of_how_a_record_is_made() -> None:
    found = sites(SOURCE)
    assert {s.what for s in found} == WANTED
    assert len({s.id for s in found}) == len(found)
    assert not [s for s in found if s.line == 4]


@pytest.mark.parametrize("site", sites(SOURCE), ids=lambda s: f"{s.line} {s.what}")
def test_a_change_changes_one_line_of_the_source(site: object) -> None:
    whole = ast.unparse(ast.parse(SOURCE)).splitlines()
    other = ast.unparse(changed(SOURCE, next(s for s in sites(SOURCE) if s == site))).splitlines()
    assert len(other) == len(whole)
    assert sum(a != b for a, b in zip(whole, other, strict=True)) == 1


def test_a_changed_module_is_imported_and_its_file_stays() -> None:
    path = ROOT / "prun_review/policy.py"
    before = path.read_bytes()
    code = """
import sys
from tests.campaign.mutationrun import ROOT, Finder, chosen

site = next(t.site for t in chosen(["policy"], ["comparison"], 0, 1) if t.site.what == "LtE is Gt")
sys.meta_path.insert(0, Finder("prun_review.policy", ROOT / "prun_review/policy.py", site))
from prun_review.policy import within

print(within(1, 2), within(3, 2))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("module", sorted(TESTS))
def test_a_module_and_the_tests_that_are_about_it_are_there(module: str) -> None:
    files = [Path(f"prun_review/{module}.py"), *(Path(f"tests/{name}.py") for name in TESTS[module])]
    assert not [str(f) for f in files if not (ROOT / f).is_file()]


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    assert chosen(["gate"], [], 5, 3) == chosen(["gate"], [], 5, 3) != chosen(["gate"], [], 5, 4)
    assert {t.site.kind for t in chosen(["gate"], ["comparison"], 0, 1)} == {"comparison"}
