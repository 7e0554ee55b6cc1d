"""What some tests need of the machine: without it they are left out, and under CI they fail."""

from __future__ import annotations

import os

import pytest

from prun_review.process import contain


def bubblewrap() -> None:
    """Skip where workers cannot be contained; the script of CI installs what that takes."""
    why = contain.unavailable()
    if why:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"workers cannot be contained here: {why}")
