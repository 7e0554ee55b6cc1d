"""Runs an analyser over a few files, as the pool would."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from prun_review.config import load
from prun_review.executors.analyser import built_in
from prun_review.model import Finding, Reading
from prun_review.ports import Command, Output
from tests.executors.driving import Bench

PYTHON = ("ruff", "pylint", "bandit")


def write(tree: Path, files: Mapping[str, str | bytes]) -> tuple[str, ...]:
    """Write files below a tree; the names of those that end with ``.py``."""
    for name, content in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return tuple(sorted(name for name in files if name.endswith(".py")))


def run(
    root: Path,
    name: str,
    files: Mapping[str, str | bytes],
    *,
    asked: Iterable[str] | None = None,
    **table: Any,
) -> tuple[Command, Output, Reading]:
    """What ``name`` says about ``files`` under its configuration ``table``."""
    bench = Bench(root, attempts=len(list(root.glob("units/*"))))
    python = write(bench.tree, files)
    executor = built_in(load({"executor": {name: table}}))[name]
    request = bench.request(executor)
    unit = replace(request.unit, files=tuple(python if asked is None else asked))
    return bench.run(executor, replace(request, unit=unit))


def answer(root: Path, name: str, files: Mapping[str, str | bytes], **more: Any) -> Reading:
    """The reading of an answer; anything else fails the test with the message."""
    reading = run(root, name, files, **more)[2]
    assert reading.status == "answered", (reading.reason, reading.message)
    return reading


def told(findings: Iterable[Finding] | None) -> set[tuple[str | None, str | None, int | None]]:
    """Rule, file and line of findings."""
    return {(f.rule, f.file, f.line) for f in findings or ()}


def fs(name: bytes) -> str:
    """A file name that need not be UTF-8, as Python spells it."""
    return os.fsdecode(name)
