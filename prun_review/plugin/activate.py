"""Puts an active session together: checks configuration first, then registers the parts."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from prun_review.config import Config
from prun_review.errors import PrunError
from prun_review.plugin.collect import Collector
from prun_review.plugin.items import ItemHooks, ReportCleaner, WarningCleaner
from prun_review.plugin.scope import PATTERN, Scope

if TYPE_CHECKING:
    from prun_review.plugin.tasks import TaskCollector


def activate(config: pytest.Config, where: Scope) -> None:
    """Register what an active session needs; ``pytest.UsageError`` for a bad configuration."""
    if any(getattr(config.option, name, False) for name in ("stepwise", "stepwise_skip", "stepwise_reset")):
        raise pytest.UsageError(
            "prun_review: --sw would take units for passed that never ran\n  remedy: use --lf, or -x"
        )
    collector, run, settings, where = (_waves if where.waves else _panels)(config, where)
    for name, part in (
        ("collector", collector),
        ("items", ItemHooks()),
        ("ids", Ids()),
        ("cleaner", ReportCleaner()),
        ("warnings", WarningCleaner()),
    ):
        config.pluginmanager.register(part, f"prun_review-{name}")
    if where.worker:
        from prun_review.plugin.distributed import Worker

        config.pluginmanager.register(Worker(config, collector))
    else:
        _register_controller(config, where, collector, run, settings)


def _panels(config: pytest.Config, where: Scope) -> tuple[Collector, Any, Config, Scope]:
    """What collects probes, the review behind it, its configuration, and the scope."""
    from prun_review import extensions
    from prun_review.beginning import record_abort
    from prun_review.reporting import trouble
    from prun_review.review import Review
    from prun_review.settings import read_settings

    review: Review | None = None
    try:
        root, settings = read_settings(where.root, options(config))
        review = Review(root, settings, dict(os.environ))
        review.check_names()
        _set_change(config, where, review)
    except PrunError as error:
        if review is not None:
            review.close()
        if not where.worker and not config.option.collectonly:
            record_abort(where.root, error.message)
        raise pytest.UsageError(f"prun_review: {trouble(error)}") from None
    config.addinivalue_line("python_files", PATTERN)
    collector = Collector(where, settings, review.executors, extensions.contracts(review.extensions))
    return collector, review, settings, where


def _waves(config: pytest.Config, where: Scope) -> tuple[TaskCollector, Any, Config, Scope]:
    """The same of a directory of waves."""
    from prun_review.plugin import wavesession
    from prun_review.plugin.tasks import TaskCollector
    from prun_review.reporting import trouble
    from prun_review.surroundings import Surroundings
    from prun_review.waverun import WaveRun

    assert where.waves is not None
    place = where.waves.place
    wavesession.take_arguments(config, where.waves)
    try:
        root, settings, selection = wavesession.settings(config, where, options(config))
        run = WaveRun(root, settings, dict(os.environ), place, selection)
        run.check_names()
    except PrunError as error:
        raise pytest.UsageError(f"prun_review: {trouble(error)}") from None
    project = Surroundings(root, settings, run.executors, selection.executor)
    return TaskCollector(root, where.waves, project), run, settings, replace(where, root=root)


class Ids:
    """Makes the ids of parameters inert: names of changed files are such, and pytest prints them."""

    def pytest_make_parametrize_id(self, val: object) -> str | None:
        """The id of a text that a CI runner would obey; None leaves all others to pytest."""
        from prun_review.renderers.escape import one_line, plain

        return one_line(val) if isinstance(val, str) and plain(val) != val else None


def _set_change(config: pytest.Config, where: Scope, review: Any) -> None:
    """Say what changed before a probe file is imported: the same here and on every worker."""
    from prun_review import whatchanged
    from prun_review.change import Listed

    if where.worker:
        sent = config.workerinput["prun_review"]["change"]  # type: ignore[attr-defined]
        listing = None if sent is None else tuple(Listed(*entry) for entry in sent)
    else:
        listing = review.take()
    whatchanged.set_change(listing)
    config.add_cleanup(lambda: whatchanged.set_change(None))


def _register_controller(
    config: pytest.Config, where: Scope, collector: Collector | TaskCollector, review: Any, settings: Config
) -> None:
    from prun_review.plugin.distributed import Controller
    from prun_review.plugin.local import LocalLoop
    from prun_review.plugin.progress import Progress
    from prun_review.plugin.session import ReviewSession

    progress = Progress(settings.heartbeat, config.option.verbose < 0)
    if where.waves:
        from prun_review.plugin.wavesession import WaveSession

        session: ReviewSession = WaveSession(config, review, progress, where.waves)
    else:
        session = ReviewSession(config, review, progress, where.panels)
    config.pluginmanager.register(session, "prun_review-session")
    distributed = config.getoption("dist", "no") != "no" and not config.option.collectonly
    loop = Controller(session, where) if distributed else LocalLoop(session, collector)
    config.pluginmanager.register(loop, "prun_review-loop")
    config.add_cleanup(progress.stop)
    config.add_cleanup(review.close)


def options(config: pytest.Config) -> dict[str, Any]:
    """The command line's values, by configuration key; only what was given."""
    option, here = config.option, config.invocation_params.dir
    given: dict[str, Any] = {
        "jobs": option.prun_jobs,
        "report": option.prun_report,
        "dispatch": option.prun_dispatch,
        "replay": option.prun_replay,
        "timeout": option.prun_timeout,
        "heartbeat": option.prun_heartbeat,
        "offline": option.prun_offline or None,
        "budget": option.prun_budget,
        "retries": option.prun_retries,
        "stall": option.prun_stall,
        "base": option.prun_base,
        "head": _folder(here, option.prun_head),
        "previous": option.prun_previous,
        "about": option.prun_about and str(here / option.prun_about),
        "profile": option.prun_profile,
        "cross_examine": option.prun_cross_examine,
        "repeat": option.prun_repeat,
        "baseline": option.prun_baseline and str(here / option.prun_baseline),
        "resume": option.prun_resume_from or ("latest" if option.prun_resume else None),
    }
    if option.prun_executors is not None:
        given["executors"] = _words(option.prun_executors)
        if given["offline"]:
            raise pytest.UsageError("prun_review: --prun-executors and --prun-offline exclude each other")
    if option.prun_authors is not None:
        given["authors"] = _words(option.prun_authors)
    return {k: v for k, v in given.items() if v is not None}


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _folder(here: Path, head: str | None) -> str | None:
    """A head that is a path is one from where the command was typed; a lone name may be a revision."""
    return str(here / head) if head and "/" in head and (here / head).is_dir() else head
