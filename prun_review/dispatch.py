"""One unit, from its prompt to its terminal result: attempts, judged one by one.

A failure that can pass is tried again, an answer that breaks its contract is asked for once more;
between two attempts the unit goes back to the pool.  Called by the pool from many threads at once;
everything it shares is read-only or locks itself.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from prun_review import prompts, supervise, writework
from prun_review.brakes import Brakes, Starts
from prun_review.course import ANSWERED, Attempt, Course, advice
from prun_review.errors import PrunError
from prun_review.model import Exit, Reason, Result, Unit
from prun_review.pool import Cancel, Later, unanswered
from prun_review.ports import (
    Command,
    ContractKind,
    Copy,
    Executor,
    Launch,
    Launcher,
    Located,
    Output,
    Request,
    Site,
    Store,
    Workbench,
)
from prun_review.subject import Subject
from prun_review.supervise import Vigil


@dataclass(frozen=True)
class Dispatcher:
    """What every dispatch of a run has in common."""

    store: Store
    launcher: Launcher
    executors: Mapping[str, Executor]
    located: Mapping[str, Located]
    kinds: Mapping[str, ContractKind]
    subject: Subject
    """What is reviewed."""
    env: Mapping[str, str]
    state: Callable[[str], Path]
    """Executor name -> its state directory."""
    refused: Mapping[str, tuple[str, str]]
    """Unit id -> (reason code, text) of units that are not dispatched: ``brief``, ``stale``..."""
    brakes: Brakes
    starts: Starts
    backoff: Callable[[int, float | None], float]
    """Seconds before the n-th retry (from 1), given what the vendor said to wait."""
    retries: int = 2
    stall: float = 600.0
    """Seconds of silence for executors without a limit of their own; 0: never."""
    contain: Callable[[Request, Command, Launch], Launch] | None = None
    """Puts a worker into a mount namespace of its own; None: workers see the machine."""
    verify: Callable[[], tuple[Reason, ...]] = tuple
    """Looks whether what reviewers read is still what it was; an answer counts only if it is."""
    voids: Collection[str] = frozenset({"snapshot-changed"})
    """Codes of ``verify``'s reasons after which no answer counts; others make the run INCOMPLETE."""
    consequence: str = "the verdict will be INCOMPLETE"
    """What follows from what ``verify`` finds, in words."""
    changes: set[Reason] = field(default_factory=set)
    """What ``verify`` found, each told and in the ledger once."""
    tell: Callable[[str], None] = lambda text: None
    """Tells a person something at once."""
    noticed: dict[str, Path] = field(default_factory=dict)
    """``Command.notice`` -> the attempt whose start told it."""
    vouched: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """(slug, attempt) -> digest that a replayed output must have; where there are any, there is no
    attempt beyond them."""
    sites: Mapping[tuple[str, int], Site] = field(default_factory=dict)
    """(slug, attempt) -> where a replayed attempt was made."""
    vigils: dict[str, Vigil] = field(default_factory=dict)
    """Unit id -> what was last seen of its dispatch, while one runs."""
    flying: set[str] = field(default_factory=set)
    """Ids of the units that were dispatched, until it was looked at what they left behind."""
    stored: set[str] = field(default_factory=set)
    """Ids of the units whose terminal result is on disk."""
    workbench: Workbench | None = None
    """Makes the copies in which code is written; None: no unit may write."""

    def run(self, unit: Unit, cancel: Cancel) -> Result | Later:
        """The terminal result, on disk if that is possible at all, or how to go on.  Raises only for
        what is our bug."""
        if unit.id in self.refused:
            return self._refuse(unit, *self.refused[unit.id])
        if unit.brief.mode == "write" and self.workbench is None:
            return self._refuse(unit, "brief", writework.NO_COPIES)
        course = Course(unit, self.executors[unit.executor], self.kinds[unit.brief.contract.kind], "")
        try:
            course = self._composed(course)
        except PrunError as error:
            return self._refuse(unit, error.code, str(error))
        return self._step(course, cancel)

    def _composed(self, course: Course, notes: Sequence[str] = ()) -> Course:
        """With the prompt of a first attempt."""
        prompt = prompts.compose(
            course.unit,
            course.kind,
            fence=secrets.token_hex(8),
            native=course.executor.native,
            diff=self.subject.diff_of(course.unit),
            notes=notes,
        )
        return replace(course, prompt=prompt)

    def _refuse(self, unit: Unit, code: str, text: str) -> Result:
        self.starts.unused(unit.executor)
        return self._end(unit, unanswered(unit, "failed", code, text))

    def _step(self, course: Course, cancel: Cancel) -> Result | Later:
        """One attempt, and what follows from it."""
        name = course.unit.executor
        if cancel.requested:
            return self._give_up(course, cancel)
        attempt = self._tried(course, cancel)
        self.brakes.after(attempt.result)
        course = course.after(attempt.result)
        move = self._move(course, attempt)
        held = bool(cancel.requested or self.brakes.held(name))
        wait = 0.0
        if move == "retry":
            wait = self.backoff(len(course.retried) + 1, attempt.retry_after)
        self._record(course, attempt, wait if move == "retry" and not held else None)
        if move and held:
            return self._give_up(course, cancel)
        if not move:
            return self._end(course.unit, course.result(advice(attempt.retry_after)))
        return Later(wait, partial(self._step, self._next(course, move, attempt.result)))

    def _tried(self, course: Course, cancel: Cancel) -> Attempt:
        """One attempt; one that could not be made is a failure of its unit."""
        self.flying.add(course.unit.id)
        try:
            attempt = self._attempt(course, cancel)
        except PrunError as error:
            self.starts.unused(course.unit.executor)
            return Attempt(unanswered(course.unit, "failed", error.code, str(error)))
        finally:
            self.vigils.pop(course.unit.id, None)
        self.starts.seen(course.unit.executor)
        return attempt

    def _move(self, course: Course, attempt: Attempt) -> str:
        """What follows; in a replay only what followed then."""
        if self.vouched and (course.unit.slug, course.attempts + 1) not in self.vouched:
            return ""
        return course.move(attempt.result, attempt.retry_after, self.retries)

    def _next(self, course: Course, move: str, last: Result) -> Course:
        if move == "retry":
            return replace(course, because=last.reason)
        again = prompts.reask(
            course.unit,
            course.kind,
            violations=last.violations,
            fence=secrets.token_hex(8),
            native=course.executor.native,
            diff=self.subject.diff_of(course.unit),
        )
        return replace(course, prompt=again, asked_again=True)

    def _give_up(self, course: Course, cancel: Cancel) -> Result:
        """End a unit that would have been tried again."""
        why = self.brakes.held(course.unit.executor) or cancel.requested
        return self._end(course.unit, course.result(f"not tried again: {why}"))

    def _record(self, course: Course, attempt: Attempt, wait: float | None) -> None:
        """Its end in the ledger, and that it will be tried again in ``wait`` seconds."""
        named = {"unit": course.unit.id, "slug": course.unit.slug, "attempt": course.attempts}
        again = {} if wait is None else {"retry_in": round(wait, 1)}
        if attempt.told:
            self.store.append("attempt-finished", **named, **attempt.told, **again)
        if wait is not None:
            reason = attempt.result.reason
            self.store.append("retry", **named, reason=reason, seconds=round(wait, 1))

    def _attempt(self, course: Course, cancel: Cancel) -> Attempt:
        unit = course.unit
        out = self.store.new_attempt(unit)
        if self.workbench is None or unit.brief.mode != "write":
            return self._asked(course, cancel, out, self.subject.tree)
        made: list[Attempt] = []

        def ask(copy: Copy) -> Result:
            made.append(self._asked(self._composed(course, copy.notes), cancel, out, copy.path))
            return made[-1].result

        result = writework.attempt(self.workbench, unit, out, ask, lambda: cancel.requested)
        return made[-1].judged(result)

    def _asked(self, course: Course, cancel: Cancel, out: Path, tree: Path) -> Attempt:
        """Dispatch it in a tree, and judge its answer."""
        unit, executor = course.unit, course.executor
        number = course.attempts + 1
        former = self.sites.get((unit.slug, number))
        request = Request(
            unit=unit,
            prompt=course.prompt,
            schema=course.kind.schema(unit.brief.contract),
            tree=tree,
            out=out,
            state=self.state(unit.executor),
            located=self.located[unit.executor],
            env=self.env,
            former=former,
            beside=self.subject.beside,
            contained=self.contain is not None,
        )
        command = executor.command(request)
        launch = self.store.record(out, course.prompt, command)
        if self.contain is not None:
            launch = self.contain(request, command, launch)
        # a replay of a replay needs the first one's
        site = former or Site(request.tree, request.state, request.beside)
        self.store.append(
            "attempt-started",
            unit=unit.id,
            slug=unit.slug,
            attempt=number,
            tree=str(site.tree),
            state=str(site.state),
            **({"beside": str(site.beside)} if site.beside else {}),
        )
        exit, output = self._dispatch(course, command, launch, out, cancel)
        digest = digest_of(output)
        if self.vouched.get((unit.slug, number), digest) != digest:
            text = "the stored output is not what the run had read"
            return Attempt(unanswered(unit, "failed", "altered", text))
        reading = executor.read(output, request)
        result = self.subject.judge(reading, unit, course.kind, exit.seconds, site)
        told = {
            "code": exit.code,
            "ended_by": exit.ended_by,
            "status": result.status,
            "reason": result.reason,
            "seconds": round(exit.seconds, 3),
            "digest": digest,
            **({"note": exit.note} if exit.note else {}),
        }
        return Attempt(result, reading.retry_after, told)

    def _dispatch(
        self, course: Course, command: Command, launch: Launch, out: Path, cancel: Cancel
    ) -> tuple[Exit, Output]:
        """Start it, watch it to its end, and read back what counts."""
        unit, executor = course.unit, course.executor
        watched = executor.supervision
        if watched.stall is None:
            watched = replace(watched, stall=self.stall)

        def heard(vigil: Vigil, word: str) -> None:
            self.vigils[unit.id] = vigil
            if vigil.written:
                self.starts.seen(unit.executor)
            if word in ("stall", "startup"):
                self.tell(
                    f"{unit.executor} stalled after {clock(vigil.silent)} of silence: {unit.id}"
                    " -- most likely capacity: fewer at once, then --prun-resume"
                )

        until = time.monotonic() + unit.brief.timeout  # its own time begins later, when it runs
        process = self.launcher.start(replace(launch, timeout=unit.brief.timeout))
        if command.notice and not self.vouched and self.noticed.setdefault(command.notice, out) is out:
            self.tell(command.notice)
        cancel.on_request(process.stop)
        look = partial(self.store.look, out, command)
        ended = supervise.watch(process, look, executor.sign, watched, heard=heard, until=until)
        return ended.exit, self.store.collect(out, command, ended.exit, ended.upto)

    def _end(self, unit: Unit, result: Result) -> Result:
        """Write the terminal result: an answer only after a look at what it is about, and nothing of who
        could write before a look at what it did."""
        wrote = unit.brief.mode == "write" and unit.id in self.flying
        if wrote or result.status in ANSWERED:
            against = [reason for reason in self._changes(unit) if reason.code in self.voids]
            if against and result.status in ANSWERED:
                text = "; ".join(reason.text for reason in against)
                result = replace(
                    result,
                    status="failed",
                    reason=against[0].code,
                    message=text,
                    answer=None,
                    violations=(),
                    salvage=(),
                )
        self.flying.discard(unit.id)
        try:
            self.store.finish(result)
        except PrunError as error:  # what is not on disk was not answered
            return replace(unanswered(unit, "failed", error.code, str(error)), attempts=result.attempts)
        self.stored.add(result.unit)
        return result

    def _changes(self, unit: Unit) -> list[Reason]:
        """What became of the ground that the review stands on, with those in flight when it was seen."""
        found = [reason for reason in self.verify() if reason.outcome != "PASS"]
        for reason in found:
            if reason not in self.changes:
                self.changes.add(reason)
                flying = sorted({unit.id, *self.flying})
                self.store.append("integrity", code=reason.code, text=reason.text, in_flight=flying)
                self.tell(f"{reason.text}: {self.consequence}; in flight: {', '.join(flying)}")
        return found


def clock(seconds: float) -> str:
    """``10m00s``."""
    return f"{int(seconds) // 60}m{int(seconds) % 60:02}s"


def digest_of(output: Output) -> str:
    """sha256 over all that an executor reads of an attempt."""
    whole = hashlib.sha256()
    for name, data in (("", output.stdout), (" ", output.stderr), *sorted(output.files.items())):
        whole.update(f"{name} {len(data)}\n".encode() + data)
    return whole.hexdigest()
