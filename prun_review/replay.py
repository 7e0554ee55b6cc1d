"""A stored run answers again: its raw outputs go through today's judging, nothing is dispatched.

A stored unit answers only for the same question about the same content: where the fingerprints
differ it is stale, and a stale answer is no answer.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from prun_review import document, files, rundir
from prun_review.config import Config
from prun_review.errors import LaunchError, RunDirError
from prun_review.ledger import LedgerReader
from prun_review.model import ExecutorInfo, Exit, Plan, Result, Unit
from prun_review.pool import unanswered
from prun_review.ports import Launch, Located, Site
from prun_review.runview import LEDGER, PATCH, RunView
from prun_review.runwriter import STREAMS
from prun_review.verdict import number
from prun_review.written import Check, Patch


class Replay:
    """The launcher, the programs and the workbench of a run that is judged again.  ``RunDirError`` if
    unreadable."""

    def __init__(self, path: Path) -> None:
        record = rundir.open_run(path)
        self.path = path
        self.run_id = path.name
        try:
            facts = document.facts_of(record.document)
        except ValueError as error:
            raise RunDirError(f"its facts cannot be read: {error}", place=str(path)) from None
        self._infos = {info.name: info for info in facts.executors}
        stored = (*record.results, *record.examination.results)
        self._results: Mapping[str, Result] = {result.unit: result for result in stored}
        self._planned = {unit.id for unit in record.plan.units}
        self._times = Counter((unit.case, unit.executor) for unit in record.plan.units)
        """How often it asked whom about what."""
        events = list(LedgerReader(path / LEDGER).new())
        self._attempts: dict[tuple[str, int], tuple[Exit, str]] = dict(_attempts(events))
        self.vouched = {key: digest for key, (_, digest) in self._attempts.items()}
        """(slug, attempt) -> digest of the output that was read then."""
        self.sites = dict(_sites(events))
        """(slug, attempt) -> where the attempt was made; its output may hold paths below there."""
        self.located: dict[str, Located] = {}

    # --- as programs ------------------------------------------------------------------------

    def locate(self, names: Sequence[str], forbidden: Sequence[Path]) -> None:
        """Nothing is looked for; every executor is the stored one."""
        self.located = {name: Located(("replay",), f"replay of {self.run_id}") for name in names}

    def version(self, name: str) -> str:
        """The version that answered then: part of the fingerprint."""
        info = self._infos.get(name)
        return info.version if info else ""

    def info(self, name: str) -> ExecutorInfo:
        """What the stored run says of an executor; one it does not know has no vendor."""
        return self._infos.get(name) or ExecutorInfo(name, "", "", False, where="not in the replayed run")

    def refusals(self, plan: Plan) -> dict[str, tuple[str, str]]:
        """Unit id -> (reason, text) of every planned unit that the stored run cannot answer."""
        return {u.id: why for u in plan.units if (why := self._refusal(u))}

    def settled(self, plan: Plan) -> list[Result]:
        """What the stored run says of units without an attempt: there is no output to judge again."""
        found = ((unit, self._results.get(unit.id)) for unit in plan.units if not self._refusal(unit))
        return [
            unanswered(unit, stored.status, stored.reason, stored.message)
            for unit, stored in found
            if stored and stored.status in ("failed", "not-run") and (unit.slug, 1) not in self.vouched
        ]

    def notes(self, plan: Plan, config: Config) -> list[str]:
        """What to say once of units that the stored run has nothing of, and what to do about it."""
        strange = sorted({unit.executor for unit in plan.units} - self._infos.keys())
        other = list(filter(self._asked_otherwise, plan.units))
        told = [f"run {self.run_id} {self._how_often(other)}"] if other else []
        lost = sum(
            u.id not in self._results and u.executor in self._infos and not self._asked_otherwise(u)
            for u in plan.units
        )
        if lost:
            units = number(lost, "unit")
            told.append(f"run {self.run_id} has no result that its ledger vouches for of {units}")
        if not strange or not self._infos:
            return told
        stored = sorted(self._infos)
        remedy = f"--prun-executors {','.join(stored)}"
        if config.offline:
            remedy += " in place of --prun-offline"
        elif set(stored) <= set(config.offline_executors):
            remedy = "add --prun-offline"
        return [
            *told,
            f"run {self.run_id} asked {', '.join(stored)}, not {', '.join(strange)}: {remedy}",
        ]

    def _refusal(self, unit: Unit) -> tuple[str, str] | None:
        stored = self._results.get(unit.id)
        if stored is None and self._asked_otherwise(unit):
            return "not-stored", f"run {self.run_id} {self._how_often([unit])}"
        if stored is None:
            return "not-stored", f"run {self.run_id} has no result of this unit that its ledger vouches for"
        if stored.fingerprint != unit.fingerprint:
            return "stale", f"the question, the executor or the files changed since run {self.run_id}"
        return None

    def _asked_otherwise(self, unit: Unit) -> bool:
        """Whether it asked the same of the same executor, more or less often: its units have other names."""
        return unit.id not in self._planned and (unit.case, unit.executor) in self._times

    def _how_often(self, units: Sequence[Unit]) -> str:
        times = {self._times[unit.case, unit.executor] for unit in units}
        if len(times) > 1:
            low, high = min(times), max(times)
            return f"asked its questions {low} to {high} times each: ask each as often as then"
        [often] = times
        return f"asked each question {number(often, 'time')}: add --prun-repeat {often}"

    # --- as launcher ------------------------------------------------------------------------

    def start(self, launch: Launch) -> Replayed:
        """Put what the stored attempt left where the new one would have written it."""
        _, slug, number = launch.tag.rsplit("/", 2)
        exit, _ = self._attempts.get((slug, int(number)), (None, ""))
        stored = self.path / "units" / slug / number
        if exit is None or not stored.is_dir():
            raise LaunchError(f"run {self.run_id} has no attempt {number} of {slug}")
        out = launch.stdout.parent
        for file in sorted(stored.iterdir()):
            target = out / file.name
            if file.is_file() and not file.is_symlink() and (file.name in STREAMS or not target.exists()):
                shutil.copyfile(file, target)
        return Replayed(exit)

    def close(self) -> None:
        """Nothing was started."""

    # --- as workbench -----------------------------------------------------------------------

    def open(self, unit: Unit, out: Path) -> ReplayedCopy:
        """The copy of then, of which there is only what was taken of it."""
        stored = self._results.get(unit.id)
        if stored is None or stored.patch is None:
            raise RunDirError(f"run {self.run_id} has no change of {unit.id} that could be judged again")
        site = self.sites.get((unit.slug, int(out.name)))
        patch = stored.patch
        if int(out.name) < stored.attempts:  # what an attempt wrote that was made again is not known
            patch = Patch(patch.base, "", kept=patch.kept)
        return ReplayedCopy(site.tree if site else out, out, replace(stored, patch=patch), RunView(self.path))

    def check(self, patch: Patch, commands: Sequence[str], stop: Callable[[], str]) -> tuple[Check, ...]:
        """What came of the same commands on the same patch then; nothing is run."""
        for result in self._results.values():
            said = tuple(check.command for check in result.checks)
            if result.patch is patch and said == tuple(commands):  # as :meth:`open` handed it out
                return result.checks
        raise RunDirError(f"run {self.run_id} does not tell what came of {', '.join(commands)}")


class ReplayedCopy:
    """What a run took of a copy; implements :class:`~prun_review.ports.Copy`."""

    notes: tuple[str, ...] = ()

    def __init__(self, path: Path, out: Path, stored: Result, run: RunView) -> None:
        self.path = path
        self.marker = "" if stored.marker else None
        self._out = out
        self._stored = stored
        self._patch = stored.patch or Patch("", "")
        self.base = self._patch.base
        self._run = run

    def harvest(self, unit: Unit) -> Patch:
        """The patch of then, brought into the new run; ``RunDirError`` where it was altered."""
        text = self._run.patch_of(self._stored)
        if text:
            with files.named(RunDirError, "the patch cannot be written", self._out.parent):
                files.write(self._out.parent / PATCH, text)
        return self._patch

    def keep(self) -> str:
        """Where it was left then."""
        return self._patch.kept

    def close(self) -> None:
        """There is nothing to remove."""


class Replayed:
    """A process that ended long ago."""

    pid = 0

    def __init__(self, exit: Exit) -> None:
        self._exit = exit

    def wait(self, timeout: float | None = None) -> Exit:
        """How it ended then."""
        return self._exit

    def stop(self, why: str = "cancelled") -> None:
        """There is nothing to end."""


def _attempts(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[str, int], tuple[Exit, str]]]:
    for event in events:
        if event.get("event") != "attempt-finished":
            continue
        with suppress(KeyError, TypeError, ValueError):
            code = event["code"]
            exit = Exit(None if code is None else int(code), str(event["ended_by"]), float(event["seconds"]))
            yield (str(event["slug"]), int(event["attempt"])), (exit, str(event["digest"]))


def _sites(events: Iterable[Mapping[str, Any]]) -> Iterator[tuple[tuple[str, int], Site]]:
    for event in events:
        if event.get("event") == "attempt-started":
            with suppress(KeyError, TypeError, ValueError):
                beside = event.get("beside")
                made = Site(Path(event["tree"]), Path(event["state"]), Path(beside) if beside else None)
                yield (str(event["slug"]), int(event["attempt"])), made
