"""A status as lines for people; everything foreign in it is inert."""

from __future__ import annotations

from collections.abc import Mapping

from prun_review.renderers.layout import Page
from prun_review.standing import Hit, Spent, Status, Tally
from prun_review.words import number

MOST = 20
"""Units shown of each kind; how many more there are is said."""

_STATES = {
    "beginning": "beginning, nothing is planned yet",
    "running": "running for {}",
    "finished": "finished after {}",
    "interrupted": "ended early after {}",
    "died": "the dispatcher died: this run has no end, and nobody writes it any more",
}


def lines(status: Status, width: int = 100) -> list[str]:
    """The whole status, at most ``width`` columns wide."""
    page = Page(width)
    time = clock(status.seconds) if status.seconds is not None else "an unknown time"
    page.line(f"{status.run_id}: {_STATES.get(status.state, status.state).format(time)}", 0)
    page.line(f"{'dispatcher alive, ' if status.dispatcher_alive else ''}in {status.path}", 0)
    if status.verdict:
        page.line(f"verdict: {status.verdict}", 0)
    page.line(summary(status), 0)
    if status.resume:
        page.line(f"{status.resume} asks the rest", 0)
    for why in status.waits:
        page.line(f"waiting: {why}", 0)
    if not status.over:
        page.line(f"expected end: {_end(status)}", 0)
    _in_flight(page, status)
    if status.executors:
        page.section("EXECUTORS")
        rows = [_row(name, tally, status.spent[name]) for name, tally in status.executors.items()]
        header = (
            "executor",
            "units",
            "valid",
            "broken",
            "failed",
            "not run",
            "open",
            "cost",
            "tokens in",
            "out",
        )
        page.table(header, rows)
    if status.causes:
        page.section("CAUSES")
        for hit in status.causes:
            page.line(_cause(hit))
    for title, texts in (("NOTES", status.notes), ("PROBLEMS", status.problems)):
        if texts:
            page.section(title)
            for text in texts[:MOST]:
                page.line(text, limit=500)
    return page.text().splitlines()


def summary(status: Status) -> str:
    """``37 of 64 done: 33 valid, 2 broken, 2 failed; 8 running, 1 to be tried again, 18 waiting``."""
    total = status.total
    parts = {"valid": total.valid, "broken": total.broken, "failed": total.failed, "not run": total.not_run}
    done = ", ".join(f"{n} {word}" for word, n in parts.items() if n)
    rest = {
        "running": total.running,
        "to be tried again": total.retrying,
        "waiting": total.waiting,
        "lost": total.lost,
    }
    text = f"{total.done} of {total.units} done" + (f": {done}" if done else "")
    text += "".join(f"; {n} {word}" for word, n in rest.items() if n)
    text += f"; {_retries(total.retried)}" if total.retried else ""
    text += f"; {total.taken_over} taken over from earlier runs" if total.taken_over else ""
    return text + (f"; {examined(status)}" if status.questions else "")


def examined(status: Status) -> str:
    """``cross-examination: 2 of 3 answered ($0.04)``; how many questions that is where they differ."""
    wave = status.examined
    costs = [s.cost_usd for s in status.examination_spent.values() if s.cost_usd is not None]
    spent = f" (${sum(costs):.2f})" if costs else ""
    about = f" to {number(status.questions, 'question')}" if wave.units != status.questions else ""
    missed = wave.done - wave.valid
    none = f", {missed} without a valid answer" if missed else ""
    return f"cross-examination: {wave.valid} of {wave.units} answered{about}{none}{spent}"


def clock(seconds: float) -> str:
    """``6m12s``, ``1h02m``."""
    whole = int(seconds)
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"


def _end(status: Status) -> str:
    end = status.end
    if end.seconds is None:
        return f"not estimable: {end.why_not}"
    basis = f"an estimate from the times of {end.basis} {'unit' if end.basis == 1 else 'units'}"
    if end.seconds >= 1:
        late = f"; {end.late} running longer than expected" if end.late else ""
        return f"in about {clock(end.seconds)} ({basis}{late})"
    return f"overdue by {clock(end.overdue)} ({basis})" if end.overdue >= 1 else f"now ({basis})"


def _in_flight(page: Page, status: Status) -> None:
    if status.running:
        page.section("RUNNING")
        for r in status.running[:MOST]:
            silent = "silence unknown" if r.silence is None else f"silent {clock(r.silence)}"
            again = f", attempt {r.attempt}" if r.attempt > 1 else ""
            page.short(f"{r.executor} {clock(r.seconds)}, {silent}{again}: {r.unit}")
        _more(page, len(status.running))
    if status.retrying:
        page.section("TO BE TRIED AGAIN")
        for w in status.retrying[:MOST]:
            when = f"in {clock(w.seconds)}" if w.seconds else "now"
            page.short(f"{w.executor} {when}, after {w.reason or 'a broken contract'}: {w.unit}")
        _more(page, len(status.retrying))
    if status.lost:
        page.section("IN FLIGHT WHEN IT DIED")
        for unit in status.lost[:MOST]:
            page.short(unit)
        _more(page, len(status.lost))


def _more(page: Page, count: int) -> None:
    if count > MOST:
        page.line(f"and {count - MOST} more")


def _row(name: str, tally: Tally, spent: Spent) -> list[str]:
    left = tally.running + tally.retrying + tally.waiting + tally.lost
    counts = (tally.units, tally.valid, tally.broken, tally.failed, tally.not_run, left)
    cost = "-" if spent.cost_usd is None else f"${spent.cost_usd:.2f}"
    if spent.cost_usd is not None and spent.without_cost:
        cost += f" ({spent.without_cost} not said)"
    tokens = ["-" if n is None else f"{n:,}" for n in (spent.input_tokens, spent.output_tokens)]
    return [name, *map(str, counts), cost, *tokens]


def _cause(hit: Hit) -> str:
    told = _units(hit.units)
    again = _retries(hit.retried) if hit.retried else ""
    whom = "; ".join(filter(None, (told, again)))
    return f"{hit.title} [{hit.reason}]: {whom}" + (f" -- {hit.remedy}" if hit.remedy else "")


def _retries(count: int) -> str:
    return f"{count} {'retry' if count == 1 else 'retries'}"


def _units(units: Mapping[str, int]) -> str:
    count = sum(units.values())
    if not count:
        return ""
    names = ", ".join(f"{name} {n}" for name, n in units.items())
    return f"{count} {'unit' if count == 1 else 'units'} ({names})"
