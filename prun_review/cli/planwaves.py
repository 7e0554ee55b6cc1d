"""What ``prun-review plan DIR`` prints of a directory of waves; no verb of its own."""

from __future__ import annotations

import argparse
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prun_review.cli.waves import holds_waves
from prun_review.errors import ConfigError
from prun_review.manifestfiles import MANIFEST, TASKS
from prun_review.renderers.escape import one_line, plain

if TYPE_CHECKING:
    from prun_review.tasks import Task
    from prun_review.wavebeginning import Reading
    from prun_review.waverun import WaveRun


def named(paths: Sequence[str]) -> tuple[Path, frozenset[str]] | None:
    """The directory of waves that the paths name and the ids of tasks behind ``::``, none for all; None
    where they name none.  ``ConfigError`` for several, and for one beside anything else."""
    places = [place for path in paths if (place := _place(Path(path.partition("::")[0]))) is not None]
    if not places:
        return None
    if len(places) != len(paths) or len({os.path.realpath(place) for place in places}) > 1:
        raise ConfigError(
            "a directory of waves is planned by itself", place=" ".join(paths), remedy="one at a time"
        )
    ids = [path.split("::")[1:] for path in paths]
    return places[0], frozenset(name for some in ids for name in some) if all(ids) else frozenset()


def _place(path: Path) -> Path | None:
    path = path.parent if path.name in (MANIFEST, TASKS) and not holds_waves(path) else path
    panels = any((path / name).exists() for name in (".git", "pyproject.toml")) or any(
        path.glob("probe_*.py")
    )
    return path.absolute() if holds_waves(path) and not panels else None


def run(place: Path, chosen: Collection[str], args: argparse.Namespace, wrong: Sequence[str]) -> int:
    """Print each task with who does it, and with ``--prompts`` what it is sent; 0.  ``wrong``: options that
    only a review has."""
    from prun_review.runwaves import settings
    from prun_review.waverun import WaveRun

    if wrong:
        again = f"prun-review run {os.path.relpath(place)} --dry-run knows the options of waves"
        raise ConfigError(f"{wrong[0]} is for reviews, and {str(place)!r} holds waves", remedy=again)
    made = WaveRun(*settings(place, {}), os.environ, place)
    try:
        made.check_names()
        reading, _ = made.look()
        tasks = reading.manifest.tasks
        unknown = sorted(set(chosen) - {name for task in tasks for name in (task.id, task.short)})
        if unknown:
            there = ", ".join(task.id for task in tasks[:20])
            raise ConfigError(f"there is no task {', '.join(unknown)}", remedy=f"there are: {there}")
        for task in tasks:
            if not chosen or set(chosen) & {task.id, task.short}:
                _print(made, reading, task, prompts=args.prompts)
    finally:
        made.close()
    return 0


def _print(made: WaveRun, reading: Reading, task: Task, *, prompts: bool) -> None:
    from prun_review import extensions, waveunits
    from prun_review.prompts import compose

    doer = reading.doers[task.id]
    unit = waveunits.planned(reading.manifest, task, doer, made.config.waves, reading.prefix)
    brief = unit.brief
    after = f", after {', '.join(task.deps)}" if task.deps else ""
    print(f"{doer:10} {one_line(unit.id, 200)}")
    told = f"wave {task.wave}, access {brief.access}, at most {brief.timeout:.0f} s{after}"
    print(f"{'':10} {one_line(told, 400)}")
    if prompts:
        kind = extensions.contracts(made.extensions)[brief.contract.kind]
        text = compose(unit, kind, fence="<random>", native=made.executors[doer].native)
        print("\n".join("    " + line for line in plain(text).splitlines()))
