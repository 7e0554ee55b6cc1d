"""Copies lie below a cache directory of the test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.copies import kit
from tests.repokit import cache_home


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where they lie; the user has no home, and so no configuration of git."""
    with cache_home() as path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(path))
        monkeypatch.setenv("HOME", "/nonexistent")
        yield path


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[kit.Bench]:
    """A repository with its vault and copies."""
    made = kit.bench(tmp_path)
    with made.copies:
        yield made
