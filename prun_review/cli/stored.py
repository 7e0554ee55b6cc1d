"""A stored run for the verbs that work with its findings."""

from __future__ import annotations

from pathlib import Path

from prun_review.cli.runs import Judged, judge
from prun_review.errors import PrunError, RunDirError


def read(path: Path) -> Judged:
    """The run judged again; ``RunDirError`` where it is damaged."""
    try:
        return judge(path)
    except PrunError:
        raise
    except (KeyError, TypeError, ValueError, OSError) as error:
        remedy = "ask again, or look at its files by hand"
        raise RunDirError(f"the run is damaged: {error}", place=str(path), remedy=remedy) from error
