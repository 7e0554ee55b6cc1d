"""``prun-review watch [RUN]``: the status of a run again and again, until it ends.

On a terminal it is printed in place; elsewhere a line is appended when something changed, and the
whole status at the end.  Exit 0 when the run has ended, whatever its verdict; 1 when its dispatcher
died; 130 on Ctrl-C, which does not touch the run.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from prun_review.cli import runs
from prun_review.cli.status import columns, reader
from prun_review.renderers.escape import one_line
from prun_review.words import number

if TYPE_CHECKING:
    from prun_review.standing import Status

DIED = 1
SHORTEST, LONGEST = 0.1, 3600.0
"""Seconds between two looks."""


def register(subparsers: Any) -> None:
    """Add the verb to the command line."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "watch", help="the status of a run, again and again until it ends", description=__doc__
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help=runs.RUN_HELP)
    parser.add_argument("--every", type=_every, default=2.0, metavar="SECONDS", help="between two looks (2)")


def run(args: argparse.Namespace) -> int:
    """Print until the run is over."""
    found = reader(runs.reviewed(args.run))
    screen = Screen(sys.stdout)
    status = found.look()
    while not status.over:
        screen.show(status)
        time.sleep(args.every)
        status = found.look()
    screen.last(status)
    return DIED if status.state == "died" else 0


class Screen:
    """Where the status is shown: in place on a terminal, line after line elsewhere."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.in_place = stream.isatty()
        self._shown = 0
        """Lines on the terminal that are ours."""
        self._said = ""

    def show(self, status: Status) -> None:
        """The status as it is now."""
        from prun_review.statuslines import lines, summary

        if self.in_place:
            self._replace(lines(status, columns()))
            return
        text = summary(status)
        if text != self._said:
            self._said = text
            print(time.strftime("%H:%M:%S"), one_line(text, 400), file=self.stream, flush=True)

    def last(self, status: Status) -> None:
        """The status at the end, whole, below which the shell goes on."""
        from prun_review.statuslines import lines

        told = lines(status, columns())
        if self.in_place:
            self._clear()
        print("\n".join(told), file=self.stream, flush=True)

    def _replace(self, told: list[str]) -> None:
        """Only lines that are still on the screen can be taken back, so no more are printed than fit."""
        room = max(2, shutil.get_terminal_size((100, 24)).lines - 1)
        if len(told) > room:
            told = [*told[: room - 1], f"... {number(len(told) - room + 1, 'more line')}: prun-review status"]
        self._clear()
        print("\n".join(told), file=self.stream, flush=True)
        self._shown = len(told)

    def _clear(self) -> None:
        if self._shown:
            self.stream.write(f"\x1b[{self._shown}A\x1b[J")
            self._shown = 0


def _every(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not SHORTEST <= seconds <= LONGEST:
        raise argparse.ArgumentTypeError(f"{text!r} is not from {SHORTEST:g} to {LONGEST:g} seconds")
    return seconds
