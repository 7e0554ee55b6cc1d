"""Fixtures that the tests share; panels need none."""

from __future__ import annotations

pytest_plugins = ["pytester"]
