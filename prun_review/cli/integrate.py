"""``prun-review integrate DIR``: what a run of waves wrote, put together and tested as a whole.

Takes the last run of DIR, makes its commits again out of the patches that its ledger vouches
for, and puts them one after the other onto --onto (HEAD) on a branch prun/<run> in the run directory.  What
clashes is left out and named, or with --reopen done again on top of the others; nothing is settled by
dropping a side.  On the whole every validation of the manifest and the project's tests run (--test, or
"tests" in [tool.prun_review.waves]), contained where that is possible, and scopes and contracts are held
against it.  DIR/integration-report.md and DIR/report.json say what came of it.  Your repository is only
read; with --apply, and only where all of it is well, the branch is brought into it as prun/<run> and
nothing else: you merge.

Unless --run names one, it is the last run, and that must have ended.  The last line of what is printed says
what was NOT run on the whole, where something was not.

Exit 0: the run is completed and the whole passed everything; 1: not so; 2: there is no such run, or its
records cannot be relied on.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prun_review.renderers.escape import one_line

if TYPE_CHECKING:
    from prun_review.integration import Integrated, Place

MOST = 10
"""The most often that a task is done again."""


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "integrate",
        help="put together what a run of waves wrote, and test the whole",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("place", type=Path, metavar="DIR", help="what holds manifest.json or tasks/")
    add("--run", metavar="RUN", help="the run to integrate (default: the last one)")
    add("--onto", metavar="REV", default="HEAD", help="the commit that it is put onto (default: HEAD)")
    add(
        "--test",
        action="append",
        type=_command,
        metavar="CMD",
        help="a shell command to run on the whole; several may be given",
    )
    add(
        "--reopen",
        type=_times,
        default=0,
        metavar="N",
        help="have a task whose change clashes done again, N times at most (default: 0, nobody is asked)",
    )
    add(
        "--apply",
        action="store_true",
        help="where all is well, bring the branch prun/<run> into the repository",
    )
    add("--json", action="store_true", help="print the wave document instead of text")


def _command(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty command would pass")
    return text


def _times(text: str) -> int:
    number = int(text)
    if not 0 <= number <= MOST:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and {MOST}")
    return number


def run(args: argparse.Namespace) -> int:
    """Integrate; 0 or 1."""
    import os

    from prun_review import integration
    from prun_review.cli import runs
    from prun_review.runwaves import settings

    root, config = settings(args.place, {})
    place = integration.place_of(root, args.place)
    name = args.run or str(integration.last_run(root, place.opened.path))
    wanted = integration.Wanted(
        root=root,
        config=config,
        env=os.environ,
        onto=args.onto,
        tests=tuple(args.test if args.test is not None else config.waves.tests),
        reopen=args.reopen,
        apply=args.apply,
    )
    with _in_order():
        done = integration.integrate(wanted, place, runs.find(name, root), _tell)
    if args.json:
        from prun_review.renderers.json import dumps

        sys.stdout.write(dumps(done.document))
    else:
        for line in integration.lines(done):
            print("  " * line.startswith(" ") + one_line(line, 1000), flush=True)
    _next(done, place, args.apply)
    _last(done, args.json)
    return done.status


@contextmanager
def _in_order() -> Iterator[None]:
    """Let the signals that would end this process at once end it as Ctrl-C does: what runs is ended, and no
    copy is left behind."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()
    mine = [n for n in (signal.SIGTERM, signal.SIGHUP) if here and signal.getsignal(n) is signal.SIG_DFL]
    for number in mine:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)


def _last(done: Integrated, json: bool) -> None:
    """The last line: what nobody looked at, so that no ``whole`` is taken for more than it is."""
    unrun = done.integration.unrun
    told = f"NOT run on the whole: {'; '.join(unrun)}" if unrun else ""
    if told and json:
        _tell(told)
    elif told:
        print(one_line(told, 2000), flush=True)


def _next(done: Integrated, place: Place, apply: bool) -> None:
    """What a person may do now."""
    from prun_review import integration, wavedocument
    from prun_review.renderers.waveactions import next_steps

    found = done.integration
    _tell(f"see {one_line(str(place.opened.place / integration.REPORT), 1000)}")
    if apply and not found.applied:
        _tell("it is not applied, for not all of it is well")
    if not found.applied:
        how = "to look at it all the same" if done.status else "to look at it first"
        _tell(f"{how}: {integration.by_hand(done.store, place.repository, found.branch)}")
    for step in next_steps(wavedocument.read(done.document)[0]):
        _tell(f"next: {step.text}{f': {step.command}' if step.command else ''}")


def _tell(text: str) -> None:
    print(f"prun-review integrate: {one_line(text, 2000)}", file=sys.stderr)
