"""One unit, from its prompt to its terminal result: attempt, judge, at most one re-ask.

Called by the pool from many threads at once; everything it shares is read-only or locks itself.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from prun_review import judging, prompts
from prun_review.errors import PrunError
from prun_review.model import Exit, Result, Unit, Usage
from prun_review.pool import Cancel, unanswered
from prun_review.ports import ContractKind, Executor, Launcher, Located, Output, Reader, Request, Store

ATTEMPTS = 2
"""The first, and one re-ask of an answer that breaks its contract."""


@dataclass(frozen=True)
class Dispatcher:
    """What every dispatch of a run has in common."""

    store: Store
    launcher: Launcher
    executors: Mapping[str, Executor]
    located: Mapping[str, Located]
    kinds: Mapping[str, ContractKind]
    tree: Path
    """The snapshot."""
    read: Reader
    names: Collection[str]
    """The files of the reviewed tree."""
    env: Mapping[str, str]
    state: Callable[[str], Path]
    """Executor name -> its state directory."""
    refused: Mapping[str, tuple[str, str]]
    """Unit id -> (reason code, text) of units that are not dispatched: ``brief``, ``stale``..."""
    vouched: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """(slug, attempt) -> digest that a replayed output must have."""

    def run(self, unit: Unit, cancel: Cancel) -> Result:
        """The terminal result, already on disk.  Raises only for what is our bug."""
        try:
            result = self._run(unit, cancel)
        except PrunError as error:
            result = unanswered(unit, "failed", error.code, str(error))
        self.store.finish(result)
        return result

    def _run(self, unit: Unit, cancel: Cancel) -> Result:
        if unit.id in self.refused:
            return unanswered(unit, "failed", *self.refused[unit.id])
        executor = self.executors[unit.executor]
        kind = self.kinds.get(unit.brief.contract.kind)
        if kind is None:
            return unanswered(
                unit,
                "failed",
                "brief",
                f"unknown contract {unit.brief.contract.kind!r}: {sorted(self.kinds)}",
            )
        fence = secrets.token_hex(8)
        prompt = prompts.compose(unit, kind, fence=fence, native=executor.native)
        result = self._attempt(unit, executor, kind, prompt, cancel, 1)
        if self._ask_again(result, executor, cancel):
            again = prompts.reask(
                unit, kind, violations=result.violations, fence=secrets.token_hex(8), native=executor.native
            )
            second = self._attempt(unit, executor, kind, again, cancel, ATTEMPTS)
            # Both attempts were paid for; an answer that got worse does not replace a better one.
            best = second if second.status in ("valid", "broken") else result
            result = replace(
                best,
                usage=add(result.usage, second.usage),
                attempts=ATTEMPTS,
                seconds=result.seconds + second.seconds,
            )
        return result

    def _ask_again(self, result: Result, executor: Executor, cancel: Cancel) -> bool:
        return result.status == "broken" and executor.paid and not cancel.requested

    def _attempt(
        self,
        unit: Unit,
        executor: Executor,
        kind: ContractKind,
        prompt: str,
        cancel: Cancel,
        number: int,
    ) -> Result:
        out = self.store.new_attempt(unit)
        request = Request(
            unit=unit,
            prompt=prompt,
            schema=kind.schema(unit.brief.contract),
            tree=self.tree,
            out=out,
            state=self.state(unit.executor),
            located=self.located[unit.executor],
            env=self.env,
        )
        command = executor.command(request)
        launch = self.store.record(out, prompt, command)
        self.store.append("attempt-started", unit=unit.id, slug=unit.slug, attempt=number)
        if cancel.requested:
            return unanswered(unit, "not-run", "cancelled", f"cancelled: {cancel.requested}")
        process = self.launcher.start(replace(launch, timeout=unit.brief.timeout))
        cancel.on_request(process.stop)
        exit = process.wait() or Exit(None, "lost", note="its end was never reported")
        output = self.store.collect(out, command, exit)
        digest = digest_of(output)
        told = self.vouched.get((unit.slug, number), digest)
        if told != digest:
            return unanswered(unit, "failed", "altered", "the stored output is not what the run had read")
        reading = executor.read(output, request)
        result = judging.judge(
            reading,
            unit,
            kind,
            self.read,
            names=self.names,
            attempts=number,
            seconds=exit.seconds,
            prefixes=(str(self.tree),),
        )
        self.store.append(
            "attempt-finished",
            unit=unit.id,
            slug=unit.slug,
            attempt=number,
            code=exit.code,
            ended_by=exit.ended_by,
            status=result.status,
            reason=result.reason,
            seconds=round(exit.seconds, 3),
            digest=digest,
        )
        return result


def digest_of(output: Output) -> str:
    """sha256 over all that an executor reads of an attempt."""
    whole = hashlib.sha256()
    for name, data in (("", output.stdout), (" ", output.stderr), *sorted(output.files.items())):
        whole.update(f"{name} {len(data)}\n".encode() + data)
    return whole.hexdigest()


def add(a: Usage, b: Usage) -> Usage:
    """The sum of two usages; None only where neither says anything."""

    def both(x: float | None, y: float | None) -> float | None:
        return None if x is None and y is None else (x or 0) + (y or 0)

    def whole(x: int | None, y: int | None) -> int | None:
        total = both(x, y)
        return None if total is None else int(total)

    return Usage(
        whole(a.input_tokens, b.input_tokens),
        whole(a.cached_tokens, b.cached_tokens),
        whole(a.output_tokens, b.output_tokens),
        both(a.cost_usd, b.cost_usd),
    )
