"""What a configuration means for the engine of a run: brakes, pace of starts, and the pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from prun_review import rundir
from prun_review.brakes import Brakes, Starts
from prun_review.budget import Budget
from prun_review.config import Config
from prun_review.dispatch import Dispatcher
from prun_review.model import Plan
from prun_review.pool import Pool, memory_jobs
from prun_review.ports import Executor
from prun_review.programs import available_mib


def brakes_of(
    config: Config, executors: Mapping[str, Executor], note: Callable[..., None], tell: Callable[[str], None]
) -> Brakes:
    """The brakes of a run; a replay spends nothing and has no budget."""
    paid = [name for name, executor in executors.items() if executor.paid]
    return Brakes(Budget.parse("" if config.replay else config.budget), paid, note=note, tell=tell)


def starts_of(config: Config, executors: Mapping[str, Executor], used: Iterable[str]) -> Starts:
    """The pace of the starts; a replay starts nothing."""
    return Starts({} if config.replay else {name: executors[name].supervision.stagger for name in used})


def pool_of(config: Config, dispatcher: Dispatcher, plan: Plan, root: Path, workers: int) -> Pool:
    """The pool, connected to the brakes: in a replay what happened then is judged, whatever it was."""
    names = [unit.executor for unit in plan.units]
    limits = {n: config.executor(n).limit for n in set(names) if config.executor(n).limit}
    known = rundir.durations(root)
    expected = {u.id: known[u.case, u.executor] for u in plan.units if (u.case, u.executor) in known}
    # A larger -n raises the number in flight, never lowers it; short memory lowers it.
    jobs = memory_jobs(max(config.jobs, workers), available_mib(), names)
    dispatcher.store.append("jobs", jobs=jobs, limits=limits)
    admit = dispatcher.starts.admit
    pool = Pool(dispatcher.run, jobs=jobs, limits=limits, expected=expected, admit=admit)
    if not config.replay:
        dispatcher.brakes.connect(pool.refuse)
    return pool
