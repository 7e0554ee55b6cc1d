"""The model of the promise is a second opinion: it takes nothing from the gate but the records."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

RECORDS = {
    "prun_review.model": None,
    "prun_review.policy": {"Policy"},
    "prun_review.rulings": {"Examination", "Question"},
}
"""What the model may import: modules and, where a module does more than hold records, names."""

MODEL = ("promise", "laid", "before", "outside", "holders", "spoken", "whose", "oracle")


@pytest.mark.parametrize("name", MODEL)
def test_the_model_imports_nothing_that_decides(name: str) -> None:
    tree = ast.parse(Path(__file__).with_name(f"{name}.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not [a.name for a in node.names if a.name.startswith("prun_review")]
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("prun_review"):
            assert node.module in RECORDS
            allowed = RECORDS[node.module]
            assert allowed is None or {a.name for a in node.names} <= allowed
