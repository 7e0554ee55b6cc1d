"""Everything that dispatches units, as one object: dispatcher, pool, brakes and pace of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from prun_review import extensions, pacing
from prun_review.brakes import backoff
from prun_review.config import Config
from prun_review.dispatch import Dispatcher
from prun_review.model import Reason, Result, Unit
from prun_review.pool import Pool, memory_jobs
from prun_review.ports import Command, Executor, Launch, Launcher, Located, Request, Workbench
from prun_review.programs import available_mib
from prun_review.rundir import RunDir
from prun_review.subject import Subject


@dataclass(frozen=True)
class Tools:
    """What a crew works with."""

    config: Config
    store: RunDir
    launcher: Launcher
    executors: Mapping[str, Executor]
    located: Mapping[str, Located]
    subject: Subject
    env: Mapping[str, str]
    workbench: Workbench | None = None
    contain: Callable[[Request, Command, Launch], Launch] | None = None
    verify: Callable[[], tuple[Reason, ...]] = tuple
    """As :attr:`prun_review.dispatch.Dispatcher.verify`."""
    voids: frozenset[str] = frozenset({"snapshot-changed"})
    consequence: str = "the verdict will be INCOMPLETE"
    tell: Callable[[str], None] = lambda text: None


class Crew:
    """Takes units at any time and gives their results; use it from one thread."""

    def __init__(self, tools: Tools, jobs: int) -> None:
        """At most ``jobs`` units at once, fewer where memory is short."""
        config, store, executors = tools.config, tools.store, tools.executors
        names = sorted(tools.located)
        self.brakes = pacing.brakes_of(config, executors, store.append, tools.tell)
        self._dispatcher = Dispatcher(
            store=store,
            launcher=tools.launcher,
            executors=executors,
            located=tools.located,
            kinds=extensions.contracts(extensions.manager()),
            subject=tools.subject,
            env=tools.env,
            state=store.state,
            refused={},
            brakes=self.brakes,
            starts=pacing.starts_of(config, executors, names),
            backoff=backoff(config.retry_wait),
            retries=config.retries,
            stall=config.stall,
            contain=tools.contain,
            verify=tools.verify,
            voids=tools.voids,
            consequence=tools.consequence,
            tell=tools.tell,
            workbench=tools.workbench,
        )
        limits = {name: config.executor(name).limit for name in names if config.executor(name).limit}
        self.jobs = memory_jobs(jobs, available_mib(), names)
        """Most units at once."""
        store.append("jobs", jobs=self.jobs, limits=limits)
        self._pool = Pool(
            self._dispatcher.run,
            jobs=self.jobs,
            limits=limits,
            admit=self._dispatcher.starts.admit,
        )
        self.brakes.connect(self._pool.refuse)

    def hand_in(self, units: Sequence[Unit]) -> None:
        """Units to be run as soon as there is room; each comes out of :meth:`next` once."""
        self._pool.start(units)

    def next(self, timeout: float) -> Result | None:
        """The next result; None after ``timeout`` seconds without one, at once where none is owed."""
        return self._pool.next(timeout)

    @property
    def owed(self) -> int:
        """How many units that were handed in have not come out."""
        return self._pool.owed

    def is_stored(self, result: Result) -> bool:
        """Whether the result is on disk: one that never ran, or could not be written, is not."""
        return result.unit in self._dispatcher.stored

    def in_flight(self) -> list[tuple[Unit, float, float]]:
        """The units that run, for how many seconds, and how many of these they have been silent."""
        vigils = self._dispatcher.vigils
        silent = ((unit, seconds, vigils.get(unit.id)) for unit, seconds in self._pool.in_flight())
        return [(unit, seconds, vigil.silent if vigil else 0.0) for unit, seconds, vigil in silent]

    def pausing(self) -> int:
        """How many units wait to be tried again."""
        return self._pool.pausing()

    def refuse(self, code: str, text: str) -> None:
        """Start nothing more; what runs goes on."""
        self._pool.refuse(code, text)

    def stop(self, code: str, text: str) -> None:
        """Start nothing more, and end what runs; the results still come out."""
        self._pool.stop(code, text)

    def close(self) -> None:
        """Stop, and wait until nothing runs."""
        self._pool.close()
