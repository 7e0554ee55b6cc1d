"""A session that runs a directory of waves: what is put together for it, and what it says of itself."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prun_review import runwaves
from prun_review.config import Config, over_waves
from prun_review.errors import ConfigError
from prun_review.planning import Proposal
from prun_review.plugin.scope import Scope
from prun_review.plugin.session import ReviewSession
from prun_review.plugin.wavescope import Waves, place_of
from prun_review.settings import read_settings
from prun_review.tasks import SUCCEEDED
from prun_review.verdict import number
from prun_review.wavebeginning import Selection
from prun_review.waves import NOT_SELECTED

if TYPE_CHECKING:
    from prun_review.plugin.progress import Progress
    from prun_review.review import Outcome

OF_REVIEWS = (
    *(
        "prun_offline",
        "prun_replay",
        "prun_base",
        "prun_head",
        "prun_previous",
        "prun_about",
        "prun_dispatch",
    ),
    *("prun_profile", "prun_cross_examine", "prun_repeat", "prun_baseline", "prun_authors", "prun_report"),
    "prun_resume_from",
)
"""Options that ask for something that a run of waves does not do."""
OF_WAVES = ("jobs", "timeout")
"""Options that mean a key of the table of waves here."""
SHOWN = 12
"""Lines of what a failed validation printed."""


def settings(config: pytest.Config, where: Scope, given: Mapping[str, Any]) -> tuple[Path, Config, Selection]:
    """The trusted root, as for ``prun-review run``, the configuration under the options ``given``, and what
    is to be run; ``pytest.UsageError`` for an option that only a review has, ``ConfigError``."""
    assert where.waves is not None
    wrong = [name for name in OF_REVIEWS if getattr(config.option, name) not in (None, False)]
    if wrong:
        named = ", ".join(f"--{name.replace('_', '-')}" for name in wrong)
        raise pytest.UsageError(
            f"prun_review: {named}: only reviews have that, and this is a directory of waves"
            "\n  remedy: leave it out, or name panels instead"
        )
    root = where.root if where.worker else runwaves.settings(where.waves.place, {})[0]
    left = {key: value for key, value in given.items() if key not in (*OF_WAVES, "executors", "resume")}
    found = read_settings(root, left)[1]
    found = over_waves(found, {key: given[key] for key in OF_WAVES if key in given})
    if found.dispatch == "off":
        raise ConfigError("dispatch is off, so no task can be run", remedy='dispatch = "auto"')
    executors = given.get("executors", [])
    if len(executors) > 1:
        raise ConfigError(
            f"--prun-executors names {len(executors)} executors, and a task is done by one",
            remedy="name the one for the tasks that wish for nobody",
        )
    return root, found, Selection(resume="resume" in given, executor="".join(executors))


def take_arguments(config: pytest.Config, waves: Waves) -> None:
    """Have pytest collect the directory once, whatever it was called by: it knows no ``DIR::id`` for one."""
    here = config.invocation_params.dir
    ours = [place_of(here, argument) for argument in config.args]
    same = [place is not None and os.path.realpath(place) == str(waves.real) for place in ours]
    paths = zip(config.args, same, strict=True)
    config.args = list(dict.fromkeys(str(waves.place) if our else argument for argument, our in paths))


class WaveSession(ReviewSession):
    """As a session of panels, with a run of waves behind it."""

    nothing = "no task was asked for"

    def __init__(self, config: pytest.Config, run: Any, progress: Progress, waves: Waves) -> None:
        super().__init__(config, run, progress, ())
        self.node = waves.node(self.config.rootpath)
        self.run = run
        self.folder = ""
        """The directory as the run calls it; its tasks' units are named after it."""

    def start(self, proposals: Sequence[Proposal], workers: int = 0) -> None:
        """Begin with the tasks that were selected; with none where marks skip all of them."""
        self.folder = next((proposal.folder for proposal in proposals), "")
        if all(proposal.not_asked for proposal in proposals):
            self.review.stop("skipped", "every task that was selected is skipped by a mark")
            return
        super().start(proposals, workers)
        items = {proposal.id for proposal in proposals}
        course = self.run.course
        # What was done before, and is no item now, is spoken of by none: the run's own end says how it is.
        done = (name for name, held in course.outcomes.items() if held.status == SUCCEEDED)
        self.reported |= {f"{self.folder}::{name}" for name in done} - items

    def unit_of(self, nodeid: str) -> str:
        """The id of the task's unit."""
        node, _, task = nodeid.rpartition("::")
        return f"{self.folder}::{task}" if node == self.node else nodeid

    def failure(self, outcome: Outcome) -> str:
        """How many tasks are done, and each wave that did not pass what came after its tasks."""
        left = [task["wave"] for task in outcome.document["tasks"] if task["reason"] == NOT_SELECTED]
        waves = (
            _unproven(wave, sum(number <= wave["number"] for number in left))
            for wave in outcome.document["waves"]
        )
        return "\n".join([outcome.verdict.line or outcome.verdict.outcome, *filter(None, waves)])

    def further(self, outcome: Outcome) -> Sequence[str]:
        """Where the run lies."""
        return [f"run directory: {self.review.directory}"]

    def _silent_files(self, proposals: Sequence[Proposal]) -> list[str]:
        return []


def _unproven(wave: Mapping[str, Any], left_out: int) -> str:
    """Why a wave is not what it should be although its tasks are done; empty for any other.  ``left_out``:
    how many tasks up to it were not selected."""
    if wave["reason"] == "validation" and wave["validation"]:  # not one that came after it, and never ran
        check = wave["validation"]
        how = check["ended_by"] or ("did not start" if check["code"] is None else f"exit {check['code']}")
        said = "".join(f"\n    {line}" for line in check["said"].splitlines()[-SHOWN:])
        part = f" without {number(left_out, 'task')} that nobody selected" if left_out else ""
        command = wave["names"]["validation"]
        return f"wave {wave['number']}: its validation failed{part} ({how}): {command}{said}"
    lines = [f"wave {wave['number']}: {review['line']}" for review in wave["reviews"]]
    return "\n".join(lines) if wave["reason"] == "panel" else ""
