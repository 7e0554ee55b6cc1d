"""What a run says of itself before its first dispatch, and the record of one that never began."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from prun_review import __version__, authors, document, remembered, rundir
from prun_review.codec import encode
from prun_review.config import Config
from prun_review.errors import ConfigError, RunDirError
from prun_review.model import ExecutorInfo, Plan, Revision, RunFacts
from prun_review.ports import Executor

_NESTED = ("executor_tables", "sources", "gate", "folders")
"""Parts of a configuration that are recorded elsewhere, or not as one value."""


def check(config: Config, root: Path, executors: Mapping[str, Executor]) -> None:
    """``ConfigError`` for an executor, author or folder that does not exist, and for options that exclude
    each other."""
    if config.resume and config.replay:
        raise ConfigError(
            "resume and replay exclude each other",
            remedy="resume asks what is open; replay asks nothing and judges stored answers again",
        )
    if config.about and not config.base:
        raise ConfigError(
            "about tells of a change, and none is reviewed", remedy="add --prun-base REV, or leave it out"
        )
    remembered.check(config, root)
    if not (root / config.reviewed).is_dir():
        raise ConfigError(
            f"reviewed names no folder: {config.reviewed!r}",
            place=str(root / config.reviewed),
            remedy='reviewed in [tool.prun_review] is a folder, relative to the project; "." is all of it',
        )
    chosen = config.offline_executors if config.offline else config.executors
    for name in (*chosen, *config.executor_tables):
        if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
            raise ConfigError(f"executor name {name!r}", remedy="letters, digits, _ and - only")
        if name not in executors:
            known = ", ".join(sorted(executors))
            raise ConfigError(f"unknown executor {name!r}", remedy=f"known executors: {known}")
    authors.check(config.authors, executors.values())
    for folder in config.folders:
        panels = (name.strip("/") for name in config.panels)
        below = any(folder == p or folder.startswith(f"{p}/") for p in panels)
        if not below or not (root / folder).is_dir():
            raise ConfigError(
                f"folders names {folder!r}, which is no panels folder",
                place="[tool.prun_review.folders]",
                remedy='its path from the project, as in [tool.prun_review.folders."panels/design"]',
            )


def facts(
    run_id: str,
    config: Config,
    plan: Plan,
    revision: Revision,
    infos: Sequence[ExecutorInfo],
    executors: Iterable[Executor],
) -> RunFacts:
    """The facts of a run that is about to dispatch; ``infos`` are those of ``executors`` that it asks."""
    folders = sorted({u.folder for u in plan.units} | {n.folder for n in plan.not_asked})
    return RunFacts(
        run_id=run_id,
        started=time.time(),
        version=__version__,
        executors=tuple(infos),
        gate=config.gate,
        folders={f: config.policy(f) for f in folders},
        config={k: str(v) for k, v in encode(config).items() if k not in _NESTED},
        sources=dict(config.sources),
        cross_examine=config.cross_examine,
        baseline=config.baseline,
        authors=config.authors,
        authors_kin=authors.kin(config.authors, executors),
        revision=revision,
    )


def record_abort(root: Path, why: str) -> None:
    """Record a session that failed in its configuration, where there are older runs.

    Without this ``prun-review gate`` would answer for it with the verdict of an older run.
    """
    if not (root / ".prun" / "runs").is_dir():
        return
    with suppress(RunDirError):  # what ended the session is told anyway
        store = rundir.create(root, now=time.time())
        write_abort(store, why)
        store.close()


def write_abort(store: rundir.RunDir, why: str) -> None:
    """The document of a run in which nothing was planned."""
    told = RunFacts(store.path.name, time.time(), time.time(), __version__, stopped=why)
    store.write_plan(Plan(()))
    store.write_document(document.build(told, Plan(()), []))
