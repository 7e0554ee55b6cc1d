"""Waves run by a program: everything of ``prun-review run DIR`` as one function."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from prun_review import git
from prun_review.config import Config, over_waves
from prun_review.errors import PrunError
from prun_review.manifestfiles import MANIFEST, TASKS
from prun_review.settings import is_project, read_settings
from prun_review.wavebeginning import Selection
from prun_review.waverun import WaveRun

SLICE = 0.2
"""Seconds between two looks whether the run is to be ended."""


def run_waves(
    directory: str | os.PathLike[str],
    *,
    only: Sequence[str] | None = None,
    from_wave: int | None = None,
    resume: bool = False,
    executor: str = "",
    jobs: int | None = None,
    timeout: float | None = None,
    reopen: int | None = None,
    isolation: str | None = None,
    root: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    stop: Callable[[], str] = lambda: "",
) -> dict[str, Any]:
    """The wave document of one run of a ``parallel/`` directory, whatever became of it; ``status`` is
    ``completed`` only where all of it is done.

    The arguments are the options of ``prun-review run DIR``.  ``stop()`` says why to end early, or nothing.
    ``PrunError`` where nothing can be run, with everything that is wrong, and where the run cannot be kept.
    """
    options = {"jobs": jobs, "timeout": timeout, "reopen": reopen, "isolation": isolation}
    top, config = settings(Path(directory), options, Path(root) if root is not None else None)
    selection = Selection(None if only is None else tuple(only), from_wave, resume, executor)
    run = WaveRun(top, config, os.environ if env is None else env, Path(directory), selection)
    try:
        run.start(say=lambda text: None)
        to_its_end(run, stop)
        return dict(run.finish().document)
    finally:
        run.close()


def settings(directory: Path, options: Mapping[str, Any], root: Path | None = None) -> tuple[Path, Config]:
    """The trusted root that a directory lies in, and its configuration under ``options`` of waves that are
    not None."""
    top, config = _root(directory) if root is None else (root.absolute(), read_settings(root)[1])
    given = {name: value for name, value in options.items() if value is not None}
    return top, over_waves(config, given)


def _root(directory: Path) -> tuple[Path, Config]:
    """The project at or above the current folder where the directory lies in it, else that above the
    directory; where nothing is configured there its repository."""
    top, config = read_settings(Path.cwd())
    place = Path(os.path.realpath(directory))
    if place.name in (TASKS, MANIFEST):
        place = place.parent
    if place.is_relative_to(os.path.realpath(top)) and (is_project(top) or _may_be_one(top, place)):
        return top, config
    top, config = read_settings(place if place.is_dir() else place.parent)
    return (top, config) if is_project(top) else (git.find(top).top, config)


def _may_be_one(here: Path, place: Path) -> bool:
    """Whether a folder for which nothing is configured may be the project of the directory ``place``: not
    one above its repository, and not ``parallel/`` itself, to which no scope of a task is relative."""
    try:
        top = git.find(place if place.is_dir() else place.parent).top
    except PrunError:
        return True
    here = here.resolve()
    return here == top or (here.is_relative_to(top) and not here.is_relative_to(place.parent))


def to_its_end(run: WaveRun, stop: Callable[[], str] = lambda: "") -> None:
    """Drive a run that has started until nothing is owed, or until ``stop()`` says why to end it."""
    while run.owed:
        run.next(SLICE)
        if why := stop():
            run.stop("interrupted", why)
