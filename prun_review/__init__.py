"""prun_review: put one review question to coding agents of different vendors, and cross-check them.

Public names are loaded on first use, so that ``import prun_review`` costs nothing in a project
that has no panels.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prun_review.matching import crosscheck as crosscheck
    from prun_review.model import Finding as Finding
    from prun_review.model import Pair as Pair
    from prun_review.probes import brief as brief
    from prun_review.probes import choice as choice
    from prun_review.runpanels import run_panels as run_panels
    from prun_review.runwaves import run_waves as run_waves
    from prun_review.whatchanged import changed as changed

__version__ = "0.1.0"
__all__ = ["Finding", "Pair", "brief", "changed", "choice", "crosscheck", "run_panels", "run_waves"]

_HOMES = {
    "Finding": "model",
    "Pair": "model",
    "crosscheck": "matching",
    "brief": "probes",
    "changed": "whatchanged",
    "choice": "probes",
    "run_panels": "runpanels",
    "run_waves": "runwaves",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"prun_review.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'prun_review' has no attribute {name!r}")
